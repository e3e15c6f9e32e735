// Protobuf's text format: reading, printing, and the places of errors.
#include "proto/text_format.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/graph.pb-c.h"
#include "tensorflow/core/framework/summary.pb-c.h"
#include "tensorflow/core/protobuf/config.pb-c.h"
#include "tensorflow/python/training/checkpoint_state.pb-c.h"
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const ProtobufCMessageDescriptor *const state_type = &tensorflow__checkpoint_state__descriptor,
                                               *const node_type = &tensorflow__node_def__descriptor,
                                               *const graph_type = &tensorflow__graph_def__descriptor,
                                               *const tensor_type = &tensorflow__tensor_proto__descriptor,
                                               *const attr_type = &tensorflow__attr_value__descriptor,
                                               *const config_type = &tensorflow__config_proto__descriptor;

static char *print_text(const ProtobufCMessageDescriptor *type, const char *text, size_t len)
{
    BD_STATUS(st);
    ProtobufCMessage *m;
    if (bd_text_format_parse(type, text, len, &m, st)) fail_msg("%s\n%s", text, st->message);
    char *printed = bd_text_format_print(m);
    protobuf_c_message_free_unpacked(m, NULL);
    return printed;
}

// ---- What is read, and how it is printed ----

static const struct {
    const ProtobufCMessageDescriptor *const *type;
    const char *text, *printed;
} cases[] = {
    {&state_type, "", ""},
    {&state_type, " # only a comment", ""},
    {&state_type, "model_checkpoint_path: \"model.ckpt-7\"\n", "model_checkpoint_path: \"model.ckpt-7\"\n"},
    // Separators, comments, white space, fields in any order.
    {&state_type,
     "all_model_checkpoint_paths:'b';\tall_model_checkpoint_paths : 'c' , model_checkpoint_path:'a' # end\r\n\f\v",
     "model_checkpoint_path: \"a\"\nall_model_checkpoint_paths: \"b\"\nall_model_checkpoint_paths: \"c\"\n"},
    // Literals beside each other are one; escapes; UTF-8 as octal.
    {&state_type, "model_checkpoint_path: \"a\" # and\n 'b\"' \"'\\x41\\x0a\\102\\0\" \"\"",
     "model_checkpoint_path: \"ab\\\"\\'A\\nB\"\n"}, // protobuf-c's strings end at a zero
    {&state_type, "model_checkpoint_path: '\\a\\b\\f\\n\\r\\t\\v\\\\\\?\\'\\\"'",
     "model_checkpoint_path: \"\\007\\010\\014\\n\\r\\t\\013\\\\?\\'\\\"\"\n"},
    {&state_type, "model_checkpoint_path: '\xc3\xa9\\u00e9\\u20ac\\U0001f600\\ud83d\\ude00'",
     "model_checkpoint_path: \"\\303\\251\\303\\251\\342\\202\\254\\360\\237\\230\\200\\360\\237\\230\\200\"\n"},
    {&tensor_type, "tensor_content: '\\377\\0\\x1\\18\xff~\\x7f'",
     "tensor_content: \"\\377\\000\\001\\0018\\377~\\177\"\n"},
    // Lists.
    {&state_type,
     "all_model_checkpoint_timestamps: [1, 2.5,1e-5] all_model_checkpoint_timestamps: 7"
     " all_model_checkpoint_timestamps: []",
     "all_model_checkpoint_timestamps: 1.0\nall_model_checkpoint_timestamps: 2.5\n"
     "all_model_checkpoint_timestamps: 1e-05\nall_model_checkpoint_timestamps: 7.0\n"},
    {&tensor_type, "tensor_shape { dim: [{size: 2}, <size: 3>] dim {} }",
     "tensor_shape {\n  dim {\n    size: 2\n  }\n  dim {\n    size: 3\n  }\n  dim {\n  }\n}\n"},
    // Enumerators, truth values.
    {&tensor_type, "dtype: DT_FLOAT", "dtype: DT_FLOAT\n"},
    {&tensor_type, "dtype: 0x3", "dtype: DT_INT32\n"},
    {&tensor_type, "dtype: -77", "dtype: -77\n"},
    {&tensor_type, "bool_val: [true, True, t, 1, false, False, f, 0]",
     "bool_val: true\nbool_val: true\nbool_val: true\nbool_val: true\n"
     "bool_val: false\nbool_val: false\nbool_val: false\nbool_val: false\n"},
    // Integers.
    {&tensor_type, "int_val: [2147483647, -2147483648, - 5, 0x1F, 017, -0x10, 0]",
     "int_val: 2147483647\nint_val: -2147483648\nint_val: -5\nint_val: 31\nint_val: 15\nint_val: -16\nint_val: 0\n"},
    {&tensor_type, "int64_val: [9223372036854775807, -9223372036854775808]",
     "int64_val: 9223372036854775807\nint64_val: -9223372036854775808\n"},
    {&tensor_type, "uint32_val: 0xffffffff uint64_val: 18446744073709551615",
     "uint32_val: 4294967295\nuint64_val: 18446744073709551615\n"},
    // Floating point.
    {&tensor_type,
     "float_val: [inf, -Infinity, nan, -inf, 1.5f, 3F, .5, 7., 1E3, -0.0, 1e39, 0.1, 16777216, 1e-45]",
     "float_val: inf\nfloat_val: -inf\nfloat_val: nan\nfloat_val: -inf\nfloat_val: 1.5\nfloat_val: 3.0\n"
     "float_val: 0.5\nfloat_val: 7.0\nfloat_val: 1000.0\nfloat_val: -0.0\nfloat_val: inf\nfloat_val: 0.1\n"
     "float_val: 16777216.0\nfloat_val: 1.4013e-45\n"},
    {&tensor_type,
     "double_val: [1e16, 1e15, 123456.789e-10, 5.684341886080802e-14, 5e-324, 1.7976931348623157e308, 0.1, 0.30000000000000004, 1e400]",
     "double_val: 1e+16\ndouble_val: 1000000000000000.0\ndouble_val: 1.23456789e-05\n"
     "double_val: 5.684341886080802e-14\ndouble_val: 5e-324\ndouble_val: 1.7976931348623157e+308\n"
     "double_val: 0.1\ndouble_val: 0.30000000000000004\ndouble_val: inf\n"},
    // Maps: sorted by key, the last value of a key counts, an empty message is present. A member of a oneof
    // is present even if it is 0.
    {&node_type, "attr { key: 'b' value { i: 0 } } attr: { key: 'a' } attr < value: < f: 1; > key: 'b' >",
     "attr {\n  key: \"a\"\n  value {\n  }\n}\nattr {\n  key: \"b\"\n  value {\n    f: 1.0\n  }\n}\n"},
    {&attr_type, "i: 0", "i: 0\n"},
    {&config_type, "device_count { key: 'GPU' value: 0 } device_count { key: 'CPU', value: 2 }",
     "device_count {\n  key: \"CPU\"\n  value: 2\n}\ndevice_count {\n  key: \"GPU\"\n}\n"},
    // A submessage may be there and empty.
    {&attr_type, "list {}", "list {\n}\n"},
};

