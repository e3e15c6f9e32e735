// `braid server`: one task of a cluster as a program.
#include "base/alloc.h"
#include "base/log.h"
#include "base/shared_memory_variables.h"
#include "base/status.h"
#include "base/strbuf.h"
#include "command.h"
#include "flags.h"
#include <braid/server.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

// The limit of a cluster's description, which has a few lines; a longer file is a mistake.
#define CLUSTER_FILE_MAX (1 << 20)

typedef struct server_flags {
    const char *cluster, *job;
    int64_t task, session_timeout_ms, session_idle_timeout_ms, client_lost_timeout_ms, worker_gone_timeout_ms;
    int64_t cpu_devices, replica;
    bool insecure, no_shared_memory;
    const char *tls_dir;
    const char *allow_user, *file_root, *limits, *monitoring, *session_hosts;
} server_flags;

static bd_flags_result parse(server_flags *f, int argc, char **argv)
{
    const bd_flag table[] = {
        {"cluster", BD_FLAG_STRING, &f->cluster, 0, "JSON|FILE",
         "the cluster: '{\"ps\": [\"host:port\"], \"worker\": [...]}'"},
        {"job", BD_FLAG_STRING, &f->job, 0, "JOB", "the job of this task"},
        {"task", BD_FLAG_INT, &f->task, 0, "N", "the index of this task in its job, from 0"},
        {"replica", BD_FLAG_INT, &f->replica, 0, "N",
         "which process of a task at host:port|host:port: 0 (default) or 1"},
        {"tls-dir", BD_FLAG_STRING, &f->tls_dir, 0, "DIR",
         "speak TLS with the certificate in DIR (default: BRAID_TLS_DIR)"},
        {"insecure", BD_FLAG_BOOL, &f->insecure, 0, NULL,
         "allow other addresses than loopback, and serve any process"},
        {"allow-user", BD_FLAG_STRING, &f->allow_user, 0, "USER[,USER...]",
         "serve processes of these users of this host, too"},
        {"file-root", BD_FLAG_STRING, &f->file_root, 0, "DIR[:DIR...]",
         "graphs use files in these only; or none (default: here)"},
        {"limit", BD_FLAG_STRING, &f->limits, 0, "NAME=VALUE[,...]",
         "what callers may use: sessions=10,memory=4G (docs: running.md)"},
        {"no-shared-memory", BD_FLAG_BOOL, &f->no_shared_memory, 0, NULL,
         "share no memory with tasks of this host: all goes over gRPC"},
        {"monitoring", BD_FLAG_STRING, &f->monitoring, 0, "HOST:PORT",
         "show what the task is doing: a web page, and /metrics"},
        {"session-hosts", BD_FLAG_STRING, &f->session_hosts, 0, "HOST[:PORT][,...]",
         "what sessions with a cluster of their own may name; or *"},
        {"cpu-devices", BD_FLAG_INT, &f->cpu_devices, 1, "N",
         "CPU devices of the task, from /cpu:0 (default 1, at most 64)"},
        {"session-timeout", BD_FLAG_SECONDS, &f->session_timeout_ms, 0, "SECONDS",
         "fail a new session when a task stays missing (default: never)"},
        {"session-idle-timeout", BD_FLAG_SECONDS, &f->session_idle_timeout_ms, 0, "SECONDS",
         "close idle sessions of TensorFlow clients (default: never)"},
        {"client-lost-timeout", BD_FLAG_SECONDS, &f->client_lost_timeout_ms, 0, "SECONDS",
         "close them after their connection is lost (default 600)"},
        {"worker-gone-timeout", BD_FLAG_SECONDS, &f->worker_gone_timeout_ms, 0, "SECONDS",
         "when a lost worker or client counts as gone for good (default 60)"},
    };
    const bd_flags flags = {
        "braid server", "[OPTIONS]",
        "Serves one task of a cluster: a parameter server, or a worker that programs open sessions on.\n"
        "--cluster, --job and --task give the task, or the environment: TF_CONFIG, or what srun or mpirun\n"
        "set. The server ends when all workers are done, or on SIGTERM.\n\n"
        "Example:\n"
        "  braid server --cluster cluster.json --job ps --task 0",
        table, sizeof table / sizeof *table};
    int rest;
    bd_flags_result result = bd_flags_parse(&flags, argc, argv, &rest);
    if (result != BD_FLAGS_OK) return result;
    if (rest < argc) {
        fprintf(stderr, "braid server: unexpected argument '%s'. See 'braid server --help'.\n", argv[rest]);
        return BD_FLAGS_ERROR;
    }
    int given = !!f->cluster + !!f->job + (f->task >= 0);
    if (given != 0 && given != 3) {
        fprintf(
            stderr,
            "braid server: --cluster, --job and --task belong together (or set TF_CONFIG and give none).\n");
        return BD_FLAGS_ERROR;
    }
    return BD_FLAGS_OK;
}

