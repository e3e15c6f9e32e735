// Event files, which TensorBoard reads: records (io/record.h) of Event messages, the first of which holds the
// version.
#ifndef BD_IO_EVENTS_H
#define BD_IO_EVENTS_H

#include "io/file.h"
#include "io/histogram.h"

typedef struct bd_event_writer bd_event_writer;

// 0 and NULL mean TensorFlow's defaults.
typedef struct bd_event_options {
    const char *suffix; // at the end of the file's name
    int queue_len; // events are flushed when more than this number wait; default 10; negative: each at once
    int64_t flush_ms; // or when an event is added this long after the last flush; default 120 s
} bd_event_options;

// When a write fails, the events since the last flush are lost. Each later call tries to go on in another
// file; the number of lost events is logged when that succeeds.
//
// Makes `DIR/events.out.tfevents.SECONDS.HOST[SUFFIX]`, and the directory if it is not there; a number is
// added where a file of that name is there already. Its first event is in the file when it returns. `options`
// may be NULL. On an error *w is NULL.
braid_code bd_event_writer_open(const bd_fs *fs, const char *dir, const bd_event_options *options,
                                bd_event_writer **w, braid_status *st);

const char *bd_event_writer_path(const bd_event_writer *w); // of the file in use; owned by `w`

// ---- Events; any thread, blocking on the disk only when they flush ----

// A Summary message (io/summary.h, and the results of summary ops).
braid_code bd_event_put_summary(bd_event_writer *w, int64_t step, const void *summary, size_t len,
                                braid_status *st);
braid_code bd_event_put_scalar(bd_event_writer *w, int64_t step, const char *tag, float value,
                               braid_status *st);
braid_code bd_event_put_histogram(bd_event_writer *w, int64_t step, const char *tag, const bd_histogram *h,
                                  braid_status *st);

// GraphDef and MetaGraphDef messages.
braid_code bd_event_put_graph(bd_event_writer *w, int64_t step, const void *graph_def, size_t len,
                              braid_status *st);
braid_code bd_event_put_meta_graph(bd_event_writer *w, const void *meta_graph_def, size_t len,
                                   braid_status *st);

// A RunMetadata message, of a step that was traced.
braid_code bd_event_put_run_metadata(bd_event_writer *w, int64_t step, const char *tag, const void *metadata,
                                     size_t len, braid_status *st);

typedef enum bd_session_status { // the numbers are SessionLog's
    BD_SESSION_START = 1,
    BD_SESSION_STOP = 2,
    BD_SESSION_CHECKPOINT = 3
} bd_session_status;

// `checkpoint_path` and `message` may be NULL.
braid_code bd_event_put_session_log(bd_event_writer *w, int64_t step, bd_session_status status,
                                    const char *checkpoint_path, const char *message, braid_status *st);

// Adds a serialized Event message.
braid_code bd_event_put(bd_event_writer *w, const void *event, size_t len, braid_status *st);

// Writes all buffered events to the file. NotFound when the file was removed.
braid_code bd_event_writer_flush(bd_event_writer *w, braid_status *st);

// Flushes, to the disk, closes and frees, also on an error; NULL is accepted.
braid_code bd_event_writer_close(bd_event_writer *w, braid_status *st);

#endif
