// The Adagrad dual averaging optimizer (Duchi, Hazan and Singer, JMLR 2011): weights are computed anew from
// the sums of gradients, so that l1 makes those of features that are rarely seen exactly zero.
//
// Slots "gradient_accumulator" and "gradient_squared_accumulator": the sums of gradients and of their
// squares.
#include "train/optimizers/update.h"

#include "train/common/build.h"
#include <braid/ops.h>

typedef struct adagrad_da {
    braid_proximal_options options;
    braid_out global_step;                 // a variable or an integer
    braid_out learning_rate, l1, l2, step; // step: from 1, int64
} adagrad_da;

static void create_slots(braid_optimizer *opt, const braid_out *vars, int count)
{
    const adagrad_da *s = braid_optimizer_state(opt);
    for (int i = 0; i < count; i++) {
        braid_optimizer_make_slot(opt, vars[i], "gradient_accumulator", braid_zeros_initializer());
        braid_optimizer_make_slot(opt, vars[i], "gradient_squared_accumulator",
                                  braid_constant_initializer(s->options.initial_accumulator));
    }
}

static void prepare(braid_optimizer *opt)
{
    adagrad_da *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    s->learning_rate = train_learning_rate(opt, "learning_rate", s->options.learning_rate);
    s->l1 = braid_const_float(g, "l1_regularization_strength", s->options.l1);
    s->l2 = braid_const_float(g, "l2_regularization_strength", s->options.l2);
    const braid_out read = braid_variable_find(s->global_step).read;
    const braid_out step = braid_cast(g, read.op ? read : s->global_step, BRAID_INT64);
    s->step = train_op_number(g, "Add", "add", step, 1);
}

static braid_op *apply_sparse(braid_optimizer *opt, braid_out grad, braid_out indices, braid_out var)
{
    const adagrad_da *s = braid_optimizer_state(opt);
    return train_update_variable(
        opt,
        &(train_update){.op_type = "ApplyAdagradDA",
                        .slots = {"gradient_accumulator", "gradient_squared_accumulator"},
                        .scalars = {s->learning_rate, s->l1, s->l2},
                        .scalar_count = 3,
                        .grad_at = 0,
                        .step = s->step,
                        .use_locking = s->options.use_locking},
        grad, indices, var);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    return apply_sparse(opt, grad, BRAID_NONE, var);
}

static const braid_optimizer_type type = {.name = "AdagradDA",
                                          .create_slots = create_slots,
                                          .prepare = prepare,
                                          .apply = apply,
                                          .apply_sparse = apply_sparse};

braid_optimizer *braid_adagrad_da(braid_graph *graph, braid_out global_step,
                                  const braid_proximal_options *options)
{
    if (!global_step.op)
        braid_graph_fail(graph, BRAID_INVALID_ARGUMENT,
                         "AdagradDA needs the global step (braid_global_step)");
    if (!(options->initial_accumulator > 0))
        braid_graph_fail(graph, BRAID_INVALID_ARGUMENT,
                         "AdagradDA: the initial accumulator must be positive, not %g",
                         (double)options->initial_accumulator);
    const adagrad_da state = {.options = *options, .global_step = global_step};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}
