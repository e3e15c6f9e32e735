// Datasets of files, and caches in files.
#include "base/testing/test.h"
#include "io/bundle.h"
#include "io/file.h"
#include "io/record.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"
#include <stdio.h>
#include <stdlib.h>

static char *dir;

static void write_file(const char *name, const char *data, size_t len)
{
    BD_STATUS(st);
    char *path = bd_path_join(dir, name);
    assert_int_equal(bd_file_write_atomic(bd_fs_current, path, data, len, st), BRAID_OK);
    bd_free(path);
}

// As a stream of zlib holds it, or as gzip does.
static void write_compressed(const char *name, bd_compression kind, const char *data, size_t len)
{
    unsigned char out[256];
    z_stream z = {.next_in = (unsigned char *)data,
                  .avail_in = (unsigned)len,
                  .next_out = out,
                  .avail_out = sizeof out};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, bd_compression_window_bits(kind), 8, Z_DEFAULT_STRATEGY),
                     Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    write_file(name, (const char *)out, z.total_out);
    deflateEnd(&z);
}

static void write_records(const char *name, bd_compression kind, const char *const *records, int count)
{
    BD_STATUS(st);
    bd_record_writer *w;
    char *path = bd_path_join(dir, name);
    assert_int_equal(bd_record_writer_open(bd_fs_current, path, BD_FILE_CREATE, kind, &w, st), BRAID_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(bd_record_write(w, records[i], strlen(records[i]), st), BRAID_OK);
    assert_int_equal(bd_record_writer_close(w, st), BRAID_OK);
    bd_free(path);
}

static void expect(const char *text, const char *want)
{
    char full[4096];
    pipeline_case c = {full, "string", want, -2};
    // `@` is replaced by the directory.
    size_t len = 0;
    for (; *text; text++)
        len += (size_t)snprintf(full + len, sizeof full - len, *text == '@' ? "%s" : "%.1s",
                                *text == '@' ? dir : text);
    pipeline_test(&c, 1);
}

static void text_lines_are_read(void **state)
{
    (void)state;
    write_file("a", "one\ntwo\r\n\nfour", 14);
    write_file("b", "", 0);
    write_file("c", "5\n", 2);
    write_compressed("z", BD_COMPRESSION_ZLIB, "z1\nz2\n", 6);
    write_compressed("gz", BD_COMPRESSION_GZIP, "g1\ng2", 5);
    expect("TextLineDataset(string[3] @/a @/b @/c; string[] \"\"; int64[] 0) SkipDataset(int64[] 1)",
           "string[] two | * | string[] four | string[] 5 | end");
    expect("TextLineDataset(string[] @/z; string[] ZLIB; int64[] 0)", "string[] z1 | string[] z2 | end");
    expect("TextLineDataset(string[] @/gz; string[] GZIP; int64[] 9)", "string[] g1 | string[] g2 | end");
    expect("TextLineDataset(string[2] @/nowhere @/c; string[] \"\"; int64[] 0)",
           "NotFound: nowhere | NotFound: nowhere"); // as in TensorFlow, it does not go on
    expect("TextLineDataset(string[] @/a; string[] GZIP; int64[] 0)", "DataLoss: /a");
    expect("TextLineDataset(string[0]; string[] \"\"; int64[] 0)", "end");
}

// A line longer than the block that is read at a time.
static void a_long_line_is_read(void **state)
{
    (void)state;
    size_t len = 200000;
    char *data = bd_malloc(len + 3);
    memset(data, 'x', len);
    memcpy(data + len, "\ny\n", 3);
    write_file("long", data, len + 3);
    bd_free(data);
    expect("TextLineDataset(string[] @/long; string[] \"\"; int64[] 0)", "* | string[] y | end");
}

static void tfrecords_are_read(void **state)
{
    (void)state;
    write_records("r1", BD_COMPRESSION_NONE, (const char *[]){"a", "bc"}, 2);
    write_records("r2", BD_COMPRESSION_ZLIB, (const char *[]){"d"}, 1);
    write_file("bad", "not a record at all", 19);
    expect("TFRecordDataset(string[2] @/r1 @/r1; string[] \"\"; int64[] 0)",
           "string[] a | string[] bc | string[] a | string[] bc | end");
    // the second record of r1 begins behind the first, which takes 16 bytes more than its content
    expect("TFRecordDatasetV2(string[2] @/r1 @/r1; string[] \"\"; int64[] 0; int64[2] 17 0)",
           "string[] bc | string[] a | string[] bc | end");
    expect("TFRecordDatasetV2(string[] @/r1; string[] \"\"; int64[] 0; int64[0])",
           "string[] a | string[] bc | end");
    expect("TFRecordDataset(string[] @/r2; string[] ZLIB; int64[] 10)", "string[] d | end");
    expect("TFRecordDataset(string[2] @/bad @/r1; string[] \"\"; int64[] 0)",
           "DataLoss: corrupted record | string[] a | string[] bc | end");
    expect("TFRecordDataset(string[2] @/bad @/r1; string[] \"\"; int64[] 0) IgnoreErrorsDataset()",
           "string[] a | string[] bc | end");
    expect(
        "TFRecordDataset(string[] @/r1; string[] \"\"; int64[] 0) PrefetchDataset(int64[] 1) BatchDataset(int64[] 5)",
        "string[2] a bc | end");
}

static void fixed_length_records_are_read(void **state)
{
    (void)state;
    write_file("f", "HHaabbccF", 9);
    write_compressed("fz", BD_COMPRESSION_GZIP, "HHaabbccF", 9);
    write_compressed("fz1", BD_COMPRESSION_GZIP, "HHaabbcF", 8);
    expect("FixedLengthRecordDataset(string[2] @/f @/f; int64[] 2; int64[] 2; int64[] 1; int64[] 0)",
           "string[] aa | string[] bb | string[] cc | string[] aa | string[] bb | string[] cc | end");
    expect(
        "FixedLengthRecordDatasetV2(string[] @/fz; int64[] 2; int64[] 2; int64[] 1; int64[] 0; string[] GZIP)",
        "string[] aa | string[] bb | string[] cc | end");
    expect(
        "FixedLengthRecordDatasetV2(string[] @/fz1; int64[] 2; int64[] 2; int64[] 1; int64[] 0; string[] GZIP)",
        "string[] aa | string[] bb | end");
    expect("FixedLengthRecordDataset(string[] @/f; int64[] 2; int64[] 4; int64[] 1; int64[] 0)",
           "InvalidArgument: footer (1 bytes), input file");
    expect("FixedLengthRecordDataset(string[] @/f; int64[] 3; int64[] 6; int64[] 0; int64[] 0)",
           "string[] abbccF | end");
}

// ---- Patterns ----

static void patterns_list_their_files(void **state)
{
    (void)state;
    write_file("p1.txt", "", 0);
    write_file("p2.txt", "", 0);
    write_file("q.py", "", 0);
    expect("MatchingFilesDataset(string[2] @/p*.txt @/q.*) SkipDataset(int64[] 1)", "* | * | end");
    expect("ExperimentalMatchingFilesDataset(string[2] @/none* @/p1.*) TakeDataset(int64[] 2)", "* | end");
    expect("MatchingFilesDataset(string[] @/none*)", "NotFound: Don't find any matched files | end");
    expect("MatchingFilesDataset(string[0])", "NotFound: Don't find any matched files | end");
    expect("ExperimentalMatchingFilesDataset(string[0])", "NotFound: Don't find any matched files | end");
    expect("MatchingFilesDataset(string[] @/nowhere/*)", "NotFound: Don't find any matched files | end");
}

static void refused_patterns_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatchingFilesDataset", NULL, "string[1,1] a", "InvalidArgument: must be a scalar or a vector"},
        {"ExperimentalMatchingFilesDataset", NULL, "string[0,2]",
         "InvalidArgument: must be a scalar or a vector"},
        {"ExperimentalMatchingFilesDataset", NULL, "string[] a", "*"},
        {"TextLineDataset", NULL, "string[1,1] a; string[] GZIP; int64[] 0",
         "InvalidArgument: `filenames` must be a scalar or a vector."},
    };
    OP_TEST_VALUES(cases);
}

