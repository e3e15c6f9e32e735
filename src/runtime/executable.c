// Compiling a graph for several devices, and running the plans together.
#include "runtime/executable.h"

#include "base/alloc.h"
#include "base/slab.h"
#include "base/thread.h"
#include "runtime/debug_nodes.h"
#include "runtime/function_runtime.h"
#include "runtime/optimize.h"
#include "runtime/partition.h"
#include <string.h>

typedef struct partition {
    bd_plan *plan;
    bd_device *device;
} partition;

struct bd_executable {
    atomic_int refs;
    bool uses_rendezvous;
    atomic_llong debug_steps;
    bd_function_runtime *functions; // the functions that its nodes call; NULL: those of the step
    int partition_count;
    partition partitions[];
};

// ---- Compiling ----

static bd_executable *new_executable(int partition_count)
{
    bd_executable *e = bd_calloc(1, sizeof *e + (size_t)partition_count * sizeof e->partitions[0]);
    atomic_init(&e->refs, 1);
    e->partition_count = partition_count;
    return e;
}

void *bd_executable_ref(void *executable)
{
    atomic_fetch_add_explicit(&((bd_executable *)executable)->refs, 1, memory_order_relaxed);
    return executable;
}

void bd_executable_unref(void *executable)
{
    bd_executable *e = executable;
    if (!e || atomic_fetch_sub_explicit(&e->refs, 1, memory_order_acq_rel) != 1) return;
    for (int i = 0; i < e->partition_count; i++)
        bd_plan_unref(e->partitions[i].plan);
    bd_function_runtime_unref(e->functions);
    bd_free(e);
}

int64_t bd_executable_count_debug_step(bd_executable *e)
{
    return atomic_fetch_add_explicit(&e->debug_steps, 1, memory_order_relaxed);
}

int bd_executable_partition_count(const bd_executable *e)
{
    return e->partition_count;
}

bool bd_executable_uses_rendezvous(const bd_executable *e)
{
    return e->uses_rendezvous;
}

void bd_executable_write_graphs(const bd_executable *e, uint32_t field, bd_wire_writer *out)
{
    for (int i = 0; i < e->partition_count; i++) {
        const braid_graph *g = bd_plan_graph(e->partitions[i].plan);
        bd_wire_put_tag(out, field, BD_WIRE_BYTES);
        bd_wire_put_varint(out, bd_graph_write_size(g, 0, BD_GRAPH_PLACED));
        bd_graph_write(g, 0, BD_GRAPH_PLACED, out);
    }
}

static bd_device *find_device(const bd_local_devices *devices, const char *name)
{
    for (int i = 0; i < devices->count; i++) {
        if (strcmp(devices->devices[i]->name, name) == 0) return devices->devices[i];
    }
    return NULL;
}

// How graphs become plans.
typedef struct compiling {
    const bd_local_devices *devices;
    unsigned disabled_rewrites;
    const Tensorflow__DebugOptions *debug; // NULL: none
    bd_kernel_store *store;
} compiling;

static braid_code compile_partition(bd_executable *e, int i, braid_graph *g, bd_device *device,
                                    const compiling *how, braid_status *st)
{
    e->partitions[i].device = device;
    braid_code code = how->debug ? bd_debug_add_nodes(g, how->debug, device->fs, st)
                                 : bd_optimize(g, how->disabled_rewrites, st);
    if (!code) code = bd_plan_compile(g, device, how->store, &e->partitions[i].plan, st);
    if (!code) e->uses_rendezvous |= bd_plan_uses_rendezvous(e->partitions[i].plan);
    return code;
}

static braid_code compile_partitions(bd_executable *e, bd_partitions *partitions, const compiling *how,
                                     braid_status *st)
{
    for (int i = 0; i < partitions->count; i++) {
        bd_device *device = find_device(how->devices, partitions->items[i].location);
        if (!device)
            return bd_fail(st, BRAID_INTERNAL, "there is no device %s here", partitions->items[i].location);
        if (compile_partition(e, i, &partitions->items[i].graph, device, how, st)) return st->code;
    }
    return BRAID_OK;
}

