// How windows slide over images and volumes: attributes, positions and padding.
#include "ops/common/window.h"

#include <string.h>

// ---- Attributes ----

static bool has_attr(const braid_op *node, const char *name)
{
    return bd_node_attr(node, name) != NULL;
}

// Reads the spatial dimensions from a list of all. `what` is the attr's name in TensorFlow's messages.
static braid_code read_list(const braid_op *node, const bd_window *w, const char *name, const char *what,
                            int64_t out[BD_SPATIAL_MAX], braid_status *st)
{
    const bd_attr *attr = bd_node_attr(node, name);
    if (attr->list.count != bd_window_rank(w))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "%s requires the %s attribute to contain %d values, but got: %d", node->op_type, what,
                       bd_window_rank(w), attr->list.count);
    for (int i = 0; i < attr->list.count; i++) {
        if (attr->list.i[i] > INT32_MAX)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "Attr %s has value %lld out of range for an int32",
                           name, (long long)attr->list.i[i]);
    }
    for (int d = 0; d < w->spatial; d++)
        out[d] = attr->list.i[bd_window_axis(w, d)];
    return BRAID_OK;
}

static braid_code read_explicit(const braid_op *node, bd_window *w, braid_status *st)
{
    const bd_attr *attr = bd_node_attr(node, "explicit_paddings");
    if (w->padding != BD_PADDING_EXPLICIT) {
        if (!attr || attr->list.count == 0) return BRAID_OK;
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT");
    }
    const int count = 2 * bd_window_rank(w);
    if (!attr || attr->list.count != count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "explicit_paddings attribute must contain %d values, but got: %d", count,
                       attr ? attr->list.count : 0);
    for (int i = 0; i < count; i++) {
        if (attr->list.i[i] < 0 || attr->list.i[i] > INT32_MAX)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "All elements of explicit_paddings must be nonnegative and fit int32");
    }
    int channel = bd_window_channel_axis(w);
    if (attr->list.i[0] || attr->list.i[1] || attr->list.i[2 * channel] || attr->list.i[2 * channel + 1])
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Nonzero explicit padding in the batch or depth dimensions is not supported");
    for (int d = 0; d < w->spatial; d++) {
        w->before[d] = attr->list.i[2 * bd_window_axis(w, d)];
        w->after[d] = attr->list.i[2 * bd_window_axis(w, d) + 1];
    }
    return BRAID_OK;
}

static braid_code check_positive(const bd_window *w, const int64_t *numbers, const char *what,
                                 braid_status *st)
{
    for (int d = 0; d < w->spatial; d++) {
        if (numbers[d] <= 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s must be > 0, but got %lld", what,
                           (long long)numbers[d]);
    }
    return BRAID_OK;
}

static braid_code read_window(const braid_op *node, const char *format, bd_window *w, braid_status *st)
{
    const char *padding = bd_node_attr_string(node, "padding");
    *w = (bd_window){.spatial = strchr(format, 'D') ? 3 : 2,
                     .stride = {1, 1, 1},
                     .dilation = {1, 1, 1},
                     .channels_first = strncmp(format, "NC", 2) == 0};
    w->padding = strcmp(padding, "SAME") == 0    ? BD_PADDING_SAME
                 : strcmp(padding, "VALID") == 0 ? BD_PADDING_VALID
                                                 : BD_PADDING_EXPLICIT;
    if (strcmp(format, "NCHW_VECT_C") == 0)
        return bd_fail(st, BRAID_UNIMPLEMENTED, "%s on a CPU does not know the format NCHW_VECT_C",
                       node->op_type);
    braid_code code = BRAID_OK;
    if (has_attr(node, "strides")) code = read_list(node, w, "strides", "stride", w->stride, st);
    if (!code && has_attr(node, "ksize")) {
        code = read_list(node, w, "ksize", "ksize", w->size, st);
        if (!code) code = check_positive(w, w->size, "Window size", st);
    }
    if (!code && has_attr(node, "ksizes")) {
        code = read_list(node, w, "ksizes", "ksizes", w->size, st);
        if (!code) code = check_positive(w, w->size, "Window size", st);
    }
    if (!code && has_attr(node, "dilations"))
        code = read_list(node, w, "dilations", "dilation", w->dilation, st);
    if (!code && has_attr(node, "rates")) code = read_list(node, w, "rates", "rates", w->dilation, st);
    if (!code) code = check_positive(w, w->stride, "Stride", st);
    if (!code) code = check_positive(w, w->dilation, "Dilation rate", st);
    return code ? code : read_explicit(node, w, st);
}

