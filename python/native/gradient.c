// Gradients. In Python one is None, a pair (Op, index), or, for rows of a tensor, a triple of pairs (values,
// indices, dense_shape), the last of which may be None.
#include "native.h"
#include <stdlib.h>

static bool is_none(PyObject *object)
{
    return object == Py_None;
}

static bool gradient_item(PyObject *object, void *item)
{
    braid_gradient *g = item;
    if (is_none(object)) return true;
    if (!PyTuple_Check(object) || PyTuple_Size(object) != 3) return native_out(object, &g->values);
    return native_out(PyTuple_GetItem(object, 0), &g->values) &&
           native_out(PyTuple_GetItem(object, 1), &g->indices) &&
           (is_none(PyTuple_GetItem(object, 2)) || native_out(PyTuple_GetItem(object, 2), &g->dense_shape));
}

static PyObject *pair_of(PyObject *graph, braid_out out)
{
    if (!out.op) Py_RETURN_NONE;
    return native_pair(graph, out.op, out.index);
}

static PyObject *gradient_object(PyObject *graph, const braid_gradient *g)
{
    if (!g->indices.op) return pair_of(graph, g->values);
    return Py_BuildValue("(NNN)", pair_of(graph, g->values), pair_of(graph, g->indices),
                         pair_of(graph, g->dense_shape));
}

static PyObject *gradient_list(PyObject *graph, const braid_gradient *gradients, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *item = gradient_object(graph, &gradients[i]);
        if (!item || PyList_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

// ---- The gradient functions of the program ----

typedef struct {
    PyObject *graph, *fn, *take;
    const char *file; // where braid_gradients was called
    int line;
    bool has_raised; // an exception is set: no more Python is called
} asking;

// Takes what the function has returned.
static bool take_answer(PyObject *answer, int count, braid_gradient *input_grads)
{
    int given;
    braid_gradient *gradients __attribute__((cleanup(native_free_array))) =
        native_map(answer, sizeof *gradients, gradient_item, &given);
    if (!gradients) return false;
    if (given != count) {
        PyErr_Format(PyExc_ValueError, "a gradient function returned %d gradients for %d inputs", given,
                     count);
        return false;
    }
    for (int i = 0; i < count; i++)
        input_grads[i] = gradients[i];
    return true;
}

// As braid_gradients_options has it. An exception makes the graph fail, which ends the walk.
static bool ask(void *arg, braid_op *op, const braid_gradient *output_grads, braid_gradient *input_grads)
{
    asking *a = arg;
    braid_graph *g = native_graph(a->graph);
    if (a->has_raised || braid_graph_status(g, NULL)) return false;
    PyObject *node = native_op_new(a->graph, op);
    PyObject *grads = gradient_list(a->graph, output_grads, braid_op_num_outputs(op));
    PyObject *answer = node && grads ? PyObject_CallFunctionObjArgs(a->fn, node, grads, NULL) : NULL;
    Py_XDECREF(node);
    Py_XDECREF(grads);
    braid_here(a->file, a->line);
    const bool is_own =
        answer && !is_none(answer) && take_answer(answer, braid_op_num_inputs(op), input_grads);
    a->has_raised = PyErr_Occurred() != NULL;
    if (a->has_raised) braid_graph_fail(g, BRAID_ABORTED, "a gradient function has raised an exception");
    Py_XDECREF(answer);
    return is_own;
}

static void let_take(void *arg, braid_op *op)
{
    asking *a = arg;
    braid_graph *g = native_graph(a->graph);
    if (a->has_raised || braid_graph_status(g, NULL)) return;
    PyObject *node = native_op_new(a->graph, op);
    PyObject *answer = node ? PyObject_CallFunctionObjArgs(a->take, node, NULL) : NULL;
    Py_XDECREF(node);
    braid_here(a->file, a->line);
    a->has_raised = !answer;
    if (a->has_raised) braid_graph_fail(g, BRAID_ABORTED, "taking a node has raised an exception");
    Py_XDECREF(answer);
}

// ---- The walk ----

static PyObject *call(PyObject *self, braid_gradients_options *o, const braid_out *ys, int num_ys,
                      const braid_out *xs, int num_xs, asking *a)
{
    braid_gradient *grads __attribute__((cleanup(native_free_array))) =
        calloc((size_t)num_xs + 1, sizeof *grads);
    if (!grads) return PyErr_NoMemory();
    braid_graph *g = native_graph(self);
    NATIVE_STATUS(st);
    native_graph_begin_walk(self);
    braid_graph_lock(g); // not while the program's functions run
    braid_here(a->file, a->line);
    braid_gradients_sparse(g, ys, num_ys, xs, num_xs, o, grads);
    braid_here(NULL, 0);
    const braid_code code = braid_graph_take_error(g, st);
    braid_graph_unlock(g);
    native_graph_end_walk(self);
    if (a->has_raised) return NULL;
    return code ? native_raise(st) : gradient_list(self, grads, num_xs);
}

PyObject *native_gradients(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"ys", "xs",   "grad_ys", "stops",       "name", "gate",       "colocate",
                            "fn", "file", "line",    "aggregation", "take", "conditions", NULL};
    PyObject *ys, *xs, *grad_ys = Py_None, *stops = NULL, *conditions = NULL;
    int gate = 0, colocate = 0, aggregation = BRAID_ADD_N, num_ys, num_xs, num_grads, num_stops = 0;
    asking a = {.graph = self, .fn = Py_None, .take = Py_None};
    braid_gradients_options o = {0};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OO|OOzppOziiOO", names, &ys, &xs, &grad_ys, &stops,
                                     &o.name, &gate, &colocate, &a.fn, &a.file, &a.line, &aggregation,
                                     &a.take, &conditions))
        return NULL;
    braid_out *y __attribute__((cleanup(native_free_array))) = NULL;
    braid_out *x __attribute__((cleanup(native_free_array))) = NULL;
    braid_gradient *grad_y __attribute__((cleanup(native_free_array))) = NULL;
    braid_out *stop __attribute__((cleanup(native_free_array))) = NULL;
    braid_out *condition __attribute__((cleanup(native_free_array))) = NULL;
    if (!native_outs(ys, &y, &num_ys) || !native_outs(xs, &x, &num_xs)) return NULL;
    if (!is_none(grad_ys)) {
        grad_y = native_map(grad_ys, sizeof *grad_y, gradient_item, &num_grads);
        if (!grad_y) return NULL;
        if (num_grads != num_ys)
            return PyErr_Format(PyExc_ValueError, "%d initial gradients for %d outputs", num_grads, num_ys);
    }
    if (stops && !native_outs(stops, &stop, &num_stops)) return NULL;
    if (conditions && !native_outs(conditions, &condition, &o.condition_count)) return NULL;
    o.sparse_grad_ys = grad_y;
    o.gate = gate;
    o.colocate = colocate;
    o.aggregation = (braid_aggregation_method)aggregation;
    o.stops = stop;
    o.stop_count = num_stops;
    if (!is_none(a.fn)) o.gradient = ask;
    if (!is_none(a.take)) o.take = let_take;
    o.conditions = condition;
    o.arg = &a;
    return call(self, &o, y, num_ys, x, num_xs, &a);
}

