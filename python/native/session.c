// Sessions. Nothing holds the interpreter's lock while a step runs.
#include "native.h"
#include <stdlib.h>

typedef struct {
    PyObject_HEAD braid_session *session; // NULL: closed
    PyObject *graph;                      // keeps it
    int running;                          // calls that use the session
    PyThread_type_lock idle;              // held while there are any
} session_object;

// ---- Opening and closing ----

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"graph",
                            "target",
                            "inter_op_threads",
                            "intra_op_threads",
                            "allow_soft_placement",
                            "log_device_placement",
                            "isolate_session_state",
                            "operation_timeout_ms",
                            "open_timeout_ms",
                            "cpu_devices",
                            "disabled_rewrites",
                            NULL};
    braid_session_options o = {0};
    PyObject *graph;
    int soft = 0, log = 0, isolate = 0;
    long long timeout_ms = 0, open_ms = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|ziipppLLiI", names, &graph, &o.target,
                                     &o.inter_op_threads, &o.intra_op_threads, &soft, &log, &isolate,
                                     &timeout_ms, &open_ms, &o.cpu_devices, &o.disabled_rewrites))
        return NULL;
    braid_graph *g = native_graph(graph);
    if (!g) return NULL;
    o.allow_soft_placement = soft;
    o.log_device_placement = log;
    o.isolate_session_state = isolate;
    o.operation_timeout_ms = timeout_ms;
    o.open_timeout_ms = open_ms;
    session_object *s = (session_object *)PyType_GenericAlloc(type, 0);
    if (!s) return NULL;
    s->graph = graph;
    Py_INCREF(graph);
    s->idle = PyThread_allocate_lock();
    NATIVE_STATUS(st);
    braid_session *opened;
    Py_BEGIN_ALLOW_THREADS opened = braid_session_open(g, &o, st);
    Py_END_ALLOW_THREADS if (!opened)
    {
        Py_DECREF(s);
        return native_raise(st);
    }
    s->session = opened;
    return (PyObject *)s;
}

// Ends the calls of other threads and waits for their return.
static braid_code close_session(session_object *s, braid_status *st)
{
    braid_session *closing = s->session;
    braid_code code = BRAID_OK;
    s->session = NULL;
    if (!closing) return code;
    Py_BEGIN_ALLOW_THREADS braid_session_cancel(closing);
    PyThread_acquire_lock(s->idle, WAIT_LOCK);
    PyThread_release_lock(s->idle);
    code = braid_session_close(closing, st);
    Py_END_ALLOW_THREADS return code;
}

static PyObject *session_close(PyObject *self, PyObject *args)
{
    (void)args;
    NATIVE_STATUS(st);
    if (close_session((session_object *)self, st)) return native_raise(st);
    Py_RETURN_NONE;
}

static void session_dealloc(PyObject *self)
{
    session_object *s = (session_object *)self;
    NATIVE_STATUS(st);
    close_session(s, st);
    if (s->idle) PyThread_free_lock(s->idle);
    Py_XDECREF(s->graph);
    native_free(self);
}

// ---- Steps ----

// The arrays of a run. All are owned; the tensors of `feeds` are those of the Python objects.
typedef struct {
    braid_feed *feeds;
    braid_fetch *fetches;
    braid_tensor **fetched;
    braid_op **targets;
    Py_ssize_t feed_count, fetch_count, target_count;
} step;

static void step_free(step *s)
{
    for (Py_ssize_t i = 0; s->fetched && i < s->fetch_count; i++)
        braid_tensor_free(s->fetched[i]);
    free(s->feeds);
    free(s->fetches);
    free(s->fetched);
    free(s->targets);
}

static bool feed_of(PyObject *item, braid_feed *feed)
{
    PyObject *op, *tensor;
    int index;
    if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "OiO", &op, &index, &tensor)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a feed is a triple (Op, index, Tensor)");
        return false;
    }
    PyObject *pair = Py_BuildValue("(Oi)", op, index);
    const bool is_good = pair && native_out(pair, &feed->out) && (feed->value = native_tensor(tensor));
    Py_XDECREF(pair);
    return is_good;
}

