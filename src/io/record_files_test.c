// The public functions of TFRecord files: round trips, and errors that name file and offset.
#include <braid/tfrecord.h>

#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/testing/temp_dir.h"
#include <stdio.h>
#include <unistd.h>

typedef struct place {
    char *dir, *path;
} place;

static int set_up(void **state)
{
    place *p = bd_malloc(sizeof *p);
    p->dir = bd_temp_dir_new();
    p->path = bd_asprintf("%s/records", p->dir);
    *state = p;
    return 0;
}

static int tear_down(void **state)
{
    place *p = *state;
    bd_temp_dir_free(p->dir);
    bd_free(p->path);
    bd_free(p);
    return 0;
}

static void write_two(const char *path, braid_compression compression)
{
    BD_STATUS(st);
    braid_record_writer *w = braid_record_writer_open(path, compression, st);
    assert_ok(st);
    assert_int_equal(braid_record_write(w, "first", 5, st), BRAID_OK);
    assert_int_equal(braid_record_write(w, NULL, 0, st), BRAID_OK);
    assert_int_equal(braid_record_writer_close(w, st), BRAID_OK);
}

static void records_come_back_in_each_compression(void **state)
{
    const place *p = *state;
    BD_STATUS(st);
    for (int kind = BRAID_COMPRESSION_NONE; kind <= BRAID_COMPRESSION_GZIP; kind++) {
        write_two(p->path, (braid_compression)kind);
        braid_record_reader *r = braid_record_reader_open(p->path, (braid_compression)kind, st);
        assert_ok(st);
        const void *data;
        size_t len;
        assert_int_equal(braid_record_read(r, &data, &len, st), BRAID_OK);
        assert_true(len == 5 && memcmp(data, "first", 5) == 0);
        assert_int_equal(braid_record_read(r, &data, &len, st), BRAID_OK);
        assert_int_equal(len, 0);
        assert_int_equal(braid_record_read(r, &data, &len, st), BRAID_OUT_OF_RANGE);
        braid_status_clear(st);
        braid_record_reader_close(r);
    }
}

static void a_cut_file_is_data_loss_at_an_offset_of_the_file(void **state)
{
    const place *p = *state;
    BD_STATUS(st);
    write_two(p->path, BRAID_COMPRESSION_NONE);
    assert_int_equal(truncate(p->path, 21 + 10), 0); // a record of 5 bytes takes 21
    braid_record_reader *r = braid_record_reader_open(p->path, BRAID_COMPRESSION_NONE, st);
    const void *data;
    size_t len;
    assert_int_equal(braid_record_read(r, &data, &len, st), BRAID_OK);
    braid_record_read(r, &data, &len, st);
    char *expected = bd_asprintf("truncated record at 21 of %s", p->path);
    assert_error(st, BRAID_DATA_LOSS, expected);
    bd_free(expected);
    braid_record_reader_close(r);
}

static void zlib_compresses_as_the_options_say(void **state)
{
    const place *p = *state;
    BD_STATUS(st);
    char record[4000];
    for (size_t i = 0; i < sizeof record; i++)
        record[i] = "abcdefgh"[i % 7];
    long sizes[3] = {0};
    const braid_zlib_options options[] = {{.level = 0, .mem_level = 8, .flush_bytes = 1000},
                                          {.level = 9, .mem_level = 8, .flush_mode = 3, .flush_bytes = 1000},
                                          BRAID_ZLIB_DEFAULTS};
    for (size_t k = 0; k < BD_COUNTOF(options); k++) {
        braid_record_writer *w =
            braid_record_writer_open_zlib(p->path, BRAID_COMPRESSION_ZLIB, &options[k], st);
        assert_ok(st);
        for (int i = 0; i < 20; i++)
            assert_int_equal(braid_record_write(w, record, sizeof record, st), BRAID_OK);
        assert_int_equal(braid_record_writer_close(w, st), BRAID_OK);
        braid_record_reader *r = braid_record_reader_open(p->path, BRAID_COMPRESSION_ZLIB, st);
        const void *data;
        size_t len;
        for (int i = 0; i < 20; i++) {
            assert_int_equal(braid_record_read(r, &data, &len, st), BRAID_OK);
            assert_memory_equal(data, record, sizeof record);
        }
        braid_record_reader_close(r);
        FILE *f = fopen(p->path, "rb");
        assert_non_null(f);
        fseek(f, 0, SEEK_END);
        sizes[k] = ftell(f);
        fclose(f);
    }
    assert_true(sizes[0] > 80000 && sizes[0] > sizes[1] && sizes[1] > sizes[2]);
    const braid_zlib_options wrong[] = {{.level = 12, .mem_level = 8}, {.mem_level = 8, .flush_mode = 7}};
    for (size_t k = 0; k < BD_COUNTOF(wrong); k++) {
        assert_null(braid_record_writer_open_zlib(p->path, BRAID_COMPRESSION_GZIP, &wrong[k], st));
        assert_error(st, BRAID_INVALID_ARGUMENT, k ? "no flush mode 7" : "zlib does not take level 12");
    }
}

static void wrong_arguments_are_errors(void **state)
{
    const place *p = *state;
    BD_STATUS(st);
    assert_null(braid_record_reader_open(p->path, BRAID_COMPRESSION_NONE, st));
    assert_error(st, BRAID_NOT_FOUND, p->path);
    assert_null(braid_record_writer_open(NULL, BRAID_COMPRESSION_NONE, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "without a path");
    assert_null(braid_record_writer_open(p->path, (braid_compression)3, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "there is no compression 3");
    braid_record_write(NULL, "x", 1, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "not open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(records_come_back_in_each_compression, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_cut_file_is_data_loss_at_an_offset_of_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zlib_compresses_as_the_options_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wrong_arguments_are_errors, set_up, tear_down),
    };
    return BD_RUN_TESTS(tests);
}
