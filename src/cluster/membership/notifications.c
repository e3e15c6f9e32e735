// Notifications by key.
//
// One task, the owner, counts the notifications of each key. The owner is the first membership server (the
// first parameter server), so the counts live beside the variables that they describe. The other tasks
// forward their calls to it. A caller waits for a generation above the one that it has seen, so no
// notification is lost between reading the generation and waiting for the next one. The owner counts from the
// time at which it started: a caller that has seen a generation of an earlier start of the owner is answered
// at once, and looks again.
//
// A wait ends with the notification, its deadline or its cancellation, and also when no notification can
// follow:
//   chief gone or done   the owner learns it from the membership, whose bd_membership_chief it is.
//   too few tasks left   the same, for a wait that needs a number of tasks
//   owner gone           the waiting task learns it from its broken call. It asks for the owner again, and
//                        gives up when the owner has not reconnected within the time after which a task is
//                        gone.
// A wait with successors is not ended by a chief that is gone: then the first worker that is not gone leads
// in its place. Such a wait ends when its task begins to lead, or ceases to.
#include "cluster/membership/notifications.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/rpc.h"
#include "proto/pack.h"
#include <inttypes.h>
#include <string.h>

// A program uses one key, or a few.
#define KEYS_MAX 1024
#define KEY_LEN_MAX 1024
// The pause between two GetStatus calls to an owner that is ending, or not reachable yet.
#define ASK_PAUSE_MS 20
// Each task waits for a key once, or a few times.
#define WAITS_MAX 65536

typedef struct wait {
    bd_notifications *n;
    char *key;
    int64_t seen;
    int min_tasks;
    bool successors, leads;
    const bd_peer *task; // that waits; NULL: none of the cluster
    bd_generation_fn fn;
    void *arg;
    bd_cancellation *cancellation; // a reference
    bd_cancel_hook hook;
    bd_timer_id timer;         // 0: none
    bool is_linked;            // guarded by mu
    struct wait *next, **link; // in `waits`
    int refs;                  // of the list, the hook, the timer and wait_here; guarded by mu
} wait;

struct bd_notifications {
    bd_notifications_env env;
    const bd_peer *owner;
    const bd_peer *chief; // NULL: the cluster has no chief and no worker
    int64_t base; // the generation of a key without a notification: above all generations of earlier starts
    bd_mutex mu;
    bd_map counts;  // key -> number of notifications, as a pointer; guarded by mu
    wait *waits;    // guarded by mu
    int wait_count; // guarded by mu
};

// ---- At the owner ----

static int64_t generation_locked(const bd_notifications *n, const char *key)
{
    return n->base + (int64_t)(intptr_t)bd_map_get(&n->counts, key);
}

static void unref_locked(wait *w)
{
    if (--w->refs > 0) return;
    bd_cancellation_unref(w->cancellation);
    bd_free(w->key);
    bd_free(w);
}

static void unref(wait *w)
{
    bd_notifications *n = w->n;
    bd_mutex_lock(&n->mu);
    unref_locked(w);
    bd_mutex_unlock(&n->mu);
}

// Takes a wait off the list to end it. Returns false when another thread has taken it.
static bool take_locked(wait *w)
{
    if (!w->is_linked) return false;
    w->is_linked = false;
    *w->link = w->next;
    if (w->next) w->next->link = w->link;
    w->n->wait_count--;
    return true;
}

// Ends a wait that the caller has taken off the list, and drops the list's reference.
static void end_wait(wait *w, int64_t generation, const braid_status *st)
{
    if (w->timer && bd_timer_cancel(w->n->env.timers, w->timer)) unref(w);
    if (bd_cancellation_remove(w->cancellation, &w->hook)) unref(w);
    w->fn(w->arg, generation, st);
    unref(w);
}

static void wait_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    wait *w = BD_CONTAINER_OF(hook, wait, hook);
    bd_mutex_lock(&w->n->mu);
    const bool taken = take_locked(w);
    bd_mutex_unlock(&w->n->mu);
    if (taken) end_wait(w, 0, why);
    unref(w);
}

