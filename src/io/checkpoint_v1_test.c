// V1 checkpoints: round trips, slices, and damaged files.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "io/checkpoint_v1.h"
#include "io/file.h"
#include "io/testing/bundle_case.h"
#include "io/testing/memory_fs.h"

static braid_tensor numbers(braid_dtype dtype, braid_shape shape, int first)
{
    BD_STATUS(st);
    braid_tensor t;
    bd_tensor_init(&t, dtype, &shape, st);
    assert_ok(st);
    for (int64_t i = 0; i < bd_tensor_count(&t); i++) {
        int v = first + (int)i;
        if (dtype == BRAID_FLOAT) bd_tensor_f32(&t)[i] = (float)v;
        if (dtype == BRAID_INT64) bd_tensor_i64(&t)[i] = v;
        if (dtype == BRAID_INT32) bd_tensor_i32(&t)[i] = v;
        if (dtype == BRAID_INT8) ((int8_t *)t.data)[i] = (int8_t)v;
        if (dtype == BRAID_HALF) ((uint16_t *)t.data)[i] = (uint16_t)(v + 1000);
        if (dtype == BRAID_BOOL) bd_tensor_bool(&t)[i] = v & 1;
        if (dtype == BRAID_STRING) bd_tensor_string_set(&t, i, "abcdefgh", (size_t)v);
        if (dtype == BRAID_COMPLEX64) memcpy((float *)t.data + 2 * i, (float[]){(float)v, 0.5f}, 8);
    }
    return t;
}

static bd_saved_slice whole(const char *name, const braid_tensor *t)
{
    return (bd_saved_slice){name, t->shape, bd_tensor_slice_all(t->shape.rank), t};
}

static bd_saved_slice rows(const char *name, braid_shape full, int64_t start, const braid_tensor *t)
{
    bd_saved_slice s = {name, full, bd_tensor_slice_all(full.rank), t};
    s.slice.start[0] = start;
    s.slice.length[0] = t->shape.dims[0];
    return s;
}

static void expect(bd_checkpoint_v1 *f, const char *name, const bd_tensor_slice *slice,
                   const braid_tensor *want)
{
    BD_STATUS(st);
    braid_tensor t;
    bd_checkpoint_v1_read(f, name, slice, &t, st);
    assert_ok(st);
    assert_int_equal(t.dtype, want->dtype);
    assert_true(bd_shape_equal(&t.shape, &want->shape));
    for (int64_t i = 0; t.dtype == BRAID_STRING && i < bd_tensor_count(&t); i++)
        assert_int_equal(bd_tensor_str(&t)[i].len, bd_tensor_str(want)[i].len);
    if (t.dtype != BRAID_STRING && bd_tensor_bytes(&t) > 0)
        assert_memory_equal(t.data, want->data, bd_tensor_bytes(&t));
    bd_tensor_fini(&t);
}

static bd_checkpoint_v1 *open_file(const char *pattern)
{
    BD_STATUS(st);
    bd_checkpoint_v1 *f;
    bd_checkpoint_v1_open(bd_fs_current, pattern, &f, st);
    assert_ok(st);
    return f;
}

