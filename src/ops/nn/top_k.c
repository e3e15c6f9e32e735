// TopK, NthElement, InTopK and their versions: the greatest elements of rows, the n-th element in sorted
// order, and whether a target is among the greatest.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/sort.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- TopK, TopKV2 ----

// `known`: whether k is known.
static braid_code top_shape(bd_shape_ctx *c, bool known, int64_t k, braid_status *st)
{
    braid_shape out = c->inputs[0];
    if (out.rank < 0) return BRAID_OK;
    if (out.rank == 0) return bd_shape_ctx_fail(c, st, "input must have at least 1 dimension");
    int64_t *last = &out.dims[out.rank - 1];
    if (known && (k < 0 || (*last >= 0 && *last < k)))
        return bd_shape_ctx_fail(c, st, "input must have last dimension >= k = %lld but is %lld",
                                 (long long)k, (long long)*last);
    *last = known ? k : -1;
    c->outputs[0] = c->outputs[1] = out;
    return BRAID_OK;
}

static braid_code top_k_shape(bd_shape_ctx *c, braid_status *st)
{
    return top_shape(c, true, bd_node_attr_int(c->node, "k"), st);
}

// Reads a scalar from input 1 (k or n); -1 if it is not constant.
static braid_code scalar_input(bd_shape_ctx *c, int64_t *value, braid_status *st)
{
    *value = -1;
    const braid_tensor *t = bd_shape_ctx_constant(c, 1);
    if (!t) return BRAID_OK;
    if (t->shape.rank != 0)
        return bd_shape_ctx_fail(c, st, "Input must be scalar but has rank %d", t->shape.rank);
    *value = bd_tensor_index(t, 0);
    if (*value >= 0) return BRAID_OK;
    return bd_shape_ctx_fail(c, st,
                             "Dimension size, given by scalar input 1, must be non-negative but is %lld",
                             (long long)*value);
}

static braid_code top_k_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t k;
    braid_code code = scalar_input(c, &k, st);
    return code ? code : top_shape(c, k >= 0, k, st);
}

