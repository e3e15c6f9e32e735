// ParseExampleV2: a batch of serialized Example messages, or a single one, as dense, sparse and ragged
// tensors.
#include "ops/parsing/parse_example.h"

#include "base/alloc.h"
#include <string.h>

// ---- What the second forms share ----

bd_bytes *bd_parse_input_keys(bd_op_ctx *c, int input, int want, const char *what)
{
    const braid_tensor *t = bd_input(c, input);
    const int64_t count = bd_tensor_count(t);
    if (count != want) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected len(%s) == %s but got: %lld vs. %d",
                   c->node->def->inputs[input].name, what, (long long)count, want);
        return NULL;
    }
    bd_bytes *keys = bd_try_malloc((size_t)count * (sizeof *keys + 1) + bd_tensor_bytes(t));
    if (!keys) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when reading %s", c->node->def->inputs[input].name);
        return NULL;
    }
    char *text = (char *)(keys + count);
    for (int64_t i = 0; i < count; i++) {
        const bd_string *s = &bd_tensor_str(t)[i];
        keys[i] = (bd_bytes){text, s->len};
        if (s->len > 0) text = mempcpy(text, s->data, s->len);
        *text++ = 0;
    }
    return keys;
}

void bd_parse_output(bd_op_ctx *c, int *next, braid_tensor *results, int count)
{
    for (int i = 0; i < count; i++)
        bd_output_set(c, (*next)++, &results[i]);
}

// ---- The op ----

enum {
    SERIALIZED,
    NAMES,
    SPARSE_KEYS,
    DENSE_KEYS,
    RAGGED_KEYS,
    DENSE_DEFAULTS
};

// Ragged features follow the sparse ones.
typedef struct v2_state {
    bd_parse_attrs attrs;
    int sparse_count, ragged_count;
} v2_state;

static void v2_destroy(void *state)
{
    bd_parse_attrs_fini(&((v2_state *)state)->attrs);
}

static braid_code read_sparse(const braid_op *node, v2_state *s, braid_status *st)
{
    const bd_attr *sparse = bd_node_attr(node, "sparse_types"),
                  *ragged = bd_node_attr(node, "ragged_value_types"),
                  *splits = bd_node_attr(node, "ragged_split_types");
    s->sparse_count = sparse->list.count;
    s->ragged_count = ragged->list.count;
    if (bd_node_attr_int(node, "num_sparse") != s->sparse_count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "len(sparse_keys) != len(sparse_types)");
    if (splits->list.count != s->ragged_count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "len(ragged_value_types) != len(ragged_split_types)");
    const int count = s->sparse_count + s->ragged_count;
    bd_sparse_feature *features = bd_calloc((size_t)count + 1, sizeof *features);
    s->attrs.spec.sparse = s->attrs.sparse = features;
    s->attrs.spec.sparse_count = count;
    for (int i = 0; i < s->sparse_count; i++)
        features[i].dtype = sparse->list.type[i];
    for (int i = 0; i < s->ragged_count; i++)
        features[s->sparse_count + i] =
            (bd_sparse_feature){.dtype = ragged->list.type[i], .splits = splits->list.type[i]};
    braid_code code = BRAID_OK;
    for (int i = 0; i < count && !code; i++)
        code = bd_example_check_dtype(features[i].dtype, st);
    return code;
}

static braid_code v2_create(const braid_op *node, void *state, braid_status *st)
{
    v2_state *s = state;
    braid_code code = bd_parse_attrs_read_dense(node, &s->attrs, st);
    if (!code) code = read_sparse(node, s, st);
    if (code) v2_destroy(s);
    return code;
}

static bool check_inputs(bd_op_ctx *c)
{
    const braid_tensor *serialized = bd_input(c, SERIALIZED), *names = bd_input(c, NAMES);
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (serialized->shape.rank > 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected serialized to be a scalar or vector, got shape: %s",
                   bd_shape_str(&serialized->shape, a));
    else if (bd_tensor_count(names) > 0 && !bd_shape_equal(&names->shape, &serialized->shape))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected names have the same shape as serialized: name.shape=%s, serialized.shape=%s",
                   bd_shape_str(&names->shape, a), bd_shape_str(&serialized->shape, b));
    return !bd_op_failed(c);
}

// The keys and defaults of this step; the features are its own copies.
typedef struct step_features {
    bd_dense_feature *dense;
    bd_sparse_feature *sparse;
    bd_bytes *sparse_keys, *dense_keys, *ragged_keys;
    bd_example_spec spec;
} step_features;

static bool read_features(bd_op_ctx *c, const v2_state *s, step_features *f)
{
    const bd_example_spec *spec = &s->attrs.spec;
    f->dense = bd_memdup(s->attrs.dense, (size_t)(spec->dense_count + 1) * sizeof *f->dense);
    f->sparse = bd_memdup(s->attrs.sparse, (size_t)(spec->sparse_count + 1) * sizeof *f->sparse);
    f->spec = (bd_example_spec){.dense = f->dense,
                                .sparse = f->sparse,
                                .dense_count = spec->dense_count,
                                .sparse_count = spec->sparse_count};
    f->dense_keys = bd_parse_input_keys(c, DENSE_KEYS, spec->dense_count, "len(dense_types)");
    if (f->dense_keys) f->sparse_keys = bd_parse_input_keys(c, SPARSE_KEYS, s->sparse_count, "num_sparse");
    if (f->sparse_keys)
        f->ragged_keys = bd_parse_input_keys(c, RAGGED_KEYS, s->ragged_count, "len(ragged_value_types)");
    if (!f->ragged_keys) return false;
    for (int i = 0; i < spec->dense_count; i++) {
        f->dense[i].key = f->dense_keys[i];
        f->dense[i].default_value = bd_input(c, DENSE_DEFAULTS + i);
    }
    for (int i = 0; i < s->sparse_count; i++)
        f->sparse[i].key = f->sparse_keys[i];
    for (int i = 0; i < s->ragged_count; i++)
        f->sparse[s->sparse_count + i].key = f->ragged_keys[i];
    return true;
}

