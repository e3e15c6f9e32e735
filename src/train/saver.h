// What of a saver a MetaGraphDef tells, so that other programs can restore with the saver of the graph.
#ifndef BD_TRAIN_SAVER_H
#define BD_TRAIN_SAVER_H

#include "base/wire.h"
#include <braid/saver.h>

typedef struct train_saver_def {
    braid_out filename;  // fed with the prefix
    braid_out saved;     // fetched to save
    const char *restore; // name of the node that restores
    bool sharded;
    int max_to_keep;
    double keep_every_n_hours;
} train_saver_def;

// Serializes the graph with its collections of variables and the saver as a MetaGraphDef (the caller's,
// bd_free). NULL on an error, the graph's.
void *train_meta_graph_write(const braid_graph *g, const train_saver_def *saver, size_t *len,
                             braid_status *st);

#endif
