// Savers: their nodes, saving and restoring, and what a failed save leaves.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "io/bundle.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "train/testing/graph_text.h"
#include <braid/braid.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct model {
    braid_graph *g;
    braid_variable w, r; // a reference and a resource
    braid_out step;
} model;

static model model_make(void)
{
    model m = {.g = braid_graph_new()};
    m.w = braid_variable_new(m.g, "w", braid_full(m.g, NULL, BRAID_FLOAT, BRAID_SHAPE(2), 1), true);
    m.r = braid_variable_resource(m.g, "r", braid_const_float(m.g, NULL, 2), true);
    m.step = braid_global_step(m.g);
    return m;
}

static braid_session *start(const model *m)
{
    BD_STATUS(st);
    braid_op *init = braid_global_variables_initializer(m->g);
    braid_session *s = braid_session_open(m->g, NULL, st);
    if (s) braid_session_run(s, &(braid_run_args){.targets = &init, .target_count = 1}, st);
    assert_ok(st);
    return s;
}

static void finish(braid_session *s, const model *m)
{
    BD_STATUS(st);
    braid_session_close(s, st);
    assert_ok(st);
    braid_graph_free(m->g);
}

static float value_of(braid_session *s, braid_out x)
{
    BD_STATUS(st);
    braid_tensor *t = NULL;
    braid_session_run(s, &(braid_run_args){.fetches = &(braid_fetch){x, &t}, .fetch_count = 1}, st);
    assert_ok(st);
    const float value = *(const float *)braid_tensor_data(t);
    braid_tensor_free(t);
    return value;
}

static char *dir;

static int make_dir(void **state)
{
    (void)state;
    dir = bd_temp_dir_new();
    return 0;
}

static int free_dir(void **state)
{
    (void)state;
    bd_temp_dir_free(dir);
    return 0;
}

static char *path_of(const char *name)
{
    return bd_asprintf("%s/%s", dir, name);
}

static char *save(braid_saver *saver, braid_session *s, int64_t step)
{
    BD_STATUS(st);
    char *path = path_of("model.ckpt"), *prefix = braid_saver_save(saver, s, path, step, st);
    assert_ok(st);
    bd_free(path);
    return prefix;
}

static void the_nodes_are_those_of_tensorflow(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    (void)braid_variable_new(g, "w", braid_const_float(g, NULL, 1), true);
    (void)braid_saver_new(g, NULL);
    expect_nodes(g, "save/",
                 "save/filename/input = Const\n"
                 "save/filename = PlaceholderWithDefault save/filename/input:0\n"
                 "save/Const = PlaceholderWithDefault save/filename:0\n"
                 "save/SaveV2/tensor_names = Const\n"
                 "save/SaveV2/shape_and_slices = Const\n"
                 "save/SaveV2 = SaveV2 save/Const:0 save/SaveV2/tensor_names:0 "
                 "save/SaveV2/shape_and_slices:0 w:0\n"
                 "save/control_dependency = Identity save/Const:0 ^save/SaveV2\n"
                 "save/RestoreV2/tensor_names = Const @/device:CPU:0\n"
                 "save/RestoreV2/shape_and_slices = Const @/device:CPU:0\n"
                 "save/RestoreV2 = RestoreV2 save/Const:0 save/RestoreV2/tensor_names:0 "
                 "save/RestoreV2/shape_and_slices:0 @/device:CPU:0\n"
                 "save/Assign = Assign w:0 save/RestoreV2:0 =w\n"
                 "save/restore_all = NoOp ^save/Assign\n");
    braid_graph_free(g);
}

