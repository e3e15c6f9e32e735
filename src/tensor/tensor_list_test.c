// Tensor lists: sharing, growth within limits, and their form on the wire.
#include "tensor/tensor_list.h"

#include "base/testing/test.h"
#include "tensor/tensor_proto.h"

static bd_tensor_list *list_of(const float *values, int count)
{
    bd_tensor_list *l = bd_tensor_list_new(BRAID_FLOAT, &BD_SCALAR, -1);
    assert_true(bd_tensor_list_resize(l, count));
    for (int i = 0; i < count; i++) {
        assert_true(bd_tensor_alloc(&l->items[i], BRAID_FLOAT, &BD_SCALAR));
        *bd_tensor_f32(&l->items[i]) = values[i];
    }
    return l;
}

// A scalar tensor that takes over the reference.
static braid_tensor holder(bd_tensor_list *l)
{
    braid_tensor t;
    assert_true(bd_tensor_alloc(&t, BRAID_VARIANT, &BD_SCALAR));
    bd_tensor_variant(&t)[0] = &l->base;
    return t;
}

static void copies_share_elements(void **state)
{
    (void)state;
    bd_tensor_list *l = list_of((float[]){1, 2, 3}, 3), *copy = bd_tensor_list_copy(l, 1);
    assert_non_null(copy);
    assert_ptr_equal(copy->items[2].data, l->items[2].data);
    assert_true(bd_tensor_list_resize(copy, 1));
    assert_int_equal(l->count, 3);
    assert_true(bd_buffer_is_unique(l->items[2].buffer));
    assert_false(bd_buffer_is_unique(l->items[0].buffer));
    bd_variant_unref(&l->base);
    assert_true(*bd_tensor_f32(&copy->items[0]) == 1);
    bd_variant_unref(&copy->base);
}

static void a_list_grows_in_amortized_time(void **state)
{
    (void)state;
    bd_tensor_list *l = bd_tensor_list_new(BRAID_FLOAT, &BD_SHAPE_UNKNOWN, 7);
    for (int i = 1; i <= 1000; i++)
        assert_true(bd_tensor_list_resize(l, i));
    assert_false(bd_tensor_is_set(&l->items[999]));
    assert_false(bd_tensor_list_resize(l, BD_TENSOR_LIST_MAX + 1));
    assert_int_equal(l->count, 1000);
    bd_variant_unref(&l->base);
}

// ---- On the wire ----

static braid_code round_trip(const braid_tensor *t, braid_tensor *back, braid_status *st)
{
    bd_message m;
    bd_wire_writer w;
    bd_message_init(&m);
    bd_wire_writer_init(&w, &m);
    bd_tensor_proto_write(t, &w);
    bd_wire_writer_finish(&w);
    assert_int_equal(m.bytes, bd_tensor_proto_size(t));
    bd_wire_reader in = bd_wire_reader_of(&m);
    braid_code code = bd_tensor_proto_read(&in, back, st);
    bd_message_fini(&m);
    return code;
}

static void lists_survive_a_round_trip(void **state)
{
    (void)state;
    BD_STATUS(st);
    for (int unset = -1; unset < 3; unset++) {
        bd_tensor_list *l = list_of((float[]){1, 2, 3}, 3), *inner = list_of((float[]){5}, 1);
        l->element_shape = unset == 0   ? BD_SHAPE_UNKNOWN
                           : unset == 1 ? (braid_shape){.rank = 2, .dims = {-1, 0}}
                                        : BD_SCALAR;
        l->max_elements = unset == 2 ? 9 : -1;
        if (unset >= 0) bd_tensor_fini(&l->items[unset]);
        braid_tensor t = holder(l), back;
        bd_tensor_list *outer = bd_tensor_list_new(BRAID_VARIANT, &BD_SCALAR, -1);
        assert_true(bd_tensor_list_resize(outer, 3)); // the last one is not set
        outer->items[0] = t;
        outer->items[1] = holder(inner);
        t = holder(outer);
        assert_int_equal(round_trip(&t, &back, st), BRAID_OK);
        bd_tensor_fini(&t);
        const bd_tensor_list *o = bd_tensor_list_of(bd_tensor_variant(&back)[0]);
        assert_int_equal(o->count, 3);
        assert_false(bd_tensor_is_set(&o->items[2]));
        const bd_tensor_list *b = bd_tensor_list_of(bd_tensor_variant(&o->items[0])[0]);
        assert_int_equal(b->count, 3);
        assert_int_equal(b->element_dtype, BRAID_FLOAT);
        assert_int_equal(b->max_elements, unset == 2 ? 9 : -1);
        assert_int_equal(b->element_shape.rank, unset == 0 ? -1 : unset == 1 ? 2 : 0);
        if (unset == 1) assert_int_equal(b->element_shape.dims[0], -1);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(bd_tensor_is_set(&b->items[i]), i != unset);
            if (i != unset) assert_true(*bd_tensor_f32(&b->items[i]) == (float)(i + 1));
        }
        bd_tensor_fini(&back);
    }
}

