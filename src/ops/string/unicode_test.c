// Tests of the ops on Unicode texts. Values are those of Python's str.encode and bytes.decode.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void transcode_follows_its_definition(void **state)
{
    (void)state;
#define TO(FROM, TO_, MORE) "input_encoding=" FROM "; output_encoding=" TO_ MORE
    static const op_case cases[] = {
        {"UnicodeTranscode", TO("UTF-8", "UTF-16-BE", ""), "string[3] a\\xc3\\xa4 \\xf0\\x9f\\x98\\x80 ''",
         "string[3] \\x00a\\x00\\xe4 \\xd8\\x3d\\xde\\x00 ''"},
        {"UnicodeTranscode", TO("UTF-8", "UTF-32-BE", ""), "string[] \\xf0\\x9f\\x98\\x80",
         "string[] \\x00\\x01\\xf6\\x00"},
        {"UnicodeTranscode", TO("UTF-16-BE", "UTF-8", ""), "string[] \\xd8\\x3d\\xde\\x00\\x00a",
         "string[] \\xf0\\x9f\\x98\\x80a"},
        {"UnicodeTranscode", TO("UTF-16-BE", "UTF-8", ""), "string[0,2]", "string[0,2]"},
        {"UnicodeTranscode", TO("ISO-8859-1", "UTF-8", ""), "string[] \\xe4\\xff",
         "string[] \\xc3\\xa4\\xc3\\xbf"},
        {"UnicodeTranscode", TO("Shift_JIS", "UTF-8", ""), "string[] \\x82\\xa0", "string[] \\xe3\\x81\\x82"},
        {"UnicodeTranscode", TO("UTF-8", "UTF-8", ""), "string[] a\\xffb", "string[] a\\xef\\xbf\\xbdb"},
        {"UnicodeTranscode", TO("UTF-8", "UTF-8", "; replacement_char=63"), "string[] a\\xffb",
         "string[] a\\x3fb"},
        {"UnicodeTranscode", TO("UTF-8", "UTF-8", "; errors=ignore"), "string[] a\\xffb\\xc3", "string[] ab"},
        {"UnicodeTranscode", TO("UTF-8", "UTF-8", "; errors=strict"), "string[2] ok a\\xffb",
         "InvalidArgument: Invalid formatting on input string"},
        {"UnicodeTranscode", TO("UTF-8", "UTF-8", "; replace_control_characters=true; replacement_char=32"),
         "string[] a\\x0ab", "string[] a\\x20b"},
        {"UnicodeTranscode", TO("no-such-thing", "UTF-8", ""), "string[] a",
         "InvalidArgument: Could not create converter for input encoding: no-such-thing"},
        {"UnicodeTranscode", TO("UTF-8", "UTF-8", "; replacement_char=1114112"), "string[] a",
         "InvalidArgument: replacement_char out of unicode codepoint range"},
    };
    OP_TEST_VALUES(cases);
}

static void decode(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"UnicodeDecode", "input_encoding=UTF-8", "string[3] a\\xc3\\xa4 '' \\xf0\\x9f\\x98\\x80",
         "int64[4] 0 2 2 3; int32[3] 97 228 128512"},
        {"UnicodeDecodeWithOffsets", "input_encoding=UTF-8; Tsplits=int32", "string[2] a\\xc3\\xa4b x",
         "int32[3] 0 3 4; int32[4] 97 228 98 120; int64[4] 0 1 3 0"},
        {"UnicodeDecodeWithOffsets", "input_encoding=UTF-8; errors=ignore", "string[1] a\\xffb",
         "int64[2] 0 2; int32[2] 97 98; int64[2] 0 2"},
        {"UnicodeDecode", "input_encoding=UTF-8; replacement_char=63", "string[1] a\\xff",
         "int64[2] 0 2; int32[2] 97 63"},
        {"UnicodeDecode", "input_encoding=UTF-8; errors=strict", "string[1] a\\xff",
         "InvalidArgument: Invalid formatting on input string"},
        {"UnicodeDecode", "input_encoding=UTF-8", "string[0]", "int64[1] 0; int32[0]"},
        {"UnicodeDecode", "input_encoding=UTF-8", "string[] ab", "int64[2] 0 2; int32[2] 97 98"},
        {"UnicodeDecode", "input_encoding=none", "string[] ab",
         "InvalidArgument: Could not create converter for input encoding: none"},
        {"UnicodeDecodeWithOffsets", "input_encoding=UTF-16-BE", "string[] \\x00a\\xd8\\x3d\\xde\\x00\\x00b",
         "int64[2] 0 3; int32[3] 97 128512 98; int64[3] 0 2 6"},
        {"UnicodeDecodeWithOffsets", "input_encoding=UTF-8", "string[0]", "int64[1] 0; int32[0]; int64[0]"},
        {"UnicodeDecodeWithOffsets", "input_encoding=UTF-8", "string[2] '' ''",
         "int64[3] 0; int32[0]; int64[0]"},
        {"UnicodeDecodeWithOffsets", "input_encoding=UTF-8; errors=strict", "string[1] a\\xff",
         "InvalidArgument: Invalid formatting on input string"},
        {"UnicodeDecode", "input_encoding=UTF-8", "string[2,1] a b", "int64[3] 0 1 2; int32[2] 97 98"},
    };
    OP_TEST_VALUES(cases);
}

