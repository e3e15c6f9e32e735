// The optimizers Adam and AdaMax (Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015).
//
// Slots of each variable: "m" and "v", the moving averages of gradient and squared gradient (AdaMax: a decaying
// maximum of the gradient's size). Two scalars,
// beta1_power and beta2_power, are shared: they are multiplied by beta1 and beta2 after the updates of a
// step.
#include "train/optimizers/update.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include <stdio.h>
#include <string.h>

typedef struct adam {
    braid_adam_options options;
    braid_variable beta1_power, beta2_power;
    braid_out learning_rate, beta1, beta2, epsilon; // constants
} adam;

// The powers are placed with the variable whose name is first, so that all workers agree on the device.
static braid_out first_by_name(const braid_out *vars, int count)
{
    braid_out first = vars[0];
    for (int i = 1; i < count; i++) {
        if (strcmp(braid_op_name(vars[i].op), braid_op_name(first.op)) < 0) first = vars[i];
    }
    return first;
}

// A resource variable if `beside` is one.
static braid_variable make_power(braid_graph *g, const char *name, float beta, braid_out beside)
{
    const char *scope = braid_push_name_scope(g, name);
    const train_variable_spec spec = {.kind = train_kind_of(beside)};
    const braid_variable power =
        train_make_variable(g, scope, braid_const_float(g, "initial_value", beta), &spec);
    braid_pop_name_scope(g);
    return power;
}

static void create_slots(braid_optimizer *opt, const braid_out *vars, int count)
{
    adam *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    if (!s->beta1_power.ref.op) {
        const braid_out first = first_by_name(vars, count);
        braid_push_colocate(g, first.op);
        s->beta1_power = make_power(g, "beta1_power", s->options.beta1, first);
        s->beta2_power = make_power(g, "beta2_power", s->options.beta2, first);
        braid_pop_colocate(g);
    }
    for (int i = 0; i < count; i++) {
        braid_optimizer_make_slot(opt, vars[i], "m", braid_zeros_initializer());
        braid_optimizer_make_slot(opt, vars[i], "v", braid_zeros_initializer());
    }
}

static void prepare(braid_optimizer *opt)
{
    adam *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    s->learning_rate = train_learning_rate(opt, "learning_rate", s->options.learning_rate);
    s->beta1 = braid_const_float(g, "beta1", s->options.beta1);
    s->beta2 = braid_const_float(g, "beta2", s->options.beta2);
    s->epsilon = braid_const_float(g, "epsilon", s->options.epsilon);
}

static braid_op *apply(braid_optimizer *opt, braid_out grad, braid_out var)
{
    const adam *s = braid_optimizer_state(opt);
    return train_update_variable(
        opt,
        &(train_update){.op_type = "ApplyAdam",
                        .slots = {"m", "v"},
                        .scalars = {s->beta1_power.read, s->beta2_power.read, s->learning_rate, s->beta1,
                                    s->beta2, s->epsilon},
                        .scalar_count = 6,
                        .grad_at = 6,
                        .use_locking = s->options.use_locking},
        grad, BRAID_NONE, var);
}

// ---- Rows: what is not among them decays, too, as if it had gradient 0 ----

static braid_op_desc *begin_assign(braid_graph *g, const adam *s, const char *op_type, braid_out ref)
{
    braid_op_desc *d = braid_op_begin(g, op_type, NULL);
    braid_op_input(d, ref);
    braid_op_attr_bool(d, "use_locking", s->options.use_locking);
    return d;
}

// OP(ref, value) of a reference, OPVariableOp(handle, value) of a resource variable.
static braid_op *assign(braid_graph *g, const adam *s, const char *op_type, braid_out ref, braid_out value)
{
    if (train_kind_of(ref) == TRAIN_RESOURCE) {
        char name[32];
        snprintf(name, sizeof name, "%sVariableOp", op_type);
        return train_node2(g, name, NULL, ref, value).op;
    }
    braid_op_desc *d = begin_assign(g, s, op_type, ref);
    braid_op_input(d, value);
    return braid_op_end(d);
}

