// Ragged tensors as elements of a tensor of variants, for datasets, tensor arrays and loops.
#include "base/alloc.h"
#include "base/check.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/variant.h"
#include "ops/ragged/ragged.h"

#include <string.h>

typedef struct ragged {
    bd_variant base;
    int count;              // of nested splits
    braid_tensor tensors[]; // owned: splits, the outermost first, then values
} ragged;

static void destroy(bd_variant *v)
{
    ragged *r = BD_CONTAINER_OF(v, ragged, base);
    for (int i = 0; i <= r->count; i++)
        bd_tensor_fini(&r->tensors[i]);
    bd_free(r);
}

static const bd_variant_type ragged_type = {.name = "RaggedTensorVariant", .destroy = destroy};

static ragged *new_ragged(int count)
{
    ragged *r = bd_calloc(1, sizeof *r + (size_t)(count + 1) * sizeof r->tensors[0]);
    bd_variant_init(&r->base, &ragged_type);
    r->count = count;
    return r;
}

// ---- RaggedTensorToVariant ----

static void put_whole(bd_op_ctx *c)
{
    const int count = c->input_count - 1;
    braid_tensor *y = bd_output(c, 0, BRAID_VARIANT, &BD_SCALAR);
    if (!y) return;
    ragged *r = new_ragged(count);
    bool ok = true;
    for (int i = 0; i <= count && ok; i++)
        ok = bd_tensor_keep(&r->tensors[i], bd_input(c, i));
    if (ok)
        bd_tensor_variant_set(y, 0, &r->base);
    else
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when keeping a ragged tensor");
    bd_variant_unref(&r->base);
}

// Copies splits [from, to] as those of a tensor of its own, which start with 0.
static bool cut_splits(braid_tensor *t, braid_dtype dtype, const int64_t *splits, int64_t from, int64_t to)
{
    const braid_shape shape = bd_shape1(to - from + 1);
    if (!bd_tensor_alloc(t, dtype, &shape)) return false;
    for (int64_t i = from; i <= to; i++) {
        if (dtype == BRAID_INT32)
            bd_tensor_i32(t)[i - from] = (int32_t)(splits[i] - splits[from]);
        else
            bd_tensor_i64(t)[i - from] = splits[i] - splits[from];
    }
    return true;
}

// Row `row` of the batch; NULL when memory is short.
static ragged *cut_row(const bd_splits *s, braid_dtype dtype, const braid_tensor *values, int64_t row)
{
    ragged *r = new_ragged(s->count - 1);
    int64_t from = s->of[0][row], to = s->of[0][row + 1];
    for (int i = 1; i < s->count; i++) {
        if (!cut_splits(&r->tensors[i - 1], dtype, s->of[i], from, to)) {
            bd_variant_unref(&r->base);
            return NULL;
        }
        from = s->of[i][from];
        to = s->of[i][to];
    }
    braid_shape shape = values->shape;
    shape.dims[0] = to - from;
    bd_tensor_view(&r->tensors[s->count - 1], values, from * bd_shape_count_range(&shape, 1, shape.rank),
                   &shape);
    return r;
}

static void put_rows(bd_op_ctx *c, const bd_splits *s, const braid_tensor *values)
{
    const braid_shape shape = bd_shape1(s->len[0] - 1);
    braid_tensor *y = bd_output(c, 0, BRAID_VARIANT, &shape), kept;
    if (!y) return;
    bool ok = bd_tensor_keep(&kept, values);
    for (int64_t i = 0; i < shape.dims[0] && ok; i++) {
        ragged *r = cut_row(s, bd_input(c, 0)->dtype, &kept, i);
        ok = r;
        if (!r) break;
        bd_tensor_variant_set(y, i, &r->base);
        bd_variant_unref(&r->base);
    }
    bd_tensor_fini(&kept);
    if (!ok) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when cutting a ragged tensor into its rows");
}

