// Inputs of SdcaOptimizer: all that the run relies on is checked here.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "kernels/sort.h"
#include "ops/training/sdca.h"

#include <limits.h>
#include <string.h>

int bd_sdca_input(const bd_sdca_options *o, int argument)
{
    const int lengths[] = {o->sparse_count, o->sparse_count, o->value_count, o->dense_count, 1, 1,
                           o->sparse_count, o->sparse_count, o->dense_count};
    int input = 0;
    for (int i = 0; i < argument; i++)
        input += lengths[i];
    return input;
}

static const braid_tensor *input_of(const bd_op_ctx *c, const bd_sdca_options *o, int argument, int i)
{
    return bd_input(c, bd_sdca_input(o, argument) + i);
}

static bool out_of_memory(bd_op_ctx *c)
{
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when reading the examples");
    return false;
}

// An output for updates of the weights `w`, all of them 0.
static float *zeroed_output(bd_op_ctx *c, int i, const braid_tensor *w)
{
    const braid_tensor *y = bd_output(c, i, BRAID_FLOAT, &w->shape);
    if (!y) return NULL;
    memset(y->data, 0, (size_t)bd_tensor_count(y) * sizeof(float));
    return y->data;
}

// ---- Sparse features ----

// Where features of each example begin. Indices of examples must ascend.
static bool find_starts(bd_op_ctx *c, bd_sdca_batch *b, bd_sdca_sparse *g, const braid_tensor *examples)
{
    const int64_t *of = bd_tensor_i64(examples), count = bd_tensor_count(examples), n = b->example_count;
    int64_t at = 0;
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++) {
        if (of[i] < 0 || of[i] >= n) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Found example index %lld of %lld examples",
                       (long long)of[i], (long long)n);
            return false;
        }
        if (i > 0 && of[i] < of[i - 1]) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Example indices do not ascend: %lld after %lld",
                       (long long)of[i], (long long)of[i - 1]);
            return false;
        }
        while (at <= of[i])
            g->start[at++] = i;
    }
    while (at <= n)
        g->start[at++] = count;
    return !bd_op_interrupted(c);
}

// The index of a feature, and the place of its weight.
typedef struct feature_place {
    int64_t index, place;
} feature_place;

static int by_index(const void *a, const void *b, void *arg)
{
    (void)arg;
    const feature_place *x = a, *y = b;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

// The place of a feature's weight among `count` sorted ones, the last one where several have the index; -1:
// none has it.
static int64_t place_of(const feature_place *sorted, int64_t count, int64_t index)
{
    int64_t from = 0, to = count; // the first one with a higher index is within
    while (from < to) {
        int64_t middle = from + (to - from) / 2;
        if (sorted[middle].index > index)
            to = middle;
        else
            from = middle + 1;
    }
    return from > 0 && sorted[from - 1].index == index ? sorted[from - 1].place : -1;
}

static bool find_places(bd_op_ctx *c, bd_sdca_sparse *g, const braid_tensor *indices,
                        const braid_tensor *features)
{
    const int64_t *wanted = bd_tensor_i64(features), count = bd_tensor_count(indices);
    feature_place *sorted = bd_try_calloc((size_t)count, sizeof *sorted);
    if (!sorted) return out_of_memory(c);
    for (int64_t i = 0; i < count; i++)
        sorted[i] = (feature_place){bd_tensor_i64(indices)[i], i};
    bd_sort(sorted, count, sizeof *sorted, by_index, NULL);
    for (int64_t i = 0; i < bd_tensor_count(features) && !bd_interrupted_at(i); i++) {
        g->places[i] = place_of(sorted, count, wanted[i]);
        if (g->places[i] >= 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Found sparse feature indices out of valid range: %lld",
                   (long long)wanted[i]);
        break;
    }
    bd_free(sorted);
    return !bd_op_failed(c) && !bd_op_interrupted(c);
}

// Adds the squares of features to the norms of their examples. An example has each feature once.
static bool add_sparse_norms(bd_op_ctx *c, bd_sdca_batch *b, const bd_sdca_sparse *g)
{
    int64_t *last = bd_try_calloc((size_t)g->weight_count, sizeof *last); // example, plus 1, of each weight
    if (!last) return out_of_memory(c);
    bool ok = true;
    for (int64_t e = 0; ok && e < b->example_count && !bd_interrupted_at(e); e++) {
        for (int64_t k = g->start[e]; ok && k < g->start[e + 1] && !bd_interrupted_at(k); k++) {
            double x = g->values ? (double)g->values[k] : 1;
            ok = last[g->places[k]] != e + 1;
            last[g->places[k]] = e + 1;
            b->norms[e] += x * x;
        }
    }
    bd_free(last);
    if (!ok) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Duplicate index in sparse vector.");
    return ok && !bd_op_interrupted(c);
}

static bool check_sparse(bd_op_ctx *c, const bd_sdca_batch *b, int i)
{
    const bd_sdca_options *o = b->o;
    int64_t examples = bd_tensor_count(input_of(c, o, BD_SDCA_EXAMPLES, i));
    int64_t features = bd_tensor_count(input_of(c, o, BD_SDCA_FEATURES, i));
    int64_t indices = bd_tensor_count(input_of(c, o, BD_SDCA_INDICES, i));
    int64_t weights = bd_tensor_count(input_of(c, o, BD_SDCA_SPARSE_WEIGHTS, i));
    if (examples != features)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Found mismatched example_indices and feature_indices: %lld vs %lld", (long long)examples,
                   (long long)features);
    else if (indices > weights)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "sparse_indices at index %d has %lld elements for %lld weights",
                   i, (long long)indices, (long long)weights);
    if (bd_op_failed(c) || i >= o->value_count) return !bd_op_failed(c);
    int64_t values = bd_tensor_count(input_of(c, o, BD_SDCA_VALUES, i));
    if (values == features) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "sparse_feature_values at index %d has %lld elements for %lld features", i, (long long)values,
               (long long)features);
    return false;
}

