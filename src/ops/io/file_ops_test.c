// Tests of the ops on whole files.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/testing/bundle_case.h"
#include "io/testing/memory_fs.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

static void run(const char *op, const char *a, const char *b, const char *want)
{
    BD_STATUS(st);
    op_live *l = op_live_new();
    braid_out inputs[2] = {op_live_unknown(l, a)};
    if (b) inputs[1] = op_live_unknown(l, b);
    braid_op *node = op_test_node(l->graph, op, NULL, inputs, b ? 2 : 1);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    op_live_run(l, node, "", want);
    op_live_free(l);
}

static void files_are_written_and_read(void **state)
{
    (void)state;
    run("WriteFile", "string[] /new/dir/a", "string[] content", "");
    run("ReadFile", "string[] /new/dir/a", NULL, "string[] content");
    run("WriteFile", "string[] /new/dir/a", "string[] ''", "");
    run("ReadFile", "string[] /new/dir/a", NULL, "string[] ''");
    run("WriteFile", "string[] /new/dir/b", "string[] x", "");
    run("MatchingFiles", "string[] /new/dir/?", NULL, "string[2] /new/dir/a /new/dir/b");
    run("MatchingFiles", "string[3] /new/dir/b* /new/none* /new/*/a", NULL,
        "string[2] /new/dir/a /new/dir/b");
    run("MatchingFiles", "string[] /new/*/none", NULL, "string[0]");
    run("MatchingFiles", "string[0]", NULL, "string[0]");
}

// Appends lines to the file.
static void print_writes_its_inputs(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_out line = op_live_unknown(l, "string[] a"), path = op_live_unknown(l, "string[] /printed");
    braid_op *print = op_test_node(l->graph, "PrintV2", "output_stream=file:///printed", &line, 1);
    braid_op *bare = op_test_node(l->graph, "PrintV2", "output_stream=file:///printed; end=", &line, 1);
    braid_op *read = op_test_node(l->graph, "ReadFile", NULL, &path, 1);
    op_live_run(l, print, "", "");
    op_live_run(l, bare, "", "");
    op_live_run(l, print, "", "");
    op_live_run(l, read, "", "string[] a\\x0aaa\\x0a");
    braid_out lines = op_live_unknown(l, "string[0]");
    op_live_run(l, op_test_node(l->graph, "PrintV2", NULL, &lines, 1), "",
                "InvalidArgument: Input is expected to be scalar, but got [0]");
    op_live_run(l, op_test_node(l->graph, "PrintV2", "output_stream=paper", &line, 1), "",
                "InvalidArgument: Unknown output stream: paper");
    op_live_free(l);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    run("ReadFile", "string[] /none", NULL, "NotFound: /none");
    run("ReadFile", "string[1] /none", NULL,
        "InvalidArgument: Input filename tensor must be scalar, but had shape: [1]");
    run("ReadFile", "string[0]", NULL,
        "InvalidArgument: Input filename tensor must be scalar, but had shape: [0]");
    run("WriteFile", "string[0]", "string[] b",
        "InvalidArgument: Input filename tensor must be scalar, but had shape: [0]");
    run("WriteFile", "string[] /a", "string[2] b c",
        "InvalidArgument: Contents tensor must be scalar, but had shape: [2]");
    run("MatchingFiles", "string[2] /* /none/*", NULL, "NotFound: /none");
    run("MatchingFiles", "string[1,1] /a", NULL,
        "InvalidArgument: Input patterns tensor must be scalar or vector, but had shape: [1,1]");
    run("WriteFile", "string[] /a", "string[] old", "");
    bd_memory_fs_fail_after(1, false); // a full disk
    run("WriteFile", "string[] /a", "string[] new", "ResourceExhausted: /a");
    run("ReadFile", "string[] /a", NULL, "string[] old");
    assert_int_equal(bd_memory_fs_file_count(), 1);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"ReadFile", NULL, "string?", "[]"},
        {"ReadFile", NULL, "string[1]", "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"WriteFile", NULL, "string[]; string[1]", "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"MatchingFiles", NULL, "string[3]", "[?]"},
        {"MatchingFiles", NULL, "string[3,1]", "InvalidArgument: Shape must be at most rank 1 but is rank 2"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_are_written_and_read, bd_case_install, bd_case_uninstall),
        cmocka_unit_test_setup_teardown(print_writes_its_inputs, bd_case_install, bd_case_uninstall),
        cmocka_unit_test_setup_teardown(wrong_inputs_are_errors, bd_case_install, bd_case_uninstall),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
