// Tests of ParseSequenceExample and ParseSingleSequenceExample. The messages were made by a Python program
// from the .proto files.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// context c: [5], w: ["x", "y"]; lists d: [1, 2] [3, 4] [5, 6], s: [7] (no kind) [8, 9]
#define LONG                                                                                                                         \
    "\\x0a\\x1b\\x0a\\x0a\\x0a\\x01c\\x12\\x05\\x1a\\x03\\x0a\\x01\\x05\\x0a\\x0d\\x0a\\x01w\\x12\\x08\\x0a\\x06\\x0a\\x01x\\x0a"    \
    "\\x01y\\x12I\\x0a/\\x0a\\x01d\\x12*\\x0a\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x80\\x3f\\x00\\x00\\x00@\\x0a\\x0c\\x12\\x0a"      \
    "\\x0a\\x08\\x00\\x00@@\\x00\\x00\\x80@\\x0a\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xa0@\\x00\\x00\\xc0@\\x0a\\x16\\x0a\\x01s\\x12" \
    "\\x11\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x07\\x0a\\x00\\x0a\\x06\\x1a\\x04\\x0a\\x02\\x08\\x09"
// context c: [6]; list d: [7, 8]
#define SHORT                                                                                                                    \
    "\\x0a\\x0c\\x0a\\x0a\\x0a\\x01c\\x12\\x05\\x1a\\x03\\x0a\\x01\\x06\\x12\\x15\\x0a\\x13\\x0a\\x01d\\x12\\x0e\\x0a\\x0c\\x12" \
    "\\x0a\\x0a\\x08\\x00\\x00\\xe0@\\x00\\x00\\x00A"
// list s: floats
#define WRONG                                                                                                \
    "\\x0a\\x00\\x12\\x11\\x0a\\x0f\\x0a\\x01s\\x12\\x0a\\x0a\\x08\\x12\\x06\\x0a\\x04\\x00\\x00\\x80\\x3f"

#define NO_CONTEXT                                                                                           \
    "context_dense_keys=[]; Ncontext_dense=0; Tcontext_dense=[]; context_dense_shapes=[]; "                  \
    "context_sparse_keys=[]; Ncontext_sparse=0; context_sparse_types=[]; "
#define CONTEXT                                                                                              \
    "context_dense_keys=[c]; Ncontext_dense=1; Tcontext_dense=[int64]; context_dense_shapes=[[1]]; "         \
    "context_sparse_keys=[w]; Ncontext_sparse=1; context_sparse_types=[string]; "
#define NO_LISTS                                                                                             \
    "feature_list_dense_keys=[]; Nfeature_list_dense=0; feature_list_dense_types=[]; "                       \
    "feature_list_dense_shapes=[]; feature_list_sparse_keys=[]; Nfeature_list_sparse=0; "                    \
    "feature_list_sparse_types=[]; feature_list_dense_missing_assumed_empty=[]"
#define LISTS(SHAPE, MISSING)                                                                                \
    "feature_list_dense_keys=[d]; Nfeature_list_dense=1; feature_list_dense_types=[float]; "                 \
    "feature_list_dense_shapes=[" SHAPE "]; feature_list_sparse_keys=[s]; Nfeature_list_sparse=1; "          \
    "feature_list_sparse_types=[int64]; feature_list_dense_missing_assumed_empty=[" MISSING "]"

static void batch_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ParseSequenceExample", CONTEXT NO_LISTS, "string[2] " LONG " " SHORT "; string[0]; int64[0]",
         "int64[2,2] 0 0 0 1; string[2] x y; int64[2] 2 2; int64[2,1] 5 6"},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[2]", ""), "string[2] " SHORT " " LONG "; string[0]",
         "int64[3,3] 1 0 0 1 2 0 1 2 1; int64[3] 7 8 9; int64[3] 2 3 2; float[2,3,2] 7 8 0 0 0 0 1 2 3 4 5 6; "
         "int64[2] 1 3"},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[2]", "d"), "string[2] " SHORT " ''; string[0]",
         "int64[0,3]; int64[0]; int64[3] 2 0 0; float[2,1,2] 7 8 0 0; int64[2] 1 0"},
        {"ParseSequenceExample", CONTEXT NO_LISTS, "string[0]; string[0]; int64[0]",
         "int64[0,2]; string[0]; int64[2] 0 0; int64[0,1]"},
        {"ParseSequenceExample", CONTEXT NO_LISTS, "string[1] ''; string[0]; int64[1] 3",
         "int64[0,2]; string[0]; int64[2] 1 0; int64[1,1] 3"},
        {"ParseSequenceExample", CONTEXT NO_LISTS, "string[1] ''; string[1] me; int64[0]",
         "InvalidArgument: Feature: c (data type: int64) is required but could not be found."},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[2]", ""), "string[1] ''; string[1] me",
         "InvalidArgument: Missing feature d in example me"},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[3]", ""), "string[1] " SHORT "; string[0]",
         "InvalidArgument: Unexpected number of elements in feature d, example <unknown>"},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[2]", "d"), "string[1] " WRONG "; string[0]",
         "InvalidArgument: Error in sequence feature s in example <unknown>"},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[2]", "d"), "string[1] \\x12\\x05a; string[0]",
         "InvalidArgument: Could not parse example input"},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[2]", "d"), "string[1] \\x12\\x01a; string[0]",
         "InvalidArgument: Invalid protocol message input, example id: <unknown>"},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[2]", ""), "string[1] " SHORT "; string[2] a b",
         "InvalidArgument: example_names must be empty or have the correct number of elements"},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[2]", ""), "string[] " SHORT "; string[0]",
         "InvalidArgument: Expected serialized to be a vector, got shape: []"},
        {"ParseSequenceExample", NO_CONTEXT LISTS("[?]", ""), "string[1] " SHORT "; string[0]",
         "InvalidArgument: shape [?] is not fully known"},
        {"ParseSequenceExample", CONTEXT NO_LISTS, "string[1] " SHORT "; string[0]; int64[2] 1 2",
         "InvalidArgument: def_value[0].shape() == [2] != context_dense_shapes_[0] == [1]"},
    };
    OP_TEST_VALUES(cases);
}

