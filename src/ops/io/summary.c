// Summaries of numbers and tensors, and merging of summaries: serialized Summary messages for TensorBoard.
#include "ops/io/summary.h"

#include "base/alloc.h"
#include "base/map.h"
#include "graph/shape_fn.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/summary.pb-c.h"

bd_summary_tag bd_input_tag(const bd_op_ctx *c, int input, int64_t i)
{
    const bd_string *s = &bd_tensor_str(bd_input(c, input))[i];
    return (bd_summary_tag){s->data, s->len};
}

bool bd_summary_check_scalar(bd_op_ctx *c, int input, const char *message)
{
    if (bd_tensor_count(bd_input(c, input)) == 1 && bd_input(c, input)->shape.rank <= 1) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s", message);
    return false;
}

void bd_summary_begin(bd_summary_output *o)
{
    bd_message_init(&o->fields);
    bd_wire_writer_init(&o->out, &o->fields);
}

void bd_summary_end(bd_op_ctx *c, bd_summary_output *o)
{
    bd_wire_writer_finish(&o->out);
    braid_tensor *y = bd_op_failed(c) ? NULL : bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    char *bytes = y && o->fields.bytes > 0 ? bd_try_malloc(o->fields.bytes) : NULL;
    if (bytes) {
        bd_message_gather(&o->fields, bytes);
        *bd_tensor_str(y) = (bd_string){bytes, o->fields.bytes};
    } else if (y && o->fields.bytes > 0) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for a summary of %zu bytes", o->fields.bytes);
    }
    bd_message_fini(&o->fields);
}

// ---- ScalarSummary ----

static bool is_legacy_scalar(const braid_shape *s)
{
    return s->rank == 0 || (s->rank == 1 && s->dims[0] == 1);
}

static bool check_scalars(bd_op_ctx *c)
{
    const braid_tensor *tags = bd_input(c, 0), *values = bd_input(c, 1);
    if (bd_shape_equal(&tags->shape, &values->shape)) return true;
    if (is_legacy_scalar(&tags->shape) && is_legacy_scalar(&values->shape)) return true;
    bool has_one_tag = bd_tensor_count(tags) == 1;
    bd_summary_tag tag = has_one_tag ? bd_input_tag(c, 0, 0) : (bd_summary_tag){0};
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "tags and values not the same shape: %s != %s%s%.*s%s",
               bd_shape_str(&tags->shape, (char[BD_SHAPE_STR_MAX]){0}),
               bd_shape_str(&values->shape, (char[BD_SHAPE_STR_MAX]){0}), has_one_tag ? " (tag '" : "",
               (int)tag.len, tag.text ? tag.text : "", has_one_tag ? "')" : "");
    return false;
}

static void scalar_run(bd_op_ctx *c)
{
    if (!check_scalars(c)) return;
    bd_summary_output o;
    bd_summary_begin(&o);
    for (int64_t i = 0; i < bd_tensor_count(bd_input(c, 0)); i++) {
        double value = 0;
        bd_real_element(bd_input(c, 1), i, &value);
        bd_summary_put_scalar(&o.out, bd_input_tag(c, 0, i), (float)value);
    }
    bd_summary_end(c, &o);
}

BD_OP(ScalarSummary) = {
    .signature = "(tags: string, values: T) -> (summary: string)",
    .attrs = "T:type{realnumber}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = scalar_run}),
    .doc = "A summary of numbers, each under its tag.",
};

// ---- HistogramSummary ----

static void histogram_run(bd_op_ctx *c)
{
    if (!bd_summary_check_scalar(c, 0, "tags must be scalar")) return;
    BD_STATUS(st);
    bd_histogram h;
    bd_summary_output o;
    bd_histogram_init(&h);
    if (bd_histogram_add_tensor(&h, bd_input(c, 1), st)) {
        bd_status_suffix(st, " for: %s", c->node->name);
        bd_op_fail_status(c, st);
    } else {
        bd_summary_begin(&o);
        bd_summary_put_histogram(&o.out, bd_input_tag(c, 0, 0), &h);
        bd_summary_end(c, &o);
    }
    bd_histogram_fini(&h);
}

BD_OP(HistogramSummary) = {
    .signature = "(tag: string, values: T) -> (summary: string)",
    .attrs = "T:type{realnumber}=float",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = histogram_run}),
    .doc = "A summary of how the elements of a tensor are distributed; fails when one is not finite.",
};

// ---- TensorSummary, TensorSummaryV2 ----

static bool check_metadata(bd_op_ctx *c, const bd_string *metadata)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    if (bd_proto_unpack(&tensorflow__summary_metadata__descriptor, metadata->data, metadata->len, arena, st))
        return true;
    bd_status_prefix(st, "serialized_summary_metadata: ");
    bd_op_fail_status(c, st);
    return false;
}

