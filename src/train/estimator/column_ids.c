// Categorical columns: the nodes that make lists of ids from features, and that look ids up in tables.
#include "base/alloc.h"
#include "base/array.h"
#include "base/strbuf.h"
#include "train/common/build.h"
#include "train/estimator/columns.h"
#include <braid/scaffold.h>
#include <stdio.h>
#include <string.h>

#define HASH_KEY_DEFAULT 0xDECAFCAFFEull // TensorFlow's, of crossed columns

const braid_named_tensor *train_feature_of(const train_features_list *f, const char *key)
{
    bd_strbuf names = {0};
    for (int i = 0; i < f->count; i++) {
        if (strcmp(f->items[i].name, key) == 0) {
            bd_strbuf_fini(&names);
            return &f->items[i];
        }
        bd_strbuf_appendf(&names, "%s'%s'", i ? ", " : "", f->items[i].name);
    }
    braid_graph_fail(f->graph, BRAID_NOT_FOUND, "A feature column needs the feature '%s'; the input has %s",
                     key, names.len ? bd_strbuf_str(&names) : "none");
    bd_strbuf_fini(&names);
    return NULL;
}

static braid_out none(void)
{
    return (braid_out){NULL, 0};
}

static bool is_integer(braid_dtype dtype)
{
    return dtype == BRAID_INT32 || dtype == BRAID_INT64;
}

// ---- Features as lists ----

static braid_out rows_of(braid_graph *g, braid_out x)
{
    return braid_out_shape(x).rank == 1 ? braid_expand_dims(g, x, 1) : x;
}

// A dense feature as a list of what it holds; -1 and "" are left out, in another column `drops` says.
static braid_sparse list_of_dense(braid_graph *g, braid_out x, bool drops)
{
    x = rows_of(g, x);
    const braid_dtype dtype = braid_out_dtype(x);
    braid_out kept;
    if (!drops)
        kept = braid_equal(g, x, x);
    else if (dtype == BRAID_STRING)
        kept = braid_not_equal(g, x, braid_const_string(g, "ignore_value", ""));
    else
        kept = braid_not_equal(g, x, braid_const_number(g, "ignore_value", dtype, -1));
    const braid_out indices = braid_where_true(g, kept);
    return (braid_sparse){.indices = indices,
                          .values = braid_gather_nd(g, x, indices),
                          .dense_shape = braid_cast(g, braid_shape_of(g, x), BRAID_INT64)};
}

static braid_sparse list_of(const train_features_list *f, const char *key)
{
    const braid_named_tensor *feature = train_feature_of(f, key);
    if (!feature) return (braid_sparse){.values = none()};
    if (!feature->indices.op) return list_of_dense(f->graph, feature->values, true);
    return (braid_sparse){feature->indices, feature->values, feature->dense_shape};
}

static bool check_dtype(braid_graph *g, const braid_feature_column *c, braid_out values)
{
    const braid_dtype dtype = braid_out_dtype(values);
    if (!values.op || dtype == c->dtype || (is_integer(dtype) && is_integer(c->dtype))) return values.op;
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                     "The column of feature '%s' takes %s, and the feature is of %s", c->key,
                     braid_dtype_name(c->dtype), braid_dtype_name(dtype));
    return false;
}

// ---- Ids of values ----

// Values out of range fail the lookup that uses them, unless the column has a default.
static braid_out identity_ids(braid_graph *g, const braid_feature_column *c, braid_out values)
{
    values = braid_cast(g, values, BRAID_INT64);
    if (!c->has_default) return values;
    const braid_out low = braid_less(g, values, braid_const_int64(g, NULL, 0));
    const braid_out high = braid_greater_equal(g, values, braid_const_int64(g, NULL, c->size));
    const braid_out fill = braid_mul(g, braid_ones_like(g, values),
                                     braid_const_int64(g, "default_value", (int64_t)c->default_value));
    return braid_where(g, braid_logical_or(g, low, high), fill, values);
}

