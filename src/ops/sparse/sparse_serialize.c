// SerializeSparse, SerializeManySparse and back: a sparse tensor as three strings, each a TensorProto, or as
// three variants.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/string_out.h"
#include "ops/common/tensor_variant.h"
#include "ops/sparse/sparse_batch.h"
#include "tensor/tensor_proto.h"

#include <string.h>

static bool put_variant(bd_op_ctx *c, braid_tensor *y, int64_t i, const braid_tensor *t)
{
    if (bd_tensor_variant_put(y, i, t)) return true;
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when keeping a tensor as a variant");
    return false;
}

static bool put_tensor(bd_op_ctx *c, braid_tensor *y, int64_t i, const braid_tensor *t)
{
    return y->dtype == BRAID_VARIANT ? put_variant(c, y, i, t) : bd_string_put_tensor(c, y, i, t);
}

// Elements `first` to `first + 2` of the output.
static bool put_part(bd_op_ctx *c, braid_tensor *y, int64_t first, const bd_sparse_part *p)
{
    braid_tensor shape;
    braid_shape length = bd_shape1(p->shape.rank);
    if (!bd_tensor_alloc(&shape, BRAID_INT64, &length)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when serializing a sparse tensor");
        return false;
    }
    for (int d = 0; d < p->shape.rank; d++)
        bd_tensor_i64(&shape)[d] = p->shape.dims[d];
    bool ok = put_tensor(c, y, first, &p->indices) && put_tensor(c, y, first + 1, &p->values) &&
              put_tensor(c, y, first + 2, &shape);
    bd_tensor_fini(&shape);
    return ok;
}

// ---- SerializeSparse, SerializeManySparse ----

static braid_code serialize_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape1(3);
    return bd_shape_ctx_sparse(c, 0, 1, 2, st);
}

static braid_code serialize_many_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape2(-1, 3);
    return bd_shape_ctx_sparse(c, 0, 1, 2, st);
}

static bool can_serialize(bd_op_ctx *c)
{
    if (c->node->output_types[0] == BRAID_VARIANT || bd_input(c, 1)->dtype != BRAID_VARIANT) return true;
    bd_op_fail(c, BRAID_UNIMPLEMENTED, "A sparse tensor of variants cannot be serialized to strings");
    return false;
}

static void serialize_run(bd_op_ctx *c)
{
    __attribute__((cleanup(bd_sparse_part_fini))) bd_sparse_part p = {0};
    braid_shape three = bd_shape1(3);
    if (!can_serialize(c) || !bd_sparse_part_input(c, &p)) return;
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &three);
    if (y) put_part(c, y, 0, &p);
}

static void serialize_many_run(bd_op_ctx *c)
{
    BD_SPARSE(s);
    if (!can_serialize(c) || !bd_sparse_input_batch(c, &s)) return;
    braid_shape shape = bd_shape2(s.shape.dims[0], 3);
    braid_tensor *y =
        bd_sparse_check_size(c, &shape) ? bd_output(c, 0, c->node->output_types[0], &shape) : NULL;
    for (int64_t row = 0, from = 0, to; y && row < shape.dims[0] && !bd_interrupted(); row++, from = to) {
        __attribute__((cleanup(bd_sparse_part_fini))) bd_sparse_part p = {0};
        to = bd_sparse_row_end(&s, from, row);
        if (!bd_sparse_part_of(c, &s, from, to, &p) || !put_part(c, y, 3 * row, &p)) return;
    }
}

#define SERIALIZE_INPUTS "(sparse_indices: int64, sparse_values: T, sparse_shape: int64) -> "

BD_OP(SerializeSparse) = {
    .signature = SERIALIZE_INPUTS "(serialized_sparse: out_type)",
    .attrs = "T:type; out_type:type{string,variant}=string",
    .shape = serialize_shape,
    .kernels = BD_KERNELS({.run = serialize_run}),
    .doc = "A sparse tensor as three elements: its indices, values and shape.",
};

