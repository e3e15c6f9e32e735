// Segments: rows that have the same number, made one row.
//
// SegmentX takes numbers in order and as many segments as the last one says; UnsortedSegmentX any order, a number of segments,
// and drops rows of negative numbers.
#include "graph/grad.h"
#include "ops/element.h"
#include "ops/elementwise.h"
#include "ops/grad_steps.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef enum segment_op {
    SEGMENT_SUM,
    SEGMENT_MEAN,
    SEGMENT_PROD,
    SEGMENT_MIN,
    SEGMENT_MAX
} segment_op;

typedef struct segment_state {
    segment_op op;
    bd_binary_fn join, divide;
} segment_state;

static void bind_segment(const braid_op *node, segment_op op, segment_state *s)
{
    static const bd_binary_op joins[] = {[SEGMENT_SUM] = BD_ADD,
                                         [SEGMENT_MEAN] = BD_ADD,
                                         [SEGMENT_PROD] = BD_MUL,
                                         [SEGMENT_MIN] = BD_MIN,
                                         [SEGMENT_MAX] = BD_MAX};
    bd_number type = bd_number_of(bd_node_attr_type(node, "T"));
    *s = (segment_state){
        .op = op, .join = bd_binary_loop(joins[op], type), .divide = bd_binary_loop(BD_DIV, type)};
}

#define SEGMENT_CREATE(NAME, OP)                                                                             \
    static braid_code create_##NAME(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        (void)st;                                                                                            \
        bind_segment(node, OP, state);                                                                       \
        return BRAID_OK;                                                                                     \
    }
SEGMENT_CREATE(sum, SEGMENT_SUM)
SEGMENT_CREATE(mean, SEGMENT_MEAN)
SEGMENT_CREATE(prod, SEGMENT_PROD)
SEGMENT_CREATE(min, SEGMENT_MIN)
SEGMENT_CREATE(max, SEGMENT_MAX)

typedef union number {
    float f32;
    double f64;
    int32_t i32;
    int64_t i64;
    float c64[2];
    double c128[2];
} number;

static number number_of(braid_dtype dtype, double real, int64_t integer)
{
    number n = {.c128 = {0}};
    switch (dtype) {
    case BRAID_FLOAT: n.f32 = (float)real; break;
    case BRAID_DOUBLE: n.f64 = real; break;
    case BRAID_INT32: n.i32 = (int32_t)integer; break;
    case BRAID_COMPLEX64: n.c64[0] = (float)real; break;
    case BRAID_COMPLEX128: n.c128[0] = real; break;
    default: n.i64 = integer; break;
    }
    return n;
}

static void fill(const braid_tensor *t, number value)
{
    static const char zero[sizeof value];
    size_t size = braid_dtype_size(t->dtype);
    bool is_zero = memcmp(&value, zero, size) == 0;
    if (is_zero) memset(t->data, 0, (size_t)bd_tensor_count(t) * size);
    for (int64_t i = 0; !is_zero && i < bd_tensor_count(t); i++)
        memcpy((char *)t->data + (size_t)i * size, &value, size);
}

// Allocates output 0: `count` rows like those of the data behind its first `ids_rank` dimensions. NULL: the kernel has failed.
static braid_tensor *segment_output(bd_op_ctx *c, int64_t count, int ids_rank)
{
    const braid_tensor *data = bd_input(c, 0);
    braid_shape shape = bd_shape1(count);
    int64_t total;
    BD_STATUS(st);
    for (int d = ids_rank; d < data->shape.rank && shape.rank < BRAID_RANK_MAX; d++)
        shape.dims[shape.rank++] = data->shape.dims[d];
    if (!bd_shape_checked_count(&shape, &total, st)) return bd_output(c, 0, data->dtype, &shape);
    bd_op_fail_status(c, st);
    return NULL;
}

// ---- In order ----

