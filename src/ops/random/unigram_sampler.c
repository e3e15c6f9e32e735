// Samplers whose distribution has a weight for each class: learned from the true classes seen so far, or
// fixed by a list of weights.
#include "base/alloc.h"
#include "io/file.h"
#include "kernels/random_convert.h"
#include "ops/random/candidate_sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Learned ----

// A complete binary tree in one array: node 1 is the root, node k has the children 2k and 2k + 1, and a
// node's weight is the sum of its children's weights. Class k is leaf leaves + k.
typedef struct weight_tree {
    int64_t leaves;
    int32_t weights[];
} weight_tree;

static int32_t total_weight(const weight_tree *t)
{
    return t->weights[1];
}

static braid_code learned_create_tree(const braid_op *node, bd_sampler *s, braid_status *st)
{
    int64_t range = bd_node_attr_int(node, "range_max"), leaves = 1;
    if (range >= INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "range_max must be less than %d for unigram samplers, got %lld", INT32_MAX,
                       (long long)range);
    while (leaves < range)
        leaves *= 2;
    weight_tree *t = bd_try_calloc(1, sizeof *t + 2 * (size_t)leaves * sizeof t->weights[0]);
    if (!t)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when making a sampler of %lld classes",
                       (long long)range);
    t->leaves = leaves;
    for (int64_t i = 0; i < range; i++)
        t->weights[leaves + i] = 1;
    for (int64_t i = leaves - 1; i > 0; i--)
        t->weights[i] = t->weights[2 * i] + t->weights[2 * i + 1];
    s->range = s->different = range;
    s->data = t;
    return BRAID_OK;
}

static void destroy_data(bd_sampler *s)
{
    bd_free(s->data);
}

static int64_t learned_sample(const bd_sampler *s, bd_random_words *w)
{
    const weight_tree *t = s->data;
    int32_t position = (int32_t)bd_random_below32(w, (uint32_t)total_weight(t));
    int64_t at = 1;
    while (at < t->leaves) {
        int32_t left = t->weights[2 * at];
        at = 2 * at + (position >= left);
        if (at & 1) position -= left;
    }
    return at - t->leaves;
}

static float learned_probability(const bd_sampler *s, int64_t value)
{
    const weight_tree *t = s->data;
    return (float)t->weights[t->leaves + value] / (float)total_weight(t);
}

// Increments the weight of each true class, unless the sum would overflow.
static void learned_update(bd_sampler *s, const int64_t *values, int64_t count)
{
    weight_tree *t = s->data;
    int64_t room = INT32_MAX - total_weight(t);
    for (int64_t i = 0; i < count && i < room; i++)
        for (int64_t at = t->leaves + values[i]; at > 0; at /= 2)
            t->weights[at]++;
}

static const bd_sampler_kind learned = {.create = learned_create_tree,
                                        .destroy = destroy_data,
                                        .sample = learned_sample,
                                        .probability = learned_probability,
                                        .update = learned_update,
                                        .needs_range = true};

static braid_code learned_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_sampler_init(state, &learned, node, st);
}

#define LEARNED(DOC)                                                                                         \
    {                                                                                                        \
        .signature = BD_SAMPLER_SIGNATURE, .attrs = BD_SAMPLER_ATTRS "range_max:int>=1; " BD_SAMPLER_SEEDS,  \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_sampler_shape,                       \
        .kernels = BD_SAMPLER_KERNELS(learned_create), .doc = (DOC)                                          \
    }

BD_OP(LearnedUnigramCandidateSampler) = LEARNED(
    "Candidate classes drawn with a probability proportional to their count as true classes so far; counts start at 1.");
BD_OP(ThreadUnsafeUnigramCandidateSampler) =
    LEARNED("LearnedUnigramCandidateSampler; in Braid both may run on several threads at once.");

// ---- Fixed ----

// Walker's alias method: index k yields class k with probability keep[k], else class other[k].
typedef struct alias_table {
    float total;          // the sum of weights
    float *weights;       // [range]; memory of this block, as all pointers below
    float *keep;          // [range]
    int32_t *other;       // [range]
    int64_t count, limit; // number of weights, and capacity
} alias_table;

