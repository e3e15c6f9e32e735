"""for_loop, pfor and tf.vectorized_map: a function of the number of an iteration, for all numbers.

The iterations are those of a tf.while_loop, which run in parallel where they can. TensorFlow's pfor makes one
op of those of all iterations instead; the values are the same. A TensorArray from outside keeps its elements
(its clear_after_read becomes False), because each iteration reads them.
"""

import functools

from braid import protos
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops.parallel_for.pfor import PForConfig
from braid.tensorflow.python.ops.parallel_for.pfor import ReductionNeeded
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util import tf_decorator
from braid.tensorflow.python.util import tf_inspect
from braid.tensorflow.python.util.tf_export import tf_export

PFOR_CONFIG_ARG = "pfor_config"


def for_loop(loop_fn, loop_fn_dtypes, iters, parallel_iterations=None):
    """The results of loop_fn(0) to loop_fn(iters - 1), stacked.

    Args:
      loop_fn: takes the number, an int32 scalar; returns a structure of tensors, whose shapes do not depend
        on the number, or of None.
      loop_fn_dtypes: the structure of the results' types.
      iters: how many, a number or a scalar.
      parallel_iterations: as of tf.while_loop.
    """
    types = nest.flatten(loop_fn_dtypes)
    absent = [False] * len(types)

    def body(i, *arrays):
        made = nest.flatten(loop_fn(i))
        if len(made) != len(types):
            raise ValueError(
                f"Number of expected outputs, {len(types)}, does not match the number of actual outputs, "
                f"{len(made)}, from loop_fn"
            )
        absent[:] = [x is None for x in made]
        return (i + 1, *(array if x is None else array.write(i, x) for array, x in zip(arrays, made)))

    arrays = [tensor_array_ops.TensorArray(dtypes.as_dtype(t).base_dtype, iters) for t in types]
    arrays = _loop(body, arrays, iters, parallel_iterations)[1:]
    stacked = [None if none else array.stack() for array, none in zip(arrays, absent)]
    return nest.pack_sequence_as(loop_fn_dtypes, stacked) if stacked else None


def _loop(body, variables, iters, parallel_iterations):
    """The number of iterations and the variables of a loop at its end."""
    options = {} if parallel_iterations is None else {"parallel_iterations": parallel_iterations}
    made = control_flow_ops.while_loop(lambda i, *_: i < iters, body, [0, *variables], **options)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def pfor(loop_fn, iters, parallel_iterations=None):
    """The results of loop_fn(0) to loop_fn(iters - 1), stacked; no iteration may depend on another.

    `loop_fn` is called several times while the graph is built.

    Args:
      loop_fn: takes the number, an int32 scalar, and, if it has an argument `pfor_config`, a PForConfig.
        Returns a structure of tensors, sparse ones too, whose shapes do not depend on the number, of
        operations, which run in each iteration, or of None.
      iters: how many, a number or a scalar.
      parallel_iterations: None, or how many iterations run at a time at most, more than 1.

    A SparseTensor of the results has the number as its first dimension, and the greatest size in others.
    """
    if parallel_iterations is not None:
        if parallel_iterations < 1:
            raise ValueError("parallel_iterations must be None or a positive integer")
        if parallel_iterations == 1:
            raise ValueError("Found parallel_iterations == 1. Use for_loop instead.")
    config = PForConfig() if _loop_fn_has_config(loop_fn) else None

    def call(i):
        if config is None:
            return loop_fn(i)
        config._begin()
        return loop_fn(i, **{PFOR_CONFIG_ARG: config})

    graph = ops.get_default_graph()
    first = len(graph.get_operations())
    sample = _sample(call, config, iters, parallel_iterations)
    _keep_elements(graph, first)
    flat = nest.flatten(sample)
    with ops.name_scope("pfor"):
        if _adds_to_loops(graph, first) or _adds_to_arrays(graph, first):
            made = _unrolled(call, flat, iters)
        else:
            made = _run(call, flat, iters, parallel_iterations)
    return nest.pack_sequence_as(sample, made)