static void texts_survive_a_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ProtobufCMessageDescriptor *type = *cases[i].type;
        char *printed = print_text(type, cases[i].text, strlen(cases[i].text));
        assert_string_equal(printed, cases[i].printed);
        char *again = print_text(type, printed, strlen(printed));
        assert_string_equal(again, printed);
        bd_free(again);
        bd_free(printed);
    }
}

// ---- Errors ----

static const struct {
    const ProtobufCMessageDescriptor *const *type;
    const char *text, *error; // behind "Text of TYPE, "
} errors[] = {
    {&graph_type, "node {\n  nam: 'x'\n}", "line 2, column 3: NodeDef has no field 'nam'"},
    {&graph_type, "node { name 'x' }", "line 1, column 13: field 'name' takes ':' and a value, not ''x''"},
    {&graph_type, "node { name: 'x'",
     "line 1, column 17: NodeDef does not end: a closing bracket is missing"},
    {&graph_type, "node < name: 'x' }", "line 1, column 18: a field of NodeDef is expected, not '}'"},
    {&graph_type, "node: 5", "line 1, column 7: field 'node' takes a message in { }, not '5'"},
    {&graph_type, "}", "line 1, column 1: a field of GraphDef is expected, not '}'"},
    {&graph_type, "version: 1,, version: 2", "line 1, column 12: a field of GraphDef is expected, not ','"},
    {&graph_type, "version: 1\nversion: 2",
     "line 2, column 1: field 'version' of GraphDef is not repeated and occurs twice"},
    {&graph_type, "version: [1]", "line 1, column 10: field 'version' takes an integer, not '['"},
    {&attr_type, "i: 0 f: 1", "line 1, column 6: field 'f' of AttrValue excludes 'i', which precedes it"},
    {&state_type, "[type.googleapis.com/tensorflow.GraphDef] {}",
     "line 1, column 1: extensions and expanded google.protobuf.Any values (\"[name]\") cannot be read: "
     "CheckpointState must be written in its own fields"},
    // Values.
    {&tensor_type, "int_val: 2147483648",
     "line 1, column 10: field 'int_val' takes an integer from -2147483648 to 2147483647, not '2147483648'"},
    {&tensor_type, "int64_val: 9223372036854775808",
     "line 1, column 12: field 'int64_val' takes an integer from -9223372036854775808 to 9223372036854775807, not "
     "'9223372036854775808'"},
    {&tensor_type, "uint64_val: 18446744073709551616",
     "line 1, column 13: field 'uint64_val' takes an integer from 0 to 18446744073709551615, not "
     "'18446744073709551616'"},
    {&tensor_type, "uint32_val: -1",
     "line 1, column 13: field 'uint32_val' takes an integer that is not negative, not '-'"},
    {&tensor_type, "int_val: 1.0", "line 1, column 10: field 'int_val' takes an integer, not '1.0'"},
    {&tensor_type, "int_val: [1 2]",
     "line 1, column 13: field 'int_val' takes ',' or ']' behind a value of its list, not '2'"},
    {&tensor_type, "int_val: [1,]", "line 1, column 13: field 'int_val' takes a value behind ',', not ']'"},
    {&tensor_type, "float_val: 0x10",
     "line 1, column 12: field 'float_val' takes a decimal number, not '0x10'"},
    {&tensor_type, "float_val: one",
     "line 1, column 12: field 'float_val' takes a decimal number, not 'one'"},
    {&tensor_type, "bool_val: 2", "line 1, column 11: field 'bool_val' takes true or false, not '2'"},
    {&tensor_type, "bool_val: TRUE", "line 1, column 11: field 'bool_val' takes true or false, not 'TRUE'"},
    {&tensor_type, "dtype: DT_FLAOT", "line 1, column 8: field 'dtype': DataType has no value 'DT_FLAOT'"},
    {&tensor_type, "dtype: 'DT_FLOAT'",
     "line 1, column 8: field 'dtype' takes the name or the number of a value, not ''DT_FLOAT''"},
    {&state_type, "model_checkpoint_path: '\\377'",
     "line 1, column 24: field 'model_checkpoint_path' takes text in UTF-8; the string has other bytes"},
    {&state_type, "model_checkpoint_path: '\\ud83d'",
     "line 1, column 24: field 'model_checkpoint_path' takes text in UTF-8; the string has other bytes"},
    {&state_type, "model_checkpoint_path:",
     "line 1, column 23: field 'model_checkpoint_path' takes a string in quotes; the text ends"},
    // Tokens.
    {&state_type, "model_checkpoint_path: 'a\nb'",
     "line 1, column 24: the string does not end on its line (write \\n for a new line)"},
    {&state_type, "model_checkpoint_path: 'a\\'", "line 1, column 24: the string does not end"},
    {&state_type, "model_checkpoint_path: 'a\\q'", "line 1, column 26: bad escape in a string: '\\q'"},
    {&state_type, "model_checkpoint_path: '\\400'", "line 1, column 25: bad escape in a string: '\\400'"},
    {&state_type, "model_checkpoint_path: '\\xg'", "line 1, column 25: bad escape in a string: '\\xg'"},
    {&state_type, "model_checkpoint_path: '\\u12'", "line 1, column 25: bad escape in a string: '\\u12'"},
    {&state_type, "model_checkpoint_path: '\\U00110000'",
     "line 1, column 25: bad escape in a string: '\\U00110000'"},
    {&tensor_type, "int_val: 09", "line 1, column 10: numbers that begin with 0 are octal: '09' is none"},
    {&tensor_type, "int_val: 0x", "line 1, column 10: \"0x\" must be followed by hex digits"},
    {&tensor_type, "double_val: 1e", "line 1, column 13: \"e\" must be followed by digits"},
    {&tensor_type, "int_val: 5x", "line 1, column 11: there must be a space between a number and 'x'"},
    {&state_type, "\n\x80",
     "line 2, column 1: the byte 0x80 occurs outside of a string: this is not text format"},
};

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        BD_STATUS(st);
        ProtobufCMessage *m;
        const ProtobufCMessageDescriptor *type = *errors[i].type;
        char *error = bd_asprintf("Text of %s, %s", type->short_name, errors[i].error);
        assert_int_equal(bd_text_format_parse(type, errors[i].text, strlen(errors[i].text), &m, st),
                         BRAID_INVALID_ARGUMENT);
        assert_null(m);
        assert_string_equal(st->message, error);
        bd_free(error);
    }
}

