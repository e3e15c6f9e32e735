// MapDefun: calls a function with each slice of its arguments along dimension 0 and stacks the results.
//
// The calls run one after another. As in function_loop.c, `phase` tells whether a call ended before it
// returned.
#include "ops/common/element.h"
#include "ops/control_flow/function_ops.h"

#include "base/slab.h"

typedef struct map_state {
    bd_func_ref f;
    int argument_count; // the inputs behind them are captured
} map_state;

enum {
    CALLING = 0,
    WAITING,
    ENDED,
};

typedef struct map {
    bd_op_ctx *c;
    const map_state *s;
    int64_t i, count;
    bool has_failed;
    atomic_int phase;
    braid_tensor args[]; // [input_count]
} map;

static void run_calls(map *m);

static void finish(map *m)
{
    bd_op_ctx *c = m->c;
    bd_slab_free(m);
    bd_op_done(c);
}

// ---- Results ----

static const braid_shape *result_shape(const bd_op_ctx *c, int k)
{
    return &bd_node_attr(c->node, "output_shapes")->list.shape[k];
}

// Makes output `k` of `count` results of a shape.
static bool make_output(bd_op_ctx *c, int k, int64_t count, const braid_shape *result)
{
    if (result->rank >= BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "MapDefun '%s': output %d would have more than %d dimensions",
                   c->node->name, k, BRAID_RANK_MAX);
        return false;
    }
    braid_shape shape = {.rank = result->rank + 1};
    shape.dims[0] = count;
    for (int d = 0; d < result->rank; d++)
        shape.dims[d + 1] = result->dims[d];
    return bd_output(c, k, c->node->output_types[k], &shape) != NULL;
}

static bool fits(const bd_op_ctx *c, int k, const braid_tensor *result)
{
    const braid_tensor *out = &c->outputs[k].tensor;
    braid_shape both;
    if (result->dtype != c->node->output_types[k] ||
        !bd_shape_merge(result_shape(c, k), &result->shape, &both))
        return false;
    if (!bd_tensor_is_set(out)) return true;
    bool same = out->shape.rank == result->shape.rank + 1;
    for (int d = 0; d < result->shape.rank && same; d++)
        same = out->shape.dims[d + 1] == result->shape.dims[d];
    return same;
}

static void take_result(map *m, int k, const braid_tensor *result)
{
    bd_op_ctx *c = m->c;
    if (!fits(c, k, result)) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "MapDefun '%s': output %d of call %lld is %s of shape %s, which is not as the others or not as "
            "output_shapes says",
            c->node->name, k, (long long)m->i, braid_dtype_name(result->dtype),
            bd_shape_str(&result->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    if (!bd_tensor_is_set(&c->outputs[k].tensor) && !make_output(c, k, m->count, &result->shape)) return;
    const int64_t size = bd_tensor_count(result);
    bd_elements_copy(&c->outputs[k].tensor, m->i * size, result, 0, size);
}

static void called(void *arg, braid_tensor *rets, int ret_count, const braid_status *st)
{
    map *m = arg;
    bd_op_ctx *c = m->c;
    if (st->code)
        bd_op_fail_status(c, st);
    else if (ret_count != c->output_count)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "MapDefun '%s' has %d outputs, but %s gives %d", c->node->name,
                   c->output_count, m->s->f.name, ret_count);
    for (int k = 0; k < ret_count && !bd_op_failed(c); k++)
        take_result(m, k, &rets[k]);
    m->has_failed = bd_op_failed(c);
    m->i++;
    if (atomic_exchange_explicit(&m->phase, ENDED, memory_order_acq_rel) == WAITING) run_calls(m);
}

// ---- Calls ----

static void set_args(map *m)
{
    const bd_op_ctx *c = m->c;
    for (int i = 0; i < c->input_count; i++) {
        const braid_tensor *in = bd_input(c, i);
        m->args[i] = *in; // borrowed
        if (i >= m->s->argument_count) continue;
        braid_shape slice = {.rank = in->shape.rank - 1};
        for (int d = 0; d < slice.rank; d++)
            slice.dims[d] = in->shape.dims[d + 1];
        m->args[i].shape = slice;
        m->args[i].data =
            (char *)in->data + (size_t)(m->i * bd_shape_count(&slice)) * bd_element_size(in->dtype);
    }
}

