// Tests of look-up tables: lookups, initialization, changes, sharing, files. Expected values follow
// TensorFlow 1.15's documentation of tf.lookup.
#include "base/alloc.h"
#include "base/random.h"
#include "base/testing/test.h"
#include "io/file.h"
#include "io/testing/temp_dir.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include <stdio.h>

typedef struct table_nodes {
    op_live *live;
    braid_op *find, *insert, *import, *remove, *size, *export, *initialize;
} table_nodes;

static braid_op *user(op_live *l, const char *op, braid_out table, braid_dtype a, braid_dtype b)
{
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    braid_op_input(d, table);
    if (a) braid_op_input(d, op_live_placeholder(l, a));
    if (b) braid_op_input(d, op_live_placeholder(l, b));
    if (strstr(op, "Export")) {
        braid_op_attr_type(d, "Tkeys", BRAID_INT64);
        braid_op_attr_type(d, "Tvalues", BRAID_FLOAT);
    }
    return braid_op_end(d);
}

static table_nodes nodes_of(op_live *l, braid_out table, bool v2, braid_dtype key, braid_dtype value)
{
    table_nodes n = {.live = l};
    n.find = user(l, v2 ? "LookupTableFindV2" : "LookupTableFind", table, key, value);
    n.insert = user(l, v2 ? "LookupTableInsertV2" : "LookupTableInsert", table, key, value);
    n.import = user(l, v2 ? "LookupTableImportV2" : "LookupTableImport", table, key, value);
    n.initialize = user(l, v2 ? "InitializeTableV2" : "InitializeTable", table, key, value);
    if (v2) n.remove = user(l, "LookupTableRemoveV2", table, key, 0);
    n.size = user(l, v2 ? "LookupTableSizeV2" : "LookupTableSize", table, 0, 0);
    if (key == BRAID_INT64 && value == BRAID_FLOAT)
        n.export = user(l, v2 ? "LookupTableExportV2" : "LookupTableExport", table, 0, 0);
    BD_STATUS(st);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return n;
}

static braid_op_desc *begin_source(op_live *l, const char *op, braid_dtype key, braid_dtype value)
{
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    braid_op_attr_type(d, "key_dtype", key);
    braid_op_attr_type(d, "value_dtype", value);
    return d;
}

static table_nodes table(op_live *l, const char *op, braid_dtype key, braid_dtype value)
{
    return nodes_of(l, braid_op_end_out(begin_source(l, op, key, value)), strstr(op, "V2") != NULL, key,
                    value);
}

#define RUN(NODE, FEEDS, WANT) op_live_run(n.live, n.NODE, FEEDS, WANT)

// ---- Filled once ----

static void check_filled_once(const char *op)
{
    op_live *l = op_live_new();
    table_nodes n = table(l, op, BRAID_STRING, BRAID_INT64);
    RUN(size, "", "int64[] 0");
    RUN(find, "string[1] a; int64[] -1", "FailedPrecondition: Table not initialized.");
    RUN(initialize, "string[3] a b ''; int64[3] 10 20 30", "");
    RUN(find, "string[2,2] b a nobody ''; int64[] -1", "int64[2,2] 20 10 -1 30");
    RUN(find, "string[] b; int64[] -1", "int64[] 20");
    RUN(find, "string[0]; int64[] -1", "int64[0]");
    RUN(size, "", "int64[] 3");
    RUN(initialize, "string[3] a b ''; int64[3] 10 20 30", "");
    RUN(initialize, "string[1] a; int64[1] 10",
        "FailedPrecondition: Table was already initialized with different data.");
    RUN(insert, "string[1] a; int64[1] 10", "Unimplemented: Insert not supported");
    RUN(find, "string[1] a; int64[1] -1", "InvalidArgument: Expected shape [] for default value, got [1]");
    op_live_free(l);
}

static void a_hash_table_is_filled_once(void **state)
{
    (void)state;
    check_filled_once("HashTableV2");
    check_filled_once("HashTable");
}

