// Cluster specifications: the tasks of a cluster and their addresses, from flags, JSON or the environment.
#ifndef BRAID_CLUSTER_H
#define BRAID_CLUSTER_H

#include <braid/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Jobs, their tasks and addresses, and which of them this process is. Immutable once made. An address is
/// host:port, host1:port1|host2:port2 for a task of job ps in two processes, its replicas 0 and 1, or
/// unix:/path of a socket in the file system, for tasks of one host.
typedef struct braid_cluster braid_cluster;

/// Makes a cluster from comma-separated lists of host:port (TensorFlow's --ps_hosts and --worker_hosts); NULL
/// or "" is an empty list. InvalidArgument for an entry that is no address or occurs twice.
BRAID_API braid_cluster *braid_cluster_from_hosts(const char *ps_hosts, const char *worker_hosts,
                                                  braid_status *status);

/// From JSON: {"ps": ["host:port", ...], "worker": {"1": "host:port"}}: lists, or maps from index to address.
BRAID_API braid_cluster *braid_cluster_from_json(const char *json, braid_status *status);

/// From the value of TF_CONFIG: {"cluster": {...}, "task": {"type": "worker", "index": 0}}. A process of a task
/// with two addresses says "replica": 0 or 1 beside "index". No cluster means local: a cluster without jobs.
BRAID_API braid_cluster *braid_cluster_from_tf_config(const char *tf_config, braid_status *status);

/// From the environment: TF_CONFIG if it is set, else what mpirun of Open MPI or srun of Slurm set for the
/// processes that they start, else a cluster without jobs. Of the processes of mpirun or srun the first
/// BRAID_PS (default 1) are the tasks of job ps, the others workers. They listen on port BRAID_PORT (default
/// 2222) plus their number on their host, on 127.0.0.1 if all are on one host. For mpirun on several hosts
/// BRAID_HOSTS names these: "host:tasks,host:tasks". InvalidArgument names a variable that is malformed.
BRAID_API braid_cluster *braid_cluster_from_env(braid_status *status);

/// NULL is accepted.
BRAID_API void braid_cluster_free(braid_cluster *cluster);

BRAID_API int braid_cluster_num_jobs(const braid_cluster *cluster);
/// Jobs in the order of their names. Owned by the cluster.
BRAID_API const char *braid_cluster_job(const braid_cluster *cluster, int index);
/// The number of tasks of a job; 0 for a job it does not have.
BRAID_API int braid_cluster_num_tasks(const braid_cluster *cluster, const char *job);
/// The index of the i-th task of a job (they need not be 0, 1, 2 ...).
BRAID_API int braid_cluster_task_index(const braid_cluster *cluster, const char *job, int i);
/// The address of task `index` of `job`, or NULL. Owned by the cluster.
BRAID_API const char *braid_cluster_address(const braid_cluster *cluster, const char *job, int index);

/// Returns the job of this process according to the environment; NULL when that names no task.
BRAID_API const char *braid_cluster_this_job(const braid_cluster *cluster);
BRAID_API int braid_cluster_this_task(const braid_cluster *cluster);

/// Returns another member of TF_CONFIG that is a text: "model_dir", "session_master" or "eval_session_master";
/// NULL when TF_CONFIG does not have it, or was not read. Owned by the cluster.
BRAID_API const char *braid_cluster_setting(const braid_cluster *cluster, const char *name);

#ifdef __cplusplus
}
#endif
#endif
