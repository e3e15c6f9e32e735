// ParseSequenceExample and ParseSingleSequenceExample: context and feature lists of serialized
// SequenceExample messages.
#include "base/alloc.h"
#include "base/check.h"
#include "graph/shape_fn.h"
#include "ops/parsing/sequence_attrs.h"

#include "op/kernel.h"
#include <string.h>

static braid_code single_create(const braid_op *node, void *state, braid_status *st)
{
    braid_code code = bd_sequence_attrs_read_types(node, state, st);
    if (code) bd_sequence_attrs_fini(state);
    return code;
}

static braid_code batch_create(const braid_op *node, void *state, braid_status *st)
{
    braid_code code = bd_sequence_attrs_read_types(node, state, st);
    if (!code) code = bd_sequence_attrs_read_keys(node, state, st);
    if (code) bd_sequence_attrs_fini(state);
    return code;
}

// ---- Parsing ----

bool bd_sequence_read_defaults(bd_op_ctx *c, bd_sequence_attrs *s, int first)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    for (int i = 0; i < s->context.dense_count; i++) {
        const braid_tensor *d = bd_input(c, first + i);
        s->context_dense[i].default_value = d;
        if (bd_tensor_count(d) == 0 || bd_shape_equal(&d->shape, &s->context_dense[i].shape)) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "def_value[%d].shape() == %s != context_dense_shapes_[%d] == %s", i,
                   bd_shape_str(&d->shape, a), i, bd_shape_str(&s->context_dense[i].shape, b));
        return false;
    }
    return true;
}

// Parses messages into the outputs: of the context sparse indices, values and shapes and dense values; of the
// lists the same, and in a batch the lengths of dense ones.
static void parse_all(bd_op_ctx *c, const bd_sequence_attrs *s, const bd_string *names, bool is_single)
{
    BD_STATUS(st);
    const braid_tensor *serialized = bd_input(c, 0);
    int nc = s->context.sparse_count, nl = s->lists.sparse_count;
    braid_tensor *t = bd_calloc((size_t)c->output_count + 1, sizeof *t),
                 *lists = t + 3 * nc + s->context.dense_count;
    bd_parsed_examples context = {.indices = t, .values = t + nc, .shapes = t + 2 * nc, .dense = t + 3 * nc};
    bd_parsed_sequences sequences = {.indices = lists,
                                     .values = lists + nl,
                                     .shapes = lists + 2 * nl,
                                     .dense = lists + 3 * nl,
                                     .lengths = is_single ? NULL : lists + 3 * nl + s->lists.dense_count};
    braid_code code = bd_example_check_defaults(&s->context, st);
    if (!code)
        code = is_single ? bd_example_parse_one(&s->context, bd_tensor_str(serialized), names, &context, st)
                         : bd_examples_parse(&s->context, c, bd_tensor_str(serialized), names,
                                             bd_tensor_count(serialized), &context, st);
    if (!code)
        code = bd_sequences_parse(&s->lists, bd_tensor_str(serialized), names, bd_tensor_count(serialized),
                                  is_single, &sequences, st);
    if (code) bd_op_fail_status(c, st);
    for (int i = 0; i < c->output_count; i++) {
        if (!code) bd_output_set(c, i, &t[i]);
        bd_tensor_fini(&t[i]);
    }
    bd_free(t);
}

static bool check_rank(bd_op_ctx *c, int input, const char *what, int rank)
{
    const braid_shape *s = &bd_input(c, input)->shape;
    if (s->rank == rank) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected %s to be a %s, got shape: %s", what,
               rank == 0 ? "scalar" : "vector", bd_shape_str(s, (char[BD_SHAPE_STR_MAX]){0}));
    return false;
}

// ---- ParseSequenceExample ----

static void batch_run(bd_op_ctx *c)
{
    const braid_tensor *names = bd_input(c, 1);
    if (!check_rank(c, 0, "serialized", 1)) return;
    if (bd_tensor_count(names) > 0) {
        if (!check_rank(c, 1, "debug_name", 1)) return;
        if (bd_tensor_count(names) != bd_tensor_count(bd_input(c, 0))) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "example_names must be empty or have the correct number of elements: %lld, not %lld",
                       (long long)bd_tensor_count(bd_input(c, 0)), (long long)bd_tensor_count(names));
            return;
        }
    }
    bd_sequence_attrs s = bd_sequence_attrs_copy(c->state);
    if (bd_sequence_read_defaults(c, &s, 2))
        parse_all(c, &s, bd_tensor_count(names) > 0 ? bd_tensor_str(names) : NULL, false);
    bd_sequence_attrs_fini(&s);
}

