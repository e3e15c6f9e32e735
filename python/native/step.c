// Runs of a session: steps, callables and partial runs. Nothing holds the interpreter's lock meanwhile.
#include "native.h"
#include <stdlib.h>
#include <string.h>

// ---- Steps ----

enum {
    VALUES_MAX = 16 // of a step whose arrays need no memory
};

// The arrays of a run; `feeds` of the Python objects keeps the tensors.
typedef struct {
    PyObject *fed; // a tuple
    braid_feed *feeds;
    braid_fetch *fetches;
    braid_tensor **fetched;
    braid_op **targets;
    Py_ssize_t feed_count, fetch_count, target_count;
    braid_run_metadata *metadata; // NULL: no record
    unsigned records;             // what it has, BRAID_RECORD_...
    braid_feed few_feeds[VALUES_MAX];
    braid_fetch few_fetches[VALUES_MAX];
    braid_tensor *few_fetched[VALUES_MAX];
    braid_op *few_targets[VALUES_MAX];
} step;

static void step_free(step *s)
{
    for (Py_ssize_t i = 0; s->fetched && i < s->fetch_count; i++)
        braid_tensor_free(s->fetched[i]);
    if (s->feeds != s->few_feeds) free(s->feeds);
    if (s->fetches != s->few_fetches) free(s->fetches);
    if (s->fetched != s->few_fetched) free(s->fetched);
    if (s->targets != s->few_targets) free(s->targets);
    braid_run_metadata_free(s->metadata);
    Py_XDECREF(s->fed);
}

static bool feed_of(PyObject *item, braid_feed *feed)
{
    if (!PyTuple_Check(item) || PyTuple_Size(item) != 3) {
        PyErr_SetString(PyExc_TypeError, "a feed is a triple (Op, index, Tensor)");
        return false;
    }
    return native_out_at(PyTuple_GetItem(item, 0), PyTuple_GetItem(item, 1), &feed->out) &&
           (feed->value = native_tensor(PyTuple_GetItem(item, 2)));
}

static void *array(void *few, Py_ssize_t count, size_t size)
{
    return count <= VALUES_MAX ? few : calloc((size_t)count, size);
}

// `feeds` is a tuple, the others are lists. False: an exception is set.
static bool step_init(step *s, PyObject *feeds, PyObject *fetches, PyObject *targets)
{
    s->feeds = NULL;
    s->fetches = NULL;
    s->fetched = NULL;
    s->targets = NULL;
    s->fed = PyList_AsTuple(feeds); // keeps the tensors whatever other threads do with the list
    if (!s->fed) return false;
    s->feed_count = PyTuple_Size(s->fed);
    s->fetch_count = PyList_Size(fetches);
    s->target_count = targets ? PyList_Size(targets) : 0;
    s->feeds = array(s->few_feeds, s->feed_count, sizeof *s->feeds);
    s->fetches = array(s->few_fetches, s->fetch_count, sizeof *s->fetches);
    s->fetched = array(s->few_fetched, s->fetch_count, sizeof *s->fetched);
    s->targets = array(s->few_targets, s->target_count, sizeof *s->targets);
    if (s->fetched) memset(s->fetched, 0, (size_t)s->fetch_count * sizeof *s->fetched);
    if (!s->feeds || !s->fetches || !s->fetched || !s->targets) {
        PyErr_NoMemory();
        return false;
    }
    bool is_good = true;
    for (Py_ssize_t i = 0; is_good && i < s->feed_count; i++)
        is_good = feed_of(PyTuple_GetItem(s->fed, i), &s->feeds[i]);
    for (Py_ssize_t i = 0; is_good && i < s->fetch_count; i++) {
        s->fetches[i].value = &s->fetched[i];
        is_good = native_out(PyList_GetItem(fetches, i), &s->fetches[i].out);
    }
    for (Py_ssize_t i = 0; is_good && i < s->target_count; i++)
        is_good = (s->targets[i] = native_op(PyList_GetItem(targets, i))) != NULL;
    return is_good;
}