// Checks id `i` against the next one and the number of segments, which the last id says.
static void check_id(bd_op_ctx *c, int64_t i, int64_t segments)
{
    const braid_tensor *ids = bd_input(c, 1);
    int64_t id = bd_tensor_index(ids, i);
    if (i + 1 < bd_tensor_count(ids) && bd_tensor_index(ids, i + 1) < id) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids are not increasing");
    } else if (id < 0 || id >= segments) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Segment id %lld out of range [0, %lld), possibly because 'segment_ids' input is not sorted.",
            (long long)id, (long long)segments);
    }
}

// The number of segments; -1: the kernel has failed.
static int64_t count_segments(bd_op_ctx *c)
{
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 1);
    int64_t count = bd_tensor_count(ids);
    if (ids->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids should be a vector.");
    } else if (data->shape.rank == 0) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "input must be at least 1-D: segment_ids should be the same size as dimension 0 of input.");
    } else if (data->shape.dims[0] != count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids should be the same size as dimension 0 of input.");
    }
    if (bd_op_failed(c)) return -1;
    int64_t last = count > 0 ? bd_tensor_index(ids, count - 1) : -1;
    if (count > 0 && (last < 0 || last == INT64_MAX))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment ids must be >= 0 and below the greatest integer");
    for (int64_t i = 0; i < count && !bd_op_failed(c); i++)
        check_id(c, i, last + 1);
    return bd_op_failed(c) ? -1 : last + 1;
}

static void sorted_run(bd_op_ctx *c)
{
    const segment_state *s = c->state;
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 1);
    int64_t segments = count_segments(c);
    braid_tensor *y = segments < 0 ? NULL : segment_output(c, segments, 1);
    if (!y) return;
    fill(y, number_of(y->dtype, s->op == SEGMENT_PROD, s->op == SEGMENT_PROD)); // segments without rows
    int64_t len = bd_shape_count_range(&data->shape, 1, data->shape.rank), count = bd_tensor_count(ids);
    size_t size = braid_dtype_size(y->dtype);
    for (int64_t i = 0, from = 0; i < count; i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0 || id >= segments) continue; // a variable's ids may change between two looks
        if (i > 0 && bd_tensor_index(ids, i - 1) != id) from = i;
        char *to = (char *)y->data + (size_t)(id * len) * size;
        const char *x = (const char *)data->data + (size_t)(i * len) * size;
        if (i == from) {
            memcpy(to, x, (size_t)len * size);
        } else {
            s->join(to, x, to, len, BD_SINGLE_NONE);
        }
        bool is_last = i + 1 == count || bd_tensor_index(ids, i + 1) != id;
        number rows = number_of(y->dtype, (double)(i + 1 - from), i + 1 - from);
        if (s->op == SEGMENT_MEAN && is_last) s->divide(to, &rows, to, len, BD_SINGLE_Y);
    }
}

// ---- In any order ----

static bool check_unsorted(bd_op_ctx *c, int64_t *count)
{
    const braid_shape *data = &bd_input(c, 0)->shape, *ids = &bd_input(c, 1)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (bd_input(c, 2)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_segments should be a scalar, not shape %s",
                   bd_shape_str(&bd_input(c, 2)->shape, a));
        return false;
    }
    *count = bd_tensor_index(bd_input(c, 2), 0);
    bool fits = data->rank >= ids->rank;
    for (int d = 0; fits && d < ids->rank; d++)
        fits = data->dims[d] == ids->dims[d];
    if (!fits) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "data.shape = %s does not start with segment_ids.shape = %s",
                   bd_shape_str(data, a), bd_shape_str(ids, b));
        return false;
    }
    if (*count < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input num_segments == %lld must not be negative.",
                   (long long)*count);
    return *count >= 0;
}

// What a segment without rows is, and what rows are joined to.
static number start_of(segment_op op, braid_dtype dtype)
{
    double largest = dtype == BRAID_FLOAT ? (double)FLT_MAX : DBL_MAX;
    bool narrow = dtype == BRAID_INT32;
    switch (op) {
    case SEGMENT_PROD: return number_of(dtype, 1, 1);
    case SEGMENT_MIN: return number_of(dtype, largest, narrow ? INT32_MAX : INT64_MAX);
    case SEGMENT_MAX: return number_of(dtype, -largest, narrow ? INT32_MIN : INT64_MIN);
    default: return number_of(dtype, 0, 0);
    }
}