static bool read_sparse(bd_op_ctx *c, bd_sdca_batch *b, int i)
{
    if (!check_sparse(c, b, i)) return false;
    const bd_sdca_options *o = b->o;
    const braid_tensor *features = input_of(c, o, BD_SDCA_FEATURES, i);
    const braid_tensor *weights = input_of(c, o, BD_SDCA_SPARSE_WEIGHTS, i);
    bd_sdca_sparse *g = &b->sparse[i];
    g->values = i < o->value_count ? bd_tensor_f32(input_of(c, o, BD_SDCA_VALUES, i)) : NULL;
    g->weights = bd_tensor_f32(weights);
    g->weight_count = bd_tensor_count(weights);
    g->updates = zeroed_output(c, 1 + i, weights);
    if (!g->updates) return false;
    g->start = bd_try_calloc((size_t)b->example_count + 1, sizeof *g->start);
    g->places = bd_try_calloc((size_t)bd_tensor_count(features), sizeof *g->places);
    if (!g->start || !g->places) return out_of_memory(c);
    return find_starts(c, b, g, input_of(c, o, BD_SDCA_EXAMPLES, i)) &&
           find_places(c, g, input_of(c, o, BD_SDCA_INDICES, i), features) && add_sparse_norms(c, b, g);
}

// ---- Dense features ----

static bool check_dense(bd_op_ctx *c, const bd_sdca_batch *b, int i)
{
    const braid_shape *x = &input_of(c, b->o, BD_SDCA_DENSE, i)->shape;
    int64_t weights = bd_tensor_count(input_of(c, b->o, BD_SDCA_DENSE_WEIGHTS, i));
    if (x->rank != 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dense features at index %d must be rank 2 but is rank %d", i,
                   x->rank);
    else if (x->dims[0] != b->example_count)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dense features at index %d have %lld rows for %lld examples",
                   i, (long long)x->dims[0], (long long)b->example_count);
    else if (x->dims[1] > weights || x->dims[1] == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "More dense features than we have parameters for: %lld",
                   (long long)x->dims[1]);
    else if (x->dims[1] < weights)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dense features at index %d have %lld columns for %lld weights",
                   i, (long long)x->dims[1], (long long)weights);
    return !bd_op_failed(c);
}

