// Tests of staging areas: order, waiting, limits, keys that are completed piece by piece. Expected values
// follow from TensorFlow 1.15's documentation of the ops.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

static const braid_dtype types[] = {BRAID_INT32, BRAID_FLOAT};

// A node of an area called "area" of int32 and float; the inputs are fed.
static braid_op *node(op_live *l, const char *op, const char *attr, int64_t limit, const braid_dtype *inputs,
                      int input_count, int first_value, const braid_dtype *outputs, int output_count)
{
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    for (int i = 0; i < first_value && i < input_count; i++)
        braid_op_input(d, op_live_placeholder(l, inputs[i]));
    braid_out values[2];
    for (int i = first_value; i < input_count; i++)
        values[i - first_value] = op_live_placeholder(l, inputs[i]);
    if (input_count > first_value) braid_op_input_list(d, values, input_count - first_value);
    braid_op_attr_type_list(d, "dtypes", output_count ? outputs : types, output_count ? output_count : 2);
    if (strstr(op, "MapStage")) braid_op_attr_type_list(d, "fake_dtypes", inputs + 2, input_count - 2);
    if (attr) braid_op_attr_int(d, attr, limit);
    braid_op_attr_string(d, "shared_name", "area");
    braid_op *n = braid_op_end(d);
    BD_STATUS(st);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return n;
}

typedef struct stage_nodes {
    op_live *live;
    braid_op *stage, *unstage, *peek, *size, *clear;
} stage_nodes;

static stage_nodes stage_area(op_live *l, const char *attr, int64_t limit)
{
    static const braid_dtype index = BRAID_INT32;
    stage_nodes n = {.live = l};
    n.stage = node(l, "Stage", attr, limit, types, 2, 0, NULL, 0);
    n.unstage = node(l, "Unstage", attr, limit, NULL, 0, 0, types, 2);
    n.peek = node(l, "StagePeek", attr, limit, &index, 1, 1, types, 2);
    n.size = node(l, "StageSize", attr, limit, NULL, 0, 0, NULL, 0);
    n.clear = node(l, "StageClear", attr, limit, NULL, 0, 0, NULL, 0);
    return n;
}

#define RUN(NODE, FEEDS, WANT) op_live_run(n.live, n.NODE, FEEDS, WANT)
#define START(NODE, FEEDS) op_live_start(n.live, n.NODE, FEEDS)

static void the_oldest_element_leaves_first(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    stage_nodes n = stage_area(l, NULL, 0);
    RUN(stage, "int32[] 1; float[2] 1 2", "");
    RUN(stage, "int32[] 2; float[]  3", "");
    RUN(peek, "int32[] 1", "int32[] 2; float[] 3");
    RUN(size, "", "int32[] 2");
    RUN(unstage, "", "int32[] 1; float[2] 1 2");
    RUN(stage, "int32[0]; float[0,2]", "");
    RUN(unstage, "", "int32[] 2; float[] 3");
    RUN(peek, "int32[] 0", "int32[0]; float[0,2]");
    RUN(peek, "int32[2] 0", "InvalidArgument: index must be scalar");
    RUN(peek, "int32[0]", "InvalidArgument: index must be scalar");
    RUN(unstage, "", "int32[0]; float[0,2]");
    RUN(stage, "int32[] 3; float[] 4", "");
    RUN(clear, "", "");
    RUN(size, "", "int32[] 0");
    op_live_free(l);
}

static void an_unstage_waits_for_a_stage(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    stage_nodes n = stage_area(l, NULL, 0);
    op_execution *third = START(peek, "int32[] 1"), *first = START(unstage, "");
    assert_false(op_execution_has_ended(first));
    RUN(stage, "int32[] 1; float[] 1", "");
    op_execution_expect(first, "int32[] 1; float[] 1"); // although the peek was first: it waits for more
    assert_false(op_execution_has_ended(third));
    RUN(stage, "int32[] 2; float[] 2", "");
    RUN(stage, "int32[] 3; float[] 3", "");
    op_execution_expect(third, "int32[] 3; float[] 3");
    op_execution *cancelled = START(peek, "int32[] 9");
    op_execution_cancel(cancelled);
    op_execution_expect(cancelled, "Cancelled: ");
    op_live_free(l);
}

