// Bundles: bytes as TensorFlow writes them, and round trips of every type and size.
// labels: concurrent
#include "io/bundle.h"

#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "io/crc32c.h"
#include "io/file.h"
#include "io/little_endian.h"
#include "io/testing/bundle_case.h"
#include "io/testing/memory_fs.h"
#include "io/testing/temp_dir.h"
#include <stdio.h>

// ---- Bytes ----

static void expect_file(const char *path, const void *bytes, size_t len)
{
    size_t got;
    char *data = bd_test_read(path, &got);
    assert_int_equal(got, len);
    assert_memory_equal(data, bytes, len);
    bd_free(data);
}

static void bundles_have_the_bytes_of_tensorflow(void **state)
{
    (void)state;
    bd_case_write_published("/v");
    expect_file("/v.index", bd_case_index, sizeof bd_case_index);
    expect_file("/v.data-00000-of-00001", bd_case_data, sizeof bd_case_data);
    assert_int_equal(bd_memory_fs_file_count(), 2);
    bd_bundle *b = bd_case_open_bundle("/v");
    bd_case_expect_floats(b, "a", BRAID_SCALAR, 0.5f);
    bd_case_expect_floats(b, "b", BRAID_SCALAR, 2);
    bd_case_expect_floats(b, "c", BRAID_SCALAR, 3);
    bd_bundle_close(b);
}

static void string_tensors_have_the_bytes_of_tensorflow(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t, back;
    bd_tensor_init(&t, BRAID_STRING, &BRAID_SHAPE(2), st);
    bd_tensor_string_set(&t, 0, "abc", 3);
    bd_tensor_string_set(&t, 1, "", 0);
    bd_bundle_writer *w = bd_case_open_writer("/v");
    bd_bundle_add(w, "s", &t, st);
    bd_case_finish(w);
    // Lengths as varints, their checksum as uint32 each, then the strings.
    uint8_t expected[9] = {3, 0};
    bd_put_le32(expected + 2, bd_crc32c_mask(bd_crc32c("\3\0\0\0\0\0\0\0", 8)));
    memcpy(expected + 6, "abc", 3);
    expect_file("/v.data-00000-of-00001", expected, sizeof expected);
    bd_bundle *b = bd_case_open_bundle("/v");
    bd_bundle_read(b, "s", &back, st);
    assert_ok(st);
    assert_int_equal(bd_tensor_str(&back)[0].len, 3);
    assert_memory_equal(bd_tensor_str(&back)[0].data, "abc", 3);
    assert_int_equal(bd_tensor_str(&back)[1].len, 0);
    bd_bundle_close(b);
    bd_tensor_fini(&t);
    bd_tensor_fini(&back);
}

// ---- What TensorFlow 2 writes: a compressed index ----

static const uint8_t compressed_index[] = {
    0xc0, 0x01, 0xf0, 0x6d, 0x00, 0x00, 0x06, 0x08, 0x01, 0x1a, 0x02, 0x08, 0x01, 0x00, 0x1c, 0x0e,
    0x5f, 0x43, 0x48, 0x45, 0x43, 0x4b, 0x50, 0x4f, 0x49, 0x4e, 0x54, 0x41, 0x42, 0x4c, 0x45, 0x5f,
    0x4f, 0x42, 0x4a, 0x45, 0x43, 0x54, 0x5f, 0x47, 0x52, 0x41, 0x50, 0x48, 0x08, 0x07, 0x12, 0x00,
    0x20, 0x0c, 0x28, 0xeb, 0x04, 0x35, 0x90, 0xd1, 0xb7, 0x47, 0x00, 0x1c, 0x0b, 0x61, 0x2f, 0x2e,
    0x41, 0x54, 0x54, 0x52, 0x49, 0x42, 0x55, 0x54, 0x45, 0x53, 0x2f, 0x56, 0x41, 0x52, 0x49, 0x41,
    0x42, 0x4c, 0x45, 0x5f, 0x56, 0x41, 0x4c, 0x55, 0x45, 0x08, 0x01, 0x12, 0x00, 0x28, 0x04, 0x35,
    0x06, 0x38, 0x27, 0x1f, 0x00, 0x1c, 0x0d, 0x62, 0x2f, 0x2e, 0x41, 0x54, 0x54, 0x52, 0x49, 0x42,
    0x55, 0x54, 0x52, 0x2a, 0x00, 0x34, 0x20, 0x04, 0x28, 0x04, 0x35, 0x10, 0xfd, 0x78, 0x4f, 0x00,
    0x1c, 0x0d, 0x63, 0x2f, 0x76, 0x56, 0x00, 0x40, 0x20, 0x08, 0x28, 0x04, 0x35, 0xef, 0xd6, 0x82,
    0xc3, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0xfd, 0x7e, 0xcf, 0x88, 0x00, 0x00,
    0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0xc0, 0xf2, 0xa1, 0xb0, 0x00, 0x01, 0x03, 0x64, 0x00,
    0x99, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0xe8, 0xae, 0x73, 0xba, 0x9e,
    0x01, 0x08, 0xab, 0x01, 0x0f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb};