static void fail_deadline(const char *key, braid_status *st)
{
    bd_fail(st, BRAID_DEADLINE_EXCEEDED, "No notification of '%s' arrived in time", key);
}

static void wait_deadline_passed(void *arg)
{
    wait *w = arg;
    bd_mutex_lock(&w->n->mu);
    const bool taken = take_locked(w);
    bd_mutex_unlock(&w->n->mu);
    BD_STATUS(st);
    fail_deadline(w->key, st);
    if (taken) end_wait(w, 0, st);
    unref(w);
}

static braid_code check_length(const char *key, braid_status *st)
{
    if (strlen(key) <= KEY_LEN_MAX) return BRAID_OK;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "A key is longer than %d", KEY_LEN_MAX);
}

static braid_code check_key(const bd_notifications *n, const char *key, braid_status *st)
{
    const braid_code code = check_length(key, st);
    if (code) return code;
    if (bd_map_count(&n->counts) >= KEYS_MAX && !bd_map_has(&n->counts, key))
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "More than %d keys have notifications", KEYS_MAX);
    return BRAID_OK;
}

static wait *take_waiting_for(bd_notifications *n, const char *key, int64_t generation)
{
    bd_mutex_lock(&n->mu);
    wait *w = n->waits;
    while (w && (w->seen >= generation || strcmp(w->key, key) != 0))
        w = w->next;
    if (w) take_locked(w);
    bd_mutex_unlock(&n->mu);
    return w;
}

static void notify_here(bd_notifications *n, const char *key, bd_generation_fn fn, void *arg)
{
    BD_STATUS(st);
    int64_t generation = 0;
    bd_mutex_lock(&n->mu);
    if (!check_key(n, key, st)) {
        generation = generation_locked(n, key) + 1;
        bd_map_put(&n->counts, key, (void *)(intptr_t)(generation - n->base));
    }
    bd_mutex_unlock(&n->mu);
    for (wait *w; !st->code && (w = take_waiting_for(n, key, generation));)
        end_wait(w, generation, st);
    fn(arg, generation, st);
}

// The first task that is not gone, of the chief and the others that work. NULL: there is none.
static const bd_peer *find_leader(const bd_notifications *n, bool *is_done)
{
    *is_done = false;
    if (n->chief && (!bd_membership_has_left(n->env.membership, n->chief, is_done) || *is_done))
        return n->chief;
    for (int i = 0; i < n->env.peers->count; i++) {
        const bd_peer *p = &n->env.peers->items[i];
        if (!bd_membership_works(p)) continue;
        if (!bd_membership_has_left(n->env.membership, p, is_done) || *is_done) return p;
    }
    return NULL;
}

// An error when the task that notifies is done or gone: the chief, or the leader in its place.
static braid_code check_notifier(const bd_notifications *n, const wait *w, const bd_peer *leader,
                                 bool is_done, braid_status *st)
{
    const bd_peer *notifier = w->successors && leader ? leader : n->chief;
    const bool is_gone = w->successors ? !leader : leader != n->chief;
    if (!notifier || (!is_gone && !is_done)) return BRAID_OK;
    return bd_fail(st, is_gone ? BRAID_UNAVAILABLE : BRAID_FAILED_PRECONDITION,
                   "%s, %s, is %s and will not notify '%s'",
                   notifier == n->chief ? "The chief" : "The chief's successor", notifier->label,
                   is_gone ? "gone" : "done", w->key);
}

static braid_code check_workforce(const bd_notifications *n, const wait *w, braid_status *st)
{
    if (!w->min_tasks) return BRAID_OK;
    const bd_workforce left = bd_membership_workforce(n->env.membership);
    const int at_work = left.total - left.gone - left.done;
    if (at_work < w->min_tasks && left.gone + left.done > 0)
        bd_fail(st, left.total - left.gone < w->min_tasks ? BRAID_UNAVAILABLE : BRAID_FAILED_PRECONDITION,
                "Only %d of %d tasks are left, and %d are needed: %s", at_work, left.total, w->min_tasks,
                left.left);
    bd_free(left.left);
    return st->code;
}