BD_OP(SerializeManySparse) = {
    .signature = SERIALIZE_INPUTS "(serialized_sparse: out_type)",
    .attrs = "T:type; out_type:type{string,variant}=string",
    .shape = serialize_many_shape,
    .kernels = BD_KERNELS({.run = serialize_many_run}),
    .doc = "Each row of a sparse tensor as three elements: its indices, values and shape.",
};

// ---- DeserializeSparse, DeserializeManySparse ----

static braid_code deserialize_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *s = &c->inputs[0];
    bd_shape_ctx_sparse_outputs(c, 0, -1, -1);
    if (s->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (s->rank > 0 && s->dims[s->rank - 1] >= 0 && s->dims[s->rank - 1] != 3)
        return bd_shape_ctx_fail(c, st, "Dimension must be 3 but is %lld", (long long)s->dims[s->rank - 1]);
    return BRAID_OK;
}

static braid_code deserialize_many_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    return code ? code : deserialize_shape(c, st);
}

// The memory that the strings may still be decoded to. A short string can represent a large tensor: all
// together have the limit of one.
typedef struct budget {
    size_t bytes;
} budget;

static bool get_tensor(bd_op_ctx *c, const braid_tensor *from, int64_t at, budget *left, braid_tensor *t)
{
    BD_STATUS(st);
    if (from->dtype == BRAID_VARIANT) {
        const braid_tensor *held = bd_tensor_variant_get(from, at);
        if (held) {
            bd_tensor_ref(t, held);
            return true;
        }
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "serialized_sparse[%lld, %lld] holds %s, not a tensor",
                   (long long)(at / 3), (long long)(at % 3),
                   bd_variant_type_name(bd_tensor_variant(from)[at]));
        return false;
    }
    const bd_string *s = &bd_tensor_str(from)[at];
    if (bd_tensor_proto_parse(s->data ? s->data : "", s->len, t, st)) {
        bd_op_fail(c, st->code, "Could not parse serialized proto: serialized_sparse[%lld, %lld]: %s",
                   (long long)(at / 3), (long long)(at % 3), st->message);
        return false;
    }
    size_t bytes = (size_t)bd_tensor_count(t) * bd_element_size(t->dtype);
    if (bytes > s->len) {
        size_t extra = bytes - s->len;
        if (extra > left->bytes) {
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED,
                       "serialized_sparse: short strings decode to more than %zu bytes",
                       BD_TENSOR_PROTO_SPLAT_MAX);
            return false;
        }
        left->bytes -= extra;
    }
    return true;
}

static bool check_forms(bd_op_ctx *c, int64_t i, const bd_sparse_part *p, const braid_tensor *shape)
{
    char text[BD_SHAPE_STR_MAX];
    braid_dtype want = bd_node_attr_type(c->node, "dtype");
    if (p->indices.shape.rank != 2 || p->indices.dtype != BRAID_INT64) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Expected serialized_sparse[%lld, 0] to represent an index matrix but received shape %s (%s)",
            (long long)i, bd_shape_str(&p->indices.shape, text), braid_dtype_name(p->indices.dtype));
    } else if (p->values.shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected serialized_sparse[%lld, 1] to represent a values vector but received shape %s",
                   (long long)i, bd_shape_str(&p->values.shape, text));
    } else if (p->values.dtype != want) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Requested SparseTensor of type %s but SparseTensor[%lld].values.dtype() == %s",
                   braid_dtype_name(want), (long long)i, braid_dtype_name(p->values.dtype));
    } else if (p->indices.shape.dims[0] != p->values.shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected row counts of SparseTensor[%lld].indices and SparseTensor[%lld].values to match "
                   "but they do not: %lld vs. %lld",
                   (long long)i, (long long)i, (long long)p->indices.shape.dims[0],
                   (long long)p->values.shape.dims[0]);
    } else if (shape->shape.rank != 1 || shape->dtype != BRAID_INT64) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected serialized_sparse[%lld, 1] to be a shape vector but its shape is %s (%s)",
                   (long long)i, bd_shape_str(&shape->shape, text), braid_dtype_name(shape->dtype));
    } else if (p->indices.shape.dims[1] != shape->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected column counts of SparseTensor[%lld].indices to match size of "
                   "SparseTensor[%lld].shape but they do not: %lld vs. %lld",
                   (long long)i, (long long)i, (long long)p->indices.shape.dims[1],
                   (long long)shape->shape.dims[0]);
    }
    return !bd_op_failed(c);
}