static void encode(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[4] 97 228 128512 98; int64[4] 0 2 2 4",
         "string[3] a\\xc3\\xa4 '' \\xf0\\x9f\\x98\\x80b"},
        {"UnicodeEncode", "output_encoding=UTF-16-BE", "int32[2] 97 128512; int32[2] 0 2",
         "string[1] \\x00a\\xd8\\x3d\\xde\\x00"},
        {"UnicodeEncode", "output_encoding=UTF-32-BE", "int32[1] 97; int64[2] 0 1",
         "string[1] \\x00\\x00\\x00a"},
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[2] 97 -1; int64[2] 0 2",
         "string[1] a\\xef\\xbf\\xbd"},
        {"UnicodeEncode", "output_encoding=UTF-8; errors=ignore", "int32[2] 97 1114112; int64[2] 0 2",
         "string[1] a"},
        {"UnicodeEncode", "output_encoding=UTF-8; errors=strict", "int32[1] -1; int64[2] 0 1",
         "InvalidArgument: Code point value out of valid Unicode range"},
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[1] 97; int64[2] 0 2",
         "InvalidArgument: Values in input_splits must be less than or equal to input_tensor length"},
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[1] 97; int64[3] 0 1 0",
         "InvalidArgument: Values in input_splits must be equal or in ascending order"},
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[1] 97; int64[0]",
         "InvalidArgument: Input_splits should contain elements, but given input_values has 0 elements"},
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[0]; int64[1] 0", "string[0]"},
    };
    OP_TEST_VALUES(cases);
}

// Scripts as the Unicode Character Database has them: Common 0, Latin 25, Cyrillic 8, Han 17, Inherited 1,
// Unknown 103.
static void script_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"UnicodeScript", NULL, "int32[2,3] 32 65 1041 12354 20013 769", "int32[2,3] 0 25 8 20 17 1"},
        {"UnicodeScript", NULL, "int32[4] -1 1114112 1114111 2147483647", "int32[4] -1 -1 103 -1"},
        {"UnicodeScript", NULL, "int32[0]", "int32[0]"},
        {"UnicodeScript", NULL, "int32[] 65", "int32[] 25"},
        {"UnicodeScript", NULL, "int64[] 65", "InvalidArgument: int64"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"UnicodeTranscode", TO("UTF-8", "UTF-8", ""), "string[2,?]", "[2,?]"},
        {"UnicodeDecode", "input_encoding=UTF-8", "string[2,3]", "[7]; [?]"},
        {"UnicodeDecodeWithOffsets", "input_encoding=UTF-8", "string[?]", "[?]; [?]; [?]"},
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[?]; int64[4]", "[3]"},
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[]; int64[4]",
         "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[3]; int64[]",
         "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"UnicodeEncode", "output_encoding=UTF-8", "int32[1,1]; int64[4]",
         "InvalidArgument: Shape must be rank 1 but is rank 2"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transcode_follows_its_definition),
        cmocka_unit_test(decode),
        cmocka_unit_test(encode),
        cmocka_unit_test(script_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