// ---- One op ----

PyObject *native_op_gradient(PyObject *self, PyObject *args)
{
    const char *file = NULL;
    PyObject *list;
    int line = 0, count;
    if (!PyArg_ParseTuple(args, "O|zi", &list, &file, &line)) return NULL;
    braid_op *op = native_op(self);
    const int input_count = braid_op_num_inputs(op);
    braid_gradient *output_grads __attribute__((cleanup(native_free_array))) =
        native_map(list, sizeof *output_grads, gradient_item, &count);
    if (!output_grads) return NULL;
    braid_gradient *input_grads __attribute__((cleanup(native_free_array))) =
        calloc((size_t)input_count + 1, sizeof *input_grads);
    if (!input_grads) return PyErr_NoMemory();
    NATIVE_STATUS(st);
    native_graph_wait(native_op_graph(self));
    braid_graph_lock(braid_op_graph(op));
    braid_here(file, line);
    braid_op_gradient(op, output_grads, count, input_grads);
    braid_here(NULL, 0);
    const braid_code code = braid_graph_take_error(braid_op_graph(op), st);
    braid_graph_unlock(braid_op_graph(op));
    return code ? native_raise(st) : gradient_list(native_op_graph(self), input_grads, input_count);
}

PyObject *native_gradient_to_dense(PyObject *self, PyObject *gradient)
{
    braid_gradient g = {0};
    if (!gradient_item(gradient, &g)) return NULL;
    braid_graph *graph = native_graph(self);
    NATIVE_STATUS(st);
    native_graph_wait(self);
    braid_graph_lock(graph);
    braid_here(NULL, 0);
    const braid_out whole = braid_gradient_to_dense(graph, &g);
    const braid_code code = braid_graph_take_error(graph, st);
    braid_graph_unlock(graph);
    return code ? native_raise(st) : pair_of(self, whole);
}
