// Turns of threads at a graph.
#include "graph/turns.h"

#include "base/alloc.h"
#include "base/thread.h"

typedef struct bd_graph_turns {
    bd_mutex mu;         // held by the thread that has the turn
    _Atomic(void *) who; // this thread; NULL: none
    int depth;           // guarded by mu
    int suspended;       // turns that were given up half-way; guarded by mu
    bd_cond whole;       // there are none
    atomic_size_t nodes; // visible; SIZE_MAX: there are more in a half-built graph; written under mu
    atomic_int error;    // visible; written under mu
} turns;

// Its address identifies the thread. (mold misplaces a segment of a single byte)
static _Thread_local void *this_thread;

// Turns that the thread has suspended.
static _Thread_local int half_built;

struct bd_graph_turns *bd_graph_turns_new(void)
{
    turns *t = bd_calloc(1, sizeof *t);
    bd_mutex_init(&t->mu);
    bd_cond_init(&t->whole);
    return t;
}

void bd_graph_turns_free(struct bd_graph_turns *t)
{
    if (!t) return;
    bd_mutex_fini(&t->mu);
    bd_cond_fini(&t->whole);
    bd_free(t);
}

// ---- Turns ----

static void take(turns *t, int depth)
{
    bd_mutex_lock(&t->mu);
    atomic_store_explicit(&t->who, &this_thread, memory_order_relaxed);
    t->depth = depth;
}

static void give_up(turns *t)
{
    t->depth = 0;
    atomic_store_explicit(&t->who, NULL, memory_order_relaxed);
    bd_mutex_unlock(&t->mu);
}

const braid_graph *bd_graph_lock(const braid_graph *g)
{
    turns *t = g ? g->turns : NULL;
    if (!t) return g;
    if (atomic_load_explicit(&t->who, memory_order_relaxed) == &this_thread)
        t->depth++;
    else
        take(t, 1);
    return g;
}

void bd_graph_unlock(const braid_graph *g)
{
    turns *t = g ? g->turns : NULL;
    if (!t || --t->depth > 0) return;
    atomic_store_explicit(&t->nodes, t->suspended ? SIZE_MAX : g->nodes.len, memory_order_release);
    if (!t->suspended) atomic_store_explicit(&t->error, (int)g->status.code, memory_order_release);
    give_up(t);
}

int bd_graph_suspend(const braid_graph *g)
{
    turns *t = g->turns;
    if (!t) return 0;
    const int depth = t->depth;
    t->suspended++;
    half_built++;
    give_up(t);
    return depth;
}

void bd_graph_resume(const braid_graph *g, int depth)
{
    if (!g->turns) return;
    take(g->turns, depth);
    half_built--;
    if (--g->turns->suspended == 0) bd_cond_broadcast(&g->turns->whole);
}

bool bd_graph_is_half_built_here(void)
{
    return half_built > 0;
}

void bd_graph_lock_whole(const braid_graph *g)
{
    turns *t = g->turns;
    if (!t) return;
    bd_mutex_lock(&t->mu);
    while (t->suspended > 0)
        bd_cond_wait(&t->whole, &t->mu); // ends when the gradient functions of the program have returned
    atomic_store_explicit(&t->who, &this_thread, memory_order_relaxed);
    t->depth = 1;
}

void braid_graph_lock(braid_graph *g)
{
    bd_graph_lock(g);
}

void braid_graph_unlock(braid_graph *g)
{
    bd_graph_unlock(g);
}

// ---- What sessions see ----

size_t bd_graph_visible_nodes(const braid_graph *g)
{
    return g->turns ? atomic_load_explicit(&g->turns->nodes, memory_order_acquire) : g->nodes.len;
}

braid_code bd_graph_visible_error(const braid_graph *g)
{
    return g->turns ? (braid_code)atomic_load_explicit(&g->turns->error, memory_order_acquire)
                    : g->status.code;
}

void bd_node_refine_shape(braid_op *n, int output, const braid_shape *shape)
{
    braid_shape *to = &n->output_shapes[output];
    for (int i = 0; i < shape->rank; i++)
        __atomic_store_n(&to->dims[i], shape->dims[i], __ATOMIC_RELAXED);
    __atomic_store_n(&to->rank, shape->rank, __ATOMIC_RELEASE);
}

braid_shape bd_node_read_shape(const braid_op *n, int output)
{
    const braid_shape *from = &n->output_shapes[output];
    braid_shape shape;
    shape.rank = __atomic_load_n(&from->rank, __ATOMIC_ACQUIRE);
    for (int i = 0; i < shape.rank; i++)
        shape.dims[i] = __atomic_load_n(&from->dims[i], __ATOMIC_RELAXED);
    return shape;
}
