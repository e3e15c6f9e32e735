// The MPI engine: the thread, its queue, and the plugin.
//
// States of the engine: new -> starting -> ready -> ending -> over, or starting -> failed. States of a
// message: posted (in the queue) -> in progress (a request of MPI) -> over (its function has run), or for a
// send -> lost.
#include "cluster/rpc/mpi_engine.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "cluster/rpc/mpi_plugin.h"
#include <dlfcn.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

// A send that is abandoned is received within this time, or never; likewise at the end.
#define LOST_AFTER_NS INT64_C(10000000000)
#define LAST_SENDS_NS INT64_C(1000000000)
// At the end, how long to wait for ranks that have not started MPI.
#define START_MS 10000
#define LOG_WAIT_AFTER_MS 1000
#define LIBRARY "braid/mpi.so"

typedef struct message {
    uint64_t id;
    bool is_send;
    int rank, tag, request; // request: once in progress
    void *data;
    size_t bytes;
    bd_mpi_done_fn fn;
    void *arg;
    int64_t lost_ns;      // of a send that was abandoned; 0: it was not
    struct message *next; // of the posted ones
} message;

struct bd_mpi {
    const bd_mpi_plugin *plugin;
    bool has_started; // the thread
    bd_thread thread;
    bd_event is_ready, is_over; // is_ready: or has failed
    bd_mutex mu;
    bd_cond changed;
    message *posted, **end;      // guarded by mu
    BD_ARRAY(uint64_t) given_up; // ids; guarded by mu
    bool is_ending;              // guarded by mu
    atomic_int size;             // 0 before it is ready, and when it has failed
    int rank;                    // set before `size`
    _Atomic uint64_t last_id;
    // Of the thread.
    BD_ARRAY(message *) active; // by request; NULL where there is none
    int active_count;
    uint64_t received, received_bytes; // whole messages
};

// ---- Messages ----

static void post(bd_mpi *m, const message *given)
{
    message *new = bd_memdup(given, sizeof *given);
    bd_mutex_lock(&m->mu);
    *m->end = new;
    m->end = &new->next;
    bd_cond_signal(&m->changed);
    bd_mutex_unlock(&m->mu);
}

uint64_t bd_mpi_next_id(bd_mpi *m)
{
    return atomic_fetch_add_explicit(&m->last_id, 1, memory_order_relaxed) + 1;
}

int bd_mpi_tag(uint64_t id)
{
    return (int)(id & BD_MPI_TAG_MAX); // so many receives are not in progress at a time
}

void bd_mpi_send(bd_mpi *m, uint64_t id, int rank, int tag, const void *data, size_t bytes, bd_mpi_done_fn fn,
                 void *arg)
{
    post(m, &(message){.id = id,
                       .is_send = true,
                       .rank = rank,
                       .tag = tag,
                       .data = (void *)data,
                       .bytes = bytes,
                       .fn = fn,
                       .arg = arg});
}

void bd_mpi_receive(bd_mpi *m, uint64_t id, int rank, void *data, size_t bytes, bd_mpi_done_fn fn, void *arg)
{
    post(m, &(message){.id = id,
                       .rank = rank,
                       .tag = bd_mpi_tag(id),
                       .data = data,
                       .bytes = bytes,
                       .fn = fn,
                       .arg = arg});
}

void bd_mpi_give_up(bd_mpi *m, uint64_t id)
{
    bd_mutex_lock(&m->mu);
    bd_array_push(&m->given_up, id);
    bd_cond_signal(&m->changed);
    bd_mutex_unlock(&m->mu);
}

int bd_mpi_size(const bd_mpi *m)
{
    return m ? atomic_load_explicit(&m->size, memory_order_acquire) : 0;
}

int bd_mpi_rank(const bd_mpi *m)
{
    return m->rank;
}

// ---- The thread ----

static void end_message(message *e, bool is_whole)
{
    e->fn(e->arg, is_whole);
    bd_free(e);
}

static void begin(bd_mpi *m, message *e)
{
    const char *error = e->is_send ? m->plugin->send(e->data, e->bytes, e->rank, e->tag, &e->request)
                                   : m->plugin->receive(e->data, e->bytes, e->rank, e->tag, &e->request);
    if (error) {
        bd_warn("MPI: a message of %zu bytes with rank %d: %s", e->bytes, e->rank, error);
        end_message(e, false);
        return;
    }
    while (m->active.len <= (size_t)e->request)
        bd_array_push(&m->active, NULL);
    m->active.items[e->request] = e;
    m->active_count++;
}

