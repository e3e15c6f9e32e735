"""Computations that TensorFlow compiles as a whole: here their nodes are built in place and run one by one."""

import contextlib
from collections import abc
from unittest import mock

from braid.tensorflow.python.distribute import summary_op_util
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, variable_scope
from braid.tensorflow.python.util import nest, tf_inspect
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("xla.experimental.compile")
def compile(computation, inputs=None):  # noqa: A001
    """Builds the nodes of computation(*inputs) and returns its outputs.

    The computation sees its inputs as tensors; variables that it gets are resource variables, and summaries
    that it writes are left out, as in TensorFlow. It returns None, a value, a list of tensors followed by
    operations, or a nested structure of tensors. The operations run before any of the outputs is there.
    Without a tensor the result is an operation. A single value comes back in a list.

    Raises:
      TypeError: inputs is not a list or tuple.
      ValueError: an output is neither an operation nor a value that can be a tensor, operations stand before
        tensors, or in a nested structure.
    """
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, abc.Sequence):
        raise TypeError("inputs must be a list")
    flat_inputs = [ops.convert_to_tensor(x) for x in nest.flatten(inputs)]
    cluster = ops.get_default_graph().unique_name("cluster")
    control_flow_ops.no_op(name=cluster + "/pivot")
    flat_inputs = [array_ops.identity(x, name=f"input_{i}") for i, x in enumerate(flat_inputs)]
    with _resource_variables(), mock.patch.object(summary_op_util, "skip_summary", lambda: True):
        outputs = computation(*nest.pack_sequence_as(inputs, flat_inputs))
    flat = _is_flat(outputs)
    tensors, operations = _flat_outputs(outputs) if flat else (_nested_outputs(outputs), [])
    if not tensors:
        return control_flow_ops.group(operations, name="output_0")
    with ops.control_dependencies(operations):
        tensors = [array_ops.identity(x, name=f"output_{i}") for i, x in enumerate(tensors)]
    return tensors if flat else nest.pack_sequence_as(outputs, tensors)


@contextlib.contextmanager
def _resource_variables():
    scope = variable_scope.get_variable_scope()
    saved = scope.use_resource
    scope.set_use_resource(True)
    try:
        yield
    finally:
        scope.set_use_resource(saved)


def _is_flat(outputs):
    if isinstance(outputs, abc.Sequence):
        return not any(isinstance(o, (abc.Sequence, dict)) for o in outputs)
    return not isinstance(outputs, dict)


def _tensor_of(output):
    try:
        return ops.convert_to_tensor(output)
    except Exception as error:
        raise ValueError(
            "XLA computation function return values must all either be Operations or convertible to Tensors. "
            f'Got error: "{error}"'
        ) from error


def _on_its_device(tensor):
    with ops.device(tensor.device or ""):
        return array_ops.identity(tensor)


def _flat_outputs(outputs):
    """The tensors, and the operations that run before them."""
    outputs = [] if outputs is None else outputs
    outputs = list(outputs) if isinstance(outputs, abc.Sequence) else [outputs]
    outputs.append(control_flow_ops.no_op())
    outputs = [o if isinstance(o, ops.Operation) else _tensor_of(o) for o in outputs]
    operations = [o for o in outputs if isinstance(o, ops.Operation)]
    tensors = outputs[: len(outputs) - len(operations)]
    if any(isinstance(o, ops.Operation) for o in tensors):
        raise ValueError(
            "XLA computation function must return zero or more Tensor values followed by zero or more Operations."
        )
    return [_on_its_device(x) for x in tensors], operations


def _nested_outputs(outputs):
    tensors = []
    for output in nest.flatten(outputs):
        if isinstance(output, ops.Operation):
            raise ValueError(
                "xla.compile does not support Operation as return value in non-flat output structure. You can set "
                "returned Operations as control dependencies of returned Tensors so Operations are triggered when "
                f'Tensors are evaluated. Operation found: "{output.name}"'
            )
        tensors.append(_on_its_device(_tensor_of(output)))
    return tensors


def check_function_argument_count(func, input_arity, infeed_queue):
    """What is wrong with calling `func` with so many arguments and those of the queue; None: nothing."""
    supplied = input_arity + (infeed_queue.number_of_tuple_elements if infeed_queue is not None else 0)
    spec = tf_inspect.getargspec(func)
    most = len(spec.args)
    least = most - len(spec.defaults or ())

    def complaint(words, count):
        return f"{words} {count} argument{'' if count == 1 else 's'}"

    if supplied < least:
        return complaint("at least" if spec.defaults or spec.varargs is not None else "exactly", least)
    if spec.varargs is None and supplied > most:
        return complaint("at most" if spec.defaults else "exactly", most)
    return None
