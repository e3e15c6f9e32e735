"""All-reduce as ops of one graph: each device gets the reduction of the tensors of all.

A function takes a tensor of each device, all of one shape and type, and returns as many results, each on the
device of its tensor. `red_op` reduces elementwise; `un_op`, where given, is applied to each piece of the
reduced tensor once, on the device that has reduced it.
"""

import math

from braid.tensorflow.python.framework import device as device_lib
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops, math_ops, nccl_ops

__all__ = [
    "build_nccl_all_reduce",
    "build_nccl_then_recursive_hd",
    "build_nccl_then_ring",
    "build_nccl_then_shuffle",
    "build_recursive_hd_all_reduce",
    "build_ring_all_reduce",
    "build_shuffle_all_reduce",
    "build_shuffle_then_ring",
    "build_shuffle_then_shuffle",
]


# ---- Tensors as vectors ----


def _flatten_tensors(tensors):
    """The tensors as vectors, each on its device, and their shape. ValueError: there are none, or shapes
    differ.
    """
    if not tensors:
        raise ValueError("tensors cannot be empty")
    shape = tensors[0].shape
    for t in tensors:
        shape = shape.merge_with(t.shape)
    if not shape.is_fully_defined():
        raise ValueError("Tensors must have statically known shape.")
    return [_on(t.device, array_ops.reshape, t, [-1]) for t in tensors], shape


def _reshape_tensors(tensors, shape):
    return [_on(t.device, array_ops.reshape, t, shape) for t in tensors]


def _on(device, function, *args):
    with ops.device(device):
        return function(*args)


def _length(vector):
    return tensor_shape.dimension_value(vector.shape[0])


