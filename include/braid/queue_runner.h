// Queue runners: threads that fill the queues of a graph (tf.train.QueueRunner).
//
//     braid_queue_runner *r = braid_queue_runner_new(graph, queue, &(braid_queue_runner_options){
//         .enqueue_ops = (braid_op *[]){enqueue, enqueue}, .enqueue_op_count = 2}); // two threads
//     braid_add_queue_runner(graph, r); // a monitored session starts it
//
// Each enqueue op is run by a thread of its own, again and again. When the input of a thread has ended
// (OutOfRange) the thread ends; the last one closes the queue, so that the consumers take what is left and
// then get OutOfRange themselves. Any other error stops the coordinator. When the coordinator stops, the
// queues are closed and their pending enqueues are cancelled.
//
// A monitored session starts the runners of its graph once the variables have values, and again after a
// recovery. An error of a runner ends its training with that error; a lost task leads to a recovery.
#ifndef BRAID_QUEUE_RUNNER_H
#define BRAID_QUEUE_RUNNER_H

#include <braid/coordinator.h>
#include <braid/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/// TensorFlow's collection of queue runners; savers write it to MetaGraphs.
#define BRAID_QUEUE_RUNNERS "queue_runners"

typedef struct braid_queue_runner braid_queue_runner;

typedef struct braid_queue_runner_options {
    braid_op *const *enqueue_ops; ///< [enqueue_op_count] copied; one op may be there several times
    int enqueue_op_count;
    braid_op *close_op;  ///< closes the queue after the last element; NULL: made
    braid_op *cancel_op; ///< closes it and cancels pending enqueues; NULL: made
    /// Errors of an enqueue op which say that its input has ended. None: OutOfRange. Add Cancelled for ops
    /// that dequeue from other queues (queue_closed_exception_types).
    const braid_code *closed_codes;
    int closed_code_count;
} braid_queue_runner_options;

/// Makes a runner of `queue` (a queue's handle, or the reference of an old queue), which belongs to the graph
/// and lives as long. Adds the ops that close the queue, named QUEUE_Close, unless they are given. The graph
/// fails without a queue or an enqueue op; then NULL is returned.
BRAID_API braid_queue_runner *braid_queue_runner_new(braid_graph *graph, braid_out queue,
                                                     const braid_queue_runner_options *options);

/// Adds a runner to the collection "queue_runners"; NULL is ignored.
BRAID_API void braid_add_queue_runner(braid_graph *graph, braid_queue_runner *runner);

/// Starts threads of `coordinator` for one runner, and one that closes the queue when the coordinator stops.
/// Has no effect while threads of the runner are running in this session. Before `session` is closed, request
/// a stop and join the coordinator.
BRAID_API braid_code braid_queue_runner_start(braid_queue_runner *runner, braid_session *session,
                                              braid_coordinator *coordinator, braid_status *status);

/// The same for all runners of the graph's collection (tf.train.start_queue_runners). After an error, request
/// a stop: some threads may have been started. Not for the session of a monitored session, which does it.
BRAID_API braid_code braid_start_queue_runners(const braid_graph *graph, braid_session *session,
                                               braid_coordinator *coordinator, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif
