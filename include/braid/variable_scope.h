// Variable scopes: names, defaults and sharing of the variables that a piece of a model makes.
//
//     braid_push_variable_scope(graph, "layer1", NULL);
//     braid_variable w = braid_variable_get(graph, "w", ...); // "layer1/w"
//     braid_pop_variable_scope(graph);
//
// Names of variables come from variable scopes alone, names of other nodes from name scopes. A variable scope
// is both.
#ifndef BRAID_VARIABLE_SCOPE_H
#define BRAID_VARIABLE_SCOPE_H

#include <braid/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

// ---- Partitioners ----

/// Decides into how many parts a variable is divided, and along which axis. A value; make your own by setting
/// `shards`.
typedef struct braid_partitioner {
    /// Returns the number of parts, at least 1, of a variable whose shape is fully known, and sets `*axis`.
    int64_t (*shards)(const struct braid_partitioner *self, braid_dtype dtype, braid_shape shape, int *axis);
    int axis;               ///< the axis that is divided
    int64_t limit;          ///< parameters of `shards`
    int64_t max_shards;     ///< 0: no limit
    int64_t bytes_a_string; ///< an assumption about elements of string variables; 0: 16
} braid_partitioner;

/// `shards` parts, fewer when the axis is shorter (tf.fixed_size_partitioner).
BRAID_API braid_partitioner braid_fixed_size_partitioner(int64_t shards, int axis);
/// As few parts as keep each within `max_shard_bytes` where one index of the axis does
/// (tf.variable_axis_size_partitioner). `max_shards` 0: no limit.
BRAID_API braid_partitioner braid_variable_axis_size_partitioner(int64_t max_shard_bytes, int axis,
                                                                 int64_t max_shards);
/// As many parts up to `max_partitions` as leave each at least `min_slice_bytes` (0: 256 KiB)
/// (tf.min_max_variable_partitioner).
BRAID_API braid_partitioner braid_min_max_variable_partitioner(int64_t max_partitions, int axis,
                                                               int64_t min_slice_bytes);

// ---- Regularizers ----

/// The collection of the losses that regularizers have added.
#define BRAID_REGULARIZATION_LOSSES "regularization_losses"

/// Builds a loss (a scalar; op NULL: none) from the value of a variable. A value; make your own by setting
/// `build`.
typedef struct braid_regularizer {
    braid_out (*build)(const struct braid_regularizer *self, braid_graph *graph, braid_out value);
    float scale;
} braid_regularizer;

/// scale * sum(|x|), and scale * sum(x^2) / 2.
BRAID_API braid_regularizer braid_l1_regularizer(float scale);
BRAID_API braid_regularizer braid_l2_regularizer(float scale);

// ---- Constraints ----

/// Builds, from the value that an optimizer has given a variable, the value that the variable is to have: of
/// the same type and shape. A value; make your own by setting `build`.
///
/// An optimizer assigns it after each update, as a part of its step (TensorFlow's `constraint` of variables).
/// A variable that is updated by rows (an embedding) cannot have a constraint: applying gradients makes the
/// graph fail with InvalidArgument. Each part of a partitioned variable is constrained by itself.
typedef struct braid_constraint {
    braid_out (*build)(const struct braid_constraint *self, braid_graph *graph, braid_out value);
    double min, max, rate; ///< parameters of `build`
    int32_t axes[BRAID_RANK_MAX];
    int axis_count;
} braid_constraint;

/// Negative elements become 0 (tf.keras.constraints.NonNeg).
BRAID_API braid_constraint braid_non_negative_constraint(void);
/// Scales a variable x so that its Euclidean norm over `axes` [count] (NULL: {0}, the inputs of a dense
/// layer's unit; {0, 1, 2} are those of a convolution's filter) is within the limits: x becomes
/// x d / (norm + 1e-7), with d = min(norm, max) (tf.keras.constraints.MaxNorm).
BRAID_API braid_constraint braid_max_norm_constraint(double max, const int32_t *axes, int count);
/// The same with d = 1 (UnitNorm).
BRAID_API braid_constraint braid_unit_norm_constraint(const int32_t *axes, int count);
/// The same with d = rate min(max(norm, min), max) + (1 - rate) norm: a rate below 1 approaches the limits
/// step by step (MinMaxNorm).
BRAID_API braid_constraint braid_min_max_norm_constraint(double min, double max, double rate,
                                                         const int32_t *axes, int count);

/// Gives a variable that exists (its `ref`, or that of a part) a constraint, or none (`constraint` NULL). It
/// counts for gradients that are applied later.
BRAID_API void braid_constrain_variable(braid_graph *graph, braid_out ref,
                                        const braid_constraint *constraint);

// ---- Scopes ----