// As TensorFlow's front end has done it since 1.12, with LookupTableImport.
static void a_hash_table_is_filled_by_importing(void **state)
{
    (void)state;
    static const char *const ops[] = {"HashTableV2", "HashTable"};
    for (int i = 0; i < 2; i++) {
        op_live *l = op_live_new();
        table_nodes n = table(l, ops[i], BRAID_STRING, BRAID_INT64);
        RUN(import, "string[0]; int64[0]", "InvalidArgument: keys and values cannot be empty tensors.");
        RUN(import, "string[2] a b; int64[1] 1", "InvalidArgument: Expected shape [2] for value, got [1]");
        RUN(import, "string[2] a b; int64[2] 10 20", "");
        RUN(find, "string[3] b a nobody; int64[] -1", "int64[3] 20 10 -1");
        RUN(import, "string[2] a b; int64[2] 10 20", "");
        RUN(import, "string[1] a; int64[1] 10",
            "FailedPrecondition: Table was already initialized with different data.");
        op_live_free(l);
        l = op_live_new();
        n = table(l, ops[i], BRAID_STRING, BRAID_INT64);
        RUN(import, "string[2,2] a b c d; int64[2,2] 1 2 3 4", "");
        RUN(find, "string[2] d a; int64[] -1", "int64[2] 4 1");
        op_live_free(l);
    }
}

static void a_key_has_one_value(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    table_nodes n = table(l, "HashTableV2", BRAID_INT64, BRAID_FLOAT);
    RUN(initialize, "int64[3] 1 2 1; float[3] 5 6 7",
        "FailedPrecondition: HashTable has different value for same key. Key 1 has 5 and trying to add value 7");
    RUN(size, "", "int64[] 0");
    RUN(initialize, "int64[3] 1 2 1; float[3] 5 6 5", "");
    RUN(find, "int64[3] 1 2 3; float[] 0.5", "float[3] 5 6 0.5");
    op_live_free(l);
}