static alias_table *table_new(int64_t range)
{
    size_t bytes;
    if (range > INT32_MAX) return NULL;
    bytes = (size_t)range * (2 * sizeof(float) + sizeof(int32_t));
    alias_table *t = bd_try_calloc(1, sizeof *t + bytes);
    if (!t) return NULL;
    t->weights = (float *)(t + 1);
    t->keep = t->weights + range;
    t->other = (int32_t *)(t->keep + range);
    t->limit = range;
    return t;
}

// The shard of the classes that this sampler draws from: class k when k % shards == shard.
typedef struct sharding {
    int64_t shards, shard;
    float distortion;
} sharding;

// Counts weights beyond the range, but does not store them.
static void add_weight(alias_table *t, float weight)
{
    if (t->count < t->limit) t->weights[t->count] = weight;
    t->count++;
    t->total += weight;
}

static void add_class(alias_table *t, const sharding *sh, int64_t number, float weight)
{
    if (number % sh->shards == sh->shard) add_weight(t, powf(weight, sh->distortion));
}

// Classes [0, count) are reserved: those of this shard get weight 0.
static void add_reserved(alias_table *t, const sharding *sh, int64_t count)
{
    int64_t own = count > sh->shard && sh->shard < sh->shards ? (count - 1 - sh->shard) / sh->shards + 1 : 0;
    for (int64_t i = 0; i < own && t->count <= t->limit; i++)
        add_weight(t, 0);
}

static void add_list(alias_table *t, const sharding *sh, const bd_attr *weights)
{
    int64_t number = t->count;
    for (int i = 0; i < weights->list.count; i++)
        add_class(t, sh, number++, weights->list.f[i]);
}

// Parses the number after the last comma of a line (a copy, terminated by zero).
static bool parse_weight(const char *line, float *weight)
{
    const char *comma = strrchr(line, ','), *from = comma ? comma + 1 : line;
    char *end;
    from += strspn(from, " \t");
    *weight = strtof(from, &end);
    return end != from && end[strspn(end, " \t")] == 0;
}

// Each line is a class; fields are separated by commas, and the last one is the weight. Carriage returns and
// empty lines are ignored.
static braid_code add_lines(alias_table *t, const sharding *sh, char *text, const char *path,
                            braid_status *st)
{
    int64_t number = t->count;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = 0;
        char *end = line;
        for (const char *p = line; *p; p++)
            if (*p != '\r') *end++ = *p;
        *end = 0;
        if (end == line) continue;
        float weight;
        if (number % sh->shards == sh->shard) {
            if (!parse_weight(line, &weight))
                return bd_fail(st, BRAID_INVALID_ARGUMENT, "Wrong vocabulary format at line: %.200s (in %s)",
                               line, path);
            add_class(t, sh, number, weight);
        }
        number++;
    }
    return BRAID_OK;
}

static braid_code add_file(const bd_fs *fs, alias_table *t, const sharding *sh, const char *path,
                           braid_status *st)
{
    char *text;
    size_t len;
    braid_code code = bd_file_read_all(fs, path, PTRDIFF_MAX - 1, &text, &len, st);
    if (!code) code = add_lines(t, sh, text, path, st);
    bd_free(text);
    return code;
}

// Pairs indices whose share is below the mean with indices above it, which supply the difference. `share` has
// `limit` numbers; `low` and `high` have room for `limit` indices.
static void pair_places(alias_table *t, double *share, int32_t *low, int32_t *high)
{
    int64_t lows = 0, highs = 0;
    double sum = 0;
    for (int64_t i = 0; i < t->limit; i++)
        sum += (double)t->weights[i];
    for (int64_t i = 0; i < t->limit; i++) {
        share[i] = (double)(t->weights[i] * (float)t->limit) / sum;
        t->other[i] = (int32_t)i;
        if (share[i] < 1.0) {
            low[lows++] = (int32_t)i;
        } else {
            high[highs++] = (int32_t)i;
        }
    }
    while (lows > 0 && highs > 0) {
        int32_t l = low[--lows], h = high[--highs];
        t->other[l] = h;
        t->keep[l] = (float)share[l];
        share[h] -= 1.0 - share[l];
        if (share[h] < 1.0) {
            low[lows++] = h;
        } else {
            high[highs++] = h;
        }
    }
    // The remaining shares equal the mean up to rounding.
    while (lows > 0)
        t->keep[low[--lows]] = 1;
    while (highs > 0)
        t->keep[high[--highs]] = 1;
}

