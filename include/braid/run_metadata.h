// The record of a traced step: when, where and for how long each node ran, its outputs, and the tensors sent
// between tasks. Collected by braid_session_run, or read from a file that a TensorFlow program wrote
// (RunMetadata).
#ifndef BRAID_RUN_METADATA_H
#define BRAID_RUN_METADATA_H

#include <braid/status.h>

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_run_metadata braid_run_metadata;

/// What a record has; the parts of the message RunMetadata.
enum {
    BRAID_RECORD_STATS = 1, ///< what ran when (step_stats); the run is traced, which makes it slower
    /// The graphs that ran, a GraphDef for each task, or in this process for each device: pruned, placed and
    /// rewritten, with the nodes that send and receive (partition_graphs). It does not trace the run.
    BRAID_RECORD_GRAPHS = 2
};

/// Makes an empty record, for braid_run_args.metadata; a run replaces its content. Runs at the same time need
/// one each.
BRAID_API braid_run_metadata *braid_run_metadata_new(void);
BRAID_API void braid_run_metadata_free(braid_run_metadata *metadata); ///< NULL is accepted

/// Replaces the content of `to` by that of `from`.
BRAID_API void braid_run_metadata_copy(braid_run_metadata *to, const braid_run_metadata *from);

/// Reads a file with one serialized RunMetadata message, or an event file (FileWriter.add_run_metadata): the
/// record with `tag`, or the last one when `tag` is NULL. NULL on an error: NotFound, DataLoss for a damaged
/// event file, InvalidArgument for any other file.
BRAID_API braid_run_metadata *braid_run_metadata_read(const char *path, const char *tag,
                                                      braid_status *status);

/// Writes the serialized RunMetadata message; the file is replaced at once or not at all.
BRAID_API braid_code braid_run_metadata_write(const braid_run_metadata *metadata, const char *path,
                                              braid_status *status);

/// Returns the serialized RunMetadata message and its length in bytes; owned by `metadata`, valid until its
/// next run.
BRAID_API const void *braid_run_metadata_data(const braid_run_metadata *metadata, size_t *len);

typedef struct braid_timeline_options {
    bool hide_dataflow; ///< no arrows (show_dataflow=False)
    /// A counter for each device: the bytes of the outputs that exist, from the start of a node to the end of
    /// the last consumer.
    bool show_memory;
} braid_timeline_options;

/// Returns the nodes of the steps in Chrome's trace format (JSON, zero-terminated; for chrome://tracing or
/// Perfetto): one process for each device, one row for each of several nodes that ran at the same time, an
/// arrow from each node to the consumers of its outputs. `options` NULL: all defaults. The caller frees it
/// with free(). NULL on an error: FailedPrecondition when the run was not traced.
BRAID_API char *braid_run_metadata_timeline(const braid_run_metadata *metadata,
                                            const braid_timeline_options *options, braid_status *status);
/// Writes the same to a file, which is replaced atomically.
BRAID_API braid_code braid_run_metadata_timeline_write(const braid_run_metadata *metadata,
                                                       const braid_timeline_options *options,
                                                       const char *path, braid_status *status);

/// Returns a table for people: for each device the ops by the time they took in all (milliseconds), how many
/// nodes, the mean (microseconds) and the bytes of their outputs. At most `rows_max` ops a device; 0: all.
/// Otherwise as braid_run_metadata_timeline.
BRAID_API char *braid_run_metadata_summary(const braid_run_metadata *metadata, int rows_max,
                                           braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
