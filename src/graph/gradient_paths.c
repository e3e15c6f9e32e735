// Which nodes are on the paths of a gradient, and the loops on them.
#include "graph/gradient_paths.h"

#include "graph/builder.h"
#include "graph/grad.h"
#include "graph/gradients_internal.h"
#include "graph/lower.h"
#include <string.h>

static bool has_failed(const bd_gradient_paths *p)
{
    return p->g->status.code != BRAID_OK;
}

// Whether gradients go through an output: not where it is a whole number, like a shape.
static bool carries_gradients(const braid_op *op, int output)
{
    if (output >= op->output_count) return true; // of an op that Braid does not know
    const braid_dtype type = bd_dtype_base(op->output_types[output]);
    return bd_dtype_is_trainable(type) || type == BRAID_BFLOAT16 || type == BRAID_RESOURCE ||
           type == BRAID_VARIANT;
}

static void mark_reached(bd_gradient_paths *p, const braid_out *xs, int num_xs)
{
    bd_consumers consumers;
    bd_op_list open = {0};
    bd_graph_consumers(p->g, &consumers);
    for (int i = 0; i < num_xs; i++)
        bd_array_push(&open, xs[i].op);
    while (open.len) {
        const braid_op *op = open.items[--open.len];
        if (p->reached[op->id]) continue;
        p->reached[op->id] = true;
        for (int e = consumers.offsets[op->id]; e < consumers.offsets[op->id + 1]; e++) {
            const bd_consumer *edge = &consumers.items[e];
            if (edge->input >= 0 && carries_gradients(op, edge->output)) bd_array_push(&open, edge->node);
        }
        for (int i = bd_returns_of_value(&p->returns, op); i >= 0; i = p->returns.items.items[i].next)
            bd_array_push(&open, p->returns.items.items[i].pop);
    }
    bd_array_free(&open);
    bd_consumers_fini(&consumers);
}

// How many loops a node is in, by the Enters and Exits among those before it.
static void find_depths(bd_gradient_paths *p)
{
    for (int id = 0; id < p->count; id++) {
        const braid_op *op = p->g->nodes.items[id];
        for (int i = 0; i < op->input_count; i++) {
            const braid_op *in = op->inputs[i].op;
            const bd_op_role role = bd_node_role(in);
            const int depth = p->depths[in->id] + (role == BD_ROLE_ENTER) - (role == BD_ROLE_EXIT);
            if (in->id < id && depth > p->depths[id]) p->depths[id] = depth;
        }
    }
}

// Whether no gradient goes through `op` in any case. Another op without a gradient may get one of the
// program's. A loop on a path is differentiated as a whole: its variables have gradients, if of zeros.
static bool ends_paths(const bd_gradient_paths *p, const braid_op *op)
{
    if (p->depths[op->id] > 0) return false;
    for (int i = 0; i < p->options->stop_count; i++) {
        if (p->options->stops[i].op == op) return true;
    }
    return strcmp(op->op_type, "StopGradient") == 0;
}

// Marks the nodes on paths to those of `open`, nearest first, and lists them.
static void mark_between(bd_gradient_paths *p, bd_op_list *open)
{
    for (size_t next = 0; next < open->len; next++) {
        braid_op *op = open->items[next];
        if (!p->reached[op->id]) continue;
        p->reached[op->id] = false;
        p->between[op->id] = true;
        bd_array_push(&p->nodes, op);
        for (int i = 0; i < op->input_count && !ends_paths(p, op); i++)
            bd_array_push(open, op->inputs[i].op);
        const bd_return *returned = bd_returns_of_pop(&p->returns, op);
        if (returned) bd_array_push(open, returned->value.op);
    }
}

// An Exit is on a path with what is between it and its Switch: the Identity of a tuple of gradients.
static void mark_exit(bd_gradient_paths *p, const braid_op *exit)
{
    p->between[exit->id] = true;
    for (const braid_op *n = exit->inputs[0].op; strcmp(n->op_type, "Identity") == 0; n = n->inputs[0].op)
        p->between[n->id] = true;
}

