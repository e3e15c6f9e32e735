// Tests of pipelines without functions: elements, their order, and the end. Expected elements were computed
// in plain Python: see the comments.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"

#define RANGE(N) "RangeDataset(int64[] 0; int64[] " #N "; int64[] 1) "

static void sources_give_their_elements(void **state)
{
    (void)state;
    static const pipeline_case cases[] = {
        {RANGE(3), "int64", "int64[] 0 | int64[] 1 | int64[] 2 | end", 3},
        {"RangeDataset(int64[] 5; int64[] -2; int64[] -3)", "int64",
         "int64[] 5 | int64[] 2 | int64[] -1 | end", 3},
        {"RangeDataset(int64[] 3; int64[] 3; int64[] 1)", "int64", "end", 0},
        {"RangeDataset(int64[] 9223372036854775806; int64[] 9223372036854775807; int64[] 5)", "int64",
         "int64[] 9223372036854775806 | end", 1},
        {"TensorDataset(int32[2] 1 2; string[] a)", "int32,string", "int32[2] 1 2; string[] a | end", 1},
        {"TensorSliceDataset(int32[2,2] 1 2 3 4; string[2] a b)", "int32,string",
         "int32[2] 1 2; string[] a | int32[2] 3 4; string[] b | end", 2},
        {"TensorSliceDataset(float[0,3])", "float", "end", 0},
        // rows 0 and 2 of [[1, 0, 2], [0, 0, 0], [0, 3, 0]]
        {"SparseTensorSliceDataset(int64[3,2] 0 0 0 2 2 1; float[3] 1 2 3; int64[2] 3 3)",
         "int64,float,int64",
         "int64[2,1] 0 2; float[2] 1 2; int64[1] 3 | int64[0,1]; float[0]; int64[1] 3 | int64[1,1] 1; float[1] 3; int64[1] 3 | end",
         3},
    };
    PIPELINE_TEST(cases);
}

