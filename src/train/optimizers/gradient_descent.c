// The gradient descent optimizer: variable -= learning_rate * gradient.
#include "train/optimizers/update.h"

#include "train/common/build.h"
#include "train/variables/variable_internal.h"

typedef struct gradient_descent {
    float learning_rate;
    braid_out learning_rate_out;
} gradient_descent;

static void prepare(braid_optimizer *opt)
{
    gradient_descent *s = braid_optimizer_state(opt);
    s->learning_rate_out = train_learning_rate(opt, "learning_rate", s->learning_rate);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    const gradient_descent *s = braid_optimizer_state(opt);
    return train_update_variable(opt,
                                 &(train_update){.op_type = "ApplyGradientDescent",
                                                 .scalars = {s->learning_rate_out},
                                                 .scalar_count = 1,
                                                 .grad_at = 1},
                                 grad, BRAID_NONE, var);
}

// Duplicate indices are subtracted one by one.
static braid_op *apply_sparse(braid_optimizer *opt, braid_out rows, braid_out indices, braid_out var)
{
    const gradient_descent *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    if (train_kind_of(var) == TRAIN_RESOURCE) {
        const braid_out rate = braid_cast(g, s->learning_rate_out, train_base_dtype(braid_out_dtype(rows)));
        const braid_out step = braid_mul(g, braid_neg(g, rows), rate);
        return train_node3(g, "ResourceScatterAdd", NULL, var, indices, step).op;
    }
    braid_out rate = braid_cast(g, s->learning_rate_out, train_base_dtype(braid_out_dtype(rows)));
    return train_node3(g, "ScatterSub", NULL, var, indices, braid_mul(g, rows, rate)).op;
}

static const braid_optimizer_type type = {.name = "GradientDescent",
                                          .prepare = prepare,
                                          .apply = apply,
                                          .apply_sparse = apply_sparse,
                                          .sums_duplicates = true};

braid_optimizer *braid_gradient_descent(braid_graph *graph, float learning_rate)
{
    gradient_descent state = {.learning_rate = learning_rate};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}
