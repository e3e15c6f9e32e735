// Tests of DecodeRaw, DecodeCompressed, DecodeCSV, DecodeJSONExample and ParseTensor.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// numpy.frombuffer
static void raw_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DecodeRaw", "out_type=int16", "string[2] \\x01\\x00\\xff\\xff \\x00\\x80\\x10\\x00",
         "int16[2,2] 1 -1 -32768 16"},
        {"DecodeRaw", "out_type=int16; little_endian=false", "string[] \\x01\\x02", "int16[1] 258"},
        {"DecodeRaw", "out_type=float", "string[] \\x00\\x00\\xc0\\x3f", "float[1] 1.5"},
        {"DecodeRaw", "out_type=uint8", "string[1] ab", "uint8[1,2] 97 98"},
        {"DecodeRaw", "out_type=half", "string[] \\x00\\x3c", "half[1] 0x3c00"},
        {"DecodeRaw", "out_type=bool", "string[] \\x00\\x01\\x02", "bool[3] false true true"},
        {"DecodeRaw", "out_type=int64", "string[2] '' ''", "int64[2,0]"},
        {"DecodeRaw", "out_type=int64", "string[0]", "int64[0,0]"},
        {"DecodeRaw", "out_type=int16", "string[] abc",
         "InvalidArgument: Input to DecodeRaw has length 3 that is not a multiple of 2, the size of int16"},
        {"DecodeRaw", "out_type=uint8", "string[2] ab abc",
         "InvalidArgument: DecodeRaw requires input strings to all be the same size, but element 1 has size 2 != 3"},
        {"DecodePaddedRaw", "out_type=uint8", "string[3] a abcd ''; int32[] 3",
         "uint8[3,3] 97 0 0 97 98 99 0 0 0"},
        {"DecodePaddedRaw", "out_type=int16; little_endian=false", "string[1] \\x01\\x02\\x03; int32[] 4",
         "int16[1,2] 258 768"},
        {"DecodePaddedRaw", "out_type=float", "string[0]; int32[] 8", "float[0,2]"},
        {"DecodePaddedRaw", "out_type=uint8", "string[] abc; int32[] 2", "uint8[2] 97 98"},
        {"DecodePaddedRaw", "out_type=int16", "string[1] a; int32[] 3",
         "InvalidArgument: fixed_length (3) must be a multiple of the size of out_type (2)"},
        {"DecodePaddedRaw", "out_type=int16", "string[1] a; int32[] 0",
         "InvalidArgument: fixed_length (0) must be greater than zero."},
        {"DecodePaddedRaw", "out_type=uint8", "string[1] a; int32[] -5",
         "InvalidArgument: must be greater than zero"},
        {"DecodePaddedRaw", "out_type=uint8", "string[1] a; int32[1] 3",
         "InvalidArgument: k must be scalar, got shape [1]"},
    };
    OP_TEST_VALUES(cases);
}

static void libsvm_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DecodeLibsvm", "num_features=6",
         "string[4] 1\\x201:3.4\\x202:0.5\\x204:0.231 \\x201\\x202:2.5\\x09\\x203:nan\\x205:0.503\\x0a 2 -1\\x200:1",
         "int64[4] 1 1 2 -1; int64[7,2] 0 1 0 2 0 4 1 2 1 3 1 5 3 0; float[7] 3.4 0.5 0.231 2.5 nan 0.503 1; "
         "int64[2] 4 6"},
        {"DecodeLibsvm", "num_features=3; label_dtype=float; dtype=int32", "string[2,1] 0.5 7\\x202:-4",
         "float[2,1] 0.5 7; int64[1,3] 1 0 2; int32[1] -4; int64[3] 2 1 3"},
        {"DecodeLibsvm", "num_features=3", "string[] 5\\x201:2",
         "int64[] 5; int64[1,1] 1; float[1] 2; int64[1] 3"},
        {"DecodeLibsvm", "num_features=3", "string[0]", "int64[0]; int64[0,2]; float[0]; int64[2] 0 3"},
        {"DecodeLibsvm", "num_features=3", "string[2] 1 \\x20",
         "InvalidArgument: No label found for input[1]: \"\x20\""},
        {"DecodeLibsvm", "num_features=3", "string[] 1.5\\x201:2",
         "InvalidArgument: Label format incorrect: 1.5"},
        {"DecodeLibsvm", "num_features=3", "string[] 1\\x203.4", "InvalidArgument: Invalid feature \"3.4\""},
        {"DecodeLibsvm", "num_features=3",
         "string[] 1\\x201:", "InvalidArgument: Feature format incorrect: 1:"},
        {"DecodeLibsvm", "num_features=3", "string[] 1\\x20a:1",
         "InvalidArgument: Feature format incorrect: a:1"},
        {"DecodeLibsvm", "num_features=3", "string[] 1\\x20-1:1",
         "InvalidArgument: Feature index should be >= 0, got -1"},
        {"DecodeLibsvm", "num_features=0", "string[] 1", "InvalidArgument: num_features"},
    };
    OP_TEST_VALUES(cases);
}

