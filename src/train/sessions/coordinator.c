// Coordinators: threads that end together.
//
// A coordinator lives as long as its owner or one of its threads uses it: each holds a reference. A record of
// a thread belongs to the coordinator, which joins the thread when it has ended; if the coordinator's owner
// has gone before (is_orphan), the thread frees its record itself.
#include "train/sessions/coordinator.h"

#include "base/alloc.h"
#include "base/array.h"
#include "base/log.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "base/thread.h"

#define GRACE_DEFAULT_MS 120000 // as TensorFlow's stop_grace_period_secs

struct braid_coordinated_thread {
    braid_coordinator *coordinator;
    char *name;
    braid_coordinated_fn fn; // NULL: the program has started the thread
    void *arg;
    bd_thread thread; // of `fn`
    bool has_ended;   // guarded by the coordinator's mu
};

typedef BD_ARRAY(braid_coordinated_thread *) thread_list;

struct braid_coordinator {
    bd_mutex mu;
    bd_cond changed;     // a stop was requested, or a thread has ended
    atomic_bool stop;    // written under mu
    braid_status status; // of the request; guarded by mu
    thread_list threads; // guarded by mu
    int references;      // guarded by mu
    bool is_orphan;      // the owner has freed it; guarded by mu
    train_stop_fn *on_stop;
    void *on_stop_arg;
};

braid_coordinator *braid_coordinator_new(void)
{
    braid_coordinator *c = bd_calloc(1, sizeof *c);
    bd_mutex_init(&c->mu);
    bd_cond_init(&c->changed);
    c->references = 1;
    return c;
}

void train_coordinator_on_stop(braid_coordinator *c, train_stop_fn *fn, void *arg)
{
    c->on_stop = fn;
    c->on_stop_arg = arg;
}

// ---- Stopping ----

static bool is_clean(const braid_status *why)
{
    return !why || why->code == BRAID_OK || why->code == BRAID_OUT_OF_RANGE || why->code == BRAID_CANCELLED;
}

void braid_coordinator_request_stop(braid_coordinator *c, const braid_status *why)
{
    bd_mutex_lock(&c->mu);
    const bool is_first = !c->stop;
    if (is_first && !is_clean(why)) bd_status_copy(&c->status, why);
    c->stop = true;
    bd_cond_broadcast(&c->changed);
    bd_mutex_unlock(&c->mu);
    if (!is_first || !c->on_stop) return;
    static const braid_status ok;
    c->on_stop(c->on_stop_arg, is_clean(why) ? &ok : why);
}

bool braid_coordinator_should_stop(const braid_coordinator *c)
{
    return c->stop;
}

bool braid_coordinator_wait_for_stop(braid_coordinator *c, int64_t timeout_ms)
{
    const int64_t deadline = timeout_ms < 0 ? BD_FOREVER : bd_deadline_after_ms(timeout_ms);
    bd_mutex_lock(&c->mu);
    while (!c->stop && !bd_cond_wait_until(&c->changed, &c->mu, deadline)) {}
    const bool stop = c->stop;
    bd_mutex_unlock(&c->mu);
    return stop;
}

void braid_coordinator_clear_stop(braid_coordinator *c)
{
    bd_mutex_lock(&c->mu);
    c->stop = false;
    braid_status_clear(&c->status);
    bd_mutex_unlock(&c->mu);
}

braid_code braid_coordinator_status(const braid_coordinator *coordinator, braid_status *status)
{
    braid_coordinator *c = (braid_coordinator *)coordinator; // for its lock
    bd_mutex_lock(&c->mu);
    const braid_code code = c->status.code;
    if (status) bd_status_copy(status, &c->status);
    bd_mutex_unlock(&c->mu);
    return code;
}

// ---- The lives of threads ----

static braid_coordinated_thread *add_thread(braid_coordinator *c, const char *name, braid_coordinated_fn fn,
                                            void *arg)
{
    braid_coordinated_thread *t = bd_calloc(1, sizeof *t);
    *t = (braid_coordinated_thread){
        .coordinator = c, .name = bd_strdup(name ? name : "braid-coordinated"), .fn = fn, .arg = arg};
    bd_mutex_lock(&c->mu);
    bd_array_push(&c->threads, t);
    c->references++;
    bd_mutex_unlock(&c->mu);
    return t;
}

static void free_thread(braid_coordinated_thread *t)
{
    bd_free(t->name);
    bd_free(t);
}

static void free_coordinator(braid_coordinator *c)
{
    bd_array_free(&c->threads);
    bd_status_fini(&c->status);
    bd_cond_fini(&c->changed);
    bd_mutex_fini(&c->mu);
    bd_free(c);
}