static braid_out hash_ids(braid_graph *g, braid_out values, int64_t buckets)
{
    if (braid_out_dtype(values) != BRAID_STRING) values = train_node1(g, "AsString", NULL, values);
    braid_op_desc *d = braid_op_begin(g, "StringToHashBucketFast", "hash_bucket");
    braid_op_input(d, values);
    braid_op_attr_int(d, "num_buckets", buckets);
    return braid_op_end_out(d);
}

static braid_out new_table(braid_graph *g, const braid_feature_column *c)
{
    char *name = bd_asprintf("%s_table", braid_op_name(braid_no_op(g, "lookup")));
    braid_op_desc *d = braid_op_begin(g, "HashTableV2", "hash_table");
    braid_op_attr_type(d, "key_dtype", c->dtype == BRAID_STRING ? BRAID_STRING : BRAID_INT64);
    braid_op_attr_type(d, "value_dtype", BRAID_INT64);
    braid_op_attr_string(d, "shared_name", name);
    bd_free(name);
    return braid_op_end_out(d);
}

static void collect_initializer(braid_graph *g, braid_op *op)
{
    if (op) braid_collect(g, BRAID_TABLE_INITIALIZERS, (braid_out){op, 0});
}

static braid_out table_of_list(braid_graph *g, const braid_feature_column *c)
{
    const int64_t size = braid_tensor_num_elements(c->vocabulary);
    braid_tensor *places = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(size), NULL);
    for (int64_t i = 0; i < size; i++)
        ((int64_t *)braid_tensor_data(places))[i] = i;
    const braid_out table = new_table(g, c), keys = braid_const(g, "keys", c->vocabulary);
    const braid_out inputs[] = {table, braid_cast(g, keys, c->dtype == BRAID_INT32 ? BRAID_INT64 : c->dtype),
                                braid_const(g, "values", places)};
    collect_initializer(g, braid_op_add(g, "InitializeTableV2", NULL, inputs, 3));
    braid_tensor_free(places);
    return table;
}

static braid_out table_of_file(braid_graph *g, const braid_feature_column *c, int64_t size)
{
    const braid_out table = new_table(g, c);
    const braid_out path = braid_const_string(g, "asset_filepath", c->vocabulary_file);
    braid_collect(g, BRAID_ASSET_FILEPATHS, path);
    braid_op_desc *d = braid_op_begin(g, "InitializeTableFromTextFileV2", NULL);
    braid_op_input(d, table);
    braid_op_input(d, path);
    braid_op_attr_int(d, "key_index", -2);   // the whole line
    braid_op_attr_int(d, "value_index", -1); // the number of the line
    braid_op_attr_int(d, "vocab_size", size);
    collect_initializer(g, braid_op_end(d));
    return table;
}

static int64_t count_lines(braid_graph *g, const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        braid_graph_fail(g, BRAID_NOT_FOUND, "The vocabulary file '%s' cannot be read", path);
        return 0;
    }
    int64_t lines = 0;
    int last = '\n';
    for (int c; (c = getc(file)) != EOF; last = c)
        lines += c == '\n';
    fclose(file);
    return lines + (last != '\n');
}

static braid_out look_up(braid_graph *g, const braid_feature_column *c, braid_out table, braid_out values,
                         int64_t size)
{
    if (c->dtype != BRAID_STRING) values = braid_cast(g, values, BRAID_INT64);
    const int64_t fallback = c->has_default && !c->num_oov_buckets ? (int64_t)c->default_value : -1;
    const braid_out ids =
        train_node3(g, "LookupTableFindV2", NULL, table, values, braid_const_int64(g, NULL, fallback));
    if (!c->num_oov_buckets) return ids;
    const braid_out hashed = hash_ids(g, values, c->num_oov_buckets);
    const braid_out other = braid_add(g, hashed, braid_const_int64(g, NULL, size));
    return braid_where(g, braid_less(g, ids, braid_const_int64(g, NULL, 0)), other, ids);
}

braid_out train_vocabulary_places(braid_graph *g, const braid_tensor *vocabulary, braid_out values)
{
    const braid_feature_column c = {.dtype = braid_tensor_dtype(vocabulary), .vocabulary = vocabulary};
    return look_up(g, &c, table_of_list(g, &c), values, braid_tensor_num_elements(vocabulary));
}

