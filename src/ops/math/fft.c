// FFT, IFFT, RFFT, IRFFT over one, two or three dimensions: discrete Fourier transforms, computed in double.
#include "kernels/fft.h"
#include "base/alloc.h"
#include "base/complex.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "ops/common/grad_math.h"

#include <stdatomic.h>
#include <string.h>

enum {
    RANK_MAX = 3
};

// What an op's name says.
typedef struct transform {
    int rank; // of what is transformed: the last dimensions
    bool is_inverse, has_real_input, has_real_output;
} transform;

static transform transform_of(const braid_op *node)
{
    const char *name = braid_op_type(node);
    if (strncmp(name, "Batch", 5) == 0) name += 5;
    transform t = {.rank = 1, .is_inverse = name[0] == 'I'};
    t.has_real_input = name[0] == 'R';
    t.has_real_output = name[0] == 'I' && name[1] == 'R';
    const char *digit = strpbrk(name, "23");
    if (digit) t.rank = *digit - '0';
    return t;
}

static bool has_lengths(const transform *t)
{
    return t->has_real_input || t->has_real_output;
}

// ---- Shapes ----

static braid_code fft_shape(bd_shape_ctx *c, braid_status *st)
{
    transform t = transform_of(c->node);
    const braid_shape *x = &c->inputs[0];
    if (x->rank >= 0 && x->rank < t.rank)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank %d but is rank %d", t.rank, x->rank);
    c->outputs[0] = *x;
    if (!has_lengths(&t)) return BRAID_OK;
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code || x->rank < 0) return code;
    int64_t count = c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
    if (count >= 0 && count != t.rank)
        return bd_shape_ctx_fail(c, st, "Dimension must be %d but is %lld", t.rank, (long long)count);
    braid_shape lengths;
    bool is_known = bd_shape_ctx_constant_shape(c, 1, &lengths) && lengths.rank == t.rank;
    for (int d = 0; d < t.rank; d++) {
        int64_t *dim = &c->outputs[0].dims[x->rank - t.rank + d];
        *dim = is_known ? lengths.dims[d] : -1;
        if (*dim > 0 && t.has_real_input && d == t.rank - 1) *dim = *dim / 2 + 1;
    }
    return BRAID_OK;
}

// ---- Kernels ----

typedef struct fft {
    bd_op_ctx *c;
    transform t;
    const braid_tensor *x, *y;
    // Of the transformed dimensions: the transforms' lengths, and the sizes of what is read and written.
    int64_t length[RANK_MAX], in[RANK_MAX], out[RANK_MAX];
    int64_t in_dims[RANK_MAX]; // of the input, of which `in` is a part
    int64_t count;             // of complex numbers in one transform
    bd_fft_plan *plan[RANK_MAX];
    atomic_bool has_failed;
} fft;

static double _Complex number_at(const braid_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case BRAID_FLOAT: return bd_tensor_f32(t)[i];
    case BRAID_DOUBLE: return bd_tensor_f64(t)[i];
    case BRAID_COMPLEX64: return ((const float _Complex *)t->data)[i];
    default: return ((const double _Complex *)t->data)[i];
    }
}

static void put_number(const braid_tensor *t, int64_t i, double _Complex value)
{
    switch (t->dtype) {
    case BRAID_FLOAT: bd_tensor_f32(t)[i] = (float)creal(value); break;
    case BRAID_DOUBLE: bd_tensor_f64(t)[i] = creal(value); break;
    case BRAID_COMPLEX64: ((float _Complex *)t->data)[i] = (float _Complex)value; break;
    default: ((double _Complex *)t->data)[i] = value; break;
    }
}

// The place of a number, given by its place in a box of sizes `box`, among numbers of sizes `dims`.
static int64_t place_in(const fft *f, int64_t at, const int64_t *box, const int64_t *dims)
{
    int64_t place = 0, step = 1;
    for (int d = f->t.rank - 1; d >= 0; d--) {
        place += at % box[d] * step;
        at /= box[d];
        step *= dims[d];
    }
    return place;
}

static int64_t product(const fft *f, const int64_t *dims)
{
    int64_t count = 1;
    for (int d = 0; d < f->t.rank; d++)
        count *= dims[d];
    return count;
}

