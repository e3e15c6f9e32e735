// Tests of the ops that start a model from an older one with other vocabularies.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

#include <stdio.h>

static char *directory;

static int in_temp_dir(void **state)
{
    (void)state;
    directory = bd_temp_dir_new();
    return 0;
}

static int remove_temp_dir(void **state)
{
    (void)state;
    bd_temp_dir_free(directory);
    return 0;
}

static void write_file(const char *name, const char *text)
{
    char *path = bd_path_join(directory, name);
    bd_test_write(path, text, strlen(text));
    bd_free(path);
}

// Runs an op once; `@` in the inputs is replaced by the directory.
static void run(const char *op, const char *attrs, const char *inputs, const char *want)
{
    BD_STATUS(st);
    braid_out in[8];
    int count = 0;
    op_live *l = op_live_new();
    const char *rest = inputs, *piece;
    size_t len;
    while (bd_split_next(&rest, ';', &piece, &len)) {
        bd_strbuf text = {0};
        for (size_t i = 0; i < len; i++) {
            if (piece[i] == '@')
                bd_strbuf_append(&text, directory);
            else
                bd_strbuf_append_char(&text, piece[i]);
        }
        in[count++] = op_live_unknown(l, bd_strbuf_str(&text));
        bd_strbuf_fini(&text);
    }
    braid_op *node = op_test_node(l->graph, op, attrs, in, count);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    op_live_run(l, node, "", want);
    op_live_free(l);
}

static void vocabularies_are_remapped(void **state)
{
    (void)state;
    write_file("new", "MISSING\nknitting\neminem\n");
    write_file("old", "knitting\neminem\nMISSING\n");
    write_file("twice", "a\na\n");
#define REMAP(OFFSET, COUNT, OLD)                                                                            \
    "new_vocab_offset=" #OFFSET "; num_new_vocab=" #COUNT "; old_vocab_size=" #OLD
#define FILES "string[] @/new; string[] @/old"
    run("GenerateVocabRemapping", REMAP(0, 3, -1), FILES, "int64[3] 2 0 1; int32[] 3");
    run("GenerateVocabRemapping", REMAP(0, 3, 2), FILES, "int64[3] -1 0 1; int32[] 2");
    run("GenerateVocabRemapping", REMAP(1, 1, -1), FILES, "int64[1] 0; int32[] 1");
    run("GenerateVocabRemapping", REMAP(3, 0, -1), FILES, "int64[0]; int32[] 0");
    run("GenerateVocabRemapping", REMAP(1, 3, -1), FILES,
        "InvalidArgument: lookup table size must be larger than last new vocab entry's line");
    run("GenerateVocabRemapping", REMAP(0, 1, 4), FILES, "InvalidArgument: Invalid vocab_size in");
    run("GenerateVocabRemapping", REMAP(0, 1, -1), "string[] @/new; string[] @/twice",
        "InvalidArgument: Duplicate entry in the old vocabulary: line 1, 'a'");
    run("GenerateVocabRemapping", REMAP(0, 1, -1), "string[] @/none; string[] @/old", "NotFound: none");
    run("GenerateVocabRemapping", REMAP(0, 1, -1), "string[] ''; string[] @/old",
        "InvalidArgument: new vocab filename cannot be empty.");
    run("GenerateVocabRemapping", REMAP(0, 1, -1), "string[1] x; string[] @/old",
        "InvalidArgument: new_vocab_file should be a single string, but got [1]");
    run("GenerateVocabRemapping", REMAP(0, 4611686018427387904, -1), FILES, "ResourceExhausted: OOM");
}

static void a_matrix_is_loaded_and_remapped(void **state)
{
    (void)state;
    run("SaveV2", NULL,
        "string[] @/m; string[3] w v i; string[3] '' '' ''; float[3,2] 1 2 3 4 5 6; float[2] 1 2; int32[1,1] 1",
        "");
#define MATRIX(ROWS, COLS, MAX) "num_rows=" #ROWS "; num_cols=" #COLS "; max_rows_in_memory=" #MAX
    for (int max = -1; max < 3; max++) {
        char attrs[64];
        snprintf(attrs, sizeof attrs, "num_rows=2; num_cols=2; max_rows_in_memory=%d", max);
        run("LoadAndRemapMatrix", attrs, "string[] @/m; string[] w; int64[2] 2 0; int64[0]; float[0]",
            "float[2,2] 5 6 1 2");
        run("LoadAndRemapMatrix", attrs, "string[1] @/m; string[] w; int64[2] 2 0; int64[2] 1 0; float[0]",
            "float[2,2] 6 5 2 1");
    }
    run("LoadAndRemapMatrix", MATRIX(3, 3, -1),
        "string[] @/m; string[] w; int64[3] -1 2 0; int64[3] 1 -1 0; float[5] 7 8 9 10 11",
        "float[3,3] 7 8 9 6 10 5 2 11 1");
    run("LoadAndRemapMatrix", MATRIX(1, 1, -1),
        "string[] @/m; string[] w; int64[1] -1; int64[1] -1; float[1] 7", "float[1,1] 7");
    run("LoadAndRemapMatrix", MATRIX(0, 2, -1), "string[] @/m; string[] w; int64[0]; int64[0]; float[0]",
        "float[0,2]");
}