// Begins to watch for Ctrl-C. False: an exception is set.
static bool watch(native_watch *w, PyObject *session)
{
    braid_session *open;
    native_interrupt **interrupt = native_session_interrupt(session, &open);
    w->interrupt = NULL;
    return !open || native_watch_begin(w, interrupt, open);
}

// Points `args` at the bytes of `debug`, DebugOptions or None. False: an exception is set.
static bool set_debug(PyObject *debug, const void **data, size_t *len)
{
    char *bytes;
    Py_ssize_t size;
    if (!debug || debug == Py_None) return true;
    if (PyBytes_AsStringAndSize(debug, &bytes, &size) < 0) return false;
    *data = bytes;
    *len = (size_t)size;
    return true;
}

static braid_run_args args_of(const step *s, long long timeout_ms)
{
    return (braid_run_args){.feeds = s->feeds,
                            .feed_count = (int)s->feed_count,
                            .fetches = s->fetches,
                            .fetch_count = (int)s->fetch_count,
                            .targets = s->targets,
                            .target_count = (int)s->target_count,
                            .timeout_ms = timeout_ms,
                            .metadata = s->metadata,
                            .records = s->records};
}

static PyObject *tensor_list(braid_tensor **tensors, Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t i = 0; list && i < count; i++) {
        PyObject *tensor = native_tensor_new(tensors[i]);
        tensors[i] = NULL;
        if (!tensor || PyList_SetItem(list, i, tensor) < 0) Py_CLEAR(list);
    }
    return list;
}

// The list of the tensors, which it takes; of a traced run with the record behind it.
static PyObject *result(braid_tensor **tensors, Py_ssize_t count, const braid_run_metadata *metadata)
{
    PyObject *list = tensor_list(tensors, count);
    if (!list || !metadata) return list;
    size_t len;
    const void *data = braid_run_metadata_data(metadata, &len);
    return Py_BuildValue("(Ny#)", list, data, (Py_ssize_t)len);
}

static PyObject *run_step(PyObject *session, step *s, long long timeout_ms, PyObject *debug)
{
    braid_run_args args = args_of(s, timeout_ms);
    if (!set_debug(debug, &args.debug_options, &args.debug_options_len)) return NULL;
    native_watch w;
    if (!watch(&w, session)) return NULL;
    args.cancellation = native_watch_cancellation(&w);
    NATIVE_STATUS(st);
    braid_code code = BRAID_OK;
    braid_session *open = native_session_enter(session);
    if (open) {
        Py_BEGIN_ALLOW_THREADS code = braid_session_run(open, &args, st);
        Py_END_ALLOW_THREADS native_session_leave(session);
    }
    if (!native_watch_end(&w, code) || !open) return NULL;
    return code ? native_raise(st) : result(s->fetched, s->fetch_count, s->metadata);
}

PyObject *native_run(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"feeds", "fetches", "targets", "timeout_ms", "records", "debug", NULL};
    PyObject *feeds, *fetches, *targets, *debug = NULL;
    long long timeout_ms = 0;
    unsigned records = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O!O!|LIO", names, &PyList_Type, &feeds, &PyList_Type,
                                     &fetches, &PyList_Type, &targets, &timeout_ms, &records, &debug))
        return NULL;
    step s;
    s.metadata = records ? braid_run_metadata_new() : NULL;
    s.records = records;
    PyObject *results = NULL;
    if (step_init(&s, feeds, fetches, targets)) results = run_step(self, &s, timeout_ms, debug);
    step_free(&s);
    return results;
}

// ---- Signatures ----

typedef struct {
    braid_signature of;
    braid_out *feeds, *fetches;
    braid_op **targets;
} signature;

static void signature_end(signature *s)
{
    free(s->feeds);
    free(s->fetches);
    free(s->targets);
}

