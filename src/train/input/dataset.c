// Datasets: what all of them share, and transformations.
#include "train/input/dataset_internal.h"

#include "base/alloc.h"
#include "train/input/parsing_internal.h"
#include <braid/function.h>
#include <braid/ops.h>
#include <string.h>

// ---- Common ----

braid_op_desc *train_dataset_begin(braid_graph *g, const char *op_type, const braid_dataset *inputs,
                                   int input_count)
{
    for (int i = 0; i < input_count; i++) {
        if (inputs[i].variant.op) continue;
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its dataset is nothing", op_type);
        return NULL;
    }
    return braid_op_begin(g, op_type, NULL);
}

braid_dataset train_dataset_end(braid_graph *g, braid_op_desc *d, const braid_dtype *dtypes,
                                const braid_shape *shapes, int count)
{
    const braid_out variant = braid_op_end_out(d);
    if (!variant.op) return (braid_dataset){0};
    braid_dtype *kept_dtypes = bd_memdup(dtypes, (size_t)count * sizeof *dtypes);
    braid_shape *kept_shapes = bd_memdup(shapes, (size_t)count * sizeof *shapes);
    braid_graph_own(g, kept_dtypes, bd_free);
    braid_graph_own(g, kept_shapes, bd_free);
    return (braid_dataset){variant, count, kept_dtypes, kept_shapes};
}

braid_dataset train_dataset_end_typed(braid_graph *g, braid_op_desc *d, const char *types_attr,
                                      const braid_dtype *dtypes, const braid_shape *shapes, int count)
{
    braid_op_attr_type_list(d, types_attr ? types_attr : "output_types", dtypes, count);
    braid_op_attr_shape_list(d, "output_shapes", shapes, count);
    return train_dataset_end(g, d, dtypes, shapes, count);
}

// A transformation with numbers for its inputs, whose elements are those of its dataset.
static braid_dataset with_numbers(braid_graph *g, const char *op_type, braid_dataset from,
                                  const char *const *names, const int64_t *numbers, int count)
{
    braid_op_desc *d = train_dataset_begin(g, op_type, &from, 1);
    if (!d) return (braid_dataset){0};
    braid_op_input(d, from.variant);
    for (int i = 0; i < count; i++)
        braid_op_input(d, braid_const_int64(g, names[i], numbers[i]));
    return train_dataset_end_typed(g, d, NULL, from.dtypes, from.shapes, from.count);
}

braid_dataset braid_dataset_repeat(braid_graph *g, braid_dataset from, int64_t count)
{
    return with_numbers(g, "RepeatDataset", from, (const char *[]){"count"}, &count, 1);
}

braid_dataset braid_dataset_take(braid_graph *g, braid_dataset from, int64_t count)
{
    return with_numbers(g, "TakeDataset", from, (const char *[]){"count"}, &count, 1);
}

braid_dataset braid_dataset_skip(braid_graph *g, braid_dataset from, int64_t count)
{
    return with_numbers(g, "SkipDataset", from, (const char *[]){"count"}, &count, 1);
}

braid_dataset braid_dataset_shard(braid_graph *g, braid_dataset from, int64_t num_shards, int64_t index)
{
    if (num_shards < 1 || index < 0 || index >= num_shards)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "ShardDataset: there is no shard %lld of %lld",
                         (long long)index, (long long)num_shards);
    return with_numbers(g, "ShardDataset", from, (const char *[]){"num_shards", "index"},
                        (int64_t[]){num_shards, index}, 2);
}

braid_dataset braid_dataset_prefetch(braid_graph *g, braid_dataset from, int64_t buffer_size)
{
    return with_numbers(g, "PrefetchDataset", from, (const char *[]){"buffer_size"}, &buffer_size, 1);
}

braid_dataset braid_dataset_shuffle(braid_graph *g, braid_dataset from, int64_t buffer_size, int64_t seed,
                                    bool reshuffle_each_iteration)
{
    if (buffer_size < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "ShuffleDataset: a buffer of %lld elements",
                         (long long)buffer_size);
    braid_op_desc *d = train_dataset_begin(g, "ShuffleDataset", &from, 1);
    if (!d) return (braid_dataset){0};
    braid_op_input(d, from.variant);
    braid_op_input(d, braid_const_int64(g, "buffer_size", buffer_size));
    int64_t seeds[2];
    braid_get_seed(g, seed ? &seed : NULL, seeds);
    braid_op_input(d, braid_const_int64(g, "seed", seeds[0]));
    braid_op_input(d, braid_const_int64(g, "seed2", seeds[1]));
    braid_op_attr_bool(d, "reshuffle_each_iteration", reshuffle_each_iteration);
    return train_dataset_end_typed(g, d, NULL, from.dtypes, from.shapes, from.count);
}

