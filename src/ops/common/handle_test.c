// Tests of errors for handles of missing resources and of resources of another kind: queues, barriers,
// readers, stacks, tables, accumulators, tensor arrays, mutexes.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

// An op whose first input is a handle, and its other inputs.
typedef struct handle_case {
    const char *op, *attrs, *inputs;
} handle_case;

#define ONE_INT "component_types=[int32]"
#define KEY_VALUE "; int64[1] 1; float[1] 2"
#define TAKEN "Tkeys=int64; Tvalues=float"
#define FLOAT "dtype=float"

// Handles that are references to two strings, container and name.
static const handle_case of_names[] = {
    {"QueueEnqueue", NULL, "; int32[] 1"},
    {"QueueEnqueueMany", NULL, "; int32[1] 1"},
    {"QueueDequeue", ONE_INT, ""},
    {"QueueDequeueMany", ONE_INT, "; int32[] 1"},
    {"QueueDequeueUpTo", ONE_INT, "; int32[] 1"},
    {"QueueClose", NULL, ""},
    {"QueueSize", NULL, ""},
    {"QueueIsClosed", NULL, ""},
    {"BarrierInsertMany", "component_index=0", "; string[1] a; float[1] 1"},
    {"BarrierTakeMany", "component_types=[float]", "; int32[] 1"},
    {"BarrierClose", NULL, ""},
    {"BarrierReadySize", NULL, ""},
    {"BarrierIncompleteSize", NULL, ""},
    {"AccumulatorSetGlobalStep", NULL, "; int64[] 1"},
    {"AccumulatorNumAccumulated", NULL, ""},
    {"AccumulatorApplyGradient", NULL, "; int64[] 1; float[] 1"},
    {"AccumulatorTakeGradient", FLOAT, "; int32[] 1"},
    {"SparseAccumulatorApplyGradient", "has_known_shape=true",
     "; int64[] 1; int64[1] 0; float[1] 1; int64[1] 2"},
    {"SparseAccumulatorTakeGradient", FLOAT, "; int32[] 1"},
    {"ReaderNumRecordsProduced", NULL, ""},
    {"ReaderNumWorkUnitsCompleted", NULL, ""},
    {"ReaderSerializeState", NULL, ""},
    {"ReaderRestoreState", NULL, "; string[] a"},
    {"ReaderReset", NULL, ""},
    {"ReaderRead", NULL, "; ref string[2] b queue"},
    {"ReaderReadUpTo", NULL, "; ref string[2] b queue; int64[] 1"},
    {"LookupTableFind", NULL, "; int64[1] 1; float[] 0"},
    {"LookupTableInsert", NULL, KEY_VALUE},
    {"LookupTableImport", NULL, KEY_VALUE},
    {"LookupTableExport", TAKEN, ""},
    {"LookupTableSize", NULL, ""},
    {"InitializeTable", NULL, KEY_VALUE},
    {"InitializeTableFromTextFile", "key_index=-2; value_index=-1", "; string[] file"},
    {"StackPush", NULL, "; float[] 1"},
    {"StackPop", "elem_type=float", ""},
    {"StackClose", NULL, ""},
    {"TensorArrayWrite", NULL, "; int32[] 0; float[] 1; float[] 0"},
    {"TensorArrayRead", FLOAT, "; int32[] 0; float[] 0"},
    {"TensorArrayPack", FLOAT, "; float[] 0"},
    {"TensorArrayUnpack", NULL, "; float[1] 1; float[] 0"},
    {"TensorArrayGather", FLOAT, "; int32[1] 0; float[] 0"},
    {"TensorArrayScatter", NULL, "; int32[1] 0; float[1] 1; float[] 0"},
    {"TensorArrayConcat", FLOAT, "; float[] 0"},
    {"TensorArraySplit", NULL, "; float[1] 1; int64[1] 1; float[] 0"},
    {"TensorArraySize", NULL, "; float[] 0"},
    {"TensorArrayClose", NULL, ""},
};

