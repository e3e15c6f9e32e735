// MatrixDiagV2, MatrixDiagPartV2, MatrixSetDiagV2 and V3: several neighbouring diagonals of matrices. Input k
// is the index of one diagonal, or the lowest and the highest index (ops/linalg/diagonals.h).
#include "ops/linalg/diagonals.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/grad_math.h"

#include <stdio.h>

// ---- Kernels: reading k and checking shapes ----

static bool read_k(bd_op_ctx *c, int input, bd_band *b)
{
    const braid_tensor *k = bd_input(c, input);
    char text[BD_SHAPE_STR_MAX];
    int64_t n = bd_tensor_count(k);
    if (k->shape.rank > 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "diag_index must be a scalar or vector, received shape: %s",
                   bd_shape_str(&k->shape, text));
    } else if (n < 1 || n > 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "diag_index must have only one or two elements, received %lld elements.", (long long)n);
    } else {
        *b = (bd_band){.lower = bd_tensor_i32(k)[0], .upper = bd_tensor_i32(k)[n - 1]};
        bd_band_align(b, c->node);
        if (b->lower > b->upper)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "lower_diag_index must not be larger than upper_diag_index: %lld > %lld",
                       (long long)b->lower, (long long)b->upper);
    }
    return !bd_op_failed(c);
}

// Checks that the input is a scalar.
static bool check_scalar(bd_op_ctx *c, int input, const char *what)
{
    if (bd_tensor_count(bd_input(c, input)) == 1) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar, received shape: %s", what,
               bd_shape_str(&bd_input(c, input)->shape, text));
    return false;
}

static bool check_index(bd_op_ctx *c, const char *what, int64_t d, const bd_band *b)
{
    if ((-b->rows < d && d < b->columns) || d == 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s is out of bound: %lld. It must be between %lld and %lld", what,
               (long long)d, (long long)-b->rows, (long long)b->columns);
    return false;
}

// Checks that the matrices in input 0 have the diagonals of the band.
static bool fit_matrices(bd_op_ctx *c, bd_band *b)
{
    const braid_shape *x = &bd_input(c, 0)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (x->rank < 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be at least 2-dim, received shape: %s",
                   bd_shape_str(x, text));
        return false;
    }
    b->rows = x->dims[x->rank - 2];
    b->columns = x->dims[x->rank - 1];
    b->length = bd_band_longest(b);
    return check_index(c, "lower_diag_index", b->lower, b) && check_index(c, "upper_diag_index", b->upper, b);
}

// ---- Kernels: copying ----

static void fill(const braid_tensor *y, const braid_tensor *value)
{
    bd_strided walk = {.rank = 1, .dims = {bd_tensor_count(y)}, .to_strides = {1}};
    if (bd_tensor_count(y) > 0) bd_elements_copy_block(y, 0, value, 0, &walk);
}

// Copies all diagonals from matrices to a band, or back.
static void copy_band(const bd_band *b, const braid_tensor *to, const braid_tensor *from, bool to_matrices)
{
    int64_t matrix = b->rows * b->columns, diagonals = bd_band_count(b) * b->length;
    int64_t batches = matrix > 0 ? bd_tensor_count(to_matrices ? to : from) / matrix : 0;
    if (batches == 0 || b->length <= 0) return;
    for (int64_t m = 0; m < bd_band_count(b) && !bd_interrupted(); m++) {
        int64_t d = b->upper - m, len = bd_min(bd_band_length_of(b, d), b->length);
        if (len <= 0) continue;
        int64_t in_matrix = d >= 0 ? d : -d * b->columns;
        int64_t in_band = m * b->length + (bd_band_starts_left(b, d) ? 0 : b->length - len);
        bd_strided walk = {.rank = 2, .dims = {batches, len}};
        int64_t *matrices = to_matrices ? walk.to_strides : walk.from_strides,
                *band_strides = to_matrices ? walk.from_strides : walk.to_strides;
        matrices[0] = matrix;
        matrices[1] = b->columns + 1;
        band_strides[0] = diagonals;
        band_strides[1] = 1;
        bd_elements_copy_block(to, to_matrices ? in_matrix : in_band, from, to_matrices ? in_band : in_matrix,
                               &walk);
    }
}

