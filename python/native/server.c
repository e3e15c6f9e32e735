// Servers: one task of a cluster in this process.
#include "native.h"
#include <stdlib.h>

typedef struct {
    PyObject_HEAD braid_server *server; // NULL: closed
    native_calls calls;                 // threads in braid_server_join
    bool has_failed;                    // its work
    bool only_serves;                   // it has none
} server_object;

// The options of a session from the arguments of Session but the graph. False: an exception is set.
static bool read_session_options(native_session_options *to, PyObject *keywords)
{
    PyObject *args = Py_BuildValue("(O)", Py_None);
    const bool is_good = args && native_session_options_parse(to, args, keywords);
    Py_XDECREF(args);
    return is_good;
}

static PyObject *server_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"cluster",         "job",
                            "index",           "inter_op_threads",
                            "cpu_devices",     "insecure",
                            "allow_users",     "file_roots",
                            "limits",          "monitoring_address",
                            "tls_dir",         "operation_timeout_ms",
                            "session_options", NULL};
    braid_server_options o = {0};
    NATIVE_SESSION_OPTIONS(sessions);
    PyObject *session_keywords = NULL;
    long long timeout_ms = 0;
    const char *cluster_json = NULL, *job = NULL;
    int index = 0, insecure = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|zziiipzzzzzLO!", names, &cluster_json, &job, &index,
                                     &o.inter_op_threads, &o.cpu_devices, &insecure, &o.allow_users,
                                     &o.file_roots, &o.limits, &o.monitoring_address, &o.tls_dir, &timeout_ms,
                                     &PyDict_Type, &session_keywords) ||
        (session_keywords && !read_session_options(&sessions, session_keywords)))
        return NULL;
    o.operation_timeout_ms = timeout_ms;
    o.insecure = insecure;
    o.session_options = &sessions.options;
    server_object *s = (server_object *)PyType_GenericAlloc(type, 0);
    if (!s) return NULL;
    if (!native_calls_init(&s->calls)) {
        Py_DECREF(s);
        return NULL;
    }
    NATIVE_STATUS(st);
    braid_cluster *cluster = cluster_json ? braid_cluster_from_json(cluster_json, st) : NULL;
    if (!cluster_json || cluster) {
        Py_BEGIN_ALLOW_THREADS s->server =
            cluster ? braid_server_start(cluster, job, index, &o, st) : braid_server_start_local(&o, st);
        Py_END_ALLOW_THREADS
    }
    braid_cluster_free(cluster);
    if (s->server) return (PyObject *)s;
    Py_DECREF(s);
    return native_raise(st);
}

// braid_server_free says that the work is done, but not of a server that was stopped before.
static void close_server(server_object *s)
{
    braid_server *closing = s->server;
    s->server = NULL;
    if (!closing || native_calls_are_of_a_parent(&s->calls)) return;
    const bool is_joined = s->calls.running > 0;
    if (is_joined && !s->has_failed && !s->only_serves) braid_server_done(closing);
    Py_BEGIN_ALLOW_THREADS if (is_joined) braid_server_stop(closing, 0);
    native_calls_wait(&s->calls);
    braid_server_free(closing);
    Py_END_ALLOW_THREADS
}

static PyObject *server_close(PyObject *self, PyObject *args)
{
    (void)args;
    close_server((server_object *)self);
    Py_RETURN_NONE;
}

static void server_dealloc(PyObject *self)
{
    server_object *s = (server_object *)self;
    if (s->calls.idle) close_server(s);
    native_calls_fini(&s->calls);
    native_free(self);
}

// The server, or NULL with an exception when it is closed.
static braid_server *server_of(PyObject *self)
{
    braid_server *server = ((server_object *)self)->server;
    if (!server) {
        PyErr_SetString(PyExc_RuntimeError, "the server is closed");
    } else if (native_calls_are_of_a_parent(&((server_object *)self)->calls)) {
        PyErr_SetString(PyExc_RuntimeError, "the server is one of the process that has forked this one");
        server = NULL;
    }
    return server;
}

// ---- Waiting for the end of the work ----

// A wait on a thread of its own, which the thread that asked for it may leave when a signal comes. Both hold
// it; the last frees it.
typedef struct {
    server_object *owner;
    braid_server *server;
    braid_status *status;
    braid_code code;
    PyThread_type_lock ended; // held until the wait has ended
    int holders;              // with the interpreter's lock held
} joining;

static void joining_release(joining *j)
{
    if (--j->holders > 0) return;
    PyThread_free_lock(j->ended);
    braid_status_free(j->status);
    Py_DECREF(j->owner);
    free(j);
}

static void join_thread(void *arg)
{
    joining *j = arg;
    j->code = braid_server_join(j->server, j->status);
    PyGILState_STATE state = PyGILState_Ensure();
    native_calls_leave(&j->owner->calls);
    PyThread_release_lock(j->ended);
    joining_release(j);
    PyGILState_Release(state);
}

