// UnsortedSegmentSum: rows added up by number, the inverse of Gather in gradients.
#include "graph/grad.h"
#include "ops/element.h"

#include <string.h>

// `data` begins with the dimensions of `ids`; the output has num_segments in their place.
static braid_code segment_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *data = &c->inputs[0], *ids = &c->inputs[1];
    braid_code code = bd_shape_ctx_rank(c, 2, 0, st);
    if (code || data->rank < 0 || ids->rank < 0) return code;
    if (ids->rank > data->rank)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank %d but is rank %d", ids->rank,
                                 data->rank);
    braid_shape out = bd_shape1(-1);
    bd_shape_ctx_constant_int(c, 2, &out.dims[0]);
    for (int d = ids->rank; d < data->rank && out.rank < BRAID_RANK_MAX; d++)
        out.dims[out.rank++] = data->dims[d];
    c->outputs[0] = out;
    return BRAID_OK;
}

#define DEFINE_SUM(NAME, TYPE)                                                                               \
    static void NAME(void *to, const void *from, int64_t n)                                                  \
    {                                                                                                        \
        TYPE *t = to;                                                                                        \
        const TYPE *f = from;                                                                                \
        for (int64_t i = 0; i < n; i++)                                                                      \
            t[i] += f[i];                                                                                    \
    }

DEFINE_SUM(sum_f32, float)
DEFINE_SUM(sum_f64, double)
DEFINE_SUM(sum_i32, uint32_t) // without sign, so that it wraps around
DEFINE_SUM(sum_i64, uint64_t)

typedef struct segment_state {
    void (*sum)(void *to, const void *from, int64_t n);
} segment_state;

static braid_code segment_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    segment_state *s = state;
    switch (bd_node_attr_type(node, "T")) {
    case BRAID_FLOAT: s->sum = sum_f32; break;
    case BRAID_DOUBLE: s->sum = sum_f64; break;
    case BRAID_INT32: s->sum = sum_i32; break;
    default: s->sum = sum_i64; break;
    }
    return BRAID_OK;
}

static bool check_segments(bd_op_ctx *c, int64_t *count)
{
    const braid_shape *data = &bd_input(c, 0)->shape, *ids = &bd_input(c, 1)->shape;
    if (!bd_input_int(c, 2, "num_segments", count)) return false;
    bool fits = data->rank >= ids->rank;
    for (int d = 0; fits && d < ids->rank; d++)
        fits = data->dims[d] == ids->dims[d];
    if (!fits) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "data.shape = %s does not start with segment_ids.shape = %s",
                   bd_shape_str(data, a), bd_shape_str(ids, b));
        return false;
    }
    if (*count < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input num_segments == %lld must not be negative.",
                   (long long)*count);
    return *count >= 0;
}

static void segment_run(bd_op_ctx *c)
{
    const segment_state *s = c->state;
    const braid_tensor *data = bd_input(c, 0), *ids = bd_input(c, 1);
    int64_t count, total;
    if (!check_segments(c, &count)) return;
    braid_shape out = bd_shape1(count);
    for (int d = ids->shape.rank; d < data->shape.rank && out.rank < BRAID_RANK_MAX; d++)
        out.dims[out.rank++] = data->shape.dims[d];
    BD_STATUS(st);
    if (bd_shape_checked_count(&out, &total, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, data->dtype, &out);
    if (!y) return;
    size_t size = braid_dtype_size(y->dtype);
    memset(y->data, 0, (size_t)total * size);
    int64_t row = bd_shape_count_range(&data->shape, ids->shape.rank, data->shape.rank);
    for (int64_t i = 0; i < bd_tensor_count(ids); i++) {
        int64_t id = bd_tensor_index(ids, i);
        if (id < 0) continue; // dropped
        if (id >= count) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "segment_ids[%lld] = %lld is out of range [0, %lld)",
                       (long long)i, (long long)id, (long long)count);
            return;
        }
        s->sum((char *)y->data + (size_t)(id * row) * size,
               (const char *)data->data + (size_t)(i * row) * size, row);
    }
}

static void segment_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b2(c->graph, "Gather", NULL, c->output_grads[0], c->op->inputs[1]);
}

BD_OP(UnsortedSegmentSum) = {
    .signature = "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)",
    .attrs = "T:type{number}; Tindices:type{int32,int64}; Tnumsegments:type{int32,int64}=int32",
    .shape = segment_shape,
    .gradient = segment_gradient,
    .kernels = BD_KERNELS({.types = "T=float|double|int32|int64",
                           .state_size = sizeof(segment_state),
                           .create = segment_create,
                           .run = segment_run}),
    .doc =
        "Row s of the output is the sum of the rows of `data` whose segment id is s; rows of a negative id are dropped.",
};
