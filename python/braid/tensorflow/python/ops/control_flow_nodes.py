"""The nodes of conditionals and loops, of tensors and of values made of several, and order.

control_flow_ops.py has what programs use.
"""

import collections

from braid.tensorflow.python.framework import composite_tensor
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_array_ops
from braid.tensorflow.python.ops import gen_control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops.gen_control_flow_ops import no_op
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export

MergeOutput = collections.namedtuple("Merge", ["output", "value_index"])


# ---- Nodes, of tensors, of references to variables and of values made of several tensors ----


def _each(value, plain, by_reference):
    """Applies `plain` to each tensor of a value, `by_reference` to references to variables."""
    value = ops.internal_convert_to_tensor_or_composite(value, as_ref=True)
    if isinstance(value, ops.Tensor):
        return (by_reference if value.dtype._is_ref_dtype else plain)(value)
    if not isinstance(value, composite_tensor.CompositeTensor):
        raise TypeError(f"'values' must be a Tensor or a CompositeTensor, but it is {type(value)}")
    return nest.map_structure(lambda x: _each(x, plain, by_reference), value, expand_composites=True)


def _Identity(data, name=None):
    """The same value; a reference to a variable stays one."""
    return _each(
        data,
        lambda x: array_ops.identity(x, name=name),
        lambda x: gen_array_ops.ref_identity(x, name=name),
    )


def _NextIteration(data, name=None):
    return _each(
        data,
        lambda x: gen_control_flow_ops.next_iteration(x, name=name),
        lambda x: gen_control_flow_ops.ref_next_iteration(x, name=name),
    )


def _Enter(
    data,
    frame_name,
    is_constant=False,
    parallel_iterations=10,
    use_ref=True,
    use_input_shape=True,
    name=None,
):
    """Brings `data` into the loop `frame_name`; a constant is there in every iteration."""

    def enter(x, make):
        result = make(x, frame_name, is_constant, parallel_iterations, name=name)
        if use_input_shape:
            result.set_shape(x.get_shape())
        return result

    return _each(
        data,
        lambda x: enter(x, gen_control_flow_ops.enter),
        lambda x: enter(x, gen_control_flow_ops.ref_enter if use_ref else gen_control_flow_ops.enter),
    )


def exit(data, name=None):  # noqa: A001
    """Takes `data` out of its loop."""
    return _each(
        data,
        lambda x: gen_control_flow_ops._exit(x, name),
        lambda x: gen_control_flow_ops.ref_exit(x, name),
    )


def switch(data, pred, dtype=None, name=None):
    """(data if not pred, data if pred); the other one of the two is dead: what takes it does not run."""
    with ops.name_scope(name, "Switch", [data, pred]) as name:
        data = ops.internal_convert_to_tensor_or_composite(data, dtype=dtype, name="data", as_ref=True)
        pred = ops.convert_to_tensor(pred, name="pred")
        if isinstance(data, ops.Tensor):
            return gen_control_flow_ops.switch(data, pred, name=name)
        if not isinstance(data, composite_tensor.CompositeTensor):
            raise TypeError(f"'data' must be a Tensor or a CompositeTensor, but it is {type(data)}")
        parts = [gen_control_flow_ops.switch(x, pred) for x in nest.flatten(data, expand_composites=True)]
        return tuple(
            nest.pack_sequence_as(data, [p[i] for p in parts], expand_composites=True) for i in range(2)
        )


def _SwitchRefOrTensor(data, pred, name="Switch"):
    """As `switch`, on the device of `data`; a reference to a variable stays one."""
    data = ops.convert_to_tensor_or_composite(data, name="data")
    with ops.colocate_with(data, ignore_existing=True):
        if isinstance(data, ops.Tensor) and data.dtype._is_ref_dtype:
            return gen_control_flow_ops.ref_switch(data, pred, name=name)
        return switch(data, pred, name=name)


