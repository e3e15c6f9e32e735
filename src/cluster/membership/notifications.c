// Notifications by key.
//
// One task owns them: the first membership server (the first parameter server), so they live as long as the
// variables that they are about. The owner counts the notifications of each key (the generation); a waiter
// passes the generation that it has seen, so that no notification is missed between checking and waiting.
// Other tasks forward to the owner. An owner's generations begin with the time of its start: a waiter that
// has seen a generation of the owner's earlier life is answered at once, and checks again.
//
// A wait ends by the notification, its deadline, its token, or when no task is left that would notify: the
// owner knows from the membership when the chief (job chief or master, else the first worker) is gone for
// good or done. A waiter at another task learns from its broken call that the owner is lost; it asks for the
// owner again, and gives up when the owner has not come back within the time after which a task is gone for
// good.
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

// A program announces one key, or a few.
#define KEYS_MAX 1024
#define KEY_LEN_MAX 1024
// Between two questions to a owner that is ending, or not there yet.
#define ASK_PAUSE_MS 20
// Each task waits for a key once, or a few times.
#define WAITS_MAX 65536

typedef struct wait {
    bd_notifications *a;
    char *key;
    int64_t seen;
    bd_generation_fn fn;
    void *arg;
    bd_cancellation *cancellation; // a reference
    bd_cancel_hook hook;
    bd_timer_id timer;         // 0: none
    bool is_linked;            // guarded by mu
    struct wait *next, **link; // in `waits`
    int refs;                  // the list's, the hook's, the timer's, the beginner's; guarded by mu
} wait;

struct bd_notifications {
    bd_notifications_env env;
    const bd_peer *owner;
    const bd_peer *chief; // NULL: there is none
    int64_t base;         // the generation of what was never announced: above all of an earlier life
    bd_mutex mu;
    bd_map counts;  // key -> how often it was announced, as a pointer; guarded by mu
    wait *waits;    // guarded by mu
    int wait_count; // guarded by mu
};

// ---- At the owner ----

static int64_t generation_locked(const bd_notifications *a, const char *key)
{
    return a->base + (int64_t)(intptr_t)bd_map_get(&a->counts, key);
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
    bd_notifications *a = w->a;
    bd_mutex_lock(&a->mu);
    unref_locked(w);
    bd_mutex_unlock(&a->mu);
}

// Takes a wait off the list, for the one who ends it; false when somebody else does.
static bool take_locked(wait *w)
{
    if (!w->is_linked) return false;
    w->is_linked = false;
    *w->link = w->next;
    if (w->next) w->next->link = w->link;
    w->a->wait_count--;
    return true;
}

// The wait is off the list, and the list's reference is ours.
static void end(wait *w, int64_t generation, const braid_status *st)
{
    if (w->timer && bd_timer_cancel(w->a->env.timers, w->timer)) unref(w);
    if (bd_cancellation_remove(w->cancellation, &w->hook)) unref(w);
    w->fn(w->arg, generation, st);
    unref(w);
}

static void wait_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    wait *w = BD_CONTAINER_OF(hook, wait, hook);
    bd_mutex_lock(&w->a->mu);
    const bool is_mine = take_locked(w);
    bd_mutex_unlock(&w->a->mu);
    if (is_mine) end(w, 0, why);
    unref(w);
}

static void not_in_time(const char *key, braid_status *st)
{
    bd_fail(st, BRAID_DEADLINE_EXCEEDED, "'%s' was not announced in time", key);
}

static void wait_late(void *arg)
{
    wait *w = arg;
    bd_mutex_lock(&w->a->mu);
    const bool is_mine = take_locked(w);
    bd_mutex_unlock(&w->a->mu);
    BD_STATUS(st);
    not_in_time(w->key, st);
    if (is_mine) end(w, 0, st);
    unref(w);
}

static braid_code check_length(const char *key, braid_status *st)
{
    if (strlen(key) <= KEY_LEN_MAX) return BRAID_OK;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "A key is longer than %d", KEY_LEN_MAX);
}

