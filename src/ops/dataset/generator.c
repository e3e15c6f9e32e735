// GeneratorDataset: a state made by one function, elements by another as long as it gives any, and a third
// function at the end.
#include "base/alloc.h"
#include "base/array.h"
#include "ops/dataset/function.h"

enum {
    INIT,
    NEXT,
    FINALIZE,
    FUNCTION_COUNT
};

typedef struct generator_dataset {
    bd_dataset base;
    bd_captured f[FUNCTION_COUNT];
} generator_dataset;

typedef struct generator_iterator {
    bd_iterator base;
    bool has_state;
    BD_ARRAY(braid_tensor) state;
} generator_iterator;

static generator_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, generator_dataset, base);
}

static generator_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, generator_iterator, base);
}

static void destroy(bd_dataset *d)
{
    for (int i = 0; i < FUNCTION_COUNT; i++)
        bd_captured_fini(&dataset_of(d)->f[i]);
}

static void drop_state(generator_iterator *g)
{
    bd_tensors_fini(g->state.items, (int)g->state.len);
    bd_array_free(&g->state);
    g->has_state = false;
}

static bd_turn call_with_state(bd_iterator *it, int function, bd_results_fn then)
{
    const generator_iterator *g = iterator_of(it);
    int count = (int)g->state.len;
    braid_tensor *args = bd_calloc((size_t)count, sizeof *args);
    bd_tensors_ref(args, g->state.items, count);
    bd_turn turn = bd_iterator_call(it, &dataset_of(it->dataset)->f[function], args, count, then, NULL);
    bd_free(args);
    return turn;
}

static bd_turn finalized(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg, (void)rets, (void)ret_count;
    drop_state(iterator_of(it));
    if (!st->code) return bd_give_end(it);
    it->has_ended = true;
    return bd_give_error(it, st);
}

static bd_turn generated(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    if (st->code == BRAID_OUT_OF_RANGE) return call_with_state(it, FINALIZE, finalized);
    return bd_give_results(it, rets, ret_count, st);
}

static bd_turn begun(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    generator_iterator *g = iterator_of(it);
    if (st->code) return bd_give_error(it, st);
    g->has_state = true;
    bd_array_reserve(&g->state, (size_t)ret_count);
    g->state.len = (size_t)ret_count;
    for (int i = 0; i < ret_count; i++)
        bd_tensor_move(&g->state.items[i], &rets[i]);
    return call_with_state(it, NEXT, generated);
}

static bd_turn generator_next(bd_iterator *it)
{
    bool has_state = iterator_of(it)->has_state;
    return has_state ? call_with_state(it, NEXT, generated) : call_with_state(it, INIT, begun);
}

static void drop_results(void *arg, braid_tensor *rets, int ret_count, const braid_status *st)
{
    (void)arg, (void)rets, (void)ret_count, (void)st;
}

// A generator that is closed early is finalized too; no iterator waits for the result.
static void finalize_unasked(bd_iterator *it)
{
    const generator_iterator *g = iterator_of(it);
    const bd_captured *f = &dataset_of(it->dataset)->f[FINALIZE];
    int count = (int)g->state.len + f->value_count;
    braid_tensor *args = bd_calloc((size_t)count, sizeof *args);
    bd_tensors_ref(args, g->state.items, (int)g->state.len);
    bd_tensors_ref(args + g->state.len, f->values, f->value_count);
    bd_function_call(
        f->functions, f->callee,
        &(bd_invocation){
            .args = args, .arg_count = count, .cancellation = it->chain->token, .done = drop_results});
    bd_tensors_fini(args, count);
    bd_free(args);
}

static void generator_close(bd_iterator *it)
{
    if (iterator_of(it)->has_state) finalize_unasked(it);
    drop_state(iterator_of(it));
}

static const bd_dataset_kind generator_kind = {
    .name = "Generator",
    .dataset_size = sizeof(generator_dataset),
    .iterator_size = sizeof(generator_iterator),
    .destroy = destroy,
    .next = generator_next,
    .close = generator_close,
};

// ---- The op ----

typedef struct generator_state {
    bd_func_ref refs[FUNCTION_COUNT];
} generator_state;

static void state_destroy(void *state)
{
    for (int i = 0; i < FUNCTION_COUNT; i++)
        bd_func_ref_fini(&((generator_state *)state)->refs[i]);
}

static braid_code generator_create(const braid_op *node, void *state, braid_status *st)
{
    static const char *const attrs[] = {"init_func", "next_func", "finalize_func"};
    for (int i = 0; i < FUNCTION_COUNT; i++) {
        if (!bd_func_ref_read(node, attrs[i], -1, &((generator_state *)state)->refs[i], st)) continue;
        state_destroy(state);
        return st->code;
    }
    return BRAID_OK;
}

static void generator_run(bd_op_ctx *c)
{
    static const char *const types[] = {"Tinit_func_args", "Tnext_func_args", "Tfinalize_func_args"};
    bd_dataset *d = bd_dataset_of_attrs(c, &generator_kind, false);
    for (int i = 0, at = 0; d && i < FUNCTION_COUNT; i++) {
        int count = bd_node_attr(c->node, types[i])->list.count;
        if (!bd_captured_init(&dataset_of(d)->f[i], c, &((generator_state *)c->state)->refs[i], at, count)) {
            bd_dataset_unref(d);
            return;
        }
        at += count;
    }
    if (!d) return;
    d->state = c->node->def->name;
    bd_output_dataset(c, d);
}

BD_OP(GeneratorDataset) = {
    .signature = "(init_func_other_args: Tinit_func_args..., next_func_other_args: Tnext_func_args..., "
                 "finalize_func_other_args: Tfinalize_func_args...) -> (handle: variant)",
    .attrs = "init_func:func; next_func:func; finalize_func:func; Tinit_func_args:list(type)>=0; "
             "Tnext_func_args:list(type)>=0; Tfinalize_func_args:list(type)>=0; " BD_DATASET_ATTRS
             "; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.state_size = sizeof(generator_state),
                           .create = generator_create,
                           .destroy = state_destroy,
                           .run = generator_run}),
    .doc =
        "Elements that a function makes of a state made by another one, until OutOfRange; then a third function is called.",
};
