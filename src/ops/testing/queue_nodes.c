// Makes queues and nodes on them for tests.
#include "ops/testing/queue_nodes.h"

#include "base/testing/test.h"
#include "ops/data_flow/queue.h"

static const braid_shape scalars[4] = {{0}};

static bool is_v2(const char *op)
{
    return strstr(op, "V2") != NULL;
}

braid_out queue_make(op_live *l, queue_spec s)
{
    static const braid_dtype int32 = BRAID_INT32;
    const char *op = s.op ? s.op : "FIFOQueueV2";
    const int before = strncmp(op, "Priority", 8) == 0; // the priority is in no attr
    int count = (s.types ? s.count : 1) - before;
    braid_op_desc *d = braid_op_begin(l->graph, op, s.name);
    braid_op_attr_type_list(d, "component_types", (s.types ? s.types : &int32) + before, count);
    if (!s.no_shapes || before)
        braid_op_attr_shape_list(d, "shapes", (s.shapes ? s.shapes : scalars) + before,
                                 s.no_shapes ? 0 : count);
    braid_op_attr_int(d, "capacity", s.capacity ? s.capacity : -1);
    if (s.shared_name) braid_op_attr_string(d, "shared_name", s.shared_name);
    if (strncmp(op, "Random", 6) == 0) {
        braid_op_attr_int(d, "min_after_dequeue", s.min_after_dequeue);
        braid_op_attr_int(d, "seed", s.seed);
        braid_op_attr_int(d, "seed2", s.seed2);
    }
    return braid_op_end_out(d);
}

braid_op *queue_enqueue_node(op_live *l, const char *op, braid_out queue, queue_spec s)
{
    braid_out in[4];
    int count = s.types ? s.count : 1;
    for (int i = 0; i < count; i++)
        in[i] = op_live_placeholder(l, s.types ? s.types[i] : BRAID_INT32);
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    braid_op_input(d, queue);
    braid_op_input_list(d, in, count);
    return braid_op_end(d);
}

braid_op *queue_dequeue_node(op_live *l, const char *op, braid_out queue, queue_spec s, bool many)
{
    static const braid_dtype int32 = BRAID_INT32;
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    braid_op_input(d, queue);
    if (many) braid_op_input(d, op_live_placeholder(l, BRAID_INT32));
    braid_op_attr_type_list(d, "component_types", s.types ? s.types : &int32, s.types ? s.count : 1);
    return braid_op_end(d);
}

// `flag`: an attr that is set to true; NULL: none.
static braid_op *plain_node(op_live *l, const char *op, braid_out queue, const char *flag)
{
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    braid_op_input(d, queue);
    if (flag) braid_op_attr_bool(d, flag, true);
    return braid_op_end(d);
}

queue_nodes queue_nodes_make(op_live *l, queue_spec s)
{
    braid_out q = queue_make(l, s);
    bool v2 = is_v2(s.op ? s.op : "FIFOQueueV2");
    queue_nodes n = {.live = l};
    n.enqueue = queue_enqueue_node(l, v2 ? "QueueEnqueueV2" : "QueueEnqueue", q, s);
    n.enqueue_many = queue_enqueue_node(l, v2 ? "QueueEnqueueManyV2" : "QueueEnqueueMany", q, s);
    n.dequeue = queue_dequeue_node(l, v2 ? "QueueDequeueV2" : "QueueDequeue", q, s, false);
    n.dequeue_many = queue_dequeue_node(l, v2 ? "QueueDequeueManyV2" : "QueueDequeueMany", q, s, true);
    n.dequeue_up_to = queue_dequeue_node(l, v2 ? "QueueDequeueUpToV2" : "QueueDequeueUpTo", q, s, true);
    n.close = plain_node(l, v2 ? "QueueCloseV2" : "QueueClose", q, NULL);
    n.cancel = plain_node(l, v2 ? "QueueCloseV2" : "QueueClose", q, "cancel_pending_enqueues");
    n.size = plain_node(l, v2 ? "QueueSizeV2" : "QueueSize", q, NULL);
    n.reset = plain_node(l, v2 ? "QueueSizeV2" : "QueueSize", q, BD_QUEUE_RESET_ATTR);
    n.is_closed = plain_node(l, v2 ? "QueueIsClosedV2" : "QueueIsClosed", q, NULL);
    BD_STATUS(st);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return n;
}
