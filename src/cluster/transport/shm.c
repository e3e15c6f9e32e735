// The shared-memory transport: its threads, its beginning and its end. See shm.h.
#include "cluster/transport/shm.h"
#include "base/alloc.h"
#include "base/shared_memory_variables.h"
#include "cluster/transport/shm_internal.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct reader {
    bd_shm *shm;
    int64_t idle_ns; // since when there has been nothing to do; 0: there was
    bd_poll_history history;
} reader;

// The next link with something to do from index *at on, with a reference; NULL: there is none.
static bd_shm_link *find_ready(bd_shm *shm, size_t *at)
{
    bd_shm_link *found = NULL;
    bd_mutex_lock(&shm->mu);
    for (; *at < shm->links.len && !found; ++*at) {
        bd_shm_link *l = shm->links.items[*at];
        if (atomic_load(&l->state) == BD_SHM_UP && bd_shm_pipe_is_ready(&l->pipe)) found = l;
    }
    if (found) bd_shm_link_ref(found);
    bd_mutex_unlock(&shm->mu);
    return found;
}

// Serves each link once. Returns whether there was something to do. A reader that sleeps goes on when this
// takes long; one that rests does so by itself.
static bool serve_all(bd_shm *shm, bool is_reader)
{
    bool any = false;
    size_t at = 0;
    for (bd_shm_link *l = find_ready(shm, &at); l; l = find_ready(shm, &at)) {
        const bool hands_over =
            atomic_load(&shm->sleeping) > 0 && (is_reader || !atomic_load(&shm->is_resting));
        if (hands_over) bd_shm_arm_bell(shm->bell);
        any |= bd_shm_link_serve(l);
        if (hands_over && !is_reader) bd_shm_disarm_bell(shm->bell);
        bd_shm_link_unref(l);
    }
    return any;
}

// While other threads poll, or have polled a moment ago, a reader rests: they find what arrives, and the
// bell need not ring. After a moment it looks for what they have left.
#define MOMENT_NS 200000

static bool others_poll(bd_shm *shm)
{
    return atomic_load(&shm->polling) > 0 || bd_now_ns() - atomic_load(&shm->polled_ns) < MOMENT_NS;
}

static void note_wait(reader *r)
{
    if (r->idle_ns) bd_poll_history_note(&r->history, bd_now_ns() - r->idle_ns);
    r->idle_ns = 0;
}

// Whether the reader is to look again, without sleeping.
static bool polls_on(reader *r)
{
    const int64_t now_ns = bd_now_ns();
    if (!r->idle_ns) r->idle_ns = now_ns;
    if (!bd_poll_history_pays(&r->history) || now_ns - r->idle_ns >= BD_POLL_NS || others_poll(r->shm))
        return false;
    sched_yield();
    return true;
}

static void rest(bd_shm *shm, unsigned rings)
{
    atomic_store(&shm->is_resting, true);
    bd_shm_await_bell(shm->bell, rings, MOMENT_NS);
    atomic_store(&shm->is_resting, false);
}

static void sleep_until_bell(bd_shm *shm, unsigned rings)
{
    size_t at = 0;
    bd_shm_arm_bell(shm->bell);
    bd_shm_link *ready = find_ready(shm, &at);
    if (ready)
        bd_shm_link_unref(ready);
    else
        bd_shm_await_bell(shm->bell, rings, BD_FOREVER); // ends with the transport, too
}

static void wait_for_work(bd_shm *shm)
{
    const unsigned rings = atomic_load(&shm->bell->rings); // before the look at what could be to do
    atomic_fetch_add(&shm->sleeping, 1);
    const bool is_ending = atomic_load(&shm->is_ending);
    if (!is_ending && others_poll(shm))
        rest(shm, rings);
    else if (!is_ending)
        sleep_until_bell(shm, rings);
    atomic_fetch_sub(&shm->sleeping, 1);
}

static void read_links(void *arg)
{
    reader r = {.shm = arg};
    while (!atomic_load(&r.shm->is_ending)) {
        if (serve_all(r.shm, true))
            note_wait(&r);
        else if (!polls_on(&r))
            wait_for_work(r.shm);
    }
}

static void begin_polling(void *arg)
{
    bd_shm *shm = arg;
    atomic_fetch_add(&shm->polling, 1);
    bd_shm_disarm_bell(shm->bell);
}

static bool poll_links(void *arg)
{
    return serve_all(arg, false);
}

static void end_polling(void *arg, bool is_done)
{
    bd_shm *shm = arg;
    size_t at = 0;
    atomic_store(&shm->polled_ns, is_done ? bd_now_ns() : 0);
    if (atomic_fetch_sub(&shm->polling, 1) > 1) return;
    if (is_done && atomic_load(&shm->is_resting)) return; // a reader will look
    bd_shm_arm_bell(shm->bell);
    bd_shm_link *ready = find_ready(shm, &at);
    if (!ready && !is_done) return;
    bd_shm_ring_bell(shm->bell);
    if (ready) bd_shm_link_unref(ready);
}

