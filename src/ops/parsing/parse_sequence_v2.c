// ParseSequenceExampleV2: context and feature lists of SequenceExample messages, a vector of them or one, as
// dense, sparse and ragged tensors.
#include "base/alloc.h"
#include "ops/parsing/parse_example.h"
#include "ops/parsing/sequence_attrs.h"

enum {
    SERIALIZED,
    DEBUG_NAME,
    CONTEXT_SPARSE_KEYS,
    CONTEXT_DENSE_KEYS,
    CONTEXT_RAGGED_KEYS,
    LIST_SPARSE_KEYS,
    LIST_DENSE_KEYS,
    LIST_RAGGED_KEYS,
    LIST_DENSE_MAY_BE_MISSING,
    CONTEXT_DENSE_DEFAULTS
};

static braid_code v2_create(const braid_op *node, void *state, braid_status *st)
{
    braid_code code = bd_sequence_attrs_read_types(node, state, st);
    if (code) bd_sequence_attrs_fini(state);
    return code;
}

// ---- Keys ----

// Inputs that are vectors of keys.
#define KEY_INPUTS (LIST_RAGGED_KEYS - CONTEXT_SPARSE_KEYS + 1)

static bool set_sparse_keys(bd_op_ctx *c, int input, bd_sparse_feature *sparse, int count, const char *what,
                            bd_bytes **keys)
{
    bd_bytes *read = keys[input - CONTEXT_SPARSE_KEYS] = bd_parse_input_keys(c, input, count, what);
    for (int i = 0; read && i < count; i++)
        sparse[i].key = read[i];
    return read != NULL;
}

static bool set_dense_keys(bd_op_ctx *c, bd_sequence_attrs *s, bd_bytes **keys)
{
    bd_bytes *context =
        bd_parse_input_keys(c, CONTEXT_DENSE_KEYS, s->context.dense_count, "len(context_dense_types)");
    keys[CONTEXT_DENSE_KEYS - CONTEXT_SPARSE_KEYS] = context;
    if (!context) return false;
    for (int i = 0; i < s->context.dense_count; i++)
        s->context_dense[i].key = context[i];
    bd_bytes *lists =
        bd_parse_input_keys(c, LIST_DENSE_KEYS, s->lists.dense_count, "len(feature_list_dense_types)");
    keys[LIST_DENSE_KEYS - CONTEXT_SPARSE_KEYS] = lists;
    const braid_tensor *missing = bd_input(c, LIST_DENSE_MAY_BE_MISSING);
    if (!lists) return false;
    if (bd_tensor_count(missing) != s->lists.dense_count) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Expected len(feature_list_dense_missing_assumed_empty) == len(feature_list_dense_types) but got: "
            "%lld vs. %d",
            (long long)bd_tensor_count(missing), s->lists.dense_count);
        return false;
    }
    for (int i = 0; i < s->lists.dense_count; i++) {
        s->list_dense[i].key = lists[i];
        s->list_dense[i].may_be_missing = bd_tensor_bool(missing)[i];
    }
    return true;
}

static bool set_keys(bd_op_ctx *c, bd_sequence_attrs *s, bd_bytes **keys)
{
    const int context = s->context.sparse_count - s->context_ragged,
              list = s->lists.sparse_count - s->list_ragged;
    return set_dense_keys(c, s, keys) &&
           set_sparse_keys(c, CONTEXT_SPARSE_KEYS, s->context_sparse, context, "len(context_sparse_types)",
                           keys) &&
           set_sparse_keys(c, CONTEXT_RAGGED_KEYS, s->context_sparse + context, s->context_ragged,
                           "len(context_ragged_types)", keys) &&
           set_sparse_keys(c, LIST_SPARSE_KEYS, s->list_sparse, list, "len(feature_list_sparse_types)",
                           keys) &&
           set_sparse_keys(c, LIST_RAGGED_KEYS, s->list_sparse + list, s->list_ragged,
                           "len(feature_list_ragged_types)", keys);
}

// ---- Parsing ----

// All results, in one array of tensors.
typedef struct results {
    braid_tensor *all;
    int count;
    bd_parsed_examples context;
    bd_parsed_sequences lists;
} results;

static results new_results(const bd_sequence_attrs *s)
{
    const int context = s->context.sparse_count, list = s->lists.sparse_count;
    results r = {.count = 3 * context + s->context.dense_count + 3 * list + 2 * s->lists.dense_count};
    braid_tensor *t = r.all = bd_calloc((size_t)r.count + 1, sizeof *t);
    r.context = (bd_parsed_examples){
        .indices = t, .values = t + context, .shapes = t + 2 * context, .dense = t + 3 * context};
    t += 3 * context + s->context.dense_count;
    r.lists = (bd_parsed_sequences){.indices = t,
                                    .values = t + list,
                                    .shapes = t + 2 * list,
                                    .dense = t + 3 * list,
                                    .lengths = t + 3 * list + s->lists.dense_count};
    return r;
}

