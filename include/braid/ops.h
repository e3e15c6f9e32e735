// Typed helpers for the operations that training programs use most; braid_op_begin adds any other.
//
// Each helper builds the nodes of TensorFlow's Python function of the same name, with the same names and
// structure. Outputs are new nodes of `graph`; errors are sticky there (graph.h). Shapes are written as
// [batch, width].
#ifndef BRAID_OPS_H
#define BRAID_OPS_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef __cplusplus
/// No output: for an argument that may be left out.
#define BRAID_NONE ((braid_out){NULL, 0})
#endif

/// A sparse tensor (tf.SparseTensor): the elements that are there.
typedef struct braid_sparse {
    braid_out indices;     ///< [n, rank] int64, where each element is, in order
    braid_out values;      ///< [n]
    braid_out dense_shape; ///< [rank] int64
} braid_sparse;

// ---- Constants and placeholders. `name` NULL: named after the op ----

/// A constant with the content of `value`, which stays the caller's (tf.constant).
BRAID_API braid_out braid_const(braid_graph *graph, const char *name, const braid_tensor *value);
BRAID_API braid_out braid_const_float(braid_graph *graph, const char *name, float value);
BRAID_API braid_out braid_const_int32(braid_graph *graph, const char *name, int32_t value);
BRAID_API braid_out braid_const_int64(braid_graph *graph, const char *name, int64_t value);
BRAID_API braid_out braid_const_bool(braid_graph *graph, const char *name, bool value);
BRAID_API braid_out braid_const_string(braid_graph *graph, const char *name, const char *value);
/// A vector [count].
BRAID_API braid_out braid_const_int32s(braid_graph *graph, const char *name, const int32_t *values,
                                       int count);
/// A scalar of any number type.
BRAID_API braid_out braid_const_number(braid_graph *graph, const char *name, braid_dtype dtype, double value);

/// A value that each run feeds; -1 stands for any size of a dimension.
BRAID_API braid_out braid_placeholder(braid_graph *graph, const char *name, braid_dtype dtype,
                                      braid_shape shape);

/// Constants of a number type filled with 0, 1 or `value`; of more than 16 MiB they are Fill nodes.
BRAID_API braid_out braid_zeros(braid_graph *graph, braid_dtype dtype, braid_shape shape);
BRAID_API braid_out braid_ones(braid_graph *graph, braid_dtype dtype, braid_shape shape);
BRAID_API braid_out braid_full(braid_graph *graph, const char *name, braid_dtype dtype, braid_shape shape,
                               double value);
