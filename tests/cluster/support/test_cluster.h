// A cluster in the test's process, over gRPC or over the in-process transport.
#ifndef BD_TESTS_CLUSTER_H
#define BD_TESTS_CLUSTER_H

#include "base/status.h"
#include "base/thread.h"
#include "cli/ports.h"
#include "cluster/server.h"
#include "cluster/transport/transport.h"
#include <braid/braid.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Long enough for any machine that runs tests; a wait that gets there fails.
#define PATIENCE_MS 30000

#define TEST_TASKS_MAX 8

typedef struct test_task {
    const char *job;
    int index;
    braid_server *server; // NULL: not running
} test_task;

typedef struct test_cluster {
    bd_transport *network; // NULL: each server has gRPC of its own
    braid_cluster *spec;
    test_task tasks[TEST_TASKS_MAX];
    bd_port ports[TEST_TASKS_MAX]; // reserved while the cluster exists
    int task_count;
} test_cluster;

// Which transport a test's clusters use: what the group's state says.
typedef enum test_network {
    TEST_GRPC,
    TEST_IN_PROCESS
} test_network;

// A cluster of `ps` parameter servers and `workers` workers on free ports; none is started. From then on
// servers of this process and its children open all files to graphs (BRAID_FILE_ROOT), unless their options
// say otherwise.
test_cluster *test_cluster_new(test_network network, int ps, int workers);
test_cluster *test_cluster_new_on(bd_transport *network, int ps, int workers); // takes over the transport
void test_cluster_free(test_cluster *c);                                       // stops what runs

// NULL options: none. Fails the test when it does not start.
braid_server *test_start(test_cluster *c, const char *job, int index, const braid_server_options *options);
void test_start_all(test_cluster *c, const braid_server_options *options);
// As a process that dies: without saying done.
void test_kill(test_cluster *c, const char *job, int index);
braid_server *test_server(const test_cluster *c, const char *job, int index);

// A session on a task of the cluster: by direct call, or as a client elsewhere (on the cluster's transport).
braid_session *test_session(test_cluster *c, braid_graph *g, const char *job, int index,
                            const braid_session_options *options, braid_status *st);
braid_session *test_remote_session(test_cluster *c, braid_graph *g, const char *job, int index,
                                   const braid_session_options *options, braid_status *st);

// ---- Graphs and runs ----

#define PS "/job:ps/task:0"
#define WORKER "/job:worker/task:0"

// A node without attributes of its own on a device.
braid_out test_node(braid_graph *g, const char *op, const char *name, const char *device,
                    const braid_out *inputs, int count);
#define NODE(g, op, name, device, ...)                                                                       \
    test_node((g), (op), (name), (device), (const braid_out[]){__VA_ARGS__},                                 \
              (int)(sizeof((const braid_out[]){__VA_ARGS__}) / sizeof(braid_out)))
braid_out test_const(braid_graph *g, const char *name, const char *device, float value);
// A reference variable of one float, and the op that sets it to `initial`.
braid_out test_variable(braid_graph *g, const char *name, const char *device, float initial, braid_op **init);
// A node that waits for a tensor that nobody sends, after `after` (may be NULL) has run.
braid_out test_never(braid_graph *g, const char *name, const char *device, braid_op *after);

// Fetches one float; fails the test on an error.
float test_fetch(braid_session *s, braid_out out);
braid_code test_fetch_status(braid_session *s, braid_out out, int64_t timeout_ms, float *value,
                             braid_status *st);
void test_run(braid_session *s, braid_op *target);
braid_code test_run_status(braid_session *s, braid_op *target, int64_t timeout_ms, braid_status *st);

// A step that does not end by itself, run by another thread.
typedef struct test_blocked {
    braid_session *session;
    braid_out never;
    bd_thread thread;
    braid_status st; // of the step
} test_blocked;

// Begins it and returns when it is waiting on `device`. The session is new; nodes are added to its graph.
void test_blocked_start(test_blocked *b, braid_session *s, braid_graph *g, const char *device);
// Waits until the step has ended; `st` is the caller's (bd_status_fini).
void test_blocked_join(test_blocked *b);

// Asserts code and words of an error.
void assert_error(const braid_status *st, braid_code code, const char *words);

#endif
