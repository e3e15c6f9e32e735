// The queue of batches, and the thread that fills it.
#include "mnist_queue.h"

#include "mnist.h"
#include <stdlib.h>

// A value that can be fed in place of the queue's.
static braid_out unless_fed(braid_graph *g, braid_out value, int64_t width)
{
    braid_op_desc *d = braid_op_begin(g, "PlaceholderWithDefault", NULL);
    braid_op_input(d, value);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(-1, width));
    return braid_op_end_out(d);
}

void mnist_add_queue(braid_graph *g, mnist_model *m)
{
    const int64_t batch = mnist_task_flags.batch_size;
    const braid_dtype dtypes[] = {BRAID_FLOAT, BRAID_FLOAT};
    const braid_shape shapes[] = {BRAID_SHAPE(batch, MNIST_PIXELS), BRAID_SHAPE(batch, MNIST_CLASSES)};
    const braid_queue queue =
        braid_fifo_queue(g, &(braid_queue_options){.dtypes = dtypes,
                                                   .shapes = shapes,
                                                   .count = 2,
                                                   .capacity = (int)mnist_task_flags.queue_batches,
                                                   .name = "batches"});
    m->next_images = braid_placeholder(g, "next_images", BRAID_FLOAT, shapes[0]);
    m->next_labels = braid_placeholder(g, "next_labels", BRAID_FLOAT, shapes[1]);
    const braid_out next[] = {m->next_images, m->next_labels};
    m->enqueue = braid_queue_enqueue(g, queue, next);
    braid_out taken[2];
    braid_queue_dequeue(g, queue, taken);
    m->images = unless_fed(g, taken[0], MNIST_PIXELS);
    m->labels = unless_fed(g, taken[1], MNIST_CLASSES);
}

// ---- The thread ----

typedef struct queue_hook {
    braid_hook hook;
    const mnist_model *m;
    int worker;
    braid_session *session;
    mnist *data;
} queue_hook;

// Waits in the run while the queue is full; the end of the session cancels that.
static braid_code fill(braid_coordinator *coordinator, void *arg, braid_status *status)
{
    queue_hook *h = arg;
    while (!braid_coordinator_should_stop(coordinator)) {
        const mnist_batch b = mnist_next_batch(h->data, (int)mnist_task_flags.batch_size);
        const braid_feed feeds[] = {{h->m->next_images, b.images}, {h->m->next_labels, b.labels}};
        const braid_run_args args = {
            .feeds = feeds, .feed_count = 2, .targets = &h->m->enqueue, .target_count = 1};
        if (braid_session_run(h->session, &args, status)) break;
    }
    return braid_status_code(status);
}

// The thread reads images of its own, because the test reads others meanwhile.
static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *status)
{
    queue_hook *h = (queue_hook *)hook;
    if (!h->data) h->data = mnist_open(mnist_task_flags.data_dir, (uint64_t)h->worker, status);
    if (!h->data) return braid_status_code(status);
    h->session = braid_monitored_session_raw(s);
    return braid_coordinator_start(braid_monitored_session_coordinator(s), "batches", fill, h, status);
}

static void release(braid_hook *hook)
{
    mnist_close(((queue_hook *)hook)->data);
    free(hook);
}

braid_hook *mnist_queue_hook(const mnist_model *m, int worker)
{
    queue_hook *h = calloc(1, sizeof *h);
    if (!h) abort();
    h->hook = (braid_hook){.after_create_session = after_create_session, .free = release};
    h->m = m;
    h->worker = worker;
    return &h->hook;
}
