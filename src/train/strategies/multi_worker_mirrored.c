// MultiWorkerMirroredStrategy: a replica in the graph of each task, with a copy of each variable. Tasks meet
// in collectives, which are numbered in the order in which they are built: the same in all graphs.
#include "train/strategies/strategy.h"

#include "train/common/build.h"
#include <string.h>

// Group and instance keys of strategies, away from those of small numbers that programs choose.
#define GROUP_KEY 0x5742
#define FIRST_INSTANCE 0x10000

static braid_op_desc *begin(braid_strategy *s, const char *op, braid_dtype dtype)
{
    braid_op_desc *d = braid_op_begin(s->graph, op, NULL);
    braid_op_attr_type(d, "T", dtype);
    braid_op_attr_int(d, "group_size", s->tasks);
    braid_op_attr_int(d, "group_key", GROUP_KEY);
    braid_op_attr_int(d, "instance_key", s->next_instance++);
    return d;
}

static bool is_carried(braid_dtype dtype)
{
    return dtype == BRAID_FLOAT || dtype == BRAID_DOUBLE || dtype == BRAID_HALF || dtype == BRAID_INT32 ||
           dtype == BRAID_INT64;
}

// The type that collectives carry; BRAID_INVALID, and the graph has failed, for another.
static braid_dtype carried(braid_strategy *s, braid_out value)
{
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(value));
    if (is_carried(dtype)) return dtype;
    if (value.op)
        braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT,
                         "'%s' is of type %s, which tasks cannot exchange: cast it to float, half, double, "
                         "int32 or int64",
                         braid_op_name(value.op), braid_dtype_name(dtype));
    return BRAID_INVALID;
}

static bool check_shape(braid_strategy *s, braid_out value)
{
    if (braid_shape_num_elements(braid_out_shape(value)) >= 0) return true;
    braid_graph_fail(s->graph, BRAID_INVALID_ARGUMENT,
                     "The shape of '%s' is not fully known: set it (braid_set_shape), so that tasks can "
                     "exchange the value",
                     braid_op_name(value.op));
    return false;
}

static braid_out reduce(braid_strategy *s, braid_reduce_kind kind, braid_out value)
{
    const braid_dtype dtype = carried(s, value);
    if (!dtype) return BRAID_NONE;
    train_push_replica(s, 0);
    braid_op_desc *d = begin(s, "CollectiveReduce", dtype);
    braid_op_input(d, value);
    braid_op_attr_string(d, "merge_op", "Add");
    braid_op_attr_string(d, "final_op", kind == BRAID_REDUCE_MEAN ? "Div" : "Id");
    braid_op_attr_int_list(d, "subdiv_offsets", (int64_t[]){0}, 1);
    const braid_out y = braid_op_end_out(d);
    train_pop_replica(s);
    return y;
}

static braid_out broadcast(braid_strategy *s, braid_out value)
{
    const braid_dtype dtype = carried(s, value);
    if (!dtype || !check_shape(s, value)) return BRAID_NONE;
    train_push_replica(s, 0);
    braid_op_desc *d = begin(s, s->task ? "CollectiveBcastRecv" : "CollectiveBcastSend", dtype);
    if (s->task == 0) braid_op_input(d, value);
    braid_op_attr_shape(d, "shape", braid_out_shape(value));
    const braid_out y = braid_op_end_out(d);
    train_pop_replica(s);
    return y;
}

static braid_out gather(braid_strategy *s, braid_out value)
{
    const braid_dtype dtype = carried(s, value);
    if (!dtype || !check_shape(s, value)) return BRAID_NONE;
    braid_shape shape = braid_out_shape(value);
    if (shape.rank > 0) shape.dims[0] *= s->tasks;
    train_push_replica(s, 0);
    braid_op_desc *d = begin(s, "CollectiveGather", dtype);
    braid_op_input(d, value);
    braid_op_attr_shape(d, "shape", shape);
    const braid_out y = braid_op_end_out(d);
    train_pop_replica(s);
    return y;
}

// The first value of a variable: that of task 0. A type that is not carried begins as each task has it.
static braid_out first_value(void *arg, braid_out initial_value)
{
    braid_strategy *s = arg;
    return is_carried(train_base_dtype(braid_out_dtype(initial_value))) ? broadcast(s, initial_value)
                                                                        : initial_value;
}

braid_strategy *braid_multi_worker_mirrored_strategy(braid_graph *g, const braid_cluster *cluster,
                                                     const char *job, int task)
{
    static const train_between between = {reduce, broadcast, gather};
    const int tasks = braid_cluster_num_tasks(cluster, job);
    char *device = bd_asprintf("/job:%s/task:%d/device:CPU:0", job, task);
    braid_strategy *s =
        train_strategy_new(g, "multi-worker mirrored strategy", (const char *const *)&device, 1);
    bd_free(device);
    if (task < 0 || task >= tasks) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "The cluster has no task %d of job '%s': it has %d", task,
                         job, tasks > 0 ? tasks : 0);
        return s;
    }
    s->tasks = tasks;
    s->task = task;
    s->next_instance = FIRST_INSTANCE;
    s->leader = bd_asprintf("/job:%s/replica:0/task:0", job);
    if (tasks > 1) {
        s->between = &between;
        s->replicas.first_value = first_value;
        s->replicas.arg = s;
    }
    return s;
}
