// NearestNeighbors: for each point the k nearest centers.
#include "base/alloc.h"
#include "kernels/gemm.h"
#include "ops/common/element.h"

#include <stdlib.h>

// The distances between a block of points and a block of centers are one matrix product, which stays in the
// cache.
#define POINTS_OF_BLOCK 64
#define CENTERS_OF_BLOCK 1024

typedef struct neighbor {
    // half the squared distance without the point's norm, which is the same for all of its neighbors
    float distance;
    int64_t center;
} neighbor;

// The k nearest so far: a heap whose first element is the farthest.
typedef struct nearest {
    neighbor *heap;
    int64_t count, k;
} nearest;

static int compare(const void *a, const void *b)
{
    const neighbor *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return (x->center > y->center) - (x->center < y->center);
}

static void swap(neighbor *a, neighbor *b)
{
    neighbor n = *a;
    *a = *b;
    *b = n;
}

static void offer(nearest *of, neighbor n)
{
    neighbor *heap = of->heap;
    if (of->count < of->k) {
        int64_t at = of->count++;
        heap[at] = n;
        for (; at > 0 && compare(&heap[at], &heap[(at - 1) / 2]) > 0; at = (at - 1) / 2)
            swap(&heap[at], &heap[(at - 1) / 2]);
        return;
    }
    if (!(n.distance < heap[0].distance)) return; // of equal distances the earlier one is kept
    heap[0] = n;
    for (int64_t at = 0, child = 1; child < of->k; at = child, child = 2 * at + 1) {
        if (child + 1 < of->k && compare(&heap[child + 1], &heap[child]) > 0) child++;
        if (compare(&heap[child], &heap[at]) <= 0) break;
        swap(&heap[child], &heap[at]);
    }
}

typedef struct search {
    const float *points, *centers, *center_norms;
    int64_t dims, point_count, center_count, k;
    int64_t *indices;
    float *distances;
    bool is_out_of_memory; // set by any thread
} search;

static float half_norm(const float *x, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return 0.5f * sum;
}

static void put(const search *s, int64_t point, nearest *of)
{
    float norm = half_norm(s->points + point * s->dims, s->dims);
    qsort(of->heap, (size_t)of->count, sizeof *of->heap, compare);
    for (int64_t i = 0; i < of->count; i++) {
        s->indices[point * s->k + i] = of->heap[i].center;
        s->distances[point * s->k + i] = 2 * (norm + of->heap[i].distance);
    }
}

// Searches for points [from, to), at most one block; `products` has room for the products of a block of
// points and a block of centers.
static void search_block(const search *s, int64_t from, int64_t to, float *products, neighbor *heaps)
{
    nearest found[POINTS_OF_BLOCK];
    for (int64_t p = 0; p < to - from; p++)
        found[p] = (nearest){.heap = heaps + p * s->k, .k = s->k};
    for (int64_t begin = 0; begin < s->center_count; begin += CENTERS_OF_BLOCK) {
        int64_t rest = s->center_count - begin, count = rest < CENTERS_OF_BLOCK ? rest : CENTERS_OF_BLOCK;
        bd_gemm_shape g = {.m = to - from, .n = count, .k = s->dims, .transpose_b = true};
        bd_gemm(BD_F32, &g, s->points + from * s->dims, s->centers + begin * s->dims, products);
        for (int64_t p = 0; p < to - from; p++)
            for (int64_t i = 0; i < count; i++)
                offer(&found[p], (neighbor){s->center_norms[begin + i] - products[p * count + i], begin + i});
    }
    for (int64_t p = 0; p < to - from; p++)
        put(s, from + p, &found[p]);
}

static void search_blocks(void *arg, int64_t from, int64_t to)
{
    search *s = arg;
    float *products = bd_try_malloc(POINTS_OF_BLOCK * CENTERS_OF_BLOCK * sizeof *products);
    neighbor *heaps = bd_try_calloc((size_t)s->k, POINTS_OF_BLOCK * sizeof *heaps);
    if (!products || !heaps) __atomic_store_n(&s->is_out_of_memory, true, __ATOMIC_RELAXED);
    for (int64_t block = from; products && heaps && block < to; block++) {
        int64_t begin = block * POINTS_OF_BLOCK, end = begin + POINTS_OF_BLOCK;
        search_block(s, begin, end < s->point_count ? end : s->point_count, products, heaps);
    }
    bd_free(products);
    bd_free(heaps);
}

// Checks the inputs; returns the number of neighbors for each point. -1: the kernel has failed.
static int64_t check(bd_op_ctx *c)
{
    const braid_tensor *points = bd_input(c, 0), *centers = bd_input(c, 1), *k = bd_input(c, 2);
    const char *wrong = points->shape.rank != 2     ? "Input points should be a matrix."
                        : centers->shape.rank != 2  ? "Input centers should be a matrix."
                        : k->shape.rank != 0        ? "Input k should be a scalar."
                        : points->shape.dims[0] < 1 ? "Expected points.rows() > 0."
                                                    : NULL;
    int64_t wanted = wrong ? -1 : bd_tensor_i64(k)[0];
    if (wrong)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s", wrong);
    else if (points->shape.dims[1] != centers->shape.dims[1])
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected point_dimensions == center_dimensions: %lld vs %lld.",
                   (long long)points->shape.dims[1], (long long)centers->shape.dims[1]);
    else if (wanted < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected k >= 0, got %lld.", (long long)wanted);
    if (bd_op_failed(c)) return -1;
    return wanted < centers->shape.dims[0] ? wanted : centers->shape.dims[0];
}

static void nearest_run(bd_op_ctx *c)
{
    const braid_tensor *points = bd_input(c, 0), *centers = bd_input(c, 1);
    int64_t k = check(c);
    if (k < 0) return;
    search s = {.k = k, .point_count = points->shape.dims[0], .dims = points->shape.dims[1]};
    // With zero dimensions all centers are equally near.
    s.center_count = s.dims > 0 ? centers->shape.dims[0] : k;
    braid_shape shape = bd_shape2(s.point_count, k);
    braid_tensor *indices = bd_output(c, 0, BRAID_INT64, &shape),
                 *distances = indices ? bd_output(c, 1, BRAID_FLOAT, &shape) : NULL;
    if (!distances || k == 0) return;
    float *norms = bd_try_calloc((size_t)s.center_count, sizeof *norms);
    s.points = bd_tensor_f32(points);
    s.centers = bd_tensor_f32(centers);
    s.center_norms = norms;
    s.indices = bd_tensor_i64(indices);
    s.distances = bd_tensor_f32(distances);
    for (int64_t i = 0; norms && i < s.center_count; i++)
        norms[i] = half_norm(s.centers + i * s.dims, s.dims);
    if (norms)
        bd_parallel_for(c, (s.point_count + POINTS_OF_BLOCK - 1) / POINTS_OF_BLOCK, 1, search_blocks, &s);
    if (!norms || s.is_out_of_memory)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when looking for %lld neighbors among %lld centers",
                   (long long)k, (long long)s.center_count);
    bd_free(norms);
}

BD_OP(NearestNeighbors) = {
    .signature = "(points: float, centers: float, k: int64) -> (nearest_center_indices: int64, "
                 "nearest_center_distances: float)",
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = nearest_run}),
    .doc =
        "For each point (a row) the k nearest centers, or all if there are fewer, in ascending order of distance, and their squared distances.",
};