// ---- Caches ----

static bool exists(const char *name)
{
    char *path = bd_path_join(dir, name);
    bool found = bd_file_exists(bd_fs_current, path);
    bd_free(path);
    return found;
}

static void a_file_cache_is_written_once(void **state)
{
    (void)state;
    char text[512];
    const char *range =
        "RangeDataset(int64[] 0; int64[] 3; int64[] 1) TensorSliceDataset(string[3] a b c) ZipDataset()";
    const char *want = "int64[] 0; string[] a | int64[] 1; string[] b | int64[] 2; string[] c | end";
    snprintf(text, sizeof text, "%s CacheDataset(string[] %s/cache)", range, dir);
    op_live *l = op_live_new();
    pipeline p = pipeline_open(l, text, "int64,string");
    op_live_run(l, p.make, "", "");
    pipeline_expect(&p, "int64[] 0; string[] a");
    assert_true(exists("cache_0.lockfile"));
    pipeline other = pipeline_open(l, text, "int64,string");
    op_live_run(l, other.make, "", "");
    op_live_run(l, other.next, "", "AlreadyExists: a concurrent caching iterator running");
    op_live_run(l, p.make, "", ""); // closes the iterator in the middle
    assert_false(exists("cache_0.lockfile"));
    pipeline_expect(&p, want);
    assert_true(exists("cache.index"));
    assert_false(exists("cache_0.lockfile"));
    op_live_run(l, p.make, "", ""); // from the file now
    pipeline_expect(&p, want);
    op_live_free(l);

    BD_STATUS(st);
    bd_bundle *b;
    braid_tensor t;
    char *prefix = bd_path_join(dir, "cache");
    assert_int_equal(bd_bundle_open(bd_fs_current, prefix, &b, st), BRAID_OK);
    assert_int_equal(bd_bundle_read(b, "0000002_1", &t, st), BRAID_OK); // TensorFlow's names
    op_test_expect(&t, "string[] c", 0, "component 1 of element 2");
    bd_tensor_fini(&t);
    bd_bundle_close(b);
    bd_free(prefix);
}

static int make_dir(void **state)
{
    (void)state;
    dir = bd_temp_dir_new();
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    bd_temp_dir_free(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_lines_are_read),
        cmocka_unit_test(a_long_line_is_read),
        cmocka_unit_test(tfrecords_are_read),
        cmocka_unit_test(patterns_list_their_files),
        cmocka_unit_test(refused_patterns_follow_the_definition),
        cmocka_unit_test(fixed_length_records_are_read),
        cmocka_unit_test(a_file_cache_is_written_once),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