// Handles that are two strings by value.
static const handle_case of_strings[] = {
    {"TensorArrayGrad", "source=s", "; float[] 0"},
    {"TensorArrayGradV2", "source=s", "; float[] 0"},
    {"TensorArrayWriteV2", NULL, "; int32[] 0; float[] 1; float[] 0"},
    {"TensorArrayReadV2", FLOAT, "; int32[] 0; float[] 0"},
    {"TensorArrayGatherV2", FLOAT, "; int32[1] 0; float[] 0"},
    {"TensorArrayScatterV2", NULL, "; int32[1] 0; float[1] 1; float[] 0"},
    {"TensorArrayConcatV2", FLOAT, "; float[] 0"},
    {"TensorArraySplitV2", NULL, "; float[1] 1; int64[1] 1; float[] 0"},
    {"TensorArraySizeV2", NULL, "; float[] 0"},
    {"TensorArrayCloseV2", NULL, ""},
};

static const handle_case of_resources[] = {
    {"QueueEnqueueV2", NULL, "; int32[] 1"},
    {"QueueEnqueueManyV2", NULL, "; int32[1] 1"},
    {"QueueDequeueV2", ONE_INT, ""},
    {"QueueDequeueManyV2", ONE_INT, "; int32[] 1"},
    {"QueueDequeueUpToV2", ONE_INT, "; int32[] 1"},
    {"QueueCloseV2", NULL, ""},
    {"QueueSizeV2", NULL, ""},
    {"QueueIsClosedV2", NULL, ""},
    {"ResourceAccumulatorSetGlobalStep", NULL, "; int64[] 1"},
    {"ResourceAccumulatorNumAccumulated", NULL, ""},
    {"ResourceAccumulatorApplyGradient", NULL, "; int64[] 1; float[] 1"},
    {"ResourceAccumulatorTakeGradient", FLOAT, "; int32[] 1"},
    {"ReaderNumRecordsProducedV2", NULL, ""},
    {"ReaderNumWorkUnitsCompletedV2", NULL, ""},
    {"ReaderSerializeStateV2", NULL, ""},
    {"ReaderRestoreStateV2", NULL, "; string[] a"},
    {"ReaderResetV2", NULL, ""},
    {"ReaderReadV2", NULL, "; var float[1] 1"},
    {"ReaderReadUpToV2", NULL, "; var float[1] 1; int64[] 1"},
    {"LookupTableFindV2", NULL, "; int64[1] 1; float[] 0"},
    {"LookupTableInsertV2", NULL, KEY_VALUE},
    {"LookupTableImportV2", NULL, KEY_VALUE},
    {"LookupTableRemoveV2", NULL, "; int64[1] 1"},
    {"LookupTableExportV2", TAKEN, ""},
    {"LookupTableSizeV2", NULL, ""},
    {"InitializeTableV2", NULL, KEY_VALUE},
    {"InitializeTableFromTextFileV2", "key_index=-2; value_index=-1", "; string[] file"},
    {"StackPushV2", NULL, "; float[] 1"},
    {"StackPopV2", "elem_type=float", ""},
    {"StackCloseV2", NULL, ""},
    {"TensorArrayGradV3", "source=s", "; float[] 0"},
    {"TensorArrayGradWithShape", "source=s", "; float[] 0; int32[1] 1"},
    {"TensorArrayWriteV3", NULL, "; int32[] 0; float[] 1; float[] 0"},
    {"TensorArrayReadV3", FLOAT, "; int32[] 0; float[] 0"},
    {"TensorArrayGatherV3", FLOAT, "; int32[1] 0; float[] 0"},
    {"TensorArrayScatterV3", NULL, "; int32[1] 0; float[1] 1; float[] 0"},
    {"TensorArrayConcatV3", FLOAT, "; float[] 0"},
    {"TensorArraySplitV3", NULL, "; float[1] 1; int64[1] 1; float[] 0"},
    {"TensorArraySizeV3", NULL, "; float[] 0"},
    {"TensorArrayCloseV3", NULL, ""},
    {"MutexLock", NULL, ""},
};

