// The processes of a cluster, on this host or on others: starting them, their output, their end. For the
// rules see supervision.h.
#ifndef BD_CLI_TASKS_H
#define BD_CLI_TASKS_H

#include "prefix.h"
#include "remote_task.h"
#include "supervision.h"
#include "throwaway_keys.h"
#include <sys/types.h>

// The streams of a task: standard output, standard error, and what its ssh says.
#define BD_TASK_STREAMS 3

struct bd_task {
    bd_supervised supervised; // its name owned
    char *tf_config;          // of its environment
    char **argv;              // argv[0] is the program; the words owned
    char *host;               // not owned; NULL: this one
    char prefixes[2][64];
    pid_t pid;  // of its process, or of its ssh; 0 once it has ended; also its process group
    int notice; // the socket on which the task says that its work is done; -1: none
    bd_prefixed output[BD_TASK_STREAMS];
    bd_remote remote; // of a task on another host
};

struct bd_run {
    bd_task *tasks;
    int task_count;
    const char *program; // path
    int64_t timeout_ms;  // 0: no timeout
    int max_restarts;    // of each task
    int64_t grace_ms;    // BRAID_GRACE_SECONDS of the tasks
    // For tasks on other hosts:
    const char *ssh;               // the command that takes a host and a command, for the shell
    const char *braid;             // path of this program
    char *directory;               // where tasks run
    const bd_throwaway_keys *keys; // NULL: the tasks have no certificates of the run
};

// What is set in the environment of a task.
#define BD_TASK_VARIABLES 3
// Makes "NAME=value" (bd_free each).
void bd_task_variables(const bd_task *t, const bd_run *run, char *variables[BD_TASK_VARIABLES]);

// Starts all tasks, waits for their end, leaves no process behind. Returns the exit code of the run.
int bd_run_tasks(bd_run *run);

#endif
