// Feature columns: how raw features become the input of a model (tf.feature_column).
//
//     const braid_feature_column age = braid_numeric_column("age", 1);
//     const float decades[] = {20, 30, 40};
//     const braid_feature_column wide[] = {braid_bucketized_column(&age, decades, 3),
//                                          braid_hash_bucket_column("city", 1000, BRAID_STRING)};
//     const braid_feature_column deep[] = {age, braid_embedding_column(&wide[1], 8)};
//     braid_out logits = braid_linear_model(graph, features, feature_count, wide, 2, 1);
//     braid_out x = braid_input_layer(graph, features, feature_count, deep, 2);
//
// A column is a value. What it points to, other columns among it, lives as long as the column is used. Names
// of variables are TensorFlow's. Errors are the graph's: a feature that is missing (NotFound, listing those
// that there are) or has another type, a column of the wrong kind.
#ifndef BRAID_FEATURE_COLUMN_H
#define BRAID_FEATURE_COLUMN_H

#include <braid/estimator.h>
#include <braid/initializers.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum braid_column_kind {
    BRAID_COLUMN_NUMERIC,
    BRAID_COLUMN_BUCKETIZED,
    BRAID_COLUMN_IDENTITY,
    BRAID_COLUMN_HASH_BUCKET,
    BRAID_COLUMN_VOCABULARY_LIST,
    BRAID_COLUMN_VOCABULARY_FILE,
    BRAID_COLUMN_CROSSED,
    BRAID_COLUMN_WEIGHTED,
    BRAID_COLUMN_INDICATOR,
    BRAID_COLUMN_EMBEDDING
} braid_column_kind;

/// A column. Make it by one of the functions below; members with a comment may then be changed.
typedef struct braid_feature_column braid_feature_column;
struct braid_feature_column {
    braid_column_kind kind;
    const char *key;   // the feature; of a weighted column, that of the weights
    braid_dtype dtype; // of the feature
    int64_t size;      // numbers of an example, buckets, or dimensions of an embedding
    const braid_feature_column *source;
    const float *boundaries; // [boundary_count]
    int boundary_count;
    const braid_tensor *vocabulary;
    const char *vocabulary_file;
    const braid_feature_column *const *crossed; // [crossed_count]
    int crossed_count;
    /// Of a numeric column: applied to the numbers [batch, size]; NULL: nothing is.
    braid_out (*normalizer)(braid_graph *graph, braid_out x);
    /// Of a numeric column in serialized Examples: the value of a missing feature, if `has_default`. Of an
    /// identity column: the id of values out of range, if `has_default`; else such values fail the run. Of a
    /// vocabulary: the id of unknown words; else they are left out.
    double default_value;
    bool has_default;
    /// Of a vocabulary: unknown words are hashed to so many more buckets; excludes `default_value`.
    int64_t num_oov_buckets;
    uint64_t hash_key; ///< of a crossed column; 0: TensorFlow's
    /// Of an embedding: how the rows of several ids become one, and how the table begins (`build` NULL:
    /// a truncated normal distribution with the deviation 1 / sqrt(size)).
    braid_combiner combiner;
    braid_initializer initializer;
    bool is_untrained; ///< of an embedding: it is not trained (trainable=False)
    /// Of an embedding whose table others share: the categorical columns of all of them [shared_count].
    const braid_feature_column *const *shared;
    int shared_count;
};

// ---- Dense columns ----

/// `size` numbers of an example: a feature [batch, size], or [batch] for 1, of any number type.
BRAID_API braid_feature_column braid_numeric_column(const char *key, int64_t size);
/// An embedding of a categorical column (the mean of the rows of its ids), [batch, dimension], zeros for
/// an example without an id; and, for each id, how often an example has it, [batch, buckets].
BRAID_API braid_feature_column braid_embedding_column(const braid_feature_column *categorical,
                                                      int64_t dimension);
