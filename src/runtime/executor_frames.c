// Frames and iterations of the executor: Enter, Exit and NextIteration.
//
// A frame begins when the first of its Enters arrives, with iteration 0. A live NextIteration value goes to
// the next iteration and starts it, unless parallel_iterations are live already; then it is held until one is
// over. A dead one ends there. A live Exit goes to the parent's iteration at once; a dead Exit of the newest
// iteration is recorded, since a later iteration may still produce a live value, and goes to the parent when
// the frame is over.
//
// Invariants, all with mu held:
//  1. Iteration i is over when none of its nodes is ready or running, no frame entered from it is open, and
//     iteration i-1 is over (for 0: every Enter has arrived). Then no value can reach it any more.
//  2. A frame is over when all its Enters have arrived and all its iterations are over. Until then its
//     parent's iteration is not over.
//  3. `outstanding` may rise without mu, by a node of the same iteration that is counted itself; it falls
//     with mu held.
#include "runtime/executor_internal.h"

#include "base/alloc.h"
#include <string.h>

static void clean_up_locked(bd_worker *w, bd_frame *f, int64_t number);

static int64_t window_size(const bd_frame *f)
{
    return (int64_t)f->def->parallel_iterations + 1;
}

static bd_iteration *get_iteration(const bd_frame *f, int64_t number)
{
    return f->window[number % window_size(f)];
}

static void count_ready(bd_iteration *it, int ready_count)
{
    if (ready_count > 0) atomic_fetch_add_explicit(&it->outstanding, ready_count, memory_order_relaxed);
}

static bd_value copy_value(const bd_value *v)
{
    bd_value copy;
    bd_tensor_ref(&copy.tensor, &v->tensor);
    copy.ref = v->ref;
    if (copy.ref) bd_resource_ref(&copy.ref->base);
    return copy;
}

// Hands one value of `item` to iteration `to`; the value is used up.
static void hand_to_locked(bd_worker *w, int32_t item, bool is_dead, bd_iteration *to, bd_value *value)
{
    int ready_count = bd_activate(w, &w->run->plan->items[item], is_dead, to, value, true);
    if (to->frame->parent) count_ready(to, ready_count);
    bd_value_fini(value);
}

// ---- Iterations ----

static bd_iteration *new_iteration_locked(bd_run *r, bd_frame *f, int64_t number)
{
    bd_iteration **free_list = &r->free_iterations[f->def - r->plan->frames];
    bd_iteration *it = *free_list;
    if (it)
        *free_list = it->next_free;
    else
        it = bd_iteration_new(f->def);
    bd_iteration_reset(it, f, number);
    f->window[number % window_size(f)] = it;
    f->newest = number;
    f->live_iterations++;
    return it;
}

static void free_iteration_locked(bd_run *r, bd_frame *f, int64_t number)
{
    bd_iteration *it = get_iteration(f, number);
    bd_iteration_drop_values(it);
    f->window[number % window_size(f)] = NULL;
    f->live_iterations--;
    bd_iteration **free_list = &r->free_iterations[f->def - r->plan->frames];
    it->next_free = *free_list;
    *free_list = it;
}

static bd_iteration *start_iteration_locked(bd_worker *w, bd_frame *f)
{
    bd_iteration *it = new_iteration_locked(w->run, f, f->newest + 1);
    f->dead_exits.len = 0;
    size_t root_count = f->next_roots.len;
    f->next_roots.len = 0; // activation adds no roots
    for (size_t i = 0; i < root_count; i++) {
        bd_held_value *kept = &f->next_roots.items[i];
        hand_to_locked(w, kept->item, kept->is_dead, it, &kept->value);
    }
    for (size_t i = 0; i < f->constants.len; i++) {
        const bd_held_value *kept = &f->constants.items[i];
        bd_value copy = copy_value(&kept->value);
        hand_to_locked(w, kept->item, kept->is_dead, it, &copy);
    }
    return it;
}

// ---- Frames ----

// Computes the same number in each partition of the loop, in any process.
static uint64_t frame_id(const bd_iteration *parent, const char *name)
{
    uint64_t h = 14695981039346656037u ^ parent->frame->id; // FNV-1a
    for (int i = 0; i < 8; i++)
        h = (h ^ ((uint64_t)parent->number >> (8 * i) & 255)) * 1099511628211u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return h ? h : 1; // 0 is the root
}

static bd_frame *new_frame_locked(bd_run *r, const bd_plan_frame *def, bd_iteration *parent)
{
    bd_frame **link = &r->free_frames;
    while (*link && (*link)->def != def)
        link = &(*link)->next_sibling;
    bd_frame *f = *link;
    if (f) {
        *link = f->next_sibling;
    } else {
        f = bd_calloc(1, sizeof *f);
        f->window = bd_calloc((size_t)def->parallel_iterations + 1, sizeof *f->window);
    }
    f->def = def;
    f->parent = parent;
    f->id = frame_id(parent, def->name);
    f->live_iterations = 0;
    f->pending_enters = def->enter_count;
    f->next_sibling = parent->children;
    parent->children = f;
    parent->open_frames++;
    new_iteration_locked(r, f, 0);
    return f;
}

static bd_frame *find_frame_locked(bd_run *r, bd_iteration *parent, int32_t frame)
{
    const bd_plan_frame *def = &r->plan->frames[frame];
    for (bd_frame *f = parent->children; f; f = f->next_sibling) {
        if (f->def == def) return f;
    }
    return new_frame_locked(r, def, parent);
}

static void drop_kept(bd_kept_values *values)
{
    for (size_t i = 0; i < values->len; i++)
        bd_value_fini(&values->items[i].value);
    values->len = 0;
}