static bool signature_init(signature *s, PyObject *feeds, PyObject *fetches, PyObject *targets)
{
    if (!native_outs(feeds, &s->feeds, &s->of.feed_count) ||
        !native_outs(fetches, &s->fetches, &s->of.fetch_count) ||
        !native_ops(targets, &s->targets, &s->of.target_count))
        return false;
    s->of.feeds = s->feeds;
    s->of.fetches = s->fetches;
    s->of.targets = s->targets;
    return true;
}

// ---- Callables ----

typedef struct {
    PyObject_HEAD braid_callable *callable; // NULL: closed
    PyObject *session;                      // keeps the graph
    native_calls calls;                     // that use the callable
    int feed_count, fetch_count;
    bool is_traced;
} callable_object;

static PyObject *callable_type;

static bool connection_item(PyObject *object, void *item)
{
    braid_connection *c = item;
    if (PyTuple_Check(object) && PyTuple_Size(object) == 2)
        return native_out(PyTuple_GetItem(object, 0), &c->from) &&
               native_out(PyTuple_GetItem(object, 1), &c->to);
    PyErr_SetString(PyExc_TypeError, "a connection is a pair of outputs (from, to)");
    return false;
}

static PyObject *callable_new(PyObject *session, const braid_signature *of, const braid_callable_options *o)
{
    callable_object *c = (callable_object *)PyType_GenericAlloc((PyTypeObject *)callable_type, 0);
    if (!c) return NULL;
    c->session = session;
    Py_INCREF(session);
    c->feed_count = of->feed_count;
    c->fetch_count = of->fetch_count;
    c->is_traced = o->is_traced;
    NATIVE_STATUS(st);
    braid_session *open = native_calls_init(&c->calls) ? native_session_enter(session) : NULL;
    if (open) {
        Py_BEGIN_ALLOW_THREADS c->callable = braid_callable_new(open, of, o, st);
        Py_END_ALLOW_THREADS native_session_leave(session);
        if (!c->callable) native_raise(st);
    }
    if (c->callable) return (PyObject *)c;
    Py_DECREF(c);
    return NULL;
}

PyObject *native_make_callable(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"feeds",      "fetches", "targets", "connections",
                            "timeout_ms", "trace",   "debug",   NULL};
    PyObject *feeds, *fetches, *targets, *connections = NULL, *debug = NULL;
    long long timeout_ms = 0;
    int trace = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO|OLpO", names, &feeds, &fetches, &targets,
                                     &connections, &timeout_ms, &trace, &debug))
        return NULL;
    braid_callable_options o = {.timeout_ms = timeout_ms, .is_traced = trace};
    if (!set_debug(debug, &o.debug_options, &o.debug_options_len)) return NULL;
    signature s __attribute__((cleanup(signature_end))) = {0};
    if (!signature_init(&s, feeds, fetches, targets)) return NULL;
    braid_connection *pairs __attribute__((cleanup(native_free_array))) = NULL;
    if (connections) {
        pairs = native_map(connections, sizeof *pairs, connection_item, &o.connection_count);
        if (!pairs) return NULL;
        o.connections = pairs;
    }
    return callable_new(self, &s.of, &o);
}

// The arrays of a run of a callable.
typedef struct {
    PyObject *fed; // keeps the tensors
    const braid_tensor **feeds, *few_feeds[VALUES_MAX];
    braid_tensor **fetches, *few_fetches[VALUES_MAX];
    int fetch_count;
} values;

static void values_end(values *v)
{
    for (int i = 0; v->fetches && i < v->fetch_count; i++)
        braid_tensor_free(v->fetches[i]);
    if (v->feeds != v->few_feeds) free(v->feeds);
    if (v->fetches != v->few_fetches) free(v->fetches);
    Py_XDECREF(v->fed);
}

