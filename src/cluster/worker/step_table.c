// The steps of a task.
//
// States of a step:
//   early    a RecvTensor or a pushed tensor arrived before any RunGraph. At most STEPS_EARLY_MAX steps (the
//            oldest is evicted), with at most EARLY_RECVS_MAX receives, as many pushes, and EARLY_BYTES_MAX
//            of tensors in all; for a limited time, unless another member of a collective waits for it: each
//            member's program begins such a step when it gets there
//   running  bd_step_table_begin: RunGraphs in progress
//   done     all RunGraphs have ended; other tasks may still fetch tensors. At most STEPS_DONE_MAX steps (the
//            oldest is evicted), which bounds what a master leaves that dies before its CleanupGraph
//   over     all RunGraphs succeeded and their tensors are received, bd_step_table_cleanup was called, the
//            session is gone (bd_step_table_forget), or a limit was reached: the rendezvous is aborted and
//            the step is removed; its number stays in a bounded memory, so that a late request gets an
//            error instead of waiting
//
// Invariant: an entry is on the list of early steps, on that of done steps, or running.
#include "cluster/worker/step_table.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/map.h"
#include "base/slab.h"
#include "base/thread.h"
#include "cluster/worker/remote_rendezvous.h"
#include "op/collective.h"
#include <stdio.h>
#include <string.h>

#define STEPS_EARLY_MAX 1024
#define STEPS_DONE_MAX 1024
#define STEPS_OVER_REMEMBERED 4096
// Limit of the pending receives of all early steps.
#define EARLY_RECVS_MAX 65536
// Limit of the pushes to early steps: tensors, or records of their refusal; and of the bytes of the tensors.
#define EARLY_PUSHES_MAX 65536
#define EARLY_BYTES_MAX ((size_t)256 << 20)

typedef struct entry {
    int64_t id;
    bd_rendezvous *rendezvous;
    bd_cancellation *cancellation; // of the RunGraphs; NULL until the first
    const void *session;           // of the RunGraphs; only compared
    int running;                   // RunGraphs in progress
    bool has_begun, ends_by_itself;
    int early_collectives; // receives of collectives that came before it began, in progress
    int early_pushes;      // its part in the limits
    size_t early_bytes;
    int64_t early_ns;          // when it became early, or was found to be waited for by a collective
    struct entry *prev, *next; // on a list
} entry;

// Oldest first.
typedef struct list {
    entry *first, *last;
    int count;
} list;

struct bd_step_table {
    const bd_peers *peers;
    bd_timers *timers;
    int64_t early_limit_ns;
    bd_mutex mu;
    bd_imap by_id;    // guarded by mu
    list early, done; // guarded by mu
    bd_imap over;     // guarded by mu
    int64_t over_ring[STEPS_OVER_REMEMBERED];
    size_t over_next, over_count;
    int early_recvs;     // in progress; guarded by mu
    int early_pushes;    // guarded by mu
    size_t early_bytes;  // guarded by mu
    bd_timer_id timer;   // of the oldest early step, also while it runs; 0: none; guarded by mu
    braid_status closed; // guarded by mu
};

// ---- Lists ----

static void append(list *l, entry *e)
{
    e->prev = l->last;
    e->next = NULL;
    *(l->last ? &l->last->next : &l->first) = e;
    l->last = e;
    l->count++;
}

static void take_off(list *l, entry *e)
{
    *(e->prev ? &e->prev->next : &l->first) = e->next;
    *(e->next ? &e->next->prev : &l->last) = e->prev;
    e->prev = e->next = NULL;
    l->count--;
}

// ---- The table ----

static void remember_over_locked(bd_step_table *s, int64_t id)
{
    int64_t *slot = &s->over_ring[s->over_next];
    if (s->over_count == STEPS_OVER_REMEMBERED)
        bd_imap_remove(&s->over, (uint64_t)*slot);
    else
        s->over_count++;
    *slot = id;
    s->over_next = (s->over_next + 1) % STEPS_OVER_REMEMBERED;
    bd_imap_put(&s->over, (uint64_t)id, s);
}

