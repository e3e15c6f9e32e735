// TensorProto: every type, every form of values, any cut into slices; protobuf-c is the independent reader
// and writer.
#include "tensor/tensor_proto.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/random.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/tensor.pb-c.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// ---- Helpers ----

static void write_tensor(const braid_tensor *t, bd_message *m)
{
    bd_wire_writer w;
    bd_message_init(m);
    bd_wire_writer_init(&w, m);
    bd_tensor_proto_write(t, &w);
    bd_wire_writer_finish(&w);
    assert_int_equal(m->bytes, bd_tensor_proto_size(t));
}

static uint8_t *block_of(const bd_message *m)
{
    uint8_t *block = bd_malloc(m->bytes);
    bd_message_gather(m, block);
    return block;
}

static braid_code read_message(const bd_message *m, braid_tensor *t, braid_status *st)
{
    bd_wire_reader in = bd_wire_reader_of(m);
    return bd_tensor_proto_read(&in, t, st);
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static void expect_equal(const braid_tensor *a, const braid_tensor *b)
{
    assert_int_equal(a->dtype, b->dtype);
    assert_true(bd_shape_equal(&a->shape, &b->shape));
    int64_t count = bd_tensor_count(a);
    for (int64_t i = 0; a->dtype == BRAID_STRING && i < count; i++) {
        assert_int_equal(bd_tensor_str(a)[i].len, bd_tensor_str(b)[i].len);
        if (bd_tensor_str(a)[i].len)
            assert_memory_equal(bd_tensor_str(a)[i].data, bd_tensor_str(b)[i].data, bd_tensor_str(a)[i].len);
    }
    for (int64_t i = 0; a->dtype == BRAID_RESOURCE && i < count; i++) {
        const bd_resource_handle *x = &bd_tensor_handle(a)[i], *y = &bd_tensor_handle(b)[i];
        assert_true(same_text(x->device, y->device) && same_text(x->container, y->container));
        assert_true(same_text(x->name, y->name) && same_text(x->type_name, y->type_name));
        assert_true(x->hash_code == y->hash_code);
    }
    size_t bytes = (size_t)count * braid_dtype_size(a->dtype);
    if (bytes) assert_memory_equal(a->data, b->data, bytes);
}

static void fill(braid_tensor *t, bd_rng *rng)
{
    int64_t count = bd_tensor_count(t);
    for (int64_t i = 0; i < count; i++) {
        char text[24];
        size_t len = bd_rng_below(rng, sizeof text);
        for (size_t k = 0; k < len; k++)
            text[k] = (char)bd_rng_next(rng);
        if (t->dtype == BRAID_STRING)
            bd_tensor_string_set(t, i, text, len);
        else if (t->dtype == BRAID_RESOURCE)
            bd_tensor_handle(t)[i] = (bd_resource_handle){.device = bd_strdup("/job:ps/task:0"),
                                                          .name = bd_asprintf("v%d", (int)i),
                                                          .type_name = i % 2 ? bd_strdup("Var") : NULL,
                                                          .hash_code = bd_rng_next(rng)};
    }
    uint8_t *bytes = t->data;
    for (size_t i = 0; i < (size_t)count * braid_dtype_size(t->dtype); i++)
        bytes[i] = t->dtype == BRAID_BOOL ? bd_rng_next(rng) & 1 : (uint8_t)bd_rng_next(rng);
}

static const braid_shape shapes[] = {{.rank = 0},
                                     {.rank = 1, .dims = {1}},
                                     {.rank = 1, .dims = {0}},
                                     {.rank = 2, .dims = {2, 3}},
                                     {.rank = 8, .dims = {1, 2, 1, 2, 1, 2, 1, 2}},
                                     {.rank = 3, .dims = {40, 0, 3}},
                                     {.rank = 2, .dims = {40, 71}}};

// Calls fn with a tensor of every type and shape.
static void for_all(void (*fn)(const braid_tensor *t, bd_rng *rng))
{
    for (int dtype = 1; dtype <= 23; dtype++) {
        for (size_t i = 0; dtype != BRAID_VARIANT && i < BD_COUNTOF(shapes); i++) {
            BD_STATUS(st);
            bd_rng rng = bd_rng_init((uint64_t)dtype * 100 + i);
            braid_tensor t;
            assert_int_equal(bd_tensor_init(&t, (braid_dtype)dtype, &shapes[i], st), BRAID_OK);
            fill(&t, &rng);
            fn(&t, &rng);
            bd_tensor_fini(&t);
        }
    }
}

// ---- Round trips ----

static void round_trip(const braid_tensor *t, bd_rng *rng)
{
    (void)rng;
    BD_STATUS(st);
    bd_message m;
    braid_tensor back;
    write_tensor(t, &m);
    assert_int_equal(read_message(&m, &back, st), BRAID_OK);
    expect_equal(t, &back);
    bd_tensor_fini(&back);
    bd_message_fini(&m);
}

static void tensors_survive_a_round_trip(void **state)
{
    (void)state;
    for_all(round_trip);
}

// Equal elements become one value; one that differs, at any position, needs them all.
static void short_round_trip(const braid_tensor *t, bd_rng *rng)
{
    (void)rng;
    BD_STATUS(st);
    const size_t size = braid_dtype_size(t->dtype), count = (size_t)bd_tensor_count(t);
    const bool is_plain = t->dtype != BRAID_STRING && t->dtype != BRAID_RESOURCE;
    for (size_t differs = count; is_plain && differs + 2 > count && differs > 0; differs--) {
        bd_message m;
        bd_wire_writer out;
        braid_tensor back;
        uint8_t *data = t->data;
        for (size_t i = 1; i < count; i++)
            memcpy(data + i * size, data, size);
        if (differs < count) data[differs * size] ^= 1;
        bd_message_init(&m);
        bd_wire_writer_init(&out, &m);
        bd_tensor_proto_short_write(t, &out);
        bd_wire_writer_finish(&out);
        assert_int_equal(m.bytes, bd_tensor_proto_short_size(t));
        if (differs == count && count > 100) assert_in_range(m.bytes, 1, 60);
        assert_int_equal(read_message(&m, &back, st), BRAID_OK);
        expect_equal(t, &back);
        bd_tensor_fini(&back);
        bd_message_fini(&m);
    }
}

static void elements_alike_are_written_once(void **state)
{
    (void)state;
    for_all(short_round_trip);
}

static void cut_round_trip(const braid_tensor *t, bd_rng *rng)
{
    bd_message m;
    write_tensor(t, &m);
    uint8_t *block = block_of(&m);
    for (int i = 0; i < 5; i++) {
        BD_STATUS(st);
        bd_message pieces;
        braid_tensor back;
        bd_message_init(&pieces);
        for (size_t at = 0, piece; at < m.bytes; at += piece) {
            piece = 1 + bd_rng_below(rng, i == 0 ? 1 : 40);
            if (piece > m.bytes - at) piece = m.bytes - at;
            bd_message_add(&pieces, (bd_slice){.data = block + at, .len = piece});
        }
        assert_int_equal(read_message(&pieces, &back, st), BRAID_OK);
        expect_equal(t, &back);
        bd_tensor_fini(&back);
        bd_message_fini(&pieces);
    }
    bd_free(block);
    bd_message_fini(&m);
}

static void tensors_are_read_from_any_slices(void **state)
{
    (void)state;
    for_all(cut_round_trip);
}

// A message that is truncated anywhere is an error or a smaller tensor, never a crash.
static void truncate_it(const braid_tensor *t, bd_rng *rng)
{
    (void)rng;
    bd_message m;
    if (bd_tensor_count(t) > 100) return;
    write_tensor(t, &m);
    uint8_t *block = block_of(&m);
    for (size_t len = 0; len < m.bytes; len++) {
        BD_STATUS(st);
        braid_tensor back;
        uint8_t *exact = bd_memdup(block, len);
        if (bd_tensor_proto_parse(exact, len, &back, st)) {
            assert_false(bd_tensor_is_set(&back));
            assert_non_null(strstr(st->message, "TensorProto"));
        }
        bd_tensor_fini(&back);
        bd_free(exact);
    }
    bd_free(block);
    bd_message_fini(&m);
}

static void truncated_tensors_are_refused(void **state)
{
    (void)state;
    for_all(truncate_it);
}

static void a_failed_allocation_is_an_error(void **state)
{
    (void)state;
    bd_message m;
    braid_tensor t, back;
    BD_STATUS(st);
    bd_rng rng = bd_rng_init(1);
    bd_tensor_init(&t, BRAID_STRING, &BRAID_SHAPE(20), st);
    fill(&t, &rng);
    write_tensor(&t, &m);
    bd_buffer_pool_trim(0);
    for (int after = 0; after < 10; after++) {
        bd_alloc_fail_after(after);
        assert_int_equal(read_message(&m, &back, st), BRAID_RESOURCE_EXHAUSTED);
        assert_false(bd_tensor_is_set(&back));
        bd_buffer_pool_trim(0);
    }
    bd_alloc_fail_after(-1);
    bd_message_fini(&m);
    bd_tensor_fini(&t);
}

// ---- Against the library ----

static void library_reads(const braid_tensor *t, bd_rng *rng)
{
    (void)rng;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message m;
    write_tensor(t, &m);
    Tensorflow__TensorProto *p =
        bd_proto_unpack_message(&tensorflow__tensor_proto__descriptor, &m, arena, st);
    assert_non_null(p);
    assert_int_equal(p->dtype, t->dtype);
    assert_non_null(p->tensor_shape);
    assert_int_equal(p->tensor_shape->n_dim, (size_t)t->shape.rank);
    for (int i = 0; i < t->shape.rank; i++)
        assert_int_equal(p->tensor_shape->dim[i]->size, t->shape.dims[i]);
    size_t count = (size_t)bd_tensor_count(t);
    if (t->dtype == BRAID_STRING) {
        assert_int_equal(p->n_string_val, count);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(p->string_val[i].len, bd_tensor_str(t)[i].len);
    } else if (t->dtype == BRAID_RESOURCE) {
        assert_int_equal(p->n_resource_handle_val, count);
        for (size_t i = 0; i < count; i++)
            assert_string_equal(p->resource_handle_val[i]->name, bd_tensor_handle(t)[i].name);
    } else if (count > 1) {
        assert_int_equal(p->tensor_content.len, bd_tensor_bytes(t));
        assert_memory_equal(p->tensor_content.data, t->data, bd_tensor_bytes(t));
    } else {
        assert_int_equal(p->tensor_content.len, 0);
    }
    // protobuf-c writes the same fields in the same form.
    bd_message again;
    bd_message_init(&again);
    bd_proto_pack_message(&p->base, &again);
    assert_int_equal(again.bytes, m.bytes);
    bd_message_fini(&again);
    bd_message_fini(&m);
}

static void protobuf_c_reads_written_tensors(void **state)
{
    (void)state;
    for_all(library_reads);
}

// protobuf-c packs `p` as a vector of `count` elements of `dtype`; reading it must give `text`.
static void expect_values(Tensorflow__TensorProto *p, braid_dtype dtype, int64_t count, const char *text)
{
    BD_STATUS(st);
    Tensorflow__TensorShapeProto shape = TENSORFLOW__TENSOR_SHAPE_PROTO__INIT;
    Tensorflow__TensorShapeProto__Dim dim = TENSORFLOW__TENSOR_SHAPE_PROTO__DIM__INIT, *dims = &dim;
    dim.size = count;
    shape.n_dim = 1;
    shape.dim = &dims;
    p->dtype = (Tensorflow__DataType)dtype;
    p->tensor_shape = &shape;
    bd_message m;
    bd_message_init(&m);
    bd_proto_pack_message(&p->base, &m);
    braid_tensor t;
    if (read_message(&m, &t, st)) fail_msg("%s: %s", text, st->message);
    bd_strbuf out = {0};
    bd_tensor_print(&t, 20, &out);
    assert_string_equal(bd_strbuf_str(&out), text);
    bd_strbuf_fini(&out);
    bd_tensor_fini(&t);
    bd_message_fini(&m);
}

#define VALUES(field, type, ...)                                                                             \
    ((Tensorflow__TensorProto){.base = PROTOBUF_C_MESSAGE_INIT(&tensorflow__tensor_proto__descriptor),       \
                               .tensor_content = {0, NULL},                                                  \
                               .n_##field = sizeof((type[]){__VA_ARGS__}) / sizeof(type),                    \
                               .field = (type[]){__VA_ARGS__}})

static void value_fields_are_read(void **state)
{
    (void)state;
    expect_values(&VALUES(float_val, float, 1, -2, 0.5f), BRAID_FLOAT, 3, "float[3] [1 -2 0.5]");
    expect_values(&VALUES(double_val, double, 1, -2, 0.1), BRAID_DOUBLE, 3, "double[3] [1 -2 0.1]");
    expect_values(&VALUES(int_val, int32_t, 1, -2, INT32_MIN), BRAID_INT32, 3, "int32[3] [1 -2 -2147483648]");
    expect_values(&VALUES(int_val, int32_t, 1, -2, 32767), BRAID_INT16, 3, "int16[3] [1 -2 32767]");
    expect_values(&VALUES(int_val, int32_t, 1, -2, 127), BRAID_INT8, 3, "int8[3] [1 -2 127]");
    expect_values(&VALUES(int_val, int32_t, 1, 200, 255), BRAID_UINT8, 3, "uint8[3] [1 200 255]");
    expect_values(&VALUES(int_val, int32_t, 1, 65535), BRAID_UINT16, 2, "uint16[2] [1 65535]");
    expect_values(&VALUES(int_val, int32_t, 1, -2), BRAID_QINT8, 2, "qint8[2] [1 -2]");
    expect_values(&VALUES(int_val, int32_t, 1, 200), BRAID_QUINT8, 2, "quint8[2] [1 200]");
    expect_values(&VALUES(int_val, int32_t, 1, -2), BRAID_QINT16, 2, "qint16[2] [1 -2]");
    expect_values(&VALUES(int_val, int32_t, 1, 65535), BRAID_QUINT16, 2, "quint16[2] [1 65535]");
    expect_values(&VALUES(int_val, int32_t, 1, -2), BRAID_QINT32, 2, "qint32[2] [1 -2]");
    expect_values(&VALUES(int64_val, int64_t, 1, INT64_MIN), BRAID_INT64, 2,
                  "int64[2] [1 -9223372036854775808]");
    expect_values(&VALUES(uint32_val, uint32_t, 1, UINT32_MAX), BRAID_UINT32, 2, "uint32[2] [1 4294967295]");
    expect_values(&VALUES(uint64_val, uint64_t, 1, UINT64_MAX), BRAID_UINT64, 2,
                  "uint64[2] [1 18446744073709551615]");
    expect_values(&VALUES(bool_val, protobuf_c_boolean, 1, 0, 1), BRAID_BOOL, 3, "bool[3] [true false true]");
    expect_values(&VALUES(half_val, int32_t, 0x3c00, 0xc000), BRAID_HALF, 2, "half[2] [1 -2]");
    expect_values(&VALUES(half_val, int32_t, 0x3f80, 0xc000), BRAID_BFLOAT16, 2, "bfloat16[2] [1 -2]");
    expect_values(&VALUES(scomplex_val, float, 1, -2, 3, 4), BRAID_COMPLEX64, 2,
                  "complex64[2] [(1,-2) (3,4)]");
    expect_values(&VALUES(dcomplex_val, double, 1, -2, 3, 4), BRAID_COMPLEX128, 2,
                  "complex128[2] [(1,-2) (3,4)]");
    expect_values(&VALUES(string_val, ProtobufCBinaryData, {1, (uint8_t *)"a"}, {0, NULL}), BRAID_STRING, 2,
                  "string[2] [\"a\" \"\"]");
}

static void short_list_repeats_the_last(void **state)
{
    (void)state;
    expect_values(&VALUES(float_val, float, 1, 2), BRAID_FLOAT, 7, "float[7] [1 2 2 2 2 2 2]");
    expect_values(&VALUES(int_val, int32_t, -1), BRAID_INT8, 4, "int8[4] [-1 -1 -1 -1]");
    expect_values(&VALUES(bool_val, protobuf_c_boolean, 1), BRAID_BOOL, 3, "bool[3] [true true true]");
    expect_values(&VALUES(scomplex_val, float, 1, 2), BRAID_COMPLEX64, 3, "complex64[3] [(1,2) (1,2) (1,2)]");
    expect_values(&VALUES(string_val, ProtobufCBinaryData, {2, (uint8_t *)"ab"}), BRAID_STRING, 3,
                  "string[3] [\"ab\" \"ab\" \"ab\"]");
    // No value means zeros.
    expect_values(&VALUES(double_val, double, 5), BRAID_FLOAT, 3, "float[3] [0 0 0]");
    expect_values(&VALUES(double_val, double, 5), BRAID_STRING, 2, "string[2] [\"\" \"\"]");
    expect_values(&VALUES(double_val, double, 5), BRAID_RESOURCE, 1, "resource[1] [<resource >]");
    // As in TensorFlow, extra values are ignored, and so is half a complex number.
    expect_values(&VALUES(float_val, float, 1, 2, 3), BRAID_FLOAT, 2, "float[2] [1 2]");
    expect_values(&VALUES(scomplex_val, float, 1, 2, 3), BRAID_COMPLEX64, 2, "complex64[2] [(1,2) (1,2)]");
    expect_values(&VALUES(float_val, float, 1), BRAID_FLOAT, 0, "float[0] []");
}

// ---- Large content ----

static void large_content_is_referenced(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t, back;
    bd_message m;
    bd_rng rng = bd_rng_init(3);
    bd_tensor_init(&t, BRAID_FLOAT, &BRAID_SHAPE(BD_WIRE_REF_MIN / 4), st);
    fill(&t, &rng);
    write_tensor(&t, &m);
    assert_int_equal(m.slice_count, 2);
    assert_ptr_equal(m.slices[1].data, t.data);
    assert_false(bd_buffer_is_unique(t.buffer));
    assert_int_equal(read_message(&m, &back, st), BRAID_OK);
    expect_equal(&t, &back);
    bd_message_fini(&m);
    assert_true(bd_buffer_is_unique(t.buffer));
    bd_tensor_fini(&back);
    bd_tensor_fini(&t);

    bd_tensor_init(&t, BRAID_STRING, &BRAID_SHAPE(2), st);
    static char text[BD_WIRE_REF_MIN];
    bd_tensor_string_set(&t, 1, text, sizeof text);
    write_tensor(&t, &m);
    assert_ptr_equal(m.slices[1].data, bd_tensor_str(&t)[1].data);
    bd_tensor_fini(&t); // the message keeps the memory that it references
    assert_int_equal(read_message(&m, &back, st), BRAID_OK);
    assert_memory_equal(bd_tensor_str(&back)[1].data, text, sizeof text);
    bd_tensor_fini(&back);
    bd_message_fini(&m);
}

static void no_destroy(bd_variant *v)
{
    (void)v;
}

// The name of a variant's type is written, for the reader's error.
static void variants_go_by_name(void **state)
{
    (void)state;
    static const bd_variant_type type = {.name = "Optional", .destroy = no_destroy};
    bd_variant optional;
    bd_variant_init(&optional, &type);
    for (int first = 0; first < 2; first++) {
        BD_STATUS(st);
        braid_tensor t, back;
        bd_message m;
        assert_int_equal(bd_tensor_init(&t, BRAID_VARIANT, &BRAID_SHAPE(2), st), BRAID_OK);
        bd_tensor_variant_set(&t, first, &optional); // the other one stays empty
        write_tensor(&t, &m);
        assert_int_equal(m.bytes, bd_tensor_proto_size(&t));
        assert_int_equal(m.bytes, bd_tensor_proto_short_size(&t));
        assert_int_equal(read_message(&m, &back, st), BRAID_UNIMPLEMENTED);
        assert_non_null(strstr(st->message, "a value of type Optional cannot leave the process"));
        bd_message_fini(&m);
        bd_tensor_fini(&t);
    }
    assert_int_equal(atomic_load(&optional.refs), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_survive_a_round_trip),
        cmocka_unit_test(elements_alike_are_written_once),
        cmocka_unit_test(tensors_are_read_from_any_slices),
        cmocka_unit_test(truncated_tensors_are_refused),
        cmocka_unit_test(a_failed_allocation_is_an_error),
        cmocka_unit_test(protobuf_c_reads_written_tensors),
        cmocka_unit_test(value_fields_are_read),
        cmocka_unit_test(short_list_repeats_the_last),
        cmocka_unit_test(large_content_is_referenced),
        cmocka_unit_test(variants_go_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
