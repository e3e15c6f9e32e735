// The nodes of a saver, and the MetaGraphDef that describes them.
#ifndef BD_TRAIN_SAVER_H
#define BD_TRAIN_SAVER_H

#include "base/wire.h"
#include <braid/saver.h>

struct braid_saver {
    braid_graph *graph;
    braid_out filename;   // fed with the prefix
    braid_out saved;      // fetched to save
    braid_op *restore;    // run to restore
    braid_op *copy;       // run to copy the variables; NULL: the saver is not asynchronous
    braid_out saved_copy; // fetched to save the copies
    bool sharded, without_meta, reshape, pad_step_number;
    braid_checkpoint_policy policy;
    char *report; // which variables a restore restores and leaves; NULL: all of the saver's; owned
    // All variables of the saver [var_count], owned, if slots among them have numbers of parts in their
    // names.
    braid_out *vars;
    int var_count;
};

// Chooses what is run to restore a checkpoint: saver->restore, or, if the checkpoint has slots in other parts
// than the graph and under the numbers of these (slot.h), nodes that are made for it. NULL on an error.
braid_op *train_saver_restore_op(braid_saver *saver, const char *prefix, braid_status *st);

// Serializes the graph with its collections of variables and the saver as a MetaGraphDef (the caller's,
// bd_free), so that other programs can restore with the saver of the graph. NULL on an error, the graph's.
void *train_meta_graph_write(const braid_saver *saver, size_t *len, braid_status *st);

#endif
