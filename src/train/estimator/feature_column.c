// Feature columns as values: making them, their names, and the features that they need.
#include "base/alloc.h"
#include "base/array.h"
#include "base/check.h"
#include "base/strbuf.h"
#include "train/estimator/columns.h"
#include <stdlib.h>
#include <string.h>

braid_feature_column braid_numeric_column(const char *key, int64_t size)
{
    return (braid_feature_column){
        .kind = BRAID_COLUMN_NUMERIC, .key = key, .dtype = BRAID_FLOAT, .size = size};
}

braid_feature_column braid_bucketized_column(const braid_feature_column *numeric, const float *boundaries,
                                             int boundary_count)
{
    return (braid_feature_column){.kind = BRAID_COLUMN_BUCKETIZED,
                                  .source = numeric,
                                  .boundaries = boundaries,
                                  .boundary_count = boundary_count,
                                  .size = numeric->size * (boundary_count + 1)};
}

braid_feature_column braid_identity_column(const char *key, int64_t num_buckets)
{
    return (braid_feature_column){
        .kind = BRAID_COLUMN_IDENTITY, .key = key, .dtype = BRAID_INT64, .size = num_buckets};
}

braid_feature_column braid_hash_bucket_column(const char *key, int64_t num_buckets, braid_dtype dtype)
{
    return (braid_feature_column){
        .kind = BRAID_COLUMN_HASH_BUCKET, .key = key, .dtype = dtype, .size = num_buckets};
}

braid_feature_column braid_vocabulary_list_column(const char *key, const braid_tensor *vocabulary)
{
    return (braid_feature_column){.kind = BRAID_COLUMN_VOCABULARY_LIST,
                                  .key = key,
                                  .dtype = braid_tensor_dtype(vocabulary),
                                  .vocabulary = vocabulary,
                                  .size = braid_tensor_num_elements(vocabulary)};
}

braid_feature_column braid_vocabulary_file_column(const char *key, const char *file, int64_t size)
{
    return (braid_feature_column){.kind = BRAID_COLUMN_VOCABULARY_FILE,
                                  .key = key,
                                  .dtype = BRAID_STRING,
                                  .vocabulary_file = file,
                                  .size = size};
}

braid_feature_column braid_crossed_column(const braid_feature_column *const *columns, int count,
                                          int64_t num_buckets)
{
    return (braid_feature_column){
        .kind = BRAID_COLUMN_CROSSED, .crossed = columns, .crossed_count = count, .size = num_buckets};
}

// A hash column without buckets is a feature as it is.
braid_feature_column braid_raw_column(const char *key, braid_dtype dtype)
{
    return braid_hash_bucket_column(key, 0, dtype);
}

braid_feature_column braid_weighted_column(const braid_feature_column *categorical, const char *weight_key)
{
    return (braid_feature_column){.kind = BRAID_COLUMN_WEIGHTED,
                                  .key = weight_key,
                                  .dtype = BRAID_FLOAT,
                                  .source = categorical,
                                  .size = categorical->size};
}

braid_feature_column braid_indicator_column(const braid_feature_column *categorical)
{
    return (braid_feature_column){.kind = BRAID_COLUMN_INDICATOR, .source = categorical};
}

braid_feature_column braid_embedding_column(const braid_feature_column *categorical, int64_t dimension)
{
    return (braid_feature_column){.kind = BRAID_COLUMN_EMBEDDING, .source = categorical, .size = dimension};
}

void braid_shared_embedding_columns(const braid_feature_column *const *categorical, int count,
                                    int64_t dimension, braid_feature_column *columns)
{
    for (int i = 0; i < count; i++) {
        columns[i] = braid_embedding_column(categorical[i], dimension);
        columns[i].shared = categorical;
        columns[i].shared_count = count;
    }
}

