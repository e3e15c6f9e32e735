// What a traced step did: one record for each execution of a node.
#ifndef BD_RUNTIME_STATS_H
#define BD_RUNTIME_STATS_H

#include "graph/graph.h"
#include "op/step.h"

typedef struct bd_node_stats {
    char *node;               // name
    char *label;              // "NAME = Op(input, input)", as timeline tools show it
    const char *device;       // of the device that ran it; not owned
    int64_t start_micros;     // wall clock
    int64_t start_ns, end_ns; // monotonic: kernel begun, kernel (or async operation) ended
    uint32_t thread;          // small number of the thread that began it
} bd_node_stats;

bd_step_stats *bd_step_stats_new(void);
void bd_step_stats_free(bd_step_stats *s);

// Any thread.
void bd_step_stats_add(bd_step_stats *s, const char *device, const braid_op *node, int64_t start_ns,
                       int64_t end_ns);

// The records in the order of their ends; valid until the next bd_step_stats_add.
const bd_node_stats *bd_step_stats_items(const bd_step_stats *s, int *count);

#endif