BRAID_API braid_feature_column braid_indicator_column(const braid_feature_column *categorical);
/// Embeddings of several categorical columns in one table, stored to `columns` [count]
/// (tf.feature_column.shared_embedding_columns). The columns have the same number of buckets, and what is
/// changed in one embedding (combiner excepted) is changed in all. The table is the variable
/// input_layer/A_B_shared_embedding/embedding_weights, of the names of the categorical columns in their
/// order. The array `categorical` lives as long as the columns.
BRAID_API void braid_shared_embedding_columns(const braid_feature_column *const *categorical, int count,
                                              int64_t dimension, braid_feature_column *columns);

// ---- Categorical columns: lists of ids ----
//
// Features are dense [batch] or [batch, n], in which -1 and "" stand for nothing, or sparse.

/// Which of the intervals between the boundaries, which ascend, each number of a numeric column is in; also
/// a dense column, in which each number is one-hot.
BRAID_API braid_feature_column braid_bucketized_column(const braid_feature_column *numeric,
                                                       const float *boundaries, int boundary_count);
/// Integers in [0, num_buckets) that are ids themselves.
BRAID_API braid_feature_column braid_identity_column(const char *key, int64_t num_buckets);
/// Strings, or integers (`dtype` int32 or int64), by a hash of their text.
BRAID_API braid_feature_column braid_hash_bucket_column(const char *key, int64_t num_buckets,
                                                        braid_dtype dtype);
/// Values of a vector of different strings, or int64s, by their position in it.
BRAID_API braid_feature_column braid_vocabulary_list_column(const char *key, const braid_tensor *vocabulary);
/// Strings by the number of the line of a file, the first being 0. `size` 0: the file is read to count. A
/// session on a server reads it, so that it must be in the server's file roots (server.h).
BRAID_API braid_feature_column braid_vocabulary_file_column(const char *key, const char *file, int64_t size);
/// Combinations of values of several columns, by their hash: bucketized, identity and vocabulary columns,
/// other crossed columns, and features of strings or integers as they are (braid_raw_column).
BRAID_API braid_feature_column braid_crossed_column(const braid_feature_column *const *columns, int count,
                                                    int64_t num_buckets);
/// A feature for a crossed column alone.
BRAID_API braid_feature_column braid_raw_column(const char *key, braid_dtype dtype);
/// Another categorical column with a weight for each of its ids: a float feature of the same form.
BRAID_API braid_feature_column braid_weighted_column(const braid_feature_column *categorical,
                                                     const char *weight_key);

/// The name of a column, as TensorFlow makes it: "age_bucketized", "city_X_job" (free() it).
BRAID_API char *braid_feature_column_name(const braid_feature_column *column);

// ---- Layers ----

/// The dense columns side by side, in the order of their names: float [batch, sum of their sizes]
/// (tf.feature_column.input_layer). Embeddings have variables input_layer/COLUMN/embedding_weights in the
/// current variable scope.
BRAID_API braid_out braid_input_layer(braid_graph *graph, const braid_named_tensor *features,
                                      int feature_count, const braid_feature_column *columns,
                                      int column_count);

/// A linear function of numeric and categorical columns, [batch, units]: the sum of the weights of their ids,
/// and of their numbers times weights, plus a bias (tf.feature_column.linear_model). The variables
/// linear_model/COLUMN/weights [size, units] and linear_model/bias_weights [units] begin at zero.
BRAID_API braid_out braid_linear_model(braid_graph *graph, const braid_named_tensor *features,
                                       int feature_count, const braid_feature_column *columns,
                                       int column_count, int64_t units);

/// Stores the features that columns need from serialized Examples to `features` [max], each once, for
/// braid_parse_example and parsing serving inputs (make_parse_example_spec). Returns their number, which may
/// be more than `max`.
BRAID_API int braid_make_parse_spec(const braid_feature_column *columns, int column_count,
                                    braid_feature *features, int max);

#ifdef __cplusplus
}
#endif
#endif
