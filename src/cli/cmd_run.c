// `braid run`: a whole cluster on this host, one process a task, for any program that reads TF_CONFIG.
#include "base/alloc.h"
#include "command.h"
#include "flags.h"
#include "ports.h"
#include "tasks.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// More processes than this on one host is a slip of the finger.
#define TASKS_MAX 1000
#define GRACE_DEFAULT_MS 60000
#define REPLICAS_MAX 2

typedef struct run_flags {
    int64_t ps, ps_replicas, workers, timeout_ms, restarts, grace_ms;
    bool chief;
    int program; // its index in argv
} run_flags;

static bd_flags_result parse(run_flags *f, int argc, char **argv)
{
    const bd_flag table[] = {
        {"ps", BD_FLAG_INT, &f->ps, 0, "N", "parameter servers (default 1)"},
        {"ps-replicas", BD_FLAG_INT, &f->ps_replicas, 0, "N",
         "processes of each parameter server, 1 (default) or 2"},
        {"workers", BD_FLAG_INT, &f->workers, 0, "N", "workers (default 1)"},
        {"chief", BD_FLAG_BOOL, &f->chief, 0, NULL,
         "a chief besides the workers; without it worker 0 is the chief"},
        {"timeout", BD_FLAG_SECONDS, &f->timeout_ms, 0, "SECONDS",
         "end all tasks after this time, with exit code 124 (default: never)"},
        {"restarts", BD_FLAG_INT, &f->restarts, 0, "N",
         "restart each task that fails, N times at most (default 0)"},
        {"grace", BD_FLAG_SECONDS, &f->grace_ms, 0, "SECONDS",
         "how long tasks wait for a lost one (default 60)"},
    };
    const bd_flags flags = {
        "braid run", "[OPTIONS] PROGRAM [ARGS...]",
        "Starts PROGRAM once for every task of a cluster on this host, and waits until the chief and all\n"
        "workers have ended; then it ends the parameter servers. Each process finds its cluster and its task\n"
        "in the environment variable TF_CONFIG. Each line of output begins with the name of its task.\n"
        "A PROGRAM without a slash is searched beside braid, then in PATH.\n"
        "The exit code is the first failing task's, 128+N if signal N killed it; 0 if none failed, or those\n"
        "that failed were restarted.\n\n"
        "Examples:\n"
        "  braid run --ps 1 --workers 2 mnist_replica --train_steps=2000\n"
        "  braid run --restarts 3 mnist_replica --log_dir=/tmp/model --train_steps=20000\n"
        "  braid run --ps-replicas 2 --workers 2 mnist_replica --train_steps=20000\n"
        "  braid run --ps 2 --workers 3 --chief --timeout 600 python3 train.py",
        table, sizeof table / sizeof *table};
    bd_flags_result result = bd_flags_parse(&flags, argc, argv, &f->program);
    if (result != BD_FLAGS_OK) return result;
    if (f->program == argc) {
        fprintf(stderr, "braid run: which program? Usage: braid run %s\n", flags.usage);
        return BD_FLAGS_ERROR;
    }
    if (f->workers + f->chief == 0) {
        fprintf(stderr, "braid run: --workers 0 without --chief leaves no task that trains.\n");
        return BD_FLAGS_ERROR;
    }
    if (f->ps_replicas < 1 || f->ps_replicas > REPLICAS_MAX) {
        fprintf(stderr, "braid run: --ps-replicas is 1 or %d.\n", REPLICAS_MAX);
        return BD_FLAGS_ERROR;
    }
    if (f->ps * f->ps_replicas + f->workers > TASKS_MAX) {
        fprintf(stderr, "braid run: at most %d tasks on one host.\n", TASKS_MAX);
        return BD_FLAGS_ERROR;
    }
    return BD_FLAGS_OK;
}

// ---- The program ----

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

static char *in_directory(const char *directory, size_t len, const char *name)
{
    char *path = bd_asprintf("%.*s/%s", len ? (int)len : 1, len ? directory : ".", name);
    if (is_program(path)) return path;
    bd_free(path);
    return NULL;
}

// The path of the program (bd_free); NULL when it is not found.
static char *find_program(const char *name)
{
    if (strchr(name, '/')) return is_program(name) ? bd_strdup(name) : NULL;
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n > 0) {
        self[n] = 0;
        char *path = in_directory(self, (size_t)(strrchr(self, '/') - self), name);
        if (path) return path;
    }
    const char *rest = getenv("PATH"), *piece;
    size_t len;
    while (rest && bd_split_next(&rest, ':', &piece, &len)) {
        char *path = in_directory(piece, len, name);
        if (path) return path;
    }
    return NULL;
}

// ---- The cluster ----

typedef struct job {
    const char *name;
    int count, replicas; // tasks, and processes of each
} job;