static void output_results(bd_op_ctx *c, const bd_sequence_attrs *s, results *r, bool is_single)
{
    const int context = s->context.sparse_count - s->context_ragged,
              list = s->lists.sparse_count - s->list_ragged;
    int next = 0;
    for (int i = 0; is_single && i < s->lists.dense_count; i++)
        bd_tensor_reshape(&r->lists.lengths[i], &r->lists.lengths[i], &BD_SCALAR);
    bd_parse_output(c, &next, r->context.indices, context);
    bd_parse_output(c, &next, r->context.values, context);
    bd_parse_output(c, &next, r->context.shapes, context);
    bd_parse_output(c, &next, r->context.dense, s->context.dense_count);
    bd_parse_output(c, &next, r->context.values + context, s->context_ragged);
    bd_parse_output(c, &next, r->context.indices + context, s->context_ragged);
    bd_parse_output(c, &next, r->lists.indices, list);
    bd_parse_output(c, &next, r->lists.values, list);
    bd_parse_output(c, &next, r->lists.shapes, list);
    bd_parse_output(c, &next, r->lists.dense, s->lists.dense_count);
    bd_parse_output(c, &next, r->lists.lengths, s->lists.dense_count);
    bd_parse_output(c, &next, r->lists.values + list, s->list_ragged);
    bd_parse_output(c, &next, r->lists.shapes + list, s->list_ragged);
    bd_parse_output(c, &next, r->lists.indices + list, s->list_ragged);
}

static void parse(bd_op_ctx *c, const bd_sequence_attrs *s)
{
    BD_STATUS(st);
    const braid_tensor *serialized = bd_input(c, SERIALIZED), *names = bd_input(c, DEBUG_NAME);
    const bd_string *messages = bd_tensor_str(serialized),
                    *texts = bd_tensor_count(names) > 0 ? bd_tensor_str(names) : NULL;
    const int64_t count = bd_tensor_count(serialized);
    const bool is_single = serialized->shape.rank == 0;
    results r = new_results(s);
    braid_code code = bd_example_check_defaults(&s->context, st);
    if (!code)
        code = is_single ? bd_example_parse_one(&s->context, messages, texts, &r.context, st)
                         : bd_examples_parse(&s->context, c, messages, texts, count, &r.context, st);
    if (!code) code = bd_sequences_parse(&s->lists, messages, texts, count, is_single, &r.lists, st);
    if (code)
        bd_op_fail_status(c, st);
    else
        output_results(c, s, &r, is_single);
    for (int i = 0; i < r.count; i++)
        bd_tensor_fini(&r.all[i]);
    bd_free(r.all);
}

static bool check_inputs(bd_op_ctx *c)
{
    const braid_tensor *serialized = bd_input(c, SERIALIZED), *names = bd_input(c, DEBUG_NAME);
    if (serialized->shape.rank > 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected serialized to be a scalar or vector, got shape: %s",
                   bd_shape_str(&serialized->shape, (char[BD_SHAPE_STR_MAX]){0}));
    else if (bd_tensor_count(names) > 0 && !bd_shape_equal(&names->shape, &serialized->shape))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "example_names must be empty or have the same shape as serialized: %lld names of %lld",
                   (long long)bd_tensor_count(names), (long long)bd_tensor_count(serialized));
    return !bd_op_failed(c);
}

static void v2_run(bd_op_ctx *c)
{
    if (!check_inputs(c)) return;
    bd_bytes *keys[KEY_INPUTS] = {0};
    bd_sequence_attrs s = bd_sequence_attrs_copy(c->state);
    if (set_keys(c, &s, keys) && bd_sequence_read_defaults(c, &s, CONTEXT_DENSE_DEFAULTS)) parse(c, &s);
    bd_sequence_attrs_fini(&s);
    for (int i = 0; i < KEY_INPUTS; i++)
        bd_free(keys[i]);
}

// ---- Shapes ----

static int list_len(const bd_shape_ctx *c, const char *attr)
{
    return bd_node_attr(c->node, attr)->list.count;
}

// `kinds` kinds of vectors, `count` of each: of two, values and row splits, the length of the second may be
// known.
static int ragged_shapes(bd_shape_ctx *c, int at, int count, int kinds, int64_t splits)
{
    for (int i = 0; i < kinds * count; i++)
        c->outputs[at + i] = bd_shape1(kinds == 2 && i >= count ? splits : -1);
    return at + kinds * count;
}

static int dense_shapes(bd_shape_ctx *c, int at, const char *attr, const braid_shape *front)
{
    const bd_attr *shapes = bd_node_attr(c->node, attr);
    for (int i = 0; i < shapes->list.count; i++) {
        const braid_shape *s = &shapes->list.shape[i];
        braid_shape *out = &c->outputs[at + i];
        *out = front->rank < 0 || s->rank < 0 || front->rank + s->rank > BRAID_RANK_MAX ? BD_SHAPE_UNKNOWN
                                                                                        : *front;
        for (int d = 0; d < s->rank && out->rank >= 0; d++)
            out->dims[out->rank++] = s->dims[d];
    }
    return at + shapes->list.count;
}

