// The layers of feature columns: dense input of networks, and linear models.
#include "base/alloc.h"
#include "base/array.h"
#include "train/common/build.h"
#include "train/estimator/columns.h"
#include <braid/variable_scope.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A column with its name, which is its place.
typedef struct named_column {
    char *name;
    const braid_feature_column *column;
} named_column;

typedef BD_ARRAY(named_column) column_list;

static int compare_columns(const void *a, const void *b)
{
    return strcmp(((const named_column *)a)->name, ((const named_column *)b)->name);
}

static column_list sorted_columns(braid_graph *g, const braid_feature_column *columns, int count)
{
    column_list list = {0};
    for (int i = 0; i < count; i++) {
        const named_column named = {braid_feature_column_name(&columns[i]), &columns[i]};
        bd_array_push(&list, named);
    }
    if (!list.len) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "There are no feature columns");
        return list;
    }
    qsort(list.items, list.len, sizeof *list.items, compare_columns);
    for (size_t i = 1; i < list.len; i++)
        if (strcmp(list.items[i - 1].name, list.items[i].name) == 0)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Two feature columns have the name '%s'",
                             list.items[i].name);
    return list;
}

static void free_columns(column_list *list)
{
    for (size_t i = 0; i < list->len; i++)
        bd_free(list->items[i].name);
    bd_array_free(list);
}

// ---- Dense columns ----

static braid_out embed(const train_features_list *f, const braid_feature_column *c)
{
    braid_graph *g = f->graph;
    const train_ids ids = train_column_ids(f, c->source);
    if (!ids.ids.values.op) return BRAID_NONE;
    const float deviation = 1 / sqrtf((float)c->size);
    const braid_variable_options options = {
        .dtype = BRAID_FLOAT,
        .shape = BRAID_SHAPE(ids.buckets, c->size),
        .initializer =
            c->initializer.build ? c->initializer : braid_truncated_normal_initializer(0, deviation),
        .untrained = c->is_untrained,
        .reuse = c->shared ? BRAID_AUTO_REUSE : BRAID_REUSE_INHERIT};
    const braid_variable table = braid_variable_get_with(g, "embedding_weights", &options);
    const braid_out rows = train_lookup_ids(g, &ids, &table, c->combiner);
    return braid_reshape(g, rows, BRAID_SHAPE(-1, c->size));
}

// How often, or with which weights, an example has each id.
static braid_out count_ids(const train_features_list *f, const braid_feature_column *c)
{
    braid_graph *g = f->graph;
    const train_ids ids = train_column_ids(f, c->source);
    if (!ids.ids.values.op) return BRAID_NONE;
    braid_out hot = braid_one_hot(g, ids.ids.values, (int)ids.buckets, BRAID_FLOAT);
    if (ids.weights.op) hot = braid_mul(g, hot, braid_expand_dims(g, ids.weights, 1));
    const int64_t begin[] = {0, 0};
    const braid_out column = braid_slice(g, ids.ids.indices, begin, BRAID_SHAPE(-1, 1));
    const braid_out examples = braid_reshape(g, column, BRAID_SHAPE(-1));
    const braid_out batch = train_first_of(g, ids.ids.dense_shape);
    const braid_out sums = train_node3(g, "UnsortedSegmentSum", NULL, hot, examples, batch);
    return braid_reshape(g, sums, BRAID_SHAPE(-1, ids.buckets));
}

static braid_out one_hot_buckets(const train_features_list *f, const braid_feature_column *c)
{
    const braid_out hot =
        braid_one_hot(f->graph, train_column_buckets(f, c), c->boundary_count + 1, BRAID_FLOAT);
    return braid_reshape(f->graph, hot, BRAID_SHAPE(-1, c->size));
}

