// DecodeProtoV2: fields of serialized messages as tensors.
#include "base/alloc.h"
#include "base/check.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"
#include "ops/parsing/proto_source.h"
#include "proto/text_format.h"

#include <string.h>

typedef struct decode_state {
    bd_proto_source source; // first member
    bool is_text, sanitizes;
} decode_state;

static void decode_destroy(void *state)
{
    bd_proto_source_fini(state);
}

static braid_code decode_create(const braid_op *node, void *state, braid_status *st)
{
    decode_state *s = state;
    const char *format = bd_node_attr_string(node, "message_format");
    s->is_text = strcmp(format, "text") == 0;
    s->sanitizes = bd_node_attr_bool(node, "sanitize");
    if (!s->is_text && strcmp(format, "binary") != 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "format must be one of binary or text");
    if (bd_node_attr(node, "field_names")->list.count != bd_node_attr(node, "output_types")->list.count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "field_names and output_types attributes must have the same length");
    bd_proto_source_init(&s->source);
    return BRAID_OK;
}

typedef struct decoder {
    bd_op_ctx *c;
    const decode_state *s;
    int count;                 // of fields
    bd_proto_bytes *messages;  // [message_count]
    bd_message *owners;        // [message_count], of texts as messages; NULL: the input holds them
    int64_t message_count, at; // the message in work
    int32_t *sizes;            // [message_count, count]: output 0
    int32_t *longest;          // [count], at least 1
    int32_t *next;             // [count]: in the message in work
    bd_proto_value *last;      // [count]: of fields that are not repeated
} decoder;

static const bd_message_field *field(const decoder *d, int i)
{
    return d->s->source.fields[i];
}

static bool count_value(void *arg, int i, const bd_proto_value *value)
{
    (void)value;
    decoder *d = arg;
    int32_t *size = &d->sizes[d->at * d->count + i];
    if (*size == INT32_MAX) return false;
    *size = field(d, i)->is_repeated ? *size + 1 : 1;
    if (*size > d->longest[i]) d->longest[i] = *size;
    return true;
}

// ---- Storing ----

static int64_t signed_of(bd_field_type type, uint64_t bits)
{
    switch (type) {
    case BD_FIELD_INT32:
    case BD_FIELD_SFIXED32:
    case BD_FIELD_ENUM: return (int32_t)(uint32_t)bits;
    case BD_FIELD_SINT32: return (int32_t)((uint32_t)bits >> 1 ^ -((uint32_t)bits & 1));
    case BD_FIELD_SINT64: return (int64_t)(bits >> 1 ^ -(bits & 1));
    case BD_FIELD_UINT32:
    case BD_FIELD_FIXED32: return (uint32_t)bits;
    case BD_FIELD_BOOL: return bits != 0;
    default: return (int64_t)bits;
    }
}

static double number_of(bd_field_type type, uint64_t bits)
{
    double wide;
    float narrow;
    const uint32_t half = (uint32_t)bits;
    if (type == BD_FIELD_DOUBLE) {
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    }
    memcpy(&narrow, &half, sizeof narrow);
    return (double)narrow;
}

static void put_integer(const braid_tensor *y, int64_t at, int64_t value)
{
    switch (y->dtype) {
    case BRAID_BOOL: ((bool *)y->data)[at] = value != 0; break;
    case BRAID_INT32: bd_tensor_i32(y)[at] = (int32_t)value; break;
    case BRAID_UINT32: ((uint32_t *)y->data)[at] = (uint32_t)value; break;
    case BRAID_UINT64: ((uint64_t *)y->data)[at] = (uint64_t)value; break;
    default: bd_tensor_i64(y)[at] = value; break;
    }
}

static void put_number(const braid_tensor *y, int64_t at, double value)
{
    if (y->dtype == BRAID_FLOAT) {
        bd_tensor_f32(y)[at] = (float)value;
    } else {
        bd_tensor_f64(y)[at] = value;
    }
}

static const braid_tensor *output(const decoder *d, int i)
{
    return &d->c->outputs[i + 1].tensor;
}

