// Writers of event files, which TensorBoard reads (tf.summary.FileWriter).
//
// Any thread may use a writer. When a write fails, for example because the disk is full, the call returns the
// error, and each later call tries to go on in another file; the number of lost events is logged then.
#ifndef BRAID_EVENT_WRITER_H
#define BRAID_EVENT_WRITER_H

#include <braid/run_metadata.h>
#include <braid/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_event_writer braid_event_writer;

/// Opens DIR/events.out.tfevents.SECONDS.HOST, and makes the directory when it does not exist. Calls with the
/// same directory in one process share a file. NULL on an error.
BRAID_API braid_event_writer *braid_event_writer_open(const char *dir, braid_status *status);

/// Adds a serialized Summary message: the value of a summary op (braid_summary_scalar).
BRAID_API braid_code braid_event_writer_add_summary(braid_event_writer *writer, const void *summary,
                                                    size_t len, int64_t global_step, braid_status *status);
/// Adds a summary of one number.
BRAID_API braid_code braid_event_writer_add_scalar(braid_event_writer *writer, const char *tag, float value,
                                                   int64_t global_step, braid_status *status);
/// Adds a summary of a distribution: finite `values` [count], each so many `times` [count] (NULL: once).
BRAID_API braid_code braid_event_writer_add_histogram(braid_event_writer *writer, const char *tag,
                                                      const double *values, const int64_t *times, int count,
                                                      int64_t global_step, braid_status *status);
/// Adds a serialized GraphDef (braid_graph_export), or MetaGraphDef.
BRAID_API braid_code braid_event_writer_add_graph(braid_event_writer *writer, const void *graph_def,
                                                  size_t len, int64_t global_step, braid_status *status);
BRAID_API braid_code braid_event_writer_add_meta_graph(braid_event_writer *writer, const void *meta_graph_def,
                                                       size_t len, braid_status *status);
/// Adds the record of a traced run under a tag ("step_100").
BRAID_API braid_code braid_event_writer_add_run_metadata(braid_event_writer *writer,
                                                         const braid_run_metadata *metadata, const char *tag,
                                                         int64_t global_step, braid_status *status);

typedef enum braid_session_log_status { // the numbers are SessionLog's
    BRAID_SESSION_LOG_START = 1,
    BRAID_SESSION_LOG_STOP = 2,
    BRAID_SESSION_LOG_CHECKPOINT = 3
} braid_session_log_status;

/// Adds an event of a session. `checkpoint_path` may be NULL.
BRAID_API braid_code braid_event_writer_add_session_log(braid_event_writer *writer,
                                                        braid_session_log_status of_session,
                                                        const char *checkpoint_path, int64_t global_step,
                                                        braid_status *status);

/// Hands all events to the system, so that other programs see them.
BRAID_API braid_code braid_event_writer_flush(braid_event_writer *writer, braid_status *status);
/// Closes the file, durably, when it was opened as often as it is closed. NULL is accepted.
BRAID_API braid_code braid_event_writer_close(braid_event_writer *writer, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