// Data compressed by Python's zlib and gzip.
static void compressed_follows_its_definition(void **state)
{
    (void)state;
#define HELLO "x\\xda\\xcbH\\xcd\\xc9\\xc9W\\xc8@\\x90\\x00:.\\x06}"
#define TWO_MEMBERS                                                                                                           \
    "\\x1f\\x8b\\x08\\x00\\x00\\x00\\x00\\x00\\x02\\x03KL\\x02\\x00mH\\x83\\x9e\\x02\\x00\\x00\\x00\\x1f\\x8b\\x08\\x00\\x00" \
    "\\x00\\x00\\x00\\x02\\x03KN\\x01\\x00\\xda\\x8f\\xd6E\\x02\\x00\\x00\\x00"
    static const op_case cases[] = {
        {"DecodeCompressed", "compression_type=ZLIB", "string[2] " HELLO " ''",
         "string[2] hello\\x20hello\\x20hello ''"},
        {"DecodeCompressed", "compression_type=GZIP", "string[] " TWO_MEMBERS, "string[] abcd"},
        {"DecodeCompressed", NULL, "string[] abc", "string[] abc"},
        {"DecodeCompressed", "compression_type=ZLIB", "string[0,2]", "string[0,2]"},
        // A truncated stream yields the bytes decoded so far.
        {"DecodeCompressed", "compression_type=ZLIB", "string[] x\\xda\\xcbH\\xcd\\xc9\\xc9W",
         "string[] hello"},
        {"DecodeCompressed", "compression_type=ZLIB", "string[] abc",
         "DataLoss: inflate() failed with error -3"},
        {"DecodeCompressed", "compression_type=GZIP", "string[] " HELLO,
         "DataLoss: inflate() failed with error -3"},
        {"DecodeCompressed", "compression_type=LZ4", "string[] abc",
         "InvalidArgument: Only ZLIB, GZIP or NONE are supported compressions"},
    };
    OP_TEST_VALUES(cases);
}

