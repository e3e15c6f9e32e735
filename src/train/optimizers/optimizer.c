// Shared by all optimizers: gradients, slots, and the order in which updates are built.
#include <braid/optimizers.h>

#include "base/alloc.h"
#include "base/array.h"
#include "train/common/build.h"
#include "train/optimizers/update.h"
#include "train/variables/slot.h"
#include "train/variables/variable_internal.h"
#include "train/variables/variable_store.h"
#include <braid/ops.h>
#include <string.h>

typedef struct slot {
    char *name;
    braid_out var, slot;
} slot;

struct braid_optimizer {
    braid_graph *graph; // not owned: it owns the optimizer
    const braid_optimizer_type *type;
    void *state;
    braid_out learning_rate; // op NULL: the optimizer's number
    bool colocates;          // gradients with the nodes that they differentiate
    BD_ARRAY(slot) slots;
    BD_ARRAY(braid_grad_and_var) gradients; // of the last braid_compute_gradients
};

static void optimizer_free(void *arg)
{
    braid_optimizer *opt = arg;
    for (size_t i = 0; i < opt->slots.len; i++)
        bd_free(opt->slots.items[i].name);
    bd_array_free(&opt->slots);
    bd_array_free(&opt->gradients);
    bd_free(opt->state);
    bd_free(opt);
}

braid_optimizer *braid_optimizer_new(braid_graph *g, const braid_optimizer_type *type, const void *state,
                                     size_t size)
{
    braid_optimizer *opt = bd_calloc(1, sizeof *opt);
    opt->graph = g;
    opt->type = type;
    opt->state = bd_memdup(state, size);
    braid_graph_own(g, opt, optimizer_free);
    return opt;
}

braid_graph *braid_optimizer_graph(const braid_optimizer *opt)
{
    return opt->graph;
}

void *braid_optimizer_state(braid_optimizer *opt)
{
    return opt->state;
}

// ---- The learning rate ----

void braid_optimizer_set_learning_rate(braid_optimizer *opt, braid_out learning_rate)
{
    opt->learning_rate = learning_rate;
}

void braid_optimizer_colocate_gradients(braid_optimizer *opt, bool colocate)
{
    opt->colocates = colocate;
}

braid_out train_learning_rate(const braid_optimizer *opt, const char *name, float number)
{
    return opt->learning_rate.op ? opt->learning_rate : braid_const_float(opt->graph, name, number);
}

// ---- Slots ----

braid_out braid_optimizer_slot(const braid_optimizer *opt, braid_out var, const char *name)
{
    for (size_t i = 0; i < opt->slots.len; i++) {
        const slot *s = &opt->slots.items[i];
        if (s->var.op == var.op && strcmp(s->name, name) == 0) return s->slot;
    }
    return BRAID_NONE;
}

static braid_out keep_slot(braid_optimizer *opt, braid_out var, const char *name, braid_variable made)
{
    if (made.ref.op) bd_array_push(&opt->slots, (slot){bd_strdup(name), var, made.ref});
    return made.ref;
}

braid_out braid_optimizer_make_slot(braid_optimizer *opt, braid_out var, const char *name,
                                    braid_initializer initializer)
{
    braid_out there = braid_optimizer_slot(opt, var, name);
    if (there.op || !var.op) return there;
    return keep_slot(opt, var, name, train_slot_with(opt->graph, var, opt->type->name, initializer));
}

braid_out braid_optimizer_make_slot_from(braid_optimizer *opt, braid_out var, const char *name,
                                         braid_out initial_value)
{
    braid_out there = braid_optimizer_slot(opt, var, name);
    if (there.op || !var.op) return there;
    return keep_slot(opt, var, name, train_slot_from(opt->graph, var, opt->type->name, initial_value));
}

// ---- Gradients ----

const braid_grad_and_var *braid_compute_gradients(braid_optimizer *opt, braid_out loss, const braid_out *vars,
                                                  int count, int *result_count)
{
    *result_count = 0;
    opt->gradients.len = 0;
    if (!vars) vars = braid_collection(opt->graph, BRAID_TRAINABLE_VARIABLES, &count);
    if (!loss.op) return NULL;
    if (count == 0) {
        braid_graph_fail(opt->graph, BRAID_INVALID_ARGUMENT, "No variables to optimize.");
        return NULL;
    }
    braid_out *xs = bd_memdup(vars, (size_t)count * sizeof *xs);
    braid_gradient *grads = bd_calloc((size_t)count, sizeof *grads);
    const braid_gradients_options options = {.gate = true, .colocate = opt->colocates};
    braid_gradients_sparse(opt->graph, &loss, 1, xs, count, &options, grads);
    for (int i = 0; i < count; i++) {
        const braid_grad_and_var pair = {.grad = grads[i].values,
                                         .var = xs[i],
                                         .indices = grads[i].indices,
                                         .dense_shape = grads[i].dense_shape};
        bd_array_push(&opt->gradients, pair);
    }
    bd_free(xs);
    bd_free(grads);
    *result_count = count;
    return opt->gradients.items;
}

// ---- Updates ----

braid_out train_add_up_rows(braid_graph *g, braid_out rows, braid_out *indices)
{
    braid_op_desc *d = braid_op_begin(g, "Unique", NULL);
    braid_op_input(d, *indices);
    braid_op *unique = braid_op_end(d);
    *indices = braid_output(unique, 0);
    return train_node3(g, "UnsortedSegmentSum", NULL, rows, braid_output(unique, 1),
                       train_first_of(g, train_shape_of(g, *indices)));
}

