// Datasets that only tune or observe their input: they forward it. Of the settings Braid needs those that
// change which elements come: make_sloppy and shuffle_and_repeat_fusion. NonSerializableDataset cannot be
// saved, and IgnoreErrorsDataset drops errors.
#include "ops/dataset/dataset.h"
#include <string.h>

static void input_run(bd_op_ctx *c)
{
    bd_dataset *d = bd_input_dataset(c, 0);
    if (d) bd_output_dataset(c, bd_dataset_ref(d));
}

// The other inputs are vectors of strings. They are only checked.
static void with_vectors_run(bd_op_ctx *c)
{
    for (int i = 1; i < c->input_count; i++) {
        if (bd_input(c, i)->shape.rank == 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a vector", c->node->def->inputs[i].name);
        return;
    }
    input_run(c);
}

#define SAME_OP(MORE_INPUTS, MORE_ATTRS, DOC)                                                                \
    {                                                                                                        \
        .signature = "(input_dataset: variant" MORE_INPUTS ") -> (handle: variant)",                         \
        .attrs = MORE_ATTRS BD_DATASET_ATTRS, .flags = BD_OP_NOT_DIFFERENTIABLE,                             \
        .shape = bd_shape_fn_scalar, .kernels = BD_KERNELS({.run = input_run}), .doc = (DOC)                 \
    }

static bd_turn same_next(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

static const bd_dataset_kind optimize_kind = {
    .name = "Optimize",
    .dataset_size = sizeof(bd_dataset),
    .iterator_size = sizeof(bd_iterator),
    .opens_input = true,
    .cardinality = bd_cardinality_of_input,
    .next = same_next,
    .received = bd_pass,
};

static unsigned rewrite_of(const bd_string *name)
{
    static const struct {
        const char *name;
        unsigned rewrite;
    } rewrites[] = {
        {"make_sloppy", BD_REWRITE_MAKE_SLOPPY},
        {"shuffle_and_repeat_fusion", BD_REWRITE_SHUFFLE_AND_REPEAT},
    };
    for (size_t i = 0; i < sizeof rewrites / sizeof *rewrites; i++)
        if (name->len == strlen(rewrites[i].name) && memcmp(name->data, rewrites[i].name, name->len) == 0)
            return rewrites[i].rewrite;
    return 0;
}

// Input 1 has the names of the rewrites, and so have further ones of OptimizeDatasetV2: those that are
// enabled, disabled and on by default.
static void optimize_run(bd_op_ctx *c)
{
    unsigned of_input[4] = {0};
    for (int i = 1; i < c->input_count; i++) {
        const braid_tensor *names = bd_input(c, i);
        for (int64_t at = 0; names->shape.rank == 1 && at < bd_tensor_count(names); at++)
            of_input[i] |= rewrite_of(&bd_tensor_str(names)[at]);
    }
    const unsigned rewrites = of_input[1] | (of_input[3] & ~of_input[2]);
    bd_dataset *d = rewrites ? bd_dataset_over_input(c, &optimize_kind) : NULL;
    if (d) d->rewrites = rewrites;
    if (!rewrites)
        with_vectors_run(c);
    else if (d)
        bd_output_dataset(c, d);
}

BD_OP(OptimizeDataset) = {
    .signature = "(input_dataset: variant, optimizations: string) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; optimization_configs:list(string)=[]",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = optimize_run}),
    .doc =
        "The same dataset. With the optimization make_sloppy its stages may give any order, and with shuffle_and_repeat_fusion a repeated shuffle draws the numbers of a ShuffleAndRepeatDataset; others rewrite pipelines in TensorFlow.",
};
BD_OP(OptimizeDatasetV2) = {
    .signature = "(input_dataset: variant, optimizations_enabled: string, optimizations_disabled: string, "
                 "optimizations_default: string) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; optimization_configs:list(string)=[]",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = optimize_run}),
    .doc =
        "OptimizeDataset with the optimizations that are enabled, and those of the default that are not disabled.",
};
// TensorFlow 2's, for datasets that are made of several.
static void rewrite_run(bd_op_ctx *c)
{
    if (bd_input(c, 1)->shape.rank == 0)
        input_run(c);
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "rewrite_name must be a scalar");
}

BD_OP(RewriteDataset) = {
    .signature = "(input_dataset: variant, rewrite_name: string) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = rewrite_run}),
    .doc = "The same dataset: Braid does not rewrite pipelines.",
};
BD_OP(FinalizeDataset) = SAME_OP("", "has_captured_ref:bool=false; ", "The same dataset, without a change.");

BD_OP(ModelDataset) = SAME_OP("", "algorithm:int=0; cpu_budget:int=0; +ram_budget:int=0; ",
                              "The same dataset: its stages tune themselves.");