// Unsigned numbers of the same order as elements. The bits of -x in order are those of x reversed. Both zeros
// have one key; NaN is the greatest element, whatever its sign.
static inline uint32_t key_f32(float x)
{
    const float number = x + 0.0F;
    uint32_t bits;
    if (isnan(number)) return UINT32_MAX;
    memcpy(&bits, &number, sizeof bits);
    return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

static inline uint64_t key_f64(double x)
{
    const double number = x + 0.0;
    uint64_t bits;
    if (isnan(number)) return UINT64_MAX;
    memcpy(&bits, &number, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static inline uint32_t key_i32(int32_t x)
{
    return (uint32_t)x ^ UINT32_C(1) << 31;
}

static inline uint64_t key_i64(int64_t x)
{
    return (uint64_t)x ^ UINT64_C(1) << 63;
}

// Compares elements `a` and `b` of a row: negative if `a` is greater, or equal and earlier.
#define DEFINE_COMPARE(NAME, T, UNSIGNED, KEY)                                                               \
    static int NAME(const void *a, const void *b, void *row)                                                 \
    {                                                                                                        \
        const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;                                      \
        const UNSIGNED x = KEY(((const T *)row)[i]), y = KEY(((const T *)row)[j]);                           \
        return x > y ? -1 : x < y ? 1 : (i > j) - (i < j);                                                   \
    }
DEFINE_COMPARE(compare_f32, float, uint32_t, key_f32)
DEFINE_COMPARE(compare_f64, double, uint64_t, key_f64)
DEFINE_COMPARE(compare_i32, int32_t, uint32_t, key_i32)
DEFINE_COMPARE(compare_i64, int64_t, uint64_t, key_i64)

typedef int (*compare_fn)(const void *a, const void *b, void *row);

static compare_fn compare_of(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_FLOAT: return compare_f32;
    case BRAID_DOUBLE: return compare_f64;
    case BRAID_INT32: return compare_i32;
    default: return compare_i64;
    }
}

// The bits of a key that a pass of selection looks at. A float's first 11 are its sign, its exponent and two
// bits more, so that few elements are left for the second pass.
#define DIGIT_BITS 11

// Stores the indices of the k greatest elements of a row of n to `top`, in rising order; of equal elements
// the earlier ones are taken. KEY maps elements to unsigned numbers of the same order. The key of the k-th
// greatest is found digit by digit: each pass counts the elements that have the digits found so far by their
// next one. When it is interrupted, the indices are 0 to k - 1.
#define DEFINE_SELECT(NAME, T, UNSIGNED, KEY)                                                                \
    static void NAME(const void *row, int64_t n, int64_t k, int32_t *top)                                    \
    {                                                                                                        \
        const T *x = row;                                                                                    \
        UNSIGNED kth = 0;                                                                                    \
        int64_t equal = k; /* of the k greatest, those with the digits found so far */                       \
        for (int left = (int)sizeof kth * 8; left > 0 && !bd_interrupted();) {                               \
            const int width = left < DIGIT_BITS ? left : DIGIT_BITS;                                         \
            int64_t counts[1 << DIGIT_BITS] = {0};                                                           \
            int digit = (1 << width) - 1;                                                                    \
            left -= width;                                                                                   \
            for (int64_t i = 0, end; (end = bd_block_end(i, n)) > i;) {                                      \
                for (; i < end; i++) {                                                                       \
                    const UNSIGNED key = KEY(x[i]);                                                          \
                    if ((key ^ kth) >> left >> width == 0) counts[key >> left & (UNSIGNED)digit]++;          \
                }                                                                                            \
            }                                                                                                \
            for (; digit > 0 && counts[digit] < equal; digit--)                                              \
                equal -= counts[digit];                                                                      \
            kth |= (UNSIGNED)digit << left;                                                                  \
        }                                                                                                    \
        const bool is_cut_off = bd_interrupted();                                                            \
        for (int64_t i = 0, len = 0; len < k && i < n; i++) {                                                \
            const UNSIGNED key = KEY(x[i]);                                                                  \
            top[len] = (int32_t)i; /* kept if it is one of them */                                           \
            len += (is_cut_off | (key > kth)) + (key == kth && !is_cut_off && equal-- > 0);                  \
        }                                                                                                    \
    }

DEFINE_SELECT(select_f32, float, uint32_t, key_f32)
DEFINE_SELECT(select_f64, double, uint64_t, key_f64)
DEFINE_SELECT(select_i32, int32_t, uint32_t, key_i32)
DEFINE_SELECT(select_i64, int64_t, uint64_t, key_i64)

static void select_greatest(braid_dtype dtype, const void *row, int64_t n, int64_t k, int32_t *top)
{
    switch (dtype) {
    case BRAID_FLOAT: select_f32(row, n, k, top); break;
    case BRAID_DOUBLE: select_f64(row, n, k, top); break;
    case BRAID_INT32: select_i32(row, n, k, top); break;
    default: select_i64(row, n, k, top);
    }
}

// Up to about this k, keeping the best k in order is faster than selecting them.
#define KEEP_MAX 64

// The indices of the k greatest elements of a row of n: if `sorted`, in descending order of the elements,
// otherwise in any.
static void top_of_row(braid_dtype dtype, void *row, int64_t n, int64_t k, bool sorted, int32_t *top)
{
    compare_fn compare = compare_of(dtype);
    if (k > KEEP_MAX) {
        select_greatest(dtype, row, n, k, top);
        if (sorted) bd_sort(top, k, sizeof *top, compare, row);
        return;
    }
    int64_t len = 0;
    for (int32_t i = 0; i < n && !(i > k && bd_interrupted_at(i)); i++) { // `top` is filled
        if (len == k && (k == 0 || compare(&i, &top[k - 1], row) > 0)) continue;
        int64_t at = len < k ? len++ : k - 1;
        for (; at > 0 && compare(&i, &top[at - 1], row) < 0; at--)
            top[at] = top[at - 1];
        top[at] = i;
    }
}

// Memory for k indices. NULL: the kernel has failed.
static int32_t *make_top(bd_op_ctx *c, int64_t k)
{
    int32_t *top = bd_try_malloc((size_t)k * sizeof *top + 1);
    if (!top) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating %lld indices", (long long)k);
    return top;
}

static void put_places(const braid_tensor *y, int64_t at, const int32_t *places, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (y->dtype == BRAID_INT64) {
            bd_tensor_i64(y)[at + i] = places[i];
        } else {
            bd_tensor_i32(y)[at + i] = places[i];
        }
    }
}

static void run_top(bd_op_ctx *c, int64_t k)
{
    const braid_tensor *x = bd_input(c, 0);
    int rank = x->shape.rank;
    int64_t n = rank > 0 ? x->shape.dims[rank - 1] : -1;
    if (k < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Need k >= 0, got %lld", (long long)k);
    else if (rank == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be >= 1-D, got shape []");
    else if (n < k || n > INT32_MAX)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must have at least k columns. Had %lld, needed %lld",
                   (long long)n, (long long)k);
    if (bd_op_failed(c)) return;
    braid_shape shape = x->shape;
    shape.dims[rank - 1] = k;
    braid_tensor *values = bd_output(c, 0, x->dtype, &shape),
                 *places = values ? bd_output(c, 1, c->node->output_types[1], &shape) : NULL;
    if (k == 0) return; // there may be any number of empty rows
    int32_t *top = places ? make_top(c, k) : NULL;
    const bool sorted = bd_node_attr_bool(c->node, "sorted");
    size_t size = braid_dtype_size(x->dtype);
    for (int64_t r = 0; top && r < bd_shape_count_range(&shape, 0, rank - 1) && !bd_interrupted(); r++) {
        top_of_row(x->dtype, (char *)x->data + (size_t)(r * n) * size, n, k, sorted, top);
        for (int64_t i = 0; i < k; i++)
            bd_elements_copy(values, r * k + i, x, r * n + top[i], 1);
        put_places(places, r * k, top, k);
    }
    bd_free(top);
}

static void top_k_run(bd_op_ctx *c)
{
    run_top(c, bd_node_attr_int(c->node, "k"));
}

static void top_k_v2_run(bd_op_ctx *c)
{
    int64_t k;
    if (bd_input_scalar_index(c, 1, "k", &k)) run_top(c, k);
}

static braid_out ints(braid_graph *g, int32_t value)
{
    return bd_b_const_i32_vector(g, "Const", &value, 1);
}

// The last dimension of a shape, given as an output, as a vector of one element.
static braid_out last_dim(braid_graph *g, braid_out shape)
{
    braid_out rank = bd_b2(g, "Reshape", NULL, bd_grad_size(g, shape), ints(g, 1));
    return bd_b3(g, "Slice", NULL, shape, bd_b2(g, "Sub", "sub", rank, ints(g, 1)), ints(g, 1));
}

// The gradient flows to the selected elements: index p of row r is element r * n + p of the flat input.
static void top_k_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], places = braid_output(c->op, 1), shape = bd_b_shape(g, "Shape", x);
    braid_out k = last_dim(g, bd_b_shape(g, "Shape", places)), n = last_dim(g, shape);
    braid_out sizes[2] = {ints(g, -1), k};
    braid_out rows = bd_b2(g, "Reshape", NULL, places, bd_grad_concat(g, sizes, 2, 0));
    braid_out total = bd_b2(g, "Prod", NULL, shape, ints(g, 0));
    braid_out step = bd_b2(g, "Reshape", NULL, n, bd_b_const_i32_vector(g, "Const", NULL, 0));
    braid_out starts = bd_b3(g, "Range", NULL, bd_b_const_i32(g, "start", 0), total, step);
    braid_out column = bd_b2(g, "ExpandDims", NULL, starts, bd_b_const_i32(g, "dim", -1));
    braid_out flat = bd_grad_flatten(g, bd_b2(g, "Add", "add", rows, column));
    braid_out indices = bd_b2(g, "ExpandDims", NULL, flat, bd_b_const_i32(g, "dim", -1));
    braid_out size = bd_b2(g, "Reshape", NULL, total, ints(g, 1));
    braid_out sums = bd_b3(g, "ScatterNd", NULL, indices, bd_grad_flatten(g, c->output_grads[0]), size);
    c->input_grads[0] = bd_b2(g, "Reshape", NULL, sums, shape);
}