static void single_follows_its_definition(void **state)
{
    (void)state;
#define SINGLE(SHAPE)                                                                                        \
    "Ncontext_dense=1; Tcontext_dense=[int64]; context_dense_shapes=[[1]]; Ncontext_sparse=1; "              \
    "context_sparse_types=[string]; Nfeature_list_dense=1; feature_list_dense_types=[float]; "               \
    "feature_list_dense_shapes=[" SHAPE "]; Nfeature_list_sparse=1; feature_list_sparse_types=[int64]"
#define KEYS "string[] w; string[] c; string[] s; string[] d; "
    static const op_case cases[] = {
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[] " LONG "; string[0]; " KEYS "int64[0]; string[] me",
         "int64[2,1] 0 1; string[2] x y; int64[1] 2; int64[1] 5; int64[3,2] 0 0 2 0 2 1; int64[3] 7 8 9; int64[2] 3 2; "
         "float[3,2] 1 2 3 4 5 6"},
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[] ''; string[1] d; " KEYS "int64[1] 4; string[0]",
         "int64[0,1]; string[0]; int64[1] 0; int64[1] 4; int64[0,2]; int64[0]; int64[2] 0 0; float[0,2]"},
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[] ''; string[1] d; " KEYS "int64[0]; string[] in1",
         "InvalidArgument: Name: in1, Context feature 'c' is required but could not be found."},
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[] ''; string[0]; " KEYS "int64[1] 1; string[] in1",
         "InvalidArgument: Name: in1, Feature list 'd' is required but could not be found.  Did you mean to include it in "
         "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"},
        {"ParseSingleSequenceExample", SINGLE("[1]"),
         "string[] " LONG "; string[0]; " KEYS "int64[0]; string[] in1",
         "InvalidArgument: Name: in1, Key: d, Index: 0.  Number of float values != expected.  values size: 2 but output "
         "shape: [1]"},
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[] " WRONG "; string[1] d; " KEYS "int64[1] 1; string[] in1",
         "InvalidArgument: Name: in1, Feature List: s, Index: 0.  Data types don't match. Expected type: int64  "
         "Feature is: float_list"},
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[] " LONG
         "; string[0]; string[] c; string[] w; string[] s; string[] d; int64[0]; string[] in1",
         "InvalidArgument: Name: in1, Context feature: w.  Data types don't match. Expected type: int64"},
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[] " LONG
         "; string[0]; string[] w; string[1] c; string[] s; string[] d; int64[0]; string[] in1",
         "InvalidArgument: Expected context_dense_keys[0] to be a scalar, got shape: [1]"},
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[1] " LONG "; string[0]; " KEYS "int64[0]; string[] me",
         "InvalidArgument: Expected serialized to be a scalar, got shape: [1]"},
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[] " LONG
         "; string[0]; string[] w; string[] c; string[] d; string[] d; int64[0]; string[] in1",
         "InvalidArgument: Sequence feature d cannot be both dense and sparse"},
    };
    OP_TEST_VALUES(cases);
}