// Values are those of TensorFlow's own tests and of Python's csv module.
static void csv_follows_its_definition(void **state)
{
    (void)state;
#define INT_TEXT "OUT_TYPE=[int32,string]"
    static const op_case cases[] = {
        {"DecodeCSV", INT_TEXT, "string[3] 1,a \\x202\\x20,\"b\"\"c\" 3,\"x,y\"; int32[0]; string[0]",
         "int32[3] 1 2 3; string[3] a b\"c x,y"},
        {"DecodeCSV", INT_TEXT, "string[2] ,b 4,; int32[1] 9; string[1] none",
         "int32[2] 9 4; string[2] b none"},
        {"DecodeCSV", "OUT_TYPE=[float,double,int64]; field_delim=|",
         "string[1] 1.5|-inf|-9223372036854775808; float[0]; double[0]; int64[0]",
         "float[1] 1.5; double[1] -inf; int64[1] -9223372036854775808"},
        {"DecodeCSV", "OUT_TYPE=[int32]; na_value=NA", "string[2] NA 5; int32[] 7", "int32[2] 7 5"},
        {"DecodeCSV", "OUT_TYPE=[string,int32]; select_cols=[1,3]",
         "string[1] a,b,c,4,e; string[0]; int32[0]", "string[1] b; int32[1] 4"},
        {"DecodeCSV", "OUT_TYPE=[string]; use_quote_delim=false", "string[1] \"a\"; string[0]",
         "string[1] \"a\""},
        {"DecodeCSV", INT_TEXT, "string[1] \\x0d\\x0a1,\"a\\x0ab\"; int32[0]; string[0]",
         "int32[1] 1; string[1] a\\x0ab"},
        {"DecodeCSV", "OUT_TYPE=[string,string]", "string[] ,; string[1] x; string[1] y",
         "string[] x; string[] y"},
        {"DecodeCSV", INT_TEXT, "string[0]; int32[0]; string[0]", "int32[0]; string[0]"},
        {"DecodeCSV", INT_TEXT, "string[1] 1; int32[0]; string[0]",
         "InvalidArgument: Expect 2 fields but have 1 in record 0"},
        {"DecodeCSV", INT_TEXT, "string[1] x,2,3; int32[0]; string[0]",
         "InvalidArgument: Expect 2 fields but have 3 in record 0"},
        {"DecodeCSV", INT_TEXT, "string[1] ''; int32[0]; string[0]",
         "InvalidArgument: Expect 2 fields but have 0 in record 0"},
        {"DecodeCSV", INT_TEXT, "string[2] 1,a ,b; int32[0]; string[0]",
         "InvalidArgument: Field 0 is required but missing in record 1!"},
        {"DecodeCSV", INT_TEXT, "string[1] +1,a; int32[0]; string[0]",
         "InvalidArgument: Field 0 in record 0 is not a valid int32: +1"},
        {"DecodeCSV", INT_TEXT, "string[1] 2147483648,a; int32[0]; string[0]",
         "InvalidArgument: is not a valid int32"},
        {"DecodeCSV", INT_TEXT, "string[1] 1,a\"b; int32[0]; string[0]",
         "InvalidArgument: Unquoted fields cannot have quotes/CRLFs inside"},
        {"DecodeCSV", INT_TEXT, "string[1] 1,\"a\"b; int32[0]; string[0]",
         "InvalidArgument: Quote inside a string has to be escaped by another quote"},
        {"DecodeCSV", INT_TEXT, "string[1] 1,\"ab; int32[0]; string[0]",
         "InvalidArgument: Quoted field has to end with quote followed by delim or end"},
        {"DecodeCSV", INT_TEXT, "string[1] 1,a; int32[2] 1 2; string[0]",
         "InvalidArgument: There should only be 1 default per field but field 0 has 2"},
        {"DecodeCSV", "OUT_TYPE=[int32]; field_delim=ab", "string[1] 1; int32[0]",
         "InvalidArgument: field_delim should be only 1 char"},
        {"DecodeCSV", "OUT_TYPE=[int32]; select_cols=[0,1]", "string[1] 1; int32[0]",
         "InvalidArgument: select_cols should match output size"},
        {"DecodeCSV", "OUT_TYPE=[int32,int32]; select_cols=[1,1]", "string[1] 1; int32[0]; int32[0]",
         "InvalidArgument: select_cols should be strictly increasing indices"},
    };
    OP_TEST_VALUES(cases);
}

static void tensors_follow_the_definition(void **state)
{
    (void)state;
    // dtype 3, shape {dim {size: 2}}, content of 8 bytes
#define PAIR "\\x08\\x03\\x12\\x04\\x12\\x02\\x08\\x02\\x22\\x08\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00"
    static const op_case cases[] = {
        {"ParseTensor", "out_type=int32", "string[] " PAIR, "int32[2] 1 2"},
        {"SerializeTensor", NULL, "int32[] 5", "string[] \\x08\\x03\\x12\\x00\\x22\\x04\\x05\\x00\\x00\\x00"},
        {"SerializeTensor", NULL, "int32[0]", "string[] \\x08\\x03\\x12\\x02\\x12\\x00"},
        {"SerializeTensor", NULL, "string[] ab", "string[] \\x08\\x07\\x12\\x00\\x42\\x02ab"},
        {"SerializeTensor", NULL, "int32[2] 1 2", "string[] " PAIR},
        {"ParseTensor", "out_type=int32", "string[] \\x08\\x03\\x12\\x02\\x12\\x00", "int32[0]"},
        {"ParseTensor", "out_type=float", "string[] " PAIR,
         "InvalidArgument: Type mismatch between parsed tensor (int32) and dtype (float)"},
        {"ParseTensor", "out_type=int32", "string[] \\x08",
         "InvalidArgument: Could not parse `serialized` as TensorProto"},
        {"ParseTensor", "out_type=uint16", "string[] bogus",
         "InvalidArgument: Could not parse `serialized` as TensorProto: 'bogus'"},
        {"ParseTensor", "out_type=int32", "string[1] " PAIR,
         "InvalidArgument: Expected `serialized` to be a scalar, got shape: [1]"},
    };
    OP_TEST_VALUES(cases);
}

