// Importing a GraphDef into a part of a graph.
#include "native.h"
#include <stdlib.h>

// Of a control input the node is enough.
static bool mapped(PyObject *object, braid_out *out)
{
    if (PyTuple_Check(object)) return native_out(object, out);
    *out = (braid_out){.op = native_op(object)};
    return out->op != NULL;
}

typedef struct {
    braid_import_options options;
    PyObject *map_items; // keeps the names of the map
    braid_import_mapping *map;
    bool *unknown; // of the map
    braid_op **controls;
    native_strings return_outputs, return_ops;
    braid_out *outputs;
    braid_op **ops;
} import;

static void import_end(import *i)
{
    Py_XDECREF(i->map_items);
    free(i->map);
    free(i->unknown);
    free(i->controls);
    native_strings_end(&i->return_outputs);
    native_strings_end(&i->return_ops);
    free(i->outputs);
    free(i->ops);
}

static bool map_item(PyObject *object, void *item)
{
    braid_import_mapping *m = item;
    m->name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(object, 0), NULL);
    return m->name && mapped(PyTuple_GetItem(object, 1), &m->out);
}

static bool take_map(import *i, PyObject *map)
{
    if (!map) return true;
    i->map_items = PyDict_Items(map);
    i->map =
        i->map_items ? native_map(i->map_items, sizeof *i->map, map_item, &i->options.input_map_count) : NULL;
    i->options.input_map = i->map;
    return i->map != NULL;
}

static bool take_lists(import *i, PyObject *controls, PyObject *return_outputs, PyObject *return_ops)
{
    if ((controls && !native_ops(controls, &i->controls, &i->options.control_count)) ||
        (return_outputs && !native_strings_init(&i->return_outputs, return_outputs)) ||
        (return_ops && !native_strings_init(&i->return_ops, return_ops)))
        return false;
    i->options.controls = i->controls;
    i->options.return_outputs = i->return_outputs.items;
    i->options.return_output_count = i->return_outputs.count;
    i->options.return_ops = i->return_ops.items;
    i->options.return_op_count = i->return_ops.count;
    i->outputs = calloc((size_t)i->return_outputs.count + 1, sizeof *i->outputs);
    i->ops = calloc((size_t)i->return_ops.count + 1, sizeof *i->ops);
    i->unknown = calloc((size_t)i->options.input_map_count + 1, sizeof *i->unknown);
    if (i->outputs && i->ops && i->unknown) return true;
    PyErr_NoMemory();
    return false;
}

// Appends what it takes over. False: an exception is set.
static bool append(PyObject *list, PyObject *item)
{
    const bool is_good = list && item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return is_good;
}

static PyObject *results(const import *i, PyObject *graph)
{
    PyObject *outputs = PyList_New(0), *ops = PyList_New(0), *unknown = PyList_New(0);
    bool is_good = outputs && ops && unknown;
    for (int k = 0; is_good && k < i->return_outputs.count; k++)
        is_good = append(outputs, native_pair(graph, i->outputs[k].op, i->outputs[k].index));
    for (int k = 0; is_good && k < i->return_ops.count; k++)
        is_good = append(ops, native_op_new(graph, i->ops[k]));
    for (int k = 0; is_good && k < i->options.input_map_count; k++)
        if (i->unknown[k]) is_good = append(unknown, PyUnicode_FromString(i->map[k].name));
    if (is_good) return Py_BuildValue("(NNN)", outputs, ops, unknown);
    Py_XDECREF(outputs);
    Py_XDECREF(ops);
    Py_XDECREF(unknown);
    return NULL;
}

static PyObject *run_import(import *i, PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"data",     "prefix",         "uniquify_prefix", "uniquify_names", "input_map",
                            "controls", "return_outputs", "return_ops",      "default_device", NULL};
    const char *data;
    Py_ssize_t len;
    int uniquify_prefix = 0, uniquify_names = 0;
    PyObject *map = NULL, *controls = NULL, *return_outputs = NULL, *return_ops = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "y#|zppO!OOOz", names, &data, &len, &i->options.prefix,
                                     &uniquify_prefix, &uniquify_names, &PyDict_Type, &map, &controls,
                                     &return_outputs, &return_ops, &i->options.default_device) ||
        !take_map(i, map) || !take_lists(i, controls, return_outputs, return_ops))
        return NULL;
    i->options.uniquify_prefix = uniquify_prefix;
    i->options.uniquify_names = uniquify_names;
    const braid_import_results r = {i->outputs, i->ops, i->unknown};
    NATIVE_STATUS(st);
    native_graph_wait(self);
    if (braid_graph_import_with(native_graph(self), data, (size_t)len, &i->options, &r, st))
        return native_raise(st);
    return results(i, self);
}

PyObject *native_import_with(PyObject *self, PyObject *args, PyObject *keywords)
{
import i = {0 };
    PyObject *result = run_import(&i, self, args, keywords);
    import_end(&i);
    return result;
}