// NULL: an exception is set.
static joining *joining_start(server_object *s)
{
    joining *j = calloc(1, sizeof *j);
    if (!j) return (joining *)PyErr_NoMemory();
    *j = (joining){.owner = s,
                   .server = s->server,
                   .status = braid_status_new(),
                   .ended = PyThread_allocate_lock(),
                   .holders = 2};
    Py_INCREF(s);
    PyThread_acquire_lock(j->ended, WAIT_LOCK);
    native_calls_enter(&s->calls);
    if (PyThread_start_new_thread(join_thread, j) != (unsigned long)-1) return j;
    native_calls_leave(&s->calls);
    j->holders = 1;
    joining_release(j);
    PyErr_SetString(PyExc_RuntimeError, "no thread could be started to wait for the server");
    return NULL;
}

static PyObject *server_join(PyObject *self, PyObject *args)
{
    (void)args;
    if (!server_of(self)) return NULL;
    joining *j = joining_start((server_object *)self);
    if (!j) return NULL;
    PyObject *result = NULL;
    for (;;) {
        PyLockStatus got;
        Py_BEGIN_ALLOW_THREADS got = PyThread_acquire_lock_timed(j->ended, -1, 1);
        Py_END_ALLOW_THREADS if (got == PY_LOCK_ACQUIRED)
        {
            result = j->code ? native_raise(j->status) : Py_BuildValue("");
            break;
        }
        if (PyErr_CheckSignals() < 0) break;
    }
    joining_release(j);
    return result;
}

// ---- The rest ----

static PyObject *server_failed(PyObject *self, PyObject *args)
{
    (void)args;
    braid_server *server = server_of(self);
    if (!server) return NULL;
    ((server_object *)self)->has_failed = true;
    braid_server_failed(server);
    Py_RETURN_NONE;
}

static PyObject *server_done(PyObject *self, PyObject *args)
{
    (void)args;
    braid_server *server = server_of(self);
    if (!server) return NULL;
    ((server_object *)self)->only_serves = false;
    braid_server_done(server);
    Py_RETURN_NONE;
}

static PyObject *server_only_serves(PyObject *self, PyObject *args)
{
    (void)args;
    braid_server *server = server_of(self);
    if (!server) return NULL;
    ((server_object *)self)->only_serves = true;
    braid_server_only_serves(server);
    Py_RETURN_NONE;
}

static PyObject *allow_files(PyObject *self, PyObject *args)
{
    const char *dir;
    braid_server *server = server_of(self);
    if (!server || !PyArg_ParseTuple(args, "s", &dir)) return NULL;
    NATIVE_STATUS(st);
    if (braid_server_allow_files(server, dir, st)) return native_raise(st);
    Py_RETURN_NONE;
}

static PyObject *get_target(PyObject *self, void *closure)
{
    (void)closure;
    braid_server *server = server_of(self);
    return server ? PyUnicode_FromString(braid_server_target(server)) : NULL;
}

static PyObject *get_is_chief(PyObject *self, void *closure)
{
    (void)closure;
    braid_server *server = server_of(self);
    return server ? PyBool_FromLong(braid_server_is_chief(server)) : NULL;
}

bool native_server_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"join", server_join, METH_NOARGS,
         "Blocks until the workers of the cluster are done or gone, or the server is closed. A signal's handler may end "
         "it by an exception."},
        {"done", server_done, METH_NOARGS, "Tells the other tasks that the work of this one is done."},
        {"only_serves", server_only_serves, METH_NOARGS,
         "Tells the other tasks that this one has no work of its own."},
        {"failed", server_failed, METH_NOARGS,
         "The work of this task has failed: close() then does not say done."},
        {"allow_files", allow_files, METH_VARARGS,
         "allow_files(dir): adds a directory whose files graphs may use on this server."},
        {"close", server_close, METH_NOARGS,
         "Ends the server, saying that its work is done unless it failed. Any number of times."},
        {0},
    };
    static PyGetSetDef attributes[] = {
        {"target", get_target, NULL, "The target of sessions, grpc://host:port.", NULL},
        {"is_chief", get_is_chief, NULL, "Whether its task is the chief of the cluster.", NULL},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc,
         "Server(cluster=None, job=None, index=0, ...): starts the server of a task. `cluster` is JSON, {\"ps\": "
         "[\"host:port\"]}; None: a cluster of one task on a free port. The options are those of "
         "braid_server_options."},
        {Py_tp_new, server_new},
        {Py_tp_dealloc, server_dealloc},
        {Py_tp_methods, methods},
        {Py_tp_getset, attributes},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "braid._native.Server",
                               .basicsize = sizeof(server_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    PyObject *type = native_add_type(module, &spec);
    Py_XDECREF(type);
    return type != NULL;
}