static braid_op *apply(braid_optimizer *opt, const braid_grad_and_var *gv)
{
    const braid_gradient gradient = {gv->grad, gv->indices, gv->dense_shape};
    if (!gv->indices.op || !opt->type->apply_sparse)
        return opt->type->apply(opt, braid_gradient_to_dense(opt->graph, &gradient), gv->var);
    braid_out rows = gv->grad, indices = gv->indices;
    if (!opt->type->sums_duplicates) rows = train_add_up_rows(opt->graph, rows, &indices);
    return opt->type->apply_sparse(opt, rows, indices, gv->var);
}

// Assigns, after `update`, what the constraint makes of the new value.
static braid_op *constrain(braid_graph *g, braid_op *update, const braid_constraint *c, braid_out var)
{
    braid_push_control(g, &update, 1);
    const braid_out value = train_read(g, NULL, var, train_base_dtype(braid_out_dtype(train_typed(var))));
    const braid_out within = c->build(c, g, value);
    braid_op *assign = train_kind_of(var) == TRAIN_RESOURCE
                           ? train_node2(g, "AssignVariableOp", NULL, var, within).op
                           : braid_assign(g, var, within).op;
    braid_pop_control(g);
    return assign;
}

static braid_op *apply_constrained(braid_optimizer *opt, const braid_grad_and_var *gv)
{
    braid_graph *g = opt->graph;
    const braid_constraint *c = train_constraint_of(g, gv->var);
    if (c && gv->indices.op) {
        braid_graph_fail(
            g, BRAID_INVALID_ARGUMENT,
            "Cannot use a constraint function on a sparse variable: the gradient of '%s' has the "
            "rows of '%s' only",
            braid_op_name(gv->var.op), braid_op_name(gv->indices.op));
        return NULL;
    }
    braid_op *update = apply(opt, gv);
    return c && update ? constrain(g, update, c, gv->var) : update;
}

static braid_op *update_variable(braid_optimizer *opt, const braid_grad_and_var *gv)
{
    char *name = bd_asprintf("update_%s", braid_op_name(gv->var.op));
    (void)braid_push_name_scope(opt->graph, name);
    braid_push_colocate(opt->graph, gv->var.op);
    braid_op *update = apply_constrained(opt, gv);
    braid_pop_colocate(opt->graph);
    braid_pop_name_scope(opt->graph);
    bd_free(name);
    return update;
}

static braid_op *finish(braid_optimizer *opt, braid_op *const *updates, int count, const char *name)
{
    if (opt->type->finish) return opt->type->finish(opt, updates, count, name);
    return braid_group(opt->graph, name, updates, count);
}

// global_step += 1 once `updated` is done; the node carries the name of the optimizer's scope.
static braid_op *count_step(braid_graph *g, braid_op *updated, braid_out global_step, const char *scope)
{
    braid_push_control(g, &updated, 1);
    braid_push_colocate(g, global_step.op);
    (void)braid_push_name_scope(g, scope);
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(train_typed(global_step)));
    const braid_out one = braid_const_number(g, "value", dtype, 1);
    braid_pop_name_scope(g);
    const bool is_resource = train_kind_of(global_step) == TRAIN_RESOURCE;
    braid_op *node =
        train_node2(g, is_resource ? "AssignAddVariableOp" : "AssignAdd", scope, global_step, one).op;
    braid_pop_colocate(g);
    braid_pop_control(g);
    return node;
}

// The pairs that have a gradient; returns how many. `pairs` and `vars` hold `count`.
static int with_gradient(const braid_grad_and_var *grads_and_vars, int count, braid_grad_and_var *pairs,
                         braid_out *vars)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (!grads_and_vars[i].grad.op || !grads_and_vars[i].var.op) continue;
        pairs[n] = grads_and_vars[i];
        vars[n++] = grads_and_vars[i].var;
    }
    return n;
}

static braid_op *build_updates(braid_optimizer *opt, const braid_grad_and_var *pairs, int count,
                               braid_out global_step)
{
    braid_graph *g = opt->graph;
    const char *scope = braid_push_name_scope(g, opt->type->name);
    if (opt->type->prepare) opt->type->prepare(opt);
    braid_op **updates = bd_calloc((size_t)count, sizeof(braid_op *));
    for (int i = 0; i < count; i++)
        updates[i] = update_variable(opt, &pairs[i]);
    braid_op *train = finish(opt, updates, count, global_step.op ? "update" : scope);
    if (global_step.op && train) train = count_step(g, train, global_step, scope);
    bd_free(updates);
    braid_pop_name_scope(g);
    return train;
}

braid_op *braid_apply_gradients(braid_optimizer *opt, const braid_grad_and_var *grads_and_vars, int count,
                                braid_out global_step)
{
    if (braid_graph_status(opt->graph, NULL)) return NULL;
    braid_grad_and_var *pairs = bd_calloc((size_t)count, sizeof *pairs);
    braid_out *vars = bd_calloc((size_t)count, sizeof *vars);
    braid_op *train = NULL;
    int n = with_gradient(grads_and_vars, count, pairs, vars);
    if (n == 0) {
        braid_graph_fail(opt->graph, BRAID_INVALID_ARGUMENT,
                         "No gradients provided for any variable: the loss depends on none of them.");
    } else {
        if (opt->type->create_slots) {
            braid_push_control(opt->graph, NULL, 0); // slots do not depend on surrounding control scopes
            opt->type->create_slots(opt, vars, n);
            braid_pop_control(opt->graph);
        }
        train = build_updates(opt, pairs, n, global_step);
    }
    bd_free(pairs);
    bd_free(vars);
    return train;
}

braid_op *braid_minimize(braid_optimizer *opt, braid_out loss, braid_out global_step)
{
    int count;
    const braid_grad_and_var *pairs = braid_compute_gradients(opt, loss, NULL, 0, &count);
    return braid_apply_gradients(opt, pairs, count, global_step);
}