static void begin_all(bd_mpi *m, message *posted)
{
    while (posted) {
        message *e = posted;
        posted = e->next;
        begin(m, e);
    }
}

static message *find_active(const bd_mpi *m, uint64_t id)
{
    for (size_t r = 0; r < m->active.len; r++)
        if (m->active.items[r] && m->active.items[r]->id == id) return m->active.items[r];
    return NULL;
}

// Those that are over already have no message any more.
static void give_up_all(bd_mpi *m, const uint64_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        message *e = find_active(m, ids[i]);
        if (e && e->is_send)
            e->lost_ns = bd_now_ns() + LOST_AFTER_NS;
        else if (e)
            m->plugin->cancel(e->request);
    }
}

// Begins what is posted, and gives up what is to be; waits for messages if none is in progress. Returns false
// at the end.
static bool take_posted(bd_mpi *m)
{
    bd_mutex_lock(&m->mu);
    while (!m->posted && !m->is_ending && m->active_count == 0)
        bd_cond_wait(&m->changed, &m->mu);
    message *posted = m->posted;
    m->posted = NULL;
    m->end = &m->posted;
    uint64_t *ids = m->given_up.items; // of messages that were posted before
    const size_t count = m->given_up.len;
    m->given_up.items = NULL;
    m->given_up.len = m->given_up.cap = 0;
    const bool is_ending = m->is_ending;
    bd_mutex_unlock(&m->mu);
    begin_all(m, posted);
    give_up_all(m, ids, count);
    bd_free(ids);
    return !is_ending;
}

static message *take_active(bd_mpi *m, int request)
{
    message *e = m->active.items[request];
    m->active.items[request] = NULL;
    m->active_count--;
    return e;
}

// Ends what has been moved. Returns whether there was any.
static bool end_moved(bd_mpi *m)
{
    bool any = false, is_whole;
    int request;
    while (m->active_count > 0 && m->plugin->test(&request, &is_whole)) {
        message *e = take_active(m, request);
        if (is_whole && !e->is_send) {
            m->received++;
            m->received_bytes += e->bytes;
        }
        end_message(e, is_whole);
        any = true;
    }
    return any;
}

// Forgets a message that MPI may still use.
static void lose(bd_mpi *m, int request)
{
    message *e = take_active(m, request);
    bd_warn("MPI: rank %d has not received a message of %zu bytes", e->rank, e->bytes);
    m->plugin->drop(request);
    bd_free(e);
}

static void lose_abandoned(bd_mpi *m)
{
    for (size_t r = 0; r < m->active.len; r++) {
        const message *e = m->active.items[r];
        if (e && e->lost_ns && e->lost_ns < bd_now_ns()) lose(m, (int)r);
    }
}

static void progress(bd_mpi *m)
{
    if (end_moved(m)) return;
    lose_abandoned(m);
    sched_yield();
}

// Receives end at once, sends when they have been received.
static void end_active(bd_mpi *m)
{
    const int64_t deadline_ns = bd_now_ns() + LAST_SENDS_NS;
    for (size_t r = 0; r < m->active.len; r++) {
        message *e = m->active.items[r];
        if (e && e->is_send) e->lost_ns = deadline_ns;
        if (e && !e->is_send) m->plugin->cancel((int)r);
    }
    while (m->active_count > 0)
        progress(m);
}

static void run(void *arg)
{
    bd_mpi *m = arg;
    int size;
    const char *error = m->plugin->init(&m->rank, &size);
    if (error) {
        bd_warn("MPI does not start: %s. Large tensors go over gRPC", error);
        bd_event_set(&m->is_ready);
        bd_event_set(&m->is_over);
        return;
    }
    atomic_store_explicit(&m->size, size, memory_order_release);
    bd_info("MPI carries large tensors: this is rank %d of %d", m->rank, size);
    bd_event_set(&m->is_ready);
    while (take_posted(m))
        progress(m);
    end_active(m);
    bd_info("MPI has brought %" PRIu64 " tensors, %" PRIu64 " bytes, to rank %d", m->received,
            m->received_bytes, m->rank);
    m->plugin->finalize();
    bd_event_set(&m->is_over);
}