// Returns whether the wait ends without a notification: with an error, because none can follow or too few
// tasks are left, or because its task leads now, or leads no more.
static bool has_ended(const bd_notifications *n, const wait *w, braid_status *st)
{
    bool is_done;
    const bd_peer *leader = find_leader(n, &is_done);
    if (check_notifier(n, w, leader, is_done, st) || check_workforce(n, w, st)) return true;
    return w->successors && w->task && w->leads != (w->task == leader);
}

static void link_locked(wait *w, int64_t deadline_ns)
{
    bd_notifications *n = w->n;
    w->next = n->waits;
    w->link = &n->waits;
    if (w->next) w->next->link = &w->next;
    n->waits = w;
    n->wait_count++;
    w->is_linked = true;
    if (deadline_ns == BD_FOREVER) return;
    w->refs++;
    w->timer = bd_timer_add(n->env.timers, deadline_ns, wait_deadline_passed, w);
}

static braid_code link_wait(wait *w, int64_t deadline_ns, braid_status *st)
{
    bd_notifications *n = w->n;
    bd_mutex_lock(&n->mu);
    if (n->wait_count < WAITS_MAX)
        link_locked(w, deadline_ns);
    else
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "More than %d calls wait for notifications", WAITS_MAX);
    bd_mutex_unlock(&n->mu);
    return st->code;
}

// Ends the wait if its notification has arrived, or can never arrive. It is called after the wait is on the
// list, so that no notification is missed.
static void end_if_due(wait *w)
{
    bd_notifications *n = w->n;
    BD_STATUS(st);
    bd_mutex_lock(&n->mu);
    const int64_t generation = generation_locked(n, w->key);
    bd_mutex_unlock(&n->mu);
    if (generation <= w->seen && !has_ended(n, w, st)) return;
    bd_mutex_lock(&n->mu);
    const bool taken = take_locked(w);
    bd_mutex_unlock(&n->mu);
    if (taken) end_wait(w, bd_max(generation, w->seen), st);
}

// The wait may have ended before its hook was added; the hook is then removed here.
static void drop_hook_if_ended(wait *w)
{
    bd_mutex_lock(&w->n->mu);
    const bool has_ended = !w->is_linked;
    bd_mutex_unlock(&w->n->mu);
    if (has_ended && bd_cancellation_remove(w->cancellation, &w->hook)) unref(w);
}

static const bd_peer *find_task(const bd_notifications *n, const char *job, int index)
{
    if (!job || !job[0]) return n->env.peers->self;
    for (int i = 0; i < n->env.peers->count; i++) {
        const bd_peer *p = &n->env.peers->items[i];
        if (p->index == index && strcmp(p->job, job) == 0) return p;
    }
    return NULL;
}

static wait *wait_new(bd_notifications *n, const bd_notification_wait *o, bd_generation_fn fn, void *arg)
{
    wait *w = bd_calloc(1, sizeof *w);
    w->n = n;
    w->key = bd_strdup(o->key);
    w->min_tasks = o->min_tasks;
    w->successors = o->successors;
    w->leads = o->leads;
    w->task = find_task(n, o->job, o->task);
    w->seen = o->seen == 0 ? n->base : o->seen; // 0: no notification seen, whichever start of the owner
    w->fn = fn;
    w->arg = arg;
    w->cancellation = bd_cancellation_ref(o->cancellation);
    w->hook.fn = wait_cancelled;
    w->refs = 3; // of the list, the hook and wait_here
    return w;
}

