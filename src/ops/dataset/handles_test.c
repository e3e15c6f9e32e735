// Tests of ops that make, use and delete iterators and related resources: errors of their nodes and handles.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include "ops/testing/pipeline.h"

#define ONE "output_types=[int64]; output_shapes=[[]]"
#define UNEVEN "output_types=[int64]; output_shapes=[[],[]]"
#define LENGTHS "InvalidArgument: `output_shapes` must be the same length as `output_types`"
#define NAMED "; shared_name=''; container=''"
#define DEVICES "; devices=[/cpu:0,/cpu:1]"

static void makers_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Iterator", ONE NAMED, "", "*"},
        {"Iterator", UNEVEN NAMED, "", LENGTHS},
        {"IteratorV2", ONE NAMED, "", "*"},
        {"IteratorV2", UNEVEN NAMED, "", LENGTHS},
        {"AnonymousIterator", ONE, "", "*"},
        {"AnonymousIterator", UNEVEN, "", LENGTHS},
        {"AnonymousIteratorV2", ONE, "", "*; *"},
        {"AnonymousIteratorV2", UNEVEN, "", LENGTHS},
        {"AnonymousIteratorV3", ONE, "", "*"},
        {"AnonymousIteratorV3", UNEVEN, "", LENGTHS},
        {"MultiDeviceIterator", ONE NAMED DEVICES, "", "*"},
        {"MultiDeviceIterator", UNEVEN NAMED DEVICES, "", LENGTHS},
        {"AnonymousMultiDeviceIterator", ONE DEVICES, "", "*; *"},
        {"AnonymousMultiDeviceIterator", UNEVEN DEVICES, "", LENGTHS},
        {"AnonymousMultiDeviceIteratorV3", ONE DEVICES, "", "*"},
        {"AnonymousMultiDeviceIteratorV3", UNEVEN DEVICES, "", LENGTHS},
        {"AnonymousMemoryCache", NULL, "", "*; *"},
        {"DummyMemoryCache", NULL, "", "*"},
        {"DummySeedGenerator", NULL, "", "*"},
        {"StatsAggregatorHandle", NULL, "", "*"},
        {"StatsAggregatorHandleV2", NULL, "", "*"},
        {"ExperimentalStatsAggregatorHandle", NULL, "", "*"},
        {"ThreadPoolHandle", "num_threads=2; display_name=p", "", "*"},
        {"ThreadPoolHandle", "num_threads=0; display_name=p", "",
         "InvalidArgument: `num_threads` must be greater than zero."},
        {"ExperimentalThreadPoolHandle", "num_threads=2; display_name=p", "", "*"},
        {"ExperimentalThreadPoolHandle", "num_threads=-1; display_name=p", "",
         "InvalidArgument: `num_threads` must be greater than zero."},
    };
    OP_TEST_VALUES(cases);
}

// The handle of a variable is of another kind.
#define OTHER "var float[] 1"
#define NO_SUCH "InvalidArgument: is a Variable, not a "

static void handles_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"IteratorGetNext", ONE, OTHER, NO_SUCH},
        {"IteratorGetNextSync", ONE, OTHER, NO_SUCH},
        {"IteratorGetNextAsOptional", ONE, OTHER, NO_SUCH},
        {"IteratorToStringHandle", NULL, OTHER, NO_SUCH},
        {"MultiDeviceIteratorToStringHandle", NULL, OTHER, NO_SUCH},
        {"SerializeIterator", NULL, OTHER, NO_SUCH},
        {"DeserializeIterator", NULL, OTHER "; variant[]", NO_SUCH},
        {"DeleteIterator", NULL, OTHER "; variant[]", NO_SUCH},
        {"DeleteMultiDeviceIterator", "N=0", OTHER "; variant[]", NO_SUCH},
        {"DeleteMemoryCache", NULL, OTHER "; variant[]", NO_SUCH},
        {"DeleteSeedGenerator", NULL, OTHER "; variant[]", NO_SUCH},
        {"DeleteRandomSeedGenerator", NULL, OTHER "; variant[]", NO_SUCH},
        {"StatsAggregatorSummary", NULL, OTHER, NO_SUCH},
        {"ExperimentalStatsAggregatorSummary", NULL, OTHER, NO_SUCH},
        {"StatsAggregatorSetSummaryWriter", NULL, OTHER "; " OTHER, NO_SUCH},
        {"MultiDeviceIteratorInit", NULL, "variant[]; " OTHER "; int64[] 1",
         "InvalidArgument: Tensor must be a Dataset object."},
        {"MultiDeviceIteratorGetNextFromShard", ONE, OTHER "; int32[0]; int64[] 1",
         "InvalidArgument: shard_num must be a scalar"},
        {"MultiDeviceIteratorGetNextFromShard", ONE, OTHER "; int32[] 1; int64[2] 1 2",
         "InvalidArgument: incarnation_id must be a scalar"},
        {"MultiDeviceIteratorGetNextFromShard", ONE, OTHER "; int32[] 1; int64[] 1", NO_SUCH},
    };
    OP_TEST_VALUES(cases);
}

