// Reading idx files: plain, gzipped, missing and damaged ones.
#include "base/testing/test.h"

#include "idx.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

// Two images of 2 x 3 bytes.
static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2,  0,  0,
                                 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static char dir[] = "/tmp/braid-idx-XXXXXX";

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    return rmdir(dir);
}

static char *path_of(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_plain(const char *name, const void *data, size_t len)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    fclose(file);
}

// Reads "x" of the directory, then removes it.
static uint8_t *read_x(int rank, int64_t *dims, braid_status *st)
{
    uint8_t *data = idx_read(dir, "x", rank, dims, st);
    unlink(path_of("x"));
    unlink(path_of("x.gz"));
    return data;
}

static void expect_images(void)
{
    BD_STATUS(st);
    int64_t dims[3];
    uint8_t *data = read_x(3, dims, st);
    assert_ok(st);
    assert_true(dims[0] == 2 && dims[1] == 2 && dims[2] == 3);
    assert_memory_equal(data, images + 16, 12);
    free(data);
}

static void plain_and_gzipped_files_read_alike(void **state)
{
    (void)state;
    write_plain("x", images, sizeof images);
    expect_images();
    gzFile file = gzopen(path_of("x.gz"), "wb");
    gzwrite(file, images, sizeof images);
    gzclose(file);
    expect_images();
}

static void expect_error(int rank, braid_code code, const char *text)
{
    BD_STATUS(st);
    int64_t dims[3];
    assert_null(read_x(rank, dims, st));
    assert_error(st, code, text);
}

static void a_missing_file_is_not_found(void **state)
{
    (void)state;
    expect_error(3, BRAID_NOT_FOUND, "/x.gz that can be read");
}

static void damaged_files_are_data_loss(void **state)
{
    (void)state;
    write_plain("x", images, 10);
    expect_error(3, BRAID_DATA_LOSS, "too short");
    write_plain("x", images, sizeof images - 1);
    expect_error(3, BRAID_DATA_LOSS, "should hold 12 bytes after its header");
    uint8_t longer[sizeof images + 1] = {0};
    memcpy(longer, images, sizeof images);
    write_plain("x", longer, sizeof longer);
    expect_error(3, BRAID_DATA_LOSS, "holds more or fewer");
    write_plain("x", images, sizeof images);
    expect_error(1, BRAID_DATA_LOSS, "begins with 0x00000803 and not with 0x00000801");
    memset(longer + 4, 0xff, 4);
    write_plain("x", longer, sizeof images);
    expect_error(3, BRAID_DATA_LOSS, "dimension 0 is 4294967295");
}

static void a_truncated_gzip_file_is_data_loss(void **state)
{
    (void)state;
    gzFile file = gzopen(path_of("x.gz"), "wb");
    gzwrite(file, images, sizeof images);
    gzclose(file);
    assert_int_equal(truncate(path_of("x.gz"), 30), 0);
    expect_error(3, BRAID_DATA_LOSS, "x.gz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_gzipped_files_read_alike),
        cmocka_unit_test(a_missing_file_is_not_found),
        cmocka_unit_test(damaged_files_are_data_loss),
        cmocka_unit_test(a_truncated_gzip_file_is_data_loss),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
