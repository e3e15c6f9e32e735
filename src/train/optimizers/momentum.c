// The momentum optimizer (Polyak 1964; Sutskever et al., On the importance of initialization and momentum in
// deep learning, ICML 2013, section 2, for Nesterov's form).
//
// Slot "momentum": accum = momentum * accum + gradient; variable -= learning_rate * accum, or with Nesterov
// learning_rate * (gradient + momentum * accum).
#include "train/optimizers/update.h"

#include <braid/ops.h>

typedef struct momentum {
    braid_momentum_options options;
    braid_out learning_rate, momentum; // constants
} momentum;

static void create_slots(braid_optimizer *opt, const braid_out *vars, int count)
{
    for (int i = 0; i < count; i++)
        braid_optimizer_make_slot(opt, vars[i], "momentum", braid_zeros_initializer());
}

static void prepare(braid_optimizer *opt)
{
    momentum *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    s->learning_rate = train_learning_rate(opt, "learning_rate", s->options.learning_rate);
    s->momentum = braid_const_float(g, "momentum", s->options.momentum);
}

static braid_op *apply_sparse(braid_optimizer *opt, braid_out grad, braid_out indices, braid_out var)
{
    const momentum *s = braid_optimizer_state(opt);
    return train_update_variable(opt,
                                 &(train_update){.op_type = "ApplyMomentum",
                                                 .slots = {"momentum"},
                                                 .scalars = {s->learning_rate, s->momentum},
                                                 .scalar_count = 2,
                                                 .grad_at = 1,
                                                 .use_locking = s->options.use_locking,
                                                 .use_nesterov = s->options.use_nesterov},
                                 grad, indices, var);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    return apply_sparse(opt, grad, (braid_out){NULL, 0}, var);
}

static const braid_optimizer_type type = {.name = "Momentum",
                                          .create_slots = create_slots,
                                          .prepare = prepare,
                                          .apply = apply,
                                          .apply_sparse = apply_sparse};

braid_optimizer *braid_momentum_with(braid_graph *graph, const braid_momentum_options *options)
{
    momentum state = {.options = *options};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}

braid_optimizer *braid_momentum(braid_graph *graph, float learning_rate, float momentum_factor)
{
    return braid_momentum_with(
        graph, &(braid_momentum_options){.learning_rate = learning_rate, .momentum = momentum_factor});
}
