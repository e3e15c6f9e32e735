// Regularizers: losses that keep variables small.
#include <braid/variable_scope.h>

#include "train/common/build.h"
#include <braid/ops.h>

// scale * norm(value), in a scope with its nodes.
static braid_out scaled(const braid_regularizer *self, braid_graph *g, const char *name,
                        braid_out (*norm)(braid_graph *g, braid_out value), braid_out value)
{
    if (self->scale == 0) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, name);
    const braid_out scale =
        braid_const_number(g, "scale", train_base_dtype(braid_out_dtype(value)), self->scale);
    const braid_out loss = train_node2(g, "Mul", scope, scale, norm(g, value));
    braid_pop_name_scope(g);
    return loss;
}

static braid_out sum_of_sizes(braid_graph *g, braid_out value)
{
    return braid_reduce_sum(g, braid_abs(g, value));
}

static braid_out half_sum_of_squares(braid_graph *g, braid_out value)
{
    return train_node1(g, "L2Loss", NULL, value);
}

static braid_out l1(const braid_regularizer *self, braid_graph *g, braid_out value)
{
    return scaled(self, g, "l1_regularizer", sum_of_sizes, value);
}

static braid_out l2(const braid_regularizer *self, braid_graph *g, braid_out value)
{
    return scaled(self, g, "l2_regularizer", half_sum_of_squares, value);
}

braid_regularizer braid_l1_regularizer(float scale)
{
    return (braid_regularizer){.build = l1, .scale = scale};
}

braid_regularizer braid_l2_regularizer(float scale)
{
    return (braid_regularizer){.build = l2, .scale = scale};
}
