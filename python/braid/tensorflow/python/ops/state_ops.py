"""Ops that write variables: tf.assign, tf.scatter_add and their kind, for variables of both types."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_array_ops  # noqa: F401
from braid.tensorflow.python.ops import gen_resource_variable_ops
from braid.tensorflow.python.ops import gen_state_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export


def variable_op(shape, dtype, name="Variable", set_shape=True, container="", shared_name=""):
    """variable_op_v2() whose static shape is unknown if `set_shape` is False."""
    if not set_shape:
        shape = tensor_shape.unknown_shape()
    return variable_op_v2(shape, dtype, name=name, container=container, shared_name=shared_name)


def variable_op_v2(shape, dtype, name="Variable", container="", shared_name=""):
    """The node of a variable without its initializer. Tensors of the same `shared_name` are one variable."""
    return gen_state_ops.variable_v2(
        shape=shape, dtype=dtype, name=name, container=container, shared_name=shared_name
    )


def init_variable(v, init, name="init"):
    """An operation that writes `init`, a tensor or a function of shape and type that makes one."""
    with ops.name_scope(None, v.op.name + "/", [v, init]), ops.name_scope(name) as scope, ops.colocate_with(
        v
    ):
        value = init(v.get_shape().as_list(), v.dtype.base_dtype) if callable(init) else init
        return gen_state_ops.assign(v, ops.convert_to_tensor(value, name="init"), name=scope)


def _is_reference(ref):
    return ref.dtype._is_ref_dtype


def is_variable_initialized(ref, name=None):
    """A scalar bool tensor: whether the variable `ref` has a value."""
    if _is_reference(ref):
        return gen_state_ops.is_variable_initialized(ref=ref, name=name)
    return ref.is_initialized(name=name)


@tf_export(v1=["assign"])
def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    """Writes `value`. Returns `ref` after the write. Without `validate_shape` (True) the shape may change."""
    if _is_reference(ref):
        return gen_state_ops.assign(
            ref,
            value,
            use_locking=True if use_locking is None else use_locking,
            name=name,
            validate_shape=True if validate_shape is None else validate_shape,
        )
    return ref.assign(value, name=name)


@tf_export(v1=["assign_add"])
def assign_add(ref, value, use_locking=None, name=None):
    """Adds `value`. Returns `ref` after the write."""
    if _is_reference(ref):
        return gen_state_ops.assign_add(ref, value, use_locking=bool(use_locking), name=name)
    return ref.assign_add(value)


@tf_export(v1=["assign_sub"])
def assign_sub(ref, value, use_locking=None, name=None):
    """Subtracts `value`. Returns `ref` after the write."""
    if _is_reference(ref):
        return gen_state_ops.assign_sub(ref, value, use_locking=bool(use_locking), name=name)
    return ref.assign_sub(value)


@tf_export(v1=["count_up_to"])
def count_up_to(ref, limit, name=None):
    """Adds one to an integer variable and returns the value before. At `limit` the run fails."""
    if _is_reference(ref):
        return gen_state_ops.count_up_to(ref, limit=limit, name=name)
    return gen_state_ops.resource_count_up_to(ref.handle, limit, T=ref.dtype, name=name)


def _scatter(kind, ref, indices, updates, use_locking, name):
    if _is_reference(ref):
        op = getattr(gen_state_ops, f"scatter_{kind}")
        return op(ref, indices, updates, use_locking=use_locking, name=name)
    op = getattr(gen_resource_variable_ops, f"resource_scatter_{kind}")
    return ref._lazy_read(op(ref.handle, indices, ops.convert_to_tensor(updates, ref.dtype), name=name))


def _scatter_nd(kind, ref, indices, updates, use_locking, name):
    if _is_reference(ref):
        op = getattr(gen_state_ops, f"scatter_nd_{kind}")
        return op(ref, indices, updates, use_locking=use_locking, name=name)
    op = getattr(gen_state_ops, f"resource_scatter_nd_{kind}")
    return ref._lazy_read(op(ref.handle, indices, ops.convert_to_tensor(updates, ref.dtype), name=name))


@tf_export(v1=["scatter_update"])
def scatter_update(ref, indices, updates, use_locking=True, name=None):
    """Writes rows: ref[indices, ...] = updates."""
    return _scatter("update", ref, indices, updates, use_locking, name)


@tf_export(v1=["scatter_add"])
def scatter_add(ref, indices, updates, use_locking=False, name=None):
    """Adds to rows: ref[indices, ...] += updates. Equal indices add up."""
    return _scatter("add", ref, indices, updates, use_locking, name)


@tf_export(v1=["scatter_sub"])
def scatter_sub(ref, indices, updates, use_locking=False, name=None):
    """Subtracts from rows: ref[indices, ...] -= updates. Equal indices add up."""
    return _scatter("sub", ref, indices, updates, use_locking, name)


@tf_export(v1=["scatter_mul"])
def scatter_mul(ref, indices, updates, use_locking=False, name=None):
    """Multiplies rows: ref[indices, ...] *= updates."""
    return _scatter("mul", ref, indices, updates, use_locking, name)


@tf_export(v1=["scatter_div"])
def scatter_div(ref, indices, updates, use_locking=False, name=None):
    """Divides rows: ref[indices, ...] /= updates."""
    return _scatter("div", ref, indices, updates, use_locking, name)


@tf_export(v1=["scatter_min"])
def scatter_min(ref, indices, updates, use_locking=False, name=None):
    """Keeps the smaller: ref[indices, ...] = min(ref[indices, ...], updates)."""
    return _scatter("min", ref, indices, updates, use_locking, name)


@tf_export(v1=["scatter_max"])
def scatter_max(ref, indices, updates, use_locking=False, name=None):
    """Keeps the larger: ref[indices, ...] = max(ref[indices, ...], updates)."""
    return _scatter("max", ref, indices, updates, use_locking, name)


@tf_export(v1=["scatter_nd_update"])
def scatter_nd_update(ref, indices, updates, use_locking=True, name=None):
    """Writes `updates` [d_0, ..., d_n, ...] where the vectors `indices` [d_0, ..., d_n, depth] point to."""
    return _scatter_nd("update", ref, indices, updates, use_locking, name)


@tf_export(v1=["scatter_nd_add"])
def scatter_nd_add(ref, indices, updates, use_locking=False, name=None):
    """Adds `updates` where the vectors `indices` point to."""
    return _scatter_nd("add", ref, indices, updates, use_locking, name)


@tf_export(v1=["scatter_nd_sub"])
def scatter_nd_sub(ref, indices, updates, use_locking=False, name=None):
    """Subtracts `updates` where the vectors `indices` point to."""
    return _scatter_nd("sub", ref, indices, updates, use_locking, name)


@tf_export(v1=["batch_scatter_update"])
def batch_scatter_update(ref, indices, updates, use_locking=True, name=None):
    """Writes ref[i_1, ..., i_n, indices[i_1, ..., i_n, j]] = updates[i_1, ..., i_n, j, ...]."""
    with ops.name_scope(name):
        indices = ops.convert_to_tensor(indices, name="indices")
        shape = array_ops.shape(indices)
        rank = indices.get_shape().ndims
        parts = []
        for axis in range(rank - 1):
            steps = array_ops.reshape(
                math_ops.range(shape[axis], dtype=indices.dtype),
                [-1 if a == axis else 1 for a in range(rank)],
            )
            parts.append(array_ops.broadcast_to(steps, shape))
        full = array_ops.stack(parts + [indices], axis=-1)
        return scatter_nd_update(ref, full, updates, use_locking)
