// Overhead per executed node: a chain of 10,000 scalar Identity nodes ("chain"), or a grid of 100 chains of 100 ("grid"), one
// thread, in process.
#include "bench.h"
#include <braid/session.h>

typedef struct bench {
    braid_session *session;
    braid_feed feed;
    braid_op *target;
} bench;

static void step(void *arg)
{
    bench *b = arg;
    braid_status *st = braid_status_new();
    const braid_run_args args = {
        .feeds = &b->feed, .feed_count = 1, .targets = &b->target, .target_count = 1};
    braid_code code = braid_session_run(b->session, &args, st);
    bench_check(!code, "run", braid_status_message(st));
    braid_status_free(st);
}

static braid_out chain(braid_graph *g, braid_out x, int length)
{
    for (int i = 0; i < length; i++)
        x = braid_output(braid_op_add(g, "Identity", NULL, &x, 1), 0);
    return x;
}

int main(int argc, char **argv)
{
    bench_check(argc == 2, "usage", "nodes_bench chain|grid");
    braid_graph *g = braid_graph_new();
    braid_status *st = braid_status_new();
    braid_op_desc *placeholder = braid_op_begin(g, "Placeholder", "x");
    braid_op_attr_type(placeholder, "dtype", BRAID_FLOAT);
    braid_out x = braid_op_end_out(placeholder);
    braid_op_desc *end = braid_op_begin(g, "NoOp", "end");
    if (!strcmp(argv[1], "chain"))
        braid_op_control(end, chain(g, x, 10000).op);
    else
        for (int i = 0; i < 100; i++)
            braid_op_control(end, chain(g, x, 100).op);
    bench b = {.feed = {x, braid_tensor_float(1)}, .target = braid_op_end(end)};
    bench_check(!braid_graph_status(g, st), "graph", braid_status_message(st));
    // Rewrites off: they would leave the nodes out.
    b.session = braid_session_open(g,
                                   &(braid_session_options){.inter_op_threads = 1,
                                                            .intra_op_threads = 1,
                                                            .disabled_rewrites = BRAID_REWRITE_ALL},
                                   st);
    bench_check(b.session != NULL, "session", braid_status_message(st));
    return bench_serve(step, &b, 10000);
}
