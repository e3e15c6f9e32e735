// Exponential moving averages of variables and other values.
#include <braid/moving_average.h>

#include "base/alloc.h"
#include "base/array.h"
#include "train/common/build.h"
#include "train/variables/slot.h"
#include "train/variables/variable_internal.h"
#include <string.h>

typedef struct average {
    braid_out of;
    braid_variable variable;
    bool debias;
} average;

struct braid_moving_average {
    braid_graph *graph; // not owned: it owns this
    braid_moving_average_options options;
    char *name;
    char *asked; // the last answer of braid_moving_average_name
    BD_ARRAY(average) averages;
};

static void release(void *arg)
{
    braid_moving_average *m = arg;
    bd_array_free(&m->averages);
    bd_free(m->name);
    bd_free(m->asked);
    bd_free(m);
}

braid_moving_average *braid_moving_average_new(braid_graph *g, const braid_moving_average_options *options)
{
    braid_moving_average *m = bd_calloc(1, sizeof *m);
    m->graph = g;
    m->options = *options;
    m->name = bd_strdup(options->name ? options->name : "ExponentialMovingAverage");
    braid_graph_own(g, m, release);
    return m;
}

static const average *find(const braid_moving_average *m, braid_out x)
{
    for (size_t i = 0; i < m->averages.len; i++) {
        if (m->averages.items[i].of.op == x.op && m->averages.items[i].of.index == x.index)
            return &m->averages.items[i];
    }
    return NULL;
}

braid_variable braid_moving_average_of(const braid_moving_average *m, braid_out x)
{
    const average *a = find(m, x);
    return a ? a->variable : (braid_variable){0};
}

const char *braid_moving_average_name(braid_moving_average *m, braid_out x)
{
    const average *a = find(m, x);
    if (a || !x.op) return a ? braid_op_name(a->variable.ref.op) : NULL;
    bd_free(m->asked);
    m->asked = bd_asprintf("%s/%s", braid_op_name(x.op), m->name);
    return m->asked;
}

// ---- Making averages ----

static bool is_variable(braid_out x)
{
    return strcmp(braid_op_type(x.op), "VariableV2") == 0 || strcmp(braid_op_type(x.op), "Variable") == 0 ||
           strcmp(braid_op_type(x.op), "VarHandleOp") == 0;
}

static bool can_average(const braid_moving_average *m, braid_out x)
{
    braid_dtype dtype = train_base_dtype(braid_out_dtype(train_typed(x)));
    if (dtype != BRAID_FLOAT && dtype != BRAID_DOUBLE)
        braid_graph_fail(m->graph, BRAID_INVALID_ARGUMENT,
                         "Moving average of '%s': it is %s, not float or double", braid_op_name(x.op),
                         braid_dtype_name(dtype));
    else if (braid_shape_num_elements(braid_out_shape(train_typed(x))) < 0)
        braid_graph_fail(m->graph, BRAID_INVALID_ARGUMENT,
                         "Moving average of '%s': its shape is not fully known", braid_op_name(x.op));
    else if (find(m, x))
        braid_graph_fail(m->graph, BRAID_ALREADY_EXISTS, "Moving average of '%s': there is one already",
                         braid_op_name(x.op));
    return !braid_graph_status(m->graph, NULL);
}

// A variable's value once its initializer has run, as TensorFlow up to 1.3 builds it.
static braid_out initialized_value(braid_graph *g, braid_out ref)
{
    braid_variable v = braid_variable_find(ref);
    if (!v.initializer) {
        braid_graph_fail(g, BRAID_NOT_FOUND,
                         "Moving average of '%s': the variable has no initializer '%s/Assign'",
                         braid_op_name(ref.op), braid_op_name(ref.op));
        return v.initial_value;
    }
    braid_push_control(g, &v.initializer, 1);
    braid_push_colocate(g, ref.op);
    braid_out value = train_read(g, NULL, ref, train_base_dtype(braid_out_dtype(v.read)));
    braid_pop_colocate(g);
    braid_pop_control(g);
    return value;
}

static average make_average(braid_moving_average *m, braid_out x)
{
    braid_graph *g = m->graph;
    average a = {.of = x};
    if (is_variable(x)) {
        a.variable = train_slot_from(g, x, m->name, initialized_value(g, x));
        braid_collect(g, BRAID_MOVING_AVERAGE_VARIABLES, x);
    } else {
        char *name = bd_asprintf("%s/%s", braid_op_name(x.op), m->name);
        a.variable = train_variable_at(g, name,
                                       &(braid_variable_options){.dtype = braid_out_dtype(x),
                                                                 .shape = braid_out_shape(x),
                                                                 .initializer = braid_zeros_initializer(),
                                                                 .untrained = true},
                                       &(braid_variable_scope_options){0});
        bd_free(name);
        a.debias = m->options.zero_debias;
    }
    return a;
}

// ---- Updating them ----

static braid_out current_decay(braid_graph *g, const braid_moving_average_options *options)
{
    braid_out decay = braid_const_float(g, "decay", options->decay), n = options->num_updates;
    if (!n.op) return decay;
    if (train_base_dtype(braid_out_dtype(n)) != BRAID_FLOAT) {
        braid_op_desc *d = braid_op_begin(g, "Cast", "num_updates");
        braid_op_input(d, n);
        braid_op_attr_type(d, "DstT", BRAID_FLOAT);
        n = braid_op_end_out(d);
    }
    braid_out more = train_number_op(g, "Add", "add", 1, n);
    return braid_minimum(g, decay, braid_div(g, more, train_number_op(g, "Add", "add", 10, n)));
}

