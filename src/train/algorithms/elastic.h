// The elastic force between a worker's copy and the centre (Zhang et al., arXiv 1412.6651).
#ifndef BD_TRAIN_ELASTIC_H
#define BD_TRAIN_ELASTIC_H

#include "train/algorithms/local_global.h"
#include "train/variables/variable_store.h"

// The moving rate alpha = eta rho. Warns when n alpha is above 1, where copies and centre swing.
float train_moving_rate(const braid_algorithm *a);

// alpha `difference` of a copy and the centre, on the worker. Adds to `drawn` the node that subtracts it from
// the copy.
braid_out train_elastic_force(const braid_algorithm *a, const train_copy *c, braid_out difference,
                              float alpha, train_ops *drawn);

// The exchange of asynchronous elastic averaging.
void train_build_elastic_exchange(braid_algorithm *a);

#endif