static void a_stage_into_a_full_area_waits(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    stage_nodes n = stage_area(l, "capacity", 1);
    RUN(stage, "int32[] 1; float[] 1", "");
    op_execution *second = START(stage, "int32[] 2; float[] 2"),
                 *third = START(stage, "int32[] 3; float[] 3");
    assert_false(op_execution_has_ended(second));
    RUN(unstage, "", "int32[] 1; float[] 1");
    op_execution_expect(second, "");
    assert_false(op_execution_has_ended(third));
    RUN(clear, "", "");
    op_execution_expect(third, "");
    RUN(unstage, "", "int32[] 3; float[] 3");
    op_live_free(l);
}

static void memory_may_be_limited(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    stage_nodes n = stage_area(l, "memory_limit", 20);
    RUN(stage, "int32[] 1; float[5] 1",
        "ResourceExhausted: Attempted to insert tensors with combined size of '24' bytes into Staging Area with a "
        "memory limit of '20'.");
    RUN(stage, "int32[] 1; float[2] 1 2", "");
    op_execution *second = START(stage, "int32[] 2; float[2] 3 4");
    assert_false(op_execution_has_ended(second));
    RUN(unstage, "", "int32[] 1; float[2] 1 2");
    op_execution_expect(second, "");
    op_live_free(l);
}

// ---- Maps ----

typedef struct map_nodes {
    op_live *live;
    braid_op *stage, *stage_first, *stage_second, *unstage, *unstage_first, *any, *peek, *size, *incomplete,
        *clear;
} map_nodes;

static map_nodes map_area(op_live *l, bool ordered, int64_t capacity)
{
    static const braid_dtype both[] = {BRAID_INT64, BRAID_INT32, BRAID_INT32, BRAID_FLOAT},
                             second[] = {BRAID_INT64, BRAID_INT32, BRAID_FLOAT};
    static const char *const ops_of[][7] = {
        {"MapStage", "MapUnstage", "MapUnstageNoKey", "MapPeek", "MapSize", "MapIncompleteSize", "MapClear"},
        {"OrderedMapStage", "OrderedMapUnstage", "OrderedMapUnstageNoKey", "OrderedMapPeek", "OrderedMapSize",
         "OrderedMapIncompleteSize", "OrderedMapClear"}};
    const char *const *ops = ops_of[ordered];
    map_nodes n = {.live = l};
    // runs first, because it gives the types
    n.size = node(l, ops[4], "capacity", capacity, NULL, 0, 0, NULL, 0);
    n.stage = node(l, ops[0], "capacity", capacity, both, 4, 2, NULL, 0);
    n.stage_first = node(l, ops[0], "capacity", capacity, both, 3, 2, NULL, 0);
    n.stage_second = node(l, ops[0], "capacity", capacity, second, 3, 2, NULL, 0);
    n.unstage = node(l, ops[1], "capacity", capacity, both, 2, 2, types, 2);
    n.unstage_first = node(l, ops[1], "capacity", capacity, both, 2, 2, types, 1);
    n.any = node(l, ops[2], "capacity", capacity, both + 1, 1, 1, types, 2);
    n.peek = node(l, ops[3], "capacity", capacity, both, 2, 2, types, 2);
    n.incomplete = node(l, ops[5], "capacity", capacity, NULL, 0, 0, NULL, 0);
    n.clear = node(l, ops[6], "capacity", capacity, NULL, 0, 0, NULL, 0);
    op_live_run(l, n.size, "", "int32[] 0");
    return n;
}

