// Datasets of some of another's elements: TakeDataset, SkipDataset, ShardDataset.
#include "ops/dataset/dataset.h"

typedef struct select_dataset {
    bd_dataset base;
    int64_t count; // of elements to take or to skip; of shards
    int64_t index; // of the shard
    bool require_non_empty;
} select_dataset;

typedef struct select_iterator {
    bd_iterator base;
    int64_t seen;   // elements of the input
    bool has_found; // a shard's element is kept in the answer while later ones are counted
} select_iterator;

static select_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, select_dataset, base);
}

static select_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, select_iterator, base);
}

static bd_turn pull_input(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

static void count_run(bd_op_ctx *c, const bd_dataset_kind *kind)
{
    int64_t count;
    if (!bd_input_scalar_int(c, 1, "count", &count)) return;
    bd_dataset *d = bd_dataset_over_input(c, kind);
    if (!d) return;
    dataset_of(d)->count = count;
    bd_output_dataset(c, d);
}

// ---- TakeDataset ----

static int64_t take_count(const bd_dataset *d)
{
    int64_t n = bd_cardinality_of_input(d), count = dataset_of(d)->count;
    if (n == BD_CARDINALITY_UNKNOWN || count < 0) return n;
    return n == BD_CARDINALITY_INFINITE || count < n ? count : n;
}

static bd_turn take_next(bd_iterator *it)
{
    int64_t count = dataset_of(it->dataset)->count;
    if (count < 0 || iterator_of(it)->seen < count) return bd_pull(it, it->input);
    bd_iterator_close(it->input); // so that a generator is finalized, and stages end that work ahead
    it->input = NULL;
    return bd_give_end(it);
}

static bd_turn take_received(bd_iterator *it, bd_iterator *from)
{
    if (from->answer.kind == BD_ANSWER_ELEMENT) iterator_of(it)->seen++;
    return bd_pass(it, from);
}

static const bd_dataset_kind take_kind = {
    .name = "Take",
    .dataset_size = sizeof(select_dataset),
    .iterator_size = sizeof(select_iterator),
    .opens_input = true,
    .cardinality = take_count,
    .next = take_next,
    .received = take_received,
};

static void take_run(bd_op_ctx *c)
{
    count_run(c, &take_kind);
}

BD_OP(TakeDataset) = {
    .signature = "(input_dataset: variant, count: int64) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = take_run}),
    .doc = "The first `count` elements of a dataset; all when it is negative.",
};

// ---- SkipDataset ----

static int64_t skip_count(const bd_dataset *d)
{
    int64_t n = bd_cardinality_of_input(d), count = dataset_of(d)->count;
    if (n < 0) return n;
    return count < 0 || count > n ? 0 : n - count;
}

static bd_turn skip_next(bd_iterator *it)
{
    return dataset_of(it->dataset)->count < 0 ? bd_give_end(it) : bd_pull(it, it->input);
}

static bd_turn skip_received(bd_iterator *it, bd_iterator *from)
{
    select_iterator *s = iterator_of(it);
    if (from->answer.kind != BD_ANSWER_ELEMENT || s->seen >= dataset_of(it->dataset)->count)
        return bd_pass(it, from);
    s->seen++;
    bd_answer_drop(from);
    return bd_pull(it, from);
}

static const bd_dataset_kind skip_kind = {
    .name = "Skip",
    .dataset_size = sizeof(select_dataset),
    .iterator_size = sizeof(select_iterator),
    .opens_input = true,
    .cardinality = skip_count,
    .next = skip_next,
    .received = skip_received,
};

static void skip_run(bd_op_ctx *c)
{
    count_run(c, &skip_kind);
}

BD_OP(SkipDataset) = {
    .signature = "(input_dataset: variant, count: int64) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = skip_run}),
    .doc = "All but the first `count` elements of a dataset; none when it is negative.",
};

// ---- ShardDataset ----

// TensorFlow's SHARD_HINT: an AutoShardDataset above gives the number of shards and the index.
#define OPEN_SHARDS (-1)

// The dataset that gives the iterator's count and index.
static const select_dataset *shard_of(const bd_iterator *it)
{
    const select_dataset *d = dataset_of(it->dataset);
    return d->count == OPEN_SHARDS ? dataset_of(it->shard) : d;
}

static braid_code shard_open(bd_iterator *it, braid_status *st)
{
    if (dataset_of(it->dataset)->count != OPEN_SHARDS || it->shard) return BRAID_OK;
    return bd_fail(st, BRAID_FAILED_PRECONDITION,
                   "`tf.data.Dataset.shard(SHARD_HINT, ...)` can only be used below an AutoShardDataset with "
                   "`tf.data.experimental.AutoShardPolicy.HINT` policy.");
}

static int64_t shard_count(const bd_dataset *base)
{
    const select_dataset *d = dataset_of(base);
    int64_t n = bd_cardinality_of_input(base);
    if (d->count == OPEN_SHARDS) return BD_CARDINALITY_UNKNOWN;
    return n < 0 ? n : n / d->count + (d->index < n % d->count);
}

// The input ended before each shard had an element.
static bd_turn too_few(bd_iterator *it)
{
    return bd_give_failure(
        it, BRAID_INVALID_ARGUMENT,
        "There aren't enough elements in this dataset for each shard to have at least one element (# "
        "elems = %lld, # shards = %lld). If you are using datasets with distribution strategy, consider "
        "turning dataset autosharding off with `tf.data.Options`.",
        (long long)iterator_of(it)->seen, (long long)shard_of(it)->count);
}

// With require_non_empty the first element is given only when each shard has one.
static bd_turn give_found(bd_iterator *it)
{
    select_iterator *s = iterator_of(it);
    if (dataset_of(it->dataset)->require_non_empty && s->seen < shard_of(it)->count)
        return bd_pull(it, it->input);
    s->has_found = false;
    return bd_give(it);
}

static bd_turn shard_received(bd_iterator *it, bd_iterator *from)
{
    const select_dataset *d = shard_of(it);
    select_iterator *s = iterator_of(it);
    if (from->answer.kind != BD_ANSWER_ELEMENT) {
        bool is_short = s->has_found && from->answer.kind == BD_ANSWER_END;
        if (s->has_found) bd_answer_drop(it);
        s->has_found = false;
        return is_short ? too_few(it) : bd_pass(it, from);
    }
    bool is_mine = !s->has_found && s->seen % d->count == d->index;
    s->seen++;
    if (is_mine) {
        bd_answer_take(from, it->answer.tensors);
        s->has_found = true;
    } else {
        bd_answer_drop(from);
    }
    return s->has_found ? give_found(it) : bd_pull(it, from);
}

static const bd_dataset_kind shard_kind = {
    .name = "Shard",
    .dataset_size = sizeof(select_dataset),
    .iterator_size = sizeof(select_iterator),
    .opens_input = true,
    .cardinality = shard_count,
    .open = shard_open,
    .next = pull_input,
    .received = shard_received,
};

static void make_shard(bd_op_ctx *c, const bd_dataset_kind *kind, int64_t count, int64_t index,
                       bool require_non_empty)
{
    bd_dataset *d = bd_dataset_over_input(c, kind);
    if (!d) return;
    dataset_of(d)->count = count;
    dataset_of(d)->index = index;
    dataset_of(d)->require_non_empty = require_non_empty;
    bd_output_dataset(c, d);
}

static void shard_run(bd_op_ctx *c)
{
    int64_t count, index;
    if (!bd_input_scalar_int(c, 1, "num_shards", &count) || !bd_input_scalar_int(c, 2, "index", &index))
        return;
    if (count <= 0 && count != OPEN_SHARDS)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Number of shards must be greater than zero (currently num_shards = %lld).",
                   (long long)count);
    else if (count != OPEN_SHARDS && (index < 0 || index >= count))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Index must be between 0 and %lld (currently index = %lld).",
                   (long long)count - 1, (long long)index);
    else
        make_shard(c, &shard_kind, count, index, bd_node_attr_bool(c->node, "require_non_empty"));
}

