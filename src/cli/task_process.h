// The process of a task.
#ifndef BD_CLI_TASK_PROCESS_H
#define BD_CLI_TASK_PROCESS_H

#include "tasks.h"
#include <signal.h>

// Starts the task with the signal mask `mask`; its lines go to the outputs. Returns 0, or errno.
int bd_task_start(bd_task *t, const bd_run *run, const sigset_t *mask, bd_task_output outputs[2]);
// Signals the processes of the task, if it runs.
void bd_task_signal(bd_task *t, int sig);
// Reads what the task has said: whether its work is done. Nothing is waited for: what a task that has ended
// said is there.
bool bd_task_says_done(bd_task *t);
// Reads what the task that has ended has written.
void bd_task_end_output(bd_task *t);

#endif