BD_OP(TopK) = {
    .signature = "(input: T) -> (values: T, indices: int32)",
    .attrs = "k:int>=0; sorted:bool=true; T:type{realnumber}",
    .shape = top_k_shape,
    .gradient = top_k_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_WIDENS, .run = top_k_run}),
    .doc = "TopKV2 with k as an attr.",
};

BD_OP(TopKV2) = {
    .signature = "(input: T, k: Tk) -> (values: T, indices: index_type)",
    .attrs = "sorted:bool=true; T:type{realnumber}; +Tk:type{int16,int32,int64}=int32; "
             "+index_type:type{int16,int32,int64}=int32",
    .shape = top_k_v2_shape,
    .gradient = top_k_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS "; Tk=int32|int64; index_type=int32|int64",
                           .flags = BD_KERNEL_WIDENS,
                           .run = top_k_v2_run}),
    .doc =
        "The k greatest elements of each row and their indices, in descending order if sorted, otherwise in any; of equal elements the earlier are taken, and come first.",
};

// ---- NthElement ----

static braid_code nth_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t n;
    braid_shape out = c->inputs[0];
    braid_code code = scalar_input(c, &n, st);
    if (code || out.rank < 0) return code;
    if (out.rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    int64_t last = out.dims[--out.rank];
    c->outputs[0] = out;
    if (n < 0 || last < 0 || n < last) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Input must have last dimension > n = %lld but is %lld", (long long)n,
                             (long long)last);
}

