// The module braid._native: its types, and what they share.
#include "native.h"
#include <stdlib.h>
#include <string.h>

static PyObject *error_class;

void native_status_end(braid_status **status)
{
    braid_status_free(*status);
}

PyObject *native_raise(const braid_status *status)
{
    PyObject *args = Py_BuildValue("(is)", (int)braid_status_code(status), braid_status_message(status));
    if (args) PyErr_SetObject(error_class, args);
    Py_XDECREF(args);
    return NULL;
}

PyObject *native_none(braid_code code, const braid_status *st)
{
    if (code) return native_raise(st);
    Py_RETURN_NONE;
}

PyObject *native_bytes(void *data, size_t len, const braid_status *st)
{
    if (!data) return native_raise(st);
    PyObject *bytes = PyBytes_FromStringAndSize(data, (Py_ssize_t)len);
    free(data);
    return bytes;
}

// ---- Sequences ----

void native_free_array(void *array)
{
    free(*(void **)array);
}

void *native_map(PyObject *sequence, size_t size, bool (*fn)(PyObject *object, void *item), int *count)
{
    PyObject *tuple = PySequence_Tuple(sequence); // other threads may change a list
    if (!tuple) return NULL;
    const Py_ssize_t n = PyTuple_Size(tuple);
    char *items = n > INT32_MAX ? NULL : calloc((size_t)n + 1, size);
    bool is_good = items != NULL;
    if (!is_good) PyErr_NoMemory();
    for (Py_ssize_t i = 0; is_good && i < n; i++)
        is_good = fn(PyTuple_GetItem(tuple, i), items + (size_t)i * size);
    Py_DECREF(tuple);
    if (!is_good) {
        free(items);
        return NULL;
    }
    *count = (int)n;
    return items;
}

static bool text_item(PyObject *object, void *item)
{
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(object, &len);
    if (!text) return false;
    *(const char **)item = text;
    if ((size_t)len == strlen(text)) return true;
    PyErr_SetString(PyExc_ValueError, "a name has a zero in it");
    return false;
}

bool native_strings_init(native_strings *strings, PyObject *sequence)
{
    strings->kept = PySequence_Tuple(sequence);
    if (!strings->kept) return false;
    strings->items = native_map(strings->kept, sizeof *strings->items, text_item, &strings->count);
    return strings->items != NULL;
}

void native_strings_end(native_strings *strings)
{
    Py_XDECREF(strings->kept);
    free(strings->items);
}

// ---- Shapes ----

static bool dimension(PyObject *item, int64_t *out)
{
    *out = -1;
    if (item == Py_None) return true;
    PyObject *index = PyNumber_Index(item);
    if (index) *out = PyLong_AsLongLong(index);
    Py_XDECREF(index);
    return !PyErr_Occurred();
}

bool native_shape(PyObject *sequence, braid_shape *shape)
{
    *shape = (braid_shape){.rank = -1};
    if (sequence == Py_None) return true;
    const Py_ssize_t rank = PySequence_Size(sequence);
    if (rank < 0) return false;
    if (rank > BRAID_RANK_MAX) {
        PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions, not %zd", BRAID_RANK_MAX, rank);
        return false;
    }
    shape->rank = (int)rank;
    for (int i = 0; i < rank; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        const bool is_good = item && dimension(item, &shape->dims[i]);
        Py_XDECREF(item);
        if (!is_good) return false;
    }
    return true;
}

PyObject *native_shape_tuple(braid_shape shape)
{
    if (shape.rank < 0) Py_RETURN_NONE;
    PyObject *tuple = PyTuple_New(shape.rank);
    for (int i = 0; tuple && i < shape.rank; i++) {
        PyObject *item = PyLong_FromLongLong(shape.dims[i]);
        if (!item || PyTuple_SetItem(tuple, i, item) < 0) Py_CLEAR(tuple);
    }
    return tuple;
}

// ---- Types ----

PyObject *native_no_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)type, (void)args, (void)keywords;
    PyErr_SetString(PyExc_TypeError, "objects of this type are made by others");
    return NULL;
}

void native_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

PyObject *native_add_type(PyObject *module, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    if (!type) return NULL;
    const char *dot = strrchr(spec->name, '.');
    Py_INCREF(type); // of the caller
    if (PyModule_AddObject(module, dot + 1, type) == 0) return type;
    Py_DECREF(type);
    Py_DECREF(type);
    return NULL;
}

// ---- The module ----

static PyObject *version(PyObject *self, PyObject *args)
{
    (void)self, (void)args;
    return PyUnicode_FromString(braid_version());
}

PyMODINIT_FUNC PyInit__native(void)
{
    static PyMethodDef functions[] = {
        {"version", version, METH_NOARGS, "The version of Braid."},
        {"op_def", native_op_def, METH_VARARGS,
         "op_def(name): the definition of an op as the bytes of an OpDef."},
        {"op_def_list", native_op_def_list, METH_NOARGS,
         "The definitions of all ops as the bytes of an OpList, sorted by name."},
        {"op_doc", native_op_doc, METH_VARARGS,
         "op_doc(name): a page (Markdown) on an op; with * for any characters, on several; None: on all."},
        {"reset", (PyCFunction)(void (*)(void))native_reset, METH_VARARGS | METH_KEYWORDS,
         "reset(target, containers=(), device_filters=(), tls_dir=None, operation_timeout_ms=0): clears containers "
         "on the tasks of a cluster, and closes the sessions of its masters."},
        {"register_py_func", native_register_py_func, METH_VARARGS,
         "register_py_func(token, function): nodes PyFunc with this token call the function, which takes a list of "
         "Tensors and returns one. The token must be free."},
        {"unregister_py_func", native_unregister_py_func, METH_VARARGS,
         "unregister_py_func(token): nodes call the function no more."},
        {0},
    };
    static struct PyModuleDef definition = {
        .m_base = PyModuleDef_HEAD_INIT,
        .m_name = "braid._native",
        .m_doc = "Braid's C interface.",
        .m_size = -1,
        .m_methods = functions,
    };
    PyObject *module = PyModule_Create(&definition);
    if (!module) return NULL;
    error_class = PyErr_NewExceptionWithDoc(
        "braid._native.Error", "Error(code, message): a call has failed with a status.", NULL, NULL);
    Py_XINCREF(error_class);
    if (error_class && native_interrupt_init() && PyModule_AddObject(module, "Error", error_class) == 0 &&
        native_tensor_init(module) && native_graph_init(module) && native_op_init(module) &&
        native_session_init(module) && native_step_init(module) && native_record_init(module) &&
        native_server_init(module) && native_checkpoint_init(module))
        return module;
    Py_DECREF(module);
    return NULL;
}
