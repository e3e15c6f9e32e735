// TensorProto messages written by hand: forms that protobuf-c does not write, and malformed ones.
#include "tensor/tensor_proto.h"

#include "base/testing/test.h"

#define MESSAGE(text) text, sizeof text - 1

static void each_form_of_values_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        const char *text;
    } rows[] = {
        // dtype 3, shape [3]; values one by one, then a packed pair
        {MESSAGE("\x08\x03\x12\x04\x12\x02\x08\x03\x38\x05\x3a\x02\x06\x07"), "int32[3] [5 6 7]"},
        // fixed32 values one by one
        {MESSAGE("\x08\x01\x12\x04\x12\x02\x08\x02\x2d\x00\x00\x80\x3f\x2d\x00\x00\x00\x40"),
         "float[2] [1 2]"},
        // type and shape after the content
        {MESSAGE("\x22\x02\x07\x08\x12\x04\x12\x02\x08\x02\x08\x04"), "uint8[2] [7 8]"},
        // the last content counts; unknown fields and fields of other types are skipped
        {MESSAGE("\x08\x04\x22\x03zzz\x22\x01\x09\xfa\x06\x01x\x2d\x00\x00\x80\x3f\x3d\x01\x02\x03\x04"),
         "uint8[] [9]"},
        // bytes of a bool become true or false
        {MESSAGE("\x08\x0a\x12\x04\x12\x02\x08\x03\x22\x03\x00\x07\x01"), "bool[3] [false true true]"},
        // no shape is a scalar; a dimension without a size is zero
        {MESSAGE("\x08\x09"), "int64[] [0]"},
        {MESSAGE("\x08\x09\x12\x02\x12\x00"), "int64[0] []"},
        // strings in tensor_content: lengths, then bytes
        {MESSAGE("\x08\x07\x12\x04\x12\x02\x08\x03\x22\x08\x01\x00\x04"
                 "a"
                 "bcde"),
         "string[3] [\"a\" \"\" \"bcde\"]"},
        // a handle in tensor_content
        {MESSAGE("\x08\x14\x22\x04\x03\x1a\x01v"), "resource[] [<resource v>]"},
        // names of dimensions are ignored
        {MESSAGE("\x08\x04\x12\x07\x12\x05\x08\x01\x12\x01n\x22\x01\x05"), "uint8[1] [5]"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        braid_tensor t;
        bd_strbuf out = {0};
        if (bd_tensor_proto_parse(rows[i].bytes, rows[i].len, &t, st))
            fail_msg("%s: %s", rows[i].text, st->message);
        bd_tensor_print(&t, 9, &out);
        assert_string_equal(bd_strbuf_str(&out), rows[i].text);
        bd_strbuf_fini(&out);
        bd_tensor_fini(&t);
    }
}