static braid_out dense_of(const train_features_list *f, const named_column *named)
{
    switch (named->column->kind) {
    case BRAID_COLUMN_NUMERIC: return train_numeric_values(f, named->column);
    case BRAID_COLUMN_BUCKETIZED: return one_hot_buckets(f, named->column);
    case BRAID_COLUMN_INDICATOR: return count_ids(f, named->column);
    case BRAID_COLUMN_EMBEDDING: return embed(f, named->column);
    default:
        braid_graph_fail(f->graph, BRAID_INVALID_ARGUMENT,
                         "The column '%s' is categorical. A network takes it as braid_embedding_column or "
                         "braid_indicator_column",
                         named->name);
        return BRAID_NONE;
    }
}

// The scope of a column's variables.
static void push_scope(braid_graph *g, const named_column *named)
{
    char *shared = named->column->shared ? train_shared_table_name(named->column) : NULL;
    (void)braid_push_variable_scope(g, shared ? shared : named->name, NULL);
    bd_free(shared);
}

braid_out braid_input_layer(braid_graph *g, const braid_named_tensor *features, int feature_count,
                            const braid_feature_column *columns, int column_count)
{
    const train_features_list f = {g, features, feature_count};
    column_list list = sorted_columns(g, columns, column_count);
    BD_ARRAY(braid_out) parts = {0};
    (void)braid_push_variable_scope(g, "input_layer", NULL);
    for (size_t i = 0; i < list.len; i++) {
        push_scope(g, &list.items[i]);
        bd_array_push(&parts, dense_of(&f, &list.items[i]));
        braid_pop_variable_scope(g);
    }
    braid_out out = BRAID_NONE;
    if (!braid_graph_status(g, NULL))
        out = parts.len == 1 ? parts.items[0] : braid_concat(g, parts.items, (int)parts.len, 1);
    braid_pop_variable_scope(g);
    bd_array_free(&parts);
    free_columns(&list);
    return out;
}

// ---- Linear models ----

static braid_variable zero_weights(braid_graph *g, const char *name, braid_shape shape)
{
    return braid_variable_get(g, name, BRAID_FLOAT, shape, braid_zeros_initializer(), true);
}

static braid_out weigh(const train_features_list *f, const named_column *named, int64_t units)
{
    braid_graph *g = f->graph;
    const braid_feature_column *c = named->column;
    if (train_column_is_categorical(c)) {
        const train_ids ids = train_column_ids(f, c);
        if (!ids.ids.values.op) return BRAID_NONE;
        const braid_variable weights = zero_weights(g, "weights", BRAID_SHAPE(ids.buckets, units));
        const braid_out sums = train_lookup_ids(g, &ids, &weights, BRAID_COMBINER_SUM);
        return braid_reshape(g, sums, BRAID_SHAPE(-1, units));
    }
    const braid_out x = dense_of(f, named);
    const braid_shape shape = braid_out_shape(x);
    if (!x.op || shape.rank != 2) return BRAID_NONE;
    return braid_matmul(g, x, zero_weights(g, "weights", BRAID_SHAPE(shape.dims[1], units)).read);
}

braid_out braid_linear_model(braid_graph *g, const braid_named_tensor *features, int feature_count,
                             const braid_feature_column *columns, int column_count, int64_t units)
{
    const train_features_list f = {g, features, feature_count};
    column_list list = sorted_columns(g, columns, column_count);
    BD_ARRAY(braid_out) sums = {0};
    (void)braid_push_variable_scope(g, "linear_model", NULL);
    for (size_t i = 0; i < list.len; i++) {
        (void)braid_push_variable_scope(g, list.items[i].name, NULL);
        bd_array_push(&sums, weigh(&f, &list.items[i], units));
        braid_pop_variable_scope(g);
    }
    const braid_variable bias = zero_weights(g, "bias_weights", BRAID_SHAPE(units));
    braid_out out = BRAID_NONE;
    if (!braid_graph_status(g, NULL))
        out = braid_bias_add(g, train_add_n(g, "weighted_sum_no_bias", sums.items, (int)sums.len), bias.read);
    braid_pop_variable_scope(g);
    bd_array_free(&sums);
    free_columns(&list);
    return out;
}
