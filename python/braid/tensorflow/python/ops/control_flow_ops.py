"""Conditionals, loops and order: nodes that decide which nodes run.

A conditional is made of Switch and Merge nodes, a loop of Enter, Merge, LoopCond, Switch, NextIteration and
Exit nodes (Yu et al., Dynamic Control Flow in Large-Scale Machine Learning, EuroSys 2018).
"""

import collections
import functools

from braid.tensorflow.python.framework import composite_tensor
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_control_flow_ops
from braid.tensorflow.python.ops import gen_logging_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops.control_flow_contexts import (  # noqa: F401
    adopt,
    CondContext,
    ControlFlowContext,
    from_control_flow_context_def,
    WhileContext,
    XLAControlFlowContext,
)
from braid.tensorflow.python.ops.control_flow_nodes import (  # noqa: F401
    _AddNextAndBackEdge,
    _convert_flows_to_tensorarrays,
    _convert_tensorarray_to_flow,
    _EnforceShapeInvariant,
    _Enter,
    _get_shape_invariant,
    _GroupControlDeps,
    _Identity,
    _make_tensor_array,
    _NextIteration,
    _SetShapeInvariants,
    _ShapeLessThanOrEqual,
    _SwitchRefOrTensor,
    exit,
    group,
    merge,
    MergeOutput,
    switch,
    with_dependencies,
)
from braid.tensorflow.python.ops.gen_control_flow_ops import no_op
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util import tf_should_use
from braid.tensorflow.python.util.tf_export import tf_export

_builtin_tuple = tuple


# ---- Conditionals ----


def _UnpackIfSingleton(result):
    if isinstance(result, (list, _builtin_tuple)) and len(result) == 1:
        return result[0]
    return result


@tf_export(v1=["cond"])
def cond(pred, true_fn=None, false_fn=None, strict=False, name=None, fn1=None, fn2=None):
    """What `true_fn` returns if `pred` holds, else what `false_fn` returns.

    Only nodes made within a function belong to its branch: what they take from outside runs in any case.

    Args:
      pred: a boolean scalar, not a Python bool.
      true_fn: makes the values of one branch: a tensor, an operation, or a structure of them.
      false_fn: makes the values of the other, in the same structure and of the same types.
      strict: whether a list or tuple of one value stays one.
      name: of the nodes, "cond" if None.
      fn1, fn2: former names of `true_fn` and `false_fn`.

    Raises TypeError where a function is missing, ValueError where the branches do not fit.
    """
    if fn1 is not None:
        if true_fn is not None:
            raise TypeError("cond(): true_fn and fn1 may not be set simultaneously.")
        true_fn = fn1
    elif true_fn is None:
        raise TypeError("cond(): true_fn argument required")
    if fn2 is not None:
        if false_fn is not None:
            raise TypeError("cond(): false_fn and fn2 may not be set simultaneously.")
        false_fn = fn2
    elif false_fn is None:
        raise TypeError("cond(): false_fn argument required")
    if not callable(true_fn):
        raise TypeError("true_fn must be callable.")
    if not callable(false_fn):
        raise TypeError("false_fn must be callable.")
    with ops.name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("pred must not be a Python bool")
        graph = ops.get_default_graph()
        counted = graph._last_id - graph._uncounted
        if_false, if_true = switch(pred, pred)
        pivot_true = array_ops.identity(if_true, name="switch_t")
        pivot_false = array_ops.identity(if_false, name="switch_f")
        pred = array_ops.identity(pred, name="pred_id")
        for x in (if_true, if_false, pivot_true, pivot_false, pred):
            x.op.graph.prevent_fetching(x.op)
        context_true, original_true, result_true = _branch(pred, pivot_true, 1, true_fn, "true_fn")
        context_false, original_false, result_false = _branch(pred, pivot_false, 0, false_fn, "false_fn")
        if not strict:
            original_true, original_false = map(_UnpackIfSingleton, (original_true, original_false))
        for pair in ((original_true, original_false), (result_true, result_false)):
            _widen_indices(*pair)
        try:
            nest.assert_same_structure(original_true, original_false, expand_composites=True)
        except (TypeError, ValueError) as e:
            what = "types" if isinstance(e, TypeError) else "values"
            raise type(e)(f"Incompatible return {what} of true_fn and false_fn: {e}") from None
        results = _merge_branches(result_true, result_false)
        templates = nest.flatten(original_true, expand_composites=True)
        results = _convert_flows_to_tensorarrays(templates, results)
        # Contexts within others are found through these.
        if context_true.outer_context is None:
            ops.add_to_collection(ops.GraphKeys.COND_CONTEXT, context_true)
            ops.add_to_collection(ops.GraphKeys.COND_CONTEXT, context_false)
        if graph._has_functional_conditionals:  # the node, and an Identity of each result
            graph._uncounted = graph._last_id - (counted + 1 + len(results))
        results = nest.pack_sequence_as(original_true, results, expand_composites=True)
        return results if strict else _UnpackIfSingleton(results)


