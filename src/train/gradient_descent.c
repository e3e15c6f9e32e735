// The gradient descent optimizer: variable -= learning_rate * gradient.
#include "train/build.h"

#include <braid/ops.h>
#include <braid/optimizers.h>

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
    gradient_descent *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    braid_out rate = braid_cast(g, s->learning_rate_out, train_base_dtype(braid_out_dtype(var)));
    return train_node3(g, "ApplyGradientDescent", NULL, var, rate, grad).op;
}

static const braid_optimizer_type type = {.name = "GradientDescent", .prepare = prepare, .apply = apply};

braid_optimizer *braid_gradient_descent(braid_graph *graph, float learning_rate)
{
    gradient_descent state = {.learning_rate = learning_rate};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}
