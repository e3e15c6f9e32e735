// Diag, DiagPart, MatrixDiag, MatrixDiagPart, MatrixSetDiag, MatrixBandPart: tensors built from diagonals,
// diagonals of tensors, and bands of matrices.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"

#include <string.h>

static bool start_with_zeros(bd_op_ctx *c, braid_dtype dtype, const braid_shape *shape, braid_tensor **y)
{
    BD_STATUS(st);
    int64_t total;
    if (bd_shape_checked_count(shape, &total, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    *y = bd_output(c, 0, dtype, shape);
    size_t size = braid_dtype_size(dtype);
    if (*y && size > 0) memset((*y)->data, 0, (size_t)total * size);
    return *y != NULL;
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// ---- Diag, DiagPart: y[i.., i..] = x[i..] ----

static braid_code diag_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape in = c->inputs[0];
    if (in.rank < 0) return BRAID_OK;
    if (in.rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (2 * in.rank > BRAID_RANK_MAX)
        return bd_shape_ctx_fail(c, st, "Shape must be of rank 1 to %d but is rank %d", BRAID_RANK_MAX / 2,
                                 in.rank);
    c->outputs[0].rank = 2 * in.rank;
    for (int d = 0; d < 2 * in.rank; d++)
        c->outputs[0].dims[d] = in.dims[d % in.rank];
    return BRAID_OK;
}

static void diag_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int rank = x->shape.rank;
    if (rank == 0 || 2 * rank > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input must be at least rank 1, got %d; at most %d", rank,
                   BRAID_RANK_MAX / 2);
        return;
    }
    braid_shape shape = {.rank = 2 * rank};
    for (int d = 0; d < 2 * rank; d++)
        shape.dims[d] = x->shape.dims[d % rank];
    braid_tensor *y;
    if (!start_with_zeros(c, x->dtype, &shape, &y)) return;
    int64_t n = bd_tensor_count(x);
    bd_strided walk = {.rank = 1, .dims = {n}, .to_strides = {n + 1}, .from_strides = {1}};
    if (n > 0) bd_elements_copy_block(y, 0, x, 0, &walk);
}

static braid_code diag_part_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape in = c->inputs[0];
    if (in.rank < 0) return BRAID_OK;
    if (in.rank == 0 || in.rank % 2)
        return bd_shape_ctx_fail(c, st, "Input must have even and non-zero rank, input rank is %d", in.rank);
    c->outputs[0].rank = in.rank / 2;
    for (int d = 0; d < in.rank / 2; d++) {
        int64_t a = in.dims[d], b = in.dims[d + in.rank / 2];
        if (a >= 0 && b >= 0 && a != b)
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)a,
                                     (long long)b);
        c->outputs[0].dims[d] = a >= 0 ? a : b;
    }
    return BRAID_OK;
}

static void diag_part_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int rank = x->shape.rank / 2;
    char text[BD_SHAPE_STR_MAX];
    bd_shape_str(&x->shape, text);
    if (rank == 0 || x->shape.rank % 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The rank of the tensor should be even and positive, got shape %s", text);
    braid_shape shape = {.rank = rank};
    for (int d = 0; d < rank && !bd_op_failed(c); d++) {
        shape.dims[d] = x->shape.dims[d];
        if (x->shape.dims[d] != x->shape.dims[d + rank])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid shape %s: dimensions %d and %d do not match.",
                       text, d, d + rank);
    }
    if (bd_op_failed(c)) return;
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    int64_t n = y ? bd_tensor_count(y) : 0;
    bd_strided walk = {.rank = 1, .dims = {n}, .to_strides = {1}, .from_strides = {n + 1}};
    if (n > 0) bd_elements_copy_block(y, 0, x, 0, &walk);
}

// ---- MatrixDiag, MatrixDiagPart, MatrixSetDiag: of the innermost matrices ----

static braid_code matrix_diag_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape in = c->inputs[0];
    if (in.rank < 0) return BRAID_OK;
    if (in.rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (in.rank == BRAID_RANK_MAX)
        return bd_shape_ctx_fail(c, st, "Shape must be of rank 1 to %d but is rank %d", BRAID_RANK_MAX - 1,
                                 in.rank);
    c->outputs[0] = in;
    c->outputs[0].dims[c->outputs[0].rank++] = in.dims[in.rank - 1];
    return BRAID_OK;
}

static void matrix_diag_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_shape shape = x->shape;
    if (shape.rank == 0 || shape.rank == BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "diagonal must be at least 1-dim and less than %d-dim, not %d-dim", BRAID_RANK_MAX,
                   shape.rank);
        return;
    }
    int64_t n = shape.dims[shape.rank - 1], matrices = bd_shape_count_range(&shape, 0, shape.rank - 1);
    shape.dims[shape.rank++] = n;
    braid_tensor *y;
    if (!start_with_zeros(c, x->dtype, &shape, &y) || matrices * n == 0) return;
    bd_strided walk = {
        .rank = 2, .dims = {matrices, n}, .to_strides = {n * n, n + 1}, .from_strides = {n, 1}};
    bd_elements_copy_block(y, 0, x, 0, &walk);
}

