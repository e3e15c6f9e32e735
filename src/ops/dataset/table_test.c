// Tests of a table that is filled from a dataset.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"

#define TABLE "key_dtype=string; value_dtype=int64"
#define PAIRS "TensorSliceDataset(string[3] a b c; int64[3] 1 2 3) "

static void expect(const char *table, const char *attrs, const char *text, const char *types,
                   const char *want, const char *found)
{
    op_live *l = op_live_new();
    braid_out handle = {.op = op_test_node(l->graph, table, attrs, NULL, 0)},
              in[] = {handle, pipeline_make(l, text, types)},
              find[] = {handle, op_live_const(l, "string[2] b z"), op_live_const(l, "int64[] -1")};
    braid_op *fill = op_test_node(l->graph, "InitializeTableFromDataset", NULL, in, 2);
    op_live_run(l, fill, "", want);
    if (!*want) op_live_run(l, fill, "", ""); // the same once more
    if (found) op_live_run(l, op_test_node(l->graph, "LookupTableFindV2", NULL, find, 3), "", found);
    op_live_free(l);
}

static void a_dataset_fills_a_table(void **state)
{
    (void)state;
    expect("HashTableV2", TABLE, PAIRS, "string,int64", "", "int64[2] 2 -1");
    expect("HashTableV2", TABLE, PAIRS "BatchDataset(int64[] 2)", "string,int64", "", "int64[2] 2 -1");
    expect("HashTableV2", TABLE, PAIRS "TakeDataset(int64[] 0)", "string,int64", "", "int64[2] -1 -1");
    expect("HashTableV2", TABLE, "TensorDataset(string[0,2]; int64[0,2])", "string,int64", "",
           "int64[2] -1 -1");
    expect("HashTableV2", TABLE, "TensorSliceDataset(string[2] b b; int64[2] 5 5)", "string,int64", "",
           "int64[2] 5 -1");
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const char *const not_filled = "FailedPrecondition: Table not initialized";
    expect("HashTableV2", TABLE, "TensorDataset(string[] a)", "string",
           "InvalidArgument: Dataset should have two output types only", NULL);
    expect("HashTableV2", TABLE, "TensorDataset(int64[] 1; int64[] 1)", "int64,int64",
           "InvalidArgument: Key dtype expected: string but obtained: int64 from the dataset", not_filled);
    expect("HashTableV2", TABLE, "TensorDataset(string[] a; float[] 1)", "string,float",
           "InvalidArgument: Value dtype expected: int64 but obtained: float from the dataset", not_filled);
    expect("HashTableV2", TABLE, "TensorDataset(string[2] a b; int64[1] 1)", "string,int64",
           "InvalidArgument: keys and values of an element have shapes [2] and [1]", not_filled);
    expect("HashTableV2", TABLE, "TensorSliceDataset(string[2] b b; int64[2] 5 6)", "string,int64",
           "FailedPrecondition: HashTable has different value for same key", not_filled);
    expect("HashTableV2", TABLE, PAIRS "BatchDataset(int64[] 2) BatchDataset(int64[] 2)", "string,int64",
           "InvalidArgument: Cannot batch tensors with different shapes", not_filled);
    expect("MutableHashTableV2", TABLE, PAIRS, "string,int64", "InvalidArgument: is not initializable", NULL);
}

static void handles_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"InitializeTableFromDataset", NULL, "var float[] 1; variant[]",
         "InvalidArgument: is a Variable, not a LookupTable"},
    };
    OP_TEST_VALUES(cases);
    op_live *l = op_live_new();
    braid_out in[] = {{.op = op_test_node(l->graph, "HashTableV2", TABLE, NULL, 0)},
                      {.op = op_test_node(l->graph, "OptionalNone", NULL, NULL, 0)}};
    op_live_run(l, op_test_node(l->graph, "InitializeTableFromDataset", NULL, in, 2), "",
                "InvalidArgument: Tensor must be a Dataset object.");
    op_live_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_fills_a_table),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(handles_follow_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
