// Graphs and their nodes.
#include "native.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD braid_graph *graph;
} graph_object;

typedef struct {
    PyObject_HEAD braid_op *op;
    PyObject *graph; // keeps it
} op_object;

static PyObject *graph_type, *op_type;

braid_graph *native_graph(PyObject *object)
{
    if (PyObject_IsInstance(object, graph_type) == 1) return ((graph_object *)object)->graph;
    PyErr_SetString(PyExc_TypeError, "a braid._native.Graph is needed");
    return NULL;
}

braid_op *native_op(PyObject *object)
{
    if (PyObject_IsInstance(object, op_type) == 1) return ((op_object *)object)->op;
    PyErr_SetString(PyExc_TypeError, "a braid._native.Op is needed");
    return NULL;
}

static PyObject *op_new(PyObject *graph, braid_op *op)
{
    op_object *o = (op_object *)PyType_GenericAlloc((PyTypeObject *)op_type, 0);
    if (!o) return NULL;
    o->op = op;
    o->graph = graph;
    Py_INCREF(graph);
    return (PyObject *)o;
}

static PyObject *pair_new(PyObject *graph, braid_op *op, int index)
{
    PyObject *o = op_new(graph, op);
    return o ? Py_BuildValue("(Ni)", o, index) : NULL;
}

bool native_out(PyObject *pair, braid_out *out)
{
    PyObject *op;
    int index;
    if (!PyTuple_Check(pair)) {
        PyErr_SetString(PyExc_TypeError, "an output is a pair (Op, index)");
        return false;
    }
    if (!PyArg_ParseTuple(pair, "Oi", &op, &index)) return false;
    braid_op *node = native_op(op);
    if (!node) return false;
    if (index < 0 || index >= braid_op_num_outputs(node)) {
        PyErr_Format(PyExc_IndexError, "%s has no output %d", braid_op_name(node), index);
        return false;
    }
    *out = braid_output(node, index);
    return true;
}

// ---- Building ----

// Takes a list of pairs, or one pair.
static bool add_input(braid_op_desc *d, PyObject *input)
{
    braid_out out;
    if (PyTuple_Check(input)) {
        const bool is_good = native_out(input, &out);
        if (is_good) braid_op_input(d, out);
        return is_good;
    }
    const Py_ssize_t count = PySequence_Size(input);
    if (count < 0) return false;
    braid_out *outs = calloc((size_t)count + 1, sizeof *outs);
    bool is_good = outs != NULL;
    for (Py_ssize_t i = 0; is_good && i < count; i++) {
        PyObject *item = PySequence_GetItem(input, i);
        is_good = item && native_out(item, &outs[i]);
        Py_XDECREF(item);
    }
    if (is_good) braid_op_input_list(d, outs, (int)count);
    free(outs);
    return is_good;
}

static bool add_control(braid_op_desc *d, PyObject *control)
{
    braid_op *op = native_op(control);
    if (op) braid_op_control(d, op);
    return op != NULL;
}

static bool for_each(braid_op_desc *d, PyObject *list, bool (*fn)(braid_op_desc *d, PyObject *item))
{
    const Py_ssize_t count = PySequence_Size(list);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(list, i);
        const bool is_good = item && fn(d, item);
        Py_XDECREF(item);
        if (!is_good) return false;
    }
    return count >= 0;
}

static bool add_attrs(braid_op_desc *d, PyObject *attrs)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(attrs, &at, &name, &value)) {
        char *data;
        Py_ssize_t len;
        PyObject *bytes = PyUnicode_AsUTF8String(name);
        const bool is_good = bytes && PyBytes_AsStringAndSize(value, &data, &len) == 0;
        if (is_good) braid_op_attr_value(d, PyBytes_AsString(bytes), data, (size_t)len);
        Py_XDECREF(bytes);
        if (!is_good) return false;
    }
    return true;
}

static PyObject *add(PyObject *self, PyObject *args)
{
    const char *type, *name, *device, *file = NULL;
    PyObject *inputs, *controls, *attrs;
    int line = 0;
    if (!PyArg_ParseTuple(args, "szOOO!z|zi", &type, &name, &inputs, &controls, &PyDict_Type, &attrs, &device,
                          &file, &line))
        return NULL;
    braid_graph *g = ((graph_object *)self)->graph;
    braid_here(file, line);
    braid_op_desc *d = braid_op_begin(g, type, name);
    if (device) braid_op_device(d, device);
    if (!for_each(d, inputs, add_input) || !for_each(d, controls, add_control) || !add_attrs(d, attrs)) {
        braid_op_abandon(d);
        return NULL;
    }
    braid_op *op = braid_op_end(d);
    NATIVE_STATUS(st);
    return braid_graph_take_error(g, st) ? native_raise(st) : op_new(self, op);
}

// ---- The graph ----

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "", names)) return NULL;
    graph_object *g = (graph_object *)PyType_GenericAlloc(type, 0);
    if (g) g->graph = braid_graph_new();
    return (PyObject *)g;
}

static void graph_dealloc(PyObject *self)
{
    braid_graph_free(((graph_object *)self)->graph);
    native_free(self);
}

static PyObject *bytes_of(void *data, size_t len, const braid_status *st)
{
    if (!data) return native_raise(st);
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)len);
    free(data);
    return bytes;
}

