// Datasets for which TensorFlow measures several equivalent inputs and chooses the fastest. Braid takes the
// first one. ChooseFastestDataset, and ChooseFastestBranchDataset, whose inputs are made by functions.
#include "base/alloc.h"
#include "ops/dataset/function.h"

typedef struct choose_dataset {
    bd_dataset base;
    bd_captured f; // the first branch
} choose_dataset;

typedef struct choose_iterator {
    bd_iterator base;
    bd_iterator *made; // over the dataset that the branch has made; owned; NULL: not made yet
} choose_iterator;

static choose_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, choose_iterator, base);
}

static void destroy(bd_dataset *d)
{
    bd_captured_fini(&BD_CONTAINER_OF(d, choose_dataset, base)->f);
}

static void choose_close(bd_iterator *it)
{
    bd_iterator_close(iterator_of(it)->made);
}

static bd_turn made(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    const bd_dataset *want = it->dataset;
    choose_iterator *s = iterator_of(it);
    bd_dataset *d;
    if (!st->code && !bd_result_dataset(rets, ret_count, &d, st) &&
        !bd_check_components(BD_COMPONENTS(want), BD_COMPONENTS(d), st))
        bd_iterator_open(d, it->chain, it, 0, &s->made, st);
    return st->code ? bd_give_error(it, st) : bd_pull(it, s->made);
}

static bd_turn choose_next(bd_iterator *it)
{
    choose_iterator *s = iterator_of(it);
    braid_tensor arg;
    if (s->made) return bd_pull(it, s->made);
    if (!bd_tensor_alloc(&arg, BRAID_VARIANT, &BD_SCALAR)) return bd_give_out_of_memory(it);
    bd_tensor_variant_set(&arg, 0, &it->dataset->inputs[0]->base);
    return bd_iterator_call(it, &BD_CONTAINER_OF(it->dataset, choose_dataset, base)->f, &arg, 1, made, NULL);
}

static const bd_dataset_kind branch_kind = {
    .name = "ChooseFastestBranch",
    .dataset_size = sizeof(choose_dataset),
    .iterator_size = sizeof(choose_iterator),
    .destroy = destroy,
    .next = choose_next,
    .received = bd_pass,
    .close = choose_close,
};

static braid_code branch_create(const braid_op *node, void *state, braid_status *st)
{
    return bd_func_ref_read(node, "branches", 0, state, st);
}

// Checks that the functions of the other branches exist.
static bool other_branches_exist(bd_op_ctx *c)
{
    BD_STATUS(st);
    const int count = bd_node_attr(c->node, "branches")->list.count;
    for (int i = 1; i < count && !st->code; i++) {
        bd_func_ref f = {0};
        const bd_callee *callee;
        if (!bd_func_ref_read(c->node, "branches", i, &f, st))
            bd_function_find(c->step->functions, &f, BD_CALLEE_PLACED, &callee, st);
        bd_func_ref_fini(&f);
    }
    if (st->code) bd_op_fail_status(c, st);
    return !st->code;
}

// The inputs are the dataset, a ratio, and the arguments of all branches.
static void branch_run(bd_op_ctx *c)
{
    bd_captured f;
    int64_t ratio[2];
    const bd_attr *lengths = bd_node_attr(c->node, "other_arguments_lengths");
    if (!bd_input_scalar_int(c, 1, "ratio_numerator", &ratio[0]) ||
        !bd_input_scalar_int(c, 2, "ratio_denominator", &ratio[1]))
        return;
    if (ratio[0] <= 0 || ratio[1] <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`%s` must be greater than zero.",
                   ratio[0] <= 0 ? "ratio_numerator" : "ratio_denominator");
        return;
    }
    if (lengths->list.count != bd_node_attr(c->node, "branches")->list.count || lengths->list.i[0] < 0 ||
        lengths->list.i[0] > c->input_count - 3) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "branches and other_arguments_lengths must have the same length, and all arguments must be there");
        return;
    }
    if (!other_branches_exist(c) || !bd_captured_init(&f, c, c->state, 3, (int)lengths->list.i[0])) return;
    bd_dataset *d = bd_dataset_of_attrs(c, &branch_kind, true);
    if (!d) {
        bd_captured_fini(&f);
        return;
    }
    BD_CONTAINER_OF(d, choose_dataset, base)->f = f;
    d->state = d->state ? d->state : f.callee->state;
    bd_output_dataset(c, d);
}

BD_OP(ChooseFastestBranchDataset) = {
    .signature =
        "(input_dataset: variant, ratio_numerator: int64, ratio_denominator: int64, other_arguments: "
        "Targuments...) -> (handle: variant)",
    .attrs = "Targuments:list(type)>=0; num_elements_per_branch:int>=1; branches:list(func)>=1; "
             "other_arguments_lengths:list(int)>=1; " BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.state_size = sizeof(bd_func_ref),
                           .create = branch_create,
                           .destroy = bd_func_state_destroy,
                           .run = branch_run}),
    .deviation = "The first branch is taken.",
    .doc = "The dataset that one of several equivalent functions makes of a dataset.",
};

static void fastest_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_dataset *first = bd_input_dataset(c, 0);
    for (int i = 1; first && i < c->input_count; i++) {
        const bd_dataset *d = bd_input_dataset(c, i);
        if (!d) return;
        if (bd_check_components(BD_COMPONENTS(first), BD_COMPONENTS(d), st)) {
            bd_op_fail_status(c, st);
            return;
        }
    }
    if (first) bd_output_dataset(c, bd_dataset_ref(first));
}

#define FASTEST_OP                                                                                           \
    {                                                                                                        \
        .signature = "(input_datasets: N*variant) -> (handle: variant)",                                     \
        .attrs = "N:int>=2; num_experiments:int; " BD_DATASET_ATTRS, .flags = BD_OP_NOT_DIFFERENTIABLE,      \
        .shape = bd_shape_fn_scalar, .kernels = BD_KERNELS({.run = fastest_run}),                            \
        .deviation = "The first one is taken.",                                                              \
        .doc = "One of several datasets that have the same elements."                                        \
    }

BD_OP(ChooseFastestDataset) = FASTEST_OP;
BD_OP(ExperimentalChooseFastestDataset) = FASTEST_OP;

// ---- WrapDatasetVariant, UnwrapDatasetVariant ----

static void same_run(bd_op_ctx *c)
{
    bd_dataset *d = bd_input_dataset(c, 0);
    if (d) bd_output_dataset(c, bd_dataset_ref(d));
}

#define WRAP_OP                                                                                              \
    {                                                                                                        \
        .signature = "(input_handle: variant) -> (output_handle: variant)",                                  \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                      \
        .kernels = BD_KERNELS({.run = same_run}),                                                            \
        .doc = "The same dataset: it needs no wrapping to go from device to device."                         \
    }

BD_OP(WrapDatasetVariant) = WRAP_OP;
BD_OP(UnwrapDatasetVariant) = WRAP_OP;