// slot = beta * slot, and (1 - beta) * rows more in these rows; returns the slot after it.
static braid_out decay(braid_graph *g, const adam *s, braid_out slot, braid_out beta, braid_out rows,
                       braid_out indices)
{
    braid_out read = braid_variable_find(slot).read;
    braid_out scaled = braid_mul(g, rows, train_number_op(g, "Sub", "sub", 1, beta));
    braid_op *decayed = assign(g, s, "Assign", slot, braid_mul(g, read, beta));
    if (!decayed) return BRAID_NONE;
    braid_push_control(g, &decayed, 1);
    braid_out after;
    if (train_kind_of(slot) == TRAIN_RESOURCE) {
        braid_op *added = train_node3(g, "ResourceScatterAdd", NULL, slot, indices, scaled).op;
        braid_push_control(g, &added, added != NULL);
        after = train_read(g, NULL, slot, train_base_dtype(braid_out_dtype(read)));
        braid_pop_control(g);
    } else {
        braid_op_desc *d = begin_assign(g, s, "ScatterAdd", slot);
        braid_op_input(d, indices);
        braid_op_input(d, scaled);
        after = braid_op_end_out(d);
    }
    braid_pop_control(g);
    return after;
}

// The rows of a resource variable, of which no more is read: the read of all of it would make the next update
// copy all of it, if both are in progress at the same time.
static braid_out gather_resource(braid_graph *g, braid_out handle, braid_out indices, braid_dtype dtype)
{
    braid_op_desc *d = braid_op_begin(g, "ResourceGather", NULL);
    braid_op_input(d, handle);
    braid_op_input(d, indices);
    braid_op_attr_type(d, "dtype", dtype);
    return braid_op_end_out(d);
}

// Gives the rows of a variable that `indices` name new values, and returns these rows after that.
static braid_out scatter(braid_graph *g, const adam *s, braid_out ref, braid_out indices, braid_out values)
{
    if (train_kind_of(ref) != TRAIN_RESOURCE) {
        braid_op_desc *d = begin_assign(g, s, "ScatterUpdate", ref);
        braid_op_input(d, indices);
        braid_op_input(d, values);
        return braid_gather(g, braid_op_end_out(d), indices);
    }
    braid_op *updated = train_node3(g, "ResourceScatterUpdate", NULL, ref, indices, values).op;
    braid_push_control(g, &updated, updated != NULL);
    const braid_out after = gather_resource(g, ref, indices, train_base_dtype(braid_out_dtype(values)));
    braid_pop_control(g);
    return after;
}

// slot = beta * slot + (1 - beta) * rows, in these rows alone; returns these rows of the slot after it.
static braid_out decay_rows(braid_graph *g, const adam *s, braid_out slot, braid_out beta, braid_out rows,
                            braid_out indices)
{
    const braid_out before = train_kind_of(slot) == TRAIN_RESOURCE
                                 ? gather_resource(g, slot, indices, train_base_dtype(braid_out_dtype(rows)))
                                 : braid_gather(g, braid_variable_find(slot).read, indices);
    const braid_out added = braid_mul(g, rows, train_number_op(g, "Sub", "sub", 1, beta));
    return scatter(g, s, slot, indices, braid_add(g, braid_mul(g, before, beta), added));
}

// var -= step, in some rows.
static braid_op *subtract_rows(braid_graph *g, const adam *s, braid_out var, braid_out indices,
                               braid_out step)
{
    if (train_kind_of(var) == TRAIN_RESOURCE)
        return train_node3(g, "ResourceScatterAdd", NULL, var, indices, braid_neg(g, step)).op;
    braid_op_desc *d = begin_assign(g, s, "ScatterSub", var);
    braid_op_input(d, indices);
    braid_op_input(d, step);
    return braid_op_end(d);
}

