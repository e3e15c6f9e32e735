// Reading of examples, and drawing of their features.
#include "ops/tensor_forest/data.h"

#include "ops/boosted_trees/inputs.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

// ---- input_spec: `dense_features_size: 3 dense: [{COLUMN}{COLUMN}] sparse: [{COLUMN}]` ----
//
// A COLUMN is `name: NAME original_type: 0 size: 2`; a NAME has no blanks.

enum {
    SIZE_MAX_DIGITS = 10
};

typedef struct text {
    const char *at, *end;
} text;

static bool skip(text *t, const char *word)
{
    const size_t len = strlen(word);
    if ((size_t)(t->end - t->at) < len || memcmp(t->at, word, len) != 0) return false;
    t->at += len;
    return true;
}

static bool read_int(text *t, int64_t *value)
{
    const bool is_negative = skip(t, "-");
    const char *begin = t->at;
    *value = 0;
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && t->at - begin < SIZE_MAX_DIGITS)
        *value = *value * 10 + (*t->at++ - '0');
    if (*value > INT32_MAX || t->at == begin) return false;
    if (is_negative) *value = -*value;
    return true;
}

static bool read_column(text *t, int64_t *type, int64_t *size)
{
    if (!skip(t, "{name: ")) return false;
    while (t->at < t->end && !strchr(" {}[]", *t->at))
        t->at++;
    return skip(t, " original_type: ") && read_int(t, type) && skip(t, " size: ") && read_int(t, size) &&
           skip(t, "}") && (*type == BD_RF_FLOAT || *type == BD_RF_CATEGORICAL);
}

static bool add_dense_column(bd_rf_spec *spec, int64_t type, int64_t size)
{
    bd_rf_column *grown = bd_try_realloc(spec->dense, sizeof *grown * (size_t)(spec->columns + 1));
    if (!grown) return false;
    spec->dense = grown;
    const int64_t begin = spec->columns ? grown[spec->columns - 1].end : 0;
    grown[spec->columns++] = (bd_rf_column){begin + (size > 0 ? size : 0), (bd_rf_column_type)type};
    return true;
}

static bool read_spec(text *t, bd_rf_spec *spec)
{
    int64_t type, size;
    if (!skip(t, "dense_features_size: ") || !read_int(t, &size) || size < 0) return false;
    spec->dense_count = (int32_t)size;
    if (!skip(t, " dense: [")) return false;
    while (!skip(t, "]"))
        if (!read_column(t, &type, &size) || !add_dense_column(spec, type, size)) return false;
    if (!skip(t, " sparse: [")) return false;
    while (!skip(t, "]")) {
        if (!read_column(t, &type, &size)) return false;
        if (!spec->has_sparse) spec->sparse_type = (bd_rf_column_type)type;
        spec->has_sparse = true;
    }
    return t->at == t->end;
}

braid_code bd_rf_spec_read(bd_rf_spec *spec, const braid_op *node, braid_status *st)
{
    const bd_bytes bytes = bd_node_attr(node, "input_spec")->s;
    text t = {bytes.data, bytes.data + bytes.len};
    *spec = (bd_rf_spec){0};
    const bool is_read = read_spec(&t, spec);
    const int64_t features = spec->columns ? spec->dense[spec->columns - 1].end : 0;
    if (is_read && features == spec->dense_count) return BRAID_OK;
    if (!is_read)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Unable to parse input_spec from byte %zu on: %.200s",
                (size_t)(t.at - (const char *)bytes.data), (const char *)bytes.data);
    else
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                "The dense columns of input_spec have %lld features, but dense_features_size is %d",
                (long long)features, spec->dense_count);
    bd_rf_spec_free(spec);
    return st->code;
}

void bd_rf_spec_free(bd_rf_spec *spec)
{
    bd_free(spec->dense);
    *spec = (bd_rf_spec){0};
}