static void check_map(bool ordered)
{
    op_live *l = op_live_new();
    map_nodes n = map_area(l, ordered, 0);
    RUN(stage, "int64[] 7; int32[2] 0 1; int32[] 70; float[] 0.7", "");
    RUN(stage, "int64[] 3; int32[2] 0 1; int32[] 30; float[] 0.3", "");
    RUN(peek, "int64[] 7; int32[2] 0 1", "int32[] 70; float[] 0.7");
    RUN(any, "int32[2] 0 1", "int64[] 3; int32[] 30; float[] 0.3");
    op_execution *later = START(unstage, "int64[] 5; int32[2] 0 1");
    RUN(unstage, "int64[] 7; int32[2] 0 1", "int32[] 70; float[] 0.7");
    RUN(size, "", "int32[] 0");
    RUN(stage_second, "int64[] 5; int32[1] 1; float[] 0.5", "");
    RUN(incomplete, "", "int32[] 1");
    assert_false(op_execution_has_ended(later));
    RUN(stage_second, "int64[] 5; int32[1] 1; float[] 0.6",
        "InvalidArgument: The tensor for index '1' for key '5' was already initialized '2'.");
    // A whole entry of a key is distinct from the incomplete entry of the key.
    RUN(stage, "int64[] 5; int32[2] 0 1; int32[] 55; float[] 5.5", "");
    op_execution_expect(later, "int32[] 55; float[] 5.5");
    RUN(incomplete, "", "int32[] 1");
    RUN(peek, "int64[] 5; int32[0]", "InvalidArgument: Indices are empty");
    later = START(unstage, "int64[] 5; int32[2] 0 1");
    RUN(stage_first, "int64[] 5; int32[1] 0; int32[] 50", "");
    op_execution_expect(later, "int32[] 50; float[] 0.5");
    RUN(incomplete, "", "int32[] 0");
    RUN(stage, "int64[] 1; int32[2] 0 1; int32[] 10; float[] 0.1", "");
    RUN(unstage_first, "int64[] 1; int32[1] 0", "int32[] 10");
    RUN(size, "", "int32[] 1");
    RUN(unstage_first, "int64[] 1; int32[1] 0",
        "InvalidArgument: Tensor at index '0' for key '1' has already been removed.");
    RUN(clear, "", "");
    RUN(size, "", "int32[] 0");
    op_live_free(l);
}

static void keys_may_be_completed_piece_by_piece(void **state)
{
    (void)state;
    check_map(false);
    check_map(true);
}

static void tensors_of_a_map_may_be_empty(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        op_live *l = op_live_new();
        map_nodes n = map_area(l, ordered, 0);
        RUN(stage, "int64[] 7; int32[2] 0 1; int32[0]; float[0,2]", "");
        RUN(peek, "int64[] 7; int32[2] 0 1", "int32[0]; float[0,2]");
        RUN(unstage, "int64[] 7; int32[2] 0 1", "int32[0]; float[0,2]");
        RUN(stage, "int64[] 8; int32[2] 0 1; int32[] 1; float[0,2]", "");
        RUN(any, "int32[2] 0 1", "int64[] 8; int32[] 1; float[0,2]");
        RUN(stage_first, "int64[] 9; int32[] 0; int32[0]", ""); // one index may be a scalar
        RUN(stage_second, "int64[] 9; int32[] 1; float[] 2", "");
        RUN(unstage_first, "int64[] 9; int32[] 0", "int32[0]");
        op_live_free(l);
    }
}

static void a_stage_into_a_full_map_waits(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    map_nodes n = map_area(l, true, 1);
    RUN(stage, "int64[] 2; int32[2] 0 1; int32[] 20; float[] 0.2", "");
    op_execution *second = START(stage, "int64[] 1; int32[2] 0 1; int32[] 10; float[] 0.1");
    assert_false(op_execution_has_ended(second));
    RUN(any, "int32[2] 0 1", "int64[] 2; int32[] 20; float[] 0.2");
    op_execution_expect(second, "");
    op_live_free(l);
}

// Otherwise an unstage that waits for that key would wait for the unstage of another.
static void parts_of_a_key_do_not_wait_for_room(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        op_live *l = op_live_new();
        map_nodes n = map_area(l, ordered, 1);
        RUN(stage, "int64[] 2; int32[2] 0 1; int32[] 20; float[] 0.2", "");
        op_execution *whole = START(stage, "int64[] 1; int32[2] 0 1; int32[] 10; float[] 0.1"),
                     *after = START(stage, "int64[] 4; int32[2] 0 1; int32[] 40; float[] 0.4"),
                     *taken = START(unstage, "int64[] 3; int32[2] 0 1");
        RUN(stage_first, "int64[] 3; int32[1] 0; int32[] 30", "");
        RUN(stage_second, "int64[] 3; int32[1] 1; float[] 0.3", "");
        op_execution_expect(taken, "int32[] 30; float[] 0.3");
        assert_false(op_execution_has_ended(whole));
        RUN(unstage, "int64[] 2; int32[2] 0 1", "int32[] 20; float[] 0.2");
        op_execution_expect(whole, "");
        assert_false(op_execution_has_ended(after));
        RUN(unstage, "int64[] 1; int32[2] 0 1", "int32[] 10; float[] 0.1");
        op_execution_expect(after, "");
        op_live_free(l);
    }
}