// The step is not early any more.
static void leave_early_locked(bd_step_table *s, entry *e)
{
    take_off(&s->early, e);
    s->early_pushes -= e->early_pushes;
    s->early_bytes -= e->early_bytes;
    e->early_pushes = 0;
    e->early_bytes = 0;
}

// Takes the step out of the table; the caller ends the entry with end_entry, without the lock.
static entry *take_out_locked(bd_step_table *s, entry *e)
{
    bd_imap_remove(&s->by_id, (uint64_t)e->id);
    if (!e->has_begun)
        leave_early_locked(s, e);
    else if (e->running == 0)
        take_off(&s->done, e);
    if (!bd_imap_get(&s->over, (uint64_t)e->id)) remember_over_locked(s, e->id);
    return e;
}

static void end_entry(entry *e, braid_code code, const char *text)
{
    if (!e) return;
    BD_STATUS(why);
    bd_fail(why, code, "Step %lld %s", (long long)e->id, text);
    why->derived = true;
    if (e->cancellation) bd_cancellation_cancel(e->cancellation, why);
    e->rendezvous->ops->abort(e->rendezvous, why);
    bd_cancellation_unref(e->cancellation);
    bd_rendezvous_unref(e->rendezvous);
    bd_slab_free(e);
}

static void late(void *arg);

static void arm_timer_locked(bd_step_table *s)
{
    if (s->timer || !s->early.first) return;
    s->timer = bd_timer_add(s->timers, s->early.first->early_ns + s->early_limit_ns, late, s);
}

// Takes out a step whose time is up; NULL: there is none. Steps that collectives wait for get as much again.
static entry *take_late_locked(bd_step_table *s)
{
    const int64_t now = bd_now_ns();
    entry *e;
    while ((e = s->early.first) && e->early_ns + s->early_limit_ns <= now) {
        if (!e->early_collectives) return take_out_locked(s, e);
        take_off(&s->early, e);
        e->early_ns = now;
        append(&s->early, e);
    }
    return NULL;
}

static void late(void *arg)
{
    bd_step_table *s = arg;
    for (;;) {
        bd_mutex_lock(&s->mu);
        entry *e = take_late_locked(s);
        if (!e) {
            s->timer = 0; // the last action: bd_step_table_free waits for it
            if (!s->closed.code) arm_timer_locked(s);
        }
        bd_mutex_unlock(&s->mu);
        if (!e) return;
        char text[128];
        snprintf(text, sizeof text,
                 "did not begin on this task within %.3g s after another task asked for a tensor of it",
                 (double)s->early_limit_ns / 1e9);
        end_entry(e, BRAID_ABORTED, text);
    }
}

// The entry of a step, made if need be (early, but for the caller to begin it at once); NULL with an error
// when the step is over.
static entry *find_or_add_locked(bd_step_table *s, int64_t id, braid_status *st)
{
    if (s->closed.code) {
        bd_status_copy(st, &s->closed);
        return NULL;
    }
    entry *e = bd_imap_get(&s->by_id, (uint64_t)id);
    if (e) return e;
    if (bd_imap_get(&s->over, (uint64_t)id)) {
        bd_fail(st, BRAID_ABORTED, "Step %lld is over", (long long)id);
        st->derived = true;
        return NULL;
    }
    e = bd_slab_alloc(sizeof *e);
    e->id = id;
    e->rendezvous = bd_remote_rendezvous_new(id, s->peers);
    e->early_ns = bd_now_ns();
    bd_imap_put(&s->by_id, (uint64_t)id, e);
    append(&s->early, e);
    return e;
}

