// Tests of the ops on checkpoints.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/testing/bundle_case.h"
#include "io/testing/memory_fs.h"
#include "op/io_pool.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

#include <stdio.h>

// One run of an op.
typedef struct step {
    const char *op, *attrs, *inputs;
    const char *want; // its outputs or the error; NULL: either
} step;

static braid_op *make_node(op_live *l, const step *s, braid_out (*input)(op_live *, const char *))
{
    braid_out inputs[8];
    int count = 0;
    char *copy = bd_strdup(s->inputs), *save = NULL;
    for (char *text = strtok_r(copy, ";", &save); text; text = strtok_r(NULL, ";", &save))
        inputs[count++] = input(l, text);
    bd_free(copy);
    return op_test_node(l->graph, s->op, s->attrs, inputs, count);
}

static void run(const step *s)
{
    BD_STATUS(st);
    op_live *l = op_live_new();
    braid_op *node = make_node(l, s, op_live_unknown);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    op_execution *e = op_live_start(l, node, "");
    if (s->want) {
        op_execution_expect(e, s->want);
    } else {
        op_execution_wait(e);
        op_execution_free(e);
    }
    op_live_free(l);
}

#define RUN(...) run(&(step){__VA_ARGS__})
#define RUN_ALL(steps)                                                                                       \
    for (size_t i_ = 0; i_ < sizeof(steps) / sizeof((steps)[0]); i_++)                                       \
    run(&(steps)[i_])

#define SAVE(INPUTS, WANT)                                                                                   \
    {                                                                                                        \
        "SaveV2", NULL, INPUTS, WANT                                                                         \
    }
#define RESTORE(TYPES, INPUTS, WANT)                                                                         \
    {                                                                                                        \
        "RestoreV2", "dtypes=[" TYPES "]", INPUTS, WANT                                                      \
    }

static void saved_values_are_restored(void **state)
{
    (void)state;
    static const step steps[] = {
        SAVE("string[] /new/dir/v; string[4] w step name none; string[4] '' '' '' ''; float[2,2] 1 2 3 4; "
             "int64[] -7; string[2] a '' ; double[0,3]",
             ""),
        RESTORE("int64,string,float,double",
                "string[] /new/dir/v; string[4] step name w none; string[4] '' '' '' ''",
                "int64[] -7; string[2] a ''; float[2,2] 1 2 3 4; double[0,3]"),
        RESTORE("float", "string[1] /new/dir/v; string[1] w; string[1] ''", "float[2,2] 1 2 3 4"),
        RESTORE("float,float", "string[] /new/dir/v; string[2] w w; string[2] '' 2~2~1,1:-",
                "float[2,2] 1 2 3 4; float[1,2] 3 4"),
        {"Restore", "dt=int64", "string[] /new/dir/v; string[] step", "int64[] -7"},
        {"RestoreSlice", "dt=float", "string[] /new/dir/v; string[] w; string[] 2~2~-:0,1", "float[2,1] 1 3"},
        {"RestoreSlice", "dt=float", "string[] /new/dir/v; string[] w; string[] ''", "float[2,2] 1 2 3 4"},
        // Another checkpoint in its place.
        SAVE("string[] /new/dir/v; string[1] w; string[1] ''; float[] 8", ""),
        RESTORE("float", "string[] /new/dir/v; string[1] w; string[1] ''", "float[] 8"),
    };
    RUN_ALL(steps);
}