static braid_code check_key(const bd_notifications *a, const char *key, braid_status *st)
{
    const braid_code code = check_length(key, st);
    if (code) return code;
    if (bd_map_count(&a->counts) >= KEYS_MAX && !bd_map_has(&a->counts, key))
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "More than %d keys are announced", KEYS_MAX);
    return BRAID_OK;
}

static wait *take_waiting_for(bd_notifications *a, const char *key, int64_t generation)
{
    bd_mutex_lock(&a->mu);
    wait *w = a->waits;
    while (w && (w->seen >= generation || strcmp(w->key, key) != 0))
        w = w->next;
    if (w) take_locked(w);
    bd_mutex_unlock(&a->mu);
    return w;
}

static void notify_here(bd_notifications *a, const char *key, bd_generation_fn fn, void *arg)
{
    BD_STATUS(st);
    int64_t generation = 0;
    bd_mutex_lock(&a->mu);
    if (!check_key(a, key, st)) {
        generation = generation_locked(a, key) + 1;
        bd_map_put(&a->counts, key, (void *)(intptr_t)(generation - a->base));
    }
    bd_mutex_unlock(&a->mu);
    for (wait *w; !st->code && (w = take_waiting_for(a, key, generation));)
        end(w, generation, st);
    fn(arg, generation, st);
}

// Whether nobody is left to announce anything.
static braid_code check_chief(const bd_notifications *a, const char *key, braid_status *st)
{
    bool is_done;
    if (!a->chief || !bd_membership_has_left(a->env.membership, a->chief, &is_done)) return BRAID_OK;
    return bd_fail(st, BRAID_UNAVAILABLE, "The chief, %s, is %s and will not announce '%s'", a->chief->label,
                   is_done ? "done" : "gone", key);
}

static void link_locked(wait *w, int64_t deadline_ns)
{
    bd_notifications *a = w->a;
    w->next = a->waits;
    w->link = &a->waits;
    if (w->next) w->next->link = &w->next;
    a->waits = w;
    a->wait_count++;
    w->is_linked = true;
    if (deadline_ns == BD_FOREVER) return;
    w->refs++;
    w->timer = bd_timer_add(a->env.timers, deadline_ns, wait_late, w);
}

static braid_code link_wait(wait *w, int64_t deadline_ns, braid_status *st)
{
    bd_notifications *a = w->a;
    bd_mutex_lock(&a->mu);
    if (a->wait_count < WAITS_MAX)
        link_locked(w, deadline_ns);
    else
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "More than %d wait for notifications", WAITS_MAX);
    bd_mutex_unlock(&a->mu);
    return st->code;
}

// Ends the wait if what it waits for has come, or never will: asked again after it is on the list, so that
// nothing is missed.
static void end_if_due(wait *w)
{
    bd_notifications *a = w->a;
    BD_STATUS(st);
    bd_mutex_lock(&a->mu);
    const int64_t generation = generation_locked(a, w->key);
    bd_mutex_unlock(&a->mu);
    if (generation <= w->seen && !check_chief(a, w->key, st)) return;
    bd_mutex_lock(&a->mu);
    const bool is_mine = take_locked(w);
    bd_mutex_unlock(&a->mu);
    if (is_mine) end(w, generation, st);
}

// The wait may have ended before its hook was there to be removed.
static void drop_hook_if_ended(wait *w)
{
    bd_mutex_lock(&w->a->mu);
    const bool has_ended = !w->is_linked;
    bd_mutex_unlock(&w->a->mu);
    if (has_ended && bd_cancellation_remove(w->cancellation, &w->hook)) unref(w);
}

