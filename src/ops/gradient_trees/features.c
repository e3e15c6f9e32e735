// Reading of examples, and the way through a tree.
#include "ops/gradient_trees/features.h"

#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"

// ---- Reading ----

// Inputs are in groups: of each kind the indices of all columns, then their values, then their shapes.
static bool read_sparse(bd_op_ctx *c, int at, int stride, bool is_float, bd_gbt_features *f,
                        bd_gbt_sparse_column *column, bool sets_rows)
{
    const braid_tensor *indices = bd_input(c, at), *values = bd_input(c, at + stride),
                       *shape = bd_input(c, at + 2 * stride);
    const char *kind = is_float ? "float" : "int";
    if (indices->shape.rank != 2 || indices->shape.dims[1] != 2 || values->shape.rank != 1 ||
        shape->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Sparse %s feature indices must be a matrix of two columns, and values and shape vectors",
                   kind);
        return false;
    }
    if (shape->shape.dims[0] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sparse %s feature column must be two-dimensional.", kind);
        return false;
    }
    if (values->shape.dims[0] != indices->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sparse %s feature has %lld values, but indices of %lld", kind,
                   (long long)values->shape.dims[0], (long long)indices->shape.dims[0]);
        return false;
    }
    const int64_t *dims = bd_tensor_i64(shape);
    if (sets_rows) f->rows = dims[0];
    if (dims[0] != f->rows || dims[0] < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Sparse %s feature shape incompatible with batch size.", kind);
        return false;
    }
    *column = (bd_gbt_sparse_column){
        .indices = bd_tensor_i64(indices), .count = indices->shape.dims[0], .is_of_one_value = dims[1] <= 1};
    if (is_float)
        column->floats = bd_tensor_f32(values);
    else
        column->ids = bd_tensor_i64(values);
    return true;
}

static bool read_dense(bd_op_ctx *c, int at, int32_t i, bd_gbt_features *f)
{
    const braid_tensor *t = bd_input(c, at + i);
    if (t->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dense float feature must be a matrix.");
        return false;
    }
    if (i == 0) f->rows = t->shape.dims[0];
    if (t->shape.dims[0] != f->rows) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dense float vector must have batch_size rows: %lld vs. %lld",
                   (long long)f->rows, (long long)t->shape.dims[0]);
        return false;
    }
    if (t->shape.dims[1] != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Dense float features may not be multivalent: dim_size(1) = %lld",
                   (long long)t->shape.dims[1]);
        return false;
    }
    f->dense[i] = bd_tensor_f32(t);
    return true;
}

bool bd_gbt_read_features(bd_op_ctx *c, int from, bd_gbt_features *f)
{
    *f = (bd_gbt_features){
        .dense_count = (int32_t)bd_node_attr_int(c->node, "num_dense_float_features"),
        .float_count = (int32_t)bd_node_attr_int(c->node, "num_sparse_float_features"),
        .id_count = (int32_t)bd_node_attr_int(c->node, "num_sparse_int_features"),
    };
    const int32_t sparse = f->float_count + f->id_count;
    if (f->dense_count + sparse == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "There must be at least one feature column.");
        return false;
    }
    f->dense = bd_calloc((size_t)f->dense_count + 1, sizeof *f->dense);
    f->columns = bd_calloc((size_t)sparse + 1, sizeof *f->columns);
    for (int32_t i = 0; i < f->dense_count; i++)
        if (!read_dense(c, from, i, f)) return false;
    const int floats = from + f->dense_count, ids = floats + 3 * f->float_count;
    for (int32_t i = 0; i < sparse; i++) {
        const bool is_float = i < f->float_count;
        if (!read_sparse(c, is_float ? floats + i : ids + i - f->float_count,
                         is_float ? f->float_count : f->id_count, is_float, f, &f->columns[i],
                         f->dense_count == 0 && i == 0))
            return false;
    }
    return true;
}

void bd_gbt_features_free(bd_gbt_features *f)
{
    bd_free(f->dense);
    bd_free(f->columns);
}