// Saves and restores a tensor of four elements of any bytes.
static void expect_type(braid_dtype type)
{
    BD_STATUS(st);
    braid_shape shape = bd_shape1(4);
    braid_tensor t;
    bd_tensor_init(&t, type, &shape, st);
    assert_ok(st);
    for (size_t i = 0; i < bd_tensor_bytes(&t); i++)
        ((uint8_t *)t.data)[i] = (uint8_t)(type == BRAID_BOOL ? i % 2 : 37 * i + 11);
    op_live *l = op_live_new();
    braid_out names = op_live_const(l, "string[1] x"), slices = op_live_const(l, "string[1] ''"),
              prefix = op_live_const(l, "string[] /types/v");
    braid_op_desc *d = braid_op_begin(l->graph, "Const", NULL);
    braid_op_attr_type(d, "dtype", type);
    braid_op_attr_tensor(d, "value", &t);
    braid_op *save =
        op_test_node(l->graph, "SaveV2", NULL, (braid_out[]){prefix, names, slices, braid_op_end_out(d)}, 4);
    d = braid_op_begin(l->graph, "RestoreV2", NULL);
    braid_op_input(d, prefix);
    braid_op_input(d, names);
    braid_op_input(d, slices);
    braid_op_attr_type_list(d, "dtypes", &type, 1);
    braid_op *restore = braid_op_end(d);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    op_live_run(l, save, "", "");
    op_execution *e = op_live_start(l, restore, "");
    op_execution_wait(e);
    assert_ok(&e->ctx.status);
    const braid_tensor *got = &e->ctx.outputs[0].tensor;
    assert_int_equal(got->dtype, type);
    assert_true(bd_shape_equal(&got->shape, &shape));
    assert_memory_equal(got->data, t.data, bd_tensor_bytes(&t));
    op_execution_free(e);
    op_live_free(l);
    bd_tensor_fini(&t);
}

static void each_plain_type_is_saved_and_restored(void **state)
{
    (void)state;
    int count = 0;
    for (int type = 1; type < BD_REF_OFFSET; type++) {
        if (!bd_dtype_is_valid(type) || braid_dtype_size((braid_dtype)type) == 0) continue;
        if (type == BRAID_STRING || type == BRAID_RESOURCE) continue;
        expect_type((braid_dtype)type);
        count++;
    }
    assert_int_equal(count, 20);
}

static void partitioned_variables_are_restored(void **state)
{
    (void)state;
    static const step steps[] = {
        SAVE("string[] /tmp_1/part-0; string[2] table b; string[2] 4~2~0,1:- ''; float[1,2] 1 2; float[] 9",
             ""),
        SAVE("string[] /tmp_2/part-1; string[1] table; string[1] 4~2~1,3:-; float[3,2] 3 4 5 6 7 8", ""),
        {"MergeV2Checkpoints", NULL, "string[2] /tmp_1/part-0 /tmp_2/part-1; string[] /v", ""},
        RESTORE("float,float", "string[] /v; string[2] table b; string[2] '' ''",
                "float[4,2] 1 2 3 4 5 6 7 8; float[] 9"),
        RESTORE("float", "string[] /v; string[1] table; string[1] 4~2~0,2:-", "float[2,2] 1 2 3 4"),
        RESTORE(
            "float", "string[] /v; string[1] table; string[1] 4~3~0,2:-",
            "InvalidArgument: tensor_name = table; shape in shape_and_slice spec [4,3] does not match the "
            "shape stored in checkpoint: [4,2]"),
        // The parts have been removed, and so are their directories.
        RESTORE("float", "string[] /tmp_1/part-0; string[1] b; string[1] ''",
                "NotFound: Failed to find any matching files for /tmp_1/part-0"),
    };
    RUN_ALL(steps);
    assert_false(bd_file_exists(bd_fs_current, "/tmp_1"));
    assert_false(bd_file_exists(bd_fs_current, "/tmp_2"));
}