static void wait_here(bd_notifications *n, const bd_notification_wait *o, bd_generation_fn fn, void *arg)
{
    BD_STATUS(st);
    if (check_length(o->key, st)) {
        fn(arg, 0, st);
        return;
    }
    wait *w = wait_new(n, o, fn, arg);
    if (link_wait(w, o->deadline_ns, st)) {
        w->refs = 1;
        unref(w);
        fn(arg, 0, st);
        return;
    }
    if (!bd_cancellation_add(w->cancellation, &w->hook)) {
        bd_cancellation_status(w->cancellation, st);
        wait_cancelled(&w->hook, st);
    } else {
        end_if_due(w);
        drop_hook_if_ended(w);
    }
    unref(w);
}

// Takes a wait that ends without a notification. NULL: there is none.
static wait *take_hopeless(bd_notifications *n, braid_status *st)
{
    bd_mutex_lock(&n->mu);
    wait *w = n->waits;
    while (w && !has_ended(n, w, st))
        w = w->next;
    if (w) take_locked(w);
    bd_mutex_unlock(&n->mu);
    return w;
}

void bd_notifications_check(bd_notifications *n)
{
    for (;;) {
        BD_STATUS(st);
        wait *w = take_hopeless(n, st);
        if (!w) return;
        end_wait(w, w->seen, st);
    }
}

// ---- At another task ----

typedef struct forwarded {
    bd_notifications *n;
    char *key;
    int64_t seen, deadline_ns;
    int min_tasks;
    bool successors, leads;
    int64_t gone_ns;               // when a lost owner counts as gone
    bd_cancellation *cancellation; // a reference; NULL
    bd_generation_fn fn;
    void *arg;
} forwarded;

static void forwarded_end(forwarded *f, int64_t generation, const braid_status *st)
{
    f->fn(f->arg, generation, st);
    bd_cancellation_unref(f->cancellation);
    bd_free(f->key);
    bd_free(f);
}

static forwarded *forwarded_new(bd_notifications *n, const char *key, bd_cancellation *cancellation,
                                bd_generation_fn fn, void *arg)
{
    forwarded *f = bd_calloc(1, sizeof *f);
    f->n = n;
    f->key = bd_strdup(key);
    f->cancellation = cancellation ? bd_cancellation_ref(cancellation) : NULL;
    f->fn = fn;
    f->arg = arg;
    return f;
}

static void owner_unavailable(const forwarded *f, braid_status *st)
{
    bd_status_prefix(st, "%s, the owner of notifications, is unavailable: ", f->n->owner->label);
}

static void notify_answered(void *arg, bd_message *response, const braid_status *from)
{
    forwarded *f = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_status_copy(st, from);
    const Braid__NotifyResponse *message =
        st->code ? NULL : bd_proto_unpack_message(&braid__notify_response__descriptor, response, arena, st);
    if (st->code == BRAID_UNAVAILABLE) owner_unavailable(f, st);
    forwarded_end(f, message ? (int64_t)message->generation : 0, st);
}

void bd_notifications_notify(bd_notifications *n, const char *key, bool forward,
                             bd_cancellation *cancellation, bd_generation_fn fn, void *arg)
{
    if (!forward || n->owner->is_self) {
        notify_here(n, key, fn, arg);
        return;
    }
    Braid__NotifyRequest request = BRAID__NOTIFY_REQUEST__INIT;
    request.key = (char *)key;
    bd_rpc_options options = bd_peer_rpc(n->owner, BD_CLUSTER_SERVICE "Notify");
    options.cancellation = cancellation;
    bd_rpc_start_proto(&options, &request.base, notify_answered,
                       forwarded_new(n, key, cancellation, fn, arg));
}

static void wait_at_owner(forwarded *f);
static void ask_owner_status(void *arg);

static bool is_lost(const braid_status *st)
{
    return st->code == BRAID_UNAVAILABLE || st->code == BRAID_ABORTED;
}

