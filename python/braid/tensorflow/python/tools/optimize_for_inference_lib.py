"""Frozen graphs that compute less: without nodes of training, with batch normalization as part of convolutions."""

import collections
import re

import numpy as np

from braid import protos
from braid.tensorflow.python.framework import dtypes, graph_util, tensor_util
from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.tools import strip_unused_lib

_FUSED_INPUTS = ["conv_op", "gamma_op", "beta_op", "mean_op", "var_op"]

# The inputs of a kind of batch normalization, in their order.
INPUT_ORDER = {
    "BatchNormWithGlobalNormalization": ["conv_op", "mean_op", "var_op", "beta_op", "gamma_op"],
    "FusedBatchNorm": _FUSED_INPUTS,
    "FusedBatchNormV2": _FUSED_INPUTS,
    "FusedBatchNormV3": _FUSED_INPUTS,
}

# The attribute that has its epsilon.
EPSILON_ATTR = {
    "BatchNormWithGlobalNormalization": "variance_epsilon",
    "FusedBatchNorm": "epsilon",
    "FusedBatchNormV2": "epsilon",
    "FusedBatchNormV3": "epsilon",
}


def optimize_for_inference(
    input_graph_def, input_node_names, output_node_names, placeholder_type_enum, toco_compatible=False
):
    """A frozen graph that computes the same outputs by fewer nodes.

    Args:
      input_node_names: nodes that are fed, which become placeholders.
      placeholder_type_enum: the type of the placeholders, or a list of types.
      toco_compatible: whether resizing and padding stay nodes of their own, before their convolutions.
    """
    ensure_graph_is_valid(input_graph_def)
    made = strip_unused_lib.strip_unused(
        input_graph_def, input_node_names, output_node_names, placeholder_type_enum
    )
    made = graph_util.remove_training_nodes(made, output_node_names)
    made = _fold_batch_norms(made, output_node_names)
    if not toco_compatible:
        made = fuse_resize_and_conv(made, output_node_names)
    ensure_graph_is_valid(made)
    return made


def ensure_graph_is_valid(graph_def):
    """ValueError: two nodes have one name, or an input is not in the graph."""
    nodes = _nodes_by_name(graph_def)
    for node in graph_def.node:
        for name in node.input:
            if node_name_from_input(name) not in nodes:
                raise ValueError(f"Input for {node.name} not found: {name}")


def node_name_from_input(node_name):
    """The node of an input: "a" of "a:1" and of "^a"."""
    return re.sub(r":\d+$", "", node_name.removeprefix("^"))


def node_from_map(node_map, name):
    """The node of an input. node_map: {name: node}. ValueError: it has none."""
    found = node_map.get(node_name_from_input(name))
    if found is None:
        raise ValueError(f"No node named '{name}' found in map.")
    return found


def values_from_const(node_def):
    """The array of a constant. ValueError: the node is not one."""
    if node_def.op != "Const":
        raise ValueError(f"Node named '{node_def.name}' should be a Const op for values_from_const.")
    return tensor_util.MakeNdarray(node_def.attr["value"].tensor)


def scale_after_normalization(node):
    """Whether a batch normalization multiplies by gamma."""
    return node.op != "BatchNormWithGlobalNormalization" or node.attr["scale_after_normalization"].b


def _nodes_by_name(graph_def):
    nodes = {}
    for node in graph_def.node:
        if nodes.setdefault(node.name, node) is not node:
            raise ValueError(f"Duplicate node names detected for {node.name}")
    return nodes


def _uses(graph_def, output_node_names):
    """{name: how many inputs come from the node, and whether it is an output}."""
    uses = collections.Counter(node_name_from_input(name) for node in graph_def.node for name in node.input)
    uses.update(output_node_names)
    return uses


def fold_batch_norms(input_graph_def):
    """A graph in which constant convolutions with a batch normalization behind them are ones with a bias.

    The filter is multiplied by gamma / sqrt(variance + epsilon). What is left is an addition, which has the
    name of the normalization. One that cannot be folded stays, with a warning that says why.
    """
    return _fold_batch_norms(input_graph_def, ())


def _fold_batch_norms(graph_def, output_node_names):
    nodes, uses = _nodes_by_name(graph_def), _uses(graph_def, output_node_names)
    replaced, made = set(), []
    for node in graph_def.node:
        if node.op not in INPUT_ORDER:
            continue
        try:
            folded = _folded(node, nodes, uses)
        except _CannotFold as why:
            tf_logging.warning("The batch normalization '%s' is not folded: %s", node.name, why)
            continue
        made += folded
        replaced.update((node.name, *(new.name for new in folded)))
        uses.subtract(node_name_from_input(name) for name in node.input)
        replaced.update(
            name
            for name in map(node_name_from_input, node.input)
            if uses[name] == 0 and nodes[name].op == "Const"
        )
    return _graph([node for node in graph_def.node if node.name not in replaced] + made)