static void to_variant_run(bd_op_ctx *c)
{
    const int count = c->input_count - 1;
    const braid_tensor *values = bd_input(c, count);
    bd_splits s = {0};
    if (values->shape.rank == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Ragged values must have rank >= 1, got shape []");
    else if (!bd_node_attr_bool(c->node, "batched_input"))
        put_whole(c);
    else if (bd_splits_input(c, count, values->shape.dims[0], true, &s))
        put_rows(c, &s, values);
    bd_splits_fini(&s);
}

static braid_code to_variant_shape(bd_shape_ctx *c, braid_status *st)
{
    const int count = c->input_count - 1;
    if (c->inputs[count].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    for (int i = 0; i < count; i++)
        if (bd_shape_ctx_rank(c, i, 1, st)) return st->code;
    const braid_shape *splits = &c->inputs[0];
    c->outputs[0] = BD_SCALAR;
    if (bd_node_attr_bool(c->node, "batched_input"))
        c->outputs[0] = bd_shape1(splits->rank == 1 && splits->dims[0] > 0 ? splits->dims[0] - 1 : -1);
    return BRAID_OK;
}

BD_OP(RaggedTensorToVariant) = {
    .signature =
        "(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues) -> (encoded_ragged: variant)",
    .attrs = "RAGGED_RANK:int>=1; Tvalues:type; Tsplits:type{int32,int64}; batched_input:bool",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = to_variant_shape,
    .kernels = BD_KERNELS({.run = to_variant_run}),
    .doc = "A ragged tensor as a variant, or its rows as a vector of variants.",
};

// ---- RaggedTensorFromVariant ----

typedef struct stack {
    bd_op_ctx *c;
    const ragged **parts; // owned: [count]
    int64_t count;
    int rank; // nested splits of each part
} stack;

static bool check_part(const stack *k, int64_t i, const bd_variant *v)
{
    bd_op_ctx *c = k->c;
    const braid_dtype splits = bd_node_attr_type(c->node, "Tsplits"),
                      values = bd_node_attr_type(c->node, "Tvalues");
    if (!v || v->type != &ragged_type) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input Variant element at index %lld doesn't hold a RaggedTensorVariant: %s", (long long)i,
                   bd_variant_type_name(v));
        return false;
    }
    const ragged *r = k->parts[i] = BD_CONTAINER_OF(v, ragged, base);
    const braid_tensor *flat = &r->tensors[r->count];
    if (r->count != k->rank)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Encoded input RaggedTensorVariant has ragged_rank=%d.  Expected ragged_rank=%d.",
                   r->count, k->rank);
    else if (flat->dtype != values)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected values Tensor dtype: %s, found: %s",
                   braid_dtype_name(values), braid_dtype_name(flat->dtype));
    for (int d = 0; d < r->count && !bd_op_failed(c); d++) {
        const braid_tensor *t = &r->tensors[d];
        if (t->dtype != splits)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected row_splits Tensor dtype: %s, found: %s",
                       braid_dtype_name(splits), braid_dtype_name(t->dtype));
        else if (t->shape.rank != 1 || t->shape.dims[0] == 0)
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Ragged splits must have rank 1; encoded scalar element at index %lld has splits Tensor at "
                "split_index %d: of shape %s",
                (long long)i, d, bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
    }
    return !bd_op_failed(c);
}

// The shape of all values one after the other.
static bool stacked_shape(const stack *k, braid_shape *out)
{
    *out = bd_shape1(0);
    for (int64_t i = 0; i < k->count; i++) {
        const braid_shape *s = &k->parts[i]->tensors[k->rank].shape;
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        if (i == 0) {
            *out = *s;
            continue;
        }
        braid_shape same = *s;
        same.dims[0] = out->dims[0];
        if (!bd_shape_equal(&same, out)) {
            bd_op_fail(
                k->c, BRAID_INVALID_ARGUMENT,
                "All flat_values must have compatible shapes.  Shape at index 0: %s.  Shape at index %lld: %s.  If "
                "you are using tf.map_fn, then you may need to specify an explicit fn_output_signature with "
                "appropriate ragged_rank, and/or convert output tensors to RaggedTensors.",
                bd_shape_str(&k->parts[0]->tensors[k->rank].shape, a), (long long)i, bd_shape_str(s, b));
            return false;
        }
        out->dims[0] += s->dims[0];
    }
    return true;
}

static void output_values(const stack *k, int output)
{
    braid_shape shape;
    if (!stacked_shape(k, &shape)) return;
    BD_STATUS(st);
    int64_t count, at = 0;
    if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(k->c, st);
        return;
    }
    const braid_tensor *y = bd_output(k->c, output, bd_node_attr_type(k->c->node, "Tvalues"), &shape);
    for (int64_t i = 0; y && i < k->count && !bd_interrupted_at(i); i++) {
        const braid_tensor *t = &k->parts[i]->tensors[k->rank];
        bd_elements_copy(y, at, t, 0, bd_tensor_count(t));
        at += bd_tensor_count(t);
    }
}