static void diag_part_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *padding = bd_input(c, 2);
    bd_band b = {0};
    if (!read_k(c, 1, &b) || !fit_matrices(c, &b) || !check_scalar(c, 2, "padding_value")) return;
    if (b.length < 0) b.length = 0;
    braid_shape shape = bd_band_shape(&b, &x->shape);
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    if (!y) return;
    fill(y, padding);
    copy_band(&b, y, x, false);
}

static bool check_diagonal(bd_op_ctx *c, int i)
{
    if (bd_input(c, i)->shape.rank > 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "diagonal must be at least 1-dim, but is a scalar");
    return false;
}

static void set_diag_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *diagonal = bd_input(c, 1);
    bd_band b = {0};
    if (!read_k(c, 2, &b) || !fit_matrices(c, &b) || !check_diagonal(c, 1)) return;
    if (b.length < 0) b.length = 0;
    braid_shape want = bd_band_shape(&b, &x->shape);
    if (!bd_shape_equal(&want, &diagonal->shape)) {
        char s[BD_SHAPE_STR_MAX], t[BD_SHAPE_STR_MAX], u[BD_SHAPE_STR_MAX];
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is not "
            "equal to the longests diagonal in range [lower_diag_index:upper_diag_index]. Input shape: %s "
            "Diagonal shape: %s Expected diagonal shape: %s",
            bd_shape_str(&x->shape, s), bd_shape_str(&diagonal->shape, t), bd_shape_str(&want, u));
        return;
    }
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y) return;
    if (y->data != x->data && bd_tensor_count(x) > 0) bd_elements_copy(y, 0, x, 0, bd_tensor_count(x));
    copy_band(&b, y, diagonal, true);
}

static void diag_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    bd_band b = {0};
    BD_STATUS(st);
    braid_shape shape;
    int64_t count;
    int rank = x->shape.rank;
    if (!read_k(c, 1, &b) || !check_diagonal(c, 0) || !check_scalar(c, 2, "num_rows") ||
        !check_scalar(c, 3, "num_cols") || !check_scalar(c, 4, "padding_value"))
        return;
    if (bd_band_count(&b) > 1 && (rank < 2 || x->shape.dims[rank - 2] != bd_band_count(&b))) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The number of diagonals provided in the input does not match the lower_diag_index and "
                   "upper_diag_index range: %lld to %lld for shape %s",
                   (long long)b.lower, (long long)b.upper, bd_shape_str(&x->shape, text));
        return;
    }
    b.length = x->shape.dims[rank - 1];
    const char *wrong = bd_band_size(&b, bd_tensor_i32(bd_input(c, 2))[0], bd_tensor_i32(bd_input(c, 3))[0]);
    if (wrong || !bd_band_matrices(&b, &x->shape, &shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s", wrong ? wrong : "The output has too many dimensions.");
        return;
    }
    if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    if (!y) return;
    fill(y, bd_input(c, 4));
    copy_band(&b, y, x, true);
}

// ---- Shapes ----

// Reads k from constant input `input`; false when it is not constant, or (with an error) invalid.
static bool known_k(bd_shape_ctx *c, int input, bd_band *b, braid_code *code, braid_status *st)
{
    const braid_tensor *k = bd_shape_ctx_constant(c, input);
    *code = BRAID_OK;
    if (c->inputs[input].rank > 1) {
        *code =
            bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", c->inputs[input].rank);
        return false;
    }
    int64_t n = k ? bd_tensor_count(k) : 0;
    if (!k) return false;
    if (n < 1 || n > 2) {
        *code = bd_shape_ctx_fail(
            c, st, "diag_index must have only one or two elements, received %lld elements.", (long long)n);
        return false;
    }
    *b = (bd_band){.lower = bd_tensor_i32(k)[0], .upper = bd_tensor_i32(k)[n - 1]};
    if (b->lower <= b->upper) return true;
    *code = bd_shape_ctx_fail(c, st, "lower_diag_index is greater than upper_diag_index: %lld > %lld",
                              (long long)b->lower, (long long)b->upper);
    return false;
}

