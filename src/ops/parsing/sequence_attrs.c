// Reads the attrs of ParseSequenceExample and ParseSingleSequenceExample.
#include "ops/parsing/sequence_attrs.h"

#include "base/alloc.h"
#include <string.h>

void bd_sequence_attrs_fini(void *state)
{
    bd_sequence_attrs *s = state;
    bd_free(s->context_dense);
    bd_free(s->context_sparse);
    bd_free(s->list_sparse);
    bd_free(s->list_dense);
}

// Points the specifications at the arrays.
static void bind_specs(bd_sequence_attrs *s)
{
    s->context.dense = s->context_dense;
    s->context.sparse = s->context_sparse;
    s->lists.dense = s->list_dense;
    s->lists.sparse = s->list_sparse;
    s->context.is_context = true;
}

bd_sequence_attrs bd_sequence_attrs_copy(const bd_sequence_attrs *s)
{
    bd_sequence_attrs copy = *s;
    copy.context_dense =
        bd_memdup(s->context_dense, (size_t)(s->context.dense_count + 1) * sizeof *s->context_dense);
    copy.context_sparse =
        bd_memdup(s->context_sparse, (size_t)(s->context.sparse_count + 1) * sizeof *s->context_sparse);
    copy.list_sparse =
        bd_memdup(s->list_sparse, (size_t)(s->lists.sparse_count + 1) * sizeof *s->list_sparse);
    copy.list_dense = bd_memdup(s->list_dense, (size_t)(s->lists.dense_count + 1) * sizeof *s->list_dense);
    bind_specs(&copy);
    return copy;
}

static braid_code check_dense(const braid_op *node, const char *types_name, const char *shapes_name,
                              const char *count_name, const bd_attr **types, const bd_attr **shapes,
                              braid_status *st)
{
    *types = bd_node_attr(node, types_name);
    *shapes = bd_node_attr(node, shapes_name);
    int64_t count = count_name ? bd_node_attr_int(node, count_name) : (*types)->list.count;
    if ((*types)->list.count != count || (*shapes)->list.count != count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s (%lld) must match the size of %s (%d) and %s (%d)",
                       count_name ? count_name : types_name, (long long)count, types_name,
                       (*types)->list.count, shapes_name, (*shapes)->list.count);
    for (int i = 0; i < count; i++) {
        int64_t elements;
        braid_code code = bd_example_check_dtype((*types)->list.type[i], st);
        if (!code) code = bd_shape_checked_count(&(*shapes)->list.shape[i], &elements, st);
        if (!code && (*shapes)->list.shape[i].rank > BRAID_RANK_MAX - 2)
            code = bd_fail(st, BRAID_INVALID_ARGUMENT, "%s[%d] has more than %d dimensions", shapes_name, i,
                           BRAID_RANK_MAX - 2);
        if (code) return code;
    }
    return BRAID_OK;
}

// The names of the attributes of sparse features, and of ragged ones (NULL: the op has none), which follow
// them.
typedef struct sparse_names {
    const char *types, *count, *ragged_types, *ragged_splits;
} sparse_names;

static braid_code read_sparse(const braid_op *node, const sparse_names *names, bd_sparse_feature **sparse,
                              int *count, int *ragged_count, braid_status *st)
{
    const bd_attr *types = bd_node_attr(node, names->types),
                  *ragged = names->ragged_types ? bd_node_attr(node, names->ragged_types) : NULL,
                  *splits = names->ragged_splits ? bd_node_attr(node, names->ragged_splits) : NULL;
    int64_t want = bd_node_attr_int(node, names->count);
    if (types->list.count != want)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s (%lld) must match the size of %s (%d)", names->count,
                       (long long)want, names->types, types->list.count);
    if (ragged && ragged->list.count != splits->list.count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The size of %s (%d) must match that of %s (%d)",
                       names->ragged_types, ragged->list.count, names->ragged_splits, splits->list.count);
    *ragged_count = ragged ? ragged->list.count : 0;
    *count = types->list.count + *ragged_count;
    *sparse = bd_calloc((size_t)*count + 1, sizeof **sparse);
    for (int i = 0; i < types->list.count; i++)
        (*sparse)[i].dtype = types->list.type[i];
    for (int i = 0; ragged && i < ragged->list.count; i++)
        (*sparse)[types->list.count + i] =
            (bd_sparse_feature){.dtype = ragged->list.type[i], .splits = splits->list.type[i]};
    braid_code code = BRAID_OK;
    for (int i = 0; i < *count && !code; i++)
        code = bd_example_check_dtype((*sparse)[i].dtype, st);
    return code;
}