braid_code bd_step_table_begin(bd_step_table *s, int64_t step_id, const void *session, const bd_peers *peers,
                               bd_rendezvous **rendezvous, bd_cancellation **cancellation, braid_status *st)
{
    bd_mutex_lock(&s->mu);
    entry *e = find_or_add_locked(s, step_id, st);
    if (e && !bd_remote_rendezvous_use_peers(e->rendezvous, peers, !e->has_begun)) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Step %lld runs on %s already, in a session of another cluster",
                (long long)step_id, s->peers->self->label);
    } else if (e) {
        if (!e->has_begun)
            leave_early_locked(s, e);
        else if (e->running == 0)
            take_off(&s->done, e);
        e->has_begun = true;
        e->session = session;
        e->running++;
        if (!e->cancellation) e->cancellation = bd_cancellation_new(NULL);
        *rendezvous = bd_rendezvous_ref(e->rendezvous);
        *cancellation = bd_cancellation_ref(e->cancellation);
    }
    bd_mutex_unlock(&s->mu);
    return st->code;
}

// Takes a step off the table that ends by itself and has no tensors left; the caller ends the entry.
static entry *take_if_drained_locked(bd_step_table *s, entry *e)
{
    const bool is_drained =
        e->has_begun && e->running == 0 && e->ends_by_itself && bd_remote_rendezvous_is_empty(e->rendezvous);
    return is_drained ? take_out_locked(s, e) : NULL;
}

void bd_step_table_end(bd_step_table *s, int64_t step_id, bool succeeded)
{
    entry *dropped = NULL, *over = NULL;
    bd_mutex_lock(&s->mu);
    entry *e = bd_imap_get(&s->by_id, (uint64_t)step_id);
    if (e && --e->running == 0) {
        append(&s->done, e);
        e->ends_by_itself = succeeded;
        over = take_if_drained_locked(s, e);
        if (s->done.count > STEPS_DONE_MAX) dropped = take_out_locked(s, s->done.first);
    }
    bd_mutex_unlock(&s->mu);
    end_entry(over, BRAID_ABORTED, "is over");
    end_entry(dropped, BRAID_ABORTED, "was dropped: its master did not clean it up");
}

// A receive of another task: holds the rendezvous until it has ended.
typedef struct holding_recv {
    bd_step_table *steps;
    int64_t step_id;
    bool is_early, is_early_collective;
    bd_rendezvous *rendezvous;
    bd_recv_fn fn;
    void *arg;
} holding_recv;

static void leave(const holding_recv *in)
{
    bd_step_table *s = in->steps;
    bd_mutex_lock(&s->mu);
    if (in->is_early) s->early_recvs--;
    entry *e = bd_imap_get(&s->by_id, (uint64_t)in->step_id);
    if (e && e->rendezvous == in->rendezvous && in->is_early_collective) e->early_collectives--;
    entry *over = e ? take_if_drained_locked(s, e) : NULL;
    bd_mutex_unlock(&s->mu);
    end_entry(over, BRAID_ABORTED, "is over");
}

static void holding_done(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    holding_recv *in = arg;
    leave(in); // before the answer, after which the steps may be freed
    in->fn(in->arg, tensor, is_dead, st);
    bd_rendezvous_unref(in->rendezvous);
    bd_slab_free(in);
}

// The entry of a step that has not started; NULL with an error. *dropped is an argument for end_entry.
static entry *find_early_locked(bd_step_table *s, int64_t step_id, entry **dropped, braid_status *st)
{
    entry *e = find_or_add_locked(s, step_id, st);
    if (!e) return NULL;
    if (s->early.count > STEPS_EARLY_MAX) *dropped = take_out_locked(s, s->early.first);
    arm_timer_locked(s);
    return e;
}

// The entry for a receive, which is counted when the step is early; NULL with an error. *dropped is an
// argument for end_entry.
static entry *enter_locked(bd_step_table *s, int64_t step_id, entry **dropped, braid_status *st)
{
    *dropped = NULL;
    entry *e = bd_imap_get(&s->by_id, (uint64_t)step_id);
    if (e && e->has_begun) return e;
    if (s->early_recvs >= EARLY_RECVS_MAX) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                "Step %lld has not begun, and %d tensors of such steps are already asked for",
                (long long)step_id, EARLY_RECVS_MAX);
        return NULL;
    }
    e = find_early_locked(s, step_id, dropped, st);
    if (e) s->early_recvs++;
    return e;
}