// Messages follow the .proto files and protobuf's JSON mapping.
static void json_follows_its_definition(void **state)
{
    (void)state;
#define FEATURE(TEXT) "{\"features\":{\"feature\":{\"a\":" TEXT "}}}"
    static const op_case cases[] = {
        {"DecodeJSONExample", NULL, "string[] " FEATURE("{\"int64List\":{\"value\":[\"7\",-1,3.0]}}"),
         "string[] \\x0a\\x17\\x0a\\x15\\x0a\\x01a\\x12\\x10\\x1a\\x0e\\x0a\\x0c\\x07\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff"
         "\\x01\\x03"},
        {"DecodeJSONExample", NULL, "string[] " FEATURE("{\"bytes_list\":{\"value\":[\"YWI=\",\"\"]}}"),
         "string[] \\x0a\\x0f\\x0a\\x0d\\x0a\\x01a\\x12\\x08\\x0a\\x06\\x0a\\x02ab\\x0a\\x00"},
        {"DecodeJSONExample", NULL, "string[] " FEATURE("{\"floatList\":{\"value\":[1.5,\"-Infinity\"]}}"),
         "string[] \\x0a\\x13\\x0a\\x11\\x0a\\x01a\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xc0\\x3f\\x00\\x00\\x80\\xff"},
        {"DecodeJSONExample", NULL, "string[3] {} {\"features\":{}} {\"features\":null}",
         "string[3] '' \\x0a\\x00 ''"},
        {"DecodeJSONExample", NULL, "string[0]", "string[0]"},
        {"DecodeJSONExample", NULL, "string[] {", "InvalidArgument: Error while parsing JSON"},
        {"DecodeJSONExample", NULL, "string[] []",
         "InvalidArgument: Error while parsing JSON: an object is expected"},
        {"DecodeJSONExample", NULL, "string[] {\"what\":1}",
         "InvalidArgument: Error while parsing JSON: Cannot find field: what"},
        {"DecodeJSONExample", NULL, "string[] " FEATURE("{\"int64List\":{\"value\":[\"x\"]}}"),
         "InvalidArgument: no integer of 64 bits"},
        {"DecodeJSONExample", NULL,
         "string[] " FEATURE("{\"int64List\":{\"value\":[9223372036854775807.5]}}"),
         "InvalidArgument: no integer of 64 bits"},
        {"DecodeJSONExample", NULL, "string[] " FEATURE("{\"bytesList\":{\"value\":[\"a?\"]}}"),
         "InvalidArgument: no base 64"},
        {"DecodeJSONExample", NULL, "string[] " FEATURE("[1]"), "InvalidArgument: a feature is an object"},
        {"DecodeJSONExample", NULL, "string[] " FEATURE("{\"floatList\":{\"value\":{\"x\":1}}}"),
         "InvalidArgument: values are an array"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"DecodeRaw", "out_type=int16", "string[2,?]", "[2,?,?]"},
        {"DecodePaddedRaw", "out_type=int16", "string[2]; int32[] 6", "[2,3]"},
        {"DecodePaddedRaw", "out_type=int16", "string[2]; int32[] 5", "InvalidArgument: must be a multiple"},
        {"DecodePaddedRaw", "out_type=int16", "string[2]; int32[]", "[2,?]"},
        {"DecodeCompressed", NULL, "string[2,?]", "[2,?]"},
        {"DecodeCSV", INT_TEXT, "string[4,?]; int32[1]; string[]", "[4,?]; [4,?]"},
        {"DecodeJSONExample", NULL, "string[4,?]", "[4,?]"},
        {"DecodeCSV", INT_TEXT, "string[4]; int32[2]; string[]",
         "InvalidArgument: Shape of a default must be a length-0 or length-1 vector, or a scalar."},
        {"ParseTensor", "out_type=int32", "string[]", "?"},
        {"SerializeTensor", NULL, "float[3]", "[]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_follows_its_definition),    cmocka_unit_test(compressed_follows_its_definition),
        cmocka_unit_test(csv_follows_its_definition),    cmocka_unit_test(libsvm_follows_its_definition),
        cmocka_unit_test(tensors_follow_the_definition), cmocka_unit_test(json_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
