"""Tensors whose axes have names and labels, and the ops that their operators stand for."""

import collections.abc
import contextlib
import numbers

import numpy as np

from braid.tensorflow.contrib.labeled_tensor.python.ops import _typecheck as tc
from braid.tensorflow.python.framework import dtypes, ops, tensor_shape
from braid.tensorflow.python.ops import array_ops, math_ops

# What Axis takes as labels; a string is none.
LabelsLike = tc.Union(np.ndarray, range, list, tuple)
DimensionLike = tc.Optional(tc.Union(tensor_shape.Dimension, int))
AxisValue = tc.Union(LabelsLike, DimensionLike)
Scalar = tc.Union(numbers.Number, bool, bytes, str)


class Axis:
    """The name of an axis, with its size or its labels, which differ from each other."""

    @tc.accepts(object, str, AxisValue)
    def __init__(self, name, value):
        """value: a size (int, Dimension, or None if it is not known), or a sequence of labels.

        Raises:
          ValueError: two labels are equal.
        """
        labels = None
        if not isinstance(value, DimensionLike):
            labels = tuple(value)
            value = len(labels)
        self._name = name
        self._dimension = tensor_shape.as_dimension(value)
        self._labels = () if self.size == 0 else labels
        self._index = None
        if self._labels is not None:
            self._index = {label: i for i, label in enumerate(self._labels)}
            if len(self._index) != len(self._labels):
                raise ValueError("Tick labels must be unique, but got {}".format(self._labels))

    @property
    def name(self):
        return self._name

    @property
    def dimension(self):
        return self._dimension

    @property
    def size(self):
        """None: not known."""
        return self._dimension.value

    @property
    def labels(self):
        """A tuple, or None."""
        return self._labels

    @property
    def value(self):
        """The labels, or else the Dimension."""
        return self._dimension if self._labels is None else self._labels

    def index(self, value):
        """The place of a label. ValueError: there are no labels; KeyError: this is none of them."""
        if self._index is None:
            raise ValueError("Axis does not have tick labels")
        return self._index[value]

    def __len__(self):
        if self.size is None:
            raise ValueError("axis %r has unknown length" % self._name)
        return self.size

    def _key(self):
        return self._name, self.size, self._labels

    def __eq__(self, other):
        return isinstance(other, Axis) and self._key() == other._key()

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self._key())

    def __repr__(self):
        return "%s(%s)" % (type(self).__name__, _pair(self)[1:-1])


def _pair(axis):
    return "('%s', %r)" % (axis.name, axis.value)


def _pairs(axes, indent):
    return (",\n" + " " * indent).join(_pair(axis) for axis in axes.values())


AxisLike = tc.Union(Axis, tc.Tuple(str, AxisValue))


@tc.accepts(AxisLike)
def as_axis(axis_data):
    """The Axis itself, or that of a pair (name, value)."""
    return axis_data if isinstance(axis_data, Axis) else Axis(*axis_data)


class Axes(collections.abc.Mapping):
    """The axes of a tensor, in their order: a mapping from names to Axis objects."""

    @tc.accepts(object, tc.List(AxisLike))
    def __init__(self, axes):
        """axes: a list of Axis objects or pairs (name, value). ValueError: a name is there twice."""
        self._axes = {}
        for axis in map(as_axis, axes):
            if axis.name in self._axes:
                raise ValueError("Duplicate axis name: %s" % axis.name)
            self._axes[axis.name] = axis

    def __iter__(self):
        return iter(self._axes)

    def __len__(self):
        return len(self._axes)

    def __contains__(self, name):
        return name in self._axes

    @tc.accepts(object, str)
    def __getitem__(self, name):
        return self._axes[name]

    def __hash__(self):
        return hash(tuple(self.items()))

    def __repr__(self):
        head = type(self).__name__ + "(["
        return head + _pairs(self, len(head)) + "])"

    @tc.accepts(object, str)
    def remove(self, axis_name):
        """The other axes. KeyError: there is no such axis."""
        if axis_name not in self._axes:
            raise KeyError(axis_name)
        return Axes([axis for axis in self.values() if axis.name != axis_name])