static void end_features(step_features *f)
{
    bd_free(f->dense);
    bd_free(f->sparse);
    bd_free(f->sparse_keys);
    bd_free(f->dense_keys);
    bd_free(f->ragged_keys);
}

static void output_parsed(bd_op_ctx *c, const v2_state *s, const bd_parsed_examples *out)
{
    int next = 0;
    bd_parse_output(c, &next, out->indices, s->sparse_count);
    bd_parse_output(c, &next, out->values, s->sparse_count);
    bd_parse_output(c, &next, out->shapes, s->sparse_count);
    bd_parse_output(c, &next, out->dense, s->attrs.spec.dense_count);
    bd_parse_output(c, &next, out->values + s->sparse_count, s->ragged_count);
    bd_parse_output(c, &next, out->indices + s->sparse_count, s->ragged_count);
}

static void parse(bd_op_ctx *c, const v2_state *s, const bd_example_spec *spec)
{
    BD_STATUS(st);
    const braid_tensor *serialized = bd_input(c, SERIALIZED), *names = bd_input(c, NAMES);
    const bd_string *texts = bd_tensor_count(names) > 0 ? bd_tensor_str(names) : NULL;
    const int n = spec->sparse_count, count = 3 * n + spec->dense_count;
    braid_tensor *t = bd_calloc((size_t)count + 1, sizeof *t);
    bd_parsed_examples out = {.indices = t, .values = t + n, .shapes = t + 2 * n, .dense = t + 3 * n};
    braid_code code = bd_example_check_defaults(spec, st);
    if (!code)
        code = serialized->shape.rank == 0
                   ? bd_example_parse_one(spec, bd_tensor_str(serialized), texts, &out, st)
                   : bd_examples_parse(spec, c, bd_tensor_str(serialized), texts, bd_tensor_count(serialized),
                                       &out, st);
    if (code)
        bd_op_fail_status(c, st);
    else
        output_parsed(c, s, &out);
    for (int i = 0; i < count; i++)
        bd_tensor_fini(&t[i]);
    bd_free(t);
}

static void v2_run(bd_op_ctx *c)
{
    step_features f = {0};
    if (!check_inputs(c)) return;
    if (read_features(c, c->state, &f)) parse(c, c->state, &f.spec);
    end_features(&f);
}

// Outputs from `first` on: the values and the row splits of ragged features.
static void ragged_shapes(bd_shape_ctx *c, int first, int count, int64_t rows)
{
    for (int i = 0; i < count; i++) {
        c->outputs[first + i] = bd_shape1(-1);
        c->outputs[first + count + i] = bd_shape1(rows < 0 ? -1 : rows + 1);
    }
}

static braid_code v2_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *serialized = &c->inputs[SERIALIZED];
    for (int i = SERIALIZED; i <= NAMES; i++) {
        if (c->inputs[i].rank <= 1) continue;
        return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", c->inputs[i].rank);
    }
    const int sparse = bd_node_attr(c->node, "sparse_types")->list.count,
              dense = bd_node_attr(c->node, "Tdense")->list.count,
              ragged = bd_node_attr(c->node, "ragged_value_types")->list.count;
    if (bd_node_attr_int(c->node, "num_sparse") != sparse)
        return bd_shape_ctx_fail(c, st, "len(sparse_keys) != len(sparse_types)");
    if (bd_node_attr(c->node, "ragged_split_types")->list.count != ragged)
        return bd_shape_ctx_fail(c, st, "len(ragged_value_types) != len(ragged_split_types)");
    bd_parse_sparse_shapes(c, 0, sparse, serialized->rank < 0 ? -1 : serialized->rank + 1);
    braid_code code = bd_parse_dense_shapes(c, 3 * sparse, serialized, st);
    ragged_shapes(c, 3 * sparse + dense, ragged, serialized->rank == 1 ? serialized->dims[0] : -1);
    return code;
}

BD_OP(ParseExampleV2) = {
    .signature =
        "(serialized: string, names: string, sparse_keys: string, dense_keys: string, ragged_keys: string, "
        "dense_defaults: Tdense...) -> (sparse_indices: num_sparse*int64, sparse_values: sparse_types..., "
        "sparse_shapes: num_sparse*int64, dense_values: Tdense..., ragged_values: ragged_value_types..., "
        "ragged_row_splits: ragged_split_types...)",
    .attrs =
        "Tdense:list(type){float,int64,string}>=0; num_sparse:int>=0; "
        "sparse_types:list(type){float,int64,string}>=0; ragged_value_types:list(type){float,int64,string}>=0; "
        "ragged_split_types:list(type){int32,int64}>=0; dense_shapes:list(shape)>=0",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = v2_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(v2_state),
                           .create = v2_create,
                           .destroy = v2_destroy,
                           .run = v2_run}),
    .doc =
        "The features of serialized Example messages, a vector of them or one: dense ones as tensors, with defaults where "
        "they are not there, others as sparse or as ragged tensors.",
    .deviation = "Accepts what any protobuf parser accepts: fields in any order, and unknown fields.",
};
