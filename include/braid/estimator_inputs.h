// Input functions of estimators: arrays in memory, CSV files and TFRecord files (tf.estimator.inputs).
//
//     const braid_array arrays[] = {{"x", images}};
//     const braid_array_input train = {.features = arrays, .feature_count = 1,
//                                      .labels = &labels, .label_count = 1,
//                                      .batch_size = 100, .num_epochs = -1, .shuffle = true};
//     braid_estimator_train(e, &(braid_train_options){.input = braid_array_input_fn(&train), ...}, status);
//
// A description lives, with all that it names, as long as the input is used. It may be used several times,
// and each use begins at the start of the data. Errors are the graph's.
#ifndef BRAID_ESTIMATOR_INPUTS_H
#define BRAID_ESTIMATOR_INPUTS_H

#include <braid/estimator.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An array: examples along the first dimension.
typedef struct braid_array {
    const char *name;           ///< of the feature or label; NULL: it is the only label
    const braid_tensor *values; ///< [examples, ...]
} braid_array;

/// Batches of examples of arrays (numpy_input_fn). The arrays are fed batch by batch and are no part of the
/// graph, of event files or of checkpoints.
typedef struct braid_array_input {
    const braid_array *features; ///< [feature_count]
    int feature_count;
    const braid_array *labels; ///< [label_count], perhaps none
    int label_count;
    int64_t batch_size; ///< 0: 128. The last batch of the last epoch is smaller.
    int64_t num_epochs; ///< 0: 1; negative: for ever
    bool shuffle;       ///< in another order in each epoch
    int64_t seed;       ///< of that order, if `has_seed`
    bool has_seed;
} braid_array_input;

BRAID_API braid_input braid_array_input_fn(const braid_array_input *description);

/// A column of a CSV file.
typedef struct braid_csv_column {
    const char *name;
    braid_dtype dtype; ///< float, double, int32, int64 or string
    /// One element, for empty fields. NULL: a field must have a value.
    const braid_tensor *default_value;
} braid_csv_column;

/// Batches of the lines of CSV files. Each feature is [batch].
typedef struct braid_csv_input {
    const char *const *files; ///< [file_count]
    int file_count;
    const braid_csv_column *columns; ///< [column_count], in the order of the file
    int column_count;
    const char *label; ///< which column is the label; NULL: none
    bool has_header;
    int64_t batch_size, num_epochs; ///< as for arrays
    bool shuffle;
    int64_t shuffle_buffer; ///< lines among which the next one is drawn; 0: 10000
    int64_t seed;           ///< 0: by the graph's
} braid_csv_input;

BRAID_API braid_input braid_csv_input_fn(const braid_csv_input *description);

/// Batches of the Examples in TFRecord files (make_batched_features_dataset).
typedef struct braid_record_input {
    const char *const *files; ///< [file_count]
    int file_count;
    const char *compression;       ///< NULL, "ZLIB" or "GZIP"
    const braid_feature *features; ///< [feature_count], the label among them
    int feature_count;
    const char *label;              ///< which feature is the label; NULL: none
    int64_t batch_size, num_epochs; ///< as for arrays
    bool shuffle;
    int64_t shuffle_buffer, seed; ///< as for CSV files
    bool by_worker;               ///< each task that trains reads its share of the records (shard)
} braid_record_input;

BRAID_API braid_input braid_record_input_fn(const braid_record_input *description);

#ifdef __cplusplus
}
#endif
#endif