static braid_code part_shape_of(bd_shape_ctx *c, int k_input, braid_shape *out, braid_status *st)
{
    const braid_shape *x = &c->inputs[0];
    braid_code code;
    bd_band b = {0};
    *out = BD_SHAPE_UNKNOWN;
    if (x->rank >= 0 && x->rank < 2)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", x->rank);
    if (!known_k(c, k_input, &b, &code, st) || x->rank < 0) return code;
    b.rows = x->dims[x->rank - 2];
    b.columns = x->dims[x->rank - 1];
    b.length = bd_band_longest(&b);
    if (b.rows < 0 || b.columns < 0) {
        b.length = -1;
    } else if (b.length <= 0 && (b.lower != 0 || b.upper != 0)) {
        return bd_shape_ctx_fail(c, st, "diagonals %lld to %lld are out of bound of matrices of %lld by %lld",
                                 (long long)b.lower, (long long)b.upper, (long long)b.rows,
                                 (long long)b.columns);
    }
    *out = bd_band_shape(&b, x);
    return BRAID_OK;
}

static braid_code diag_part_shape(bd_shape_ctx *c, braid_status *st)
{
    return part_shape_of(c, 1, &c->outputs[0], st);
}

static braid_code set_diag_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape want, merged;
    braid_code code = part_shape_of(c, 2, &want, st);
    c->outputs[0] = c->inputs[0];
    if (!code && c->inputs[1].rank == 0)
        code = bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (code || bd_shape_merge(&want, &c->inputs[1], &merged)) return code;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    return bd_shape_ctx_fail(c, st, "diagonal of shape %s does not fit, it must be %s",
                             bd_shape_str(&c->inputs[1], a), bd_shape_str(&want, b));
}

static braid_code diag_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *x = &c->inputs[0];
    braid_code code;
    bd_band b = {0};
    int64_t rows, columns;
    if (x->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    bool known = known_k(c, 1, &b, &code, st);
    if (!known || x->rank < 0) return code;
    int64_t given = x->rank > 1 ? x->dims[x->rank - 2] : 0;
    if (bd_band_count(&b) > 1 && given >= 0 && given != bd_band_count(&b))
        return bd_shape_ctx_fail(c, st, "The number of diagonals, %lld, does not match k: %lld to %lld",
                                 (long long)given, (long long)b.lower, (long long)b.upper);
    b.length = x->dims[x->rank - 1];
    b.rows = b.columns = -1;
    if (b.length >= 0 && bd_shape_ctx_constant_int(c, 2, &rows) &&
        bd_shape_ctx_constant_int(c, 3, &columns)) {
        const char *wrong = bd_band_size(&b, rows, columns);
        if (wrong) return bd_shape_ctx_fail(c, st, "%s", wrong);
    }
    if (!bd_band_matrices(&b, x, &c->outputs[0])) {
        c->outputs[0] = BD_SHAPE_UNKNOWN;
        return bd_shape_ctx_fail(c, st, "The output has more than %d dimensions.", BRAID_RANK_MAX);
    }
    return BRAID_OK;
}

// ---- Gradients: by the ops of the same version ----

static braid_op_desc *begin(bd_grad_ctx *c, const char *op)
{
    bool is_v3 = bd_node_attr(c->op, "align") != NULL;
    char name[32];
    snprintf(name, sizeof name, "%s%s", op, is_v3 ? "V3" : "V2");
    braid_op_desc *d = braid_op_begin(c->graph, name, NULL);
    if (is_v3) braid_op_attr_string(d, "align", bd_node_attr_string(c->op, "align"));
    return d;
}

