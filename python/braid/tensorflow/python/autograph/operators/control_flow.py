"""`if`, `while` and `for`.

`get_state()` gives the values of the variables, attributes and items that a statement carries, in the order
of `names`; `set_state(values)` sets them. In Python the blocks themselves set them."""

from braid.tensorflow.python.autograph.operators import py_builtins
from braid.tensorflow.python.autograph.operators import special_values
from braid.tensorflow.python.autograph.utils import ag_logging
from braid.tensorflow.python.data.experimental.ops import scan_ops
from braid.tensorflow.python.data.experimental.ops import take_while_ops
from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import errors_impl as errors
from braid.tensorflow.python.framework import function
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.util import nest

_UNROLLED_ITERATIONS = 3000  # of a loop in Python that makes ops in each iteration, before a warning


def _is_dense(value):
    return tensor_util.is_tensor(value) and not isinstance(value, sparse_tensor.SparseTensor)


# ---- if ----


def if_stmt(cond, body, orelse, get_state, set_state, names, restored):
    """The first `restored` names are those that each branch begins with and that are not read afterwards."""
    if not _is_dense(cond):
        if cond:
            body()
        else:
            orelse()
        return
    initial = get_state()
    results = {}

    def branch(run, which, other):
        def run_and_check():
            set_state(initial)
            run()
            values = get_state()[restored:]
            for name, value in zip(names[restored:], values):
                _check_defined_in_branch(name, value, which)
            results[which] = values
            if other in results:
                _check_branches(names[restored:], results["if"], results["else"])
            return values

        return run_and_check

    final = control_flow_ops.cond(cond, branch(body, "if", "else"), branch(orelse, "else", "if"), strict=True)
    set_state((*initial[:restored], *final))


def if_exp(cond, body, orelse):
    """`body if cond else orelse`, of functions."""
    if _is_dense(cond):
        return control_flow_ops.cond(cond, body, orelse)
    return body() if cond else orelse()


def _check_defined_in_branch(name, value, which):
    if special_values.is_undefined(value):
        raise ValueError(
            f"The following symbols must also be initialized in the {which} branch: {(name,)}. Alternatively, you may "
            "initialize them before the if statement."
        )
    if special_values.is_undefined_return(value):
        raise ValueError(
            f"A value must also be returned from the {which} branch. If a value is returned from one branch of a "
            "conditional a value must be returned from all branches."
        )


def _check_branches(names, if_values, else_values):
    for name, first, second in zip(names, if_values, else_values):
        try:
            nest.assert_same_structure(first, second, expand_composites=True)
        except (ValueError, TypeError) as e:
            raise TypeError(
                f'"{name}" does not have the same nested structure in the TRUE and FALSE branches.\n\n{e}'
            ) from e

        def check(first, second, name=name):
            first, second = _as_tensors(first, second)
            if getattr(first, "dtype", None) != getattr(second, "dtype", None):
                raise TypeError(
                    f'"{name}" has dtype {first.dtype.name} in the TRUE branch, but dtype={second.dtype.name} in the '
                    "FALSE branch. TensorFlow control flow requires that they are the same."
                )

        nest.map_structure(check, first, second)


def _as_tensors(*values):
    """Python's numbers and strings as tensors. (None, None) if one of the values is something else."""
    values = [ops.convert_to_tensor(v) if isinstance(v, (bool, int, float, str)) else v for v in values]
    if all(tensor_util.is_tensor(v) and hasattr(v, "dtype") and hasattr(v, "shape") for v in values):
        return values
    return [None] * len(values)


# ---- while ----


def while_stmt(test, body, get_state, set_state, names, options):
    first = _first_test(test)
    if _is_dense(first):
        _tf_while(test, body, get_state, set_state, names, options)
        return
    watch = _LoopWatch()
    while _goes_on(first):
        watch.before()
        body()
        watch.after()
        first = test()


def _first_test(test):
    """The value of a loop's test before the loop. The graph gets no nodes of it if it is a tensor."""
    dropped, graph = function._FuncGraph("tmp", False), ops.get_default_graph()
    dropped._collections = {key: list(values) for key, values in graph._collections.items()}
    with dropped.as_default():
        value = test()
    if not _is_dense(value) and dropped.get_operations():
        return test()  # a loop of Python, whose test makes nodes, as in a function that it calls
    return value


def _goes_on(value):
    """The test of a loop of Python."""
    if tensor_util.is_tensor(value):
        raise errors.OperatorNotAllowedInGraphError(
            "using a `tf.Tensor` as a Python `bool` is not allowed: whether a loop of Python goes on depends on the "
            f"tensor {value}. Make it a loop of the graph: `for` over a tensor, as tf.range(n), or `while` with a "
            "test that is a tensor from the beginning."
        )
    return value


class _LoopWatch:
    """Warns of a loop of Python that makes ops in each of many iterations."""

    def __init__(self):
        self._iterations = 0
        self._ops = None

    def before(self):
        if self._iterations == _UNROLLED_ITERATIONS:
            self._ops = len(ops.get_default_graph().get_operations())

    def after(self):
        self._iterations += 1
        if self._ops is None or self._iterations > _UNROLLED_ITERATIONS + 1:
            return
        if len(ops.get_default_graph().get_operations()) > self._ops:
            ag_logging.warn(
                "TensorFlow ops are being created in a Python loop with large number of iterations. This can lead to "
                "slow startup. Did you mean to use a TensorFlow loop? For example, `while True:` is a Python loop, and "
                "`while tf.constant(True):` is a TensorFlow loop."
            )


