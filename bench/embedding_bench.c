// A training step that looks up 1,024 rows of a table [1,000,000, 64], one thread: `embedding_bench
// rows|whole`.
//
//   rows   the gradient is of the rows, and only these are updated
//   whole  the gradient is made as large as the table, and all of the table is updated
#include "session.h"
#include <string.h>

enum {
    ROWS = 1000000,
    WIDTH = 64,
    BATCH = 1024
};

static void build(braid_graph *g, bool by_rows, bench_step *b)
{
    braid_tensor *ids = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(BATCH), NULL);
    srand(1);
    for (int i = 0; i < BATCH; i++)
        ((int32_t *)braid_tensor_data(ids))[i] = rand() % ROWS;
    b->feeds[0] = (braid_feed){braid_placeholder(g, "ids", BRAID_INT32, BRAID_SHAPE(-1)), ids};
    b->feed_count = 1;
    // Made as the table is initialized, not kept in the graph.
    braid_variable table =
        braid_variable_new(g, "table", braid_random_uniform(g, BRAID_SHAPE(ROWS, WIDTH), -1, 1), true);
    braid_out rows = braid_embedding_lookup(g, table.ref, b->feeds[0].out);
    braid_out loss = braid_reduce_sum(g, braid_square(g, rows));
    braid_optimizer *opt = braid_adagrad(g, 0.01f);
    int count;
    const braid_grad_and_var *computed = braid_compute_gradients(opt, loss, NULL, 0, &count);
    bench_check(count == 1 && computed[0].indices.op, "gradient", "not of rows");
    braid_grad_and_var pair = computed[0];
    if (!by_rows) {
        const braid_gradient gradient = {pair.grad, pair.indices, pair.dense_shape};
        pair = (braid_grad_and_var){.grad = braid_gradient_to_dense(g, &gradient), .var = pair.var};
    }
    b->target = braid_apply_gradients(opt, &pair, 1, braid_global_step(g));
}

int main(int argc, char **argv)
{
    const bool by_rows = argc == 2 && !strcmp(argv[1], "rows");
    bench_check(by_rows || (argc == 2 && !strcmp(argv[1], "whole")), "usage", "embedding_bench rows|whole");
    bench_step b = {0};
    braid_graph *g = braid_graph_new();
    build(g, by_rows, &b);
    braid_op *init = braid_global_variables_initializer(g);
    b.session = bench_open(g, NULL, 0);
    bench_run(b.session, NULL, 0, init);
    bench_serve(bench_step_run, &b, 1);
    braid_session_close(b.session, NULL);
    return 0;
}