static bool values_init(values *v, const callable_object *c, PyObject *list)
{
    v->feeds = NULL;
    v->fetches = NULL;
    v->fed = PySequence_Tuple(list);
    if (!v->fed) return false;
    if (PyTuple_Size(v->fed) != c->feed_count) {
        PyErr_Format(PyExc_ValueError, "the callable takes %d tensors, not %zd", c->feed_count,
                     PyTuple_Size(v->fed));
        return false;
    }
    v->fetch_count = c->fetch_count;
    v->feeds = array(v->few_feeds, c->feed_count, sizeof *v->feeds);
    v->fetches = array(v->few_fetches, c->fetch_count, sizeof *v->fetches);
    if (v->fetches) memset(v->fetches, 0, (size_t)c->fetch_count * sizeof *v->fetches);
    bool is_good = v->feeds && v->fetches;
    if (!is_good) PyErr_NoMemory();
    for (int i = 0; is_good && i < c->feed_count; i++)
        is_good = (v->feeds[i] = native_tensor(PyTuple_GetItem(v->fed, i))) != NULL;
    return is_good;
}

static PyObject *run_callable(callable_object *c, values *v)
{
    if (!c->callable) {
        PyErr_SetString(PyExc_RuntimeError, "the callable is closed");
        return NULL;
    }
    braid_run_metadata *metadata = c->is_traced ? braid_run_metadata_new() : NULL;
    PyObject *results = NULL;
    native_watch w;
    if (watch(&w, c->session)) {
        NATIVE_STATUS(st);
        braid_cancellation *cancellation = native_watch_cancellation(&w);
        braid_code code;
        native_calls_enter(&c->calls);
        Py_BEGIN_ALLOW_THREADS code =
            braid_callable_run_with(c->callable, v->feeds, v->fetches, metadata, cancellation, st);
        Py_END_ALLOW_THREADS native_calls_leave(&c->calls);
        if (native_watch_end(&w, code))
            results = code ? native_raise(st) : result(v->fetches, c->fetch_count, metadata);
    }
    braid_run_metadata_free(metadata);
    return results;
}

static PyObject *callable_run(PyObject *self, PyObject *feeds)
{
    callable_object *c = (callable_object *)self;
    values v;
    PyObject *results = values_init(&v, c, feeds) ? run_callable(c, &v) : NULL;
    values_end(&v);
    return results;
}

// Waits for the runs of other threads.
static void close_callable(callable_object *c)
{
    braid_callable *closing = c->callable;
    c->callable = NULL;
    if (!closing || native_calls_are_of_a_parent(&c->calls)) return;
    Py_BEGIN_ALLOW_THREADS native_calls_wait(&c->calls);
    braid_callable_free(closing);
    Py_END_ALLOW_THREADS
}

static PyObject *callable_close(PyObject *self, PyObject *args)
{
    (void)args;
    close_callable((callable_object *)self);
    Py_RETURN_NONE;
}

static void callable_dealloc(PyObject *self)
{
    callable_object *c = (callable_object *)self;
    close_callable(c);
    native_calls_fini(&c->calls);
    Py_XDECREF(c->session);
    native_free(self);
}

// ---- Partial runs ----

typedef struct {
    PyObject_HEAD braid_partial_run *run; // NULL: closed
    PyObject *session;                    // keeps the graph
    native_calls calls;                   // that use the run
} partial_object;

static PyObject *partial_type;

PyObject *native_partial_run(PyObject *self, PyObject *args)
{
    PyObject *feeds, *fetches, *targets;
    if (!PyArg_ParseTuple(args, "OOO", &feeds, &fetches, &targets)) return NULL;
    signature s __attribute__((cleanup(signature_end))) = {0};
    if (!signature_init(&s, feeds, fetches, targets)) return NULL;
    partial_object *p = (partial_object *)PyType_GenericAlloc((PyTypeObject *)partial_type, 0);
    if (!p) return NULL;
    p->session = self;
    Py_INCREF(self);
    NATIVE_STATUS(st);
    braid_session *open = native_calls_init(&p->calls) ? native_session_enter(self) : NULL;
    if (open) {
        Py_BEGIN_ALLOW_THREADS p->run = braid_partial_run_new(open, &s.of, st);
        Py_END_ALLOW_THREADS native_session_leave(self);
        if (!p->run) native_raise(st);
    }
    if (p->run) return (PyObject *)p;
    Py_DECREF(p);
    return NULL;
}

