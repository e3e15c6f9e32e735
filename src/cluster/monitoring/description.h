// Descriptions of tasks: a server makes one of itself as a message, and all readers use the public struct.
#ifndef BD_CLUSTER_MONITORING_DESCRIPTION_H
#define BD_CLUSTER_MONITORING_DESCRIPTION_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "braid/monitoring.pb-c.h"
#include "cluster/master/master.h"
#include "cluster/membership/membership.h"
#include "cluster/worker/local_worker.h"
#include <braid/monitoring.h>

// The parts of a server that a description is made from. All outlive the calls.
typedef struct bd_description_env {
    const bd_peers *peers;
    bd_local_worker *worker;
    bd_master *master;
    bd_membership *membership;
    const char *address; // of this process
    uint64_t incarnation;
    int64_t start_ns; // the time of bd_now_ns
    atomic_ullong calls;
} bd_description_env;

// Describes the task. The message lives in the arena. Never waits for a lock that is held long.
Braid__DescribeResponse *bd_describe(const bd_description_env *env, bool is_serving, bd_arena *arena);

// The public form, which is a copy; the caller frees it by braid_task_description_free.
braid_task_description *bd_description_of(const Braid__DescribeResponse *message);

// Both at once.
braid_task_description *bd_describe_publicly(const bd_description_env *env, bool is_serving);

void bd_description_append_json(const braid_task_description *d, bd_strbuf *out);

// Prometheus' text format: counters and gauges whose names begin with braid_, or process_ where Prometheus
// has a name.
void bd_description_append_metrics(const braid_task_description *d, bd_strbuf *out);

#endif
