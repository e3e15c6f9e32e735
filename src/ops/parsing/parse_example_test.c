// Tests of ParseExample and ParseSingleExample. The messages were made by a Python program from the .proto
// files.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "ops/parsing/example_parser.h"
#include "ops/testing/op_test.h"

// f: [1.5, -2], i: [7, -1, 300], s: ["ab", "", "c"], all packed
#define FULL                                                                                                                    \
    "\\x0a=\\x0a\\x11\\x0a\\x01f\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xc0?\\x00\\x00\\x00\\xc0\\x0a\\x16\\x0a\\x01i\\x12"   \
    "\\x11\\x1a\\x0f\\x0a\\x0d\\x07\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xff\\x01\\xac\\x02\\x0a\\x10\\x0a\\x01s\\x12\\x0b" \
    "\\x0a\\x09\\x0a\\x02ab\\x0a\\x00\\x0a\\x01c"
// f: [3, 4], i: [5], x: [1]; f and i are not packed
#define LOOSE                                                                                                                   \
    "\\x0a*\\x0a\\x11\\x0a\\x01f\\x12\\x0c\\x12\\x0a\\x0d\\x00\\x00@@\\x0d\\x00\\x00\\x80@\\x0a\\x09\\x0a\\x01i\\x12\\x04\\x1a" \
    "\\x02\\x08\\x05\\x0a\\x0a\\x0a\\x01x\\x12\\x05\\x1a\\x03\\x0a\\x01\\x01"
// f: [9, 9], f again: [5, 6], i: a Feature of no kind, s: an empty list
#define TWICE                                                                                                                  \
    "\\x0a6\\x0a\\x11\\x0a\\x01f\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x10A\\x00\\x00\\x10A\\x0a\\x11\\x0a\\x01f\\x12\\x0c" \
    "\\x12\\x0a\\x0a\\x08\\x00\\x00\\xa0@\\x00\\x00\\xc0@\\x0a\\x05\\x0a\\x01i\\x12\\x00\\x0a\\x07\\x0a\\x01s\\x12\\x02\\x0a"  \
    "\\x00"
#define NOTHING "\\x0a\\x00"
// i: [1, 2, 3, 4, 5, 6]
#define SIX "\\x0a\\x11\\x0a\\x0f\\x0a\\x01i\\x12\\x0a\\x1a\\x08\\x0a\\x06\\x01\\x02\\x03\\x04\\x05\\x06"
// cut off within a map; and a packed number without an end
#define CUT "\\x0a\\x05\\x0a\\x09\\x0a"
#define ENDLESS "\\x0a\\x0c\\x0a\\x0a\\x0a\\x01i\\x12\\x05\\x1a\\x03\\x0a\\x01\\x80"

static void dense_follows_its_definition(void **state)
{
    (void)state;
#define DENSE_F "Nsparse=0; Ndense=1; sparse_types=[]; Tdense=[float]; dense_shapes=[[2]]"
#define DENSE_I(SHAPE) "Nsparse=0; Ndense=1; sparse_types=[]; Tdense=[int64]; dense_shapes=[" SHAPE "]"
#define DENSE_S "Nsparse=0; Ndense=1; sparse_types=[]; Tdense=[string]; dense_shapes=[[3,1]]"
    static const op_case cases[] = {
        {"ParseExample", DENSE_F, "string[3] " FULL " " LOOSE " " TWICE "; string[0]; string[] f; float[0]",
         "float[3,2] 1.5 -2 3 4 5 6"},
        {"ParseExample", DENSE_F, "string[2] " FULL " " NOTHING "; string[0]; string[] f; float[2] 7 8",
         "float[2,2] 1.5 -2 7 8"},
        {"ParseExample", DENSE_S, "string[1] " FULL "; string[1] one; string[] s; string[0]",
         "string[1,3,1] ab '' c"},
        {"ParseExample", DENSE_F, "string[0]; string[0]; string[] f; float[0]", "float[0,2]"},
        {"ParseExample", DENSE_I("[2,3]"), "string[1] " SIX "; string[0]; string[] i; int64[0]",
         "int64[1,2,3] 1 2 3 4 5 6"},
        // Of variable length: the rest is filled with the default.
        {"ParseExample", DENSE_I("[?]"),
         "string[3] " LOOSE " " FULL " " TWICE "; string[0]; string[] i; int64[] -9",
         "int64[3,3] 5 -9 -9 7 -1 300 -9 -9 -9"},
        {"ParseExample", DENSE_I("[?,3]"), "string[2] " FULL " " SIX "; string[0]; string[] i; int64[1] 0",
         "int64[2,2,3] 7 -1 300 0 0 0 1 2 3 4 5 6"},
        {"ParseExample", DENSE_I("[?]"), "string[1] " NOTHING "; string[0]; string[] i; int64[] 0",
         "int64[1,0]"},
        {"ParseExample", "Nsparse=0; Ndense=0; sparse_types=[]; Tdense=[]; dense_shapes=[]",
         "string[1] " FULL "; string[0]", ""},
    };
    OP_TEST_VALUES(cases);
}