static bool read_shape(bd_op_ctx *c, int64_t i, const braid_tensor *t, braid_shape *shape)
{
    if (t->shape.dims[0] > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "SparseTensor[%lld] has %lld dimensions; at most %d are possible", (long long)i,
                   (long long)t->shape.dims[0], BRAID_RANK_MAX);
        return false;
    }
    shape->rank = (int)t->shape.dims[0];
    for (int d = 0; d < shape->rank; d++) {
        shape->dims[d] = bd_tensor_index(t, d);
        if (shape->dims[d] >= 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dimension %lld of SparseTensor[%lld].shape must be >= 0",
                   (long long)shape->dims[d], (long long)i);
        return false;
    }
    return true;
}

static bool get_part(bd_op_ctx *c, int64_t i, budget *left, bd_sparse_part *p)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor shape = {0};
    bool ok = get_tensor(c, x, 3 * i, left, &p->indices) && get_tensor(c, x, 3 * i + 1, left, &p->values) &&
              get_tensor(c, x, 3 * i + 2, left, &shape) && check_forms(c, i, p, &shape) &&
              read_shape(c, i, &shape, &p->shape);
    bd_tensor_fini(&shape);
    return ok;
}

static bool check_serialized(bd_op_ctx *c, const braid_shape *s)
{
    char text[BD_SHAPE_STR_MAX];
    if (s->rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Serialized sparse should have non-zero rank %s",
                   bd_shape_str(s, text));
    } else if (s->dims[s->rank - 1] != 3) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Serialized sparse should have 3 as the last dimension %s",
                   bd_shape_str(s, text));
    } else if (bd_shape_count(s) == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension %s",
                   bd_shape_str(s, text));
    }
    return !bd_op_failed(c);
}

static void deserialize_run(bd_op_ctx *c)
{
    braid_shape batch = bd_input(c, 0)->shape;
    budget left = {BD_TENSOR_PROTO_SPLAT_MAX};
    if (!check_serialized(c, &batch)) return;
    batch.rank--;
    int64_t count = bd_shape_count(&batch), done = 0;
    bd_sparse_part *parts = bd_try_calloc((size_t)count, sizeof *parts);
    if (!parts)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when reading %lld sparse tensors", (long long)count);
    while (parts && done < count && get_part(c, done, &left, &parts[done]))
        done++;
    if (done == count) bd_output_sparse_batch(c, parts, &batch, "shape", 0);
    for (int64_t i = 0; parts && i < count; i++)
        bd_sparse_part_fini(&parts[i]);
    bd_free(parts);
}

BD_OP(DeserializeSparse) = {
    .signature = "(serialized_sparse: Tserialized) -> (sparse_indices: int64, sparse_values: dtype, "
                 "sparse_shape: int64)",
    .attrs = "dtype:type; Tserialized:type{string,variant}=string",
    .shape = deserialize_shape,
    .kernels = BD_KERNELS({.run = deserialize_run}),
    .doc = "Serialized sparse tensors as one, which has the dimensions of serialized_sparse but the last "
           "before their own.",
    .deviation = "Strings that decode to more than 2 GiB beyond their own length are refused.",
};

BD_OP(DeserializeManySparse) = {
    .signature =
        "(serialized_sparse: string) -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)",
    .attrs = "dtype:type",
    .shape = deserialize_many_shape,
    .kernels = BD_KERNELS({.run = deserialize_run}),
    .doc = "The rows of a matrix of serialized sparse tensors as one sparse tensor, whose first dimension is "
           "the row.",
    .deviation = "Strings that decode to more than 2 GiB beyond their own length are refused.",
};
