"""Builtin functions of Python that take tensors and datasets."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_parsing_ops
from braid.tensorflow.python.ops import gen_string_ops
from braid.tensorflow.python.ops import list_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import script_ops
from braid.tensorflow.python.ops import tensor_array_ops

UNSPECIFIED = object()


def overload_of(function):
    return _OVERLOADS.get(function, function) if callable(function) else function


def abs_(x):
    return math_ops.abs(x) if tensor_util.is_tensor(x) else abs(x)


def float_(x=0):
    return _number(x, dtypes.float32) if tensor_util.is_tensor(x) else float(x)


def int_(x=0, base=UNSPECIFIED):
    if not tensor_util.is_tensor(x):
        return int(x) if base is UNSPECIFIED else int(x, base)
    if base not in (10, UNSPECIFIED):
        raise NotImplementedError(f"int() of a tensor has no base {base}: it reads decimal numbers")
    return _number(x, dtypes.int32)


def _number(x, dtype):
    if x.dtype == dtypes.string:
        return gen_parsing_ops.string_to_number(x, out_type=dtype)
    return math_ops.cast(x, dtype)


def len_(s):
    if isinstance(s, tensor_array_ops.TensorArray):
        return s.size()
    if not tensor_util.is_tensor(s):
        return len(s)
    if s.dtype == dtypes.variant and s.shape.ndims == 0:
        return list_ops.tensor_list_length(s)
    if s.shape.ndims and s.shape.dims[0].value is not None:
        return s.shape.dims[0].value
    shape = array_ops.shape(s)
    if s.shape.ndims == 0:
        raise ValueError(f"len requires a non-scalar tensor, got one of shape {s.shape}")
    if s.shape.ndims is not None:
        return shape[0]
    rank = array_ops.rank(s)

    def no_length():
        message = gen_string_ops.string_join(
            ["len requires non-zero rank, got ", gen_string_ops.as_string(rank)]
        )
        with ops.control_dependencies([control_flow_ops.Assert(False, [message])]):
            return constant_op.constant(0, dtype=dtypes.int32)

    return control_flow_ops.cond(rank > 0, lambda: shape[0], no_length)


def print_(*objects, **kwargs):
    """Prints in the step if an object is a tensor."""
    unknown = set(kwargs) - {"sep", "end", "file", "flush"}
    if unknown:
        raise ValueError(f"invalid keyword arguments: {tuple(sorted(unknown))}")
    if not any(tensor_util.is_tensor(each) for each in objects):
        print(*objects, **kwargs)
        return None
    tensors = [each for each in objects if tensor_util.is_tensor(each)]
    kwargs.setdefault("flush", True)

    def print_values(*values):
        values = iter(values)
        shown = [next(values) if tensor_util.is_tensor(each) else each for each in objects]
        print(
            *[each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in shown],
            **kwargs,
        )
        return 0

    return script_ops.py_func(print_values, tensors, [dtypes.int64], stateful=True)[0]


def range_(start_or_stop, stop=UNSPECIFIED, step=UNSPECIFIED):
    if not any(tensor_util.is_tensor(each) for each in (start_or_stop, stop, step)):
        return range(*[each for each in (start_or_stop, stop, step) if each is not UNSPECIFIED])
    if step is not UNSPECIFIED:
        return math_ops.range(start_or_stop, stop, step)
    if stop is not UNSPECIFIED:  # empty, not an error, where it ends before it begins
        return math_ops.range(start_or_stop, math_ops.maximum(start_or_stop, stop))
    return math_ops.range(math_ops.maximum(start_or_stop, 0))


def enumerate_(s, start=0):
    return s.enumerate(start) if isinstance(s, dataset_ops.DatasetV2) else enumerate(s, start)


def zip_(*iterables):
    if iterables and all(isinstance(each, dataset_ops.DatasetV2) for each in iterables):
        return dataset_ops.DatasetV2.zip(iterables)
    return zip(*iterables)


_OVERLOADS = {
    abs: abs_,
    enumerate: enumerate_,
    float: float_,
    int: int_,
    len: len_,
    print: print_,
    range: range_,
    zip: zip_,
}