static train_ids vocabulary_ids(braid_graph *g, const braid_feature_column *c, braid_sparse list)
{
    const bool is_file = c->kind == BRAID_COLUMN_VOCABULARY_FILE;
    const int64_t size = is_file && !c->size ? count_lines(g, c->vocabulary_file) : c->size;
    const braid_out table = is_file ? table_of_file(g, c, size) : table_of_list(g, c);
    list.values = look_up(g, c, table, list.values, size);
    return (train_ids){.ids = list, .buckets = size + c->num_oov_buckets};
}

// ---- Buckets of numbers ----

braid_out train_numeric_values(const train_features_list *f, const braid_feature_column *c)
{
    const braid_named_tensor *feature = train_feature_of(f, c->key);
    if (!feature) return none();
    if (feature->indices.op || braid_out_dtype(feature->values) == BRAID_STRING) {
        braid_graph_fail(f->graph, BRAID_INVALID_ARGUMENT,
                         "A numeric column takes numbers, and the feature '%s' is %s", c->key,
                         feature->indices.op ? "sparse" : "of strings");
        return none();
    }
    braid_out x = braid_cast(f->graph, feature->values, BRAID_FLOAT);
    x = braid_reshape(f->graph, x, BRAID_SHAPE(-1, c->size));
    return c->normalizer ? c->normalizer(f->graph, x) : x;
}

braid_out train_column_buckets(const train_features_list *f, const braid_feature_column *c)
{
    if (c->source->kind != BRAID_COLUMN_NUMERIC)
        braid_graph_fail(f->graph, BRAID_INVALID_ARGUMENT, "A bucketized column is made of a numeric one");
    braid_op_desc *d = braid_op_begin(f->graph, "Bucketize", NULL);
    braid_op_input(d, train_numeric_values(f, c->source));
    braid_op_attr_float_list(d, "boundaries", c->boundaries, c->boundary_count);
    return braid_op_end_out(d);
}

// The number i of an example has the buckets from i times those of one number on.
static train_ids bucket_ids(const train_features_list *f, const braid_feature_column *c)
{
    braid_graph *g = f->graph;
    braid_out ids = braid_cast(g, train_column_buckets(f, c), BRAID_INT64);
    braid_tensor *offsets = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(c->source->size), NULL);
    for (int64_t i = 0; offsets && i < c->source->size; i++)
        ((int64_t *)braid_tensor_data(offsets))[i] = i * (c->boundary_count + 1);
    ids = braid_add(g, ids, braid_const(g, "offsets", offsets));
    braid_tensor_free(offsets);
    return (train_ids){.ids = list_of_dense(g, ids, false), .buckets = c->size};
}

// ---- Crosses ----

typedef BD_ARRAY(braid_sparse) sparse_list;

static void collect_leaves(const train_features_list *f, const braid_feature_column *c, sparse_list *leaves)
{
    for (int i = 0; i < c->crossed_count; i++) {
        const braid_feature_column *leaf = c->crossed[i];
        const bool is_raw = leaf->kind == BRAID_COLUMN_HASH_BUCKET && !leaf->size;
        if (leaf->kind == BRAID_COLUMN_CROSSED)
            collect_leaves(f, leaf, leaves);
        else if (leaf->kind == BRAID_COLUMN_HASH_BUCKET && !is_raw)
            braid_graph_fail(f->graph, BRAID_INVALID_ARGUMENT,
                             "The column of '%s' is hashed and cannot be crossed, because its ids collide. "
                             "Cross the feature as it is (braid_raw_column)",
                             leaf->key);
        else if (is_raw)
            bd_array_push(leaves, list_of(f, leaf->key));
        else
            bd_array_push(leaves, train_column_ids(f, leaf).ids);
    }
}

// int64 or strings, as the op takes them. Returns the type in which it combines them: that of all values, or
// int64 for integers and hashes of strings.
static braid_dtype widen(braid_graph *g, sparse_list *leaves)
{
    braid_dtype common = BRAID_STRING;
    for (size_t i = 0; i < leaves->len; i++) {
        if (braid_out_dtype(leaves->items[i].values) == BRAID_STRING) continue;
        leaves->items[i].values = braid_cast(g, leaves->items[i].values, BRAID_INT64);
        common = BRAID_INT64;
    }
    return common;
}