// Sets the shapes of sparse outputs from `at` on, and returns the index of the next output.
static int sparse_shapes(bd_shape_ctx *c, int at, int64_t count, int columns)
{
    for (int64_t i = 0; i < count; i++) {
        c->outputs[at + i] = bd_shape2(-1, columns);
        c->outputs[at + count + i] = bd_shape1(-1);
        c->outputs[at + 2 * count + i] = bd_shape1(columns);
    }
    return at + 3 * (int)count;
}

// The same for dense outputs: `front`, then the shape of the attribute.
static int dense_shapes(bd_shape_ctx *c, int at, const char *shapes_name, const braid_shape *front)
{
    const bd_attr *shapes = bd_node_attr(c->node, shapes_name);
    for (int i = 0; i < shapes->list.count; i++) {
        const braid_shape *s = &shapes->list.shape[i];
        braid_shape *out = &c->outputs[at + i];
        *out = s->rank < 0 || front->rank + s->rank > BRAID_RANK_MAX ? BD_SHAPE_UNKNOWN : *front;
        for (int d = 0; d < s->rank && out->rank >= 0; d++)
            out->dims[out->rank++] = s->dims[d];
    }
    return at + shapes->list.count;
}

// Sets all shapes; lists have a dimension more.
static braid_code set_shapes(bd_shape_ctx *c, const braid_shape *front, braid_status *st)
{
    static const char *const pairs[][2] = {{"Ncontext_dense", "Tcontext_dense"},
                                           {"Ncontext_dense", "context_dense_shapes"},
                                           {"Ncontext_sparse", "context_sparse_types"},
                                           {"Nfeature_list_dense", "feature_list_dense_types"},
                                           {"Nfeature_list_dense", "feature_list_dense_shapes"},
                                           {"Nfeature_list_sparse", "feature_list_sparse_types"}};
    int columns = front->rank + 1;
    braid_shape steps = *front;
    steps.dims[steps.rank++] = -1;
    for (size_t i = 0; i < BD_COUNTOF(pairs); i++) {
        if (bd_node_attr(c->node, pairs[i][1])->list.count != bd_node_attr_int(c->node, pairs[i][0]))
            return bd_shape_ctx_fail(c, st, "%s must match the size of %s", pairs[i][0], pairs[i][1]);
    }
    int at = sparse_shapes(c, 0, bd_node_attr_int(c->node, "Ncontext_sparse"), columns);
    at = dense_shapes(c, at, "context_dense_shapes", front);
    at = sparse_shapes(c, at, bd_node_attr_int(c->node, "Nfeature_list_sparse"), columns + 1);
    at = dense_shapes(c, at, "feature_list_dense_shapes", &steps);
    for (; at < c->output_count; at++)
        c->outputs[at] = *front; // lengths
    return BRAID_OK;
}

static braid_code batch_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    braid_shape front = bd_shape1(c->inputs[0].rank == 1 ? c->inputs[0].dims[0] : -1);
    return code ? code : set_shapes(c, &front, st);
}

#define COUNTS                                                                                               \
    "Ncontext_sparse:int>=0=0; Ncontext_dense:int>=0=0; Nfeature_list_sparse:int>=0=0; "                     \
    "Nfeature_list_dense:int>=0=0; "
#define TYPES                                                                                                 \
    "context_sparse_types:list(type){float,int64,string}>=0=[]; "                                             \
    "Tcontext_dense:list(type){float,int64,string}>=0=[]; "                                                   \
    "feature_list_dense_types:list(type){float,int64,string}>=0=[]; context_dense_shapes:list(shape)>=0=[]; " \
    "feature_list_sparse_types:list(type){float,int64,string}>=0=[]; "                                        \
    "feature_list_dense_shapes:list(shape)>=0=[]"
#define OUTPUTS                                                                                              \
    "context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: context_sparse_types..., "        \
    "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: Tcontext_dense..., "                \
    "feature_list_sparse_indices: Nfeature_list_sparse*int64, "                                              \
    "feature_list_sparse_values: feature_list_sparse_types..., "                                             \
    "feature_list_sparse_shapes: Nfeature_list_sparse*int64, "                                               \
    "feature_list_dense_values: feature_list_dense_types..."

