// Trials, by `braid run` in a process of its own.
#include "trial.h"

#include "process.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/curve_file.h"
#include <braid/algorithms.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// Moves what a stream has to the log; false at its end.
static bool drain(int from, FILE *log)
{
    char text[4096];
    ssize_t n;
    while ((n = read(from, text, sizeof text)) > 0)
        fwrite(text, 1, (size_t)n, log);
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static void log_output(const bd_process *p, FILE *log)
{
    struct pollfd streams[] = {{.fd = p->out, .events = POLLIN}, {.fd = p->err, .events = POLLIN}};
    while (streams[0].fd >= 0 || streams[1].fd >= 0) {
        if (poll(streams, 2, -1) < 0 && errno != EINTR) return; // ends with the process
        for (int i = 0; i < 2; i++)
            if (streams[i].revents && !drain(streams[i].fd, log)) streams[i].fd = -1;
    }
}

// Runs a command with a variable in its environment and its output in a file. Returns NULL after an exit code
// of 0, or else the text of the error.
static char *run_logged(char *const *argv, char *variable, const char *log_path)
{
    bd_process p = {0};
    FILE *log = fopen(log_path, "we");
    int error = log ? 0 : errno;
    if (log)
        error = bd_process_start(
            &p, &(bd_process_options){
                    .program = argv[0], .argv = argv, .variables = &variable, .variable_count = 1});
    if (error) {
        char *text = bd_asprintf("%s: %s", log ? argv[0] : log_path, strerror(error));
        if (log) fclose(log);
        return text;
    }
    log_output(&p, log);
    int status = 0;
    while (waitpid(p.pid, &status, 0) < 0 && errno == EINTR) {}
    close(p.out);
    close(p.err);
    fclose(log);
    if (status == 0) return NULL;
    return bd_asprintf("failed with exit code %d: see %s",
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), log_path);
}

static char *run(const bd_trial *t, const char *dir)
{
    char self[PATH_MAX], ps[16], workers[16];
    const ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len < 0) return bd_asprintf("/proc/self/exe: %s", strerror(errno));
    self[len] = '\0';
    snprintf(ps, sizeof ps, "%d", t->ps);
    snprintf(workers, sizeof workers, "%d", t->workers);
    char *algorithm = bd_asprintf("--algorithm=%s", t->algorithm), *log = bd_asprintf("%s/log", dir);
    char *variable = bd_asprintf(BD_CURVES_VARIABLE "=%s", dir);
    char *const head[] = {self, "run", "--ps", ps, "--workers", workers};
    BD_ARRAY(char *) argv = {0};
    for (size_t i = 0; i < BD_COUNTOF(head); i++)
        bd_array_push(&argv, head[i]);
    for (char *const *arg = t->program; *arg; arg++)
        bd_array_push(&argv, *arg);
    bd_array_push(&argv, algorithm);
    bd_array_push(&argv, NULL);
    char *error = run_logged(argv.items, variable, log);
    bd_array_free(&argv);
    bd_free(algorithm);
    bd_free(log);
    bd_free(variable);
    return error;
}

void bd_trial_refuse_algorithm(const char *command, const char *name)
{
    fprintf(stderr, "%s: there is no algorithm '%s'. There are:", command, name);
    for (int i = 0; braid_algorithm_at(i); i++)
        fprintf(stderr, "%s %s", i ? "," : "", braid_algorithm_at(i)->name);
    fprintf(stderr, "\n");
}

// Those of a trial before: this one may write none.
static void remove_curves(const char *dir)
{
    int failed = 0;
    for (int worker = 0; !failed; worker++) {
        char *path = bd_asprintf("%s/worker-%d.csv", dir, worker);
        failed = unlink(path);
        bd_free(path);
    }
}

char *bd_trial_run(const bd_trial *t, bd_curve *curve)
{
    if (mkdir(t->dir, 0777) && errno != EEXIST) return bd_asprintf("%s: %s", t->dir, strerror(errno));
    char absolute[PATH_MAX]; // the tasks may run elsewhere
    if (!realpath(t->dir, absolute)) return bd_asprintf("%s: %s", t->dir, strerror(errno));
    remove_curves(absolute);
    char *error = run(t, absolute);
    return error ? error : bd_curve_read(curve, absolute, t->workers);
}

void bd_trial_costs(const bd_curve *curve, bd_cluster_costs *costs)
{
    const bd_curve_point *p = &curve->points.items[curve->points.len - 1];
    const double rounds = p->updates > 0 ? p->updates : 1;
    costs->compute = p->steps > 0 ? (p->seconds - p->waiting) / p->steps : 0;
    costs->model_bytes = p->bytes / rounds / 2; // to the worker, and back
    const double requests = 2 * (costs->worker_request + costs->ps_request + costs->latency);
    const double moving = p->waiting / rounds - requests;
    costs->apply_byte = 0; // is in the bandwidth
    costs->bandwidth = moving > 0 && p->bytes > 0 ? p->bytes / rounds / moving : 0;
}
