// RunMetadata of a traced step: its bytes, and reading them.
#ifndef BD_RUNTIME_RUN_METADATA_H
#define BD_RUNTIME_RUN_METADATA_H

#include "base/strbuf.h"
#include "base/wire.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/step_stats.pb-c.h"
#include <braid/run_metadata.h>

struct braid_run_metadata {
    bd_strbuf bytes; // the serialized message
};

// Replaces the content by a message.
void bd_run_metadata_set(braid_run_metadata *m, const bd_message *message);

// Returns the StepStats of the record, in the arena. NULL: FailedPrecondition without a record,
// InvalidArgument when it is malformed.
const Tensorflow__StepStats *bd_run_metadata_stats(const braid_run_metadata *m, bd_proto_arena *arena,
                                                   braid_status *st);

// Of a node: its op ("RecvTensor" for a transfer), and its inputs, in copies of the label (bd_free `text`,
// and the array).
typedef struct bd_timeline_label {
    char *text;
    const char *op;      // "" when the label is not of TensorFlow's form
    const char **inputs; // names as the label has them: "a", "a:1"; control inputs are left out
    int input_count;
} bd_timeline_label;
void bd_timeline_label_parse(const Tensorflow__NodeExecStats *node, bd_timeline_label *out);
void bd_timeline_label_fini(bd_timeline_label *l);

// Start time in nanoseconds: later versions of TensorFlow have a field for it; TensorFlow 1.3 has
// microseconds.
int64_t bd_stats_start_ns(const Tensorflow__NodeExecStats *node);
int64_t bd_stats_duration_ns(const Tensorflow__NodeExecStats *node);
// Bytes of all outputs.
int64_t bd_stats_output_bytes(const Tensorflow__NodeExecStats *node);

#endif
