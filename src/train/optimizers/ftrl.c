// The FTRL-Proximal optimizer (McMahan et al., Ad Click Prediction: a View from the Trenches, KDD 2013,
// algorithm 1).
//
// Slots: "accum", the sum of squared gradients, and "linear", z of the paper:
//     n = accum + gradient^2
//     linear += gradient - (n^-power - accum^-power) / learning_rate * variable
//     variable = |linear| > l1 ? (sign(linear) * l1 - linear) / (n^-power / learning_rate + 2 * l2) : 0
//     accum = n
#include "train/common/build.h"
#include "train/optimizers/update.h"
#include "train/variables/variable_internal.h"
#include <braid/ops.h>

typedef struct ftrl {
    braid_ftrl_options options;
    braid_out learning_rate, l1, l2, power; // constants
} ftrl;

static void create_slots(braid_optimizer *opt, const braid_out *vars, int count)
{
    const ftrl *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    for (int i = 0; i < count && vars[i].op; i++) {
        if (!braid_optimizer_slot(opt, vars[i], "accum").op) {
            braid_push_colocate(g, vars[i].op);
            braid_out typed = train_typed(vars[i]);
            braid_out initial = braid_full(g, NULL, train_base_dtype(braid_out_dtype(typed)),
                                           braid_out_shape(typed), s->options.initial_accumulator);
            braid_pop_colocate(g);
            braid_optimizer_make_slot_from(opt, vars[i], "accum", initial);
        }
        braid_optimizer_make_slot(opt, vars[i], "linear", braid_zeros_initializer());
    }
}

static void prepare(braid_optimizer *opt)
{
    ftrl *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    s->learning_rate = train_learning_rate(opt, "learning_rate", s->options.learning_rate);
    s->l1 = braid_const_float(g, "l1_regularization_strength", s->options.l1);
    s->l2 = braid_const_float(g, "l2_regularization_strength", s->options.l2);
    s->power = braid_const_float(g, "learning_rate_power", s->options.learning_rate_power);
}

static braid_op *apply_sparse(braid_optimizer *opt, braid_out grad, braid_out indices, braid_out var)
{
    const ftrl *s = braid_optimizer_state(opt);
    return train_update_variable(opt,
                                 &(train_update){.op_type = "ApplyFtrl",
                                                 .slots = {"accum", "linear"},
                                                 .scalars = {s->learning_rate, s->l1, s->l2, s->power},
                                                 .scalar_count = 4,
                                                 .grad_at = 0,
                                                 .use_locking = s->options.use_locking},
                                 grad, indices, var);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    return apply_sparse(opt, grad, (braid_out){NULL, 0}, var);
}

static const braid_optimizer_type type = {.name = "Ftrl",
                                          .create_slots = create_slots,
                                          .prepare = prepare,
                                          .apply = apply,
                                          .apply_sparse = apply_sparse};

braid_ftrl_options braid_ftrl_defaults(void)
{
    return (braid_ftrl_options){
        .learning_rate = 0.001f, .learning_rate_power = -0.5f, .initial_accumulator = 0.1f};
}

braid_optimizer *braid_ftrl_with(braid_graph *graph, const braid_ftrl_options *o)
{
    const char *wrong = !(o->initial_accumulator > 0) ? "the initial accumulator must be positive"
                        : !(o->learning_rate_power <= 0)
                            ? "the learning rate's power must be negative or zero"
                        : !(o->l1 >= 0) || !(o->l2 >= 0) ? "the strengths l1 and l2 must be positive or zero"
                                                         : NULL;
    if (wrong) braid_graph_fail(graph, BRAID_INVALID_ARGUMENT, "Ftrl: %s", wrong);
    ftrl state = {.options = *o};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}

braid_optimizer *braid_ftrl(braid_graph *graph, float learning_rate)
{
    braid_ftrl_options options = braid_ftrl_defaults();
    options.learning_rate = learning_rate;
    return braid_ftrl_with(graph, &options);
}