// Transforms all lines along dimension `d` of x [length]; of the last dimension only the first `columns`
// numbers count when d is another one.
static void along(const fft *f, int d, int64_t columns, double _Complex *x, double _Complex *line)
{
    int64_t stride = 1, length = f->length[d], last = f->length[f->t.rank - 1];
    for (int e = d + 1; e < f->t.rank; e++)
        stride *= f->length[e];
    for (int64_t i = 0; i < f->count / length && !bd_interrupted_at(i); i++) {
        int64_t inner = i % stride, start = i / stride * stride * length + inner;
        if (d < f->t.rank - 1 && inner % last >= columns) continue;
        for (int64_t k = 0; k < length; k++)
            line[k] = x[start + k * stride];
        bd_fft_plan_run(f->plan[d], f->t.is_inverse, line, line + length);
        for (int64_t k = 0; k < length; k++)
            x[start + k * stride] = line[k];
    }
}

// Completes the lines of a real signal's spectrum, of which the first half is there.
static void mirror(const fft *f, double _Complex *x)
{
    int64_t last = f->length[f->t.rank - 1];
    for (int64_t at = 0; at < f->count; at += last) {
        for (int64_t k = last / 2 + 1; k < last; k++)
            x[at + k] = conj(x[at + last - k]);
    }
}

static void transform_one(const fft *f, int64_t index, double _Complex *x, double _Complex *line)
{
    const int last = f->t.rank - 1;
    int64_t in_count = product(f, f->in), out_count = product(f, f->out);
    int64_t from = index * product(f, f->in_dims), to = index * out_count;
    memset(x, 0, (size_t)f->count * sizeof *x);
    for (int64_t i = 0; i < in_count; i++)
        x[place_in(f, i, f->in, f->length)] = number_at(f->x, from + place_in(f, i, f->in, f->in_dims));
    if (!f->t.has_real_output) along(f, last, 0, x, line);
    for (int d = last - 1; d >= 0; d--)
        along(f, d, f->t.has_real_output ? f->in[last] : f->out[last], x, line);
    if (f->t.has_real_output) {
        mirror(f, x);
        along(f, last, 0, x, line);
    }
    double scale = f->t.is_inverse ? 1 / (double)f->count : 1;
    for (int64_t i = 0; i < out_count; i++)
        put_number(f->y, to + i, x[place_in(f, i, f->out, f->length)] * scale);
}

static void transform_some(void *arg, int64_t begin, int64_t end)
{
    fft *f = arg;
    int64_t line = 0;
    for (int d = 0; d < f->t.rank; d++) {
        int64_t needed = f->length[d] + bd_fft_plan_work(f->plan[d]);
        if (needed > line) line = needed;
    }
    double _Complex *memory = bd_try_calloc((size_t)(f->count + line), sizeof *memory);
    if (!memory) atomic_store(&f->has_failed, true);
    for (int64_t i = begin; memory && i < end && !bd_interrupted_at(i); i++)
        transform_one(f, i, memory, memory + f->count);
    bd_free(memory);
}

// Reads the lengths of a transform from or to real numbers, and checks the input against them. False: the
// kernel has failed.
static bool read_lengths(fft *f, int outer)
{
    const braid_tensor *given = bd_input(f->c, 1);
    char text[BD_SHAPE_STR_MAX];
    if (given->shape.rank != 1 || given->shape.dims[0] != f->t.rank) {
        bd_op_fail(f->c, BRAID_INVALID_ARGUMENT, "fft_length must have shape [%d], not %s", f->t.rank,
                   bd_shape_str(&given->shape, text));
        return false;
    }
    for (int d = 0; d < f->t.rank; d++) {
        bool is_last = d == f->t.rank - 1;
        int64_t length = bd_tensor_i32(given)[d], half = length / 2 + 1;
        int64_t have = f->x->shape.dims[outer + d], need = is_last && f->t.has_real_output ? half : length;
        if (length < 0) {
            bd_op_fail(f->c, BRAID_INVALID_ARGUMENT, "fft_length[%d] must be 0 or more, not %lld", d,
                       (long long)length);
            return false;
        }
        if (bd_tensor_count(f->x) > 0 && length > 0 && have < need) {
            bd_op_fail(f->c, BRAID_INVALID_ARGUMENT,
                       "Input dimension %d must have length of at least %lld but got: %lld", outer + d,
                       (long long)need, (long long)have);
            return false;
        }
        f->length[d] = length;
        f->in[d] = need;
        f->out[d] = is_last && f->t.has_real_input && length > 0 ? half : length;
    }
    return true;
}

