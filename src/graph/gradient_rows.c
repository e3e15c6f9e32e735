// Gradients of rows through loops and conditionals: where an op that steers them takes rows as they are, for
// example those of an embedding that is looked up in a loop.
//
// The rows of a constant of a loop are joined from iteration to iteration. Behind a zero row, with which they
// begin, comes one part for each iteration. Conditionals take the three parts of rows through nodes of their
// own, the values first.
#include "graph/gradient_loops_internal.h"

#include "graph/builder.h"
#include "graph/grad.h"
#include "graph/gradients_internal.h"
#include <string.h>

// ---- Constants of loops ----

// The shape of a variable by its handle, if that comes into the loops from the variable's node: unknown else,
// and for a number.
static braid_shape shape_of_variable(braid_out handle)
{
    const braid_op *n = handle.op;
    while (bd_node_role(n) == BD_ROLE_ENTER || bd_node_role(n) == BD_ROLE_SWITCH ||
           strcmp(n->op_type, "Identity") == 0) // ends: without a Merge there is no cycle
        n = n->inputs[0].op;
    if (strcmp(n->op_type, "VarHandleOp") != 0) return BD_SHAPE_UNKNOWN;
    const bd_attr *shape = bd_node_attr(n, "shape");
    return shape && shape->kind == BD_ATTR_SHAPE && shape->shape.rank > 0 ? shape->shape : BD_SHAPE_UNKNOWN;
}

static braid_out shape_const(braid_graph *g, const char *name, const braid_shape *shape, int from)
{
    int32_t dims[BRAID_RANK_MAX];
    for (int i = from; i < shape->rank; i++)
        dims[i - from] = (int32_t)shape->dims[i];
    return bd_b_const_i32_vector(g, name, dims, shape->rank - from);
}

// The shape of a row, a vector: that of the whole without its first dimension.
static braid_out shape_of_row(braid_graph *g, braid_out shape)
{
    return bd_grad_part_of(g, shape, 1, 0, "end_mask");
}

// The number of rows, a scalar.
static braid_out count_of_rows(braid_graph *g, braid_out shape)
{
    return bd_grad_part_of(g, shape, 0, 1, "shrink_axis_mask");
}

// One row of zeros, in the loop around.
static braid_out zero_row(bd_gradient_loop *l, braid_out whole, const braid_shape *known, braid_out values)
{
    braid_graph *g = l->all->g;
    const braid_dtype dtype = bd_dtype_base(braid_out_dtype(values));
    braid_shape shape = braid_out_shape(values);
    bd_region *before = bd_region_swap(g, l->back.outer);
    braid_out zeros;
    if (bd_shape_is_known(&shape)) {
        shape.dims[0] = 1;
        zeros = bd_b_const_zeros(g, "b_acc", dtype, &shape);
    } else {
        const bool is_handle = bd_dtype_base(braid_out_dtype(whole)) == BRAID_RESOURCE;
        const bool is_known = is_handle && bd_shape_is_known(known);
        braid_out row = {0};
        if (!is_known) row = shape_of_row(g, bd_gradient_shape_around(l, whole));
        const char *scope = braid_push_name_scope(g, "concat");
        const braid_out one = bd_b_const_i32_vector(g, "values_0", (int32_t[]){1}, 1);
        if (is_known) row = shape_const(g, "values_1", known, 1);
        const braid_out axis = bd_b_const_i32(g, "axis", 0);
        braid_op_desc *d = braid_op_begin(g, "ConcatV2", scope);
        braid_op_input_list(d, (braid_out[]){one, row}, 2);
        braid_op_input(d, axis);
        const braid_out of = braid_op_end_out(d);
        braid_pop_name_scope(g);
        zeros = bd_b_zeros(g, of, dtype);
    }
    bd_region_swap(g, before);
    return zeros;
}

static braid_out zero_index(bd_gradient_loop *l, braid_out indices)
{
    braid_graph *g = l->all->g;
    const braid_shape one = {.rank = 1, .dims = {1}};
    bd_region *before = bd_region_swap(g, l->back.outer);
    const braid_out zero = bd_b_const_zeros(g, "Const", bd_dtype_base(braid_out_dtype(indices)), &one);
    bd_region_swap(g, before);
    return zero;
}

