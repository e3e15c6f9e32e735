// Traced steps as StepStats messages.
#include "runtime/step_stats_proto.h"

#include "base/arena.h"
#include "proto/pack.h"
#include "tensorflow/core/framework/step_stats.pb-c.h"
#include <string.h>

#define ALLOCATOR "cpu"

static Tensorflow__TensorShapeProto *make_shape(bd_arena *a, const braid_shape *shape)
{
    Tensorflow__TensorShapeProto *out = BD_ARENA_NEW(a, Tensorflow__TensorShapeProto);
    tensorflow__tensor_shape_proto__init(out);
    out->n_dim = (size_t)shape->rank;
    out->dim = BD_ARENA_ARRAY(a, Tensorflow__TensorShapeProto__Dim *, out->n_dim);
    for (int i = 0; i < shape->rank; i++) {
        out->dim[i] = BD_ARENA_NEW(a, Tensorflow__TensorShapeProto__Dim);
        tensorflow__tensor_shape_proto__dim__init(out->dim[i]);
        out->dim[i]->size = shape->dims[i];
    }
    return out;
}

static Tensorflow__NodeOutput *make_output(bd_arena *a, const bd_stats_output *in)
{
    Tensorflow__NodeOutput *out = BD_ARENA_NEW(a, Tensorflow__NodeOutput);
    Tensorflow__TensorDescription *tensor = BD_ARENA_NEW(a, Tensorflow__TensorDescription);
    Tensorflow__AllocationDescription *memory = BD_ARENA_NEW(a, Tensorflow__AllocationDescription);
    tensorflow__node_output__init(out);
    tensorflow__tensor_description__init(tensor);
    tensorflow__allocation_description__init(memory);
    memory->requested_bytes = (int64_t)in->bytes;
    memory->allocator_name = ALLOCATOR;
    memory->ptr = (uint64_t)(uintptr_t)in->ptr;
    memory->has_single_reference = in->is_new;
    tensor->dtype = (Tensorflow__DataType)in->dtype;
    tensor->shape = make_shape(a, &in->shape);
    tensor->allocation_description = memory;
    out->slot = in->slot;
    out->tensor_description = tensor;
    return out;
}

// Sets the memory that the node has allocated.
static void set_memory(bd_arena *a, Tensorflow__NodeExecStats *out, const bd_node_stats *in)
{
    int64_t bytes = 0;
    for (int i = 0; i < in->output_count; i++)
        if (in->outputs[i].is_new) bytes += (int64_t)in->outputs[i].bytes;
    Tensorflow__AllocatorMemoryUsed *used = BD_ARENA_NEW(a, Tensorflow__AllocatorMemoryUsed);
    tensorflow__allocator_memory_used__init(used);
    used->allocator_name = ALLOCATOR;
    used->total_bytes = used->peak_bytes = used->live_bytes = bytes;
    out->n_memory = 1;
    out->memory = BD_ARENA_NEW(a, Tensorflow__AllocatorMemoryUsed *);
    out->memory[0] = used;
}

static Tensorflow__NodeExecStats *make_node(bd_arena *a, const bd_node_stats *in)
{
    Tensorflow__NodeExecStats *out = BD_ARENA_NEW(a, Tensorflow__NodeExecStats);
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
    out->n_output = (size_t)in->output_count;
    out->output = BD_ARENA_ARRAY(a, Tensorflow__NodeOutput *, out->n_output);
    for (int i = 0; i < in->output_count; i++)
        out->output[i] = make_output(a, &in->outputs[i]);
    if (in->output_count) set_memory(a, out, in);
    return out;
}

void bd_step_stats_proto_write(bd_step_stats_collector *stats, const char *device, bd_message *out)
{
    bd_arena arena = {0};
    int count;
    bd_node_stats *items = bd_step_stats_collector_items(stats, &count);
    Tensorflow__NodeExecStats **nodes = BD_ARENA_ARRAY(&arena, Tensorflow__NodeExecStats *, (size_t)count);
    size_t used = 0;
    for (int i = 0; i < count; i++)
        if (!strcmp(items[i].device, device)) nodes[used++] = make_node(&arena, &items[i]);
    Tensorflow__DeviceStepStats on_device = TENSORFLOW__DEVICE_STEP_STATS__INIT;
    on_device.device = (char *)device;
    on_device.n_node_stats = used;
    on_device.node_stats = nodes;
    Tensorflow__DeviceStepStats *devices = &on_device;
    Tensorflow__StepStats message = TENSORFLOW__STEP_STATS__INIT;
    message.n_dev_stats = 1;
    message.dev_stats = &devices;
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, out);
    bd_proto_pack(&message.base, &writer);
    bd_wire_writer_finish(&writer);
    bd_arena_fini(&arena);
    bd_free(items);
}