static void directories_may_stay(void **state)
{
    (void)state;
    RUN("SaveV2", NULL, "string[] /tmp_1/part-0; string[1] b; string[1] ''; float[] 9", "");
    RUN("MergeV2Checkpoints", "delete_old_dirs=false", "string[1] /tmp_1/part-0; string[] /v", "");
    assert_true(bd_file_exists(bd_fs_current, "/tmp_1"));
    RUN("RestoreV2", "dtypes=[float]", "string[] /v; string[1] b; string[1] ''", "float[] 9");
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const step steps[] = {
        SAVE("string[] /v; string[2] a b; string[2] '' ''; float[2] 1 2",
             "InvalidArgument: Got 2 tensor names but 1 tensors."),
        SAVE("string[2] /v /w; string[1] a; string[1] ''; float[2] 1 2",
             "InvalidArgument: Input prefix should have a single element, got 2 instead."),
        SAVE("string[] /v; string[1] a; string[2] '' ''; float[2] 1 2",
             "InvalidArgument: tensor_names and shape_and_slices have different number of elements: 1 vs. 2"),
        SAVE(
            "string[] /v; string[] a; string[1] ''; float[2] 1 2",
            "InvalidArgument: Input tensor_names and shape_and_slices should be an 1-D tensors, got [] and [1]"),
        SAVE("string[] /v; string[2] a a; string[2] '' ''; float[] 1; float[] 1",
             "InvalidArgument: Adding duplicate key: a to /v"),
        SAVE("string[] /v; string[2] a b; string[2] '' 4~0,2; float[] 1; float[3] 1 2 3",
             "InvalidArgument: shape_and_slice"),
        SAVE("string[] /v; string[2] a b; string[2] '' 4~0,2; float[] 1; float[3] 1 2 3",
             "InvalidArgument: 4 0,2"),
        SAVE("string[] /v; string[1] b; string[1] 4~0,2; float[3] 1 2 3",
             "InvalidArgument: does not match the shape of the tensor to  save: 4 0,2, tensor: [3]"),
        RESTORE("float", "string[] /none/v; string[1] a; string[1] ''",
                "NotFound: Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
                "/none/v"),
        {"MergeV2Checkpoints", NULL, "string[] /v; string[] /w",
         "InvalidArgument: Input checkpoint_prefixes should be an 1-D tensor, got [] instead."},
        {"MergeV2Checkpoints", NULL, "string[0]; string[] /w",
         "InvalidArgument: no checkpoints to merge into /w"}, // TensorFlow would make an empty checkpoint
        {"MergeV2Checkpoints", NULL, "string[1] /v; string[1] /w",
         "InvalidArgument: Input destination_prefix should be a scalar tensor, got [1] instead."},
        {"MergeV2Checkpoints", NULL, "string[1] /none; string[] /w",
         "NotFound: Failed to find any matching files for /none"},
        {"MergeV2Checkpoints", "allow_missing_files=true", "string[1] /none; string[] /w",
         "InvalidArgument: At least one prefix checkpoint file must exist"},
    };
    RUN_ALL(steps);
    assert_int_equal(bd_memory_fs_file_count(), 0); // no incomplete file is left
    static const step saved[] = {
        SAVE("string[] /v; string[2] a b; string[2] '' ''; float[2] 1 2; int32[] 3", ""),
        RESTORE("float,float", "string[] /v; string[2] a x; string[2] '' ''",
                "NotFound: Key x not found in checkpoint"),
        RESTORE("int32,float", "string[] /v; string[2] a b; string[2] '' ''",
                "InvalidArgument: tensor_name = a; expected dtype int32 does not equal original dtype "
                "float\ntensor_name = b; expected dtype float does not equal original dtype int32"),
        RESTORE("float", "string[] /v; string[2] a b; string[2] '' ''",
                "InvalidArgument: Got 2 tensor names, but 1 expected dtypes."),
        RESTORE("float", "string[] /v; string[1] a; string[1] 2~1,2", "InvalidArgument: 1,2"),
        {"Restore", "dt=float", "string[] /v; string[] x",
         "NotFound: Tensor name \"x\" not found in checkpoint files /v"},
        {"Restore", "dt=float", "string[] /v; string[] b",
         "InvalidArgument: Expected to restore a tensor of type float, got a tensor of type int32 instead: "
         "tensor_name = b"},
        {"Restore", "dt=float", "string[2] /v /v; string[] b",
         "InvalidArgument: Input 0 (file_pattern) must be a string scalar; got a tensor of 2 elements"},
    };
    RUN_ALL(saved);
}

