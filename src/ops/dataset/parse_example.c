// ParseExampleDataset: batches of serialized Examples as tensors. Components are in the order of the
// features' names; a sparse one is a vector of three variants: its indices, values and shape.
#include "base/alloc.h"
#include "ops/common/element.h"
#include "ops/common/tensor_variant.h"
#include "ops/dataset/dataset.h"
#include "ops/parsing/example_parser.h"
#include <string.h>

typedef struct parse_dataset {
    bd_dataset base;
    bd_example_spec spec; // over the fields below
    bd_dense_feature *dense;
    bd_sparse_feature *sparse;
    char **keys;            // of dense, then of sparse features; owned
    int *places;            // the component that each is, in the same order
    braid_tensor *defaults; // of dense features
} parse_dataset;

static parse_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, parse_dataset, base);
}

static void destroy(bd_dataset *base)
{
    parse_dataset *d = dataset_of(base);
    for (int i = 0; d->keys && i < d->spec.dense_count + d->spec.sparse_count; i++)
        bd_free(d->keys[i]);
    if (d->defaults) bd_tensors_fini(d->defaults, d->spec.dense_count);
    bd_free(d->defaults);
    bd_free(d->keys);
    bd_free(d->places);
    bd_free(d->dense);
    bd_free(d->sparse);
}

// ---- The iterator ----

static bd_turn pull_input(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

static bool put_sparse(braid_tensor *to, const bd_parsed_examples *out, int i)
{
    braid_shape three = bd_shape1(3);
    return bd_tensor_alloc(to, BRAID_VARIANT, &three) && bd_tensor_variant_put(to, 0, &out->indices[i]) &&
           bd_tensor_variant_put(to, 1, &out->values[i]) && bd_tensor_variant_put(to, 2, &out->shapes[i]);
}

static bd_turn give_parsed(bd_iterator *it, bd_parsed_examples *out)
{
    const parse_dataset *d = dataset_of(it->dataset);
    int dense = d->spec.dense_count;
    for (int i = 0; i < dense; i++)
        bd_tensor_move(&it->answer.tensors[d->places[i]], &out->dense[i]);
    for (int i = 0; i < d->spec.sparse_count; i++)
        if (!put_sparse(&it->answer.tensors[d->places[dense + i]], out, i)) return bd_give_out_of_memory(it);
    return bd_give(it);
}

static bd_turn parse_received(bd_iterator *it, bd_iterator *from)
{
    BD_STATUS(st);
    const bd_example_spec *spec = &dataset_of(it->dataset)->spec;
    size_t sparse = (size_t)spec->sparse_count;
    braid_tensor *t = &from->answer.tensors[0];
    if (from->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, from);
    if (t->dtype != BRAID_STRING || t->shape.rank != 1) {
        char text[BD_SHAPE_STR_MAX];
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Expected a vector of serialized Examples, got %s%s",
                braid_dtype_name(t->dtype), bd_shape_str(&t->shape, text));
        bd_answer_drop(from);
        return bd_give_error(it, st);
    }
    bd_parsed_examples out = {.dense = bd_calloc((size_t)spec->dense_count, sizeof *out.dense),
                              .indices = bd_calloc(sparse, sizeof *out.indices),
                              .values = bd_calloc(sparse, sizeof *out.values),
                              .shapes = bd_calloc(sparse, sizeof *out.shapes)};
    braid_code code = bd_examples_parse(spec, NULL, bd_tensor_str(t), NULL, bd_tensor_count(t), &out, st);
    bd_answer_drop(from);
    bd_turn turn = code ? bd_give_error(it, st) : give_parsed(it, &out);
    bd_tensors_fini(out.dense, spec->dense_count);
    bd_tensors_fini(out.indices, spec->sparse_count);
    bd_tensors_fini(out.values, spec->sparse_count);
    bd_tensors_fini(out.shapes, spec->sparse_count);
    bd_free(out.dense);
    bd_free(out.indices);
    bd_free(out.values);
    bd_free(out.shapes);
    return turn;
}

static const bd_dataset_kind parse_kind = {
    .name = "ParseExample",
    .dataset_size = sizeof(parse_dataset),
    .iterator_size = sizeof(bd_iterator),
    .destroy = destroy,
    .opens_input = true,
    .cardinality = bd_cardinality_of_input,
    .next = pull_input,
    .received = parse_received,
};

// ---- The op ----

static void read_keys(bd_op_ctx *c, parse_dataset *d)
{
    const bd_attr *dense = bd_node_attr(c->node, "dense_keys"),
                  *sparse = bd_node_attr(c->node, "sparse_keys");
    int n = d->spec.dense_count, count = n + d->spec.sparse_count;
    for (int i = 0; i < count; i++) {
        const bd_bytes *key = i < n ? &dense->list.s[i] : &sparse->list.s[i - n];
        d->keys[i] = bd_strndup(key->data, key->len);
        bd_bytes own = {.data = d->keys[i], .len = strlen(d->keys[i])};
        if (i < n)
            d->dense[i].key = own;
        else
            d->sparse[i - n].key = own;
    }
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            int order = strcmp(d->keys[k], d->keys[i]);
            if (order == 0 && k != i)
                bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Duplicate key not allowed: %s", d->keys[i]);
            d->places[i] += order < 0;
        }
    }
}

