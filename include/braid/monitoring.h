// What the tasks of a cluster are doing, for those who operate it: each task describes itself.
//
// Over TLS a certificate of the role viewer is enough; else the rules are those of all calls
// (braid/server.h).
#ifndef BRAID_MONITORING_H
#define BRAID_MONITORING_H

#include <braid/run_metadata.h>
#include <braid/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a task knows of another one.
typedef enum braid_task_state {
    BRAID_TASK_UNKNOWN = 0, ///< it does not watch it: workers watch the parameter servers, and these them
    BRAID_TASK_UNSEEN = 1,  ///< it has never connected
    BRAID_TASK_CONNECTED = 2,
    BRAID_TASK_LOST = 3, ///< the connection is lost, and the task may come back
    BRAID_TASK_GONE = 4, ///< it is not waited for any more
    BRAID_TASK_DONE = 5  ///< its work is done
} braid_task_state;

/// Returns "connected" and so on. Static.
BRAID_API const char *braid_task_state_name(braid_task_state state);

typedef struct braid_known_task {
    const char *job;
    int index;
    const char *address; ///< of a task of two processes "host:port|host:port"
    braid_task_state state;
} braid_known_task;

/// A session whose master is the task.
typedef struct braid_described_session {
    const char *handle;
    const char *owner; ///< the caller that has opened it: "user 1000", "certificate 'trainer'"
    int64_t age_ms;
    uint64_t steps_ended, steps_failed;
    int steps_running;
} braid_described_session;

/// A step in progress, or the part of it that a task executes.
typedef struct braid_running_step {
    int64_t id; ///< the same on all tasks of the step
    const char *session;
    int64_t age_ms;
    const char *waits_for; ///< nodes, a few at most: "recv_x (_Recv from /job:ps/...)"; "": none, it computes
} braid_running_step;

/// How many steps took at most `up_to_seconds`, and longer than the class before allows. The bound of the
/// last class is infinite.
typedef struct braid_step_class {
    double up_to_seconds;
    uint64_t count;
} braid_step_class;

/// A task. Its lists are limited to what is oldest; numbers beside them count all. It owns what it points to.
typedef struct braid_task_description {
    const char *job;
    int index;
    const char *address;  ///< of this process
    const char *version;  ///< of Braid
    uint64_t incarnation; ///< another one after a restart, with which all counters begin again
    int64_t pid;
    bool is_serving;   ///< false: it is the standby of the task, or ends
    int64_t uptime_ms; ///< rates are differences of counters by differences of this

    int64_t resident_bytes; ///< of the process
    int64_t tensor_bytes;   ///< of all tensors of the process
    int64_t variable_count, variable_bytes;
    double processor_seconds; ///< that the process has used

    uint64_t steps_ended, steps_failed; ///< of its master, from the start on
    double step_seconds;                ///< their durations
    const braid_step_class *step_classes;
    int step_class_count;
    uint64_t executions_ended, executions_failed; ///< of its worker: parts of steps of any master
    uint64_t sent_bytes, received_bytes;          ///< of tensors, to and from other tasks
    uint64_t memory_bytes;   ///< of those received, read from the memory of a task on the same host
    uint64_t mpi_bytes;      ///< of those received, brought by MPI
    int shared_memory_links; ///< to and from processes of its host, over which calls go
    uint64_t calls;          ///< that it has received

    int calls_made; ///< in progress, to other tasks
    int sessions_open, steps_running, executions_running;

    const braid_known_task *tasks; ///< of the cluster, itself too
    int task_count;
    const braid_described_session *sessions;
    int session_count;
    const braid_running_step *steps; ///< of its master
    int step_count;
    const braid_running_step *executions; ///< of its worker
    int execution_count;
} braid_task_description;

typedef struct braid_monitor_options {
    int64_t timeout_ms; ///< of each description; 0: five seconds
    bool waits;         ///< for tasks that are not there yet, up to the timeout, instead of Unavailable
    /// The directory of a certificate (braid/keys.h). NULL: what the environment variable BRAID_TLS_DIR says;
    /// without it, or with "", there is no TLS. Borrowed for the call.
    const char *tls_dir;
} braid_monitor_options;

/// Asks the task at `address`, "host:port" or "unix:/path", and blocks until it answers. NULL on an error:
/// Unavailable when it cannot be reached, DeadlineExceeded, PermissionDenied, Unimplemented for a server that
/// is not Braid's. The caller frees the description.
BRAID_API braid_task_description *
braid_describe_task(const char *address, const braid_monitor_options *options, braid_status *status);
BRAID_API void braid_task_description_free(braid_task_description *description); ///< NULL is accepted

/// Waits for the next step that the master of the task at `address` begins, of any session, traces it, and
/// blocks until it has ended well. DeadlineExceeded when there is none within options->timeout_ms; otherwise
/// as braid_describe_task. The caller frees the record.
BRAID_API braid_run_metadata *braid_trace_task(const char *address, const braid_monitor_options *options,
                                               braid_status *status);

/// Returns the description as a JSON object, on one line; the caller frees it (free()).
BRAID_API char *braid_task_description_json(const braid_task_description *description);

/// For those who ask several tasks, or again and again: it keeps the connections.
typedef struct braid_monitor braid_monitor;

/// `options` NULL: the defaults. NULL on an error: those of the certificate.
BRAID_API braid_monitor *braid_monitor_new(const braid_monitor_options *options, braid_status *status);

/// Asks the tasks at `addresses` at the same time and blocks until each has answered or failed. Stores to
/// descriptions[i] what the caller frees, or NULL, and the error to statuses[i]. One thread at a time.
BRAID_API void braid_monitor_describe(braid_monitor *monitor, const char *const *addresses, int count,
                                      braid_task_description **descriptions, braid_status *const *statuses);

BRAID_API void braid_monitor_free(braid_monitor *monitor); ///< NULL is accepted

#ifdef __cplusplus
}
#endif
#endif