// ---- The plugin ----

// The plugin of an installation or a build: `self` is this library or program.
static void *open_beside(const char *self, const char *way)
{
    const char *slash = strrchr(self, '/');
    char *path = bd_asprintf("%.*s%s" LIBRARY, slash ? (int)(slash - self + 1) : 0, self, way);
    // MPI opens libraries of its own, which look for its symbols.
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    bd_free(path);
    return library;
}

// `path` NULL: where it is installed.
static void *open_library(const char *path)
{
    Dl_info self;
    if (path) return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!dladdr((void *)(uintptr_t)bd_mpi_new, &self) || !self.dli_fname) return NULL;
    void *library = open_beside(self.dli_fname, "");
    if (!library) library = open_beside(self.dli_fname, "../lib/");
    return library ? library : open_beside(self.dli_fname, "../" BD_INSTALL_LIBDIR "/"); // of Debian
}

// NULL: there is none, or one of another version. The library stays open: MPI leaves threads and handlers
// behind.
static const bd_mpi_plugin *find_plugin(const char *path)
{
    void *library = open_library(path);
    const bd_mpi_plugin *plugin = library ? dlsym(library, BD_MPI_PLUGIN_SYMBOL) : NULL;
    if (!plugin)
        bd_info("MPI is not used: %s", dlerror());
    else if (plugin->version != BD_MPI_PLUGIN_VERSION)
        bd_info("MPI is not used: its plugin is of another version of Braid");
    else
        return plugin;
    return NULL;
}

// ---- Beginning and end ----

bd_mpi *bd_mpi_new_with(const bd_mpi_plugin *plugin)
{
    bd_mpi *m = bd_calloc(1, sizeof *m);
    m->plugin = plugin;
    m->end = &m->posted;
    bd_mutex_init(&m->mu);
    bd_cond_init(&m->changed);
    bd_event_init(&m->is_ready);
    bd_event_init(&m->is_over);
    return m;
}

bd_mpi *bd_mpi_new(bool is_private)
{
    static atomic_bool has_been;
    const char *variable = getenv(BD_MPI_VARIABLE);
    const bool is_said = variable && variable[0], is_path = is_said && variable[1];
    if (is_said && strcmp(variable, "0") == 0) return NULL;
    if (is_private && !is_said) {
        bd_info("MPI is not used: it would carry tensors without encryption (" BD_MPI_VARIABLE
                "=1 allows it)");
        return NULL;
    }
    if (atomic_exchange(&has_been, true)) return NULL;
    const bd_mpi_plugin *plugin = find_plugin(is_path ? variable : NULL);
    return plugin ? bd_mpi_new_with(plugin) : NULL;
}

void bd_mpi_start(bd_mpi *m)
{
    BD_STATUS(st);
    m->has_started = !bd_thread_start(&m->thread, "bd-mpi", run, m, st);
    if (!m->has_started) bd_warn("MPI is not used: %s", st->message);
}

// Returns whether it has happened by then. Says after a moment that it waits.
static bool await(bd_event *e, int64_t deadline_ns, const char *what)
{
    if (bd_event_wait_until(e, bd_min(deadline_ns, bd_deadline_after_ms(LOG_WAIT_AFTER_MS)))) return true;
    bd_info("Waiting until all ranks %s MPI", what);
    return bd_event_wait_until(e, deadline_ns);
}

// Returns false when MPI_Init does not return, because a rank has not called it: the thread is left behind.
static bool stop(bd_mpi *m)
{
    if (!await(&m->is_ready, bd_deadline_after_ms(START_MS), "have started")) return false;
    bd_mutex_lock(&m->mu);
    m->is_ending = true;
    bd_cond_signal(&m->changed);
    bd_mutex_unlock(&m->mu);
    await(&m->is_over, BD_FOREVER, "have ended"); // mpirun ends this process when one of them fails
    bd_thread_join(&m->thread);
    return true;
}

void bd_mpi_end(bd_mpi *m)
{
    if (!m || (m->has_started && !stop(m))) return;
    bd_event_fini(&m->is_ready);
    bd_event_fini(&m->is_over);
    bd_array_free(&m->active);
    bd_array_free(&m->given_up);
    bd_cond_fini(&m->changed);
    bd_mutex_fini(&m->mu);
    bd_free(m);
}
