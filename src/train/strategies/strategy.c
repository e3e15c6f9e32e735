// Shared by all strategies: making one, the devices of its replicas, and building them.
#include "train/strategies/strategy.h"

#include "train/common/build.h"
#include <string.h>

// ---- Making one ----

static void release(void *arg)
{
    braid_strategy *s = arg;
    for (int i = 0; i < s->count; i++)
        bd_free(s->devices[i]);
    bd_free(s->devices);
    bd_free(s->variable_device);
    bd_free(s->leader);
    train_replicas_fini(&s->replicas);
    bd_free(s);
}

static bool check_devices(braid_graph *g, const char *what, const char *const *devices, int count)
{
    if (!devices || count < 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A %s needs at least one device", what);
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (!devices[i] || !*devices[i]) {
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Device %d of a %s has no name", i, what);
            return false;
        }
        for (int k = 0; k < i; k++) {
            if (strcmp(devices[i], devices[k]) != 0) continue;
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "Device %s is given twice to a %s: each replica needs a device of its own",
                             devices[i], what);
            return false;
        }
    }
    return true;
}

braid_strategy *train_strategy_new(braid_graph *g, const char *what, const char *const *devices, int count)
{
    braid_strategy *s = bd_calloc(1, sizeof *s);
    s->graph = g;
    s->tasks = 1;
    s->replicas.replica = -1;
    braid_graph_own(g, s, release);
    if (!check_devices(g, what, devices, count)) return s;
    s->devices = bd_calloc((size_t)count, sizeof *s->devices);
    for (int i = 0; i < count; i++)
        s->devices[i] = bd_strdup(devices[i]);
    s->count = count;
    return s;
}

const char *braid_strategy_leader(const braid_strategy *s)
{
    return s->leader;
}

int braid_strategy_num_replicas(const braid_strategy *s)
{
    return s->count * s->tasks;
}

int braid_strategy_num_local_replicas(const braid_strategy *s)
{
    return s->count;
}

braid_out *train_outs_new(braid_graph *g, int count)
{
    braid_out *outs = bd_calloc((size_t)count, sizeof *outs);
    braid_graph_own(g, outs, bd_free);
    return outs;
}

// ---- Devices ----

static bool is_variable(const char *op_type)
{
    return strcmp(op_type, "Variable") == 0 || strcmp(op_type, "VariableV2") == 0 ||
           strcmp(op_type, "VarHandleOp") == 0;
}

static const char *choose(void *arg, const char *op_type, const char *device, braid_dtype dtype,
                          braid_shape shape)
{
    (void)device, (void)dtype, (void)shape;
    const braid_strategy *s = arg;
    return s->variable_device && is_variable(op_type) ? s->variable_device : s->devices[s->replica];
}

void train_push_replica(braid_strategy *s, int replica)
{
    s->replica = replica;
    if (s->setter)
        braid_push_device_setter(s->graph, s->setter);
    else if (s->count > 0)
        braid_push_device_fn(s->graph, choose, s);
    else
        braid_push_device(s->graph, "");
}

void train_pop_replica(braid_strategy *s)
{
    braid_pop_device(s->graph);
    s->replica = s->replicas.replica > 0 ? s->replicas.replica : 0;
}

void braid_push_strategy(braid_graph *g, braid_strategy *s)
{
    if (train_store_of(g)->replicas)
        braid_graph_fail(g, BRAID_FAILED_PRECONDITION,
                         "A strategy is pushed already: pop it (braid_pop_strategy) before the next");
    else
        train_store_of(g)->replicas = &s->replicas;
    train_push_replica(s, 0);
}

void braid_pop_strategy(braid_graph *g)
{
    train_store_of(g)->replicas = NULL;
    braid_pop_device(g);
}

// ---- Replicas ----

static braid_out build_replica(braid_strategy *s, int index, braid_replica_fn fn, void *arg)
{
    const braid_replica replica = {s, s->graph, index, s->task * s->count + index};
    char *scope = index ? bd_asprintf("replica_%d", index) : NULL;
    train_begin_replica(s->graph, index);
    if (scope) (void)braid_push_name_scope(s->graph, scope);
    train_push_replica(s, index);
    const braid_out result = fn(&replica, arg);
    train_pop_replica(s);
    if (scope) braid_pop_name_scope(s->graph);
    train_end_replica(s->graph);
    bd_free(scope);
    return result;
}

braid_per_replica braid_strategy_run(braid_strategy *s, braid_replica_fn fn, void *arg)
{
    if (train_store_of(s->graph)->replicas != &s->replicas || s->replicas.replica >= 0)
        braid_graph_fail(s->graph, BRAID_FAILED_PRECONDITION,
                         "Replicas are built while their strategy is pushed (braid_push_strategy), and not "
                         "within a replica");
    if (braid_graph_status(s->graph, NULL)) return (braid_per_replica){0};
    braid_out *results = train_outs_new(s->graph, s->count);
    for (int i = 0; i < s->count && !braid_graph_status(s->graph, NULL); i++)
        results[i] = build_replica(s, i, fn, arg);
    return (braid_per_replica){results, s->count};
}

bool train_check_per_replica(braid_strategy *s, const char *what, braid_per_replica value)
{
    if (braid_graph_status(s->graph, NULL)) return false;
    bool is_whole = value.values && value.count == s->count;
    for (int i = 0; is_whole && i < s->count; i++)
        is_whole = value.values[i].op != NULL;
    if (is_whole) return true;
    braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT, "%s needs a value of each of %d replicas", what,
                     s->count);
    return false;
}