class LabeledTensor:
    """A tensor with an axis for each of its dimensions. Operators match axes by their names."""

    @tc.accepts(object, ops.Tensor, tc.Union(Axes, tc.Collection(tc.Union(str, AxisLike))))
    def __init__(self, tensor, axes):
        """axes: Axes, or a collection of Axis objects, pairs (name, value) and names.

        Raises:
          ValueError: the tensor has another rank, or a dimension has another size.
        """
        shape = tensor.get_shape()
        if not isinstance(axes, Axes):
            axes = Axes([(axis, shape[i]) if isinstance(axis, str) else axis for i, axis in enumerate(axes)])
        if len(shape) != len(axes):
            raise ValueError("Tensor rank was not equal to the number of axes: %r, %r" % (shape, axes))
        for dimension, axis in zip(shape, axes.values()):
            if dimension != axis.size:  # None, which is false, where one is not known
                raise ValueError(
                    "Provided axis size %d does not match tensor dimension size %din tensor %r"
                    % (axis.size, dimension, tensor)
                )
        self._tensor, self._axes = tensor, axes

    @property
    def tensor(self):
        return self._tensor

    @property
    def axes(self):
        return self._axes

    @property
    def dtype(self):
        return self._tensor.dtype

    @property
    def shape(self):
        return self._tensor.shape

    @property
    def name(self):
        return self._tensor.name

    def get_shape(self):
        return self._tensor.get_shape()

    def _as_graph_element(self):
        return self._tensor

    def __repr__(self):
        return "<%s '%s' shape=%s dtype=%s\n axes=[%s]>" % (
            type(self).__name__,
            self.name,
            self.get_shape(),
            self.dtype.name,
            _pairs(self._axes, len(" axes=[")),
        )

    def __getitem__(self, key):
        """A part, as of a tensor; each axis has an index or a slice."""
        key = key if isinstance(key, tuple) else (key,)
        if len(key) != len(self._axes):
            raise ValueError(
                "indexer %r must have the same length as the Tensor rank (%r)" % (key, len(self._axes))
            )
        return slice_function(self, dict(zip(self._axes, key)))

    def __pos__(self):
        return self

    def __eq__(self, other):
        if not isinstance(other, LabeledTensor):
            return False
        return self._tensor == other._tensor and self._axes == other._axes

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((self._tensor, self._axes))


for _class, _alias in (
    (tensor_shape.Dimension, "tensorflow.Dimension"),
    (ops.Tensor, "tensorflow.Tensor"),
    (dtypes.DType, "tensorflow.DType"),
    (Axis, "labeled_tensor.Axis"),
    (Axes, "labeled_tensor.Axes"),
    (LabeledTensor, "labeled_tensor.LabeledTensor"),
):
    tc.register_type_abbreviation(_class, _alias)

ops.register_tensor_conversion_function(
    LabeledTensor,
    lambda value, *args, **kwargs: ops.internal_convert_to_tensor(value.tensor, *args, **kwargs),
)

# What is taken for a LabeledTensor; of tensors and arrays those of rank 0.
LabeledTensorLike = tc.Union(LabeledTensor, ops.Tensor, np.ndarray, Scalar)


@tc.accepts(LabeledTensorLike, object, tc.Optional(str))
def convert_to_labeled_tensor(value, dtype=None, name=None):
    """A LabeledTensor itself, or a scalar without axes.

    Raises:
      ValueError: an array or a tensor has axes, whose names are not known, or another dtype.
    """
    tensor, axes = value, []
    if isinstance(value, LabeledTensor):
        tensor, axes = value.tensor, value.axes.values()
    tensor = ops.convert_to_tensor(tensor, dtype=dtype, name=name)
    if len(tensor.get_shape()) != len(axes):
        raise ValueError(
            "cannot automatically convert unlabeled arrays or tensors with rank>0 into LabeledTensors: %r"
            % value
        )
    return LabeledTensor(tensor, axes)


@tc.accepts(tc.Collection(Axis))
def concat_axes(axes):
    """The axis of tensors that are put one after another: with labels, if all of them have labels.

    Raises:
      ValueError: there are none, or their names differ.
    """
    if not axes:
        raise ValueError("axes must not be empty")
    names = {axis.name for axis in axes}
    if len(names) > 1:
        raise ValueError("axes do not all have the same name: %r" % names)
    if all(axis.labels is not None for axis in axes):
        value = [label for axis in axes for label in axis.labels]
    elif any(axis.size is None for axis in axes):
        value = None
    else:
        value = sum(axis.size for axis in axes)
    return Axis(names.pop(), value)


@tc.accepts(LabeledTensorLike, tc.Optional(str))
def identity(labeled_tensor, name=None):
    """tf.identity."""
    with ops.name_scope(name, "lt_identity", [labeled_tensor]) as scope:
        labeled_tensor = convert_to_labeled_tensor(labeled_tensor)
        return LabeledTensor(array_ops.identity(labeled_tensor.tensor, name=scope), labeled_tensor.axes)


