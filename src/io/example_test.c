// Example messages: their bytes, checked against protobuf's own serialization of the same message.
#include <braid/example.h>

#include "base/testing/test.h"

static void an_example_has_the_bytes_of_protobuf(void **state)
{
    (void)state;
    BD_STATUS(st);
    // features { feature { key: "i" value { int64_list { value: [1, 300] } } }
    //            feature { key: "f" value { float_list { value: [1.0] } } }
    //            feature { key: "b" value { bytes_list { value: ["a", ""] } } } }
    static const uint8_t expected[] = {0x0a, 0x2b, 0x0a, 0x0c, 0x0a, 0x01, 0x69, 0x12, 0x07, 0x1a, 0x05, 0x0a,
                                       0x03, 0x01, 0xac, 0x02, 0x0a, 0x0d, 0x0a, 0x01, 0x66, 0x12, 0x08, 0x12,
                                       0x06, 0x0a, 0x04, 0x00, 0x00, 0x80, 0x3f, 0x0a, 0x0c, 0x0a, 0x01, 0x62,
                                       0x12, 0x07, 0x0a, 0x05, 0x0a, 0x01, 0x61, 0x0a, 0x00};
    const int64_t ints[] = {1, 300};
    const float number = 1;
    braid_example *e = braid_example_new();
    braid_example_int64s(e, "i", ints, 1);
    braid_example_floats(e, "f", &number, 1);
    braid_example_int64s(e, "i", ints + 1, 1);
    braid_example_bytes(e, "b", "a", 1);
    braid_example_bytes(e, "b", NULL, 0);
    size_t len;
    const void *data = braid_example_serialize(e, &len, st);
    assert_ok(st);
    assert_int_equal(len, sizeof expected);
    assert_memory_equal(data, expected, sizeof expected);
    braid_example_free(e);
}

static void an_example_can_be_used_again(void **state)
{
    (void)state;
    BD_STATUS(st);
    size_t len;
    braid_example *e = braid_example_new();
    braid_example_bytes(e, "b", NULL, 3);
    assert_null(braid_example_serialize(e, &len, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "Feature 'b': 3 values, but they are NULL");
    braid_example_clear(e);
    assert_non_null(braid_example_serialize(e, &len, st));
    assert_int_equal(len, 2); // empty features
    braid_example_free(e);
}

static void values_of_two_kinds_are_an_error(void **state)
{
    (void)state;
    BD_STATUS(st);
    size_t len;
    const float number = 1;
    braid_example *e = braid_example_new();
    braid_example_bytes(e, "x", "a", 1);
    braid_example_floats(e, "x", &number, 1);
    assert_null(braid_example_serialize(e, &len, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "Feature 'x' has bytes and cannot have floats too");
    braid_example_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_example_has_the_bytes_of_protobuf),
        cmocka_unit_test(an_example_can_be_used_again),
        cmocka_unit_test(values_of_two_kinds_are_an_error),
    };
    return BD_RUN_TESTS(tests);
}
