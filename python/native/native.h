// The extension module braid._native: Braid's C interface for Python, as thin as can be.
//
// It is built for the stable ABI, so that one file serves all versions of Python from 3.9 on. All functions
// are called with the interpreter's lock held unless they say otherwise.
#ifndef BRAID_PYTHON_NATIVE_H
#define BRAID_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#define BRAID_NO_LOCATIONS // Python's lines count, not those of this module
#include <braid/braid.h>

// Buffers are part of the stable ABI from 3.11 on; since 3.0 they have had this layout, and the functions
// have been there.
#ifndef PyBUF_SIMPLE
typedef struct {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
} Py_buffer;
PyAPI_FUNC(int) PyObject_GetBuffer(PyObject *object, Py_buffer *view, int flags);
PyAPI_FUNC(void) PyBuffer_Release(Py_buffer *view);
#define PyBUF_WRITABLE 0x0001
#define PyBUF_FORMAT 0x0004
#define PyBUF_ND 0x0008
#define PyBUF_STRIDES (0x0010 | PyBUF_ND)
#define PyBUF_C_CONTIGUOUS (0x0020 | PyBUF_STRIDES)
#define Py_bf_getbuffer 1
#define Py_bf_releasebuffer 2
#endif

// ---- module.c ----

// Raises braid._native.Error(code, message) and returns NULL.
PyObject *native_raise(const braid_status *status);
// A status that ends with the block.
#define NATIVE_STATUS(st) braid_status *st __attribute__((cleanup(native_status_end))) = braid_status_new()
void native_status_end(braid_status **status);
// A shape from a sequence of integers, None or -1 for an unknown dimension; None: an unknown rank. False: an
// exception is set.
bool native_shape(PyObject *sequence, braid_shape *shape);
PyObject *native_shape_tuple(braid_shape shape); // the reverse
// Slots: of types that Python code cannot instantiate, and the end of tp_dealloc.
PyObject *native_no_new(PyTypeObject *type, PyObject *args, PyObject *keywords);
void native_free(PyObject *self);
// Makes a type and adds it to the module. NULL: an exception is set.
PyObject *native_add_type(PyObject *module, PyType_Spec *spec);

// ---- tensor.c ----

bool native_tensor_init(PyObject *module);
PyObject *native_tensor_new(braid_tensor *tensor); // takes the tensor over
// Borrowed; NULL: it is no Tensor, and TypeError is set.
const braid_tensor *native_tensor(PyObject *object);

// ---- graph.c ----

bool native_graph_init(PyObject *module);
braid_graph *native_graph(PyObject *object); // as native_tensor
braid_op *native_op(PyObject *object);
// An output from a pair (Op, index). False: an exception is set.
bool native_out(PyObject *pair, braid_out *out);

// ---- session.c ----

bool native_session_init(PyObject *module);

#endif
