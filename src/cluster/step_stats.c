// Traced steps as StepStats messages.
#include "cluster/step_stats.h"
#include "base/alloc.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/step_stats.pb-c.h"

static void fill(Tensorflow__NodeExecStats *out, const bd_node_stats *in)
{
    tensorflow__node_exec_stats__init(out);
    const int64_t ran_ns = in->end_ns - in->start_ns;
    out->node_name = in->node;
    out->timeline_label = in->label;
    out->thread_id = in->thread;
    out->scheduled_micros = in->start_micros;
    out->scheduled_nanos = in->start_micros * 1000;
    out->all_start_micros = in->start_micros;
    out->all_start_nanos = in->start_micros * 1000;
    out->op_end_rel_micros = ran_ns / 1000;
    out->op_end_rel_nanos = ran_ns;
    out->all_end_rel_micros = ran_ns / 1000;
    out->all_end_rel_nanos = ran_ns;
}

void bd_step_stats_write(const bd_step_stats *stats, const char *device, bd_message *out)
{
    int count;
    const bd_node_stats *items = bd_step_stats_items(stats, &count);
    Tensorflow__NodeExecStats *nodes = bd_calloc((size_t)count, sizeof *nodes);
    Tensorflow__NodeExecStats **pointers = bd_calloc((size_t)count, sizeof(Tensorflow__NodeExecStats *));
    for (int i = 0; i < count; i++) {
        fill(&nodes[i], &items[i]);
        pointers[i] = &nodes[i];
    }
    Tensorflow__DeviceStepStats on_device = TENSORFLOW__DEVICE_STEP_STATS__INIT;
    on_device.device = (char *)device;
    on_device.n_node_stats = (size_t)count;
    on_device.node_stats = pointers;
    Tensorflow__DeviceStepStats *devices = &on_device;
    Tensorflow__StepStats message = TENSORFLOW__STEP_STATS__INIT;
    message.n_dev_stats = 1;
    message.dev_stats = &devices;
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, out);
    bd_proto_pack(&message.base, &writer);
    bd_wire_writer_finish(&writer);
    bd_free(pointers);
    bd_free(nodes);
}