/// Zeros or ones of the type and shape of `x`.
BRAID_API braid_out braid_zeros_like(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_ones_like(braid_graph *graph, braid_out x);
/// start, start + delta ... up to but without `limit`, an int32 vector (tf.range).
BRAID_API braid_out braid_range(braid_graph *graph, int32_t start, int32_t limit, int32_t delta);

// ---- Random values, float, new in every run; seeded by braid_graph_set_seed ----

/// Uniform in [min, max).
BRAID_API braid_out braid_random_uniform(braid_graph *graph, braid_shape shape, float min, float max);
BRAID_API braid_out braid_random_normal(braid_graph *graph, braid_shape shape, float mean, float stddev);
/// Normal distribution; values two standard deviations or more from the mean are drawn again.
BRAID_API braid_out braid_truncated_normal(braid_graph *graph, braid_shape shape, float mean, float stddev);

// ---- Element by element ----

/// A function of one tensor such as braid_relu, for layers and cells.
typedef braid_out (*braid_activation)(braid_graph *graph, braid_out x);

BRAID_API braid_out braid_identity(braid_graph *graph, const char *name, braid_out x);
/// To another number type; `x` itself when it has that type already.
BRAID_API braid_out braid_cast(braid_graph *graph, braid_out x, braid_dtype dtype);
BRAID_API braid_out braid_neg(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_abs(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_square(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_sqrt(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_exp(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_log(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_log1p(braid_graph *graph, braid_out x); ///< log(1 + x)
BRAID_API braid_out braid_rsqrt(braid_graph *graph, braid_out x); ///< 1 / sqrt(x)
BRAID_API braid_out braid_sign(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_sin(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_cos(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_floor(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_ceil(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_round(braid_graph *graph, braid_out x); ///< halves to even numbers
/// Activation functions (tf.nn).
BRAID_API braid_out braid_relu(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_relu6(braid_graph *graph, braid_out x); ///< min(max(x, 0), 6)
BRAID_API braid_out braid_elu(braid_graph *graph, braid_out x);   ///< e^x - 1 below 0
BRAID_API braid_out braid_selu(braid_graph *graph, braid_out x); ///< scaled elu (Klambauer et al., NIPS 2017)
BRAID_API braid_out braid_softplus(braid_graph *graph, braid_out x); ///< log(1 + e^x)
BRAID_API braid_out braid_softsign(braid_graph *graph, braid_out x); ///< x / (1 + |x|)
BRAID_API braid_out braid_sigmoid(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_tanh(braid_graph *graph, braid_out x);
/// alpha x below 0; TensorFlow's default is 0.2.
BRAID_API braid_out braid_leaky_relu(braid_graph *graph, braid_out x, double alpha);
/// Passes the value but no gradient.
BRAID_API braid_out braid_stop_gradient(braid_graph *graph, braid_out x);
/// Shapes broadcast as in numpy.
BRAID_API braid_out braid_add(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_sub(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_mul(braid_graph *graph, braid_out x, braid_out y);
/// x / y of floating-point numbers.
BRAID_API braid_out braid_div(braid_graph *graph, braid_out x, braid_out y);
/// The quotient rounded down, and the rest, which has the sign of `y`.
BRAID_API braid_out braid_floordiv(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_mod(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_pow(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_squared_difference(braid_graph *graph, braid_out x, braid_out y); ///< (x - y)^2
BRAID_API braid_out braid_maximum(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_minimum(braid_graph *graph, braid_out x, braid_out y);
/// A bool for each element.
BRAID_API braid_out braid_equal(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_not_equal(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_less(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_less_equal(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_greater(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_greater_equal(braid_graph *graph, braid_out x, braid_out y);
/// Of bools.
BRAID_API braid_out braid_logical_and(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_logical_or(braid_graph *graph, braid_out x, braid_out y);
BRAID_API braid_out braid_logical_not(braid_graph *graph, braid_out x);
/// The elements of `x` where `condition` is true, of `y` elsewhere, all of one shape; a condition that is a
/// vector chooses rows (tf.where with three arguments).
BRAID_API braid_out braid_where(braid_graph *graph, braid_out condition, braid_out x, braid_out y);
/// The sum of `count` values of one type and shape (tf.add_n).
BRAID_API braid_out braid_add_n(braid_graph *graph, const braid_out *values, int count);
/// Clips the elements of `x` to [min, max].
BRAID_API braid_out braid_clip_by_value(braid_graph *graph, braid_out x, double min, double max);

// ---- Matrices and networks ----

/// [m, k] times [k, n].
BRAID_API braid_out braid_matmul(braid_graph *graph, braid_out a, braid_out b);
/// The same of matrices that are transposed first: [k, m], or [n, k].
BRAID_API braid_out braid_matmul_transposed(braid_graph *graph, braid_out a, braid_out b, bool transpose_a,
                                            bool transpose_b);
/// `value` [..., n] plus `bias` [n].
BRAID_API braid_out braid_bias_add(braid_graph *graph, braid_out value, braid_out bias);
/// x w + b: [batch, in] times [in, out] plus [out].
BRAID_API braid_out braid_xw_plus_b(braid_graph *graph, braid_out x, braid_out w, braid_out b);
/// Over the last dimension of [batch, classes]; and its logarithm.
BRAID_API braid_out braid_softmax(braid_graph *graph, braid_out logits);
BRAID_API braid_out braid_log_softmax(braid_graph *graph, braid_out logits);
/// Half the sum of the squares of all elements.
BRAID_API braid_out braid_l2_loss(braid_graph *graph, braid_out x);
/// For each row of `predictions` [batch, classes], float: whether the class `targets` [batch], int32 or
/// int64, is among the `k` largest.
BRAID_API braid_out braid_in_top_k(braid_graph *graph, braid_out predictions, braid_out targets, int k);
/// Losses of `logits` of any shape against probabilities `labels` of the same shape, each element by itself
/// (tf.nn.sigmoid_cross_entropy_with_logits).
BRAID_API braid_out braid_sigmoid_cross_entropy(braid_graph *graph, braid_out logits, braid_out labels);
/// Losses [batch] of `logits` [batch, classes] against probabilities `labels` [batch, classes].
BRAID_API braid_out braid_softmax_cross_entropy(braid_graph *graph, braid_out logits, braid_out labels);
/// The same against class numbers `labels`, int32 or int64: [...] for `logits` [..., classes].
BRAID_API braid_out braid_sparse_softmax_cross_entropy(braid_graph *graph, braid_out logits,
                                                       braid_out labels);

// ---- Images: [batch, height, width, channels] ----

/// How a window meets the border of an image.
typedef enum braid_padding {
    BRAID_SAME = 0, ///< with zeros around the image: ceil(size / stride) windows
    BRAID_VALID = 1 ///< within the image: ceil((size - window + 1) / stride) windows
} braid_padding;

/// Convolution (cross-correlation) with `filter` [height, width, in, out], which moves by `stride` in both
/// directions; `x` has `in` channels, the result `out`.
BRAID_API braid_out braid_conv2d(braid_graph *graph, braid_out x, braid_out filter, int stride,
                                 braid_padding padding);
/// The largest, or the mean, of each window of `size` x `size`. The mean leaves the zeros of padding out.
BRAID_API braid_out braid_max_pool(braid_graph *graph, braid_out x, int size, int stride,
                                   braid_padding padding);
BRAID_API braid_out braid_avg_pool(braid_graph *graph, braid_out x, int size, int stride,
                                   braid_padding padding);
/// Keeps each element with probability `keep_prob` (a scalar of x's type, typically a placeholder: 0.5 to
/// train, 1 to test) and divides it by `keep_prob`, so that the expected sum is unchanged; the other elements
/// become zero (Srivastava et al., Dropout, JMLR 2014). Each run draws anew; seeded by braid_graph_set_seed.
BRAID_API braid_out braid_dropout(braid_graph *graph, braid_out x, braid_out keep_prob);

// ---- Normalization ----

/// Stores the mean and the variance of `x` over `count` axes (negative ones count from the end), which keep
/// size 1 if `keep_dims` (tf.nn.moments). half is computed in float.
BRAID_API void braid_moments(braid_graph *graph, braid_out x, const int32_t *axes, int count, bool keep_dims,
                             braid_out *mean, braid_out *variance);
/// (x - mean) / sqrt(variance + epsilon) * scale + offset (Ioffe and Szegedy, ICML 2015). All but `x`
/// broadcast to its shape; `scale` and `offset` may be BRAID_NONE.
BRAID_API braid_out braid_batch_normalization(braid_graph *graph, braid_out x, braid_out mean,
                                              braid_out variance, braid_out offset, braid_out scale,
                                              double epsilon);

/// `x` / sqrt(max(sum of squares over the axes, epsilon)); TensorFlow's epsilon is 1e-12.
BRAID_API braid_out braid_l2_normalize(braid_graph *graph, braid_out x, const int32_t *axes, int count,
                                       double epsilon);
/// Each element of images by (bias + alpha s)^beta, where s is the sum of squares of the channels up to
/// `depth_radius` away (Krizhevsky et al., NIPS 2012, section 3.3). TensorFlow's defaults are 5, 1, 1, 0.5.
BRAID_API braid_out braid_local_response_normalization(braid_graph *graph, braid_out x, int depth_radius,
                                                       double bias, double alpha, double beta);

// ---- Rows, and elements by their indices ----

/// Rows of `params` picked by `indices` (int32 or int64) of any shape: [indices..., params.shape[1:]]
/// (tf.gather).
BRAID_API braid_out braid_gather(braid_graph *graph, braid_out params, braid_out indices);
/// Elements or slices of `params`: the last dimension of `indices` (int32 or int64) is an index into the
/// first dimensions of `params`, [..., n] of which give [..., params.shape[n:]].
BRAID_API braid_out braid_gather_nd(braid_graph *graph, braid_out params, braid_out indices);
/// The reverse: zeros of `shape` with `updates` added at the indices.
BRAID_API braid_out braid_scatter_nd(braid_graph *graph, braid_out indices, braid_out updates,
                                     braid_shape shape);
/// The parts of `x` for which `mask` is true, one after another: `mask`, a bool of a known rank of at least
/// 1, has the shape of the first dimensions of `x`.
BRAID_API braid_out braid_boolean_mask(braid_graph *graph, braid_out x, braid_out mask);
/// The indices [n, rank], int64, of the elements of a bool that are true (tf.where with one argument).
BRAID_API braid_out braid_where_true(braid_graph *graph, braid_out condition);
/// [indices..., depth] of `dtype`: 1 at each index, else 0. An index outside of [0, depth) gives zeros.
BRAID_API braid_out braid_one_hot(braid_graph *graph, braid_out indices, int depth, braid_dtype dtype);
/// [lengths..., max_length] of `dtype`: 1 or true for places below the length, int32 or int64. `max_length`
/// 0: the largest length of the run.
BRAID_API braid_out braid_sequence_mask(braid_graph *graph, braid_out lengths, int max_length,
                                        braid_dtype dtype);

/// The rows `ids` of a variable (its `ref`), looked up where it lies (tf.nn.embedding_lookup). A resource
/// variable is not read as a whole; gradients, and updates by optimizers, are of these rows alone.
BRAID_API braid_out braid_embedding_lookup(braid_graph *graph, braid_out variable, braid_out ids);
/// Which of n parts of a table has the row of an id, and where.
typedef enum braid_partition_strategy {
    BRAID_PARTITION_MOD = 0, ///< part id % n, row id / n: TensorFlow's default
    BRAID_PARTITION_DIV = 1 ///< in order, the first parts longer by one: as partitioned variables are divided
} braid_partition_strategy;
/// The same of a table in `count` parts, such as those of a partitioned variable: each part looks up its own
/// rows. Any id that no part has fails the run.
BRAID_API braid_out braid_embedding_lookup_parts(braid_graph *graph, const braid_out *parts, int count,
                                                 braid_out ids, braid_partition_strategy strategy);

/// How the rows of an id list become one row.
typedef enum braid_combiner {
    BRAID_COMBINER_MEAN = 0, ///< their weighted sum by the sum of the weights
    BRAID_COMBINER_SUM = 1,
    BRAID_COMBINER_SQRTN = 2 ///< their weighted sum by the root of the sum of the squared weights
} braid_combiner;

typedef struct braid_embedding_sparse_options {
    braid_combiner combiner; ///< TensorFlow's default is the mean
    braid_partition_strategy strategy;
    braid_out weights; ///< [n] of the type of the table, one for each id; op NULL: 1
} braid_embedding_sparse_options;

/// One row for each row of `ids` [batch, any number], int32 or int64, each with one id at least: the
/// combination of the rows that it names of a table in `count` parts (tf.nn.embedding_lookup_sparse). The
/// result ends with the last row of `ids` that has an id. `options` NULL: the defaults.
BRAID_API braid_out braid_embedding_lookup_sparse(braid_graph *graph, const braid_out *parts, int count,
                                                  braid_sparse ids,
                                                  const braid_embedding_sparse_options *options);

// ---- Shapes ----

/// The shape, the number of dimensions and the number of elements, int32; constants where they are known.
BRAID_API braid_out braid_shape_of(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_rank_of(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_size_of(braid_graph *graph, braid_out x);
/// The same elements in another shape; one dimension may be -1: as many as are left.
BRAID_API braid_out braid_reshape(braid_graph *graph, braid_out x, braid_shape shape);
/// Reshapes `x` to a matrix [batch, product of the other dimensions]. The other dimensions must be known;
/// else the graph fails.
BRAID_API braid_out braid_flatten(braid_graph *graph, braid_out x);

/// With a new dimension of size 1 at `axis` (negative: from the end, -1 being the last).
BRAID_API braid_out braid_expand_dims(braid_graph *graph, braid_out x, int axis);
/// Without the dimensions `axes` [count], which have size 1; `count` 0: without all of size 1.
BRAID_API braid_out braid_squeeze(braid_graph *graph, braid_out x, const int32_t *axes, int count);
/// With its dimensions in the order `perm` [count]; `count` 0: in reverse order, for a known rank.
BRAID_API braid_out braid_transpose(braid_graph *graph, braid_out x, const int32_t *perm, int count);
/// With the elements in reverse order along `axes` [count].
BRAID_API braid_out braid_reverse(braid_graph *graph, braid_out x, const int32_t *axes, int count);
/// The part that begins at `begin` [rank] and has the size `size`; a size of -1 goes up to the end.
BRAID_API braid_out braid_slice(braid_graph *graph, braid_out x, const int64_t *begin, braid_shape size);
/// `count` values one after another along `axis`.
BRAID_API braid_out braid_concat(braid_graph *graph, const braid_out *values, int count, int axis);
/// `count` values of one shape as the elements of a new dimension `axis`; and the reverse, stored to `outs`.
BRAID_API braid_out braid_stack(braid_graph *graph, const braid_out *values, int count, int axis);
BRAID_API void braid_unstack(braid_graph *graph, braid_out x, int axis, braid_out *outs, int count);
/// `count` equal parts along `axis`, or parts of the given sizes [count], stored to `outs`.
BRAID_API void braid_split(braid_graph *graph, braid_out x, int axis, braid_out *outs, int count);
BRAID_API void braid_split_sizes(braid_graph *graph, braid_out x, int axis, const int32_t *sizes,
                                 braid_out *outs, int count);
/// Repeated `multiples` [rank] times along each dimension.
BRAID_API braid_out braid_tile(braid_graph *graph, braid_out x, const int32_t *multiples, int rank);
/// With `paddings` [rank][2] more elements before and after along each dimension, all of `value`; and with
/// mirror images there, which repeat the border if `symmetric`.
BRAID_API braid_out braid_pad(braid_graph *graph, braid_out x, const int32_t (*paddings)[2], int rank,
                              double value);
BRAID_API braid_out braid_mirror_pad(braid_graph *graph, braid_out x, const int32_t (*paddings)[2], int rank,
                                     bool symmetric);

// ---- Reductions ----

/// The sum and the mean of all elements, a scalar.
BRAID_API braid_out braid_reduce_sum(braid_graph *graph, braid_out x);
BRAID_API braid_out braid_reduce_mean(braid_graph *graph, braid_out x);
/// Any reduction ("Sum", "Mean", "Max", "Prod" ...) over `count` axes (negative ones count from the end).
BRAID_API braid_out braid_reduce(braid_graph *graph, const char *op_type, braid_out x, const int32_t *axes,
                                 int count, bool keep_dims);
/// The index (int64) of the largest, or the smallest, element along `axis`: the first one of equal elements.
BRAID_API braid_out braid_argmax(braid_graph *graph, braid_out x, int axis);
BRAID_API braid_out braid_argmin(braid_graph *graph, braid_out x, int axis);
/// The sums of the elements up to each one along `axis`: without the element itself if `exclusive`, from the
/// end if `reverse`.
BRAID_API braid_out braid_cumsum(braid_graph *graph, braid_out x, int axis, bool exclusive, bool reverse);
/// Stores the `k` largest elements along the last dimension, in descending order, and their indices (int32).
BRAID_API void braid_top_k(braid_graph *graph, braid_out x, int k, braid_out *values, braid_out *indices);

// ---- Variables and control ----

/// Writes to a variable, a reference or a handle; the output is the reference after it, or the value of the
/// resource variable.
BRAID_API braid_out braid_assign(braid_graph *graph, braid_out ref, braid_out value);
BRAID_API braid_out braid_assign_add(braid_graph *graph, braid_out ref, braid_out value);

/// A node without inputs, outputs and effects (tf.no_op).
BRAID_API braid_op *braid_no_op(braid_graph *graph, const char *name);

#ifdef __cplusplus
}
#endif
#endif