typedef struct bad_handle {
    const char *handle, *want;
} bad_handle;

static void check(const handle_case *cases, size_t count, const bad_handle *handles, size_t handle_count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < handle_count; k++) {
            bd_strbuf inputs = {0};
            bd_strbuf_appendf(&inputs, "%s%s", handles[k].handle, cases[i].inputs);
            op_case c = {.op = cases[i].op,
                         .attrs = cases[i].attrs,
                         .inputs = bd_strbuf_str(&inputs),
                         .want = handles[k].want};
            op_test_values(&c, 1);
            bd_strbuf_fini(&inputs);
        }
    }
}
#define CHECK(CASES, HANDLES) check(CASES, BD_COUNTOF(CASES), HANDLES, BD_COUNTOF(HANDLES))

static void a_reference_to_two_strings_names_a_resource(void **state)
{
    (void)state;
    static const bad_handle handles[] = {
        {"ref string[2] box thing", "NotFound: Resource box/thing/"},
        {"ref string[] box", "InvalidArgument: Resource handle must have 2 elements, but had shape: []"},
        {"ref string[0] empty", "InvalidArgument: Resource handle must have 2 elements, but had shape: [0]"},
        {"ref string[3] a b c", "InvalidArgument: Resource handle must have 2 elements, but had shape: [3]"},
        {"ref string[2]", "InvalidArgument: is no handle of a "},
    };
    CHECK(of_names, handles);
}

static void two_strings_name_a_resource(void **state)
{
    (void)state;
    static const bad_handle handles[] = {
        {"string[2] box thing", "NotFound: Resource box/thing/"},
        {"string[] box", "InvalidArgument: is no handle of a "},
        {"string[0]", "InvalidArgument: is no handle of a "},
        {"string[3] a b c", "InvalidArgument: is no handle of a "},
    };
    CHECK(of_strings, handles);
}

static void a_handle_is_of_a_kind_of_resource(void **state)
{
    (void)state;
    static const bad_handle handles[] = {{"var float[1] 1", "InvalidArgument: is a Variable, not a "}};
    CHECK(of_resources, handles);
}

// ---- Names ----

#define STORED "key_dtype=int64; value_dtype=float; "
#define QUEUED "component_types=[int32]; shapes=[[]]; "
#define READER_SIZES "record_bytes=4; "

// Ops that make a resource, which programs may name.
static const handle_case sources[] = {
    {"FIFOQueue", QUEUED, ""},
    {"FIFOQueueV2", QUEUED, ""},
    {"RandomShuffleQueue", QUEUED, ""},
    {"RandomShuffleQueueV2", QUEUED, ""},
    {"PaddingFIFOQueue", QUEUED, ""},
    {"PaddingFIFOQueueV2", QUEUED, ""},
    {"PriorityQueue", QUEUED, ""},
    {"PriorityQueueV2", QUEUED, ""},
    {"Barrier", "component_types=[float]; ", ""},
    {"ConditionalAccumulator", "dtype=float; shape=[]; ", ""},
    {"ResourceConditionalAccumulator", "dtype=float; shape=[]; ", ""},
    {"SparseConditionalAccumulator", "dtype=float; shape=[2]; ", ""},
    {"WholeFileReader", "", ""},
    {"WholeFileReaderV2", "", ""},
    {"TextLineReader", "", ""},
    {"TextLineReaderV2", "", ""},
    {"FixedLengthRecordReader", READER_SIZES, ""},
    {"FixedLengthRecordReaderV2", READER_SIZES, ""},
    {"TFRecordReader", "", ""},
    {"TFRecordReaderV2", "", ""},
    {"IdentityReader", "", ""},
    {"IdentityReaderV2", "", ""},
    {"HashTable", STORED, ""},
    {"HashTableV2", STORED, ""},
    {"MutableHashTable", STORED, ""},
    {"MutableHashTableV2", STORED, ""},
    {"MutableHashTableOfTensors", STORED "value_shape=[2]; ", ""},
    {"MutableHashTableOfTensorsV2", STORED "value_shape=[2]; ", ""},
    {"MutableDenseHashTable", "value_dtype=float; ", "int64[] 0"},
    {"MutableDenseHashTableV2", "value_dtype=float; ", "int64[] 0; int64[] -1"},
};

