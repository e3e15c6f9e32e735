// Exponential moving averages of variables. Evaluation with averaged parameters is often more accurate than
// with the last values (Polyak and Juditsky 1992).
//
//     braid_moving_average *averages =
//         braid_moving_average_new(graph, &(braid_moving_average_options){.decay = 0.999});
//     braid_push_control(graph, &train, 1);
//     braid_op *train_and_average = braid_moving_average_apply(averages, NULL, 0);
//     braid_pop_control(graph);
//
// Nodes and variables have TensorFlow's names ("w/ExponentialMovingAverage"). Errors are the graph's. A
// moving average is owned by its graph.
#ifndef BRAID_MOVING_AVERAGE_H
#define BRAID_MOVING_AVERAGE_H

#include <braid/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The name of TensorFlow's collection of the variables that are averaged.
#define BRAID_MOVING_AVERAGE_VARIABLES "moving_average_variables"

typedef struct braid_moving_average braid_moving_average;

/// All zero but for `decay` is the default of each.
typedef struct braid_moving_average_options {
    float decay; ///< the factor of the old average in an update, typically 0.999
    /// A number, as a rule the value of the global step: the decay is at most (1 + n) / (10 + n), so that
    /// averages move fast in the beginning. Op NULL: the decay is always the same.
    braid_out num_updates;
    /// Averages of values that are no variables begin at zero: divide that out (Kingma and Ba, ICLR 2015,
    /// section 3).
    bool zero_debias;
    const char *name; ///< NULL: "ExponentialMovingAverage"
} braid_moving_average_options;

/// tf.train.ExponentialMovingAverage. Options are copied.
BRAID_API braid_moving_average *braid_moving_average_new(braid_graph *graph,
                                                         const braid_moving_average_options *options);

/// Makes an average for each of `xs` [count], variables (`ref`) or other floating-point values of a known
/// shape (NULL: all trainable variables), and returns the node that updates them: average -= (1 - decay) *
/// (average - x). The average of a variable begins with the variable's first value, any other average with
/// zero. Within a control scope it reads the variables after the scope's nodes have run. The graph fails when
/// an average of a value exists already, or when a value is neither float nor double.
BRAID_API braid_op *braid_moving_average_apply(braid_moving_average *averages, const braid_out *xs,
                                               int count);

/// Returns the variable that holds the average of `x`; all NULL when there is no such average.
BRAID_API braid_variable braid_moving_average_of(const braid_moving_average *averages, braid_out x);
/// Returns the name of the average of `x`, existing or not, which is its name in checkpoints. Valid until the
/// next call.
BRAID_API const char *braid_moving_average_name(braid_moving_average *averages, braid_out x);

#ifdef __cplusplus
}
#endif
#endif