// `feeds` is a tuple, the others are lists.
static bool step_init(step *s, PyObject *feeds, PyObject *fetches, PyObject *targets)
{
    *s = (step){.feed_count = PyTuple_Size(feeds),
                .fetch_count = PyList_Size(fetches),
                .target_count = PyList_Size(targets)};
    s->feeds = calloc((size_t)s->feed_count + 1, sizeof *s->feeds);
    s->fetches = calloc((size_t)s->fetch_count + 1, sizeof *s->fetches);
    s->fetched = calloc((size_t)s->fetch_count + 1, sizeof *s->fetched);
    s->targets = calloc((size_t)s->target_count + 1, sizeof *s->targets);
    if (!s->feeds || !s->fetches || !s->fetched || !s->targets) {
        PyErr_NoMemory();
        return false;
    }
    bool is_good = true;
    for (Py_ssize_t i = 0; is_good && i < s->feed_count; i++)
        is_good = feed_of(PyTuple_GetItem(feeds, i), &s->feeds[i]);
    for (Py_ssize_t i = 0; is_good && i < s->fetch_count; i++) {
        s->fetches[i].value = &s->fetched[i];
        is_good = native_out(PyList_GetItem(fetches, i), &s->fetches[i].out);
    }
    for (Py_ssize_t i = 0; is_good && i < s->target_count; i++)
        is_good = (s->targets[i] = native_op(PyList_GetItem(targets, i))) != NULL;
    return is_good;
}

static PyObject *take_fetched(step *s)
{
    PyObject *list = PyList_New(s->fetch_count);
    for (Py_ssize_t i = 0; list && i < s->fetch_count; i++) {
        PyObject *tensor = native_tensor_new(s->fetched[i]);
        s->fetched[i] = NULL;
        if (!tensor || PyList_SetItem(list, i, tensor) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *run_step(session_object *o, step *s, long long timeout_ms)
{
    const braid_run_args args = {.feeds = s->feeds,
                                 .feed_count = (int)s->feed_count,
                                 .fetches = s->fetches,
                                 .fetch_count = (int)s->fetch_count,
                                 .targets = s->targets,
                                 .target_count = (int)s->target_count,
                                 .timeout_ms = timeout_ms};
    NATIVE_STATUS(st);
    braid_session *session = o->session;
    braid_code code;
    if (o->running++ == 0) PyThread_acquire_lock(o->idle, WAIT_LOCK);
    Py_BEGIN_ALLOW_THREADS code = braid_session_run(session, &args, st);
    Py_END_ALLOW_THREADS if (--o->running == 0) PyThread_release_lock(o->idle);
    return code ? native_raise(st) : take_fetched(s);
}

static PyObject *run(PyObject *self, PyObject *args)
{
    session_object *o = (session_object *)self;
    PyObject *feeds, *fetches, *targets;
    long long timeout_ms = 0;
    if (!PyArg_ParseTuple(args, "O!O!O!|L", &PyList_Type, &feeds, &PyList_Type, &fetches, &PyList_Type,
                          &targets, &timeout_ms))
        return NULL;
    if (!o->session) {
        PyErr_SetString(PyExc_RuntimeError, "Attempted to use a closed Session.");
        return NULL;
    }
    PyObject *fed = PyList_AsTuple(feeds); // keeps the tensors whatever other threads do with the list
    if (!fed) return NULL;
    step s;
    PyObject *result = step_init(&s, fed, fetches, targets) ? run_step(o, &s, timeout_ms) : NULL;
    step_free(&s);
    Py_DECREF(fed);
    return result;
}

bool native_session_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"run", run, METH_VARARGS,
         "run(feeds, fetches, targets, timeout_ms=0): runs what the lists need. A feed is (Op, index, Tensor), a "
         "fetch (Op, index), a target an Op. Returns the fetched tensors."},
        {"close", session_close, METH_NOARGS,
         "Ends calls in progress and closes the session. Any number of times."},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Session(graph, target='', ...): the options are those of braid_session_options."},
        {Py_tp_new, session_new},
        {Py_tp_dealloc, session_dealloc},
        {Py_tp_methods, methods},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "braid._native.Session",
                               .basicsize = sizeof(session_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    PyObject *type = native_add_type(module, &spec);
    Py_XDECREF(type);
    return type != NULL;
}