static void malformed_tensors_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t len;
        braid_code code;
        const char *words;
    } rows[] = {
        {MESSAGE(""), BRAID_INVALID_ARGUMENT, "TensorProto has no element type"},
        {MESSAGE("\x08\x18"), BRAID_INVALID_ARGUMENT, "TensorProto has the unknown element type 24"},
        {MESSAGE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), BRAID_INVALID_ARGUMENT,
         "unknown element type -1"},
        {MESSAGE("\x08\x81\x80\x80\x80\x10"), BRAID_INVALID_ARGUMENT, "unknown element type 4294967297"},
        {MESSAGE("\x08\x65"), BRAID_INVALID_ARGUMENT, "TensorProto has the reference type float_ref"},
        {MESSAGE("\x08\x15\x7a\x02\x12\x00"), BRAID_UNIMPLEMENTED,
         "type variant cannot be read: a value of type unknown"},
        {MESSAGE("\x08\x15\x7a\x06\x0a\x04List\x7a\x04\x0a\x02No"), BRAID_UNIMPLEMENTED,
         "a value of type List cannot leave the process"},
        {MESSAGE("\x08\x15\x7a\x02\x0a\x04"), BRAID_INVALID_ARGUMENT, "malformed variant"},
        {MESSAGE("\x08\x01\x12\x02\x18\x01"), BRAID_INVALID_ARGUMENT, "a shape of unknown rank"},
        {MESSAGE("\x08\x01\x12\x0d\x12\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
         BRAID_INVALID_ARGUMENT, "the negative dimension -1"},
        {MESSAGE(
             "\x08\x01\x12\x1a\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00\x12\x00"),
         BRAID_INVALID_ARGUMENT, "TensorProto has 13 dimensions; at most 12 are supported"},
        {MESSAGE("\x08\x01\x12\x10\x12\x06\x08\x80\x80\x80\x80\x10\x12\x06\x08\x80\x80\x80\x80\x10"),
         BRAID_INVALID_ARGUMENT, "TensorProto: shape [4294967296,4294967296] has too many elements"},
        {MESSAGE("\x08\x01\x12\x08\x12\x06\x08\x80\x80\x80\x80\x10"), BRAID_RESOURCE_EXHAUSTED,
         "TensorProto of 12 bytes represents a float tensor of shape [4294967296]"},
        {MESSAGE("\x08\x01\x22\x03xyz"), BRAID_INVALID_ARGUMENT,
         "3 bytes of content for a float tensor of shape []"},
        {MESSAGE("\x08\x01\x22\x05xyzuv"), BRAID_INVALID_ARGUMENT, "5 bytes of content for a float tensor"},
        {MESSAGE("\x08\x01\x12\x02\x12\x00\x22\x01x"), BRAID_INVALID_ARGUMENT,
         "1 bytes of content for a float"},
        {MESSAGE("\x08\x01\x2a\x03xyz"), BRAID_INVALID_ARGUMENT, "is truncated or malformed"},
        {MESSAGE("\x08\x03\x3a\x01\xff"), BRAID_INVALID_ARGUMENT, "is truncated or malformed"},
        {MESSAGE("\x08\x01\x12\x05\x12\x03\x08"), BRAID_INVALID_ARGUMENT, "is truncated or malformed"},
        {MESSAGE("\x08\x01\x12\x03\x12\x01\x08"), BRAID_INVALID_ARGUMENT, "is truncated or malformed"},
        {MESSAGE("\x08\x01\x12\x02\x12\x05"), BRAID_INVALID_ARGUMENT, "is truncated or malformed"},
        {MESSAGE("\x0b\x0c"), BRAID_INVALID_ARGUMENT, "is truncated or malformed"},
        {MESSAGE("\x08\x07\x22\x02\x05x"), BRAID_INVALID_ARGUMENT, "strings of 5 bytes in content of 1"},
        {MESSAGE("\x08\x07\x22\x02\xff\xff"), BRAID_INVALID_ARGUMENT, "is truncated or malformed"},
        {MESSAGE("\x08\x07\x12\x04\x12\x02\x08\x09\x22\x01x"), BRAID_INVALID_ARGUMENT,
         "1 bytes of content for a string tensor of shape [9]"},
        {MESSAGE("\x08\x14\x72\x02\x1a\x05"), BRAID_INVALID_ARGUMENT, "is truncated or malformed"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        BD_STATUS(st);
        braid_tensor t;
        braid_code code = bd_tensor_proto_parse(rows[i].bytes, rows[i].len, &t, st);
        if (code != rows[i].code)
            fail_msg("row %zu: %s: %s", i, rows[i].words, code ? st->message : "accepted");
        if (!strstr(st->message, rows[i].words)) fail_msg("%s: no '%s'", st->message, rows[i].words);
        assert_false(bd_tensor_is_set(&t));
    }
}

// A string of 4 KiB that would be repeated a million times.
static void strings_are_not_repeated_without_end(void **state)
{
    (void)state;
    BD_STATUS(st);
    static const char head[] = "\x08\x07\x12\x06\x12\x04\x08\x80\x80\x40\x42\x80\x20";
    char block[sizeof head - 1 + 4096] = {0};
    memcpy(block, head, sizeof head - 1);
    braid_tensor t;
    assert_int_equal(bd_tensor_proto_parse(block, sizeof block, &t, st), BRAID_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(st->message, "repeats a string of 4096 bytes 1048575 times"));
    assert_false(bd_tensor_is_set(&t));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_of_values_is_read),
        cmocka_unit_test(malformed_tensors_are_refused),
        cmocka_unit_test(strings_are_not_repeated_without_end),
    };
    return BD_RUN_TESTS(tests);
}
