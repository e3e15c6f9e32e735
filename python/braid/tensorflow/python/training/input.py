"""Input pipelines of queues, which threads (queue runners) fill: producers of file names, and batches."""

import collections

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import smart_cond
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import data_flow_ops
from braid.tensorflow.python.ops import gen_sparse_ops
from braid.tensorflow.python.ops import io_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.summary import summary
from braid.tensorflow.python.training import queue_runner
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("io.match_filenames_once", v1=["io.match_filenames_once", "train.match_filenames_once"])
def match_filenames_once(pattern, name=None):
    """A local variable with the names of the files that match when it is initialized."""
    with ops.name_scope(name, "matching_filenames", [pattern]) as name:
        return variable_scope.variable(
            name=name,
            initial_value=io_ops.matching_files(pattern),
            trainable=False,
            validate_shape=False,
            collections=[ops.GraphKeys.LOCAL_VARIABLES],
        )


@tf_export(v1=["train.limit_epochs"])
def limit_epochs(tensor, num_epochs=None, name=None):
    """`tensor`, which can be evaluated `num_epochs` times; then OutOfRange. None: without end.

    A local variable counts.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError("num_epochs must be > 0 not %d." % num_epochs)
    with ops.name_scope(name, "limit_epochs", [tensor]) as name:
        zero = constant_op.constant(0, dtype=dtypes.int64)
        epochs = variable_scope.variable(
            zero, name="epochs", trainable=False, collections=[ops.GraphKeys.LOCAL_VARIABLES]
        )
        with ops.control_dependencies([epochs.count_up_to(num_epochs)]):
            return array_ops.identity(tensor, name=name)


# ---- Producers ----


@tf_export(v1=["train.input_producer"])
def input_producer(
    input_tensor,
    element_shape=None,
    num_epochs=None,
    shuffle=True,
    seed=None,
    capacity=32,
    shared_name=None,
    summary_name=None,
    name=None,
    cancel_op=None,
):
    """A queue of the rows of a tensor; a queue runner fills it.

    Args:
      input_tensor: the rows.
      element_shape: of a row, where the tensor's static shape does not say it.
      num_epochs: how often each row comes; None: without end. A local variable counts.
      shuffle, seed: whether the rows are shuffled in each epoch.
      capacity: of the queue.
      shared_name: the name by which sessions share the queue.
      summary_name: of a scalar summary of how full the queue is; None: no summary.
      name: of the nodes, "input_producer" if None.
      cancel_op: the operation that cancels the queue.

    Raises ValueError where the shape of a row is not known.
    """
    with ops.name_scope(name, "input_producer", [input_tensor]):
        input_tensor = ops.convert_to_tensor(input_tensor, name="input_tensor")
        element_shape = input_tensor.shape[1:].merge_with(element_shape)
        if not element_shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            input_tensor = random_ops.random_shuffle(input_tensor, seed=seed)
        input_tensor = limit_epochs(input_tensor, num_epochs)
        q = data_flow_ops.FIFOQueue(
            capacity=capacity,
            dtypes=[input_tensor.dtype.base_dtype],
            shapes=[element_shape],
            shared_name=shared_name,
            name=name,
        )
        enqueue = q.enqueue_many([input_tensor])
        queue_runner.add_queue_runner(queue_runner.QueueRunner(q, [enqueue], cancel_op=cancel_op))
        if summary_name is not None:
            summary.scalar(summary_name, math_ops.cast(q.size(), dtypes.float32) * (1.0 / capacity))
        return q


@tf_export(v1=["train.string_input_producer"])
def string_input_producer(
    string_tensor,
    num_epochs=None,
    shuffle=True,
    seed=None,
    capacity=32,
    shared_name=None,
    name=None,
    cancel_op=None,
):
    """A queue of strings, as names of files for a reader; see `input_producer`.

    Raises ValueError for a list without strings; a step fails for a tensor without.
    """
    no_strings = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, ops.Tensor) and not string_tensor:
        raise ValueError(no_strings)
    with ops.name_scope(name, "input_producer", [string_tensor]) as name:
        string_tensor = ops.convert_to_tensor(string_tensor, dtype=dtypes.string)
        check = control_flow_ops.Assert(math_ops.greater(array_ops.size(string_tensor), 0), [no_strings])
        with ops.control_dependencies([check]):
            string_tensor = array_ops.identity(string_tensor)
        return input_producer(
            input_tensor=string_tensor,
            element_shape=[],
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
            name=name,
            summary_name="fraction_of_%d_full" % capacity,
            cancel_op=cancel_op,
        )


@tf_export(v1=["train.range_input_producer"])
def range_input_producer(
    limit, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None
):
    """A queue of the integers below `limit`, an int32 scalar; see `input_producer`."""
    with ops.name_scope(name, "input_producer", [limit]) as name:
        return input_producer(
            math_ops.range(limit),
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            "fraction_of_%d_full" % capacity,
            name,
        )


@tf_export(v1=["train.slice_input_producer"])
def slice_input_producer(
    tensor_list, num_epochs=None, shuffle=True, seed=None, capacity=32, shared_name=None, name=None
):
    """A row of each of the tensors, all of one number; see `input_producer`."""
    with ops.name_scope(name, "input_producer", tensor_list):
        tensor_list = ops.convert_n_to_tensor_or_indexed_slices(tensor_list)
        if not tensor_list:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = array_ops.shape(tensor_list[0])[0]
        index = range_input_producer(
            limit=count,
            num_epochs=num_epochs,
            shuffle=shuffle,
            seed=seed,
            capacity=capacity,
            shared_name=shared_name,
        ).dequeue()
        return [array_ops.gather(t, index) for t in tensor_list]


# ---- Lists and dicts of tensors ----


def _flatten(tensor_list_list):
    return [tensor for tensor_list in tensor_list_list for tensor in tensor_list]


def _as_tensor_list(tensors):
    return [tensors[k] for k in sorted(tensors, key=str)] if isinstance(tensors, dict) else tensors


def _as_tensor_list_list(tensors_list):
    if not tensors_list:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(tensors_list[0], dict):
        keys = set(tensors_list[0])
        for tensors in tensors_list[1:]:
            if set(tensors) != keys:
                raise ValueError("All dictionaries in tensors_list must have the same keys")
        return [_as_tensor_list(tensors) for tensors in tensors_list]
    return tensors_list


def _as_original_type(original_tensors, tensor_list):
    if isinstance(original_tensors, dict):
        if len(original_tensors) == 1:
            tensor_list = [tensor_list]
        return dict(zip(sorted(original_tensors, key=str), tensor_list))
    return tensor_list


def _convert(tensor_list):
    return [
        t if isinstance(t, sparse_tensor.SparseTensor) else ops.convert_to_tensor_or_indexed_slices(t)
        for t in tensor_list
    ]


def _validate(tensor_list):
    tensor_list = _convert(tensor_list)
    if not tensor_list:
        raise ValueError("Expected at least one tensor in batch().")
    return tensor_list


def _validate_join(tensor_list_list):
    tensor_list_list = [_convert(tl) for tl in tensor_list_list]
    if not tensor_list_list:
        raise ValueError("Expected at least one input in batch_join().")
    return tensor_list_list


def _validate_keep_input(keep_input, enqueue_many):
    """Which elements are kept, a boolean scalar, or a vector where `enqueue_many`."""
    keep_input = ops.convert_to_tensor(keep_input)
    ndims = keep_input.shape.ndims
    if ndims is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not enqueue_many and ndims == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if ndims > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep_input


def _dtypes(tensor_list_list):
    """The types of the components; TypeError where the lists differ."""
    all_types = [[t.dtype for t in tl] for tl in tensor_list_list]
    for other in all_types[1:]:
        if [t.base_dtype for t in other] != [t.base_dtype for t in all_types[0]]:
            raise TypeError(
                "Expected types to be consistent: %s vs. %s."
                % (", ".join(t.name for t in all_types[0]), ", ".join(t.name for t in other))
            )
    return [t.base_dtype for t in all_types[0]]


def _merge_shapes(shape_list, enqueue_many):
    """The first shape, with which the others must be compatible."""
    shape_list = [tensor_shape.as_shape(s) for s in shape_list]
    if enqueue_many:
        shape_list = [s.with_rank_at_least(1)[1:] for s in shape_list]
    for s in shape_list[1:]:
        shape_list[0].assert_is_compatible_with(s)
    return shape_list[0].as_list()


def _shapes(tensor_list_list, shapes, enqueue_many):
    """The shapes of the components: those given, or the static ones."""
    if shapes is not None:
        return shapes
    count = len(tensor_list_list[0])
    for tl in tensor_list_list:
        for t in tl:
            if t.get_shape().ndims is None:
                raise ValueError("Cannot infer Tensor's rank: %s" % t)
    return [
        _merge_shapes([tl[i].get_shape().as_list() for tl in tensor_list_list], enqueue_many)
        for i in range(count)
    ]


# ---- Sparse tensors, of which a queue takes only handles ----

_Sparse = collections.namedtuple("_Sparse", ["rank", "map_op"])


def _chosen(t, keep_input):
    """The rows of a tensor that a boolean vector, one element for each row, chooses."""
    return data_flow_ops.dynamic_partition(t, math_ops.cast(keep_input, dtypes.int32), 2)[1]


def _chosen_sparse(t, keep_input):
    """The rows of a sparse tensor that a boolean vector chooses, under new numbers."""
    from braid.tensorflow.python.ops import sparse_ops

    kept = sparse_ops.sparse_retain(t, array_ops.gather(keep_input, t.indices[:, 0]))
    rows = math_ops.cumsum(math_ops.cast(keep_input, dtypes.int64)) - 1
    indices = array_ops.concat([array_ops.gather(rows, kept.indices[:, 0])[:, None], kept.indices[:, 1:]], 1)
    count = array_ops.shape(_chosen(math_ops.range(t.dense_shape[0]), keep_input), out_type=dtypes.int64)
    shape = array_ops.concat([count, kept.dense_shape[1:]], 0)
    return sparse_tensor.SparseTensor(indices, kept.values, shape)


def _store_one(t, enqueue_many, keep_input, map_op):
    """Keeps a SparseTensor; returns its handle, or one of each row, and the op that keeps it."""
    make = (
        gen_sparse_ops.add_many_sparse_to_tensors_map
        if enqueue_many
        else gen_sparse_ops.add_sparse_to_tensors_map
    )
    made = []

    def store():
        handle = make(t.indices, t.values, t.dense_shape, shared_name=None if map_op is None else map_op.name)
        made.append(handle.op)
        return handle

    if keep_input.shape.ndims == 1:
        t = _chosen_sparse(t, keep_input)
        handle = store()
    elif enqueue_many:
        handle = smart_cond.smart_cond(
            keep_input,
            store,
            lambda: -1 * array_ops.ones(array_ops.shape(t)[0:1], dtypes.int64),
        )
    else:
        handle = smart_cond.smart_cond(keep_input, store, lambda: constant_op.constant(-1, dtypes.int64))
    return handle, made[0] if made else None


def _store_sparse_tensors(tensor_list, enqueue_many, keep_input, shared_map_ops=None):
    """Handles in place of SparseTensors, and for each tensor (rank, op that keeps it), or None.

    Where `keep_input` is a vector, the rows that it chooses, of all tensors.
    """
    stored, info = [], []
    for t, map_op in zip(tensor_list, shared_map_ops or [None] * len(tensor_list)):
        if not isinstance(t, sparse_tensor.SparseTensor):
            stored.append(_chosen(t, keep_input) if keep_input.shape.ndims == 1 else t)
            info.append(None)
            continue
        handle, own = _store_one(t, enqueue_many, keep_input, map_op)
        rank = t.dense_shape.shape.with_rank(1)[0].value
        if enqueue_many and rank is not None:
            rank -= 1
        stored.append(array_ops.expand_dims(handle, [-1]))
        info.append(_Sparse(rank, map_op or own))
    return stored, info


def _store_sparse_tensors_join(tensor_list_list, enqueue_many, keep_input):
    """As `_store_sparse_tensors`, of several lists whose tensors share what keeps them."""
    stored, info = [], None
    for tensor_list in tensor_list_list:
        maps = None if info is None else [None if i is None else i.map_op for i in info]
        one, own = _store_sparse_tensors(tensor_list, enqueue_many, keep_input, maps)
        stored.append(one)
        info = own if info is None else info
    return stored, info


def _restore_sparse(handles, info):
    """The SparseTensor of handles that came out of a queue."""
    map_op = info.map_op
    handles = array_ops.squeeze(handles, [1])
    with ops.colocate_with(map_op):
        parts = gen_sparse_ops.take_many_sparse_from_tensors_map(
            handles,
            dtype=map_op.get_attr("T"),
            shared_name=map_op.get_attr("shared_name").decode() or map_op.name,
        )
        indices, values, shape = parts
    rank = None if info.rank is None else info.rank + 1
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return sparse_tensor.SparseTensor(indices, values, shape)


def _restore_sparse_tensors(stored_list, sparse_info_list):
    """SparseTensors in place of their handles.

    All tensors are evaluated if one is, or what is kept would stay.
    """
    is_list = isinstance(stored_list, (list, tuple))
    stored_list = list(stored_list) if is_list else [stored_list]
    if all(i is None for i in sparse_info_list):
        return stored_list if is_list else stored_list[0]
    tensors = [s if i is None else _restore_sparse(s, i) for s, i in zip(stored_list, sparse_info_list)]
    needed = [t.op for t in tensors]
    tied = []
    for t in tensors:
        if isinstance(t, sparse_tensor.SparseTensor):
            parts = [
                control_flow_ops.with_dependencies(needed, x) for x in (t.indices, t.values, t.dense_shape)
            ]
            tied.append(sparse_tensor.SparseTensor(*parts))
        else:
            tied.append(control_flow_ops.with_dependencies(needed, t))
    return tied if is_list else tied[0]


# ---- Batches ----


def _enqueue_op(queue, tensor_list, enqueue_many, keep_input):
    enqueue = queue.enqueue_many if enqueue_many else queue.enqueue
    if keep_input.shape.ndims == 1:
        return enqueue(tensor_list)  # the rows were chosen when sparse tensors were stored
    return smart_cond.smart_cond(keep_input, lambda: enqueue(tensor_list), control_flow_ops.no_op)


def _run(queue, enqueue_ops):
    queue_runner.add_queue_runner(queue_runner.QueueRunner(queue, enqueue_ops))


def _enqueue(queue, tensor_list, threads, enqueue_many, keep_input):
    _run(queue, [_enqueue_op(queue, tensor_list, enqueue_many, keep_input)] * threads)


def _enqueue_join(queue, tensor_list_list, enqueue_many, keep_input):
    _run(queue, [_enqueue_op(queue, tl, enqueue_many, keep_input) for tl in tensor_list_list])


def _which_queue(dynamic_pad):
    return data_flow_ops.PaddingFIFOQueue if dynamic_pad else data_flow_ops.FIFOQueue


def _taken(queue, batch_size, allow_smaller_final_batch, info, original, name):
    take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
    return _as_original_type(original, _restore_sparse_tensors(take(batch_size, name=name), info))


def _summarize(queue, capacity):
    full = math_ops.cast(queue.size(), dtypes.float32) * (1.0 / capacity)
    summary.scalar("fraction_of_%d_full" % capacity, full)


def _summarize_shuffled(queue, capacity, min_after_dequeue):
    free = capacity - min_after_dequeue
    over = math_ops.maximum(0, queue.size() - min_after_dequeue)
    full = math_ops.cast(over, dtypes.float32) * (1.0 / free)
    summary.scalar("fraction_over_%d_of_%d_full" % (min_after_dequeue, free), full)


def _batch(
    tensors,
    batch_size,
    keep_input,
    num_threads=1,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    tensor_list = _as_tensor_list(tensors)
    with ops.name_scope(name, "batch", list(tensor_list) + [keep_input]) as name:
        tensor_list = _validate(tensor_list)
        keep_input = _validate_keep_input(keep_input, enqueue_many)
        tensor_list, info = _store_sparse_tensors(tensor_list, enqueue_many, keep_input)
        types = _dtypes([tensor_list])
        shapes = _shapes([tensor_list], shapes, enqueue_many)
        queue = _which_queue(dynamic_pad)(
            capacity=capacity, dtypes=types, shapes=shapes, shared_name=shared_name
        )
        _enqueue(queue, tensor_list, num_threads, enqueue_many, keep_input)
        _summarize(queue, capacity)
        return _taken(queue, batch_size, allow_smaller_final_batch, info, tensors, name)


def _batch_join(
    tensors_list,
    batch_size,
    keep_input,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    tensor_list_list = _as_tensor_list_list(tensors_list)
    with ops.name_scope(name, "batch_join", _flatten(tensor_list_list) + [keep_input]) as name:
        tensor_list_list = _validate_join(tensor_list_list)
        keep_input = _validate_keep_input(keep_input, enqueue_many)
        tensor_list_list, info = _store_sparse_tensors_join(tensor_list_list, enqueue_many, keep_input)
        types = _dtypes(tensor_list_list)
        shapes = _shapes(tensor_list_list, shapes, enqueue_many)
        queue = _which_queue(dynamic_pad)(
            capacity=capacity, dtypes=types, shapes=shapes, shared_name=shared_name
        )
        _enqueue_join(queue, tensor_list_list, enqueue_many, keep_input)
        _summarize(queue, capacity)
        return _taken(queue, batch_size, allow_smaller_final_batch, info, tensors_list[0], name)


def _shuffle_batch(
    tensors,
    batch_size,
    capacity,
    min_after_dequeue,
    keep_input,
    num_threads=1,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    tensor_list = _as_tensor_list(tensors)
    with ops.name_scope(name, "shuffle_batch", list(tensor_list) + [keep_input]) as name:
        if capacity <= min_after_dequeue:
            raise ValueError(
                "capacity %d must be bigger than min_after_dequeue %d." % (capacity, min_after_dequeue)
            )
        tensor_list = _validate(tensor_list)
        keep_input = _validate_keep_input(keep_input, enqueue_many)
        tensor_list, info = _store_sparse_tensors(tensor_list, enqueue_many, keep_input)
        types = _dtypes([tensor_list])
        shapes = _shapes([tensor_list], shapes, enqueue_many)
        queue = data_flow_ops.RandomShuffleQueue(
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed,
            dtypes=types,
            shapes=shapes,
            shared_name=shared_name,
        )
        _enqueue(queue, tensor_list, num_threads, enqueue_many, keep_input)
        _summarize_shuffled(queue, capacity, min_after_dequeue)
        return _taken(queue, batch_size, allow_smaller_final_batch, info, tensors, name)


def _shuffle_batch_join(
    tensors_list,
    batch_size,
    capacity,
    min_after_dequeue,
    keep_input,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    tensor_list_list = _as_tensor_list_list(tensors_list)
    with ops.name_scope(name, "shuffle_batch_join", _flatten(tensor_list_list) + [keep_input]) as name:
        tensor_list_list = _validate_join(tensor_list_list)
        keep_input = _validate_keep_input(keep_input, enqueue_many)
        tensor_list_list, info = _store_sparse_tensors_join(tensor_list_list, enqueue_many, keep_input)
        types = _dtypes(tensor_list_list)
        shapes = _shapes(tensor_list_list, shapes, enqueue_many)
        queue = data_flow_ops.RandomShuffleQueue(
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed,
            dtypes=types,
            shapes=shapes,
            shared_name=shared_name,
        )
        _enqueue_join(queue, tensor_list_list, enqueue_many, keep_input)
        _summarize_shuffled(queue, capacity, min_after_dequeue)
        return _taken(queue, batch_size, allow_smaller_final_batch, info, tensors_list[0], name)


@tf_export(v1=["train.batch"])
def batch(
    tensors,
    batch_size,
    num_threads=1,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """Batches of tensors, in the order in which a queue runner evaluated them.

    Args:
      tensors: a list or dict of tensors: an element.
      batch_size: the elements of a batch.
      num_threads: how many threads evaluate; more than one: the order is not kept.
      capacity: of the queue.
      enqueue_many: whether the tensors have several elements, along dimension 0.
      shapes: of the components; None: the static ones.
      dynamic_pad: whether sizes of None may differ: those of a batch are padded with zeros.
      allow_smaller_final_batch: whether what is left at the end makes a batch.
      shared_name: the name by which sessions share the queue.
      name: of the nodes, "batch" if None.

    Returns tensors as `tensors`, with a dimension of the batch in front. Raises ValueError where a shape is
    not
    known.
    """
    return _batch(
        tensors,
        batch_size,
        keep_input=True,
        num_threads=num_threads,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name,
    )


@tf_export(v1=["train.maybe_batch"])
def maybe_batch(
    tensors,
    keep_input,
    batch_size,
    num_threads=1,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As `batch`, of the elements for which `keep_input`, a boolean scalar or vector, holds."""
    return _batch(
        tensors,
        batch_size,
        keep_input,
        num_threads=num_threads,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name,
    )