def _graph(nodes):
    made = protos.GraphDef()
    made.node.extend(nodes)
    return made


class _CannotFold(Exception):
    """A batch normalization cannot be folded. The message says why."""


def _folded(node, nodes, uses):
    """The filter, the convolution, the offset and the addition that replace a batch normalization."""
    inputs = {key: node_from_map(nodes, name) for key, name in zip(INPUT_ORDER[node.op], node.input)}
    conv = inputs.pop("conv_op")
    if conv.op not in ("Conv2D", "DepthwiseConv2dNative"):
        raise _CannotFold(f"its input is {conv.op}, not Conv2D or DepthwiseConv2dNative")
    weights_node = node_from_map(nodes, conv.input[1])
    for constant in (weights_node, *inputs.values()):
        if constant.op != "Const":
            raise _CannotFold(f"'{constant.name}' is {constant.op}, not a constant. Was the graph frozen?")
    if node.op != "BatchNormWithGlobalNormalization" and (
        "is_training" not in node.attr or node.attr["is_training"].b
    ):
        raise _CannotFold("it is one of training")
    if uses[conv.name] != 1 or uses[weights_node.name] != 1:
        raise _CannotFold("other nodes use its convolution or the filter")
    weights = values_from_const(weights_node)
    depthwise = conv.op == "DepthwiseConv2dNative"
    channels = weights.shape[2] * weights.shape[3] if depthwise else weights.shape[3]
    values = {key: values_from_const(constant) for key, constant in inputs.items()}
    for key, value in values.items():
        if value.shape != (channels,):
            raise _CannotFold(f"'{inputs[key].name}' has shape {value.shape}, not {(channels,)}")
    scale = 1.0 / np.sqrt(values["var_op"].astype(np.float64) + node.attr[EPSILON_ATTR[node.op]].f)
    if scale_after_normalization(node):
        scale = scale * values["gamma_op"]
    offset = values["beta_op"] - values["mean_op"] * scale
    scaled = weights * (scale.reshape(weights.shape[2:]) if depthwise else scale)
    addition = protos.NodeDef(name=node.name, op="BiasAdd", input=[conv.name, conv.name + "_bn_offset"])
    for key in ("T", "data_format"):
        if key in conv.attr:
            addition.attr[key].CopyFrom(conv.attr[key])
    return [
        _constant(weights_node.name, scaled.astype(weights.dtype)),
        conv,
        _constant(conv.name + "_bn_offset", offset.astype(weights.dtype)),
        addition,
    ]


def _constant(name, value):
    made = protos.NodeDef(name=name, op="Const")
    made.attr["dtype"].type = dtypes.as_dtype(value.dtype).as_datatype_enum
    made.attr["value"].tensor.CopyFrom(tensor_util.make_tensor_proto(value))
    return made


def fuse_resize_and_conv(input_graph_def, output_node_names):
    """A graph in which bilinear resizing and mirrored padding before a convolution are parts of it.

    The nodes are FusedResizeAndPadConv2D and FusedPadConv2D.
    """
    nodes, uses = _nodes_by_name(input_graph_def), _uses(input_graph_def, output_node_names)
    replaced, made = set(), []
    for conv in input_graph_def.node:
        if conv.op != "Conv2D":
            continue
        before = node_from_map(nodes, conv.input[0])
        pad = before if before.op == "MirrorPad" else None
        resize = node_from_map(nodes, pad.input[0]) if pad else before
        resize = resize if resize.op == "ResizeBilinear" else None
        if not pad and not resize:
            continue
        replaced.add(conv.name)
        for absorbed in filter(None, (pad, resize)):
            uses[absorbed.name] -= 1
            if uses[absorbed.name] > 0:
                break  # what it takes is used, too
            replaced.add(absorbed.name)
        if pad:
            paddings, mode = pad.input[1], pad.attr["mode"].s
        else:
            made.append(_constant(conv.name + "_dummy_paddings", np.zeros([4, 2], np.int32)))
            paddings, mode = made[-1].name, b"REFLECT"
        fused = protos.NodeDef(name=conv.name, op="FusedResizeAndPadConv2D" if resize else "FusedPadConv2D")
        fused.input.extend(resize.input[:2] if resize else pad.input[:1])
        fused.input.extend([paddings, conv.input[1]])
        if resize:
            fused.attr["resize_align_corners"].CopyFrom(resize.attr["align_corners"])
        fused.attr["mode"].s = mode
        for key in ("T", "strides", "padding"):
            fused.attr[key].CopyFrom(conv.attr[key])
        made.append(fused)
    return _graph([node for node in input_graph_def.node if node.name not in replaced] + made)
