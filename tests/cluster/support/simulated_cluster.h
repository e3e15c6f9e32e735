// A cluster whose tasks are simulated processes (base/testing/simulation.h), on a simulated network and a
// simulated disk that all share, started and restarted as `braid run` does.
#ifndef BD_TESTS_SIMULATED_CLUSTER_H
#define BD_TESTS_SIMULATED_CLUSTER_H

#include "base/random.h"
#include "base/status.h"
#include "base/testing/simulation.h"
#include "base/thread.h"
#include "cli/supervision.h"
#include "cluster/server.h"
#include "cluster/transport/transport.h"
#include <braid/braid.h>

#define SIM_TASKS_MAX 5
#define SIM_MS ((int64_t)1000000)
#define SIM_S (1000 * SIM_MS)

typedef struct sim_cluster sim_cluster;
typedef struct sim_task sim_task;

// One life of a task.
typedef struct sim_life {
    sim_task *task;
    bd_process *process;
    bd_transport *host;         // of its own threads
    braid_server *server;       // guarded by mu; NULL: not yet, or not any more
    char dir[48];               // of checkpoints, by a name of its own
    bool has_ended, is_crashed; // guarded by mu
    bool is_paused;             // guarded by mu
    bool is_terminating;        // a signal stops the server; guarded by mu
    int exit_code;              // of a program that ended by itself; guarded by mu
    char error[512];            // of a program that failed by itself
    struct sim_life *previous;
} sim_life;

struct sim_task {
    bd_supervised supervised; // guarded by mu
    sim_cluster *cluster;
    const char *job;
    int index, number; // number: from 0, of all tasks
    char name[16], address[24];
    sim_life *life; // the last; guarded by mu
    int lives;      // so far
};

typedef struct sim_options {
    uint64_t seed;
    int ps, workers, max_restarts;
    int64_t grace_ms;
    bd_inprocess_faults network;
    int64_t disk_delay_max_ns; // of an operation that changes the disk; ten times as much for a sync
    // The program of a task: returns its exit code.
    int (*program)(sim_life *life, void *arg);
    void *arg;
} sim_options;

struct sim_cluster {
    sim_options options;
    bd_rng rng; // of faults; used by the world's threads alone
    bd_transport *network;
    braid_cluster *spec;
    sim_task tasks[SIM_TASKS_MAX];
    int task_count;
    bd_mutex mu;
    bd_cond changed;
    bool is_over; // the run; guarded by mu
    bd_supervised *supervised[SIM_TASKS_MAX];
    bd_supervision supervision; // guarded by mu
    int64_t over_ns;            // when the run was over
    int64_t failed_ns;          // when a task has failed first; 0: none
    bool has_ps_failed;         // that task is a parameter server
    bool was_long;              // a fault took longer than the grace time allows
    int crashes;                // so far
    uint64_t disk_changes;      // so far
    uint64_t fault_at_change;   // disk_changes at which a fault is due; 0: none
    sim_life *waits_for_fault;  // that made this change
};

// Makes the cluster and the disk; tasks start with sim_cluster_run.
void sim_cluster_begin(sim_cluster *c, const sim_options *options);
// Runs all tasks to their end, by the rules of `braid run`, on the caller's thread (of the world).
void sim_cluster_run(sim_cluster *c);
// Frees what is left. Only when no task has crashed.
void sim_cluster_end(sim_cluster *c);

// ---- Inside a task's process ----

// Starts the task's server. NULL and an error.
braid_server *sim_life_serve(sim_life *life, braid_status *st);
// Frees the server.
void sim_life_unserve(sim_life *life);
// Keeps the words of the error that ends the program.
void sim_life_fail(sim_life *life, const braid_status *st);

// ---- Faults; all of them run on a thread of the world, and return at their end ----

typedef enum sim_fault {
    SIM_KILL,      // of a process
    SIM_POWER,     // its host loses the power: nothing is said to the others, unsynced writes may be lost
    SIM_PAUSE,     // SIGSTOP and SIGCONT
    SIM_PARTITION, // between a task and another, or all others; silent
    SIM_RESET,     // of all connections to a task
    SIM_FULL,      // the disk
    SIM_FAULTS
} sim_fault;

const char *sim_fault_name(sim_fault fault);
// `victim` NULL: a task drawn from the seed.
void sim_fault_run(sim_cluster *c, sim_fault fault, sim_life *victim, int64_t duration_ns);
// Waits until `changes` more changes were made to the disk, or the run is over (NULL). Returns the life that
// is about to make the next one, which waits until sim_fault_made.
sim_life *sim_fault_at_change(sim_cluster *c, uint64_t changes);
void sim_fault_made(sim_cluster *c);

#endif
