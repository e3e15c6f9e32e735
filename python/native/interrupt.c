// Ctrl-C: SIGINT ends the call of the engine in which Python's main thread is.
//
// Python notes a signal in a handler in C, and its main thread runs the handler in Python between two
// bytecodes: not while it is in a call. So SIGINT gets a handler here, which counts, wakes a thread of this
// module, and calls Python's. The thread cancels the call if SIGINT came after the call began and Python's
// handler is the one that raises KeyboardInterrupt. The call returns to the main thread, which runs that
// handler. A handler of the program's own, which may not raise at all, runs when the call has ended.
//
// `current` and what it points to are guarded by the interpreter's lock. A call costs some nanoseconds: the
// cancellation belongs to the session and is used again as long as it was not cancelled.
#include "native.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct native_interrupt {
    int refs;
    braid_cancellation *cancellation;
    bool is_cancelled;
};

enum {
    CALLS_MAX = 8, // inside each other: a step calls Python, which runs a step
    // How often the handler is looked for, in ms: signal.signal replaces it.
    LOOK_EVERY_MS = 10
};

static native_watch *current; // the innermost call of the main thread; NULL: none
static atomic_uint signals;   // how often SIGINT came
static sem_t came;
static struct sigaction before; // the handler that ours calls
static PyObject *getsignal, *default_handler, *main_thread;
static unsigned long main_ident;
static pid_t watched_pid; // the process that has the thread; 0: none
static int64_t looked_ms;

// ---- The signal ----

static void on_signal(int number, siginfo_t *info, void *context)
{
    const int kept = errno;
    atomic_fetch_add_explicit(&signals, 1, memory_order_relaxed);
    sem_post(&came);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
    errno = kept;
}

// Not where SIGINT is ignored or ends the process.
static void install_handler(void)
{
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) < 0) return;
    const bool has_info = now.sa_flags & SA_SIGINFO;
    if (has_info ? now.sa_sigaction == on_signal : now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN)
        return;
    before = now;
    now.sa_sigaction = on_signal;
    now.sa_flags |= SA_SIGINFO;
    sigaction(SIGINT, &now, NULL);
}

// ---- The thread ----

static void unref(native_interrupt *i)
{
    if (!i || --i->refs > 0) return;
    braid_cancellation_free(i->cancellation);
    free(i);
}

void native_interrupt_free(native_interrupt *interrupt)
{
    unref(interrupt);
}

static bool raises(void)
{
    PyObject *handler = PyObject_CallFunction(getsignal, "i", SIGINT);
    const bool is_default = handler == default_handler;
    Py_XDECREF(handler);
    PyErr_Clear();
    return is_default;
}

// Cancels the calls that were there when the signal came.
static void cancel_calls(void)
{
    native_interrupt *calls[CALLS_MAX];
    int count = 0;
    const unsigned now = atomic_load(&signals);
    if (!current || !raises()) return;
    for (native_watch *w = current; w && count < CALLS_MAX; w = w->outer) {
        if (w->seen == now || w->interrupt->is_cancelled) continue;
        w->interrupt->is_cancelled = true;
        w->interrupt->refs++;
        calls[count++] = w->interrupt;
    }
    Py_BEGIN_ALLOW_THREADS for (int i = 0; i < count; i++) braid_cancellation_cancel(calls[i]->cancellation);
    Py_END_ALLOW_THREADS for (int i = 0; i < count; i++) unref(calls[i]);
}

static void watch(void *unused)
{
    (void)unused;
    for (;;) {
        while (sem_wait(&came) < 0) // ends with the process
            ;
        if (!Py_IsInitialized()) return;
        const PyGILState_STATE state = PyGILState_Ensure();
        cancel_calls();
        PyGILState_Release(state);
    }
}

static void set_main_ident(void)
{
    PyObject *thread = PyObject_CallFunctionObjArgs(main_thread, NULL);
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    if (ident) main_ident = PyLong_AsUnsignedLong(ident);
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    PyErr_Clear();
}

// A fork leaves the thread behind.
static void look(void)
{
    if (watched_pid != getpid()) {
        watched_pid = getpid();
        set_main_ident();
        sem_init(&came, 0, 0);
        PyThread_start_new_thread(watch, NULL);
    }
    install_handler();
}

static void look_now_and_then(void)
{
    struct timespec t;
#ifdef CLOCK_MONOTONIC_COARSE
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
#else
    clock_gettime(CLOCK_MONOTONIC, &t);
#endif
    const int64_t now_ms = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
    if (watched_pid && now_ms - looked_ms < LOOK_EVERY_MS) return;
    looked_ms = now_ms;
    look();
}

// ---- Calls ----

static native_interrupt *interrupt_new(braid_session *session)
{
    native_interrupt *i = calloc(1, sizeof *i);
    if (!i) return NULL;
    i->refs = 1;
    i->cancellation = braid_cancellation_new(session);
    return i;
}

bool native_watch_begin(native_watch *w, native_interrupt **of, braid_session *session)
{
    w->interrupt = NULL;
    look_now_and_then();
    if (PyThread_get_thread_ident() != main_ident) return true;
    w->seen = atomic_load_explicit(&signals, memory_order_relaxed);
    if (PyErr_CheckSignals() < 0) return false; // what came before
    if (*of && (*of)->is_cancelled) {
        unref(*of);
        *of = NULL;
    }
    if (!*of) *of = interrupt_new(session);
    if (!*of) return true;
    w->interrupt = *of;
    w->interrupt->refs++;
    w->outer = current;
    current = w;
    return true;
}

braid_cancellation *native_watch_cancellation(const native_watch *w)
{
    return w->interrupt ? w->interrupt->cancellation : NULL;
}

bool native_watch_end(native_watch *w, bool has_failed)
{
    if (!w->interrupt) return true;
    current = w->outer;
    const bool is_cancelled = w->interrupt->is_cancelled;
    unref(w->interrupt);
    return (!is_cancelled && !has_failed) || PyErr_CheckSignals() == 0;
}

bool native_interrupt_init(void)
{
    PyObject *signal_module = PyImport_ImportModule("signal");
    PyObject *threading = PyImport_ImportModule("threading");
    if (signal_module && threading) {
        getsignal = PyObject_GetAttrString(signal_module, "getsignal");
        default_handler = PyObject_GetAttrString(signal_module, "default_int_handler");
        main_thread = PyObject_GetAttrString(threading, "main_thread");
    }
    Py_XDECREF(signal_module);
    Py_XDECREF(threading);
    return getsignal && default_handler && main_thread;
}
