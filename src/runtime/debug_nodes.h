// The watches of a step (RunOptions.debug_options, TensorFlow's tfdbg): which tensors are written where.
//
// They are part of a run's signature, so that a step with watches has plans of its own and a step without
// them costs nothing. A watched tensor gets a node __copy_NODE_SLOT, which takes the tensor's place for its
// consumers, and for each debug op a node __dbg_NODE:SLOT_NUMBER_OP, which writes to the watch's debug URLs
// before the consumers run. No rewrite changes a graph with watches: it would hide tensors.
#ifndef BD_RUNTIME_DEBUG_NODES_H
#define BD_RUNTIME_DEBUG_NODES_H

#include "base/strbuf.h"
#include "io/file.h"
#include "proto/pack.h"
#include "runtime/client_graph.h"
#include "tensorflow/core/protobuf/debug.pb-c.h"

// Returns the options, or NULL when they watch nothing. InvalidArgument for names that no node can have.
const Tensorflow__DebugOptions *bd_debug_watches(const Tensorflow__DebugOptions *o, braid_status *st);
// The same from a serialized message, in the arena. NULL without an error: nothing is watched.
const Tensorflow__DebugOptions *bd_debug_parse(const void *data, size_t len, bd_proto_arena *arena,
                                               braid_status *st);
// A copy in an arena of its own.
const Tensorflow__DebugOptions *bd_debug_copy(const Tensorflow__DebugOptions *o, bd_proto_arena *arena);

// Appends what makes the plans of two watches differ: one line.
void bd_debug_describe(const Tensorflow__DebugOptions *o, bd_strbuf *out);

// Adds the nodes to `g`, the placed graph of a device or of a task before its rewrites, and writes the graph
// to the debug URLs of `o`. Bodies of loops then run one iteration at a time. FailedPrecondition, with `g` in
// any state: a debug op cannot be made, and the watch does not tolerate that. ResourceExhausted: the nodes
// take more memory than the account of this thread allows.
braid_code bd_debug_add_nodes(braid_graph *g, const Tensorflow__DebugOptions *o, const bd_fs *fs,
                              braid_status *st);

// Before a step: writes its names and numbers to the debug URLs of signature->debug, and counts bytes anew if
// that is asked for. `run_index` is the step's among those of the process, `step_index` that of its plan.
braid_code bd_debug_begin_step(const bd_run_signature *signature, const bd_fs *fs, int64_t run_index,
                               int64_t step_index, braid_status *st);

#endif
