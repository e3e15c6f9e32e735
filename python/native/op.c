// Nodes of graphs.
#include "native.h"
#include <stdlib.h>

typedef struct {
    PyObject_HEAD braid_op *op;
    PyObject *graph; // keeps it
} op_object;

static PyObject *op_type;

PyObject *native_op_new(PyObject *graph, braid_op *op)
{
    op_object *o = (op_object *)PyType_GenericAlloc((PyTypeObject *)op_type, 0);
    if (!o) return NULL;
    o->op = op;
    o->graph = graph;
    Py_INCREF(graph);
    return (PyObject *)o;
}

braid_op *native_op(PyObject *object)
{
    if ((PyObject *)Py_TYPE(object) == op_type) return ((op_object *)object)->op;
    PyErr_SetString(PyExc_TypeError, "a braid._native.Op is needed");
    return NULL;
}

PyObject *native_op_graph(PyObject *op)
{
    return ((op_object *)op)->graph;
}

PyObject *native_pair(PyObject *graph, braid_op *op, int index)
{
    PyObject *o = native_op_new(graph, op);
    return o ? Py_BuildValue("(Ni)", o, index) : NULL;
}

bool native_out_at(PyObject *op, PyObject *index, braid_out *out)
{
    braid_op *node = native_op(op);
    if (!node) return false;
    const long i = PyLong_AsLong(index);
    if (i == -1 && PyErr_Occurred()) return false;
    if (i < 0 || i >= braid_op_num_outputs(node)) {
        PyErr_Format(PyExc_IndexError, "%s has no output %ld", braid_op_name(node), i);
        return false;
    }
    *out = braid_output(node, (int)i);
    return true;
}

bool native_out(PyObject *pair, braid_out *out)
{
    if (PyTuple_Check(pair) && PyTuple_Size(pair) == 2)
        return native_out_at(PyTuple_GetItem(pair, 0), PyTuple_GetItem(pair, 1), out);
    PyErr_SetString(PyExc_TypeError, "an output is a pair (Op, index)");
    return false;
}

static bool out_item(PyObject *object, void *item)
{
    return native_out(object, item);
}

static bool op_item(PyObject *object, void *item)
{
    return (*(braid_op **)item = native_op(object)) != NULL;
}

bool native_outs(PyObject *sequence, braid_out **outs, int *count)
{
    return (*outs = native_map(sequence, sizeof **outs, out_item, count)) != NULL;
}

bool native_ops(PyObject *sequence, braid_op ***ops, int *count)
{
    return (*ops = native_map(sequence, sizeof **ops, op_item, count)) != NULL;
}

// ---- Reading ----

static void dealloc(PyObject *self)
{
    Py_DECREF(((op_object *)self)->graph);
    native_free(self);
}

static PyObject *compare(PyObject *a, PyObject *b, int how)
{
    if ((how != Py_EQ && how != Py_NE) || PyObject_IsInstance(b, op_type) != 1) Py_RETURN_NOTIMPLEMENTED;
    return PyBool_FromLong((((op_object *)a)->op == ((op_object *)b)->op) == (how == Py_EQ));
}

static Py_hash_t hash(PyObject *self)
{
    const Py_hash_t h = (Py_hash_t)((uintptr_t)((op_object *)self)->op >> 4);
    return h == -1 ? -2 : h;
}

static PyObject *get_text(PyObject *self, void *of)
{
    const char *(*const fn)(const braid_op *op) = *(const char *(**)(const braid_op *op))of;
    const char *text = fn(((op_object *)self)->op);
    return PyUnicode_FromString(text ? text : "");
}

static PyObject *get_int(PyObject *self, void *of)
{
    int (*const fn)(const braid_op *op) = *(int (**)(const braid_op *op))of;
    return PyLong_FromLong(fn(((op_object *)self)->op));
}

static PyObject *get_gradient_kind(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(braid_op_gradient_kind(((op_object *)self)->op));
}