static void read_features(bd_op_ctx *c, parse_dataset *d)
{
    BD_STATUS(st);
    const bd_attr *types = bd_node_attr(c->node, "Tdense"), *shapes = bd_node_attr(c->node, "dense_shapes"),
                  *sparse = bd_node_attr(c->node, "sparse_types");
    for (int i = 0; i < d->spec.dense_count && !st->code; i++) {
        bd_dense_feature *f = &d->dense[i];
        if (!bd_tensor_keep(&d->defaults[i], bd_input(c, 2 + i)))
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a default");
        f->dtype = types->list.type[i];
        f->shape = shapes->list.shape[i];
        f->default_value = &d->defaults[i];
        if (!bd_example_check_dtype(f->dtype, st)) bd_example_check_shape(&f->shape, i, st);
    }
    for (int i = 0; i < d->spec.sparse_count && !st->code; i++) {
        d->sparse[i].dtype = sparse->list.type[i];
        bd_example_check_dtype(d->sparse[i].dtype, st);
    }
    if (!st->code && !bd_op_failed(c)) bd_example_check_defaults(&d->spec, st);
    if (st->code) bd_op_fail_status(c, st);
}

static bool check_counts(bd_op_ctx *c)
{
    static const char *const pairs[][2] = {
        {"dense_keys", "Tdense"}, {"dense_keys", "dense_shapes"}, {"sparse_keys", "sparse_types"}};
    for (int i = 0; i < 3; i++) {
        int a = bd_node_attr(c->node, pairs[i][0])->list.count,
            b = bd_node_attr(c->node, pairs[i][1])->list.count;
        if (a == b) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "len(%s) != len(%s): %d vs. %d", pairs[i][0], pairs[i][1], a,
                   b);
        return false;
    }
    return true;
}

static void parse_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    int64_t parallel;
    bd_dataset *input = bd_input_dataset(c, 0), *made;
    if (bd_op_def_attr(c->node->def, "ragged_keys") && bd_node_attr(c->node, "ragged_keys")->list.count > 0) {
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "%s '%s' cannot parse ragged features; parse them as sparse ones",
                   c->node->op_type, c->node->name);
        return;
    }
    if (!input || !check_counts(c) || !bd_input_scalar_int(c, 1, "num_parallel_calls", &parallel)) return;
    if (parallel <= 0 && parallel != -1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_parallel_calls must be greater than zero.");
        return;
    }
    int dense = bd_node_attr(c->node, "dense_keys")->list.count,
        sparse = bd_node_attr(c->node, "sparse_keys")->list.count, count = dense + sparse;
    if (count == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s '%s' is to parse no features", c->node->op_type,
                   c->node->name);
        return;
    }
    if (bd_dataset_new(&parse_kind, (bd_components){.count = count}, &input, 1, &made, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    parse_dataset *d = dataset_of(made);
    d->spec = (bd_example_spec){.dense_count = dense, .sparse_count = sparse};
    d->spec.dense = d->dense = bd_calloc((size_t)dense, sizeof *d->dense);
    d->spec.sparse = d->sparse = bd_calloc((size_t)sparse, sizeof *d->sparse);
    d->keys = bd_calloc((size_t)count, sizeof *d->keys);
    d->places = bd_calloc((size_t)count, sizeof *d->places);
    d->defaults = bd_calloc((size_t)dense, sizeof *d->defaults);
    read_keys(c, d);
    read_features(c, d);
    for (int i = 0; i < count; i++)
        made->types[d->places[i]] = i < dense ? d->dense[i].dtype : BRAID_VARIANT;
    if (bd_op_failed(c))
        bd_dataset_unref(made);
    else
        bd_output_dataset(c, made);
}

#define PARSE_OP(MORE_ATTRS, DEVIATION)                                                                                 \
    {                                                                                                                   \
        .signature =                                                                                                    \
            "(input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense...) -> (handle: variant)",      \
        .attrs =                                                                                                        \
            "sparse_keys:list(string)>=0; dense_keys:list(string)>=0; sparse_types:list(type){float,int64,string}>=0; " \
            "Tdense:list(type){float,int64,string}>=0; dense_shapes:list(shape)>=0; " BD_DATASET_ATTRS                  \
                MORE_ATTRS,                                                                                             \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                                 \
        .kernels = BD_KERNELS({.run = parse_run}), .deviation = (DEVIATION),                                            \
        .doc = "Batches of serialized Examples, parsed: components in the order of the features' names."                \
    }

BD_OP(ParseExampleDataset) = PARSE_OP("; sloppy:bool=false", NULL);
BD_OP(ExperimentalParseExampleDataset) = PARSE_OP("; sloppy:bool=false", NULL);
BD_OP(ParseExampleDatasetV2) = PARSE_OP("; deterministic:string='default'; ragged_keys:list(string)>=0=[]; "
                                        "ragged_value_types:list(type){float,int64,string}>=0=[]; "
                                        "ragged_split_types:list(type){int32,int64}>=0=[]",
                                        "Ragged features are refused.");
