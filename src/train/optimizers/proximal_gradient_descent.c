// The proximal gradient descent optimizer (Duchi and Singer, Efficient Learning using Forward-Backward
// Splitting, NIPS 2009): a step of gradient descent, then a proximal step by l1 and l2.
#include "train/optimizers/update.h"

#include <braid/ops.h>

typedef struct proximal_descent {
    braid_proximal_options options;
    braid_out learning_rate, l1, l2;
} proximal_descent;

static void prepare(braid_optimizer *opt)
{
    proximal_descent *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    s->learning_rate = train_learning_rate(opt, "learning_rate", s->options.learning_rate);
    s->l1 = braid_const_float(g, "l1_regularization_strength", s->options.l1);
    s->l2 = braid_const_float(g, "l2_regularization_strength", s->options.l2);
}

static braid_op *apply_sparse(braid_optimizer *opt, braid_out grad, braid_out indices, braid_out var)
{
    const proximal_descent *s = braid_optimizer_state(opt);
    return train_update_variable(opt,
                                 &(train_update){.op_type = "ApplyProximalGradientDescent",
                                                 .scalars = {s->learning_rate, s->l1, s->l2},
                                                 .scalar_count = 3,
                                                 .grad_at = 3,
                                                 .use_locking = s->options.use_locking},
                                 grad, indices, var);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    return apply_sparse(opt, grad, BRAID_NONE, var);
}

static const braid_optimizer_type type = {
    .name = "ProximalGradientDescent", .prepare = prepare, .apply = apply, .apply_sparse = apply_sparse};

braid_optimizer *braid_proximal_gradient_descent(braid_graph *graph, const braid_proximal_options *options)
{
    const proximal_descent state = {.options = *options};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}