static braid_out diagonal_of_grad(bd_grad_ctx *c, braid_out k)
{
    braid_out grad = c->output_grads[0];
    braid_out zero = bd_b_const_f(c->graph, "zero", bd_dtype_base(braid_out_dtype(grad)), 0);
    braid_op_desc *d = begin(c, "MatrixDiagPart");
    braid_op_input(d, grad);
    braid_op_input(d, k);
    braid_op_input(d, zero);
    return braid_op_end_out(d);
}

static braid_out with_diagonal(bd_grad_ctx *c, braid_out matrices, braid_out diagonal, braid_out k)
{
    braid_op_desc *d = begin(c, "MatrixSetDiag");
    braid_op_input(d, matrices);
    braid_op_input(d, diagonal);
    braid_op_input(d, k);
    return braid_op_end_out(d);
}

static void diag_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = diagonal_of_grad(c, c->op->inputs[1]);
}

static void diag_part_gradient(bd_grad_ctx *c)
{
    braid_out zeros = bd_b1(c->graph, "ZerosLike", "zeros_like", c->op->inputs[0]);
    c->input_grads[0] = with_diagonal(c, zeros, c->output_grads[0], c->op->inputs[1]);
}

static void set_diag_gradient(bd_grad_ctx *c)
{
    braid_out zeros = bd_b1(c->graph, "ZerosLike", "zeros_like", c->op->inputs[1]);
    c->input_grads[0] = with_diagonal(c, c->output_grads[0], zeros, c->op->inputs[2]);
    c->input_grads[1] = diagonal_of_grad(c, c->op->inputs[2]);
}

// ---- Definitions ----

#define ALIGN "; align:string{LEFT_RIGHT,RIGHT_LEFT,LEFT_LEFT,RIGHT_RIGHT}='RIGHT_LEFT'"

BD_OP(MatrixDiagV2) = {
    .signature = "(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> (output: T)",
    .attrs = "T:type",
    .shape = diag_shape,
    .gradient = diag_gradient,
    .kernels = BD_KERNELS({.run = diag_run}),
    .doc = "Matrices of the padding value with the given diagonals.",
};

BD_OP(MatrixDiagPartV2) = {
    .signature = "(input: T, k: int32, padding_value: T) -> (diagonal: T)",
    .attrs = "T:type",
    .shape = diag_part_shape,
    .gradient = diag_part_gradient,
    .kernels = BD_KERNELS({.run = diag_part_run}),
    .doc = "Diagonals of matrices; shorter diagonals are padded with the padding value.",
};

BD_OP(MatrixSetDiagV2) = {
    .signature = "(input: T, diagonal: T, k: int32) -> (output: T)",
    .attrs = "T:type",
    .shape = set_diag_shape,
    .gradient = set_diag_gradient,
    .kernels = BD_KERNELS({.run = set_diag_run}),
    .doc = "Matrices with some diagonals replaced.",
};

BD_OP(MatrixDiagV3) = {
    .signature = "(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) -> (output: T)",
    .attrs = "T:type" ALIGN,
    .shape = diag_shape,
    .gradient = diag_gradient,
    .kernels = BD_KERNELS({.run = diag_run}),
    .doc = "MatrixDiagV2 with attr align, the alignment of shorter diagonals.",
};

BD_OP(MatrixDiagPartV3) = {
    .signature = "(input: T, k: int32, padding_value: T) -> (diagonal: T)",
    .attrs = "T:type" ALIGN,
    .shape = diag_part_shape,
    .gradient = diag_part_gradient,
    .kernels = BD_KERNELS({.run = diag_part_run}),
    .doc = "MatrixDiagPartV2 with attr align, the alignment of shorter diagonals.",
};

BD_OP(MatrixSetDiagV3) = {
    .signature = "(input: T, diagonal: T, k: int32) -> (output: T)",
    .attrs = "T:type" ALIGN,
    .shape = set_diag_shape,
    .gradient = set_diag_gradient,
    .kernels = BD_KERNELS({.run = set_diag_run}),
    .doc = "MatrixSetDiagV2 with attr align, the alignment of shorter diagonals.",
};
