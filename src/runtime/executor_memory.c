// Memory of runs: blocks with the root's iteration, kept by the plan from one run to the next.
#include "runtime/executor_internal.h"

#include "base/alloc.h"
#include <string.h>

// ---- Iterations ----

static size_t align_up(size_t n)
{
    return (n + 63) / 64 * 64;
}

size_t bd_iteration_size(const bd_plan_frame *f)
{
    return align_up(sizeof(bd_iteration)) + align_up((size_t)f->counter_count * sizeof(uint64_t)) +
           align_up((size_t)f->slot_count * sizeof(bd_value)) + (size_t)f->async_count * sizeof(bd_async_op);
}

bd_iteration *bd_iteration_new(const bd_plan_frame *f)
{
    char *block = bd_calloc(1, f->iteration_size);
    bd_iteration *it = (bd_iteration *)(void *)block;
    block += align_up(sizeof(bd_iteration));
    it->counters = (_Atomic uint64_t *)(void *)block;
    block += align_up((size_t)f->counter_count * sizeof(uint64_t));
    it->slots = (bd_value *)(void *)block;
    block += align_up((size_t)f->slot_count * sizeof(bd_value));
    it->async = (bd_async_op *)(void *)block;
    return it;
}

void bd_iteration_reset(bd_iteration *it, bd_frame *frame, int64_t number)
{
    it->frame = frame;
    it->number = number;
    atomic_store_explicit(&it->outstanding, 0, memory_order_relaxed);
    it->open_frames = 0;
    it->children = NULL;
    memcpy((void *)it->counters, frame->def->initial, (size_t)frame->def->counter_count * sizeof(uint64_t));
}

void bd_iteration_drop_values(bd_iteration *it)
{
    for (int i = 0; i < it->frame->def->slot_count; i++)
        bd_value_fini(&it->slots[i]);
}

// ---- The block of a run, and the plan's list of free ones ----

static bd_run *new_run(bd_plan *p)
{
    bd_run *r = bd_calloc(1, sizeof *r);
    bd_mutex_init(&r->mu);
    bd_cond_init(&r->wake);
    r->root = bd_iteration_new(&p->frames[0]);
    r->root_frame.def = &p->frames[0];
    r->root_frame.window = r->root_window;
    r->root_window[0] = r->root;
    r->free_iterations = bd_calloc((size_t)p->frame_count, sizeof *r->free_iterations);
    r->plan = p;
    return r;
}

void bd_ready_queue_compact(bd_ready_queue *q)
{
    q->nodes.len -= q->head;
    memmove(q->nodes.items, q->nodes.items + q->head, q->nodes.len * sizeof *q->nodes.items);
    q->head = 0;
}

static void list_locked(bd_plan *p, bd_run *r, int64_t step_id)
{
    r->step_id = step_id;
    r->next = p->runs;
    r->link = &p->runs;
    if (r->next) r->next->link = &r->next;
    p->runs = r;
}

bd_run *bd_run_take(bd_plan *p, int64_t step_id)
{
    bd_mutex_lock(&p->mu);
    bd_run *r = p->free_runs;
    if (r) {
        p->free_runs = r->next_free;
        list_locked(p, r, step_id);
    }
    bd_mutex_unlock(&p->mu);
    if (!r) {
        r = new_run(p);
        bd_mutex_lock(&p->mu);
        list_locked(p, r, step_id);
        bd_mutex_unlock(&p->mu);
    }
    bd_plan_ref(p);
    return r;
}

void bd_plan_append_pending(bd_plan *p, int64_t step_id, bd_strbuf *out)
{
    bd_mutex_lock(&p->mu);
    for (const bd_run *r = p->runs; r; r = r->next)
        if (r->step_id == step_id) bd_run_append_pending(r, out);
    bd_mutex_unlock(&p->mu);
}

void bd_run_destroy(bd_run *r)
{
    bd_frames_destroy(r);
    while (r->free_workers) {
        bd_worker *w = r->free_workers;
        r->free_workers = w->next_free;
        bd_array_free(&w->ready.nodes);
        bd_array_free(&w->expensive.nodes);
        bd_free(w->outputs);
        bd_free(w);
    }
    bd_array_free(&r->shared.nodes);
    bd_free(r->root);
    bd_free(r->free_iterations);
    bd_cond_fini(&r->wake);
    bd_mutex_fini(&r->mu);
    bd_free(r);
}

void bd_run_unref(bd_run *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    bd_plan *p = r->plan;
    bd_mutex_lock(&p->mu);
    *r->link = r->next;
    if (r->next) r->next->link = r->link;
    r->next_free = p->free_runs;
    p->free_runs = r;
    bd_mutex_unlock(&p->mu);
    bd_plan_unref(p);
}
