// Trees in memory: tests, leaves, the way through a tree, and splitting leaves.
//
// Extremely randomized trees: Geurts, Ernst and Wehenkel, Machine Learning 63 (2006).
#include "ops/tensor_forest/tree.h"

#include "base/check.h"
#include "ops/common/handle.h"
#include <string.h>

// ---- The resource ----

static void destroy(bd_resource *r)
{
    bd_rf_tree_resource *t = BD_CONTAINER_OF(r, bd_rf_tree_resource, base);
    bd_rf_tree_fini(&t->tree);
    bd_mutex_fini(&t->mu);
    bd_free(t);
}

const bd_resource_type bd_rf_tree_type = {.name = "DecisionTreeResource", .destroy = destroy};

bd_rf_tree_resource *bd_rf_input_tree(bd_op_ctx *c, int i)
{
    bd_resource *r = bd_input_resource(c, i, &bd_rf_tree_type);
    return r ? BD_CONTAINER_OF(r, bd_rf_tree_resource, base) : NULL;
}

void bd_rf_tree_fini(bd_rf_tree *t)
{
    for (size_t i = 0; i < t->nodes.len; i++) {
        bd_rf_test_free(&t->nodes.items[i].test);
        bd_array_free(&t->nodes.items[i].leaf.counts);
    }
    bd_array_free(&t->nodes);
    bd_charge_fini(&t->charge);
}

braid_code bd_rf_tree_charge(bd_rf_tree *t, size_t nodes, size_t values, braid_status *st)
{
    const size_t more = nodes * sizeof(bd_rf_node) + values * sizeof(bd_rf_count);
    return bd_charge_set(&t->charge, t->charge.bytes + more, "The tree", st);
}

// ---- Tests ----

void bd_rf_test_free(bd_rf_test *t)
{
    bd_free(t->features);
    bd_free(t->numbers);
    *t = (bd_rf_test){0};
}

bd_rf_test bd_rf_test_copy(const bd_rf_test *t)
{
    bd_rf_test copy = *t;
    if (t->features) copy.features = bd_memdup(t->features, sizeof *t->features * (size_t)t->count);
    if (t->numbers) copy.numbers = bd_memdup(t->numbers, sizeof *t->numbers * (size_t)t->count);
    return copy;
}

bd_rf_test bd_rf_test_of(const bd_rf_sample *sample, bd_rf_comparison comparison)
{
    if (sample->type == BD_RF_FLOAT)
        return (bd_rf_test){.kind = BD_RF_INEQUALITY,
                            .comparison = comparison,
                            .feature = sample->feature,
                            .threshold = sample->value};
    return (bd_rf_test){.kind = BD_RF_MATCHING,
                        .feature = sample->feature,
                        .count = 1,
                        .numbers = bd_memdup(&sample->value, sizeof sample->value)};
}

static bool is_one_of(float value, const float *values, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        if (values[i] == value) return true;
    return false;
}

static bool compare(int comparison, float value, float threshold)
{
    switch (comparison) {
    case BD_RF_LESS_OR_EQUAL: return value <= threshold;
    case BD_RF_LESS: return value < threshold;
    case BD_RF_GREATER_OR_EQUAL: return value >= threshold;
    default: return value > threshold;
    }
}

bool bd_rf_test_pass(const bd_rf_test *t, const bd_rf_data *data, int64_t row, bool *passes)
{
    float value = 0;
    if (t->kind == BD_RF_OBLIQUE) {
        for (int32_t i = 0; i < t->count; i++) {
            float part;
            if (!bd_rf_value(data, row, t->features[i], &part)) return false;
            value += t->numbers[i] * part;
        }
        *passes = value <= t->threshold;
        return true;
    }
    if (!bd_rf_value(data, row, t->feature, &value)) return false;
    if (t->kind == BD_RF_MATCHING)
        *passes = is_one_of(value, t->numbers, t->count) != t->is_inverse;
    else
        *passes = compare(t->comparison, value, t->threshold);
    return true;
}

// ---- Leaves ----

// Where a key is, or would be.
static size_t find_key(const bd_rf_counts *counts, int64_t key)
{
    size_t low = 0, high = counts->len;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (counts->items[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

bd_rf_count *bd_rf_counts_at(bd_rf_counts *counts, int64_t key)
{
    const size_t at = find_key(counts, key);
    if (at < counts->len && counts->items[at].key == key) return &counts->items[at];
    bd_array_push(counts, (bd_rf_count){0});
    memmove(counts->items + at + 1, counts->items + at, sizeof *counts->items * (counts->len - 1 - at));
    counts->items[at] = (bd_rf_count){.key = key};
    return &counts->items[at];
}

const bd_rf_count *bd_rf_counts_find(const bd_rf_counts *counts, int64_t key)
{
    const size_t at = find_key(counts, key);
    return at < counts->len && counts->items[at].key == key ? &counts->items[at] : NULL;
}

float bd_rf_counts_get(const bd_rf_counts *counts, int64_t key)
{
    const bd_rf_count *count = bd_rf_counts_find(counts, key);
    return count ? count->value : 0;
}

void bd_rf_counts_copy(bd_rf_counts *to, const bd_rf_counts *from)
{
    *to = (bd_rf_counts){0};
    bd_array_reserve(to, from->len);
    if (from->len > 0) memcpy(to->items, from->items, sizeof *from->items * from->len);
    to->len = from->len;
}

// ---- The way through a tree ----

int32_t bd_rf_tree_find(const bd_rf_tree *t, const bd_rf_data *data, int64_t row,
                        void (*pass)(void *arg, int32_t node), void *arg)
{
    int32_t at = 0;
    while (true) {
        const bd_rf_node *n = &t->nodes.items[at];
        bool passes;
        if (pass) pass(arg, at);
        if (n->is_leaf) return at;
        if (!bd_rf_test_pass(&n->test, data, row, &passes)) return -1;
        at = passes ? n->left : n->right;
    }
}

braid_code bd_rf_tree_split(bd_rf_tree *t, int32_t node, bd_rf_test *test, bd_rf_leaf *left,
                            bd_rf_leaf *right, int32_t *child, braid_status *st)
{
    BD_ASSERT(t->nodes.items[node].is_leaf);
    if (bd_rf_tree_charge(t, 2, left->counts.len + right->counts.len, st)) {
        bd_rf_test_free(test);
        bd_array_free(&left->counts);
        bd_array_free(&right->counts);
        return st->code;
    }
    *child = (int32_t)t->nodes.len;
    bd_array_push(&t->nodes, (bd_rf_node){.has_id = true, .is_leaf = true, .leaf = *left});
    bd_array_push(&t->nodes, (bd_rf_node){.has_id = true, .is_leaf = true, .leaf = *right});
    bd_rf_node *n = &t->nodes.items[node];
    bd_array_free(&n->leaf.counts);
    n->leaf.kind = BD_RF_NO_VECTOR;
    n->is_leaf = false;
    n->test = *test;
    n->left = *child;
    n->right = *child + 1;
    *test = (bd_rf_test){0};
    *left = *right = (bd_rf_leaf){0};
    return BRAID_OK;
}