static void selections_keep_the_chosen_elements(void **state)
{
    (void)state;
    static const pipeline_case cases[] = {
        {RANGE(9) "TakeDataset(int64[] 2)", "int64", "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(2) "TakeDataset(int64[] -1)", "int64", "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(2) "TakeDataset(int64[] 0)", "int64", "end", 0},
        {RANGE(2) "TakeDataset(int64[] 7)", "int64", "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(4) "SkipDataset(int64[] 3)", "int64", "int64[] 3 | end", 1},
        {RANGE(4) "SkipDataset(int64[] 9)", "int64", "end", 0},
        {RANGE(4) "SkipDataset(int64[] -1)", "int64", "end", 0},
        {RANGE(7) "ShardDataset(int64[] 3; int64[] 1)", "int64", "int64[] 1 | int64[] 4 | end", 2},
        {RANGE(7) "ShardDataset(int64[] 3; int64[] 0)", "int64", "int64[] 0 | int64[] 3 | int64[] 6 | end",
         3},
        {RANGE(3) "ShardDataset{require_non_empty=true}(int64[] 2; int64[] 0)", "int64",
         "int64[] 0 | int64[] 2 | end", 2},
        {RANGE(2) "ShardDataset{require_non_empty=true}(int64[] 3; int64[] 0)", "int64",
         "InvalidArgument: (# elems = 2, # shards = 3)", 1},
        {RANGE(4) "AutoShardDataset(int64[] 2; int64[] 1)", "int64", "int64[] 1 | int64[] 3 | end", 2},
        {RANGE(2) "AutoShardDataset{auto_shard_policy=2}(int64[] 2; int64[] 1)", "int64", "int64[] 1 | end",
         1},
        {RANGE(1) "AutoShardDataset(int64[] 2; int64[] 0)", "int64",
         "InvalidArgument: aren't enough elements in this dataset for each shard to have at least one element",
         1},
        // 1 3 of 0 1 2 3, twice
        {RANGE(4) "ShardDataset(int64[] -1; int64[] -1) RepeatDataset(int64[] 2) "
                  "AutoShardDataset{auto_shard_policy=3}(int64[] 2; int64[] 1)",
         "int64", "int64[] 1 | int64[] 3 | int64[] 1 | int64[] 3 | end"},
        {RANGE(2) "ShardDataset{require_non_empty=true}(int64[] -1; int64[] -1) "
                  "AutoShardDataset{auto_shard_policy=3}(int64[] 3; int64[] 0)",
         "int64", "InvalidArgument: (# elems = 2, # shards = 3)"},
        {RANGE(2) "AutoShardDataset{auto_shard_policy=3}(int64[] 2; int64[] 1)", "int64",
         "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(1) "AutoShardDataset(int64[] 1; int64[] 0)", "int64", "int64[] 0 | end", 1},
        {RANGE(2) "AutoShardDataset{auto_shard_policy=-1}(int64[] 2; int64[] 0)", "int64",
         "int64[] 0 | int64[] 1 | end", 2},
    };
    PIPELINE_TEST(cases);
}

static void sequences_join_their_inputs(void **state)
{
    (void)state;
    static const pipeline_case cases[] = {
        {RANGE(2) "RepeatDataset(int64[] 2)", "int64", "int64[] 0 | int64[] 1 | int64[] 0 | int64[] 1 | end",
         4},
        {RANGE(2) "RepeatDataset(int64[] 0)", "int64", "end", 0},
        {RANGE(2) "RepeatDataset(int64[] -1)", "int64",
         "int64[] 0 | int64[] 1 | int64[] 0 | int64[] 1 | int64[] 0", PIPELINE_INFINITE},
        {RANGE(0) "RepeatDataset(int64[] -1)", "int64", "end", 0},
        {RANGE(2) "RepeatDataset(int64[] -1) TakeDataset(int64[] 3)", "int64",
         "int64[] 0 | int64[] 1 | int64[] 0 | end", 3},
        {RANGE(1) "RangeDataset(int64[] 5; int64[] 7; int64[] 1) ConcatenateDataset()", "int64",
         "int64[] 0 | int64[] 5 | int64[] 6 | end", 3},
        {RANGE(2) RANGE(3) "ZipDataset()", "int64,int64", "int64[] 0; int64[] 0 | int64[] 1; int64[] 1 | end",
         2},
        {RANGE(3) "TensorSliceDataset(string[2] a b) ZipDataset()", "int64,string",
         "int64[] 0; string[] a | int64[] 1; string[] b | end", 2},
        {RANGE(2) RANGE(0) "ZipDataset()", "int64,int64", "end", 0},
    };
    PIPELINE_TEST(cases);
}

static void batches_stack_elements(void **state)
{
    (void)state;
    static const pipeline_case cases[] = {
        {RANGE(5) "BatchDataset(int64[] 2)", "int64", "int64[2] 0 1 | int64[2] 2 3 | int64[1] 4 | end", 3},
        {RANGE(5) "BatchDatasetV2(int64[] 2; bool[] true)", "int64", "int64[2] 0 1 | int64[2] 2 3 | end", 2},
        {RANGE(4) "BatchDatasetV2(int64[] 2; bool[] false)", "int64", "int64[2] 0 1 | int64[2] 2 3 | end", 2},
        {RANGE(1) "BatchDatasetV2(int64[] 2; bool[] true)", "int64", "end", 0},
        {"TensorSliceDataset(string[3] a b c; float[3,2] 1 2 3 4 5 6) BatchDataset(int64[] 2)",
         "string,float", "string[2] a b; float[2,2] 1 2 3 4 | string[1] c; float[1,2] 5 6 | end", 2},
        // [0, 1], [2, 3], [4] as elements, in twos
        {RANGE(5) "BatchDataset(int64[] 2) BatchDataset(int64[] 2)", "int64",
         "int64[2,2] 0 1 2 3 | int64[1,1] 4 | end", 2},
        {RANGE(5) "BatchDataset(int64[] 2) SkipDataset(int64[] 1) BatchDataset(int64[] 2)", "int64",
         "InvalidArgument: Cannot batch tensors with different shapes in component 0. First element had shape [2] and element 1 "
         "had shape [1]. | end",
         1},
        {RANGE(5) "BatchDataset(int64[] 2) PaddedBatchDataset(int64[] 3; int64[1] -1; int64[] -7)", "int64",
         "int64[3,2] 0 1 2 3 4 -7 | end", 1},
        {RANGE(
             3) "BatchDataset(int64[] 2) PaddedBatchDatasetV2(int64[] 1; int64[1] 3; int64[] 9; bool[] false)",
         "int64", "int64[1,3] 0 1 9 | int64[1,3] 2 9 9 | end", 2},
        {RANGE(
             3) "BatchDataset(int64[] 2) PaddedBatchDatasetV2(int64[] 1; int64[1] 1; int64[] 9; bool[] true)",
         "int64", "DataLoss: Attempted to pad to a smaller size than the input element. | int64[1,1] 2 | end",
         2},
        {RANGE(1) "PaddedBatchDataset(int64[] 1; int64[1] -1; int64[] 0)", "int64",
         "InvalidArgument: same rank as the padded shape for component0: expected rank 1 but got element with rank 0 | end",
         1},
        {RANGE(4) "BatchDataset(int64[] 3) UnbatchDataset()", "int64",
         "int64[] 0 | int64[] 1 | int64[] 2 | int64[] 3 | end"},
        {"TensorDataset(int64[2,0]; string[2] a b) ExperimentalUnbatchDataset()", "int64,string",
         "int64[0]; string[] a | int64[0]; string[] b | end"},
        {"TensorDataset(int64[2] 1 2; string[1] a) UnbatchDataset()", "int64,string",
         "InvalidArgument: Component 0 had size 2 but component 1 had size, 1. | end"},
        // each batch in parts of ceil(rows / replicas), as rebatch_dataset_test.py has it
        {RANGE(6) "BatchDataset(int64[] 4) RebatchDataset(int64[] 2)", "int64",
         "int64[2] 0 1 | int64[2] 2 3 | int64[1] 4 | int64[1] 5 | end"},
        {RANGE(7) "BatchDataset(int64[] 5) RebatchDataset(int64[] 4)", "int64",
         "int64[2] 0 1 | int64[2] 2 3 | int64[1] 4 | int64[0] | int64[1] 5 | int64[1] 6 | int64[0] | int64[0] | end"},
        {"TensorDataset(int64[2] 1 2; string[1] a) RebatchDataset(int64[] 2)", "int64,string",
         "int64[1] 1; string[1] a | int64[1] 2; string[0] | end"},
        {RANGE(1) "RebatchDataset(int64[] 2)", "int64",
         "InvalidArgument: All components must have at least one dimension | end"},
        {RANGE(8) "BatchDataset(int64[] 3) RebatchDatasetV2(int64[3] 2 0 4; bool[] false)", "int64",
         "int64[2] 0 1 | int64[0] | int64[4] 2 3 4 5 | int64[2] 6 7 | int64[0] | end"},
        {RANGE(5) "BatchDataset(int64[] 2) RebatchDatasetV2(int64[] 3; bool[] false)", "int64",
         "int64[3] 0 1 2 | int64[2] 3 4 | end"},
        {RANGE(5) "BatchDataset(int64[] 2) RebatchDatasetV2(int64[] 3; bool[] true)", "int64",
         "int64[3] 0 1 2 | end"},
        {"TensorDataset(int64[2] 1 2; string[1] a) RebatchDatasetV2(int64[] 2; bool[] true)", "int64,string",
         "InvalidArgument: Component 0 had size 2 but component 1 had size, 1. | end"},
        {RANGE(1) "RebatchDatasetV2(int64[] 2; bool[] true)", "int64",
         "InvalidArgument: Input element must have a non-scalar value in each component. | end"},
    };
    PIPELINE_TEST(cases);
}

// The orders are those of a Python program of TensorFlow's algorithm (a ring with a slice for each pass, over
// Philox 4x32-10 that takes one word after the other; with reshuffling, an iterator's seeds are the next two
// words of a generator with the dataset's seeds):
//   fill while there is input, fewer than `size` are held, and after an element while there are at most 3
//   slices;
//   i = start + word % (end - start) of the first slice that has elements; give ring[i], ring[i] =
//   ring[start], start += 1
static void shuffles_follow_the_random_numbers_of_tensorflow(void **state)
{
    (void)state;
#define N(X) "int64[] " #X
    static const pipeline_case cases[] = {
        {RANGE(10) "ShuffleDataset{reshuffle_each_iteration=false}(int64[] 4; int64[] 1; int64[] 2)", "int64",
         N(3) "|" N(4) "|" N(1) "|" N(2) "|" N(7) "|" N(0) "|" N(5) "|" N(8) "|" N(9) "|" N(6) "|end", 10},
        {RANGE(6) "ShuffleDataset{reshuffle_each_iteration=false}(int64[] 100; int64[] 7; int64[] 0)",
         "int64", N(3) "|" N(1) "|" N(4) "|" N(5) "|" N(0) "|" N(2) "|end", 6},
        {RANGE(10) "ShuffleDataset(int64[] 4; int64[] 1; int64[] 2) RepeatDataset(int64[] 2)", "int64",
         N(0) "|" N(2) "|" N(1) "|" N(3) "|" N(5) "|" N(8) "|" N(6) "|" N(4) "|" N(7) "|" N(9) "|" N(3) "|" N(
             0) "|" N(2) "|" N(1) "|" N(4) "|" N(5) "|" N(6) "|" N(7) "|" N(9) "|" N(8) "|end",
         20},
        {RANGE(3) "ShuffleAndRepeatDataset(int64[] 4; int64[] 3; int64[] 4; int64[] 3)", "int64",
         N(0) "|" N(1) "|" N(2) "|" N(2) "|" N(0) "|" N(1) "|" N(1) "|" N(2) "|" N(0) "|end", 9},
        {RANGE(3) "ShuffleAndRepeatDataset(int64[] 20; int64[] 3; int64[] 4; int64[] -1)", "int64",
         N(0) "|" N(1) "|" N(2) "|" N(2) "|" N(0) "|" N(1) "|" N(1) "|" N(2) "|" N(0) "|" N(2) "|" N(0) "|" N(1) "|" N(
             2) "|" N(1) "|" N(0) "|" N(2) "|" N(0) "|" N(1) "|" N(1) "|" N(0) "|" N(2) "|" N(2) "|" N(1) "|" N(0),
         PIPELINE_INFINITE},
        {RANGE(2) "ShuffleAndRepeatDataset(int64[] 10; int64[] 5; int64[] 6; int64[] 5)", "int64",
         N(1) "|" N(0) "|" N(1) "|" N(0) "|" N(1) "|" N(0) "|" N(1) "|" N(0) "|" N(1) "|" N(0) "|end", 10},
        {RANGE(
             5) "ShuffleDataset(int64[] 4; int64[] 1; int64[] 2) ShuffleDataset(int64[] 3; int64[] 3; int64[] 4) "
                "RepeatDataset(int64[] 2)",
         "int64",
         N(1) "|" N(2) "|" N(0) "|" N(4) "|" N(3) "|" N(2) "|" N(4) "|" N(0) "|" N(3) "|" N(1) "|end", 10},
        {RANGE(0) "ShuffleAndRepeatDataset(int64[] 10; int64[] 5; int64[] 6; int64[] -1)", "int64", "end",
         PIPELINE_INFINITE},
        {"RandomDataset(int64[] 11; int64[] 22)", "int64",
         N(3205475699) "|" N(1786718780) "|" N(2454299978) "|" N(976016705) "|" N(1969843285),
         PIPELINE_INFINITE},
    };
    PIPELINE_TEST(cases);
}

// The orders are those of TensorFlow 1.15.
static void a_shuffle_is_fused_with_its_repetition(void **state)
{
    (void)state;
#define SHUFFLE RANGE(6) "ShuffleDataset(int64[] 5; int64[] 3; int64[] 1) "
#define FUSED                                                                                                \
    N(4)                                                                                                     \
    "|" N(1) "|" N(5) "|" N(0) "|" N(3) "|" N(2) "|" N(2) "|" N(3) "|" N(4) "|" N(0) "|" N(1) "|" N(5) "|end"
#define PLAIN N(2) "|" N(4) "|" N(3) "|" N(1) "|" N(5) "|" N(0)
#define PLAIN_TWICE PLAIN "|" N(3) "|" N(0) "|" N(4) "|" N(2) "|" N(5) "|" N(1) "|end"
#define ENABLED "OptimizeDataset(string[2] noop_elimination shuffle_and_repeat_fusion)"
#define V2(ENABLED_, DISABLED_)                                                                              \
    "OptimizeDatasetV2(" ENABLED_ "; " DISABLED_ "; string[1] shuffle_and_repeat_fusion)"
    static const pipeline_case cases[] = {
        {SHUFFLE "RepeatDataset(int64[] 2) PrefetchDataset(int64[] 2)" ENABLED, "int64", FUSED, 12},
        {SHUFFLE "RepeatDataset(int64[] 2) " V2("string[0]", "string[0]"), "int64", FUSED, 12},
        {SHUFFLE "RepeatDataset(int64[] 2) " V2("string[0]", "string[1] shuffle_and_repeat_fusion"), "int64",
         PLAIN_TWICE, 12},
        {SHUFFLE "RepeatDataset(int64[] 1) " ENABLED, "int64", PLAIN "|end", 6},
        {SHUFFLE "TakeDataset(int64[] -1) RepeatDataset(int64[] 2)" ENABLED, "int64", PLAIN_TWICE, 12},
        {RANGE(6) "ShuffleDataset{reshuffle_each_iteration=false}(int64[] 100; int64[] 7; int64[] 0) "
                  "RepeatDataset(int64[] 0)" ENABLED,
         "int64", "end", 0},
    };
    PIPELINE_TEST(cases);
}

static void option_datasets_change_no_element(void **state)
{
    (void)state;
    static const pipeline_case cases[] = {
        {RANGE(2) "ModelDataset()", "int64", "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(2) "OptimizeDataset(string[0])", "int64", "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(2) "OptimizeDataset(string[2] noop_elimination make_sloppy)", "int64",
         "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(2) "AssertCardinalityDataset(int64[] 2)", "int64", "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(2) "AssertCardinalityDataset(int64[] 1)", "int64",
         "int64[] 0 | FailedPrecondition: Input dataset was expected to contain 1 element but contained at least 2 "
         "elements. | end",
         1},
        {RANGE(1) "AssertCardinalityDataset(int64[] 3)", "int64",
         "int64[] 0 | FailedPrecondition: expected to contain 3 elements but contained only 1 element. | end",
         3},
        {RANGE(1) "AssertCardinalityDataset(int64[] -1)", "int64",
         "int64[] 0 | FailedPrecondition: an infinite number of elements but contained only 1 element. | end",
         PIPELINE_INFINITE},
        {RANGE(2) "AssertNextDataset(string[1] Map)", "int64", "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(1) "OptionsDataset{serialized_options=x}()", "int64", "int64[] 0 | end", 1},
        {RANGE(1) "OptimizeDatasetV2(string[0]; string[0]; string[0]) FinalizeDataset()", "int64",
         "int64[] 0 | end", 1},
        {RANGE(2) "RewriteDataset(string[] replicate_on_split)", "int64", "int64[] 0 | int64[] 1 | end", 2},
        {RANGE(1) "ExperimentalLatencyStatsDataset(string[] t)", "int64", "int64[] 0 | end", 1},
        {RANGE(1) "PrivateThreadPoolDataset(int64[] 3)", "int64", "int64[] 0 | end", 1},
        {RANGE(1) "MaxIntraOpParallelismDataset(int64[] 1) NonSerializableDataset()", "int64",
         "int64[] 0 | end", 1},
        {RANGE(5) "BatchDataset(int64[] 2) BatchDataset(int64[] 3) IgnoreErrorsDataset()", "int64", "end",
         -2},
        {RANGE(
             5) "BatchDataset(int64[] 2) PaddedBatchDataset(int64[] 1; int64[1] 1; int64[] 0) IgnoreErrorsDataset()",
         "int64", "int64[1,1] 4 | end"},
        {RANGE(4) "PrefetchDataset(int64[] 2)", "int64",
         "int64[] 0 | int64[] 1 | int64[] 2 | int64[] 3 | end", 4},
        {RANGE(4) "PrefetchDataset(int64[] 0)", "int64",
         "int64[] 0 | int64[] 1 | int64[] 2 | int64[] 3 | end", 4},
        {RANGE(4) "PrefetchDataset(int64[] -1)", "int64",
         "int64[] 0 | int64[] 1 | int64[] 2 | int64[] 3 | end", 4},
        {RANGE(
             2) "PrefetchDataset(int64[] 9) RepeatDataset(int64[] 2) PrefetchDataset(int64[] 1) PrefetchDataset(int64[] 1)",
         "int64", "int64[] 0 | int64[] 1 | int64[] 0 | int64[] 1 | end", 4},
        {RANGE(3) "BatchDataset(int64[] 2) BatchDataset(int64[] 2) PrefetchDataset(int64[] 2)", "int64",
         "InvalidArgument: Cannot batch tensors | end", 1},
        {RANGE(2) "CacheDataset(string[] \"\") RepeatDataset(int64[] 3)", "int64",
         "int64[] 0 | int64[] 1 | int64[] 0 | int64[] 1 | int64[] 0 | int64[] 1 | end", 6},
        {RANGE(3) "CacheDataset(string[] \"\") TakeDataset(int64[] 2) RepeatDataset(int64[] 2)", "int64",
         "int64[] 0 | int64[] 1 | int64[] 0 | int64[] 1 | end", 4},
    };
    PIPELINE_TEST(cases);
}

// An Example of f: [3, 4], i: [5], x: [1], as in parse_example_test.c; features are in the order of their
// names.
#define EXAMPLE                                                                                                  \
    "\\x0a*\\x0a\\x11\\x0a\\x01f\\x12\\x0c\\x12\\x0a\\x0d\\x00\\x00@@\\x0d\\x00\\x00\\x80@\\x0a\\x09\\x0a\\x01i" \
    "\\x12\\x04\\x1a\\x02\\x08\\x05\\x0a\\x0a\\x0a\\x01x\\x12\\x05\\x1a\\x03\\x0a\\x01\\x01"

static void examples_are_parsed(void **state)
{
    (void)state;
    static const pipeline_case cases[] = {
        {"TensorSliceDataset(string[3] " EXAMPLE " " EXAMPLE " " EXAMPLE ") BatchDataset(int64[] 2) "
         "ParseExampleDataset{sparse_keys=[]; dense_keys=[i,f]; sparse_types=[]; Tdense=[int64,float]; dense_shapes=[[],[2]]}"
         "(int64[] 2; int64[0]; float[0])",
         "float,int64", "float[2,2] 3 4 3 4; int64[2] 5 5 | float[1,2] 3 4; int64[1] 5 | end", 2},
        {"TensorDataset(string[2] " EXAMPLE " " EXAMPLE
         ") ExperimentalParseExampleDataset{sparse_keys=[f]; dense_keys=[i]; "
         "sparse_types=[float]; Tdense=[int64]; dense_shapes=[[]]}(int64[] -1; int64[0])",
         "variant,int64", "*; int64[2] 5 5 | end", 1},
        {"TensorDataset(string[1] " EXAMPLE
         ") ParseExampleDatasetV2{sparse_keys=[]; dense_keys=[i]; sparse_types=[]; Tdense=[int64]; "
         "dense_shapes=[[]]}(int64[] -1; int64[0])",
         "int64", "int64[1] 5 | end", 1},
        {"TensorDataset(string[2] nonsense " EXAMPLE ") ParseExampleDataset{sparse_keys=[]; dense_keys=[i]; "
         "sparse_types=[]; Tdense=[int64]; dense_shapes=[[]]}(int64[] -1; int64[0])",
         "int64", "InvalidArgument: Could not parse example input | end", 1},
    };
    PIPELINE_TEST(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
#define COMPONENTS "output_types=[int64]; output_shapes=[[]]"
    static const op_shape_case cases[] = {
        {"RangeDataset", COMPONENTS, "int64[]; int64[]; int64[]", "[]"},
        {"RangeDataset", COMPONENTS, "int64[2]; int64[]; int64[]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"TextLineDataset", NULL, "string[1,1]; string[]; int64[]",
         "InvalidArgument: Shape must be at most rank 1 but is rank 2"},
        {"TFRecordDatasetV2", NULL, "string[2]; string[]; int64[]; int64[2]", "[]"},
        {"TFRecordDatasetV2", NULL, "string[2]; string[]; int64[]; int64[2,2]",
         "InvalidArgument: Shape must be at most rank 1 but is rank 2"},
        {"TensorSliceDataset", "output_shapes=[[2]]", "int64[3,2]", "[]"},
        {"RandomDataset", COMPONENTS, "int64[]; int64[1]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"IteratorV2", "shared_name=''; container=''; output_types=[int64,float]; output_shapes=[[2,?],?]",
         "", "[]"},
        {"AnonymousIteratorV2", COMPONENTS, "", "[]; []"},
        {"OptionalNone", NULL, "", "[]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_give_their_elements),
        cmocka_unit_test(selections_keep_the_chosen_elements),
        cmocka_unit_test(sequences_join_their_inputs),
        cmocka_unit_test(batches_stack_elements),
        cmocka_unit_test(shuffles_follow_the_random_numbers_of_tensorflow),
        cmocka_unit_test(a_shuffle_is_fused_with_its_repetition),
        cmocka_unit_test(option_datasets_change_no_element),
        cmocka_unit_test(examples_are_parsed),
        cmocka_unit_test(shapes_are_inferred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
