// The queue runners of producers and batches, and the summaries of how full their queues are.
#include "train/input/input_queues.h"

#include "train/common/build.h"
#include <braid/queue_runner.h>
#include <braid/summary.h>

void train_fill_queue(braid_graph *g, braid_queue q, braid_op *const *enqueues, int count)
{
    const braid_queue_runner_options options = {.enqueue_ops = enqueues, .enqueue_op_count = count};
    braid_add_queue_runner(g, braid_queue_runner_new(g, q.handle, &options));
}

void train_summarize_queue(braid_graph *g, braid_queue q, const char *tag, int low, int high)
{
    braid_out size = braid_queue_size(g, q);
    if (low) size = train_number_op(g, "Maximum", "Maximum", 0, train_op_number(g, "Sub", "sub", size, low));
    size = braid_cast(g, size, BRAID_FLOAT);
    (void)braid_summary_scalar(g, tag, train_op_number(g, "Mul", "mul", size, 1.0 / (high - low)));
}
