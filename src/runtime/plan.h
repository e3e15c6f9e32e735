// A plan: the part of a graph that one device runs, compiled once into flat arrays; and running it.
//
// See executor.c for the states and invariants of an execution (frames, iterations, dead values).
#ifndef BD_RUNTIME_PLAN_H
#define BD_RUNTIME_PLAN_H

#include "base/strbuf.h"
#include "graph/graph.h"
#include "op/step.h"
#include "runtime/device.h"

// Bound kernels of stateful nodes, by node name and device: owned by a session and shared by its plans, so
// that a seeded random op continues in whichever plan runs it.
typedef struct bd_kernel_store bd_kernel_store;
bd_kernel_store *bd_kernel_store_new(void);
void bd_kernel_store_free(bd_kernel_store *s);

typedef struct bd_plan bd_plan;

// Compiles `g` (all its nodes are on `device`) into a plan with count 1, which takes over the graph (`g` is
// left empty, also on an error). An unknown op or an op without a kernel: NotFound / InvalidArgument naming
// op and node. ResourceExhausted when the account of this thread, or the limit of the pool, allows no more.
braid_code bd_plan_compile(braid_graph *g, bd_device *device, bd_kernel_store *store, bd_plan **plan,
                           braid_status *st);
bd_plan *bd_plan_ref(bd_plan *p);
void bd_plan_unref(bd_plan *p);
const braid_graph *bd_plan_graph(const bd_plan *p);
// Whether how long an execution takes may depend on values: it has while loops, or calls functions.
bool bd_plan_has_loops(const bd_plan *p);
bool bd_plan_uses_rendezvous(const bd_plan *p);

// Runs the plan once; `done(arg, status)` is called exactly once, on any thread with no lock held, after the
// last node (also asynchronous ones) has completed. `step` and the objects that it points to must stay valid
// until then. On the first error no further node starts, the step's rendezvous is aborted and its
// cancellation cancelled; the status is the root cause. May call `done` before it returns.
typedef void (*bd_plan_done_fn)(void *arg, const braid_status *st);
void bd_plan_run(bd_plan *p, bd_step *step, bd_plan_done_fn done, void *arg);

// A thread that ends asynchronous nodes of runs, because what they wait for has come to it. The runs go on in
// the pool, since the thread may have more to do first. Between these two calls they wait for the second one:
// it continues runs on this thread, which is quicker than waking another one, if their plan has last gone on
// for a short time only. The others go to the pool. Without locks at the second call. Pairs may be nested.
enum {
    BD_CONTINUATIONS_MAX = 4 // more go to the pool
};
typedef struct bd_continuations {
    struct bd_run *runs[BD_CONTINUATIONS_MAX];
    int count;
    struct bd_continuations *outer;
} bd_continuations;

void bd_continuations_begin(bd_continuations *c);
void bd_continuations_end(bd_continuations *c);

// Appends the nodes that the executions of the plan in the step `step_id` wait for, "x (Recv), y (Dequeue)" and
// a few at most; nothing when they compute. Any thread, while they go on.
void bd_plan_append_pending(bd_plan *p, int64_t step_id, bd_strbuf *out);

// Runs it and waits. With one ready node at a time everything runs on the calling thread.
braid_code bd_plan_run_wait(bd_plan *p, bd_step *step, braid_status *st);

#endif
