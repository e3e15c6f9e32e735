"""Shapes of tensors that may be known in part (tf.TensorShape, tf.Dimension)."""

import operator

from braid.tensorflow.python.util.tf_export import tf_export


def _value(other):
    """The number of a dimension that is given as a Dimension, an integer or None."""
    return as_dimension(other).value


@tf_export(v1=["Dimension"])
class Dimension:
    """The size of one dimension; `value` is None where it is not known.

    Comparisons with an unknown size give None, and arithmetic with one an unknown size.
    """

    __slots__ = ("_value",)

    def __init__(self, value):
        if isinstance(value, Dimension):
            value = value.value
        if value is not None:
            if hasattr(value, "as_datatype_enum"):
                raise TypeError(f"Dimension of a type: {value!r}")
            number = int(value)
            if not isinstance(value, (bytes, str)) and number != value:
                raise ValueError(f"Ambiguous dimension: {value}")
            if number < 0:
                raise ValueError(f"Dimension {number} must be >= 0")
            value = number
        self._value = value

    @property
    def value(self):
        return self._value

    def __repr__(self):
        return f"Dimension({self._value!r})"

    def __str__(self):
        return "?" if self._value is None else str(self._value)

    def __int__(self):
        return self._value

    def __index__(self):
        return self._value

    def __hash__(self):
        return hash(self._value)

    def __reduce__(self):
        return Dimension, (self._value,)

    def __eq__(self, other):
        try:
            other = as_dimension(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._value is None or other.value is None:
            return None
        return self._value == other.value

    def __ne__(self, other):
        is_equal = self.__eq__(other)
        return is_equal if is_equal is None or is_equal is NotImplemented else not is_equal

    def is_compatible_with(self, other):
        """Whether both can be the same size: they are, or one is unknown."""
        other = as_dimension(other)
        return self._value == other.value or self._value is None or other.value is None

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other):
        """The size that is known, of both. ValueError: they are known and differ."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return Dimension(other.value if self._value is None else self._value)


def _arithmetic(name, compute):
    def forward(self, other):
        try:
            b = _value(other)
        except (TypeError, ValueError):
            return NotImplemented
        return Dimension(None if self.value is None or b is None else compute(self.value, b))

    def reverse(self, other):
        try:
            a = _value(other)
        except (TypeError, ValueError):
            return NotImplemented
        return Dimension(None if self.value is None or a is None else compute(a, self.value))

    setattr(Dimension, f"__{name}__", forward)
    setattr(Dimension, f"__r{name}__", reverse)


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _arithmetic(_name, getattr(operator, _name))
Dimension.__div__ = Dimension.__floordiv__


def _no_division(left, right):
    raise TypeError(f"unsupported operand type(s) for /: '{left}' and '{right}', please use // instead")


Dimension.__truediv__ = lambda self, other: _no_division("Dimension", type(other).__name__)
Dimension.__rtruediv__ = lambda self, other: _no_division(type(other).__name__, "Dimension")


def _comparison(name):
    compare = getattr(operator, name)

    def method(self, other):
        b = _value(other)
        return None if self.value is None or b is None else compare(self.value, b)

    setattr(Dimension, f"__{name}__", method)


for _name in ("lt", "le", "gt", "ge"):
    _comparison(_name)


def as_dimension(value):
    """A Dimension from one, an integer, or None."""
    return value if isinstance(value, Dimension) else Dimension(value)


@tf_export("compat.dimension_value", v1=["dimension_value", "compat.dimension_value"])
def dimension_value(dimension):
    """The integer or None in a Dimension; anything else as it is."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


@tf_export("compat.dimension_at_index", v1=["dimension_at_index", "compat.dimension_at_index"])
def dimension_at_index(shape, index):
    """A dimension of a shape, unknown where the shape's rank is."""
    return Dimension(None) if shape.rank is None else shape.dims[index]


def _dims_of(value):
    """A list of Dimensions from what TensorShape takes; None: the rank is not known."""
    if value is None:
        return None
    if isinstance(value, TensorShape):
        return None if value.dims is None else list(value.dims)
    if hasattr(value, "dim") and hasattr(value, "unknown_rank"):  # a TensorShapeProto
        if value.unknown_rank:
            return None
        return [Dimension(None if d.size == -1 else d.size) for d in value.dim]
    if isinstance(value, (bytes, str)):
        raise TypeError(
            f"A string has ambiguous TensorShape, please wrap in a list or convert to an int: {value}"
        )
    try:
        items = iter(value)
    except TypeError:
        return [as_dimension(value)]
    return [as_dimension(d) for d in items]


