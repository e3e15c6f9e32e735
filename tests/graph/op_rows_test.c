// Every op has test cases of every kind: values, an error, empty inputs, scalars. Reads the records of the
// tests of ops (ops/testing/op_rows.h), which run before.
#include "base/alloc.h"
#include "base/testing/test.h"
#include "op/kernel.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUTS_MAX 64

// Ops of which there can be no rows of some kinds.
typedef struct exception {
    const char *ops; // between blanks
    bool of_values, of_errors, of_empty, of_scalars;
} exception;

static const exception exceptions[] = {
    // runs only as an error: a session feeds it, or it ends the step
    {" PlaceholderV2 Abort ", .of_values = true, .of_empty = true, .of_scalars = true},
    // has no input, or does not read it: no input can be wrong
    {" AnonymousMemoryCache BoostedTreesEnsembleResourceHandleOp BoostedTreesQuantileStreamResourceHandleOp BytesInUse BytesLimit ControlTrigger DecisionTreeEnsembleResourceHandleOp DecisionTreeResourceHandleOp DeviceIndex DummyMemoryCache DummySeedGenerator ExperimentalIteratorGetDevice "
     "ExperimentalStatsAggregatorHandle FakeParam FertileStatsResourceHandleOp IteratorGetDevice MaxBytesInUse MutexV2 NoOp OptionalNone QuantileStreamResourceHandleOp StatelessRandomGetAlg "
     "StatsAccumulatorScalarResourceHandleOp StatsAccumulatorTensorResourceHandleOp StatsAggregatorHandle StatsAggregatorHandleV2 SummaryWriter SyncDevice TensorForestTreeResourceHandleOp Timestamp ",
     .of_errors = true},
    // takes tensors of any type and shape
    {" Copy CopyHost DebugGradientIdentity DeepCopy Enter Exit GetSessionHandle GetSessionHandleV2 NextIteration PreventGradient "
     "Print RandomShuffle Rank ReinterpretStringToFloat SerializeTensor Snapshot StopGradient TensorSummary ",
     .of_errors = true},
    // makes a handle that is always two strings
    {" Barrier ConditionalAccumulator FIFOQueue FixedLengthRecordReader HashTable IdentityReader LMDBReader MutableHashTable "
     "MutableHashTableOfTensors PaddingFIFOQueue PriorityQueue RandomShuffleQueue SparseConditionalAccumulator Stack TFRecordReader "
     "TextLineReader WholeFileReader ",
     .of_empty = true, .of_scalars = true},
    // takes no input or a handle, and gives scalars
    {" BoostedTreesGetEnsembleStates BoostedTreesSerializeEnsemble BytesInUse BytesLimit DatasetCardinality DeviceIndex ExperimentalDatasetCardinality ExperimentalIteratorGetDevice "
     "ExperimentalStatsAggregatorSummary FertileStatsIsInitializedOp FertileStatsSerialize GetOptions IsBoostedTreesEnsembleInitialized "
     "IsBoostedTreesQuantileStreamResourceInitialized IteratorGetDevice IteratorToStringHandle LookupTableSizeV2 MapIncompleteSize MaxBytesInUse "
     "MapSize MultiDeviceIteratorToStringHandle OptionalHasValue OrderedMapIncompleteSize OrderedMapSize QuantileAccumulatorIsInitialized QueueIsClosedV2 QueueSizeV2 "
     "ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2 ReaderReadV2 ReaderSerializeStateV2 ResourceAccumulatorNumAccumulated "
     "ResourceCountUpTo StageSize StatelessRandomGetAlg StatsAccumulatorScalarIsInitialized StatsAccumulatorTensorIsInitialized StatsAggregatorSummary TensorForestTreeIsInitializedOp TensorForestTreeSerialize TensorForestTreeSize TensorListLength Timestamp TreeEnsembleIsInitializedOp TreeEnsembleSerialize TreeEnsembleStampToken TreeIsInitializedOp TreeSerialize TreeSize ",
     .of_empty = true},
    // takes no input, or a handle or a variant beside vectors, and gives vectors
    {" BoostedTreesFlushQuantileSummaries BoostedTreesQuantileStreamResourceGetBucketBoundaries FeatureUsageCounts LookupTableExportV2 RaggedTensorFromVariant RecordInput TensorListConcat VariableShape ",
     .of_scalars = true},
};

// The kinds of cases in the rows of one op.
typedef struct shown {
    bool values, error, empty, output_scalar, output_other;
    bool scalar[INPUTS_MAX], other[INPUTS_MAX]; // of each input
} shown;

