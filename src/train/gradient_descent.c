// The gradient descent optimizer: variable -= learning_rate * gradient.
#include "train/update.h"

#include <braid/ops.h>

typedef struct gradient_descent {
    float learning_rate;
    braid_out learning_rate_out;
} gradient_descent;

static void prepare(braid_optimizer *opt)
{
    gradient_descent *s = braid_optimizer_state(opt);
    s->learning_rate_out = braid_const_float(braid_optimizer_graph(opt), "learning_rate", s->learning_rate);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    const gradient_descent *s = braid_optimizer_state(opt);
    return train_update_variable(opt,
                                 &(train_update){.op_type = "ApplyGradientDescent",
                                                 .scalars = {s->learning_rate_out},
                                                 .scalar_count = 1,
                                                 .grad_at = 1},
                                 grad, var);
}

static const braid_optimizer_type type = {.name = "GradientDescent", .prepare = prepare, .apply = apply};

braid_optimizer *braid_gradient_descent(braid_graph *graph, float learning_rate)
{
    gradient_descent state = {.learning_rate = learning_rate};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}