// ref -= value.
static braid_op *subtract(braid_graph *g, const char *name, braid_out ref, braid_out value)
{
    const char *op_type = train_kind_of(ref) == TRAIN_RESOURCE ? "AssignSubVariableOp" : "AssignSub";
    return train_node2(g, op_type, name, ref, value).op;
}

// The correction of an average without bias. "biased" is an average that starts at zero, and "local_step" the
// number of updates; the result is biased / (1 - decay^local_step). `rate` is 1 - decay.
static braid_out debiased_delta(braid_graph *g, const braid_variable *unbiased, braid_out value,
                                braid_out rate)
{
    const char *name = braid_op_name(unbiased->ref.op);
    braid_dtype dtype = train_base_dtype(braid_out_dtype(unbiased->ref));
    (void)braid_push_name_scope(g, name);
    braid_push_control(g, NULL, 0);
    braid_out zeros = braid_zeros(g, dtype, braid_out_shape(unbiased->ref));
    braid_variable biased = train_slot_from(g, unbiased->ref, "biased", zeros);
    braid_variable step = train_slot_scalar(g, unbiased->ref, "local_step", braid_zeros_initializer());
    braid_pop_control(g);

    braid_out lost = braid_mul(g, braid_sub(g, biased.read, value), rate);
    braid_op *updates[2] = {subtract(g, name, biased.ref, lost), NULL};
    const char *scope = braid_push_name_scope(g, "AssignAdd");
    braid_out one = braid_const_number(g, "value", dtype, 1);
    braid_pop_name_scope(g);
    updates[1] = train_node2(g, "AssignAdd", scope, step.ref, one).op;

    braid_push_control(g, updates, 2);
    braid_out total = train_read(g, "read", biased.ref, dtype);
    braid_out decay = train_number_op(g, "Sub", "sub", 1, rate);
    braid_out power = train_node2(g, "Pow", NULL, decay, train_read(g, "read", step.ref, dtype));
    braid_out now = braid_div(g, total, train_number_op(g, "Sub", "sub", 1, power));
    braid_out delta = braid_sub(g, unbiased->read, now);
    braid_pop_control(g);
    braid_pop_name_scope(g);
    return delta;
}

// average - value. A resource variable is read again, so that a control scope applies to the read; a
// reference gives the current value in any case.
static braid_out difference(braid_graph *g, const average *a, braid_out value)
{
    if (train_kind_of(a->of) != TRAIN_RESOURCE) return braid_sub(g, a->variable.read, value);
    braid_dtype dtype = train_base_dtype(braid_out_dtype(value));
    braid_out now = train_read(g, NULL, a->variable.ref, dtype);
    const char *scope = braid_push_name_scope(g, "sub");
    value = train_read(g, NULL, a->of, dtype);
    braid_pop_name_scope(g);
    return train_node2(g, "Sub", scope, now, value);
}

static braid_op *update(braid_graph *g, const average *a, braid_out decay)
{
    braid_out value = is_variable(a->of) ? braid_variable_find(a->of).read : a->of;
    if (!a->variable.ref.op || !decay.op) return NULL;
    const char *scope = braid_push_name_scope(g, "AssignMovingAvg");
    braid_push_colocate(g, a->variable.ref.op);
    braid_out rate = train_number_op(g, "Sub", "sub", 1, decay);
    rate = braid_cast(g, rate, train_base_dtype(braid_out_dtype(a->variable.read)));
    braid_out delta = a->debias ? debiased_delta(g, &a->variable, value, rate)
                                : braid_mul(g, difference(g, a, value), rate);
    braid_op *node = subtract(g, scope, a->variable.ref, delta);
    braid_pop_colocate(g);
    braid_pop_name_scope(g);
    return node;
}

braid_op *train_assign_moving_average(braid_graph *g, braid_variable variable, braid_out value,
                                      braid_out decay)
{
    return update(g, &(average){.of = value, .variable = variable}, decay);
}

braid_op *braid_moving_average_apply(braid_moving_average *m, const braid_out *xs, int count)
{
    braid_graph *g = m->graph;
    if (!xs) xs = braid_collection(g, BRAID_TRAINABLE_VARIABLES, &count);
    size_t first = m->averages.len;
    braid_out *wanted =
        bd_memdup(xs, (size_t)count * sizeof *wanted); // making variables may move the collection
    braid_push_control(g, NULL, 0);
    for (int i = 0; i < count; i++) {
        if (wanted[i].op && can_average(m, wanted[i]))
            bd_array_push(&m->averages, make_average(m, wanted[i]));
    }
    braid_pop_control(g);
    bd_free(wanted);

    const char *scope = braid_push_name_scope(g, m->name);
    braid_out decay = current_decay(g, &m->options);
    size_t made = m->averages.len - first;
    braid_op **updates = bd_calloc(made, sizeof(braid_op *));
    for (size_t i = 0; i < made; i++)
        updates[i] = update(g, &m->averages.items[first + i], decay);
    braid_op *node = braid_group(g, scope, updates, (int)made);
    bd_free(updates);
    braid_pop_name_scope(g);
    return node;
}
