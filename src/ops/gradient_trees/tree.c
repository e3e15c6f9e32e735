// Trees in memory: copies, sizes, and merging of leaves.
#include "ops/gradient_trees/tree.h"

#include "base/map.h"
#include <string.h>

// ---- Leaves ----

void bd_gbt_leaf_free(bd_gbt_leaf *l)
{
    bd_free(l->values);
    bd_free(l->indices);
    *l = (bd_gbt_leaf){0};
}

bd_gbt_leaf bd_gbt_leaf_copy(const bd_gbt_leaf *l)
{
    bd_gbt_leaf copy = *l;
    if (l->values) copy.values = bd_memdup(l->values, sizeof *l->values * (size_t)l->count);
    if (l->indices) copy.indices = bd_memdup(l->indices, sizeof *l->indices * (size_t)l->count);
    return copy;
}

braid_code bd_gbt_leaf_check_merge(const bd_gbt_leaf *from, const bd_gbt_leaf *to, braid_status *st)
{
    if (from->count == 0 || to->kind == BD_GBT_NO_LEAF) return BRAID_OK;
    const bool fits =
        from->kind == BD_GBT_SPARSE ? from->count <= INT32_MAX - to->count : from->count == to->count;
    if (from->kind == to->kind && fits) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "A leaf of kind %d with %d values cannot be split into leaves of kind %d with %d values",
                   (int)from->kind, from->count, (int)to->kind, to->count);
}

// The entry of an index that comes first counts.
static void merge_sparse(const bd_gbt_leaf *from, bd_gbt_leaf *to)
{
    if (from->count == 0) return;
    bd_imap places; // of indices: 1 + where they are
    bd_imap_init(&places);
    const size_t most = (size_t)to->count + (size_t)from->count;
    to->values = bd_realloc(to->values, sizeof *to->values * most);
    to->indices = bd_realloc(to->indices, sizeof *to->indices * most);
    for (int32_t i = to->count; i-- > 0;)
        bd_imap_put(&places, (uint64_t)(uint32_t)to->indices[i], (void *)((uintptr_t)i + 1));
    for (int32_t i = 0; i < from->count; i++) {
        const uint64_t key = (uint64_t)(uint32_t)from->indices[i];
        const uintptr_t place = (uintptr_t)bd_imap_get(&places, key);
        if (place > 0) {
            to->values[place - 1] += from->values[i];
            continue;
        }
        to->values[to->count] = from->values[i];
        to->indices[to->count++] = from->indices[i];
        bd_imap_put(&places, key, (void *)(uintptr_t)to->count);
    }
    bd_imap_fini(&places);
}

void bd_gbt_leaf_merge(const bd_gbt_leaf *from, bd_gbt_leaf *to)
{
    if (to->kind == BD_GBT_NO_LEAF) {
        *to = bd_gbt_leaf_copy(from);
        return;
    }
    if (from->kind == BD_GBT_SPARSE) {
        merge_sparse(from, to);
        return;
    }
    for (int32_t i = 0; i < from->count; i++)
        to->values[i] += from->values[i];
}

// ---- Nodes ----

void bd_gbt_node_free(bd_gbt_node *n)
{
    bd_gbt_leaf_free(&n->leaf);
    bd_gbt_leaf_free(&n->original);
    for (size_t i = 0; i < n->original_leaves.len; i++)
        bd_gbt_leaf_free(&n->original_leaves.items[i]);
    bd_array_free(&n->original_leaves);
    bd_array_free(&n->feature_ids);
    *n = (bd_gbt_node){0};
}

bd_gbt_node bd_gbt_node_copy(const bd_gbt_node *n)
{
    bd_gbt_node copy = *n;
    copy.leaf = bd_gbt_leaf_copy(&n->leaf);
    copy.original = bd_gbt_leaf_copy(&n->original);
    memset(&copy.original_leaves, 0, sizeof copy.original_leaves);
    memset(&copy.feature_ids, 0, sizeof copy.feature_ids);
    for (size_t i = 0; i < n->original_leaves.len; i++)
        bd_array_push(&copy.original_leaves, bd_gbt_leaf_copy(&n->original_leaves.items[i]));
    for (size_t i = 0; i < n->feature_ids.len; i++)
        bd_array_push(&copy.feature_ids, n->feature_ids.items[i]);
    return copy;
}

static size_t leaf_bytes(const bd_gbt_leaf *l)
{
    return (size_t)l->count * (sizeof *l->values + (l->indices ? sizeof *l->indices : 0));
}

size_t bd_gbt_node_bytes(const bd_gbt_node *n)
{
    size_t bytes = sizeof *n + leaf_bytes(&n->leaf) + leaf_bytes(&n->original) +
                   n->feature_ids.len * sizeof *n->feature_ids.items +
                   n->original_leaves.len * sizeof *n->original_leaves.items;
    for (size_t i = 0; i < n->original_leaves.len; i++)
        bytes += leaf_bytes(&n->original_leaves.items[i]);
    return bytes;
}

bool bd_gbt_is_binary(bd_gbt_node_kind kind)
{
    return kind >= BD_GBT_FLOAT_SPLIT && kind <= BD_GBT_IDS_SPLIT;
}

// ---- Trees ----

void bd_gbt_tree_free(bd_gbt_tree *t)
{
    for (size_t i = 0; i < t->nodes.len; i++)
        bd_gbt_node_free(&t->nodes.items[i]);
    bd_array_free(&t->nodes);
}

bd_gbt_tree bd_gbt_tree_copy(const bd_gbt_tree *t)
{
    bd_gbt_tree copy = {.bytes = t->bytes};
    for (size_t i = 0; i < t->nodes.len; i++)
        bd_array_push(&copy.nodes, bd_gbt_node_copy(&t->nodes.items[i]));
    return copy;
}

size_t bd_gbt_tree_bytes(const bd_gbt_tree *t)
{
    size_t bytes = sizeof *t;
    for (size_t i = 0; i < t->nodes.len; i++)
        bytes += bd_gbt_node_bytes(&t->nodes.items[i]);
    return bytes;
}

bool bd_gbt_has_children(const bd_gbt_tree *t, size_t i)
{
    const bd_gbt_node *n = &t->nodes.items[i];
    const int64_t at = (int64_t)i, end = (int64_t)t->nodes.len;
    return n->left > at && n->left < end && n->right > at && n->right < end;
}