static void mismatched_arguments_are_refused(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    table_nodes n = table(l, "HashTableV2", BRAID_INT64, BRAID_FLOAT);
    RUN(export, "", "Aborted: HashTable is not initialized.");
    RUN(initialize, "int64[] 1; float[1] 5", "InvalidArgument: Keys must be a vector");
    RUN(initialize, "int64[1] 1; float[1,1] 5", "InvalidArgument: Values must be a vector");
    RUN(initialize, "int64[0]; float[0]", "InvalidArgument: keys and values cannot be empty tensors.");
    RUN(initialize, "int64[2] 1 2; float[1] 5",
        "InvalidArgument: Keys and values must have the same size 2 vs 1");
    n.find = user(l, "LookupTableFindV2", n.find->inputs[0], BRAID_INT32, BRAID_FLOAT);
    RUN(find, "int32[1] 1; float[] 0", "InvalidArgument: Signature mismatch: the keys of table");
    n = table(l, "MutableHashTableV2", BRAID_INT64, BRAID_FLOAT);
    RUN(initialize, "int64[1] 1; float[1] 5", "InvalidArgument: is not initializable");
    braid_op_desc *d = braid_op_begin(l->graph, "LookupTableImportV2", NULL);
    braid_op_input(d, n.find->inputs[0]);
    braid_op_input(d, op_live_const(l, "int64[3] 1 2 3"));
    braid_op_input(d, op_live_const(l, "float[2] 1 2"));
    braid_op_end(d);
    BD_STATUS(st);
    braid_graph_status(l->graph, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Dimension 0 in both shapes must be equal, but are 3 and 2");
    op_live_free(l);
}

// ---- Mutable ----

static void check_mutable(const char *op, bool removes)
{
    op_live *l = op_live_new();
    table_nodes n = table(l, op, BRAID_INT64, BRAID_FLOAT);
    RUN(find, "int64[1] 1; float[] -1", "float[1] -1");
    RUN(insert, "int64[2,1] 1 2; float[2,1] 10 20", "");
    RUN(insert, "int64[2] 2 3; float[2] 21 30", "");
    RUN(find, "int64[4] 1 2 3 4; float[] -1", "float[4] 10 21 30 -1");
    RUN(insert, "int64[2] 2 3; float[] 21", "InvalidArgument: Expected shape [2] for value, got []");
    RUN(initialize, "int64[1] 1; float[1] 10", "InvalidArgument: ");
    if (removes) RUN(remove, "int64[2] 1 7", "");
    if (removes) RUN(find, "int64[3] 1 2 3; float[] -1", "float[3] -1 21 30");
    if (removes) RUN(remove, "int64[] 2", "");
    if (removes) RUN(remove, "int64[0]", "");
    if (removes) RUN(find, "int64[2] 2 3; float[] -1", "float[2] -1 30");
    RUN(import, "int64[1] 9; float[1] 90", "");
    RUN(export, "", "int64[1] 9; float[1] 90");
    RUN(size, "", "int64[] 1");
    RUN(import, "int64[] 8; float[] 80", "");
    RUN(find, "int64[] 8; float[] -1", "float[] 80");
    RUN(find, "int64[] 8; float[0]", "InvalidArgument: Expected shape [] for default value, got [0]");
    RUN(insert, "int64[0]; float[0]", "");
    RUN(insert, "int64[] 7; float[] 70", "");
    RUN(insert, "int64[0]; float[1] 1", "InvalidArgument: Expected shape [0] for value, got [1]");
    RUN(size, "", "int64[] 2");
    RUN(import, "int64[0]; float[0]", "");
    RUN(export, "", "int64[0]; float[0]");
    op_live_free(l);
}

static void a_mutable_table_changes(void **state)
{
    (void)state;
    check_mutable("MutableHashTableV2", true);
    check_mutable("MutableHashTable", false);
}

static void rows_stay_right_however_they_move(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    table_nodes n = table(l, "MutableHashTableV2", BRAID_STRING, BRAID_STRING);
    int64_t model[40]; // -1: not there
    memset(model, -1, sizeof model);
    bd_rng rng = bd_rng_init(3);
    for (int step = 0; step < 600; step++) {
        const int key = (int)(bd_rng_next(&rng) % BD_COUNTOF(model));
        char text[96];
        if (bd_rng_next(&rng) % 3) {
            model[key] = step;
            snprintf(text, sizeof text, "string[1] key%d; string[1] value%d", key, step);
            RUN(insert, text, "");
        } else {
            model[key] = -1;
            snprintf(text, sizeof text, "string[1] key%d", key);
            RUN(remove, text, "");
        }
    }
    for (size_t key = 0; key < BD_COUNTOF(model); key++) {
        char text[96], want[96];
        snprintf(text, sizeof text, "string[] key%zu; string[] none", key);
        if (model[key] < 0)
            snprintf(want, sizeof want, "string[] none");
        else
            snprintf(want, sizeof want, "string[] value%lld", (long long)model[key]);
        RUN(find, text, want);
    }
    op_live_free(l);
}

// ---- Of tensors ----

static void values_may_be_vectors(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    for (int v2 = 0; v2 < 2; v2++) {
        const char *op = v2 ? "MutableHashTableOfTensorsV2" : "MutableHashTableOfTensors";
        braid_op_desc *d = begin_source(l, op, BRAID_INT64, BRAID_FLOAT);
        braid_op_attr_shape(d, "value_shape", bd_shape1(2));
        table_nodes n = nodes_of(l, braid_op_end_out(d), v2, BRAID_INT64, BRAID_FLOAT);
        RUN(insert, "int64[2] 1 2; float[2,2] 1 2 3 4", "");
        RUN(find, "int64[3] 2 5 1; float[2] 0 -1", "float[3,2] 3 4 0 -1 1 2");
        RUN(insert, "int64[2] 1 2; float[2] 1 2", "InvalidArgument: Expected shape [2,2] for value, got [2]");
        RUN(find, "int64[1] 2; float[] 0", "InvalidArgument: Expected shape [2] for default value, got []");
    }
    table_nodes n = table(l, "MutableHashTableOfTensorsV2", BRAID_INT64, BRAID_FLOAT);
    RUN(size, "", "InvalidArgument: Default value must be a vector, got shape []");
    op_live_free(l);
}

static void a_dense_table_may_have_vectors_as_keys(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op_desc *d = begin_source(l, "MutableDenseHashTableV2", BRAID_INT64, BRAID_FLOAT);
    braid_op_input(d, op_live_const(l, "int64[2] 0 0"));
    braid_op_input(d, op_live_const(l, "int64[2] -1 -1"));
    table_nodes n = nodes_of(l, braid_op_end_out(d), true, BRAID_INT64, BRAID_FLOAT);
    RUN(insert, "int64[2,2] 0 1 1 0; float[2] 5 6", "");
    RUN(find, "int64[3,2] 1 0 0 1 1 1; float[] -1", "float[3] 6 5 -1");
    RUN(insert, "int64[2,2] 4 4 0 0; float[2] 1 2",
        "InvalidArgument: Using the empty_key as a table key is not allowed");
    RUN(remove, "int64[1,2] -1 -1", "InvalidArgument: Using the deleted_key as a table key is not allowed");
    RUN(find, "int64[1,3] 1 0 0; float[] -1",
        "InvalidArgument: Input key shape [1,3] must end with the table's key shape [2]");
    RUN(remove, "int64[1,2] 0 1", "");
    RUN(size, "", "int64[] 1");
    RUN(find, "int64[2,2] 1 0 0 1; float[] -1", "float[2] 6 -1");
    op_live_free(l);
}

static table_nodes dense_of_numbers(op_live *l, int64_t buckets, const char *empty, const char *deleted)
{
    braid_op_desc *d = begin_source(l, "MutableDenseHashTableV2", BRAID_INT64, BRAID_FLOAT);
    braid_op_input(d, op_live_const(l, empty));
    braid_op_input(d, op_live_const(l, deleted));
    braid_op_attr_int(d, "initial_num_buckets", buckets);
    return nodes_of(l, braid_op_end_out(d), true, BRAID_INT64, BRAID_FLOAT);
}

// Key k of a table of numbers belongs into bucket k modulo the number of buckets, then into the 1st, 3rd,
// 6th, ... after it.
static void a_dense_table_is_exported_in_buckets(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    table_nodes n = dense_of_numbers(l, 4, "int64[] 100", "int64[] 200");
    RUN(export, "", "int64[4,1] 100 100 100 100; float[4,1] 0 0 0 0");
    RUN(insert, "int64[2] 1 5; float[2] 10 50", "");
    RUN(export, "", "int64[4,1] 100 1 5 100; float[4,1] 0 10 50 0");
    RUN(insert, "int64[2] 9 4; float[2] 90 40", ""); // more than 4 * 0.8 keys: 8 buckets
    RUN(export, "", "int64[8,1] 100 1 9 100 4 5 100 100; float[8,1] 0 10 90 0 40 50 0 0");
    RUN(insert, "int64[1,2] 1 2; float[1,2] 1 2", "InvalidArgument: Expected key shape [1] got [1,2]");
    op_live_free(l);
}

static void a_dense_table_takes_columns_of_keys(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    table_nodes n = dense_of_numbers(l, 4, "int64[] 100", "int64[] 200");
    RUN(insert, "int64[2,1] 1 5; float[2,1] 10 50", "");
    RUN(export, "", "int64[4,1] 100 1 5 100; float[4,1] 0 10 50 0");
    RUN(find, "int64[3,1,1] 5 7 1; float[] -1", "float[3,1,1] 50 -1 10");
    RUN(insert, "int64[2,1] 1 5; float[2] 10 50", "InvalidArgument: Expected shape [2,1] for value, got [2]");
    op_live_free(l);
}

// The content of a checkpoint: buckets, some empty and some deleted.
static void buckets_are_imported_into_a_dense_table(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    table_nodes n = dense_of_numbers(l, 8, "int64[] 100", "int64[] 200");
    RUN(insert, "int64[1] 7; float[1] 7", "");
    RUN(import, "int64[4,1] 100 1 5 200; float[4,1] 0 10 50 20", "");
    RUN(size, "", "int64[] 2");
    RUN(find, "int64[3] 7 1 5; float[] -1", "float[3] -1 10 50");
    RUN(export, "", "int64[4,1] 100 1 5 100; float[4,1] 0 10 50 0");
    RUN(import, "int64[2] 1 5; float[2] 10 50",
        "InvalidArgument: Expected keys of shape [buckets,1], got [2]");
    RUN(import, "int64[2,1] 1 5; float[2] 10 50", "InvalidArgument: Expected shape [2,1] for value, got [2]");
    op_live_free(l);
}

static void bad_dense_tables_are_refused(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    table_nodes n = dense_of_numbers(l, 6, "int64[] 1", "int64[] 2");
    RUN(size, "", "InvalidArgument: Number of buckets must be at least 4 and a power of 2, got: 6");
    n = dense_of_numbers(l, 4, "int64[] 1", "int64[] 1");
    RUN(size, "", "InvalidArgument: Empty and deleted keys cannot be equal");
    n = dense_of_numbers(l, (int64_t)1 << 40, "int64[] 1", "int64[] 2");
    RUN(export, "", "ResourceExhausted: ");
    op_live_free(l);
}

static void keys_that_are_never_in_a_dense_table(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MutableDenseHashTable", "value_dtype=float; value_shape=[1,1]", "int64[] 0",
         "InvalidArgument: Empty value must be a scalar or a vector, got shape [1,1]"},
        {"MutableDenseHashTable", "value_dtype=float", "int64[0]",
         "InvalidArgument: Empty key must be a scalar or a vector, got shape [0]"},
        {"MutableDenseHashTable", "value_dtype=float", "int64[1,1] 0",
         "InvalidArgument: Empty key must be a scalar or a vector, got shape [1,1]"},
        {"MutableDenseHashTableV2", "value_dtype=float", "int64[0]; int64[0]",
         "InvalidArgument: Empty key must be a scalar or a vector, got shape [0]"},
        {"MutableDenseHashTableV2", "value_dtype=float", "int64[] 0; int64[1] 1",
         "InvalidArgument: Empty and deleted keys must have same shape, got shapes: [] and [1]"},
    };
    OP_TEST_VALUES(cases);
}

