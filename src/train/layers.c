// Layers: a few nodes and their variables in one call.
#include <braid/layers.h>

#include <braid/ops.h>
#include <braid/variables.h>

braid_out braid_dense(braid_graph *g, const char *name, braid_out x, int64_t units)
{
    if (!x.op) return BRAID_NONE;
    braid_shape shape = braid_out_shape(x);
    if (shape.rank != 2 || shape.dims[1] < 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Dense layer '%s': its input '%s' must be a matrix whose second dimension is known",
                         name ? name : "dense", braid_op_name(x.op));
        return BRAID_NONE;
    }
    (void)braid_push_name_scope(g, name ? name : "dense");
    braid_variable kernel = braid_variable_get(g, "kernel", BRAID_FLOAT, BRAID_SHAPE(shape.dims[1], units),
                                               braid_glorot_uniform_initializer(), true);
    braid_variable bias =
        braid_variable_get(g, "bias", BRAID_FLOAT, BRAID_SHAPE(units), braid_zeros_initializer(), true);
    braid_out out = braid_bias_add(g, braid_matmul(g, x, kernel.read), bias.read);
    braid_pop_name_scope(g);
    return out;
}
