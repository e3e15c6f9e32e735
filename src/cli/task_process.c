// The process of a task: its environment, its streams, its start.
#include "task_process.h"
#include "base/alloc.h"
#include "base/wait_limits.h"
#include "process.h"
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// More pieces than a pipe holds.
#define PIECES_MAX 16

// All tasks start at once, so one that is missing for the grace time does not come.
void bd_task_variables(const bd_task *t, const bd_run *run, char *variables[BD_TASK_VARIABLES])
{
    variables[0] = bd_asprintf("TF_CONFIG=%s", t->tf_config);
    variables[1] = bd_asprintf(BD_GRACE_VARIABLE "=%g", (double)run->grace_ms / 1e3);
    variables[2] = bd_asprintf(BD_START_TIMEOUT_VARIABLE "=%g", (double)run->grace_ms / 1e3);
}

static int start_here(bd_task *t, const bd_run *run, const sigset_t *mask, bd_task_output outputs[2])
{
    char *variables[BD_TASK_VARIABLES];
    bd_task_variables(t, run, variables);
    const bd_process_options options = {.program = run->program,
                                        .argv = t->argv,
                                        .variables = variables,
                                        .variable_count = BD_TASK_VARIABLES,
                                        .has_notice = true,
                                        .mask = mask};
    bd_process p;
    const int error = bd_process_start(&p, &options);
    for (int i = 0; i < BD_TASK_VARIABLES; i++)
        bd_free(variables[i]);
    if (error) return error;
    t->pid = p.pid;
    if (t->notice >= 0) close(t->notice);
    t->notice = p.notice;
    t->output[0] = (bd_prefixed){.from = p.out, .to = &outputs[0], .prefix = t->prefixes[0]};
    t->output[1] = (bd_prefixed){.from = p.err, .to = &outputs[1], .prefix = t->prefixes[1]};
    return 0;
}

int bd_task_start(bd_task *t, const bd_run *run, const sigset_t *mask, bd_task_output outputs[2])
{
    return t->host ? bd_remote_start(t, run, mask, outputs) : start_here(t, run, mask, outputs);
}

void bd_task_signal(bd_task *t, int sig)
{
    if (t->host)
        bd_remote_signal(t, sig);
    else if (t->pid)
        kill(-t->pid, sig);
}

bool bd_task_says_done(bd_task *t)
{
    for (int i = 0; t->host && i < PIECES_MAX && bd_remote_read(t); i++) {}
    char text[256], *line = bd_asprintf("done %s\n", t->supervised.name);
    const ssize_t len = t->notice >= 0 ? recv(t->notice, text, sizeof text - 1, MSG_DONTWAIT) : -1;
    text[len > 0 ? len : 0] = '\0';
    const bool is_done = strstr(text, line);
    bd_free(line);
    return is_done;
}

void bd_task_end_output(bd_task *t)
{
    if (t->host) bd_remote_end(t);
    for (int i = 0; i < BD_TASK_STREAMS; i++) {
        bd_prefixed *p = &t->output[i];
        while (p->from >= 0 && bd_prefixed_pump(p) == BD_PUMP_MORE)
            continue;
        bd_prefixed_end(p);
    }
}