static void a_dense_table_of_strings(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op_desc *d = begin_source(l, "MutableDenseHashTable", BRAID_STRING, BRAID_STRING);
    braid_op_input(d, op_live_const(l, "string[2] '' ''"));
    table_nodes n = nodes_of(l, braid_op_end_out(d), false, BRAID_STRING, BRAID_STRING);
    RUN(insert, "string[2,2] a bc ab c; string[2] first second", "");
    RUN(find, "string[3,2] ab c a bc abc ''; string[] none", "string[3] second first none");
    op_live_free(l);
}

// ---- Sharing ----

static void tables_are_shared_by_name(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    table_nodes nodes[2];
    for (int i = 0; i < 2; i++) {
        braid_op_desc *d = begin_source(l, "MutableHashTableV2", BRAID_INT64, BRAID_FLOAT);
        braid_op_attr_string(d, "shared_name", "both");
        nodes[i] = nodes_of(l, braid_op_end_out(d), true, BRAID_INT64, BRAID_FLOAT);
    }
    op_live_run(l, nodes[0].insert, "int64[1] 1; float[1] 2", "");
    op_live_run(l, nodes[1].find, "int64[1] 1; float[] 0", "float[1] 2");
    braid_op_desc *d = begin_source(l, "MutableHashTableV2", BRAID_INT64, BRAID_INT64);
    braid_op_attr_string(d, "shared_name", "both");
    table_nodes n = nodes_of(l, braid_op_end_out(d), true, BRAID_INT64, BRAID_INT64);
    RUN(size, "",
        "InvalidArgument: Conflicting key/value dtypes int64->int64 with int64-float for table both");
    op_live_free(l);
}