static bool is_of_collective(const bd_rendezvous_key *key)
{
    BD_STATUS(st);
    bd_rendezvous_parsed_key parsed;
    const size_t len = strlen(BD_COLLECTIVE_EDGE);
    return bd_rendezvous_key_parse(key->text, key->len, &parsed, st) == BRAID_OK && parsed.edge_len >= len &&
           memcmp(parsed.edge, BD_COLLECTIVE_EDGE, len) == 0;
}

void bd_step_table_recv(bd_step_table *s, int64_t step_id, const bd_rendezvous_key *key, bd_recv_fn fn,
                        void *arg)
{
    BD_STATUS(st);
    entry *dropped;
    holding_recv *in = NULL;
    bd_mutex_lock(&s->mu);
    entry *e = enter_locked(s, step_id, &dropped, st);
    if (e) {
        in = bd_slab_alloc_raw(sizeof *in);
        *in = (holding_recv){.steps = s,
                             .step_id = step_id,
                             .is_early = !e->has_begun,
                             .is_early_collective = !e->has_begun && is_of_collective(key),
                             .rendezvous = bd_rendezvous_ref(e->rendezvous),
                             .fn = fn,
                             .arg = arg};
        e->early_collectives += in->is_early_collective;
    }
    bd_mutex_unlock(&s->mu);
    end_entry(dropped, BRAID_RESOURCE_EXHAUSTED, "was dropped: too many steps wait for their beginning");
    if (in) {
        bd_remote_rendezvous_recv_local(in->rendezvous, key, holding_done, in);
    } else {
        braid_tensor none = {0};
        fn(arg, &none, false, st);
    }
}

// ---- Pushed tensors ----

// The memory of a waiting tensor.
static size_t memory_of(const braid_tensor *t)
{
    if (!bd_tensor_is_set(t)) return 0;
    const size_t handles =
        t->dtype == BRAID_STRING ? (size_t)bd_tensor_count(t) * sizeof *bd_tensor_str(t) : 0;
    return bd_tensor_bytes(t) + handles;
}

// Counts a tensor of an early step. Refuses it when there is no room, or when it would have to be fetched.
static void count_early_locked(bd_step_table *s, entry *e, const bd_recv_tensor_response *answer,
                               bool *is_refused)
{
    const size_t bytes = memory_of(&answer->tensor);
    const size_t left = s->early_bytes < EARLY_BYTES_MAX ? EARLY_BYTES_MAX - s->early_bytes : 0;
    if (is_refused) *is_refused = answer->has_chunks || bytes > left;
    e->early_pushes++;
    s->early_pushes++;
    if (is_refused && *is_refused) return;
    e->early_bytes += bytes;
    s->early_bytes += bytes;
}

// The rendezvous (a reference) for a tensor; NULL: no receiver can want it any more, or an error. *dropped is
// an argument for end_entry.
static bd_rendezvous *make_room_locked(bd_step_table *s, int64_t step_id,
                                       const bd_recv_tensor_response *answer, bool *is_refused,
                                       entry **dropped, braid_status *st)
{
    entry *e = bd_imap_get(&s->by_id, (uint64_t)step_id);
    if (e && e->has_begun) return e->running ? bd_rendezvous_ref(e->rendezvous) : NULL;
    if (is_refused && s->early_pushes >= EARLY_PUSHES_MAX) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                "Step %lld has not begun on %s, and %d tensors of such steps have already been pushed to it",
                (long long)step_id, s->peers->self->label, EARLY_PUSHES_MAX);
        return NULL;
    }
    e = find_early_locked(s, step_id, dropped, st);
    if (!e) return NULL;
    count_early_locked(s, e, answer, is_refused);
    return bd_rendezvous_ref(e->rendezvous);
}

