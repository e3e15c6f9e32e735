// The proximal Adagrad optimizer (Duchi and Singer, NIPS 2009): Adagrad's step, then a proximal step by l1
// and l2.
//
// Slot "accumulator": the sum of squared gradients.
#include "train/optimizers/update.h"

#include <braid/ops.h>

typedef struct proximal_adagrad {
    braid_proximal_options options;
    braid_out learning_rate, l1, l2;
} proximal_adagrad;

static void create_slots(braid_optimizer *opt, const braid_out *vars, int count)
{
    const proximal_adagrad *s = braid_optimizer_state(opt);
    for (int i = 0; i < count; i++)
        braid_optimizer_make_slot(opt, vars[i], "accumulator",
                                  braid_constant_initializer(s->options.initial_accumulator));
}

static void prepare(braid_optimizer *opt)
{
    proximal_adagrad *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    s->learning_rate = train_learning_rate(opt, "learning_rate", s->options.learning_rate);
    s->l1 = braid_const_float(g, "l1_regularization_strength", s->options.l1);
    s->l2 = braid_const_float(g, "l2_regularization_strength", s->options.l2);
}

static braid_op *apply_sparse(braid_optimizer *opt, braid_out grad, braid_out indices, braid_out var)
{
    const proximal_adagrad *s = braid_optimizer_state(opt);
    return train_update_variable(opt,
                                 &(train_update){.op_type = "ApplyProximalAdagrad",
                                                 .slots = {"accumulator"},
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

static const braid_optimizer_type type = {.name = "ProximalAdagrad",
                                          .create_slots = create_slots,
                                          .prepare = prepare,
                                          .apply = apply,
                                          .apply_sparse = apply_sparse};

braid_optimizer *braid_proximal_adagrad(braid_graph *graph, const braid_proximal_options *options)
{
    if (!(options->initial_accumulator > 0))
        braid_graph_fail(graph, BRAID_INVALID_ARGUMENT,
                         "ProximalAdagrad: the initial accumulator must be positive, not %g",
                         (double)options->initial_accumulator);
    const proximal_adagrad state = {.options = *options};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}