braid_code bd_window_read(const braid_op *node, bd_window *w, braid_status *st)
{
    const char *format = has_attr(node, "data_format") ? bd_node_attr_string(node, "data_format") : "NHWC";
    return read_window(node, format, w, st);
}

braid_code bd_window_read_volumes(const braid_op *node, bd_window *w, braid_status *st)
{
    return read_window(node, "NDHWC", w, st);
}

void bd_window_set(bd_window *w, const int64_t size[4], const int64_t stride[4])
{
    for (int d = 0; d < w->spatial; d++) {
        w->size[d] = size[bd_window_axis(w, d)];
        w->stride[d] = stride[bd_window_axis(w, d)];
    }
}

// The numbers of a list along images and channels are 1.
static bool stays(const braid_op *node, const bd_window *w, const char *name)
{
    const bd_attr *attr = bd_node_attr(node, name);
    return !attr || (attr->list.i[0] == 1 && attr->list.i[bd_window_channel_axis(w)] == 1);
}

braid_code bd_window_check_axes(const braid_op *node, const bd_window *w, braid_status *st)
{
    if (!stays(node, w, "ksize") || (has_attr(node, "ksize") && !stays(node, w, "strides")))
        return bd_fail(st, BRAID_UNIMPLEMENTED,
                       "Pooling is not yet supported on the batch or depth dimension.");
    if (has_attr(node, "ksizes")) { // patches; dilation has rates
        const char *along = !stays(node, w, "ksizes")    ? "ksizes"
                            : !stays(node, w, "strides") ? "strides"
                            : !stays(node, w, "rates")   ? "rates"
                                                         : NULL;
        if (!along) return BRAID_OK;
        return bd_fail(st, BRAID_UNIMPLEMENTED, "Only support %s across space.", along);
    }
    const char *name = !stays(node, w, "strides")     ? "strides"
                       : !stays(node, w, "dilations") ? "dilations"
                                                      : NULL;
    if (!name) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "Current implementation does not yet support %s in the batch and depth dimensions.", name);
}

void bd_window_copy_attrs(braid_op_desc *d, const braid_op *op)
{
    static const char *const names[] = {
        "strides",   "ksize",  "padding", "explicit_paddings", "data_format",
        "dilations", "ksizes", "rates",   "use_cudnn_on_gpu",  "include_batch_in_index"};
    for (int i = 0; i < op->attr_count; i++) {
        const bd_named_attr *attr = &op->attrs[i];
        bool is_ours = false;
        for (size_t n = 0; n < sizeof names / sizeof names[0]; n++)
            is_ours = is_ours || strcmp(attr->name, names[n]) == 0;
        if (!is_ours || attr->is_default) continue;
        switch (attr->value.kind) {
        case BD_ATTR_LIST:
            braid_op_attr_int_list(d, attr->name, attr->value.list.i, attr->value.list.count);
            break;
        case BD_ATTR_STRING: braid_op_attr_string(d, attr->name, attr->value.s.data); break;
        default: braid_op_attr_bool(d, attr->name, attr->value.b); break;
        }
    }
}

// ---- Positions ----

// Elements that a window covers from its first to its last; sizes and dilations fit 32 bits.
static int64_t extent(const bd_window *w, int d, int64_t size)
{
    return (size - 1) * w->dilation[d] + 1;
}

