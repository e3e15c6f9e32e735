// The Adadelta optimizer (Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012).
//
// Slots "accum" and "accum_update": moving averages of squared gradients and of squared updates.
#include "train/optimizers/update.h"

#include <braid/ops.h>

typedef struct adadelta {
    braid_adadelta_options options;
    braid_out learning_rate, rho, epsilon;
} adadelta;

static void create_slots(braid_optimizer *opt, const braid_out *vars, int count)
{
    for (int i = 0; i < count; i++) {
        braid_optimizer_make_slot(opt, vars[i], "accum", braid_zeros_initializer());
        braid_optimizer_make_slot(opt, vars[i], "accum_update", braid_zeros_initializer());
    }
}

static void prepare(braid_optimizer *opt)
{
    adadelta *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    s->learning_rate = train_learning_rate(opt, "lr", s->options.learning_rate);
    s->rho = braid_const_float(g, "rho", s->options.rho);
    s->epsilon = braid_const_float(g, "epsilon", s->options.epsilon);
}

static braid_op *apply_sparse(braid_optimizer *opt, braid_out grad, braid_out indices, braid_out var)
{
    const adadelta *s = braid_optimizer_state(opt);
    return train_update_variable(opt,
                                 &(train_update){.op_type = "ApplyAdadelta",
                                                 .slots = {"accum", "accum_update"},
                                                 .scalars = {s->learning_rate, s->rho, s->epsilon},
                                                 .scalar_count = 3,
                                                 .grad_at = 3,
                                                 .use_locking = s->options.use_locking},
                                 grad, indices, var);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    return apply_sparse(opt, grad, BRAID_NONE, var);
}

static const braid_optimizer_type type = {.name = "Adadelta",
                                          .create_slots = create_slots,
                                          .prepare = prepare,
                                          .apply = apply,
                                          .apply_sparse = apply_sparse};

braid_adadelta_options braid_adadelta_defaults(void)
{
    return (braid_adadelta_options){.learning_rate = 0.001f, .rho = 0.95f, .epsilon = 1e-8f};
}

braid_optimizer *braid_adadelta_with(braid_graph *graph, const braid_adadelta_options *options)
{
    const adadelta state = {.options = *options};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}

braid_optimizer *braid_adadelta(braid_graph *graph, float learning_rate)
{
    braid_adadelta_options options = braid_adadelta_defaults();
    options.learning_rate = learning_rate;
    return braid_adadelta_with(graph, &options);
}
