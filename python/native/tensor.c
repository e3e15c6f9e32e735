// Tensors over the memory of Python's buffers, and buffers over the memory of tensors.
#include "native.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    PyObject_HEAD braid_tensor *tensor;
    // What a buffer of it points to.
    Py_ssize_t shape[BRAID_RANK_MAX], strides[BRAID_RANK_MAX];
} tensor_object;

static PyObject *type;

// Of the struct module, as numpy understands them; bfloat16 is what its bits are as uint16.
static const char *const formats[] = {
    [BRAID_FLOAT] = "f",       [BRAID_DOUBLE] = "d", [BRAID_INT32] = "i",      [BRAID_UINT8] = "B",
    [BRAID_INT16] = "h",       [BRAID_INT8] = "b",   [BRAID_COMPLEX64] = "Zf", [BRAID_INT64] = "q",
    [BRAID_BOOL] = "?",        [BRAID_QINT8] = "b",  [BRAID_QUINT8] = "B",     [BRAID_QINT32] = "i",
    [BRAID_BFLOAT16] = "H",    [BRAID_QINT16] = "h", [BRAID_QUINT16] = "H",    [BRAID_UINT16] = "H",
    [BRAID_COMPLEX128] = "Zd", [BRAID_HALF] = "e",   [BRAID_UINT32] = "I",     [BRAID_UINT64] = "Q",
};

PyObject *native_tensor_new(braid_tensor *tensor)
{
    tensor_object *t = (tensor_object *)PyType_GenericAlloc((PyTypeObject *)type, 0);
    if (!t) {
        braid_tensor_free(tensor);
        return NULL;
    }
    t->tensor = tensor;
    const braid_shape shape = braid_tensor_shape(tensor);
    Py_ssize_t stride = (Py_ssize_t)braid_dtype_size(braid_tensor_dtype(tensor));
    for (int i = shape.rank - 1; i >= 0; i--) {
        t->shape[i] = shape.dims[i];
        t->strides[i] = stride;
        stride *= shape.dims[i];
    }
    return (PyObject *)t;
}

const braid_tensor *native_tensor(PyObject *object)
{
    if ((PyObject *)Py_TYPE(object) == type) return ((tensor_object *)object)->tensor;
    PyErr_SetString(PyExc_TypeError, "a braid._native.Tensor is needed");
    return NULL;
}

static void dealloc(PyObject *self)
{
    braid_tensor_free(((tensor_object *)self)->tensor);
    native_free(self);
}

// ---- From Python ----

// On any thread, with or without the lock, perhaps when Python has ended.
static void release_buffer(void *arg)
{
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    PyBuffer_Release(arg);
    PyGILState_Release(state);
    free(arg);
}

static PyObject *borrow(braid_dtype dtype, braid_shape shape, Py_buffer *view)
{
    NATIVE_STATUS(st);
    const int64_t count = braid_shape_num_elements(shape);
    const size_t size = braid_dtype_size(dtype);
    if (size == 0 || count < 0 || (size_t)view->len != (size_t)count * size) {
        PyErr_Format(PyExc_ValueError, "a buffer of %zd bytes is no tensor of this type and shape",
                     view->len);
        return NULL;
    }
    braid_tensor *t = braid_tensor_borrow(dtype, shape, view->buf, release_buffer, view, st);
    return t ? native_tensor_new(t) : native_raise(st);
}

static PyObject *from_buffer(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *object, *dims;
    int dtype;
    braid_shape shape;
    if (!PyArg_ParseTuple(args, "OiO", &object, &dtype, &dims) || !native_shape(dims, &shape)) return NULL;
    Py_buffer *view = calloc(1, sizeof *view);
    if (!view) return PyErr_NoMemory();
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS) < 0) {
        free(view);
        return NULL;
    }
    PyObject *made = borrow((braid_dtype)dtype, shape, view);
    if (!made && view->obj) {
        PyBuffer_Release(view);
        free(view);
    }
    return made;
}

static bool set_string(braid_tensor *t, Py_ssize_t i, PyObject *list)
{
    PyObject *item = PySequence_GetItem(list, i);
    char *data;
    Py_ssize_t len;
    const bool is_good = item && PyBytes_AsStringAndSize(item, &data, &len) == 0;
    if (is_good) braid_tensor_set_string(t, i, data, (size_t)len);
    Py_XDECREF(item);
    return is_good;
}

