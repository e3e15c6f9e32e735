// A step that only receives one tensor on a worker from a parameter server: by the way that they choose,
// without certificates or with them, or without shared memory over gRPC or TLS:
// `recv_bench [certificates|grpc|tls] BYTES`.
#include "cluster.h"

// Floats, or where these do not fit bytes, made where the variable is, so that no more than it is ever sent.
static braid_out fill(braid_graph *g, long bytes)
{
    const bool is_float = bytes % 4 == 0;
    const int32_t count = (int32_t)(is_float ? bytes / 4 : bytes);
    const braid_out one = braid_const_float(g, "value", 1),
                    value = is_float ? one : braid_cast(g, one, BRAID_UINT8);
    braid_out inputs[] = {braid_const_int32s(g, "dims", &count, 1), value};
    return braid_output(braid_op_add(g, "Fill", NULL, inputs, 2), 0);
}

int main(int argc, char **argv)
{
    const char *way = argc == 3 ? argv[1] : "";
    const bool is_tls = !strcmp(way, "tls"), is_grpc = !strcmp(way, "grpc");
    const bool has_certificates = is_tls || !strcmp(way, "certificates");
    const long bytes = argc == 2 || has_certificates || is_grpc ? atol(argv[argc - 1]) : 0;
    bench_check(bytes > 0 && bytes / 4 <= INT32_MAX, "usage", "recv_bench [certificates|grpc|tls] BYTES");
    if (has_certificates) bench_use_certificates();
    if (is_tls || is_grpc) bench_use_grpc();
    char json[128];
    bench_cluster_json(1, 1, false, json, sizeof json);
    pid_t ps = bench_start_ps(argv[0], json, 0, "0");
    braid_graph *g = braid_graph_new();
    braid_server *server = bench_start_worker(json, 0, g);
    braid_push_device(g, "/job:ps/task:0");
    braid_variable v = braid_variable_new(g, "v", fill(g, bytes), true);
    braid_pop_device(g);
    braid_op *init = braid_global_variables_initializer(g);
    bench_step b = {.target = braid_identity(g, "received", v.read).op};
    b.session = bench_open(g, server, 0);
    bench_run(b.session, NULL, 0, init);
    bench_serve(bench_step_run, &b, 1);
    braid_session_close(b.session, NULL);
    braid_server_free(server);
    waitpid(ps, NULL, 0);
    return 0;
}
