// A training step of the deep MNIST convolutional network (models.h; batch 50; Adam), one thread, in this
// process.
#include "models.h"

int main(void)
{
    bench_step b = {0};
    braid_graph *g = braid_graph_new();
    bench_feed_digits(g, BENCH_CNN_BATCH, &b);
    const braid_out loss = bench_cnn_loss(g, b.feeds[0].out, b.feeds[1].out);
    b.target = braid_minimize(braid_adam(g, 1e-4f), loss, braid_global_step(g));
    braid_op *init = braid_global_variables_initializer(g);
    b.session = bench_open(g, NULL, 0);
    bench_run(b.session, NULL, 0, init);
    bench_serve(bench_step_run, &b, 1);
    braid_session_close(b.session, NULL);
    braid_graph_free(g);
    return 0;
}