braid_dataset braid_dataset_cache(braid_graph *g, braid_dataset from, const char *file)
{
    braid_op_desc *d = train_dataset_begin(g, "CacheDataset", &from, 1);
    if (!d) return (braid_dataset){0};
    braid_op_input(d, from.variant);
    braid_op_input(d, braid_const_string(g, "filename", file ? file : ""));
    return train_dataset_end_typed(g, d, NULL, from.dtypes, from.shapes, from.count);
}

// ---- Batches ----

// The shapes of batches of elements of `shapes`; the caller frees them (bd_free). NULL after an error.
static braid_shape *batched(braid_graph *g, const braid_shape *shapes, int count, int64_t batch_size,
                            bool drop_remainder)
{
    if (batch_size < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A batch of %lld elements", (long long)batch_size);
    if (batch_size < 1) return NULL;
    braid_shape *out = bd_calloc((size_t)count + 1, sizeof *out);
    for (int i = 0; i < count; i++) {
        const int rank = shapes[i].rank;
        out[i].rank = rank < 0 ? -1 : rank + 1;
        if (rank >= BRAID_RANK_MAX) {
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "Component %d has %d dimensions; batches have too many", i, rank);
            bd_free(out);
            return NULL;
        }
        out[i].dims[0] = drop_remainder ? batch_size : -1;
        if (rank > 0) memcpy(out[i].dims + 1, shapes[i].dims, (size_t)rank * sizeof *out[i].dims);
    }
    return out;
}

braid_dataset braid_dataset_batch(braid_graph *g, braid_dataset from, int64_t batch_size, bool drop_remainder)
{
    braid_shape *shapes = batched(g, from.shapes, from.count, batch_size, drop_remainder);
    braid_op_desc *d = shapes ? train_dataset_begin(g, "BatchDatasetV2", &from, 1) : NULL;
    braid_dataset out = {0};
    if (d) {
        braid_op_input(d, from.variant);
        braid_op_input(d, braid_const_int64(g, "batch_size", batch_size));
        braid_op_input(d, braid_const_bool(g, "drop_remainder", drop_remainder));
        out = train_dataset_end_typed(g, d, NULL, from.dtypes, shapes, from.count);
    }
    bd_free(shapes);
    return out;
}

static braid_out zero_of(braid_graph *g, braid_dtype dtype)
{
    return dtype == BRAID_STRING ? braid_const_string(g, NULL, "") : braid_zeros(g, dtype, BRAID_SCALAR);
}

static void put_padding(braid_graph *g, braid_op_desc *d, const braid_dataset *from,
                        const braid_shape *padded)
{
    braid_out *shapes = bd_calloc((size_t)from->count, sizeof *shapes);
    braid_out *values = bd_calloc((size_t)from->count, sizeof *values);
    for (int i = 0; i < from->count; i++) {
        if (padded[i].rank < 0) {
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Component %d is padded to a shape of unknown rank",
                             i);
            break;
        }
        braid_tensor *t = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(padded[i].rank), padded[i].dims, NULL);
        shapes[i] = braid_const(g, "padded_shapes", t);
        values[i] = zero_of(g, from->dtypes[i]);
        braid_tensor_free(t);
    }
    braid_op_input_list(d, shapes, from->count);
    braid_op_input_list(d, values, from->count);
    bd_free(shapes);
    bd_free(values);
}

braid_dataset braid_dataset_padded_batch(braid_graph *g, braid_dataset from, int64_t batch_size,
                                         const braid_shape *padded_shapes, bool drop_remainder)
{
    const braid_shape *padded = padded_shapes ? padded_shapes : from.shapes;
    braid_shape *shapes = batched(g, padded, from.count, batch_size, drop_remainder);
    braid_op_desc *d = shapes ? train_dataset_begin(g, "PaddedBatchDatasetV2", &from, 1) : NULL;
    braid_dataset out = {0};
    if (d) {
        braid_op_input(d, from.variant);
        braid_op_input(d, braid_const_int64(g, "batch_size", batch_size));
        put_padding(g, d, &from, padded);
        braid_op_input(d, braid_const_bool(g, "drop_remainder", drop_remainder));
        out = train_dataset_end_typed(g, d, "Toutput_types", from.dtypes, shapes, from.count);
    }
    bd_free(shapes);
    return out;
}

// ---- Examples ----

