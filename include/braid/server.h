// Servers: one task of a cluster, in this process.
#ifndef BRAID_SERVER_H
#define BRAID_SERVER_H

#include <braid/cluster.h>
#include <braid/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_server_options {
    int64_t session_timeout_ms; ///< CreateSession gives up waiting for tasks after this; 0: never
    /// A run takes no longer than this if neither it nor its session names a time (operation_timeout_in_ms of
    /// a TensorFlow server's default_session_config); 0: any time.
    int64_t operation_timeout_ms;
    bool log_device_placement; ///< all its sessions log their placement (braid_session_options)
    /// What the sessions on the server have besides what they ask for themselves (default_session_config of
    /// a TensorFlow server): the device_filters are added to theirs, a flag that is set here is set for all,
    /// and the collective_leader is that of sessions that name none. Of the members these are read, and
    /// allow_soft_placement, log_device_placement, place_pruned_graph, enable_bfloat16_sendrecv,
    /// isolate_session_state and disabled_rewrites. NULL: nothing. Borrowed for the call.
    const braid_session_options *session_options;
    /// A worker or client whose connection is lost for this time, the grace time, is gone for good; 0: a
    /// minute, or what the environment variable BRAID_GRACE_SECONDS says.
    int64_t worker_gone_timeout_ms;
    /// The session of a TensorFlow client is closed when the client makes no call for this time; 0: never.
    int64_t session_idle_timeout_ms;
    /// The session of a TensorFlow client is also closed when the connection that used it last is lost for
    /// this time; 0: 600 s.
    int64_t client_lost_timeout_ms;
    /// Allows an address that is not loopback, and serves every process that reaches it; of no effect with a
    /// certificate. With neither, only processes of the server's own user may call, and of those in
    /// allow_users.
    bool insecure;
    int inter_op_threads; ///< 0: one a core
    /// CPU devices of the task, "/device:CPU:0" and so on, which share its memory, variables and threads
    /// (device_count of ConfigProto); at most 64; 0: one.
    int cpu_devices;
    /// Which process of a task that has the address host:port|host:port: 0 or 1. 0: what TF_CONFIG says, if
    /// the cluster is from TF_CONFIG and this is its task.
    int replica;
    /// Other users of this host whose processes may call: names or numbers, with commas in between; NULL:
    /// none. Borrowed for the call. Their graphs read and write files as the server's user.
    const char *allow_users;
    /// Directory of the task's certificate (braid/keys.h): the server then listens on any address, and serves
    /// and calls over TLS only, but for addresses unix:/path. NULL: what the environment variable
    /// BRAID_TLS_DIR says; without it, or with "", there is no TLS. Borrowed for the call.
    const char *tls_dir;
    /// The directories whose files graphs may read, write and list, at any depth: with colons in between, as
    /// in PATH; "/": all files that the server's user has; "none": no file. NULL: what the environment
    /// variable BRAID_FILE_ROOT says, or else the current directory. A path that leads elsewhere, also by a
    /// link or "..", gets PermissionDenied. It is about graphs that run on the server, those of the program's
    /// own sessions on it too, and not about what the program itself opens. A directory need not exist yet.
    /// Borrowed for the call.
    const char *file_roots;
    /// Limits of what callers may use, "sessions=10,memory=4G", with commas in between: connections, calls in
    /// progress and sessions by number; messages (whose calls are in progress) and memory (of tensors, by
    /// all) in bytes, with K, M, G or T; step-time in seconds. calls, messages and sessions are those of
    /// one caller: a user, a certificate, or, where every process may call, a host. A call beyond a limit
    /// gets ResourceExhausted, a step beyond step-time DeadlineExceeded. What is not named here has the
    /// value that the environment variable BRAID_LIMITS gives it, or a default (docs/running.md). NULL:
    /// none is named. Borrowed for the call.
    const char *limits;
    /// "host:port" of a web page that shows what the task is doing, with metrics for Prometheus at /metrics
    /// (braid/monitoring.h); port 0: a free one, which the log names. With a certificate it is HTTPS, for
    /// certificates of the role viewer or more; without one it is for loopback addresses and the users who
    /// may call the server, unless `insecure`. NULL: what the environment variable BRAID_MONITORING says;
    /// without it, or with "", there is none. Borrowed for the call.
    const char *monitoring_address;
    /// Addresses that sessions with a cluster of their own (braid_session_options.cluster) may have this
    /// server call, with commas in between: "host" (any port of it), "host:port", "unix:/path", or "*" (any).
    /// Callers of the role task, of which the server's own user is one, may name any address; an insecure
    /// server knows no caller. Addresses of the server's own cluster are always allowed. NULL: what the
    /// environment variable BRAID_SESSION_HOSTS says; without it, or with "", there are no others. Borrowed
    /// for the call.
    const char *session_hosts;
} braid_server_options;

