// What a worker measures of its training, and the table of all workers.
#ifndef BD_TRAIN_ALGORITHM_REPORT_H
#define BD_TRAIN_ALGORITHM_REPORT_H

#include "base/array.h"
#include <braid/algorithms.h>
#include <braid/event_writer.h>
#include <braid/queues.h>

typedef struct train_report {
    braid_worker_report own;
    double staleness_sum;
    int64_t begun_ns;    // of the first step; 0: there was none
    int64_t bytes_begun; // of the server, before it
    braid_queue queue;   // of reports, on the task of the global step; handle.op NULL with a single worker
    braid_out row, next; // placeholder of a report, and one taken from the queue
    braid_op *put;
    BD_ARRAY(braid_worker_report) all;
    braid_event_writer *events; // NULL: none
    int64_t events_at;          // updates at the last summary
} train_report;

void train_report_fini(train_report *r);

// Adds the queue beside the global step. For several workers.
void train_report_build(train_report *r, braid_graph *g, braid_out step);

// Notes an update of the centre with its staleness.
void train_report_update(train_report *r, int64_t staleness);
// Notes a step, in which the worker did not compute for `waiting` seconds.
void train_report_step(train_report *r, double waiting);

// Opens the event file. Errors are warnings.
void train_report_open(train_report *r, const char *dir);
// Whether it is time to write summaries.
bool train_report_wants_summaries(const train_report *r);
void train_report_summaries(train_report *r, int64_t global_step);

// Sends the report of a worker to the chief.
braid_code train_report_send(train_report *r, braid_session *s, braid_status *st);
// The chief: receives those of the others, and logs the table.
void train_report_gather(train_report *r, braid_session *s, int num_workers);
void train_report_log(const train_report *r, const char *name);

// Puts the worker's own report into `all`, and returns the length of that.
int train_report_note_own(train_report *r);

#endif
