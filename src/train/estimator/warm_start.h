// Warm starts: the first values of variables from another model's checkpoint.
#ifndef BD_TRAIN_WARM_START_H
#define BD_TRAIN_WARM_START_H

#include "base/status.h"
#include <braid/estimator.h>

typedef struct train_warm_start train_warm_start;

// Copies what the options say; *copy NULL: they say nothing. InvalidArgument for settings that contradict
// each other, and for a regular expression that is none.
braid_code train_warm_start_copy(const braid_estimator_options *options, train_warm_start **copy,
                                 braid_status *st);
void train_warm_start_free(train_warm_start *w); // NULL is accepted

// Sets the initializers of the graph's variables. NotFound for a checkpoint that does not exist, and for a
// renamed variable that the graph or the checkpoint does not have; `w` may be NULL.
braid_code train_warm_start_apply(const train_warm_start *w, braid_graph *g, braid_status *st);

#endif