static void all_types_survive_a_round_trip(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const braid_dtype types[] = {BRAID_FLOAT, BRAID_INT64, BRAID_INT32,  BRAID_INT8,
                                        BRAID_HALF,  BRAID_BOOL,  BRAID_STRING, BRAID_COMPLEX64};
    static const char *const names[] = {"f", "l", "i", "b", "h", "z", "s", "c"};
    enum {
        COUNT = BD_COUNTOF(types)
    };
    braid_tensor t[COUNT + 2];
    bd_saved_slice slices[COUNT + 2];
    for (int i = 0; i < COUNT; i++) {
        t[i] = numbers(types[i], bd_shape2(2, 3), types[i] == BRAID_STRING ? 0 : -2);
        slices[i] = whole(names[i], &t[i]);
    }
    t[COUNT] = numbers(BRAID_FLOAT, BD_SCALAR, 7);
    t[COUNT + 1] = numbers(BRAID_FLOAT, bd_shape2(0, 3), 0);
    slices[COUNT] = whole("scalar", &t[COUNT]);
    slices[COUNT + 1] = whole("empty", &t[COUNT + 1]);
    bd_checkpoint_v1_write(bd_fs_current, "/ckpt", slices, COUNT + 2, NULL, NULL, st);
    assert_ok(st);
    assert_int_equal(bd_memory_fs_file_count(), 1);
    bd_checkpoint_v1 *f = open_file("/ckpt");
    for (int i = 0; i < COUNT + 2; i++) {
        braid_dtype dtype;
        braid_shape shape;
        assert_true(bd_checkpoint_v1_find(f, slices[i].name, &dtype, &shape));
        expect(f, slices[i].name, NULL, &t[i]);
        bd_tensor_fini(&t[i]);
    }
    bd_tensor_slice row = bd_tensor_slice_all(1);
    bd_checkpoint_v1_read(f, "scalar", &row, &(braid_tensor){0}, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "tensor scalar: slice '-' is not in a tensor of shape []");
    assert_false(bd_checkpoint_v1_find(f, "none", &(braid_dtype){0}, &(braid_shape){0}));
    bd_checkpoint_v1_close(f);
}