static braid_code check_counts(bd_shape_ctx *c, braid_status *st)
{
    static const char *const pairs[][2] = {
        {"Tcontext_dense", "context_dense_shapes"},
        {"context_ragged_value_types", "context_ragged_split_types"},
        {"feature_list_dense_types", "feature_list_dense_shapes"},
        {"feature_list_ragged_value_types", "feature_list_ragged_split_types"}};
    static const char *const counts[][2] = {{"Ncontext_sparse", "context_sparse_types"},
                                            {"Nfeature_list_sparse", "feature_list_sparse_types"},
                                            {"Nfeature_list_dense", "feature_list_dense_types"}};
    for (size_t i = 0; i < BD_COUNTOF(pairs); i++)
        if (list_len(c, pairs[i][0]) != list_len(c, pairs[i][1]))
            return bd_shape_ctx_fail(c, st, "%s must match the size of %s", pairs[i][0], pairs[i][1]);
    for (size_t i = 0; i < BD_COUNTOF(counts); i++)
        if (bd_node_attr_int(c->node, counts[i][0]) != list_len(c, counts[i][1]))
            return bd_shape_ctx_fail(c, st, "%s must match the size of %s", counts[i][0], counts[i][1]);
    return BRAID_OK;
}

static braid_code v2_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape front = c->inputs[SERIALIZED];
    for (int i = SERIALIZED; i <= DEBUG_NAME; i++)
        if (c->inputs[i].rank > 1)
            return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", c->inputs[i].rank);
    if (check_counts(c, st)) return st->code;
    const int64_t splits = front.rank == 1 && front.dims[0] >= 0 ? front.dims[0] + 1 : -1;
    const int columns = front.rank < 0 ? -1 : front.rank + 1;
    const int context = list_len(c, "context_sparse_types"), list = list_len(c, "feature_list_sparse_types"),
              dense = list_len(c, "feature_list_dense_types");
    braid_shape steps = front;
    if (steps.rank >= 0) steps.dims[steps.rank++] = -1;
    bd_parse_sparse_shapes(c, 0, context, columns);
    int at = dense_shapes(c, 3 * context, "context_dense_shapes", &front);
    at = ragged_shapes(c, at, list_len(c, "context_ragged_value_types"), 2, splits);
    bd_parse_sparse_shapes(c, at, list, columns < 0 ? -1 : columns + 1);
    at = dense_shapes(c, at + 3 * list, "feature_list_dense_shapes", &steps);
    for (int i = 0; i < dense; i++)
        c->outputs[at++] = front; // lengths
    ragged_shapes(c, at, list_len(c, "feature_list_ragged_value_types"), 3, -1);
    return BRAID_OK;
}

#define TYPES "list(type){float,int64,string}>=0=[]"
#define SPLITS "list(type){int32,int64}>=0=[]"
#define SHAPES "list(shape)>=0=[]"

BD_OP(ParseSequenceExampleV2) = {
    .signature =
        "(serialized: string, debug_name: string, context_sparse_keys: string, context_dense_keys: string, "
        "context_ragged_keys: string, feature_list_sparse_keys: string, feature_list_dense_keys: string, "
        "feature_list_ragged_keys: string, feature_list_dense_missing_assumed_empty: bool, "
        "context_dense_defaults: Tcontext_dense...) -> (context_sparse_indices: Ncontext_sparse*int64, "
        "context_sparse_values: context_sparse_types..., context_sparse_shapes: Ncontext_sparse*int64, "
        "context_dense_values: Tcontext_dense..., context_ragged_values: context_ragged_value_types..., "
        "context_ragged_row_splits: context_ragged_split_types..., "
        "feature_list_sparse_indices: Nfeature_list_sparse*int64, "
        "feature_list_sparse_values: feature_list_sparse_types..., "
        "feature_list_sparse_shapes: Nfeature_list_sparse*int64, "
        "feature_list_dense_values: feature_list_dense_types..., "
        "feature_list_dense_lengths: Nfeature_list_dense*int64, "
        "feature_list_ragged_values: feature_list_ragged_value_types..., "
        "feature_list_ragged_outer_splits: feature_list_ragged_split_types..., "
        "feature_list_ragged_inner_splits: feature_list_ragged_split_types...)",
    .attrs = "Ncontext_sparse:int>=0=0; Tcontext_dense:" TYPES "; context_sparse_types:" TYPES
             "; context_ragged_value_types:" TYPES "; context_ragged_split_types:" SPLITS
             "; context_dense_shapes:" SHAPES
             "; Nfeature_list_sparse:int>=0=0; Nfeature_list_dense:int>=0=0; "
             "feature_list_dense_types:" TYPES "; feature_list_sparse_types:" TYPES
             "; feature_list_ragged_value_types:" TYPES "; feature_list_ragged_split_types:" SPLITS
             "; feature_list_dense_shapes:" SHAPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = v2_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_sequence_attrs),
                           .create = v2_create,
                           .destroy = bd_sequence_attrs_fini,
                           .run = v2_run}),
    .doc =
        "The context and the feature lists of serialized SequenceExample messages, a vector of them or one, as dense, sparse "
        "and ragged tensors.",
    .deviation = "Accepts what any protobuf parser accepts: fields in any order, and unknown fields.",
};
