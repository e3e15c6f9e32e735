// A model of a training cluster in discrete events: how long steps take, how stale updates are, and where the
// limit is, from measured costs.
//
// A worker's round: it pulls the model from all parameter servers, computes `period` gradients, and pushes
// one update to all of them. A parameter server has one queue, in which requests wait for their turn: a
// request costs time of its own and, of an update, time to apply it. Bytes go over the parameter server's
// network. The transfers in progress share it equally, as connections of TCP do: a gradient that will be
// dropped slows those that come at the same time. The model is spread equally, so that all parameter servers
// are alike and one of them stands for all. A worker's own network is as fast as a parameter server's.
//
// Synchronous training hands out tokens as TensorFlow's SyncReplicasOptimizer and braid/sync_replicas.h do:
// an update makes one for each worker, with the update's number, in one queue. A worker takes the oldest
// after its gradient has arrived. A gradient for an update that has been made is dropped, so a token that a
// slow worker has left behind costs the worker that takes it a gradient.
#ifndef BD_CLI_CLUSTER_MODEL_H
#define BD_CLI_CLUSTER_MODEL_H

#include "base/random.h"
#include <stdbool.h>
#include <stdint.h>

// How workers take part in updates.
typedef enum bd_coordination {
    BD_ASYNCHRONOUS,
    BD_SYNCHRONOUS,      // with `backup` workers: the last gradients of an update are dropped
    BD_BOUNDED_STALENESS // no worker is more than `staleness` rounds ahead of the slowest
} bd_coordination;

// Seconds that gradient number `index` of a worker takes, both from 0.
typedef double (*bd_compute_time_fn)(const void *arg, int worker, int64_t index, bd_rng *rng);

// All in seconds, where not said otherwise.
typedef struct bd_cluster_costs {
    double compute;                        // of a gradient: the mean
    double compute_spread;                 // of its logarithm: the standard deviation, from step to step
    double worker_spread;                  // the same, from worker to worker
    double straggle_probability, straggle; // now and then a gradient takes longer: exponential, its mean
    double slow_worker;    // worker 0 takes so many times the others' time; 0: as long as the others
    double worker_request; // a worker's own work for a request to a parameter server
    double ps_request;     // a parameter server's for a request of a worker
    double apply_byte;     // a parameter server's for each byte of an update
    double latency;        // one way
    double bandwidth;      // bytes a second of a task's network, both ways together; 0: unlimited
    double model_bytes;    // all variables
    // Measured times to compute: in place of the six above them. NULL: none.
    bd_compute_time_fn compute_time;
    const void *compute_time_arg;
} bd_cluster_costs;

typedef struct bd_cluster_plan {
    int ps, workers;
    bd_coordination coordination;
    int backup;    // of BD_SYNCHRONOUS
    int staleness; // of BD_BOUNDED_STALENESS
    int period;    // gradients of a worker in a round, at least 1
} bd_cluster_plan;

typedef struct bd_cluster_forecast {
    double seconds;        // that were simulated
    double steps;          // gradients of all workers that count, a second
    double updates;        // a second
    double between;        // seconds from an update to the next: the median
    double round;          // of a worker: the median
    double waiting;        // the part of the workers' time in which they do not compute
    double ps_busy;        // the part of the time in which a parameter server, or its network, works
    double mean_staleness; // of updates
    int64_t max_staleness;
    int64_t max_lead; // in rounds, of a worker over the slowest
    double dropped;   // the part of the gradients
} bd_cluster_forecast;

// Costs of requests and of the network of a data centre; no model and no time to compute.
bd_cluster_costs bd_cluster_costs_defaults(void);
// The costs of a gradient, of the model and of the network, in a line without its end (bd_free).
char *bd_cluster_costs_text(const bd_cluster_costs *costs);

// How the workers of a training algorithm (braid/algorithms.h) take part, with its default options, for one
// parameter server; a sixteenth of them are backup workers. Returns false for an unknown name.
bool bd_cluster_plan_of(const char *algorithm, int workers, bd_cluster_plan *plan);

// Simulates `rounds` rounds of each worker on average, from a seed. The first tenth does not count. 1 to
// 100,000 workers.
bd_cluster_forecast bd_cluster_simulate(const bd_cluster_costs *costs, const bd_cluster_plan *plan,
                                        int rounds, uint64_t seed);

// ---- Looking on ----

// What happens to the variables.
typedef enum bd_cluster_moment {
    BD_READ,    // a worker reads them, for its next gradients
    BD_KEPT,    // a worker begins its next gradients with the variables that it has
    BD_ARRIVED, // a worker's gradients have come in time
    BD_DROPPED, // they have come too late
    BD_UPDATED  // the variables are changed: by the last worker that arrived, or by all since the last time
} bd_cluster_moment;

typedef struct bd_cluster_watch {
    void (*happened)(void *arg, bd_cluster_moment what, int worker, double seconds);
    void *arg;
} bd_cluster_watch;

// The same, and calls `watch` for each moment, in the order of time.
bd_cluster_forecast bd_cluster_watch_simulation(const bd_cluster_costs *costs, const bd_cluster_plan *plan,
                                                int rounds, uint64_t seed, const bd_cluster_watch *watch);

#endif