def _pieces(vector, count):
    """A vector in `count` pieces of one length, the last ones filled up with zeros, and how many these are."""
    size = -(-_length(vector) // count)
    padding = size * count - _length(vector)
    with ops.device(vector.device):
        if padding:
            vector = array_ops.concat([vector, array_ops.zeros([padding], vector.dtype)], 0)
        return array_ops.split(vector, count), padding


def _joined(device, pieces, padding=0):
    with ops.device(device):
        whole = array_ops.concat(pieces, 0) if len(pieces) > 1 else array_ops.identity(pieces[0])
        return whole[: _length(whole) - padding] if padding else whole


def _finished(un_op, piece):
    if un_op is None:
        return piece
    with ops.colocate_with(piece):
        return un_op(piece)


# ---- Algorithms ----


def _rings(workers, subchunks, gpu_perm):
    """For each subchunk, the numbers of the devices around its ring: those of a worker in the order of
    `gpu_perm`, which begins at another device for each subchunk.
    """
    gpus = len(gpu_perm)
    if not 1 <= subchunks <= gpus:
        raise ValueError(f"num_subchunks {subchunks} must be <= num_gpus {gpus}")
    step = gpus // subchunks
    return [
        [w * gpus + gpu_perm[(k + s * step) % gpus] for w in range(workers) for k in range(gpus)]
        for s in range(subchunks)
    ]


def build_ring_all_reduce(input_tensors, num_workers, num_subchunks, gpu_perm, red_op, un_op=None):
    """Around a ring: each piece is reduced on its way around, and then goes around once more.

    The tensors are those of worker 0 first, then those of worker 1. `gpu_perm` is the order of a worker's
    devices. `num_subchunks` rings, each with another beginning, work on different pieces.
    """
    if len(input_tensors) < 2:
        raise ValueError("input_tensors must be length 2 or longer")
    vectors, shape = _flatten_tensors(input_tensors)
    devices = [t.device for t in input_tensors]
    rings = _rings(num_workers, num_subchunks, gpu_perm)
    count = len(vectors)
    if any(sorted(ring) != list(range(count)) for ring in rings):
        raise ValueError(f"{num_workers} workers with devices {gpu_perm} have not {count} input_tensors")
    split = [_pieces(v, count * num_subchunks) for v in vectors]
    padding = split[0][1]
    pieces = [list(of_device) for of_device, _ in split]
    for s, ring in enumerate(rings):
        for first in range(count):
            piece = first * num_subchunks + s
            value = pieces[ring[first]][piece]
            for k in range(1, count):
                d = ring[(first + k) % count]
                value = _on(devices[d], red_op, value, pieces[d][piece])
            value = _finished(un_op, value)
            last = first + count - 1
            pieces[ring[last % count]][piece] = value
            for k in range(1, count):
                d = ring[(last + k) % count]
                value = pieces[d][piece] = _on(devices[d], array_ops.identity, value)
    results = [_joined(device, own, padding) for device, own in zip(devices, pieces)]
    return _reshape_tensors(results, shape)


def build_recursive_hd_all_reduce(input_tensors, red_op, un_op=None):
    """By halves: in each round a device exchanges half of what it has with one twice as far away.

    ValueError: the number of tensors is no power of 2, or does not divide their length.
    """
    devices = [t.device for t in input_tensors]
    vectors, shape = _flatten_tensors(input_tensors)
    rounds = int(math.log(len(vectors), 2))
    if len(vectors) != 2**rounds:
        raise ValueError("num_devices must be a power of 2")
    if _length(vectors[0]) % len(vectors):
        raise ValueError(f"the {_length(vectors[0])} elements cannot be halved {rounds} times")
    for r in range(rounds):
        halves = [_on(device, array_ops.split, v, 2) for device, v in zip(devices, vectors)]
        for d, device in enumerate(devices):
            side = d >> r & 1
            pair = (halves[d][side], halves[d ^ 1 << r][side])
            vectors[d] = _on(device, red_op, *(pair[::-1] if side else pair))
    vectors = [_finished(un_op, v) for v in vectors]
    for r in reversed(range(rounds)):
        before = list(vectors)
        for d, device in enumerate(devices):
            pair = (before[d], before[d ^ 1 << r])
            vectors[d] = _joined(device, pair[::-1] if d >> r & 1 else pair)
    return _reshape_tensors(vectors, shape)


def build_shuffle_all_reduce(input_tensors, gather_devices, red_op, un_op=None):
    """By shards, as parameter servers: each gather device reduces a piece of all tensors, all get the result.

    `red_op` takes a list of tensors.
    """
    vectors, shape = _flatten_tensors(input_tensors)
    devices = [t.device for t in input_tensors]
    results = _shuffle_scatter(_shuffle_gather(vectors, gather_devices, red_op, un_op), devices)
    return _reshape_tensors(results, shape)


def _shuffle_gather(vectors, gather_devices, red_op, un_op=None):
    if not gather_devices:
        raise ValueError("gather_devices cannot be empty")
    count, length = len(gather_devices), _length(vectors[0])
    sizes = [length // count + (k < length % count) for k in range(count)]
    split = [_on(v.device, array_ops.split, v, sizes) for v in vectors]
    return [
        _finished(un_op, _on(device, red_op, [pieces[k] for pieces in split]))
        for k, device in enumerate(gather_devices)
    ]


def _shuffle_scatter(shards, devices):
    return [_joined(device, shards) for device in devices]


def _by_task(devices, values):
    """The devices and the values of each task: lists of lists."""
    tasks = {}
    for device, value in zip(devices, values):
        spec = device_lib.DeviceSpec.from_string(device)
        if spec.task is None:
            raise ValueError(f"the device '{device}' of an input tensor names no task")
        key = (spec.job or "localhost", spec.replica or 0, spec.task)
        own = tasks.setdefault(key, ([], []))
        own[0].append(device)
        own[1].append(value)
    return [own[0] for own in tasks.values()], [own[1] for own in tasks.values()]


def _shuffle_hybrid(input_tensors, gather_devices, red_op, un_op, between):
    """Reduces within each worker on its gather device, by `between` over the workers, and shares the results."""
    devices = [t.device for t in input_tensors]
    vectors, shape = _flatten_tensors(input_tensors)
    of_worker, values = _by_task(devices, vectors)
    if len(gather_devices) != len(of_worker):
        raise ValueError("For shuffle hybrid, gather_devices must contain one device per worker. ")
    sums = [_shuffle_gather(own, [device], red_op)[0] for own, device in zip(values, gather_devices)]
    sums = between(sums) if len(sums) > 1 else [_finished(un_op, s) for s in sums]
    results = [r for s, own in zip(sums, of_worker) for r in _shuffle_scatter([s], own)]
    return _reshape_tensors(results, shape)


def build_shuffle_then_ring(input_tensors, gather_devices, subdiv, red_n_op, red_op, un_op=None):
    """By a shard within each worker, around a ring between workers. `red_n_op` takes a list of tensors."""
    return _shuffle_hybrid(
        input_tensors,
        gather_devices,
        red_n_op,
        un_op,
        lambda sums: build_ring_all_reduce(sums, len(sums), subdiv, [0], red_op, un_op),
    )


def build_shuffle_then_shuffle(
    input_tensors, first_gather_devices, second_gather_devices, red_op, un_op=None
):
    """By a shard within each worker, and by shards between workers."""
    return _shuffle_hybrid(
        input_tensors,
        first_gather_devices,
        red_op,
        un_op,
        lambda sums: build_shuffle_all_reduce(sums, second_gather_devices, red_op, un_op),
    )


# ---- NCCL ----


def build_nccl_all_reduce(input_tensors, red_op, un_op=None):
    """By `nccl_ops.all_sum`. ValueError: `red_op` is not tf.add."""
    if red_op != math_ops.add:
        raise ValueError("red_op not supported by NCCL all-reduce: ", red_op)
    return [_finished(un_op, t) for t in nccl_ops.all_sum(input_tensors)]


def _nccl_hybrid(input_tensors, red_op, between):
    """Adds up within each worker, reduces by `between` over the workers' first devices, and shares the results."""
    devices = [t.device for t in input_tensors]
    vectors, shape = _flatten_tensors(input_tensors)
    of_worker, values = _by_task(devices, vectors)
    sums = between([build_nccl_all_reduce(own, red_op)[0] for own in values])
    results = []
    for result, own in zip(sums, of_worker):
        with ops.device(own[0]):
            shared = nccl_ops.broadcast(array_ops.identity(result))
        results += [_on(device, array_ops.identity, shared) for device in own]
    return _reshape_tensors(results, shape)


def build_nccl_then_ring(input_tensors, subdiv, red_op, un_op=None):
    """By NCCL within each worker, around a ring between workers."""
    return _nccl_hybrid(
        input_tensors,
        red_op,
        lambda sums: (
            build_ring_all_reduce(sums, len(sums), subdiv, [0], red_op, un_op)
            if len(sums) > 1
            else [_finished(un_op, sums[0])]
        ),
    )


def build_nccl_then_recursive_hd(input_tensors, red_op, un_op=None):
    """By NCCL within each worker, by halves between workers."""
    return _nccl_hybrid(
        input_tensors, red_op, lambda sums: build_recursive_hd_all_reduce(sums, red_op, un_op)
    )


def build_nccl_then_shuffle(input_tensors, gather_devices, nccl_red_op, shuffle_red_op, un_op=None):
    """By NCCL within each worker, by shards between workers. `shuffle_red_op` takes a list of tensors."""
    return _nccl_hybrid(
        input_tensors,
        nccl_red_op,
        lambda sums: build_shuffle_all_reduce(sums, gather_devices, shuffle_red_op, un_op),
    )