static void unsorted_run(bd_op_ctx *c)
{
    const segment_state *s = c->state;
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 1);
    int64_t count;
    if (!check_unsorted(c, &count)) return;
    braid_tensor *y = segment_output(c, count, ids->shape.rank);
    if (!y) return;
    size_t size = braid_dtype_size(y->dtype);
    fill(y, start_of(s->op, y->dtype));
    int64_t len = bd_shape_count_range(&data->shape, ids->shape.rank, data->shape.rank);
    for (int64_t i = 0; i < bd_tensor_count(ids); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0) continue; // dropped
        if (id >= count) {
            char place[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids%s = %lld is out of range [0, %lld)",
                       bd_element_place(&ids->shape, i, place), (long long)id, (long long)count);
            return;
        }
        char *to = (char *)y->data + (size_t)(id * len) * size;
        s->join(to, (const char *)data->data + (size_t)(i * len) * size, to, len, BD_SINGLE_NONE);
    }
}

// ---- Shapes ----

static braid_code sorted_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *data = &c->inputs[0];
    braid_code code = BRAID_OK;
    for (int i = 1; i < c->input_count && !code; i++)
        code = bd_shape_ctx_rank(c, i, 1, st);
    if (code) return code;
    if (data->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    c->outputs[0] = *data;
    if (data->rank > 0) c->outputs[0].dims[0] = -1;
    return BRAID_OK;
}

// `data` begins with the dimensions of `ids`; the output has num_segments in their place.
static braid_code unsorted_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *data = &c->inputs[0], *ids = &c->inputs[1];
    braid_code code = bd_shape_ctx_rank(c, 2, 0, st);
    if (code || data->rank < 0 || ids->rank < 0) return code;
    if (ids->rank > data->rank)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank %d but is rank %d", ids->rank,
                                 data->rank);
    braid_shape out = bd_shape1(-1);
    bd_shape_ctx_constant_int(c, 2, &out.dims[0]);
    for (int d = ids->rank; d < data->rank && out.rank < BRAID_RANK_MAX; d++)
        out.dims[out.rank++] = data->dims[d];
    c->outputs[0] = out;
    return BRAID_OK;
}

// ---- Gradients ----

// For each row of the data what `segments` has for its segment: zeros where an unsorted op has dropped it.
static braid_out rows_of(bd_grad_ctx *c, braid_out segments)
{
    braid_graph *g = c->graph;
    braid_out ids = c->op->inputs[1];
    if (c->op->input_count == 2) return bd_b2(g, "Gather", NULL, segments, ids);
    braid_out zero = bd_b1(g, "ZerosLike", "zeros_like", ids);
    braid_out rows = bd_b2(g, "Gather", NULL, segments, bd_b2(g, "Maximum", NULL, ids, zero));
    // Whether a row was kept, of the shape of the ids with dimensions of size 1 behind, to be broadcast.
    braid_out further = bd_b2(g, "Sub", "sub", bd_grad_rank(g, rows), bd_grad_rank(g, ids));
    further = bd_b2(g, "Reshape", NULL, further, bd_b_const_i32_vector(g, "Const", (int32_t[]){1}, 1));
    braid_out ones = bd_b2(g, "Fill", NULL, further, bd_b_const_i32(g, "value", 1));
    braid_out sizes[2] = {bd_b_shape(g, "Shape", ids), ones};
    braid_out kept =
        bd_b2(g, "Reshape", NULL, bd_b2(g, "GreaterEqual", NULL, ids, zero), bd_grad_concat(g, sizes, 2, 0));
    return bd_b3(g, "SelectV2", NULL, kept, rows, bd_b1(g, "ZerosLike", "zeros_like", rows));
}