static bool plan_all(fft *f)
{
    for (int d = 0; d < f->t.rank; d++) {
        f->plan[d] = bd_fft_plan_new(f->length[d]);
        if (!f->plan[d]) return false;
    }
    return true;
}

static void fft_run(bd_op_ctx *c)
{
    fft f = {.c = c, .t = transform_of(c->node), .x = bd_input(c, 0)};
    char text[BD_SHAPE_STR_MAX];
    int outer = f.x->shape.rank - f.t.rank;
    if (outer < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input must have rank of at least %d but got: %s", f.t.rank,
                   bd_shape_str(&f.x->shape, text));
        return;
    }
    for (int d = 0; d < f.t.rank; d++)
        f.in_dims[d] = f.length[d] = f.in[d] = f.out[d] = f.x->shape.dims[outer + d];
    if (has_lengths(&f.t) && !read_lengths(&f, outer)) return;
    braid_shape shape = f.x->shape;
    memcpy(shape.dims + outer, f.out, (size_t)f.t.rank * sizeof *f.out);
    int64_t total;
    BD_STATUS(st);
    if (bd_shape_checked_count(&shape, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    f.y = bd_output(c, 0, c->node->output_types[0], &shape);
    if (!f.y || total == 0) return;
    if (bd_tensor_count(f.x) == 0) {
        memset(f.y->data, 0, bd_tensor_bytes(f.y));
        return;
    }
    f.count = product(&f, f.length);
    if (plan_all(&f)) {
        int64_t grain = f.count < 4096 ? 4096 / (f.count + 1) + 1 : 1;
        bd_parallel_for(c, bd_shape_count_range(&shape, 0, outer), grain, transform_some, &f);
    } else {
        atomic_store(&f.has_failed, true);
    }
    if (atomic_load(&f.has_failed))
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when transforming %lld numbers", (long long)f.count);
    for (int d = 0; d < f.t.rank; d++)
        bd_fft_plan_free(f.plan[d]);
}

// ---- Gradients ----

// A node of `op` with one input or two, and the types of this op.
static braid_out like(bd_grad_ctx *c, const char *op, braid_out x, const braid_out *lengths)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    braid_op_input(d, x);
    if (lengths) braid_op_input(d, *lengths);
    return braid_op_end_out(d);
}

static braid_out cast(bd_grad_ctx *c, braid_out x, braid_dtype to)
{
    braid_op_desc *d = braid_op_begin(c->graph, "Cast", NULL);
    braid_op_input(d, x);
    braid_op_attr_type(d, "DstT", to);
    return braid_op_end_out(d);
}

// The last `rank` sizes of x.
static braid_out sizes_of(bd_grad_ctx *c, braid_out x, int rank)
{
    int32_t begin = -rank, end = 0, step = 1;
    braid_op_desc *d = braid_op_begin(c->graph, "StridedSlice", NULL);
    braid_op_input(d, bd_b_shape(c->graph, NULL, x));
    braid_op_input(d, bd_b_const_i32_vector(c->graph, NULL, &begin, 1));
    braid_op_input(d, bd_b_const_i32_vector(c->graph, NULL, &end, 1));
    braid_op_input(d, bd_b_const_i32_vector(c->graph, NULL, &step, 1));
    braid_op_attr_int(d, "end_mask", 1);
    return braid_op_end_out(d);
}

// How many numbers a transform has, in a type.
static braid_out count_of(bd_grad_ctx *c, braid_out sizes, braid_dtype to)
{
    int32_t axis = 0;
    braid_out count = bd_b2(c->graph, "Prod", NULL, sizes, bd_b_const_i32_vector(c->graph, NULL, &axis, 1));
    return cast(c, count, to);
}

static const char *const forward_names[] = {"FFT", "FFT2D", "FFT3D"};
static const char *const inverse_names[] = {"IFFT", "IFFT2D", "IFFT3D"};
static const char *const real_names[] = {"RFFT", "RFFT2D", "RFFT3D"};

// The adjoint of a transform is its inverse without the division, and the reverse.
static void fft_gradient(bd_grad_ctx *c)
{
    transform t = transform_of(c->op);
    braid_out grad = c->output_grads[0];
    braid_out count = count_of(c, sizes_of(c, grad, t.rank), bd_dtype_base(braid_out_dtype(grad)));
    braid_out other =
        like(c, t.is_inverse ? forward_names[t.rank - 1] : inverse_names[t.rank - 1], grad, NULL);
    c->input_grads[0] = bd_b2(c->graph, t.is_inverse ? "RealDiv" : "Mul", NULL, other, count);
}