// ---- Values ----

// The first entry of a row; the row ends where entries of others begin.
static int64_t find_row(const bd_gbt_sparse_column *c, int64_t row)
{
    int64_t from = 0, to = c->count;
    while (from < to) {
        const int64_t middle = from + (to - from) / 2;
        if (c->indices[2 * middle] < row)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

static bool is_in_row(const bd_gbt_sparse_column *c, int64_t at, int64_t row)
{
    return at < c->count && c->indices[2 * at] == row;
}

// False: the row has no value of the dimension.
static bool get_float(const bd_gbt_sparse_column *c, int64_t row, int32_t dimension, float *value)
{
    for (int64_t at = find_row(c, row); is_in_row(c, at, row); at++) {
        if (!c->is_of_one_value && (int32_t)c->indices[2 * at + 1] != dimension) continue;
        *value = c->floats[at];
        return true;
    }
    return false;
}

static bool contains(const int64_t *sorted, size_t count, int64_t id)
{
    size_t from = 0, to = count;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (sorted[middle] < id)
            from = middle + 1;
        else
            to = middle;
    }
    return from < count && sorted[from] == id;
}

static bool has_id(const bd_gbt_sparse_column *c, int64_t row, const bd_gbt_node *n)
{
    for (int64_t at = find_row(c, row); is_in_row(c, at, row); at++)
        if (n->kind == BD_GBT_IDS_SPLIT ? contains(n->feature_ids.items, n->feature_ids.len, c->ids[at])
                                        : c->ids[at] == n->feature_id)
            return true;
    return false;
}

// Whether a row goes left. False: there is no such column.
static bool test(const bd_gbt_node *n, const bd_gbt_features *f, int64_t row, bool *goes_left)
{
    float value;
    if (n->column < 0) return false;
    switch (n->kind) {
    case BD_GBT_FLOAT_SPLIT:
    case BD_GBT_LAYER_FLOAT_SPLIT:
        if (n->column >= f->dense_count) return false;
        value = f->dense[n->column][row];
        *goes_left = n->kind == BD_GBT_FLOAT_SPLIT ? value <= n->threshold : !(value > n->threshold);
        return true;
    case BD_GBT_SPARSE_SPLIT_LEFT:
    case BD_GBT_SPARSE_SPLIT_RIGHT:
        if (n->column >= f->float_count) return false;
        *goes_left = get_float(&f->columns[n->column], row, n->dimension, &value)
                         ? value <= n->threshold
                         : n->kind == BD_GBT_SPARSE_SPLIT_LEFT;
        return true;
    default:
        if (n->column >= f->id_count) return false;
        *goes_left = has_id(&f->columns[f->float_count + n->column], row, n);
        return true;
    }
}

int32_t bd_gbt_find_leaf(const bd_gbt_tree *t, const bd_gbt_features *f, int64_t row)
{
    size_t at = 0;
    int64_t in_layer = 0; // of an oblivious tree: the number of the leaf among those of its layer
    for (int64_t steps = 0; at < t->nodes.len && !bd_interrupted_at(steps); steps++) {
        const bd_gbt_node *n = &t->nodes.items[at];
        bool goes_left;
        if (n->kind == BD_GBT_LEAF) {
            const int64_t leaf = (int64_t)at + in_layer;
            return leaf < (int64_t)t->nodes.len && t->nodes.items[leaf].kind == BD_GBT_LEAF ? (int32_t)leaf
                                                                                            : -1;
        }
        if (n->kind == BD_GBT_NO_NODE || !test(n, f, row, &goes_left)) return -1;
        if (bd_gbt_is_binary(n->kind)) {
            if (!bd_gbt_has_children(t, at)) return -1;
            at = (size_t)(goes_left ? n->left : n->right);
        } else {
            if (in_layer > INT32_MAX) return -1;
            in_layer = 2 * in_layer + !goes_left;
            at++;
        }
    }
    return -1;
}