static braid_op *cross(braid_graph *g, const sparse_list *leaves, const braid_feature_column *c,
                       braid_dtype internal_type)
{
    BD_ARRAY(braid_out) parts[3] = {0};
    BD_ARRAY(braid_dtype) dtypes = {0};
    for (size_t i = 0; i < leaves->len; i++) {
        bd_array_push(&parts[0], leaves->items[i].indices);
        bd_array_push(&parts[1], leaves->items[i].values);
        bd_array_push(&parts[2], leaves->items[i].dense_shape);
        bd_array_push(&dtypes, braid_out_dtype(leaves->items[i].values));
    }
    braid_op_desc *d = braid_op_begin(g, "SparseCross", NULL);
    for (int i = 0; i < 3; i++)
        braid_op_input_list(d, parts[i].items, (int)parts[i].len);
    braid_op_input_list(d, NULL, 0);
    braid_op_attr_int(d, "N", (int64_t)leaves->len);
    braid_op_attr_bool(d, "hashed_output", true);
    braid_op_attr_int(d, "num_buckets", c->size);
    braid_op_attr_int(d, "hash_key", (int64_t)(c->hash_key ? c->hash_key : HASH_KEY_DEFAULT));
    braid_op_attr_type_list(d, "sparse_types", dtypes.items, (int)dtypes.len);
    braid_op_attr_type_list(d, "dense_types", NULL, 0);
    braid_op_attr_type(d, "out_type", BRAID_INT64);
    braid_op_attr_type(d, "internal_type", internal_type);
    for (int i = 0; i < 3; i++)
        bd_array_free(&parts[i]);
    bd_array_free(&dtypes);
    return braid_op_end(d);
}

static train_ids crossed_ids(const train_features_list *f, const braid_feature_column *c)
{
    sparse_list leaves = {0};
    collect_leaves(f, c, &leaves);
    if (leaves.len < 2)
        braid_graph_fail(f->graph, BRAID_INVALID_ARGUMENT, "A crossed column crosses two columns or more");
    const braid_dtype internal_type = widen(f->graph, &leaves);
    braid_op *crossed =
        braid_graph_status(f->graph, NULL) ? NULL : cross(f->graph, &leaves, c, internal_type);
    bd_array_free(&leaves);
    if (!crossed) return (train_ids){.ids.values = none()};
    return (train_ids){.ids = {braid_output(crossed, 0), braid_output(crossed, 1), braid_output(crossed, 2)},
                       .buckets = c->size};
}

// ---- Any categorical column ----

static train_ids weighted_ids(const train_features_list *f, const braid_feature_column *c)
{
    train_ids ids = train_column_ids(f, c->source);
    const braid_named_tensor *weights = train_feature_of(f, c->key);
    if (!weights || !ids.ids.values.op) return ids;
    const braid_named_tensor *values = c->source->key ? train_feature_of(f, c->source->key) : NULL;
    if (weights->indices.op) // of the same indices
        ids.weights = weights->values;
    else if (values && !values->indices.op) // the weights of the values that are not left out
        ids.weights = braid_gather_nd(f->graph, rows_of(f->graph, weights->values), ids.ids.indices);
    else
        braid_graph_fail(f->graph, BRAID_INVALID_ARGUMENT,
                         "The weights '%s' are dense, and the values that they weigh are sparse", c->key);
    ids.weights = braid_cast(f->graph, ids.weights, BRAID_FLOAT);
    return ids;
}

static train_ids ids_of_values(const train_features_list *f, const braid_feature_column *c)
{
    braid_sparse list = list_of(f, c->key);
    if (!check_dtype(f->graph, c, list.values)) return (train_ids){.ids.values = none()};
    if (c->kind == BRAID_COLUMN_VOCABULARY_LIST || c->kind == BRAID_COLUMN_VOCABULARY_FILE)
        return vocabulary_ids(f->graph, c, list);
    if (c->size < 1) {
        braid_graph_fail(f->graph, BRAID_INVALID_ARGUMENT, "The column of '%s' has no buckets", c->key);
        return (train_ids){.ids.values = none()};
    }
    list.values = c->kind == BRAID_COLUMN_IDENTITY ? identity_ids(f->graph, c, list.values)
                                                   : hash_ids(f->graph, list.values, c->size);
    return (train_ids){.ids = list, .buckets = c->size};
}

