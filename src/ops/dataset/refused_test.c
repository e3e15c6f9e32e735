// Tests of datasets with invalid arguments, in TensorFlow's words where it has some.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"

#define RANGE(N) "RangeDataset(int64[] 0; int64[] " #N "; int64[] 1) "

static void expect_refused(const char *text, const char *want)
{
    op_live *l = op_live_new();
    braid_out d = pipeline_make(l, text, "int64");
    op_live_run(l, d.op, "", want);
    op_live_free(l);
}

static void invalid_datasets_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"RangeDataset(int64[] 0; int64[] 1; int64[] 0)",
         "InvalidArgument: step must be a non-zero integer."},
        {"TensorSliceDataset(int64[] 1)", "InvalidArgument: All components must be at least 1-dimensional"},
        {"TensorSliceDataset(int64[1] 1; int64[2] 1 2)", "InvalidArgument: same size in the 0th dimension"},
        {"SparseTensorSliceDataset(int64[2,1] 1 0; float[2] 1 2; int64[1] 2)",
         "Unimplemented: must be ordered in the batch dimension"},
        {"SparseTensorSliceDataset(int64[1,1] 5; float[1] 1; int64[1] 2)",
         "InvalidArgument: is in slice 5 of 2"},
        {"SparseTensorSliceDataset(int64[0,1]; float[0]; int64[1] -1)",
         "InvalidArgument: cannot have -1 slices"},
        {"SparseTensorSliceDataset(int64[1,2] 0 0; float[1] 1; int64[1] 2)",
         "InvalidArgument: indices of shape [1,2]"},
        {"SparseTensorSliceDataset(int64[] 0; float[1] 1; int64[1] 2)",
         "InvalidArgument: Input indices should be a matrix but received shape []"},
        {"SparseTensorSliceDataset(int64[1,1] 0; float[] 1; int64[1] 2)",
         "InvalidArgument: Input values should be a vector but received shape []"},
        {"SparseTensorSliceDataset(int64[1,1] 0; float[1] 1; int64[] 2)",
         "InvalidArgument: Input shape should be a vector but received shape []"},
        {"SparseTensorSliceDataset(int64[1] 0; float[1] 1; int64[1] 2)",
         "InvalidArgument: Input indices should be a matrix but received shape [1]"},
        {RANGE(1) "BatchDataset(int64[] 0)", "InvalidArgument: Batch size must be greater than zero."},
        {RANGE(1) "ShuffleDataset(int64[] 0; int64[] 1; int64[] 1)",
         "InvalidArgument: buffer_size must be greater than zero."},
        {RANGE(1) "ShuffleAndRepeatDataset(int64[] 1; int64[] 1; int64[] 1; int64[] 0)",
         "InvalidArgument: count must be greater than zero or equal to -1."},
        {RANGE(1) "ShardDataset(int64[] 0; int64[] 0)",
         "InvalidArgument: Number of shards must be greater than zero (currently num_shards = 0)."},
        {RANGE(1) "ShardDataset(int64[] 2; int64[] 2)",
         "InvalidArgument: Index must be between 0 and 1 (currently index = 2)."},
        {RANGE(1) "AutoShardDataset(int64[] 0; int64[] 0)",
         "InvalidArgument: num_workers must be greater than zero."},
        {RANGE(1) "AutoShardDataset(int64[] 2; int64[] -1)",
         "InvalidArgument: index must be between 0 and 1"},
        {RANGE(1) "AutoShardDataset{auto_shard_policy=4}(int64[] 2; int64[] 0)",
         "InvalidArgument: auto_shard_policy 4"},
        {RANGE(1) "SleepDataset(int64[] -1)", "InvalidArgument: `sleep_microseconds` must be >= 0"},
        {RANGE(1) "PrefetchDataset(int64[] -2)", "InvalidArgument: buffer_size must be >= 0"},
        {RANGE(1) "TensorDataset(float[] 1) ConcatenateDataset()",
         "InvalidArgument: have different output_types"},
        {RANGE(1) "PaddedBatchDataset(int64[] 1; int64[0] ; float[] 0)",
         "InvalidArgument: Mismatched type between padding value 0 and input dataset's component 0: float vs. int64"},
        {RANGE(1) "PaddedBatchDataset(int64[] 1; int64[0] ; int64[0] ; int64[] 0; int64[] 0)",
         "InvalidArgument: Number of padded shapes (2)"},
        {RANGE(1) "PaddedBatchDataset(int64[] 1; int64[1] -2; int64[] 0)",
         "InvalidArgument: has the size -2"},
        {RANGE(1) "PaddedBatchDataset(int64[] 1; int64[] 3; int64[] 0)",
         "InvalidArgument: All padded shapes must be vectors"},
        {RANGE(1) "PaddedBatchDataset(int64[] 1; int64[0] ; int64[1] 0)",
         "InvalidArgument: All padding values must be scalars"},
        {RANGE(1) "PaddedBatchDatasetV2(int64[] 0; int64[0] ; int64[] 0; bool[] true)",
         "InvalidArgument: Batch size must be greater than zero."},
        {RANGE(1) "WindowDataset(int64[] 0; int64[] 1; int64[] 1; bool[] true)",
         "InvalidArgument: Window size must be greater than zero."},
        {RANGE(1) "WindowDataset(int64[] 1; int64[] 1; int64[] 0; bool[] true)",
         "InvalidArgument: Window stride must be greater than zero."},
        {RANGE(1) "FilterByLastComponentDataset()",
         "InvalidArgument: needs components besides the condition"},
        {RANGE(
             1) "ParseExampleDataset{sparse_keys=[]; dense_keys=[]; sparse_types=[]; Tdense=[]; dense_shapes=[]}(int64[] 1)",
         "InvalidArgument: is to parse no features"},
        {RANGE(1) "UnbatchDataset()", "InvalidArgument: Cannot unbatch an input with scalar components."},
        {RANGE(1) "RebatchDataset(int64[] 0)", "InvalidArgument: num_replicas must be greater than zero."},
        {RANGE(1) "RebatchDatasetV2(int64[0] ; bool[] true)", "InvalidArgument: must not be empty"},
        {RANGE(1) "RebatchDatasetV2(int64[1] -1; bool[] true)",
         "InvalidArgument: must be >= 0, but number 0 is -1"},
        {RANGE(1) "RebatchDatasetV2(int64[1,1] 1; bool[] true)",
         "InvalidArgument: `batch_sizes` must be a scalar or a vector."},
        {RANGE(1) "WindowDataset(int64[] 1; int64[] 0; int64[] 1; bool[] true)",
         "InvalidArgument: Window shift must be greater than zero."},
        {RANGE(1) "PrivateThreadPoolDataset(int64[] -1)", "InvalidArgument: `num_threads` must be >= 0"},
        {"TextLineDataset(string[] a; string[] LZ4; int64[] 0)",
         "InvalidArgument: Unsupported compression_type"},
        {"TFRecordDataset(string[] a; string[] GZIP; int64[] -1)",
         "InvalidArgument: `buffer_size` must be >= 0"},
        {"FixedLengthRecordDataset(string[] a; int64[] 0; int64[] 0; int64[] 0; int64[] 0)",
         "InvalidArgument: `record_bytes` must be > 0"},
        {"FixedLengthRecordDataset(string[] a; int64[] -1; int64[] 1; int64[] 0; int64[] 0)",
         "InvalidArgument: `header_bytes` must be >= 0"},
    };
    for (size_t i = 0; i < BD_COUNTOF(rows); i++)
        expect_refused(rows[i].text, rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_datasets_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
