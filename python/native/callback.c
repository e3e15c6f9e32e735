// Functions of Python that nodes of a graph call (PyFunc): they take and return lists of Tensor.
//
// A call holds the interpreter's lock; a step that runs on the main thread has released it before. An
// exception becomes the error of the node.
#include "native.h"
#include <braid/callback.h>
#include <stdlib.h>
#include <string.h>

// ---- Exceptions as errors ----

// The code that TensorFlow gives to an exception of a function.
static braid_code code_of(PyObject *type)
{
    const struct {
        PyObject *type;
        braid_code code;
    } codes[] = {
        {PyExc_ValueError, BRAID_INVALID_ARGUMENT},       {PyExc_TypeError, BRAID_INVALID_ARGUMENT},
        {PyExc_StopIteration, BRAID_OUT_OF_RANGE},        {PyExc_MemoryError, BRAID_RESOURCE_EXHAUSTED},
        {PyExc_NotImplementedError, BRAID_UNIMPLEMENTED}, {PyExc_KeyboardInterrupt, BRAID_CANCELLED}};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (PyErr_GivenExceptionMatches(type, codes[i].type)) return codes[i].code;
    return BRAID_UNKNOWN;
}

// "TYPE: TEXT" and the lines of the traceback, a new string; NULL: an exception is set.
static PyObject *text_of(PyObject *type, PyObject *value, PyObject *traceback)
{
    PyObject *name = PyObject_GetAttrString(type, "__name__");
    PyObject *first = name ? PyUnicode_FromFormat("%U: %S\n", name, value) : NULL;
    PyObject *module = first ? PyImport_ImportModule("traceback") : NULL;
    PyObject *lines = module ? PyObject_CallMethod(module, "format_exception", "OOO", type, value,
                                                   traceback ? traceback : Py_None)
                             : NULL;
    PyObject *empty = lines ? PyUnicode_FromString("") : NULL;
    PyObject *rest = empty ? PyUnicode_Join(empty, lines) : NULL;
    PyObject *text = rest ? PyUnicode_Concat(first, rest) : NULL;
    if (!text && first) { // the first line is what counts
        PyErr_Clear();
        text = first;
        Py_INCREF(text);
    }
    Py_XDECREF(name);
    Py_XDECREF(first);
    Py_XDECREF(module);
    Py_XDECREF(lines);
    Py_XDECREF(empty);
    Py_XDECREF(rest);
    return text;
}

// Takes the exception that is set. Ctrl-C is to end the step, and not only the node.
static braid_code take_exception(braid_status *st)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    const braid_code code = code_of(type);
    PyObject *text = text_of(type, value, traceback);
    const char *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    braid_status_set(st, code, message ? message : "a function of Python has raised an exception");
    PyErr_Clear();
    if (PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt)) PyErr_SetInterrupt();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return code;
}

// ---- Calls ----

static PyObject *input_list(const braid_callback_call *call)
{
    PyObject *list = PyList_New(call->input_count);
    for (int i = 0; list && i < call->input_count; i++) {
        PyObject *tensor = native_tensor_new(braid_tensor_copy(call->inputs[i]));
        if (!tensor || PyList_SetItem(list, i, tensor) < 0) Py_CLEAR(list);
    }
    return list;
}

// False: an exception is set.
static bool take_outputs(const braid_callback_call *call, PyObject *outputs)
{
    PyObject *tuple = PySequence_Tuple(outputs);
    if (!tuple) return false;
    const Py_ssize_t count = PyTuple_Size(tuple);
    bool is_good = count == call->output_count;
    if (!is_good)
        PyErr_Format(PyExc_ValueError, "%s returns %zd values, but expects to see %d values.", call->token,
                     count, call->output_count);
    for (int i = 0; is_good && i < call->output_count; i++) {
        const braid_tensor *t = native_tensor(PyTuple_GetItem(tuple, i));
        is_good = t != NULL;
        if (is_good) call->outputs[i] = braid_tensor_copy(t);
    }
    Py_DECREF(tuple);
    return is_good;
}

static braid_code run(void *function, const braid_callback_call *call, braid_status *st)
{
    if (!Py_IsInitialized()) {
        braid_status_set(st, BRAID_CANCELLED, "Python has ended");
        return BRAID_CANCELLED;
    }
    const PyGILState_STATE state = PyGILState_Ensure();
    PyObject *inputs = input_list(call);
    PyObject *outputs = inputs ? PyObject_CallFunctionObjArgs(function, inputs, NULL) : NULL;
    const bool is_good = outputs && take_outputs(call, outputs);
    Py_XDECREF(inputs);
    Py_XDECREF(outputs);
    const braid_code code = is_good ? BRAID_OK : take_exception(st);
    PyGILState_Release(state);
    return code;
}

static void release(void *function)
{
    if (!Py_IsInitialized()) return;
    const PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF((PyObject *)function);
    PyGILState_Release(state);
}

PyObject *native_register_py_func(PyObject *module, PyObject *args)
{
    (void)module;
    const char *token;
    PyObject *function;
    if (!PyArg_ParseTuple(args, "sO", &token, &function)) return NULL;
    if (!PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "a callable is needed");
        return NULL;
    }
    NATIVE_STATUS(st);
    Py_INCREF(function);
    if (!braid_callback_register(token, run, function, release, st)) Py_RETURN_NONE;
    Py_DECREF(function);
    return native_raise(st);
}

PyObject *native_unregister_py_func(PyObject *module, PyObject *args)
{
    (void)module;
    const char *token;
    if (!PyArg_ParseTuple(args, "s", &token)) return NULL;
    braid_callback_unregister(token);
    Py_RETURN_NONE;
}