static void run_calls(map *m)
{
    for (;;) {
        if (m->has_failed || m->i >= m->count) {
            finish(m);
            return;
        }
        set_args(m);
        atomic_store_explicit(&m->phase, CALLING, memory_order_relaxed);
        bd_step_call(m->c->step, &m->s->f, BD_CALLEE_LOCAL, m->args, m->c->input_count, called, m);
        int calling = CALLING;
        if (atomic_compare_exchange_strong_explicit(&m->phase, &calling, WAITING, memory_order_acq_rel,
                                                    memory_order_acquire))
            return; // `m` may be gone
    }
}

static bool common_count(bd_op_ctx *c, int arguments, int64_t *count)
{
    for (int i = 0; i < arguments; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        if (s->rank == 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "All inputs must have rank at least 1. Input %d has a rank of 0", i);
            return false;
        }
        if (i > 0 && s->dims[0] != *count) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "All inputs must have the same dimension 0. Input %d has leading dimension %lld, while all "
                "previous inputs have leading dimension %lld",
                i, (long long)s->dims[0], (long long)*count);
            return false;
        }
        *count = s->dims[0];
    }
    return true;
}

// Without calls the shapes of the outputs follow from output_shapes.
static void make_empty_outputs(bd_op_ctx *c)
{
    for (int k = 0; k < c->output_count && !bd_op_failed(c); k++) {
        const braid_shape *result = result_shape(c, k);
        if (!bd_shape_is_known(result))
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "MapDefun '%s': there are no slices, and output_shapes does not give the shape of output %d",
                c->node->name, k);
        else
            make_output(c, k, 0, result);
    }
}

static void map_start(bd_op_ctx *c)
{
    const map_state *s = c->state;
    int64_t count = 0;
    if (common_count(c, s->argument_count, &count) && count == 0) make_empty_outputs(c);
    if (bd_op_failed(c) || count == 0) {
        bd_op_done(c);
        return;
    }
    map *m = bd_slab_alloc(sizeof *m + (size_t)c->input_count * sizeof m->args[0]);
    m->c = c;
    m->s = s;
    m->count = count;
    run_calls(m);
}

static braid_code map_create(const braid_op *node, void *state, braid_status *st)
{
    map_state *s = state;
    s->argument_count = bd_node_attr(node, "Targuments")->list.count;
    if (bd_node_attr(node, "output_shapes")->list.count != bd_node_attr(node, "output_types")->list.count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "MapDefun '%s': output_shapes and output_types differ in length", node->name);
    return bd_func_ref_read(node, "f", -1, &s->f, st);
}

static void map_destroy(void *state)
{
    bd_func_ref_fini(&((map_state *)state)->f);
}

static braid_code map_shape(bd_shape_ctx *c, braid_status *st)
{
    const bd_attr *shapes = bd_node_attr(c->node, "output_shapes");
    const int arguments = bd_node_attr(c->node, "Targuments")->list.count;
    if (shapes->list.count != c->output_count)
        return bd_shape_ctx_fail(c, st,
                                 "`output_shapes` must be the same length as `output_types` (%d vs. %d)",
                                 shapes->list.count, c->output_count);
    int64_t count = -1;
    for (int i = 0; i < arguments; i++) {
        if (c->inputs[i].rank == 0)
            return bd_shape_ctx_fail(c, st, "Arguments must have rank at least 1. Input %d has rank of 0.",
                                     i);
        const int64_t dim = c->inputs[i].rank < 0 ? -1 : c->inputs[i].dims[0];
        if (dim >= 0 && count >= 0 && dim != count)
            return bd_shape_ctx_fail(c, st, "Arguments must have the same dimension 0.");
        if (dim >= 0) count = dim;
    }
    for (int k = 0; k < c->output_count; k++) {
        const braid_shape *s = &shapes->list.shape[k];
        if (s->rank < 0 || s->rank >= BRAID_RANK_MAX) continue;
        braid_shape *out = &c->outputs[k];
        out->rank = s->rank + 1;
        out->dims[0] = count;
        for (int d = 0; d < s->rank; d++)
            out->dims[d + 1] = s->dims[d];
    }
    return BRAID_OK;
}

BD_OP(MapDefun) = {
    .signature = "(arguments: Targuments..., captured_inputs: Tcaptured...) -> (output: output_types...)",
    .attrs = "Targuments:list(type)>=1; Tcaptured:list(type)>=0=[]; output_types:list(type)>=1; "
             "output_shapes:list(shape)>=1; f:func; max_intra_op_parallelism:int=1",
    .shape = map_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_CALLS,
                           .state_size = sizeof(map_state),
                           .create = map_create,
                           .destroy = map_destroy,
                           .start = map_start}),
    .doc =
        "Calls f with each slice of the arguments along dimension 0, and the captured inputs as they are; the "
        "results are stacked.",
};