static braid_dataset parse(braid_graph *g, braid_dataset from, const train_features *f, braid_op_desc *d,
                           int parallel_calls)
{
    braid_out *defaults = bd_calloc((size_t)f->count, sizeof *defaults);
    const char **keys = bd_calloc((size_t)f->count, sizeof *keys);
    braid_dtype *dtypes = bd_calloc((size_t)f->count, sizeof *dtypes);
    braid_shape *dense = bd_calloc((size_t)f->count, sizeof *dense);
    const int64_t batch = from.shapes[0].rank == 1 ? from.shapes[0].dims[0] : -1;
    for (int i = 0; i < f->count; i++) {
        const braid_feature *feature = &f->items[f->order[i]];
        defaults[i] = train_feature_default(g, feature);
        keys[i] = feature->name;
        dtypes[i] = feature->dtype;
        dense[i] = feature->shape;
    }
    braid_op_input(d, from.variant);
    braid_op_input(d, braid_const_int64(g, "num_parallel_calls", parallel_calls));
    braid_op_input_list(d, defaults, f->count);
    braid_op_attr_string_list(d, "dense_keys", keys, f->count);
    braid_op_attr_string_list(d, "sparse_keys", NULL, 0);
    braid_op_attr_type_list(d, "sparse_types", NULL, 0);
    braid_op_attr_type_list(d, "Tdense", dtypes, f->count);
    braid_op_attr_shape_list(d, "dense_shapes", dense, f->count);
    braid_shape *shapes = batched(g, dense, f->count, batch > 0 ? batch : 1, batch > 0);
    const braid_dataset out =
        shapes ? train_dataset_end_typed(g, d, NULL, dtypes, shapes, f->count) : (braid_dataset){0};
    if (!shapes) braid_op_abandon(d);
    bd_free(defaults);
    bd_free(keys);
    bd_free(dtypes);
    bd_free(dense);
    bd_free(shapes);
    return out;
}

braid_dataset braid_dataset_parse_example(braid_graph *g, braid_dataset from, const braid_feature *features,
                                          int count, int parallel_calls)
{
    train_features f;
    braid_dataset out = {0};
    if (!train_features_init(&f, g, features, count)) return out;
    const bool are_strings = from.count == 1 && from.dtypes[0] == BRAID_STRING;
    if (from.variant.op && !are_strings)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Examples are parsed from a dataset of batches of strings");
    if (f.dense_count < f.count)
        braid_graph_fail(g, BRAID_UNIMPLEMENTED,
                         "Feature '%s' is sparse; parse it after the iterator, by braid_parse_example",
                         features[f.order[f.dense_count]].name);
    braid_op_desc *d = train_dataset_begin(g, "ParseExampleDataset", &from, 1);
    if (d) out = parse(g, from, &f, d, parallel_calls < 1 ? 1 : parallel_calls);
    train_features_fini(&f);
    return out;
}

// ---- Several datasets ----

braid_dataset braid_dataset_zip(braid_graph *g, const braid_dataset *datasets, int count)
{
    const bool is_empty = !datasets || count < 1;
    if (is_empty) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "ZipDataset: no datasets");
    if (is_empty || braid_graph_status(g, NULL)) return (braid_dataset){0};
    braid_op_desc *d = train_dataset_begin(g, "ZipDataset", datasets, count);
    if (!d) return (braid_dataset){0};
    int total = 0, at = 0;
    for (int i = 0; i < count; i++)
        total += datasets[i].count;
    braid_out *variants = bd_calloc((size_t)count, sizeof *variants);
    braid_dtype *dtypes = bd_calloc((size_t)total, sizeof *dtypes);
    braid_shape *shapes = bd_calloc((size_t)total, sizeof *shapes);
    for (int i = 0; i < count; i++) {
        variants[i] = datasets[i].variant;
        for (int k = 0; k < datasets[i].count; k++, at++) {
            dtypes[at] = datasets[i].dtypes[k];
            shapes[at] = datasets[i].shapes[k];
        }
    }
    braid_op_input_list(d, variants, count);
    const braid_dataset out = train_dataset_end_typed(g, d, NULL, dtypes, shapes, total);
    bd_free(variants);
    bd_free(dtypes);
    bd_free(shapes);
    return out;
}

// The shape that both `a` and `b` have.
static braid_shape common_shape(braid_shape a, const braid_shape *b)
{
    if (a.rank != b->rank) return BRAID_SHAPE_UNKNOWN;
    for (int i = 0; i < a.rank; i++) {
        if (a.dims[i] != b->dims[i]) a.dims[i] = -1;
    }
    return a;
}

braid_dataset braid_dataset_concatenate(braid_graph *g, braid_dataset first, braid_dataset second)
{
    const braid_dataset both[] = {first, second};
    braid_op_desc *d = train_dataset_begin(g, "ConcatenateDataset", both, 2);
    if (!d) return (braid_dataset){0};
    if (first.count != second.count ||
        memcmp(first.dtypes, second.dtypes, (size_t)first.count * sizeof *first.dtypes) != 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "ConcatenateDataset: elements of different types");
        braid_op_abandon(d);
        return (braid_dataset){0};
    }
    braid_shape *shapes = bd_calloc((size_t)first.count, sizeof *shapes);
    for (int i = 0; i < first.count; i++)
        shapes[i] = common_shape(first.shapes[i], &second.shapes[i]);
    braid_op_input(d, first.variant);
    braid_op_input(d, second.variant);
    const braid_dataset out = train_dataset_end_typed(g, d, NULL, first.dtypes, shapes, first.count);
    bd_free(shapes);
    return out;
}