static void slices_are_put_together(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_shape full = bd_shape2(5, 2);
    braid_tensor a = numbers(BRAID_INT32, bd_shape2(2, 2), 0), b = numbers(BRAID_INT32, bd_shape2(3, 2), 4);
    braid_tensor all = numbers(BRAID_INT32, full, 0), middle = numbers(BRAID_INT32, bd_shape2(2, 2), 2);
    bd_saved_slice first = rows("v", full, 0, &a), second = rows("v", full, 2, &b);
    bd_checkpoint_v1_write(bd_fs_current, "/part-0", &first, 1, NULL, NULL, st);
    bd_checkpoint_v1_write(bd_fs_current, "/part-1", &second, 1, NULL, NULL, st);
    assert_ok(st);
    bd_checkpoint_v1 *f = open_file("/part-?");
    bd_tensor_slice some = bd_tensor_slice_all(2);
    some.start[0] = 1;
    some.length[0] = 2;
    expect(f, "v", NULL, &all);
    expect(f, "v", &some, &middle);
    bd_checkpoint_v1_close(f);
    f = open_file("/part-0");
    braid_tensor t;
    bd_checkpoint_v1_read(f, "v", NULL, &t, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Does not have sufficient slices for partitioned tensor v");
    bd_checkpoint_v1_close(f);
    bd_tensor_fini(&a);
    bd_tensor_fini(&b);
    bd_tensor_fini(&all);
    bd_tensor_fini(&middle);
}

static bool always(void *arg)
{
    (void)arg;
    return true;
}

static void errors_are_named(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_checkpoint_v1 *f;
    braid_tensor a = numbers(BRAID_INT32, bd_shape1(2), 0), b = numbers(BRAID_FLOAT, bd_shape1(2), 0);
    bd_saved_slice twice[] = {whole("v", &a), whole("v", &a)}, mixed[] = {whole("v", &a), whole("v", &b)};
    bd_checkpoint_v1_write(bd_fs_current, "/c", twice, 2, NULL, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Tensor v is to be saved twice");
    bd_checkpoint_v1_write(bd_fs_current, "/c", mixed, 2, NULL, NULL, st);
    assert_error(st, BRAID_INTERNAL, "Mismatching types");
    bd_checkpoint_v1_write(bd_fs_current, "/c", twice, 1, always, NULL, st);
    assert_error(st, BRAID_CANCELLED, "before tensor v");
    bd_memory_fs_fail_after(1, false);
    bd_checkpoint_v1_write(bd_fs_current, "/c", twice, 1, NULL, NULL, st);
    assert_int_equal(st->code, BRAID_RESOURCE_EXHAUSTED);
    braid_status_clear(st);
    assert_int_equal(bd_memory_fs_file_count(), 0);
    bd_checkpoint_v1_open(bd_fs_current, "/c*", &f, st);
    assert_error(st, BRAID_NOT_FOUND, "Failed to find any matching files for /c*");
    bd_file_write_atomic(bd_fs_current, "/text", "this is no table", 16, st);
    assert_ok(st);
    bd_checkpoint_v1_open(bd_fs_current, "/text", &f, st);
    assert_error(st, BRAID_DATA_LOSS, "perhaps your file is in a different file format");
    bd_tensor_fini(&a);
    bd_tensor_fini(&b);
}

// Every byte changed in turn: an error or the same tensor, never anything else.
static void damage_is_found(void **state)
{
    (void)state;
    BD_STATUS(st);
    char *data;
    size_t len;
    braid_tensor a = numbers(BRAID_INT32, bd_shape1(3), 300);
    bd_saved_slice s = whole("v", &a);
    bd_checkpoint_v1_write(bd_fs_current, "/c", &s, 1, NULL, NULL, st);
    bd_file_read_all(bd_fs_current, "/c", 1 << 20, &data, &len, st);
    assert_ok(st);
    for (size_t i = 0; i < len; i++) {
        bd_checkpoint_v1 *f;
        braid_tensor t = {0};
        data[i] ^= 0x41;
        bd_file_write_atomic(bd_fs_current, "/d", data, len, st);
        assert_ok(st);
        if (bd_checkpoint_v1_open(bd_fs_current, "/d", &f, st) == BRAID_OK &&
            bd_checkpoint_v1_read(f, "v", NULL, &t, st) == BRAID_OK)
            assert_memory_equal(t.data, a.data, 12);
        braid_status_clear(st);
        bd_tensor_fini(&t);
        bd_checkpoint_v1_close(f);
        data[i] ^= 0x41;
    }
    bd_free(data);
    bd_tensor_fini(&a);
}

// As TensorFlow's own writer lays it out, by the .proto files: {meta {tensor {name "v", shape [2], type
// int32, slice {extent {}}}, versions {producer 1}}}, {data {name "v", slice {extent {}}, data {int_val [5,
// 6]}}}.
static void the_bytes_are_tensorflows(void **state)
{
    (void)state;
    static const char meta[] =
        "\x0a\x15\x0a\x0f\x0a\x01v\x12\x04\x12\x02\x08\x02\x18\x03\x22\x02\x0a\x00\x12\x02\x08\x01";
    static const char value[] = "\x12\x0d\x0a\x01v\x12\x02\x0a\x00\x1a\x04\x3a\x02\x05\x06";
    BD_STATUS(st);
    char *data;
    size_t len;
    braid_tensor a = numbers(BRAID_INT32, bd_shape1(2), 5);
    bd_saved_slice s = whole("v", &a);
    bd_checkpoint_v1_write(bd_fs_current, "/c", &s, 1, NULL, NULL, st);
    bd_file_read_all(bd_fs_current, "/c", 1 << 20, &data, &len, st);
    assert_ok(st);
    assert_non_null(memmem(data, len, meta, sizeof meta - 1));
    assert_non_null(memmem(data, len, value, sizeof value - 1));
    bd_free(data);
    bd_tensor_fini(&a);
}

#define ON_FILES(TEST) cmocka_unit_test_setup_teardown(TEST, bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FILES(all_types_survive_a_round_trip),
        ON_FILES(slices_are_put_together),
        ON_FILES(errors_are_named),
        ON_FILES(damage_is_found),
        ON_FILES(the_bytes_are_tensorflows),
    };
    return BD_RUN_TESTS(tests);
}