static braid_code assert_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    return code ? code : bd_shape_fn_scalar(c, st);
}

#define ASSERT_OP                                                                                            \
    {                                                                                                        \
        .signature = "(input_dataset: variant, transformations: string) -> (handle: variant)",               \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = assert_shape,                 \
        .kernels = BD_KERNELS({.run = with_vectors_run}),                                                    \
        .deviation = "It never fails, because pipelines are not rewritten.", .doc = "The same dataset."      \
    }
BD_OP(AssertNextDataset) = ASSERT_OP;
BD_OP(ExperimentalAssertNextDataset) = ASSERT_OP;
BD_OP(AssertPrevDataset) = ASSERT_OP;

// ---- Numbers of threads ----

static void threads(bd_op_ctx *c, const char *name)
{
    int64_t n;
    if (!bd_input_scalar_int(c, 1, name, &n)) return;
    if (n < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`%s` must be >= 0", name);
    else
        input_run(c);
}

static void intra_op_run(bd_op_ctx *c)
{
    threads(c, "max_intra_op_parallelism");
}

static void private_threads_run(bd_op_ctx *c)
{
    threads(c, "num_threads");
}

#define THREADS_OP(INPUT, RUN)                                                                               \
    {                                                                                                        \
        .signature = "(input_dataset: variant, " INPUT ": int64) -> (handle: variant)",                      \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalars,          \
        .kernels = BD_KERNELS({.run = (RUN)}),                                                               \
        .doc = "The same dataset: it runs on the threads that the task has."                                 \
    }

BD_OP(MaxIntraOpParallelismDataset) = THREADS_OP("max_intra_op_parallelism", intra_op_run);
BD_OP(ExperimentalMaxIntraOpParallelismDataset) = THREADS_OP("max_intra_op_parallelism", intra_op_run);
BD_OP(PrivateThreadPoolDataset) = THREADS_OP("num_threads", private_threads_run);
BD_OP(ExperimentalPrivateThreadPoolDataset) = THREADS_OP("num_threads", private_threads_run);

// ---- NonSerializableDataset ----

static bd_turn pull_input(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

static const bd_dataset_kind non_serializable_kind = {
    .name = "NonSerializable",
    .dataset_size = sizeof(bd_dataset),
    .iterator_size = sizeof(bd_iterator),
    .opens_input = true,
    .cardinality = bd_cardinality_of_input,
    .next = pull_input,
    .received = bd_pass,
};

static void non_serializable_run(bd_op_ctx *c)
{
    bd_dataset *d = bd_dataset_over_input(c, &non_serializable_kind);
    if (!d) return;
    d->state = c->node->def->name;
    bd_output_dataset(c, d);
}

#define NON_SERIALIZABLE_OP                                                                                  \
    {                                                                                                        \
        .signature = "(input_dataset: variant) -> (handle: variant)", .attrs = BD_DATASET_ATTRS,             \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                      \
        .kernels = BD_KERNELS({.run = non_serializable_run}),                                                \
        .doc = "The same elements, of which no iterator can be saved."                                       \
    }

BD_OP(NonSerializableDataset) = NON_SERIALIZABLE_OP;
BD_OP(ExperimentalNonSerializableDataset) = NON_SERIALIZABLE_OP;

// ---- IgnoreErrorsDataset ----

// Cancelling is no error of an element.
static bd_turn ignore_received(bd_iterator *it, bd_iterator *from)
{
    bool ignores = from->answer.kind == BD_ANSWER_ERROR && !bd_cancellation_is_cancelled(it->chain->token);
    return ignores ? bd_pull(it, from) : bd_pass(it, from);
}

static const bd_dataset_kind ignore_kind = {
    .name = "IgnoreErrors",
    .dataset_size = sizeof(bd_dataset),
    .iterator_size = sizeof(bd_iterator),
    .opens_input = true,
    .next = pull_input,
    .received = ignore_received,
};

static void ignore_run(bd_op_ctx *c)
{
    bd_dataset *d = bd_dataset_over_input(c, &ignore_kind);
    if (d) bd_output_dataset(c, d);
}

#define IGNORE_ERRORS_OP                                                                                     \
    {                                                                                                        \
        .signature = "(input_dataset: variant) -> (handle: variant)",                                        \
        .attrs = BD_DATASET_ATTRS "; +log_warning:bool=false", .flags = BD_OP_NOT_DIFFERENTIABLE,            \
        .shape = bd_shape_fn_scalars, .kernels = BD_KERNELS({.run = ignore_run}),                            \
        .doc = "A dataset without the elements that fail."                                                   \
    }

BD_OP(IgnoreErrorsDataset) = IGNORE_ERRORS_OP;
BD_OP(ExperimentalIgnoreErrorsDataset) = IGNORE_ERRORS_OP;
