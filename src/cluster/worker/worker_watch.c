// What the worker does, for those who watch it: its executions in progress, and its tables of resources.
#include "base/alloc.h"
#include "base/array.h"
#include "cluster/worker/local_worker_internal.h"

void bd_worker_step_list(bd_local_worker *w, bd_worker_step *s)
{
    s->begin_ns = bd_now_ns();
    bd_mutex_lock(&w->mu);
    w->running++;
    s->next = NULL;
    s->link = w->end;
    *w->end = s;
    w->end = &s->next;
    bd_mutex_unlock(&w->mu);
}

void bd_worker_step_unlist_locked(bd_local_worker *w, bd_worker_step *s, bool has_failed)
{
    *s->link = s->next;
    *(s->next ? &s->next->link : &w->end) = s->link;
    w->executions++;
    w->executions_failed += has_failed;
}

bd_execution_counts bd_local_worker_execution_counts(bd_local_worker *w)
{
    bd_mutex_lock(&w->mu);
    bd_execution_counts c = {.ended = w->executions, .failed = w->executions_failed};
    for (const bd_worker_step *s = w->first; s; s = s->next)
        c.running++;
    bd_mutex_unlock(&w->mu);
    return c;
}

// An execution that goes on, and may have ended when it is looked at.
typedef struct seen {
    int64_t step_id, begin_ns;
    bd_worker_graph *graph; // a reference
} seen;

void bd_local_worker_watch(bd_local_worker *w, int max, void (*fn)(void *arg, const bd_watched_execution *e),
                           void *arg)
{
    BD_ARRAY(seen) all = {0};
    bd_mutex_lock(&w->mu);
    w->running++; // a graph may hold the last reference to its plan
    for (const bd_worker_step *s = w->first; s && (int)all.len < max; s = s->next) {
        atomic_fetch_add_explicit(&s->graph->refs, 1, memory_order_relaxed);
        bd_array_push(&all, (seen){s->step.id, s->begin_ns, s->graph});
    }
    bd_mutex_unlock(&w->mu);
    bd_strbuf pending = {0};
    for (size_t i = 0; i < all.len; i++) {
        const seen *s = &all.items[i];
        bd_strbuf_clear(&pending);
        bd_plan_append_pending(s->graph->plan, s->step_id, &pending);
        fn(arg, &(bd_watched_execution){s->step_id, s->begin_ns, s->graph->session->handle,
                                        bd_strbuf_str(&pending)});
        bd_worker_graph_unref(s->graph);
    }
    bd_strbuf_fini(&pending);
    bd_array_free(&all);
    bd_worker_count_running(w, -1);
}

void bd_local_worker_each_resources(bd_local_worker *w, void (*fn)(void *arg, bd_resources *rs), void *arg)
{
    BD_ARRAY(bd_resources *) all = {0};
    size_t pos = 0;
    void *session;
    bd_mutex_lock(&w->mu);
    while (bd_map_next(&w->sessions, &pos, NULL, &session)) {
        const bd_worker_session *s = session;
        if (s->is_isolated) bd_array_push(&all, bd_resources_ref(s->resources));
    }
    bd_mutex_unlock(&w->mu);
    fn(arg, w->device->resources);
    for (size_t i = 0; i < all.len; i++) {
        fn(arg, all.items[i]);
        bd_resources_unref(all.items[i]);
    }
    bd_array_free(&all);
}
