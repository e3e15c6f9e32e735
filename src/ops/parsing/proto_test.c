// Tests of DecodeProtoV2 and EncodeProto. Values are TensorFlow's, but those of packed values of a field that
// is not repeated, of which protobuf takes the last one.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// message M {
//   optional sint32 s32 = 1;    optional sint64 s64 = 2 [default = -7];    optional fixed32 f32 = 3;
//   repeated fixed64 f64 = 4;   repeated sfixed32 sf32 = 5 [packed = true]; optional sfixed64 sf64 = 6;
//   optional E e = 7 [default = ONE];  repeated group G = 8 { optional int32 x = 1; }
//   optional bytes by = 9 [default = "\001a"];  optional M m = 10;  optional uint32 u32 = 11;
//   optional uint64 u64 = 12 [default = 18446744073709551615];  optional double d = 13 [default = -inf];
//   optional bool b = 14 [default = true];  repeated int32 i32 = 15;
// }
// enum E { TWO = 2; ONE = 1; }  extend M { optional string more = 100; }  in package p
#define SOURCE                                                                                               \
    "bytes://"                                                                                               \
    "\\x0a\\xc5\\x02\\x0a\\x01a\\x12\\x01p\\x22\\x91\\x02\\x0a\\x01M\\x12\\x0b\\x0a\\x03s32\\x18\\x01"       \
    "\\x20\\x01\\x28\\x11\\x12\\x0f\\x0a\\x03s64\\x18\\x02\\x20\\x01\\x28\\x12\\x3a\\x02\\x2d7\\x12"         \
    "\\x0b\\x0a\\x03f32\\x18\\x03\\x20\\x01\\x28\\x07\\x12\\x0b\\x0a\\x03f64\\x18\\x04\\x20\\x03\\x28"       \
    "\\x06\\x12\\x10\\x0a\\x04sf32\\x18\\x05\\x20\\x03\\x28\\x0fB\\x02\\x10\\x01\\x12\\x0c\\x0a\\x04s"       \
    "f64\\x18\\x06\\x20\\x01\\x28\\x10\\x12\\x11\\x0a\\x01e\\x18\\x07\\x20\\x01\\x28\\x0e2\\x01E\\x3a"       \
    "\\x03ONE\\x12\\x11\\x0a\\x01g\\x18\\x08\\x20\\x03\\x28\\x0a2\\x06\\x2ep\\x2eM\\x2eG\\x12\\x11"          \
    "\\x0a\\x02by\\x18\\x09\\x20\\x01\\x28\\x0c\\x3a\\x05\\x5c001a\\x12\\x0c\\x0a\\x01m\\x18\\x0a"           \
    "\\x20\\x01\\x28\\x0b2\\x01M\\x12\\x0b\\x0a\\x03u32\\x18\\x0b\\x20\\x01\\x28\\x0d\\x12\\x21\\x0a"        \
    "\\x03u64\\x18\\x0c\\x20\\x01\\x28\\x04\\x3a\\x1418446744073709551615\\x12\\x0f\\x0a\\x01d\\x18"         \
    "\\x0d\\x20\\x01\\x28\\x01\\x3a\\x04\\x2dinf\\x12\\x0f\\x0a\\x01b\\x18\\x0e\\x20\\x01\\x28\\x08"         \
    "\\x3a\\x04true\\x12\\x0b\\x0a\\x03i32\\x18\\x0f\\x20\\x03\\x28\\x05\\x1a\\x0e\\x0a\\x01G\\x12"          \
    "\\x09\\x0a\\x01x\\x18\\x01\\x20\\x01\\x28\\x05\\x2a\\x15\\x0a\\x01E\\x12\\x07\\x0a\\x03TWO\\x10"        \
    "\\x02\\x12\\x07\\x0a\\x03ONE\\x10\\x01\\x3a\\x12\\x0a\\x04more\\x12\\x04\\x2ep\\x2eM\\x18d\\x20"        \
    "\\x01\\x28\\x09"

#define DECODE(FIELDS, TYPES)                                                                                \
    "message_type=p.M; descriptor_source=" SOURCE "; field_names=[" FIELDS "]; output_types=[" TYPES "]"
