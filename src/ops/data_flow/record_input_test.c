// Tests of RecordInput: each record once an epoch, in an order that is not that of the files.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/record.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

#include <stdio.h>
#include <stdlib.h>

#define FILES 5
#define RECORDS 6 // in each

static int in_temp_dir(void **state)
{
    *state = bd_temp_dir_new();
    return 0;
}

static int remove_temp_dir(void **state)
{
    bd_temp_dir_free(*state);
    return 0;
}

static void write_files(const char *dir, bd_compression kind)
{
    BD_STATUS(st);
    for (int f = 0; f < FILES; f++) {
        bd_record_writer *w;
        char *path = bd_asprintf("%s/records.%d", dir, f);
        bd_record_writer_open(bd_fs_current, path, BD_FILE_CREATE, kind, &w, st);
        assert_ok(st);
        for (int i = 0; i < RECORDS; i++) {
            char record[16];
            snprintf(record, sizeof record, "%02d", f * RECORDS + i);
            bd_record_write(w, record, 2, st);
        }
        bd_record_writer_close(w, st);
        assert_ok(st);
        bd_free(path);
    }
}

static braid_op *new_node(op_live *l, const char *dir, const char *pattern, const char *attrs)
{
    char *text = bd_asprintf("file_pattern=%s/%s; %s", dir, pattern, attrs);
    braid_op *node = op_test_node(l->graph, "RecordInput", text, NULL, 0);
    bd_free(text);
    return node;
}

// Takes an epoch in batches of 3. Returns whether the records were in the order of their numbers.
static bool take_epoch(op_live *l, braid_op *node)
{
    bool seen[FILES * RECORDS] = {0}, in_order = true;
    int last = -1;
    for (int batch = 0; batch < FILES * RECORDS / 3; batch++) {
        op_execution *e = op_live_start(l, node, "");
        op_execution_wait(e);
        assert_ok(&e->ctx.status);
        for (int i = 0; i < 3; i++) {
            const bd_string *s = &bd_tensor_str(&e->ctx.outputs[0].tensor)[i];
            char text[3] = {s->data[0], s->data[1], 0};
            int number = atoi(text);
            assert_int_equal(s->len, 2);
            assert_false(seen[number]);
            seen[number] = true;
            if (number < last) in_order = false;
            last = number;
        }
        op_execution_free(e);
    }
    return in_order;
}

static void expect_epochs(const char *dir, const char *attrs)
{
    op_live *l = op_live_new();
    braid_op *node = new_node(l, dir, "records.*", attrs);
    for (int epoch = 0; epoch < 3; epoch++)
        assert_false(take_epoch(l, node));
    op_live_free(l);
}

static void each_epoch_has_each_record_once(void **state)
{
    write_files(*state, BD_COMPRESSION_NONE);
    expect_epochs(*state, "batch_size=3");
    expect_epochs(*state,
                  "batch_size=3; file_parallelism=2; file_buffer_size=7; file_shuffle_shift_ratio=0.33");
    expect_epochs(*state, "batch_size=3; file_parallelism=1; file_buffer_size=1");
}

static void compressed_files_are_read(void **state)
{
    write_files(*state, BD_COMPRESSION_GZIP);
    expect_epochs(*state, "batch_size=3; compression_type=GZIP");
    write_files(*state, BD_COMPRESSION_ZLIB);
    expect_epochs(*state, "batch_size=3; compression_type=ZLIB");
}

static void wrong_inputs_are_errors(void **state)
{
    const char *dir = *state;
    char *path = bd_path_join(dir, "none"), *damaged = bd_path_join(dir, "damaged");
    bd_test_write(path, "", 0);
    bd_test_write(damaged, "0123456789", 10);
    op_live *l = op_live_new();
    braid_op *node = new_node(l, dir, "foo*", "batch_size=1");
    op_live_run(l, node, "", "NotFound: Found no files at");
    op_live_run(l, node, "", "NotFound: Found no files at"); // the first error stays
    op_live_run(l, new_node(l, dir, "none", "batch_size=1"), "",
                "OutOfRange: Found no records in the files at");
    op_live_run(l, new_node(l, dir, "damaged", "batch_size=1"), "", "DataLoss: truncated record");
    op_live_run(l, new_node(l, dir, "none", "batch_size=0"), "", "string[0]");
    op_live_run(l, new_node(l, dir, "none", "batch_size=-1"), "",
                "InvalidArgument: batch_size must not be negative: -1");
    op_live_run(l, new_node(l, dir, "none", "file_parallelism=0"), "",
                "InvalidArgument: file_parallelism must be from 1 to 1024: 0");
    op_live_run(l, new_node(l, dir, "none", "batch_size=4611686018427387904"), "", "ResourceExhausted: OOM");
    op_live_free(l);
    bd_free(path);
    bd_free(damaged);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {{"RecordInput", "file_pattern=x", "", "?"}};
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_epoch_has_each_record_once, in_temp_dir, remove_temp_dir),
        cmocka_unit_test_setup_teardown(compressed_files_are_read, in_temp_dir, remove_temp_dir),
        cmocka_unit_test_setup_teardown(wrong_inputs_are_errors, in_temp_dir, remove_temp_dir),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
