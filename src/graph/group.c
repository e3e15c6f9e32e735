// Groups and tuples: nodes that run after all of the given nodes or values.
#include "graph/graph.h"

#include "base/alloc.h"
#include "base/array.h"
#include <stdlib.h>
#include <string.h>

// A NoOp on `device` that runs after `ops`.
static braid_op *group_on(braid_graph *g, const char *name, const char *device, braid_op *const *ops,
                          int count)
{
    if (count) braid_push_control(g, ops, count);
    if (*device) braid_push_device(g, device);
    braid_op *node = braid_op_end(braid_op_begin(g, "NoOp", name));
    if (*device) braid_pop_device(g);
    if (count) braid_pop_control(g);
    return node;
}

typedef struct member {
    braid_op *op;
    int index;
} member;

static int compare_members(const void *a, const void *b)
{
    const member *x = a, *y = b;
    int order = strcmp(x->op->device, y->op->device);
    return order ? order : x->index - y->index;
}

// One node per device, then one that waits for them: an edge across tasks per task instead of per op.
static braid_op *group_tree(braid_graph *g, const char *scope, braid_op *const *ops, int count)
{
    member *sorted = bd_calloc((size_t)count, sizeof *sorted);
    for (int i = 0; i < count; i++)
        sorted[i] = (member){ops[i], i};
    qsort(sorted, (size_t)count, sizeof *sorted, compare_members);
    bd_op_list same = {0}, leaves = {0};
    for (int i = 0; i < count; i++) {
        bd_array_push(&same, sorted[i].op);
        if (i + 1 < count && strcmp(sorted[i + 1].op->device, sorted[i].op->device) == 0) continue;
        bd_array_push(&leaves, group_on(g, NULL, sorted[i].op->device, same.items, (int)same.len));
        same.len = 0;
    }
    braid_op *root = group_on(g, scope, "", leaves.items, (int)leaves.len);
    bd_array_free(&same);
    bd_array_free(&leaves);
    bd_free(sorted);
    return root;
}

braid_op *braid_group(braid_graph *g, const char *name, braid_op *const *ops, int count)
{
    if (braid_graph_status(g, NULL)) return NULL;
    bool one_device = true;
    for (int i = 0; i < count; i++) {
        if (!ops[i]) return NULL;
        one_device = one_device && strcmp(ops[i]->device, ops[0]->device) == 0;
    }
    const char *scope = braid_push_name_scope(g, name ? name : "group_deps");
    braid_op *node = one_device ? group_on(g, scope, count ? ops[0]->device : "", ops, count)
                                : group_tree(g, scope, ops, count);
    braid_pop_name_scope(g);
    return node;
}

// ---- Tuples ----

static int compare_ids(const void *a, const void *b)
{
    return (*(braid_op *const *)a)->id - (*(braid_op *const *)b)->id;
}

// A node that runs after all of the values; each of their nodes counts once.
static braid_op *gate_of(braid_graph *g, const braid_out *values, int count)
{
    bd_op_list ops = {0};
    for (int i = 0; i < count; i++) {
        if (values[i].op) bd_array_push(&ops, values[i].op);
    }
    if (ops.len) qsort(ops.items, ops.len, sizeof *ops.items, compare_ids);
    size_t unique = 0;
    for (size_t i = 0; i < ops.len; i++) {
        if (i == 0 || ops.items[i] != ops.items[unique - 1]) ops.items[unique++] = ops.items[i];
    }
    braid_op *gate = braid_group(g, NULL, ops.items, (int)unique);
    bd_array_free(&ops);
    return gate;
}

// `x` once `gate` has run (control_flow_ops.with_dependencies).
static braid_out with_dependency(braid_graph *g, braid_op *gate, braid_out x)
{
    const char *scope = braid_push_name_scope(g, "control_dependency");
    braid_push_colocate(g, x.op);
    braid_push_control(g, &gate, 1);
    braid_op_desc *d =
        braid_op_begin(g, bd_dtype_is_ref(braid_out_dtype(x)) ? "RefIdentity" : "Identity", scope);
    braid_op_input(d, x);
    braid_out out = braid_op_end_out(d);
    braid_pop_control(g);
    braid_pop_colocate(g);
    braid_pop_name_scope(g);
    return out;
}

void braid_tuple(braid_graph *g, const braid_out *values, int count, braid_out *outs)
{
    (void)braid_push_name_scope(g, "tuple");
    braid_op *gate = gate_of(g, values, count);
    for (int i = 0; i < count; i++)
        outs[i] = values[i].op && gate ? with_dependency(g, gate, values[i]) : (braid_out){0};
    braid_pop_name_scope(g);
}