static wait *wait_new(bd_notifications *a, const char *key, int64_t seen, bd_cancellation *cancellation,
                      bd_generation_fn fn, void *arg)
{
    wait *w = bd_calloc(1, sizeof *w);
    w->a = a;
    w->key = bd_strdup(key);
    w->seen = seen == 0 ? a->base : seen; // 0: nothing, whichever life of the owner that was
    w->fn = fn;
    w->arg = arg;
    w->cancellation = bd_cancellation_ref(cancellation);
    w->hook.fn = wait_cancelled;
    w->refs = 3; // the list's, the hook's, the beginner's
    return w;
}

static void wait_notification_here(bd_notifications *a, const char *key, int64_t seen, int64_t deadline_ns,
                                   bd_cancellation *cancellation, bd_generation_fn fn, void *arg)
{
    BD_STATUS(st);
    if (check_length(key, st)) {
        fn(arg, 0, st);
        return;
    }
    wait *w = wait_new(a, key, seen, cancellation, fn, arg);
    if (link_wait(w, deadline_ns, st)) {
        w->refs = 1;
        unref(w);
        fn(arg, 0, st);
        return;
    }
    if (!bd_cancellation_add(cancellation, &w->hook)) {
        bd_cancellation_status(cancellation, st);
        wait_cancelled(&w->hook, st);
    } else {
        end_if_due(w);
        drop_hook_if_ended(w);
    }
    unref(w);
}

void bd_notifications_check(bd_notifications *a)
{
    BD_STATUS(st);
    if (!check_chief(a, "", st)) return;
    for (;;) {
        bd_mutex_lock(&a->mu);
        wait *w = a->waits;
        if (w) take_locked(w);
        bd_mutex_unlock(&a->mu);
        if (!w) return;
        braid_status_clear(st);
        check_chief(a, w->key, st);
        end(w, 0, st);
    }
}

// ---- At another task ----

typedef struct forwarded {
    bd_notifications *a;
    char *key;
    int64_t seen, deadline_ns;
    int64_t gone_ns;               // when a owner that is lost is given up
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

static forwarded *forwarded_new(bd_notifications *a, const char *key, bd_cancellation *cancellation,
                                bd_generation_fn fn, void *arg)
{
    forwarded *f = bd_calloc(1, sizeof *f);
    f->a = a;
    f->key = bd_strdup(key);
    f->cancellation = cancellation ? bd_cancellation_ref(cancellation) : NULL;
    f->fn = fn;
    f->arg = arg;
    return f;
}

static void owner_unavailable(const forwarded *f, braid_status *st)
{
    bd_status_prefix(st, "%s, which keeps notifications, is unavailable: ", f->a->owner->label);
}

static void notified(void *arg, bd_message *response, const braid_status *from)
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

void bd_notifications_notify(bd_notifications *a, const char *key, bool forward,
                             bd_cancellation *cancellation, bd_generation_fn fn, void *arg)
{
    if (!forward || a->owner->is_self) {
        notify_here(a, key, fn, arg);
        return;
    }
    Braid__NotifyRequest request = BRAID__NOTIFY_REQUEST__INIT;
    request.key = (char *)key;
    bd_rpc_options options = bd_peer_rpc(a->owner, BD_CLUSTER_SERVICE "Notify");
    options.cancellation = cancellation;
    bd_rpc_start_proto(&options, &request.base, notified, forwarded_new(a, key, cancellation, fn, arg));
}

static void wait_notification_there(forwarded *f);
static void ask_for_owner(void *arg);

static bool is_lost(const braid_status *st)
{
    return st->code == BRAID_UNAVAILABLE || st->code == BRAID_ABORTED;
}

// The owner was lost, and is there again, about to end, or given up.
static void owner_asked(void *arg, bd_message *response, const braid_status *from)
{
    (void)response;
    forwarded *f = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code) {
        wait_notification_there(f);
        return;
    }
    if (is_lost(st) && bd_now_ns() < bd_min(f->deadline_ns, f->gone_ns)) {
        bd_timer_add(f->a->env.timers, bd_deadline_after_ms(ASK_PAUSE_MS), ask_for_owner, f);
        return;
    }
    if (st->code == BRAID_DEADLINE_EXCEEDED && f->deadline_ns > bd_now_ns())
        bd_fail(st, BRAID_UNAVAILABLE, "%s, which keeps notifications, is gone", f->a->owner->label);
    else if (st->code == BRAID_UNAVAILABLE)
        owner_unavailable(f, st);
    forwarded_end(f, 0, st);
}