static void v2_follows_its_definition(void **state)
{
    (void)state;
#define V2                                                                                                   \
    "Ncontext_sparse=0; Tcontext_dense=[int64]; context_sparse_types=[]; "                                   \
    "context_ragged_value_types=[string]; context_ragged_split_types=[int64]; context_dense_shapes=[[1]]; "  \
    "Nfeature_list_sparse=0; Nfeature_list_dense=1; feature_list_dense_types=[float]; "                      \
    "feature_list_sparse_types=[]; feature_list_ragged_value_types=[int64]; "                                \
    "feature_list_ragged_split_types=[int32]; feature_list_dense_shapes=[[2]]"
#define V2_KEYS "string[0]; string[1] c; string[1] w; string[0]; string[1] d; string[1] s; "
    static const op_case cases[] = {
        {"ParseSequenceExampleV2", V2,
         "string[3] " SHORT " " LONG " ''; string[0]; " V2_KEYS "bool[1] true; int64[1] 4",
         "int64[3,1] 6 5 4; string[2] x y; int64[4] 0 0 2 2; float[3,3,2] 7 8 0 0 0 0 1 2 3 4 5 6 0 0 0 0 0 0; "
         "int64[3] 1 3 0; int64[3] 7 8 9; int32[4] 0 0 3 3; int32[4] 0 1 1 3"},
        {"ParseSequenceExampleV2", V2, "string[] " LONG "; string[0]; " V2_KEYS "bool[1] false; int64[0]",
         "int64[1] 5; string[2] x y; int64[0]; float[3,2] 1 2 3 4 5 6; int64[] 3; int64[3] 7 8 9; int32[0]; "
         "int32[4] 0 1 1 3"},
        {"ParseSequenceExampleV2", V2, "string[0]; string[0]; " V2_KEYS "bool[1] false; int64[0]",
         "int64[0,1]; string[0]; int64[1] 0; float[0,0,2]; int64[0]; int64[0]; int32[1] 0; int32[1] 0"},
        {"ParseSequenceExampleV2", V2, "string[1] ''; string[1] me; " V2_KEYS "bool[1] false; int64[1] 4",
         "InvalidArgument: Missing feature d in example me"},
        {"ParseSequenceExampleV2", V2,
         "string[1] " WRONG "; string[1] me; " V2_KEYS "bool[1] true; int64[1] 4",
         "InvalidArgument: Error in sequence feature s in example me"},
        {"ParseSequenceExampleV2", V2, "string[1] ''; string[0]; " V2_KEYS "bool[2] true; int64[1] 4",
         "InvalidArgument: Expected len(feature_list_dense_missing_assumed_empty) == len(feature_list_dense_types)"},
        {"ParseSequenceExampleV2", V2,
         "string[1] ''; string[0]; string[1] q; string[1] c; string[1] w; string[0]; string[1] d; string[1] s; bool[1] "
         "true; int64[1] 4",
         "InvalidArgument: Expected len(context_sparse_keys) == len(context_sparse_types) but got: 1 vs. 0"},
        {"ParseSequenceExampleV2", V2, "string[1,1] ''; string[0]; " V2_KEYS "bool[1] true; int64[1] 4",
         "InvalidArgument: Expected serialized to be a scalar or vector, got shape: [1,1]"},
        {"ParseSequenceExampleV2", V2, "string[1] ''; string[2] a b; " V2_KEYS "bool[1] true; int64[1] 4",
         "InvalidArgument: example_names must be empty or have the same shape"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
#define V2_UNKNOWN "string?; string?; string?; string?; string?; string?; string?; bool?; int64?"
    static const op_shape_case cases[] = {
        {"ParseSequenceExampleV2", V2, "string[4]; " V2_UNKNOWN,
         "[4,1]; [?]; [5]; [4,?,2]; [4]; [?]; [?]; [?]"},
        {"ParseSequenceExampleV2", V2, "string[]; " V2_UNKNOWN, "[1]; [?]; [?]; [?,2]; []; [?]; [?]; [?]"},
        {"ParseSequenceExampleV2", V2, "string?; " V2_UNKNOWN, "?; [?]; [?]; ?; ?; [?]; [?]; [?]"},
        {"ParseSequenceExampleV2", V2, "string[1,1]; " V2_UNKNOWN,
         "InvalidArgument: Shape must be at most rank 1 but is rank 2"},
        {"ParseSequenceExampleV2", V2 "; context_ragged_split_types=[]", "string?; " V2_UNKNOWN,
         "InvalidArgument: context_ragged_value_types must match the size of context_ragged_split_types"},
        {"ParseSequenceExample", CONTEXT LISTS("[2,3]", ""), "string[4]; string?; int64?",
         "[?,2]; [?]; [2]; [4,1]; [?,3]; [?]; [3]; [4,?,2,3]; [4]"},
        {"ParseSequenceExample", CONTEXT LISTS("[2,3]", ""), "string[]; string?; int64?",
         "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"ParseSingleSequenceExample", SINGLE("[2]"),
         "string[]; string?; string?; string?; string?; string?; int64?; string?",
         "[?,1]; [?]; [1]; [1]; [?,2]; [?]; [2]; [?,2]"},
        // counts of outputs that differ from the number of types
        {"ParseSequenceExample",
         "context_dense_keys=[]; Tcontext_dense=[]; context_dense_shapes=[[1],[1],[1]]; Ncontext_dense=3; "
         "context_sparse_keys=[]; " NO_LISTS,
         "string[4]; string?", "InvalidArgument: Ncontext_dense must match the size of Tcontext_dense"},
        {"ParseSequenceExample",
         NO_CONTEXT "feature_list_dense_keys=[]; feature_list_sparse_keys=[]; Nfeature_list_sparse=1; "
                    "feature_list_dense_missing_assumed_empty=[]",
         "string[4]; string?",
         "InvalidArgument: Nfeature_list_sparse must match the size of feature_list_sparse_types"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batch_follows_its_definition),
        cmocka_unit_test(single_follows_its_definition),
        cmocka_unit_test(v2_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}
