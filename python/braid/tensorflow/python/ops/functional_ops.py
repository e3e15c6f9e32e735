"""Functions over the slices of tensors (tf.foldl, tf.foldr, tf.scan), and nodes that call functions of the
graph.
"""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import function
from braid.tensorflow.python.framework import op_def_library
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_functional_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.ops.gen_functional_ops import remote_call
from braid.tensorflow.python.ops.gen_functional_ops import symbolic_gradient
from braid.tensorflow.python.ops.map_fn import caching_variables, map_fn, slices_of, stacked
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export

__all__ = ["foldl", "foldr", "scan", "map_fn", "remote_call", "symbolic_gradient", "If", "While", "For"]


def _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, from_right):
    if not callable(fn):
        raise TypeError("fn must be callable.")
    flat = nest.flatten(elems)
    with ops.name_scope(name, "foldr" if from_right else "foldl", flat), caching_variables():
        flat = [ops.convert_to_tensor(x, name="elem") for x in flat]
        count, inputs = slices_of(flat)

        def slice_at(i):
            return nest.pack_sequence_as(elems, [array.read(i) for array in inputs])

        if from_right:
            i = count if initializer is not None else count - 1
            value = initializer if initializer is not None else slice_at(i)

            def body(i, value):
                i -= 1
                return [i, fn(value, slice_at(i))]

            condition = lambda i, value: i > 0
        else:
            value = initializer if initializer is not None else slice_at(0)
            i = constant_op.constant(0 if initializer is not None else 1)

            def body(i, value):
                value = fn(value, slice_at(i))
                return [i + 1, value]

            condition = lambda i, value: i < count
        return control_flow_ops.while_loop(
            condition,
            body,
            [i, value],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )[1]


@tf_export(v1=["foldl"])
def foldl(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """fn(... fn(fn(initializer, slice 0), slice 1) ..., last slice), over the slices along dimension 0.

    Args:
      fn: a function of the result so far and a slice.
      elems: a tensor or a structure of tensors with one size of dimension 0.
      initializer: the first result so far; slice 0 if None.
      parallel_iterations, back_prop, swap_memory: as in `tf.while_loop`.
      name: of the nodes, "foldl" if None.
    """
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, from_right=False)


@tf_export(v1=["foldr"])
def foldr(fn, elems, initializer=None, parallel_iterations=10, back_prop=True, swap_memory=False, name=None):
    """As `foldl`, from the last slice to the first."""
    return _fold(fn, elems, initializer, parallel_iterations, back_prop, swap_memory, name, from_right=True)


@tf_export(v1=["scan"])
def scan(
    fn,
    elems,
    initializer=None,
    parallel_iterations=10,
    back_prop=True,
    swap_memory=False,
    infer_shape=True,
    reverse=False,
    name=None,
):
    """All results of `foldl`, stacked: of the first slices, one more each time.

    Args:
      fn: a function of the result so far and a slice; returns the next result, in the structure of
      `initializer`.
      elems: a tensor or a structure of tensors with one size of dimension 0.
      initializer: the first result so far, which is not among the results; None: slice 0, which is.
      parallel_iterations, back_prop, swap_memory: as in `tf.while_loop`.
      infer_shape: whether all results have one shape.
      reverse: whether it goes from the last slice to the first; results stay beside their slices.
      name: of the nodes, "scan" if None.
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    flat = nest.flatten(elems)
    structure = elems if initializer is None else initializer
    with ops.name_scope(name, "scan", flat), caching_variables():
        flat = [ops.convert_to_tensor(x, name="elem") for x in flat]
        count, inputs = slices_of(flat)
        if initializer is None:
            values = [array.read(count - 1 if reverse else 0) for array in inputs]
            done = 1
        else:
            values = [ops.convert_to_tensor(x) for x in nest.flatten(initializer)]
            done = 0
        outputs = [
            tensor_array_ops.TensorArray(
                dtype=x.dtype,
                size=count,
                element_shape=x.shape if infer_shape else None,
                dynamic_size=False,
                infer_shape=infer_shape,
            )
            for x in values
        ]
        if initializer is None:
            outputs = [array.write(count - 1 if reverse else 0, x) for array, x in zip(outputs, values)]

        def body(i, values, arrays):
            slices = nest.pack_sequence_as(elems, [array.read(i) for array in inputs])
            result = fn(nest.pack_sequence_as(structure, values), slices)
            nest.assert_same_structure(structure, result)
            values = nest.flatten(result)
            arrays = [array.write(i, x) for array, x in zip(arrays, values)]
            return (i - 1 if reverse else i + 1), values, arrays

        _, _, outputs = control_flow_ops.while_loop(
            (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < count),
            body,
            (count - 1 - done if reverse else done, values, outputs),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        return nest.pack_sequence_as(structure, stacked(outputs, flat))


# ---- Nodes that call functions (function.Defun) ----


def If(cond, inputs, then_branch, else_branch, name=None):
    """Calls `then_branch` with `inputs` if `cond` holds, else `else_branch`; a list of results."""
    if isinstance(inputs, ops.Tensor):
        inputs = [inputs]
    types = [t.type for t in then_branch.definition.signature.output_arg]
    return gen_functional_ops._if(
        cond, list(inputs), [dtypes.as_dtype(t) for t in types], then_branch, else_branch, name=name
    )


def _with_captured(body):
    """A loop's body that takes its captured values as further variables, and returns them as they are."""
    captured = list(body.captured_inputs)
    types = list(body.declared_input_types) + [t.dtype for t in captured]

    @function.Defun(*types, func_name=f"{body.name}_Wrapper")
    def wrapper(*args):
        own = len(body.declared_input_types)
        with ops.control_dependencies(None):
            result = body._call_with(list(args[:own]), list(args[own:]))
        result = result if isinstance(result, (list, tuple)) else (result,)
        if isinstance(result[0], ops.Operation):
            result = ()
        return (*result, *args[own:])

    return wrapper