// A value for an existing key is dropped and takes no memory.
static void an_existing_key_is_kept(void **state)
{
    (void)state;
    static const braid_dtype put[] = {BRAID_INT64, BRAID_INT32, BRAID_INT32, BRAID_FLOAT};
    op_live *l = op_live_new();
    map_nodes n = {.live = l};
    n.stage = node(l, "MapStage", "memory_limit", 20, put, 4, 2, NULL, 0);
    n.unstage = node(l, "MapUnstage", "memory_limit", 20, put, 2, 2, types, 2);
    RUN(stage, "int64[] 1; int32[2] 0 1; int32[] 10; float[] 0.1", "");
    RUN(stage, "int64[] 1; int32[2] 0 1; int32[] 11; float[] 0.2", "");
    RUN(stage, "int64[] 2; int32[2] 0 1; int32[] 20; float[] 0.3", "");
    RUN(unstage, "int64[] 1; int32[2] 0 1", "int32[] 10; float[] 0.1");
    op_live_free(l);
}

static void wrong_keys_and_indices_are_refused(void **state)
{
    (void)state;
    for (int ordered = 0; ordered < 2; ordered++) {
        op_live *l = op_live_new();
        map_nodes n = map_area(l, ordered, 0);
        RUN(stage, "int64[] 2; int32[2] 1 0; int32[] 20; float[] 0.2",
            "InvalidArgument: Indices are not strictly ordered");
        RUN(stage, "int64[] 2; int32[2] 0 2; int32[] 20; float[] 0.2",
            "InvalidArgument: Index '2' was out of bounds '2'.");
        RUN(stage, "int64[] 2; int32[1] 0; int32[] 20; float[] 0.2",
            "InvalidArgument: Mismatch stage/unstage: 1 vs. 2");
        RUN(stage, "int64[] 2; int32[0]; int32[] 20; float[] 0.2", "InvalidArgument: Indices are empty");
        RUN(stage, "int64[2] 2; int32[2] 0 1; int32[] 20; float[] 0.2",
            "InvalidArgument: key must be an int64 scalar, got shape [2]");
        RUN(stage_second, "int64[] 2; int32[1] 0; float[] 0.2",
            "InvalidArgument: Tensor 0 of staging area 'area' is int32");
        RUN(unstage, "int64[2] 2; int32[2] 0 1",
            "InvalidArgument: key must be an int64 scalar, got shape [2]");
        RUN(unstage, "int64[] 2; int32[0]", "InvalidArgument: Indices are empty");
        RUN(peek, "int64[0]; int32[2] 0 1", "InvalidArgument: key must be an int64 scalar, got shape [0]");
        RUN(peek, "int64[] 2; int32[3] 0 1 2", "InvalidArgument: Index '2' was out of bounds '2'.");
        RUN(any, "int32[0]", "InvalidArgument: Indices are empty");
        RUN(any, "int32[] 0", "InvalidArgument: Mismatch stage/unstage: 1 vs. 2");
        op_live_free(l);
    }
}

static void limits_are_not_negative(void **state)
{
    (void)state;
    static const char *const ops[] = {"StageSize",      "StageClear",      "Unstage",
                                      "MapSize",        "MapClear",        "MapIncompleteSize",
                                      "OrderedMapSize", "OrderedMapClear", "OrderedMapIncompleteSize"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        const op_case cases[] = {
            {ops[i], "dtypes=[int32]; capacity=-1", "", "InvalidArgument: capacity"},
            {ops[i], "dtypes=[int32]; memory_limit=-1", "", "InvalidArgument: memory_limit"},
        };
        OP_TEST_VALUES(cases);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_element_leaves_first),
        cmocka_unit_test(an_unstage_waits_for_a_stage),
        cmocka_unit_test(a_stage_into_a_full_area_waits),
        cmocka_unit_test(memory_may_be_limited),
        cmocka_unit_test(keys_may_be_completed_piece_by_piece),
        cmocka_unit_test(a_stage_into_a_full_map_waits),
        cmocka_unit_test(parts_of_a_key_do_not_wait_for_room),
        cmocka_unit_test(an_existing_key_is_kept),
        cmocka_unit_test(tensors_of_a_map_may_be_empty),
        cmocka_unit_test(wrong_keys_and_indices_are_refused),
        cmocka_unit_test(limits_are_not_negative),
    };
    return BD_RUN_TESTS(tests);
}
