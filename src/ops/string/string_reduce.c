// Ops that make one string of many: ReduceJoin and UnsortedSegmentJoin.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "ops/common/element.h"
#include "ops/common/string_out.h"

#include <string.h>

// ---- ReduceJoin ----

// Elements in the order of some dimensions of a tensor, the last one first.
typedef struct walk {
    int dims[BRAID_RANK_MAX], count; // from the outermost to the innermost
    int64_t size;                    // product of them
} walk;

// Where step `i` of the walk leads, from element 0.
static int64_t walk_at(const walk *w, const braid_shape *shape, const int64_t *strides, int64_t i)
{
    int64_t at = 0;
    for (int k = w->count - 1; k >= 0; k--) {
        at += i % shape->dims[w->dims[k]] * strides[w->dims[k]];
        i /= shape->dims[w->dims[k]];
    }
    return at;
}

// Reads the joined and the remaining dimensions. The first axis changes fastest.
static bool read_axes(bd_op_ctx *c, const braid_shape *shape, walk *joined, walk *kept)
{
    const braid_tensor *axes = bd_input(c, 1);
    bool is_joined[BRAID_RANK_MAX] = {0};
    *joined = *kept = (walk){.size = 1};
    const int64_t count = bd_tensor_count(axes);
    for (int64_t i = 0; i < count; i++) {
        int64_t axis = bd_tensor_index(axes, i), d = axis < 0 ? axis + shape->rank : axis;
        if (d < 0 || d >= shape->rank) {
            bd_op_fail(c, BRAID_OUT_OF_RANGE,
                       "Invalid reduction dimension %lld for input with %d dimension(s)", (long long)axis,
                       shape->rank);
            return false;
        }
        if (is_joined[d]) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Duplicate reduction dimension %lld", (long long)axis);
            return false;
        }
        is_joined[d] = true;
    }
    for (int64_t i = count - 1; i >= 0; i--) {
        int64_t axis = bd_tensor_index(axes, i), d = axis < 0 ? axis + shape->rank : axis;
        joined->dims[joined->count++] = (int)d;
        joined->size *= shape->dims[d];
    }
    for (int d = 0; d < shape->rank; d++) {
        if (is_joined[d]) continue;
        kept->dims[kept->count++] = d;
        kept->size *= shape->dims[d];
    }
    return true;
}

static braid_shape joined_shape(const braid_shape *shape, const walk *kept, bool keep_dims)
{
    braid_shape out = {.rank = keep_dims ? shape->rank : kept->count};
    for (int d = 0; d < out.rank; d++)
        out.dims[d] = 1;
    for (int k = 0; k < kept->count; k++)
        out.dims[keep_dims ? kept->dims[k] : k] = shape->dims[kept->dims[k]];
    return out;
}

// Element `at` of the output: the strings `first`, and on along the walk.
static bool join_walk(bd_op_ctx *c, const braid_tensor *y, int64_t at, const bd_string *first, const walk *w)
{
    const bd_bytes *separator = &bd_node_attr(c->node, "separator")->s;
    const braid_shape *shape = &bd_input(c, 0)->shape;
    int64_t strides[BRAID_RANK_MAX];
    bd_row_strides(shape, strides);
    size_t len = w->size > 0 ? (size_t)(w->size - 1) * separator->len : 0;
    for (int64_t i = 0; i < w->size && !bd_interrupted_at(i); i++)
        len += first[walk_at(w, shape, strides, i)].len;
    char *out = bd_string_room(c, y, at, len);
    for (int64_t i = 0; out && i < w->size && !bd_interrupted_at(i); i++) {
        const bd_string *s = &first[walk_at(w, shape, strides, i)];
        if (i > 0) out = mempcpy(out, separator->data, separator->len);
        if (s->len > 0) out = mempcpy(out, s->data, s->len);
    }
    return out != NULL;
}

static void reduce_join_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    walk joined, kept;
    if (!read_axes(c, &x->shape, &joined, &kept)) return;
    braid_shape shape = joined_shape(&x->shape, &kept, bd_node_attr_bool(c->node, "keep_dims"));
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &shape);
    int64_t strides[BRAID_RANK_MAX];
    bd_row_strides(&x->shape, strides);
    for (int64_t i = 0; y && i < kept.size && !bd_interrupted_at(i); i++) {
        if (!join_walk(c, y, i, bd_tensor_str(x) + walk_at(&kept, &x->shape, strides, i), &joined)) return;
    }
}

BD_OP(ReduceJoin) = {
    .signature = "(inputs: string, reduction_indices: int32) -> (output: string)",
    .attrs = "keep_dims:bool=false; separator:string=''",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_reduction,
    .kernels = BD_KERNELS({.run = reduce_join_run}),
    .doc = "Joins the strings along some axes, in the order in which the axes are named.",
};

// ---- UnsortedSegmentJoin ----