// The shape of the whole. It is there also where the loop has no iteration, as in TensorFlow it is not.
static braid_out shape_of_whole(bd_gradient_loop *l, braid_out whole, const braid_shape *known)
{
    braid_graph *g = l->all->g;
    if (!bd_shape_is_known(known)) return bd_gradient_shape_around(l, whole);
    bd_region *before = bd_region_swap(g, l->back.outer);
    const braid_out shape = shape_const(g, "Const", known, 0);
    bd_region_swap(g, before);
    return shape;
}

static bool joins_rows(const bd_gradient_loop *l, const braid_op *n, const bd_gradient_turn *t)
{
    return l && bd_node_role(n) == BD_ROLE_ENTER && bd_node_attr_bool(n, "is_constant") &&
           t->output_rows[0].dense_shape.op &&
           bd_dtype_base(braid_out_dtype(t->output_rows[0].dense_shape)) == BRAID_INT32;
}

enum {
    INDICES,
    VALUES,
    WHOLE, // its shape
    PARTS
};

static void join_rows(bd_gradient_loop *l, const braid_op *enter, bd_gradient_turn *t)
{
    braid_graph *g = l->all->g;
    bd_region *r = &l->back;
    const braid_out whole = enter->inputs[0];
    const braid_out own[PARTS] = {t->output_rows[0].indices, t->output_grads[0],
                                  t->output_rows[0].dense_shape};
    const bool is_handle = bd_dtype_base(braid_out_dtype(whole)) == BRAID_RESOURCE;
    const braid_shape known = is_handle ? shape_of_variable(whole) : braid_out_shape(whole);
    braid_out start[PARTS], begin[PARTS], merge[PARTS], next[PARTS];
    braid_op *chosen[PARTS];
    start[VALUES] = zero_row(l, whole, &known, own[VALUES]);
    start[INDICES] = zero_index(l, own[INDICES]);
    start[WHOLE] = shape_of_whole(l, whole, &known);
    for (int i = 0; i < PARTS; i++) {
        begin[i] = bd_region_enter(r, start[i], "b_acc", false);
        if (begin[i].op && i != WHOLE && begin[i].op->output_shapes[0].rank > 0)
            begin[i].op->output_shapes[0].dims[0] = -1; // rows are added
    }
    for (int i = 0; i < PARTS; i++)
        merge[i] = bd_region_merge(r, begin[i], "b_acc");
    for (int i = 0; i < PARTS; i++)
        chosen[i] = bd_region_switch(r, merge[i], l->goes_on, "Switch");
    for (int i = 0; i < WHOLE; i++)
        next[i] = bd_gradients_join(g, (braid_out[]){braid_output(chosen[i], 1), own[i]}, 2);
    next[WHOLE] = bd_b2(g, "Maximum", NULL, own[WHOLE], braid_output(chosen[WHOLE], 1));
    for (int i = 0; i < PARTS; i++)
        next[i] = bd_b1(g, "NextIteration", NULL, next[i]);
    for (int i = 0; i < PARTS; i++)
        bd_region_next(r, merge[i], next[i]);
    for (int i = 0; i < PARTS; i++)
        next[i] = bd_region_exit(r, braid_output(chosen[i], 0), "b_acc");
    t->input_grads[0] = next[VALUES];
    t->input_rows[0] = (bd_indexed_slices){next[INDICES], next[WHOLE]};
}

// ---- Conditionals ----

static braid_gradient rows_of(const braid_out values, const bd_indexed_slices *rows)
{
    return (braid_gradient){values, rows->indices, rows->dense_shape};
}

// Rows that are the whole.
static braid_gradient all_rows(braid_graph *g, braid_out whole)
{
    const braid_out shape = bd_b1(g, "Shape", NULL, whole);
    const braid_out count = count_of_rows(g, shape);
    const char *scope = braid_push_name_scope(g, "range");
    const braid_out from = bd_b_const_i32(g, "start", 0), by = bd_b_const_i32(g, "delta", 1);
    const braid_out range = bd_b3(g, "Range", scope, from, count, by);
    braid_pop_name_scope(g);
    return (braid_gradient){whole, range, shape};
}

static braid_out merge_two(braid_graph *g, braid_out a, braid_out b)
{
    braid_op_desc *d = braid_op_begin(g, "Merge", NULL);
    braid_op_input_list(d, (braid_out[]){a, b}, 2);
    return braid_op_end_out(d);
}

