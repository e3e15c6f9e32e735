// The ops of TensorArrays that write or read many elements at once, stacked.
#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/tensor_array/tensor_array_ops.h"

#include <string.h>

// ---- Many elements, stacked ----

void bd_array_parts_fini(bd_array_parts *p)
{
    for (int64_t i = 0; i < p->count; i++)
        bd_tensor_fini(&p->items[i]);
    bd_free(p->items);
}

// Reads the elements that `indices` name (NULL: the first `count`).
bool bd_array_parts_read(bd_op_ctx *c, bd_tensor_array *a, const braid_tensor *indices, int64_t count,
                         bd_array_parts *p)
{
    BD_STATUS(st);
    *p = (bd_array_parts){bd_calloc((size_t)count + 1, sizeof(braid_tensor)), 0};
    for (; p->count < count; p->count++) {
        int64_t at = indices ? bd_tensor_index(indices, p->count) : p->count;
        if (!bd_tensor_array_read(a, at, &p->items[p->count], st)) continue;
        bd_tensor_array_fail(c, st);
        return false;
    }
    return true;
}

const char *bd_tensor_array_shape_str(const braid_shape *s, char text[BD_SHAPE_STR_MAX])
{
    return s->rank < 0 ? "<unknown>" : bd_shape_str(s, text);
}

// Of `count` elements of shape `one` that are to be stacked.
bool bd_array_parts_shape(bd_op_ctx *c, int64_t count, const braid_shape *one, braid_shape *out)
{
    BD_STATUS(st);
    int64_t all;
    if (one->rank == BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s' would make more than %d dimensions", c->node->op_type,
                   c->node->name, BRAID_RANK_MAX);
        return false;
    }
    *out = (braid_shape){.rank = one->rank + 1, .dims = {count}};
    memcpy(out->dims + 1, one->dims, (size_t)one->rank * sizeof *one->dims);
    if (!bd_shape_checked_count(out, &all, st)) return true;
    bd_op_fail_status(c, st);
    return false;
}

static bool check_stacked(bd_op_ctx *c, const bd_array_parts *p)
{
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    const braid_shape given = bd_node_attr_shape(c->node, "element_shape"), *first = &p->items[0].shape;
    braid_shape merged;
    if (!bd_shape_merge(&given, first, &merged)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "TensorArray was passed element_shape %s which does not match the Tensor at index 0: %s",
                   bd_tensor_array_shape_str(&given, x), bd_shape_str(first, y));
        return false;
    }
    for (int64_t i = 1; i < p->count; i++) {
        if (bd_shape_equal(&p->items[i].shape, first)) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "TensorArray has inconsistent shapes.  Index 0 has shape: %s but index %lld has shape: %s",
                   bd_shape_str(first, x), (long long)i, bd_shape_str(&p->items[i].shape, y));
        return false;
    }
    return true;
}

// Puts elements one after the other into output 0.
void bd_array_parts_output(bd_op_ctx *c, const bd_array_parts *p, const braid_shape *shape)
{
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], shape);
    int64_t at = 0;
    for (int64_t i = 0; y && i < p->count; i++) {
        int64_t n = bd_tensor_count(&p->items[i]);
        if (n > 0) bd_elements_copy(y, at, &p->items[i], 0, n);
        at += n;
    }
}

bool bd_tensor_array_check_vector(bd_op_ctx *c, int i, const char *what)
{
    char text[BD_SHAPE_STR_MAX];
    const braid_shape *s = &bd_input(c, i)->shape;
    if (s->rank == 1) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected %s to be a vector, %sreceived shape: %s", what,
               i == 1 ? "but " : "", bd_shape_str(s, text));
    return false;
}

static void output_none(bd_op_ctx *c, const braid_shape *one)
{
    char text[BD_SHAPE_STR_MAX];
    braid_shape shape;
    if (!bd_shape_is_known(one))
        bd_op_fail(
            c, BRAID_UNIMPLEMENTED,
            "TensorArray has size zero, but element shape %s is not fully defined. Currently only static "
            "shapes are supported when packing zero-size TensorArrays.",
            bd_tensor_array_shape_str(one, text));
    else if (bd_array_parts_shape(c, 0, one, &shape))
        bd_output(c, 0, c->node->output_types[0], &shape);
}

// Elements that `indices` name; NULL: all.
static void gather(bd_op_ctx *c, bd_tensor_array *a, const braid_tensor *indices)
{
    BD_STATUS(st);
    braid_shape one = bd_node_attr_shape(c->node, "element_shape"), shape;
    int64_t count = indices ? bd_tensor_count(indices) : 0;
    bd_array_parts p;
    if (bd_tensor_array_merge_shape(a, &one, st) || (!indices && bd_tensor_array_whole(a, &count, st))) {
        bd_tensor_array_fail(c, st);
        return;
    }
    if (count == 0) {
        output_none(c, &one);
        return;
    }
    if (bd_array_parts_read(c, a, indices, count, &p) && check_stacked(c, &p) &&
        bd_array_parts_shape(c, count, &p.items[0].shape, &shape))
        bd_array_parts_output(c, &p, &shape);
    bd_array_parts_fini(&p);
}