static void sparse_follows_its_definition(void **state)
{
    (void)state;
#define SPARSE_IS "Nsparse=2; Ndense=0; sparse_types=[int64,string]; Tdense=[]; dense_shapes=[]"
    static const op_case cases[] = {
        {"ParseExample", SPARSE_IS,
         "string[3] " FULL " " LOOSE " " TWICE "; string[0]; string[] i; string[] s",
         "int64[4,2] 0 0 0 1 0 2 1 0; int64[3,2] 0 0 0 1 0 2; int64[4] 7 -1 300 5; string[3] ab '' c; int64[2] 3 3; "
         "int64[2] 3 3"},
        {"ParseExample", SPARSE_IS, "string[0]; string[0]; string[] i; string[] s",
         "int64[0,2]; int64[0,2]; int64[0]; string[0]; int64[2] 0 0; int64[2] 0 0"},
        {"ParseExample", "Nsparse=1; Ndense=1; sparse_types=[float]; Tdense=[int64]; dense_shapes=[[]]",
         "string[2] " LOOSE " " TWICE "; string[0]; string[] f; string[] i; int64[] 4",
         "int64[4,2] 0 0 0 1 1 0 1 1; float[4] 3 4 5 6; int64[2] 2 2; int64[2] 5 4"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ParseExample", DENSE_F, "string[2] " FULL " " NOTHING "; string[2] a b; string[] f; float[0]",
         "InvalidArgument: Name: b, Feature: f (data type: float) is required but could not be found."},
        {"ParseExample", DENSE_F, "string[1] " NOTHING "; string[0]; string[] f; float[0]",
         "InvalidArgument: Name: <unknown>, Feature: f (data type: float) is required"},
        {"ParseExample", DENSE_F, "string[1] " FULL "; string[0]; string[] i; float[0]",
         "InvalidArgument: Name: <unknown>, Key: i, Index: 0.  Data types don't match. Data type: int64 but expected "
         "type: float"},
        {"ParseExample", DENSE_I("[2]"), "string[1] " FULL "; string[0]; string[] i; int64[0]",
         "InvalidArgument: Name: <unknown>, Key: i, Index: 0.  Number of int64 values != expected.  values size: 3 but "
         "output shape: [2]"},
        {"ParseExample", DENSE_I("[?,2]"), "string[1] " FULL "; string[0]; string[] i; int64[] 0",
         "InvalidArgument: Number of int64 values is not a multiple of stride length. Saw 3 values but output shape is: "
         "[?,2]"},
        {"ParseExample", DENSE_I("[?,0]"), "string[1] " FULL "; string[0]; string[] i; int64[] 0",
         "InvalidArgument: Number of int64 values is not a multiple of stride length"},
        {"ParseExample", DENSE_I("[1]"), "string[1] " CUT "; string[0]; string[] i; int64[0]",
         "InvalidArgument: Could not parse example input, value: '"},
        {"ParseExample", DENSE_I("[1]"), "string[1] " ENDLESS "; string[0]; string[] i; int64[0]",
         "InvalidArgument: Name: <unknown>, Key: i, Index: 0.  Can't parse serialized Example."},
        {"ParseExample", DENSE_F, "string[] x; string[0]; string[] f; float[0]",
         "InvalidArgument: Expected serialized to be a vector, got shape: []"},
        {"ParseExample", DENSE_F, "string[1] " FULL "; string[2] a b; string[] f; float[0]",
         "InvalidArgument: Expected len(names) == len(serialized), but got: 2 vs. 1"},
        {"ParseExample", DENSE_F, "string[1] " FULL "; string[0]; string[] f; float[3] 1 2 3",
         "InvalidArgument: def_value[0].shape() == [3] is not compatible with dense_shapes_[0] == [2]"},
        {"ParseExample", DENSE_I("[?]"), "string[1] " FULL "; string[0]; string[] i; int64[0]",
         "InvalidArgument: dense_shape[0] is a variable length shape: [?], therefore def_value[0] must contain a single "
         "element"},
        {"ParseExample", DENSE_I("[2,?]"), "string[1] " FULL "; string[0]; string[] i; int64[0]",
         "InvalidArgument: dense_shapes[0] has unknown rank or unknown inner dimensions: [2,?]"},
        {"ParseExample", DENSE_F, "string[1] " FULL "; string[0]; string[1] f; float[0]",
         "InvalidArgument: Expected dense_keys to be scalars, got shape: [1]"},
        {"ParseExample", "Nsparse=2; Ndense=0; sparse_types=[int64,int64]; Tdense=[]; dense_shapes=[]",
         "string[1] " FULL "; string[0]; string[] i; string[] i",
         "InvalidArgument: The feature key 'i' is there twice"},
    };
    OP_TEST_VALUES(cases);
}