// ---- Limits ----

// `levels` lists of attributes in each other.
static char *nested(int levels)
{
    bd_strbuf text = {0};
    for (int i = 0; i < levels; i++)
        bd_strbuf_append(&text, i % 3 == 0 ? "func{" : i % 3 == 1 ? "attr{key:'a'" : "value{");
    for (int i = 0; i < levels; i++)
        bd_strbuf_append_char(&text, '}');
    return bd_strbuf_take(&text);
}

static void nested_messages_have_a_depth_limit(void **state)
{
    (void)state;
    for (int levels = BD_WIRE_DEPTH_MAX; levels <= BD_WIRE_DEPTH_MAX + 1; levels++) {
        BD_STATUS(st);
        char *text = nested(levels);
        bd_message out;
        bd_message_init(&out);
        braid_code code = bd_text_format_to_wire(attr_type, text, strlen(text), &out, st);
        if (levels == BD_WIRE_DEPTH_MAX) {
            BD_PROTO_ARENA(arena);
            assert_int_equal(code, BRAID_OK);
            assert_non_null(bd_proto_unpack_message(attr_type, &out, arena, st));
        } else {
            assert_int_equal(code, BRAID_INVALID_ARGUMENT);
            assert_non_null(strstr(st->message, "nests deeper than 100 messages"));
            assert_int_equal(out.bytes, 0);
        }
        bd_message_fini(&out);
        bd_free(text);
    }
}