braid_code bd_step_table_push(bd_step_table *s, int64_t step_id, const bd_peer *peer,
                              const bd_rendezvous_key *key, bd_recv_tensor_response *answer, bool *is_refused,
                              braid_status *st)
{
    entry *dropped = NULL;
    if (is_refused) *is_refused = false;
    bd_mutex_lock(&s->mu);
    bd_rendezvous *r = make_room_locked(s, step_id, answer, is_refused, &dropped, st);
    bd_mutex_unlock(&s->mu);
    end_entry(dropped, BRAID_RESOURCE_EXHAUSTED, "was dropped: too many steps wait for their beginning");
    if (!r) return st->code;
    const braid_tensor none = {0};
    if (is_refused && *is_refused)
        bd_remote_rendezvous_arrive(r, key, &none, false, st);
    else if (answer->has_chunks)
        bd_remote_rendezvous_arrive_in_chunks(r, peer, key, answer);
    else
        bd_remote_rendezvous_arrive(r, key, &answer->tensor, answer->is_dead, st);
    bd_rendezvous_unref(r);
    return st->code;
}

// ---- The end of steps ----

void bd_step_table_cleanup(bd_step_table *s, int64_t step_id)
{
    bd_mutex_lock(&s->mu);
    entry *e = bd_imap_get(&s->by_id, (uint64_t)step_id);
    if (e)
        take_out_locked(s, e);
    else if (!bd_imap_get(&s->over, (uint64_t)step_id))
        remember_over_locked(s, step_id);
    bd_mutex_unlock(&s->mu);
    end_entry(e, BRAID_ABORTED, "is over");
}

// Takes a step of the session off the table; NULL: it has none.
static entry *take_step_of_locked(bd_step_table *s, const void *session)
{
    size_t pos = 0;
    void *found;
    while (bd_imap_next(&s->by_id, &pos, NULL, &found)) {
        entry *e = found;
        if (e->has_begun && e->session == session) return take_out_locked(s, e);
    }
    return NULL;
}

void bd_step_table_forget(bd_step_table *s, const void *session)
{
    entry *over;
    do {
        bd_mutex_lock(&s->mu);
        over = take_step_of_locked(s, session);
        bd_mutex_unlock(&s->mu);
        end_entry(over, BRAID_ABORTED, "is over: its session is gone");
    } while (over);
}

void bd_step_table_close(bd_step_table *s, const braid_status *why)
{
    bd_mutex_lock(&s->mu);
    if (!s->closed.code) bd_status_copy(&s->closed, why);
    bd_mutex_unlock(&s->mu);
    for (;;) {
        size_t pos = 0;
        void *found = NULL;
        bd_mutex_lock(&s->mu);
        if (bd_imap_next(&s->by_id, &pos, NULL, &found)) take_out_locked(s, found);
        bd_mutex_unlock(&s->mu);
        if (!found) return;
        end_entry(found, why->code, why->message);
    }
}

bd_step_table *bd_step_table_new(const bd_peers *peers, bd_timers *timers, int64_t early_limit_ns)
{
    bd_step_table *s = bd_calloc(1, sizeof *s);
    s->peers = peers;
    s->timers = timers;
    s->early_limit_ns = early_limit_ns;
    bd_mutex_init(&s->mu);
    return s;
}

void bd_step_table_free(bd_step_table *s)
{
    if (!s) return;
    bd_mutex_lock(&s->mu);
    const bd_timer_id timer = s->timer;
    BD_ASSERT(s->closed.code && bd_imap_count(&s->by_id) == 0);
    bd_mutex_unlock(&s->mu);
    if (timer) bd_timer_cancel_wait(s->timers, timer);
    bd_imap_fini(&s->by_id);
    bd_imap_fini(&s->over);
    bd_status_fini(&s->closed);
    bd_mutex_fini(&s->mu);
    bd_free(s);
}
