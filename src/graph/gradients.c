// Symbolic gradients: walks the graph backward from ys to xs and lets each op build the gradients of its
// inputs.
//
// An op's turn comes when every op between it and the ys that uses it has had its own (its pending count is
// 0): then all gradients of its outputs are there. Several gradients of one output are added up; those of
// rows are handed on as they are while ops take them so, and joined. Functional conditionals, loops and calls
// on a path are lowered before (lower.h). The order of visits, names and structure are those of TensorFlow's
// Python front end, so that graphs agree node by node.
#include "graph/builder.h"
#include "graph/grad.h"
#include "graph/gradient_paths.h"
#include "graph/gradients_internal.h"
#include "graph/lower.h"

#include "base/check.h"
#include "graph/turns.h"
#include <string.h>

typedef BD_ARRAY(braid_gradient) grad_list;

typedef struct walk {
    braid_graph *g;
    const braid_gradients_options *options;
    const char *scope;        // of the names of this call; of the graph
    bd_gradient_paths paths;  // paths.count: only the nodes that there were at the start are differentiated
    int *first_out;           // [count] number of output 0 of each node in `received`
    grad_list *received;      // gradients of each output; one at most once the op had its turn
    int *pending;             // [count] uses by nodes between that have not had their turn
    bool *is_stop;            // [count] an x that no other x leads to: not differentiated
    bd_op_list queue;         // nodes that are ready, in order; the Switch of a loop is listed twice
    bd_gradient_loops *loops; // paths.loops
    bd_gradient_loops *conds; // knows the conditionals of a walk without loops; NULL: none is on a path
    bd_region program;        // where the program takes new nodes
} walk;

static bool has_failed(const walk *w)
{
    return w->g->status.code != BRAID_OK;
}

// ---- What waits for what ----

// Loops whose values are popped on a path wait for these pops, and the values for their loops.
static void connect_returns(walk *w)
{
    for (size_t i = 0; w->loops && i < w->paths.returns.items.len && !has_failed(w); i++) {
        bd_return *r = &w->paths.returns.items.items[i];
        if (!w->paths.between[r->pop->id] || !bd_return_connect(w->loops, r)) continue;
        w->pending[r->value.op->id]++;
        bd_gradient_exits *exits = bd_gradient_loop_exits(r->pushed);
        const bd_gradient_exits *top = bd_gradient_loop_exits(r->pushed_top);
        for (;; exits = bd_gradient_exits_around(exits)) {
            exits->has_returns = true;
            exits->returns++;
            if (exits == top) break;
        }
    }
}

static void find_conditionals(walk *w)
{
    bool any = false;
    for (size_t i = 0; i < w->paths.nodes.len && !any; i++)
        any = bd_node_role(w->paths.nodes.items[i]) == BD_ROLE_MERGE;
    any = any || w->options->condition_count > 0;
    if (any && !w->loops && !has_failed(w)) w->conds = bd_gradient_conditionals_new(w->g, &w->paths.returns);
    for (int i = 0; w->conds && i < w->options->condition_count; i++)
        bd_gradient_within_branch(w->conds, w->options->conditions[i]);
}

static void count_pending(walk *w)
{
    for (int id = 0; id < w->paths.count; id++) {
        const braid_op *op = w->g->nodes.items[id];
        for (int i = 0; w->paths.between[id] && i < op->input_count; i++) {
            if (w->paths.between[op->inputs[i].op->id]) w->pending[op->inputs[i].op->id]++;
        }
    }
}

// The first values of a loop's variables get gradients, whether an x leads to them or not.
static void count_enters(walk *w)
{
    for (int id = 0; w->loops && id < w->paths.count; id++) {
        const braid_op *op = w->g->nodes.items[id];
        if (bd_node_role(op) == BD_ROLE_ENTER && bd_gradient_loop_of(w->loops, op) && w->pending[id] == 0 &&
            !bd_node_attr_bool(op, "is_constant"))
            w->pending[id] = 1;
    }
}

