// Tests of the accumulators of gradients and hessians.
#include "base/account.h"
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

static const op_case summaries[] = {
    {"StatsAccumulatorScalarMakeSummary", NULL,
     "int32[4] 1 0 1 0; int64[4,2] 2 0 5 1 2 0 7 0; float[4] 0.100000001 0.200000003 0.300000012 0.400000006; float[4] 1 2 3 4",
     "int32[3] 0 0 1; int64[3,2] 7 0 5 1 2 0; float[3] 0.400000006 0.200000003 0.400000006; float[3] 4 2 4"},
    {"StatsAccumulatorTensorMakeSummary", NULL,
     "int32[2] 1 1; int64[2,2] 2 0 2 0; float[2,2] 0.100000001 0.200000003 0.300000012 0.400000006; float[2,1,1] 1 2",
     "int32[1] 1; int64[1,2] 2 0; float[1,2] 0.400000006 0.600000024; float[1,1,1] 3"},
    {"StatsAccumulatorScalarMakeSummary", NULL, "int32[1] 0; int64[1,3] 0; float[1] 0; float[1] 0",
     "InvalidArgument: feature_ids must have shape [1,2]"},
    {"StatsAccumulatorScalarMakeSummary", NULL, "int32[0]; int64[1,2] 0; float[1] 0; float[1] 0",
     "int32[0]; int64[0,2]; float[0]; float[0]"},
    {"StatsAccumulatorScalarMakeSummary", NULL, "int32[2] 0; int64[2,2] 0; float[1] 0; float[2] 0",
     "InvalidArgument: Gradients must have 2 rows"},
    {"StatsAccumulatorTensorMakeSummary", NULL, "int32[] 0; int64[1,2] 0; float[1] 0; float[] 0",
     "InvalidArgument: partition_ids must be a vector"},
    {"StatsAccumulatorTensorMakeSummary", NULL, "int32[1] 0; int64[1,2] 0; float[1,1] 0; float[] 0",
     "InvalidArgument: Hessians must have 1 rows"},
    {"StatsAccumulatorScalarMakeSummary", NULL, "int32[] 0; int64[] 0; float[] 0; float[] 0",
     "InvalidArgument: partition_ids must be a vector"},
    {"StatsAccumulatorScalarMakeSummary", NULL, "int32[0]; int64[0,2]; float[0]; float[0]",
     "int32[0]; int64[0,2]; float[0]; float[0]"},
    {"StatsAccumulatorTensorMakeSummary", NULL, "int32[0]; int64[0,2]; float[0,2]; float[0,3]",
     "int32[0]; int64[0,2]; float[0,2]; float[0,3]"},
};

static void a_summary_adds_up_slots(void **state)
{
    (void)state;
    OP_TEST_VALUES(summaries);
}

typedef struct accumulator {
    op_live *live;
    braid_out handle;
    braid_op *create, *is_there, *add, *flush, *save, *restore;
} accumulator;

// The names of an accumulator's ops.
typedef struct op_names {
    const char *handle, *create, *is_there, *add, *flush, *save, *restore;
} op_names;

static const op_names scalar_names = {
    "StatsAccumulatorScalarResourceHandleOp",
    "CreateStatsAccumulatorScalar",
    "StatsAccumulatorScalarIsInitialized",
    "StatsAccumulatorScalarAdd",
    "StatsAccumulatorScalarFlush",
    "StatsAccumulatorScalarSerialize",
    "StatsAccumulatorScalarDeserialize",
};

static const op_names tensor_names = {
    "StatsAccumulatorTensorResourceHandleOp",
    "CreateStatsAccumulatorTensor",
    "StatsAccumulatorTensorIsInitialized",
    "StatsAccumulatorTensorAdd",
    "StatsAccumulatorTensorFlush",
    "StatsAccumulatorTensorSerialize",
    "StatsAccumulatorTensorDeserialize",
};

// A node over the handle and placeholders of the types in `letters`: i int32, f float, l int64.
static braid_op *use(const accumulator *a, const char *op, const char *attrs, const char *letters)
{
    braid_out inputs[8] = {a->handle};
    int count = 1;
    for (; *letters; letters++)
        inputs[count++] = op_live_placeholder(a->live, *letters == 'i'   ? BRAID_INT32
                                                       : *letters == 'f' ? BRAID_FLOAT
                                                                         : BRAID_INT64);
    return op_test_node(a->live->graph, op, attrs, inputs, count);
}

static accumulator new_accumulator(const op_names *names, const char *create_letters)
{
    accumulator a = {.live = op_live_new()};
    a.handle.op = op_test_node(a.live->graph, names->handle, "shared_name=e", NULL, 0);
    a.create = use(&a, names->create, NULL, create_letters);
    a.is_there = use(&a, names->is_there, NULL, "");
    a.add = use(&a, names->add, "num_resource_handles=1", "lilff");
    a.flush = use(&a, names->flush, NULL, "ll");
    a.save = use(&a, names->save, NULL, "");
    a.restore = use(&a, names->restore, NULL, "llilff");
    return a;
}