static braid_code start(bd_shm *shm, braid_status *st)
{
    shm->bell = bd_shm_create(sizeof *shm->bell, &shm->bell_fd, st);
    if (!shm->bell || bd_timers_new(&shm->timers, st) || bd_shm_watch_start(shm, st)) return st->code;
    shm->has_watcher = true;
    const int readers = (int)bd_min(bd_max(bd_cpu_count() / 2, 1), BD_SHM_READERS_MAX);
    while (!st->code && shm->reader_count < readers)
        if (!bd_thread_start(&shm->readers[shm->reader_count], "bd-shm", read_links, shm, st))
            shm->reader_count++;
    if (st->code) return st->code;
    shm->progress = (bd_progress){begin_polling, poll_links, end_polling, shm, NULL, 0};
    bd_progress_add(&shm->progress);
    shm->has_progress = true;
    return BRAID_OK;
}

braid_code bd_shm_begin(bd_shm *shm, braid_status *st)
{
    bd_mutex_lock(&shm->begin_mu);
    if (!shm->has_begun) {
        shm->has_begun = true;
        start(shm, &shm->failure);
    }
    if (shm->failure.code) bd_status_copy(st, &shm->failure);
    bd_mutex_unlock(&shm->begin_mu);
    return st->code;
}

static void end_all_links(bd_shm *shm)
{
    for (;;) {
        bd_mutex_lock(&shm->mu);
        bd_shm_link *l = shm->links.len ? shm->links.items[0] : NULL;
        if (l) bd_shm_link_ref(l);
        bd_mutex_unlock(&shm->mu);
        if (!l) return;
        bd_shm_link_end(l, "the transport has ended");
        bd_shm_link_unref(l);
    }
}

static void stop(bd_shm *shm)
{
    if (shm->has_progress) bd_progress_remove(&shm->progress);
    atomic_store(&shm->is_ending, true);
    if (shm->bell) bd_shm_wake_all(shm->bell);
    for (int i = 0; i < shm->reader_count; i++)
        bd_thread_join(&shm->readers[i]);
    if (shm->has_watcher) {
        bd_shm_wake_watcher(shm);
        bd_thread_join(&shm->watcher);
    }
}

// The base ends first: a call of it may still open a link.
static void shm_free(bd_transport *t)
{
    bd_shm *shm = BD_CONTAINER_OF(t, bd_shm, own);
    shm->base->free(shm->base);
    end_all_links(shm);
    if (shm->has_begun) stop(shm);
    end_all_links(shm); // that the watcher has accepted meanwhile
    bd_timers_free(shm->timers);
    if (shm->socket >= 0) close(shm->socket);
    if (shm->poll >= 0) close(shm->poll);
    if (shm->wake >= 0) close(shm->wake);
    if (shm->bell) close(shm->bell_fd);
    bd_shm_unmap(shm->bell, sizeof *shm->bell);
    bd_array_free(&shm->links);
    bd_array_free(&shm->guests);
    braid_status_clear(&shm->failure);
    bd_mutex_fini(&shm->begin_mu);
    bd_mutex_fini(&shm->mu);
    bd_free(shm);
}

int bd_shm_transport_links(bd_transport *t)
{
    if (t->free != shm_free) return 0;
    bd_shm *shm = BD_CONTAINER_OF(t, bd_shm, own);
    int count = 0;
    bd_mutex_lock(&shm->mu);
    for (size_t i = 0; i < shm->links.len; i++)
        count += atomic_load(&shm->links.items[i]->state) == BD_SHM_UP;
    bd_mutex_unlock(&shm->mu);
    return count;
}

bd_transport *bd_shm_transport_new(bd_transport *base, const bd_transport_limits *limits)
{
    const char *variable = getenv(BD_SHARED_MEMORY_VARIABLE);
    if (variable && strcmp(variable, "0") == 0) return base;
    bd_shm *shm = bd_calloc(1, sizeof *shm);
    shm->own = (bd_transport){
        .name = "shared memory",
        .listen = bd_shm_listen,
        .listener_close = bd_shm_listener_close,
        .listener_stop = bd_shm_listener_stop,
        .listener_free = bd_shm_listener_free,
        .connect = bd_shm_channel_new,
        .channel_close = bd_shm_channel_close,
        .call = bd_shm_call,
        .call_cancel = bd_shm_call_cancel,
        .call_release = bd_shm_call_release,
        .reply = bd_shm_reply,
        .on_end = bd_shm_on_end,
        .peer = bd_shm_peer,
        .caller = bd_shm_caller,
        .is_connected = bd_shm_is_connected,
        .free = shm_free,
    };
    shm->base = base;
    shm->limits = limits ? *limits : bd_transport_limits_default;
    shm->socket = shm->poll = shm->wake = -1;
    shm->last_ended = &shm->ended;
    bd_mutex_init(&shm->mu);
    bd_mutex_init(&shm->begin_mu);
    return &shm->own;
}
