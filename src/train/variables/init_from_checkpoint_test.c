// Variables initialized from a checkpoint: by names, scopes and parts, and what the graph fails for.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "io/testing/bundle_case.h"
#include "train/testing/evaluate.h"
#include "train/testing/graph_text.h"
#include <braid/braid.h>

enum {
    ROWS = 7,
    WIDTH = 2
};

// The checkpoint /dir/old: old/w [2] from 10 on, old/b [] 20, old/table [7,2] from 0 on, in two parts.
static int install(void **state)
{
    bd_case_install(state);
    bd_bundle_writer *w = bd_case_open_writer("/dir/old");
    bd_case_add_floats(w, "old/b", BRAID_SCALAR, 20);
    bd_case_add_part(w, "old/table", BRAID_SHAPE(ROWS, WIDTH), "0,4:-");
    bd_case_add_part(w, "old/table", BRAID_SHAPE(ROWS, WIDTH), "4,3:-");
    bd_case_add_floats(w, "old/w", BRAID_SHAPE(2), 10);
    bd_case_finish(w);
    return 0;
}

static braid_variable get(braid_graph *g, const char *name, braid_shape shape, int parts)
{
    braid_variable_options o = {.shape = shape, .initializer = braid_ones_initializer()};
    if (parts) o.partitioner = braid_fixed_size_partitioner(parts, 0);
    return braid_variable_get_with(g, name, &o);
}

// Checks that after the ordinary initialization the variable has values that count from `first`; negative:
// ones.
static void expect_values(braid_session *s, braid_out read, float first)
{
    braid_tensor *t = evaluate_tensor(s, read);
    for (int64_t i = 0; i < braid_tensor_num_elements(t); i++) {
        const float want = first < 0 ? 1 : first + (float)i;
        assert_float_equal(((const float *)braid_tensor_data(t))[i], want, 0);
    }
    braid_tensor_free(t);
}

static void the_nodes_are_those_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, "/job:ps/task:1");
    (void)get(g, "w", BRAID_SHAPE(2), 0);
    braid_pop_device(g);
    braid_init_from_checkpoint(g, "/dir/old", &(braid_checkpoint_assignment){.from = "old/w", .to = "w"}, 1);
    expect_nodes(g, "checkpoint_initializer",
                 "checkpoint_initializer/prefix = Const @/job:ps/task:1/device:CPU:0\n"
                 "checkpoint_initializer/tensor_names = Const @/job:ps/task:1/device:CPU:0\n"
                 "checkpoint_initializer/shape_and_slices = Const @/job:ps/task:1/device:CPU:0\n"
                 "checkpoint_initializer = RestoreV2 checkpoint_initializer/prefix:0 "
                 "checkpoint_initializer/tensor_names:0 checkpoint_initializer/shape_and_slices:0 "
                 "@/job:ps/task:1/device:CPU:0\n");
    expect_nodes(g, "Assign", "Assign = Assign w:0 checkpoint_initializer:0 =w @/job:ps/task:1\n");
    braid_graph_free(g);
}

static void a_scope_is_initialized_from_a_scope(void **state)
{
    (void)state;
    for (int parts = 0; parts <= 3; parts++) {
        braid_graph *g = braid_graph_new();
        (void)braid_push_variable_scope(g, "new", NULL);
        const braid_variable w =
            braid_variable_resource(g, "w", braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(2), 1), true);
        const braid_variable table = get(g, "table", BRAID_SHAPE(ROWS, WIDTH), parts);
        braid_pop_variable_scope(g);
        const braid_variable other = get(g, "newer", BRAID_SHAPE(2), 0);
        braid_init_from_checkpoint(g, "/dir/old",
                                   &(braid_checkpoint_assignment){.from = "old/", .to = "new/"}, 1);
        braid_session *s = evaluate_open(g);
        expect_values(s, w.read, 10);
        expect_values(s, table.read, 0);
        expect_values(s, other.read, -1);
        evaluate_close(s, g);
    }
}

static void the_root_stands_for_everything(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *name;
    } cases[] = {{"/", "/", "old/w"}, {"old/", "/", "w"}, {"/", "s/", "s/old/w"}};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        braid_graph *g = braid_graph_new();
        const braid_variable w = get(g, cases[i].name, BRAID_SHAPE(2), 0);
        braid_init_from_checkpoint(
            g, "/dir/old", &(braid_checkpoint_assignment){.from = cases[i].from, .to = cases[i].to}, 1);
        braid_session *s = evaluate_open(g);
        expect_values(s, w.read, 10);
        evaluate_close(s, g);
    }
}

