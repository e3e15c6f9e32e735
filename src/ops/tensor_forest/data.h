// The examples that ops of tf.contrib.tensor_forest take: dense and sparse features, and their targets.
#ifndef BD_OPS_TENSOR_FOREST_DATA_H
#define BD_OPS_TENSOR_FOREST_DATA_H

#include "op/kernel.h"
#include "ops/common/philox_stream.h"
#include "ops/tensor_forest/params.h"

// The kinds of a column: numbers, which splits compare, and categories, which splits match.
typedef enum bd_rf_column_type {
    BD_RF_FLOAT = 0,
    BD_RF_CATEGORICAL = 1,
} bd_rf_column_type;

typedef struct bd_rf_column {
    int64_t end; // its features are from the one before's end on
    bd_rf_column_type type;
} bd_rf_column;

// Attr `input_spec`. Features from dense_count on are sparse.
typedef struct bd_rf_spec {
    int32_t dense_count;
    int columns;
    bd_rf_column *dense; // [columns]
    bool has_sparse;
    bd_rf_column_type sparse_type; // of the first sparse column
} bd_rf_spec;

// Reads attr `input_spec` of a node, which TensorForestDataSpec.SerializeToString writes. InvalidArgument:
// malformed; *spec is empty then.
braid_code bd_rf_spec_read(bd_rf_spec *spec, const braid_op *node, braid_status *st);
void bd_rf_spec_free(bd_rf_spec *spec);

// A batch. The sparse features are sorted by row and column.
typedef struct bd_rf_data {
    const bd_rf_spec *spec;
    const float *dense; // [rows, columns]; NULL: there are none
    int64_t rows, columns;
    const int64_t *indices; // [value_count, index_width]; NULL: there are none
    const float *values;
    int64_t index_width, value_count;
} bd_rf_data;

// Reads inputs `from` to from + 3: input_data, sparse_input_indices, _values and _shape. False: the
// kernel has failed.
bool bd_rf_read_data(bd_op_ctx *c, int from, const bd_rf_spec *spec, bd_rf_data *data);

// The value of a feature; false: the data does not have the feature.
bool bd_rf_value(const bd_rf_data *d, int64_t row, int32_t feature, float *value);

typedef struct bd_rf_sample {
    int32_t feature;
    bd_rf_column_type type;
    float value;
} bd_rf_sample;

// Draws a feature of a row: one of the dense ones, or of the sparse ones that the row has. False: the row has
// no feature, or `st` tells what is wrong.
bool bd_rf_draw(const bd_rf_data *d, int64_t row, bd_philox_stream *random, bd_rf_sample *sample,
                braid_status *st);

// What the examples of a batch are to give.
typedef struct bd_rf_target {
    const float *labels, *weights;
    int64_t rows, weight_count;
    int32_t targets; // labels of each row
} bd_rf_target;

// Reads inputs `from` and from + 1, labels and weights, of `rows` examples (-1: of any number). False: the
// kernel has failed.
bool bd_rf_read_target(bd_op_ctx *c, int from, const bd_rf_params *p, int64_t rows, bd_rf_target *target);

// Without weights, an example weighs 1.
static inline float bd_rf_weight(const bd_rf_target *t, int64_t row)
{
    return row < t->weight_count ? t->weights[row] : 1;
}

// The class of an example; checked by bd_rf_read_target.
static inline int32_t bd_rf_class(const bd_rf_target *t, int64_t row)
{
    return (int32_t)t->labels[row * t->targets];
}

// Reads input `i`, a vector of the leaves of as many examples. False: the kernel has failed.
bool bd_rf_read_leaves(bd_op_ctx *c, int i, int64_t rows, const int32_t **leaves);

#endif