static PyObject *get_graph(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *graph = ((op_object *)self)->graph;
    Py_INCREF(graph);
    return graph;
}

static PyObject *get_inputs(PyObject *self, void *closure)
{
    (void)closure;
    const op_object *o = (op_object *)self;
    const int count = braid_op_num_inputs(o->op);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        const braid_out in = braid_op_get_input(o->op, i);
        PyObject *pair = native_pair(o->graph, in.op, in.index);
        if (!pair || PyList_SetItem(list, i, pair) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_controls(PyObject *self, void *closure)
{
    (void)closure;
    const op_object *o = (op_object *)self;
    const int count = braid_op_num_controls(o->op);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *control = native_op_new(o->graph, braid_op_get_control(o->op, i));
        if (!control || PyList_SetItem(list, i, control) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *get_control_outputs(PyObject *self, void *closure)
{
    (void)closure;
    const op_object *o = (op_object *)self;
    const int count = braid_op_control_outputs(o->op, NULL, 0);
    braid_op **ops __attribute__((cleanup(native_free_array))) = calloc((size_t)count + 1, sizeof *ops);
    if (!ops) return PyErr_NoMemory();
    braid_op_control_outputs(o->op, ops, count);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *waiting = native_op_new(o->graph, ops[i]);
        if (!waiting || PyList_SetItem(list, i, waiting) < 0) Py_CLEAR(list);
    }
    return list;
}

// Parses the index of an output. False: an exception is set.
static bool output(PyObject *self, PyObject *args, braid_out *out)
{
    int index;
    if (!PyArg_ParseTuple(args, "i", &index)) return false;
    const op_object *o = (op_object *)self;
    if (index >= 0 && index < braid_op_num_outputs(o->op)) {
        *out = braid_output(o->op, index);
        return true;
    }
    PyErr_Format(PyExc_IndexError, "%s has no output %d", braid_op_name(o->op), index);
    return false;
}

static PyObject *dtype(PyObject *self, PyObject *args)
{
    braid_out out;
    return output(self, args, &out) ? PyLong_FromLong(braid_out_dtype(out)) : NULL;
}

static PyObject *shape(PyObject *self, PyObject *args)
{
    braid_out out;
    return output(self, args, &out) ? native_shape_tuple(braid_out_shape(out)) : NULL;
}

static PyObject *consumers(PyObject *self, PyObject *args)
{
    braid_out out;
    if (!output(self, args, &out)) return NULL;
    const int count = braid_out_consumers(out, NULL, 0);
    braid_in *ins __attribute__((cleanup(native_free_array))) = calloc((size_t)count + 1, sizeof *ins);
    if (!ins) return PyErr_NoMemory();
    braid_out_consumers(out, ins, count);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *pair = native_pair(((op_object *)self)->graph, ins[i].op, ins[i].index);
        if (!pair || PyList_SetItem(list, i, pair) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *constant(PyObject *self, PyObject *args)
{
    braid_out out;
    if (!output(self, args, &out)) return NULL;
    braid_tensor *value = braid_out_constant(out);
    if (value) return native_tensor_new(value);
    Py_RETURN_NONE;
}

static PyObject *constant_shape(PyObject *self, PyObject *args)
{
    braid_out out;
    braid_shape dims;
    if (!output(self, args, &out)) return NULL;
    if (braid_out_constant_shape(out, &dims)) return native_shape_tuple(dims);
    Py_RETURN_NONE;
}

static PyObject *attr(PyObject *self, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_op_attr_proto(((op_object *)self)->op, name, &len, st);
    return native_bytes(data, len, st);
}

static PyObject *get_attr_names(PyObject *self, void *closure)
{
    (void)closure;
    const braid_op *op = ((op_object *)self)->op;
    const int count = braid_op_num_attrs(op);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *name = PyUnicode_FromString(braid_op_attr_name(op, i));
        if (!name || PyList_SetItem(list, i, name) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *node_def(PyObject *self, PyObject *args)
{
    (void)args;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_op_node_def(((op_object *)self)->op, true, &len, st);
    return native_bytes(data, len, st);
}

static PyObject *get_built_at(PyObject *self, void *closure)
{
    (void)closure;
    int line;
    const char *file = braid_op_built_at(((op_object *)self)->op, &line);
    if (!file) Py_RETURN_NONE;
    return Py_BuildValue("(si)", file, line);
}

typedef braid_code range_fn(const braid_op *op, const char *arg, int *first, int *count,
                            braid_status *status);

static PyObject *range_of(PyObject *self, PyObject *args, range_fn *fn)
{
    const char *arg;
    int first, count;
    if (!PyArg_ParseTuple(args, "s", &arg)) return NULL;
    NATIVE_STATUS(st);
    if (fn(((op_object *)self)->op, arg, &first, &count, st)) return native_raise(st);
    return Py_BuildValue("(ii)", first, count);
}

static PyObject *input_range(PyObject *self, PyObject *args)
{
    return range_of(self, args, braid_op_input_range);
}

static PyObject *output_range(PyObject *self, PyObject *args)
{
    return range_of(self, args, braid_op_output_range);
}

// ---- Changing ----

static PyObject *set_input(PyObject *self, PyObject *args)
{
    int index;
    PyObject *pair;
    braid_out from;
    if (!PyArg_ParseTuple(args, "iO", &index, &pair) || !native_out(pair, &from)) return NULL;
    NATIVE_STATUS(st);
    return native_none(braid_op_set_input(((op_object *)self)->op, index, from, st), st);
}

static PyObject *add_control(PyObject *self, PyObject *op)
{
    braid_op *control = native_op(op);
    if (!control) return NULL;
    NATIVE_STATUS(st);
    return native_none(braid_op_add_control(((op_object *)self)->op, control, st), st);
}

static PyObject *set_controls(PyObject *self, PyObject *list)
{
    braid_op **ops __attribute__((cleanup(native_free_array)));
    int count;
    if (!native_ops(list, &ops, &count)) return NULL;
    NATIVE_STATUS(st);
    return native_none(braid_op_set_controls(((op_object *)self)->op, ops, count, st), st);
}

static PyObject *set_device(PyObject *self, PyObject *args)
{
    const char *device;
    if (!PyArg_ParseTuple(args, "z", &device)) return NULL;
    NATIVE_STATUS(st);
    return native_none(braid_op_set_device(((op_object *)self)->op, device, st), st);
}

static PyObject *set_attr(PyObject *self, PyObject *args)
{
    const char *name, *value;
    Py_ssize_t len;
    if (!PyArg_ParseTuple(args, "sz#", &name, &value, &len)) return NULL;
    NATIVE_STATUS(st);
    return native_none(braid_op_set_attr(((op_object *)self)->op, name, value, (size_t)len, st), st);
}

static PyObject *set_shape(PyObject *self, PyObject *args)
{
    int index;
    PyObject *dims;
    braid_shape known;
    if (!PyArg_ParseTuple(args, "iO", &index, &dims) || !native_shape(dims, &known)) return NULL;
    braid_op *op = ((op_object *)self)->op;
    if (index < 0 || index >= braid_op_num_outputs(op))
        return PyErr_Format(PyExc_IndexError, "%s has no output %d", braid_op_name(op), index);
    NATIVE_STATUS(st);
    braid_graph_lock(braid_op_graph(op));
    braid_here(NULL, 0);
    braid_set_shape(braid_output(op, index), known);
    const braid_code code = braid_graph_take_error(braid_op_graph(op), st);
    braid_graph_unlock(braid_op_graph(op));
    return native_none(code, st);
}

// ---- The type ----

bool native_op_init(PyObject *module)
{
    static const char *(*name)(const braid_op *op) = braid_op_name;
    static const char *(*type)(const braid_op *op) = braid_op_type;
    static const char *(*device)(const braid_op *op) = braid_op_requested_device;
    static int (*index)(const braid_op *op) = braid_op_index;
    static int (*num_outputs)(const braid_op *op) = braid_op_num_outputs;
    static PyMethodDef methods[] = {
        {"dtype", dtype, METH_VARARGS,
         "dtype(index): the type of an output, as TensorFlow's number (DataType)."},
        {"shape", shape, METH_VARARGS,
         "shape(index): the static shape of an output; -1 is an unknown dimension, None an unknown rank."},
        {"consumers", consumers, METH_VARARGS,
         "consumers(index): the inputs that take an output, as pairs (Op, number of the input)."},
        {"constant", constant, METH_VARARGS,
         "constant(index): the value of an output as a Tensor, where it follows from constants and known shapes; "
         "else None."},
        {"constant_shape", constant_shape, METH_VARARGS,
         "constant_shape(index): the value of a vector of integers as a shape, with -1 for what is not known; None "
         "when nothing is."},
        {"attr", attr, METH_VARARGS, "attr(name): an attribute, as the bytes of an AttrValue."},
        {"node_def", node_def, METH_NOARGS, "The node as the bytes of a NodeDef."},
        {"input_range", input_range, METH_VARARGS,
         "input_range(arg): (first, count) of the inputs that belong to an argument of the op's definition."},
        {"output_range", output_range, METH_VARARGS, "output_range(arg): the same of outputs."},
        {"gradient", native_op_gradient, METH_VARARGS,
         "gradient(output_grads, file=None, line=0): builds the gradients of the inputs from those of the outputs. "
         "A gradient is None, a pair (Op, index), or a triple of pairs (values, indices, dense_shape)."},
        {"set_input", set_input, METH_VARARGS, "set_input(i, (Op, index)): connects an input."},
        {"add_control", add_control, METH_O, "add_control(op): adds a control input."},
        {"set_controls", set_controls, METH_O, "set_controls(ops): replaces all control inputs."},
        {"set_device", set_device, METH_VARARGS, "set_device(device): asks for exactly this device."},
        {"set_attr", set_attr, METH_VARARGS,
         "set_attr(name, value): sets an attribute from the bytes of an AttrValue; None: removes it."},
        {"set_shape", set_shape, METH_VARARGS,
         "set_shape(index, shape): adds to what is known of an output's shape."},
        {0},
    };
    static PyGetSetDef attributes[] = {
        {"name", get_text, NULL, "The name.", &name},
        {"type", get_text, NULL, "The op.", &type},
        {"device", get_text, NULL, "The device that is asked for, or ''.", &device},
        {"index", get_int, NULL, "The number of the node: graph[op.index] == op.", &index},
        {"num_outputs", get_int, NULL, "How many outputs it has.", &num_outputs},
        {"graph", get_graph, NULL, "Its graph.", NULL},
        {"inputs", get_inputs, NULL, "The data inputs, as pairs (Op, index).", NULL},
        {"controls", get_controls, NULL, "The control inputs.", NULL},
        {"control_outputs", get_control_outputs, NULL, "The nodes that have it as a control input.", NULL},
        {"attr_names", get_attr_names, NULL, "The names of the attributes, sorted.", NULL},
        {"built_at", get_built_at, NULL, "(file, line) of the program that built the node; None: not known.",
         NULL},
        {"gradient_kind", get_gradient_kind, NULL,
         "0: no gradient is registered. 1: there is none by definition. 2: gradient() builds it. 3: only "
         "Graph.gradients does (control flow).",
         NULL},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc, "A node of a graph. Objects of one node are equal."},
        {Py_tp_new, native_no_new},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, attributes},
        {Py_tp_richcompare, compare},
        {Py_tp_hash, hash},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "braid._native.Op",
                               .basicsize = sizeof(op_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    op_type = native_add_type(module, &spec);
    return op_type != NULL;
}
