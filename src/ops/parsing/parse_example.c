// ParseExample and ParseSingleExample: the features of serialized Example messages as tensors.
#include "ops/parsing/parse_example.h"
#include "base/alloc.h"
#include "graph/shape_fn.h"

#include "op/kernel.h"
#include <string.h>

void bd_parse_attrs_fini(void *attrs)
{
    bd_parse_attrs *s = attrs;
    bd_free(s->dense);
    bd_free(s->sparse);
}

braid_code bd_parse_attrs_read_dense(const braid_op *node, bd_parse_attrs *s, braid_status *st)
{
    const bd_attr *types = bd_node_attr(node, "Tdense"), *shapes = bd_node_attr(node, "dense_shapes");
    s->spec.dense_count = types->list.count;
    s->spec.dense = s->dense = bd_calloc((size_t)types->list.count + 1, sizeof *s->dense);
    if (shapes->list.count != types->list.count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "len(dense_keys) != len(dense_shapes): %d vs. %d",
                       types->list.count, shapes->list.count);
    braid_code code = BRAID_OK;
    for (int i = 0; i < types->list.count && !code; i++) {
        s->dense[i] = (bd_dense_feature){.dtype = types->list.type[i], .shape = shapes->list.shape[i]};
        code = bd_example_check_dtype(s->dense[i].dtype, st);
        if (!code) code = bd_example_check_shape(&s->dense[i].shape, i, st);
    }
    return code;
}

static braid_code read_sparse(const bd_attr *types, bd_parse_attrs *s, braid_status *st)
{
    s->spec.sparse_count = types->list.count;
    s->spec.sparse = s->sparse = bd_calloc((size_t)types->list.count + 1, sizeof *s->sparse);
    braid_code code = BRAID_OK;
    for (int i = 0; i < types->list.count && !code; i++) {
        s->sparse[i] = (bd_sparse_feature){.dtype = types->list.type[i]};
        code = bd_example_check_dtype(s->sparse[i].dtype, st);
    }
    return code;
}

static braid_code check_length(const char *what, int64_t is, int64_t must_be, braid_status *st)
{
    if (is == must_be) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "len(%s_keys) != len(%s_types): %lld vs. %lld", what, what,
                   (long long)is, (long long)must_be);
}

static braid_code read_types(const braid_op *node, bd_parse_attrs *s, braid_status *st)
{
    braid_code code = bd_parse_attrs_read_dense(node, s, st);
    return code ? code : read_sparse(bd_node_attr(node, "sparse_types"), s, st);
}

// ---- ParseExample ----

enum {
    SERIALIZED,
    NAMES,
    KEYS
};

static braid_code batch_create(const braid_op *node, void *state, braid_status *st)
{
    bd_parse_attrs *s = state;
    braid_code code = read_types(node, s, st);
    if (!code) code = check_length("sparse", bd_node_attr_int(node, "Nsparse"), s->spec.sparse_count, st);
    if (!code) code = check_length("dense", bd_node_attr_int(node, "Ndense"), s->spec.dense_count, st);
    if (code) bd_parse_attrs_fini(s);
    return code;
}

// Reads one key input. Returns false when the kernel has failed.
static bool input_key(bd_op_ctx *c, int input, const char *what, bd_bytes *key, bd_strbuf *text)
{
    const braid_tensor *t = bd_input(c, input);
    if (t->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected %s to be scalars, got shape: %s", what,
                   bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    // Messages want a zero behind it.
    bd_strbuf_append_n(text, bd_tensor_str(t)->data, bd_tensor_str(t)->len);
    *key = (bd_bytes){bd_strbuf_str(text), bd_tensor_str(t)->len};
    return true;
}

typedef struct batch {
    bd_dense_feature *dense; // with keys and defaults
    bd_sparse_feature *sparse;
    bd_strbuf *texts; // of the keys
    bd_example_spec spec;
} batch;

static bool read_keys(bd_op_ctx *c, batch *b)
{
    int nsparse = b->spec.sparse_count, ndense = b->spec.dense_count;
    for (int i = 0; i < nsparse; i++) {
        if (!input_key(c, KEYS + i, "sparse_keys", &b->sparse[i].key, &b->texts[i])) return false;
    }
    for (int i = 0; i < ndense; i++) {
        if (!input_key(c, KEYS + nsparse + i, "dense_keys", &b->dense[i].key, &b->texts[nsparse + i]))
            return false;
        b->dense[i].default_value = bd_input(c, KEYS + nsparse + ndense + i);
    }
    return true;
}

// Results go straight to the outputs: sparse indices, values and shapes, then dense values.
static bd_parsed_examples output_lists(const bd_example_spec *spec, braid_tensor *tensors)
{
    int n = spec->sparse_count;
    return (bd_parsed_examples){
        .indices = tensors, .values = tensors + n, .shapes = tensors + 2 * n, .dense = tensors + 3 * n};
}

static void output_parsed(bd_op_ctx *c, const braid_status *st, braid_tensor *tensors)
{
    if (st->code) bd_op_fail_status(c, st);
    for (int i = 0; i < c->output_count; i++) {
        if (!st->code) bd_output_set(c, i, &tensors[i]);
        bd_tensor_fini(&tensors[i]);
    }
}

static bool check_batch(bd_op_ctx *c)
{
    const braid_tensor *serialized = bd_input(c, SERIALIZED), *names = bd_input(c, NAMES);
    char text[BD_SHAPE_STR_MAX];
    if (serialized->shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected serialized to be a vector, got shape: %s",
                   bd_shape_str(&serialized->shape, text));
    else if (bd_tensor_count(names) > 0 && names->shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected names to be a vector, got shape: %s",
                   bd_shape_str(&names->shape, text));
    else if (bd_tensor_count(names) > 0 && bd_tensor_count(names) != bd_tensor_count(serialized))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected len(names) == len(serialized), but got: %lld vs. %lld",
                   (long long)bd_tensor_count(names), (long long)bd_tensor_count(serialized));
    return !bd_op_failed(c);
}

