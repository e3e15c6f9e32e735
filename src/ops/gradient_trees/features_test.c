// Tests of the ways of examples through trees.
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/testing/test.h"
#include "ops/gradient_trees/features.h"

// Each node of a chain looks for its id among all ids of the row: together they would take 10 s.
static void a_long_way_can_be_interrupted(void **state)
{
    (void)state;
    enum {
        NODES = 100000,
        IDS = 100000
    };
    bd_gbt_tree t = {0};
    for (int32_t i = 0; i < NODES; i++)
        bd_array_push(
            &t.nodes,
            (bd_gbt_node){.kind = BD_GBT_ID_SPLIT, .feature_id = -1, .left = i + 1, .right = i + 1});
    bd_array_push(&t.nodes, (bd_gbt_node){.kind = BD_GBT_LEAF});
    int64_t *indices = bd_calloc(2 * IDS, sizeof *indices), *ids = bd_calloc(IDS, sizeof *ids);
    bd_gbt_sparse_column column = {.indices = indices, .count = IDS, .ids = ids};
    const bd_gbt_features f = {.rows = 1, .id_count = 1, .columns = &column};
    const int64_t begin = bd_thread_time_ns();
    const bd_interruption before = bd_interrupt_after(INT64_C(10000000));
    assert_int_equal(bd_gbt_find_leaf(&t, &f, 0), -1);
    bd_interrupt_restore(before);
    assert_true(bd_thread_time_ns() - begin < INT64_C(3000000000));
    column.count = 1;
    assert_int_equal(bd_gbt_find_leaf(&t, &f, 0), NODES);
    bd_gbt_tree_free(&t);
    bd_free(indices);
    bd_free(ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_way_can_be_interrupted),
    };
    return BD_RUN_TESTS(tests);
}