// The last that a thread does with its record and with the coordinator.
static void end_thread(braid_coordinated_thread *t)
{
    braid_coordinator *c = t->coordinator;
    bd_mutex_lock(&c->mu);
    t->has_ended = true;
    const bool is_orphan = c->is_orphan, is_last = --c->references == 0;
    bd_cond_broadcast(&c->changed);
    bd_mutex_unlock(&c->mu);
    if (is_orphan) free_thread(t);
    if (is_last) free_coordinator(c);
}

// Takes the threads that have ended off the list.
static thread_list take_ended_locked(braid_coordinator *c)
{
    thread_list ended = {0};
    size_t kept = 0;
    for (size_t i = 0; i < c->threads.len; i++) {
        braid_coordinated_thread *t = c->threads.items[i];
        if (t->has_ended)
            bd_array_push(&ended, t);
        else
            c->threads.items[kept++] = t;
    }
    c->threads.len = kept;
    return ended;
}

static void join_ended(thread_list *ended)
{
    for (size_t i = 0; i < ended->len; i++) {
        if (ended->items[i]->fn) bd_thread_join(&ended->items[i]->thread);
        free_thread(ended->items[i]);
    }
    bd_array_free(ended);
}

void braid_coordinator_free(braid_coordinator *c)
{
    if (!c) return;
    braid_coordinator_request_stop(c, NULL);
    bd_mutex_lock(&c->mu);
    thread_list ended = take_ended_locked(c);
    c->is_orphan = true;
    const bool is_last = --c->references == 0;
    bd_mutex_unlock(&c->mu);
    join_ended(&ended);
    if (is_last) free_coordinator(c);
}

// ---- Starting ----

static void run_thread(void *arg)
{
    braid_coordinated_thread *t = arg;
    BD_STATUS(st);
    if (t->fn(t->coordinator, t->arg, st)) braid_coordinator_request_stop(t->coordinator, st);
    end_thread(t);
}

braid_code braid_coordinator_start(braid_coordinator *c, const char *name, braid_coordinated_fn fn, void *arg,
                                   braid_status *st)
{
    if (!fn) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A coordinated thread needs a function");
    braid_coordinated_thread *t = add_thread(c, name, fn, arg);
    if (bd_thread_start(&t->thread, t->name, run_thread, t, st)) {
        t->fn = NULL; // nothing to join
        end_thread(t);
    }
    return st->code;
}

braid_coordinated_thread *braid_coordinator_register_thread(braid_coordinator *c, const char *name)
{
    return add_thread(c, name, NULL, NULL);
}

void braid_coordinated_thread_end(braid_coordinated_thread *t, const braid_status *why)
{
    if (!t) return;
    if (why && why->code) braid_coordinator_request_stop(t->coordinator, why);
    end_thread(t);
}

// ---- Joining ----

static bool all_have_ended_locked(const braid_coordinator *c)
{
    for (size_t i = 0; i < c->threads.len; i++)
        if (!c->threads.items[i]->has_ended) return false;
    return true;
}

// The names of the threads that have not ended, comma-separated.
static void name_stragglers_locked(const braid_coordinator *c, bd_strbuf *names)
{
    for (size_t i = 0; i < c->threads.len; i++) {
        if (names->len) bd_strbuf_append(names, ", ");
        bd_strbuf_append(names, c->threads.items[i]->name);
    }
}

braid_code braid_coordinator_join(braid_coordinator *c, int64_t grace_ms, braid_status *status)
{
    BD_STATUS(st);
    if (grace_ms <= 0) grace_ms = GRACE_DEFAULT_MS;
    bd_strbuf stragglers = {0};
    bd_mutex_lock(&c->mu);
    while (!all_have_ended_locked(c) && !c->stop)
        bd_cond_wait(&c->changed, &c->mu); // ended by the last thread's end, or a request
    const int64_t deadline = bd_deadline_after_ms(grace_ms);
    while (!all_have_ended_locked(c) && !bd_cond_wait_until(&c->changed, &c->mu, deadline)) {}
    thread_list ended = take_ended_locked(c);
    name_stragglers_locked(c, &stragglers);
    bd_status_copy(st, &c->status);
    bd_mutex_unlock(&c->mu);
    join_ended(&ended);
    if (!st->code && stragglers.len)
        bd_fail(st, BRAID_DEADLINE_EXCEEDED,
                "Threads that have not ended %.3g s after the request to stop: %s", (double)grace_ms / 1e3,
                bd_strbuf_str(&stragglers));
    bd_strbuf_fini(&stragglers);
    if (status) bd_status_copy(status, st);
    return st->code;
}