static PyObject *import_graph_def(PyObject *self, PyObject *args)
{
    const char *data;
    Py_ssize_t len;
    if (!PyArg_ParseTuple(args, "y#", &data, &len)) return NULL;
    NATIVE_STATUS(st);
    if (braid_graph_import(((graph_object *)self)->graph, data, (size_t)len, st)) return native_raise(st);
    Py_RETURN_NONE;
}

static PyObject *export_graph_def(PyObject *self, PyObject *args)
{
    (void)args;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_graph_export(((graph_object *)self)->graph, &len, st);
    return bytes_of(data, len, st);
}

static PyObject *find(PyObject *self, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    braid_op *op = braid_graph_find(((graph_object *)self)->graph, name);
    if (op) return op_new(self, op);
    Py_RETURN_NONE;
}

static PyObject *get_op(PyObject *self, Py_ssize_t index)
{
    const graph_object *g = (graph_object *)self;
    if (index >= 0 && index < braid_graph_num_ops(g->graph))
        return op_new(self, braid_graph_op(g->graph, (int)index));
    PyErr_SetString(PyExc_IndexError, "a graph has no such node");
    return NULL;
}

static Py_ssize_t num_ops(PyObject *self)
{
    return braid_graph_num_ops(((graph_object *)self)->graph);
}

// ---- Nodes ----

static void op_dealloc(PyObject *self)
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

static PyObject *string(const char *text)
{
    return PyUnicode_FromString(text ? text : "");
}

static PyObject *get_text(PyObject *self, void *of)
{
    const char *(*const fn)(const braid_op *op) = *(const char *(**)(const braid_op *op))of;
    return string(fn(((op_object *)self)->op));
}

static PyObject *get_num_outputs(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(braid_op_num_outputs(((op_object *)self)->op));
}

static PyObject *get_inputs(PyObject *self, void *closure)
{
    (void)closure;
    const op_object *o = (op_object *)self;
    const int count = braid_op_num_inputs(o->op);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        const braid_out in = braid_op_get_input(o->op, i);
        PyObject *pair = pair_new(o->graph, in.op, in.index);
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
        PyObject *control = op_new(o->graph, braid_op_get_control(o->op, i));
        if (!control || PyList_SetItem(list, i, control) < 0) Py_CLEAR(list);
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

static PyObject *attr(PyObject *self, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_op_attr_proto(((op_object *)self)->op, name, &len, st);
    return bytes_of(data, len, st);
}

static PyObject *node_def(PyObject *self, PyObject *args)
{
    (void)args;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_op_node_def(((op_object *)self)->op, true, &len, st);
    return bytes_of(data, len, st);
}

// ---- The types ----

static bool graph_type_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"add", add, METH_VARARGS,
         "add(type, name, inputs, controls, attrs, device, file=None, line=0): makes a node. An input is a pair (Op, index) or a list "
         "of such pairs, for an argument that is a list; an attribute is the bytes of an AttrValue. The name is "
         "made unique. Errors name the line that built the node."},
        {"import_graph_def", import_graph_def, METH_VARARGS,
         "import_graph_def(bytes): adds the nodes of a GraphDef, all or none."},
        {"export_graph_def", export_graph_def, METH_NOARGS, "The graph as the bytes of a GraphDef."},
        {"find", find, METH_VARARGS, "find(name): the node, or None."},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc,
         "A graph. len(graph) is the number of its nodes, which graph[i] are in the order in which they "
         "were made."},
        {Py_tp_new, graph_new},
        {Py_tp_dealloc, graph_dealloc},
        {Py_tp_methods, methods},
        {Py_sq_length, num_ops},
        {Py_sq_item, get_op},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "braid._native.Graph",
                               .basicsize = sizeof(graph_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    graph_type = native_add_type(module, &spec);
    return graph_type != NULL;
}

static bool op_type_init(PyObject *module)
{
    static const char *(*name)(const braid_op *op) = braid_op_name;
    static const char *(*type)(const braid_op *op) = braid_op_type;
    static const char *(*device)(const braid_op *op) = braid_op_requested_device;
    static PyMethodDef methods[] = {
        {"dtype", dtype, METH_VARARGS,
         "dtype(index): the type of an output, as TensorFlow's number (DataType)."},
        {"shape", shape, METH_VARARGS,
         "shape(index): the static shape of an output; -1 is an unknown dimension, None an unknown rank."},
        {"attr", attr, METH_VARARGS, "attr(name): an attribute, as the bytes of an AttrValue."},
        {"node_def", node_def, METH_NOARGS, "The node as the bytes of a NodeDef."},
        {0},
    };
    static PyGetSetDef attributes[] = {
        {"name", get_text, NULL, "The name.", &name},
        {"type", get_text, NULL, "The op.", &type},
        {"device", get_text, NULL, "The device that is asked for, or ''.", &device},
        {"num_outputs", get_num_outputs, NULL, "How many outputs it has.", NULL},
        {"inputs", get_inputs, NULL, "The data inputs, as pairs (Op, index).", NULL},
        {"controls", get_controls, NULL, "The control inputs.", NULL},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc, "A node of a graph. Objects of one node are equal."},
        {Py_tp_new, native_no_new},
        {Py_tp_dealloc, op_dealloc},
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

bool native_graph_init(PyObject *module)
{
    return graph_type_init(module) && op_type_init(module);
}
