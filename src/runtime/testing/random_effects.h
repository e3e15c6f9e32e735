// Effects in random graphs: random numbers, queues, variables of both kinds.
//
// Edges order them, so that there is one correct result: a variable is written after all nodes that need its
// value have read it.
#ifndef BD_RUNTIME_TESTING_RANDOM_EFFECTS_H
#define BD_RUNTIME_TESTING_RANDOM_EFFECTS_H

#include "runtime/testing/random_graph.h"

static void random_numbers(maker *m)
{
    braid_shape shape = any_shape(m);
    braid_op_desc *d = braid_op_begin(m->g, "RandomUniform", NULL);
    braid_op_input(d, int_vector(m, shape.dims, shape.rank).out);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_int(d, "seed", 1);
    braid_op_attr_int(d, "seed2", 1 + draw(m, 3));
    push(m, braid_op_end_out(d), BRAID_FLOAT, shape);
}

// Often takes the last value, which may depend on a variable that was written in this step.
static void through_a_queue(maker *m)
{
    value v = m->values[m->count - 1];
    if (v.dtype != BRAID_FLOAT || draw(m, 2)) v = any_of_type(m, BRAID_FLOAT);
    braid_op_desc *d = braid_op_begin(m->g, "FIFOQueueV2", NULL);
    braid_op_attr_type_list(d, "component_types", &v.dtype, 1);
    if (draw(m, 2)) braid_op_attr_shape_list(d, "shapes", &v.shape, 1);
    braid_out queue = braid_op_end_out(d);
    d = braid_op_begin(m->g, "QueueEnqueueV2", NULL);
    braid_op_input(d, queue);
    braid_op_input_list(d, &v.out, 1);
    m->targets[m->target_count++] = braid_op_end(d);
    d = braid_op_begin(m->g, "QueueDequeueV2", NULL);
    braid_op_input(d, queue);
    braid_op_attr_type_list(d, "component_types", &v.dtype, 1);
    push(m, braid_op_end_out(d), v.dtype, v.shape);
}

static braid_out pure_after(maker *m, const char *op, value a, value b, braid_op *before)
{
    braid_op_desc *d = braid_op_begin(m->g, op, NULL);
    braid_op_input(d, a.out);
    braid_op_input(d, b.out);
    braid_op_control(d, before);
    return braid_op_end_out(d);
}

// Returns a node that runs after `op`: `op` itself, or nodes without consumers of their values, so that only
// the order counts.
static braid_op *after(maker *m, braid_op *op)
{
    value a = any_of_shape(m, BRAID_FLOAT, BRAID_SHAPE(3, 7)),
          b = any_of_shape(m, BRAID_FLOAT, BRAID_SHAPE(7));
    value w = constant_of(m, BRAID_FLOAT, BRAID_SHAPE(7, 7));
    switch (draw(m, 5)) {
    case 0: return tg_after(m->g, "NoOp", NULL, 2, (braid_op *[]){op, a.out.op});
    case 1: return tg_identity_after(m->g, NULL, a.out, op).op;
    case 2: return tg1(m->g, "Tanh", NULL, pure_after(m, "Mul", a, b, op)).op;
    case 3: return tg2(m->g, "BiasAdd", NULL, pure_after(m, "MatMul", a, w, op), b.out).op;
    default: return op;
    }
}

static braid_out read_of(maker *m, variable *v)
{
    braid_op *written = v->written ? after(m, v->written) : NULL;
    braid_op_desc *d = braid_op_begin(m->g, v->is_resource ? "ReadVariableOp" : "Identity", NULL);
    braid_op_input(d, v->handle);
    if (v->is_resource) braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    if (written) braid_op_control(d, written);
    return braid_op_end_out(d);
}

// Passes on only a result of the reference's value, computed before the next write.
static void reading(maker *m)
{
    variable *v = &m->variables[draw(m, VARIABLES)];
    if (v->read_count >= READS_MAX - 1) return;
    braid_out out = read_of(m, v);
    if (!v->is_resource) {
        v->reads[v->read_count++] = tg1(m->g, "Shape", NULL, out).op;
        out =
            tg2(m->g, "Mul", NULL, tg1(m->g, any_unary(m, BRAID_FLOAT), NULL, out), tg_float(m->g, NULL, 3));
    }
    v->reads[v->read_count++] = out.op;
    bounded(m, push(m, out, BRAID_FLOAT, v->shape));
}

static void writing(maker *m)
{
    static const char *const ops[] = {"ApplyGradientDescent", "ApplyGradientDescent", "AssignAdd", "Assign"};
    value last = m->values[m->count - 1], delta;
    variable *v = &m->variables[draw(m, VARIABLES)];
    bool fits = last.dtype == BRAID_FLOAT && bd_shape_equal(&last.shape, &v->shape);
    delta = fits && draw(m, 2) ? last : any_of_shape(m, BRAID_FLOAT, v->shape);
    const char *op = v->is_resource ? "AssignVariableOp" : ANY_OF(m, ops);
    braid_op *written = v->written ? after(m, v->written) : NULL;
    braid_op_desc *d = braid_op_begin(m->g, op, NULL);
    braid_op_input(d, v->handle);
    if (strcmp(op, "ApplyGradientDescent") == 0) braid_op_input(d, m->rate);
    braid_op_input(d, delta.out);
    if (written) braid_op_control(d, written);
    for (int i = 0; i < v->read_count; i++)
        braid_op_control(d, v->reads[i]);
    v->read_count = 0;
    v->written = m->targets[m->target_count++] = braid_op_end(d);
}

static void declare(maker *m, int i)
{
    variable *v = &m->variables[i];
    *v = (variable){.shape = any_shape(m), .is_resource = i == 0};
    braid_op_desc *d = braid_op_begin(m->g, v->is_resource ? "VarHandleOp" : "VariableV2", NULL);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", v->shape);
    v->handle = braid_op_end_out(d);
    braid_out start = constant_of(m, BRAID_FLOAT, v->shape).out;
    m->starts[i] = tg2(m->g, v->is_resource ? "AssignVariableOp" : "Assign", NULL, v->handle, start).op;
}

#endif