static void a_compressed_index_is_read(void **state)
{
    (void)state;
    assert_int_equal(sizeof compressed_index, 239);
    bd_test_write("/v.index", compressed_index, sizeof compressed_index);
    bd_test_write("/v.data-00000-of-00001", bd_case_data, sizeof bd_case_data);
    bd_bundle *b = bd_case_open_bundle("/v");
    bd_case_expect_floats(b, "a/.ATTRIBUTES/VARIABLE_VALUE", BRAID_SCALAR, 0.5f);
    bd_case_expect_floats(b, "b/.ATTRIBUTES/VARIABLE_VALUE", BRAID_SCALAR, 2);
    bd_case_expect_floats(b, "c/.ATTRIBUTES/VARIABLE_VALUE", BRAID_SCALAR, 3);
    bd_bundle_close(b);
}

// ---- Round trips ----

static void each_type_survives_a_round_trip(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_rng rng = bd_rng_init(1);
    braid_tensor tensors[BRAID_UINT64 + 1] = {{0}};
    char name[32];
    bd_bundle_writer *w = bd_case_open_writer("/v");
    for (int type = 1; type <= BRAID_UINT64; type++) {
        size_t size = braid_dtype_size((braid_dtype)type);
        if (size == 0) continue;
        braid_tensor *t = &tensors[type];
        bd_tensor_init(t, (braid_dtype)type, &BRAID_SHAPE(3, 5), st);
        for (size_t i = 0; i < 15 * size; i++)
            ((uint8_t *)t->data)[i] =
                (uint8_t)(type == BRAID_BOOL ? bd_rng_below(&rng, 2) : bd_rng_next(&rng));
        snprintf(name, sizeof name, "t%d", type);
        bd_bundle_add(w, name, t, st);
        assert_ok(st);
    }
    bd_case_finish(w);
    bd_bundle *b = bd_case_open_bundle("/v");
    for (int type = 1; type <= BRAID_UINT64; type++) {
        braid_tensor back;
        if (!bd_tensor_is_set(&tensors[type])) continue;
        snprintf(name, sizeof name, "t%d", type);
        bd_bundle_read(b, name, &back, st);
        assert_ok(st);
        assert_int_equal(back.dtype, type);
        assert_memory_equal(back.data, tensors[type].data, 15 * braid_dtype_size(back.dtype));
        bd_tensor_fini(&back);
        bd_tensor_fini(&tensors[type]);
    }
    bd_bundle_close(b);
}

static void sizes_around_the_buffers_survive_a_round_trip(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 65535, 65536, 131072, 131073, 1000000};
    char name[32];
    bd_bundle_writer *w = bd_case_open_writer("/v");
    for (size_t i = 0; i < BD_COUNTOF(counts); i++) {
        snprintf(name, sizeof name, "t%zu", i);
        bd_case_add_floats(w, name, BRAID_SHAPE(counts[i]), (float)i);
    }
    bd_case_finish(w);
    bd_bundle *b = bd_case_open_bundle("/v");
    for (size_t i = 0; i < BD_COUNTOF(counts); i++) {
        snprintf(name, sizeof name, "t%zu", i);
        bd_case_expect_floats(b, name, BRAID_SHAPE(counts[i]), (float)i);
    }
    bd_bundle_close(b);
}

static void the_memory_of_a_variable_is_written_in_place(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t = bd_case_floats(BRAID_SHAPE(300000), 7);
    t.buffer->is_variable = true;
    bd_bundle_writer *w = bd_case_open_writer("/v");
    bd_bundle_add(w, "x", &t, st);
    bd_case_finish(w);
    bd_bundle *b = bd_case_open_bundle("/v");
    bd_case_expect_floats(b, "x", t.shape, 7);
    bd_bundle_close(b);
    bd_tensor_fini(&t);
}

