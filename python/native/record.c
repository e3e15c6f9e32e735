// TFRecord files, and event files, which are such. Nothing holds the interpreter's lock while the disk works.
#include "native.h"
#include <braid/tfrecord.h>

typedef struct {
    PyObject_HEAD braid_record_writer *writer; // NULL: closed
    PyThread_type_lock mu;                     // held by the call that uses the writer
} writer_object;

typedef struct {
    PyObject_HEAD braid_record_reader *reader; // NULL: at the end
    PyThread_type_lock mu;                     // held by the call that uses the reader
} reader_object;

// The lock of a call, which may wait for another thread's.
static void enter(PyThread_type_lock mu)
{
    Py_BEGIN_ALLOW_THREADS PyThread_acquire_lock(mu, WAIT_LOCK);
    Py_END_ALLOW_THREADS
}

static bool is_compression(int compression)
{
    if (compression >= BRAID_COMPRESSION_NONE && compression <= BRAID_COMPRESSION_GZIP) return true;
    PyErr_SetString(PyExc_ValueError, "compression is 0 (none), 1 (ZLIB) or 2 (GZIP)");
    return false;
}

static bool path_and_compression(PyObject *args, PyObject *keywords, const char **path, int *compression)
{
    static char *names[] = {"path", "compression", NULL};
    *compression = BRAID_COMPRESSION_NONE;
    return PyArg_ParseTupleAndKeywords(args, keywords, "s|i", names, path, compression) &&
           is_compression(*compression);
}

// ---- Writing ----

static PyObject *writer_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"path",     "compression", "level",       "window_bits", "mem_level",
                            "strategy", "flush_mode",  "flush_bytes", NULL};
    const char *path;
    int compression = BRAID_COMPRESSION_NONE;
    braid_zlib_options o = BRAID_ZLIB_DEFAULTS;
    Py_ssize_t flush_bytes = (Py_ssize_t)o.flush_bytes;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|iiiiiin", names, &path, &compression, &o.level,
                                     &o.window_bits, &o.mem_level, &o.strategy, &o.flush_mode, &flush_bytes))
        return NULL;
    if (!is_compression(compression)) return NULL;
    o.flush_bytes = flush_bytes < 0 ? 0 : (size_t)flush_bytes;
    writer_object *w = (writer_object *)PyType_GenericAlloc(type, 0);
    if (!w) return NULL;
    NATIVE_STATUS(st);
    w->mu = PyThread_allocate_lock();
    Py_BEGIN_ALLOW_THREADS w->writer = braid_record_writer_open_zlib(path, compression, &o, st);
    Py_END_ALLOW_THREADS if (w->writer) return (PyObject *)w;
    Py_DECREF(w);
    return native_raise(st);
}

// None, or an exception: of the status, or that the file is closed. Ends what `enter` began.
static PyObject *leave(writer_object *w, braid_code code, const braid_status *st)
{
    bool is_closed = !w->writer;
    PyThread_release_lock(w->mu);
    if (!is_closed) return native_none(code, st);
    PyErr_SetString(PyExc_ValueError, "the writer is closed");
    return NULL;
}

static PyObject *writer_write(PyObject *self, PyObject *args)
{
    writer_object *w = (writer_object *)self;
    const char *data;
    Py_ssize_t len;
    if (!PyArg_ParseTuple(args, "y#", &data, &len)) return NULL;
    NATIVE_STATUS(st);
    braid_code code = BRAID_OK;
    enter(w->mu);
    Py_BEGIN_ALLOW_THREADS if (w->writer) code = braid_record_write(w->writer, data, (size_t)len, st);
    Py_END_ALLOW_THREADS return leave(w, code, st);
}

static PyObject *writer_flush(PyObject *self, PyObject *args)
{
    (void)args;
    writer_object *w = (writer_object *)self;
    NATIVE_STATUS(st);
    braid_code code = BRAID_OK;
    enter(w->mu);
    Py_BEGIN_ALLOW_THREADS if (w->writer) code = braid_record_writer_flush(w->writer, st);
    Py_END_ALLOW_THREADS return leave(w, code, st);
}