static void a_table_may_be_shared_by_the_name_of_its_node(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_op_desc *d = braid_op_begin(l->graph, "MutableHashTableV2", "by_node");
    braid_op_attr_type(d, "key_dtype", BRAID_INT64);
    braid_op_attr_type(d, "value_dtype", BRAID_FLOAT);
    braid_op_attr_bool(d, "use_node_name_sharing", true);
    table_nodes a = nodes_of(l, braid_op_end_out(d), true, BRAID_INT64, BRAID_FLOAT);
    d = begin_source(l, "MutableHashTableV2", BRAID_INT64, BRAID_FLOAT);
    braid_op_attr_string(d, "shared_name", "by_node");
    table_nodes b = nodes_of(l, braid_op_end_out(d), true, BRAID_INT64, BRAID_FLOAT);
    op_live_run(l, a.insert, "int64[1] 1; float[1] 2", "");
    op_live_run(l, b.find, "int64[1] 1; float[] 0", "float[1] 2");
    op_live_free(l);
}

// ---- Files ----

typedef struct file_case {
    const char *content;
    braid_dtype key, value;
    int key_index, value_index, vocab_size;
    const char *find, *want; // or, without `find`, the error
    int offset;
} file_case;

static void check_file(const char *path, const file_case *f, bool v2)
{
    BD_STATUS(st);
    bd_file_write_atomic(bd_fs_current, path, f->content, strlen(f->content), st);
    assert_ok(st);
    op_live *l = op_live_new();
    braid_out source = braid_op_end_out(begin_source(l, v2 ? "HashTableV2" : "HashTable", f->key, f->value));
    table_nodes n = nodes_of(l, source, v2, f->key, f->value);
    braid_op_desc *d =
        braid_op_begin(l->graph, v2 ? "InitializeTableFromTextFileV2" : "InitializeTableFromTextFile", NULL);
    braid_op_input(d, source);
    braid_op_input(d, op_live_placeholder(l, BRAID_STRING));
    braid_op_attr_int(d, "key_index", f->key_index);
    braid_op_attr_int(d, "value_index", f->value_index);
    braid_op_attr_int(d, "vocab_size", f->vocab_size);
    braid_op_attr_string(d, "delimiter", ",");
    if (f->offset) braid_op_attr_int(d, "offset", f->offset);
    n.initialize = braid_op_end(d);
    char *feed = bd_asprintf("string[] %s", path);
    RUN(initialize, "string[0]", "InvalidArgument: filename");
    RUN(initialize, "string[2] a b", "InvalidArgument: filename");
    RUN(initialize, feed, f->find ? "" : f->want);
    if (f->find) RUN(find, f->find, f->want);
    if (f->find && f->key_index < 0) { // another file changes no entry and is not an error
        bd_file_write_atomic(bd_fs_current, path, "1\n", 2, st);
        assert_ok(st);
        if (f->vocab_size < 0) RUN(initialize, feed, "");
        RUN(find, f->find, f->want);
    }
    bd_free(feed);
    op_live_free(l);
}