static void mark_stops(walk *w, const braid_out *xs, int num_xs)
{
    for (int i = 0; i < num_xs; i++) {
        bool is_stop = true;
        for (int k = 0; k < xs[i].op->input_count; k++)
            is_stop = is_stop && w->pending[xs[i].op->inputs[k].op->id] <= 0;
        if (is_stop) w->is_stop[xs[i].op->id] = true;
    }
    for (int i = 0; i < w->options->stop_count; i++)
        w->is_stop[w->options->stops[i].op->id] = true;
}

// ---- Gradients of outputs ----

static grad_list *received(const walk *w, braid_out of)
{
    return &w->received[w->first_out[of.op->id] + of.index];
}

static void receive(walk *w, braid_out of, braid_gradient grad)
{
    if (of.index < of.op->output_count)
        bd_array_push(received(w, of), grad);
    else // an op that Braid does not know
        braid_graph_fail(w->g, BRAID_NOT_FOUND, "No gradient defined for operation '%s' (op type: %s)",
                         of.op->name, of.op->op_type);
}

// array_ops.fill(array_ops.shape(y), 1)
static braid_out ones_like(braid_graph *g, braid_out y, int index)
{
    braid_out shape = bd_b_shape(g, NULL, y);
    const char *name = bd_arena_asprintf(&g->arena, "grad_ys_%d", index);
    braid_out one = bd_b_const_f(g, name, braid_out_dtype(y), 1);
    return bd_b2(g, "Fill", NULL, shape, one);
}

static braid_gradient given_gradient(const braid_gradients_options *o, int index)
{
    if (o->sparse_grad_ys) return o->sparse_grad_ys[index];
    return (braid_gradient){.values = o->grad_ys ? o->grad_ys[index] : (braid_out){0}};
}

static braid_gradient start_gradient(walk *w, braid_out y, int index)
{
    braid_gradient given = given_gradient(w->options, index);
    braid_dtype type = bd_dtype_base(braid_out_dtype(y));
    if (!given.values.op) {
        if (type == BRAID_COMPLEX64 || type == BRAID_COMPLEX128)
            braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                             "Gradients of complex tensors must set grad_ys (y.dtype = %s)",
                             braid_dtype_name(type));
        if (w->options->colocate) braid_push_colocate(w->g, y.op);
        given.values = ones_like(w->g, y, index);
        if (w->options->colocate) braid_pop_colocate(w->g);
    } else if (bd_dtype_base(braid_out_dtype(given.values)) != type) {
        braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                         "Gradient %d, of type %s, does not have the type of '%s', %s", index,
                         braid_dtype_name(braid_out_dtype(given.values)), y.op->name, braid_dtype_name(type));
    }
    return given;
}

// Replaces the gradients that an op's outputs received by one gradient each. Returns false when there is
// none.
static bool settle_output_grads(walk *w, braid_op *op, bd_gradient_turn *t)
{
    bool any = false;
    for (int i = 0; i < op->output_count && !has_failed(w); i++) {
        grad_list *list = received(w, braid_output(op, i));
        if (list->len > 1) {
            list->items[0] = bd_gradients_sum(op, list->items, list->len, w->options->aggregation);
            list->len = 1;
        }
        if (list->len) bd_gradient_turn_receive(t, i, &list->items[0]);
        any = any || list->len > 0;
    }
    return any;
}

// ---- One op ----

// Lets the program build the gradients. Returns false when it leaves them to the op.
static bool ask_program(walk *w, braid_op *op, bd_gradient_turn *t)
{
    braid_gradient *outs = bd_calloc((size_t)op->output_count + 1, sizeof *outs);
    braid_gradient *ins = bd_calloc((size_t)op->input_count + 1, sizeof *ins);
    for (int i = 0; i < op->output_count; i++)
        outs[i] = bd_gradient_turn_given(t, i);
    bd_region *here = bd_region_swap(w->g, NULL);
    if (here != &w->program) bd_region_swap(w->g, here); // the program takes what it makes by itself
    const int turn = bd_graph_suspend(w->g);
    const bool is_own = w->options->gradient(w->options->arg, op, outs, ins);
    bd_graph_resume(w->g, turn);
    bd_region_swap(w->g, here);
    for (int i = 0; is_own && i < op->input_count; i++) {
        if (bd_gradient_is_of(w->g, &ins[i]))
            bd_gradient_turn_set_result(t, i, &ins[i]);
        else
            braid_graph_fail(w->g, BRAID_INVALID_ARGUMENT,
                             "Gradient of input %d of op '%s' is no output of its graph", i, op->name);
    }
    bd_free(outs);
    bd_free(ins);
    return is_own;
}

