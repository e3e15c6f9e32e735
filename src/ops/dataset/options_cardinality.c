// Datasets that carry properties given by the program: OptionsDataset, and AssertCardinalityDataset, which
// also checks them.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "ops/dataset/dataset.h"
#include <stdio.h>

typedef struct promise_dataset {
    bd_dataset base;
    int64_t cardinality;
    char *options; // an Options message; owned; NULL in other datasets
    size_t options_len;
} promise_dataset;

typedef struct promise_iterator {
    bd_iterator base;
    int64_t seen;
} promise_iterator;

static promise_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, promise_dataset, base);
}

static bd_turn pull_input(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

// ---- OptionsDataset, GetOptions ----

static void destroy_options(bd_dataset *d)
{
    bd_free(dataset_of(d)->options);
}

static const bd_dataset_kind options_kind = {
    .name = "Options",
    .dataset_size = sizeof(promise_dataset),
    .iterator_size = sizeof(bd_iterator),
    .destroy = destroy_options,
    .opens_input = true,
    .cardinality = bd_cardinality_of_input,
    .next = pull_input,
    .received = bd_pass,
};

static const promise_dataset *options_below(const bd_dataset *d)
{
    while (d->kind != &options_kind && d->input_count > 0)
        d = d->inputs[0];
    return d->kind == &options_kind ? dataset_of(d) : NULL;
}

// Concatenated messages are merged messages.
#define OPTIONS_LEN_MAX ((size_t)1 << 20)

static void options_run(bd_op_ctx *c)
{
    const bd_bytes *own = &bd_node_attr(c->node, "serialized_options")->s;
    bd_dataset *input = bd_input_dataset(c, 0);
    const promise_dataset *below = input ? options_below(input) : NULL;
    bd_dataset *d = input ? bd_dataset_over_input(c, &options_kind) : NULL;
    if (!d) return;
    bd_strbuf merged = {0};
    if (below && below->options_len) bd_strbuf_append_n(&merged, below->options, below->options_len);
    if (own->len) bd_strbuf_append_n(&merged, own->data, own->len);
    dataset_of(d)->options = bd_strndup(bd_strbuf_str(&merged), merged.len);
    dataset_of(d)->options_len = merged.len;
    bd_strbuf_fini(&merged);
    if (dataset_of(d)->options_len <= OPTIONS_LEN_MAX) {
        bd_output_dataset(c, d);
        return;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The options of a dataset are longer than %zu bytes",
               OPTIONS_LEN_MAX);
    bd_dataset_unref(d);
}

BD_OP(OptionsDataset) = {
    .signature = "(input_dataset: variant) -> (handle: variant)",
    .attrs = "serialized_options:string; " BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = options_run}),
    .deviation = "Options have no effect.",
    .doc = "The same elements, with options, which GetOptions gives back.",
};

static void get_options_run(bd_op_ctx *c)
{
    const bd_dataset *d = bd_input_dataset(c, 0);
    const promise_dataset *options = d ? options_below(d) : NULL;
    braid_tensor *y = d ? bd_output(c, 0, BRAID_STRING, &BD_SCALAR) : NULL;
    if (y && options) bd_tensor_string_set(y, 0, options->options, options->options_len);
}

BD_OP(GetOptions) = {
    .signature = "(input_dataset: variant) -> (serialized_options: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = get_options_run}),
    .doc = "The options of a dataset, merged with those of its first input, and so on.",
};

// ---- AssertCardinalityDataset ----

static int64_t promised(const bd_dataset *d)
{
    return dataset_of(d)->cardinality;
}

static bd_turn refuse(bd_iterator *it, const char *what)
{
    int64_t want = dataset_of(it->dataset)->cardinality,
            seen = BD_CONTAINER_OF(it, promise_iterator, base)->seen;
    char text[64] = "an infinite number of elements";
    if (want != BD_CARDINALITY_INFINITE)
        snprintf(text, sizeof text, "%lld element%s", (long long)want, want == 1 ? "" : "s");
    it->has_ended = true;
    return bd_give_failure(it, BRAID_FAILED_PRECONDITION,
                           "Input dataset was expected to contain %s but contained %s %lld element%s.", text,
                           what, (long long)seen, seen == 1 ? "" : "s");
}

static bd_turn cardinality_received(bd_iterator *it, bd_iterator *from)
{
    promise_iterator *p = BD_CONTAINER_OF(it, promise_iterator, base);
    int64_t want = dataset_of(it->dataset)->cardinality;
    if (from->answer.kind == BD_ANSWER_ELEMENT) {
        p->seen++;
        if (want == BD_CARDINALITY_INFINITE || p->seen <= want) return bd_pass(it, from);
        bd_answer_drop(from);
        return refuse(it, "at least");
    }
    return from->answer.kind == BD_ANSWER_END && p->seen != want ? refuse(it, "only") : bd_pass(it, from);
}

static const bd_dataset_kind cardinality_kind = {
    .name = "AssertCardinality",
    .dataset_size = sizeof(promise_dataset),
    .iterator_size = sizeof(promise_iterator),
    .opens_input = true,
    .cardinality = promised,
    .next = pull_input,
    .received = cardinality_received,
};

static void cardinality_run(bd_op_ctx *c)
{
    int64_t cardinality;
    if (!bd_input_scalar_int(c, 1, "cardinality", &cardinality)) return;
    bd_dataset *d = bd_dataset_over_input(c, &cardinality_kind);
    if (!d) return;
    dataset_of(d)->cardinality = cardinality;
    bd_output_dataset(c, d);
}

BD_OP(AssertCardinalityDataset) = {
    .signature = "(input_dataset: variant, cardinality: int64) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = cardinality_run}),
    .doc = "The same elements, of which there must be so many (-1: without end).",
};