static PyObject *from_strings(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *list, *dims;
    braid_shape shape;
    if (!PyArg_ParseTuple(args, "OO", &list, &dims) || !native_shape(dims, &shape)) return NULL;
    const Py_ssize_t count = PySequence_Size(list);
    if (count < 0) return NULL;
    if (count != braid_shape_num_elements(shape))
        return PyErr_Format(PyExc_ValueError, "%zd strings are no tensor of this shape", count);
    NATIVE_STATUS(st);
    braid_tensor *t = braid_tensor_new(BRAID_STRING, shape, st);
    if (!t) return native_raise(st);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (set_string(t, i, list)) continue;
        braid_tensor_free(t);
        return NULL;
    }
    return native_tensor_new(t);
}

// ---- To Python ----

static PyObject *strings(PyObject *self, PyObject *args)
{
    (void)args;
    const braid_tensor *t = ((tensor_object *)self)->tensor;
    if (braid_tensor_dtype(t) != BRAID_STRING)
        return PyErr_Format(PyExc_TypeError, "a tensor of type %s has no strings",
                            braid_dtype_name(braid_tensor_dtype(t)));
    const int64_t count = braid_tensor_num_elements(t);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (int64_t i = 0; list && i < count; i++) {
        size_t len;
        const char *data = braid_tensor_string_at(t, i, &len);
        PyObject *item = PyBytes_FromStringAndSize(data, (Py_ssize_t)len);
        if (!item || PyList_SetItem(list, (Py_ssize_t)i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

// The content of a tensor may be that of a variable: it is written only where nothing else holds it.
static int get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    tensor_object *t = (tensor_object *)self;
    const braid_dtype dtype = braid_tensor_dtype(t->tensor);
    const bool has_format = (size_t)dtype < sizeof formats / sizeof formats[0] && formats[dtype];
    const bool is_writable = has_format && braid_tensor_is_exclusive(t->tensor);
    view->obj = NULL;
    if (!has_format || (flags & PyBUF_WRITABLE && !is_writable)) {
        PyErr_Format(PyExc_BufferError,
                     has_format ? "a tensor cannot be written" : "a tensor of type %s has no buffer",
                     braid_dtype_name(dtype));
        return -1;
    }
    *view = (Py_buffer){.buf = braid_tensor_data(t->tensor),
                        .obj = self,
                        .len = (Py_ssize_t)braid_tensor_bytes(t->tensor),
                        .itemsize = (Py_ssize_t)braid_dtype_size(dtype),
                        .readonly = !is_writable,
                        .ndim = braid_tensor_shape(t->tensor).rank,
                        .format = flags & PyBUF_FORMAT ? (char *)formats[dtype] : NULL,
                        .shape = flags & PyBUF_ND ? t->shape : NULL,
                        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? t->strides : NULL};
    Py_INCREF(self);
    return 0;
}

static PyObject *get_dtype(PyObject *self, void *closure)
{
    (void)closure;
    return PyLong_FromLong(braid_tensor_dtype(((tensor_object *)self)->tensor));
}

static PyObject *get_shape(PyObject *self, void *closure)
{
    (void)closure;
    return native_shape_tuple(braid_tensor_shape(((tensor_object *)self)->tensor));
}

static PyObject *text(PyObject *self)
{
    char *made = braid_tensor_text(((tensor_object *)self)->tensor, 1000);
    PyObject *string =
        made ? PyUnicode_DecodeUTF8(made, (Py_ssize_t)strlen(made), "replace") : PyErr_NoMemory();
    free(made);
    return string;
}

bool native_tensor_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"from_buffer", from_buffer, METH_VARARGS | METH_STATIC,
         "from_buffer(object, dtype, shape): a tensor over the memory of a contiguous buffer, without a copy. The "
         "buffer must not change as long as the tensor or a step uses it."},
        {"from_strings", from_strings, METH_VARARGS | METH_STATIC,
         "from_strings(list, shape): a tensor of type string from a flat list of bytes."},
        {"strings", strings, METH_NOARGS,
         "The elements of a tensor of type string, as a flat list of bytes."},
        {0},
    };
    static PyGetSetDef attributes[] = {
        {"dtype", get_dtype, NULL, "TensorFlow's number of the type (DataType).", NULL},
        {"shape", get_shape, NULL, "The dimensions.", NULL},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc,
         "A tensor. As a buffer it gives its memory, which can be written only where nothing else holds it."},
        {Py_tp_new, native_no_new},
        {Py_tp_dealloc, dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, attributes},
        {Py_tp_str, text},
        {Py_bf_getbuffer, get_buffer},
        {0, NULL},
    };
    static PyType_Spec spec = {
        .name = "braid._native.Tensor",
        .basicsize = sizeof(tensor_object),
        .flags = Py_TPFLAGS_DEFAULT,
        .slots = slots,
    };
    type = native_add_type(module, &spec);
    return type != NULL;
}
