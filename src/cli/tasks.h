// The processes of a cluster on this host: starting them, their output, their end.
//
// States of a task: running -> ended (exit code or signal known) -> running again, if it is restarted. A run
// goes through: working -> ending (the parameter servers, or on a signal or the time limit all, were asked to
// end) -> killing (what had not ended in time was killed) -> over. Transitions are made in tasks.c by
// `on_child_ended`, `on_signal` and `on_deadline` alone. While a run is working, a task that fails is
// restarted after a pause, `max_restarts` times at most. A parameter server that failed has lost its
// variables: tasks that had ended well are started again with the next restart. A process of a replicated
// parameter server that fails is no loss while the other one runs: the run fails only with the second.
//
// A task of Braid says when its work is done (base/done_notice.h), before it ends: a worker
// when its training has ended, a parameter server when all workers have said so. It is not restarted after
// that, because the parameter servers may have ended, too. Nor is a parameter server once the work of all
// others is done.
#ifndef BD_CLI_TASKS_H
#define BD_CLI_TASKS_H

#include "prefix.h"
#include <stdint.h>
#include <sys/types.h>

typedef struct bd_task {
    char *name;              // "worker/1"; "ps/0.1" for replica 1 of a replicated task
    bool is_ps;              // is asked to end when the others have ended
    struct bd_task *partner; // the other process of a replicated task; NULL: the task has one
    char *tf_config;         // of its environment
    char prefixes[2][64];
    pid_t pid;         // 0 once it has ended; also its process group
    int exit_code;     // 128+N when killed by signal N
    int notice;        // the socket on which the task says that its work is done; -1: none
    bool said_done;    // since its last start
    bool asked_to_end; // its exit code does not count any more
    int restarts;      // so far
    int64_t started_ns;
    int64_t restart_ns; // when it is restarted; BD_FOREVER: it is not
    int first_failure;  // exit code of its first end that was a failure; 0: none
    bd_prefixed output[2];
} bd_task;

typedef struct bd_run {
    bd_task *tasks;
    int task_count;
    const char *program; // path
    char **argv;         // argv[0] is the program
    int64_t timeout_ms;  // 0: no timeout
    int max_restarts;    // of each task
    int64_t grace_ms;    // BRAID_GRACE_SECONDS of the tasks
} bd_run;

// Starts all tasks, waits for their end, leaves no process behind. Returns the exit code of the run.
int bd_run_tasks(bd_run *run);

#endif