// The owner was lost. It is reachable again, about to end, or gone.
static void owner_status_received(void *arg, bd_message *response, const braid_status *from)
{
    (void)response;
    forwarded *f = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code) {
        wait_at_owner(f);
        return;
    }
    if (is_lost(st) && bd_now_ns() < bd_min(f->deadline_ns, f->gone_ns)) {
        bd_timer_add(f->n->env.timers, bd_deadline_after_ms(ASK_PAUSE_MS), ask_owner_status, f);
        return;
    }
    if (st->code == BRAID_DEADLINE_EXCEEDED && f->deadline_ns > bd_now_ns())
        bd_fail(st, BRAID_UNAVAILABLE, "%s, the owner of notifications, is gone", f->n->owner->label);
    else if (st->code == BRAID_UNAVAILABLE)
        owner_unavailable(f, st);
    forwarded_end(f, 0, st);
}

static void ask_owner_status(void *arg)
{
    forwarded *f = arg;
    bd_message empty;
    bd_message_init(&empty);
    bd_rpc_options options = bd_peer_rpc(f->n->owner, BD_WORKER_SERVICE "GetStatus");
    options.cancellation = f->cancellation;
    options.wait_for_ready = true;
    options.deadline_ns = bd_min(f->deadline_ns, f->gone_ns);
    bd_rpc_start(&options, &empty, owner_status_received, f);
}

static void wait_answered(void *arg, bd_message *response, const braid_status *from)
{
    forwarded *f = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_status_copy(st, from);
    if (is_lost(st)) {
        bd_info("Lost %s while waiting for '%s'", f->n->owner->label, f->key);
        f->gone_ns = bd_deadline_after_ms(f->n->env.gone_timeout_ms);
        ask_owner_status(f);
        return;
    }
    if (st->code == BRAID_DEADLINE_EXCEEDED) fail_deadline(f->key, st);
    const Braid__WaitNotificationResponse *message =
        st->code
            ? NULL
            : bd_proto_unpack_message(&braid__wait_notification_response__descriptor, response, arena, st);
    if (message && message->gone[0]) bd_fail(st, BRAID_UNAVAILABLE, "%s", message->gone);
    forwarded_end(f, message ? (int64_t)message->generation : 0, st);
}

static void wait_at_owner(forwarded *f)
{
    Braid__WaitNotificationRequest request = BRAID__WAIT_NOTIFICATION_REQUEST__INIT;
    request.key = f->key;
    request.seen = (uint64_t)f->seen;
    request.min_tasks = f->min_tasks;
    request.successors = f->successors;
    request.leads = f->leads;
    request.job = (char *)f->n->env.peers->self->job;
    request.task = f->n->env.peers->self->index;
    bd_rpc_options options = bd_peer_rpc(f->n->owner, BD_CLUSTER_SERVICE "WaitNotification");
    options.cancellation = f->cancellation;
    options.deadline_ns = f->deadline_ns;
    bd_rpc_start_proto(&options, &request.base, wait_answered, f);
}

void bd_notifications_wait(bd_notifications *n, const bd_notification_wait *options, bd_generation_fn fn,
                           void *arg)
{
    if (!options->forward || n->owner->is_self) {
        wait_here(n, options, fn, arg);
        return;
    }
    forwarded *f = forwarded_new(n, options->key, options->cancellation, fn, arg);
    f->seen = options->seen;
    f->min_tasks = options->min_tasks;
    f->successors = options->successors;
    f->leads = options->leads;
    f->deadline_ns = options->deadline_ns;
    wait_at_owner(f);
}

// ---- Construction ----

bd_notifications *bd_notifications_new(const bd_notifications_env *env)
{
    bd_notifications *n = bd_calloc(1, sizeof *n);
    n->env = *env;
    n->owner = bd_membership_first_server(env->peers);
    n->chief = bd_membership_chief(env->peers);
    n->base = bd_wall_micros();
    bd_mutex_init(&n->mu);
    return n;
}

void bd_notifications_free(bd_notifications *n)
{
    if (!n) return;
    bd_map_fini(&n->counts);
    bd_mutex_fini(&n->mu);
    bd_free(n);
}
