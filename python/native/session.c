// Sessions. Nothing holds the interpreter's lock while a step runs.
#include "native.h"
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    PyObject_HEAD braid_session *session; // NULL: closed
    PyObject *graph;                      // keeps it
    native_calls calls;                   // that use the session
    native_interrupt *interrupt;          // of the main thread's calls; NULL: none yet
} session_object;

// ---- Calls in progress ----

bool native_calls_init(native_calls *c)
{
    c->process = getpid();
    c->idle = PyThread_allocate_lock();
    if (!c->idle) PyErr_NoMemory();
    return c->idle != NULL;
}

void native_calls_fini(native_calls *c)
{
    if (c->idle) PyThread_free_lock(c->idle);
}

bool native_calls_are_of_a_parent(const native_calls *c)
{
    return c->process != getpid();
}

void native_calls_enter(native_calls *c)
{
    if (c->running++ == 0) PyThread_acquire_lock(c->idle, WAIT_LOCK);
}

void native_calls_leave(native_calls *c)
{
    if (--c->running == 0) PyThread_release_lock(c->idle);
}

void native_calls_wait(native_calls *c)
{
    PyThread_acquire_lock(c->idle, WAIT_LOCK);
    PyThread_release_lock(c->idle);
}

// ---- Opening and closing ----

void native_session_options_end(native_session_options *o)
{
    native_strings_end(&o->filters);
    braid_cluster_free(o->cluster);
}

// False: an exception is set.
static bool read_cluster(native_session_options *o, const char *json)
{
    if (!json) return true;
    NATIVE_STATUS(st);
    o->options.cluster = o->cluster = braid_cluster_from_json(json, st);
    if (!o->cluster) native_raise(st);
    return o->cluster != NULL;
}

PyObject *native_session_options_parse(native_session_options *to, PyObject *args, PyObject *keywords)
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
                            "tls_dir",
                            "collective_leader",
                            "device_filters",
                            "cluster",
                            "shares_session_state",
                            "place_pruned_graph",
                            "enable_bfloat16_sendrecv",
                            NULL};
    braid_session_options *o = &to->options;
    PyObject *graph, *filters = NULL;
    const char *cluster = NULL; // JSON
    int soft = 0, log = 0, isolate = 0, shares = 0, pruned = 0, bfloat16 = 0;
    long long timeout_ms = 0, open_ms = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|ziipppLLiIzzOzppp", names, &graph, &o->target,
                                     &o->inter_op_threads, &o->intra_op_threads, &soft, &log, &isolate,
                                     &timeout_ms, &open_ms, &o->cpu_devices, &o->disabled_rewrites,
                                     &o->tls_dir, &o->collective_leader, &filters, &cluster, &shares, &pruned,
                                     &bfloat16) ||
        (filters && !native_strings_init(&to->filters, filters)) || !read_cluster(to, cluster))
        return NULL;
    o->allow_soft_placement = soft;
    o->log_device_placement = log;
    o->isolate_session_state = isolate;
    o->shares_session_state = shares;
    o->place_pruned_graph = pruned;
    o->enable_bfloat16_sendrecv = bfloat16;
    o->operation_timeout_ms = timeout_ms;
    o->open_timeout_ms = open_ms;
    o->device_filters = to->filters.items;
    o->device_filter_count = to->filters.count;
    return graph;
}

// False: an exception is set.
static bool open_session(session_object *s, braid_graph *g, braid_session_options *o)
{
    NATIVE_STATUS(st);
    native_interrupt *interrupt = NULL;
    native_watch w;
    bool is_good = native_watch_begin(&w, &interrupt, NULL);
    if (is_good) {
        o->cancellation = native_watch_cancellation(&w);
        Py_BEGIN_ALLOW_THREADS s->session = braid_session_open(g, o, st);
        Py_END_ALLOW_THREADS is_good = native_watch_end(&w, !s->session);
        if (is_good && !s->session) native_raise(st);
    }
    native_interrupt_free(interrupt);
    return is_good && s->session;
}