static void wrong_matrices_are_refused(void **state)
{
    (void)state;
    run("SaveV2", NULL,
        "string[] @/m; string[3] w v i; string[3] '' '' ''; float[3,2] 1 2 3 4 5 6; float[2] 1 2; int32[1,1] 1",
        "");
    run("LoadAndRemapMatrix", MATRIX(2, 2, -1), "string[] @/m; string[] w; int64[2] 1 1; int64[0]; float[0]",
        "Unimplemented: Old ID 1 is mapped to both new ID 0 and 1, which is not supported.");
    run("LoadAndRemapMatrix", MATRIX(1, 2, -1),
        "string[] @/m; string[] w; int64[1] 1; int64[2] 0 0; float[0]",
        "Unimplemented: Old ID 0 is mapped to both new ID 0 and 1");
    run("LoadAndRemapMatrix", MATRIX(3, 2, -1), "string[] @/m; string[] w; int64[2] 1 1; int64[0]; float[0]",
        "InvalidArgument: Size of row_remapping is 2 instead of being equal to num_rows=3");
    run("LoadAndRemapMatrix", MATRIX(1, 3, -1),
        "string[] @/m; string[] w; int64[1] 1; int64[2] 1 0; float[0]",
        "InvalidArgument: Provided col_remapping, but its size is 2");
    run("LoadAndRemapMatrix", MATRIX(1, 3, -1), "string[] @/m; string[] w; int64[1] 1; int64[0]; float[0]",
        "InvalidArgument: where the size of its 2nd dimension is 2 instead of being equal to num_cols=3");
    run("LoadAndRemapMatrix", MATRIX(1, 1, -1), "string[] @/m; string[] w; int64[1] 1; int64[1] 2; float[0]",
        "InvalidArgument: col_remapping[0] is 2, but the old tensor has only 2 of them");
    run("LoadAndRemapMatrix", MATRIX(1, 2, -1), "string[] @/m; string[] w; int64[1] 3; int64[0]; float[0]",
        "InvalidArgument: row_remapping[0] is 3, but the old tensor has only 3 of them");
    run("LoadAndRemapMatrix", MATRIX(2, 2, -1),
        "string[] @/m; string[] w; int64[2] 0 9223372036854775807; int64[0]; float[0]",
        "InvalidArgument: row_remapping[1] is 9223372036854775807");
    run("LoadAndRemapMatrix", MATRIX(1, 2, -1), "string[] @/m; string[] w; int64[1] -1; int64[0]; float[1] 1",
        "InvalidArgument: initializing_values contained 1 elements, but more missing values remain.");
    run("LoadAndRemapMatrix", MATRIX(1, 2, -1), "string[] @/m; string[] w; int64[1] 0; int64[0]; float[1] 1",
        "InvalidArgument: but only 0 elements were used to fill in missing values.");
    run("LoadAndRemapMatrix", MATRIX(1, 2, -1), "string[] @/m; string[] v; int64[1] 0; int64[0]; float[0]",
        "InvalidArgument: Tensor v has shape [2] of invalid rank 1");
    run("LoadAndRemapMatrix", MATRIX(1, 2, -1), "string[] @/m; string[] i; int64[1] 0; int64[0]; float[0]",
        "InvalidArgument: Tensor i has invalid type int32 instead of expected type float");
    run("LoadAndRemapMatrix", MATRIX(1, 2, -1), "string[] @/m; string[] x; int64[1] 0; int64[0]; float[0]",
        "NotFound: x not found in checkpoint");
    run("LoadAndRemapMatrix", MATRIX(1, 2, -1), "string[] @/q; string[] w; int64[1] 0; int64[0]; float[0]",
        "NotFound: ");
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"GenerateVocabRemapping", REMAP(0, 3, -1), "string[]; string?", "[3]; []"},
        {"GenerateVocabRemapping", REMAP(0, 3, -1), "string[1]; string?",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"LoadAndRemapMatrix", MATRIX(4, 2, -1), "string?; string?; int64?; int64?; float?", "[4,2]"},
        {"LoadAndRemapMatrix", MATRIX(4, 2, -1), "string[1]; string[1]; int64?; int64?; float?",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(vocabularies_are_remapped, in_temp_dir, remove_temp_dir),
        cmocka_unit_test_setup_teardown(a_matrix_is_loaded_and_remapped, in_temp_dir, remove_temp_dir),
        cmocka_unit_test_setup_teardown(wrong_matrices_are_refused, in_temp_dir, remove_temp_dir),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
