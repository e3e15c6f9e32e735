// Gradients of one op: its turn in the gradient walk, and the same for programs that walk the graph
// themselves.
#include "graph/gradients_internal.h"

#include "base/check.h"
#include "graph/lower.h"
#include "graph/turns.h"
#include <string.h>

// ---- A turn ----

bool bd_dtype_is_trainable(braid_dtype type)
{
    type = bd_dtype_base(type);
    return type == BRAID_HALF || type == BRAID_FLOAT || type == BRAID_DOUBLE || type == BRAID_COMPLEX64 ||
           type == BRAID_COMPLEX128;
}

void bd_gradient_turn_init(bd_gradient_turn *t, braid_op *op)
{
    t->op = op;
    t->output_grads = bd_calloc((size_t)op->output_count + 1, sizeof *t->output_grads);
    t->output_rows = bd_calloc((size_t)op->output_count + 1, sizeof *t->output_rows);
    t->input_grads = bd_calloc((size_t)op->input_count + 1, sizeof *t->input_grads);
    t->input_rows = bd_calloc((size_t)op->input_count + 1, sizeof *t->input_rows);
}

void bd_gradient_turn_fini(bd_gradient_turn *t)
{
    bd_free(t->output_grads);
    bd_free(t->output_rows);
    bd_free(t->input_grads);
    bd_free(t->input_rows);
}

void bd_gradient_turn_receive(bd_gradient_turn *t, int output, const braid_gradient *grad)
{
    t->output_grads[output] = grad->values;
    t->output_rows[output] = (bd_indexed_slices){grad->indices, grad->dense_shape};
}

static braid_gradient gradient_of(braid_out grad, const bd_indexed_slices *rows)
{
    return (braid_gradient){grad, rows->indices, rows->dense_shape};
}

braid_gradient bd_gradient_turn_result(const bd_gradient_turn *t, int input)
{
    return gradient_of(t->input_grads[input], &t->input_rows[input]);
}

braid_gradient bd_gradient_turn_given(const bd_gradient_turn *t, int output)
{
    return gradient_of(t->output_grads[output], &t->output_rows[output]);
}

void bd_gradient_turn_set_result(bd_gradient_turn *t, int input, const braid_gradient *grad)
{
    t->input_grads[input] = grad->values;
    t->input_rows[input] = (bd_indexed_slices){grad->indices, grad->dense_shape};
}

void bd_gradient_turn_fill(bd_gradient_turn *t)
{
    for (int i = 0; i < t->op->output_count; i++) {
        if (!t->output_grads[i].op && bd_dtype_is_trainable(t->op->output_types[i]))
            t->output_grads[i] = bd_b1(t->op->graph, "ZerosLike", "zeros_like", braid_output(t->op, i));
    }
}

void bd_gradient_turn_make_whole(bd_gradient_turn *t)
{
    for (int i = 0; i < t->op->output_count; i++) {
        if (!t->output_rows[i].indices.op) continue;
        const braid_gradient rows = gradient_of(t->output_grads[i], &t->output_rows[i]);
        t->output_grads[i] = braid_gradient_to_dense(t->op->graph, &rows);
        t->output_rows[i] = (bd_indexed_slices){0};
    }
}

void bd_gradient_turn_call(bd_gradient_turn *t)
{
    bd_grad_ctx c = {.graph = t->op->graph,
                     .call = t->call,
                     .op = t->op,
                     .output_grads = t->output_grads,
                     .input_grads = t->input_grads,
                     .output_rows = t->output_rows,
                     .input_rows = t->input_rows};
    t->op->def->op->gradient(&c);
}

// ---- One op alone ----

braid_gradient_kind bd_op_gradient_kind(const char *name, const bd_op *op)
{
    if (op->gradient) return BRAID_GRADIENT_FUNCTION;
    const bd_op_role role = op->role;
    if (role == BD_ROLE_ENTER || role == BD_ROLE_EXIT || role == BD_ROLE_NEXT_ITERATION ||
        bd_op_can_be_lowered(name))
        return BRAID_GRADIENT_WALK;
    return op->flags & BD_OP_NOT_DIFFERENTIABLE ? BRAID_GRADIENT_NOT_DIFFERENTIABLE : BRAID_GRADIENT_NONE;
}

braid_gradient_kind braid_op_gradient_kind(const braid_op *op)
{
    return op && op->def ? bd_op_gradient_kind(op->op_type, op->def->op) : BRAID_GRADIENT_NONE;
}

static bool is_of(const braid_graph *g, braid_out out)
{
    return !out.op ||
           (out.op->graph == g && out.index >= 0 && (!out.op->def || out.index < out.op->output_count));
}

bool bd_gradient_is_of(const braid_graph *g, const braid_gradient *grad)
{
    return is_of(g, grad->values) && is_of(g, grad->indices) && is_of(g, grad->dense_shape);
}

// Returns whether `grads` are gradients of the op's outputs; the graph fails when they are not.
static bool check_grads(const braid_op *op, const braid_gradient *grads, int count)
{
    braid_graph *g = op->graph;
    if (count != op->output_count || (count > 0 && !grads)) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Num gradients %d generated for op '%s' do not match %d outputs", grads ? count : 0,
                         op->name, op->output_count);
        return false;
    }
    for (int i = 0; i < count; i++) {
        const braid_dtype is = bd_dtype_base(braid_out_dtype(grads[i].values));
        const braid_dtype should_be = bd_dtype_base(op->output_types[i]);
        if (!bd_gradient_is_of(g, &grads[i])) {
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Gradient %d of op '%s' is no output of its graph", i,
                             op->name);
            return false;
        }
        if (grads[i].values.op && is != BRAID_INVALID && is != should_be && should_be != BRAID_RESOURCE) {
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "Gradient %d of op '%s' has type %s, but the output has type %s", i, op->name,
                             braid_dtype_name(is), braid_dtype_name(should_be));
            return false;
        }
    }
    return true;
}

void braid_op_gradient(braid_op *op, const braid_gradient *output_grads, int count,
                       braid_gradient *input_grads)
{
    if (!op) return;
    BD_GRAPH_TURN(op->graph);
    memset(input_grads, 0, (size_t)op->input_count * sizeof *input_grads);
    const braid_gradient_kind kind = braid_op_gradient_kind(op);
    if (op->graph->status.code || !check_grads(op, output_grads, count) ||
        kind == BRAID_GRADIENT_NOT_DIFFERENTIABLE)
        return;
    if (kind != BRAID_GRADIENT_FUNCTION) {
        braid_graph_fail(op->graph, BRAID_NOT_FOUND, "No gradient defined for operation '%s' (op type: %s)",
                         op->name, op->op_type);
        return;
    }
    bd_gradient_turn t;
    bd_gradient_turn_init(&t, op);
    for (int i = 0; i < count; i++)
        bd_gradient_turn_receive(&t, i, &output_grads[i]);
    bd_gradient_turn_fill(&t);
    if (!bd_node_has_flag(op, BD_OP_SPARSE_GRAD)) bd_gradient_turn_make_whole(&t);
    if (!op->graph->status.code) bd_gradient_turn_call(&t);
    for (int i = 0; i < op->input_count && !op->graph->status.code; i++)
        input_grads[i] = bd_gradient_turn_result(&t, i);
    bd_gradient_turn_fini(&t);
}
