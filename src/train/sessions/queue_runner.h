// The inside of queue runners.
#ifndef BD_TRAIN_QUEUE_RUNNER_H
#define BD_TRAIN_QUEUE_RUNNER_H

#include "base/array.h"
#include "base/thread.h"
#include <braid/queue_runner.h>

typedef struct train_queue_runs train_queue_runs;

struct braid_queue_runner {
    braid_op *queue;
    BD_ARRAY(braid_op *) enqueue_ops;
    braid_op *close, *cancel;
    BD_ARRAY(braid_code) closed_codes;
    bd_mutex mu;
    BD_ARRAY(train_queue_runs *) runs; // of sessions in which threads are running; guarded by mu
};

// braid_start_queue_runners without the threads that close the queues on a stop.
braid_code train_queue_runners_start(const braid_graph *graph, braid_session *session,
                                     braid_coordinator *coordinator, braid_status *st);

// Closes the queues of the graph's runners and cancels pending enqueues. Errors are logged. Each op ends
// after ten seconds at the latest.
void train_queue_runners_cancel(const braid_graph *graph, braid_session *session);

#endif