BD_OP(ShardDataset) = {
    .signature = "(input_dataset: variant, num_shards: int64, index: int64) -> (handle: variant)",
    .attrs = "require_non_empty:bool=false; " BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = shard_run}),
    .doc =
        "Every `num_shards`th element of a dataset, beginning with that of number `index`; with -1 shards, those that an "
        "AutoShardDataset with the policy HINT says.",
};

// TensorFlow's AutoShardPolicy.
enum {
    SHARD_OFF = -1,
    SHARD_HINT = 3
};

static const bd_dataset_kind hint_kind = {
    .name = "AutoShard",
    .dataset_size = sizeof(select_dataset),
    .iterator_size = sizeof(bd_iterator),
    .opens_input = true,
    .says_shard = true,
    .cardinality = bd_cardinality_of_input,
    .next = pull_input,
    .received = bd_pass,
};

static void auto_shard_run(bd_op_ctx *c)
{
    int64_t count, index, policy = bd_node_attr_int(c->node, "auto_shard_policy");
    if (!bd_input_scalar_int(c, 1, "num_workers", &count) || !bd_input_scalar_int(c, 2, "index", &index))
        return;
    if (count <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_workers must be greater than zero.");
    } else if (index < 0 || index >= count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "index must be between 0 and %lld", (long long)count - 1);
    } else if (policy < SHARD_OFF || policy > SHARD_HINT) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "auto_shard_policy %lld is none of AutoShardPolicy",
                   (long long)policy);
    } else if (policy == SHARD_HINT) {
        make_shard(c, &hint_kind, count, index, false);
    } else if (policy == SHARD_OFF || count == 1) {
        bd_dataset *d = bd_input_dataset(c, 0);
        if (d) bd_output_dataset(c, bd_dataset_ref(d));
    } else {
        make_shard(c, &shard_kind, count, index, true);
    }
}

// TensorFlow shards by files where it can find them, which leaves each worker other elements, but as many of
// them.
#define AUTO_SHARD_OP                                                                                                                \
    {                                                                                                                                \
        .signature = "(input_dataset: variant, num_workers: int64, index: int64) -> (handle: variant)",                              \
        .attrs = BD_DATASET_ATTRS "; +auto_shard_policy:int=0; +num_replicas:int=0",                                                 \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalars,                                                             \
        .kernels = BD_KERNELS({.run = auto_shard_run}),                                                                              \
        .deviation = "Elements are shared out, never files.",                                                                        \
        .doc =                                                                                                                       \
            "A worker's shard of a dataset, which must not be empty; all elements with OFF; with HINT ShardDatasets below it shard." \
    }

BD_OP(AutoShardDataset) = AUTO_SHARD_OP;
BD_OP(ExperimentalAutoShardDataset) = AUTO_SHARD_OP;
