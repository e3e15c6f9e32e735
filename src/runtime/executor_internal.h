// The structures of one execution of a plan. See executor.c for states and invariants.
#ifndef BD_RUNTIME_EXECUTOR_INTERNAL_H
#define BD_RUNTIME_EXECUTOR_INTERNAL_H

#include "runtime/plan_internal.h"

typedef struct bd_frame bd_frame;
typedef struct bd_iteration bd_iteration;
typedef struct bd_run bd_run;

// An asynchronous operation between its start and the handling of its end.
typedef struct bd_async_op {
    bd_op_ctx ctx;
    bd_run *run;
    bd_iteration *iteration;
    int32_t item;
    bool is_dead;
    atomic_int phase;         // BD_ASYNC_*
    int64_t start_ns;         // when stats are asked for
    struct bd_async_op *next; // in the inbox; guarded by run->mu
} bd_async_op;

enum {
    BD_ASYNC_IDLE = 0,
    BD_ASYNC_STARTING, // the kernel's start has not returned
    BD_ASYNC_WAITING,  // start has returned; the end has not arrived yet
    BD_ASYNC_ENDED,
};

// One iteration of a frame: one block with counters, slots and async operations.
struct bd_iteration {
    bd_frame *frame;
    int64_t number;
    atomic_int outstanding; // nodes ready or running; not kept for the root
    int open_frames;        // frames entered from here that are not over; guarded by run->mu
    bd_frame *children;     // the same; guarded by run->mu
    bd_iteration *next_free;
    _Atomic uint64_t *counters; // [counter_count]
    bd_value *slots;            // [slot_count]
    bd_async_op *async;         // [async_count]
};

// A value that waits for the start of later iterations.
typedef struct bd_held_value {
    int32_t item; // the Enter or NextIteration
    bool is_dead;
    bd_value value;
} bd_held_value;

typedef BD_ARRAY(bd_held_value) bd_kept_values;

// A frame that was entered. All guarded by run->mu.
struct bd_frame {
    const bd_plan_frame *def;
    uint64_t id;            // same in every partition of a loop
    bd_iteration *parent;   // iteration it was entered from; NULL for the root
    bd_frame *next_sibling; // or the next free one
    bd_iteration **window;  // [parallel_iterations + 1], iteration i at i modulo its length; NULL: over
    int64_t newest;         // number of the newest iteration
    int live_iterations;
    int pending_enters;        // Enter nodes that have not arrived yet
    bd_kept_values next_roots; // NextIteration values that wait until an iteration may start
    bd_kept_values constants;  // of constant Enters
    BD_ARRAY(int32_t) dead_exits;
};

typedef struct bd_ready {
    bd_iteration *iteration;
    int32_t item;
    bool is_dead;
} bd_ready;

// Nodes in the order in which they became ready: first in, first out, as in TensorFlow.
typedef struct bd_ready_queue {
    BD_ARRAY(bd_ready) nodes;
    size_t head; // the nodes before it have been taken
} bd_ready_queue;

static inline size_t bd_ready_queue_len(const bd_ready_queue *q)
{
    return q->nodes.len - q->head;
}

static inline void bd_ready_queue_clear(bd_ready_queue *q)
{
    q->nodes.len = q->head = 0;
}

// Moves the nodes to the front once half of the memory is taken nodes: a long loop never empties its queue.
void bd_ready_queue_compact(bd_ready_queue *q);

static inline void bd_ready_queue_push(bd_ready_queue *q, bd_ready ready)
{
    if (q->nodes.len == q->nodes.cap && q->head > q->nodes.len / 2) bd_ready_queue_compact(q);
    bd_array_push(&q->nodes, ready);
}

// Takes the first node of a queue that is not empty.
static inline bd_ready bd_ready_queue_pop(bd_ready_queue *q)
{
    bd_ready first = q->nodes.items[q->head++];
    if (q->head == q->nodes.len) bd_ready_queue_clear(q);
    return first;
}

// A thread's part of a run.
typedef struct bd_worker {
    bd_run *run;
    bd_ready_queue ready, expensive;
    bd_value *outputs; // [output_count_max], empty between nodes
    unsigned turn;     // counts the nodes that it ran from `ready`
    bd_op_ctx ctx;
    struct bd_worker *next_free;
} bd_worker;