static void nth_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t at;
    if (!bd_input_scalar_index(c, 1, "n", &at)) return;
    int rank = x->shape.rank;
    int64_t n = rank > 0 ? x->shape.dims[rank - 1] : -1;
    if (at < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Need n >= 0, got %lld", (long long)at);
    } else if (rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input must be >= 1-D, got shape []");
    } else if (n <= at || n > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input must have at least n+1 columns: n is %lld, columns %lld",
                   (long long)at, (long long)n);
    }
    if (bd_op_failed(c)) return;
    // the result is the last of the k greatest
    int64_t k = bd_node_attr_bool(c->node, "reverse") ? at + 1 : n - at;
    braid_shape shape = x->shape;
    shape.rank--;
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    int32_t *top = y ? make_top(c, k) : NULL;
    size_t size = braid_dtype_size(x->dtype);
    for (int64_t r = 0; top && r < bd_tensor_count(y) && !bd_interrupted(); r++) {
        top_of_row(x->dtype, (char *)x->data + (size_t)(r * n) * size, n, k, true, top);
        bd_elements_copy(y, r, x, r * n + top[k - 1], 1);
    }
    bd_free(top);
}

// Elements of a row that are equal to the result share the gradient.
static void nth_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], last = bd_b_const_i32(g, "dim", -1);
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, bd_b2(g, "Equal", NULL, bd_b2(g, "ExpandDims", NULL, braid_output(c->op, 0), last), x));
    braid_op_attr_type(d, "DstT", bd_dtype_base(braid_out_dtype(c->output_grads[0])));
    braid_out chosen = braid_op_end_out(d);
    braid_out grad = bd_b2(g, "ExpandDims", NULL, c->output_grads[0], last);
    braid_out count = bd_b2(g, "ExpandDims", NULL, bd_b2(g, "Sum", NULL, chosen, last), last);
    c->input_grads[0] = bd_b2(g, "Mul", "mul", bd_b2(g, "RealDiv", "truediv", chosen, count), grad);
}

