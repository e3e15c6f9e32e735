// Parsing of Example messages in a graph (tf.io.parse_example, FixedLenFeature, VarLenFeature).
#ifndef BRAID_PARSING_H
#define BRAID_PARSING_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A feature to be parsed: of a fixed shape, or a list of any length.
typedef struct braid_feature {
    const char *name;
    braid_dtype dtype; ///< BRAID_FLOAT, BRAID_INT64 or BRAID_STRING
    bool is_var_len;   ///< a sparse tensor (VarLenFeature); else dense (FixedLenFeature)
    braid_shape shape; ///< of one example, fully known; of a dense feature
    /// For examples without the feature, with as many elements as `shape`; NULL: each example must have it.
    /// Not owned.
    const braid_tensor *default_value;
} braid_feature;

/// A parsed feature.
typedef struct braid_parsed {
    /// Dense: [batch, shape...]. Sparse: [n], the values of all examples.
    braid_out values;
    /// Sparse: [n, 2] int64, example and position of each value, and the dense shape [2]. Dense: op NULL.
    braid_out indices, dense_shape;
} braid_parsed;

/// Parses `serialized`, a string vector [batch] of Examples, and stores `count` results to `parsed`. A step
/// fails with InvalidArgument for an example that is malformed, or without a feature that has no default.
/// `name` NULL: "ParseExample".
BRAID_API void braid_parse_example(braid_graph *graph, const char *name, braid_out serialized,
                                   const braid_feature *features, int count, braid_parsed *parsed);

#ifdef __cplusplus
}
#endif
#endif