static void tensor_run(bd_op_ctx *c)
{
    if (!bd_summary_check_scalar(c, 0, "tag must be scalar")) return;
    if (!bd_summary_check_scalar(c, 2, "serialized_summary_metadata must be scalar")) return;
    const bd_string *metadata = bd_tensor_str(bd_input(c, 2));
    if (!check_metadata(c, metadata)) return;
    bd_summary_output o;
    bd_summary_begin(&o);
    bd_summary_put_tensor(&o.out, bd_input_tag(c, 0, 0), bd_input(c, 1), metadata->data, metadata->len);
    bd_summary_end(c, &o);
}

static void node_tensor_run(bd_op_ctx *c)
{
    bd_summary_output o;
    bd_summary_begin(&o);
    bd_summary_put_node_tensor(&o.out, c->node->name, bd_input(c, 0));
    bd_summary_end(c, &o);
}

BD_OP(TensorSummaryV2) = {
    .signature = "(tag: string, tensor: T, serialized_summary_metadata: string) -> (summary: string)",
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = tensor_run}),
    .doc = "A summary of a whole tensor, with metadata that name the plugin of TensorBoard which shows it.",
};

BD_OP(TensorSummary) = {
    .signature = "(tensor: T) -> (summary: string)",
    .attrs = "T:type; description:string=''; labels:list(string)=[]; display_name:string=''",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = node_tensor_run}),
    .doc = "A summary of a whole tensor, under the name of the node.",
};

// ---- MergeSummary ----

enum {
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1
};

// Reads the next field of a message in one block, as bytes; *data is NULL if it is not a BYTES field. Returns
// false at the end or on an error.
static bool next_bytes(bd_wire_reader *r, uint32_t *field, const uint8_t **data, size_t *len)
{
    bd_wire_type type;
    bd_wire_reader sub;
    *data = NULL;
    *len = 0;
    if (!bd_wire_next(r, field, &type)) return false;
    if (type != BD_WIRE_BYTES) return bd_wire_skip(r, type);
    if (!bd_wire_get_sub(r, &sub)) return false;
    if (!bd_wire_get_piece(&sub, data, len)) *data = (const uint8_t *)"";
    return true;
}

// Finds the tag of a Summary.Value. Returns false when it is malformed.
static bool tag_of(const uint8_t *value, size_t len, bd_summary_tag *tag)
{
    bd_slice slice;
    bd_wire_reader r = bd_wire_reader_block(&slice, value, len);
    uint32_t field;
    const uint8_t *data;
    size_t data_len;
    *tag = (bd_summary_tag){0};
    while (next_bytes(&r, &field, &data, &data_len))
        if (field == VALUE_TAG && data) *tag = (bd_summary_tag){(const char *)data, data_len};
    return !r.failed;
}

static void bad_summary(bd_op_ctx *c)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Could not parse one of the summary inputs");
}

// Appends the values of a summary whose tags are not in `tags`, and adds their tags. An empty tag is not
// added.
static void merge_one(bd_op_ctx *c, const bd_string *summary, bd_map *tags, bd_wire_writer *out)
{
    bd_slice slice;
    bd_wire_reader r = bd_wire_reader_block(&slice, summary->data, summary->len);
    uint32_t field;
    const uint8_t *value;
    size_t len;
    while (!bd_op_failed(c) && next_bytes(&r, &field, &value, &len)) {
        bd_summary_tag tag;
        if (field != SUMMARY_VALUE || !value) continue;
        if (!tag_of(value, len, &tag)) {
            bad_summary(c);
        } else if (tag.len > 0 && bd_map_put_n(tags, tag.text, tag.len, tags)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Duplicate tag %.*s found in summary inputs", (int)tag.len,
                       tag.text);
        } else {
            bd_wire_put_bytes(out, SUMMARY_VALUE, value, len);
        }
    }
    if (r.failed) bad_summary(c);
}

static void merge_run(bd_op_ctx *c)
{
    bd_map tags = {0};
    bd_summary_output o;
    bd_summary_begin(&o);
    for (int i = 0; i < c->input_count; i++) {
        const braid_tensor *in = bd_input(c, i);
        for (int64_t k = 0; k < bd_tensor_count(in) && !bd_op_failed(c); k++)
            merge_one(c, &bd_tensor_str(in)[k], &tags, &o.out);
    }
    bd_summary_end(c, &o);
    bd_map_fini(&tags);
}

BD_OP(MergeSummary) = {
    .signature = "(inputs: N*string) -> (summary: string)",
    .attrs = "N:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = merge_run}),
    .doc = "One summary of several; fails when two of their values have the same tag.",
};