static void errors_of_damage_have_file_and_offset(void **state)
{
    (void)state;
    BD_STATUS(st);
    RUN("SaveV2", NULL, "string[] /v; string[2] a b; string[2] '' ''; float[2] 1 2; int32[] 3", "");
    char *data;
    size_t len;
    bd_file_read_all(bd_fs_current, "/v.data-00000-of-00001", 100, &data, &len, st);
    assert_ok(st);
    assert_int_equal(len, 12);
    data[9] ^= 1; // of b
    bd_file_write_atomic(bd_fs_current, "/v.data-00000-of-00001", data, len, st);
    assert_ok(st);
    bd_free(data);
    RUN("RestoreV2", "dtypes=[float]", "string[] /v; string[1] a; string[1] ''", "float[2] 1 2");
    RUN("RestoreV2", "dtypes=[int32]", "string[] /v; string[1] b; string[1] ''",
        "DataLoss: /v.data-00000-of-00001");
    RUN("RestoreV2", "dtypes=[int32]", "string[] /v; string[1] b; string[1] ''", "DataLoss: 8");
    bd_file_write_atomic(bd_fs_current, "/other_format", "some bytes", 10, st);
    RUN("RestoreV2", "dtypes=[int32]", "string[] /other_format; string[1] b; string[1] ''",
        "DataLoss: Unable to open table file /other_format: ");
}

// Makes a sharded save that replaces an older one, with a power cut at call `n`. Returns whether the save
// ended before.
static bool save_until_power_cut(int64_t n, uint64_t seed)
{
    bd_rng rng = bd_rng_init(seed);
    bd_memory_fs_install();
    RUN("SaveV2", NULL, "string[] /log/m; string[2] w v; string[2] '' ''; float[2] 1 1; float[] 1", "");
    bd_memory_fs_fail_after(n, true);
    RUN("SaveV2", NULL, "string[] /log/m_temp_1/part-0; string[1] w; string[1] ''; float[2] 2 2", NULL);
    RUN("SaveV2", NULL, "string[] /log/m_temp_1/part-1; string[1] v; string[1] ''; float[] 2", NULL);
    RUN("MergeV2Checkpoints", NULL, "string[2] /log/m_temp_1/part-0 /log/m_temp_1/part-1; string[] /log/m",
        NULL);
    bd_memory_fs_power_cut(&rng);
    op_live *l = op_live_new();
    step restore = RESTORE("float,float", "string[] /log/m; string[2] w v; string[2] '' ''", NULL);
    op_execution *e = op_live_start(l, make_node(l, &restore, op_live_unknown), "");
    op_execution_wait(e);
    assert_ok(&e->ctx.status);
    float w = bd_tensor_f32(&e->ctx.outputs[0].tensor)[0], v = bd_tensor_f32(&e->ctx.outputs[1].tensor)[0];
    assert_true(w == v && (w == 1 || w == 2)); // one of them, whole
    op_execution_free(e);
    op_live_free(l);
    bd_memory_fs_uninstall();
    return v == 2;
}

static void a_power_cut_leaves_the_old_or_the_new(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++) {
        int was_old = 0;
        for (int64_t n = 0; n < 80; n++)
            was_old += !save_until_power_cut(n, 100 * seed + (uint64_t)n);
        assert_true(was_old > 10 && was_old < 80);
    }
}

// ---- Cancellation ----

// A disk that takes its time to open the first checkpoint of a merge.
static struct {
    bd_fs fs;
    const bd_fs *disk;
    bd_event reached, goes_on;
} slow;

static braid_code open_slowly(const bd_fs *fs, const char *path, bd_file_mode mode, bd_file **file,
                              braid_status *st)
{
    (void)fs;
    if (bd_str_ends_with(path, "part-0.index")) {
        bd_event_set(&slow.reached);
        bd_event_wait(&slow.goes_on);
    }
    return slow.disk->open(slow.disk, path, mode, file, st);
}

