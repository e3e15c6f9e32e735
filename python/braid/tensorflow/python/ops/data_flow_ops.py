"""Queues, barriers, accumulators and staging areas, which steps share, and ops that move rows of tensors."""

import functools
import hashlib

from braid.tensorflow.python.framework import dtypes as _dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import random_seed
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_data_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.gen_data_flow_ops import (  # noqa: F401
    dynamic_partition,
    dynamic_stitch,
    parallel_dynamic_stitch,
)
from braid.tensorflow.python.util.tf_export import tf_export


# ---- Types, shapes and names of components ----


def _as_type_list(dtypes):
    if isinstance(dtypes, _dtypes.DType):
        return [dtypes]
    if isinstance(dtypes, (list, tuple)) and not isinstance(dtypes, str):
        return [_dtypes.as_dtype(t) for t in dtypes]
    return [_dtypes.as_dtype(dtypes)]


def _as_shape_list(shapes, dtypes, unknown_dim_allowed=False, unknown_rank_allowed=False):
    """A TensorShape for each component; [] stands for one of no dimensions if there is one component."""
    if shapes is None:
        return None
    if isinstance(shapes, tensor_shape.TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (tuple, list)):
        raise TypeError(
            "shapes must be a TensorShape or a list or tuple of TensorShapes. Got: %s %s"
            % (type(shapes), shapes)
        )
    if all(shape is None or isinstance(shape, int) for shape in shapes):
        shapes = [shapes]  # the sizes of a single component
    shapes = [tensor_shape.as_shape(shape) for shape in shapes]
    if not unknown_dim_allowed and any(not shape.is_fully_defined() for shape in shapes):
        raise ValueError("All shapes must be fully defined: %s" % shapes)
    if not unknown_rank_allowed and any(shape.dims is None for shape in shapes):
        raise ValueError("All shapes must have a defined rank: %s" % shapes)
    return shapes


def _as_name_list(names, dtypes):
    if names is None:
        return None
    if not isinstance(names, (list, tuple)):
        names = [names]
    if len(names) != len(dtypes):
        raise ValueError(
            "List of names must have the same length as the list of dtypes: "
            "len(names)=%d,len(dtypes)=%d" % (len(names), len(dtypes))
        )
    return list(names)


def _shape_common(s1, s2):
    """The sizes that two shapes have in common; unknown where they differ."""
    s1, s2 = tensor_shape.TensorShape(s1), tensor_shape.TensorShape(s2)
    if s1.ndims is None or s2.ndims is None or s1.ndims != s2.ndims:
        return tensor_shape.unknown_shape()
    return tensor_shape.TensorShape(
        [a.value if a.value is not None and a.value == b.value else None for a, b in zip(s1.dims, s2.dims)]
    )


def _unknown(shape):
    return tensor_shape.TensorShape(None) if shape is None else shape


# ---- Queues ----