static void string_handles_are_checked(void **state)
{
    (void)state;
    static const char *const ops[] = {"IteratorFromStringHandle", "IteratorFromStringHandleV2",
                                      "MultiDeviceIteratorFromStringHandle"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        const op_case cases[] = {
            {ops[i], ONE, "string[0]", "InvalidArgument: string_handle must be a scalar"},
            {ops[i], ONE, "string[2] a b", "InvalidArgument: string_handle must be a scalar"},
            {ops[i], ONE, "string[] a",
             "InvalidArgument: Could not parse string_handle as a valid ResourceHandle"},
            {ops[i], "output_types=[int64]; output_shapes=[[],[]]", "string[] a",
             "InvalidArgument: If both 'output_types' and 'output_shapes' are set, they must have the same length."},
        };
        OP_TEST_VALUES(cases);
    }
}

static braid_op *node(op_live *l, const char *op, const char *attrs, braid_out input)
{
    return op_test_node(l->graph, op, attrs, &input, 1);
}

// An element without elements, and where the iterator is, by each way to them.
static void empty_elements_pass_each_form_of_handle(void **state)
{
    (void)state;
    static const char *const attrs = "output_types=[int64]; output_shapes=[[0]]";
    op_live *l = op_live_new();
    pipeline p = pipeline_open(l, "TensorDataset(int64[0]) RepeatDataset(int64[] 9)", "int64");
    braid_out iterator = p.next->inputs[0], text = {.op = node(l, "IteratorToStringHandle", NULL, iterator)},
              first = {.op = node(l, "IteratorFromStringHandle", attrs, text)},
              second = {.op = node(l, "IteratorFromStringHandleV2", attrs, text)};
    op_live_run(l, p.make, "", "");
    op_live_run(l, node(l, "IteratorGetNext", attrs, iterator), "", "int64[0]");
    op_live_run(l, node(l, "IteratorGetNextSync", attrs, first), "", "int64[0]");
    op_live_run(l, node(l, "IteratorGetNext", attrs, second), "", "int64[0]");
    braid_out optional = {.op = node(l, "IteratorGetNextAsOptional", attrs, iterator)};
    op_live_run(l, node(l, "OptionalGetValue", attrs, optional), "", "int64[0]");
    static const char *const ops[] = {"IteratorGetDevice", "ExperimentalIteratorGetDevice"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        braid_op *device = node(l, ops[i], NULL, iterator);
        device->assigned_device = "/job:a/replica:0/task:1/device:CPU:0";
        op_live_run(l, device, "", "string[] /job:a/replica:0/task:1/device:CPU:0");
    }
    op_live_free(l);
}

static void a_deleted_generator_is_not_found(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_out in[] = {op_live_const(l, "int64[] 1"), op_live_const(l, "int64[] 1"),
                      op_live_const(l, "bool[] true")};
    braid_op *made = op_test_node(l->graph, "AnonymousSeedGenerator", NULL, in, 3);
    op_live_run(l,
                op_test_node(l->graph, "DeleteSeedGenerator", NULL, (braid_out[]){{made, 0}, {made, 1}}, 2),
                "", "");
    op_live_free(l);
}

// Elements may have any components, but need at least one.
static void no_components_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"TensorDataset", "Toutput_types=[]; output_shapes=[[]]", "",
         "InvalidArgument: Length for attr 'Toutput_types' of 0 must be at least minimum 1"},
        {"TensorSliceDataset", "Toutput_types=[]; output_shapes=[[]]", "",
         "InvalidArgument: Length for attr 'Toutput_types' of 0 must be at least minimum 1"},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makers_follow_the_definition),
        cmocka_unit_test(handles_follow_the_definition),
        cmocka_unit_test(string_handles_are_checked),
        cmocka_unit_test(empty_elements_pass_each_form_of_handle),
        cmocka_unit_test(a_deleted_generator_is_not_found),
        cmocka_unit_test(no_components_follow_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