static braid_code matrix_diag_part_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape in = c->inputs[0];
    if (in.rank < 0) return BRAID_OK;
    if (in.rank < 2) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", in.rank);
    c->outputs[0] = in;
    int64_t a = in.dims[in.rank - 2], b = in.dims[in.rank - 1];
    c->outputs[0].rank--;
    c->outputs[0].dims[in.rank - 2] = a < 0 || b < 0 ? -1 : lesser(a, b);
    return BRAID_OK;
}

// The innermost matrices of a tensor.
typedef struct matrices {
    int64_t count, rows, columns, diagonal;
} matrices;

static bool read_matrices(bd_op_ctx *c, matrices *m)
{
    const braid_shape *s = &bd_input(c, 0)->shape;
    if (s->rank < 2) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be at least 2-dim, received shape: %s",
                   bd_shape_str(s, text));
        return false;
    }
    *m = (matrices){.count = bd_shape_count_range(s, 0, s->rank - 2),
                    .rows = s->dims[s->rank - 2],
                    .columns = s->dims[s->rank - 1]};
    m->diagonal = lesser(m->rows, m->columns);
    return true;
}

static bd_strided diagonal_walk(const matrices *m, bool to_matrices)
{
    int64_t in_matrices[2] = {m->rows * m->columns, m->columns + 1}, in_diagonals[2] = {m->diagonal, 1};
    bd_strided walk = {.rank = 2, .dims = {m->count, m->diagonal}};
    memcpy(walk.to_strides, to_matrices ? in_matrices : in_diagonals, sizeof in_matrices);
    memcpy(walk.from_strides, to_matrices ? in_diagonals : in_matrices, sizeof in_matrices);
    return walk;
}

static void matrix_diag_part_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    matrices m;
    if (!read_matrices(c, &m)) return;
    braid_shape shape = x->shape;
    shape.dims[--shape.rank - 1] = m.diagonal;
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    bd_strided walk = diagonal_walk(&m, false);
    if (y && bd_tensor_count(y) > 0) bd_elements_copy_block(y, 0, x, 0, &walk);
}

static braid_code matrix_set_diag_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape *out = &c->outputs[0], diagonal;
    braid_code code = matrix_diag_part_shape(c, st);
    if (code) return code;
    if (c->inputs[1].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (!bd_shape_merge(out, &c->inputs[1], &diagonal)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        return bd_shape_ctx_fail(c, st, "diagonal of shape %s does not fit, it must be %s",
                                 bd_shape_str(&c->inputs[1], a), bd_shape_str(out, b));
    }
    *out = c->inputs[0];
    return BRAID_OK;
}

static void matrix_set_diag_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *diagonal = bd_input(c, 1);
    matrices m;
    if (!read_matrices(c, &m)) return;
    braid_shape want = x->shape;
    want.dims[--want.rank - 1] = m.diagonal;
    if (!bd_shape_equal(&want, &diagonal->shape)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   diagonal->shape.rank == 0 ? "diagonal must be at least 1-dim, but has shape %s, not %s"
                                             : "diagonal of shape %s does not fit, it must be %s",
                   bd_shape_str(&diagonal->shape, a), bd_shape_str(&want, b));
        return;
    }
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    if (y->data != x->data) bd_elements_copy(y, 0, x, 0, bd_tensor_count(x));
    bd_strided walk = diagonal_walk(&m, true);
    bd_elements_copy_block(y, 0, diagonal, 0, &walk);
}

// ---- MatrixBandPart ----

static braid_code band_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    if (c->inputs[0].rank >= 0 && c->inputs[0].rank < 2)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", c->inputs[0].rank);
    braid_code code = bd_shape_ctx_rank(c, 1, 0, st);
    return code ? code : bd_shape_ctx_rank(c, 2, 0, st);
}

static void band_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    matrices m;
    int64_t lower, upper;
    if (!read_matrices(c, &m) || !bd_input_scalar_index(c, 1, "num_lower", &lower) ||
        !bd_input_scalar_index(c, 2, "num_upper", &upper))
        return;
    if (lower > m.rows || upper > m.columns) {
        bool is_lower = lower > m.rows;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "%s must be negative or less or equal to number of %s (%lld) got: %lld",
                   is_lower ? "num_lower" : "num_upper", is_lower ? "rows" : "columns",
                   (long long)(is_lower ? m.rows : m.columns), (long long)(is_lower ? lower : upper));
        return;
    }
    if (lower < 0) lower = m.rows;
    if (upper < 0) upper = m.columns;
    braid_tensor *y;
    if (!start_with_zeros(c, x->dtype, &x->shape, &y) || bd_tensor_count(y) == 0) return;
    for (int64_t i = 0; i < m.count * m.rows && !bd_interrupted_at(i); i++) {
        int64_t row = i % m.rows, from = row > lower ? row - lower : 0,
                to = lesser(row + upper + 1, m.columns);
        if (to > from) bd_elements_copy(y, i * m.columns + from, x, i * m.columns + from, to - from);
    }
}

// ---- Gradients ----