static void an_index_of_many_blocks_is_read(void **state)
{
    (void)state;
    enum {
        COUNT = 9000 // more than a block of the index holds
    };
    char name[64];
    bd_bundle_writer *w = bd_case_open_writer("/v");
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "layer_%d/weights/Adam", (i * 7919) % COUNT);
        bd_case_add_floats(w, name, BRAID_SHAPE(2), (float)((i * 7919) % COUNT));
    }
    bd_case_finish(w);
    bd_bundle *b = bd_case_open_bundle("/v");
    for (int i = 0; i < COUNT; i += 17) {
        snprintf(name, sizeof name, "layer_%d/weights/Adam", i);
        bd_case_expect_floats(b, name, BRAID_SHAPE(2), (float)i);
    }
    bd_bundle_close(b);
}

static void collect(const bd_bundle_info *info, void *arg)
{
    char shape[BD_SHAPE_STR_MAX];
    bd_strbuf_appendf(arg, "%s %s %s %zu; ", info->name, braid_dtype_name(info->dtype),
                      bd_shape_str(&info->shape, shape), info->slice_count);
}

static void entries_are_listed_and_found(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_bundle_info info;
    bd_strbuf out = {0};
    bd_bundle_writer *w = bd_case_open_writer("/dir/of/v");
    bd_case_add_floats(w, "b", BRAID_SHAPE(2, 3), 0);
    bd_case_add_part(w, "p", BRAID_SHAPE(4, 5), "0,2:-");
    bd_case_add_part(w, "p", BRAID_SHAPE(4, 5), "2,2:-");
    bd_case_add_floats(w, "a", BRAID_SCALAR, 0);
    bd_case_finish(w);
    assert_true(bd_bundle_exists(bd_fs_current, "/dir/of/v"));
    assert_false(bd_bundle_exists(bd_fs_current, "/dir/of/w"));
    bd_bundle *b = bd_case_open_bundle("/dir/of/v");
    bd_bundle_list(b, collect, &out, st);
    assert_ok(st);
    assert_string_equal(bd_strbuf_str(&out), "a float [] 0; b float [2,3] 0; p float [4,5] 2; ");
    bd_strbuf_fini(&out);
    bd_bundle_find(b, "p", &info, st);
    assert_ok(st);
    assert_int_equal(info.slice_count, 2);
    bd_bundle_find(b, "q", &info, st);
    assert_error(st, BRAID_NOT_FOUND, "Key q not found in checkpoint /dir/of/v");
    bd_bundle_find(b, "", &info, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "an empty name");
    bd_bundle_close(b);
}

static void entries_are_aligned_on_request(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_bundle_writer *w;
    bd_bundle_writer_open(bd_fs_current, "/v", &(bd_bundle_options){.alignment = 256}, &w, st);
    bd_case_add_floats(w, "a", BRAID_SHAPE(3), 0);
    bd_case_add_floats(w, "b", BRAID_SHAPE(64), 0);
    bd_case_add_floats(w, "c", BRAID_SHAPE(1), 5);
    bd_case_finish(w);
    size_t len;
    char *data = bd_test_read("/v.data-00000-of-00001", &len);
    assert_int_equal(len, 768);
    float c;
    memcpy(&c, data + 512, sizeof c);
    assert_true(c == 5);
    bd_free(data);
    bd_bundle *b = bd_case_open_bundle("/v");
    bd_case_expect_floats(b, "b", BRAID_SHAPE(64), 0);
    bd_bundle_close(b);
}

static void read_all(void *arg)
{
    BD_STATUS(st);
    char name[32];
    for (int i = 0; i < 200; i++) {
        braid_tensor t;
        snprintf(name, sizeof name, "t%d", i * 37 % 100);
        BD_ASSERT(bd_bundle_read(arg, name, &t, st) == BRAID_OK);
        BD_ASSERT(bd_tensor_f32(&t)[999] == (float)(i * 37 % 100 + 999));
        bd_tensor_fini(&t);
    }
}

static void many_threads_read_one_bundle(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_thread threads[4];
    char name[32];
    bd_bundle_writer *w = bd_case_open_writer("/v");
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "t%d", i);
        bd_case_add_floats(w, name, BRAID_SHAPE(1000), (float)i);
    }
    bd_case_finish(w);
    bd_bundle *b = bd_case_open_bundle("/v");
    for (size_t i = 0; i < BD_COUNTOF(threads); i++) {
        bd_thread_start(&threads[i], "reader", read_all, b, st);
        assert_ok(st);
    }
    for (size_t i = 0; i < BD_COUNTOF(threads); i++)
        bd_thread_join(&threads[i]);
    bd_bundle_close(b);
}

// ---- Teams ----

#define TEAM_THREADS 3