// The number of rows of a part: of its outermost splits, or of its values.
static int64_t row_count(const stack *k, int64_t i)
{
    const int64_t dim = k->parts[i]->tensors[0].shape.dims[0];
    return k->rank > 0 ? dim - 1 : dim;
}

// Outputs splits whose rows have `size` elements each, or (negative) are the parts.
static bool output_outer(const stack *k, int output, int64_t rows, int64_t size)
{
    int64_t *splits = bd_try_calloc((size_t)rows + 1, sizeof *splits);
    for (int64_t i = 0; splits && i < rows; i++)
        splits[i + 1] = splits[i] + (size < 0 ? row_count(k, i) : size);
    if (!splits) bd_op_fail(k->c, BRAID_RESOURCE_EXHAUSTED, "OOM when stacking ragged tensors");
    const bool ok = splits && bd_output_splits(k->c, output, splits, rows + 1);
    bd_free(splits);
    return ok;
}

// Splits `level` of all parts, one after the other.
static bool output_inner(const stack *k, int output, int level)
{
    int64_t len = 1, at = 0;
    for (int64_t i = 0; i < k->count; i++)
        len += k->parts[i]->tensors[level].shape.dims[0] - 1;
    int64_t *splits = bd_try_calloc((size_t)len, sizeof *splits);
    for (int64_t i = 0; splits && i < k->count; i++) {
        const braid_tensor *t = &k->parts[i]->tensors[level];
        const uint64_t before = (uint64_t)splits[at];
        for (int64_t j = 1; j < t->shape.dims[0]; j++)
            splits[++at] = (int64_t)(before + (uint64_t)bd_tensor_index(t, j));
    }
    if (!splits) bd_op_fail(k->c, BRAID_RESOURCE_EXHAUSTED, "OOM when stacking ragged tensors");
    const bool ok = splits && bd_output_splits(k->c, output, splits, len);
    bd_free(splits);
    return ok;
}

static void output_stack(const stack *k)
{
    const braid_shape *s = &bd_input(k->c, 0)->shape;
    int output = 0;
    bool ok = true;
    if (s->rank == 0) { // unchanged
        for (int i = 0; i <= k->rank; i++)
            bd_output_set(k->c, i, &k->parts[0]->tensors[i]);
        return;
    }
    int64_t rows = 1;
    for (int d = 0; d + 1 < s->rank && ok; d++) {
        // If an inner dimension is 0, the outer ones may be anything.
        if (__builtin_mul_overflow(rows, s->dims[d], &rows)) rows = INT64_MAX / 2;
        ok = output_outer(k, output++, rows, s->dims[d + 1]);
    }
    ok = ok && output_outer(k, output++, k->count, -1);
    for (int i = 0; i < k->rank && ok; i++)
        ok = output_inner(k, output++, i);
    if (ok) output_values(k, output);
}

static bool find_rank(bd_op_ctx *c, int64_t *rank)
{
    const int64_t input = bd_node_attr_int(c->node, "input_ragged_rank"),
                  output = bd_node_attr_int(c->node, "output_ragged_rank");
    const int dims = bd_input(c, 0)->shape.rank;
    *rank = input == -1 ? output - dims : input;
    if (*rank < 0)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found "
            "output_ragged_rank: %lld, encoded_variant.dims(): %d, inferred input_ragged_rank: %lld",
            (long long)output, dims, (long long)*rank);
    else if (output != dims + *rank)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
                   "output_ragged_rank: %lld, input_ragged_rank: %lld, encoded_variant.dims(): %d.",
                   (long long)output, (long long)*rank, dims);
    return !bd_op_failed(c);
}

static void from_variant_run(bd_op_ctx *c)
{
    int64_t rank;
    if (!find_rank(c, &rank)) return;
    const braid_tensor *x = bd_input(c, 0);
    stack k = {.c = c, .count = bd_tensor_count(x), .rank = (int)rank};
    k.parts = bd_try_calloc((size_t)k.count + 1, sizeof *k.parts);
    if (!k.parts) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when stacking ragged tensors");
        return;
    }
    bool ok = true;
    for (int64_t i = 0; i < k.count && ok; i++)
        ok = check_part(&k, i, bd_tensor_variant(x)[i]);
    if (ok) output_stack(&k);
    bd_free(k.parts);
}

