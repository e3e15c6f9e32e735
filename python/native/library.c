// The functions of a graph's library, and the definitions of ops.
#include "native.h"
#include <stdlib.h>

// ---- Functions ----

PyObject *native_to_function(PyObject *self, PyObject *args)
{
    PyObject *inputs, *outputs, *output_names = Py_None, *ops = Py_None;
    braid_function_body f = {0};
    if (!PyArg_ParseTuple(args, "sOO|OOz", &f.name, &inputs, &outputs, &output_names, &ops, &f.description))
        return NULL;
    braid_out *ins __attribute__((cleanup(native_free_array))) = NULL;
    braid_out *outs __attribute__((cleanup(native_free_array))) = NULL;
    braid_op **nodes __attribute__((cleanup(native_free_array))) = NULL;
    NATIVE_STRINGS(names);
    if (!native_outs(inputs, &ins, &f.input_count) || !native_outs(outputs, &outs, &f.output_count) ||
        (ops != Py_None && !native_ops(ops, &nodes, &f.op_count)) ||
        (output_names != Py_None && !native_strings_init(&names, output_names)))
        return NULL;
    if (names.items && names.count != f.output_count)
        return PyErr_Format(PyExc_ValueError, "%d names for %d outputs", names.count, f.output_count);
    f.inputs = ins;
    f.outputs = outs;
    f.output_names = names.items;
    f.ops = nodes;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_graph_to_function(native_graph(self), &f, &len, st);
    return native_bytes(data, len, st);
}

PyObject *native_add_function(PyObject *self, PyObject *args)
{
    const char *data, *gradient = NULL;
    Py_ssize_t len;
    if (!PyArg_ParseTuple(args, "y#|z", &data, &len, &gradient)) return NULL;
    NATIVE_STATUS(st);
    native_graph_wait(self);
    return native_none(braid_graph_add_function(native_graph(self), data, (size_t)len, gradient, st), st);
}

PyObject *native_functions(PyObject *self, PyObject *args)
{
    (void)args;
    const braid_graph *g = native_graph(self);
    const int count = braid_graph_functions(g, NULL, 0);
    const char **names __attribute__((cleanup(native_free_array))) = calloc((size_t)count + 1, sizeof *names);
    if (!names) return PyErr_NoMemory();
    braid_graph_functions(g, names, count);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);
        if (!name || PyList_SetItem(list, i, name) < 0) Py_CLEAR(list);
    }
    return list;
}

PyObject *native_function_def(PyObject *self, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_function_def(native_graph(self), name, &len, st);
    return native_bytes(data, len, st);
}

PyObject *native_function_gradient(PyObject *self, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    const char *gradient = braid_function_gradient(native_graph(self), name);
    if (gradient) return PyUnicode_FromString(gradient);
    Py_RETURN_NONE;
}

// ---- Ops ----

PyObject *native_op_def(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_op_def(name, &len, st);
    return native_bytes(data, len, st);
}

PyObject *native_op_def_list(PyObject *module, PyObject *args)
{
    (void)module, (void)args;
    NATIVE_STATUS(st);
    size_t len = 0;
    void *data = braid_op_def_list(&len, st);
    return native_bytes(data, len, st);
}

PyObject *native_op_doc(PyObject *module, PyObject *args)
{
    (void)module;
    const char *name;
    if (!PyArg_ParseTuple(args, "z", &name)) return NULL;
    NATIVE_STATUS(st);
    char *page = braid_op_doc(name, st);
    if (!page) return native_raise(st);
    PyObject *text = PyUnicode_FromString(page);
    free(page);
    return text;
}
