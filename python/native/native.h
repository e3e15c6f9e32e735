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
#include <braid/attributes.h>
#include <braid/braid.h>
#include <braid/function.h>
#include <braid/graph_import.h>
#include <braid/op_list.h>
#include <sys/types.h>

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

// Of the stable ABI from 3.10 on; it has been there since 3.3. The text is kept by the object.
#if Py_LIMITED_API < 0x030A0000
PyAPI_FUNC(const char *) PyUnicode_AsUTF8AndSize(PyObject *unicode, Py_ssize_t *size);
#endif

// ---- module.c ----

// Raises braid._native.Error(code, message) and returns NULL.
PyObject *native_raise(const braid_status *status);
// A status that ends with the block.
#define NATIVE_STATUS(st) braid_status *st __attribute__((cleanup(native_status_end))) = braid_status_new()
void native_status_end(braid_status **status);
// None, or an exception if there is an error.
PyObject *native_none(braid_code code, const braid_status *st);
// Bytes from memory that it frees. NULL raises the status.
PyObject *native_bytes(void *data, size_t len, const braid_status *st);
// Makes an array with an item of `size` bytes, zero at first, for each object of a sequence, and stores their
// number. free() it. NULL: an exception is set, by `fn` when it returns false.
void *native_map(PyObject *sequence, size_t size, bool (*fn)(PyObject *object, void *item), int *count);
// For __attribute__((cleanup)) of a variable that is such an array or NULL.
void native_free_array(void *array);
// Strings of a sequence, which live until the end of the block.
typedef struct {
    const char **items;
    int count;
    PyObject *kept;
} native_strings;
#define NATIVE_STRINGS(s) native_strings s __attribute__((cleanup(native_strings_end))) = {0}
bool native_strings_init(native_strings *strings, PyObject *sequence); // false: an exception is set
void native_strings_end(native_strings *strings);
// The options of a session, which live until the end of the block.
typedef struct {
    braid_session_options options;
    native_strings filters;
    braid_cluster *cluster;
} native_session_options;
#define NATIVE_SESSION_OPTIONS(o)                                                                            \
    native_session_options o __attribute__((cleanup(native_session_options_end))) = {0}
// Reads the arguments of Session. The first of them, the graph (borrowed); NULL: an exception is set.
PyObject *native_session_options_parse(native_session_options *to, PyObject *args, PyObject *keywords);
void native_session_options_end(native_session_options *o);
// A shape from a sequence of integers, None or -1 for an unknown dimension; None: an unknown rank. False: an
// exception is set.
bool native_shape(PyObject *sequence, braid_shape *shape);
PyObject *native_shape_tuple(braid_shape shape); // the reverse
// Slots: of types that Python code cannot instantiate, and the end of tp_dealloc.
PyObject *native_no_new(PyTypeObject *type, PyObject *args, PyObject *keywords);
void native_free(PyObject *self);
// Makes a type and adds it to the module. NULL: an exception is set.
PyObject *native_add_type(PyObject *module, PyType_Spec *spec);

// ---- interrupt.c: Ctrl-C ----

// The cancellation of calls of the main thread.
typedef struct native_interrupt native_interrupt;
void native_interrupt_free(native_interrupt *interrupt); // NULL is accepted
// A call that SIGINT ends, when Python's main thread makes it.
typedef struct native_watch {
    struct native_watch *outer;
    native_interrupt *interrupt; // NULL: of another thread
    unsigned seen;               // signals that came before
} native_watch;
bool native_interrupt_init(void);
// Begins a call with the cancellation in `*of`, which it makes if need be: of a session, or (NULL) for
// opening one. False: a signal came before, whose exception is set.
bool native_watch_begin(native_watch *w, native_interrupt **of, braid_session *session);
braid_cancellation *native_watch_cancellation(const native_watch *w); // NULL: none
// False: an exception of a signal is set, and counts more than an error of the call.
bool native_watch_end(native_watch *w, bool has_failed);

// ---- callback.c: functions of the module ----

PyObject *native_register_py_func(PyObject *module, PyObject *args);
PyObject *native_unregister_py_func(PyObject *module, PyObject *args);