static PyObject *writer_close(PyObject *self, PyObject *args)
{
    (void)args;
    writer_object *w = (writer_object *)self;
    NATIVE_STATUS(st);
    braid_code code;
    enter(w->mu);
    Py_BEGIN_ALLOW_THREADS code = braid_record_writer_close(w->writer, st);
    w->writer = NULL;
    Py_END_ALLOW_THREADS PyThread_release_lock(w->mu);
    return native_none(code, st);
}

static void writer_dealloc(PyObject *self)
{
    writer_object *w = (writer_object *)self;
    NATIVE_STATUS(st);
    braid_record_writer_close(w->writer, st);
    if (w->mu) PyThread_free_lock(w->mu);
    native_free(self);
}

// ---- Reading ----

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    const char *path;
    int compression;
    if (!path_and_compression(args, keywords, &path, &compression)) return NULL;
    reader_object *r = (reader_object *)PyType_GenericAlloc(type, 0);
    if (!r) return NULL;
    NATIVE_STATUS(st);
    r->mu = PyThread_allocate_lock();
    Py_BEGIN_ALLOW_THREADS r->reader = braid_record_reader_open(path, compression, st);
    Py_END_ALLOW_THREADS if (r->reader) return (PyObject *)r;
    Py_DECREF(r);
    return native_raise(st);
}

static PyObject *reader_next(PyObject *self)
{
    reader_object *r = (reader_object *)self;
    NATIVE_STATUS(st);
    braid_code code = BRAID_OUT_OF_RANGE;
    const void *data;
    size_t len;
    PyObject *record = NULL;
    enter(r->mu);
    PyThreadState *state = PyEval_SaveThread();
    if (r->reader) code = braid_record_read(r->reader, &data, &len, st);
    PyEval_RestoreThread(state);
    if (code == BRAID_OK) {
        record = PyBytes_FromStringAndSize(data, (Py_ssize_t)len);
    } else if (code == BRAID_OUT_OF_RANGE) {
        braid_record_reader_close(r->reader);
        r->reader = NULL;
    } else {
        native_raise(st);
    }
    PyThread_release_lock(r->mu);
    return record;
}

static PyObject *reader_iter(PyObject *self)
{
    Py_INCREF(self);
    return self;
}

static void reader_dealloc(PyObject *self)
{
    reader_object *r = (reader_object *)self;
    braid_record_reader_close(r->reader);
    if (r->mu) PyThread_free_lock(r->mu);
    native_free(self);
}

bool native_record_init(PyObject *module)
{
    static PyMethodDef methods[] = {
        {"write", writer_write, METH_VARARGS, "write(record): appends bytes."},
        {"flush", writer_flush, METH_NOARGS, "Hands all records to the system."},
        {"close", writer_close, METH_NOARGS, "Finishes the file. Doing it again does nothing."},
        {0},
    };
    PyType_Slot writer_slots[] = {
        {Py_tp_doc,
         "RecordWriter(path, compression=0): makes or empties a TFRecord file. compression: 1 is ZLIB, "
         "2 is GZIP."},
        {Py_tp_new, writer_new},
        {Py_tp_dealloc, writer_dealloc},
        {Py_tp_methods, methods},
        {0},
    };
    PyType_Slot reader_slots[] = {
        {Py_tp_doc,
         "RecordReader(path, compression=0): an iterator of the records of a TFRecord file, as bytes."},
        {Py_tp_new, reader_new},
        {Py_tp_dealloc, reader_dealloc},
        {Py_tp_iter, reader_iter},
        {Py_tp_iternext, reader_next},
        {0},
    };
    PyType_Spec specs[] = {
        {"braid._native.RecordWriter", sizeof(writer_object), 0, Py_TPFLAGS_DEFAULT, writer_slots},
        {"braid._native.RecordReader", sizeof(reader_object), 0, Py_TPFLAGS_DEFAULT, reader_slots},
    };
    return native_add_type(module, &specs[0]) && native_add_type(module, &specs[1]);
}