static bool needs_gradient(walk *w, const braid_op *op);

static bd_gradient_loops *conditionals(walk *w)
{
    return w->loops ? w->loops : w->conds;
}

static bool is_of_conditional(const braid_op *op)
{
    return bd_node_role(op) == BD_ROLE_SWITCH || bd_node_role(op) == BD_ROLE_MERGE;
}

// Outputs of types that have gradients and received none get zeros.
static void fill(walk *w, braid_op *op, bd_gradient_turn *t)
{
    if (bd_gradient_is_loop_switch(w->loops, op)) return;
    const bool is_in_loop = bd_gradient_loop_of(w->loops, op) != NULL;
    if (!is_in_loop && bd_node_role(op) == BD_ROLE_SWITCH &&
        !t->output_grads[0].op != !t->output_grads[1].op) {
        const int missing = t->output_grads[0].op ? 1 : 0;
        const braid_dtype dtype = braid_out_dtype(t->output_grads[!missing]);
        if (conditionals(w) && bd_dtype_base(dtype) != BRAID_VARIANT &&
            bd_gradient_enters_branch(conditionals(w), op, missing))
            t->output_grads[missing] = bd_gradient_zeros_of_branch(conditionals(w), op, missing, dtype);
    }
    if (!is_in_loop) {
        bd_gradient_turn_fill(t);
        return;
    }
    for (int i = 0; i < op->output_count && !has_failed(w); i++)
        if (!t->output_grads[i].op && bd_dtype_is_trainable(op->output_types[i]))
            t->output_grads[i] = bd_gradient_zeros_in_loop(w->loops, op, i);
}

static bool has_rows(const bd_gradient_turn *t)
{
    for (int i = 0; i < t->op->output_count; i++)
        if (t->output_rows[i].indices.op) return true;
    return false;
}

// Builds the gradients of the op's inputs. Returns false when it has none.
static bool call_gradient(walk *w, braid_op *op, bd_gradient_turn *t)
{
    const bool asks = w->options->gradient != NULL;
    if (!asks && !needs_gradient(w, op)) return false;
    fill(w, op, t);
    const char *scope = bd_arena_asprintf(&w->g->arena, "%s_grad", op->name);
    braid_push_name_scope(w->g, scope);
    const bool is_own = asks && ask_program(w, op, t);
    const bool has_gradient = is_own || !asks || needs_gradient(w, op);
    if (has_gradient && !is_own &&
        !(has_rows(t) && conditionals(w) && bd_gradient_of_rows(conditionals(w), t))) {
        bd_region *here = bd_region_swap(w->g, NULL);
        bd_region_swap(w->g, w->loops ? bd_gradient_region(w->loops, op, true) : here);
        if (!bd_node_has_flag(op, BD_OP_SPARSE_GRAD)) bd_gradient_turn_make_whole(t);
        bd_region_swap(w->g, here);
        const bool is_loop_op =
            w->loops && bd_gradient_of_loop_op(w->loops, op, t->output_grads, t->input_grads);
        const bool is_cond_op = !is_loop_op && is_of_conditional(op) && conditionals(w) &&
                                bd_gradient_of_cond_op(conditionals(w), op, t->output_grads, t->input_grads);
        if (!is_loop_op && !is_cond_op) bd_gradient_turn_call(t);
    }
    int present = 0;
    for (int i = 0; i < op->input_count; i++)
        present += t->input_grads[i].op != NULL;
    if (w->options->gate && present > 1) braid_tuple(w->g, t->input_grads, op->input_count, t->input_grads);
    braid_pop_name_scope(w->g);
    return has_gradient;
}

