"""Ops on LabeledTensors beside those that operators stand for."""

import collections.abc

import numpy as np

from braid.tensorflow.contrib.labeled_tensor.python.ops import _typecheck as tc
from braid.tensorflow.contrib.labeled_tensor.python.ops import core
from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import array_ops, functional_ops, math_ops, numerics, random_ops
from braid.tensorflow.python.ops import map_fn as map_fn_lib
from braid.tensorflow.python.training import input as input_ops

_Name = tc.Optional(str)
_Names = tc.Collection(str)
_Tensors = tc.Collection(core.LabeledTensorLike)


def _convert_all(labeled_tensors):
    return [core.convert_to_labeled_tensor(lt) for lt in labeled_tensors]


def _index_of_labels(axis, value):
    """A label, or a slice of labels of which the last one belongs to it, as an index or a slice."""
    if not isinstance(value, slice):
        return axis.index(value)
    start = None if value.start is None else axis.index(value.start)
    stop = None if value.stop is None else axis.index(value.stop) + 1
    if value.step is not None:
        raise NotImplementedError("slicing with a step is not yet supported")
    return slice(start, stop)


@tc.accepts(core.LabeledTensorLike, tc.Mapping(str, tc.Union(slice, collections.abc.Hashable, list)), _Name)
def select(labeled_tensor, selection, name=None):
    """The part of a tensor that has some labels.

    selection: by the names of axes, a label (the axis goes), a slice of labels, which holds the last one,
    too, or a list of labels. A list can only be there alone.

    Raises:
      ValueError: there is no such axis, or it has no labels.
      KeyError: an axis does not have a label.
      NotImplementedError: a list and another element, or a slice with a step.
    """
    with ops.name_scope(name, "lt_select", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        indices, lists = {}, {}
        for axis_name, value in selection.items():
            if axis_name not in labeled_tensor.axes:
                raise ValueError(
                    "The tensor does not have an axis named %s. Its axes are: %r"
                    % (axis_name, labeled_tensor.axes.keys())
                )
            axis = labeled_tensor.axes[axis_name]
            if axis.labels is None:
                raise ValueError(
                    "The axis named %s does not have labels. The axis is: %r" % (axis_name, axis)
                )
            if not isinstance(value, list):
                indices[axis_name] = _index_of_labels(axis, value)
                continue
            if lists:
                raise NotImplementedError(
                    "select does not yet support more than one list selection at the same time"
                )
            places = [axis.index(label) for label in value]
            lists[axis_name] = ops.convert_to_tensor(places, dtype=dtypes.int64)
        if not lists:
            return core.slice_function(labeled_tensor, indices, name=scope)
        if indices:
            raise NotImplementedError("select does not yet support combined scalar and list selection")
        ((axis_name, places),) = lists.items()
        return _take(labeled_tensor, places, core.Axis(axis_name, selection[axis_name]), scope)


def _take(labeled_tensor, places, axis, name):
    """The elements at `places` of an axis, which becomes `axis`."""
    with ops.name_scope(name, "lt_take", [labeled_tensor]) as scope:
        axes = core.Axes([axis, *labeled_tensor.axes.remove(axis.name).values()])
        transposed = core.transpose(labeled_tensor, axes.keys())
        taken = core.LabeledTensor(array_ops.gather(transposed.tensor, places), axes)
        return core.transpose(taken, labeled_tensor.axes.keys(), name=scope)


@tc.accepts(_Tensors, str, _Name)
def concat(labeled_tensors, axis_name, name=None):
    """tf.concat along an axis. It keeps its labels if each tensor has some.

    Raises:
      ValueError: there are no tensors, there is no such axis, or others differ.
    """
    with ops.name_scope(name, "lt_concat", labeled_tensors) as scope:
        labeled_tensors = _convert_all(labeled_tensors)
        if not labeled_tensors:
            raise ValueError("concat expects at least 1 tensor, but received %s" % labeled_tensors)
        axes = labeled_tensors[0].axes
        names = list(axes)
        if axis_name not in names:
            raise ValueError("%s not in %s" % (axis_name, names))
        shared = axes.remove(axis_name)
        for labeled_tensor in labeled_tensors[1:]:
            if labeled_tensor.axes.remove(axis_name) != shared:
                raise ValueError(
                    "Mismatched shared axes: the first tensor had axes %r but this tensor has axes %r."
                    % (shared, labeled_tensor.axes.remove(axis_name))
                )
        concat_axis = core.concat_axes([lt.axes[axis_name] for lt in labeled_tensors])
        tensor = array_ops.concat([lt.tensor for lt in labeled_tensors], names.index(axis_name), name=scope)
        return core.LabeledTensor(
            tensor, [concat_axis if axis.name == axis_name else axis for axis in axes.values()]
        )


@tc.accepts(_Tensors, tc.Union(str, core.AxisLike), int, _Name)
def pack(labeled_tensors, new_axis, axis_position=0, name=None):
    """tf.stack of tensors with the same axes.

    new_axis: its name, a pair of name and labels, or an Axis; axis_position: where it stands.

    Raises:
      ValueError: there are no tensors, or their axes differ.
    """
    with ops.name_scope(name, "lt_pack", labeled_tensors) as scope:
        labeled_tensors = _convert_all(labeled_tensors)
        if not labeled_tensors:
            raise ValueError("pack expects at least 1 tensors, but received %s" % labeled_tensors)
        first = labeled_tensors[0].axes
        for labeled_tensor in labeled_tensors:
            if labeled_tensor.axes != first:
                raise ValueError("Non-identical axes. Expected %s but got %s" % (first, labeled_tensor.axes))
        tensor = array_ops.stack([lt.tensor for lt in labeled_tensors], axis=axis_position, name=scope)
        axes = list(first.values())
        axes.insert(axis_position, new_axis)
        return core.LabeledTensor(tensor, axes)


@tc.accepts(core.LabeledTensorLike, _Name, _Name)
def unpack(labeled_tensor, axis_name=None, name=None):
    """tf.unstack along an axis, by default the first: a list. ValueError: there is no such axis."""
    with ops.name_scope(name, "lt_unpack", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        names = list(labeled_tensor.axes)
        if axis_name is None:
            axis_name = names[0]
        if axis_name not in names:
            raise ValueError("%s not in %s" % (axis_name, names))
        tensors = array_ops.unstack(labeled_tensor.tensor, axis=names.index(axis_name), name=scope)
        axes = labeled_tensor.axes.remove(axis_name)
        return [core.LabeledTensor(tensor, axes) for tensor in tensors]


def _sizes(axes):
    """What tf.reshape is told of axes; -1: a name alone, or a size that is not known."""
    sizes = [None if isinstance(axis, str) else core.as_axis(axis).size for axis in axes]
    return [-1 if size is None else size for size in sizes]


@tc.accepts(core.LabeledTensorLike, _Names, tc.Collection(tc.Union(str, core.AxisLike)), _Name)
def reshape(labeled_tensor, existing_axes, new_axes, name=None):
    """Replaces axes that stand beside each other by others.

    existing_axes: their names in their order. new_axes: Axis objects, pairs (name, value), and at most one
    name, of an axis whose size follows from the others.

    Raises:
      ValueError: there is no such axis, or two sizes are not known.
      AxisOrderError: the axes stand in another order or not beside each other.
    """
    with ops.name_scope(name, "lt_reshape", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        names, existing_axes = list(labeled_tensor.axes), list(existing_axes)
        if not set(existing_axes) <= set(names):
            raise ValueError(
                "existing_axes %r are not contained in the set of axis names %r on the input labeled tensor"
                % (existing_axes, names)
            )
        start, stop = names.index(existing_axes[0]), names.index(existing_axes[-1]) + 1
        if existing_axes != names[start:stop]:
            raise core.AxisOrderError(
                "existing_axes %r are not a slice of axis names %r on the input labeled tensor. Use `transpose` or "
                "`impose_axis_order` to reorder axes on the input explicitly." % (existing_axes, names)
            )
        if sum(isinstance(axis, str) for axis in new_axes) > 1:
            raise ValueError(
                "at most one axis in new_axes can have unknown size. All other axes must have an indicated integer "
                "size or labels: %r" % new_axes
            )
        axes = list(labeled_tensor.axes.values())
        axes[start:stop] = new_axes
        return core.LabeledTensor(array_ops.reshape(labeled_tensor.tensor, _sizes(axes), name=scope), axes)


@tc.accepts(core.LabeledTensorLike, str, str, _Name)
def rename_axis(labeled_tensor, existing_name, new_name, name=None):
    """The tensor with another name of an axis. ValueError: there is no such axis."""
    with ops.name_scope(name, "lt_rename_axis", [labeled_tensor]) as scope:
        if existing_name not in labeled_tensor.axes:
            raise ValueError(
                "existing_name %r are not contained in the set of axis names %r on the input labeled tensor"
                % (existing_name, labeled_tensor.axes.keys())
            )
        renamed = core.Axis(new_name, labeled_tensor.axes[existing_name].value)
        return reshape(labeled_tensor, [existing_name], [renamed], name=scope)


@tc.accepts(_Tensors, int, int, int, bool, bool, _Name)
def batch(
    labeled_tensors,
    batch_size,
    num_threads=1,
    capacity=32,
    enqueue_many=False,
    allow_smaller_final_batch=False,
    name=None,
):
    """tf.train.batch: a list of tensors with the first axis "batch", which those have with enqueue_many, too.

    Raises:
      ValueError: the first axis of a tensor is not "batch" with enqueue_many.
    """
    options = dict(num_threads=num_threads, capacity=capacity, enqueue_many=enqueue_many)
    options["allow_smaller_final_batch"] = allow_smaller_final_batch
    return _batch("lt_batch", input_ops.batch, labeled_tensors, batch_size, options, name)


@tc.accepts(_Tensors, int, int, int, bool, int, tc.Optional(int), bool, _Name)
def shuffle_batch(
    labeled_tensors,
    batch_size,
    num_threads=1,
    capacity=32,
    enqueue_many=False,
    min_after_dequeue=0,
    seed=None,
    allow_smaller_final_batch=False,
    name=None,
):
    """tf.train.shuffle_batch, as batch."""
    options = dict(num_threads=num_threads, capacity=capacity, enqueue_many=enqueue_many)
    options.update(min_after_dequeue=min_after_dequeue, seed=seed)
    options["allow_smaller_final_batch"] = allow_smaller_final_batch
    return _batch("lt_shuffle_batch", input_ops.shuffle_batch, labeled_tensors, batch_size, options, name)


def _batch(default_name, function, labeled_tensors, batch_size, options, name):
    with ops.name_scope(name, default_name, labeled_tensors) as scope:
        labeled_tensors = _convert_all(labeled_tensors)
        tensors = [lt.tensor for lt in labeled_tensors]
        batches = function(tensors, batch_size=batch_size, name=scope, **options)
        if isinstance(batches, ops.Tensor):
            batches = [batches]
        batch_axis = core.Axis("batch", None if options["allow_smaller_final_batch"] else batch_size)
        result = []
        for labeled_tensor, tensor in zip(labeled_tensors, batches):
            axes = list(labeled_tensor.axes.values())
            if options["enqueue_many"]:
                if not axes or axes[0].name != "batch":
                    raise ValueError(
                        'When enqueue_many is True, input tensors must have an axis called "batch" as their first '
                        "dimension, but axes were %s" % labeled_tensor.axes
                    )
                del axes[0]
            result.append(core.LabeledTensor(tensor, [batch_axis, *axes]))
        return result


@tc.accepts(core.LabeledTensorLike, tc.Mapping(str, int), tc.Optional(int), _Name)
def random_crop(labeled_tensor, shape_map, seed=None, name=None):
    """tf.random_crop: shape_map has the sizes of axes that are cropped, which lose their labels.

    Raises:
      ValueError: there is no such axis.
    """
    with ops.name_scope(name, "lt_random_crop", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        for axis_name in shape_map:
            if axis_name not in labeled_tensor.axes:
                raise ValueError("Selection axis %s not in axes %s" % (axis_name, labeled_tensor.axes))
        axes = [
            core.Axis(axis.name, shape_map[axis.name]) if axis.name in shape_map else axis
            for axis in labeled_tensor.axes.values()
        ]
        sizes = [shape_map.get(axis.name, None) or len(axis) for axis in axes]
        return core.LabeledTensor(
            random_ops.random_crop(labeled_tensor.tensor, sizes, seed=seed, name=scope), axes
        )


@tc.accepts(collections.abc.Callable, core.LabeledTensorLike, _Name)
def map_fn(fn, labeled_tensor, name=None):
    """tf.map_fn over the first axis; fn is given a LabeledTensor, and returns one.

    The axes of the result are those of fn's result for the first element, for which its nodes are built
    apart; those of strings are built for each element.
    """
    with ops.name_scope(name, "lt_map_fn", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        elements = unpack(labeled_tensor)
        first, *others = labeled_tensor.axes.values()
        if labeled_tensor.dtype == dtypes.string:
            return pack([fn(element) for element in elements], first, name=scope)
        example = fn(elements[0])
        mapped = map_fn_lib.map_fn(
            lambda element: fn(core.LabeledTensor(element, others)).tensor,
            labeled_tensor.tensor,
            dtype=example.dtype,
        )
        axes = [first, *example.axes.values()]
        return core.identity(core.LabeledTensor(mapped, axes), name=scope)


@tc.accepts(collections.abc.Callable, core.LabeledTensorLike, core.LabeledTensorLike, _Name)
def foldl(fn, labeled_tensor, initial_value, name=None):
    """tf.foldl over the first axis; fn is given two LabeledTensors, what it returned last and an element."""
    with ops.name_scope(name, "lt_foldl", [labeled_tensor, initial_value]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        initial_value = core.convert_to_labeled_tensor(initial_value)
        others = list(labeled_tensor.axes.values())[1:]

        def step(value, element):
            value = core.LabeledTensor(value, initial_value.axes)
            return fn(value, core.LabeledTensor(element, others)).tensor

        folded = functional_ops.foldl(step, labeled_tensor.tensor, initializer=initial_value.tensor)
        return core.identity(core.LabeledTensor(folded, initial_value.axes), name=scope)


@tc.accepts(core.LabeledTensorLike, tc.Optional(_Names), _Name)
def squeeze(labeled_tensor, axis_names=None, name=None):
    """Removes axes of size 1, by default all. ValueError: there is no such axis, or it is larger."""
    with ops.name_scope(name, "lt_squeeze", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        axes = labeled_tensor.axes
        if axis_names is None:
            axis_names = [axis.name for axis in axes.values() if len(axis) == 1]
        for axis_name in axis_names:
            if axis_name not in axes:
                raise ValueError("axis %s is not in tensor axes %s" % (axis_name, axes))
            if len(axes[axis_name]) != 1:
                raise ValueError(
                    "cannot squeeze axis with size greater than 1: (%s, %s)" % (axis_name, axes[axis_name])
                )
        dimensions = [i for i, axis in enumerate(axes) if axis in axis_names]
        if dimensions:
            tensor = array_ops.squeeze(labeled_tensor.tensor, dimensions, name=scope)
        else:
            tensor = array_ops.identity(labeled_tensor.tensor, name=scope)
        return core.LabeledTensor(tensor, [a for a in axes.values() if a.name not in axis_names])


ReduceAxis = tc.Union(str, tc.Tuple(str, collections.abc.Hashable))
ReduceAxes = tc.Optional(tc.Union(ReduceAxis, tc.Collection(ReduceAxis)))


def _shared_axis(a, b):
    """The name of the axis along which two tensors are multiplied."""
    if len(a.axes) > 2 or len(b.axes) > 2:
        raise NotImplementedError(
            "matmul currently requires inputs with rank 2 or less, but inputs have ranks %r and %r"
            % (len(a.axes), len(b.axes))
        )
    if not a.axes or not b.axes:
        raise ValueError(
            "matmul currently requires inputs with at least rank 1, but inputs have ranks %r and %r"
            % (len(a.axes), len(b.axes))
        )
    shared = set(a.axes) & set(b.axes)
    if len(shared) > 1:
        raise NotImplementedError(
            "matmul does not yet support summing over multiple shared axes: %r. Use transpose and reshape to create "
            "a single shared axis to sum over." % shared
        )
    if not shared:
        raise ValueError(
            "there must have exactly one axis in common between input to matmul: %r, %r"
            % (a.axes.keys(), b.axes.keys())
        )
    (axis,) = shared
    if a.axes[axis] != b.axes[axis]:
        raise ValueError(
            "axis %r does not match on input arguments: %r vs %r"
            % (axis, a.axes[axis].value, b.axes[axis].value)
        )
    return axis


@tc.accepts(core.LabeledTensorLike, core.LabeledTensorLike, _Name)
def matmul(a, b, name=None):
    """The product of vectors and matrices along the one axis that both have.

    The axes of the result have the order of the axis_order_scope, or else of the arguments.

    Raises:
      NotImplementedError: a rank is above 2, or there are two common axes.
      ValueError: a rank is 0, or there is no common axis, or it differs.
    """
    with ops.name_scope(name, "lt_matmul", [a, b]) as scope:
        a, b = core.convert_to_labeled_tensor(a), core.convert_to_labeled_tensor(b)
        shared = _shared_axis(a, b)
        axes = [axis for lt in (a, b) for axis in lt.axes.values() if axis.name != shared]
        order = core.get_axis_order()
        if order is not None:
            names = [axis.name for axis in axes]
            if [axis for axis in order if axis in names] != names:
                a, b = b, a
                axes.reverse()
        x, y, added = a.tensor, b.tensor, []
        if len(a.axes) == 1:
            x = array_ops.reshape(x, (1, -1))
            added.append(0)
        if len(b.axes) == 1:
            y = array_ops.reshape(y, (-1, 1))
            added.append(1)
        product = math_ops.matmul(
            x,
            y,
            transpose_a=len(a.axes) == 2 and list(a.axes)[0] == shared,
            transpose_b=len(b.axes) == 2 and list(b.axes)[1] == shared,
        )
        if added:
            product = array_ops.squeeze(product, added)
        return core.LabeledTensor(array_ops.identity(product, name=scope), axes)


@tc.accepts(str, collections.abc.Callable)
def define_reduce_op(op_name, reduce_fn):
    """A function (labeled_tensor, axes=None, name=None), of a function (tensor, dimensions, keepdims=True)."""

    @tc.accepts(core.LabeledTensorLike, ReduceAxes, _Name)
    def op(labeled_tensor, axes=None, name=None):
        with ops.name_scope(name, "lt_" + op_name, [labeled_tensor]) as scope:
            labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
            if axes is None:
                axes = labeled_tensor.axes.keys()
            elif isinstance(axes, (str, tuple)):
                axes = [axes]
            kept, removed = {}, []  # what becomes of axes of size 1
            for axis in axes:
                if isinstance(axis, str):
                    kept[axis] = axis
                    removed.append(axis)
                else:
                    axis_name, label = axis
                    kept[axis_name] = (axis_name, None if label is None else [label])
            for axis_name in kept:
                if axis_name not in labeled_tensor.axes:
                    raise ValueError("Axis %s not in axes %s" % (axis_name, labeled_tensor.axes))
            dimensions = [i for i, axis in enumerate(labeled_tensor.axes) if axis in kept]
            reduced = reduce_fn(labeled_tensor.tensor, dimensions, keepdims=True)
            reduced = core.LabeledTensor(
                reduced, [kept.get(axis.name, axis) for axis in labeled_tensor.axes.values()]
            )
            return squeeze(reduced, removed, name=scope)

    op.__name__ = op_name
    op.__doc__ = f"""tf.{op_name} of a LabeledTensor.

    axes: one or several of those that are reduced, by default all: a name, of an axis that goes, or a pair
    (name, None) or (name, label), of one that stays with size 1.

    Raises:
      ValueError: there is no such axis.
    """
    return op


reduce_all = define_reduce_op("reduce_all", math_ops.reduce_all)
reduce_any = define_reduce_op("reduce_any", math_ops.reduce_any)
reduce_logsumexp = define_reduce_op("reduce_logsumexp", math_ops.reduce_logsumexp)
reduce_max = define_reduce_op("reduce_max", math_ops.reduce_max)
reduce_mean = define_reduce_op("reduce_mean", math_ops.reduce_mean)
reduce_min = define_reduce_op("reduce_min", math_ops.reduce_min)
reduce_prod = define_reduce_op("reduce_prod", math_ops.reduce_prod)
reduce_sum = define_reduce_op("reduce_sum", math_ops.reduce_sum)


def _check_names(what, by_name, axes):
    if not set(by_name) <= set(axes):
        raise ValueError(
            "%s axes %r are not contained in the set of axis names %r on the input labeled tensor"
            % (what, by_name.keys(), axes)
        )


@tc.accepts(core.LabeledTensorLike, tc.Mapping(str, tc.Union(int, ops.Tensor)), _Name)
def tile(labeled_tensor, multiples, name=None):
    """tf.tile: `multiples` has how often some axes are repeated. ValueError: there is no such axis, or it has labels."""
    with ops.name_scope(name, "lt_tile", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        axes = labeled_tensor.axes
        _check_names("tile", multiples, axes)
        labeled = [axis for axis in multiples if axes[axis].labels is not None]
        if labeled:
            raise ValueError("cannot tile axes with tick labels: %r" % labeled)
        tiled = array_ops.tile(labeled_tensor.tensor, [multiples.get(axis, 1) for axis in axes], name=scope)
        return core.LabeledTensor(
            tiled, [axis.name if axis.labels is None else axis for axis in axes.values()]
        )


@tc.accepts(core.LabeledTensorLike, tc.Mapping(str, tc.Tuple(core.AxisValue, core.AxisValue)), str, _Name)
def pad(labeled_tensor, paddings, mode="CONSTANT", name=None):
    """tf.pad: `paddings` has, for some axes, what is added before and behind: numbers or lists of labels.

    Raises:
      ValueError: there is no such axis.
    """
    with ops.name_scope(name, "lt_pad", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        _check_names("pad", paddings, labeled_tensor.axes)
        axes, sizes = [], []
        for axis in labeled_tensor.axes.values():
            if axis.name in paddings:
                before, after = (core.Axis(axis.name, value) for value in paddings[axis.name])
                sizes.append((len(before), len(after)))
                axes.append(core.concat_axes([before, axis, after]))
            else:
                sizes.append((0, 0))
                axes.append(axis)
        return core.LabeledTensor(array_ops.pad(labeled_tensor.tensor, sizes, mode, name=scope), axes)


@tc.accepts(
    tc.Union(np.ndarray, list, tuple, core.Scalar),
    tc.Optional(dtypes.DType),
    tc.Optional(tc.Union(core.Axes, tc.Collection(tc.Union(str, core.AxisLike)))),
    _Name,
)
def constant(value, dtype=None, axes=None, name=None):
    """tf.constant, by default without axes. It has the value's shape if an axis is a name alone, or else the axes'."""
    with ops.name_scope(name, "lt_constant", [value]) as scope:
        axes = list(axes.values()) if isinstance(axes, core.Axes) else list(axes or ())
        shape = None
        if not any(isinstance(axis, str) for axis in axes):
            axes = [core.as_axis(axis) for axis in axes]
            shape = [axis.size for axis in axes]
        return core.LabeledTensor(array_ops.constant(value, dtype=dtype, shape=shape, name=scope), axes)


@tc.accepts(core.LabeledTensorLike, tc.Optional(dtypes.DType), _Name)
def zeros_like(labeled_tensor, dtype=None, name=None):
    """tf.zeros_like."""
    with ops.name_scope(name, "lt_zeros_like", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        zeros = array_ops.zeros_like(labeled_tensor.tensor, dtype=dtype, name=scope)
        return core.LabeledTensor(zeros, labeled_tensor.axes)


@tc.accepts(core.LabeledTensorLike, tc.Optional(dtypes.DType), _Name)
def ones_like(labeled_tensor, dtype=None, name=None):
    """tf.ones_like."""
    with ops.name_scope(name, "lt_ones_like", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        ones = array_ops.ones_like(labeled_tensor.tensor, dtype=dtype, name=scope)
        return core.LabeledTensor(ones, labeled_tensor.axes)


@tc.accepts(core.LabeledTensorLike, tc.Optional(dtypes.DType), _Name)
def cast(labeled_tensor, dtype=None, name=None):
    """tf.cast."""
    with ops.name_scope(name, "lt_cast", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        cast_tensor = math_ops.cast(labeled_tensor.tensor, dtype=dtype, name=scope)
        return core.LabeledTensor(cast_tensor, labeled_tensor.axes)


@tc.accepts(core.LabeledTensorLike, str, _Name)
def verify_tensor_all_finite(labeled_tensor, message, name=None):
    """tf.verify_tensor_all_finite."""
    with ops.name_scope(name, "lt_verify_tensor_all_finite", [labeled_tensor]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        verified = numerics.verify_tensor_all_finite(labeled_tensor.tensor, msg=message, name=scope)
        return core.LabeledTensor(verified, labeled_tensor.axes)


@tc.accepts(core.LabeledTensorLike, core.LabeledTensorLike, _Name)
def boolean_mask(labeled_tensor, mask, name=None):
    """tf.boolean_mask along the first axis, which loses its labels.

    Raises:
      NotImplementedError: the mask has two axes.
      ValueError: its axis is not the first one of the tensor.
    """
    with ops.name_scope(name, "lt_boolean_mask", [labeled_tensor, mask]) as scope:
        labeled_tensor = core.convert_to_labeled_tensor(labeled_tensor)
        mask = core.convert_to_labeled_tensor(mask)
        if len(mask.axes) > 1:
            raise NotImplementedError("LabeledTensor's boolean_mask currently only supports 1D masks")
        (mask_axis,) = mask.axes.values()
        first, *others = labeled_tensor.axes.values()
        if mask_axis != first:
            raise ValueError(
                "the first axis of the labeled tensor and the mask are not equal:\n%r\n%r"
                % (first, mask_axis)
            )
        masked = array_ops.boolean_mask(labeled_tensor.tensor, mask.tensor, name=scope)
        return core.LabeledTensor(masked, [first.name, *others])


@tc.accepts(core.LabeledTensorLike, core.LabeledTensorLike, core.LabeledTensorLike, _Name)
def where(condition, x, y, name=None):
    """tf.where of three tensors with the same axes. ValueError: an axis differs."""
    with ops.name_scope(name, "lt_where", [condition, x, y]) as scope:
        condition, x, y = _convert_all((condition, x, y))
        if not condition.axes == x.axes == y.axes:
            raise ValueError("all inputs to `where` must have equal axes")
        chosen = array_ops.where(condition.tensor, x.tensor, y.tensor, name=scope)
        return core.LabeledTensor(chosen, x.axes)