static void single_follows_its_definition(void **state)
{
    (void)state;
#define SINGLE(SHAPE)                                                                                            \
    "num_sparse=1; sparse_keys=[s]; dense_keys=[i]; sparse_types=[string]; Tdense=[int64]; dense_shapes=[" SHAPE \
    "]"
    static const op_case cases[] = {
        {"ParseSingleExample", SINGLE("[3]"), "string[] " FULL "; int64[0]",
         "int64[3,1] 0 1 2; string[3] ab '' c; int64[1] 3; int64[3] 7 -1 300"},
        {"ParseSingleExample", SINGLE("[?,1]"), "string[] " FULL "; int64[] 0",
         "int64[3,1] 0 1 2; string[3] ab '' c; int64[1] 3; int64[3,1] 7 -1 300"},
        {"ParseSingleExample", SINGLE("[]"), "string[] " NOTHING "; int64[] 8",
         "int64[0,1]; string[0]; int64[1] 0; int64[] 8"},
        {"ParseSingleExample", SINGLE("[]"), "string[] ''; int64[] 8",
         "int64[0,1]; string[0]; int64[1] 0; int64[] 8"},
        {"ParseSingleExample", SINGLE("[]"), "string[] " NOTHING "; int64[0]",
         "InvalidArgument: Feature: i (data type: int64) is required but could not be found."},
        {"ParseSingleExample", SINGLE("[2]"), "string[] " FULL "; int64[0]",
         "InvalidArgument: Key: i.  Number of int64 values != expected.  values size: 3 but output shape: [2]"},
        {"ParseSingleExample", SINGLE("[]"), "string[1] " FULL "; int64[0]",
         "InvalidArgument: Expected serialized to be a scalar, got shape: [1]"},
    };
    OP_TEST_VALUES(cases);
}