// A gradient has the shape of its value: this makes its shape known, or reveals an error.
static void settle_shape(walk *w, const braid_op *op, int i, braid_out grad)
{
    braid_shape input = braid_out_shape(op->inputs[i]), own = braid_out_shape(grad), both;
    if (grad.index >= grad.op->output_count) return;
    if (bd_shape_merge(&own, &input, &both)) {
        bd_node_refine_shape(grad.op, grad.index, &both);
        return;
    }
    braid_graph_fail(
        w->g, BRAID_INVALID_ARGUMENT,
        "Incompatible shapes between op input and calculated input gradient. Forward operation: %s. Input "
        "index: %d. Original input shape: %s. Calculated input gradient shape: %s",
        op->name, i, bd_shape_str(&input, (char[BD_SHAPE_STR_MAX]){0}),
        bd_shape_str(&own, (char[BD_SHAPE_STR_MAX]){0}));
}

static void hand_on(walk *w, const braid_op *op, const bd_gradient_turn *t)
{
    for (int i = 0; i < op->input_count && !has_failed(w); i++) {
        if (!t->input_grads[i].op) continue;
        if (bd_dtype_base(op->input_types[i]) != BRAID_RESOURCE && !t->input_rows[i].indices.op)
            settle_shape(w, op, i, t->input_grads[i]);
        braid_gradient grad = bd_gradient_turn_result(t, i);
        if (w->loops && !grad.indices.op)
            grad.values = bd_gradient_leave_branches(w->loops, op, i, grad.values);
        receive(w, op->inputs[i], grad);
    }
}

static bool is_loop_border(const walk *w, const braid_op *op)
{
    const bd_op_role role = bd_node_role(op);
    return (role == BD_ROLE_ENTER || role == BD_ROLE_EXIT || role == BD_ROLE_NEXT_ITERATION) &&
           bd_gradient_loop_of(w->loops, op);
}

static bool needs_gradient(walk *w, const braid_op *op)
{
    if (op->def && (op->def->op->gradient || is_loop_border(w, op))) return true;
    if (!bd_node_has_flag(op, BD_OP_NOT_DIFFERENTIABLE))
        braid_graph_fail(
            w->g, BRAID_NOT_FOUND, "No gradient defined for operation '%s' (op type: %s)%s", op->name,
            op->op_type,
            bd_op_can_be_lowered(op->op_type)
                ? ": its functions, which are not there, call themselves or do not fit, cannot take its place"
                : "");
    return false;
}

static bool has_received(const walk *w, braid_op *op)
{
    return op->output_count > 0 && received(w, braid_output(op, 0))->len > 0;
}

static void release_returns(walk *w, bd_gradient_exits *exits);

// All Exits of a loop are ready, or have been processed. If one has a gradient, the others get zeros.
static void begin_exits(walk *w, bd_gradient_exits *exits)
{
    bool any = exits->begun > 0 || exits->has_returned;
    for (size_t i = 0; i < exits->ready.len; i++)
        any = any || has_received(w, exits->ready.items[i]);
    for (size_t i = 0; i < exits->ready.len; i++)
        if (has_received(w, exits->ready.items[i])) bd_array_push(&w->queue, exits->ready.items[i]);
    for (size_t i = 0; i < exits->ready.len && !has_failed(w); i++) {
        braid_op *exit = exits->ready.items[i];
        if (has_received(w, exit)) continue;
        if (any && bd_dtype_is_trainable(exit->output_types[0])) {
            const braid_out zeros = bd_gradient_zeros_for_exit(w->loops, exit);
            receive(w, braid_output(exit, 0), (braid_gradient){.values = zeros});
        }
        bd_array_push(&w->queue, exit);
    }
    exits->has_begun = true;
    if (exits->has_returns) release_returns(w, exits);
}

static bool all_ready(const bd_gradient_exits *exits)
{
    return exits->ready.len + (size_t)exits->begun == exits->all.len;
}