static void a_table_is_filled_from_a_file(void **state)
{
    (void)state;
    static const file_case cases[] = {
        {"a\nb\nc\n", BRAID_STRING, BRAID_INT64, -2, -1, -1, "string[3] c a d; int64[] -1",
         "int64[3] 2 0 -1"},
        {"a\nb\nc", BRAID_INT64, BRAID_STRING, -1, -2, -1, "int64[3] 2 0 7; string[] none",
         "string[3] c a none"},
        {"x,1,p\ny,2,q\n", BRAID_STRING, BRAID_INT64, 0, 1, -1, "string[2] y x; int64[] -1", "int64[2] 2 1"},
        {"a\nb\n", BRAID_STRING, BRAID_INT64, -2, -1, -1, "string[2] b a; int64[] -1", "int64[2] 11 10", 10},
        {"x,1\ny,2\n", BRAID_STRING, BRAID_INT32, 0, 1, -1, "string[2] y x; int32[] -1", "int32[2] 12 11",
         10},
        {"x,1\ny,2\n", BRAID_STRING, BRAID_INT64, 0, 1, -1, "string[2] y x; int64[] -1", "int64[2] 2 1", 10},
        {"x,1,p\ny,2.5,q\n", BRAID_STRING, BRAID_FLOAT, 2, 1, -1, "string[2] q p; float[] -1",
         "float[2] 2.5 1"},
        {"a\nb\nc\n", BRAID_STRING, BRAID_INT64, -2, -1, 2, "string[3] c a b; int64[] -1", "int64[3] -1 0 1"},
        {"7\n5\n", BRAID_INT64, BRAID_INT64, -2, -1, -1, "int64[2] 5 7; int64[] -1", "int64[2] 1 0"},
        {"a\nb\n", BRAID_STRING, BRAID_INT64, -2, -1, 3, NULL, "InvalidArgument: expected 3 but got 2"},
        {"x,1\ny\n", BRAID_STRING, BRAID_INT64, 0, 1, -1, NULL,
         "InvalidArgument: Invalid number of columns in"},
        {"x,1\ny,z\n", BRAID_STRING, BRAID_INT64, 0, 1, -1, NULL, "InvalidArgument: Field z in line 2"},
        {"a\n", BRAID_STRING, BRAID_FLOAT, -2, -1, -1, NULL,
         "InvalidArgument: Value index for line number requires table value dtype of int64, got float"},
        {"a\na\n", BRAID_STRING, BRAID_INT64, -2, -1, -1, NULL,
         "FailedPrecondition: HashTable has different value for same key. Key a has 0 and trying to add value 1"},
    };
    char *dir = bd_temp_dir_new(), *path = bd_path_join(dir, "vocabulary");
    for (size_t i = 0; i < BD_COUNTOF(cases); i++)
        for (int v2 = 0; v2 < 2; v2++)
            check_file(path, &cases[i], v2);
    bd_free(path);
    bd_temp_dir_free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hash_table_is_filled_once),
        cmocka_unit_test(a_hash_table_is_filled_by_importing),
        cmocka_unit_test(a_key_has_one_value),
        cmocka_unit_test(mismatched_arguments_are_refused),
        cmocka_unit_test(a_mutable_table_changes),
        cmocka_unit_test(rows_stay_right_however_they_move),
        cmocka_unit_test(values_may_be_vectors),
        cmocka_unit_test(a_dense_table_may_have_vectors_as_keys),
        cmocka_unit_test(a_dense_table_is_exported_in_buckets),
        cmocka_unit_test(a_dense_table_takes_columns_of_keys),
        cmocka_unit_test(buckets_are_imported_into_a_dense_table),
        cmocka_unit_test(bad_dense_tables_are_refused),
        cmocka_unit_test(keys_that_are_never_in_a_dense_table),
        cmocka_unit_test(a_dense_table_of_strings),
        cmocka_unit_test(tables_are_shared_by_name),
        cmocka_unit_test(a_table_may_be_shared_by_the_name_of_its_node),
        cmocka_unit_test(a_table_is_filled_from_a_file),
    };
    return BD_RUN_TESTS(tests);
}