// Builds the gradient loops of the loops on a path; all Exits of these loops are then on a path.
static void find_loops(bd_gradient_paths *p)
{
    for (size_t i = 0; i < p->nodes.len && !has_failed(p); i++) {
        braid_op *op = p->nodes.items[i];
        if (bd_node_role(op) != BD_ROLE_EXIT || !p->loops) continue;
        if (p->options->colocate) braid_push_colocate(p->g, op);
        bd_gradient_loops_add(p->loops, op);
        if (p->options->colocate) braid_pop_colocate(p->g);
    }
    for (size_t i = 0; p->loops && i < p->returns.items.len && !has_failed(p); i++)
        if (p->between[p->returns.items.items[i].pop->id])
            bd_return_add_loop(p->loops, &p->returns.items.items[i]);
    for (int i = 0; i < bd_gradient_loop_count(p->loops) && !has_failed(p); i++) {
        const bd_gradient_exits *exits = bd_gradient_exits_at(p->loops, i);
        for (size_t k = 0; exits && k < exits->all.len; k++)
            mark_exit(p, exits->all.items[k]);
    }
}

// Whether an x leads to a value that is popped on a path, or in a loop on a path.
static bool has_pop(const bd_gradient_paths *p)
{
    for (size_t i = 0; i < p->returns.items.len; i++) {
        const braid_op *pop = p->returns.items.items[i].pop;
        if (p->between[pop->id] || (p->reached[pop->id] && bd_gradient_loop_of(p->loops, pop))) return true;
    }
    return false;
}

// Which nodes lead to one that ends paths: [count], to be freed. NULL: no path ends before an x.
static bool *find_stopped(const bd_gradient_paths *p)
{
    bool *is_stopped = NULL;
    bd_op_list open = {0};
    for (size_t i = 0; i < p->nodes.len; i++)
        if (ends_paths(p, p->nodes.items[i])) bd_array_push(&open, p->nodes.items[i]);
    if (open.len) is_stopped = bd_calloc((size_t)p->count, sizeof *is_stopped);
    while (open.len) {
        const braid_op *op = open.items[--open.len];
        for (int i = 0; i < op->input_count; i++) {
            braid_op *in = op->inputs[i].op;
            if (!p->reached[in->id] || is_stopped[in->id]) continue;
            is_stopped[in->id] = true;
            bd_array_push(&open, in);
        }
    }
    bd_array_free(&open);
    return is_stopped;
}

// Of the other Exits more loops may be: where values are popped on a path, gradients arrive in loops by
// other ways than their Exits. Exits that lead to the end of a path get zeros with the others of their loop,
// and so do the xs that lead to them.
void bd_gradient_paths_add_loops(bd_gradient_paths *p)
{
    bd_op_list open = {0};
    bool *is_stopped = p->loops ? find_stopped(p) : NULL;
    do {
        find_loops(p);
        const bool pops = has_pop(p);
        open.len = 0;
        for (int i = 0; i < bd_gradient_loop_count(p->loops); i++) {
            const bd_gradient_exits *exits = bd_gradient_exits_at(p->loops, i);
            for (size_t k = 0; exits && k < exits->all.len; k++) {
                braid_op *exit = exits->all.items[k];
                if (p->reached[exit->id] && (pops || (is_stopped && is_stopped[exit->id])))
                    bd_array_push(&open, exit);
            }
        }
        mark_between(p, &open);
    } while (open.len && !has_failed(p));
    bd_array_free(&open);
    bd_free(is_stopped);
}

static void mark_paths(bd_gradient_paths *p, const braid_out *ys, int num_ys, const braid_out *xs, int num_xs)
{
    bd_op_list open = {0};
    mark_reached(p, xs, num_xs);
    find_depths(p);
    for (int i = 0; i < num_ys; i++)
        bd_array_push(&open, ys[i].op);
    mark_between(p, &open);
    bd_array_free(&open);
}

