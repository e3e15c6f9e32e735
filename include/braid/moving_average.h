// Moving averages: variables that follow others smoothly, which as a rule do better than the last values when
// a model is put to use (Polyak and Juditsky 1992).
//
//     braid_moving_average *averages = braid_moving_average_new(graph, &(braid_moving_average_options){.decay
//     = 0.999});
//     braid_push_control(graph, &train, 1);
//     braid_op *train_and_average = braid_moving_average_apply(averages, NULL, 0);
//     braid_pop_control(graph);
//
// Nodes and variables have TensorFlow's names ("w/ExponentialMovingAverage"). Errors are the graph's. A
// moving average belongs to its graph and lives as long.
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
    float decay; ///< what stays of the average in an update, 0.999 or the like
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
/// (average - x). A variable's average begins with its first value, another's with zero. Within a control
/// scope it takes variables as those nodes have left them. The graph fails when one is averaged already or is
/// no float or double.
BRAID_API braid_op *braid_moving_average_apply(braid_moving_average *averages, const braid_out *xs,
                                               int count);

/// The variable that holds the average of `x`; all NULL when there is none.
BRAID_API braid_variable braid_moving_average_of(const braid_moving_average *averages, braid_out x);
/// Its name, or the one it would get: what a checkpoint has it under. Valid until the next call.
BRAID_API const char *braid_moving_average_name(braid_moving_average *averages, braid_out x);

#ifdef __cplusplus
}
#endif
#endif