def merge(inputs, name=None):
    """The one of `inputs` that is not dead, and its index.

    Raises ValueError where an input is None, TypeError where they are not of one kind.
    """
    if any(x is None for x in inputs):
        raise ValueError("At least one of the merge inputs is None: %s" % inputs)
    with ops.name_scope(name, "Merge", inputs) as name:
        inputs = [ops.internal_convert_to_tensor_or_composite(x, as_ref=True) for x in inputs]
        if all(isinstance(x, ops.Tensor) for x in inputs):
            by_reference = all(x.dtype._is_ref_dtype for x in inputs)
            make = gen_control_flow_ops.ref_merge if by_reference else gen_control_flow_ops.merge
            return make(inputs, name)
        if all(isinstance(x, (ops.IndexedSlices, ops.Tensor)) for x in inputs):
            inputs = math_ops._as_indexed_slices_list(inputs, optimize=False)
        for x in inputs:
            if not isinstance(x, composite_tensor.CompositeTensor):
                raise TypeError(f"Type {type(x)} not supported")
        for x in inputs[1:]:
            nest.assert_same_structure(inputs[0], x, expand_composites=True)
        parts = zip(*(nest.flatten(x, expand_composites=True) for x in inputs))
        merged = [gen_control_flow_ops.merge(list(part)) for part in parts]
        whole = nest.pack_sequence_as(inputs[0], [m[0] for m in merged], expand_composites=True)
        return MergeOutput(whole, merged[0][1])


# ---- TensorArrays are their flows within contexts ----


def _convert_tensorarray_to_flow(value):
    return value.flow if isinstance(value, tensor_array_ops.TensorArray) else value


def _convert_flows_to_tensorarrays(templates, values):
    if len(templates) != len(values):
        raise ValueError(
            f"Lengths of original Tensor list and new list do not match: {len(templates)} vs. {len(values)}"
        )
    return [
        tensor_array_ops.build_ta_with_new_flow(t, v) if isinstance(t, tensor_array_ops.TensorArray) else v
        for t, v in zip(templates, values)
    ]


def _make_tensor_array(ta, t_or_flow):
    return tensor_array_ops.build_ta_with_new_flow(ta, t_or_flow)


# ---- Shapes of a loop's variables ----


def _ShapeLessThanOrEqual(shape1, shape2):
    """Whether every tensor of `shape1` has `shape2` too."""
    if shape2.dims is None:
        return True
    if shape1.ndims != shape2.ndims:
        return False
    return all(b.value is None or a.value == b.value for a, b in zip(shape1.dims, shape2.dims))


def _get_shape_invariant(var, shape=None):
    """The shapes that the tensors of a loop's variable keep; a list where it is made of several tensors.

    `shape` is the caller's: of a Tensor its shape, of a SparseTensor the shape of its dense_shape, which is
    [rank], of IndexedSlices the shape of the values; or it is a TypeSpec.
    """
    if isinstance(shape, type_spec.TypeSpec):
        if not shape.is_compatible_with(var):
            raise TypeError(f"shape_invariants: {shape} is not compatible with the loop variable {var}")
        if not isinstance(var, composite_tensor.CompositeTensor):
            return shape.shape
        return [spec.shape for spec in nest.flatten(shape._component_specs)]
    if isinstance(var, sparse_tensor.SparseTensor):
        given = var.dense_shape.get_shape() if shape is None else None
        if shape is not None and not isinstance(shape, tensor_shape.TensorShape):
            raise TypeError(f"'shape' must be a TensorShape, but it is {type(shape)}")
        if shape is not None and shape.ndims not in (None, 1):
            raise ValueError(f"The shape invariant of a SparseTensor is [rank], not {shape}")
        rank = given if given is not None else tensor_shape.TensorShape([None]).merge_with(shape)
        return [tensor_shape.TensorShape([None, rank[0].value]), tensor_shape.TensorShape([None]), rank]
    if isinstance(var, ops.IndexedSlices):
        if shape is None:
            return [x.get_shape() for x in nest.flatten(var, expand_composites=True)]
        shape = tensor_shape.as_shape(shape)
        kept = [shape, tensor_shape.TensorShape([shape[0]])]
        return kept + ([tensor_shape.TensorShape([shape.ndims])] if var.dense_shape is not None else [])
    if isinstance(var, composite_tensor.CompositeTensor):
        spec = var._type_spec if shape is None else var._shape_invariant_to_type_spec(shape)
        return [part.shape for part in nest.flatten(spec._component_specs)]
    if isinstance(var, tensor_array_ops.TensorArray):
        return tensor_shape.TensorShape([]) if shape is None else shape
    return var.get_shape() if shape is None else shape