def _branch(pred, pivot, which, fn, what):
    """The context of a branch, what its function returned, and that as tensors within the branch."""
    context = CondContext(pred, pivot, branch=which)
    graph = ops.get_default_graph()
    uncounted = graph._uncounted
    if graph._has_functional_conditionals:
        graph._uncounted = graph._last_id
    try:
        context.Enter()
        original, result = context.BuildCondBranch(fn)
        if original is None:
            raise ValueError(f"{what} must have a return value.")
        context.ExitResult(result)
    finally:
        context.Exit()
        graph._uncounted = uncounted
    return context, original, result


def _widen_indices(of_true, of_false):
    """Makes int64 of the indices of IndexedSlices where the branches have them of different types."""
    for pair in zip(nest.flatten(of_true), nest.flatten(of_false)):
        if all(isinstance(x, ops.IndexedSlices) for x in pair) and len({x.indices.dtype for x in pair}) > 1:
            for x in pair:
                x._indices = math_ops.cast(x.indices, dtypes.int64)


def _merge_branches(result_true, result_false):
    flat = [nest.flatten(x, expand_composites=True) for x in (result_false, result_true)]
    for f, t in zip(*flat):
        if f.dtype.base_dtype != t.dtype.base_dtype:
            raise ValueError(
                f"Outputs of true_fn and false_fn must have the same type: {t.dtype.name}, {f.dtype.name}"
            )
    return [merge(pair)[0] for pair in zip(*flat)]


@tf_export("cond", v1=[])
def cond_for_tf_v2(pred, true_fn=None, false_fn=None, name=None):
    """`cond` as TensorFlow 2 has it: a list of one value stays a list."""
    return cond(pred, true_fn=true_fn, false_fn=false_fn, strict=True, name=name)


# ---- Loops ----