static void sum_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = rows_of(c, c->output_grads[0]);
}

// Sums by the segments of the op that is differentiated.
static braid_out sum_like(bd_grad_ctx *c, braid_out rows)
{
    if (c->op->input_count == 2) return bd_b2(c->graph, "SegmentSum", NULL, rows, c->op->inputs[1]);
    return bd_b3(c->graph, "UnsortedSegmentSum", NULL, rows, c->op->inputs[1], c->op->inputs[2]);
}

static braid_out cast_like(braid_graph *g, braid_out x, braid_out like)
{
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, x);
    braid_op_attr_type(d, "DstT", bd_dtype_base(braid_out_dtype(like)));
    return braid_op_end_out(d);
}

static void mean_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], grad = c->output_grads[0];
    braid_out one = bd_b_const_f(g, "Const", bd_dtype_base(braid_out_dtype(grad)), 1);
    braid_out count = sum_like(c, bd_b2(g, "Fill", NULL, bd_b_shape(g, "Shape", x), one));
    braid_out scaled = bd_b2(g, "RealDiv", "truediv", grad, count);
    c->input_grads[0] = rows_of(c, scaled);
}

// Shared by the elements that are equal to the extreme of their segment.
static void extreme_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], grad = c->output_grads[0];
    braid_out chosen = bd_b2(g, "Equal", NULL, x, rows_of(c, braid_output(c->op, 0)));
    braid_out count = sum_like(c, cast_like(g, chosen, grad));
    braid_out shares = rows_of(c, bd_b2(g, "RealDiv", "truediv", grad, count));
    c->input_grads[0] = bd_b3(g, "Select", NULL, chosen, shares, bd_b1(g, "ZerosLike", "zeros_like", x));
}

// Of a product by one factor: the product over the factor, or that of the others where the factor is the only 0 of its segment.
static void product_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], ids = c->op->inputs[1], count = c->op->inputs[2],
              grad = c->output_grads[0];
    braid_dtype dtype = bd_dtype_base(braid_out_dtype(x));
    braid_out zero = bd_b_const_f(g, "zero", dtype, 0), one = bd_b_const_f(g, "one", dtype, 1);
    braid_out is_zero = bd_b2(g, "Equal", NULL, x, zero);
    braid_out zeros = bd_b3(g, "UnsortedSegmentSum", NULL, cast_like(g, is_zero, x), ids, count);
    braid_out alone = bd_b3(g, "SelectV2", NULL, bd_b2(g, "Greater", NULL, zeros, one), zero, grad);
    braid_out others =
        bd_b3(g, "UnsortedSegmentProd", NULL, bd_b3(g, "SelectV2", NULL, is_zero, one, x), ids, count);
    braid_out quotient = bd_b2(g, "RealDiv", "truediv", rows_of(c, braid_output(c->op, 0)), x);
    braid_out slope = bd_b3(g, "SelectV2", NULL, is_zero, rows_of(c, others), quotient);
    c->input_grads[0] = bd_b2(g, "Mul", "mul", rows_of(c, alone), slope);
}

// ---- Definitions ----

// Extremes of no row are the ends of the type's range.
#define SEGMENT_KERNELS(NAME, RUN, TYPES, FLAGS)                                                             \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_WIDENS | (FLAGS),                                                         \
                .state_size = sizeof(segment_state),                                                         \
                .create = create_##NAME,                                                                     \
                .run = (RUN)})
#define SORTED_SIGNATURE "(data: T, segment_ids: Tindices) -> (output: T)"
#define UNSORTED_SIGNATURE "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)"
#define UNSORTED_ATTRS "; Tindices:type{int32,int64}; Tnumsegments:type{int32,int64}=int32"

BD_OP(SegmentSum) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .gradient = sum_gradient,
    .kernels = SEGMENT_KERNELS(sum, sorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Row s of the output is the sum of the rows of data whose segment id is s; ids do not decrease.",
};

