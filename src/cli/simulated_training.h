// Training in a simulated cluster: a small problem is trained by the update rules of the algorithms
// (braid/algorithms.h), with reads and updates in the order of the simulation, so that stale and dropped
// gradients show in the loss.
//
// The problem is a noisy quadratic: the loss 1/2 sum_k h_k x_k^2 from x = 1 on, with curvatures h_k from
// `least_curvature` to 1, equally far apart in their logarithms, and gradients h_k x_k + noise, of
// independent uniform noise.
#ifndef BD_CLI_SIMULATED_TRAINING_H
#define BD_CLI_SIMULATED_TRAINING_H

#include "cluster_model.h"
#include "curves.h"

#define BD_QUADRATIC_SIZE_MAX 16

typedef struct bd_quadratic {
    int size; // 1 to BD_QUADRATIC_SIZE_MAX
    double least_curvature;
    double noise; // of an element of a gradient: the standard deviation
} bd_quadratic;

// 16 elements, with a condition number of 20.
bd_quadratic bd_quadratic_default(void);
double bd_quadratic_first_loss(const bd_quadratic *q);

typedef struct bd_simulated_training {
    const char *algorithm; // known
    const bd_cluster_costs *costs;
    const bd_cluster_plan *plan;
    bd_quadratic problem;
    int rounds; // of each worker on average
    uint64_t seed;
    double goal; // a loss
} bd_simulated_training;

typedef struct bd_simulated_result {
    bd_cluster_forecast forecast;
    double learning_rate;
    double to_goal;       // seconds until the loss stays below the goal; 0: never
    double steps_to_goal; // gradients of all workers until then; 0: never
} bd_simulated_result;

// Trains by several learning rates at once, 0.4 and each half of the one before down to 0.003, and keeps that
// one which reaches the goal first, or else has the lowest loss at the end. Elastic averaging of n workers
// has the moving rate 0.9 / n. Adds the points of the loss to `curve`; "bytes" has the model's size from
// the costs.
bd_simulated_result bd_simulate_training(const bd_simulated_training *t, bd_curve *curve);

#endif