static char *read_file(const char *path, braid_status *st)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        bd_fail(st, errno == ENOENT ? BRAID_NOT_FOUND : BRAID_PERMISSION_DENIED, "--cluster file '%s': %s",
                path, strerror(errno));
        return NULL;
    }
    char *text = bd_malloc(CLUSTER_FILE_MAX + 1);
    size_t len = fread(text, 1, CLUSTER_FILE_MAX + 1, file);
    bool failed = ferror(file);
    fclose(file);
    if (failed || len > CLUSTER_FILE_MAX) {
        bd_free(text);
        bd_fail(st, BRAID_INVALID_ARGUMENT, "--cluster file '%s' %s", path,
                failed ? "cannot be read" : "is too long to be a cluster's description");
        return NULL;
    }
    text[len] = 0;
    return text;
}

// --cluster holds JSON when it begins like an object, else the name of a file.
static braid_cluster *read_cluster(const char *argument, braid_status *st)
{
    if (argument[strspn(argument, " \t\r\n")] == '{') return braid_cluster_from_json(argument, st);
    char *text = read_file(argument, st);
    if (!text) return NULL;
    braid_cluster *cluster = braid_cluster_from_json(text, st);
    if (!cluster) bd_status_prefix(st, "'%s': ", argument);
    bd_free(text);
    return cluster;
}

static int fail(const braid_status *st)
{
    fprintf(stderr, "braid server: %s: %s\n", braid_code_name(braid_status_code(st)),
            braid_status_message(st));
    return 1;
}

static int serve(const braid_cluster *cluster, const char *job, int task, const server_flags *f)
{
    BD_STATUS(st);
    const braid_server_options options = {.session_timeout_ms = f->session_timeout_ms,
                                          .session_idle_timeout_ms = f->session_idle_timeout_ms,
                                          .client_lost_timeout_ms = f->client_lost_timeout_ms,
                                          .worker_gone_timeout_ms = f->worker_gone_timeout_ms,
                                          .insecure = f->insecure,
                                          .allow_users = f->allow_user,
                                          .tls_dir = f->tls_dir,
                                          .file_roots = f->file_root,
                                          .limits = f->limits,
                                          .monitoring_address = f->monitoring,
                                          .session_hosts = f->session_hosts,
                                          .cpu_devices = (int)f->cpu_devices,
                                          .replica = (int)f->replica};
    braid_server *server = braid_server_start(cluster, job, task, &options, st);
    if (!server) return fail(st);
    braid_server_stop_on_signals(server);
    bd_info("Serving /job:%s/task:%d at %s", job, task, braid_server_target(server));
    braid_code code = braid_server_join(server, st);
    braid_server_free(server);
    return code ? fail(st) : 0;
}

static int server_main(int argc, char **argv)
{
    server_flags f = {.task = -1};
    switch (parse(&f, argc, argv)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    if (f.no_shared_memory) bd_turn_off_shared_memory();
    BD_STATUS(st);
    braid_cluster *cluster = f.cluster ? read_cluster(f.cluster, st) : braid_cluster_from_env(st);
    if (!cluster) return fail(st);
    const char *job = f.job ? f.job : braid_cluster_this_job(cluster);
    int task = f.job ? (int)f.task : braid_cluster_this_task(cluster);
    int code;
    if (job) {
        code = serve(cluster, job, task, &f);
    } else {
        fprintf(stderr, "braid server: which task? Give --cluster, --job and --task, or set TF_CONFIG.\n");
        code = BD_EXIT_USAGE;
    }
    braid_cluster_free(cluster);
    return code;
}

BD_COMMAND(server) = {
    .name = "server",
    .usage = "[OPTIONS]",
    .summary = "serve one task of a cluster",
    .main = server_main,
};