static shown *all; // [bd_op_table_len]

static int compare_names(const void *name, const void *entry)
{
    return strcmp(name, ((const bd_op_entry *)entry)->name);
}

static void read_row(const char *op, char outcome, const char *inputs, const char *outputs)
{
    const bd_op_entry *entry = bsearch(op, bd_op_table, bd_op_table_len, sizeof *entry, compare_names);
    if (!entry) return; // of a test's own
    shown *s = &all[entry - bd_op_table];
    s->values = s->values || outcome == 'V';
    s->error = s->error || outcome == 'E';
    s->empty = s->empty || strchr(inputs, 'e') || strchr(outputs, 'e');
    for (int i = 0; inputs[i] && i < INPUTS_MAX; i++) {
        s->scalar[i] = s->scalar[i] || inputs[i] == 's';
        s->other[i] = s->other[i] || inputs[i] == 'e' || inputs[i] == 'n';
    }
    s->output_scalar = s->output_scalar || strchr(outputs, 's');
    s->output_other = s->output_other || strpbrk(outputs, "en");
}

static void read_file(const char *path)
{
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char line[512];
    while (fgets(line, sizeof line, f)) {
        char *rest = line, *op = strsep(&rest, " "), *outcome = strsep(&rest, " "),
             *inputs = strsep(&rest, ";"), *outputs = strsep(&rest, "\n");
        if (!outputs) fail_msg("%s: not a row: %s", path, line);
        read_row(op, *outcome, inputs, outputs);
    }
    fclose(f);
}

static int read_rows(void **state)
{
    (void)state;
    all = bd_calloc(bd_op_table_len, sizeof *all);
    DIR *d = opendir(BD_OP_ROWS_DIR);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        if (e->d_name[0] == '.') continue;
        char *path = bd_asprintf("%s/%s", BD_OP_ROWS_DIR, e->d_name);
        read_file(path);
        bd_free(path);
    }
    closedir(d);
    return 0;
}

static int free_rows(void **state)
{
    (void)state;
    bd_free(all);
    return 0;
}

// Returns whether some input was a scalar in one row and had another shape in another, or was always a
// scalar.
static bool shows_scalars(const shown *s)
{
    bool any_scalar = false, any_other = false, both = false;
    for (int i = 0; i < INPUTS_MAX; i++) {
        any_scalar = any_scalar || s->scalar[i];
        any_other = any_other || s->other[i];
        both = both || (s->scalar[i] && s->other[i]);
    }
    if (!any_scalar && !any_other) return s->output_scalar;
    return both || !any_other;
}

// Handles and variants have no shape that rows could vary.
static bool has_shapes(const shown *s)
{
    for (int i = 0; i < INPUTS_MAX; i++)
        if (s->scalar[i] || s->other[i]) return true;
    return s->output_scalar || s->output_other;
}

static exception exception_of(const char *op)
{
    exception sum = {0};
    char *word = bd_asprintf(" %s ", op);
    for (size_t i = 0; i < BD_COUNTOF(exceptions); i++) {
        const exception *e = &exceptions[i];
        if (!e->ops || !strstr(e->ops, word)) continue;
        sum.of_values |= e->of_values;
        sum.of_errors |= e->of_errors;
        sum.of_empty |= e->of_empty;
        sum.of_scalars |= e->of_scalars;
    }
    bd_free(word);
    return sum;
}

static int gaps;

static void check(const char *op, const char *kind, bool is_shown, bool is_exception)
{
    if (is_shown != is_exception) return;
    print_message(is_shown ? "%s: need not be an exception: there are %s\n" : "%s: no %s\n", op, kind);
    gaps++;
}

static void each_kind_of_op_has_its_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < bd_op_table_len; i++) {
        const char *op = bd_op_table[i].name;
        if (op[0] == '_') continue; // made by rewrites and by partitioning, and tested there
        const shown *s = &all[i];
        const exception e = exception_of(op);
        const bool has_none = s->values && !has_shapes(s);
        check(op, "values", s->values, e.of_values);
        check(op, "errors", s->error, e.of_errors);
        check(op, "inputs without elements", s->empty || has_none, e.of_empty);
        check(op, "scalars", shows_scalars(s) || has_none, e.of_scalars);
    }
    assert_int_equal(gaps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_kind_of_op_has_its_rows, read_rows, free_rows)};
    return BD_RUN_TESTS(tests);
}