@tf_export(v1=["TensorShape"])
class TensorShape:
    """The shape of a tensor: a list of dimensions that may be unknown, or of unknown rank.

    An iterable of integers, Nones or Dimensions, one integer, None (unknown rank), a TensorShape or a
    TensorShapeProto makes one.
    """

    _v2_behavior = False  # TensorFlow 2's has integers in place of Dimensions

    def __init__(self, dims):
        self._dims = _dims_of(dims)

    @property
    def dims(self):
        """The Dimensions; None where the rank is unknown."""
        return self._dims

    @property
    def rank(self):
        return None if self._dims is None else len(self._dims)

    @property
    def ndims(self):
        return self.rank

    def __repr__(self):
        return f"TensorShape({self._dims!r})"

    def __str__(self):
        if self._dims is None:
            return "<unknown>"
        if len(self._dims) == 1:
            return f"({self._dims[0]},)"
        return "(" + ", ".join(str(d) for d in self._dims) + ")"

    def __len__(self):
        if self._dims is None:
            raise ValueError("Cannot take the length of shape with unknown rank.")
        return len(self._dims)

    def __bool__(self):
        return self._dims is not None

    def __iter__(self):
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims)

    def __getitem__(self, key):
        if self._dims is not None:
            return TensorShape(self._dims[key]) if isinstance(key, slice) else self._dims[key]
        if not isinstance(key, slice):
            return Dimension(None)
        start, stop = key.start or 0, key.stop
        if key.step is not None:
            raise ValueError("Steps are not yet handled")
        if stop is None or start < 0 or stop < 0:  # how many there are depends on the rank
            return unknown_shape()
        return unknown_shape(max(stop - start, 0))

    def __eq__(self, other):
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented
        return self._dims == other._dims  # unknown dimensions are not equal

    def __ne__(self, other):
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self.rank is None or other.rank is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return self._dims != other._dims

    def __hash__(self):
        return hash(None if self._dims is None else tuple(self._values()))

    def __reduce__(self):
        return TensorShape, (self._values(),)

    def __concat__(self, other):
        return self.concatenate(other)

    def _values(self):
        return None if self._dims is None else [d.value for d in self._dims]

    def num_elements(self):
        """The number of elements; None where it is not known."""
        if not self.is_fully_defined():
            return None
        count = 1
        for d in self._dims:
            count *= d.value
        return count

    def merge_with(self, other):
        """The shape that has what is known of both. ValueError: they contradict each other."""
        other = as_shape(other)
        if self._dims is None:
            return other
        if other.dims is None:
            return self
        try:
            self.assert_same_rank(other)
            return TensorShape([a.merge_with(b) for a, b in zip(self._dims, other.dims)])
        except ValueError:
            raise ValueError(f"Shapes {self} and {other} are not compatible") from None

    def concatenate(self, other):
        """The dimensions of this shape and then of the other."""
        other = as_shape(other)
        if self._dims is None or other.dims is None:
            return unknown_shape()
        return TensorShape(self._dims + other.dims)

    def __add__(self, other):
        return self.concatenate(other if isinstance(other, Dimension) else as_shape(other))

    def __radd__(self, other):
        return as_shape(other).concatenate(self)

    def assert_same_rank(self, other):
        other = as_shape(other)
        if None not in (self.rank, other.rank) and self.rank != other.rank:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank):
        if self.rank not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank):
        """This shape, which has this rank from now on. ValueError: it has another."""
        try:
            return self.merge_with(unknown_shape(rank))
        except ValueError:
            raise ValueError(f"Shape {self} must have rank {rank}") from None

    def with_rank_at_least(self, rank):
        if self.rank is not None and self.rank < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank):
        if self.rank is not None and self.rank > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def _admits(self, sizes):
        """Whether an array of these sizes, a tuple of integers, has the shape."""
        return self._dims is None or (
            len(self._dims) == len(sizes)
            and all(d._value is None or d._value == size for d, size in zip(self._dims, sizes))
        )

    def is_compatible_with(self, other):
        """Whether a tensor can have both shapes."""
        other = as_shape(other)
        if self._dims is None or other.dims is None:
            return True
        return self.rank == other.rank and all(
            a.is_compatible_with(b) for a, b in zip(self._dims, other.dims)
        )

    def assert_is_compatible_with(self, other):
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are incompatible")

    def most_specific_compatible_shape(self, other):
        """What both shapes have in common: a dimension in which they differ is unknown."""
        other = as_shape(other)
        if self._dims is None or other.dims is None or self.rank != other.rank:
            return unknown_shape()
        pairs = zip(self._values(), other._values())
        return TensorShape([a if a == b else None for a, b in pairs])

    def is_fully_defined(self):
        return self._dims is not None and all(d.value is not None for d in self._dims)

    def assert_is_fully_defined(self):
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def as_list(self):
        """The sizes as integers and Nones. ValueError: the rank is not known."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return self._values()

    def as_proto(self):
        """A TensorShapeProto."""
        from braid import protos

        made = protos.TensorShapeProto(unknown_rank=self._dims is None)
        for d in self._dims or ():
            made.dim.add(size=-1 if d.value is None else d.value)
        return made


def as_shape(shape):
    """A TensorShape from one, or from what makes one."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def unknown_shape(rank=None, **kwargs):
    """A shape of which no more than the rank is known, or not even that."""
    rank = kwargs.pop("ndims", rank)
    if kwargs:
        raise TypeError(f"Unknown argument: {kwargs}")
    return TensorShape(None if rank is None else [None] * rank)


def scalar():
    return TensorShape([])


def vector(length):
    return TensorShape([length])


def matrix(rows, cols):
    return TensorShape([rows, cols])


@tf_export(v1=["disable_v2_tensorshape"])
def disable_v2_tensorshape():
    """Nothing changes: a TensorShape has Dimensions."""
