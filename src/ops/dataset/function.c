// Functions that datasets call.
#include "ops/dataset/function.h"

#include "base/alloc.h"
#include "base/slab.h"
#include "ops/common/element.h"

// ---- Capturing ----

bool bd_captured_init(bd_captured *f, bd_op_ctx *c, const bd_func_ref *ref, int first, int count)
{
    BD_STATUS(st);
    *f = (bd_captured){0};
    if (bd_function_find(c->step->functions, ref, BD_CALLEE_PLACED, &f->callee, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    f->functions = bd_function_runtime_ref(c->step->functions);
    f->values = bd_calloc((size_t)count, sizeof *f->values);
    f->value_count = count;
    for (int i = 0; i < count; i++) {
        if (bd_tensor_keep(&f->values[i], bd_input(c, first + i))) continue;
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when capturing an argument of function %s", ref->name);
        bd_captured_fini(f);
        return false;
    }
    return true;
}

void bd_captured_fini(bd_captured *f)
{
    bd_tensors_fini(f->values, f->value_count);
    bd_free(f->values);
    bd_function_runtime_unref(f->functions);
    *f = (bd_captured){0};
}

void bd_func_state_destroy(void *state)
{
    bd_func_ref_fini(state);
}

// ---- Calling ----

// A call is STARTING until its caller has returned from it. If it has ENDED by then, the caller continues
// with the result, so that the stack does not grow.
enum {
    STARTING,
    WAITING,
    ENDED
};

typedef struct pending_call {
    bd_iterator *it;
    bd_results_fn then;
    void *arg;
    atomic_int phase;
    braid_status st;
    int ret_count;
    braid_tensor rets[]; // of the callee's ret_count
} pending_call;

static bd_turn finish(pending_call *p)
{
    bd_turn turn = p->then(p->it, p->arg, p->rets, p->ret_count, &p->st);
    bd_tensors_fini(p->rets, p->ret_count);
    bd_status_fini(&p->st);
    bd_slab_free(p);
    return turn;
}

static void call_done(void *arg, braid_tensor *rets, int ret_count, const braid_status *st)
{
    pending_call *p = arg;
    bd_status_copy(&p->st, st);
    p->ret_count = ret_count;
    for (int i = 0; i < ret_count; i++)
        bd_tensor_move(&p->rets[i], &rets[i]);
    if (atomic_exchange(&p->phase, ENDED) == WAITING) bd_turn_run(finish(p));
}

bd_turn bd_iterator_call(bd_iterator *it, const bd_captured *f, braid_tensor *args, int arg_count,
                         bd_results_fn then, void *arg)
{
    int count = arg_count + f->value_count;
    pending_call *p = bd_slab_alloc(sizeof *p + (size_t)f->callee->ret_count * sizeof p->rets[0]);
    p->it = it;
    p->then = then;
    p->arg = arg;
    atomic_init(&p->phase, STARTING);
    braid_tensor *all = bd_slab_alloc((size_t)count * sizeof *all + 1);
    for (int i = 0; i < arg_count; i++)
        bd_tensor_move(&all[i], &args[i]);
    bd_tensors_ref(all + arg_count, f->values, f->value_count);
    const bd_invocation call = {.args = all,
                                .arg_count = count,
                                .cancellation = (it->calls ? it->calls : it->chain)->token,
                                .done = call_done,
                                .arg = p};
    bd_function_call(f->functions, f->callee, &call);
    bd_tensors_fini(all, count);
    bd_slab_free(all);
    return atomic_exchange(&p->phase, WAITING) == ENDED ? finish(p) : BD_WAIT;
}

// ---- Results ----

bd_turn bd_give_results(bd_iterator *it, braid_tensor *rets, int ret_count, braid_status *st)
{
    const bd_dataset *d = it->dataset;
    if (st->code) return bd_give_error(it, st);
    if (ret_count != d->count)
        return bd_give_failure(it, BRAID_INVALID_ARGUMENT,
                               "A %s dataset has elements of %d components, but its function gives %d",
                               d->kind->name, d->count, ret_count);
    for (int i = 0; i < ret_count; i++) {
        if (rets[i].dtype != d->types[i])
            return bd_give_failure(it, BRAID_INVALID_ARGUMENT,
                                   "Component %d of a %s dataset has type %s, but its function gives %s", i,
                                   d->kind->name, braid_dtype_name(d->types[i]),
                                   braid_dtype_name(rets[i].dtype));
    }
    for (int i = 0; i < ret_count; i++)
        bd_tensor_move(&it->answer.tensors[i], &rets[i]);
    return bd_give(it);
}

static braid_code check_scalar(const braid_tensor *rets, int ret_count, braid_dtype type, const char *what,
                               braid_status *st)
{
    if (ret_count == 1 && rets[0].dtype == type && rets[0].shape.rank == 0) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s", what);
}

braid_code bd_result_bool(const braid_tensor *rets, int ret_count, const char *what, bool *value,
                          braid_status *st)
{
    if (!check_scalar(rets, ret_count, BRAID_BOOL, what, st)) *value = bd_tensor_bool(rets)[0];
    return st->code;
}

braid_code bd_result_int(const braid_tensor *rets, int ret_count, const char *what, int64_t *value,
                         braid_status *st)
{
    if (!check_scalar(rets, ret_count, BRAID_INT64, what, st)) *value = bd_tensor_i64(rets)[0];
    return st->code;
}

braid_code bd_result_dataset(const braid_tensor *rets, int ret_count, bd_dataset **value, braid_status *st)
{
    if (check_scalar(rets, ret_count, BRAID_VARIANT,
                     "Function must return a single scalar of dtype DT_VARIANT.", st))
        return st->code;
    bd_variant *v = bd_tensor_variant(rets)[0];
    if (!v || v->type != &bd_dataset_type)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Function must return a dataset, but gives %s",
                       bd_variant_type_name(v));
    *value = BD_CONTAINER_OF(v, bd_dataset, base);
    return BRAID_OK;
}

// ---- Components ----

bd_dataset *bd_dataset_of_attrs(bd_op_ctx *c, const bd_dataset_kind *kind, bool has_input)
{
    BD_STATUS(st);
    const bd_attr *types = bd_node_attr(c->node, "output_types"),
                  *shapes = bd_node_attr(c->node, "output_shapes");
    bd_dataset *input = has_input ? bd_input_dataset(c, 0) : NULL, *d = NULL;
    if (has_input && !input) return NULL;
    if (types->list.count != shapes->list.count)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "`output_shapes` must be the same length as `output_types` (%d vs. %d)",
                   shapes->list.count, types->list.count);
    else if (bd_dataset_new(kind, (bd_components){types->list.count, types->list.type, shapes->list.shape},
                            &input, has_input, &d, st))
        bd_op_fail_status(c, st);
    return d;
}