bool train_column_is_categorical(const braid_feature_column *c)
{
    return c->kind != BRAID_COLUMN_NUMERIC && c->kind != BRAID_COLUMN_INDICATOR &&
           c->kind != BRAID_COLUMN_EMBEDDING;
}

// ---- Names ----

typedef BD_ARRAY(char *) name_list;

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The names of what is crossed, also by the columns that are crossed columns themselves.
static void collect_crossed(const braid_feature_column *c, name_list *names)
{
    for (int i = 0; i < c->crossed_count; i++) {
        if (c->crossed[i]->kind == BRAID_COLUMN_CROSSED)
            collect_crossed(c->crossed[i], names);
        else
            bd_array_push(names, braid_feature_column_name(c->crossed[i]));
    }
}

// The names in their order. Frees the list.
static char *join(name_list *names, const char *between, const char *suffix)
{
    bd_strbuf out = {0};
    if (names->len) qsort(names->items, names->len, sizeof *names->items, compare_names);
    for (size_t i = 0; i < names->len; i++) {
        bd_strbuf_appendf(&out, "%s%s", i ? between : "", names->items[i]);
        bd_free(names->items[i]);
    }
    bd_array_free(names);
    bd_strbuf_append(&out, suffix);
    return bd_strbuf_take(&out);
}

static char *crossed_name(const braid_feature_column *c)
{
    name_list names = {0};
    collect_crossed(c, &names);
    return join(&names, "_X_", "");
}

char *train_shared_table_name(const braid_feature_column *c)
{
    name_list names = {0};
    for (int i = 0; i < c->shared_count; i++)
        bd_array_push(&names, braid_feature_column_name(c->shared[i]));
    return join(&names, "_", "_shared_embedding");
}

static char *derived_name(const braid_feature_column *c, const char *suffix, const char *key)
{
    char *source = braid_feature_column_name(c->source);
    char *name = bd_asprintf("%s_%s%s", source, suffix, key);
    bd_free(source);
    return name;
}

char *braid_feature_column_name(const braid_feature_column *c)
{
    switch (c->kind) {
    case BRAID_COLUMN_BUCKETIZED: return derived_name(c, "bucketized", "");
    case BRAID_COLUMN_CROSSED: return crossed_name(c);
    case BRAID_COLUMN_WEIGHTED: return derived_name(c, "weighted_by_", c->key);
    case BRAID_COLUMN_INDICATOR: return derived_name(c, "indicator", "");
    case BRAID_COLUMN_EMBEDDING: return derived_name(c, c->shared ? "shared_embedding" : "embedding", "");
    default: return bd_strdup(c->key);
    }
}

// ---- Parse specifications ----

typedef struct parse_spec {
    braid_feature *features; // [max]
    int max, count;
} parse_spec;

static void add_feature(parse_spec *p, const braid_feature *feature)
{
    for (int i = 0; i < p->count && i < p->max; i++)
        if (strcmp(p->features[i].name, feature->name) == 0) return;
    if (p->count < p->max) p->features[p->count] = *feature;
    p->count++;
}

static void add_column(parse_spec *p, const braid_feature_column *c)
{
    if (c->source) add_column(p, c->source);
    for (int i = 0; i < c->crossed_count; i++)
        add_column(p, c->crossed[i]);
    if (!c->key) return;
    const bool is_integer = c->dtype == BRAID_INT32 || c->dtype == BRAID_INT64;
    braid_feature feature = {.name = c->key, .dtype = is_integer ? BRAID_INT64 : c->dtype};
    if (c->kind == BRAID_COLUMN_NUMERIC)
        feature.shape = BRAID_SHAPE(c->size);
    else
        feature.is_var_len = true;
    add_feature(p, &feature);
}

int braid_make_parse_spec(const braid_feature_column *columns, int column_count, braid_feature *features,
                          int max)
{
    parse_spec p = {.features = features, .max = max};
    for (int i = 0; i < column_count; i++)
        add_column(&p, &columns[i]);
    return p.count;
}
