// Bound kernels of stateful nodes, kept for a session's life, each with a copy of its node: plans and their
// graphs go.
#include "base/alloc.h"
#include "base/map.h"
#include "runtime/plan_internal.h"
#include <string.h>

typedef struct stored {
    const bd_kernel *kernel;
    void *state;
    braid_graph graph; // holds the copy of the node
} stored;

struct bd_kernel_store {
    bd_mutex mu;
    bd_charge charge; // for all that it holds; guarded by mu
    bd_map kernels;   // guarded by mu; "node\ndevice" -> stored
};

bd_kernel_store *bd_kernel_store_new(void)
{
    bd_kernel_store *s = bd_calloc(1, sizeof *s);
    bd_mutex_init(&s->mu);
    bd_map_init(&s->kernels);
    return s;
}

static void free_stored(stored *k)
{
    if (k->state && k->kernel->destroy) k->kernel->destroy(k->state);
    bd_free(k->state);
    bd_graph_fini(&k->graph);
    bd_free(k);
}

void bd_kernel_store_free(bd_kernel_store *s)
{
    if (!s) return;
    size_t pos = 0;
    void *value;
    while (bd_map_next(&s->kernels, &pos, NULL, &value))
        free_stored(value);
    bd_map_fini(&s->kernels);
    bd_charge_fini(&s->charge);
    bd_mutex_fini(&s->mu);
    bd_free(s);
}

static const braid_op *copy_node(braid_graph *g, const braid_op *node)
{
    braid_out *nowhere = bd_calloc((size_t)node->input_count + 1, sizeof *nowhere);
    const braid_op *copy = bd_graph_copy_node(g, node, nowhere, node->input_count, NULL, 0);
    bd_free(nowhere);
    return copy;
}

static braid_code bind(const braid_op *node, const bd_kernel *kernel, stored **out, braid_status *st)
{
    stored *k = bd_calloc(1, sizeof *k);
    k->kernel = kernel;
    bd_graph_init(&k->graph);
    void *state = bd_calloc(1, kernel->state_size);
    if (kernel->create) {
        braid_code code = kernel->create(copy_node(&k->graph, node), state, st);
        if (code) {
            bd_free(state);
            free_stored(k);
            return code;
        }
    }
    k->state = state;
    *out = k;
    return BRAID_OK;
}

static braid_code find_or_bind_locked(bd_kernel_store *s, const char *key, const braid_op *node,
                                      const bd_kernel *kernel, void **state, braid_status *st)
{
    stored *k = bd_map_get(&s->kernels, key);
    if (k && k->kernel != kernel) {
        return bd_fail(st, BRAID_INTERNAL, "node '%s' (op %s) was bound to another kernel before", node->name,
                       node->op_type);
    }
    if (!k) {
        braid_code code = bind(node, kernel, &k, st);
        if (code) return code;
        const size_t bytes = sizeof *k + kernel->state_size + bd_graph_bytes(&k->graph) + strlen(key);
        code = bd_charge_set(&s->charge, s->charge.bytes + bytes, "The states of kernels", st);
        if (code) {
            free_stored(k);
            return code;
        }
        bd_map_put(&s->kernels, key, k);
    }
    *state = k->state;
    return BRAID_OK;
}

braid_code bd_kernel_store_get(bd_kernel_store *s, const braid_op *node, const char *device,
                               const bd_kernel *kernel, void **state, braid_status *st)
{
    char *key = bd_asprintf("%s\n%s", node->name, device);
    bd_mutex_lock(&s->mu);
    braid_code code = find_or_bind_locked(s, key, node, kernel, state, st);
    bd_mutex_unlock(&s->mu);
    bd_free(key);
    return code;
}