// Begins the Exits when nothing is to be waited for: pops of the loop's values, and the loop around it.
static void try_begin(walk *w, bd_gradient_exits *exits)
{
    if (exits->has_begun || !all_ready(exits)) return;
    const bd_gradient_exits *around = exits->has_returns ? bd_gradient_exits_around(exits) : NULL;
    if (exits->returns == 0 && (!around || around->has_begun || around->begun > 0)) begin_exits(w, exits);
}

static void exit_is_ready(walk *w, braid_op *exit)
{
    bd_gradient_exits *exits = bd_gradient_exits_of(w->loops, exit);
    bd_array_push(&exits->ready, exit);
    try_begin(w, exits);
}

// The loop has begun: its values no longer wait for it, nor do the loops within it.
static void release_returns(walk *w, bd_gradient_exits *exits)
{
    for (size_t i = 0; i < w->paths.returns.items.len; i++) {
        const bd_return *r = &w->paths.returns.items.items[i];
        if (!r->pushed || bd_gradient_loop_exits(r->pushed) != exits) continue;
        braid_op *op = r->value.op;
        if (--w->pending[op->id] != 0) continue;
        if (bd_node_role(op) == BD_ROLE_EXIT && bd_gradient_loop_of(w->loops, op))
            exit_is_ready(w, op);
        else
            bd_array_push(&w->queue, op);
    }
    for (int i = 0; i < bd_gradient_loop_count(w->loops); i++) {
        bd_gradient_exits *inner = bd_gradient_exits_at(w->loops, i);
        if (inner && inner->has_returns && bd_gradient_exits_around(inner) == exits) try_begin(w, inner);
    }
}

// The turn of a pop: its gradient goes to the value that was pushed.
static void visit_pop(walk *w, bd_return *r, bd_gradient_turn *t, bool has_gradient)
{
    if (has_gradient) {
        bd_gradient_turn_make_whole(t);
        const char *scope = bd_arena_asprintf(&w->g->arena, "%s_grad", r->pop->name);
        braid_push_name_scope(w->g, scope);
        const braid_out grad = bd_return_gradient(w->loops, r, t->output_grads[0]);
        braid_pop_name_scope(w->g);
        receive(w, r->value, (braid_gradient){.values = grad});
    }
    bd_gradient_exits *top = bd_gradient_loop_exits(r->pushed_top);
    for (bd_gradient_exits *e = bd_gradient_loop_exits(r->pushed);; e = bd_gradient_exits_around(e)) {
        e->returns--;
        e->has_returned = e->has_returned || has_gradient;
        if (e == top) break;
    }
    if (!has_failed(w)) try_begin(w, top);
}

// A consumer of `op` has been processed. The Switch of a loop is ready once for the value that leaves the
// loop, and once when all consumers are processed.
static void use_is_over(walk *w, braid_op *op)
{
    const int left = --w->pending[op->id];
    if (left != 0 && (left < 0 || !bd_gradient_is_loop_switch(w->loops, op))) return;
    if (bd_node_role(op) == BD_ROLE_EXIT && bd_gradient_loop_of(w->loops, op))
        exit_is_ready(w, op);
    else
        bd_array_push(&w->queue, op);
}

static void visit(walk *w, braid_op *op)
{
    bd_gradient_turn t;
    bd_gradient_turn_init(&t, op);
    t.call = w->scope;
    if (w->options->colocate) braid_push_colocate(w->g, op);
    bd_region *before = bd_region_swap(w->g, NULL);
    bd_region_swap(w->g, w->loops ? bd_gradient_region(w->loops, op, true) : before);
    const bool has_gradient = settle_output_grads(w, op, &t);
    bd_region_swap(w->g, w->loops ? bd_gradient_region(w->loops, op, false) : before);
    bd_return *returned = bd_returns_of_pop(&w->paths.returns, op);
    if (returned && returned->pushed)
        visit_pop(w, returned, &t, has_gradient && !w->is_stop[op->id]);
    else if (has_gradient && !w->is_stop[op->id] && call_gradient(w, op, &t))
        hand_on(w, op, &t);
    bd_region_swap(w->g, before);
    if (w->options->colocate) braid_pop_colocate(w->g);
    for (int i = 0; i < op->input_count && !has_failed(w); i++)
        use_is_over(w, op->inputs[i].op);
    bd_gradient_turn_fini(&t);
}

