// Overhead per executed node: a chain of 10,000 scalar Identity nodes ("chain"), or a grid of 100 chains of
// 100 ("grid"), one thread, in process.
#include "session.h"

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
    braid_op_desc *placeholder = braid_op_begin(g, "Placeholder", "x");
    braid_op_attr_type(placeholder, "dtype", BRAID_FLOAT);
    braid_out x = braid_op_end_out(placeholder);
    braid_op_desc *end = braid_op_begin(g, "NoOp", "end");
    if (!strcmp(argv[1], "chain"))
        braid_op_control(end, chain(g, x, 10000).op);
    else
        for (int i = 0; i < 100; i++)
            braid_op_control(end, chain(g, x, 100).op);
    bench_step b = {.feeds = {{x, braid_tensor_float(1)}}, .feed_count = 1, .target = braid_op_end(end)};
    b.session = bench_open(g, NULL, BRAID_REWRITE_ALL); // off: they would leave the nodes out
    return bench_serve(bench_step_run, &b, 10000);
}
