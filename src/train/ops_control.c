// Assignments, groups and tuples.
#include "train/build.h"

#include "base/alloc.h"
#include <braid/ops.h>
#include <stdlib.h>
#include <string.h>

// A node that writes to a variable lies beside it.
static braid_out assign_node(braid_graph *g, const char *op_type, braid_out ref, braid_out value)
{
    if (!ref.op || !value.op) return BRAID_NONE;
    braid_push_colocate(g, ref.op);
    braid_out out = train_node2(g, op_type, NULL, ref, value);
    braid_pop_colocate(g);
    return out;
}

braid_out braid_assign(braid_graph *g, braid_out ref, braid_out value)
{
    return assign_node(g, "Assign", ref, value);
}

braid_out braid_assign_add(braid_graph *g, braid_out ref, braid_out value)
{
    return assign_node(g, "AssignAdd", ref, value);
}

braid_op *braid_no_op(braid_graph *g, const char *name)
{
    return braid_op_end(braid_op_begin(g, "NoOp", name));
}

// ---- Groups ----

// A node on `device` that is done when `ops` are.
static braid_op *group_on(braid_graph *g, const char *name, const char *device, braid_op *const *ops,
                          int count)
{
    braid_push_control(g, ops, count);
    if (*device) braid_push_device(g, device);
    braid_op *node = braid_no_op(g, name);
    if (*device) braid_pop_device(g);
    braid_pop_control(g);
    return node;
}

static int compare_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// The devices that `ops` ask for, sorted, each once; returns how many.
static int devices_of(braid_op *const *ops, int count, const char **devices)
{
    for (int i = 0; i < count; i++)
        devices[i] = braid_op_requested_device(ops[i]);
    qsort(devices, (size_t)count, sizeof *devices, compare_text);
    int unique = 0;
    for (int i = 0; i < count; i++) {
        if (unique == 0 || strcmp(devices[unique - 1], devices[i]) != 0) devices[unique++] = devices[i];
    }
    return unique;
}

// One node per device, then one that waits for them: an edge across tasks per task instead of per op.
static braid_op *group_tree(braid_graph *g, const char *name, const char *const *devices, int device_count,
                            braid_op *const *ops, int count)
{
    braid_op **members = bd_calloc((size_t)count, sizeof(braid_op *));
    braid_op **leaves = bd_calloc((size_t)device_count, sizeof(braid_op *));
    for (int d = 0; d < device_count; d++) {
        int n = 0;
        for (int i = 0; i < count; i++) {
            if (strcmp(braid_op_requested_device(ops[i]), devices[d]) == 0) members[n++] = ops[i];
        }
        leaves[d] = group_on(g, NULL, devices[d], members, n);
    }
    braid_op *root = group_on(g, name, "", leaves, device_count);
    bd_free(members);
    bd_free(leaves);
    return root;
}

braid_op *braid_group(braid_graph *g, const char *name, braid_op *const *ops, int count)
{
    for (int i = 0; i < count; i++) {
        if (!ops[i]) return NULL;
    }
    if (count == 0) return braid_no_op(g, name ? name : "group_deps");
    const char **devices = bd_calloc((size_t)count, sizeof(char *));
    int device_count = devices_of(ops, count, devices);
    const char *scope = braid_push_name_scope(g, name ? name : "group_deps");
    braid_op *node = device_count == 1 ? group_on(g, scope, devices[0], ops, count)
                                       : group_tree(g, scope, devices, device_count, ops, count);
    braid_pop_name_scope(g);
    bd_free(devices);
    return node;
}

void braid_tuple(braid_graph *g, const braid_out *values, int count, braid_out *outs)
{
    (void)braid_push_name_scope(g, "tuple");
    braid_op **ops = bd_calloc((size_t)count + 1, sizeof(braid_op *));
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (values[i].op) ops[n++] = values[i].op;
    }
    braid_op *gate = braid_group(g, NULL, ops, n);
    bd_free(ops);
    for (int i = 0; i < count; i++) {
        outs[i] = BRAID_NONE;
        if (!values[i].op || !gate) continue;
        braid_push_control(g, &gate, 1);
        braid_push_colocate(g, values[i].op);
        outs[i] = braid_identity(g, "control_dependency", values[i]);
        braid_pop_colocate(g);
        braid_pop_control(g);
    }
    braid_pop_name_scope(g);
}