static bool read_dense(bd_op_ctx *c, bd_sdca_batch *b, int i)
{
    if (!check_dense(c, b, i)) return false;
    const braid_tensor *x = input_of(c, b->o, BD_SDCA_DENSE, i);
    const braid_tensor *weights = input_of(c, b->o, BD_SDCA_DENSE_WEIGHTS, i);
    bd_sdca_dense *g = &b->dense[i];
    *g = (bd_sdca_dense){.rows = bd_tensor_f32(x),
                         .weights = bd_tensor_f32(weights),
                         .updates = zeroed_output(c, 1 + b->o->sparse_count + i, weights),
                         .width = x->shape.dims[1]};
    if (!g->updates) return false;
    for (int64_t e = 0; e < b->example_count && !bd_interrupted(); e++) {
        const float *row = g->rows + e * g->width;
        for (int64_t k = 0; k < g->width; k++)
            b->norms[e] += (double)row[k] * (double)row[k];
    }
    return !bd_op_interrupted(c);
}

// ---- Examples ----

static bool read_labels(bd_op_ctx *c, bd_sdca_batch *b)
{
    const bd_sdca_loss *loss = b->o->loss;
    const float *labels = bd_tensor_f32(input_of(c, b->o, BD_SDCA_LABELS, 0));
    for (int64_t e = 0; e < b->example_count && !bd_interrupted_at(e); e++) {
        b->labels[e] = labels[e];
        if (loss->convert(&b->labels[e])) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s Found example with label: %g", loss->labels,
                   (double)labels[e]);
        return false;
    }
    return !bd_op_interrupted(c);
}

static bool check_examples(bd_op_ctx *c, bd_sdca_batch *b)
{
    int64_t n = b->example_count, labels = bd_tensor_count(input_of(c, b->o, BD_SDCA_LABELS, 0));
    const braid_shape *state = &input_of(c, b->o, BD_SDCA_STATE, 0)->shape;
    char text[BD_SHAPE_STR_MAX];
    if (n >= INT_MAX)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Too many examples in a mini-batch: %lld > %d", (long long)n,
                   INT_MAX);
    else if (labels != n)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected %lld example labels but got %lld", (long long)n,
                   (long long)labels);
    else if (state->rank != 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "example_state_data must be rank 2 but is rank %d",
                   state->rank);
    else if (state->dims[0] != n || state->dims[1] != 4)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected shape [%lld,4] for example_state_data, got %s",
                   (long long)n, bd_shape_str(state, text));
    return !bd_op_failed(c);
}

bool bd_sdca_read(bd_op_ctx *c, const bd_sdca_options *o, bd_sdca_batch *b)
{
    const braid_tensor *weights = input_of(c, o, BD_SDCA_EXAMPLE_WEIGHTS, 0);
    b->o = o;
    b->example_count = bd_tensor_count(weights);
    b->example_weights = bd_tensor_f32(weights);
    if (!check_examples(c, b)) return false;
    b->labels = bd_try_calloc((size_t)b->example_count, sizeof *b->labels);
    b->norms = bd_try_calloc((size_t)b->example_count, sizeof *b->norms);
    b->sparse = bd_try_calloc((size_t)o->sparse_count, sizeof *b->sparse);
    b->dense = bd_try_calloc((size_t)o->dense_count, sizeof *b->dense);
    if (!b->labels || !b->norms || !b->sparse || !b->dense) return out_of_memory(c);
    if (!read_labels(c, b)) return false;
    for (int i = 0; i < o->sparse_count; i++) {
        if (!read_sparse(c, b, i)) return false;
    }
    for (int i = 0; i < o->dense_count; i++) {
        if (!read_dense(c, b, i)) return false;
    }
    return true;
}

void bd_sdca_fini(bd_sdca_batch *b)
{
    for (int i = 0; b->sparse && i < b->o->sparse_count; i++) {
        bd_free(b->sparse[i].start);
        bd_free(b->sparse[i].places);
    }
    bd_free(b->sparse);
    bd_free(b->dense);
    bd_free(b->labels);
    bd_free(b->norms);
}
