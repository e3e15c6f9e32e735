// Draws candidate classes with or without replacement from TensorFlow's Philox stream; holds the uniform and
// log-uniform distributions.
#include "ops/random/candidate_sampler.h"

#include "base/alloc.h"
#include "kernels/random_convert.h"
#include "ops/common/element.h"

#include <math.h>
#include <string.h>

// ---- State ----

braid_code bd_sampler_init(bd_sampler *s, const bd_sampler_kind *kind, const braid_op *node, braid_status *st)
{
    s->kind = kind;
    s->num_true = bd_node_attr_int(node, "num_true");
    s->num_sampled = bd_node_attr_int(node, "num_sampled");
    s->is_unique = bd_node_attr_bool(node, "unique");
    if (kind->create) {
        braid_code code = kind->create(node, s, st);
        if (code) return code;
    } else {
        s->range = s->different = bd_node_attr_int(node, "range_max");
    }
    bd_random_source_init(&s->source, node);
    bd_mutex_init(&s->mu);
    return BRAID_OK;
}

void bd_sampler_destroy(void *state)
{
    bd_sampler *s = state;
    if (s->kind->destroy) s->kind->destroy(s);
    bd_random_source_fini(&s->source);
    bd_mutex_fini(&s->mu);
}

// ---- Drawing ----

// The set of drawn values: a hash table with open addressing, at most half full.
typedef struct drawn {
    int64_t *slots; // value + 1; 0: free
    uint64_t mask;
} drawn;

static bool drawn_init(bd_op_ctx *c, drawn *d, int64_t count)
{
    uint64_t capacity = 8;
    while (capacity < 2 * (uint64_t)count)
        capacity *= 2;
    *d = (drawn){bd_try_calloc(capacity, sizeof *d->slots), capacity - 1};
    if (!d->slots)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when drawing %lld candidates", (long long)count);
    return d->slots != NULL;
}

// False when the value was already in the set.
static bool drawn_add(drawn *d, int64_t value)
{
    uint64_t at = (uint64_t)value * UINT64_C(0x9e3779b97f4a7c15) >> 20;
    for (;; at++) {
        int64_t *slot = &d->slots[at & d->mask];
        if (*slot == value + 1) return false;
        if (*slot) continue;
        *slot = value + 1;
        return true;
    }
}

// The number of draws between two checks for cancellation: sampling without replacement can take long.
#define TRIES_BETWEEN_CHECKS 65536

static bool is_wanted(bd_op_ctx *c, int64_t tries)
{
    BD_STATUS(st);
    if (tries % TRIES_BETWEEN_CHECKS != 0 || !bd_cancellation_status(c->step->cancellation, st)) return true;
    bd_op_fail_status(c, st);
    return false;
}

// Fills `out`; returns the number of draws, -1 when the kernel has failed.
static int64_t draw(bd_op_ctx *c, const bd_sampler *s, bd_random_words *w, int64_t *out)
{
    drawn d = {0};
    int64_t picked = 0, tries = 0;
    if (s->is_unique && !drawn_init(c, &d, s->num_sampled)) return -1;
    while (picked < s->num_sampled && is_wanted(c, ++tries) && tries < INT32_MAX) {
        int64_t value = s->kind->sample(s, w);
        if (!d.slots || drawn_add(&d, value)) out[picked++] = value;
    }
    bd_free(d.slots);
    if (picked < s->num_sampled && !bd_op_failed(c))
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "%lld tries gave only %lld of %lld different candidates",
                   (long long)tries, (long long)picked, (long long)s->num_sampled);
    return bd_op_failed(c) ? -1 : tries;
}

// The expected count of a value of probability p: exact with replacement; without, computed as if the number
// of draws had been fixed.
static float expected_count(float p, int64_t sampled, int64_t tries)
{
    if (tries == sampled) return p * (float)sampled;
    return -expm1f((float)tries * log1pf(-p));
}

static void fill_counts(const bd_sampler *s, int64_t tries, const int64_t *values, float *counts,
                        int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        counts[i] = expected_count(s->kind->probability(s, values[i]), s->num_sampled, tries);
}

static bool check_true_classes(bd_op_ctx *c, const bd_sampler *s, const int64_t *values, int64_t count)
{
    for (int64_t i = 0; s->kind->needs_range && i < count; i++) {
        if (values[i] >= 0 && values[i] < s->range) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`true_candidate` out of range [0, %lld), received %lld",
                   (long long)s->range, (long long)values[i]);
        return false;
    }
    return true;
}

// Each candidate owns 2048 words of the stream, used or not, in steps of four.
#define STEPS_PER_CANDIDATE (2048 / 4)

// `values`: the true classes, a copy that no other thread changes.
static void sample(bd_op_ctx *c, bd_sampler *s, const int64_t *values, int64_t count)
{
    bd_random_words words = {
        .stream = bd_random_source_take(&s->source, (uint64_t)s->num_sampled * STEPS_PER_CANDIDATE)};
    int64_t *out = bd_tensor_i64(&c->outputs[0].tensor);
    bool learns = s->kind->update != NULL;
    if (!check_true_classes(c, s, values, count)) return;
    if (learns) bd_mutex_lock(&s->mu);
    int64_t tries = draw(c, s, &words, out);
    if (tries >= 0) {
        fill_counts(s, tries, out, bd_tensor_f32(&c->outputs[2].tensor), s->num_sampled);
        fill_counts(s, tries, values, bd_tensor_f32(&c->outputs[1].tensor), count);
        if (learns) s->kind->update(s, values, count);
    }
    if (learns) bd_mutex_unlock(&s->mu);
}

