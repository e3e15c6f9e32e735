// A cluster of processes for a benchmark: a parameter server and this process as a worker.
#ifndef BD_BENCH_CLUSTER_H
#define BD_BENCH_CLUSTER_H

#include "cli/ports.h"
#include "hosts.h"
#include "session.h"
#include <braid/keys.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

// A port of loopback, reserved until this process ends.
static inline int bench_free_port(void)
{
    bd_port port;
    bench_check(bd_ports_take(&port, 1), "port", "none free");
    return port.number;
}

// The same on two hosts, with ports that are free in new namespaces.
static inline bool bench_hosts_json(char *json, size_t size)
{
    bench_hosts h;
    if (!bench_find_hosts(&h)) return false;
    snprintf(json, size, "{\"ps\": [\"%s:2222\"], \"worker\": [\"%s:2222\"]}", h.other, h.own);
    return true;
}

// `count` addresses of loopback as JSON strings, each followed by `second` ("", or '|' and another address).
static inline size_t bench_addresses(int count, const char *second, char *json, size_t size)
{
    size_t len = 0;
    for (int i = 0; i < count && len < size; i++)
        len += (size_t)snprintf(json + len, size - len, "%s\"127.0.0.1:%d%s\"", i ? ", " : "",
                                bench_free_port(), second);
    bench_check(len < size, "cluster", "too many tasks");
    return len;
}

enum {
    BENCH_CLUSTER_SIZE = 1024 // bytes of the JSON of a cluster: some 40 tasks
};

// Parameter servers, of one process each or (`is_copied`, one server) two, and workers on this host.
static inline void bench_cluster_json(int workers, int servers, bool is_copied, char *json, size_t size)
{
    char copy[32] = "";
    if (workers == 1 && servers == 1 && !is_copied && bench_hosts_json(json, size)) return;
    if (is_copied) snprintf(copy, sizeof copy, "|127.0.0.1:%d", bench_free_port());
    size_t len = (size_t)snprintf(json, size, "{\"ps\": [");
    len += bench_addresses(servers, copy, json + len, size - len);
    len += (size_t)snprintf(json + len, size - len, "], \"worker\": [");
    len += bench_addresses(workers, "", json + len, size - len);
    len += (size_t)snprintf(json + len, size - len, "]}");
    bench_check(len < size, "cluster", "too many tasks");
}

static char bench_keys[64];

static inline void bench_remove_keys(void)
{
    static const char *const files[] = {
        "task/ca.pem", "task/cert.pem", "task/key.pem", "task", "ca.pem", "ca.key", ""};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", bench_keys, files[i]);
        remove(path);
    }
}

// Calls of the tasks that are started from now on go over gRPC.
static inline void bench_use_grpc(void)
{
    setenv("BRAID_SHARED_MEMORY", "0", 1);
}

// The tasks that are started from now on have a certificate, which is removed at the end.
static inline void bench_use_certificates(void)
{
    char dir[128];
    braid_status *st = braid_status_new();
    snprintf(bench_keys, sizeof bench_keys, "/tmp/braid-bench-XXXXXX");
    bench_check(mkdtemp(bench_keys) != NULL, "keys", "no directory");
    bench_check(!braid_keys_new(bench_keys, st) &&
                    !braid_keys_add(bench_keys, "task", BRAID_ROLE_TASK, 1, st),
                "keys", braid_status_message(st));
    braid_status_free(st);
    snprintf(dir, sizeof dir, "%s/task", bench_keys);
    setenv("BRAID_TLS_DIR", dir, 1);
    atexit(bench_remove_keys);
}

// Starts `braid server`, which lies beside the program `self`, for a process of the parameter server `task`:
// "0", or its replica "1".
static inline pid_t bench_start_ps(const char *self, const char *json, int task, const char *replica)
{
    extern char **environ;
    char path[4096], number[16];
    const char *slash = strrchr(self, '/');
    snprintf(path, sizeof path, "%.*sbraid", slash ? (int)(slash - self + 1) : 0, self);
    snprintf(number, sizeof number, "%d", task);
    bench_hosts h;
    const bool is_elsewhere = bench_find_hosts(&h);
    char *argv[] = {"ip",
                    "netns",
                    "exec",
                    h.space,
                    path,
                    "server",
                    "--cluster",
                    (char *)json,
                    "--job",
                    "ps",
                    "--task",
                    number,
                    "--replica",
                    (char *)replica,
                    "--file-root",
                    "/",
                    is_elsewhere ? "--insecure" : NULL,
                    NULL};
    char **args = is_elsewhere ? argv : argv + 4;
    pid_t pid;
    bench_check(posix_spawnp(&pid, args[0], NULL, NULL, args, environ) == 0, path, "cannot be started");
    return pid;
}

// Starts this process as worker `index`; variables built in `g` after it are on the parameter server.
static inline braid_server *bench_start_worker(const char *json, int index, braid_graph *g)
{
    braid_status *st = braid_status_new();
    braid_cluster *cluster = braid_cluster_from_json(json, st);
    bench_check(cluster != NULL, "cluster", braid_status_message(st));
    bench_hosts h;
    const braid_server_options options = {
        .inter_op_threads = 1, .file_roots = "/", .insecure = bench_find_hosts(&h)};
    braid_server *server = braid_server_start(cluster, "worker", index, &options, st);
    bench_check(server != NULL, "server", braid_status_message(st));
    char device[32];
    snprintf(device, sizeof device, "/job:worker/task:%d", index);
    const braid_device_setter_options setter = {.worker_device = device};
    braid_push_device_setter(g, braid_replica_device_setter(g, cluster, &setter));
    braid_cluster_free(cluster);
    braid_status_free(st);
    return server;
}

// The most memory that a process has held so far, in bytes.
static inline double bench_peak_bytes(pid_t pid)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    bench_check(f != NULL, path, "cannot be read");
    double kib = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "VmHWM: %lf", &kib) == 1) break;
    }
    fclose(f);
    bench_check(kib > 0, path, "says no VmHWM");
    return kib * 1024;
}

#endif
