// Work queues: the shares of an input, handed out to the workers; those of a lost worker go to others.
//
//     braid_work_queue *work =
//         braid_work_queue_new(graph, files, 16, &(braid_work_queue_options){.num_epochs = 3});
//     braid_dataset d = braid_dataset_tf_record(graph, braid_work_queue_share(work), "");
//     braid_iterator it =
//         braid_make_initializable_iterator(graph, braid_dataset_batch(graph, d, 100, false), NULL);
//     ... .hooks = BRAID_HOOKS(braid_work_queue_hook(work, it))
//
// The hook takes a share, sets the iterator to its beginning, and has the steps run until the iterator is at
// its end. The share is then finished, and the hook takes the next. An epoch ends when all of its shares are
// finished; the next one begins then. After the last epoch training ends, as at the end of any input.
//
// Each share is trained in each epoch at least once. A share that a worker has begun and not finished is
// handed out again, from its beginning, as soon as the worker's connection to the task of the queue breaks
// (at once when the process dies, within 8 seconds when the host vanishes), or when the worker opens another
// session. A worker that stands still keeps its share, and the epoch waits for it. A worker that comes late
// takes its share of what is left.
//
// What is finished is in a variable, one count for each share, on the task of the variables. So it is saved
// and restored with them: training that resumes goes on in the middle of the epoch, and shares finished after
// the checkpoint are trained again, as their steps are lost, too. So is a share that was in work at the
// checkpoint, even if only its end was still to be counted.
//
// For asynchronous training. In synchronous training the replicas need each other in each step, so that none
// may wait for the share of another: the hook refuses it with FailedPrecondition.
#ifndef BRAID_WORK_QUEUE_H
#define BRAID_WORK_QUEUE_H

#include <braid/dataset.h>
#include <braid/monitored_session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_work_queue braid_work_queue;

typedef struct braid_work_queue_options {
    int64_t num_epochs; ///< 0: without end
    bool in_order;      ///< false: the shares of each epoch in another order, given by `seed`
    int64_t seed;
    const char *name; ///< NULL: "work_queue"
} braid_work_queue_options;

/// Makes a queue of `count` shares, the same in each process: names of files, for instance. `shares` is
/// copied; NULL: shares without names, to be known by their numbers. `options` NULL: the defaults. Adds the
/// variable NAME/finished, int64 [count], and belongs to the graph. Servers of Braid are needed. The graph
/// fails, and NULL is returned, with no share, a NULL among them, or a negative number of epochs.
BRAID_API braid_work_queue *braid_work_queue_new(braid_graph *graph, const char *const *shares, int64_t count,
                                                 const braid_work_queue_options *options);

/// The name of the share that this worker has, a string scalar, and its number from 0, an int64 scalar:
/// inputs of the dataset whose iterator the hook sets, with values only then.
BRAID_API braid_out braid_work_queue_share(const braid_work_queue *queue);
BRAID_API braid_out braid_work_queue_number(const braid_work_queue *queue);
/// How many times each share was finished, int64 [count]: the lowest is the number of epochs that have ended.
BRAID_API braid_out braid_work_queue_finished(const braid_work_queue *queue);

/// The hook that takes shares for the steps of this process, one hook for each queue. The graph fails without
/// a queue or an iterator. FailedPrecondition in synchronous training, and when none of the shares gives a
/// step.
BRAID_API braid_hook *braid_work_queue_hook(braid_work_queue *queue, braid_iterator iterator);

#ifdef __cplusplus
}
#endif
#endif