@tf_export("queue.QueueBase", v1=["queue.QueueBase", "io.QueueBase", "QueueBase"])
class QueueBase:
    """A queue of elements, which are tuples of tensors; steps of all sessions on its device share it.

    Args:
      dtypes: the types of the components.
      shapes: their shapes; None: each element has its own.
      names: of the components: elements are then dicts.
      queue_ref: the handle.
    """

    def __init__(self, dtypes, shapes, names, queue_ref):
        self._dtypes = dtypes
        if shapes is None:
            self._shapes = [tensor_shape.TensorShape(None) for _ in dtypes]
        else:
            if len(shapes) != len(dtypes):
                raise ValueError(
                    "Queue shapes must have the same length as dtypes, received len(shapes)=%d, len(dtypes)=%d"
                    % (len(shapes), len(dtypes))
                )
            self._shapes = [tensor_shape.TensorShape(s) for s in shapes]
        if names is not None and len(names) != len(dtypes):
            raise ValueError(
                "Queue names must have the same length as dtypes,received len(names)=%d,len(dtypes)=%d"
                % (len(names), len(dtypes))
            )
        self._names = names or None
        self._queue_ref = queue_ref
        self._name = queue_ref.op.name.split("/")[-1]

    @staticmethod
    def from_list(index, queues):
        """The queue of that number, an int32 scalar; all have the same types.

        Raises TypeError where `queues` are no such queues, or their types or names differ.
        """
        if not queues or not isinstance(queues, list) or not all(isinstance(x, QueueBase) for x in queues):
            raise TypeError("A list of queues expected")
        types, names = queues[0].dtypes, queues[0].names
        if not all(types == q.dtypes for q in queues[1:]):
            raise TypeError("Queues do not have matching component dtypes.")
        if not all(names == q.names for q in queues[1:]):
            raise TypeError("Queues do not have matching component names.")
        shapes = [functools.reduce(_shape_common, s) for s in zip(*(q.shapes for q in queues))]
        selected = array_ops.gather(array_ops.stack([q.queue_ref for q in queues]), index)
        return QueueBase(dtypes=types, shapes=shapes, names=names, queue_ref=selected)

    @property
    def queue_ref(self):
        return self._queue_ref

    @property
    def name(self):
        return self._queue_ref.op.name

    @property
    def dtypes(self):
        return self._dtypes

    @property
    def shapes(self):
        return self._shapes

    @property
    def names(self):
        return self._names

    def _op(self, name):
        """The function for an op on queues: by resource, or on a reference."""
        return getattr(gen_data_flow_ops, name + ("_v2" if self._queue_ref.dtype == _dtypes.resource else ""))

    def _check_enqueue_dtypes(self, vals):
        """The components as tensors. ValueError: they do not fit the queue."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names) != sorted(vals):
                raise ValueError(
                    f"Keys in dictionary to enqueue do not match names of Queue.  Dictionary: {sorted(vals)},"
                    f"Queue: {sorted(self._names)}"
                )
            vals = [vals[name] for name in self._names]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            if not isinstance(vals, (list, tuple)):
                vals = [vals]
        return [
            ops.convert_to_tensor(val, dtype=dtype, name="component_%d" % i)
            for i, (val, dtype) in enumerate(zip(vals, self._dtypes))
        ]

    def _scope_vals(self, vals):
        if isinstance(vals, (list, tuple)):
            return vals
        return vals.values() if isinstance(vals, dict) else [vals]

    def enqueue(self, vals, name=None):
        """The operation that adds an element: a tensor, a list of components, or a dict.

        It waits while the queue is full.
        """
        with ops.name_scope(name, "%s_enqueue" % self._name, self._scope_vals(vals)) as scope:
            vals = self._check_enqueue_dtypes(vals)
            for val, shape in zip(vals, self._shapes):
                val.get_shape().assert_is_compatible_with(shape)
            return self._op("queue_enqueue")(self._queue_ref, vals, name=scope)

    def enqueue_many(self, vals, name=None):
        """The operation that adds the slices of the components along dimension 0 as elements."""
        with ops.name_scope(name, "%s_EnqueueMany" % self._name, self._scope_vals(vals)) as scope:
            vals = self._check_enqueue_dtypes(vals)
            count = vals[0].get_shape().with_rank_at_least(1)[0]
            for val, shape in zip(vals, self._shapes):
                val_count = val.get_shape().with_rank_at_least(1)[0]
                count = count.merge_with(val_count)
                val.get_shape()[1:].assert_is_compatible_with(shape)
            return self._op("queue_enqueue_many")(self._queue_ref, vals, name=scope)

    def _dequeue_return_value(self, tensors):
        if self._names:
            return dict(zip(self._names, tensors))
        return tensors[0] if len(tensors) == 1 else tensors

    def dequeue(self, name=None):
        """An element: a tensor, a list of components, or a dict. It waits while the queue is empty."""
        if name is None:
            name = "%s_Dequeue" % self._name
        values = self._op("queue_dequeue")(self._queue_ref, self._dtypes, name=name)
        for output, shape in zip(values, self._shapes):
            output.set_shape(shape)
        return self._dequeue_return_value(values)

    def dequeue_many(self, n, name=None):
        """`n` elements, stacked along a new dimension 0. It waits until there are so many."""
        if name is None:
            name = "%s_DequeueMany" % self._name
        values = self._op("queue_dequeue_many")(self._queue_ref, n=n, component_types=self._dtypes, name=name)
        count = tensor_util.constant_value(values[0].op.inputs[1])
        count = tensor_shape.Dimension(None if count is None else int(count))
        for output, shape in zip(values, self._shapes):
            output.set_shape(tensor_shape.TensorShape([count]).concatenate(shape))
        return self._dequeue_return_value(values)

    def dequeue_up_to(self, n, name=None):
        """As `dequeue_many`; the rest, one element at least, when the queue is closed."""
        if name is None:
            name = "%s_DequeueUpTo" % self._name
        values = self._op("queue_dequeue_up_to")(
            self._queue_ref, n=n, component_types=self._dtypes, name=name
        )
        for output, shape in zip(values, self._shapes):
            output.set_shape(tensor_shape.TensorShape([None]).concatenate(shape))
        return self._dequeue_return_value(values)

    def close(self, cancel_pending_enqueues=False, name=None):
        """The operation after which elements are no longer accepted; those there can still be taken."""
        if name is None:
            name = "%s_Close" % self._name
        return self._op("queue_close")(
            self._queue_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name
        )

    def is_closed(self, name=None):
        """Whether the queue is closed, a boolean scalar."""
        if name is None:
            name = "%s_Is_Closed" % self._name
        return self._op("queue_is_closed")(self._queue_ref, name=name)

    def size(self, name=None):
        """The number of elements, an int32 scalar."""
        if name is None:
            name = "%s_Size" % self._name
        return self._op("queue_size")(self._queue_ref, name=name)


def _seeds(seed, shared_name):
    """The seeds of a queue in random order; queues of one shared name have the same."""
    seed1, seed2 = random_seed.get_seed(seed)
    if seed1 is None and seed2 is None:
        return 0, 0
    if seed is None and shared_name is not None:
        text = (str(seed1) + shared_name).encode("utf-8")
        seed2 = int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF
    return seed1, seed2


@tf_export(
    "queue.RandomShuffleQueue", v1=["queue.RandomShuffleQueue", "io.RandomShuffleQueue", "RandomShuffleQueue"]
)
class RandomShuffleQueue(QueueBase):
    """A queue whose elements leave in random order; while it is open, `min_after_dequeue` of them stay."""

    def __init__(
        self,
        capacity,
        min_after_dequeue,
        dtypes,
        shapes=None,
        names=None,
        seed=None,
        shared_name=None,
        name="random_shuffle_queue",
    ):
        dtypes = _as_type_list(dtypes)
        shapes = _as_shape_list(shapes, dtypes)
        names = _as_name_list(names, dtypes)
        seed1, seed2 = _seeds(seed, shared_name)
        queue_ref = gen_data_flow_ops.random_shuffle_queue_v2(
            component_types=dtypes,
            shapes=shapes,
            capacity=capacity,
            min_after_dequeue=min_after_dequeue,
            seed=seed1,
            seed2=seed2,
            shared_name=shared_name,
            name=name,
        )
        super().__init__(dtypes, shapes, names, queue_ref)


@tf_export("queue.FIFOQueue", v1=["queue.FIFOQueue", "io.FIFOQueue", "FIFOQueue"])
class FIFOQueue(QueueBase):
    """A queue whose elements leave first in, first out."""

    def __init__(self, capacity, dtypes, shapes=None, names=None, shared_name=None, name="fifo_queue"):
        dtypes = _as_type_list(dtypes)
        shapes = _as_shape_list(shapes, dtypes)
        names = _as_name_list(names, dtypes)
        queue_ref = gen_data_flow_ops.fifo_queue_v2(
            component_types=dtypes, shapes=shapes, capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__(dtypes, shapes, names, queue_ref)


@tf_export("queue.PaddingFIFOQueue", v1=["queue.PaddingFIFOQueue", "io.PaddingFIFOQueue", "PaddingFIFOQueue"])
class PaddingFIFOQueue(QueueBase):
    """A FIFOQueue whose elements may differ in sizes that `shapes` has as None: those of a batch are padded
    with zeros.
    """

    def __init__(self, capacity, dtypes, shapes, names=None, shared_name=None, name="padding_fifo_queue"):
        dtypes = _as_type_list(dtypes)
        shapes = _as_shape_list(shapes, dtypes, unknown_dim_allowed=True)
        names = _as_name_list(names, dtypes)
        if shapes is None or len(dtypes) != len(shapes):
            raise ValueError(
                "When providing partial shapes, a list of shapes must be provided."
                if shapes is None
                else "Shapes must be provided for all components, but received %d dtypes and %d shapes."
                % (len(dtypes), len(shapes))
            )
        queue_ref = gen_data_flow_ops.padding_fifo_queue_v2(
            component_types=dtypes, shapes=shapes, capacity=capacity, shared_name=shared_name, name=name
        )
        super().__init__(dtypes, shapes, names, queue_ref)


@tf_export("queue.PriorityQueue", v1=["queue.PriorityQueue", "io.PriorityQueue", "PriorityQueue"])
class PriorityQueue(QueueBase):
    """A queue whose elements leave by their first component, an int64 that is not among `types`: the least
    first.
    """

    def __init__(self, capacity, types, shapes=None, names=None, shared_name=None, name="priority_queue"):
        types = _as_type_list(types)
        shapes = _as_shape_list(shapes, types)
        queue_ref = gen_data_flow_ops.priority_queue_v2(
            component_types=types, shapes=shapes, capacity=capacity, shared_name=shared_name, name=name
        )
        shapes = [tensor_shape.TensorShape([])] + shapes if shapes else shapes
        super().__init__([_dtypes.int64] + types, shapes, names, queue_ref)


# ---- Barriers ----


class Barrier:
    """Elements that come component by component, by key, and are taken when they are complete.

    Args:
      types: the types of the components.
      shapes: their shapes, fully defined; None: unknown.
      shared_name: the name by which sessions share it.
      name: of the node.
    """

    def __init__(self, types, shapes=None, shared_name=None, name="barrier"):
        self._types = _as_type_list(types)
        if shapes is not None:
            self._shapes = _as_shape_list(shapes, self._types)
            if len(self._shapes) != len(self._types):
                raise ValueError(
                    "When provided, shapes must be of the same length as types: "
                    "got %d shapes for %d types" % (len(self._shapes), len(self._types))
                )
            for i, shape in enumerate(self._shapes):
                if shape.num_elements() == 0:
                    raise ValueError(
                        f"Empty tensors are not supported, but received shape '{shape}' at index {i}"
                    )
        else:
            self._shapes = [tensor_shape.unknown_shape() for _ in self._types]
        self._barrier_ref = gen_data_flow_ops.barrier(
            component_types=self._types,
            shapes=_as_shape_list(shapes, self._types),
            shared_name=shared_name,
            name=name,
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self):
        return self._barrier_ref

    @property
    def name(self):
        return self._barrier_ref.op.name

    def insert_many(self, component_index, keys, values, name=None):
        """The operation that gives the elements of `keys` their component of that index."""
        if name is None:
            name = "%s_BarrierInsertMany" % self._name
        return gen_data_flow_ops.barrier_insert_many(
            self._barrier_ref, keys, values, component_index, name=name
        )

    def take_many(self, num_elements, allow_small_batch=False, timeout=None, name=None):
        """(indices, keys, list of components) of complete elements, of which there are `num_elements`.

        allow_small_batch: the rest when the barrier is closed. timeout: in milliseconds.
        """
        if name is None:
            name = "%s_BarrierTakeMany" % self._name
        indices, keys, values = gen_data_flow_ops.barrier_take_many(
            self._barrier_ref,
            num_elements,
            self._types,
            allow_small_batch,
            timeout_ms=timeout,
            name=name,
        )
        count = None if allow_small_batch else tensor_util.constant_value(indices.op.inputs[1])
        count = tensor_shape.Dimension(None if count is None else int(count))
        indices.set_shape(tensor_shape.TensorShape([count]))
        keys.set_shape(tensor_shape.TensorShape([count]))
        for value, shape in zip(values, self._shapes):
            value.set_shape(tensor_shape.TensorShape([count]).concatenate(shape))
        return indices, keys, values

    def close(self, cancel_pending_enqueues=False, name=None):
        """The operation after which new keys are not accepted; with `cancel_pending_enqueues` nothing is."""
        if name is None:
            name = "%s_BarrierClose" % self._name
        return gen_data_flow_ops.barrier_close(
            self._barrier_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name
        )

    def ready_size(self, name=None):
        """The number of complete elements, an int32 scalar."""
        if name is None:
            name = "%s_BarrierReadySize" % self._name
        return gen_data_flow_ops.barrier_ready_size(self._barrier_ref, name=name)

    def incomplete_size(self, name=None):
        """The number of elements that lack components, an int32 scalar."""
        if name is None:
            name = "%s_BarrierIncompleteSize" % self._name
        return gen_data_flow_ops.barrier_incomplete_size(self._barrier_ref, name=name)


# ---- Accumulators of gradients ----


@tf_export(v1=["ConditionalAccumulatorBase"])
class ConditionalAccumulatorBase:
    """Sums gradients until their mean is taken; those of a step that is over are dropped.

    Args:
      dtype: of the gradients.
      shape: their static shape; None: unknown.
      accumulator_ref: the handle.
    """

    def __init__(self, dtype, shape, accumulator_ref):
        self._dtype = dtype
        self._shape = tensor_shape.TensorShape(None if shape is None else shape)
        self._accumulator_ref = accumulator_ref
        self._name = accumulator_ref.op.name.split("/")[-1]

    @property
    def accumulator_ref(self):
        return self._accumulator_ref

    @property
    def name(self):
        return self._accumulator_ref.op.name

    @property
    def dtype(self):
        return self._dtype

    def num_accumulated(self, name=None):
        """The number of gradients since the last was taken, an int32 scalar."""
        if name is None:
            name = "%s_NumAccumulated" % self._name
        return gen_data_flow_ops.resource_accumulator_num_accumulated(self._accumulator_ref, name=name)

    def set_global_step(self, new_global_step, name=None):
        """The operation that sets the step: gradients from before are dropped."""
        return gen_data_flow_ops.resource_accumulator_set_global_step(
            self._accumulator_ref,
            math_ops.cast(ops.convert_to_tensor(new_global_step), _dtypes.int64),
            name=name,
        )


@tf_export(v1=["ConditionalAccumulator"])
class ConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of dense gradients. reduction_type: "MEAN" or "SUM"."""

    def __init__(
        self,
        dtype,
        shape=None,
        shared_name=None,
        name="conditional_accumulator",
        reduction_type="MEAN",
    ):
        accumulator_ref = gen_data_flow_ops.resource_conditional_accumulator(
            dtype=dtype,
            shape=_unknown(shape),
            shared_name=shared_name,
            name=name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, accumulator_ref)

    def apply_grad(self, grad, local_step=0, name=None):
        """The operation that adds a gradient of step `local_step`."""
        grad = ops.convert_to_tensor(grad, self._dtype)
        grad.get_shape().assert_is_compatible_with(self._shape)
        local_step = math_ops.cast(ops.convert_to_tensor(local_step), _dtypes.int64)
        return gen_data_flow_ops.resource_accumulator_apply_gradient(
            self._accumulator_ref, local_step=local_step, gradient=grad, name=name
        )

    def take_grad(self, num_required, name=None):
        """The mean of the gradients, when there are `num_required`; its step is over then."""
        taken = gen_data_flow_ops.resource_accumulator_take_gradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        taken.set_shape(self._shape)
        return taken


