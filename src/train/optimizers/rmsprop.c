// The RMSProp optimizer (Tieleman and Hinton, COURSERA lecture 6.5, 2012; centered: Graves, Generating
// Sequences With Recurrent Neural Networks, 2013, equations 38 to 45).
//
// Slots: "rms", the moving average of the squared gradient, from ones; centered also "mg", that of the
// gradient; and "momentum" = momentum * "momentum" + learning_rate * gradient / sqrt(rms - mg^2 + epsilon),
// which the variable loses.
#include "train/optimizers/update.h"

#include <braid/ops.h>

typedef struct rmsprop {
    braid_rmsprop_options options;
    braid_out learning_rate, decay, momentum, epsilon; // constants
} rmsprop;

static void create_slots(braid_optimizer *opt, const braid_out *vars, int count)
{
    const rmsprop *s = braid_optimizer_state(opt);
    for (int i = 0; i < count; i++) {
        braid_optimizer_make_slot(opt, vars[i], "rms", braid_ones_initializer());
        if (s->options.centered) braid_optimizer_make_slot(opt, vars[i], "mg", braid_zeros_initializer());
        braid_optimizer_make_slot(opt, vars[i], "momentum", braid_zeros_initializer());
    }
}

static void prepare(braid_optimizer *opt)
{
    rmsprop *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    s->learning_rate = train_learning_rate(opt, "learning_rate", s->options.learning_rate);
    s->decay = braid_const_float(g, "decay", s->options.decay);
    s->momentum = braid_const_float(g, "momentum", s->options.momentum);
    s->epsilon = braid_const_float(g, "epsilon", s->options.epsilon);
}

static braid_op *apply_sparse(braid_optimizer *opt, braid_out grad, braid_out indices, braid_out var)
{
    const rmsprop *s = braid_optimizer_state(opt);
    train_update update = {.op_type = "ApplyRMSProp",
                           .slots = {"rms", "momentum"},
                           .scalars = {s->learning_rate, s->decay, s->momentum, s->epsilon},
                           .scalar_count = 4,
                           .grad_at = 4,
                           .use_locking = s->options.use_locking};
    if (s->options.centered) {
        update.op_type = "ApplyCenteredRMSProp";
        update.slots[0] = "mg";
        update.slots[1] = "rms";
        update.slots[2] = "momentum";
    }
    return train_update_variable(opt, &update, grad, indices, var);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    return apply_sparse(opt, grad, (braid_out){NULL, 0}, var);
}

static const braid_optimizer_type type = {.name = "RMSProp",
                                          .create_slots = create_slots,
                                          .prepare = prepare,
                                          .apply = apply,
                                          .apply_sparse = apply_sparse};

braid_rmsprop_options braid_rmsprop_defaults(void)
{
    return (braid_rmsprop_options){.learning_rate = 0.001f, .decay = 0.9f, .epsilon = 1e-10f};
}

braid_optimizer *braid_rmsprop_with(braid_graph *graph, const braid_rmsprop_options *options)
{
    rmsprop state = {.options = *options};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}

braid_optimizer *braid_rmsprop(braid_graph *graph, float learning_rate)
{
    braid_rmsprop_options options = braid_rmsprop_defaults();
    options.learning_rate = learning_rate;
    return braid_rmsprop_with(graph, &options);
}