BD_OP(NthElement) = {
    .signature = "(input: T, n: int32) -> (values: T)",
    .attrs = "reverse:bool=false; T:type{realnumber}",
    .shape = nth_shape,
    .gradient = nth_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS, .flags = BD_KERNEL_WIDENS, .run = nth_run}),
    .doc = "The element at index n of each sorted row, ascending, or descending with attr `reverse`.",
};

// ---- InTopK, InTopKV2 ----

static braid_code in_top_k_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code) return code;
    int64_t rows = c->inputs[0].rank == 2 ? c->inputs[0].dims[0] : -1;
    int64_t targets = c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
    if (rows >= 0 && targets >= 0 && rows != targets)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)rows,
                                 (long long)targets);
    c->outputs[0] = bd_shape1(rows >= 0 ? rows : targets);
    return BRAID_OK;
}

// Whether fewer than k elements of the row are greater than the target's.
static bool is_in_top(const float *row, int64_t classes, int64_t target, int64_t k)
{
    if (target < 0 || target >= classes || !isfinite(row[target])) return false;
    int64_t greater = 0;
    for (int64_t i = 0; i < classes && !bd_interrupted_at(i); i++) {
        if (!isfinite(row[i])) return false;
        greater += row[i] > row[target];
    }
    return greater < k;
}

static void in_top_k(bd_op_ctx *c, int64_t k)
{
    const braid_tensor *x = bd_input(c, 0), *targets = bd_input(c, 1);
    char text[BD_SHAPE_STR_MAX];
    if (x->shape.rank != 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "predictions must be 2-dimensional, but they are %s",
                   bd_shape_str(&x->shape, text));
    else if (targets->shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "targets must be 1-dimensional, but they are %s",
                   bd_shape_str(&targets->shape, text));
    else if (x->shape.dims[0] != targets->shape.dims[0])
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "First dimension of predictions %lld must match length of targets %lld",
                   (long long)x->shape.dims[0], (long long)targets->shape.dims[0]);
    if (bd_op_failed(c)) return;
    int64_t classes = x->shape.dims[1];
    braid_tensor *y = bd_output(c, 0, BRAID_BOOL, &targets->shape);
    for (int64_t i = 0; y && i < x->shape.dims[0] && !bd_interrupted_at(i); i++)
        bd_tensor_bool(y)[i] =
            is_in_top(bd_tensor_f32(x) + i * classes, classes, bd_tensor_index(targets, i), k);
}

static void in_top_k_run(bd_op_ctx *c)
{
    in_top_k(c, bd_node_attr_int(c->node, "k"));
}

static void in_top_k_v2_run(bd_op_ctx *c)
{
    int64_t k;
    if (bd_input_scalar_index(c, 2, "k", &k)) in_top_k(c, k);
}

BD_OP(InTopK) = {
    .signature = "(predictions: float, targets: T) -> (precision: bool)",
    .attrs = "k:int; T:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = in_top_k_shape,
    .kernels = BD_KERNELS({.run = in_top_k_run}),
    .doc = "Whether the target of each row is among the k greatest predictions.",
};

BD_OP(InTopKV2) = {
    .signature = "(predictions: float, targets: T, k: T) -> (precision: bool)",
    .attrs = "T:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = in_top_k_shape,
    .kernels = BD_KERNELS({.run = in_top_k_v2_run}),
    .doc = "Whether the target of each row is among the k greatest predictions.",
};