@tf_export(
    "sparse.SparseConditionalAccumulator",
    v1=["sparse.SparseConditionalAccumulator", "SparseConditionalAccumulator"],
)
class SparseConditionalAccumulator(ConditionalAccumulatorBase):
    """An accumulator of gradients of some rows.

    reduction_type: "MEAN" or "SUM"; each row's over those that have it.
    """

    def __init__(
        self,
        dtype,
        shape=None,
        shared_name=None,
        name="sparse_conditional_accumulator",
        reduction_type="MEAN",
    ):
        accumulator_ref = gen_data_flow_ops.sparse_conditional_accumulator(
            dtype=dtype,
            shape=_unknown(shape),
            shared_name=shared_name,
            name=name,
            reduction_type=reduction_type,
        )
        super().__init__(dtype, shape, accumulator_ref)

    def apply_indexed_slices_grad(self, grad, local_step=0, name=None):
        """The operation that adds a gradient, IndexedSlices, of step `local_step`."""
        return self.apply_grad(
            grad_indices=grad.indices,
            grad_values=grad.values,
            grad_shape=grad.dense_shape,
            local_step=local_step,
            name=name,
        )

    def apply_grad(self, grad_indices, grad_values, grad_shape=None, local_step=0, name=None):
        """The operation that adds the rows `grad_values` of `grad_indices`, which ascend."""
        local_step = math_ops.cast(ops.convert_to_tensor(local_step), _dtypes.int64)
        return gen_data_flow_ops.sparse_accumulator_apply_gradient(
            self._accumulator_ref,
            local_step=local_step,
            gradient_indices=math_ops.cast(grad_indices, _dtypes.int64),
            gradient_values=grad_values,
            gradient_shape=math_ops.cast([] if grad_shape is None else grad_shape, _dtypes.int64),
            has_known_shape=grad_shape is not None,
            name=name,
        )

    def take_grad(self, num_required, name=None):
        """(indices, values, shape) of the mean, when there are `num_required` gradients."""
        return gen_data_flow_ops.sparse_accumulator_take_gradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )

    def take_indexed_slices_grad(self, num_required, name=None):
        """The mean as IndexedSlices, when there are `num_required` gradients."""
        taken = gen_data_flow_ops.sparse_accumulator_take_gradient(
            self._accumulator_ref, num_required, dtype=self._dtype, name=name
        )
        return ops.IndexedSlices(indices=taken.indices, values=taken.values, dense_shape=taken.shape)

    def num_accumulated(self, name=None):
        if name is None:
            name = "%s_NumAccumulated" % self._name
        return gen_data_flow_ops.accumulator_num_accumulated(self._accumulator_ref, name=name)

    def set_global_step(self, new_global_step, name=None):
        return gen_data_flow_ops.accumulator_set_global_step(
            self._accumulator_ref,
            math_ops.cast(ops.convert_to_tensor(new_global_step), _dtypes.int64),
            name=name,
        )