static PyObject *session_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    NATIVE_SESSION_OPTIONS(o);
    PyObject *graph = native_session_options_parse(&o, args, keywords);
    braid_graph *g = graph ? native_graph(graph) : NULL;
    if (!g) return NULL;
    session_object *s = (session_object *)PyType_GenericAlloc(type, 0);
    if (!s) return NULL;
    s->graph = graph;
    Py_INCREF(graph);
    if (native_calls_init(&s->calls) && open_session(s, g, &o.options)) return (PyObject *)s;
    Py_DECREF(s);
    return NULL;
}

// Ends the calls of other threads and waits for their return.
static braid_code close_session(session_object *s, braid_status *st)
{
    braid_session *closing = s->session;
    braid_code code = BRAID_OK;
    s->session = NULL;
    if (!closing || native_calls_are_of_a_parent(&s->calls)) return code;
    Py_BEGIN_ALLOW_THREADS braid_session_cancel(closing);
    native_calls_wait(&s->calls);
    code = braid_session_close(closing, st);
    Py_END_ALLOW_THREADS return code;
}

static PyObject *session_close(PyObject *self, PyObject *args)
{
    (void)args;
    NATIVE_STATUS(st);
    return native_none(close_session((session_object *)self, st), st);
}

static void session_dealloc(PyObject *self)
{
    session_object *s = (session_object *)self;
    NATIVE_STATUS(st);
    close_session(s, st);
    native_calls_fini(&s->calls);
    native_interrupt_free(s->interrupt);
    Py_XDECREF(s->graph);
    native_free(self);
}

braid_session *native_session_enter(PyObject *self)
{
    session_object *s = (session_object *)self;
    if (s->session)
        native_calls_enter(&s->calls);
    else
        PyErr_SetString(PyExc_RuntimeError, "Attempted to use a closed Session.");
    return s->session;
}

void native_session_leave(PyObject *self)
{
    native_calls_leave(&((session_object *)self)->calls);
}

native_interrupt **native_session_interrupt(PyObject *self, braid_session **open)
{
    session_object *s = (session_object *)self;
    *open = s->session;
    return &s->interrupt;
}

static PyObject *cancel(PyObject *self, PyObject *args)
{
    (void)args;
    braid_session *session = native_session_enter(self);
    if (!session) return NULL;
    Py_BEGIN_ALLOW_THREADS braid_session_cancel(session);
    Py_END_ALLOW_THREADS native_session_leave(self);
    Py_RETURN_NONE;
}