// Lists that are nested too deeply are written by name only, and their reader reports it.
static void nested_lists_have_a_depth_limit(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_tensor t = holder(list_of((float[]){1}, 1)), back;
    for (int depth = 1; depth <= 40; depth++) {
        assert_int_equal(round_trip(&t, &back, st), depth <= 32 ? BRAID_OK : BRAID_UNIMPLEMENTED);
        bd_tensor_fini(&back);
        bd_tensor_list *outer = bd_tensor_list_new(BRAID_VARIANT, &BD_SCALAR, -1);
        assert_true(bd_tensor_list_resize(outer, 1));
        outer->items[0] = t;
        t = holder(outer);
    }
    bd_tensor_fini(&t);
}

// A message of `list` bytes as the only element of a scalar variant.
static void expect_read(const char *list, size_t len, braid_code want)
{
    BD_STATUS(st);
    char message[256] = "\x08\x15\x12\x00\x7a";
    braid_tensor t;
    static const char name[] = "\x0a\x16tensorflow::TensorList";
    message[5] = (char)(sizeof name - 1 + len);
    memcpy(message + 6, name, sizeof name - 1);
    memcpy(message + 6 + sizeof name - 1, list, len);
    assert_int_equal(bd_tensor_proto_parse(message, 6 + sizeof name - 1 + len, &t, st), want);
    bd_tensor_fini(&t);
}
#define EXPECT_READ(LIST, WANT) expect_read(LIST, sizeof(LIST) - 1, WANT)

static void malformed_lists_are_refused(void **state)
{
    (void)state;
    EXPECT_READ("\x12\x04\x00\x01\x03\x00", BRAID_INVALID_ARGUMENT); // an invalid shape
    EXPECT_READ("\x12\x03\x00\x01\x03", BRAID_OK);                   // empty, of floats
    EXPECT_READ("\x12\x04\x01\x00\x01\x03", BRAID_OK);               // one element, not set
    EXPECT_READ("\x12\x04\x01\x01\x01\x03", BRAID_INVALID_ARGUMENT); // which one would be set
    EXPECT_READ("\x12\x05\x02\x00\x00\x01\x03", BRAID_INVALID_ARGUMENT);
    EXPECT_READ("\x12\x03\x70\x01\x03", BRAID_INVALID_ARGUMENT); // more not set than bytes
    EXPECT_READ("\x12\x03\x00\x7f\x03", BRAID_INVALID_ARGUMENT); // an unknown type
    EXPECT_READ("\x12\x02\x00\x01", BRAID_INVALID_ARGUMENT);     // cut off
    EXPECT_READ("", BRAID_UNIMPLEMENTED);                        // a list that its sender could not write
    EXPECT_READ("\x12\x03\x00\x01\x03\x1a\x04\x08\x01\x12\x00", BRAID_OK);
    EXPECT_READ("\x12\x03\x00\x02\x03\x1a\x04\x08\x01\x12\x00", BRAID_INVALID_ARGUMENT); // another type
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_share_elements),       cmocka_unit_test(a_list_grows_in_amortized_time),
        cmocka_unit_test(lists_survive_a_round_trip),  cmocka_unit_test(nested_lists_have_a_depth_limit),
        cmocka_unit_test(malformed_lists_are_refused),
    };
    return BD_RUN_TESTS(tests);
}