// Which nodes an Exit takes a value of, itself or the Identity of a tuple of gradients; to be freed.
static bool *find_exited(const braid_graph *g)
{
    bool *has_exit = bd_calloc(g->nodes.len + 1, sizeof *has_exit);
    for (size_t id = 0; id < g->nodes.len; id++) {
        const braid_op *n = g->nodes.items[id];
        if (bd_node_role(n) != BD_ROLE_EXIT) continue;
        do {
            n = n->inputs[0].op;
            if (has_exit[n->id]) break;
            has_exit[n->id] = true;
        } while (strcmp(n->op_type, "Identity") == 0);
    }
    return has_exit;
}

static bool is_loop_switch(const braid_op *n)
{
    return bd_node_role(n) == BD_ROLE_SWITCH && bd_node_role(n->inputs[1].op) == BD_ROLE_LOOP_COND;
}

// Each variable of a loop on a path that an x leads to gets an Exit, if it has none, as variables of a
// gradient loop may: their gradients begin there, with zeros. Returns whether there are new nodes.
static bool add_exits(const bd_gradient_paths *p)
{
    bool *is_on_path = bd_calloc((size_t)p->count + 1, sizeof *is_on_path); // by LoopCond
    for (int id = 0; id < p->count; id++) {
        const braid_op *n = p->g->nodes.items[id];
        if (p->between[id] && is_loop_switch(n)) is_on_path[n->inputs[1].op->id] = true;
    }
    bool *has_exit = find_exited(p->g);
    bd_region *before = bd_region_swap(p->g, NULL);
    bool any = false;
    for (int id = 0; id < p->count && !has_failed(p); id++) {
        braid_op *n = p->g->nodes.items[id];
        if (!(p->between[id] || p->reached[id]) || !is_loop_switch(n) || !is_on_path[n->inputs[1].op->id] ||
            !bd_dtype_is_trainable(n->output_types[0]) || has_exit[id])
            continue;
        braid_push_control(p->g, NULL, 0);
        bd_b1(p->g, "Exit", NULL, braid_output(n, 0));
        braid_pop_control(p->g);
        any = true;
    }
    bd_region_swap(p->g, before);
    bd_free(has_exit);
    bd_free(is_on_path);
    return any;
}

static void init(bd_gradient_paths *p, braid_graph *g, const braid_gradients_options *options)
{
    const size_t count = g->nodes.len;
    *p = (bd_gradient_paths){.g = g, .options = options, .count = (int)count};
    p->reached = bd_calloc(count + 1, sizeof *p->reached);
    p->depths = bd_calloc(count + 1, sizeof *p->depths);
    p->between = bd_calloc(count + 1, sizeof *p->between);
    bd_returns_find(g, (int)count, &p->returns);
}

void bd_gradient_paths_find(bd_gradient_paths *p, braid_graph *g, const braid_gradients_options *options,
                            const braid_out *ys, int num_ys, const braid_out *xs, int num_xs)
{
    init(p, g, options);
    mark_paths(p, ys, num_ys, xs, num_xs);
    const bool is_lowered = bd_graph_lower_for_gradients(g, p->between, p->count);
    if (add_exits(p) || is_lowered) {
        bd_gradient_paths_fini(p);
        init(p, g, options);
        mark_paths(p, ys, num_ys, xs, num_xs);
    }
    bool any = false;
    for (size_t i = 0; i < p->nodes.len && !any; i++)
        any = bd_node_role(p->nodes.items[i]) == BD_ROLE_EXIT;
    if (any && !has_failed(p)) p->loops = bd_gradient_loops_new(g, &p->returns);
}

void bd_gradient_paths_fini(bd_gradient_paths *p)
{
    bd_free(p->reached);
    bd_free(p->depths);
    bd_free(p->between);
    bd_array_free(&p->nodes);
    bd_gradient_loops_free(p->loops);
    bd_returns_fini(&p->returns);
}
