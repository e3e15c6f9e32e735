// Collects the record of a traced step: one entry for each execution of a node, and one for each tensor
// received from another task.
#ifndef BD_RUNTIME_STEP_STATS_COLLECTOR_H
#define BD_RUNTIME_STEP_STATS_COLLECTOR_H

#include "graph/graph.h"
#include "op/kernel.h"

// An output of a node: its type, shape and memory.
typedef struct bd_stats_output {
    int slot;
    braid_dtype dtype;
    braid_shape shape;
    size_t bytes;
    const void *ptr; // an address to compare, not to read
    bool is_new;     // memory that no input shares
} bd_stats_output;

typedef struct bd_node_stats {
    char *node; // name; "RecvTensor" for a transfer
    char *
        // "NAME = Op(input, input)", or "[BYTES] EDGE from DEVICE to DEVICE", as timeline tools show it
        label;
    const char *device;       // of the device that ran it; not owned
    int64_t start_micros;     // wall clock
    int64_t start_ns, end_ns; // monotonic: kernel begun, kernel (or async operation) ended
    uint32_t thread;          // small number of the thread that began it
    bd_stats_output *outputs; // in the order of their slots
    int output_count;
} bd_node_stats;

bd_step_stats_collector *bd_step_stats_collector_new(void); // with count 1
bd_step_stats_collector *bd_step_stats_collector_ref(bd_step_stats_collector *s);
void bd_step_stats_collector_unref(bd_step_stats_collector *s); // NULL is accepted

// Adds a node that has run, while its outputs exist. Any thread.
void bd_step_stats_collector_add(bd_step_stats_collector *s, const char *device, const bd_op_ctx *ctx,
                                 int64_t start_ns, int64_t end_ns);

// Adds a constant, which takes no time: its value is there before anything runs. Any thread.
void bd_step_stats_collector_add_constant(bd_step_stats_collector *s, const char *device,
                                          const braid_op *node, const braid_tensor *value, int64_t now_ns);

// Adds a tensor that was received from another task by `key`. Any thread.
void bd_step_stats_collector_add_transfer(bd_step_stats_collector *s, const char *device,
                                          const bd_rendezvous_key *key, const braid_tensor *tensor,
                                          int64_t start_ns, int64_t end_ns);

// Returns the entries so far in the order of their ends; the caller frees the array, but not the objects that
// the entries point to. Any thread: a tensor without a receiver may still arrive.
bd_node_stats *bd_step_stats_collector_items(bd_step_stats_collector *s, int *count);

#endif
