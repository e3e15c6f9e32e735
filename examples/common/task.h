// A task of a cluster: what a program needs to know of it, and its server.
#ifndef TASK_H
#define TASK_H

#include <braid/braid.h>

typedef struct task {
    braid_cluster *cluster;
    braid_server *server; // NULL without a cluster: everything is in this process
    const char *job;      // "worker"
    int index;
    bool is_chief;
    int num_workers; // at least 1
    char device[64]; // "/job:worker/task:1"; "" without a cluster
} task;

// The whole of a program: finds its task in the environment (`braid run` sets it; without it the program runs
// alone), starts the server, serves if it is a parameter server, or calls `work`. Prints errors and returns
// the exit code.
int task_main(const char *program, braid_code (*work)(const task *t, braid_status *status));

// Makes variables of the graph lie on the parameter servers, and other nodes on the task's own device.
void task_place(const task *t, braid_graph *g);

// A session of the task: on its server, with the parameter servers and itself as the only tasks, so that it
// does not wait for other workers.
braid_session_options task_session(const task *t);

#endif