static braid_code finish_table(alias_table *t, braid_status *st)
{
    if (t->count != t->limit)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "range is %lld must be equal to weights size %lld%s",
                       (long long)t->limit, (long long)t->count, t->count > t->limit ? " or more" : "");
    size_t n = (size_t)t->limit;
    double *share = bd_try_calloc(n, sizeof *share);
    int32_t *places = bd_try_calloc(2 * n, sizeof *places);
    if (share && places) pair_places(t, share, places, places + n);
    bool ok = share && places;
    bd_free(share);
    bd_free(places);
    return ok ? BRAID_OK
              : bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when making a sampler of %zu classes", n);
}

static braid_code fill_table(const braid_op *node, const bd_fs *fs, alias_table *t, braid_status *st)
{
    const char *path = bd_node_attr_string(node, "vocab_file");
    const bd_attr *weights = bd_node_attr(node, "unigrams");
    sharding sh = {bd_node_attr_int(node, "num_shards"), bd_node_attr_int(node, "shard"),
                   bd_node_attr_float(node, "distortion")};
    if (!path[0] && weights->list.count == 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Must provide either vocab_file or unigrams.");
    if (path[0] && weights->list.count > 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Must only provide one of vocab_file and unigrams.");
    add_reserved(t, &sh, bd_node_attr_int(node, "num_reserved_ids"));
    braid_code code = BRAID_OK;
    if (path[0]) {
        code = add_file(fs, t, &sh, path, st);
    } else {
        add_list(t, &sh, weights);
    }
    return code ? code : finish_table(t, st);
}

static braid_code fixed_load(const braid_op *node, const bd_fs *fs, bd_sampler *s, braid_status *st)
{
    alias_table *t = table_new(s->range);
    if (!t)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when making a sampler of %lld classes",
                       (long long)s->range);
    braid_code code = fill_table(node, fs, t, st);
    if (code) {
        bd_free(t);
        return code;
    }
    for (int64_t i = 0; i < t->limit; i++)
        s->different += t->weights[i] > 0;
    s->data = t;
    return BRAID_OK;
}

// A list of weights is read at once.
static braid_code fixed_create_table(const braid_op *node, bd_sampler *s, braid_status *st)
{
    s->range = bd_node_attr_int(node, "range_max");
    return *bd_node_attr_string(node, "vocab_file") ? BRAID_OK : fixed_load(node, &bd_fs_none, s, st);
}

static int64_t fixed_sample(const bd_sampler *s, bd_random_words *w)
{
    const alias_table *t = s->data;
    float r = bd_uniform_f32(bd_random_word(w));
    uint32_t at = bd_random_below32(w, (uint32_t)t->limit);
    return r < t->keep[at] ? (int64_t)at : t->other[at];
}

static float fixed_probability(const bd_sampler *s, int64_t value)
{
    const alias_table *t = s->data;
    return t->weights[value] / t->total;
}

static const bd_sampler_kind fixed = {.create = fixed_create_table,
                                      .load = fixed_load,
                                      .destroy = destroy_data,
                                      .sample = fixed_sample,
                                      .probability = fixed_probability,
                                      .needs_range = true};

static braid_code fixed_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_sampler_init(state, &fixed, node, st);
}

BD_OP(FixedUnigramCandidateSampler) = {
    .signature = BD_SAMPLER_SIGNATURE,
    .attrs = BD_SAMPLER_ATTRS
    "range_max:int>=1; vocab_file:string=''; distortion:float=1; num_reserved_ids:int=0; "
    "num_shards:int>=1=1; shard:int>=0=0; unigrams:list(float)=[]; " BD_SAMPLER_SEEDS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_sampler_shape,
    .kernels = BD_SAMPLER_KERNELS(fixed_create),
    .doc =
        "Candidate classes drawn by weights from a list or a file, each raised to the power of distortion.",
    .deviation =
        "Requests for more unique candidates than classes with a weight above 0 are refused at once.",
};