BD_OP(ParseSequenceExample) = {
    .signature =
        "(serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense...) -> (" OUTPUTS
        ", feature_list_dense_lengths: Nfeature_list_dense*int64)",
    .attrs = "feature_list_dense_missing_assumed_empty:list(string)>=0; context_sparse_keys:list(string)>=0; "
             "context_dense_keys:list(string)>=0; feature_list_sparse_keys:list(string)>=0; "
             "feature_list_dense_keys:list(string)>=0; " COUNTS TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = batch_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_sequence_attrs),
                           .create = batch_create,
                           .destroy = bd_sequence_attrs_fini,
                           .run = batch_run}),
    .doc =
        "The context and the feature lists of a batch of serialized SequenceExample messages; dense lists are filled up "
        "with zeros to the length of the longest.",
    .deviation = "Accepts what any protobuf parser accepts: fields in any order, and unknown fields.",
};

// ---- ParseSingleSequenceExample ----

// The keys are scalars in successive inputs.
typedef struct key_reader {
    bd_op_ctx *c;
    int next;         // input
    bd_strbuf *texts; // of the keys, zero-terminated for messages
    int used;
} key_reader;

static bool next_key(key_reader *r, const char *what, int i, bd_bytes *key)
{
    const braid_tensor *t = bd_input(r->c, r->next++);
    if (t->shape.rank != 0) {
        bd_op_fail(r->c, BRAID_INVALID_ARGUMENT, "Expected %s[%d] to be a scalar, got shape: %s", what, i,
                   bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    bd_strbuf *text = &r->texts[r->used++];
    bd_strbuf_append_n(text, bd_tensor_str(t)->data, bd_tensor_str(t)->len);
    *key = (bd_bytes){bd_strbuf_str(text), bd_tensor_str(t)->len};
    return true;
}

static bool is_among(const braid_tensor *texts, const bd_bytes *text)
{
    for (int64_t i = 0; i < bd_tensor_count(texts); i++) {
        const bd_string *s = &bd_tensor_str(texts)[i];
        if (s->len == text->len && (s->len == 0 || memcmp(s->data, text->data, s->len) == 0)) return true;
    }
    return false;
}

static bool input_keys(key_reader *r, bd_sequence_attrs *s)
{
    bool ok = true;
    for (int i = 0; i < s->context.sparse_count && ok; i++)
        ok = next_key(r, "context_sparse_keys", i, &s->context_sparse[i].key);
    for (int i = 0; i < s->context.dense_count && ok; i++)
        ok = next_key(r, "context_dense_keys", i, &s->context_dense[i].key);
    for (int i = 0; i < s->lists.sparse_count && ok; i++)
        ok = next_key(r, "feature_list_sparse_keys", i, &s->list_sparse[i].key);
    for (int i = 0; i < s->lists.dense_count && ok; i++) {
        ok = next_key(r, "feature_list_dense_keys", i, &s->list_dense[i].key);
        if (ok) s->list_dense[i].may_be_missing = is_among(bd_input(r->c, 1), &s->list_dense[i].key);
    }
    return ok;
}

static void single_run(bd_op_ctx *c)
{
    const braid_tensor *name = bd_input(c, c->input_count - 1);
    bool has_name = bd_tensor_count(name) > 0;
    if (!check_rank(c, 1, "feature_list_dense_missing_assumed_empty", 1) ||
        (has_name && !check_rank(c, c->input_count - 1, "debug_name", 0)) ||
        !check_rank(c, 0, "serialized", 0))
        return;
    bd_sequence_attrs s = bd_sequence_attrs_copy(c->state);
    key_reader r = {.c = c, .next = 2, .texts = bd_calloc((size_t)c->input_count, sizeof *r.texts)};
    if (input_keys(&r, &s) && bd_sequence_read_defaults(c, &s, r.next))
        parse_all(c, &s, has_name ? bd_tensor_str(name) : NULL, true);
    for (int i = 0; i < r.used; i++)
        bd_strbuf_fini(&r.texts[i]);
    bd_free(r.texts);
    bd_sequence_attrs_fini(&s);
}

static braid_code single_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 0, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    return code ? code : set_shapes(c, &BD_SCALAR, st);
}

BD_OP(ParseSingleSequenceExample) = {
    .signature =
        "(serialized: string, feature_list_dense_missing_assumed_empty: string, "
        "context_sparse_keys: Ncontext_sparse*string, context_dense_keys: Ncontext_dense*string, "
        "feature_list_sparse_keys: Nfeature_list_sparse*string, "
        "feature_list_dense_keys: Nfeature_list_dense*string, context_dense_defaults: Tcontext_dense..., "
        "debug_name: string) -> (" OUTPUTS ")",
    .attrs = COUNTS TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = single_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_sequence_attrs),
                           .create = single_create,
                           .destroy = bd_sequence_attrs_fini,
                           .run = single_run}),
    .doc = "The context and the feature lists of one serialized SequenceExample message.",
    .deviation = "Accepts what any protobuf parser accepts: fields in any order, and unknown fields.",
};