static void parse_batch(bd_op_ctx *c, const batch *b)
{
    BD_STATUS(st);
    const braid_tensor *serialized = bd_input(c, SERIALIZED), *names = bd_input(c, NAMES);
    braid_tensor *tensors = bd_calloc((size_t)c->output_count + 1, sizeof *tensors);
    bd_parsed_examples out = output_lists(&b->spec, tensors);
    if (!bd_example_check_defaults(&b->spec, st))
        bd_examples_parse(&b->spec, c, bd_tensor_str(serialized),
                          bd_tensor_count(names) > 0 ? bd_tensor_str(names) : NULL,
                          bd_tensor_count(serialized), &out, st);
    output_parsed(c, st, tensors);
    bd_free(tensors);
}

static void batch_run(bd_op_ctx *c)
{
    const bd_parse_attrs *s = c->state;
    size_t ndense = (size_t)s->spec.dense_count, nsparse = (size_t)s->spec.sparse_count;
    if (!check_batch(c)) return;
    batch b = {.spec = s->spec,
               .dense = bd_memdup(s->dense, (ndense + 1) * sizeof *s->dense),
               .sparse = bd_memdup(s->sparse, (nsparse + 1) * sizeof *s->sparse),
               .texts = bd_calloc(ndense + nsparse + 1, sizeof *b.texts)};
    b.spec.dense = b.dense;
    b.spec.sparse = b.sparse;
    if (read_keys(c, &b)) parse_batch(c, &b);
    for (size_t i = 0; i < ndense + nsparse; i++)
        bd_strbuf_fini(&b.texts[i]);
    bd_free(b.texts);
    bd_free(b.dense);
    bd_free(b.sparse);
}

void bd_parse_sparse_shapes(bd_shape_ctx *c, int first, int count, int columns)
{
    for (int i = 0; i < count; i++) {
        c->outputs[first + i] = bd_shape2(-1, columns);
        c->outputs[first + count + i] = bd_shape1(-1);
        c->outputs[first + 2 * count + i] = bd_shape1(columns);
    }
}

braid_code bd_parse_dense_shapes(bd_shape_ctx *c, int first, const braid_shape *rows, braid_status *st)
{
    const bd_attr *shapes = bd_node_attr(c->node, "dense_shapes");
    if (bd_node_attr(c->node, "Tdense")->list.count != shapes->list.count)
        return bd_shape_ctx_fail(c, st, "len(dense_keys) != len(dense_shapes)");
    for (int i = 0; i < shapes->list.count; i++) {
        const braid_shape *s = &shapes->list.shape[i];
        braid_shape out = rows ? *rows : BD_SCALAR;
        braid_code code = bd_example_check_shape(s, i, st);
        if (code) return code;
        for (int d = 0; d < s->rank && out.rank >= 0; d++)
            out.dims[out.rank++] = s->dims[d];
        c->outputs[first + i] = out;
    }
    return BRAID_OK;
}

static braid_code batch_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, SERIALIZED, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, NAMES, 1, st);
    if (code) return code;
    int count = (int)bd_node_attr_int(c->node, "Nsparse");
    braid_shape rows = bd_shape1(c->inputs[SERIALIZED].rank == 1 ? c->inputs[SERIALIZED].dims[0] : -1);
    if (bd_node_attr(c->node, "sparse_types")->list.count != count)
        return bd_shape_ctx_fail(c, st, "len(sparse_keys) != len(sparse_types)");
    bd_parse_sparse_shapes(c, 0, count, 2);
    return bd_parse_dense_shapes(c, 3 * count, &rows, st);
}