def _keep_elements(graph, first):
    """Has earlier TensorArrays that nodes from number `first` on use keep elements that were read.

    A session that ran such an array before does not see the change.
    """
    for op in graph.get_operations()[first:]:
        for array in (x.op for x in op.inputs):
            if array.type == "TensorArrayV3" and array._id <= first and array.get_attr("clear_after_read"):
                array._set_attr("clear_after_read", protos.AttrValue(b=False))


def _adds_to_loops(graph, first):
    """Whether nodes from number `first` on are in loops of earlier ones: those of gradients of such loops."""
    operations = graph.get_operations()
    frames = [
        {op.get_attr("frame_name") for op in part if op.type in ("Enter", "RefEnter")}
        for part in (operations[:first], operations[first:])
    ]
    return bool(frames[0] & frames[1])


def _adds_to_arrays(graph, first):
    """Whether nodes from number `first` on are gradients of earlier TensorArrays: each call has its own."""
    grads = [op for op in graph.get_operations()[first:] if op.type == "TensorArrayGradV3"]
    return any(op.inputs[0].op._id <= first for op in grads)


def _unrolled(call, sample, iters):
    """As _run, each iteration with nodes of its own: no loop can have parts of one outside it."""
    count = tensor_util.constant_value(ops.convert_to_tensor(iters))
    if count is None:
        raise NotImplementedError(
            "pfor takes gradients of a loop or of a TensorArray outside of it: Braid needs the number of iterations "
            "then, as a constant"
        )
    rows = [nest.flatten(call(constant_op.constant(i))) for i in range(int(count))]
    found = []
    for x, column in zip(sample, zip(*rows)):
        if x is None:
            found.append(None)
        elif isinstance(x, ops.Operation):
            found.append(control_flow_ops.group(*column))
        elif isinstance(x, sparse_tensor.SparseTensor):
            widened = [sparse_ops.sparse_expand_dims(t, 0) for t in column]
            found.append(sparse_ops.sparse_concat(0, widened, expand_nonconcat_dim=True))
        else:
            found.append(array_ops.stack(column))
    return found


def _loop_fn_has_config(loop_fn):
    """Whether a function has an argument `pfor_config` that is not given yet."""
    if tf_inspect.isfunction(loop_fn):
        return PFOR_CONFIG_ARG in tf_inspect.getfullargspec(loop_fn).args
    if isinstance(loop_fn, functools.partial):
        names = tf_inspect.getfullargspec(loop_fn.func).args
        return PFOR_CONFIG_ARG in names and PFOR_CONFIG_ARG not in loop_fn.keywords
    target = tf_decorator.unwrap(loop_fn)[1]
    if not hasattr(target, "__call__"):
        raise ValueError("loop_fn object did not have a __call__ method")
    return PFOR_CONFIG_ARG in tf_inspect.getfullargspec(target.__call__).args


def _sample(call, config, iters, parallel_iterations):
    """What an iteration returns: nodes that do not run and show the structure, the types and the shapes."""
    while True:
        with ops.name_scope("loop_body"):
            number = array_ops.placeholder(dtypes.int32, shape=[])
            try:
                return nest.map_structure(_as_result, call(number))
            except ReductionNeeded as needed:
                if parallel_iterations is not None:
                    raise ValueError(
                        "Setting parallel_iterations currently unsupported if reductions across iterations are "
                        "performed."
                    ) from None
                sample, fn = ops.convert_to_tensor(needed.value), needed.fn
        with ops.name_scope("pfor"):
            (stacked,) = _run(functools.partial(_before_reduction, call), [sample], iters, None)
            config._results.append(fn(stacked))


def _before_reduction(call, i):
    """The value of an iteration that is to be reduced."""
    try:
        call(i)
    except ReductionNeeded as needed:
        return needed.value
    raise ValueError("loop_fn has fewer reductions in another call")


def _as_result(x):
    if x is None or isinstance(x, (ops.Operation, ops.Tensor, sparse_tensor.SparseTensor)):
        return x
    return ops.convert_to_tensor(x)