// `inputs` begins with the dimensions of the ids; the output has num_segments in their place.
static braid_code segment_join_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *x = &c->inputs[0], *ids = &c->inputs[1];
    braid_shape front = *x, merged;
    braid_code code = bd_shape_ctx_rank(c, 2, 0, st);
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    if (code || x->rank < 0 || ids->rank < 0) return code;
    front.rank = ids->rank;
    if (ids->rank > x->rank || !bd_shape_merge(&front, ids, &merged))
        return bd_shape_ctx_fail(c, st, "segment_ids must have the first dimensions of inputs");
    braid_shape *out = &c->outputs[0];
    *out = bd_shape1(-1);
    int64_t count;
    if (bd_shape_ctx_constant_int(c, 2, &count)) {
        if (count < 0)
            return bd_shape_ctx_fail(c, st, "num_segments must not be negative: %lld", (long long)count);
        out->dims[0] = count;
    }
    if (x->rank - ids->rank + 1 > BRAID_RANK_MAX)
        return bd_shape_ctx_fail(c, st, "The output has too many dimensions");
    for (int d = ids->rank; d < x->rank; d++)
        out->dims[out->rank++] = x->dims[d];
    return BRAID_OK;
}

static bool check_segments(bd_op_ctx *c, const braid_tensor *ids, int64_t count)
{
    const braid_shape *x = &bd_input(c, 0)->shape;
    if (ids->shape.rank == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Segment_id cannot have rank 0");
    else if (ids->shape.rank > x->rank)
        bd_op_fail(c, BRAID_OUT_OF_RANGE, "Invalid segment_id rank %d for input with %d dimension(s)",
                   ids->shape.rank, x->rank);
    else if (count < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Number of segments must not be negative: %lld",
                   (long long)count);
    for (int d = 0; d < ids->shape.rank && !bd_op_failed(c); d++) {
        if (ids->shape.dims[d] != x->dims[d])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Segment dimension is %lld while input dimension is %lld in rank %d",
                       (long long)ids->shape.dims[d], (long long)x->dims[d], d);
    }
    for (int64_t i = 0; i < bd_tensor_count(ids) && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0 || id >= count)
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "segment_ids are not allowed to exceed num_segments or to have negative values: segment_ids[%lld] is "
                "%lld of %lld",
                (long long)i, (long long)id, (long long)count);
    }
    return !bd_op_failed(c) && !bd_op_interrupted(c);
}

// Appends rows to the strings of their segments, with a separator after non-empty ones. It is called twice:
// first for the lengths.
static void join_segments(bd_op_ctx *c, const braid_tensor *y, size_t *lens, bool write)
{
    const braid_tensor *x = bd_input(c, 0), *ids = bd_input(c, 1);
    const bd_bytes *separator = &bd_node_attr(c->node, "separator")->s;
    int64_t row = bd_shape_count_range(&x->shape, ids->shape.rank, x->shape.rank);
    for (int64_t i = 0; i < bd_tensor_count(ids) && !bd_interrupted_at(i); i++) {
        for (int64_t k = 0; k < row; k++) {
            int64_t to = bd_tensor_index(ids, i) * row + k;
            const bd_string *s = &bd_tensor_str(x)[i * row + k];
            size_t gap = lens[to] > 0 ? separator->len : 0;
            char *out = write ? bd_tensor_str(y)[to].data : NULL;
            if (out && gap > 0) memcpy(out + lens[to], separator->data, gap);
            if (out && s->len > 0) memcpy(out + lens[to] + gap, s->data, s->len);
            lens[to] += gap + s->len;
        }
    }
}

static void segment_join_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *ids = bd_input(c, 1);
    int64_t count;
    if (!bd_input_int(c, 2, "num_segments", &count) || !check_segments(c, ids, count)) return;
    braid_shape shape = {.rank = 1, .dims = {count}};
    for (int d = ids->shape.rank; d < x->shape.rank; d++)
        shape.dims[shape.rank++] = x->shape.dims[d];
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &shape);
    if (!y) return;
    int64_t n = bd_tensor_count(y);
    size_t *lens = bd_try_calloc((size_t)n, sizeof *lens);
    if (!lens) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when joining the strings of %lld segments",
                   (long long)count);
        return;
    }
    join_segments(c, y, lens, false);
    bool ok = true;
    for (int64_t i = 0; i < n && ok && !bd_interrupted_at(i); i++) {
        ok = bd_string_room(c, y, i, lens[i]);
        lens[i] = 0;
    }
    if (ok) join_segments(c, y, lens, true);
    bd_free(lens);
}

BD_OP(UnsortedSegmentJoin) = {
    .signature = "(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: string)",
    .attrs = "separator:string=''; Tindices:type{int32,int64}; Tnumsegments:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = segment_join_shape,
    .kernels = BD_KERNELS({.run = segment_join_run}),
    .doc = "Joins the strings that have the same segment number, in their order.",
};