BD_OP(ParseExample) = {
    .signature =
        "(serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: Ndense*string, "
        "dense_defaults: Tdense...) -> (sparse_indices: Nsparse*int64, sparse_values: sparse_types..., "
        "sparse_shapes: Nsparse*int64, dense_values: Tdense...)",
    .attrs = "Nsparse:int>=0; Ndense:int>=0; sparse_types:list(type){float,int64,string}>=0; "
             "Tdense:list(type){float,int64,string}>=0; dense_shapes:list(shape)>=0",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = batch_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_parse_attrs),
                           .create = batch_create,
                           .destroy = bd_parse_attrs_fini,
                           .run = batch_run}),
    .doc =
        "The features of a batch of serialized Example messages: dense ones as tensors, with defaults where they are not "
        "there, others as sparse matrices.",
    .deviation = "Accepts what any protobuf parser accepts: fields in any order, and unknown fields.",
};

// ---- ParseSingleExample ----

static braid_code single_create(const braid_op *node, void *state, braid_status *st)
{
    bd_parse_attrs *s = state;
    const bd_attr *dense_keys = bd_node_attr(node, "dense_keys"),
                  *sparse_keys = bd_node_attr(node, "sparse_keys");
    braid_code code = read_types(node, s, st);
    if (!code) code = check_length("dense", dense_keys->list.count, s->spec.dense_count, st);
    if (!code) code = check_length("sparse", sparse_keys->list.count, s->spec.sparse_count, st);
    if (!code) code = check_length("sparse", bd_node_attr_int(node, "num_sparse"), s->spec.sparse_count, st);
    if (code) {
        bd_parse_attrs_fini(s);
        return code;
    }
    for (int i = 0; i < s->spec.dense_count; i++)
        s->dense[i].key = dense_keys->list.s[i];
    for (int i = 0; i < s->spec.sparse_count; i++)
        s->sparse[i].key = sparse_keys->list.s[i];
    return BRAID_OK;
}

static void single_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_parse_attrs *s = c->state;
    const braid_tensor *serialized = bd_input(c, SERIALIZED);
    if (serialized->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected serialized to be a scalar, got shape: %s",
                   bd_shape_str(&serialized->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    size_t ndense = (size_t)s->spec.dense_count;
    bd_dense_feature *dense =
        bd_memdup(s->dense, (ndense + 1) * sizeof *dense); // the defaults are this step's
    bd_example_spec spec = s->spec;
    spec.dense = dense;
    for (size_t i = 0; i < ndense; i++)
        dense[i].default_value = bd_input(c, 1 + (int)i);
    braid_tensor *tensors = bd_calloc((size_t)c->output_count + 1, sizeof *tensors);
    bd_parsed_examples out = output_lists(&spec, tensors);
    if (!bd_example_check_defaults(&spec, st))
        bd_example_parse_one(&spec, bd_tensor_str(serialized), NULL, &out, st);
    output_parsed(c, st, tensors);
    bd_free(tensors);
    bd_free(dense);
}

static braid_code single_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, SERIALIZED, 0, st);
    int count = (int)bd_node_attr_int(c->node, "num_sparse");
    if (code) return code;
    if (bd_node_attr(c->node, "sparse_types")->list.count != count)
        return bd_shape_ctx_fail(c, st, "len(sparse_keys) != len(sparse_types)");
    bd_parse_sparse_shapes(c, 0, count, 1);
    return bd_parse_dense_shapes(c, 3 * count, NULL, st);
}

BD_OP(ParseSingleExample) = {
    .signature = "(serialized: string, dense_defaults: Tdense...) -> (sparse_indices: num_sparse*int64, "
                 "sparse_values: sparse_types..., sparse_shapes: num_sparse*int64, dense_values: Tdense...)",
    .attrs = "num_sparse:int>=0; sparse_keys:list(string)>=0; dense_keys:list(string)>=0; "
             "sparse_types:list(type){float,int64,string}>=0; Tdense:list(type){float,int64,string}>=0; "
             "dense_shapes:list(shape)>=0",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = single_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_parse_attrs),
                           .create = single_create,
                           .destroy = bd_parse_attrs_fini,
                           .run = single_run}),
    .doc = "The features of one serialized Example message: dense ones as tensors, others as sparse vectors.",
    .deviation = "Accepts what any protobuf parser accepts: fields in any order, and unknown fields.",
};