# lt.slice; here it would hide Python's slice.
@tc.accepts(LabeledTensorLike, tc.Mapping(str, tc.Union(int, slice)), tc.Optional(str))
def slice_function(labeled_tensor, selection, name=None):
    """A part of a tensor: `selection` has, by the names of axes, an index (the axis goes) or a slice."""
    with ops.name_scope(name, "lt_slice", [labeled_tensor]) as scope:
        labeled_tensor = convert_to_labeled_tensor(labeled_tensor)
        indices = [selection.get(axis, slice(None)) for axis in labeled_tensor.axes]
        part = labeled_tensor.tensor[tuple(indices)]
        axes = []
        for axis, index in zip(labeled_tensor.axes.values(), indices):
            if isinstance(index, slice):
                axes.append(axis.name if axis.labels is None else (axis.name, axis.labels[index]))
        return LabeledTensor(array_ops.identity(part, name=scope), axes)


@tc.accepts(LabeledTensorLike, tc.Optional(tc.Collection(str)), tc.Optional(str))
def transpose(labeled_tensor, axis_order=None, name=None):
    """The axes in the order of these names, by default in reverse. ValueError: there are other axes."""
    with ops.name_scope(name, "lt_transpose", [labeled_tensor]) as scope:
        labeled_tensor = convert_to_labeled_tensor(labeled_tensor)
        original = list(labeled_tensor.axes)
        if axis_order is None:
            axis_order = original[::-1]
        elif sorted(axis_order) != sorted(original):
            raise ValueError(
                "The new axis order must have the same names as the original axes, but the new order is %r while "
                "the original order is %r" % (axis_order, original)
            )
        permutation = [original.index(axis) for axis in axis_order]
        transposed = array_ops.transpose(labeled_tensor.tensor, permutation, name=scope)
        return LabeledTensor(transposed, [labeled_tensor.axes[axis] for axis in axis_order])


@tc.accepts(
    LabeledTensorLike,
    tc.Collection(tc.Union(str, tc.Tuple(str, collections.abc.Hashable))),
    tc.Optional(str),
)
def expand_dims(labeled_tensor, axes, name=None):
    """Adds axes of size 1.

    axes: names of all axes in their order, old and new ones; a new one may be a pair (name, label).

    Raises:
      AxisOrderError: an axis of the tensor is missing or has another place.
    """
    with ops.name_scope(name, "lt_expand_dims", [labeled_tensor]) as scope:
        labeled_tensor = convert_to_labeled_tensor(labeled_tensor)
        check_axis_order(labeled_tensor, [axis if isinstance(axis, str) else axis[0] for axis in axes])
        made = []
        for axis in axes:
            if axis in labeled_tensor.axes:
                made.append(labeled_tensor.axes[axis])
            elif isinstance(axis, str):
                made.append(Axis(axis, 1))
            else:
                made.append(Axis(axis[0], (axis[1],)))
        shape = [-1 if axis.size is None else axis.size for axis in made]
        return LabeledTensor(array_ops.reshape(labeled_tensor.tensor, shape, name=scope), made)


class AxisOrderError(ValueError):
    """Axes have no order that fits."""


# A collection of the graph, with at most one element. Its key is no string, so that it is not exported.
_AXIS_ORDER = ("__axis_order",)


def get_axis_order():
    """The names of the innermost axis_order_scope, or None."""
    order = ops.get_collection(_AXIS_ORDER)
    return order[0] if order else None


def _axis_order_of_scope():
    order = get_axis_order()
    if order is None:
        raise AxisOrderError(
            "an explicit axis order must be provided with the axis_order argument or by using an axis_order_scope"
        )
    return order


@contextlib.contextmanager
@tc.accepts(tc.Optional(tc.List(str)))
def axis_order_scope(axis_order=None):
    """A context in which results of broadcasts have their axes in this order, a list of names.

    None: in the order that align finds by itself.
    """
    collection, before = ops.get_collection_ref(_AXIS_ORDER), get_axis_order()
    collection[:] = [axis_order]
    try:
        yield axis_order
    finally:
        collection[:] = [before]


@tc.accepts(LabeledTensorLike, tc.Optional(tc.Collection(str)))
def check_axis_order(labeled_tensor, axis_order=None):
    """Checks that axis_order, by default the scope's, has the axes of the tensor in their order.

    Raises:
      AxisOrderError: it has not, or there is no order.
    """
    labeled_tensor = convert_to_labeled_tensor(labeled_tensor)
    if axis_order is None:
        axis_order = _axis_order_of_scope()
    own = [axis for axis in axis_order if axis in labeled_tensor.axes]
    if len(own) < len(labeled_tensor.axes):
        raise AxisOrderError(
            "not all axis names appear in the required axis order %r: %r" % (axis_order, labeled_tensor)
        )
    if own != list(labeled_tensor.axes):
        raise AxisOrderError(
            "axes on a labeled tensor do not appear in the same order as the required axis order %r: %r"
            % (axis_order, labeled_tensor)
        )