// Cuts x to the sizes `to`, or pads it with zeros behind.
static braid_out fit(bd_grad_ctx *c, braid_out x, braid_out to)
{
    braid_graph *g = c->graph;
    braid_out shape = bd_b_shape(g, NULL, x), begin = bd_b2(g, "Sub", NULL, shape, shape);
    braid_out common = bd_b2(g, "Minimum", NULL, shape, to);
    braid_op_desc *d = braid_op_begin(g, "Slice", NULL);
    braid_op_input(d, x);
    braid_op_input(d, begin);
    braid_op_input(d, common);
    braid_out cut = braid_op_end_out(d);
    d = braid_op_begin(g, "Pack", NULL);
    braid_out columns[] = {begin, bd_b2(g, "Sub", NULL, to, common)};
    braid_op_input_list(d, columns, 2);
    braid_op_attr_int(d, "axis", 1);
    return bd_b2(g, "Pad", NULL, cut, braid_op_end_out(d));
}

// Each of the numbers that RFFT gives stands for itself alone. So the gradient is the real part of the
// transform of the numbers, with zeros for the half that is left out.
static void rfft_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    transform t = transform_of(c->op);
    braid_out grad = c->output_grads[0], lengths = c->op->inputs[1], x = c->op->inputs[0];
    braid_dtype wide = bd_dtype_base(braid_out_dtype(grad));
    int32_t begin = 0, end = -t.rank, step = 1;
    braid_op_desc *d = braid_op_begin(g, "StridedSlice", NULL);
    braid_op_input(d, bd_b_shape(g, NULL, grad));
    braid_op_input(d, bd_b_const_i32_vector(g, NULL, &begin, 1));
    braid_op_input(d, bd_b_const_i32_vector(g, NULL, &end, 1));
    braid_op_input(d, bd_b_const_i32_vector(g, NULL, &step, 1));
    braid_op_attr_int(d, "begin_mask", 1);
    braid_out parts[] = {braid_op_end_out(d), lengths};
    d = braid_op_begin(g, "ConcatV2", NULL);
    braid_op_input_list(d, parts, 2);
    braid_op_input(d, bd_b_const_i32(g, NULL, 0));
    braid_out to = braid_op_end_out(d);
    braid_out all = like(c, inverse_names[t.rank - 1], fit(c, grad, to), NULL);
    d = braid_op_begin(g, "Real", NULL);
    braid_op_input(d, bd_b2(g, "Mul", NULL, all, count_of(c, lengths, wide)));
    braid_op_attr_type(d, "Tout", bd_dtype_base(braid_out_dtype(x)));
    c->input_grads[0] = fit(c, braid_op_end_out(d), bd_b_shape(g, NULL, x));
}

// 1, 2, 2, ..., 1: how often each number of half a spectrum occurs in the whole; the last one once when the
// length is even.
static braid_out occurrences(bd_grad_ctx *c, braid_out lengths, braid_dtype to)
{
    braid_graph *g = c->graph;
    int32_t last = -1, none = 0, step = 1;
    braid_op_desc *d = braid_op_begin(g, "StridedSlice", NULL);
    braid_op_input(d, lengths);
    braid_op_input(d, bd_b_const_i32_vector(g, NULL, &last, 1));
    braid_op_input(d, bd_b_const_i32_vector(g, NULL, &none, 1));
    braid_op_input(d, bd_b_const_i32_vector(g, NULL, &step, 1));
    braid_op_attr_int(d, "end_mask", 1);
    braid_op_attr_int(d, "shrink_axis_mask", 1);
    braid_out length = braid_op_end_out(d), two = bd_b_const_i32(g, NULL, 2),
              one = bd_b_const_i32(g, NULL, 1);
    braid_out half = bd_b2(g, "AddV2", NULL, bd_b2(g, "FloorDiv", NULL, length, two), one);
    d = braid_op_begin(g, "Range", NULL);
    braid_op_input(d, bd_b_const_i32(g, NULL, 0));
    braid_op_input(d, half);
    braid_op_input(d, one);
    braid_out k = braid_op_end_out(d);
    // 2k modulo the length is 0 for k = 0 and for the middle of an even length.
    braid_out rest = bd_b2(g, "FloorMod", NULL, bd_b2(g, "Mul", NULL, k, two), length);
    braid_out is_twice = bd_b2(g, "Minimum", NULL, rest, one);
    return cast(c, bd_b2(g, "AddV2", NULL, is_twice, one), to);
}