static bd_rf_column_type dense_type(const bd_rf_spec *spec, int64_t feature)
{
    int k = 0;
    while (feature >= spec->dense[k].end)
        k++;
    return spec->dense[k].type;
}

// ---- The batch ----

static bool read_sparse(bd_op_ctx *c, int from, bd_rf_data *d, int64_t *rows)
{
    const braid_tensor *indices = bd_input(c, from), *values = bd_input(c, from + 1),
                       *shape = bd_input(c, from + 2);
    if (!bd_input_has_rank(c, from + 1, 1, "sparse_input_values") ||
        !bd_input_has_rank(c, from + 2, 1, "sparse_input_shape"))
        return false;
    if (indices->shape.dims[1] < 2 || indices->shape.dims[0] != values->shape.dims[0] ||
        shape->shape.dims[0] < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "sparse_input_indices has shape %s, with %lld values and a shape of %lld numbers; there "
                   "must be a row and a column for each value",
                   bd_shape_str(&indices->shape, (char[BD_SHAPE_STR_MAX]){0}),
                   (long long)values->shape.dims[0], (long long)shape->shape.dims[0]);
        return false;
    }
    *rows = bd_tensor_i64(shape)[0];
    if (*rows < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "sparse_input_shape has %lld rows", (long long)*rows);
        return false;
    }
    d->indices = bd_tensor_i64(indices);
    d->values = bd_tensor_f32(values);
    d->index_width = indices->shape.dims[1];
    d->value_count = values->shape.dims[0];
    return true;
}

bool bd_rf_read_data(bd_op_ctx *c, int from, const bd_rf_spec *spec, bd_rf_data *data)
{
    const braid_tensor *dense = bd_input(c, from);
    *data = (bd_rf_data){.spec = spec};
    int64_t sparse_rows = 0;
    if (bd_input(c, from + 1)->shape.rank == 2 && !read_sparse(c, from + 1, data, &sparse_rows)) return false;
    if (dense->shape.rank == 2) {
        data->dense = bd_tensor_f32(dense);
        data->rows = dense->shape.dims[0];
        data->columns = dense->shape.dims[1];
    } else {
        data->rows = sparse_rows;
    }
    if (data->rows <= INT32_MAX) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "A batch of %lld examples is too large", (long long)data->rows);
    return false;
}

// The value at a row and a column; 0: there is none.
static float find_sparse(const bd_rf_data *d, int64_t row, int64_t column)
{
    int64_t low = 0, high = d->value_count;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        const int64_t *index = d->indices + mid * d->index_width;
        if (index[0] == row && index[1] == column) return d->values[mid];
        if (index[0] < row || (index[0] == row && index[1] < column))
            low = mid + 1;
        else
            high = mid;
    }
    return 0;
}

bool bd_rf_value(const bd_rf_data *d, int64_t row, int32_t feature, float *value)
{
    if (feature >= d->spec->dense_count) {
        if (!d->indices) return false;
        *value = find_sparse(d, row, feature);
        return true;
    }
    if (feature < 0 || feature >= d->columns) return false;
    *value = d->dense[row * d->columns + feature];
    return true;
}

// ---- Drawing ----

// Uniform in [0, n), as TensorFlow's SimplePhilox draws it.
static uint32_t draw_below(bd_philox_stream *random, uint32_t n)
{
    uint32_t word = bd_philox_stream_next(random);
    if (n == 0) return 0;
    if ((n & (n - 1)) == 0) return word & (n - 1);
    const uint32_t refused = UINT32_MAX % n + 1;
    while (word < refused)
        word = bd_philox_stream_next(random);
    return word % n;
}

// The values of a row: [*begin, *begin + count). Returns count.
static int64_t find_row(const bd_rf_data *d, int64_t row, int64_t *begin)
{
    int64_t low = 0, high = d->indices ? d->value_count : 0;
    while (low < high) {
        const int64_t mid = low + (high - low) / 2;
        if (d->indices[mid * d->index_width] < row)
            low = mid + 1;
        else
            high = mid;
    }
    *begin = low;
    while (high < d->value_count && d->indices && d->indices[high * d->index_width] == row)
        high++;
    return high - *begin;
}