def _tf_while(test, body, get_state, set_state, names, options):
    initial = get_state()
    _check_defined_before_loop(names, initial)

    def set_and_test(*state):
        set_state(state)
        return test()

    def set_and_run(*state):
        set_state(state)
        body()
        new = get_state()
        _check_iteration(names, state, new)
        return new

    final = control_flow_ops.while_loop(
        set_and_test, set_and_run, initial, return_same_structure=True, **(options or {})
    )
    set_state(tuple(final))


def _check_defined_before_loop(names, values):
    undefined = tuple(name for name, value in zip(names, values) if special_values.is_undefined(value))
    if undefined:
        raise ValueError(
            f"TensorFlow requires that the following symbols must be defined before the loop: {undefined}"
        )
    if any(special_values.is_undefined_return(value) for value in values):
        raise ValueError("return statements are not supported within a TensorFlow loop.")


def _check_iteration(names, before, after, with_shapes=True):
    for name, first, second in zip(names, before, after):
        try:
            nest.assert_same_structure(first, second, expand_composites=True)
        except (ValueError, TypeError) as e:
            raise TypeError(
                f'"{name}" does not have the same nested structure after one iteration.\n\n{e}'
            ) from e

        def check(first, second, name=name):
            first, second = _as_tensors(first, second)
            if first is None:
                return
            if first.dtype != second.dtype:
                raise TypeError(
                    f'"{name}" has dtype {first.dtype.name} before the loop, but dtype {second.dtype.name} after one '
                    "iteration. TensorFlow control flow requires it stays the same."
                )
            if with_shapes and not _is_as_specific(first.shape, second.shape):
                raise ValueError(
                    f'"{name}" has shape {first.shape} before the loop, but shape {second.shape} after one iteration. '
                    "TensorFlow control flow requires it stays the same or be more specific."
                )

        nest.map_structure(check, first, second)


def _is_as_specific(before, after):
    if before.dims is None:
        return True
    if before.ndims != after.ndims:
        return False
    return all(b.value is None or b.value == a.value for b, a in zip(before.dims, after.dims))


# ---- for ----


def for_stmt(iter_, extra_test, body, get_state, set_state, names, options):
    """`extra_test`: a function, or None; the loop ends where it gives false. `body(item)` runs an
    iteration."""
    if tensor_util.is_tensor(iter_):
        loop = _tf_range_for if _is_range(iter_) else _tf_rows_for
        loop(iter_, extra_test, body, get_state, set_state, names, options)
    elif isinstance(iter_, dataset_ops.DatasetV2):
        _dataset_for(iter_, extra_test, body, get_state, set_state, names)
    else:
        for item in iter_:
            body(item)
            if extra_test is not None and not _goes_on(extra_test()):
                break  # before another item is taken


def _is_range(tensor):
    return tensor.op.type == "Range"


class _Counted:
    """A loop over an internal variable beside the state."""

    def __init__(self, get_state, set_state, start):
        self.value = start
        self._get_state, self._set_state = get_state, set_state

    def get(self):
        return (self.value, *self._get_state())

    def set(self, values):
        self.value = values[0]
        self._set_state(values[1:])

    def run(self, test, extra_test, body, names, options):
        def both():
            if extra_test is None:
                return test()
            return control_flow_ops.cond(test(), extra_test, lambda: False)

        _tf_while(both, body, self.get, self.set, ("the iterate", *names), options)


def _tf_rows_for(iter_, extra_test, body, get_state, set_state, names, options):
    _check_defined_before_loop(names, get_state())
    count = py_builtins.len_(iter_)
    rows = tensor_array_ops.TensorArray(iter_.dtype, size=count).unstack(iter_)
    loop = _Counted(get_state, set_state, 0)

    def iteration():
        at = loop.value
        body(rows.read(at))
        loop.value = at + 1

    loop.run(lambda: loop.value < count, extra_test, iteration, names, options)


def _tf_range_for(iter_, extra_test, body, get_state, set_state, names, options):
    """The range itself is not computed."""
    _check_defined_before_loop(names, get_state())
    start, limit, delta = iter_.op.inputs
    loop = _Counted(get_state, set_state, start)

    def test():
        step = tensor_util.constant_value(delta)
        if step is not None:
            return loop.value < limit if step >= 0 else loop.value > limit
        return math_ops.logical_or(
            math_ops.logical_and(delta >= 0, loop.value < limit),
            math_ops.logical_and(delta < 0, loop.value > limit),
        )

    def iteration():
        at = loop.value
        body(at)
        loop.value = at + delta

    loop.run(test, extra_test, iteration, names, options)


def _dataset_for(dataset, extra_test, body, get_state, set_state, names):
    initial = get_state()
    _check_defined_before_loop(names, initial)
    no_state = (constant_op.constant(0),)  # a dataset's reduce has to have some

    def run(state, item):
        set_state(state)
        body(item)
        new = get_state()
        _check_iteration(names, state, new, with_shapes=False)
        return new

    if extra_test is None:
        if names:
            set_state(tuple(dataset.reduce(initial, run)))
        else:
            dataset.reduce(no_state, lambda state, item: (body(item), state)[1])
        return

    def scan(state, item):
        set_state(state)
        goes_on = extra_test()
        new = control_flow_ops.cond(goes_on, lambda: run(state, item), lambda: state, strict=True)
        return new, (new, goes_on)

    dataset = dataset.apply(scan_ops.scan(initial, scan))
    dataset = dataset.apply(take_while_ops.take_while(lambda _, goes_on: goes_on))
    set_state(tuple(dataset.reduce(initial, lambda _, scanned: scanned[0])))