// ---- Nodes that the program takes ----

static void let_take(bd_region *r, braid_op *n)
{
    const walk *w = r->arg;
    bd_builder *b = bd_graph_builder(w->g);
    const bd_colocate_scopes colocations = b->colocations;
    b->colocations = (bd_colocate_scopes){0};
    bd_region_swap(w->g, NULL);
    braid_push_control(w->g, NULL, 0);
    const int turn = bd_graph_suspend(w->g);
    w->options->take(w->options->arg, n);
    bd_graph_resume(w->g, turn);
    braid_pop_control(w->g);
    bd_region_swap(w->g, r);
    bd_array_free(&b->colocations);
    b->colocations = colocations;
}

static bool is_where_it_is(bd_region *r, braid_out from, braid_out *here)
{
    (void)r;
    *here = from;
    return true;
}

// The region in which the program takes new nodes becomes current, where it does; of loops the nodes are not
// known one by one.
static void enter_program(walk *w)
{
    bd_region_init_branch(&w->program, w->g, NULL, (braid_out){0}, 0);
    w->program.take = let_take;
    w->program.bring = is_where_it_is;
    w->program.arg = w;
    if (w->options->take && !w->paths.loops) bd_region_swap(w->g, &w->program);
}

// ---- The walk ----

static void walk_init(walk *w)
{
    const int count = w->paths.count;
    size_t outputs = 0;
    w->first_out = bd_calloc((size_t)count + 1, sizeof *w->first_out);
    for (int i = 0; i < count; i++) {
        w->first_out[i] = (int)outputs;
        outputs += (size_t)w->g->nodes.items[i]->output_count;
    }
    w->first_out[count] = (int)outputs;
    w->received = bd_calloc(outputs + 1, sizeof *w->received);
    w->pending = bd_calloc((size_t)count + 1, sizeof *w->pending);
    w->is_stop = bd_calloc((size_t)count + 1, sizeof *w->is_stop);
}

static void walk_fini(walk *w)
{
    for (int i = 0; i < w->first_out[w->paths.count]; i++)
        bd_array_free(&w->received[i]);
    bd_free(w->received);
    bd_free(w->first_out);
    bd_free(w->pending);
    bd_free(w->is_stop);
    bd_array_free(&w->queue);
    bd_gradient_loops_free(w->conds);
    bd_gradient_paths_fini(&w->paths);
    bd_region_fini(&w->program);
}

static void start(walk *w, const braid_out *ys, int num_ys, const braid_out *xs, int num_xs)
{
    bd_gradient_paths_find(&w->paths, w->g, w->options, ys, num_ys, xs, num_xs);
    walk_init(w);
    enter_program(w);
    for (int i = 0; i < num_ys && !has_failed(w); i++)
        receive(w, ys[i], start_gradient(w, ys[i], i));
    bd_gradient_paths_add_loops(&w->paths);
    w->loops = w->paths.loops;
    find_conditionals(w);
    count_pending(w);
    connect_returns(w);
    mark_stops(w, xs, num_xs);
}

// Whether it is an Exit of a loop whose values are popped on a path.
static bool waits_for_returns(const walk *w, const braid_op *n)
{
    return bd_node_role(n) == BD_ROLE_EXIT && bd_gradient_loop_of(w->loops, n) &&
           bd_gradient_exits_of(w->loops, n)->has_returns;
}

// A y that another y depends on waits for it; one that no x leads to is not processed.
static void enqueue_ys(walk *w, const braid_out *ys, int num_ys)
{
    for (int i = 0; i < num_ys; i++) {
        bool queued = !w->paths.between[ys[i].op->id] || w->pending[ys[i].op->id] != 0 ||
                      waits_for_returns(w, ys[i].op);
        for (size_t k = 0; k < w->queue.len; k++)
            queued = queued || w->queue.items[k] == ys[i].op;
        if (!queued) bd_array_push(&w->queue, ys[i].op);
    }
}

