// Initializers of matrices: orthogonal ones and the identity, from the nodes of TensorFlow's.
#include "train/common/build.h"

#include <braid/ops.h>

static braid_out transposed(braid_graph *g, braid_out x)
{
    (void)braid_push_name_scope(g, "matrix_transpose");
    const int32_t swap[] = {1, 0};
    const braid_out out = braid_transpose(g, x, swap, 2);
    braid_pop_name_scope(g);
    return out;
}

// Q of the QR decomposition of random normal values, the signs chosen so that it is uniformly distributed.
static braid_out build_orthogonal(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                                  braid_shape shape)
{
    if (shape.rank < 2) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "The tensor to initialize must be at least two-dimensional, not of rank %d",
                         shape.rank);
        return BRAID_NONE;
    }
    const int64_t columns = shape.dims[shape.rank - 1];
    int64_t rows = 1;
    for (int i = 0; i + 1 < shape.rank; i++)
        rows *= shape.dims[i];
    const bool is_wide = rows < columns;
    const int64_t dims[] = {is_wide ? columns : rows, is_wide ? rows : columns};
    const train_random normal = {.distribution = BRAID_UNTRUNCATED_NORMAL,
                                 .dtype = dtype,
                                 .b = 1,
                                 .seed = self->seed,
                                 .has_seed = self->has_seed};
    const braid_out a = train_random_values(g, braid_shape_make(2, dims), &normal);
    braid_op *qr = braid_op_add(g, "Qr", NULL, &a, 1);
    const braid_out signs =
        train_node1(g, "Sign", NULL, train_node1(g, "DiagPart", NULL, braid_output(qr, 1)));
    braid_out q = braid_mul(g, braid_output(qr, 0), signs);
    if (is_wide) q = transposed(g, q);
    return train_number_op(g, "Mul", "mul", self->a, braid_reshape(g, q, shape));
}

braid_initializer braid_orthogonal_initializer(float gain)
{
    return (braid_initializer){.build = build_orthogonal, .a = gain};
}

// tf.eye: ones on the diagonal of zeros.
static braid_out eye(braid_graph *g, braid_dtype dtype, braid_shape shape)
{
    (void)braid_push_name_scope(g, "eye");
    const bool is_square = shape.dims[0] == shape.dims[1];
    const int64_t length = shape.dims[0] < shape.dims[1] ? shape.dims[0] : shape.dims[1];
    const braid_out ones = braid_ones(g, dtype, braid_shape_make(1, &length));
    const braid_out out = is_square
                              ? train_node1(g, "MatrixDiag", "diag", ones)
                              : train_node2(g, "MatrixSetDiag", NULL, braid_zeros(g, dtype, shape), ones);
    braid_pop_name_scope(g);
    return out;
}

static braid_out build_identity(const braid_initializer *self, braid_graph *g, braid_dtype dtype,
                                braid_shape shape)
{
    const braid_shape whole = self->partition ? self->partition->full_shape : shape;
    if (whole.rank != 2) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Identity matrix initializer can only be used for 2D matrices, not for rank %d",
                         whole.rank);
        return BRAID_NONE;
    }
    braid_out value = eye(g, dtype, whole);
    if (self->partition) value = braid_slice(g, value, self->partition->offset, shape);
    return train_number_op(g, "Mul", "mul", self->a, value);
}

braid_initializer braid_identity_initializer(float gain)
{
    return (braid_initializer){.build = build_identity, .a = gain};
}