def _run(call, sample, iters, parallel_iterations):
    """The stacked results of all iterations, as a list. `sample`: those of one."""
    kinds = [_KINDS[_kind_of(x)](x, iters) for x in sample]

    def body(i, *arrays):
        arrays, after = list(arrays), []
        made = [_as_result(x) for x in nest.flatten(call(i))]
        at = 0
        for kind, x in zip(kinds, made):
            end = at + len(kind.arrays)
            arrays[at:end] = kind.write(arrays[at:end], i, x)
            at = end
            after += [x] if isinstance(x, ops.Operation) else []
        with ops.control_dependencies(after):
            return (array_ops.identity(i) + 1, *arrays)

    arrays = [array for kind in kinds for array in kind.arrays]
    end, *arrays = _loop(body, arrays, iters, parallel_iterations)
    found, at = [], 0
    for kind in kinds:
        limit = at + len(kind.arrays)
        found.append(kind.result(arrays[at:limit], end))
        at = limit
    return found


def _kind_of(x):
    kinds = (type(None), ops.Operation, sparse_tensor.SparseTensor)
    return next((kind for kind in kinds if isinstance(x, kind)), ops.Tensor)


class _Nothing:
    """A result that is None in each iteration."""

    arrays = ()

    def __init__(self, sample, iters):
        pass

    def write(self, arrays, i, x):
        return []

    def result(self, arrays, end):
        return None


class _Effect(_Nothing):
    """An operation, which runs in each iteration."""

    def result(self, arrays, end):
        return end.op


class _Stacked:
    """A tensor."""

    def __init__(self, sample, iters):
        self.shape = sample.shape
        self.arrays = [
            tensor_array_ops.TensorArray(sample.dtype.base_dtype, iters, element_shape=sample.shape)
        ]
        self.count = tensor_util.constant_value(ops.convert_to_tensor(iters))

    def write(self, arrays, i, x):
        return [arrays[0].write(i, x)]

    def result(self, arrays, end):
        made = arrays[0].stack()
        count = None if self.count is None else int(self.count)
        made.set_shape(tensor_shape.TensorShape([count]).concatenate(self.shape))
        return made


class _SparseStacked:
    """A SparseTensor: places, with the iteration's number before them, values, and shapes."""

    def __init__(self, sample, iters):
        self.iters = iters
        types = (dtypes.int64, sample.dtype, dtypes.int64)
        self.arrays = [tensor_array_ops.TensorArray(t, iters, infer_shape=False) for t in types]

    def write(self, arrays, i, x):
        count = array_ops.shape(x.indices)[0]
        number = array_ops.fill([count, 1], math_ops.cast(i, dtypes.int64))
        places = array_ops.concat([number, x.indices], axis=1)
        parts = (places, x.values, array_ops.expand_dims(x.dense_shape, 0))
        return [array.write(i, part) for array, part in zip(arrays, parts)]

    def result(self, arrays, end):
        places, values, shapes = (array.concat() for array in arrays)
        first = array_ops.reshape(math_ops.cast(self.iters, dtypes.int64), [1])
        shape = array_ops.concat([first, math_ops.reduce_max(shapes, axis=0)], 0)
        return sparse_tensor.SparseTensor(places, values, shape)


_KINDS = {
    type(None): _Nothing,
    ops.Operation: _Effect,
    ops.Tensor: _Stacked,
    sparse_tensor.SparseTensor: _SparseStacked,
}


@tf_export("vectorized_map")
def vectorized_map(fn, elems):
    """fn of each slice of `elems` along their first dimension, stacked.

    Args:
      fn: takes a structure as `elems`; returns any structure of tensors, whose shapes do not depend on the
        slice.
      elems: a tensor or a structure of tensors with the same first dimension.
    """

    def loop_fn(i):
        return fn(nest.map_structure(lambda x: array_ops.gather(x, i), elems))

    first = ops.convert_to_tensor(nest.flatten(elems)[0])
    count = tensor_shape.dimension_value(first.shape[0])
    return pfor(loop_fn, array_ops.shape(first)[0] if count is None else count)
