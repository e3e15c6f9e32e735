// Gini impurity, and tests of whether one candidate beats the others already.
#ifndef BD_OPS_TENSOR_FOREST_GINI_H
#define BD_OPS_TENSOR_FOREST_GINI_H

#include "ops/tensor_forest/slot.h"

// The impurity of both sides of a candidate, each times the side's weight; sums[2] receives the weights.
float bd_rf_gini(const bd_rf_slot *s, const bd_rf_candidate *k, float sums[2]);

// The count of a class on a side: 0 left, 1 right.
float bd_rf_side_count(const bd_rf_slot *s, const bd_rf_candidate *k, int side, int32_t class);

// Adds to a count of a table of at most `size` classes.
void bd_rf_fixed_add(bd_rf_class_counts *counts, int32_t size, int32_t class, float weight);
void bd_rf_fixed_update(bd_rf_class_counts *counts, int32_t size); // its smallest count

// When it is time, sets is_finished_early if the best candidate is so much better than the second best one
// that more examples would hardly change it.
void bd_rf_check_finish(bd_rf_slot *s);
// When it is time, drops the worst candidates.
void bd_rf_check_prune(bd_rf_slot *s);

// Frees what a candidate of `s` owns, which then leaves the list.
void bd_rf_candidate_fini(bd_rf_slot *s, bd_rf_candidate *k);

#endif
