// A task on another host: an agent there (cmd_agent.c), started by ssh, is the parent of its process.
#ifndef BD_CLI_REMOTE_TASK_H
#define BD_CLI_REMOTE_TASK_H

#include "frames.h"
#include "prefix.h"
#include <signal.h>

typedef struct bd_task bd_task;
typedef struct bd_run bd_run;

// The connection to the agent of a task.
typedef struct bd_remote {
    int to, from; // pipes to and from ssh; -1: closed
    bd_byte_queue sending, receiving;
    bool has_agent; // HELLO has come
    bool has_ended; // the task has, with `exit_code`, or by the signal `sig` if that is not 0
    int exit_code, sig;
    const char *trouble; // why the connection was given up; NULL: it was not
    int64_t ping_ns, silence_ns;
} bd_remote;

// Starts ssh, which starts the agent, which starts the task. Returns 0, or errno.
int bd_remote_start(bd_task *t, const bd_run *run, const sigset_t *mask, bd_task_output outputs[2]);
// Reads a piece of what the agent has sent, without waiting: output, notices, the end. False: nothing is
// there.
bool bd_remote_read(bd_task *t);
void bd_remote_flush(bd_task *t);
// SIGKILL ends the connection as well: the agent then kills what it has started.
void bd_remote_signal(bd_task *t, int sig);
// Its output is not read now, so that nothing is expected from it.
void bd_remote_defer(bd_task *t);
// What is due at bd_remote_deadline (BD_FOREVER: nothing): asks for a sign of life, or gives the agent up.
int64_t bd_remote_deadline(const bd_task *t);
void bd_remote_act(bd_task *t);
// Closes the connection and reads the rest.
void bd_remote_end(bd_task *t);

#endif
