// GatherTree: the sequences of a beam search, from the ids of each step and the beams that they continue.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

typedef struct tree {
    const int32_t *ids, *parents; // [times, batch, beams]
    int32_t *out;                 // the same
    int64_t times, batch, beams;
    int32_t end;
} tree;

static int64_t place(const tree *t, int64_t time, int64_t b, int64_t beam)
{
    return (time * t->batch + b) * t->beams + beam;
}

// Follows the parents from the last one of `length` times back. False: a parent is no beam.
static bool gather(const tree *t, int64_t b, int64_t beam, int64_t length)
{
    int64_t from = beam;
    for (int64_t time = length - 1; time >= 0; time--) {
        if (from < 0 || from >= t->beams) return false;
        t->out[place(t, time, b, beam)] = t->ids[place(t, time, b, from)];
        from = t->parents[place(t, time, b, from)];
    }
    bool has_ended = false;
    for (int64_t time = 0; time < t->times; time++) {
        int32_t *id = &t->out[place(t, time, b, beam)];
        if (has_ended || time >= length) *id = t->end;
        has_ended = has_ended || *id == t->end;
    }
    return true;
}

static bool check(bd_op_ctx *c)
{
    static const char *const names[] = {"step_ids", "parent_ids", "max_sequence_lengths", "end_token"};
    static const int ranks[] = {3, 3, 1, 0};
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    for (int i = 0; i < 4; i++) {
        if (bd_input(c, i)->shape.rank == ranks[i]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must have rank %d, but has shape %s", names[i], ranks[i],
                   bd_shape_str(&bd_input(c, i)->shape, a));
        return false;
    }
    const braid_shape *ids = &bd_input(c, 0)->shape, *lengths = &bd_input(c, 2)->shape;
    if (!bd_shape_equal(ids, &bd_input(c, 1)->shape))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "step_ids.shape must match parent_ids.shape, but: %s vs. %s",
                   bd_shape_str(ids, a), bd_shape_str(&bd_input(c, 1)->shape, b));
    else if (ids->dims[1] != lengths->dims[0])
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "batch size dimensions step_ids.shape[1] and max_sequence_lengths.shape[0] must match, but: "
            "%lld vs. %lld",
            (long long)ids->dims[1], (long long)lengths->dims[0]);
    return !bd_op_failed(c);
}

static void gather_run(bd_op_ctx *c)
{
    if (!check(c)) return;
    const braid_shape *shape = &bd_input(c, 0)->shape;
    const braid_tensor *y = bd_output(c, 0, BRAID_INT32, shape);
    if (!y) return;
    const tree t = {.ids = bd_tensor_i32(bd_input(c, 0)),
                    .parents = bd_tensor_i32(bd_input(c, 1)),
                    .out = bd_tensor_i32(y),
                    .times = shape->dims[0],
                    .batch = shape->dims[1],
                    .beams = shape->dims[2],
                    .end = bd_tensor_i32(bd_input(c, 3))[0]};
    for (int64_t b = 0; b < t.batch && !bd_interrupted(); b++) {
        const int64_t length = bd_min(t.times, bd_max(0, bd_tensor_i32(bd_input(c, 2))[b]));
        for (int64_t beam = 0; beam < t.beams && !bd_interrupted(); beam++) {
            if (gather(&t, b, beam, length)) continue;
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Saw invalid parent id: a beam that sequence %lld of batch %lld continues is not in [0, %lld)",
                (long long)beam, (long long)b, (long long)t.beams);
            return;
        }
    }
}

static braid_code gather_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape lengths = {.rank = 3, .dims = {-1, -1, -1}}, ids;
    braid_code code = bd_shape_ctx_rank(c, 2, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 3, 0, st);
    if (code) return code;
    if (c->inputs[2].rank == 1) lengths.dims[1] = c->inputs[2].dims[0];
    if (!bd_shape_merge(&c->inputs[0], &c->inputs[1], &ids) ||
        !bd_shape_merge(&ids, &lengths, &c->outputs[0]))
        return bd_shape_ctx_fail(c, st,
                                 "step_ids and parent_ids must be [time, batch, beam] and agree, and the "
                                 "batch with max_sequence_lengths");
    return BRAID_OK;
}

BD_OP(GatherTree) = {
    .signature = "(step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T) -> (beams: T)",
    .attrs = "T:type{int32}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = gather_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = gather_run}),
    .doc =
        "Gives the sequences of a beam search [time, batch, beam], from the last step back along the parents. "
        "What comes after the first end_token is end_token.",
};
