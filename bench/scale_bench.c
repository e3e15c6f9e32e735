// Costs as graphs and sessions grow, on one thread in this process:
//
//   scale_bench build NODES     a node of a graph that is built: layers of 100 scalars, each the sum of two
//   scale_bench first NODES     a node in the first run of a session, with the opening of the session
//   scale_bench next NODES      a node in the next runs
//   scale_bench open SESSIONS   a session that is opened on one server and runs its first step
//   scale_bench step SESSIONS   a step of one of so many sessions, which take turns
#include "cluster.h"
#include <errno.h>
#include <signal.h>

enum {
    LAYER = 100
};

// ---- Nodes ----

typedef struct grown {
    long nodes;
    braid_graph *graph;
    bench_step step;
} grown;

static void build(grown *r)
{
    braid_graph *g = r->graph = braid_graph_new();
    r->step.feeds[0] = (braid_feed){braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SCALAR),
                                    r->step.feeds[0].value ? r->step.feeds[0].value : braid_tensor_float(1)};
    r->step.feed_count = 1;
    braid_out last[LAYER], now[LAYER];
    for (int i = 0; i < LAYER; i++)
        last[i] = r->step.feeds[0].out;
    for (long made = 0; made < r->nodes; made += LAYER) {
        for (int i = 0; i < LAYER; i++)
            now[i] = braid_add(g, last[i], last[(i + 1) % LAYER]);
        memcpy(last, now, sizeof last);
    }
    braid_op *ends[LAYER];
    for (int i = 0; i < LAYER; i++)
        ends[i] = last[i].op;
    r->step.target = braid_group(g, "end", ends, LAYER);
}

static void build_anew(void *arg)
{
    grown *r = arg;
    braid_graph_free(r->graph);
    build(r);
}

static void run_first(void *arg)
{
    grown *r = arg;
    // The rewrites would leave the nodes out: nothing uses their sums.
    r->step.session = bench_open(r->graph, NULL, BRAID_REWRITE_ALL);
    bench_step_run(&r->step);
    braid_session_close(r->step.session, NULL);
}

static int serve_nodes(const char *what, long nodes)
{
    grown r = {.nodes = nodes};
    if (!strcmp(what, "build")) return bench_serve(build_anew, &r, (double)nodes);
    build(&r);
    if (!strcmp(what, "first")) return bench_serve(run_first, &r, (double)nodes);
    r.step.session = bench_open(r.graph, NULL, BRAID_REWRITE_ALL);
    return bench_serve(bench_step_run, &r.step, (double)nodes);
}

// ---- Sessions ----

typedef struct crowd {
    long count, turn;
    braid_graph *graph;
    braid_server *server;
    braid_session **sessions;
    braid_op *target;
} crowd;

static void open_all(void *arg)
{
    crowd *c = arg;
    for (long i = 0; i < c->count; i++) {
        if (c->sessions[i]) braid_session_close(c->sessions[i], NULL);
        c->sessions[i] = bench_open(c->graph, c->server, 0);
        bench_run(c->sessions[i], NULL, 0, c->target);
    }
}

static void run_one(void *arg)
{
    crowd *c = arg;
    bench_run(c->sessions[c->turn++ % c->count], NULL, 0, c->target);
}

static int serve_sessions(const char *what, long count)
{
    crowd c = {.count = count, .sessions = calloc((size_t)count, sizeof(braid_session *))};
    bench_check(c.sessions != NULL, "memory", "there is not enough");
    char json[BENCH_CLUSTER_SIZE];
    bench_cluster_json(1, 1, false, json, sizeof json);
    const pid_t ps = bench_start_ps(program_invocation_name, json, 0, "0");
    c.graph = braid_graph_new();
    c.server = bench_start_worker(json, 0, c.graph);
    braid_variable v =
        braid_variable_new(c.graph, "v", braid_zeros(c.graph, BRAID_FLOAT, BRAID_SHAPE(10)), true);
    braid_op *init = braid_global_variables_initializer(c.graph);
    c.target = braid_identity(c.graph, "received", v.read).op;
    braid_session *first = bench_open(c.graph, c.server, 0);
    bench_run(first, NULL, 0, init);
    open_all(&c);
    const int code =
        !strcmp(what, "open") ? bench_serve(open_all, &c, (double)count) : bench_serve(run_one, &c, 1);
    kill(ps, SIGTERM);
    waitpid(ps, NULL, 0);
    exit(code); // the sessions end with the process
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[1] : "";
    const long count = argc == 3 ? atol(argv[2]) : 0;
    const bool counts_sessions = !strcmp(what, "open") || !strcmp(what, "step");
    bench_check(count > 0 && (counts_sessions || !strcmp(what, "build") || !strcmp(what, "first") ||
                              !strcmp(what, "next")),
                "usage", "scale_bench build|first|next NODES | scale_bench open|step SESSIONS");
    return counts_sessions ? serve_sessions(what, count) : serve_nodes(what, count);
}
