// Reading idx files: plain, gzipped, of each type, missing and damaged ones.
#include <braid/idx.h>

#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/testing/temp_dir.h"
#include <stdio.h>
#include <unistd.h>
#include <zlib.h>

// Two images of 2 x 3 bytes.
static const uint8_t images[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2,  0,  0,
                                 0, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static char *dir, *plain, *zipped;

static int make_dir(void **state)
{
    (void)state;
    dir = bd_temp_dir_new();
    plain = bd_asprintf("%s/x", dir);
    zipped = bd_asprintf("%s/x.gz", dir);
    return 0;
}

static int remove_dir(void **state)
{
    (void)state;
    bd_temp_dir_free(dir);
    bd_free(plain);
    bd_free(zipped);
    return 0;
}

static void write_plain(const void *data, size_t len)
{
    FILE *file = fopen(plain, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, len, file), len);
    fclose(file);
}

static void write_zipped(void)
{
    gzFile file = gzopen(zipped, "wb");
    gzwrite(file, images, sizeof images);
    gzclose(file);
}

// Reads "x", then removes it.
static braid_tensor *read_x(braid_status *st)
{
    braid_tensor *t = braid_idx_read(plain, st);
    unlink(plain);
    unlink(zipped);
    return t;
}

static void expect_images(void)
{
    BD_STATUS(st);
    braid_tensor *t = read_x(st);
    assert_ok(st);
    assert_int_equal(braid_tensor_dtype(t), BRAID_UINT8);
    assert_true(braid_shape_equal(braid_tensor_shape(t), BRAID_SHAPE(2, 2, 3)));
    assert_memory_equal(braid_tensor_data(t), images + 16, 12);
    braid_tensor_free(t);
}

static void plain_and_gzipped_files_read_alike(void **state)
{
    (void)state;
    write_plain(images, sizeof images);
    expect_images();
    write_zipped();
    expect_images();
    write_zipped();
    assert_int_equal(rename(zipped, plain), 0);
    expect_images();
}

static void wide_elements_have_the_bytes_of_this_machine(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const uint8_t floats[] = {0, 0, 13, 1, 0, 0, 0, 2, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    write_plain(floats, sizeof floats);
    braid_tensor *t = read_x(st);
    assert_ok(st);
    const float *values = braid_tensor_data(t);
    assert_true(braid_tensor_dtype(t) == BRAID_FLOAT && values[0] == 1 && values[1] == -2);
    braid_tensor_free(t);
}

static void expect_error(braid_code code, const char *text)
{
    BD_STATUS(st);
    assert_null(read_x(st));
    assert_error(st, code, text);
}

static void a_missing_file_is_not_found(void **state)
{
    (void)state;
    expect_error(BRAID_NOT_FOUND, zipped);
    expect_error(BRAID_NOT_FOUND, "there is no");
}

static void damaged_files_are_data_loss(void **state)
{
    (void)state;
    write_plain(images, 10);
    expect_error(BRAID_DATA_LOSS, "ends at byte 10; 2 more should follow");
    write_plain(images, sizeof images - 1);
    expect_error(BRAID_DATA_LOSS, "1 more should follow");
    uint8_t other[sizeof images + 1] = {0};
    memcpy(other, images, sizeof images);
    write_plain(other, sizeof other);
    expect_error(BRAID_DATA_LOSS, "holds more than the 12 bytes");
    memset(other + 4, 0xff, 8);
    write_plain(other, sizeof images);
    expect_error(BRAID_DATA_LOSS, "dimension 1 is 4294967295");
    write_plain("no idx file", 11);
    expect_error(BRAID_DATA_LOSS, "begins with 0x6e6f2069, as no idx file does");
    write_zipped();
    assert_int_equal(truncate(zipped, 30), 0);
    expect_error(BRAID_DATA_LOSS, "x.gz");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_gzipped_files_read_alike),
        cmocka_unit_test(wide_elements_have_the_bytes_of_this_machine),
        cmocka_unit_test(a_missing_file_is_not_found),
        cmocka_unit_test(damaged_files_are_data_loss),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