static void ask_for_owner(void *arg)
{
    forwarded *f = arg;
    bd_message empty;
    bd_message_init(&empty);
    bd_rpc_options options = bd_peer_rpc(f->a->owner, BD_WORKER_SERVICE "GetStatus");
    options.cancellation = f->cancellation;
    options.wait_for_ready = true;
    options.deadline_ns = bd_min(f->deadline_ns, f->gone_ns);
    bd_rpc_start(&options, &empty, owner_asked, f);
}

static void awaited(void *arg, bd_message *response, const braid_status *from)
{
    forwarded *f = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_status_copy(st, from);
    if (is_lost(st)) {
        bd_info("Lost %s while waiting for '%s'", f->a->owner->label, f->key);
        f->gone_ns = bd_deadline_after_ms(f->a->env.gone_timeout_ms);
        ask_for_owner(f);
        return;
    }
    if (st->code == BRAID_DEADLINE_EXCEEDED) not_in_time(f->key, st);
    const Braid__WaitNotificationResponse *message =
        st->code
            ? NULL
            : bd_proto_unpack_message(&braid__wait_notification_response__descriptor, response, arena, st);
    if (message && message->gone[0]) bd_fail(st, BRAID_UNAVAILABLE, "%s", message->gone);
    forwarded_end(f, message ? (int64_t)message->generation : 0, st);
}

static void wait_notification_there(forwarded *f)
{
    Braid__WaitNotificationRequest request = BRAID__WAIT_NOTIFICATION_REQUEST__INIT;
    request.key = f->key;
    request.seen = (uint64_t)f->seen;
    bd_rpc_options options = bd_peer_rpc(f->a->owner, BD_CLUSTER_SERVICE "WaitNotification");
    options.cancellation = f->cancellation;
    options.deadline_ns = f->deadline_ns;
    bd_rpc_start_proto(&options, &request.base, awaited, f);
}

void bd_notifications_wait_notification(bd_notifications *a, const char *key, int64_t seen, bool forward,
                                        int64_t deadline_ns, bd_cancellation *cancellation,
                                        bd_generation_fn fn, void *arg)
{
    if (!forward || a->owner->is_self) {
        wait_notification_here(a, key, seen, deadline_ns, cancellation, fn, arg);
        return;
    }
    forwarded *f = forwarded_new(a, key, cancellation, fn, arg);
    f->seen = seen;
    f->deadline_ns = deadline_ns;
    wait_notification_there(f);
}

// ---- Beginning and end ----

static const bd_peer *first_of_job(const bd_peers *peers, const char *job)
{
    for (int i = 0; i < peers->count; i++)
        if (strcmp(peers->items[i].job, job) == 0) return &peers->items[i];
    return NULL;
}

static const bd_peer *find_chief(const bd_peers *peers)
{
    const bd_peer *chief = first_of_job(peers, "chief");
    if (!chief) chief = first_of_job(peers, "master");
    return chief ? chief : first_of_job(peers, "worker");
}

bd_notifications *bd_notifications_new(const bd_notifications_env *env)
{
    bd_notifications *a = bd_calloc(1, sizeof *a);
    a->env = *env;
    a->owner = bd_membership_first_server(env->peers);
    a->chief = find_chief(env->peers);
    a->base = bd_wall_micros();
    bd_mutex_init(&a->mu);
    return a;
}

void bd_notifications_free(bd_notifications *a)
{
    if (!a) return;
    bd_map_fini(&a->counts);
    bd_mutex_fini(&a->mu);
    bd_free(a);
}