static void what_was_saved_is_restored(void **state)
{
    (void)state;
    for (int sharded = 0; sharded < 2; sharded++) {
        BD_STATUS(st);
        model m = model_make();
        braid_saver *saver = braid_saver_new(m.g, &(braid_saver_options){.sharded = sharded});
        braid_out w9 = braid_assign(m.g, m.w.ref, braid_full(m.g, NULL, BRAID_FLOAT, BRAID_SHAPE(2), 9));
        braid_session *s = start(&m);
        char *prefix = save(saver, s, 7);
        char *want = path_of("model.ckpt-7");
        assert_string_equal(prefix, want);
        assert_float_equal(value_of(s, w9), 9, 0);
        assert_float_equal(value_of(s, m.w.read), 9, 0);
        braid_saver_restore(saver, s, prefix, st);
        assert_ok(st);
        assert_float_equal(value_of(s, m.w.read), 1, 0);
        finish(s, &m);
        bd_free(want);
        free(prefix);
    }
}

static void variables_are_restored_under_other_names_and_in_part(void **state)
{
    (void)state;
    BD_STATUS(st);
    model m = model_make();
    braid_session *s = start(&m);
    char *prefix = save(braid_saver_new(m.g, NULL), s, 1);
    finish(s, &m);

    braid_graph *g = braid_graph_new();
    braid_variable other =
        braid_variable_resource(g, "scope/other", braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(2), 5), true);
    braid_saver *saver = braid_saver_new(
        g, &(braid_saver_options){.vars = &other.ref, .var_count = 1, .names = (const char *const[]){"w"}});
    s = braid_session_open(g, NULL, st);
    braid_saver_restore(saver, s, prefix, st);
    assert_ok(st);
    assert_float_equal(value_of(s, other.read), 1, 0);
    finish(s, &(model){.g = g});
    free(prefix);
}

// ---- What a checkpoint has ----

static char *logged; // the last line

static void note_line(braid_log_level level, const char *line, void *arg)
{
    (void)arg, (void)level;
    bd_free(logged);
    logged = bd_strdup(line);
}

// A graph with "w" of this shape, the partitioned "t" [4] and "new" [], all of them 5.
static braid_graph *other_model(braid_shape shape, int parts)
{
    braid_graph *g = braid_graph_new();
    (void)braid_variable_new(g, "w", braid_full(g, NULL, BRAID_FLOAT, shape, 5), true);
    (void)braid_variable_get_with(
        g, "t",
        &(braid_variable_options){.initial_value = braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(4), 5),
                                  .partitioner = braid_fixed_size_partitioner(parts, 0)});
    (void)braid_variable_new(g, "new", braid_const_float(g, NULL, 5), true);
    return g;
}

// Saves "w" [2] of ones and "t" [4], in two parts, of twos.
static char *save_tables(void)
{
    model m = model_make();
    (void)braid_variable_get_with(
        m.g, "t",
        &(braid_variable_options){.initial_value = braid_full(m.g, NULL, BRAID_FLOAT, BRAID_SHAPE(4), 2),
                                  .partitioner = braid_fixed_size_partitioner(2, 0)});
    braid_session *s = start(&m);
    char *prefix = save(braid_saver_new(m.g, NULL), s, 1);
    finish(s, &m);
    return prefix;
}

static void what_a_checkpoint_has_is_restored_and_the_rest_is_left(void **state)
{
    (void)state;
    char *prefix = save_tables();
    for (int mismatched = 0; mismatched < 2; mismatched++) {
        BD_STATUS(st);
        braid_graph *g = other_model(mismatched ? BRAID_SHAPE(3) : BRAID_SHAPE(2), 3);
        // by the directory the one, by the prefix the other
        braid_saver *saver =
            braid_saver_new(g, &(braid_saver_options){.present_in = mismatched ? dir : prefix,
                                                      .skip_mismatched = mismatched});
        braid_session *s = start(&(model){.g = g});
        braid_set_log_sink(note_line, NULL);
        braid_saver_restore(saver, s, prefix, st);
        braid_set_log_sink(NULL, NULL);
        assert_ok(st);
        const char *want = mismatched
                               ? "t; left as they are: w (float [3], in the checkpoint float [2]), new "
                                 "(not in the checkpoint)"
                               : "w, t; left as they are: new (not in the checkpoint)";
        if (!strstr(logged, want)) fail_msg("%s", logged);
        assert_non_null(strstr(logged, prefix));
        assert_float_equal(value_of(s, braid_graph_find_out(g, "w/read")), mismatched ? 5 : 1, 0);
        assert_float_equal(value_of(s, braid_graph_find_out(g, "t/part_2/read")), 2, 0);
        assert_float_equal(value_of(s, braid_graph_find_out(g, "new/read")), 5, 0);
        finish(s, &(model){.g = g});
        bd_free(logged);
        logged = NULL;
    }
    free(prefix);
}