bool bd_rf_draw(const bd_rf_data *d, int64_t row, bd_philox_stream *random, bd_rf_sample *sample,
                braid_status *st)
{
    int64_t begin;
    // Of a tree that has been given some of the columns, the others are not there.
    const int64_t dense = d->spec->dense_count < d->columns ? d->spec->dense_count : d->columns;
    const int64_t count = dense + find_row(d, row, &begin);
    const int64_t drawn = draw_below(random, (uint32_t)(count < INT32_MAX ? count : INT32_MAX));
    if (count == 0) return false;
    if (drawn < dense) {
        sample->feature = (int32_t)drawn;
        sample->type = dense_type(d->spec, drawn);
        return bd_rf_value(d, row, sample->feature, &sample->value);
    }
    const int64_t column = d->indices[(begin + drawn - dense) * d->index_width + 1];
    if (!d->spec->has_sparse || column < 0 || column > INT32_MAX - d->spec->dense_count) {
        bd_fail(st, BRAID_INVALID_ARGUMENT,
                d->spec->has_sparse
                    ? "sparse_input_indices has column %lld"
                    : "There is a sparse value in column %lld, but input_spec has no sparse column",
                (long long)column);
        return false;
    }
    sample->feature = (int32_t)column + d->spec->dense_count;
    sample->type = d->spec->sparse_type;
    return bd_rf_value(d, row, sample->feature, &sample->value);
}

// ---- Targets ----

// Classes are numbers in [0, num_outputs).
static bool check_classes(bd_op_ctx *c, const bd_rf_params *p, const bd_rf_target *t)
{
    for (int64_t i = 0; i < t->rows; i++) {
        const float label = t->labels[i * t->targets];
        if (label > -1 && label < (float)p->num_outputs) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Got label %g, but the indicated number of classes is %d. Is params.num_classes set "
                   "correctly?",
                   (double)label, p->num_outputs);
        return false;
    }
    return true;
}

bool bd_rf_read_target(bd_op_ctx *c, int from, const bd_rf_params *p, int64_t rows, bd_rf_target *target)
{
    const braid_tensor *labels = bd_input(c, from), *weights = bd_input(c, from + 1);
    char shape[BD_SHAPE_STR_MAX];
    if (labels->shape.rank != 1 && labels->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input_labels must be a vector or a matrix, received shape %s",
                   bd_shape_str(&labels->shape, shape));
        return false;
    }
    const int64_t width = labels->shape.rank == 2 ? labels->shape.dims[1] : 1;
    *target = (bd_rf_target){.labels = bd_tensor_f32(labels),
                             .weights = bd_tensor_f32(weights),
                             .rows = labels->shape.dims[0],
                             .weight_count = bd_tensor_count(weights),
                             .targets = p->is_regression && width > 1 ? (int32_t)width : 1};
    if (rows >= 0 && target->rows != rows) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "There are %lld labels for %lld examples",
                   (long long)target->rows, (long long)rows);
        return false;
    }
    if (target->rows > 0 &&
        (width < 1 || width > INT32_MAX || (p->is_regression && width < p->num_outputs))) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input_labels has shape %s for %d outputs",
                   bd_shape_str(&labels->shape, shape), p->num_outputs);
        return false;
    }
    return p->is_regression || check_classes(c, p, target);
}

bool bd_rf_read_leaves(bd_op_ctx *c, int i, int64_t rows, const int32_t **leaves)
{
    const braid_tensor *t = bd_input(c, i);
    if (!bd_input_has_rank(c, i, 1, "leaf_ids")) return false;
    *leaves = bd_tensor_i32(t);
    if (t->shape.dims[0] == rows) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "There are %lld leaf_ids for %lld examples",
               (long long)t->shape.dims[0], (long long)rows);
    return false;
}