static braid_op *apply_sparse(braid_optimizer *opt, braid_out rows, braid_out indices, braid_out var)
{
    const adam *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    braid_dtype dtype = train_base_dtype(braid_out_dtype(rows));
    braid_out power1 = braid_cast(g, s->beta1_power.read, dtype),
              power2 = braid_cast(g, s->beta2_power.read, dtype),
              rate = braid_cast(g, s->learning_rate, dtype), beta1 = braid_cast(g, s->beta1, dtype),
              beta2 = braid_cast(g, s->beta2, dtype), epsilon = braid_cast(g, s->epsilon, dtype);
    braid_out root = braid_sqrt(g, train_number_op(g, "Sub", "sub", 1, power2));
    rate = braid_div(g, braid_mul(g, rate, root), train_number_op(g, "Sub", "sub", 1, power1));
    braid_out (*update_slot)(braid_graph *, const adam *, braid_out, braid_out, braid_out, braid_out) =
        s->options.lazy ? decay_rows : decay;
    braid_out m = update_slot(g, s, braid_optimizer_slot(opt, var, "m"), beta1, rows, indices);
    braid_out v =
        update_slot(g, s, braid_optimizer_slot(opt, var, "v"), beta2, braid_mul(g, rows, rows), indices);
    // Lazily these are the changed rows alone, else all of the slots.
    braid_out below = braid_add(g, braid_sqrt(g, v), epsilon);
    braid_out step = braid_div(g, braid_mul(g, rate, m), below);
    braid_op *updates[3] = {s->options.lazy ? subtract_rows(g, s, var, indices, step)
                                            : assign(g, s, "AssignSub", var, step),
                            m.op, v.op};
    return updates[0] ? braid_group(g, NULL, updates, 3) : NULL;
}

// power *= beta, beside the power, which is read after the updates.
static braid_op *multiply_power(braid_graph *g, const adam *s, const braid_variable *power, braid_out beta)
{
    if (!power->ref.op) return NULL;
    const bool is_resource = train_kind_of(power->ref) == TRAIN_RESOURCE;
    const braid_out now = is_resource ? train_read(g, NULL, power->ref, BRAID_FLOAT) : power->read;
    return assign(g, s, "Assign", power->ref, braid_mul(g, now, beta));
}

static braid_op *finish(braid_optimizer *opt, braid_op *const *updates, int count, const char *name)
{
    adam *s = braid_optimizer_state(opt);
    braid_graph *g = braid_optimizer_graph(opt);
    if (!s->beta1_power.ref.op) return NULL;
    braid_op **all = bd_calloc((size_t)count + 2, sizeof(braid_op *));
    memcpy(all, updates, (size_t)count * sizeof(braid_op *));
    braid_push_control(g, updates, count);
    braid_push_colocate(g, s->beta1_power.ref.op);
    all[count] = multiply_power(g, s, &s->beta1_power, s->beta1);
    all[count + 1] = multiply_power(g, s, &s->beta2_power, s->beta2);
    braid_pop_colocate(g);
    braid_pop_control(g);
    braid_op *node = braid_group(g, name, all, count + 2);
    bd_free(all);
    return node;
}

static const braid_optimizer_type type = {.name = "Adam",
                                          .create_slots = create_slots,
                                          .prepare = prepare,
                                          .apply = apply,
                                          .apply_sparse = apply_sparse,
                                          .finish = finish};

// ---- AdaMax: one power, and no sparse form ----

static braid_op *apply_max(braid_optimizer *opt, braid_out grad, braid_out var)
{
    const adam *s = braid_optimizer_state(opt);
    return train_update_variable(
        opt,
        &(train_update){.op_type = "ApplyAdaMax",
                        .slots = {"m", "v"},
                        .scalars = {s->beta1_power.read, s->learning_rate, s->beta1, s->beta2, s->epsilon},
                        .scalar_count = 5,
                        .grad_at = 5,
                        .use_locking = s->options.use_locking},
        grad, BRAID_NONE, var);
}

static const braid_optimizer_type max_type = {
    .name = "AdaMax", .create_slots = create_slots, .prepare = prepare, .apply = apply_max, .finish = finish};

braid_optimizer *braid_adamax_with(braid_graph *graph, const braid_adam_options *options)
{
    adam state = {.options = *options};
    return braid_optimizer_new(graph, &max_type, &state, sizeof state);
}

braid_optimizer *braid_adamax(braid_graph *graph, float learning_rate)
{
    braid_adam_options options = braid_adam_defaults();
    options.learning_rate = learning_rate;
    return braid_adamax_with(graph, &options);
}

// ---- Adam ----

braid_adam_options braid_adam_defaults(void)
{
    return (braid_adam_options){.learning_rate = 0.001f, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-8f};
}

braid_optimizer *braid_adam_with(braid_graph *graph, const braid_adam_options *options)
{
    adam state = {.options = *options};
    return braid_optimizer_new(graph, &type, &state, sizeof state);
}

braid_optimizer *braid_adam(braid_graph *graph, float learning_rate)
{
    braid_adam_options options = braid_adam_defaults();
    options.learning_rate = learning_rate;
    return braid_adam_with(graph, &options);
}