static void a_failed_allocation_is_an_error(void **state)
{
    (void)state;
    static const char text[] = "model_checkpoint_path: 'a'";
    BD_STATUS(st);
    ProtobufCMessage *m;
    bd_alloc_fail_after(0);
    braid_code code = bd_text_format_parse(state_type, text, strlen(text), &m, st);
    bd_alloc_fail_after(-1);
    assert_int_equal(code, BRAID_RESOURCE_EXHAUSTED);
    assert_null(m);
}

// A message that was never unpacked: fields that are not set, and a string that is its default.
static void print_built(void **state)
{
    (void)state;
    Tensorflow__HistogramProto histogram = TENSORFLOW__HISTOGRAM_PROTO__INIT;
    double limits[] = {-DBL_MAX, 0.1, DBL_MAX};
    histogram.min = -2;
    histogram.bucket_limit = limits;
    histogram.n_bucket_limit = 3;
    char *text = bd_text_format_print(&histogram.base);
    assert_string_equal(text, "min: -2.0\nbucket_limit: -1.7976931348623157e+308\nbucket_limit: 0.1\n"
                              "bucket_limit: 1.7976931348623157e+308\n");
    bd_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_survive_a_round_trip),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(nested_messages_have_a_depth_limit),
        cmocka_unit_test(a_failed_allocation_is_an_error),
        cmocka_unit_test(print_built),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
