// Which rewrites of graphs a client's GraphOptions switch off, and saying so to other tasks.
#ifndef BD_CLUSTER_SPEC_GRAPH_OPTIONS_H
#define BD_CLUSTER_SPEC_GRAPH_OPTIONS_H

#include "tensorflow/core/protobuf/config.pb-c.h"
#include <stdbool.h>

// Returns the BRAID_REWRITE_... that are off. optimizer_options: L0 switches all off but those whose do_...
// flag is set. rewrite_options: a toggle switches its rewrite off or, over L0, on; disable_meta_optimizer
// leaves the rewrites that TensorFlow does without the meta-optimizer: constants and common subexpressions.
// `o` may be NULL.
unsigned bd_graph_options_read(const Tensorflow__GraphOptions *o);

// The memory of a message that bd_graph_options_make makes.
typedef struct bd_graph_options {
    Tensorflow__GraphOptions message;
    Tensorflow__OptimizerOptions optimizer;
    Tensorflow__RewriterConfig rewriter;
} bd_graph_options;

// Makes the GraphOptions that bd_graph_options_read reads as `disabled`, with place_pruned_graph and
// enable_bfloat16_sendrecv; NULL when nothing is disabled and both are false.
Tensorflow__GraphOptions *bd_graph_options_make(unsigned disabled, bool place_pruned_graph,
                                                bool sends_bfloat16, bd_graph_options *memory);

#endif