// Exits without consumers on a path: a y is in the queue, and the others get no gradient.
static void enqueue_unused_exits(walk *w)
{
    for (int i = 0; i < bd_gradient_loop_count(w->loops) && !has_failed(w); i++) {
        bd_gradient_exits *exits = bd_gradient_exits_at(w->loops, i);
        for (size_t k = 0; exits && k < exits->all.len; k++) {
            braid_op *exit = exits->all.items[k];
            if (w->pending[exit->id] != 0) continue;
            if (has_received(w, exit) && !exits->has_returns)
                exits->begun++;
            else
                bd_array_push(&exits->ready, exit);
        }
        if (exits && all_ready(exits) && exits->begun > 0) begin_exits(w, exits);
    }
}

static bool all_there(braid_graph *g, const braid_out *outs, int count, const char *what)
{
    for (int i = 0; i < count; i++) {
        if (outs[i].op && outs[i].op->graph == g && outs[i].index >= 0 &&
            outs[i].index < outs[i].op->output_count)
            continue;
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Gradients: %s %d is no output of this graph", what, i);
        return false;
    }
    return true;
}

static void build(braid_graph *g, const braid_out *ys, int num_ys, const braid_out *xs, int num_xs,
                  const braid_gradients_options *options, bool wants_rows, braid_gradient *grads)
{
    static const braid_gradients_options none;
    BD_GRAPH_TURN(g);
    if (num_xs > 0) memset(grads, 0, (size_t)num_xs * sizeof *grads);
    if (!options) options = &none;
    if (!g || g->status.code || !all_there(g, ys, num_ys, "y") || !all_there(g, xs, num_xs, "x") ||
        !all_there(g, options->stops, options->stop_count, "stop"))
        return;
    walk w = {.g = g, .options = options};
    bd_region *before = bd_region_swap(g, NULL);
    bd_region_swap(g, before);
    const char *scope = braid_push_name_scope(g, w.options->name ? w.options->name : "gradients");
    start(&w, ys, num_ys, xs, num_xs);
    w.scope = scope && scope[0] ? bd_arena_strndup(&g->arena, scope, strlen(scope) - 1) : NULL;
    enqueue_ys(&w, ys, num_ys);
    enqueue_unused_exits(&w);
    count_enters(&w);
    for (size_t next = 0; next < w.queue.len && !has_failed(&w); next++)
        visit(&w, w.queue.items[next]);
    if (w.loops && !has_failed(&w)) bd_gradient_loops_finish(w.loops);
    for (int i = 0; i < num_xs && !has_failed(&w); i++) {
        const grad_list *list = received(&w, xs[i]);
        if (list->len) grads[i] = list->items[0];
        if (!wants_rows) grads[i] = (braid_gradient){.values = braid_gradient_to_dense(g, &grads[i])};
    }
    braid_pop_name_scope(g);
    bd_region_swap(g, before);
    walk_fini(&w);
}

void braid_gradients_sparse(braid_graph *g, const braid_out *ys, int num_ys, const braid_out *xs, int num_xs,
                            const braid_gradients_options *options, braid_gradient *grads)
{
    build(g, ys, num_ys, xs, num_xs, options, true, grads);
}

void braid_gradients_with(braid_graph *g, const braid_out *ys, int num_ys, const braid_out *xs, int num_xs,
                          const braid_gradients_options *options, braid_out *grads)
{
    braid_gradient *wholes = bd_calloc((size_t)num_xs + 1, sizeof *wholes);
    build(g, ys, num_ys, xs, num_xs, options, false, wholes);
    for (int i = 0; i < num_xs; i++)
        grads[i] = wholes[i].values;
    bd_free(wholes);
}

void braid_gradients(braid_graph *g, const braid_out *ys, int num_ys, const braid_out *xs, int num_xs,
                     const braid_out *grad_ys, braid_out *grads)
{
    braid_gradients_options options = {.grad_ys = grad_ys, .gate = true};
    braid_gradients_with(g, ys, num_ys, xs, num_xs, &options, grads);
}
