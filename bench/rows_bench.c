// A step of a worker that looks up and updates 1,000 rows of a table on a parameter server, by Adagrad:
// `rows_bench MEGABYTES`, of rows of 64 numbers, or `rows_bench ROWS WIDTH`. Each step has other rows.
#include "cluster.h"
#include <stdint.h>

enum {
    BATCH = 1000
};

typedef struct rows_step {
    bench_step base;
    int64_t rows, width;
    uint64_t drawn;
} rows_step;

static void build(braid_graph *g, rows_step *s)
{
    braid_tensor *ids = braid_tensor_new(BRAID_INT32, BRAID_SHAPE(BATCH), NULL);
    s->base.feeds[0] = (braid_feed){braid_placeholder(g, "ids", BRAID_INT32, BRAID_SHAPE(-1)), ids};
    s->base.feed_count = 1;
    const braid_variable table =
        braid_variable_new(g, "table", braid_random_uniform(g, BRAID_SHAPE(s->rows, s->width), -1, 1), true);
    const braid_out rows = braid_embedding_lookup(g, table.ref, s->base.feeds[0].out);
    s->base.target = braid_minimize(braid_adagrad(g, 0.01f), braid_reduce_sum(g, braid_square(g, rows)),
                                    braid_global_step(g));
}

static void step(void *arg)
{
    rows_step *s = arg;
    int32_t *ids = braid_tensor_data((braid_tensor *)s->base.feeds[0].value);
    for (int i = 0; i < BATCH; i++) {
        s->drawn = s->drawn * 6364136223846793005u + 1442695040888963407u;
        ids[i] = (int32_t)((s->drawn >> 33) % (uint64_t)s->rows);
    }
    bench_step_run(&s->base);
}

int main(int argc, char **argv)
{
    rows_step s = {.drawn = 1, .width = argc == 3 ? atoll(argv[2]) : 64};
    if (argc == 2) s.rows = atoll(argv[1]) * 1000000 / (s.width * (int64_t)sizeof(float));
    if (argc == 3) s.rows = atoll(argv[1]);
    bench_check(s.rows > 0 && s.width > 0, "usage", "rows_bench MEGABYTES | rows_bench ROWS WIDTH");
    char json[256];
    bench_cluster_json(1, 1, false, json, sizeof json);
    const pid_t ps = bench_start_ps(argv[0], json, 0, "0");
    braid_graph *g = braid_graph_new();
    braid_server *server = bench_start_worker(json, 0, g);
    build(g, &s);
    braid_op *init = braid_global_variables_initializer(g);
    s.base.session = bench_open(g, server, 0);
    bench_run(s.base.session, NULL, 0, init);
    bench_serve(step, &s, 1);
    braid_session_close(s.base.session, NULL);
    braid_server_free(server); // the parameter server ends with its last worker
    waitpid(ps, NULL, 0);
    return 0;
}
