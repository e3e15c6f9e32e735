// A cluster inside Braid: jobs, tasks and addresses behind braid_cluster.
#ifndef BD_CLUSTER_SPEC_CLUSTER_SPEC_H
#define BD_CLUSTER_SPEC_CLUSTER_SPEC_H

#include "base/array.h"
#include "base/status.h"
#include <braid/cluster.h>

typedef struct bd_cluster_task {
    int index;
    char *address;
} bd_cluster_task;

typedef struct bd_cluster_job {
    char *name;
    BD_ARRAY(bd_cluster_task) tasks; // sorted by index
    bool is_sparse;                  // other tasks may know tasks of the job that are not listed here
} bd_cluster_job;

// Members of TF_CONFIG that are texts, in the order of bd_cluster_setting_names.
#define BD_CLUSTER_SETTINGS 3
extern const char *const bd_cluster_setting_names[BD_CLUSTER_SETTINGS];

struct braid_cluster {
    BD_ARRAY(bd_cluster_job) jobs; // sorted by name; each has a task
    bool is_sparse;                // as all jobs, and jobs may be missing
    char *this_job;                // NULL: unknown
    int this_task, this_replica;
    bool is_mpi_world; // the tasks are the ranks of a world of MPI: first those of ps, then the workers
    char *settings[BD_CLUSTER_SETTINGS]; // NULL: not given
};

braid_cluster *bd_cluster_new(void);
braid_cluster *bd_cluster_copy(const braid_cluster *c);

// InvalidArgument for an invalid name, a negative index, an address that bd_address_check refuses, or a task
// or address that exists, also one that is written in another way (bd_address_is_same).
braid_code bd_cluster_add(braid_cluster *c, const char *job, int64_t index, const char *address,
                          braid_status *st);
// Changes the address of an existing task, when its port is known.
void bd_cluster_set_address(braid_cluster *c, const char *job, int index, const char *address);
// Returns whether the cluster, being sparse, may lack a task of the job that other tasks know.
bool bd_cluster_may_lack(const braid_cluster *c, const char *job);
// Marks a job; no effect if the cluster has no task of it.
void bd_cluster_set_sparse(braid_cluster *c, const char *job);

int bd_cluster_task_count(const braid_cluster *c); // of all jobs
// Returns the "host:port" of one process of a task (bd_free). InvalidArgument for a task that the cluster, or
// a replica that the task does not have.
char *bd_cluster_replica_address(const braid_cluster *c, const char *job, int index, int replica,
                                 braid_status *st);

// A longer name cannot be resolved by DNS.
#define BD_HOST_LEN_MAX 253
// Splits "host:port" ("[v6]:port" gives the host without brackets); the host is copied to `host`.
// InvalidArgument for any other text.
braid_code bd_host_port_parse(const char *text, char host[BD_HOST_LEN_MAX + 1], int *port, braid_status *st);

// The address of a task is "host:port", or "host1:port1|host2:port2" for a task of two processes, its
// replicas, or "unix:/path" of a socket for tasks of one host.
#define BD_REPLICAS_MAX 2
// InvalidArgument for any other text.
braid_code bd_address_check(const char *address, braid_status *st);
// Of a valid address: 1 or 2.
int bd_address_replicas(const char *address);
// Returns the "host:port" of a replica (bd_free); NULL for one that the address does not have.
char *bd_address_of_replica(const char *address, int replica);

// Returns whether two valid addresses are the same but for the case of letters, or "localhost" in place of
// 127.0.0.1 or [::1].
bool bd_address_is_same(const char *a, const char *b);

// Returns the path of "unix:/path"; NULL: the address is of another kind.
const char *bd_address_unix_path(const char *address);

// 127.0.0.0/8, ::1 and "localhost".
bool bd_host_is_loopback(const char *host);

#endif