@tc.accepts(LabeledTensorLike, tc.Optional(tc.Collection(str)), tc.Optional(str))
def impose_axis_order(labeled_tensor, axis_order=None, name=None):
    """Transposes a tensor to axis_order, by default the scope's. AxisOrderError: there is no order."""
    with ops.name_scope(name, "lt_impose_axis_order", [labeled_tensor]) as scope:
        labeled_tensor = convert_to_labeled_tensor(labeled_tensor)
        if axis_order is None:
            axis_order = _axis_order_of_scope()
        return transpose(labeled_tensor, [a for a in axis_order if a in labeled_tensor.axes], name=scope)


def _find_consistent_ordering(a, b):
    """The elements of both lists, of which each keeps its order, those of `a` first; None: there is no such list."""
    merged, rest = [], list(b)
    for element in a:
        if element in b:
            if element not in rest:
                return None  # it stands in `b` before one that it follows in `a`
            place = rest.index(element)
            merged += rest[:place]
            del rest[: place + 1]
        merged.append(element)
    return merged + rest


@tc.accepts(LabeledTensorLike, LabeledTensorLike, tc.Optional(str))
def align(labeled_tensor_0, labeled_tensor_1, name=None):
    """Gives two tensors the same axes, of size 1 where they had none, so that they broadcast.

    Axes have the order of the axis_order_scope, or else one that both tensors agree with, in which those of
    the first tensor come before others.

    Returns:
      The two tensors, and the Axes that the result of a broadcast has.

    Raises:
      ValueError: an axis of both has different sizes or labels.
      AxisOrderError: one of them needs a transpose.
    """
    with ops.name_scope(name, "lt_align", [labeled_tensor_0, labeled_tensor_1]) as scope:
        labeled_tensor_0 = convert_to_labeled_tensor(labeled_tensor_0)
        labeled_tensor_1 = convert_to_labeled_tensor(labeled_tensor_1)
        axes_0, axes_1 = labeled_tensor_0.axes, labeled_tensor_1.axes
        for axis in axes_0:
            if axis in axes_1 and axes_0[axis] != axes_1[axis]:
                raise ValueError(
                    "Mismatched %r axis on input tensors: %r and %r" % (axis, axes_0[axis], axes_1[axis])
                )
        axis_order = get_axis_order()
        if axis_order is not None:
            check_axis_order(labeled_tensor_0, axis_order)
            check_axis_order(labeled_tensor_1, axis_order)
            names = [axis for axis in axis_order if axis in axes_0 or axis in axes_1]
        else:
            names = _find_consistent_ordering(list(axes_0), list(axes_1))
            if names is None:
                raise AxisOrderError(
                    "No consistent axis order allows for aligning tensors with axis orders %r and %r without copying "
                    "data. Use transpose or impose_axis_order to reorder axes on one of more of the inputs."
                    % (axes_0.keys(), axes_1.keys())
                )
        labeled_tensor_0 = expand_dims(labeled_tensor_0, names, name=scope + "0")
        labeled_tensor_1 = expand_dims(labeled_tensor_1, names, name=scope + "1")
        axes = Axes([axes_0[axis] if axis in axes_0 else axes_1[axis] for axis in names])
        return labeled_tensor_0, labeled_tensor_1, axes


def _named(op, op_name):
    op.__name__ = op_name
    op.__doc__ = f"tf.{op_name} of LabeledTensors."
    return op


@tc.accepts(str, collections.abc.Callable)
def define_unary_op(op_name, elementwise_function):
    """A function (labeled_tensor, name=None), of a function (tensor, name) that keeps the shape."""

    @tc.accepts(LabeledTensorLike, tc.Optional(str))
    def op(labeled_tensor, name=None):
        with ops.name_scope(name, "lt_" + op_name, [labeled_tensor]) as scope:
            labeled_tensor = convert_to_labeled_tensor(labeled_tensor)
            return LabeledTensor(elementwise_function(labeled_tensor.tensor, name=scope), labeled_tensor.axes)

    return _named(op, op_name)