static braid_code compile_cut(braid_graph *g, const compiling *how, bd_executable **out, braid_status *st)
{
    bd_partitions partitions = {0};
    const bd_partition_options options = {
        .by_device = true, .devices = how->devices->infos, .device_count = how->devices->count};
    braid_code code = bd_partition_graph(g, &options, &partitions, st);
    if (code) return code;
    *out = new_executable(partitions.count);
    code = compile_partitions(*out, &partitions, how, st);
    bd_partitions_fini(&partitions);
    return code;
}

static braid_code compile(braid_graph *g, const compiling *how, bd_executable **out, braid_status *st)
{
    *out = NULL;
    braid_code code;
    if (how->devices->count == 1) {
        *out = new_executable(1);
        code = compile_partition(*out, 0, g, how->devices->devices[0], how, st);
    } else {
        code = compile_cut(g, how, out, st);
    }
    if (code) {
        bd_executable_unref(*out);
        *out = NULL;
    }
    return code;
}

braid_code bd_executable_compile(braid_graph *g, const bd_local_devices *devices, unsigned disabled_rewrites,
                                 const Tensorflow__DebugOptions *debug, bd_kernel_store *store,
                                 bd_executable **out, braid_status *st)
{
    const compiling how = {
        .devices = devices, .disabled_rewrites = disabled_rewrites, .debug = debug, .store = store};
    bd_library *library = bd_library_ref(g->library); // the graph is used up
    braid_code code = compile(g, &how, out, st);
    if (!code)
        (*out)->functions = bd_function_runtime_new(
            library, &(bd_function_surroundings){.devices = devices, .disabled_rewrites = disabled_rewrites});
    bd_library_unref(library);
    return code;
}

braid_code bd_executable_compile_body(braid_graph *g, const bd_local_devices *devices,
                                      unsigned disabled_rewrites, bd_executable **out, braid_status *st)
{
    return compile(g, &(compiling){.devices = devices, .disabled_rewrites = disabled_rewrites}, out, st);
}

// ---- Running ----

static void set_partition_step(const bd_executable *e, int i, const bd_step *model, bd_step *step)
{
    const bd_device *device = e->partitions[i].device;
    bd_function_runtime *functions = e->functions ? e->functions : model->functions;
    *step = *model;
    step->resources = device->resources;
    step->io_pool = device->io_pool;
    step->fs = device->fs;
    step->functions = functions ? bd_function_runtime_on(functions, device) : NULL;
    if (step->functions) step->resources = step->functions->resources; // of the session, where it has its own
}

// One run of an executable.
typedef struct run_state {
    bd_executable *what;
    bd_step *steps; // [partition_count]
    bd_mutex mu;
    braid_status status; // guarded by mu
    int left;            // partitions that run; guarded by mu
    bd_event all_done;
} run_state;

typedef struct part_run {
    run_state *run;
    int index;
} part_run;

static void partition_done(void *arg, const braid_status *st)
{
    run_state *r = arg;
    bd_mutex_lock(&r->mu);
    bd_status_update(&r->status, st);
    bool is_last = --r->left == 0;
    bd_mutex_unlock(&r->mu);
    if (is_last) bd_event_set(&r->all_done);
}

static void run_partition(void *arg)
{
    part_run *p = arg;
    run_state *r = p->run;
    bd_plan_run(r->what->partitions[p->index].plan, &r->steps[p->index], partition_done, r);
}