static PyObject *call_partial(partial_object *p, step *s, long long timeout_ms)
{
    braid_run_args args = args_of(s, timeout_ms);
    if (!p->run) {
        PyErr_SetString(PyExc_RuntimeError, "the partial run is closed");
        return NULL;
    }
    native_watch w;
    if (!watch(&w, p->session)) return NULL;
    args.cancellation = native_watch_cancellation(&w);
    NATIVE_STATUS(st);
    braid_code code;
    native_calls_enter(&p->calls);
    Py_BEGIN_ALLOW_THREADS code = braid_partial_run_call(p->run, &args, st);
    Py_END_ALLOW_THREADS native_calls_leave(&p->calls);
    if (!native_watch_end(&w, code)) return NULL;
    return code ? native_raise(st) : result(s->fetched, s->fetch_count, NULL);
}

static PyObject *partial_run(PyObject *self, PyObject *args)
{
    PyObject *feeds, *fetches;
    long long timeout_ms = 0;
    if (!PyArg_ParseTuple(args, "O!O!|L", &PyList_Type, &feeds, &PyList_Type, &fetches, &timeout_ms))
        return NULL;
    step s = {.metadata = NULL};
    PyObject *results =
        step_init(&s, feeds, fetches, NULL) ? call_partial((partial_object *)self, &s, timeout_ms) : NULL;
    step_free(&s);
    return results;
}

static void close_partial(partial_object *p)
{
    braid_partial_run *closing = p->run;
    p->run = NULL;
    if (!closing || native_calls_are_of_a_parent(&p->calls)) return;
    Py_BEGIN_ALLOW_THREADS native_calls_wait(&p->calls);
    braid_partial_run_free(closing);
    Py_END_ALLOW_THREADS
}

static PyObject *partial_close(PyObject *self, PyObject *args)
{
    (void)args;
    close_partial((partial_object *)self);
    Py_RETURN_NONE;
}

static void partial_dealloc(PyObject *self)
{
    partial_object *p = (partial_object *)self;
    close_partial(p);
    native_calls_fini(&p->calls);
    Py_XDECREF(p->session);
    native_free(self);
}

// ---- The types ----

static bool callable_type_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"run", callable_run, METH_O,
         "run(tensors): runs with the tensors as feeds. Returns the fetched tensors; when the runs are traced, a "
         "pair of these and the bytes of a RunMetadata."},
        {"close", callable_close, METH_NOARGS, "Waits for runs in progress and releases the callable."},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Runs of a session that are planned."},
        {Py_tp_new, native_no_new},
        {Py_tp_dealloc, callable_dealloc},
        {Py_tp_methods, methods},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "braid._native.Callable",
                               .basicsize = sizeof(callable_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    callable_type = native_add_type(module, &spec);
    return callable_type != NULL;
}

static bool partial_type_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"run", partial_run, METH_VARARGS,
         "run(feeds, fetches, timeout_ms=0): feeds (Op, index, Tensor), and returns the fetched tensors."},
        {"close", partial_close, METH_NOARGS, "Waits for calls in progress and cancels the step."},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc, "A step that is fed and fetched in several calls."},
        {Py_tp_new, native_no_new},
        {Py_tp_dealloc, partial_dealloc},
        {Py_tp_methods, methods},
        {0, NULL},
    };
    static PyType_Spec spec = {.name = "braid._native.PartialRun",
                               .basicsize = sizeof(partial_object),
                               .flags = Py_TPFLAGS_DEFAULT,
                               .slots = slots};
    partial_type = native_add_type(module, &spec);
    return partial_type != NULL;
}

bool native_step_init(PyObject *module)
{
    return callable_type_init(module) && partial_type_init(module);
}