# ---- Staging areas ----


class BaseStagingArea:
    """What StagingArea and MapStagingArea have in common. Elements have components, by number or by name."""

    def __init__(self, dtypes, shapes=None, names=None, shared_name=None, capacity=0, memory_limit=0):
        if shared_name is None:
            self._name = ops.get_default_graph().unique_name(self.__class__.__name__)
        elif isinstance(shared_name, str):
            self._name = shared_name
        else:
            raise ValueError("shared_name must be a string")
        self._dtypes = dtypes
        if shapes is None:
            self._shapes = [tensor_shape.TensorShape(None) for _ in dtypes]
        else:
            if len(shapes) != len(dtypes):
                raise ValueError("StagingArea shapes must be the same length as dtypes")
            self._shapes = [tensor_shape.TensorShape(s) for s in shapes]
        if names is not None and len(names) != len(dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._names = names or None
        if capacity < 0 or memory_limit < 0:
            raise ValueError(f"capacity ({capacity}) and memory_limit ({memory_limit}) must not be negative")
        self._capacity, self._memory_limit = capacity, memory_limit
        # All its nodes are placed with this one.
        with ops.name_scope("%s_root" % self._name):
            self._coloc_op = control_flow_ops.no_op()

    @property
    def name(self):
        return self._name

    @property
    def dtypes(self):
        return self._dtypes

    @property
    def shapes(self):
        return self._shapes

    @property
    def names(self):
        return self._names

    @property
    def capacity(self):
        return self._capacity

    @property
    def memory_limit(self):
        return self._memory_limit

    def _check_put_dtypes(self, vals, indices=None):
        """The components and their numbers. ValueError: they do not fit."""
        if isinstance(vals, dict):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(vals).issubset(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. "
                    f"Dictionary: {sorted(vals)}Queue: {sorted(self._names)}"
                )
            indices = [i for i, name in enumerate(self._names) if name in vals]
            vals = [vals[self._names[i]] for i in indices]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if len(indices) != len(vals):
                raise ValueError(
                    f"Number of indices {len(indices)} doesn't match number of values {len(vals)}"
                )
            if not isinstance(vals, (list, tuple)):
                vals, indices = [vals], [0]
        if len(vals) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs {len(vals)} vs {len(self._dtypes)}")
        tensors = []
        for val, i in zip(vals, indices):
            val = ops.convert_to_tensor(val, dtype=_dtypes.as_dtype(self._dtypes[i]))
            val.get_shape().assert_is_compatible_with(self._shapes[i])
            tensors.append(val)
        return tensors, indices

    def _create_device_transfers(self, tensors):
        """Copies on the device of the caller where that is not the area's."""
        if not isinstance(tensors, (tuple, list)):
            tensors = [tensors]
        if control_flow_ops.no_op().device != self._coloc_op.device:
            tensors = [array_ops.identity(t) for t in tensors]
        return tensors

    def _get_return_value(self, tensors, indices):
        tensors = self._create_device_transfers(tensors)
        for output, i in zip(tensors, indices):
            output.set_shape(self._shapes[i])
        if self._names:
            return {self._names[i]: t for t, i in zip(tensors, indices)}
        return tensors

    def _scope_vals(self, vals):
        if isinstance(vals, (list, tuple)):
            return vals
        return vals.values() if isinstance(vals, dict) else [vals]

    def _attrs(self, **more):
        return dict(
            dtypes=self._dtypes,
            shared_name=self._name,
            capacity=self._capacity,
            memory_limit=self._memory_limit,
            **more,
        )


class StagingArea(BaseStagingArea):
    """A queue of elements on a device, for values that a later step takes.

    Args:
      dtypes: the types of the components.
      shapes, names: of the components.
      shared_name: the name by which sessions share it.
      capacity: how many elements it may have; 0: no bound.
      memory_limit: how many bytes it may have; 0: no bound.
    """

    def put(self, values, name=None):
        """The operation that adds an element; it waits while the area is full."""
        with ops.name_scope(name, "%s_put" % self._name, self._scope_vals(values)) as scope:
            if not isinstance(values, (list, tuple, dict)):
                values = [values]
            indices = None if isinstance(values, dict) else list(range(len(values)))
            vals, _ = self._check_put_dtypes(values, indices)
            with ops.colocate_with(self._coloc_op):
                return gen_data_flow_ops.stage(
                    values=vals,
                    shared_name=self._name,
                    name=scope,
                    capacity=self._capacity,
                    memory_limit=self._memory_limit,
                )

    def _got(self, get, name):
        with ops.colocate_with(self._coloc_op):
            values = get(name)
        return self._get_return_value(values, list(range(len(self._dtypes))))

    def get(self, name=None):
        """The oldest element: a list of tensors or a dict. It waits while there is none."""
        if name is None:
            name = "%s_get" % self._name
        return self._got(lambda name: gen_data_flow_ops.unstage(name=name, **self._attrs()), name)

    def peek(self, index, name=None):
        """The element of that number from the oldest on, which stays."""
        if name is None:
            name = "%s_peek" % self._name
        return self._got(lambda name: gen_data_flow_ops.stage_peek(index, name=name, **self._attrs()), name)

    def size(self, name=None):
        """The number of elements, an int32 scalar."""
        if name is None:
            name = "%s_size" % self._name
        return gen_data_flow_ops.stage_size(name=name, **self._attrs())

    def clear(self, name=None):
        """The operation that removes all elements."""
        if name is None:
            name = "%s_clear" % self._name
        return gen_data_flow_ops.stage_clear(name=name, **self._attrs())


class MapStagingArea(BaseStagingArea):
    """A map of elements by int64 keys; an element may come component by component.

    Args as of StagingArea; ordered: whether elements without a given key leave by the least key.
    """

    def __init__(
        self,
        dtypes,
        shapes=None,
        names=None,
        shared_name=None,
        ordered=False,
        capacity=0,
        memory_limit=0,
    ):
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._kind = "ordered_map" if ordered else "map"

    def _op(self, what):
        return getattr(gen_data_flow_ops, f"{self._kind}_{what}")

    def put(self, key, vals, indices=None, name=None):
        """The operation that gives the element of `key` the components of these indices, or names in a dict."""
        with ops.name_scope(name, "%s_put" % self._name, self._scope_vals(vals)) as scope:
            vals, indices = self._check_put_dtypes(vals, indices)
            with ops.colocate_with(self._coloc_op):
                return self._op("stage")(key, indices, vals, name=scope, **self._attrs())

    def _get_indices_and_dtypes(self, indices=None):
        if indices is None:
            indices = list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"Invalid indices type {type(indices)}")
        if len(indices) == 0:
            raise ValueError("Empty indices")
        if all(isinstance(i, str) for i in indices):
            if self._names is None:
                raise ValueError(
                    f"String indices provided {indices}, but this Staging Area was not created with names."
                )
            try:
                indices = [self._names.index(n) for n in indices]
            except ValueError:
                raise ValueError(f"Named index not in Staging Area names {self._names}") from None
        elif not all(isinstance(i, int) for i in indices):
            raise TypeError(f"Mixed types in indices {indices}, may only be str or int")
        return indices, [self._dtypes[i] for i in indices]

    def _attrs_of(self, dtypes):
        return {**self._attrs(), "dtypes": dtypes}

    def get(self, key=None, indices=None, name=None):
        """(key, element) of that key, or of any where it is None; it waits until there is one."""
        return self._popitem(indices, name) if key is None else self._pop(key, indices, name)

    def _pop(self, key, indices=None, name=None):
        if name is None:
            name = "%s_get" % self._name
        indices, dtypes = self._get_indices_and_dtypes(indices)
        with ops.colocate_with(self._coloc_op):
            result = self._op("unstage")(key, indices, name=name, **self._attrs_of(dtypes))
        return key, self._get_return_value(result, indices)

    def _popitem(self, indices=None, name=None):
        if name is None:
            name = "%s_get_nokey" % self._name
        indices, dtypes = self._get_indices_and_dtypes(indices)
        with ops.colocate_with(self._coloc_op):
            key, result = self._op("unstage_no_key")(indices, name=name, **self._attrs_of(dtypes))
        key = self._create_device_transfers(key)[0]
        return key, self._get_return_value(result, indices)

    def peek(self, key, indices=None, name=None):
        """The element of that key, which stays."""
        if name is None:
            name = "%s_pop" % self._name
        indices, dtypes = self._get_indices_and_dtypes(indices)
        with ops.colocate_with(self._coloc_op):
            result = self._op("peek")(key, indices, name=name, **self._attrs_of(dtypes))
        return self._get_return_value(result, indices)

    def size(self, name=None):
        """The number of complete elements, an int32 scalar."""
        if name is None:
            name = "%s_size" % self._name
        return self._op("size")(name=name, **self._attrs())

    def incomplete_size(self, name=None):
        """The number of elements that lack components, an int32 scalar."""
        if name is None:
            name = "%s_incomplete_size" % self._name
        return self._op("incomplete_size")(name=name, **self._attrs())

    def clear(self, name=None):
        """The operation that removes all elements."""
        if name is None:
            name = "%s_clear" % self._name
        return self._op("clear")(name=name, **self._attrs())