static braid_op *source_node(op_live *l, const handle_case *s, const char *name)
{
    braid_out in[2];
    int count = 0;
    bd_strbuf attrs = {0};
    bd_strbuf_appendf(&attrs, "%sshared_name=%s", s->attrs, name);
    const char *rest = s->inputs, *piece;
    size_t len;
    while (*s->inputs && bd_split_next(&rest, ';', &piece, &len)) {
        char *text = bd_strndup(piece, len);
        in[count++] = op_live_const(l, text + strspn(text, " "));
        bd_free(text);
    }
    braid_op *node = op_test_node(l->graph, s->op, bd_strbuf_str(&attrs), in, count);
    bd_strbuf_fini(&attrs);
    return node;
}

// Each kind of resource has its own names.
static void a_name_may_be_of_several_kinds(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_out value = op_live_const(l, "float[] 1");
    for (size_t i = 0; i < BD_COUNTOF(sources); i++) {
        char *attrs = bd_asprintf("dtype=float; shape=[]; shared_name=%s", sources[i].op);
        braid_out in[2] = {{op_test_node(l->graph, "VarHandleOp", attrs, NULL, 0), 0}, value};
        op_live_run(l, op_test_node(l->graph, "AssignVariableOp", NULL, in, 2), "", "");
        op_live_run(l, source_node(l, &sources[i], sources[i].op), "", "*");
        op_live_run(l, op_test_node(l->graph, "ReadVariableOp", "dtype=float", in, 1), "", "float[] 1");
        bd_free(attrs);
    }
    op_live_free(l);
}

// Creating a resource again with other options is an error.
static void of_one_kind_a_name_is_of_one_resource(void **state)
{
    (void)state;
    static const struct {
        const char *family, *want;
        handle_case rival;
    } rivals[] = {
        {"Queue",
         "InvalidArgument: Shared queue",
         {"FIFOQueueV2", "component_types=[string]; shapes=[[]]; ", ""}},
        {"Table",
         "InvalidArgument: Conflicting key/value dtypes",
         {"HashTableV2", "key_dtype=string; value_dtype=string; ", ""}},
        {"Barrier", "InvalidArgument: Shared barrier", {"Barrier", "component_types=[string]; ", ""}},
        {"Accumulator",
         "InvalidArgument: Shared accumulator",
         {"ConditionalAccumulator", "dtype=double; shape=[3]; ", ""}},
        {"WholeFileReader", "InvalidArgument: Shared reader", {"IdentityReaderV2", "", ""}},
        {"Reader", "InvalidArgument: Shared reader", {"WholeFileReaderV2", "", ""}},
    };
    op_live *l = op_live_new();
    for (size_t i = 0; i < BD_COUNTOF(sources); i++) {
        size_t k = 0;
        while (!strstr(sources[i].op, rivals[k].family))
            k++;
        op_live_run(l, source_node(l, &rivals[k].rival, sources[i].op), "", "*");
        op_live_run(l, source_node(l, &sources[i], sources[i].op), "", rivals[k].want);
    }
    op_live_free(l);
}

// Handles of the second kind go to ops of the first.
static void a_fake_queue_needs_a_handle(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"FakeQueue", NULL, "float[] 1", "InvalidArgument: "},
        {"FakeQueue", NULL, "float[0]", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reference_to_two_strings_names_a_resource),
        cmocka_unit_test(two_strings_name_a_resource),
        cmocka_unit_test(a_handle_is_of_a_kind_of_resource),
        cmocka_unit_test(a_name_may_be_of_several_kinds),
        cmocka_unit_test(of_one_kind_a_name_is_of_one_resource),
        cmocka_unit_test(a_fake_queue_needs_a_handle),
    };
    return BD_RUN_TESTS(tests);
}