static braid_code read_dense(const braid_op *node, bd_sequence_attrs *s, braid_status *st)
{
    const bd_attr *types, *shapes;
    const char *count_name = bd_node_attr(node, "Ncontext_dense") ? "Ncontext_dense" : NULL;
    braid_code code =
        check_dense(node, "Tcontext_dense", "context_dense_shapes", count_name, &types, &shapes, st);
    if (code) return code;
    s->context.dense_count = types->list.count;
    s->context_dense = bd_calloc((size_t)types->list.count + 1, sizeof *s->context_dense);
    for (int i = 0; i < types->list.count; i++)
        s->context_dense[i] =
            (bd_dense_feature){.dtype = types->list.type[i], .shape = shapes->list.shape[i]};
    code = check_dense(node, "feature_list_dense_types", "feature_list_dense_shapes", "Nfeature_list_dense",
                       &types, &shapes, st);
    if (code) return code;
    s->lists.dense_count = types->list.count;
    s->list_dense = bd_calloc((size_t)types->list.count + 1, sizeof *s->list_dense);
    for (int i = 0; i < types->list.count; i++)
        s->list_dense[i] = (bd_dense_list){.dtype = types->list.type[i], .shape = shapes->list.shape[i]};
    return BRAID_OK;
}

braid_code bd_sequence_attrs_read_types(const braid_op *node, bd_sequence_attrs *s, braid_status *st)
{
    sparse_names context = {"context_sparse_types", "Ncontext_sparse", NULL, NULL},
                 lists = {"feature_list_sparse_types", "Nfeature_list_sparse", NULL, NULL};
    if (bd_node_attr(node, "context_ragged_value_types")) { // the second form
        context.ragged_types = "context_ragged_value_types";
        context.ragged_splits = "context_ragged_split_types";
        lists.ragged_types = "feature_list_ragged_value_types";
        lists.ragged_splits = "feature_list_ragged_split_types";
    }
    braid_code code = read_dense(node, s, st);
    if (!code)
        code =
            read_sparse(node, &context, &s->context_sparse, &s->context.sparse_count, &s->context_ragged, st);
    if (!code) code = read_sparse(node, &lists, &s->list_sparse, &s->lists.sparse_count, &s->list_ragged, st);
    bind_specs(s);
    return code;
}

static braid_code key_count(const braid_op *node, const char *name, int want, const bd_attr **keys,
                            braid_status *st)
{
    *keys = bd_node_attr(node, name);
    if ((*keys)->list.count == want) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "The size of %s (%d) must match that of its types (%d)", name,
                   (*keys)->list.count, want);
}

static bool has_text(const bd_attr *texts, const bd_bytes *text)
{
    for (int i = 0; i < texts->list.count; i++) {
        if (texts->list.s[i].len == text->len && memcmp(texts->list.s[i].data, text->data, text->len) == 0)
            return true;
    }
    return false;
}

braid_code bd_sequence_attrs_read_keys(const braid_op *node, bd_sequence_attrs *s, braid_status *st)
{
    const bd_attr *context_dense, *context_sparse, *list_dense, *list_sparse;
    const bd_attr *may_be_missing = bd_node_attr(node, "feature_list_dense_missing_assumed_empty");
    braid_code code = key_count(node, "context_dense_keys", s->context.dense_count, &context_dense, st);
    if (!code) code = key_count(node, "context_sparse_keys", s->context.sparse_count, &context_sparse, st);
    if (!code) code = key_count(node, "feature_list_dense_keys", s->lists.dense_count, &list_dense, st);
    if (!code) code = key_count(node, "feature_list_sparse_keys", s->lists.sparse_count, &list_sparse, st);
    if (code) return code;
    for (int i = 0; i < s->context.dense_count; i++)
        s->context_dense[i].key = context_dense->list.s[i];
    for (int i = 0; i < s->context.sparse_count; i++)
        s->context_sparse[i].key = context_sparse->list.s[i];
    for (int i = 0; i < s->lists.sparse_count; i++)
        s->list_sparse[i].key = list_sparse->list.s[i];
    for (int i = 0; i < s->lists.dense_count; i++) {
        s->list_dense[i].key = list_dense->list.s[i];
        s->list_dense[i].may_be_missing = has_text(may_be_missing, &list_dense->list.s[i]);
    }
    return BRAID_OK;
}