static bool put_value(const decoder *d, int i, int32_t place, const bd_proto_value *value)
{
    const bd_field_type type = field(d, i)->type;
    const braid_tensor *y = output(d, i);
    const int64_t at = d->at * d->longest[i] + place;
    switch (y->dtype) {
    case BRAID_STRING:
        return bd_string_put(d->c, y, at, value->bytes.at, (size_t)(value->bytes.end - value->bytes.at));
    case BRAID_FLOAT:
    case BRAID_DOUBLE: put_number(y, at, number_of(type, value->bits)); return true;
    default: put_integer(y, at, signed_of(type, value->bits)); return true;
    }
}

static bool put_default(const decoder *d, int i, int32_t place)
{
    const bd_message_field *f = field(d, i);
    const braid_tensor *y = output(d, i);
    const int64_t at = d->at * d->longest[i] + place;
    switch (y->dtype) {
    case BRAID_STRING: return bd_string_put(d->c, y, at, f->default_bytes, f->default_len);
    case BRAID_FLOAT:
    case BRAID_DOUBLE: put_number(y, at, f->default_number); return true;
    default: put_integer(y, at, (int64_t)f->default_bits); return true;
    }
}

// Of a field that is not repeated the last value counts.
static bool take_value(void *arg, int i, const bd_proto_value *value)
{
    decoder *d = arg;
    if (field(d, i)->is_repeated) return d->next[i] < d->longest[i] && put_value(d, i, d->next[i]++, value);
    d->last[i] = *value;
    d->next[i] = 1;
    return true;
}

static void store_message(decoder *d)
{
    memset(d->next, 0, (size_t)d->count * sizeof *d->next);
    bool ok = bd_proto_each(d->messages[d->at], d->s->source.fields, d->count, take_value, d);
    for (int i = 0; i < d->count && ok && !bd_interrupted(); i++) {
        if (!field(d, i)->is_repeated && d->next[i] == 1) ok = put_value(d, i, 0, &d->last[i]);
        for (int32_t place = d->next[i]; place < d->longest[i] && ok && !bd_interrupted_at(place); place++)
            ok = put_default(d, i, place);
    }
}

// ---- The messages ----

static void fail_message(const decoder *d, int64_t i, const char *format, const char *why)
{
    bd_op_fail(d->c, BRAID_DATA_LOSS, "Unable to parse %s protobuf of type %s, message %lld%s%s", format,
               bd_message_type_name(d->s->source.type), (long long)i, why[0] ? ": " : "", why);
}

// Reads a text as a message on the wire.
static void read_text(decoder *d, int64_t i)
{
    const bd_string *text = &bd_tensor_str(bd_input(d->c, 0))[i];
    bd_message *m = &d->owners[i];
    BD_STATUS(st);
    bd_message_init(m);
    if (bd_text_format_to_wire(bd_message_type_descriptor(d->s->source.type), text->len ? text->data : "",
                               text->len, m, st)) {
        if (st->code == BRAID_RESOURCE_EXHAUSTED)
            bd_op_fail_status(d->c, st);
        else
            fail_message(d, i, "text", st->message);
        return;
    }
    if (m->slice_count > 0) // it is one slice
        d->messages[i] = (bd_proto_bytes){m->slices[0].data, m->slices[0].data + m->slices[0].len};
}

static void read_messages(decoder *d)
{
    const bd_string *texts = bd_tensor_str(bd_input(d->c, 0));
    for (int64_t i = 0; i < d->message_count && !bd_op_failed(d->c) && !bd_interrupted_at(i); i++) {
        if (d->s->is_text) {
            read_text(d, i);
            continue;
        }
        const uint8_t *data = (const uint8_t *)texts[i].data;
        if (texts[i].len > 0) d->messages[i] = (bd_proto_bytes){data, data + texts[i].len};
        if (d->s->sanitizes && !bd_proto_is_valid(d->s->source.type, d->messages[i]))
            fail_message(d, i, "binary", "");
    }
}

static braid_shape with_dim(const braid_shape *s, int64_t dim)
{
    braid_shape longer = *s;
    longer.dims[longer.rank++] = dim;
    return longer;
}

