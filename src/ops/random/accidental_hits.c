// ComputeAccidentalHits: finds sampled candidates that are true classes of an example.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/sort.h"
#include "ops/sparse/sparse.h"

#include <float.h>
#include <stdlib.h>

static braid_code hits_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < 3; i++)
        c->outputs[i] = bd_shape1(-1);
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    return code ? code : bd_shape_ctx_rank(c, 1, 1, st);
}

// A class and its index among the candidates.
typedef struct candidate {
    int64_t class, place;
} candidate;

static int compare_candidates(const void *x, const void *y, void *unused)
{
    (void)unused;
    const candidate *a = x, *b = y;
    if (a->class != b->class) return a->class < b->class ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

// The last index of a class among the candidates; -1: it was not sampled.
static int64_t last_place(const candidate *sorted, int64_t count, int64_t class)
{
    int64_t low = 0, high = count; // candidates before `low` are of this class or a lower one
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (sorted[middle].class <= class) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && sorted[low - 1].class == class ? sorted[low - 1].place : -1;
}

static candidate *sorted_candidates(const braid_tensor *t)
{
    int64_t count = bd_tensor_count(t);
    candidate *sorted = bd_try_calloc((size_t)count, sizeof *sorted);
    for (int64_t i = 0; sorted && i < count && !bd_interrupted_at(i); i++)
        sorted[i] = (candidate){bd_tensor_i64(t)[i], i};
    if (sorted) bd_sort(sorted, count, sizeof *sorted, compare_candidates, NULL);
    return sorted;
}

// `places`: for each true class, [batch, width], its index among the candidates.
static void output_hits(bd_op_ctx *c, const int64_t *places, int64_t count, int64_t width)
{
    int64_t hits = 0, at = 0;
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)
        hits += places[i] >= 0;
    braid_tensor *rows = bd_output_sparse_values(c, 0, BRAID_INT32, hits),
                 *ids = rows ? bd_output_sparse_values(c, 1, BRAID_INT64, hits) : NULL,
                 *weights = ids ? bd_output_sparse_values(c, 2, BRAID_FLOAT, hits) : NULL;
    for (int64_t i = 0; weights && i < count && !bd_interrupted_at(i); i++) {
        if (places[i] < 0) continue;
        bd_tensor_i32(rows)[at] = (int32_t)(i / width);
        bd_tensor_i64(ids)[at] = places[i];
        bd_tensor_f32(weights)[at++] = -FLT_MAX;
    }
}

static void hits_run(bd_op_ctx *c)
{
    const braid_tensor *classes = bd_input(c, 0), *candidates = bd_input(c, 1);
    if (classes->shape.rank != 2 || classes->shape.dims[1] != bd_node_attr_int(c->node, "num_true")) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "true_candidates must be a batch_size * num_true matrix");
        return;
    }
    if (candidates->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "sampled_candidates must be a vector, which is typically an output from CandidateSampler");
        return;
    }
    int64_t count = bd_tensor_count(classes);
    int64_t *places = bd_sparse_numbers(c, count);
    candidate *sorted = sorted_candidates(candidates);
    if (!sorted) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when sorting the candidates");
    if (places && sorted) {
        for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)
            places[i] = last_place(sorted, bd_tensor_count(candidates), bd_tensor_i64(classes)[i]);
        output_hits(c, places, count, classes->shape.dims[1]);
    }
    bd_free(places);
    bd_free(sorted);
}

BD_OP(ComputeAccidentalHits) = {
    .signature =
        "(true_classes: int64, sampled_candidates: int64) -> (indices: int32, ids: int64, weights: float)",
    .attrs = "num_true:int; seed:int=0; seed2:int=0",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = hits_shape,
    .kernels = BD_KERNELS({.run = hits_run}),
    .doc =
        "The examples and indices of sampled candidates that are true classes of the example, with the weight that removes them from a softmax.",
};