static void expect_no_saver(braid_graph *g, const char *present_in, const braid_out *var, braid_code code,
                            const char *words)
{
    BD_STATUS(st);
    (void)braid_saver_new(
        g, &(braid_saver_options){.present_in = present_in, .vars = var, .var_count = var ? 1 : 0});
    braid_graph_status(g, st);
    assert_error(st, code, words);
    braid_graph_free(g);
}

static void a_saver_of_what_a_checkpoint_has_needs_some_of_its_shape(void **state)
{
    (void)state;
    char *prefix = save_tables();
    expect_no_saver(other_model(BRAID_SHAPE(3), 2), prefix, NULL, BRAID_INVALID_ARGUMENT, "variable w from ");
    braid_graph *g = other_model(BRAID_SHAPE(2), 2);
    const braid_out new = braid_graph_find_out(g, "new");
    expect_no_saver(g, prefix, &new, BRAID_NOT_FOUND, "has none of the saver's variables");
    expect_no_saver(other_model(BRAID_SHAPE(2), 2), "/nowhere", NULL, BRAID_NOT_FOUND, "/nowhere");
    free(prefix);
}

static void a_tensor_is_restored_to_another_shape_if_that_was_asked_for(void **state)
{
    (void)state;
    BD_STATUS(st);
    model m = model_make();
    braid_session *s = start(&m);
    char *prefix = save(braid_saver_new(m.g, &(braid_saver_options){.pad_step_number = true}), s, 42);
    char *want = path_of("model.ckpt-00000042");
    assert_string_equal(prefix, want);
    bd_free(want);
    finish(s, &m);
    for (int reshape = 0; reshape < 2; reshape++) {
        braid_graph *g = braid_graph_new();
        const braid_variable w =
            braid_variable_new(g, "w", braid_full(g, NULL, BRAID_FLOAT, BRAID_SHAPE(2, 1), 5), true);
        braid_saver *saver = braid_saver_new(g, &(braid_saver_options){.reshape = reshape});
        s = braid_session_open(g, NULL, st);
        const braid_code code = braid_saver_restore(saver, s, prefix, st);
        assert_int_equal(code, reshape ? BRAID_OK : BRAID_INVALID_ARGUMENT);
        if (reshape) assert_float_equal(value_of(s, w.read), 1, 0);
        braid_status_clear(st);
        finish(s, &(model){.g = g});
    }
    free(prefix);
}