struct bd_run {
    bd_plan *plan; // a reference while in use
    bd_step *step;
    bd_plan_done_fn done; // NULL: a thread waits in bd_plan_run_wait
    void *done_arg;
    atomic_int refs; // 1 for the run, 1 for each task submitted
    bool may_share;  // the pool has more than one thread
    bool is_hooked;
    bd_cancel_hook hook;
    atomic_bool stopped;       // no further node starts
    atomic_bool has_long_task; // see note_task
    atomic_int async_open;     // asynchronous operations whose end has not been handled
    atomic_int in_expensive;   // workers in an expensive kernel
    bd_mutex mu;
    bd_cond wake;            // of the waiting thread
    braid_status status;     // guarded by mu
    int active;              // workers that may find more work; guarded by mu
    int tasks;               // submitted, not begun; guarded by mu
    bool waiter_sleeps;      // guarded by mu
    bool is_over;            // guarded by mu: all work is done
    bool is_complete;        // guarded by mu: and all is cleaned up
    bd_async_op *inbox;      // operations that have ended; guarded by mu
    bd_ready_queue shared;   // expensive nodes that any worker may take; guarded by mu
    bd_worker *free_workers; // guarded by mu
    bd_frame root_frame;
    bd_iteration *root;
    bd_iteration *root_window[2];
    bd_iteration **free_iterations; // [frame_count]; guarded by mu
    bd_frame *free_frames;          // guarded by mu
    bd_run *next_free;
    int64_t step_id;      // of `step`; guarded by the plan's mu, and so are the next ones
    bd_run *next, **link; // in the plan's list of those in progress
};

static inline bd_run *bd_run_next_free(const bd_run *r)
{
    return r->next_free;
}

// ---- executor_memory.c ----

size_t bd_iteration_size(const bd_plan_frame *f);
bd_iteration *bd_iteration_new(const bd_plan_frame *f);
// Makes a used one ready for another execution: counters as at the start. Slots are empty by then.
void bd_iteration_reset(bd_iteration *it, bd_frame *frame, int64_t number);
void bd_iteration_drop_values(bd_iteration *it);
// A block of the plan's free list, or a new one, for a run in the step; with a reference to the plan.
bd_run *bd_run_take(bd_plan *p, int64_t step_id);
// The last one gives the block back to the plan.
void bd_run_unref(bd_run *r);

// ---- executor.c ----

// Makes sure that a thread takes the items in `shared` and `inbox`: wakes the waiting thread. Returns the
// number of tasks that the caller has to submit (bd_run_submit) after it has released mu; they are counted
// already.
int bd_run_wake_locked(bd_run *r);
void bd_run_submit(bd_run *r, int count);
// The same for the thread that has ended an asynchronous node: the tasks may wait for bd_continuations_end.
void bd_run_continue(bd_run *r, int count);
// Appends the asynchronous nodes of the root frame that have not ended, a few at most.
void bd_run_append_pending(const bd_run *r, bd_strbuf *out);
// Takes an error in. The first one stops the run. mu is not held.
void bd_run_stop(bd_run *r, const braid_status *why);

// ---- executor_node.c ----

// Runs a node, or begins an asynchronous one, and hands its outputs on.
void bd_execute(bd_worker *w, bd_ready ready);
// Continues after the end of an asynchronous node.
void bd_handle_async_end(bd_worker *w, bd_async_op *op);

static inline void bd_worker_push(bd_worker *w, bd_iteration *iteration, int32_t item, uint32_t flags,
                                  bool is_dead)
{
    if (flags & BD_ITEM_CONTROL_TRIGGER) is_dead = false;
    bd_ready ready = {.iteration = iteration, .item = item, .is_dead = is_dead};
    if ((flags & BD_ITEM_EXPENSIVE) && w->run->may_share && !is_dead)
        bd_ready_queue_push(&w->expensive, ready);
    else
        bd_ready_queue_push(&w->ready, ready);
}

// Delivers the outputs of an item to its consumers in iteration `to` (values are moved out of `outputs` or
// copied; the rest stays there) and queues consumers that became ready. Returns their number.
int bd_activate(bd_worker *w, const bd_plan_item *it, bool is_dead, bd_iteration *to, bd_value *outputs,
                bool mu_held);

// ---- executor_frames.c: all with run->mu held ----

// Hands the outputs of an Enter, Exit or NextIteration on, opening frames and iterations as needed.
void bd_cross_frames_locked(bd_worker *w, const bd_plan_item *it, bool is_dead, bd_iteration *from,
                            bd_value *outputs);
// One ready node of `iteration` (not of the root) is done: frees iterations and frames that are over.
void bd_node_done_locked(bd_worker *w, bd_iteration *iteration);
// Frees every open frame: after an execution that stopped half-way.
void bd_frames_drop_locked(bd_run *r);
void bd_frames_destroy(bd_run *r); // the free lists

#endif
