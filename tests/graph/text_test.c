// Graphs as text and as files: recorded graphs survive both, and errors say where in the file they are.
#include "base/testing/test.h"
#include <braid/braid.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/braid-graph-text-XXXXXX";

static void assert_same_graph(const braid_graph *a, const braid_graph *b)
{
    BD_STATUS(st);
    size_t len_a, len_b;
    void *x = braid_graph_export(a, &len_a, st), *y = braid_graph_export(b, &len_b, st);
    assert_ok(st);
    assert_int_equal(len_a, len_b);
    assert_memory_equal(x, y, len_a);
    free(x);
    free(y);
}

static const char *file_in_dir(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void check_text(const braid_graph *g)
{
    BD_STATUS(st);
    braid_graph *back = braid_graph_new();
    char *text = braid_graph_export_text(g, st);
    assert_ok(st);
    braid_graph_import_text(back, text, strlen(text), st);
    assert_ok(st);
    assert_same_graph(g, back);
    free(text);
    braid_graph_free(back);
}

// Through both kinds of file.
static void check_files(const braid_graph *g)
{
    BD_STATUS(st);
    const char *const names[] = {"graph.pbtxt", "graph.pb"};
    for (size_t i = 0; i < 2; i++) {
        braid_graph_write(g, file_in_dir(names[i]), st);
        assert_ok(st);
        braid_graph *back = braid_graph_new();
        braid_graph_read(back, file_in_dir(names[i]), st);
        assert_ok(st);
        assert_same_graph(g, back);
        braid_graph_free(back);
    }
}

static void recorded_graphs_survive_the_text_format(void **state)
{
    (void)state;
    BD_STATUS(st);
    glob_t files;
    glob(BD_TEST_DATA_DIR "/golden/*/*.pb", 0, NULL, &files);
    glob(BD_TEST_DATA_DIR "/golden/*/*/*.pb", GLOB_APPEND, NULL, &files);
    assert_true(files.gl_pathc > 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        braid_graph *g = braid_graph_new();
        braid_graph_read(g, files.gl_pathv[i], st);
        assert_ok(st);
        check_text(
            g); // not through files: constants are written out, megabytes of them, and a file is synced
        braid_graph_free(g);
    }
    globfree(&files);
}

static void text_is_read_and_written(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char text[] = "node {\n"
                               "  name: \"x\"\n"
                               "  op: \"Placeholder\"\n"
                               "  attr {\n"
                               "    key: \"dtype\"\n"
                               "    value {\n"
                               "      type: DT_FLOAT\n"
                               "    }\n"
                               "  }\n"
                               "}\n"
                               "node {\n"
                               "  name: \"y\"\n"
                               "  op: \"Relu\"\n"
                               "  input: \"x\"\n"
                               "  input: \"^x\"\n"
                               "  device: \"/job:ps/task:0\"\n"
                               "  attr {\n"
                               "    key: \"T\"\n"
                               "    value {\n"
                               "      type: DT_FLOAT\n"
                               "    }\n"
                               "  }\n"
                               "}\n"
                               "versions {\n"
                               "  producer: 22\n"
                               "}\n";
    braid_graph *g = braid_graph_new();
    braid_graph_import_text(g, text, strlen(text), st);
    assert_ok(st);
    assert_int_equal(braid_out_dtype(braid_graph_find_out(g, "y:0")), BRAID_FLOAT);
    char *printed = braid_graph_export_text(g, st);
    assert_string_equal(printed, text);
    free(printed);
    check_files(g);
    braid_graph_free(g);
}

// Content of graph.pbtxt, and the error after the file's name.
static const struct {
    const char *text;
    braid_code code;
    const char *error;
} errors[] = {
    {"node {\n  name: x\n}", BRAID_INVALID_ARGUMENT,
     "Text of GraphDef, line 2, column 9: field 'name' takes a string in quotes, not 'x'"},
    {"\n\x12\x04", BRAID_INVALID_ARGUMENT,
     "Text of GraphDef, line 2, column 1: the byte 0x12 occurs outside of a string: this is not text format"},
    // Of the graph in it.
    {"node { name: 'y' op: 'Relu' input: 'x' }", BRAID_INVALID_ARGUMENT, "Node 'y': Unknown input node 'x'"},
    {"node { name: 'y' op: 'NoOp' } node { name: 'y' op: 'NoOp' }", BRAID_INVALID_ARGUMENT,
     "Node 'y' is not unique"},
};

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    char want[400];
    const char *path = file_in_dir("graph.pbtxt");
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        BD_STATUS(st);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fputs(errors[i].text, file);
        fclose(file);
        braid_graph *g = braid_graph_new();
        assert_int_equal(braid_graph_read(g, path, st), errors[i].code);
        snprintf(want, sizeof want, "'%s': %s", path, errors[i].error);
        assert_string_equal(braid_status_message(st), want);
        assert_int_equal(braid_graph_num_ops(g), 0);
        assert_int_equal(braid_graph_read(g, path, NULL), errors[i].code);
        braid_graph_free(g);
    }
}

static void errors_of_files_have_the_path(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_graph_read(g, file_in_dir("absent.pbtxt"), st);
    assert_error(st, BRAID_NOT_FOUND, "absent.pbtxt");
    braid_graph_write(g, file_in_dir("absent/graph.pbtxt"), st);
    assert_error(st, BRAID_NOT_FOUND, "absent/graph.pbtxt");
    // A graph that has failed is not written, and the file stays.
    braid_graph_write(g, file_in_dir("kept.pb"), st);
    assert_ok(st);
    braid_graph_fail(g, BRAID_INTERNAL, "on purpose");
    braid_graph_write(g, file_in_dir("kept.pb"), st);
    assert_error(st, BRAID_INTERNAL, "on purpose");
    assert_int_equal(access(file_in_dir("kept.pb"), F_OK), 0);
    braid_graph_free(g);
}

static int remove_dir(void **state)
{
    (void)state;
    const char *const names[] = {"graph.pbtxt", "graph.pb", "kept.pb"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlink(file_in_dir(names[i]));
    return rmdir(dir);
}

int main(void)
{
    if (!mkdtemp(dir)) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_graphs_survive_the_text_format),
        cmocka_unit_test(text_is_read_and_written),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(errors_of_files_have_the_path),
    };
    return cmocka_run_group_tests(tests, NULL, remove_dir);
}
