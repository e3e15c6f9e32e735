// A push and a pull of one variable on a parameter server, each a step that is waited for: `ps_bench BYTES`.
// The server adds what is fed; then the worker fetches the sum.
#include "cluster.h"

typedef struct ps_step {
    bench_step push;
    braid_out pulled;
    float pushes;
} ps_step;

static void build(braid_graph *g, long count, ps_step *s)
{
    braid_tensor *ones = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count), NULL);
    float *values = braid_tensor_data(ones);
    for (long i = 0; i < count; i++)
        values[i] = 1;
    s->push.feeds[0] = (braid_feed){braid_placeholder(g, "pushed", BRAID_FLOAT, BRAID_SHAPE(count)), ones};
    s->push.feed_count = 1;
    braid_push_device(g, "/job:ps/task:0");
    const braid_variable v =
        braid_variable_new(g, "v", braid_zeros(g, BRAID_FLOAT, BRAID_SHAPE(count)), true);
    s->push.target = braid_assign_add(g, v.ref, s->push.feeds[0].out).op;
    braid_pop_device(g);
    s->pulled = braid_identity(g, "pulled", v.read);
}

static void pull(ps_step *s)
{
    braid_status *st = braid_status_new();
    braid_tensor *sum = NULL;
    const braid_fetch fetch = {s->pulled, &sum};
    const braid_run_args args = {.fetches = &fetch, .fetch_count = 1};
    bench_check(!braid_session_run(s->push.session, &args, st), "pull", braid_status_message(st));
    const float *values = braid_tensor_data(sum);
    const int64_t last = braid_tensor_num_elements(sum) - 1;
    bench_check(values[0] == s->pushes && values[last] == s->pushes, "pull", "is not the sum");
    braid_tensor_free(sum);
    braid_status_free(st);
}

static void push_and_pull(void *arg)
{
    ps_step *s = arg;
    bench_step_run(&s->push);
    s->pushes++;
    pull(s);
}

int main(int argc, char **argv)
{
    const long bytes = argc == 2 ? atol(argv[1]) : 0;
    bench_check(bytes >= 4 && bytes / 4 <= INT32_MAX, "usage", "ps_bench BYTES");
    char json[256];
    bench_cluster_json(1, 1, false, json, sizeof json);
    const pid_t ps = bench_start_ps(argv[0], json, 0, "0");
    braid_graph *g = braid_graph_new();
    braid_server *server = bench_start_worker(json, 0, g);
    ps_step s = {.pushes = 0};
    build(g, bytes / 4, &s);
    braid_op *init = braid_global_variables_initializer(g);
    s.push.session = bench_open(g, server, 0);
    bench_run(s.push.session, NULL, 0, init);
    bench_serve(push_and_pull, &s, 1);
    braid_session_close(s.push.session, NULL);
    braid_server_free(server);
    waitpid(ps, NULL, 0);
    return 0;
}