#define RUN(NODE, FEEDS, WANT) op_live_run(a.live, NODE, FEEDS, WANT)

static void numbers_are_added_by_slot(void **state)
{
    (void)state;
    accumulator a = new_accumulator(&scalar_names, "l");
    RUN(a.is_there, "", "bool[] false");
    RUN(a.save, "", "NotFound: ");
    RUN(a.create, "int64[2] 0", "InvalidArgument: stamp_token must be a scalar");
    RUN(a.create, "int64[0]", "InvalidArgument: stamp_token must be a scalar");
    RUN(a.create, "int64[] 3", "");
    RUN(a.create, "int64[] 4", "");
    RUN(a.is_there, "", "bool[] true");
    RUN(a.add, "int64[] 3; int32[3] 2 1 2; int64[3,2] 5 0 4 1 5 0; float[3] 1 2 3; float[3] 4 5 6", "");
    RUN(a.add, "int64[] 3; int32[3] 2 1 1; int64[3,2] 5 0 7 0 9 1; float[3] 10 20 30; float[3] 1 1 1", "");
    RUN(a.add, "int64[] 9; int32[1] 2; int64[1,2] 5 0; float[1] 100; float[1] 100", ""); // another stamp
    RUN(a.add, "int64[] 3; int32[1] 2; int64[1,2] 5 0; float[2] 1; float[1] 1", "InvalidArgument: Gradients");
    RUN(a.add, "int64[] 3; int32[0]; int64[0,2]; float[0]; float[0]", "");
    RUN(a.add, "int64[2] 3; int32[0]; int64[0,2]; float[0]; float[0]", "InvalidArgument: stamp_token");
    RUN(a.save, "",
        "int64[] 3; int64[] 3; int32[4] 1 1 1 2; int64[4,2] 7 0 4 1 9 1 5 0; float[4] 20 2 30 14; float[4] 1 5 1 11");
    RUN(a.flush, "int64[] 2; int64[] 4", "InvalidArgument: The stamp of the accumulator is 3");
    RUN(a.flush, "int64[] 3; int64[] 3", "InvalidArgument: The stamp of the accumulator is 3");
    RUN(a.flush, "int64[] 3; int64[] 4",
        "int64[] 3; int32[4] 1 1 1 2; int64[4,2] 7 0 4 1 9 1 5 0; float[4] 20 2 30 14; float[4] 1 5 1 11");
    RUN(a.flush, "int64[] 4; int64[] 5", "int64[] 0; int32[0]; int64[0,2]; float[0]; float[0]");
    RUN(a.restore, "int64[] 8; int64[] 2; int32[1] 1; int64[1,2] 2 0; float[1] 3; float[1] 4", "");
    RUN(a.restore, "int64[] 8; int64[] 2; int32[0]; int64[0]; float[0]; float[0]",
        "InvalidArgument: feature_ids");
    RUN(a.save, "", "int64[] 8; int64[] 2; int32[1] 1; int64[1,2] 2 0; float[1] 3; float[1] 4");
    RUN(a.restore, "int64[] 8; int64[] 0; int32[0]; int64[0,2]; float[0]; float[0]", "");
    RUN(a.save, "", "int64[] 8; int64[] 0; int32[0]; int64[0,2]; float[0]; float[0]");
    RUN(a.restore, "int64[] 8; int64[] 2; int32[] 1; int64[] 0; float[] 0; float[] 0",
        "InvalidArgument: partition_ids must be a vector");
    RUN(a.add, "int64[] 8; int32[] 1; int64[] 0; float[] 0; float[] 0",
        "InvalidArgument: partition_ids must be a vector");
    a.handle.op =
        op_test_node(a.live->graph, "DecisionTreeEnsembleResourceHandleOp", "shared_name=e", NULL, 0);
    RUN(use(&a, scalar_names.is_there, NULL, ""), "", "InvalidArgument: ");
    op_live_free(a.live);
}