@tc.accepts(str, collections.abc.Callable)
def define_binary_op(op_name, elementwise_function):
    """A function (labeled_tensor_0, labeled_tensor_1, name=None), of a function (x, y, name) that broadcasts."""

    @tc.accepts(LabeledTensorLike, LabeledTensorLike, tc.Optional(str))
    def op(labeled_tensor_0, labeled_tensor_1, name=None):
        with ops.name_scope(name, "lt_" + op_name, [labeled_tensor_0, labeled_tensor_1]) as scope:
            x, y, axes = align(labeled_tensor_0, labeled_tensor_1)
            return LabeledTensor(elementwise_function(x.tensor, y.tensor, name=scope), axes)

    return _named(op, op_name)


abs_function = define_unary_op("abs", math_ops.abs)
neg = define_unary_op("neg", math_ops.negative)
sign = define_unary_op("sign", math_ops.sign)
reciprocal = define_unary_op("reciprocal", math_ops.reciprocal)
square = define_unary_op("square", math_ops.square)
round_function = define_unary_op("round", math_ops.round)
sqrt = define_unary_op("sqrt", math_ops.sqrt)
rsqrt = define_unary_op("rsqrt", math_ops.rsqrt)
exp = define_unary_op("exp", math_ops.exp)
log = define_unary_op("log", math_ops.log)
ceil = define_unary_op("ceil", math_ops.ceil)
floor = define_unary_op("floor", math_ops.floor)
cos = define_unary_op("cos", math_ops.cos)
sin = define_unary_op("sin", math_ops.sin)
tan = define_unary_op("tan", math_ops.tan)
acos = define_unary_op("acos", math_ops.acos)
asin = define_unary_op("asin", math_ops.asin)
atan = define_unary_op("atan", math_ops.atan)
lgamma = define_unary_op("lgamma", math_ops.lgamma)
digamma = define_unary_op("digamma", math_ops.digamma)
erf = define_unary_op("erf", math_ops.erf)
erfc = define_unary_op("erfc", math_ops.erfc)
logical_not = define_unary_op("logical_not", math_ops.logical_not)
tanh = define_unary_op("tanh", math_ops.tanh)
sigmoid = define_unary_op("sigmoid", math_ops.sigmoid)

add = define_binary_op("add", math_ops.add)
sub = define_binary_op("sub", math_ops.subtract)
mul = define_binary_op("mul", math_ops.multiply)
div = define_binary_op("div", math_ops.div)
mod = define_binary_op("mod", math_ops.mod)
pow_function = define_binary_op("pow", math_ops.pow)
equal = define_binary_op("equal", math_ops.equal)
greater = define_binary_op("greater", math_ops.greater)
greater_equal = define_binary_op("greater_equal", math_ops.greater_equal)
not_equal = define_binary_op("not_equal", math_ops.not_equal)
less = define_binary_op("less", math_ops.less)
less_equal = define_binary_op("less_equal", math_ops.less_equal)
logical_and = define_binary_op("logical_and", math_ops.logical_and)
logical_or = define_binary_op("logical_or", math_ops.logical_or)
logical_xor = define_binary_op("logical_xor", math_ops.logical_xor)
maximum = define_binary_op("maximum", math_ops.maximum)
minimum = define_binary_op("minimum", math_ops.minimum)
squared_difference = define_binary_op("squared_difference", math_ops.squared_difference)
igamma = define_binary_op("igamma", math_ops.igamma)
igammac = define_binary_op("igammac", math_ops.igammac)
zeta = define_binary_op("zeta", math_ops.zeta)
polygamma = define_binary_op("polygamma", math_ops.polygamma)


def _set_operators():
    """Operators are not told a name: a second argument of __pow__ and the like is none."""

    def unary(op):
        return lambda self: op(self)

    def binary(op):
        return lambda self, other: op(self, other)

    def reflected(op):
        return lambda self, other: op(other, self)

    for name, op in (("abs", abs_function), ("neg", neg), ("invert", logical_not)):
        setattr(LabeledTensor, f"__{name}__", unary(op))
    arithmetic = (("add", add), ("sub", sub), ("mul", mul), ("truediv", div), ("div", div), ("mod", mod))
    for name, op in (*arithmetic, ("pow", pow_function)):
        setattr(LabeledTensor, f"__{name}__", binary(op))
        setattr(LabeledTensor, f"__r{name}__", reflected(op))
    for name, op in (("and", logical_and), ("or", logical_or), ("xor", logical_xor)):
        setattr(LabeledTensor, f"__{name}__", binary(op))
    for name, op in (("lt", less), ("le", less_equal), ("gt", greater), ("ge", greater_equal)):
        setattr(LabeledTensor, f"__{name}__", binary(op))


_set_operators()
