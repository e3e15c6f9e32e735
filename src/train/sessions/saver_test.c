// Savers: their nodes, saving and restoring, and what a failed save leaves.
#include "base/testing/test.h"

#include "base/alloc.h"
#include "io/bundle.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "train/testing/graph_text.h"
#include <braid/braid.h>
#include <stdlib.h>

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
    bd_dir_list(dir, &names, st);
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

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, make_dir, free_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_nodes_are_those_of_tensorflow),
        TEST(what_was_saved_is_restored),
        TEST(variables_are_restored_under_other_names_and_in_part),
        TEST(a_tensor_is_restored_to_another_shape_if_that_was_asked_for),
        TEST(a_wrong_checkpoint_is_an_error_that_names_it),
        TEST(variables_that_cannot_be_saved_fail_the_graph),
        TEST(the_policy_is_kept_and_leftovers_are_removed),
    };
    return BD_RUN_TESTS(tests);
}