// The size of a dimension minus one window; negative when the window is larger.
static int64_t room_beside(const bd_window *w, int d, int64_t in, int64_t size)
{
    return in + w->before[d] + w->after[d] - extent(w, d, size);
}

// Number of positions along a dimension. As in TensorFlow it is 0 when a window is slightly too large.
static int64_t position_count(const bd_window *w, int d, int64_t in, int64_t size)
{
    int64_t stride = w->stride[d];
    if (w->padding == BD_PADDING_SAME) return in / stride + (in % stride > 0);
    return (room_beside(w, d, in, size) + stride) / stride;
}

// Larger sizes are an error: only tensors without elements could have them.
static bool fits(int64_t size)
{
    return size <= INT32_MAX;
}

braid_code bd_window_fit_dimension(const bd_window *w, int d, int64_t in, int64_t size, bd_window_fit *fit,
                                   braid_status *st)
{
    if (!fits(in) || !fits(size))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s too large", fits(in) ? "filter" : "Input");
    int64_t stride = w->stride[d], covered = extent(w, d, size);
    fit->out = position_count(w, d, in, size);
    if (fit->out < 0)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Computed output size would be negative: %lld [input_size: %lld, effective_filter_size: %lld, "
            "stride: %lld]",
            (long long)fit->out, (long long)in, (long long)covered, (long long)stride);
    fit->before = w->before[d];
    fit->after = w->after[d];
    if (w->padding == BD_PADDING_SAME) {
        int64_t all = (fit->out - 1) * stride + covered - in;
        if (all < 0 || fit->out == 0) all = 0;
        fit->before = all / 2;
        fit->after = all - fit->before;
    }
    return BRAID_OK;
}

braid_code bd_shape_ctx_window(bd_shape_ctx *c, const bd_window *w, int d, int64_t in, int64_t size,
                               int64_t *out, braid_status *st)
{
    *out = -1;
    if (in < 0 || !fits(in) || !fits(size) || (size < 0 && w->padding != BD_PADDING_SAME)) return BRAID_OK;
    *out = position_count(w, d, in, size);
    if (w->padding == BD_PADDING_SAME || room_beside(w, d, in, size) >= 0) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Negative dimension size caused by subtracting %lld from %lld",
                             (long long)extent(w, d, size), (long long)in + w->before[d] + w->after[d]);
}

braid_code bd_window_shape_in_input(bd_shape_ctx *c, const bd_window *w, int i, braid_status *st)
{
    if (!bd_shape_ctx_constant_shape(c, i, &c->outputs[0]) || c->outputs[0].rank < 0)
        c->outputs[0] = bd_window_unknown_shape(w);
    if (c->outputs[0].rank == bd_window_rank(w)) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Shape must be rank %d but is rank %d", bd_window_rank(w),
                             c->outputs[0].rank);
}

braid_tensor *bd_window_output(bd_op_ctx *c, braid_dtype dtype, const braid_shape *shape)
{
    BD_STATUS(st);
    int64_t count;
    if (bd_shape_checked_count(shape, &count, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    return bd_output(c, 0, dtype, shape);
}

bool bd_run_primitive(bd_op_ctx *c, bd_primitive_cache *cache, bd_primitive *p, const void *data)
{
    if (!p) return false;
    const bd_op_team team = bd_op_team_of(c);
    const size_t size = bd_primitive_scratch(p, &team.base);
    bd_buffer *scratch = bd_buffer_new(size);
    if (!scratch) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating %zu bytes for %s", size,
                   c->node->op_type);
    } else if (!p->run(p, data, scratch->data, &team.base)) {
        bd_op_fail(c, BRAID_INTERNAL, "oneDNN failed to run %s", c->node->op_type);
    }
    bd_buffer_unref(scratch);
    bd_primitive_give(cache, p);
    return true;
}