#define ENCODE(FIELDS) "message_type=p.M; descriptor_source=" SOURCE "; field_names=[" FIELDS "]"

static void fields_become_tensors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // varints, zigzag, numbers of fixed size; the last value of a field that is not repeated counts
        {"DecodeProtoV2", DECODE("s32,s64,u32", "int32,int64,uint64"),
         "string[] \\x08\\x01\\x08\\x03\\x10\\x03\\x58\\xff\\xff\\xff\\xff\\x0f",
         "int32[3] 1 1 1; int32[1] -2; int64[1] -2; uint64[1] 4294967295"},
        {"DecodeProtoV2", DECODE("f32,sf64,s32", "uint32,int64,int64"),
         "string[1] \\x1d\\xff\\xff\\xff\\xff\\x31\\xfe\\xff\\xff\\xff\\xff\\xff\\xff\\xff",
         "int32[1,3] 1 1 0; uint32[1,1] 4294967295; int64[1,1] -2; int64[1,1] 0"},
        // repeated and packed values, of messages of different lengths
        {"DecodeProtoV2", DECODE("i32", "int64"), "string[2] \\x7a\\x03\\x01\\x02\\x03\\x78\\x05 ''",
         "int32[2,1] 4 0; int64[2,4] 1 2 3 5 0 0 0 0"},
        {"DecodeProtoV2", DECODE("i32", "int32"), "string[1] \\x7a\\x00", "int32[1,1] 0; int32[1,1] 0"},
        {"DecodeProtoV2", DECODE("s32", "int32"), "string[1] \\x0a\\x02\\x02\\x04",
         "int32[1,1] 1; int32[1,1] 2"},
        {"DecodeProtoV2", DECODE("sf32", "int32"),
         "string[1] \\x2a\\x08\\x01\\x00\\x00\\x00\\xff\\xff\\xff\\xff", "int32[1,1] 2; int32[1,2] 1 -1"},
        // defaults
        {"DecodeProtoV2", DECODE("s64,e,by,u64,d,b,p.more", "int64,int32,string,uint64,double,bool,string"),
         "string[] ''",
         "int32[7] 0; int64[1] -7; int32[1] 1; string[1] \\x01a; uint64[1] 18446744073709551615; double[1] "
         "-inf; bool[1] true; string[1] ''"},
        // messages, groups and extensions
        {"DecodeProtoV2", DECODE("m,g,p.more", "string,string,string"),
         "string[] R\\x02\\x08\\x02C\\x08\\x07DCD\\xa2\\x06\\x02hi",
         "int32[3] 1 2 1; string[1] \\x08\\x02; string[2] \\x08\\x07 ''; string[1] hi"},
        // what no field asks for, or has another wire type, is skipped
        {"DecodeProtoV2", DECODE("s32", "int32"),
         "string[] \\x9b\\x06\\x0b\\x0c\\x9c\\x06\\x0d\\x00\\x00\\x00\\x00\\x08\\x04",
         "int32[1] 1; int32[1] 2"},
        {"DecodeProtoV2", DECODE("b,e", "bool,int32"), "string[] p\\x80\\x80\\x80\\x80\\x108\\x63",
         "int32[2] 1; bool[1] true; int32[1] 99"},
        {"DecodeProtoV2", DECODE("", ""), "string[2] \\x08\\x02 ''", "int32[2,0]"},
        {"DecodeProtoV2", "message_type=tensorflow.Feature; field_names=[int64_list]; output_types=[string]",
         "string[1] \\x1a\\x03\\x0a\\x01\\x05", "int32[1,1] 1; string[1,1] \\x0a\\x01\\x05"},
        {"DecodeProtoV2", DECODE("i32,m", "int32,string") "; message_format=text",
         "string[1] i32:[1,2],m{s32:-1}", "int32[1,2] 2 1; int32[1,2] 1 2; string[1,1] \\x08\\x01"},
        {"DecodeProtoV2", DECODE("p.more", "string") "; message_format=text", "string[1] [p.more]:'hi'",
         "int32[1,1] 1; string[1,1] hi"},
        {"DecodeProtoV2", DECODE("s32", "int32") "; sanitize=true", "string[1] \\x08\\x02",
         "int32[1,1] 1; int32[1,1] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void messages_that_are_malformed_are_errors(void **state)
{
    (void)state;
#define MALFORMED(TEXT)                                                                                      \
    {                                                                                                        \
        "DecodeProtoV2", DECODE("s32,sf32,i32", "int32,int32,int32"), "string[2] '' " TEXT,                  \
            "DataLoss: Unable to parse binary protobuf of type p.M, message 1"                               \
    }
    static const op_case cases[] = {
        MALFORMED("\\x08"),      // without its value
        MALFORMED("\\x80"),      // half a tag
        MALFORMED("\\x00\\x00"), // field 0
        MALFORMED("R\\x05ab"),   // shorter than its length
        MALFORMED("R\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x01"),
        MALFORMED("\\x0c"),         // the end of a group that has not begun
        MALFORMED("C\\x08\\x01"),   // a group without an end
        MALFORMED("CL"),            // the end of another group
        MALFORMED("\\x0f"),         // wire type 7
        MALFORMED("\\x2a\\x03abc"), // packed values of four bytes
        MALFORMED("z\\x01\\x80"),   // half a varint among packed ones
        MALFORMED("\\x08\\x80\\x80\\x80\\x80\\x80\\x80\\x80\\x80\\x80\\x80\\x80\\x01"),
        // within a message: only looked at to sanitize
        {"DecodeProtoV2", DECODE("m", "string"), "string[] R\\x01\\x08", "int32[1] 1; string[1] \\x08"},
        {"DecodeProtoV2", DECODE("m", "string") "; sanitize=true", "string[] R\\x01\\x08",
         "DataLoss: Unable to parse binary protobuf of type p.M, message 0"},
        {"DecodeProtoV2", DECODE("s32", "int32") "; message_format=text", "string[] s32:x",
         "DataLoss: Unable to parse text protobuf of type p.M, message 0: Text of p.M, line 1"},
    };
    OP_TEST_VALUES(cases);
}

static void nodes_that_ask_for_what_is_not_there_fail(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DecodeProtoV2", DECODE("s32", "int32"), "string[0]",
         "InvalidArgument: Bufs argument must contain at least one value"},
        {"DecodeProtoV2", DECODE("zz", "int32"), "string[] ''",
         "InvalidArgument: Unknown field: zz in message type p.M"},
        {"DecodeProtoV2", DECODE("s32", "float"), "string[] ''",
         "InvalidArgument: Unexpected output type for p.M.s32: sint32 to float"},
        {"DecodeProtoV2", DECODE("s32", "int32,int32"), "string[] ''",
         "InvalidArgument: field_names and output_types attributes must have the same length"},
        {"DecodeProtoV2", DECODE("s32", "int32") "; message_format=json", "string[] ''",
         "InvalidArgument: format must be one of binary or text"},
        {"DecodeProtoV2", "message_type=p.M; field_names=[s32]; output_types=[int32]", "string[] ''",
         "InvalidArgument: No descriptor found for message type p.M"},
        {"DecodeProtoV2",
         "message_type=p.M; field_names=[s32]; output_types=[int32]; descriptor_source=bytes://\\x0a\\x05",
         "string[] ''", "InvalidArgument: descriptor_source is not a FileDescriptorSet that can be used"},
        {"EncodeProto", ENCODE("zz"), "int32[1,1] 1; int32[1,1] 5",
         "InvalidArgument: Unknown field: zz in message type p.M"},
        {"EncodeProto", ENCODE("s32"), "int32[1,1] 1; float[1,1] 5",
         "InvalidArgument: Incompatible type for field s32.  Saw dtype: float but field type is: sint32"},
        {"EncodeProto", ENCODE("s32"), "int32[1] 1; int32[1] 5",
         "InvalidArgument: Invalid shape for field s32.  Saw shape [1] but it should be at least a matrix."},
        {"EncodeProto", ENCODE("s32"), "int32[] 1; int32[] 5",
         "InvalidArgument: Invalid shape for field s32.  Saw shape [] but it should be at least a matrix."},
        {"EncodeProto", ENCODE("s32,s64"), "int32[1,2] 1; int32[1,1] 5; int64[2,1] 6",
         "InvalidArgument: Values must match up to the last dimension"},
        {"EncodeProto", ENCODE("s32"), "int32[1,2] 1; int32[1,1] 5",
         "InvalidArgument: sizes should be batch_size + [len(field_names)].  Saw: [1,2] but expected: [1,1]"},
        {"EncodeProto", ENCODE("s32"), "int32[1,1] 2; int32[1,1] 5",
         "InvalidArgument: Size to write must not be larger than value tensor; but saw: 2 > 1 at message 0 "
         "field 0"},
        {"EncodeProto", ENCODE("s32,s64"), "int32[1,1] 1; int32[1,1] 5",
         "InvalidArgument: Length of inputs list must match field_names"},
    };
    OP_TEST_VALUES(cases);
}