@tf_export(v1=["train.batch_join"])
def batch_join(
    tensors_list,
    batch_size,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As `batch`, with a thread for each list or dict of `tensors_list`."""
    return _batch_join(
        tensors_list,
        batch_size,
        keep_input=True,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name,
    )


@tf_export(v1=["train.maybe_batch_join"])
def maybe_batch_join(
    tensors_list,
    keep_input,
    batch_size,
    capacity=32,
    enqueue_many=False,
    shapes=None,
    dynamic_pad=False,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As `batch_join`, of the elements for which `keep_input` holds."""
    return _batch_join(
        tensors_list,
        batch_size,
        keep_input,
        capacity=capacity,
        enqueue_many=enqueue_many,
        shapes=shapes,
        dynamic_pad=dynamic_pad,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name,
    )


@tf_export(v1=["train.shuffle_batch"])
def shuffle_batch(
    tensors,
    batch_size,
    capacity,
    min_after_dequeue,
    num_threads=1,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As `batch`, in random order: of `min_after_dequeue` elements at least one is chosen.

    Raises ValueError where `capacity` is not greater than that.
    """
    return _shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        keep_input=True,
        num_threads=num_threads,
        seed=seed,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name,
    )


@tf_export(v1=["train.maybe_shuffle_batch"])
def maybe_shuffle_batch(
    tensors,
    batch_size,
    capacity,
    min_after_dequeue,
    keep_input,
    num_threads=1,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As `shuffle_batch`, of the elements for which `keep_input` holds."""
    return _shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        keep_input,
        num_threads=num_threads,
        seed=seed,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name,
    )


@tf_export(v1=["train.shuffle_batch_join"])
def shuffle_batch_join(
    tensors_list,
    batch_size,
    capacity,
    min_after_dequeue,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As `shuffle_batch`, with a thread for each list or dict of `tensors_list`."""
    return _shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        keep_input=True,
        seed=seed,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name,
    )


@tf_export(v1=["train.maybe_shuffle_batch_join"])
def maybe_shuffle_batch_join(
    tensors_list,
    batch_size,
    capacity,
    min_after_dequeue,
    keep_input,
    seed=None,
    enqueue_many=False,
    shapes=None,
    allow_smaller_final_batch=False,
    shared_name=None,
    name=None,
):
    """As `shuffle_batch_join`, of the elements for which `keep_input` holds."""
    return _shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        keep_input,
        seed=seed,
        enqueue_many=enqueue_many,
        shapes=shapes,
        allow_smaller_final_batch=allow_smaller_final_batch,
        shared_name=shared_name,
        name=name,
    )
