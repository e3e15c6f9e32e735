// Tests that each restoring op reads V1 checkpoints.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "io/testing/bundle_case.h"
#include "io/testing/memory_fs.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

// Runs an op once, on inputs that are not constants.
static void run(const char *op, const char *attrs, const char *inputs, const char *want)
{
    BD_STATUS(st);
    braid_out in[8];
    int count = 0;
    op_live *l = op_live_new();
    const char *rest = inputs, *piece;
    size_t len;
    while (bd_split_next(&rest, ';', &piece, &len)) {
        char *text = bd_strndup(piece, len);
        in[count++] = op_live_unknown(l, text);
        bd_free(text);
    }
    braid_op *node = op_test_node(l->graph, op, attrs, in, count);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    op_live_run(l, node, "", want);
    op_live_free(l);
}

static void save_writes_a_v1_checkpoint(void **state)
{
    (void)state;
    run("Save", NULL, "string[] /m; string[3] w step name; float[2,2] 1 2 3 4; int64[] -7; string[2] a ''",
        "");
    assert_int_equal(bd_memory_fs_file_count(), 1);
    run("Restore", "dt=float", "string[] /m; string[] w", "float[2,2] 1 2 3 4");
    run("Restore", "dt=int64", "string[] /?; string[] step", "int64[] -7");
    run("RestoreSlice", "dt=float", "string[] /m; string[] w; string[] 2~2~1,1:-", "float[1,2] 3 4");
    run("RestoreSlice", "dt=string", "string[] /m; string[] name; string[] ''", "string[2] a ''");
    // The second op of that name reads both formats, too.
    run("RestoreV2", "dtypes=[float,int64]", "string[] /m; string[2] w step; string[2] '' ''",
        "float[2,2] 1 2 3 4; int64[] -7");
    run("Save", NULL, "string[] /e; string[1] none; float[0,2]", "");
    run("Restore", "dt=float", "string[] /e; string[] none", "float[0,2]");
    run("RestoreSlice", "dt=float", "string[] /e; string[] none; string[] ''", "float[0,2]");
    run("SaveSlices", NULL, "string[] /f; string[1] none; string[1] ''; float[0,2]", "");
    run("Restore", "dt=float", "string[] /f; string[] none", "float[0,2]");
    run("Save", NULL, "string[] /m; string[1] w; float[1] 9", ""); // in the place of the other
    run("Restore", "dt=float", "string[] /m; string[] w", "float[1] 9");
}

static void slices_are_saved_and_restored(void **state)
{
    (void)state;
    run("SaveSlices", NULL, "string[] /p-0; string[2] v x; string[2] 3~2~0,1:- ''; int32[1,2] 1 2; int32[] 5",
        "");
    run("SaveSlices", NULL, "string[] /p-1; string[1] v; string[1] 3~2~1,2:-; int32[2,2] 3 4 5 6", "");
    run("Restore", "dt=int32", "string[] /p-*; string[] v", "int32[3,2] 1 2 3 4 5 6");
    run("RestoreSlice", "dt=int32", "string[] /p-*; string[] v; string[] 3~2~0,2:1,1", "int32[2,1] 2 4");
    run("Restore", "dt=int32", "string[] /p-0; string[] v",
        "InvalidArgument: Does not have sufficient slices");
    run("RestoreSlice", "dt=int32", "string[] /p-0; string[] v; string[] 3~2~0,1:-", "int32[1,2] 1 2");
    run("RestoreSlice", "dt=int32", "string[] /p-*; string[] v; string[] 4~2~0,1:-",
        "InvalidArgument: does not match the shape stored in checkpoint");
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    run("Save", NULL, "string[2] /m /n; string[1] w; float[1] 9",
        "InvalidArgument: Input 0 (filename) must be a string scalar; got a tensor of 2 elements");
    run("Save", NULL, "string[0]; string[1] w; float[1] 9",
        "InvalidArgument: Input 0 (filename) must be a string scalar; got a tensor of 0 elements");
    run("Save", NULL, "string[] /m; string[0]; float[1] 9",
        "InvalidArgument: Expected totally 2 inputs as input #1");
    run("Restore", "dt=float", "string[0]; string[] v", "InvalidArgument: ");
    run("Restore", "dt=float", "string[] /m; string[0]", "InvalidArgument: ");
    run("RestoreSlice", "dt=float", "string[] /m; string[] v; string[0]", "InvalidArgument: ");
    run("SaveSlices", NULL, "string[] /m; string[1] w; string[0]; float[1] 9",
        "InvalidArgument: Expected 1 elements for the tensor shapes and slices but got 0");
    run("Save", NULL, "string[] /m; string[2] w x; float[1] 9",
        "InvalidArgument: Expected totally 4 inputs as input #1");
    run("SaveSlices", NULL, "string[] /m; string[1] w; string[2] '' ''; float[1] 9",
        "InvalidArgument: Expected 1 elements for the tensor shapes and slices but got 2");
    run("SaveSlices", NULL, "string[] /m; string[1] w; string[1] 4~0,2; float[1] 9",
        "InvalidArgument: Slice in shape_and_slice specification does not match the shape of the tensor to  save: 4 0,2, "
        "tensor: [1]");
    run("Save", NULL, "string[] /m; string[2] w w; float[1] 9; float[1] 9",
        "InvalidArgument: Tensor w is to be saved twice");
    assert_int_equal(bd_memory_fs_file_count(), 0);
    run("Save", NULL, "string[] /m; string[1] w; float[1] 9", "");
    run("Restore", "dt=float", "string[] /m; string[] v",
        "NotFound: Tensor name \"v\" not found in checkpoint files /m");
    run("Restore", "dt=int32", "string[] /m; string[] w",
        "InvalidArgument: Expected to restore a tensor of type int32, got a tensor of type float instead");
    run("Restore", "dt=int32", "string[] /none; string[] w",
        "NotFound: Unsuccessful TensorSliceReader constructor: Failed to find any matching files for /none");
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Save", NULL, "string[]; string[2]; [2,3]; [1]", ""},
        {"Save", NULL, "string[]; string[1]; [2,3]; [1]", "InvalidArgument: Dimension must be 2 but is 1"},
        {"SaveSlices", NULL, "string[]; string[1]; string[1]; [2,3]", ""},
        {"SaveSlices", NULL, "string[1]; string[1]; string[1]; [2,3]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

#define WITH_DISK(TEST) cmocka_unit_test_setup_teardown(TEST, bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DISK(save_writes_a_v1_checkpoint),
        WITH_DISK(slices_are_saved_and_restored),
        WITH_DISK(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