static void tensors_become_messages(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // in the order of the fields' numbers
        {"EncodeProto", ENCODE("by,s32"), "int32[1,2] 1; string[1,1] a; int32[1,1] -5",
         "string[1] \\x08\\x09J\\x01a"},
        {"EncodeProto", ENCODE("i32"), "int32[2,1] 2 0; int64[2,3] -5 4294967297 7 8 9 10",
         "string[2] x\\xfb\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x01x\\x01 ''"},
        {"EncodeProto", ENCODE("sf32"), "int32[1,1] 2; int32[1,2] 1 -1",
         "string[1] *\\x08\\x01\\x00\\x00\\x00\\xff\\xff\\xff\\xff"},
        {"EncodeProto", ENCODE("sf32"), "int32[1,1] 0; int32[1,2] 1 -1", "string[1] ''"},
        {"EncodeProto", ENCODE("f32,f64,sf64"),
         "int32[1,1,3] 1; uint64[1,1,1] 4294967298; uint64[1,1,1] 3; int64[1,1,1] -2",
         "string[1,1] \\x1d\\x02\\x00\\x00\\x00!\\x03\\x00\\x00\\x00\\x00\\x00\\x00\\x001\\xfe\\xff\\xff\\xff\\xff\\xff\\xff\\xff"},
        {"EncodeProto", ENCODE("s64,u32,u64,b,e"),
         "int32[1,5] 1; int64[1,1] -7; uint64[1,1] 4294967298; uint64[1,1] 300; bool[1,1] true; int32[1,1] -1",
         "string[1] \\x10\\x0d8\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x01X\\x02`\\xac\\x02p\\x01"},
        {"EncodeProto", ENCODE("d"), "int32[1,1] 1; double[1,1] 1.5",
         "string[1] i\\x00\\x00\\x00\\x00\\x00\\x00\\xf8?"},
        {"EncodeProto", ENCODE("m,g"), "int32[1,2] 1 2; string[1,1] \\x08\\x02; string[1,2] \\x08\\x07 ''",
         "string[1] C\\x08\\x07DCDR\\x02\\x08\\x02"},
        {"EncodeProto", "message_type=tensorflow.FloatList; field_names=[value]",
         "int32[1,1] 1; double[1,1] 1.5", "string[1] \\x0a\\x04\\x00\\x00\\xc0?"},
        {"EncodeProto", ENCODE("s32"), "int32[1,1] -3; int32[1,1] 5", "string[1] ''"},
        {"EncodeProto", ENCODE("s32"), "int32[0,1]; int32[0,1]", "string[0]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"DecodeProtoV2", DECODE("s32,by", "int32,string"), "string[?,3]",
         "int32[?,3,2]; int32[?,3,?]; string[?,3,?]"},
        {"DecodeProtoV2", DECODE("s32", "int32"), "string?", "int32?; int32?"},
        {"EncodeProto", ENCODE("s32,by"), "int32[?,3,2]; int32?; string[4,?,?]", "string[4,3]"},
        {"EncodeProto", ENCODE("s32"), "int32[2,1]; int32[3,1]",
         "InvalidArgument: Values must match up to the last dimension"},
        {"EncodeProto", ENCODE("s32"), "int32[2]; int32[2]",
         "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_become_tensors),
        cmocka_unit_test(messages_that_are_malformed_are_errors),
        cmocka_unit_test(nodes_that_ask_for_what_is_not_there_fail),
        cmocka_unit_test(tensors_become_messages),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
