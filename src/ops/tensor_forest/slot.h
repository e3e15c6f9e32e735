// A leaf that may be split: the splits that it considers (its candidates), and what it counts for each of
// them.
//
// The first examples at a leaf make candidates, one each, from a feature that is drawn. When there are as
// many as the leaf is to consider, further examples are counted on the side of each candidate to which
// they would go. When enough have been counted, the candidate with the purest sides (classes: Gini
// impurity, smoothed as by one more example of each class), or with the least variance (regression), is
// the leaf's split.
#ifndef BD_OPS_TENSOR_FOREST_SLOT_H
#define BD_OPS_TENSOR_FOREST_SLOT_H

#include "ops/tensor_forest/tree.h"
#include "tensor/charge.h"

// Counts of the classes of one side of a candidate: all of them, or the most frequent (SpaceSaving: Metwally,
// Agrawal and El Abbadi, ICDT 2005).
typedef struct bd_rf_class_counts {
    bd_rf_counts counts;
    float smallest; // of a full table: its smallest count; 0 before
} bd_rf_class_counts;

typedef struct bd_rf_candidate {
    bd_rf_test test;
    // What becomes the split's threshold. As in TensorFlow, examples are counted by the one of `test`, which
    // stays that of the first example.
    float threshold;
    // The class of the example that made it, until one of another class has moved the threshold; -1.
    int32_t first_class;
    float sums[2], squares[2]; // of the classes' counts on the left and on the right: running statistics
    float *left;               // [num_outputs] counts of classes, or sums of outputs
    float *left_squares;       // [num_outputs] sums of the squares of outputs
    int64_t left_examples;     // of a regression
    bd_rf_class_counts sparse[2];
} bd_rf_candidate;

typedef struct bd_rf_slot {
    const bd_rf_params *p; // of the resource
    int32_t depth;
    float weight_sum; // of what was counted
    int32_t split_after, splits_to_consider;
    BD_ARRAY(bd_rf_candidate) candidates;
    int to_average;       // candidates with a first_class
    float *totals;        // [num_outputs]
    float *total_squares; // [num_outputs]
    bd_rf_counts sparse_totals;
    int32_t classes[2]; // that were seen; of fixed-size statistics
    int class_count;    // of all kinds; 2: two or more
    bool is_finished_early;
    int32_t min_split_samples, finish_every, finish_epoch, prune_every, prune_epoch;
    float dominate_fraction;
    bd_charge charge; // for totals and the candidates' counts: few bytes ask for many outputs
} bd_rf_slot;

// Makes the statistics of a leaf. InvalidArgument: a parameter is out of its range at this depth.
// ResourceExhausted: no memory, or the account of this thread allows no more.
braid_code bd_rf_slot_new(bd_rf_slot **slot, const bd_rf_params *p, int32_t depth, braid_status *st);
void bd_rf_slot_free(bd_rf_slot *s); // NULL is accepted

bool bd_rf_slot_is_initialized(const bd_rf_slot *s);
bool bd_rf_slot_is_finished(const bd_rf_slot *s);

// Makes a candidate of a test, which it takes over, unless there are enough. `target` may be NULL.
// ResourceExhausted as of bd_rf_slot_new.
braid_code bd_rf_slot_add_candidate(bd_rf_slot *s, bd_rf_test *test, const bd_rf_target *target, int64_t row,
                                    braid_status *st);
// Moves thresholds between the example that has made them and this one, of another class.
bool bd_rf_slot_average(bd_rf_slot *s, const bd_rf_data *data, const bd_rf_target *target, int64_t row);
// Counts an example. False: the data does not have a feature of a candidate.
bool bd_rf_slot_count(bd_rf_slot *s, const bd_rf_data *data, const bd_rf_target *target, int64_t row);

// Copies the best candidate's test, and makes the leaves of its sides. False: no candidate splits anything.
bool bd_rf_slot_best(const bd_rf_slot *s, bd_rf_test *test, bd_rf_leaf *left, bd_rf_leaf *right);

// ---- Messages ----

// Reads what a FertileSlot has counted into a new slot.
struct Tensorflow__Tensorforest__FertileSlot;
braid_code bd_rf_slot_read(bd_rf_slot *s, const struct Tensorflow__Tensorforest__FertileSlot *m,
                           braid_status *st);

// For bd_emit_message: a FertileSlot.
typedef struct bd_rf_slot_ref {
    int32_t node;
    const bd_rf_slot *slot;
} bd_rf_slot_ref;
void bd_rf_put_slot(bd_message_out *out, const void *slot_ref);

#endif
