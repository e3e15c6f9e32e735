// Stops servers on SIGTERM and SIGINT.
//
// The handler writes to the pipe of each server that asked for it, which is all that a handler may do; a
// thread of each server reads its pipe and stops it. The previous handlers are restored when the last server
// is freed.
//
// A stop waits for kernels that run. Braid's own end early (base/interrupt.h); one that is inside a library
// does not, and one that changes variables is not cut off. The process does not wait for these longer than a
// limit: then it ends at once.
#include "cluster/server_signals.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/thread.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

// A process that runs more servers is a test.
#define SERVERS_MAX 64
// "SIGTERM ends any process cleanly within a second."
#define GRACE_MS 500
// "SIGTERM ends a server within three seconds whatever runs."
#define LIMIT_MS 2500

typedef struct watch {
    braid_server *server;
    int pipe[2];
    int signal; // that has arrived
    bd_event stopped;
    bd_thread thread;
} watch;

static bd_mutex mu = BD_MUTEX_INIT;
static watch *watches[SERVERS_MAX];         // guarded by mu
static _Atomic int write_ends[SERVERS_MAX]; // file descriptor + 1; 0: free. Read by the handler
static int watch_count;                     // guarded by mu
static struct sigaction before[2];          // guarded by mu
static const int signals[2] = {SIGTERM, SIGINT};

static void handle(int number)
{
    const int error = errno;
    const unsigned char byte = (unsigned char)number;
    for (int i = 0; i < SERVERS_MAX; i++) {
        const int fd = atomic_load_explicit(&write_ends[i], memory_order_acquire) - 1;
        if (fd >= 0 && write(fd, &byte, 1) < 0) continue; // full: it holds a byte already
    }
    errno = error;
}

static void end_in_time(void *arg)
{
    watch *w = arg;
    if (bd_event_wait_until(&w->stopped, bd_deadline_after_ms(LIMIT_MS))) return;
    bd_warn("A kernel still runs %.1f s after the signal: the process ends without it", LIMIT_MS / 1e3);
    _exit(128 + w->signal);
}

static void stop_in_time(watch *w)
{
    BD_STATUS(st);
    bd_thread limit;
    const bool is_limited = !bd_thread_start(&limit, "bd-stop-limit", end_in_time, w, st);
    if (!is_limited) bd_warn("The stop has no limit of time: %s", st->message);
    braid_server_stop(w->server, GRACE_MS);
    bd_event_set(&w->stopped);
    if (is_limited) bd_thread_join(&limit);
}

// Ends at a byte of 0, or when a signal has arrived.
static void wait_for_signal(void *arg)
{
    watch *w = arg;
    unsigned char byte = 0;
    ssize_t got;
    do
        got = read(w->pipe[0], &byte, 1);
    while (got < 0 && errno == EINTR);
    if (got != 1 || byte == 0) return;
    w->signal = byte;
    bd_info("%s: stopping", byte == SIGINT ? "SIGINT" : "SIGTERM");
    stop_in_time(w);
}

static int find_locked(const braid_server *server)
{
    for (int i = 0; i < SERVERS_MAX; i++)
        if (server ? watches[i] && watches[i]->server == server : !watches[i]) return i;
    return -1;
}

static void install_locked(void)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < BD_COUNTOF(signals); i++)
        sigaction(signals[i], &action, &before[i]);
}

static void uninstall_locked(void)
{
    for (size_t i = 0; i < BD_COUNTOF(signals); i++)
        sigaction(signals[i], &before[i], NULL);
}

static void watch_free(watch *w)
{
    close(w->pipe[0]);
    close(w->pipe[1]);
    bd_event_fini(&w->stopped);
    bd_free(w);
}

static watch *watch_new(braid_server *server, braid_status *st)
{
    watch *w = bd_calloc(1, sizeof *w);
    w->server = server;
    if (pipe2(w->pipe, O_CLOEXEC | O_NONBLOCK)) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "%s", strerror(errno));
        bd_free(w);
        return NULL;
    }
    bd_event_init(&w->stopped);
    fcntl(w->pipe[0], F_SETFL, 0); // the thread waits; the handler must not
    if (!bd_thread_start(&w->thread, "bd-signals", wait_for_signal, w, st)) return w;
    watch_free(w);
    return NULL;
}

void braid_server_stop_on_signals(braid_server *server)
{
    BD_STATUS(st);
    bd_mutex_lock(&mu);
    const int slot = find_locked(NULL);
    const bool is_new = find_locked(server) < 0 && slot >= 0;
    watch *w = is_new ? watch_new(server, st) : NULL;
    if (w) {
        watches[slot] = w;
        atomic_store_explicit(&write_ends[slot], w->pipe[1] + 1, memory_order_release);
        if (watch_count++ == 0) install_locked();
    }
    bd_mutex_unlock(&mu);
    if (is_new && !w) bd_warn("Signals will not stop the server cleanly: %s", st->message);
}

void bd_server_signals_off(braid_server *server)
{
    bd_mutex_lock(&mu);
    const int slot = find_locked(server);
    watch *w = slot >= 0 ? watches[slot] : NULL;
    if (w) {
        watches[slot] = NULL;
        atomic_store_explicit(&write_ends[slot], 0, memory_order_release);
        if (--watch_count == 0) uninstall_locked();
    }
    bd_mutex_unlock(&mu);
    if (!w) return;
    const unsigned char end = 0;
    if (write(w->pipe[1], &end, 1) < 0) BD_ASSERT(errno == EAGAIN); // full: it holds a byte already
    bd_thread_join(&w->thread);
    watch_free(w);
}
