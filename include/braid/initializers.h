// Initializers: how a variable gets its first value.
#ifndef BRAID_INITIALIZERS_H
#define BRAID_INITIALIZERS_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Which part of a partitioned variable is being made.
typedef struct braid_partition_info {
    braid_shape full_shape; ///< of the whole variable
    int64_t offset[BRAID_RANK_MAX];
} braid_partition_info;

/// Builds a first value of a given type and shape. A value; make your own by setting `build`.
typedef struct braid_initializer {
    braid_out (*build)(const struct braid_initializer *self, braid_graph *graph, braid_dtype dtype,
                       braid_shape shape);
    float a, b;   ///< parameters of `build`
    int variant;  ///< a third one
    int64_t seed; ///< of random values, if `has_seed`; else each variable's values are others
    bool has_seed;
    /// Set while `build` makes a part of a partitioned variable, for initializers that depend on the whole;
    /// `shape` is then the part's. Else NULL.
    const braid_partition_info *partition;
} braid_initializer;

BRAID_API braid_initializer braid_zeros_initializer(void);
BRAID_API braid_initializer braid_ones_initializer(void);
BRAID_API braid_initializer braid_constant_initializer(float value);

// ---- Random values: half, float or double ----

BRAID_API braid_initializer braid_random_uniform_initializer(float min, float max);
BRAID_API braid_initializer braid_random_normal_initializer(float mean, float stddev);
/// Values two standard deviations or more from the mean are drawn again.
BRAID_API braid_initializer braid_truncated_normal_initializer(float mean, float stddev);
/// Returns `initializer` with a seed of its own: the same values in each run.
BRAID_API braid_initializer braid_initializer_seeded(braid_initializer initializer, int64_t seed);

// ---- Random values whose size depends on the shape ----
//
// A weight [..., in, out] has fan_in = in * (product of the dimensions before) and fan_out likewise. A part
// of a partitioned variable has the fans of the whole.

/// Which fan the variance is divided by.
typedef enum braid_fan_mode {
    BRAID_FAN_IN = 0,
    BRAID_FAN_OUT = 1,
    BRAID_FAN_AVG = 2 ///< the mean of both
} braid_fan_mode;

typedef enum braid_distribution {
    BRAID_TRUNCATED_NORMAL = 0, ///< its standard deviation is the wanted one after the truncation
    BRAID_UNTRUNCATED_NORMAL = 1,
    BRAID_UNIFORM = 2
} braid_distribution;

/// Mean 0 and variance scale / fan (tf.variance_scaling_initializer). The graph fails unless `scale` is
/// positive.
BRAID_API braid_initializer braid_variance_scaling_initializer(float scale, braid_fan_mode mode,
                                                               braid_distribution distribution);
/// Variance 2 / (fan_in + fan_out): scale 1, fan_avg (Glorot and Bengio, AISTATS 2010, equations 12 and 16).
BRAID_API braid_initializer braid_glorot_uniform_initializer(void);
BRAID_API braid_initializer braid_glorot_normal_initializer(void);
/// Variance 2 / fan_in (He et al., ICCV 2015, equation 10).
BRAID_API braid_initializer braid_he_uniform_initializer(void);
BRAID_API braid_initializer braid_he_normal_initializer(void);
/// Variance 1 / fan_in (LeCun et al., Efficient BackProp, 1998, section 4.6).
BRAID_API braid_initializer braid_lecun_uniform_initializer(void);
BRAID_API braid_initializer braid_lecun_normal_initializer(void);
/// Uniform in [-r, r], r = factor * sqrt(3 / product of all dimensions but the last).
BRAID_API braid_initializer braid_uniform_unit_scaling_initializer(float factor);

// ---- Matrices ----

/// `gain` times a random matrix with orthonormal rows or columns, whichever are fewer (Saxe et al., ICLR
/// 2014). A shape of more than two dimensions is the matrix [product of all but the last, last]. The graph
/// fails for fewer than two. float or double.
BRAID_API braid_initializer braid_orthogonal_initializer(float gain);
/// `gain` times the identity matrix, perhaps not square. The graph fails unless the shape has two dimensions.
BRAID_API braid_initializer braid_identity_initializer(float gain);

#ifdef __cplusplus
}
#endif
#endif