static braid_code from_variant_shape(bd_shape_ctx *c, braid_status *st)
{
    const int64_t input = bd_node_attr_int(c->node, "input_ragged_rank"),
                  output = bd_node_attr_int(c->node, "output_ragged_rank");
    for (int i = 0; i + 1 < c->output_count; i++)
        c->outputs[i] = bd_shape1(-1);
    c->outputs[c->output_count - 1] = BD_SHAPE_UNKNOWN;
    if (input < 0 || c->inputs[0].rank < 0 || c->inputs[0].rank == output - input) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Shape must be rank %lld but is rank %d", (long long)(output - input),
                             c->inputs[0].rank);
}

BD_OP(RaggedTensorFromVariant) = {
    .signature = "(encoded_ragged: variant) -> (output_nested_splits: output_ragged_rank*Tsplits, "
                 "output_dense_values: Tvalues)",
    .attrs = "input_ragged_rank:int>=-1; output_ragged_rank:int>=1; Tvalues:type; Tsplits:type{int32,int64}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = from_variant_shape,
    .kernels = BD_KERNELS({.run = from_variant_run}),
    .doc = "The ragged tensor that a variant holds, or those of a tensor of variants stacked.",
};

// ---- RaggedTensorToVariantGradient ----

// Appends the values of element `i`; an empty variant means zeros, as many as its row had.
static bool append_gradient(bd_op_ctx *c, const braid_tensor *y, int64_t i, int64_t *at)
{
    const braid_tensor *x = bd_input(c, 0), *splits = bd_input(c, 1);
    const int64_t inner = bd_shape_count_range(&y->shape, 1, y->shape.rank);
    const bd_variant *v = bd_tensor_variant(x)[i];
    const braid_tensor *t = NULL;
    int64_t count = (bd_tensor_index(splits, i + 1) - bd_tensor_index(splits, i)) * inner;
    if (v && v->type == &ragged_type) {
        const ragged *r = BD_CONTAINER_OF(v, ragged, base);
        t = &r->tensors[r->count];
        count = bd_tensor_count(t);
    }
    if ((t && t->dtype != y->dtype) || count < 0 || count > bd_tensor_count(y) - *at) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Gradient %lld has %lld values of %s, of a tensor of shape %s",
                   (long long)i, (long long)count, braid_dtype_name(t ? t->dtype : y->dtype),
                   bd_shape_str(&y->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    if (t) bd_elements_copy(y, *at, t, 0, count);
    *at += count;
    return true;
}

static void gradient_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    const int64_t count = bd_tensor_count(x);
    bd_splits s;
    braid_shape shape;
    if (!bd_input_shape(c, 2, "dense_values_shape", &shape)) return;
    if (bd_splits_vector(c, 1, &s) && (s.len[0] != count + 1 || shape.rank == 0))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "row_splits must have %lld elements, and values at least rank 1", (long long)count + 1);
    bd_splits_fini(&s);
    const braid_tensor *y =
        bd_op_failed(c) ? NULL : bd_output(c, 0, bd_node_attr_type(c->node, "Tvalues"), &shape);
    if (!y) return;
    const size_t size = braid_dtype_size(y->dtype);
    if (size) memset(y->data, 0, (size_t)bd_tensor_count(y) * size);
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++)
        if (!append_gradient(c, y, i, &at)) return;
}

static braid_code gradient_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_tensor *shape = bd_shape_ctx_constant(c, 2);
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    if (!shape || shape->shape.rank != 1 || bd_tensor_count(shape) > BRAID_RANK_MAX)
        return bd_shape_ctx_rank(c, 2, 1, st);
    c->outputs[0].rank = (int)bd_tensor_count(shape);
    for (int d = 0; d < c->outputs[0].rank; d++)
        c->outputs[0].dims[d] = bd_max(bd_tensor_index(shape, d), -1);
    return BRAID_OK;
}

BD_OP(RaggedTensorToVariantGradient) = {
    .signature = "(encoded_ragged_grad: variant, row_splits: Tsplits, dense_values_shape: int32) -> "
                 "(dense_values_grad: Tvalues)",
    .attrs = "Tvalues:type; Tsplits:type{int32,int64}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = gradient_shape,
    .kernels = BD_KERNELS({.run = gradient_run}),
    .doc = "The gradient of the values that RaggedTensorToVariant took, from those of its variants.",
};