// Runs partition 0 on this thread and the others in the pool. Each of them ends, because they share token and
// rendezvous.
static braid_code run_partitions(run_state *r, bd_thread_pool *pool, braid_status *st)
{
    int others = r->what->partition_count - 1;
    bd_mutex_init(&r->mu);
    bd_event_init(&r->all_done);
    r->left = others;
    part_run *runs = bd_calloc((size_t)others, sizeof *runs);
    for (int i = 0; i < others; i++) {
        runs[i] = (part_run){.run = r, .index = i + 1};
        if (!bd_thread_pool_submit(pool, run_partition, &runs[i])) run_partition(&runs[i]);
    }
    BD_STATUS(mine);
    bd_plan_run_wait(r->what->partitions[0].plan, &r->steps[0], mine);
    bd_event_wait(&r->all_done);
    bd_status_update(&r->status, mine);
    bd_status_move(st, &r->status);
    bd_free(runs);
    bd_event_fini(&r->all_done);
    bd_mutex_fini(&r->mu);
    return st->code;
}

static braid_code run_all(bd_executable *e, const bd_step *model, bd_thread_pool *pool, braid_status *st)
{
    if (e->partition_count == 0) return BRAID_OK; // a run without fetches and targets
    if (e->partition_count == 1) {
        bd_step step;
        set_partition_step(e, 0, model, &step);
        return bd_plan_run_wait(e->partitions[0].plan, &step, st);
    }
    run_state r = {.what = e};
    r.steps = bd_calloc((size_t)e->partition_count, sizeof *r.steps);
    for (int i = 0; i < e->partition_count; i++)
        set_partition_step(e, i, model, &r.steps[i]);
    braid_code code = run_partitions(&r, pool, st);
    bd_free(r.steps);
    return code;
}

braid_code bd_executable_run(bd_executable *e, const bd_step *model, bd_thread_pool *pool, braid_status *st)
{
    braid_code code = run_all(e, model, pool, st);
    bd_executable_clear(e, model->container);
    return code;
}

void bd_executable_clear(bd_executable *e, const char *container)
{
    bd_function_runtime_clear(e->functions, container);
}

// ---- Running without waiting ----

// One execution that was started; freed by the last part to end.
typedef struct started {
    bd_executable *what;
    bd_plan_done_fn done;
    void *arg;
    bd_mutex mu;
    braid_status status; // guarded by mu
    int left;            // partitions that run; guarded by mu
    struct started_partition {
        struct started *all;
        bd_step step;
    } partitions[];
} started;

static void started_partition_done(void *arg, const braid_status *st)
{
    started *s = ((struct started_partition *)arg)->all;
    bd_mutex_lock(&s->mu);
    bd_status_update(&s->status, st);
    const bool is_last = --s->left == 0;
    bd_mutex_unlock(&s->mu);
    if (!is_last) return;
    s->done(s->arg, &s->status);
    bd_status_fini(&s->status);
    bd_mutex_fini(&s->mu);
    bd_slab_free(s);
}

static void run_started_partition(void *arg)
{
    struct started_partition *p = arg;
    bd_plan_run(p->all->what->partitions[p - p->all->partitions].plan, &p->step, started_partition_done, p);
}

void bd_executable_start(bd_executable *e, const bd_step *model, bd_thread_pool *pool, bd_plan_done_fn done,
                         void *arg)
{
    BD_STATUS(ok);
    const int count = e->partition_count;
    if (count == 0) {
        done(arg, ok);
        return;
    }
    started *s = bd_slab_alloc(sizeof *s + (size_t)count * sizeof s->partitions[0]);
    s->what = e;
    s->done = done;
    s->arg = arg;
    s->left = count;
    bd_mutex_init(&s->mu);
    for (int i = 0; i < count; i++) {
        s->partitions[i].all = s;
        set_partition_step(e, i, model, &s->partitions[i].step);
    }
    // The last one may end all of it.
    for (int i = count - 1; i >= 0; i--) {
        if (i == 0 || !pool || !bd_thread_pool_submit(pool, run_started_partition, &s->partitions[i]))
            run_started_partition(&s->partitions[i]);
    }
}
