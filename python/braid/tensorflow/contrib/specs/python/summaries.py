"""The graph of a network as text: its types in postfix notation, its tree, and the parameters of its layers."""

import re

from braid.tensorflow.contrib.specs.python import specs
from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import array_ops

SHORT_NAMES = {
    "BiasAdd": "biasadd",
    "Const": "_",
    "Conv2D": "conv",
    "MatMul": "dot",
    "Placeholder": "_",
    "Sigmoid": "sig",
    "Variable": "var",
}


def _op_and_shape(x, of_op):
    """The op of a tensor and its shape as a list; `of_op`: the shape of an op."""
    return (x.op, x.get_shape().as_list()) if isinstance(x, ops.Tensor) else (x, of_op)


def _is_hidden(op):
    """Unrolled networks are left out."""
    return "/HorizontalLstm/" in op.name


def tf_structure(x, include_shapes=False, finished=None):
    """The types of the nodes that a tensor or an op needs, in postfix notation: "_ variablev2 dot sig".

    A node that stood there before is <>; Identity is left out. include_shapes: a shape stands before its
    type. finished: a set of ops that stood there before.
    """
    finished = set() if finished is None else finished
    op, shape = _op_and_shape(x, [])
    if op in finished:
        return " <>"
    finished.add(op)
    text = ""
    if not _is_hidden(op):
        text = "".join(tf_structure(y, include_shapes, finished) for y in op.inputs)
    if include_shapes:
        text += " %s" % (shape,)
    return text if op.type == "Identity" else text + " " + SHORT_NAMES.get(op.type, op.type.lower())


def tf_print(x, depth=0, finished=None, printer=print):
    """Prints the nodes that a tensor or an op needs, a line for each, those that it needs below it."""
    finished = set() if finished is None else finished
    op, shape = _op_and_shape(x, "")
    if op.type == "Identity":
        op = op.inputs[0].op
    form = "%s<%s> %s %s" if op in finished else "%s%s %s %s"
    printer(form % ("  " * depth, op.name, op.type, shape))
    if op in finished:
        return
    finished.add(op)
    for y in () if _is_hidden(op) else op.inputs:
        tf_print(y, depth + 1, finished, printer=printer)


def tf_num_params(x):
    """The elements of all variables that a tensor or an op needs. One that is needed twice counts twice."""
    op = x.op if isinstance(x, ops.Tensor) else x
    if op.type in ("Variable", "VariableV2"):
        return op.outputs[0].get_shape().num_elements()
    return sum(tf_num_params(y) for y in op.inputs)


def tf_left_split(op):
    """The first tensor that an op takes, or None, and the others."""
    if len(op.inputs) < 1:
        return None, []
    first = 1 if op.type == "Concat" else 0
    return op.inputs[first], op.inputs[first + 1 :]


def tf_parameter_iter(x):
    """(name, parameters, shape) of a tensor or an op and of each first one that it takes."""
    while x is not None:
        op, shape = _op_and_shape(x, "")
        x, others = tf_left_split(op)
        yield op.name, sum(tf_num_params(y) for y in others), shape


def _by_scope(layers):
    """Adds up those that follow each other in one scope; the shape is that of the first."""
    found = []
    for name, total, shape in layers:
        name = re.sub("/.*", "", name)
        if found and found[-1][0] == name:
            found[-1][1] += total
        else:
            found.append([name, total, shape])
    return found


def tf_parameter_summary(x, printer=print, combine=True):
    """Prints the parameters of each layer, the first one first; combine: scopes are layers."""
    layers = tf_parameter_iter(x)
    for name, total, shape in reversed(list(_by_scope(layers) if combine else layers)):
        printer("%10d %-20s %s" % (total, name, shape))


def _net(spec, inputs, input_shape, input_type):
    if inputs is None:
        inputs = array_ops.placeholder(input_type, input_shape)
    return specs.create_net(spec, inputs)


def tf_spec_structure(spec, inputs=None, input_shape=None, input_type=dtypes.float32):
    """tf_structure of a specification's network, for `inputs` or for a placeholder."""
    return tf_structure(_net(spec, inputs, input_shape, input_type)).strip()


def tf_spec_summary(spec, inputs=None, input_shape=None, input_type=dtypes.float32):
    """tf_parameter_summary of a specification's network, for `inputs` or for a placeholder."""
    tf_parameter_summary(_net(spec, inputs, input_shape, input_type))


def tf_spec_print(spec, inputs=None, input_shape=None, input_type=dtypes.float32):
    """tf_print of a specification's network, for `inputs` or for a placeholder."""
    tf_print(_net(spec, inputs, input_shape, input_type))