static void irfft_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    transform t = transform_of(c->op);
    braid_out grad = c->output_grads[0], lengths = c->op->inputs[1], x = c->op->inputs[0];
    braid_dtype wide = bd_dtype_base(braid_out_dtype(x));
    braid_op_desc *d = braid_op_begin(g, real_names[t.rank - 1], NULL);
    braid_op_input(d, grad);
    braid_op_input(d, lengths);
    braid_op_attr_type(d, "Tcomplex", wide);
    braid_out spectrum = braid_op_end_out(d);
    braid_out weighted = bd_b2(g, "Mul", NULL, spectrum, occurrences(c, lengths, wide));
    braid_out scaled = bd_b2(g, "RealDiv", NULL, weighted, count_of(c, lengths, wide));
    c->input_grads[0] = fit(c, scaled, bd_b_shape(g, NULL, x));
}

// ---- The ops ----

#define COMPLEX "Tcomplex:type{complex128,complex64}=complex64"
#define REAL "+Treal:type{double,float}=float; "
#define KERNELS BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = fft_run})

#define COMPLEX_FFT(DOC)                                                                                     \
    {                                                                                                        \
        .signature = "(input: Tcomplex) -> (output: Tcomplex)", .attrs = COMPLEX, .shape = fft_shape,        \
        .gradient = fft_gradient, .kernels = KERNELS, .doc = (DOC),                                          \
    }

BD_OP(FFT) = COMPLEX_FFT("The discrete Fourier transform over the last dimension.");
BD_OP(FFT2D) = COMPLEX_FFT("The discrete Fourier transform over the last two dimensions.");
BD_OP(FFT3D) = COMPLEX_FFT("The discrete Fourier transform over the last three dimensions.");
BD_OP(IFFT) = COMPLEX_FFT("The inverse of FFT.");
BD_OP(IFFT2D) = COMPLEX_FFT("The inverse of FFT2D.");
BD_OP(IFFT3D) = COMPLEX_FFT("The inverse of FFT3D.");

#define REAL_FFT(DOC)                                                                                        \
    {                                                                                                        \
        .signature = "(input: Treal, fft_length: int32) -> (output: Tcomplex)", .attrs = REAL "+" COMPLEX,   \
        .shape = fft_shape, .gradient = rfft_gradient, .kernels = KERNELS, .doc = (DOC),                     \
    }

BD_OP(RFFT) = REAL_FFT(
    "The first half of FFT of real numbers, cut to fft_length [1]: the numbers of the other half are conjugates.");
BD_OP(RFFT2D) = REAL_FFT("RFFT over the last two dimensions, cut to fft_length [2].");
BD_OP(RFFT3D) = REAL_FFT("RFFT over the last three dimensions, cut to fft_length [3].");

#define INVERSE_REAL_FFT(DOC)                                                                                \
    {                                                                                                        \
        .signature = "(input: Tcomplex, fft_length: int32) -> (output: Treal)", .attrs = REAL "+" COMPLEX,   \
        .shape = fft_shape, .gradient = irfft_gradient, .kernels = KERNELS, .doc = (DOC),                    \
    }

BD_OP(IRFFT) = INVERSE_REAL_FFT("The inverse of RFFT: the real numbers, fft_length [1] of them.");
BD_OP(IRFFT2D) = INVERSE_REAL_FFT("The inverse of RFFT2D.");
BD_OP(IRFFT3D) = INVERSE_REAL_FFT("The inverse of RFFT3D.");

#define BATCH_FFT(OTHER)                                                                                     \
    {                                                                                                        \
        .signature = "(input: complex64) -> (output: complex64)", .flags = BD_OP_NOT_DIFFERENTIABLE,         \
        .shape = fft_shape, .kernels = KERNELS, .doc = "The older name of " OTHER ".",                       \
    }

BD_OP(BatchFFT) = BATCH_FFT("FFT");
BD_OP(BatchFFT2D) = BATCH_FFT("FFT2D");
BD_OP(BatchFFT3D) = BATCH_FFT("FFT3D");
BD_OP(BatchIFFT) = BATCH_FFT("IFFT");
BD_OP(BatchIFFT2D) = BATCH_FFT("IFFT2D");
BD_OP(BatchIFFT3D) = BATCH_FFT("IFFT3D");
