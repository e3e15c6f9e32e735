// Datasets that leave elements out or put them together otherwise: samples, unique elements, sliding windows,
// sparse batches, lists. The elements were worked out by plain Python.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"

#define RANGE(N) "RangeDataset(int64[] 0; int64[] " #N "; int64[] 1) "

static void samples_follow_the_random_numbers_of_tensorflow(void **state)
{
    (void)state;
    static const pipeline_case cases[] = {
        // where the low 23 bits of the next word of Philox 4x32-10 with key 3 and counter 4 << 64, as a
        // fraction, are below 0.5
        {RANGE(20) "SamplingDataset(float[] 0.5; int64[] 3; int64[] 4)", "int64",
         "int64[] 1 | int64[] 6 | int64[] 8 | int64[] 9 | int64[] 10 | int64[] 13 | int64[] 15 | int64[] 16 | int64[] 17 | end",
         -2},
        {RANGE(3) "SamplingDataset(float[] 0; int64[] 3; int64[] 4)", "int64", "end", -2},
        {RANGE(2) "SamplingDataset(float[] 1; int64[] 0; int64[] 0)", "int64", "int64[] 0 | int64[] 1 | end"},
        {"TensorSliceDataset(int64[6] 1 2 1 3 2 1) UniqueDataset()", "int64",
         "int64[] 1 | int64[] 2 | int64[] 3 | end"},
        {"TensorSliceDataset(int32[3,2] 1 2 2 1 1 2) ExperimentalUniqueDataset()", "int32",
         "int32[2] 1 2 | int32[2] 2 1 | end"},
        {"TensorSliceDataset(string[2,2] a bc ab c) UniqueDataset() RepeatDataset(int64[] 2)", "string",
         "string[2] a bc | string[2] ab c | string[2] a bc | string[2] ab c | end"},
        {RANGE(0) "UniqueDataset()", "int64", "end", -2},
    };
    PIPELINE_TEST(cases);
}

static void sliding_windows_overlap(void **state)
{
    (void)state;
    static const pipeline_case cases[] = {
        {RANGE(5) "SlidingWindowDataset(int64[] 2; int64[] 1; int64[] 1)", "int64",
         "int64[2] 0 1 | int64[2] 1 2 | int64[2] 2 3 | int64[2] 3 4 | end", 5},
        {RANGE(10) "ExperimentalSlidingWindowDataset(int64[] 2; int64[] 4; int64[] 2)", "int64",
         "int64[2] 0 2 | int64[2] 4 6 | end", 2},
        {RANGE(5) "SlidingWindowDataset(int64[] 6; int64[] 1; int64[] 1)", "int64", "end", 5},
        {RANGE(5) "BatchDataset(int64[] 2) SlidingWindowDataset(int64[] 2; int64[] 1; int64[] 1)", "int64",
         "int64[2,2] 0 1 2 3 | InvalidArgument: Cannot batch tensors with different shapes in component 0. First "
         "element had shape [2] and element 1 had shape [1]. | end",
         3},
        {RANGE(5) "BatchDataset(int64[] 2) DenseToSparseBatchDataset(int64[] 3; int64[1] 4)", "variant",
         "* | end", 1},
        {RANGE(5) "ExperimentalDenseToSparseBatchDataset(int64[] 3; int64[1] -1)", "variant",
         "InvalidArgument: that is incompatible with the row shape | InvalidArgument: incompatible", 2},
        {RANGE(5) "BatchDataset(int64[] 2) DenseToSparseBatchDataset(int64[] 3; int64[1] 1)", "variant",
         "DataLoss: that is larger than the row shape | DataLoss: larger | * | end", 1},
    };
    PIPELINE_TEST(cases);
}

// The three parts of a batch: [0, 1], [2, 3], [4] with rows of up to 4.
static void a_sparse_batch_has_indices_and_values(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_out d = pipeline_make(
        l, RANGE(5) "BatchDataset(int64[] 2) DenseToSparseBatchDataset(int64[] 3; int64[1] 4)", "variant");
    pipeline p = pipeline_over(l, d, "variant");
    op_live_run(l, p.make, "", "");
    braid_op_desc *desc = braid_op_begin(l->graph, "DeserializeSparse", NULL);
    braid_op_input(desc, (braid_out){.op = p.next});
    braid_op_attr_type(desc, "dtype", BRAID_INT64);
    op_live_run(l, braid_op_end_out(desc).op, "",
                "int64[5,2] 0 0 0 1 1 0 1 1 2 0; int64[5] 0 1 2 3 4; int64[2] 3 4");
    op_live_free(l);
}

static void lists_give_their_elements(void **state)
{
    (void)state;
    static const pipeline_case cases[] = {
        {"ListDataset(int64[] 7; int64[] 8; int64[] 9)", "int64", "int64[] 7 | int64[] 8 | int64[] 9 | end",
         3},
        {"ListDataset(int64[] 7; int64[2] 8 9; int64[] 1; int64[1] 3)", "int64,int64",
         "int64[] 7; int64[2] 8 9 | int64[] 1; int64[1] 3 | end", 2},
        {"ListDataset(int64[0]; int64[0])", "int64", "int64[0] | int64[0] | end", 2},
        {"WindowOp(float[0,2])", "float", "float[0,2] | end", 1},
        {"WindowOp(float[] 1; float[] 2)", "float", "float[] 1 | float[] 2 | end", 2},
    };
    PIPELINE_TEST(cases);
}

static void invalid_datasets_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {RANGE(1) RANGE(1) "ZipDataset() UniqueDataset()",
         "InvalidArgument: UniqueDataset only supports inputs with a single component."},
        {"TensorDataset(float[] 1) UniqueDataset()",
         "InvalidArgument: `tf.int32`, `tf.int64`, or `tf.string`"},
        {RANGE(1) "SlidingWindowDataset(int64[] 0; int64[] 1; int64[] 1)",
         "InvalidArgument: Window size must be greater than zero."},
        {RANGE(1) "SlidingWindowDataset(int64[] 1; int64[] 0; int64[] 1)",
         "InvalidArgument: Window shift must be greater than zero."},
        {RANGE(1) "SlidingWindowDataset(int64[] 1; int64[] 1; int64[] -1)",
         "InvalidArgument: window_stride must be greater than zero."},
        {RANGE(1) "SlidingWindowDataset(int64[] 9223372036854775807; int64[] 1; int64[] 3)",
         "InvalidArgument: is too large"},
        {RANGE(1) "DenseToSparseBatchDataset(int64[] 0; int64[0])",
         "InvalidArgument: Batch size must be greater than zero."},
        {RANGE(1) "DenseToSparseBatchDataset(int64[] 1; int64[1] -2)", "InvalidArgument: must be >= -1"},
        {RANGE(1) RANGE(1) "ZipDataset() DenseToSparseBatchDataset(int64[] 1; int64[0])",
         "InvalidArgument: only supports inputs with a single component."},
        {"ListDataset(float[] 1)", "InvalidArgument: expected int64 but got float"},
        {"WindowOp(float[] 1)", "InvalidArgument: expected int64 but got float"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++) {
        op_live *l = op_live_new();
        braid_out d = pipeline_make(l, rows[i].text, "int64");
        op_live_run(l, d.op, "", rows[i].want);
        op_live_free(l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_follow_the_random_numbers_of_tensorflow),
        cmocka_unit_test(sliding_windows_overlap),
        cmocka_unit_test(a_sparse_batch_has_indices_and_values),
        cmocka_unit_test(lists_give_their_elements),
        cmocka_unit_test(invalid_datasets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