static void slow_down_disk(void)
{
    bd_event_init(&slow.reached);
    bd_event_init(&slow.goes_on);
    slow.disk = bd_fs_current;
    slow.fs = *slow.disk;
    slow.fs.open = open_slowly;
    bd_fs_set(&slow.fs);
}

static void speed_up_disk(void)
{
    bd_fs_set(slow.disk);
    bd_event_fini(&slow.reached);
    bd_event_fini(&slow.goes_on);
}

static void a_merge_that_is_cancelled_ends_between_files(void **state)
{
    (void)state;
    static const step save[] = {
        SAVE("string[] /m; string[1] w; string[1] ''; float[] 1", ""),
        SAVE("string[] /temp/part-0; string[1] w; string[1] ''; float[] 2", ""),
        SAVE("string[] /temp/part-1; string[1] v; string[1] ''; float[] 2", ""),
    };
    static const step merge = {"MergeV2Checkpoints", NULL, "string[2] /temp/part-0 /temp/part-1; string[] /m",
                               ""};
    RUN_ALL(save);
    slow_down_disk();
    op_live *l = op_live_new();
    l->io_pool = bd_io_pool_new();
    op_execution *e = op_live_start(l, make_node(l, &merge, op_live_unknown), "");
    assert_true(bd_event_wait_until(&slow.reached, bd_deadline_after_ms(60000)));
    op_execution_cancel(e);
    assert_false(op_execution_has_ended(e)); // the call that waits for the disk cannot be cut short
    bd_event_set(&slow.goes_on);
    op_execution_expect(e, "Cancelled: MergeV2Checkpoints was cancelled");
    bd_io_pool_free(l->io_pool);
    op_live_free(l);
    speed_up_disk();
    RUN("RestoreV2", "dtypes=[float]", "string[] /m; string[1] w; string[1] ''", "float[] 1");
    run(&merge); // the parts are still there
    RUN("RestoreV2", "dtypes=[float,float]", "string[] /m; string[2] w v; string[2] '' ''",
        "float[] 2; float[] 2");
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SaveV2", NULL, "string[]; string[1]; string[?]; [2,3]", ""},
        {"SaveV2", NULL, "string[]; string[2]; string[?]; [2,3]",
         "InvalidArgument: Dimension must be 1 but is 2"},
        {"SaveV2", NULL, "string[1]; string[1]; string[?]; [2,3]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"RestoreV2", "dtypes=[float,int32]", "string[]; string[2]; string[2]", "?; ?"},
        {"RestoreV2", "dtypes=[float,int32]", "string[]; string[1]; string[1]",
         "InvalidArgument: Dimension must be 2 but is 1"},
        {"RestoreV2", "dtypes=[float]", "string[]; string[1]; string[1] ''", "?"},
        {"RestoreSlice", "dt=float", "string[]; string[]; string[] ''", "?"},
        {"MergeV2Checkpoints", NULL, "string[]; string[]",
         "InvalidArgument: Shape must be rank 1 but is rank 0"},
    };
    OP_TEST_SHAPES(cases);
    op_live *l = op_live_new(); // a slice gives the shape
    step s = RESTORE("float,float", "string[] /v; string[2] a b; string[2] '' 9~5~2,3:-", NULL);
    const braid_op *restore = make_node(l, &s, op_live_const);
    assert_int_equal(restore->output_shapes[0].rank, -1);
    assert_true(bd_shape_equal(&restore->output_shapes[1], &BRAID_SHAPE(3, 5)));
    op_live_free(l);
}

#define WITH_DISK(TEST) cmocka_unit_test_setup_teardown(TEST, bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DISK(saved_values_are_restored),
        WITH_DISK(each_plain_type_is_saved_and_restored),
        WITH_DISK(partitioned_variables_are_restored),
        WITH_DISK(directories_may_stay),
        WITH_DISK(wrong_inputs_are_errors),
        WITH_DISK(errors_of_damage_have_file_and_offset),
        cmocka_unit_test(a_power_cut_leaves_the_old_or_the_new),
        WITH_DISK(a_merge_that_is_cancelled_ends_between_files),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