/// Whether a variable may exist already, or must.
typedef enum braid_reuse {
    BRAID_REUSE_INHERIT = 0, ///< as the scope outside says; outermost: variables are new
    BRAID_REUSE = 1,         ///< variables exist (reuse=True)
    BRAID_AUTO_REUSE = 2     ///< variables are made when they do not exist (tf.AUTO_REUSE)
} braid_reuse;

/// Which kind of variables is made.
typedef enum braid_variable_kind {
    BRAID_KIND_INHERIT = 0, ///< as the scope outside says; outermost: reference variables
    BRAID_KIND_REFERENCE = 1,
    BRAID_KIND_RESOURCE = 2 ///< use_resource=True
} braid_variable_kind;

/// All zero is the default of each: what the scope outside says.
typedef struct braid_variable_scope_options {
    /// The name of the scope is only a wish: "dense" becomes "dense_1" when there is such a scope already
    /// (default_name). Such a scope cannot reuse.
    bool unique;
    braid_reuse reuse;
    braid_variable_kind kind;
    braid_dtype dtype;             ///< of variables that do not say it; outermost: float
    braid_initializer initializer; ///< `build` NULL: inherited; outermost: Glorot uniform, zeros for integers
    braid_regularizer regularizer; ///< `build` NULL: inherited; outermost: none
    braid_constraint constraint;   ///< `build` NULL: inherited; outermost: none
    braid_partitioner partitioner; ///< `shards` NULL: inherited; outermost: none
} braid_variable_scope_options;

/// Enters a variable scope NAME within the current one, and a name scope NAME (tf.variable_scope). A name
/// that ends in '/', such as one that this function has returned, is a scope that is entered again, wherever
/// one is. `options` NULL: the defaults. Returns the variable scope's full name with '/', owned by the graph
/// and valid as long as it; NULL when the graph has failed.
BRAID_API const char *braid_push_variable_scope(braid_graph *graph, const char *name,
                                                const braid_variable_scope_options *options);
/// A pop without its push makes the graph fail.
BRAID_API void braid_pop_variable_scope(braid_graph *graph);

// ---- Getting variables ----

/// When the copies of a variable on several replicas are made equal (tf.VariableSynchronization; strategy.h).
typedef enum braid_synchronization {
    BRAID_SYNC_AUTO = 0,     ///< as the strategy has it: on writing
    BRAID_SYNC_NONE = 1,     ///< there is one copy only; refused by strategies with copies
    BRAID_SYNC_ON_WRITE = 2, ///< all copies get each new value
    BRAID_SYNC_ON_READ = 3 ///< each replica writes its own copy; reading all puts them together. Not trained.
} braid_synchronization;

/// How the values that the replicas give become one (tf.VariableAggregation).
typedef enum braid_aggregation {
    BRAID_AGGREGATE_NONE = 0, ///< they do not: an assignment by replicas is an error
    BRAID_AGGREGATE_SUM = 1,
    BRAID_AGGREGATE_MEAN = 2,
    BRAID_AGGREGATE_ONLY_FIRST_REPLICA = 3 ///< the value of replica 0 counts
} braid_aggregation;

/// What a variable is to be. All zero is the default of each.
typedef struct braid_variable_options {
    braid_dtype dtype; ///< 0: the scope's
    braid_shape shape; ///< a scalar if not set; fully known
    braid_initializer initializer;
    /// A first value instead of an initializer; `dtype` and `shape` are then its own.
    braid_out initial_value;
    bool untrained; ///< not in "trainable_variables"
    bool local;     ///< in "local_variables" instead of "variables", and not trained (tf.get_local_variable)
    const char *const *collections; ///< [collection_count] further collections that the variable belongs to
    int collection_count;
    braid_reuse reuse;
    braid_variable_kind kind;
    braid_regularizer regularizer; ///< adds its loss to BRAID_REGULARIZATION_LOSSES; not when reusing
    braid_constraint constraint;   ///< not when reusing
    braid_partitioner partitioner;
    braid_synchronization synchronization; ///< of its copies under a strategy; not when reusing
    braid_aggregation aggregation;         ///< of what replicas assign to it; not when reusing
    bool whole;                            ///< not partitioned, whatever the scope says
} braid_variable_options;

/// Makes the variable SCOPE/NAME, or returns the one that exists where it is reused (tf.get_variable).
/// `options` NULL: the defaults.
///
/// With a partitioner it is divided along an axis into the variables NAME/part_0, NAME/part_1 ...: `ref` is
/// none, `parts` are the variables, which optimizers train, `read` is their concatenation, and checkpoints
/// hold the whole under NAME, so that another number of parts can restore it.
///
/// The graph fails when a new variable exists (AlreadyExists), a reused one does not (NotFound) or has
/// another type, shape or partition, or a scalar is to be partitioned (InvalidArgument).
BRAID_API braid_variable braid_variable_get_with(braid_graph *graph, const char *name,
                                                 const braid_variable_options *options);

#ifdef __cplusplus
}
#endif
#endif