BD_OP(SegmentMean) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .gradient = mean_gradient,
    .kernels = SEGMENT_KERNELS(mean, sorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Row s of the output is the mean of the rows of data whose segment id is s; ids do not decrease.",
};

BD_OP(SegmentProd) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .kernels = SEGMENT_KERNELS(prod, sorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc =
        "Row s of the output is the product of the rows of data whose segment id is s; ids do not decrease.",
};

BD_OP(SegmentMin) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{realnumber}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .gradient = extreme_gradient,
    .kernels = SEGMENT_KERNELS(min, sorted_run, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc =
        "Row s of the output has the least elements of the rows of data whose segment id is s; ids do not decrease.",
};

BD_OP(SegmentMax) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{realnumber}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .gradient = extreme_gradient,
    .kernels = SEGMENT_KERNELS(max, sorted_run, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc =
        "Row s of the output has the greatest elements of the rows of data whose segment id is s; ids do not decrease.",
};

BD_OP(UnsortedSegmentSum) = {
    .signature = UNSORTED_SIGNATURE,
    .attrs = "T:type{number}" UNSORTED_ATTRS,
    .shape = unsorted_shape,
    .gradient = sum_gradient,
    .kernels = SEGMENT_KERNELS(sum, unsorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc =
        "Row s of the output is the sum of the rows of `data` whose segment id is s; rows of a negative id are dropped.",
};

BD_OP(UnsortedSegmentProd) = {
    .signature = UNSORTED_SIGNATURE,
    .attrs = "T:type{number}" UNSORTED_ATTRS,
    .shape = unsorted_shape,
    .gradient = product_gradient,
    .kernels = SEGMENT_KERNELS(prod, unsorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Row s of the output is the product of the rows of `data` whose segment id is s.",
};

BD_OP(UnsortedSegmentMin) = {
    .signature = UNSORTED_SIGNATURE,
    .attrs = "T:type{realnumber}" UNSORTED_ATTRS,
    .shape = unsorted_shape,
    .gradient = extreme_gradient,
    .kernels = SEGMENT_KERNELS(min, unsorted_run, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc = "Row s of the output has the least elements of the rows of `data` whose segment id is s.",
};

BD_OP(UnsortedSegmentMax) = {
    .signature = UNSORTED_SIGNATURE,
    .attrs = "T:type{realnumber}" UNSORTED_ATTRS,
    .shape = unsorted_shape,
    .gradient = extreme_gradient,
    .kernels = SEGMENT_KERNELS(max, unsorted_run, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc = "Row s of the output has the greatest elements of the rows of `data` whose segment id is s.",
};

// ---- Segments in order, and a number of them, as TensorFlow 2 has them ----

#define COUNTED_SEGMENT(NAME, TYPES, ALLOWED, FLAGS, DOC)                                                    \
    {                                                                                                        \
        .signature = UNSORTED_SIGNATURE, .attrs = ALLOWED UNSORTED_ATTRS, .shape = unsorted_shape,           \
        .kernels = SEGMENT_KERNELS(NAME, unsorted_run, TYPES, FLAGS), .doc = (DOC)                           \
    }

BD_OP(SegmentSumV2) = COUNTED_SEGMENT(sum, BD_NUMBERS BD_AND_COMPLEX, "T:type{number}", 0,
                                      "SegmentSum of which the number of segments is given.");
BD_OP(SegmentProdV2) = COUNTED_SEGMENT(prod, BD_NUMBERS BD_AND_COMPLEX, "T:type{number}", 0,
                                       "SegmentProd of which the number of segments is given.");
BD_OP(SegmentMinV2) = COUNTED_SEGMENT(min, BD_NUMBERS, "T:type{realnumber}", BD_KERNEL_CLAMPS,
                                      "SegmentMin of which the number of segments is given.");
BD_OP(SegmentMaxV2) = COUNTED_SEGMENT(max, BD_NUMBERS, "T:type{realnumber}", BD_KERNEL_CLAMPS,
                                      "SegmentMax of which the number of segments is given.");
