"""The file of a profile, a ProfileProto, which the tools of tfprof read: the graph, and time and memory of steps."""

import re

from braid.tensorflow.core.profiler import tfprof_log_pb2
from braid.tensorflow.python.profiler import profile_nodes

_DEVICE = re.compile(r".*/(device:gpu|gpu|device:cpu|cpu|device:sycl):\d+")
_ACCELERATOR = re.compile(r"gpu|sycl")


def of_steps(graph, op_log, steps):
    """The ProfileProto of a graph and the RunMetadata of its steps by their numbers."""
    nodes = profile_nodes.of_graph(graph, op_log=op_log)
    operations = graph.get_operations()
    ids = {operation.name: i for i, operation in enumerate(operations)}
    result = tfprof_log_pb2.ProfileProto(steps=sorted(steps))
    for operation in operations:
        node = result.nodes[ids[operation.name]]
        _describe(node, operation, nodes[operation.name])
        node.id = ids[operation.name]
        for i, tensor in enumerate(operation.inputs):
            source = node.inputs[i] = ids[tensor.op.name]
            node.src_output_index[source] = tensor.value_index
            result.nodes[source].outputs[tensor.value_index] = node.id
            _set_shape(node.input_shapes, i, tensor)
    for step, run_meta in steps.items():
        for device in run_meta.step_stats.dev_stats:
            for stats in device.node_stats:
                name = stats.node_name.split(":")[0]
                if name in ids:
                    _add_stats(result.nodes[ids[name]], step, device.device.lower(), stats)
    return result


def _describe(node, operation, known):
    node.name, node.op = operation.name, operation.type
    node.float_ops = known.own["float_ops"]
    node.shape.extend(known.shape or ())
    node.op_types.extend(sorted({operation.type, *known.types}))
    for name, value in operation.node_def.attr.items():
        node.attrs[name].CopyFrom(value)
    for i, tensor in enumerate(operation.outputs):
        _set_shape(node.output_shapes, i, tensor)


def _set_shape(shapes, index, tensor):
    if tensor.shape.rank is not None:
        shapes[index].int64_values.extend(-1 if n is None else n for n in tensor.shape.as_list())


def _add_stats(node, step, device, stats):
    """Adds a run of a node to its step."""
    run = node.execs[step]
    run.run_count += 1
    is_accelerator = _ACCELERATOR.search(device) is not None
    if _DEVICE.fullmatch(device):
        if not node.canonical_device:
            node.canonical_device = device
            node.host_device = re.sub(r"(gpu|sycl):\d+", "cpu:0", device)
            node.op_types.append(device)
        if device not in run.devices:
            run.devices.append(device)
    duration = max(stats.op_end_rel_micros, 1)
    start, end = stats.all_start_micros, stats.all_start_micros + duration
    if start > 0:
        run.all_start_micros = min(run.all_start_micros or start, start)
        run.latest_end_micros = max(run.latest_end_micros, end)
        times = run.accelerator_execs if is_accelerator else run.cpu_execs
        times[device].times.add(int64_values=[start, duration])
    memory = run.memory_execs.add(memory_micros=start)
    for allocated in stats.memory:
        memory.requested_bytes += allocated.total_bytes
        memory.peak_bytes += allocated.peak_bytes
        memory.residual_bytes += allocated.live_bytes
        memory.allocator_bytes_in_use = max(memory.allocator_bytes_in_use, allocated.allocator_bytes_in_use)
        run.allocations.extend(allocated.allocation_records)
    place = "accelerator" if is_accelerator else "host"
    setattr(memory, place + "_temp_bytes", stats.memory_stats.temp_memory_size)
    setattr(memory, place + "_persistent_bytes", stats.memory_stats.persistent_memory_size)
    for output in stats.output:
        described = output.tensor_description.allocation_description
        size = max(described.allocated_bytes, described.requested_bytes)
        memory.output_bytes += size
        memory.output_memory[output.slot].bytes = size
        memory.output_memory[output.slot].ptr = described.ptr