static void a_wrong_checkpoint_is_an_error_that_names_it(void **state)
{
    (void)state;
    BD_STATUS(st);
    model m = model_make();
    braid_saver *saver = braid_saver_new(m.g, NULL);
    braid_saver *renamed = braid_saver_new(
        m.g, &(braid_saver_options){
                 .vars = &m.w.ref, .var_count = 1, .names = (const char *const[]){"elsewhere"}});
    braid_session *s = start(&m);
    char *prefix = save(saver, s, -1);
    braid_saver_restore(renamed, s, prefix, st);
    assert_error(st, BRAID_NOT_FOUND, "elsewhere");
    braid_saver_restore(saver, s, "/nowhere/model.ckpt-1", st);
    assert_error(st, BRAID_NOT_FOUND, "/nowhere/model.ckpt-1");
    braid_saver_restore(saver, s, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "needs a session and the path");
    assert_null(braid_saver_save(saver, s, NULL, -1, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "needs a session and the path");
    finish(s, &m);
    free(prefix);
}

static void variables_that_cannot_be_saved_fail_the_graph(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *empty = braid_graph_new();
    (void)braid_saver_new(empty, NULL);
    braid_graph_status(empty, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "No variables to save");
    braid_graph_free(empty);
    model m = model_make();
    const braid_out twice[] = {m.w.ref, m.w.ref};
    (void)braid_saver_new(m.g, &(braid_saver_options){.vars = twice, .var_count = 2});
    braid_graph_status(m.g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "two variables have the same name: w");
    braid_graph_free(m.g);
}

static void the_policy_is_kept_and_leftovers_are_removed(void **state)
{
    (void)state;
    BD_STATUS(st);
    model m = model_make();
    braid_saver *saver =
        braid_saver_new(m.g, &(braid_saver_options){.sharded = true, .policy = {.max_to_keep = 2}});
    braid_session *s = start(&m);
    char *left = path_of("model.ckpt-2.index.tempstate5");
    bd_test_write(left, "x", 1);
    for (int step = 1; step <= 3; step++)
        free(save(saver, s, step));
    bd_name_list names;
    bd_dir_list(bd_fs_current, dir, &names, st);
    bd_name_list_sort(&names);
    static const char *const want[] = {
        "checkpoint",        "model.ckpt-2.data-00000-of-00001", "model.ckpt-2.index",
        "model.ckpt-2.meta", "model.ckpt-3.data-00000-of-00001", "model.ckpt-3.index",
        "model.ckpt-3.meta"};
    assert_int_equal(names.len, sizeof want / sizeof *want);
    for (size_t i = 0; i < names.len; i++)
        assert_string_equal(names.items[i], want[i]);
    bd_name_list_fini(&names);
    bd_free(left);
    finish(s, &m);
}

static void a_directory_with_relative_paths_restores_where_it_was_moved(void **state)
{
    (void)state;
    BD_STATUS(st);
    model m = model_make();
    braid_saver *saver =
        braid_saver_new(m.g, &(braid_saver_options){.policy = {.save_relative_paths = true}});
    const braid_out w9 = braid_assign(m.g, m.w.ref, braid_full(m.g, NULL, BRAID_FLOAT, BRAID_SHAPE(2), 9));
    braid_session *s = start(&m);
    char *before = path_of("before"), *after = path_of("after"), *path = bd_asprintf("%s/model.ckpt", before);
    free(braid_saver_save(saver, s, path, 1, st));
    assert_ok(st);
    assert_int_equal(rename(before, after), 0);
    assert_float_equal(value_of(s, w9), 9, 0);
    char *latest = braid_latest_checkpoint(after, st);
    assert_ok(st);
    braid_saver_restore(saver, s, latest, st);
    assert_ok(st);
    assert_float_equal(value_of(s, m.w.read), 1, 0);
    finish(s, &m);
    bd_free(before);
    bd_free(after);
    bd_free(path);
    free(latest);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_dir, free_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_nodes_are_those_of_tensorflow),
        TEST(what_was_saved_is_restored),
        TEST(variables_are_restored_under_other_names_and_in_part),
        TEST(what_a_checkpoint_has_is_restored_and_the_rest_is_left),
        TEST(a_saver_of_what_a_checkpoint_has_needs_some_of_its_shape),
        TEST(a_tensor_is_restored_to_another_shape_if_that_was_asked_for),
        TEST(a_wrong_checkpoint_is_an_error_that_names_it),
        TEST(variables_that_cannot_be_saved_fail_the_graph),
        TEST(the_policy_is_kept_and_leftovers_are_removed),
        TEST(a_directory_with_relative_paths_restores_where_it_was_moved),
    };
    return BD_RUN_TESTS(tests);
}