# ---- Records of files, read in the background ----


def _compression_name(kind):
    """The name of a TFRecordCompressionType."""
    return kind if isinstance(kind, str) else {None: "", 0: "", 1: "ZLIB", 2: "GZIP"}[kind]


class RecordInput:
    """Batches of records of TFRecord files in random order, read by several threads.

    Args:
      file_pattern: which files.
      batch_size: how many records each of `batches` tensors has, or the one if `batches` is None.
      buffer_size: how many records are there to choose from.
      parallelism: how many files are read at a time.
      shift_ratio: by which part of the files their order is shifted each epoch.
      seed: of the order.
      compression_type: "", "GZIP" or "ZLIB".
    """

    def __init__(
        self,
        file_pattern,
        batch_size=1,
        buffer_size=1,
        parallelism=1,
        shift_ratio=0,
        seed=0,
        name=None,
        batches=None,
        compression_type=None,
    ):
        self._batch_size = batch_size * (batches or 1)
        self._batches = batches
        self._attrs = dict(
            file_pattern=file_pattern,
            file_buffer_size=buffer_size,
            file_parallelism=parallelism,
            file_shuffle_shift_ratio=shift_ratio,
            batch_size=self._batch_size,
            file_random_seed=seed,
            compression_type=_compression_name(compression_type),
            name=name,
        )

    def get_yield_op(self):
        """The next batch: a string vector, or a list of `batches` lists of scalars."""
        records = gen_data_flow_ops.record_input(**self._attrs)
        if self._batches is None:
            return records
        with ops.name_scope(self._attrs["name"]):
            batches = [[] for _ in range(self._batches)]
            for i, record in enumerate(array_ops.split(records, self._batch_size, 0)):
                batches[i % self._batches].append(array_ops.reshape(record, []))
            return batches


def __getattr__(name):
    """The functions of gen_data_flow_ops, which TensorFlow's module of this name has too."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_data_flow_ops, name)
