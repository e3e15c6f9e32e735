// Reading and checking of what the ops of boosted trees take.
#include "ops/boosted_trees/inputs.h"

#include "ops/common/handle.h"

// ---- Handles ----

bool bd_boosted_trees_handle(bd_op_ctx *c, const bd_resource_type *type, char **container, char **name)
{
    const braid_tensor *t = bd_input(c, 0);
    const bd_resource_handle *h =
        t->dtype == BRAID_RESOURCE && bd_tensor_count(t) == 1 ? bd_tensor_handle(t) : NULL;
    if (!h || !h->name) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input 0 is no handle of a %s", type->name);
        return false;
    }
    if (!bd_handle_check_kind(c, h, type)) return false;
    *container = bd_strdup(h->container ? h->container : "");
    *name = bd_strdup(h->name);
    return true;
}

void bd_boosted_trees_is_initialized(bd_op_ctx *c, const bd_resource_type *type)
{
    BD_STATUS(st);
    char *container, *name;
    bd_resource *r = NULL;
    const braid_tensor *y = bd_output(c, 0, BRAID_BOOL, &BD_SCALAR);
    if (!y || !bd_boosted_trees_handle(c, type, &container, &name)) return;
    const braid_code code = bd_resources_lookup(c->step->resources, container, name, type, &r, st);
    if (code && code != BRAID_NOT_FOUND) bd_op_fail_status(c, st);
    bd_tensor_bool(y)[0] = code == BRAID_OK;
    if (code == BRAID_OK) bd_resource_unref(r);
    bd_free(container);
    bd_free(name);
}

// ---- Numbers ----

bool bd_input_has_rank(bd_op_ctx *c, int i, int rank, const char *what)
{
    static const char *const kinds[] = {"a scalar", "a vector", "a matrix"};
    char shape[BD_SHAPE_STR_MAX];
    if (bd_input(c, i)->shape.rank == rank) return true;
    if (rank < (int)BD_COUNTOF(kinds))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be %s, received shape %s", what, kinds[rank],
                   bd_shape_str(&bd_input(c, i)->shape, shape));
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must have rank %d, received shape %s", what, rank,
                   bd_shape_str(&bd_input(c, i)->shape, shape));
    return false;
}

bool bd_input_float(bd_op_ctx *c, int i, const char *what, float *value)
{
    if (!bd_input_has_rank(c, i, 0, what)) return false;
    *value = bd_tensor_f32(bd_input(c, i))[0];
    return true;
}

bool bd_input_node_range(bd_op_ctx *c, int i, int64_t count, int32_t *first, int32_t *last)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 1 || t->shape.dims[0] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "node_id_range must have shape [2], received shape %s",
                   bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    *first = bd_tensor_i32(t)[0];
    *last = bd_tensor_i32(t)[1];
    if (*first >= *last) {
        *first = *last = 0;
    } else if (*first < 0 || *last > count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "node_id_range [%d, %d) is not within the %lld nodes of the statistics", *first, *last,
                   (long long)count);
        return false;
    }
    return true;
}

bool bd_input_features(bd_op_ctx *c, int from, int count, bd_tree_feature *features, int64_t *rows)
{
    *rows = 0;
    for (int i = 0; i < count; i++) {
        const braid_tensor *t = bd_input(c, from + i);
        if (t->shape.rank != 1 && t->shape.rank != 2) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Bucketized feature %d must be a vector or a matrix, received shape %s", i,
                       bd_shape_str(&t->shape, (char[BD_SHAPE_STR_MAX]){0}));
            return false;
        }
        if (i == 0) *rows = t->shape.dims[0];
        if (t->shape.dims[0] != *rows) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Bucketized feature %d has %lld rows, feature 0 has %lld",
                       i, (long long)t->shape.dims[0], (long long)*rows);
            return false;
        }
        features[i] = (bd_tree_feature){bd_tensor_i32(t), t->shape.rank == 1 ? 1 : t->shape.dims[1]};
    }
    return true;
}

// ---- Shapes ----

braid_code bd_shape_ctx_ranks(bd_shape_ctx *c, int from, int to, int rank, braid_status *st)
{
    for (int i = from; i < to; i++)
        if (bd_shape_ctx_rank(c, i, rank, st)) return st->code;
    return BRAID_OK;
}

braid_code bd_shape_ctx_rows(bd_shape_ctx *c, int from, int to, int rank_max, int64_t *rows, braid_status *st)
{
    *rows = -1;
    for (int i = from; i < to; i++) {
        const braid_shape *s = &c->inputs[i];
        if (s->rank < 0) continue;
        if (s->rank == 0 || s->rank > rank_max)
            return bd_shape_ctx_fail(c, st, "Shape must be at %s rank %d but is rank %d",
                                     s->rank ? "most" : "least", s->rank ? rank_max : 1, s->rank);
        if (s->dims[0] >= 0 && *rows >= 0 && s->dims[0] != *rows)
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                     (long long)*rows, (long long)s->dims[0]);
        if (s->dims[0] >= 0) *rows = s->dims[0];
    }
    return BRAID_OK;
}