static void describe_cluster(const job *jobs, int job_count, const bd_port *ports, bd_strbuf *out)
{
    int port = 0;
    bool first = true;
    for (int j = 0; j < job_count; j++) {
        if (!jobs[j].count) continue;
        bd_strbuf_appendf(out, "%s\"%s\": [", first ? "{" : ", ", jobs[j].name);
        first = false;
        for (int i = 0; i < jobs[j].count * jobs[j].replicas; i++) {
            const bool is_first = i % jobs[j].replicas == 0, is_last = (i + 1) % jobs[j].replicas == 0;
            bd_strbuf_appendf(out, "%s127.0.0.1:%d%s", is_first ? (i ? ", \"" : "\"") : "|",
                              ports[port++].number, is_last ? "\"" : "");
        }
        bd_strbuf_append_char(out, ']');
    }
    bd_strbuf_append_char(out, '}');
}

static void make_prefixes(bd_task *t, int width, int colour)
{
    for (int i = 0; i < 2; i++) {
        bool coloured = isatty(i + 1) && !getenv("NO_COLOR");
        if (coloured)
            snprintf(t->prefixes[i], sizeof t->prefixes[i], "\033[%dm%-*s |\033[0m ", 31 + colour % 6, width,
                     t->name);
        else
            snprintf(t->prefixes[i], sizeof t->prefixes[i], "%s | ", t->name);
    }
}

static void make_tasks(bd_run *run, const job *jobs, int job_count, const char *cluster)
{
    int width = 0;
    for (int j = 0, n = 0; j < job_count; j++)
        for (int i = 0; i < jobs[j].count * jobs[j].replicas; i++) {
            bd_task *t = &run->tasks[n++];
            const int task = i / jobs[j].replicas, replica = i % jobs[j].replicas;
            char name[16] = "", field[32] = "";
            if (jobs[j].replicas > 1) {
                snprintf(name, sizeof name, ".%d", replica);
                snprintf(field, sizeof field, ", \"replica\": %d", replica);
                t->partner = replica == 0 ? t + 1 : t - 1;
            }
            t->name = bd_asprintf("%s/%d%s", jobs[j].name, task, name);
            t->is_ps = !strcmp(jobs[j].name, "ps");
            t->tf_config = bd_asprintf("{\"cluster\": %s, \"task\": {\"type\": \"%s\", \"index\": %d%s}}",
                                       cluster, jobs[j].name, task, field);
            if ((int)strlen(t->name) > width) width = (int)strlen(t->name);
        }
    for (int i = 0; i < run->task_count; i++)
        make_prefixes(&run->tasks[i], width, i);
}

static int run_cluster(const run_flags *f, bd_run *run)
{
    const job jobs[] = {
        {"ps", (int)f->ps, (int)f->ps_replicas}, {"chief", f->chief, 1}, {"worker", (int)f->workers, 1}};
    const int job_count = sizeof jobs / sizeof *jobs;
    run->task_count = (int)(f->ps * f->ps_replicas + f->chief + f->workers);
    bd_port *ports = bd_calloc((size_t)run->task_count, sizeof *ports);
    if (!bd_ports_take(ports, run->task_count)) {
        fprintf(stderr, "braid run: no %d free loopback ports: %s\n", run->task_count, strerror(errno));
        bd_free(ports);
        return 1;
    }
    bd_strbuf cluster = {0};
    describe_cluster(jobs, job_count, ports, &cluster);
    run->tasks = bd_calloc((size_t)run->task_count, sizeof *run->tasks);
    make_tasks(run, jobs, job_count, cluster.data);
    int code = bd_run_tasks(run);
    for (int i = 0; i < run->task_count; i++) {
        bd_free(run->tasks[i].name);
        bd_free(run->tasks[i].tf_config);
    }
    bd_free(run->tasks);
    bd_strbuf_fini(&cluster);
    bd_ports_release(ports, run->task_count);
    bd_free(ports);
    return code;
}

static int run_main(int argc, char **argv)
{
    run_flags f = {.ps = 1, .ps_replicas = 1, .workers = 1, .grace_ms = GRACE_DEFAULT_MS};
    switch (parse(&f, argc, argv)) {
    case BD_FLAGS_HELP: return 0;
    case BD_FLAGS_ERROR: return BD_EXIT_USAGE;
    case BD_FLAGS_OK: break;
    }
    const char *name = argv[f.program];
    char *path = find_program(name);
    if (!path) {
        fprintf(stderr, "braid run: no program '%s'%s.\n", name,
                strchr(name, '/') ? " that can be run" : " beside braid or in PATH");
        return BD_EXIT_USAGE;
    }
    bd_run run = {.program = path,
                  .argv = argv + f.program,
                  .timeout_ms = f.timeout_ms,
                  .max_restarts = (int)f.restarts,
                  .grace_ms = f.grace_ms};
    int code = run_cluster(&f, &run);
    bd_free(path);
    return code;
}

BD_COMMAND(run) = {
    .name = "run",
    .usage = "[OPTIONS] PROGRAM [ARGS...]",
    .summary = "run a program as a whole cluster on this host",
    .main = run_main,
};