static PyObject *device_list(const braid_device_attributes *devices, int count)
{
    PyObject *list = PyList_New(count);
    for (int i = 0; list && i < count; i++) {
        PyObject *device =
            Py_BuildValue("(ssLK)", devices[i].name, devices[i].type, (long long)devices[i].memory_limit,
                          (unsigned long long)devices[i].incarnation);
        if (!device || PyList_SetItem(list, i, device) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *list_devices(PyObject *self, PyObject *args)
{
    (void)args;
    braid_session *session = native_session_enter(self);
    if (!session) return NULL;
    NATIVE_STATUS(st);
    const braid_device_attributes *devices;
    int count;
    braid_code code;
    Py_BEGIN_ALLOW_THREADS code = braid_session_list_devices(session, &devices, &count, st);
    Py_END_ALLOW_THREADS PyObject *list = code ? native_raise(st) : device_list(devices, count);
    native_session_leave(self);
    return list;
}

PyObject *native_reset(PyObject *module, PyObject *args, PyObject *keywords)
{
    (void)module;
    static char *names[] = {"target",  "containers",           "device_filters",
                            "tls_dir", "operation_timeout_ms", NULL};
    braid_session_options o = {0};
    PyObject *containers = NULL, *filters = NULL;
    long long timeout_ms = 0;
    NATIVE_STRINGS(contained);
    NATIVE_STRINGS(filtered);
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "z|OOzL", names, &o.target, &containers, &filters,
                                     &o.tls_dir, &timeout_ms) ||
        (containers && !native_strings_init(&contained, containers)) ||
        (filters && !native_strings_init(&filtered, filters)))
        return NULL;
    o.device_filters = filtered.items;
    o.device_filter_count = filtered.count;
    o.operation_timeout_ms = timeout_ms;
    NATIVE_STATUS(st);
    braid_code code;
    Py_BEGIN_ALLOW_THREADS code = braid_session_reset(&o, contained.items, contained.count, st);
    Py_END_ALLOW_THREADS return native_none(code, st);
}

// ---- Notifications ----

static PyObject *notify(PyObject *self, PyObject *args)
{
    const char *key;
    if (!PyArg_ParseTuple(args, "s", &key)) return NULL;
    braid_session *session = native_session_enter(self);
    if (!session) return NULL;
    NATIVE_STATUS(st);
    braid_code code;
    Py_BEGIN_ALLOW_THREADS code = braid_session_notify(session, key, st);
    Py_END_ALLOW_THREADS native_session_leave(self);
    return native_none(code, st);
}

static PyObject *wait_notification(PyObject *self, PyObject *args)
{
    braid_notification_wait wait = {0};
    long long seen, timeout_ms;
    if (!PyArg_ParseTuple(args, "sLL", &wait.key, &seen, &timeout_ms)) return NULL;
    wait.seen = seen;
    wait.timeout_ms = timeout_ms;
    braid_session *session = native_session_enter(self);
    if (!session) return NULL;
    NATIVE_STATUS(st);
    native_watch w;
    int64_t generation = 0;
    PyObject *result = NULL;
    if (native_watch_begin(&w, &((session_object *)self)->interrupt, session)) {
        wait.cancellation = native_watch_cancellation(&w);
        braid_code code;
        Py_BEGIN_ALLOW_THREADS code = braid_session_wait_notification(session, &wait, &generation, st);
        Py_END_ALLOW_THREADS if (native_watch_end(&w, code)) result =
            code ? native_raise(st) : PyLong_FromLongLong(generation);
    }
    native_session_leave(self);
    return result;
}

// ---- The type ----

bool native_session_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"run", (PyCFunction)(void (*)(void))native_run, METH_VARARGS | METH_KEYWORDS,
         "run(feeds, fetches, targets, timeout_ms=0, records=0, debug=None): runs what the lists need. A feed is (Op, index, "
         "Tensor), a fetch (Op, index), a target an Op. Returns the fetched tensors; with `records` (BRAID_RECORD_...) "
         "a pair of these and the bytes of a RunMetadata. `debug`: the bytes of DebugOptions."},
        {"make_callable", (PyCFunction)(void (*)(void))native_make_callable, METH_VARARGS | METH_KEYWORDS,
         "make_callable(feeds, fetches, targets, connections=(), timeout_ms=0, trace=False, debug=None): plans runs of what "
         "the lists need. A feed or fetch is (Op, index); of a connection (from, to), the consumers of `to` get "
         "`from`. Returns a Callable."},
        {"partial_run", native_partial_run, METH_VARARGS,
         "partial_run(feeds, fetches, targets): sets up a step that is fed and fetched in several calls, a "
         "PartialRun. A feed or fetch is (Op, index)."},
        {"list_devices", list_devices, METH_NOARGS,
         "The devices, as (name, type, memory limit, incarnation)."},
        {"notify", notify, METH_VARARGS, "notify(key): notifies all processes that wait for the key."},
        {"wait_notification", wait_notification, METH_VARARGS,
         "wait_notification(key, seen, timeout_ms): the number of the notification of the key after number `seen`; "
         "seen -1: of the last one, at once."},
        {"cancel", cancel, METH_NOARGS,
         "Ends calls in progress and later ones with an error; the session is then still to be closed."},
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