static void tensors_are_added_by_slot(void **state)
{
    (void)state;
    accumulator a = new_accumulator(&tensor_names, "lll");
    RUN(a.is_there, "", "bool[] false");
    RUN(a.save, "", "NotFound: ");
    RUN(a.create, "int64[] 3; int64[1] -1; int64[1] 2",
        "InvalidArgument: per_slot_gradient_shape is not a shape");
    RUN(a.create, "int64[] 3; int64[1] 1; int64[2] 4294967296", "InvalidArgument: per_slot_hessian_shape");
    RUN(a.create, "int64[] 3; int64[] 1; int64[0]",
        "InvalidArgument: per_slot_gradient_shape must be a vector");
    RUN(a.create, "int64[] 3; int64[1] 2; int64[2] 1 2", "");
    RUN(a.is_there, "", "bool[] true");
    RUN(a.add, "int64[] 3; int32[2] 1 1; int64[2,2] 5 0 5 0; float[2,2] 1 2 3 4; float[2,1,2] 1 1 2 2", "");
    RUN(a.add, "int64[] 3; int32[1] 1; int64[1,2] 4 0; float[1,2] 7 8; float[1,1,2] 9 9", "");
    RUN(a.add, "int64[] 3; int32[1] 1; int64[1,2] 4 0; float[1,3] 7; float[1,1,2] 9 9",
        "InvalidArgument: Gradient dimensions must match: [3], [2]");
    RUN(a.add, "int64[] 3; int32[0]; int64[0,2]; float[0,2]; float[0,1,2]", "");
    RUN(a.save, "",
        "int64[] 3; int64[] 3; int32[2] 1 1; int64[2,2] 4 0 5 0; float[2,2] 7 8 4 6; float[2,1,2] 9 9 3 3");
    RUN(a.flush, "int64[] 1; int64[] 4", "InvalidArgument: The stamp of the accumulator is 3");
    RUN(a.flush, "int64[] 3; int64[] 4",
        "int64[] 3; int32[2] 1 1; int64[2,2] 4 0 5 0; float[2,2] 7 8 4 6; float[2,1,2] 9 9 3 3");
    RUN(a.flush, "int64[] 4; int64[] 5", "int64[] 0; int32[0]; int64[0,2]; float[0,2]; float[0,1,2]");
    RUN(a.restore, "int64[] 8; int64[] 2; int32[1] 1; int64[1,2] 2 0; float[1,2] 3; float[1,1,2] 4", "");
    RUN(a.restore, "int64[] 8; int64[] 2; int32[0]; int64[0]; float[0]; float[0]",
        "InvalidArgument: feature_ids");
    RUN(a.save, "", "int64[] 8; int64[] 2; int32[1] 1; int64[1,2] 2 0; float[1,2] 3; float[1,1,2] 4");
    RUN(a.restore, "int64[] 8; int64[] 0; int32[0]; int64[0,2]; float[0,2]; float[0,1,2]", "");
    RUN(a.save, "", "int64[] 8; int64[] 0; int32[0]; int64[0,2]; float[0,2]; float[0,1,2]");
    RUN(a.restore, "int64[] 8; int64[] 2; int32[] 1; int64[] 0; float[] 0; float[] 0",
        "InvalidArgument: partition_ids must be a vector");
    RUN(a.add, "int64[] 8; int32[] 1; int64[] 0; float[] 0; float[] 0",
        "InvalidArgument: partition_ids must be a vector");
    a.handle.op =
        op_test_node(a.live->graph, "DecisionTreeEnsembleResourceHandleOp", "shared_name=e", NULL, 0);
    RUN(use(&a, tensor_names.is_there, NULL, ""), "", "InvalidArgument: ");
    op_live_free(a.live);
}

// Slots have about 4000 bytes, and so have rows of the inputs.
static void what_is_too_large_for_the_client_changes_nothing(void **state)
{
    (void)state;
    accumulator a = new_accumulator(&tensor_names, "lll");
    bd_account *account = bd_account_new("c", 15000, 0);
    const bd_account_turn turn = bd_account_enter(account);
    RUN(a.create, "int64[] 3; int64[1] 1000; int64[1] 0", "");
    RUN(a.add, "int64[] 3; int32[1] 1; int64[1,2] 5 0; float[1,1000] 1; float[1,0]", "");
    RUN(a.add, "int64[] 3; int32[2] 1 2; int64[2,2] 5 0 6 0; float[2,1000] 1; float[2,0]",
        "ResourceExhausted: The accumulator");
    RUN(a.save, "", "int64[] 3; int64[] 1; int32[1] 1; int64[1,2] 5 0; float[1,1000] 1; float[1,0]");
    RUN(a.restore, "int64[] 4; int64[] 9; int32[2] 1 2; int64[2,2] 5 0 6 0; float[2,1000] 2; float[2,0]",
        "ResourceExhausted: The accumulator");
    RUN(a.save, "", "int64[] 3; int64[] 1; int32[1] 1; int64[1,2] 5 0; float[1,1000] 1; float[1,0]");
    bd_account_leave(turn);
    bd_account_unref(account);
    op_live_free(a.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_summary_adds_up_slots),
        cmocka_unit_test(numbers_are_added_by_slot),
        cmocka_unit_test(tensors_are_added_by_slot),
        cmocka_unit_test(what_is_too_large_for_the_client_changes_nothing),
    };
    return BD_RUN_TESTS(tests);
}