static void v2_follows_its_definition(void **state)
{
    (void)state;
#define V2(SPLITS)                                                                                           \
    "num_sparse=1; sparse_types=[string]; Tdense=[float]; dense_shapes=[[2]]; ragged_value_types=[int64]; "  \
    "ragged_split_types=[" SPLITS "]"
#define V2_KEYS "string[1] s; string[1] f; string[1] i; "
    static const op_case cases[] = {
        {"ParseExampleV2", V2("int32"),
         "string[3] " FULL " " NOTHING " " LOOSE "; string[0]; " V2_KEYS "float[2] 7 8",
         "int64[3,2] 0 0 0 1 0 2; string[3] ab '' c; int64[2] 3 3; float[3,2] 1.5 -2 7 8 3 4; int64[4] 7 -1 300 5; "
         "int32[4] 0 3 3 4"},
        {"ParseExampleV2", V2("int64"), "string[0]; string[0]; " V2_KEYS "float[0]",
         "int64[0,2]; string[0]; int64[2] 0 0; float[0,2]; int64[0]; int64[1] 0"},
        // one alone
        {"ParseExampleV2", V2("int64"), "string[] " FULL "; string[0]; " V2_KEYS "float[0]",
         "int64[3,1] 0 1 2; string[3] ab '' c; int64[1] 3; float[2] 1.5 -2; int64[3] 7 -1 300; int64[0]"},
        {"ParseExampleV2",
         "num_sparse=0; sparse_types=[]; Tdense=[]; dense_shapes=[]; ragged_value_types=[]; "
         "ragged_split_types=[]",
         "string[1] " FULL "; string[0]; string[0]; string[0]; string[0]", ""},
        {"ParseExampleV2", V2("int64"), "string[1] " NOTHING "; string[1] b; " V2_KEYS "float[0]",
         "InvalidArgument: Name: b, Feature: f (data type: float) is required but could not be found."},
        {"ParseExampleV2", V2("int64"), "string[] " NOTHING "; string[] b; " V2_KEYS "float[0]",
         "InvalidArgument: Feature: f (data type: float) is required but could not be found."},
        {"ParseExampleV2", V2("int64"),
         "string[1] " FULL "; string[0]; string[1] s; string[1] f; string[1] s; float[0]",
         "InvalidArgument: is there twice"},
        {"ParseExampleV2", V2("int64"),
         "string[1] " FULL "; string[0]; string[1] i; string[1] f; string[1] s; float[0]",
         "InvalidArgument: Name: <unknown>, Key: i, Index: 0.  Data types don't match."},
        {"ParseExampleV2", V2("int64"), "string[1,1] " FULL "; string[0]; " V2_KEYS "float[0]",
         "InvalidArgument: Expected serialized to be a scalar or vector, got shape: [1,1]"},
        {"ParseExampleV2", V2("int64"), "string[1] " FULL "; string[] b; " V2_KEYS "float[0]",
         "InvalidArgument: Expected names have the same shape as serialized: name.shape=[], serialized.shape=[1]"},
        {"ParseExampleV2", V2("int64"),
         "string[1] " FULL "; string[0]; string[2] s t; string[1] f; string[1] i; float[0]",
         "InvalidArgument: Expected len(sparse_keys) == num_sparse but got: 2 vs. 1"},
        {"ParseExampleV2", V2("int64"),
         "string[1] " FULL "; string[0]; string[1] s; string[1] f; string[0]; float[0]",
         "InvalidArgument: Expected len(ragged_keys) == len(ragged_value_types) but got: 0 vs. 1"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"ParseExample",
         "Nsparse=1; Ndense=2; sparse_types=[float]; Tdense=[int64,float]; dense_shapes=[[2],[?,3]]",
         "string[4]; string?; string[]; string[]; string[]; int64?; float?",
         "[?,2]; [?]; [2]; [4,2]; [4,?,3]"},
        {"ParseExample", DENSE_F, "string[]; string?; string[]; float?",
         "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"ParseSingleExample", SINGLE("[?,3]"), "string[]; int64?", "[?,1]; [?]; [1]; [?,3]"},
        {"ParseExampleV2", V2("int32"), "string[4]; string?; string?; string?; string?; float?",
         "[?,2]; [?]; [2]; [4,2]; [?]; [5]"},
        {"ParseExampleV2", V2("int32"), "string[]; string?; string?; string?; string?; float?",
         "[?,1]; [?]; [1]; [2]; [?]; [?]"},
        {"ParseExampleV2", V2("int32"), "string?; string?; string?; string?; string?; float?",
         "[?,?]; [?]; [?]; ?; [?]; [?]"},
        {"ParseExampleV2", V2("int32"), "string[1,1]; string?; string?; string?; string?; float?",
         "InvalidArgument: Shape must be at most rank 1 but is rank 2"},
        {"ParseExampleV2", V2("int32,int64"), "string[4]; string?; string?; string?; string?; float?",
         "InvalidArgument: len(ragged_value_types) != len(ragged_split_types)"},
    };
    OP_TEST_SHAPES(cases);
}

// A failed allocation at any point is an error and leaks no memory.
static void a_failed_allocation_is_an_error(void **state)
{
    (void)state;
    const uint8_t message[] = "\x0a\x10\x0a\x0e\x0a\x01s\x12\x09\x0a\x07\x0a\x02"
                              "ab\x0a\x01"
                              "c";
    bd_string serialized = {(char *)message, sizeof message - 1};
    bd_sparse_feature sparse = {.key = {"s", 1}, .dtype = BRAID_STRING};
    bd_example_spec spec = {.sparse = &sparse, .sparse_count = 1};
    braid_code code = BRAID_RESOURCE_EXHAUSTED;
    for (int i = 0; code == BRAID_RESOURCE_EXHAUSTED; i++) {
        BD_STATUS(st);
        braid_tensor t[3] = {0};
        bd_parsed_examples out = {.indices = &t[0], .values = &t[1], .shapes = &t[2]};
        bd_alloc_fail_after(i);
        code = bd_examples_parse(&spec, NULL, &serialized, NULL, 1, &out, st);
        bd_alloc_fail_after(-1);
        if (code == BRAID_OK) op_test_expect(&t[1], "string[2] ab c", 0, "values");
        assert_true(i > 3 || code != BRAID_OK);
        for (int k = 0; k < 3; k++)
            bd_tensor_fini(&t[k]);
    }
    assert_int_equal(code, BRAID_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_follows_its_definition),    cmocka_unit_test(sparse_follows_its_definition),
        cmocka_unit_test(wrong_inputs_are_errors),         cmocka_unit_test(single_follows_its_definition),
        cmocka_unit_test(v2_follows_its_definition),       cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(a_failed_allocation_is_an_error),
    };
    return BD_RUN_TESTS(tests);
}