void bd_tensor_array_gather_run(bd_op_ctx *c)
{
    const braid_tensor *indices = c->input_count > 2 ? bd_input(c, 1) : NULL;
    if (indices && !bd_tensor_array_check_vector(c, 1, "indices")) return;
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    if (bd_tensor_array_check_read(c, a)) gather(c, a, indices);
    bd_tensor_array_unref(a);
}

static bool check_indices(bd_op_ctx *c, const braid_tensor *indices, const braid_tensor *value,
                          int64_t *needed)
{
    int64_t count = bd_tensor_count(indices);
    if (!bd_tensor_array_check_vector(c, 1, "indices")) return false;
    if (count != value->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected len(indices) == values.shape[0], but saw: %lld vs. %lld", (long long)count,
                   (long long)value->shape.dims[0]);
        return false;
    }
    *needed = 0;
    for (int64_t i = 0; i < count; i++)
        if (bd_tensor_index(indices, i) >= *needed) *needed = bd_tensor_index(indices, i) + 1;
    return true;
}

// That `value` can be written to the elements that `indices` name (NULL: all).
static bool check_scatter(bd_op_ctx *c, bd_tensor_array *a, const braid_tensor *indices,
                          const braid_tensor *value)
{
    BD_STATUS(st);
    int64_t needed, size;
    if (!bd_tensor_array_check_written(c, a, value->dtype)) return false;
    if (value->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input value for unpack must be at least a vector but received shape: []");
        return false;
    }
    needed = value->shape.dims[0];
    if (indices && !check_indices(c, indices, value, &needed)) return false;
    if (bd_tensor_array_size_for(a, needed, &size, st)) {
        bd_tensor_array_fail(c, st);
    } else if (indices && needed > size) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Max scatter index must be < array size (%lld vs. %lld)",
                   (long long)needed - 1, (long long)size);
    } else if (!indices && needed != size) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input value must have first dimension equal to the array size (%lld vs. %lld)",
                   (long long)needed, (long long)size);
    }
    return !bd_op_failed(c);
}

static void scatter(bd_op_ctx *c, bd_tensor_array *a, const braid_tensor *indices, const braid_tensor *value)
{
    BD_STATUS(st);
    braid_shape one = {.rank = value->shape.rank - 1};
    memcpy(one.dims, value->shape.dims + 1, (size_t)one.rank * sizeof *one.dims);
    int64_t len = bd_shape_count(&one);
    for (int64_t i = 0; i < value->shape.dims[0] && !bd_op_failed(c); i++) {
        braid_tensor view;
        bd_tensor_view(&view, value, i * len, &one);
        if (bd_tensor_array_write(a, indices ? bd_tensor_index(indices, i) : i, &view, st))
            bd_tensor_array_fail(c, st);
        bd_tensor_fini(&view);
    }
    if (!indices) bd_tensor_array_mark(a, value->shape.dims[0]);
    if (!bd_op_failed(c)) bd_output_set(c, 0, bd_input(c, c->input_count - 1));
}

void bd_tensor_array_scatter_run(bd_op_ctx *c)
{
    const braid_tensor *indices = c->input_count > 3 ? bd_input(c, 1) : NULL,
                       *value = bd_input(c, c->input_count - 2);
    bd_tensor_array *a = bd_tensor_array_input(c);
    if (!a) return;
    if (check_scatter(c, a, indices, value)) scatter(c, a, indices, value);
    bd_tensor_array_unref(a);
}

// ---- Shapes ----

braid_code bd_tensor_array_gather_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape one = bd_node_attr_shape(c->node, "element_shape");
    braid_code code = bd_tensor_array_check_shapes(c, "2", st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code || one.rank < 0 || one.rank == BRAID_RANK_MAX) return code;
    braid_shape *out = &c->outputs[0];
    *out = (braid_shape){.rank = one.rank + 1, .dims = {c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1}};
    memcpy(out->dims + 1, one.dims, (size_t)one.rank * sizeof *one.dims);
    return BRAID_OK;
}

braid_code bd_tensor_array_scatter_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    braid_code code = bd_tensor_array_check_shapes(c, "3", st);
    return code ? code : bd_shape_ctx_rank(c, 1, 1, st);
}

// ---- Definitions ----

BD_OP(TensorArrayGatherV3) = {
    .signature = "(handle: resource, indices: int32, flow_in: float) -> (value: dtype)",
    .attrs = "dtype:type; element_shape:shape=?",
    .flags = BD_OP_STATEFUL,
    .shape = bd_tensor_array_gather_shape,
    .gradient = bd_tensor_array_gather_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_gather_run}),
    .doc = "Reads elements of an array of tensors and stacks them.",
};

BD_OP(TensorArrayScatterV3) = {
    .signature = "(handle: resource, indices: int32, value: T, flow_in: float) -> (flow_out: float)",
    .attrs = "T:type",
    .flags = BD_OP_STATEFUL,
    .shape = bd_tensor_array_scatter_shape,
    .gradient = bd_tensor_array_scatter_gradient,
    .kernels = BD_KERNELS({.run = bd_tensor_array_scatter_run}),
    .doc = "Writes the slices of a tensor along its first dimension to elements of an array of tensors.",
};