static void free_frame_locked(bd_run *r, bd_frame *f)
{
    bd_frame **link = &f->parent->children;
    while (*link != f)
        link = &(*link)->next_sibling;
    *link = f->next_sibling;
    f->parent->open_frames--;
    drop_kept(&f->next_roots);
    drop_kept(&f->constants);
    f->dead_exits.len = 0;
    f->next_sibling = r->free_frames;
    r->free_frames = f;
}

static void close_frame_locked(bd_worker *w, bd_frame *f)
{
    bd_iteration *parent = f->parent;
    for (size_t i = 0; i < f->dead_exits.len; i++) {
        bd_value none = {0};
        hand_to_locked(w, f->dead_exits.items[i], true, parent, &none);
    }
    free_frame_locked(w->run, f);
    if (parent->frame->parent) clean_up_locked(w, parent->frame, parent->number);
}

static bool is_iteration_over(const bd_frame *f, int64_t number)
{
    bd_iteration *it = get_iteration(f, number);
    if (!it || atomic_load_explicit(&it->outstanding, memory_order_relaxed) > 0 || it->open_frames > 0)
        return false;
    return number == 0 ? f->pending_enters == 0 : get_iteration(f, number - 1) == NULL;
}

// Frees iteration `number` and those after it that are over, starts one that had to wait, and ends the frame
// when all iterations are over.
static void clean_up_locked(bd_worker *w, bd_frame *f, int64_t number)
{
    for (; number <= f->newest && is_iteration_over(f, number); number++) {
        free_iteration_locked(w->run, f, number);
        if (f->next_roots.len > 0) start_iteration_locked(w, f);
    }
    if (f->pending_enters == 0 && f->live_iterations == 0) close_frame_locked(w, f);
}

void bd_node_done_locked(bd_worker *w, bd_iteration *iteration)
{
    if (atomic_fetch_sub_explicit(&iteration->outstanding, 1, memory_order_relaxed) == 1)
        clean_up_locked(w, iteration->frame, iteration->number);
}

// ---- Enter, Exit, NextIteration ----

static void enter_locked(bd_worker *w, const bd_plan_item *it, bool is_dead, bd_iteration *from,
                         bd_value *value)
{
    const bd_plan *p = w->run->plan;
    int32_t item = (int32_t)(it - p->items);
    bd_frame *f = find_frame_locked(w->run, from, p->frame_of_enter[item]);
    if (it->flags & BD_ITEM_CONSTANT_ENTER) {
        for (int64_t i = 0; i <= f->newest; i++) {
            bd_value copy = copy_value(value);
            // Iteration 0 is not over before each Enter has arrived, so no iteration is.
            hand_to_locked(w, item, is_dead, get_iteration(f, i), &copy);
        }
        bd_held_value kept = {.item = item, .is_dead = is_dead, .value = copy_value(value)};
        bd_array_push(&f->constants, kept);
    } else {
        hand_to_locked(w, item, is_dead, get_iteration(f, 0), value);
    }
    f->pending_enters--;
    if (f->pending_enters == 0) clean_up_locked(w, f, 0);
}

static void exit_locked(bd_worker *w, const bd_plan_item *it, bool is_dead, bd_iteration *from,
                        bd_value *value)
{
    bd_frame *f = from->frame;
    int32_t item = (int32_t)(it - w->run->plan->items);
    if (!is_dead) {
        hand_to_locked(w, item, false, f->parent, value);
    } else if (from->number == f->newest) {
        bd_array_push(&f->dead_exits, item);
    }
}

static void next_locked(bd_worker *w, const bd_plan_item *it, bool is_dead, bd_iteration *from,
                        bd_value *value)
{
    if (is_dead) return;
    bd_frame *f = from->frame;
    int32_t item = (int32_t)(it - w->run->plan->items);
    if (from->number == f->newest && f->live_iterations == f->def->parallel_iterations) {
        bd_held_value kept = {.item = item, .value = copy_value(value)};
        bd_array_push(&f->next_roots, kept);
        return;
    }
    bd_iteration *to =
        from->number == f->newest ? start_iteration_locked(w, f) : get_iteration(f, from->number + 1);
    hand_to_locked(w, item, false, to, value);
}

void bd_cross_frames_locked(bd_worker *w, const bd_plan_item *it, bool is_dead, bd_iteration *from,
                            bd_value *outputs)
{
    if (it->flags & BD_ITEM_ENTER)
        enter_locked(w, it, is_dead, from, outputs);
    else if (it->flags & BD_ITEM_EXIT)
        exit_locked(w, it, is_dead, from, outputs);
    else
        next_locked(w, it, is_dead, from, outputs);
}

// ---- The end of a run ----

static void drop_frame_locked(bd_run *r, bd_frame *f)
{
    for (int64_t i = 0; i < window_size(f); i++) {
        bd_iteration *it = f->window[i];
        if (!it) continue;
        while (it->children)
            drop_frame_locked(r, it->children);
        free_iteration_locked(r, f, it->number);
    }
    free_frame_locked(r, f);
}

void bd_frames_drop_locked(bd_run *r)
{
    while (r->root->children)
        drop_frame_locked(r, r->root->children);
}

void bd_frames_destroy(bd_run *r)
{
    for (int i = 0; i < r->plan->frame_count; i++) {
        while (r->free_iterations[i]) {
            bd_iteration *it = r->free_iterations[i];
            r->free_iterations[i] = it->next_free;
            bd_free(it);
        }
    }
    while (r->free_frames) {
        bd_frame *f = r->free_frames;
        r->free_frames = f->next_sibling;
        bd_array_free(&f->next_roots);
        bd_array_free(&f->constants);
        bd_array_free(&f->dead_exits);
        bd_free(f->window);
        bd_free(f);
    }
}
