// The variables of a saver that a checkpoint has.
#ifndef BD_TRAIN_SAVER_PRESENT_H
#define BD_TRAIN_SAVER_PRESENT_H

#include "base/map.h"
#include <braid/checkpoint_reader.h>
#include <braid/saver.h>

// Zero-initialized: no checkpoint is asked, and every variable is taken.
typedef struct train_present {
    braid_graph *graph; // not owned
    braid_checkpoint_reader *checkpoint;
    bool reshapes, skips;
    // Name in the checkpoint -> what is different there (owned), NULL: it is missing.
    bd_map taken, left;
} train_present;

// Opens options->present_in, if it is set. The graph fails on an error.
void train_present_open(train_present *p, braid_graph *g, const braid_saver_options *options);

// Whether the saver takes a variable; `shape` is that of the whole. The graph fails for one that has another
// type or shape in the checkpoint, unless such variables are skipped.
bool train_present_takes(train_present *p, const char *name, braid_dtype dtype, braid_shape shape);

// Closes the checkpoint and returns what a restore logs (the caller's, bd_free): which variables are restored
// and which are left. NULL without a checkpoint. The graph fails when there is nothing to restore.
char *train_present_close(train_present *p);

#endif