/// Starts the server of task `index` of `job`: listens on its address (only loopback without a certificate,
/// unless options->insecure), serves MasterService and WorkerService, does not wait for other tasks. The
/// cluster is copied. From then on glibc's malloc keeps the memory of large messages (mallopt). Errors:
/// InvalidArgument for a task or replica that the cluster does not have, an unknown user, a file root that is
/// no directory, or a malformed limit; PermissionDenied for an address that is not loopback; AlreadyExists
/// for an address in use; Unauthenticated, NotFound or PermissionDenied for a certificate that cannot be
/// used.
BRAID_API braid_server *braid_server_start(const braid_cluster *cluster, const char *job, int index,
                                           const braid_server_options *options, braid_status *status);

/// Starts a server of a cluster with one task, on a free loopback port (tf.train.Server.create_local_server).
BRAID_API braid_server *braid_server_start_local(const braid_server_options *options, braid_status *status);

/// Adds a directory to those whose files graphs may use on this server (options.file_roots): a program names
/// its own directories so, as for its checkpoints, on each task that writes or reads them. Nothing is added
/// where BRAID_FILE_ROOT decides, or after "none". Sessions of the training library add their checkpoint_dir
/// or logdir on their own server. Any thread. InvalidArgument for an empty path or what is no directory.
BRAID_API braid_code braid_server_allow_files(braid_server *server, const char *dir, braid_status *status);

/// Returns "grpc://host:port", the target of sessions on the server. Owned by the server.
BRAID_API const char *braid_server_target(const braid_server *server);

/// Returns the task that is the chief of the server's cluster (braid_is_chief), as messages name it:
/// "/job:worker/task:0 at 127.0.0.1:2222"; NULL when the jobs do not tell. Owned by the server.
BRAID_API const char *braid_server_chief(const braid_server *server);
/// Whether that is the server's own task.
BRAID_API bool braid_server_is_chief(const braid_server *server);

/// Bytes of tensors that the task has sent to other tasks and received from them since it was started.
BRAID_API int64_t braid_server_tensor_bytes(const braid_server *server);

/// Blocks until every worker and chief of the cluster is done or gone for good, or until braid_server_stop.
/// When all of them only serve (braid_server_only_serves), braid_server_stop alone ends it. A task that has
/// never connected counts as gone two hours after the start, or what the environment variable
/// BRAID_START_TIMEOUT_SECONDS says. Unavailable, naming them, when tasks are gone without having said that
/// they are done.
BRAID_API braid_code braid_server_join(braid_server *server, braid_status *status);

/// Tells the other tasks that this task is done. A parameter server ends when all workers are done.
BRAID_API void braid_server_done(braid_server *server);

/// Tells the other tasks that this task has no work of its own: it serves the graphs of others, which do not
/// wait for it. When all tasks of the cluster have said so, their clients are outside it, and
/// braid_server_join waits for braid_server_stop. braid_server_done may follow when there was work after all.
BRAID_API void braid_server_only_serves(braid_server *server);

/// Tells the server that the work of its task has failed: braid_server_free then does not say that it is
/// done, and the parameter servers keep their variables for another try during the grace time.
BRAID_API void braid_server_failed(braid_server *server);

/// Ends the server: refuses new calls, ends sessions and steps with Cancelled or Aborted within `grace_ms`;
/// join returns. Any thread.
BRAID_API void braid_server_stop(braid_server *server, int64_t grace_ms);

/// Makes SIGTERM and SIGINT call braid_server_stop on this server, so that join returns and the program ends
/// cleanly. When a kernel of a library still runs 2.5 s later, the process ends without it: its exit code is
/// 128 plus the number of the signal.
BRAID_API void braid_server_stop_on_signals(braid_server *server);

/// Stops the server if need be, saying done unless braid_server_failed was called, and frees it; NULL is
/// accepted.
BRAID_API void braid_server_free(braid_server *server);

#ifdef __cplusplus
}
#endif
#endif