#define GRADIENT_BY(NAME, OP)                                                                                \
    static void NAME(bd_grad_ctx *c)                                                                         \
    {                                                                                                        \
        c->input_grads[0] = bd_b1(c->graph, OP, NULL, c->output_grads[0]);                                   \
    }
GRADIENT_BY(diag_gradient, "DiagPart")
GRADIENT_BY(diag_part_gradient, "Diag")
GRADIENT_BY(matrix_diag_gradient, "MatrixDiagPart")

static braid_out zeros_like(braid_graph *g, braid_out x)
{
    return bd_b1(g, "ZerosLike", "zeros_like", x);
}

static void matrix_diag_part_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] =
        bd_b2(c->graph, "MatrixSetDiag", NULL, zeros_like(c->graph, c->op->inputs[0]), c->output_grads[0]);
}

static void matrix_set_diag_gradient(bd_grad_ctx *c)
{
    braid_out zeros = zeros_like(c->graph, c->op->inputs[1]);
    c->input_grads[0] = bd_b2(c->graph, "MatrixSetDiag", NULL, c->output_grads[0], zeros);
    c->input_grads[1] = bd_b1(c->graph, "MatrixDiagPart", NULL, c->output_grads[0]);
}

static void band_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] =
        bd_b3(c->graph, "MatrixBandPart", NULL, c->output_grads[0], c->op->inputs[1], c->op->inputs[2]);
}

// ---- Definitions ----

#define DIAG_TYPES "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}"

BD_OP(Diag) = {
    .signature = "(diagonal: T) -> (output: T)",
    .attrs = DIAG_TYPES,
    .shape = diag_shape,
    .gradient = diag_gradient,
    .kernels = BD_KERNELS({.run = diag_run}),
    .doc = "A tensor of zeros with the given diagonal; its rank is twice the diagonal's.",
};

BD_OP(DiagPart) = {
    .signature = "(input: T) -> (diagonal: T)",
    .attrs = DIAG_TYPES,
    .shape = diag_part_shape,
    .gradient = diag_part_gradient,
    .kernels = BD_KERNELS({.run = diag_part_run}),
    .doc = "The diagonal of a tensor of shape [s.., s..].",
};

BD_OP(MatrixDiag) = {
    .signature = "(diagonal: T) -> (output: T)",
    .attrs = "T:type",
    .shape = matrix_diag_shape,
    .gradient = matrix_diag_gradient,
    .kernels = BD_KERNELS({.run = matrix_diag_run}),
    .doc = "Square matrices of zeros with the given diagonals.",
};

BD_OP(MatrixDiagPart) = {
    .signature = "(input: T) -> (diagonal: T)",
    .attrs = "T:type",
    .shape = matrix_diag_part_shape,
    .gradient = matrix_diag_part_gradient,
    .kernels = BD_KERNELS({.run = matrix_diag_part_run}),
    .doc = "The diagonals of matrices.",
};

BD_OP(MatrixSetDiag) = {
    .signature = "(input: T, diagonal: T) -> (output: T)",
    .attrs = "T:type",
    .shape = matrix_set_diag_shape,
    .gradient = matrix_set_diag_gradient,
    .kernels = BD_KERNELS({.run = matrix_set_diag_run}),
    .doc = "Matrices with their diagonals replaced.",
};

BD_OP(MatrixBandPart) = {
    .signature = "(input: T, num_lower: Tindex, num_upper: Tindex) -> (band: T)",
    .attrs = "T:type; Tindex:type{int32,int64}=int64",
    .shape = band_shape,
    .gradient = band_gradient,
    .kernels = BD_KERNELS({.run = band_run}),
    .doc =
        "Copies matrices and sets elements to zero that are more than num_lower below or num_upper above the diagonal.",
};

// ---- Names of before GraphDef version 14 ----

BD_OP(BatchMatrixDiag) = {
    .signature = "(diagonal: T) -> (output: T)",
    .attrs = "T:type",
    .shape = matrix_diag_shape,
    .kernels = BD_KERNELS({.run = matrix_diag_run}),
    .doc = "The older name of MatrixDiag.",
};

BD_OP(BatchMatrixDiagPart) = {
    .signature = "(input: T) -> (diagonal: T)",
    .attrs = "T:type",
    .shape = matrix_diag_part_shape,
    .kernels = BD_KERNELS({.run = matrix_diag_part_run}),
    .doc = "The older name of MatrixDiagPart.",
};

BD_OP(BatchMatrixSetDiag) = {
    .signature = "(input: T, diagonal: T) -> (output: T)",
    .attrs = "T:type",
    .shape = matrix_set_diag_shape,
    .kernels = BD_KERNELS({.run = matrix_set_diag_run}),
    .doc = "The older name of MatrixSetDiag.",
};

BD_OP(BatchMatrixBandPart) = {
    .signature = "(input: T, num_lower: int64, num_upper: int64) -> (band: T)",
    .attrs = "T:type",
    .shape = band_shape,
    .kernels = BD_KERNELS({.run = band_run}),
    .doc = "The older name of MatrixBandPart.",
};
