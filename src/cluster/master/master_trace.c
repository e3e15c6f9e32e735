// Traces on demand: the next step that the master begins, of any session, is traced for a caller that waits
// for it.
//
//   waits  in the master's list
//   taken  by a step that collects statistics; waits again when the step fails
//   ended  fn is called: with the trace, or because the wait was cancelled
//
// Each step takes one of those that wait.
#include "base/alloc.h"
#include "cluster/master/master_internal.h"

typedef enum trace_state {
    TRACE_WAITS,
    TRACE_TAKEN,
    TRACE_ENDED
} trace_state;

struct bd_trace {
    bd_master *master;
    bd_cancellation *cancellation; // a reference
    bd_cancel_hook hook;
    bd_master_traced_fn fn;
    void *arg;
    // The rest is guarded by the master's mu.
    trace_state state;
    bool is_cancelled; // while it was taken
    bd_trace *next;    // of those that wait
};

static void append_locked(bd_master *m, bd_trace *t)
{
    bd_trace **at = &m->traces;
    while (*at) // ends with the list
        at = &(*at)->next;
    *at = t;
    t->next = NULL;
    t->state = TRACE_WAITS;
    atomic_store_explicit(&m->wants_trace, true, memory_order_relaxed);
}

static void remove_locked(bd_master *m, bd_trace *t)
{
    bd_trace **at = &m->traces;
    while (*at != t) // ends: it is in the list
        at = &(*at)->next;
    *at = t->next;
    atomic_store_explicit(&m->wants_trace, m->traces != NULL, memory_order_relaxed);
}

static void end(bd_trace *t, bd_message *metadata, const braid_status *st)
{
    t->fn(t->arg, metadata, st);
    bd_cancellation_unref(t->cancellation);
    bd_free(t);
}

static void cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    bd_trace *t = BD_CONTAINER_OF(hook, bd_trace, hook);
    bd_master *m = t->master;
    bd_mutex_lock(&m->mu);
    const bool waits = t->state == TRACE_WAITS;
    if (waits) {
        remove_locked(m, t);
        t->state = TRACE_ENDED;
    }
    t->is_cancelled = true;
    bd_mutex_unlock(&m->mu);
    if (waits) end(t, NULL, why);
}

void bd_master_trace(bd_master *m, bd_cancellation *cancellation, bd_master_traced_fn fn, void *arg)
{
    bd_trace *t = bd_calloc(1, sizeof *t);
    *t = (bd_trace){.master = m,
                    .cancellation = bd_cancellation_ref(cancellation),
                    .hook.fn = cancelled,
                    .fn = fn,
                    .arg = arg,
                    .state = TRACE_TAKEN};
    BD_STATUS(why);
    if (!bd_cancellation_add(cancellation, &t->hook)) {
        bd_cancellation_status(cancellation, why);
        end(t, NULL, why);
        return;
    }
    bd_master_end_trace(t, NULL);
}

bd_trace *bd_master_take_trace(bd_master *m)
{
    if (!atomic_load_explicit(&m->wants_trace, memory_order_relaxed)) return NULL;
    bd_mutex_lock(&m->mu);
    bd_trace *t = m->traces;
    if (t) {
        remove_locked(m, t);
        t->state = TRACE_TAKEN;
    }
    bd_mutex_unlock(&m->mu);
    return t;
}

void bd_master_end_trace(bd_trace *t, bd_message *metadata)
{
    bd_master *m = t->master;
    BD_STATUS(st);
    bd_mutex_lock(&m->mu);
    const bool is_cancelled = t->is_cancelled;
    if (metadata || is_cancelled)
        t->state = TRACE_ENDED;
    else
        append_locked(m, t);
    bd_mutex_unlock(&m->mu);
    if (!metadata && !is_cancelled) return;
    bd_cancellation_remove(t->cancellation, &t->hook);
    if (is_cancelled) bd_cancellation_status(t->cancellation, st);
    end(t, is_cancelled ? NULL : metadata, st);
}