typedef struct call {
    void (*fn)(void *arg, int64_t i);
    void *arg;
    int64_t i;
} call;

static void make_call(void *arg)
{
    const call *c = arg;
    c->fn(c->arg, c->i);
}

static void share_on_threads(const bd_team *team, int64_t count, void (*fn)(void *arg, int64_t i), void *arg)
{
    bd_thread threads[TEAM_THREADS];
    call calls[TEAM_THREADS];
    BD_STATUS(st);
    assert_true(count <= team->threads);
    for (int64_t i = 0; i < count; i++) {
        calls[i] = (call){fn, arg, i};
        bd_thread_start(&threads[i], "team", make_call, &calls[i], st);
        assert_ok(st);
    }
    for (int64_t i = 0; i < count; i++)
        bd_thread_join(&threads[i]);
}

static void leave_out(const bd_team *team, int64_t count, void (*fn)(void *arg, int64_t i), void *arg)
{
    (void)team;
    (void)count;
    (void)fn;
    (void)arg;
}

static const bd_team threads_team = {.threads = TEAM_THREADS, .share = share_on_threads},
                     interrupted_team = {.threads = TEAM_THREADS, .share = leave_out};

#define LARGE_COUNT ((int32_t)(15 << 20) / 4 + 1) // not a multiple of a part

static void write_large(void)
{
    bd_bundle_writer *w = bd_case_open_writer("/v");
    bd_case_add_floats(w, "before", BRAID_SHAPE(3), 7);
    bd_case_add_floats(w, "large", BRAID_SHAPE(LARGE_COUNT), 1);
    bd_case_finish(w);
}

static void a_team_reads_a_large_tensor(void **state)
{
    (void)state;
    write_large();
    const bd_team *const teams[] = {&threads_team, &interrupted_team};
    for (size_t i = 0; i < BD_COUNTOF(teams); i++) {
        bd_bundle *b = bd_case_open_bundle("/v");
        bd_bundle_set_team(b, teams[i]);
        bd_case_expect_floats(b, "before", BRAID_SHAPE(3), 7);
        bd_case_expect_floats(b, "large", BRAID_SHAPE(LARGE_COUNT), 1);
        bd_bundle_close(b);
    }
}

static void expect_loss(bd_bundle *b, const char *words)
{
    BD_STATUS(st);
    braid_tensor t;
    bd_bundle_read(b, "large", &t, st);
    assert_false(bd_tensor_is_set(&t));
    assert_error(st, BRAID_DATA_LOSS, words);
}

static void a_team_finds_damage_in_each_part(void **state)
{
    (void)state;
    size_t len;
    write_large();
    char *data = bd_test_read("/v.data-00000-of-00001", &len);
    for (size_t at = 12; at < len; at += (4 << 20) - 3) {
        data[at] ^= 1;
        bd_test_write("/v.data-00000-of-00001", data, len);
        data[at] ^= 1;
        bd_bundle *b = bd_case_open_bundle("/v");
        bd_bundle_set_team(b, &threads_team);
        expect_loss(b, "/v.data-00000-of-00001: key large");
        expect_loss(b, "Checksum does not match");
        bd_bundle_close(b);
    }
    // The file becomes shorter after it was opened.
    bd_test_write("/v.data-00000-of-00001", data, len);
    bd_bundle *b = bd_case_open_bundle("/v");
    bd_bundle_set_team(b, &threads_team);
    bd_case_expect_floats(b, "before", BRAID_SHAPE(3), 7);
    bd_test_write("/v.data-00000-of-00001", data, len / 2);
    expect_loss(b, "/v.data-00000-of-00001 ends after");
    bd_bundle_close(b);
    bd_free(data);
}

#define ON_DISK(test) cmocka_unit_test_setup_teardown((test), bd_case_install, bd_case_uninstall)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DISK(bundles_have_the_bytes_of_tensorflow),
        ON_DISK(string_tensors_have_the_bytes_of_tensorflow),
        ON_DISK(a_compressed_index_is_read),
        ON_DISK(each_type_survives_a_round_trip),
        ON_DISK(sizes_around_the_buffers_survive_a_round_trip),
        ON_DISK(the_memory_of_a_variable_is_written_in_place),
        ON_DISK(an_index_of_many_blocks_is_read),
        ON_DISK(entries_are_listed_and_found),
        ON_DISK(entries_are_aligned_on_request),
        ON_DISK(many_threads_read_one_bundle),
        ON_DISK(a_team_reads_a_large_tensor),
        ON_DISK(a_team_finds_damage_in_each_part),
    };
    return BD_RUN_TESTS(tests);
}