static void decode(decoder *d)
{
    bd_op_ctx *c = d->c;
    const braid_shape *batch = &bd_input(c, 0)->shape;
    const braid_shape sizes = with_dim(batch, d->count);
    read_messages(d);
    if (bd_op_failed(c) || !bd_output(c, 0, BRAID_INT32, &sizes)) return;
    d->sizes = bd_tensor_i32(&c->outputs[0].tensor);
    memset(d->sizes, 0, (size_t)d->message_count * (size_t)d->count * sizeof *d->sizes);
    for (int i = 0; i < d->count; i++)
        d->longest[i] = 1;
    for (d->at = 0; d->at < d->message_count && !bd_op_failed(c) && !bd_interrupted_at(d->at); d->at++)
        if (!bd_proto_each(d->messages[d->at], d->s->source.fields, d->count, count_value, d))
            fail_message(d, d->at, "binary", "");
    for (int i = 0; i < d->count && !bd_op_failed(c); i++) {
        const braid_shape shape = with_dim(batch, d->longest[i]);
        bd_output(c, i + 1, c->node->output_types[i + 1], &shape);
    }
    if (bd_op_interrupted(c)) return;
    for (d->at = 0; d->at < d->message_count && !bd_op_failed(c) && !bd_interrupted_at(d->at); d->at++)
        store_message(d);
}

static bool check(bd_op_ctx *c, const decode_state *s)
{
    const braid_shape *batch = &bd_input(c, 0)->shape;
    if (bd_tensor_count(bd_input(c, 0)) < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Bufs argument must contain at least one value");
    } else if (batch->rank >= BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "bytes has %d dimensions: there may be %d at most", batch->rank,
                   BRAID_RANK_MAX - 1);
    }
    for (int i = 1; i < c->output_count && !bd_op_failed(c); i++) {
        const bd_message_field *f = s->source.fields[i - 1];
        if (!bd_proto_field_has_dtype(f->type, c->node->output_types[i]))
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unexpected output type for %s.%s: %s to %s",
                       bd_message_type_name(s->source.type), f->name, bd_field_type_name(f->type),
                       braid_dtype_name(c->node->output_types[i]));
    }
    return !bd_op_failed(c);
}

static void decode_run(bd_op_ctx *c)
{
    decode_state *s = c->state;
    if (!bd_proto_source_find(c, &s->source) || !check(c, s)) return;
    decoder d = {
        .c = c, .s = s, .count = c->output_count - 1, .message_count = bd_tensor_count(bd_input(c, 0))};
    const size_t count = (size_t)d.message_count, fields = (size_t)d.count;
    d.messages = bd_try_calloc(count, sizeof *d.messages);
    d.owners = s->is_text ? bd_try_calloc(count, sizeof *d.owners) : NULL;
    d.longest = bd_try_calloc(fields, sizeof *d.longest);
    d.next = bd_try_calloc(fields, sizeof *d.next);
    d.last = bd_try_calloc(fields, sizeof *d.last);
    if (!d.messages || (s->is_text && !d.owners) || !d.longest || !d.next || !d.last)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when decoding %zu messages", count);
    else
        decode(&d);
    for (size_t i = 0; d.owners && i < count; i++)
        bd_message_fini(&d.owners[i]);
    bd_free(d.messages);
    bd_free(d.owners);
    bd_free(d.longest);
    bd_free(d.next);
    bd_free(d.last);
}

static braid_code decode_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *batch = &c->inputs[0];
    if (batch->rank < 0) return BRAID_OK;
    if (batch->rank >= BRAID_RANK_MAX)
        return bd_shape_ctx_fail(c, st, "Shape must be at most rank %d but is rank %d", BRAID_RANK_MAX - 1,
                                 batch->rank);
    c->outputs[0] = with_dim(batch, c->output_count - 1);
    for (int i = 1; i < c->output_count; i++)
        c->outputs[i] = with_dim(batch, -1);
    return BRAID_OK;
}

BD_OP(DecodeProtoV2) = {
    .signature = "(bytes: string) -> (sizes: int32, values: output_types...)",
    .attrs = "message_type:string; field_names:list(string); output_types:list(type)>=0; "
             "descriptor_source:string='local://'; message_format:string='binary'; sanitize:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = decode_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(decode_state),
                           .create = decode_create,
                           .destroy = decode_destroy,
                           .run = decode_run}),
    .doc = "Reads fields of serialized protocol buffer messages: how many values each message has, and the "
           "values, filled up with defaults. Descriptors come from a FileDescriptorSet in a file or behind "
           "bytes://, or are those of TensorFlow's own messages (local://).",
    .deviation = "sanitize checks messages and does not write them anew. Texts cannot have groups.",
};
