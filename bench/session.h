// Common to the benchmarks of sessions: a session with the step that it repeats, and a batch of digits to
// train on.
#ifndef BD_BENCH_SESSION_H
#define BD_BENCH_SESSION_H

#include "bench.h"
#include <braid/braid.h>

enum {
    BENCH_PIXELS = 784,
    BENCH_CLASSES = 10
};

typedef struct bench_step {
    braid_session *session;
    braid_feed feeds[2];
    int feed_count;
    braid_op *target;
} bench_step;

static inline void bench_run(braid_session *s, const braid_feed *feeds, int feed_count, braid_op *target)
{
    braid_status *st = braid_status_new();
    const braid_run_args args = {
        .feeds = feeds, .feed_count = feed_count, .targets = &target, .target_count = 1};
    braid_code code = braid_session_run(s, &args, st);
    bench_check(!code, "run", braid_status_message(st));
    braid_status_free(st);
}

// For bench_serve: `arg` is a bench_step.
static inline void bench_step_run(void *arg)
{
    const bench_step *b = arg;
    bench_run(b->session, b->feeds, b->feed_count, b->target);
}

// A session with one thread; `server` NULL: in this process. `disabled_rewrites`: BRAID_REWRITE_..., 0: none.
static inline braid_session *bench_open(braid_graph *g, braid_server *server, unsigned disabled_rewrites)
{
    braid_status *st = braid_status_new();
    bench_check(!braid_graph_status(g, st), "graph", braid_status_message(st));
    const braid_session_options options = {.inter_op_threads = 1,
                                           .intra_op_threads = 1,
                                           .server = server,
                                           .disabled_rewrites = disabled_rewrites};
    braid_session *s = braid_session_open(g, &options, st);
    bench_check(s != NULL, "session", braid_status_message(st));
    braid_status_free(st);
    return s;
}

// Placeholders for images [-1, 784] and one-hot labels [-1, 10], which the step then feeds with `count` of
// them.
static inline void bench_feed_digits(braid_graph *g, int count, bench_step *b)
{
    braid_tensor *images = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count, BENCH_PIXELS), NULL);
    braid_tensor *labels = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count, BENCH_CLASSES), NULL);
    float *pixels = braid_tensor_data(images), *classes = braid_tensor_data(labels);
    srand(1);
    for (int i = 0; i < count * BENCH_PIXELS; i++)
        pixels[i] = (float)rand() / (float)RAND_MAX;
    for (int i = 0; i < count * BENCH_CLASSES; i++)
        classes[i] = i % BENCH_CLASSES == i / BENCH_CLASSES % BENCH_CLASSES;
    b->feeds[0] = (braid_feed){braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE(-1, BENCH_PIXELS)), images};
    b->feeds[1] =
        (braid_feed){braid_placeholder(g, "labels", BRAID_FLOAT, BRAID_SHAPE(-1, BENCH_CLASSES)), labels};
    b->feed_count = 2;
}

#endif
