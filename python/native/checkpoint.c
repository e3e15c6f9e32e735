// Reading checkpoints without a graph. Nothing holds the interpreter's lock while the disk works.
#include "native.h"
#include <braid/checkpoint_reader.h>

typedef struct {
    PyObject_HEAD braid_checkpoint_reader *reader;
    PyThread_type_lock mu; // held by the call that uses the reader's files
} reader_object;

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"prefix", NULL};
    const char *prefix;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", names, &prefix)) return NULL;
    reader_object *r = (reader_object *)PyType_GenericAlloc(type, 0);
    if (!r) return NULL;
    NATIVE_STATUS(st);
    r->mu = PyThread_allocate_lock();
    if (r->mu) {
        Py_BEGIN_ALLOW_THREADS r->reader = braid_checkpoint_reader_open(prefix, st);
        Py_END_ALLOW_THREADS if (!r->reader) native_raise(st);
    } else {
        PyErr_NoMemory();
    }
    if (r->reader) return (PyObject *)r;
    Py_DECREF(r);
    return NULL;
}

static void reader_dealloc(PyObject *self)
{
    reader_object *r = (reader_object *)self;
    braid_checkpoint_reader_close(r->reader);
    if (r->mu) PyThread_free_lock(r->mu);
    native_free(self);
}

static PyObject *entries(PyObject *self, PyObject *args)
{
    (void)args;
    int count;
    const braid_checkpoint_entry *all = braid_checkpoint_reader_list(((reader_object *)self)->reader, &count);
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *entry =
            Py_BuildValue("(siN)", all[i].name, (int)all[i].dtype, native_shape_tuple(all[i].shape));
        if (!entry || PyList_SetItem(list, i, entry) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *has_tensor(PyObject *self, PyObject *args)
{
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    return PyBool_FromLong(braid_checkpoint_reader_find(((reader_object *)self)->reader, name) != NULL);
}

static PyObject *read_tensor(PyObject *self, PyObject *args)
{
    reader_object *r = (reader_object *)self;
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    NATIVE_STATUS(st);
    braid_tensor *tensor;
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(r->mu, WAIT_LOCK);
    tensor = braid_checkpoint_reader_read(r->reader, name, st);
    PyThread_release_lock(r->mu);
    Py_END_ALLOW_THREADS return tensor ? native_tensor_new(tensor) : native_raise(st);
}

static PyObject *get_prefix(PyObject *self, void *closure)
{
    (void)closure;
    return PyUnicode_FromString(braid_checkpoint_reader_prefix(((reader_object *)self)->reader));
}

bool native_checkpoint_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"entries", entries, METH_NOARGS,
         "The tensors, as (name, type, shape), in the order of their names. A partitioned variable is one."},
        {"has_tensor", has_tensor, METH_VARARGS, "has_tensor(name): whether there is a tensor of that name."},
        {"read", read_tensor, METH_VARARGS, "read(name): the Tensor, put together of its slices."},
        {0},
    };
    static PyGetSetDef attributes[] = {
        {"prefix", get_prefix, NULL, "The prefix of the checkpoint: of a directory, that of its newest.",
         NULL},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc,
         "CheckpointReader(prefix): the tensors of a checkpoint of either format, or of the newest one of a "
         "directory."},
        {Py_tp_new, reader_new},
        {Py_tp_dealloc, reader_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, attributes},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "braid._native.CheckpointReader",
                               .basicsize = sizeof(reader_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    PyObject *type = native_add_type(module, &spec);
    Py_XDECREF(type);
    return type != NULL;
}