train_ids train_column_ids(const train_features_list *f, const braid_feature_column *c)
{
    switch (c->kind) {
    case BRAID_COLUMN_BUCKETIZED: return bucket_ids(f, c);
    case BRAID_COLUMN_CROSSED: return crossed_ids(f, c);
    case BRAID_COLUMN_WEIGHTED: return weighted_ids(f, c);
    case BRAID_COLUMN_NUMERIC:
    case BRAID_COLUMN_INDICATOR:
    case BRAID_COLUMN_EMBEDDING:
        braid_graph_fail(f->graph, BRAID_INVALID_ARGUMENT,
                         "A dense column stands where a categorical one is wanted");
        return (train_ids){.ids.values = none()};
    default: return ids_of_values(f, c);
    }
}

// ---- Lookups ----

// Which ids count.
static train_ids prune(braid_graph *g, const train_ids *ids, braid_combiner combiner)
{
    train_ids out = *ids;
    braid_out kept = braid_greater_equal(g, ids->ids.values, braid_const_int64(g, NULL, 0));
    if (ids->weights.op && combiner != BRAID_COMBINER_SUM)
        kept = braid_logical_and(g, kept, braid_greater(g, ids->weights, braid_const_float(g, NULL, 0)));
    out.ids.values = braid_boolean_mask(g, ids->ids.values, kept);
    out.ids.indices = braid_boolean_mask(g, ids->ids.indices, kept);
    if (ids->weights.op) out.weights = braid_boolean_mask(g, ids->weights, kept);
    return out;
}

static braid_op *fill_rows(braid_graph *g, braid_sparse list, braid_out fill)
{
    const braid_out inputs[] = {list.indices, list.values, list.dense_shape, fill};
    return braid_op_add(g, "SparseFillEmptyRows", NULL, inputs, 4);
}

// Parts are looked up by "div", as parts of rows follow each other. False: the graph has failed.
static bool has_rows_in_parts(braid_graph *g, const braid_variable *table, int64_t rows)
{
    int64_t found = 0;
    for (int i = 0; i < table->part_count; i++)
        found += braid_out_shape(braid_variable_find(table->parts[i]).read).dims[0];
    if (!table->part_count || found == rows) return true;
    braid_graph_fail(
        g, BRAID_INVALID_ARGUMENT,
        "The table of a column, with the part '%s', is not divided along its rows: its partitioner "
        "needs the axis 0",
        braid_op_name(table->parts[0].op));
    return false;
}

braid_out train_lookup_ids(braid_graph *g, const train_ids *all, const braid_variable *table,
                           braid_combiner combiner)
{
    if (!all->ids.values.op || braid_graph_status(g, NULL)) return none();
    if (!has_rows_in_parts(g, table, all->buckets)) return none();
    train_ids ids = prune(g, all, combiner);
    braid_op *filled = fill_rows(g, ids.ids, braid_const_int64(g, NULL, 0));
    if (!filled) return none();
    braid_embedding_sparse_options options = {.strategy = BRAID_PARTITION_DIV, .combiner = combiner};
    if (ids.weights.op) {
        const braid_sparse weights = {ids.ids.indices, ids.weights, ids.ids.dense_shape};
        options.weights = braid_output(fill_rows(g, weights, braid_const_float(g, NULL, 1)), 1);
    }
    const braid_sparse rows = {braid_output(filled, 0), braid_output(filled, 1), ids.ids.dense_shape};
    const bool is_whole = !table->part_count;
    const braid_out found = braid_embedding_lookup_sparse(g, is_whole ? &table->ref : table->parts,
                                                          is_whole ? 1 : table->part_count, rows, &options);
    return braid_where(g, braid_output(filled, 2), braid_zeros_like(g, found), found);
}