def _SetShapeInvariants(input_vars, enter_vars, shapes):
    """Gives the Enters of a loop's variables the shapes that these keep; ValueError where they begin
    otherwise.
    """
    for value, entered, shape in zip(input_vars, enter_vars, shapes):
        if not _ShapeLessThanOrEqual(value.get_shape(), shape):
            raise ValueError(
                f"The shape invariant specified for {value.name} is not compatible with the initial shape of the "
                f"loop variable. It enters the loop with shape {value.get_shape()}, but the specified shape "
                f"invariant is {shape}."
            )
        entered.set_shape(shape)


def _EnforceShapeInvariant(merge_var, next_var):
    """ValueError where the next value of a loop's variable may have another shape than the variable keeps."""
    if not isinstance(merge_var, ops.Tensor):
        for m, n in zip(*(nest.flatten(x, expand_composites=True) for x in (merge_var, next_var))):
            _EnforceShapeInvariant(m, n)
        return
    kept, after = merge_var.get_shape(), next_var.get_shape()
    if _ShapeLessThanOrEqual(after, kept):
        return
    enter = merge_var.op.inputs[0].op
    raise ValueError(
        f"Input tensor '{enter.inputs[0].name}' enters the loop with shape {kept}, but has shape {after} after one "
        "iteration. To allow the shape to vary across iterations, use the `shape_invariants` argument of "
        "tf.while_loop to specify a less-specific shape."
    )


def _AddNextAndBackEdge(m, v, enforce_shape_invariant=True):
    """Makes `v` the next value of the loop's variable whose Merge is `m`."""
    if isinstance(m, ops.Tensor):
        v = _NextIteration(ops.convert_to_tensor(v))
        if enforce_shape_invariant:
            _EnforceShapeInvariant(m, v)
        m.op._update_input(1, v)
        return v
    v = math_ops._as_indexed_slices(v, optimize=False) if isinstance(m, ops.IndexedSlices) else v
    nest.assert_same_structure(m, v, expand_composites=True)
    following = [
        _AddNextAndBackEdge(a, b, enforce_shape_invariant)
        for a, b in zip(*(nest.flatten(x, expand_composites=True) for x in (m, v)))
    ]
    return nest.pack_sequence_as(m, following, expand_composites=True)


def _names_of(value):
    return [x.name for x in nest.flatten(value, expand_composites=True)]


# ---- Order ----


def with_dependencies(dependencies, output_tensor, name=None):
    """`output_tensor`, available only after `dependencies` ran."""
    with ops.name_scope(name, "control_dependency", list(dependencies) + [output_tensor]) as name:
        with ops.colocate_with(output_tensor):
            with ops.control_dependencies(dependencies):
                output_tensor = ops.convert_to_tensor_or_composite(output_tensor)
                if isinstance(output_tensor, ops.IndexedSlices):
                    return ops.IndexedSlices(
                        _Identity(output_tensor.values, name=name),
                        output_tensor.indices,
                        output_tensor.dense_shape,
                    )
                return _Identity(output_tensor, name=name)


def _GroupControlDeps(dev, deps, name=None):
    with ops.control_dependencies(deps):
        if dev is None:
            return no_op(name=name)
        with ops.device(dev):
            return no_op(name=name)


@tf_export("group")
def group(*inputs, **kwargs):
    """An operation that has run when all `inputs` have; with one node for each device that they are on.

    Args:
      *inputs: operations and tensors, or structures of them.
      name: of the operation, "group_deps" if None.

    Raises TypeError where an input is something else, ValueError for an unknown argument.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    with ops.name_scope(name, "group_deps", inputs) as name:
        if not inputs:
            return no_op(name=name)
        by_device = {}
        for x in nest.flatten(inputs, expand_composites=True):
            if not hasattr(x, "device"):
                raise TypeError(f"Expected tf.group() expected Tensor objects not None or {type(x)}: {x!r}")
            by_device.setdefault(x.device, []).append(x)
        if len(by_device) == 1:
            ((device, deps),) = by_device.items()
            return _GroupControlDeps(device, deps, name=name)
        nodes = [
            _GroupControlDeps(device, by_device[device])
            for device in sorted(by_device, key=lambda d: d or "")
        ]
        with ops.control_dependencies(nodes):
            return no_op(name=name)