static bool check_inputs(bd_op_ctx *c, const bd_sampler *s)
{
    const braid_shape *shape = &bd_input(c, 0)->shape;
    if (shape->rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "true_classes must be a matrix");
    } else if (shape->dims[1] != s->num_true) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "true_classes must have num_true columns, expected: %lld was: %lld",
                   (long long)shape->dims[1], (long long)s->num_true);
    } else if (s->is_unique && s->num_sampled > s->different) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Sampler's range is too small: %lld different candidates of only %lld",
                   (long long)s->num_sampled, (long long)s->different);
    }
    return !bd_op_failed(c);
}

static bool make_outputs(bd_op_ctx *c, const bd_sampler *s)
{
    braid_shape sampled = bd_shape1(s->num_sampled);
    return bd_output(c, 0, BRAID_INT64, &sampled) && bd_output(c, 1, BRAID_FLOAT, &bd_input(c, 0)->shape) &&
           bd_output(c, 2, BRAID_FLOAT, &sampled);
}

static void all_classes(bd_op_ctx *c, const bd_sampler *s)
{
    for (int64_t i = 0; i < s->num_sampled; i++)
        bd_tensor_i64(&c->outputs[0].tensor)[i] = i;
    for (int k = 1; k < 3; k++)
        for (int64_t i = 0; i < bd_tensor_count(&c->outputs[k].tensor); i++)
            bd_tensor_f32(&c->outputs[k].tensor)[i] = 1;
}

static bool load(bd_op_ctx *c, bd_sampler *s)
{
    BD_STATUS(st);
    if (!s->kind->load) return true;
    bd_mutex_lock(&s->mu);
    if (!s->data) s->kind->load(c->node, bd_op_fs(c), s, st);
    bd_mutex_unlock(&s->mu);
    if (st->code) bd_op_fail_status(c, st);
    return !st->code;
}

void bd_sampler_run(bd_op_ctx *c)
{
    bd_sampler *s = c->state;
    braid_tensor classes;
    if (!load(c, s) || !check_inputs(c, s) || !make_outputs(c, s)) return;
    if (!s->kind->sample) {
        all_classes(c, s);
    } else if (bd_tensor_keep(&classes, bd_input(c, 0))) {
        sample(c, s, bd_tensor_i64(&classes), bd_tensor_count(&classes));
        bd_tensor_fini(&classes);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the true classes");
    }
}

braid_code bd_sampler_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t batch = c->inputs[0].rank > 0 ? c->inputs[0].dims[0] : -1,
            sampled = bd_node_attr_int(c->node, "num_sampled");
    c->outputs[0] = c->outputs[2] = bd_shape1(sampled);
    c->outputs[1] = bd_shape2(batch, bd_node_attr_int(c->node, "num_true"));
    return bd_shape_ctx_rank(c, 0, 2, st);
}

// ---- Uniform ----

static int64_t uniform_sample(const bd_sampler *s, bd_random_words *w)
{
    return (int64_t)bd_random_below64(w, (uint64_t)s->range);
}

static float uniform_probability(const bd_sampler *s, int64_t value)
{
    (void)value;
    return (float)(1.0 / (double)s->range);
}

static const bd_sampler_kind uniform = {.sample = uniform_sample, .probability = uniform_probability};

static braid_code uniform_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_sampler_init(state, &uniform, node, st);
}

BD_OP(UniformCandidateSampler) = {
    .signature = BD_SAMPLER_SIGNATURE,
    .attrs = BD_SAMPLER_ATTRS "range_max:int>=1; " BD_SAMPLER_SEEDS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_sampler_shape,
    .kernels = BD_SAMPLER_KERNELS(uniform_create),
    .doc =
        "Candidate classes drawn uniformly from [0, range_max), and the expected counts of these and of the true classes.",
};

// ---- Log-uniform ----

static int64_t log_uniform_sample(const bd_sampler *s, bd_random_words *w)
{
    uint32_t first = bd_random_word(w), second = bd_random_word(w);
    double value = exp(bd_uniform_f64(first, second) * log1p((double)s->range));
    // Rounding may give `range` itself, or for the largest ranges a number beyond int64.
    return value < 0x1p63 ? ((int64_t)value - 1) % s->range : s->range - 1;
}

static float log_uniform_probability(const bd_sampler *s, int64_t value)
{
    return (float)(log(((double)value + 2.0) / ((double)value + 1.0)) / log1p((double)s->range));
}

static const bd_sampler_kind log_uniform = {.sample = log_uniform_sample,
                                            .probability = log_uniform_probability};

static braid_code log_uniform_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_sampler_init(state, &log_uniform, node, st);
}

BD_OP(LogUniformCandidateSampler) = {
    .signature = BD_SAMPLER_SIGNATURE,
    .attrs = BD_SAMPLER_ATTRS "range_max:int>=1; " BD_SAMPLER_SEEDS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_sampler_shape,
    .kernels = BD_SAMPLER_KERNELS(log_uniform_create),
    .doc =
        "Candidate classes drawn by Zipf's law: class k has probability log((k + 2) / (k + 1)) / log(range_max + 1).",
};

// ---- All ----

static braid_code all_range(const braid_op *node, bd_sampler *s, braid_status *st)
{
    (void)node;
    (void)st;
    s->range = s->different = s->num_sampled;
    return BRAID_OK;
}

static const bd_sampler_kind all = {.create = all_range};

static braid_code all_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_sampler_init(state, &all, node, st);
}

BD_OP(AllCandidateSampler) = {
    .signature = BD_SAMPLER_SIGNATURE,
    .attrs = BD_SAMPLER_ATTRS BD_SAMPLER_SEEDS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_sampler_shape,
    .kernels = BD_SAMPLER_KERNELS(all_create),
    .doc = "All classes of [0, num_sampled) as candidates, each with expected count 1.",
};