def While(input_, cond, body, name=None, hostmem=None):
    """Calls `body` with its last results, at first with `input_`, as long as `cond` of these holds.

    Args:
      input_: the first values, a list.
      cond, body: functions of the graph (function.Defun) of the same arguments.
      name: of the node.
      hostmem: accepted; the engine knows which values are on the host.

    Returns a list. Raises ValueError where `cond` captures something or the arguments differ.
    """
    del hostmem
    if cond.captured_inputs:
        raise ValueError("While op 'cond' argument must be a function without implicitly captured inputs.")
    if list(cond.declared_input_types) != list(body.declared_input_types):
        raise ValueError(
            "While op 'cond' and 'body' signatures do not match. "
            f"{cond.declared_input_types} vs {body.declared_input_types}"
        )
    captured = list(body.captured_inputs)
    if captured:
        own = len(body.declared_input_types)
        types = list(body.declared_input_types) + [t.dtype for t in captured]
        of_own = cond

        @function.Defun(*types, func_name=f"{cond.name}_Wrapper")
        def cond(*args):
            return of_own(*args[:own])

        body = _with_captured(body)
    results = gen_functional_ops._while(list(input_) + captured, cond, body, name=name)
    return list(results)[: len(results) - len(captured)] if captured else results


def For(start, limit, delta, inputs, body, name=None, hostmem=None, rewrite_with_while=None):
    """Calls body(i, values...) for i from `start` to `limit` by `delta`; the values are its last results.

    Args:
      start, limit, delta: int32 scalars.
      inputs: the first values, a list.
      body: a function of the graph (function.Defun).
      name: of the node.
      hostmem, rewrite_with_while: accepted; they choose an implementation in TensorFlow.

    Returns a list.
    """
    del hostmem, rewrite_with_while
    captured = list(body.captured_inputs)
    if captured:
        body = _with_captured(body)
    results = gen_functional_ops._for(start, limit, delta, list(inputs) + captured, body, name=name)
    return list(results)[: len(results) - len(captured)] if captured else results


def partitioned_call(
    args, f, tout=None, executing_eagerly=None, config=None, executor_type=None, stateful=None
):
    """Calls a function of the graph; a list of results, or the operation where it has none."""
    del executing_eagerly
    definition = f.definition
    if tout is None:
        tout = [dtypes.as_dtype(arg.type) for arg in definition.signature.output_arg]
    if stateful is None:
        stateful = definition.signature.is_stateful
    config = config.SerializeToString() if hasattr(config, "SerializeToString") else config
    op = op_def_library._apply_op_helper(
        "StatefulPartitionedCall" if stateful else "PartitionedCall",
        args=list(args),
        Tout=tout,
        f=f,
        config_proto=config or "",
        executor_type=executor_type or "",
    )[3]
    return list(op.outputs) if tout else op


def Gradient(inputs, f, name=None):
    """The gradients of a function's inputs: of inputs + the gradients of its outputs."""
    types = [dtypes.as_dtype(arg.type) for arg in f.definition.signature.input_arg]
    return gen_functional_ops.symbolic_gradient(input=inputs, Tout=types, f=f, name=name)