static void variables_are_named_one_by_one(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_checkpoint_record("/dir/old", NULL, st);
    assert_ok(st);
    braid_graph *g = braid_graph_new();
    const braid_variable w = get(g, "a", BRAID_SHAPE(2), 0), again = get(g, "c", BRAID_SHAPE(2), 0);
    const braid_variable table = get(g, "t", BRAID_SHAPE(ROWS, WIDTH), 3);
    const braid_variable local =
        braid_variable_get_with(g, "l", &(braid_variable_options){.local = true, .dtype = BRAID_FLOAT});
    const braid_checkpoint_assignment map[] = {{.from = "old/w", .to = "a"},
                                               {.from = "old/table", .variable = &table},
                                               {.from = "old/b", .variable = &local},
                                               {.from = "old/w", .to = "c"}};
    braid_init_from_checkpoint(g, "/dir", map, BD_COUNTOF(map));
    assert_string_equal(braid_op_name(braid_variable_find(w.ref).initializer), "Assign_4");
    assert_string_equal(braid_op_name(braid_variable_find(table.parts[2]).initial_value.op),
                        "checkpoint_initializer_3");
    (void)braid_local_variables_initializer(g);
    braid_op *init = braid_graph_find(g, "init");
    braid_session *s = evaluate_open(g);
    braid_session_run(s, &(braid_run_args){.targets = &init, .target_count = 1}, st);
    assert_ok(st);
    expect_values(s, w.read, 10);
    expect_values(s, again.read, 10);
    expect_values(s, table.read, 0);
    expect_values(s, local.read, 20);
    evaluate_close(s, g);
}

static void a_monitored_session_begins_with_the_values_of_the_checkpoint(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_variable table = get(g, "old/table", BRAID_SHAPE(ROWS, WIDTH), 3);
    const braid_variable other = get(g, "x", BRAID_SHAPE(2), 0);
    braid_init_from_checkpoint(g, "/dir/old", &(braid_checkpoint_assignment){.from = "old/", .to = "old/"},
                               1);
    braid_monitored_session *s = braid_monitored_session_open(g, &(braid_session_config){.is_chief = true});
    expect_values(braid_monitored_session_raw(s), table.read, 0);
    expect_values(braid_monitored_session_raw(s), other.read, -1);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(g);
}

// Checks that the graph of the variables w [2] and t [7,2] in two parts fails so.
static void expect_failure(const char *prefix, braid_checkpoint_assignment entry, braid_code code,
                           const char *words)
{
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    (void)get(g, "s/w", BRAID_SHAPE(2), 0);
    (void)get(g, "t", BRAID_SHAPE(ROWS + 1, WIDTH), 2);
    (void)braid_variable_get(g, "n", BRAID_INT32, BRAID_SHAPE(2), braid_zeros_initializer(), false);
    braid_init_from_checkpoint(g, prefix, &entry, 1);
    braid_graph_status(g, st);
    assert_error(st, code, words);
    braid_graph_free(g);
}

static void what_does_not_match_fails_the_graph(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const braid_variable none;
#define FAILS(CODE, WORDS, ...)                                                                              \
    expect_failure("/dir/old", (braid_checkpoint_assignment){__VA_ARGS__}, CODE, WORDS)
    FAILS(
        BRAID_INVALID_ARGUMENT,
        "Shape of variable s/w ([2]) doesn't match with shape of tensor old/b ([]) from checkpoint /dir/old",
        .from = "old/b", .to = "s/w");
    FAILS(BRAID_INVALID_ARGUMENT, "Shape of variable t ([8,2]) doesn't match with shape of tensor old/table",
          .from = "old/table", .to = "t");
    FAILS(BRAID_INVALID_ARGUMENT,
          "Type of variable n (int32) doesn't match with type of tensor old/w (float)", .from = "old/w",
          .to = "n");
    FAILS(BRAID_NOT_FOUND, "Tensor old/x, for variable s/w, is not found in checkpoint /dir/old",
          .from = "old/x", .to = "s/w");
    FAILS(BRAID_NOT_FOUND, "Tensor new/w, for variable s/w, is not found", .from = "new/", .to = "s/");
    FAILS(BRAID_NOT_FOUND, "no global variable w", .from = "old/w", .to = "w");
    FAILS(BRAID_NOT_FOUND, "no global variable in the scope x/", .from = "old/", .to = "x/");
    FAILS(BRAID_INVALID_ARGUMENT, "a scope goes with a scope", .from = "old/w", .to = "s/");
    FAILS(BRAID_INVALID_ARGUMENT, "a scope goes with a scope", .from = "old/", .to = "s/w");
    FAILS(BRAID_INVALID_ARGUMENT, "has a name in the checkpoint", .from = "old/w");
    FAILS(BRAID_INVALID_ARGUMENT, "has a name in the checkpoint", .to = "s/w");
    FAILS(BRAID_INVALID_ARGUMENT, "The variable for tensor old/w is none", .from = "old/w",
          .variable = &none);
    expect_failure("/nowhere", (braid_checkpoint_assignment){.from = "a", .to = "w"}, BRAID_NOT_FOUND,
                   "/nowhere");
    expect_failure(NULL, (braid_checkpoint_assignment){.from = "a", .to = "w"}, BRAID_INVALID_ARGUMENT,
                   "needs a prefix");
    braid_graph *g = braid_graph_new();
    braid_init_from_checkpoint(g, "/dir/old", NULL, 0);
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "needs an entry at least");
    braid_graph_free(g);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_nodes_are_those_of_tensorflow),
        TEST(a_scope_is_initialized_from_a_scope),
        TEST(the_root_stands_for_everything),
        TEST(variables_are_named_one_by_one),
        TEST(a_monitored_session_begins_with_the_values_of_the_checkpoint),
        TEST(what_does_not_match_fails_the_graph),
    };
    return BD_RUN_TESTS(tests);
}