// ---- checkpoint.c ----

bool native_checkpoint_init(PyObject *module);

// ---- tensor.c ----

bool native_tensor_init(PyObject *module);
PyObject *native_tensor_new(braid_tensor *tensor); // takes the tensor over
// Borrowed; NULL: it is no Tensor, and TypeError is set.
const braid_tensor *native_tensor(PyObject *object);

// ---- graph.c ----

bool native_graph_init(PyObject *module);
braid_graph *native_graph(PyObject *object); // as native_tensor
// A walk builds gradients and calls Python meanwhile, in scopes of its own: other threads wait before they
// build. The thread of the walk does not.
void native_graph_wait(PyObject *graph);
void native_graph_begin_walk(PyObject *graph);
void native_graph_end_walk(PyObject *graph);

// ---- op.c ----

bool native_op_init(PyObject *module);
PyObject *native_op_new(PyObject *graph, braid_op *op);
braid_op *native_op(PyObject *object);   // as native_tensor
PyObject *native_op_graph(PyObject *op); // borrowed
PyObject *native_pair(PyObject *graph, braid_op *op, int index);
// An output from its Op and its index. False: an exception is set.
bool native_out_at(PyObject *op, PyObject *index, braid_out *out);
// An output from a pair (Op, index). False: an exception is set.
bool native_out(PyObject *pair, braid_out *out);
// Arrays of outputs or nodes from sequences; free() them. False: an exception is set, and they are NULL.
bool native_outs(PyObject *sequence, braid_out **outs, int *count);
bool native_ops(PyObject *sequence, braid_op ***ops, int *count);

// ---- gradient.c: methods of Graph and Op ----

PyObject *native_gradients(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *native_gradient_to_dense(PyObject *self, PyObject *gradient);
PyObject *native_op_gradient(PyObject *self, PyObject *args);

// ---- import.c: a method of Graph ----

PyObject *native_import_with(PyObject *self, PyObject *args, PyObject *keywords);

// ---- library.c: methods of Graph and functions of the module ----

PyObject *native_to_function(PyObject *self, PyObject *args);
PyObject *native_add_function(PyObject *self, PyObject *args);
PyObject *native_functions(PyObject *self, PyObject *args);
PyObject *native_function_def(PyObject *self, PyObject *args);
PyObject *native_function_gradient(PyObject *self, PyObject *args);
PyObject *native_op_def(PyObject *module, PyObject *args);
PyObject *native_op_def_list(PyObject *module, PyObject *args);
PyObject *native_op_doc(PyObject *module, PyObject *args);

// ---- session.c ----

bool native_session_init(PyObject *module);
// The session for a call, which ends with native_session_leave; NULL: it is closed, and an exception is set.
// Closing waits for the calls.
braid_session *native_session_enter(PyObject *session);
void native_session_leave(PyObject *session);

PyObject *native_reset(PyObject *module, PyObject *args, PyObject *keywords); // a function of the module

// Calls that use an object without the interpreter's lock. Closing the object waits for their end.
typedef struct {
    int running;
    PyThread_type_lock idle; // held while there are any
    pid_t process;           // that made the object
} native_calls;
bool native_calls_init(native_calls *c); // false: an exception is set
void native_calls_fini(native_calls *c);
void native_calls_enter(native_calls *c);
void native_calls_leave(native_calls *c);
void native_calls_wait(native_calls *c); // without the interpreter's lock
// Whether the object is a copy, made by fork, of a parent's: its threads are not here, and it is not closed.
bool native_calls_are_of_a_parent(const native_calls *c);

// Where a session keeps the cancellation of the main thread's calls, and the session; NULL: it is closed.
native_interrupt **native_session_interrupt(PyObject *session, braid_session **open);

// ---- step.c: methods of Session ----

bool native_step_init(PyObject *module);
PyObject *native_run(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *native_make_callable(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *native_partial_run(PyObject *self, PyObject *args);

// ---- record.c ----

bool native_record_init(PyObject *module);

// ---- server.c ----

bool native_server_init(PyObject *module);

#endif
