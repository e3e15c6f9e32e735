// The MPI engine: the thread, its queue, and the plugin.
//
// States of the engine: starting -> ready -> ending -> over, or starting -> failed. States of a message:
// posted (in the queue) -> in progress (a request of MPI) -> over (its function has run).
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
#define LOG_WAIT_AFTER_MS 1000
#define LIBRARY "braid/mpi.so"

typedef struct message {
    bool is_send;
    int rank, tag, request; // request: once in progress
    void *data;
    size_t bytes;
    bd_mpi_done_fn fn;
    void *arg;
    int64_t lost_ns;      // of a send that was abandoned; 0: it was not
    struct message *next; // of the posted ones
} message;

// A receive to be cancelled or a send that is abandoned.
typedef struct given_up {
    const void *send; // its `arg`; NULL: a receive
    int tag;
} given_up;

struct bd_mpi {
    void *library;
    const bd_mpi_plugin *plugin;
    bd_thread thread;
    bd_event is_over;
    bd_mutex mu;
    bd_cond changed;
    message *posted, **end;      // guarded by mu
    BD_ARRAY(given_up) given_up; // guarded by mu
    bool is_ending;              // guarded by mu
    atomic_int size;             // 0 before it is ready, and when it has failed
    int rank;                    // set before `size`
    atomic_int next_tag;
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

int bd_mpi_next_tag(bd_mpi *m)
{
    // So many receives are not in progress at a time.
    return atomic_fetch_add_explicit(&m->next_tag, 1, memory_order_relaxed) & BD_MPI_TAG_MAX;
}

void bd_mpi_send(bd_mpi *m, int rank, int tag, const void *data, size_t bytes, bd_mpi_done_fn fn, void *arg)
{
    post(m, &(message){.is_send = true,
                       .rank = rank,
                       .tag = tag,
                       .data = (void *)data,
                       .bytes = bytes,
                       .fn = fn,
                       .arg = arg});
}

void bd_mpi_receive(bd_mpi *m, int rank, int tag, void *data, size_t bytes, bd_mpi_done_fn fn, void *arg)
{
    post(m, &(message){.rank = rank, .tag = tag, .data = data, .bytes = bytes, .fn = fn, .arg = arg});
}

static void give_up(bd_mpi *m, const given_up *which)
{
    bd_mutex_lock(&m->mu);
    bd_array_push(&m->given_up, *which);
    bd_cond_signal(&m->changed);
    bd_mutex_unlock(&m->mu);
}

void bd_mpi_cancel_receive(bd_mpi *m, int tag)
{
    give_up(m, &(given_up){.tag = tag});
}

void bd_mpi_abandon_send(bd_mpi *m, const void *arg)
{
    give_up(m, &(given_up){.send = arg});
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

static bool is_it(const message *e, const given_up *which)
{
    return which->send ? e->is_send && e->arg == which->send : !e->is_send && e->tag == which->tag;
}

static void give_up_all(bd_mpi *m, const given_up *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t r = 0; r < m->active.len; r++) {
            message *e = m->active.items[r];
            if (!e || !is_it(e, &list[i])) continue;
            if (e->is_send)
                e->lost_ns = bd_now_ns() + LOST_AFTER_NS;
            else
                m->plugin->cancel(e->request);
        }
}

// Begins what is posted and cancels what is to be; waits for either if nothing is in progress. Returns false
// at the end.
static bool take_posted(bd_mpi *m)
{
    bd_mutex_lock(&m->mu);
    while (!m->posted && !m->is_ending && m->active_count == 0)
        bd_cond_wait(&m->changed, &m->mu);
    message *posted = m->posted;
    m->posted = NULL;
    m->end = &m->posted;
    given_up *list = m->given_up.items; // messages that were posted before
    const size_t count = m->given_up.len;
    m->given_up.items = NULL;
    m->given_up.len = m->given_up.cap = 0;
    const bool is_ending = m->is_ending;
    bd_mutex_unlock(&m->mu);
    begin_all(m, posted);
    give_up_all(m, list, count);
    bd_free(list);
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
        return;
    }
    atomic_store_explicit(&m->size, size, memory_order_release);
    bd_info("MPI carries large tensors: this is rank %d of %d", m->rank, size);
    while (take_posted(m))
        progress(m);
    end_active(m);
    bd_info("MPI has brought %" PRIu64 " tensors, %" PRIu64 " bytes, to rank %d", m->received,
            m->received_bytes, m->rank);
    m->plugin->finalize();
    bd_event_set(&m->is_over);
}

// ---- The plugin ----

static const bd_mpi_plugin *plugin_of(void *library, const char *path)
{
    const bd_mpi_plugin *plugin = library ? dlsym(library, BD_MPI_PLUGIN_SYMBOL) : NULL;
    if (plugin && plugin->version == BD_MPI_PLUGIN_VERSION) return plugin;
    bd_info("MPI is not used: %s", !library ? dlerror() : path);
    return NULL;
}

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

static void *open_plugin(const char *variable)
{
    if (variable && variable[0]) return dlopen(variable, RTLD_NOW | RTLD_GLOBAL);
    Dl_info self;
    if (!dladdr((void *)(uintptr_t)bd_mpi_start, &self) || !self.dli_fname) return NULL;
    void *library = open_beside(self.dli_fname, "");
    return library ? library : open_beside(self.dli_fname, "../lib/");
}

bd_mpi *bd_mpi_start(void)
{
    static atomic_bool has_started;
    const char *variable = getenv(BD_MPI_VARIABLE);
    if ((variable && strcmp(variable, "0") == 0) || atomic_exchange(&has_started, true)) return NULL;
    void *library = open_plugin(variable);
    const bd_mpi_plugin *plugin = plugin_of(library, "the plugin is of another version of Braid");
    if (!plugin) return NULL;
    bd_mpi *m = bd_calloc(1, sizeof *m);
    m->library = library;
    m->plugin = plugin;
    m->end = &m->posted;
    bd_mutex_init(&m->mu);
    bd_cond_init(&m->changed);
    bd_event_init(&m->is_over);
    BD_STATUS(st);
    if (bd_thread_start(&m->thread, "bd-mpi", run, m, st)) {
        bd_warn("MPI is not used: %s", st->message);
        bd_free(m);
        return NULL;
    }
    return m;
}

void bd_mpi_end(bd_mpi *m)
{
    if (!m || bd_mpi_size(m) == 0) return; // MPI_Init waits for other ranks, perhaps for ever
    bd_mutex_lock(&m->mu);
    m->is_ending = true;
    bd_cond_signal(&m->changed);
    bd_mutex_unlock(&m->mu);
    if (!bd_event_wait_until(&m->is_over, bd_deadline_after_ms(LOG_WAIT_AFTER_MS)))
        bd_info("MPI ends when all ranks have ended: rank %d waits for the others", m->rank);
    bd_thread_join(&m->thread);
    bd_event_fini(&m->is_over);
    bd_array_free(&m->active);
    bd_array_free(&m->given_up);
    bd_cond_fini(&m->changed);
    bd_mutex_fini(&m->mu);
    bd_free(m); // the library stays: MPI leaves threads and handlers behind
}
