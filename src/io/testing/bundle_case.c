// Small bundles for tests, and looks at them.
#include "io/testing/bundle_case.h"

#include "base/testing/test.h"
#include "io/testing/memory_fs.h"

int bd_case_install(void **state)
{
    (void)state;
    bd_memory_fs_install();
    return 0;
}

int bd_case_uninstall(void **state)
{
    (void)state;
    bd_memory_fs_uninstall();
    return 0;
}

bd_tensor_slice bd_case_slice_of(const char *text)
{
    BD_STATUS(st);
    bd_tensor_slice s;
    bd_tensor_slice_parse(text, strlen(text), &s, st);
    assert_ok(st);
    return s;
}

// A float tensor of these dimensions whose elements count from `first`.
braid_tensor bd_case_floats(braid_shape shape, float first)
{
    braid_tensor t;
    assert_true(bd_tensor_alloc(&t, BRAID_FLOAT, &shape));
    for (int64_t i = 0; i < bd_tensor_count(&t); i++)
        bd_tensor_f32(&t)[i] = first + (float)i;
    return t;
}

bd_bundle_writer *bd_case_open_writer(const char *prefix)
{
    BD_STATUS(st);
    bd_bundle_writer *w;
    bd_bundle_writer_open(bd_fs_current, prefix, NULL, &w, st);
    assert_ok(st);
    return w;
}

void bd_case_finish(bd_bundle_writer *w)
{
    BD_STATUS(st);
    bd_bundle_finish(w, st);
    assert_ok(st);
    bd_bundle_writer_free(w);
}

void bd_case_add_floats(bd_bundle_writer *w, const char *name, braid_shape shape, float first)
{
    BD_STATUS(st);
    braid_tensor t = bd_case_floats(shape, first);
    bd_bundle_add(w, name, &t, st);
    assert_ok(st);
    bd_tensor_fini(&t);
}

// The slice `text` of a tensor whose elements count from 0.
void bd_case_add_part(bd_bundle_writer *w, const char *name, braid_shape full, const char *text)
{
    BD_STATUS(st);
    bd_tensor_slice s = bd_case_slice_of(text), all = bd_tensor_slice_all(full.rank), part, whole;
    bd_tensor_slice_resolve(&s, &full, &part, st);
    bd_tensor_slice_resolve(&all, &full, &whole, st);
    assert_ok(st);
    braid_tensor from = bd_case_floats(full, 0), to = bd_case_floats(bd_tensor_slice_shape(&part), -1000);
    bd_tensor_slice_copy(&part, from.data, &whole, to.data, &part, sizeof(float));
    bd_bundle_add_slice(w, name, &full, &s, &to, st);
    assert_ok(st);
    bd_tensor_fini(&from);
    bd_tensor_fini(&to);
}

bd_bundle *bd_case_open_bundle(const char *prefix)
{
    BD_STATUS(st);
    bd_bundle *b;
    bd_bundle_open(bd_fs_current, prefix, &b, st);
    assert_ok(st);
    return b;
}

void bd_case_expect_floats(bd_bundle *b, const char *name, braid_shape shape, float first)
{
    BD_STATUS(st);
    braid_tensor t;
    bd_bundle_read(b, name, &t, st);
    assert_ok(st);
    assert_int_equal(t.dtype, BRAID_FLOAT);
    assert_true(braid_shape_equal(t.shape, shape));
    for (int64_t i = 0; i < bd_tensor_count(&t); i++)
        assert_true(bd_tensor_f32(&t)[i] == first + (float)i);
    bd_tensor_fini(&t);
}

// Checks that the slice `text` of a tensor of shape `full`, whose elements count from 0, is read correctly.
void bd_case_expect_part(bd_bundle *b, const char *name, braid_shape full, const char *text)
{
    BD_STATUS(st);
    bd_tensor_slice s = bd_case_slice_of(text), all = bd_tensor_slice_all(full.rank), part, whole;
    bd_tensor_slice_resolve(&s, &full, &part, st);
    bd_tensor_slice_resolve(&all, &full, &whole, st);
    braid_tensor from = bd_case_floats(full, 0), expected = bd_case_floats(bd_tensor_slice_shape(&part), 0),
                 t;
    bd_tensor_slice_copy(&part, from.data, &whole, expected.data, &part, sizeof(float));
    bd_bundle_read_slice(b, name, &s, &t, st);
    assert_ok(st);
    assert_true(braid_shape_equal(t.shape, expected.shape));
    assert_memory_equal(t.data, expected.data, (size_t)bd_tensor_count(&t) * sizeof(float));
    bd_tensor_fini(&from);
    bd_tensor_fini(&expected);
    bd_tensor_fini(&t);
}

void bd_case_expect_read_error(const char *prefix, const char *name, braid_code code, const char *words)
{
    BD_STATUS(st);
    bd_bundle *b;
    braid_tensor t = {0};
    if (!bd_bundle_open(bd_fs_current, prefix, &b, st)) bd_bundle_read(b, name, &t, st);
    bd_bundle_close(b);
    assert_false(bd_tensor_is_set(&t));
    assert_error(st, code, words);
}

const uint8_t bd_case_index[BD_CASE_INDEX_LEN] = {
    0x00, 0x00, 0x06, 0x08, 0x01, 0x1a, 0x02, 0x08, 0x01, 0x00, 0x01, 0x0b, 0x61, 0x08, 0x01, 0x12, 0x00,
    0x28, 0x04, 0x35, 0x06, 0x38, 0x27, 0x1f, 0x00, 0x01, 0x0d, 0x62, 0x08, 0x01, 0x12, 0x00, 0x20, 0x04,
    0x28, 0x04, 0x35, 0x10, 0xfd, 0x78, 0x4f, 0x00, 0x01, 0x0d, 0x63, 0x08, 0x01, 0x12, 0x00, 0x20, 0x08,
    0x28, 0x04, 0x35, 0xef, 0xd6, 0x82, 0xc3, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0xe4,
    0x15, 0xb6, 0xbc, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0xc0, 0xf2, 0xa1, 0xb0, 0x00,
    0x01, 0x02, 0x64, 0x00, 0x42, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x58, 0xb2, 0xe9,
    0xf7, 0x47, 0x08, 0x54, 0x0e, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};
const uint8_t bd_case_data[BD_CASE_DATA_LEN] = {0x00, 0x00, 0x00, 0x3f, 0x00, 0x00,
                                                0x00, 0x40, 0x00, 0x00, 0x40, 0x40};

void bd_case_write_published(const char *prefix)
{
    bd_bundle_writer *w = bd_case_open_writer(prefix);
    bd_case_add_floats(w, "a", BRAID_SCALAR, 0.5f);
    bd_case_add_floats(w, "b", BRAID_SCALAR, 2);
    bd_case_add_floats(w, "c", BRAID_SCALAR, 3);
    bd_case_finish(w);
}