static bool is_int64(braid_out out)
{
    return bd_dtype_base(braid_out_dtype(out)) == BRAID_INT64;
}

enum {
    STEPS_BACK = 32
};

// Whether a node of a gradient loop is dead where the condition chooses otherwise, as far as few nodes back
// tell.
static bool is_chosen(const bd_gradient_loop *l, const braid_op *n, braid_out condition, int *steps)
{
    if (n->id < l->all->count || bd_node_role(n) == BD_ROLE_MERGE || --*steps < 0) return false;
    if (bd_node_role(n) == BD_ROLE_SWITCH && n->inputs[1].op == condition.op &&
        n->inputs[1].index == condition.index)
        return true;
    for (int i = 0; i < n->input_count; i++)
        if (is_chosen(l, n->inputs[i].op, condition, steps)) return true;
    return false;
}

// The indices where their values are: a loop has indices that are the same in all its iterations in either
// branch, where a Merge takes those that come first. In TensorFlow it does.
static braid_out indices_beside(bd_gradient_loop *l, const braid_gradient *rows, braid_out condition)
{
    int steps = STEPS_BACK;
    if (is_chosen(l, rows->indices.op, condition, &steps)) return rows->indices;
    const braid_out indices = bd_b1(l->all->g, "Identity", NULL, rows->indices);
    if (indices.op) bd_node_add_control(indices.op, rows->values.op);
    return indices;
}

// The gradient of a Switch that brings a value into a branch: of rows in one branch at least.
static void merge_rows(bd_gradient_loops *all, bd_gradient_turn *t)
{
    braid_graph *g = all->g;
    bd_gradient_loop *l = bd_gradient_loop_of(all, t->op);
    braid_out condition = {0};
    if (l) bd_region_knows(&l->back, bd_branch_condition(all, t->op), &condition);
    braid_gradient parts[2];
    braid_push_name_scope(g, "cond_grad");
    for (int i = 0; i < 2; i++)
        parts[i] = t->output_rows[i].indices.op ? rows_of(t->output_grads[i], &t->output_rows[i])
                                                : all_rows(g, t->output_grads[i]);
    for (int i = 0; i < 2; i++)
        if (!is_int64(parts[i].indices) && is_int64(parts[!i].indices))
            parts[i].indices = bd_gradients_as_int64(g, parts[i].indices);
    for (int i = 0; l && i < 2; i++)
        parts[i].indices = indices_beside(l, &parts[i], condition);
    t->input_grads[0] = merge_two(g, parts[0].values, parts[1].values);
    t->input_rows[0].indices = merge_two(g, parts[0].indices, parts[1].indices);
    t->input_rows[0].dense_shape = merge_two(g, parts[0].dense_shape, parts[1].dense_shape);
    braid_pop_name_scope(g);
}

static bool merges_rows(bd_gradient_loops *all, const braid_op *n, const bd_gradient_turn *t)
{
    if (bd_node_role(n) != BD_ROLE_SWITCH || !bd_gradient_enters_branch(all, n, 0)) return false;
    for (int i = 0; i < 2; i++) {
        const braid_out shape = t->output_rows[i].dense_shape;
        if (!t->output_grads[i].op || (t->output_rows[i].indices.op && !shape.op) ||
            (shape.op && bd_dtype_base(braid_out_dtype(shape)) != BRAID_INT32))
            return false;
    }
    return true;
}

bool bd_gradient_of_rows(bd_gradient_loops *all, bd_gradient_turn *t)
{
    const braid_op *n = t->op;
    bd_gradient_loop *l = bd_gradient_loop_of(all, n);
    if (n->id >= all->count) return false;
    if (joins_rows(l, n, t)) {
        join_rows(l, n, t);
        return true;
    }
    for (int i = 0; bd_node_role(n) == BD_ROLE_SWITCH && i < 2; i++) {
        if (t->output_grads[!i].op || !bd_gradient_is_in_branch(all, n, i)) continue;
        t->input_grads[0] = t->output_grads[i];
        t->input_rows[0] = t->output_rows[i];
        return true;
    }
    if (merges_rows(all, n, t)) {
        merge_rows(all, t);
        return true;
    }
    return bd_node_role(n) == BD_ROLE_MERGE && t->output_rows[0].dense_shape.op &&
           bd_gradient_switch_rows(all, t);
}