@tf_export(v1=["while_loop"])
def while_loop(
    cond,
    body,
    loop_vars,
    shape_invariants=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    name=None,
    maximum_iterations=None,
    return_same_structure=False,
):
    """Repeats `body` while `cond` holds, and returns the last values of `loop_vars`.

    Args:
      cond: a function of the variables; returns a boolean scalar.
      body: a function of the variables; returns their next values, in the same structure.
      loop_vars: the first values: a list, a tuple or a structure of tensors and TensorArrays.
      shape_invariants: the shapes that the variables keep, in their structure; None: those of the first
      values.
      parallel_iterations: how many iterations may run at a time.
      back_prop: whether gradients go through the loop.
      swap_memory: accepted; values are not moved off a device.
      name: of the nodes, "while" if None.
      maximum_iterations: a scalar: the most iterations; None: no bound.
      return_same_structure: whether a list of one value stays a list.

    Raises TypeError where `cond` or `body` is no function or `parallel_iterations` no positive number,
    ValueError where there are no variables or their shapes change against the invariants.
    """
    if not callable(cond):
        raise TypeError("cond must be callable.")
    if not callable(body):
        raise TypeError("body must be callable.")
    if parallel_iterations < 1:
        raise TypeError("parallel_iterations must be a positive integer.")
    with ops.name_scope(name, "while", loop_vars):
        if not loop_vars:
            raise ValueError("No loop variables provided")
        if maximum_iterations is not None:
            maximum_iterations = ops.convert_to_tensor(maximum_iterations, name="maximum_iterations")
            if maximum_iterations.shape.ndims != 0:
                raise ValueError(
                    f"maximum_iterations must be a scalar, saw shape: {maximum_iterations.shape}"
                )
            one = len(loop_vars) == 1
            cond, body, loop_vars = _bounded(cond, body, loop_vars, maximum_iterations)
        if shape_invariants is not None:
            if maximum_iterations is not None:
                wrapped = shape_invariants
                if len(wrapped) == 1:
                    wrapped = wrapped[0]
                shape_invariants = (tensor_shape.TensorShape([]), wrapped)
            shape_invariants = _invariants_of(loop_vars, shape_invariants)
        elif any(isinstance(v, composite_tensor.CompositeTensor) for v in nest.flatten(loop_vars)):
            # Of a value of several tensors some sizes may change: how many elements a SparseTensor has.
            shape_invariants = _invariants_of(loop_vars, None)
        context = WhileContext(
            maximum_iterations=maximum_iterations,
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        # Contexts within others are found through these.
        if context.outer_context is None:
            ops.add_to_collection(ops.GraphKeys.WHILE_CONTEXT, context)
        result = context.BuildLoop(cond, body, loop_vars, shape_invariants, return_same_structure)
        if maximum_iterations is None:
            return result
        return [result[1]] if one and return_same_structure else result[1]


def _bounded(cond, body, loop_vars, maximum_iterations):
    """The loop with a counter as its first variable."""
    counter = constant_op.constant(0, dtype=maximum_iterations.dtype, name="iteration_counter")
    if len(loop_vars) == 1:
        return (
            lambda i, x: math_ops.logical_and(i < maximum_iterations, cond(x)),
            lambda i, x: (i + 1, _only(body(x), loop_vars)),
            (counter, loop_vars[0]),
        )
    return (
        lambda i, x: math_ops.logical_and(i < maximum_iterations, cond(*x)),
        lambda i, x: (i + 1, body(*x)),
        (counter, loop_vars),
    )


def _only(result, loop_vars):
    """The one variable of a body's result, which may be a list of it."""
    is_list = isinstance(result, (list, _builtin_tuple)) and not hasattr(result, "_fields")
    if is_list and len(result) == 1 and not nest.is_sequence(loop_vars[0]):
        return result[0]
    return result


def _invariants_of(loop_vars, shape_invariants):
    """The shapes that the tensors of the variables keep, as a flat list."""
    flat = nest.flatten(loop_vars)
    shapes = [None] * len(flat)
    if shape_invariants is not None:
        nest.assert_same_structure(loop_vars, shape_invariants, expand_composites=False)
        shapes = nest.flatten(shape_invariants)
    kept = []
    for var, shape in zip(flat, shapes):
        if not isinstance(var, (tensor_array_ops.TensorArray, composite_tensor.CompositeTensor)):
            var = ops.convert_to_tensor_or_composite(var)
        of_var = _get_shape_invariant(var, shape)
        kept.extend(of_var if isinstance(of_var, list) else [tensor_shape.as_shape(of_var)])
    return kept


# ---- Order ----


@tf_export(v1=["tuple"])
def tuple(tensors, name=None, control_inputs=None):  # noqa: A001
    """`tensors`, each available only when all are; None stays None.

    Args:
      tensors: tensors, IndexedSlices, operations and None.
      name: of the nodes, "tuple" if None.
      control_inputs: operations and tensors to wait for too.

    Raises ValueError where there is nothing to wait for, TypeError for a wrong control input.
    """
    with ops.name_scope(name, "tuple", tensors) as name:
        tensors = [
            t
            if isinstance(t, ops.Operation) or tensor_util.is_tensor(t) or t is None
            else ops.convert_to_tensor(t)
            for t in tensors
        ]
        waited = [t if isinstance(t, ops.Operation) else t.op for t in tensors if t is not None]
        for c in control_inputs or ():
            if not isinstance(c, (ops.Operation, ops.Tensor)):
                raise TypeError(f"Control input must be Operation or Tensor: {c}")
            waited.append(c if isinstance(c, ops.Operation) else c.op)
        waited = sorted(set(waited), key=lambda op: op._id)
        if not waited:
            raise ValueError("Must have at least one Tensor: %s" % tensors)
        gate = group(*waited)
        made = []
        for t in tensors:
            if tensor_util.is_tensor(t):
                made.append(with_dependencies([gate], t))
            elif isinstance(t, ops.Operation):
                with ops.control_dependencies([gate]):
                    made.append(group(t))
            else:
                made.append(None)
        return made


# ---- Assertions ----


@tf_export("debugging.Assert", "Assert")
@tf_should_use.should_use_result
def Assert(condition, data, summarize=None, name=None):
    """An operation that fails with InvalidArgumentError, whose message has `data`, unless `condition` holds.

    Args:
      condition: a boolean scalar.
      data: tensors to show.
      summarize: how many elements of each are shown; 3 if None.
      name: of the nodes, "Assert" if None.
    """
    with ops.name_scope(name, "Assert", [condition, data]):
        values = ops.convert_n_to_tensor(data)
        # Strings and int32 are on the host in any case.
        if all(x.dtype in (dtypes.string, dtypes.int32) for x in values):
            return gen_logging_ops._assert(condition, data, summarize, name="Assert")
        condition = ops.convert_to_tensor(condition, name="Condition")

        def fail():
            return gen_logging_ops._assert(condition, data, summarize, name="Assert")

        return cond(condition, no_op, fail, name="AssertGuard").op


# ---- Cases ----


def _case_pairs(pred_fn_pairs, exclusive):
    """The conditions and functions of a list of pairs or of a dict, checked."""
    if not isinstance(pred_fn_pairs, (list, _builtin_tuple, dict)):
        raise TypeError("fns must be a list, tuple, or dict")
    if isinstance(pred_fn_pairs, dict):
        if not exclusive and not isinstance(pred_fn_pairs, collections.OrderedDict):
            logging.warn(
                "tf.case: a dictionary of predicate/function pairs without exclusive=True: the order of "
                "conditional tests is that of the dictionary."
            )
        pred_fn_pairs = list(pred_fn_pairs.items())
    for pair in pred_fn_pairs:
        if not isinstance(pair, _builtin_tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        pred, fn = pair
        if isinstance(pred, ops.Tensor):
            if pred.dtype != dtypes.bool:
                raise TypeError(f"pred must be Tensor of type bool: {pred.name}")
        elif not isinstance(pred, bool):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if not callable(fn):
            raise TypeError(f"fn for pred {pred} must be callable.")
    return [list(part) for part in zip(*pred_fn_pairs)]


def _assert_at_most_n_true(predicates, n, msg):
    """An operation that fails where more than `n` predicates hold."""
    stacked = array_ops.stack(predicates, name="preds_c")
    count = math_ops.reduce_sum(math_ops.cast(stacked, dtypes.int32), name="num_true_conds")
    at_most = math_ops.less_equal(count, constant_op.constant(n, name="n_true_conds"))
    names = ", ".join(getattr(p, "name", "?") for p in predicates)
    what = ["%s: more than %d conditions (%s) evaluated as True:" % (msg, n, names), stacked]
    return Assert(at_most, data=what, summarize=len(predicates))


def _no_case_holds(predicates, actions):
    """The default of a case that has none: the last action, after a check that its condition alone holds.

    Returns it, and the conditions and actions that are left.
    """

    def default():
        others = (
            f"Implementation error: selected default action #{len(actions) - 1} was called, but some of other "
            "predicates are True: "
        )
        none = (
            "Input error: None of conditions evaluated as True:",
            array_ops.stack(predicates, name="preds_c"),
        )
        checks = [
            _assert_at_most_n_true(predicates[:-1], n=0, msg=others),
            Assert(predicates[-1], data=none),
        ]
        with ops.control_dependencies(checks):
            return actions[-1]()

    return default, predicates[:-1], actions[:-1]


def _case_helper(cond_fn, pred_fn_pairs, default, exclusive, name, allow_python_preds=False, **cond_kwargs):
    """Chains `cond_fn` over the pairs, the first of them outermost."""
    predicates, actions = _case_pairs(pred_fn_pairs, exclusive) if pred_fn_pairs else ([], [])
    with ops.name_scope(name, "case", [predicates]):
        if default is None:
            if not predicates:
                raise ValueError("pred_fn_pairs must not be empty without a default")
            default, predicates, actions = _no_case_holds(predicates, actions)
        if not callable(default):
            raise TypeError("default must be callable.")
        if not predicates:
            return default()
        checks = []
        if exclusive:
            checks.append(_assert_at_most_n_true(predicates, n=1, msg="Input error: exclusive=True"))
        fn = default
        for predicate, action in reversed(list(zip(predicates, actions))):
            fn = functools.partial(
                cond_fn, predicate, true_fn=action, false_fn=fn, name="cond", **cond_kwargs
            )
        with ops.control_dependencies(checks):
            return fn()


@tf_export(v1=["case"])
def case(pred_fn_pairs, default=None, exclusive=False, strict=False, name="case"):
    """What the function of the first condition that holds returns, else what `default` does.

    Args:
      pred_fn_pairs: pairs of a boolean scalar tensor and a function; a list, or a dict by the tensors.
      default: a function; None: one of the conditions must hold, else the step fails.
      exclusive: whether the step fails where several conditions hold.
      strict: as in `cond`.
      name: of the nodes.

    Raises TypeError for what is no such pair, ValueError where the functions' results do not fit.
    """
    return _case_helper(
        cond, pred_fn_pairs, default, exclusive, name, allow_python_preds=False, strict=strict
    )


@tf_export("switch_case")
def switch_case(branch_index, branch_fns, default=None, name="switch_case"):
    """What the function of number `branch_index` returns, else what `default` or the last function does.

    Args:
      branch_index: an int32 scalar tensor.
      branch_fns: functions, in a dict by their numbers, as a list of such pairs, or a list of functions.
      default: for numbers without a function; the function of the greatest number if None.
      name: of the nodes.
    """
    if not isinstance(branch_index, ops.Tensor):
        raise TypeError(f"branch_index must be a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"branch_index must be an integer Tensor, got {branch_index.dtype}")
    if not branch_fns:
        raise ValueError("Must provide at least one item in branch_fns")
    if not isinstance(branch_fns, (list, _builtin_tuple, dict)):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    if isinstance(branch_fns, dict):
        pairs = list(branch_fns.items())
    elif all(callable(fn) for fn in branch_fns):
        pairs = list(enumerate(branch_fns))
    else:
        pairs = list(branch_fns)
    for pair in pairs:
        if not isinstance(pair, _builtin_tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        if not isinstance(pair[0], int):
            raise TypeError(f"key must be a Python `int`, got {type(pair[0])}")
        if not callable(pair[1]):
            raise TypeError(f"fn for key {pair[0]} must be callable.")
    keys = sorted(key for key, _ in pairs)
    if keys != list(range(len(keys))):
        raise ValueError(
            "branch indices (keys) must form contiguous range of [0 to {}) but found {{{}}}".format(
                len(keys), ",".join(map(str, keys))
            )
        )
    pairs.sort(key=lambda pair: pair[0])
    if default is None:
        default = pairs[-1][1]
        pairs = pairs[:-1]
    if not callable(default):
        raise TypeError("default must be callable.")
    with ops.name_scope(name, "case", [branch_index]):
        branch_index = ops.convert_to_tensor(branch_index, name="branch_index")
        fn = default
        for key, action in reversed(pairs):
            fn = functools.partial(_cond_of_number, branch_index, key, action, fn)
        return fn()


def _cond_of_number(branch_index, key, action, otherwise):
    return cond(math_ops.equal(branch_index, key), true_fn=action, false_fn=otherwise, strict=True)


def __getattr__(name):
    """The functions of gen_control_flow_ops, which TensorFlow's module of this name has too."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_control_flow_ops, name)
