// The Adagrad optimizer (Duchi, Hazan and Singer, Adaptive Subgradient Methods, JMLR 2011, the diagonal
// form).
//
// Slot "accumulator": accumulator += gradient^2; variable -= learning_rate * gradient / sqrt(accumulator).
#include "train/optimizers/update.h"

#include <braid/ops.h>

typedef struct adagrad {
    braid_adagrad_options options;
    braid_out learning_rate; // a constant
} adagrad;

static void create_slots(braid_optimizer *opt, const braid_out *vars, int count)
{
    const adagrad *s = braid_optimizer_state(opt);
    for (int i = 0; i < count; i++)
        braid_optimizer_make_slot(opt, vars[i], "accumulator",
                                  braid_constant_initializer(s->options.initial_accumulator));
}

static void prepare(braid_optimizer *opt)
{
    adagrad *s = braid_optimizer_state(opt);
    s->learning_rate = train_learning_rate(opt, "learning_rate", s->options.learning_rate);
}

static braid_op *apply_sparse(braid_optimizer *opt, braid_out grad, braid_out indices, braid_out var)
{
    const adagrad *s = braid_optimizer_state(opt);
    return train_update_variable(opt,
                                 &(train_update){.op_type = "ApplyAdagrad",
                                                 .slots = {"accumulator"},
                                                 .scalars = {s->learning_rate},
                                                 .scalar_count = 1,
                                                 .grad_at = 1,
                                                 .use_locking = s->options.use_locking},
                                 grad, indices, var);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    return apply_sparse(opt, grad, (braid_out){NULL, 0}, var);
}

static const braid_optimizer_type type = {.name = "Adagrad",
                                          .create_slots = create_slots,
                                          .prepare = prepare,
                                          .apply = apply,
                                          .apply_sparse = apply_sparse};

braid_adagrad_options braid_adagrad_defaults(void)
{
    return (braid_adagrad_options){.learning_rate = 0.001f, .initial_accumulator = 0.1f};
}

braid_optimizer *braid_adagrad_with(braid_graph *graph, const braid_adagrad_options *options)
{
    if (!(options->initial_accumulator > 0))
        braid_graph_fail(graph, BRAID_INVALID_ARGUMENT,
                         "Adagrad: the initial accumulator must be positive, not %g",
                         (double)options->initial_accumulator);
    adagrad state = {.options = *options};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}

braid_optimizer *braid_adagrad(braid_graph *graph, float learning_rate)
{
    braid_adagrad_options options = braid_adagrad_defaults();
    options.learning_rate = learning_rate;
    return braid_adagrad_with(graph, &options);
}
