"""Adds nodes that round the weights and activations of layers, in the ranges that integers will have."""

import collections
import re

from braid.tensorflow.contrib.quantize.python import common
from braid.tensorflow.contrib.quantize.python import graph_matcher
from braid.tensorflow.contrib.quantize.python import input_to_ops
from braid.tensorflow.contrib.quantize.python import quant_ops
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.platform import tf_logging as logging

_Type, _Oneof = graph_matcher.OpTypePattern, graph_matcher.OneofPattern

_LAYERS = "Conv2D|MatMul|DepthwiseConv2dNative"
_ADD = "Add|AddV2"
_RELUS = {"Relu", "Relu6"}
_ACTIVATIONS = _RELUS | {"Identity"}
_SUMS_AND_PRODUCTS = {"Add", "AddV2", "Mul"}
_PASS_THROUGH = {"Reshape", "Identity", "BatchToSpaceND", "SpaceToBatchND", "MaxPool", "Max"}
_FAKE_QUANTS = {
    "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxArgs",
    "FakeQuantWithMinMaxVarsPerChannel",
}

_Layer = collections.namedtuple(
    "_Layer", "layer_op weight_tensor activation_op bypass_op post_activation_bypass_op bias_add_op"
)


def Quantize(
    graph,
    is_training,
    weight_bits=8,
    activation_bits=8,
    symmetric=False,
    ema_decay=0.999,
    quant_delay=None,
    vars_collection=ops.GraphKeys.GLOBAL_VARIABLES,
    scope=None,
):
    """Rounds the weights and activations of the layers of a graph, and the inputs and results of bypasses.

    ema_decay: of the ranges of activations. quant_delay: how many steps are made before. vars_collection: for
    the variables of the ranges. scope: only nodes in it are rounded.
    """
    if scope and not scope.endswith("/"):
        scope += "/"
    of_all = dict(
        is_training=is_training,
        ema_decay=ema_decay,
        quant_delay=quant_delay,
        vars_collection=vars_collection,
    )
    of_activations = dict(of_all, moving_avg=True, bits=activation_bits, symmetric=symmetric)
    consumers = input_to_ops.InputToOps(graph).ConsumerOperations
    done = set()
    for layer in _FindLayersToQuantize(graph):
        context = _GetContextFromOp(layer.layer_op)
        above = _scope_above(context) if layer.bypass_op else context
        if layer.weight_tensor is not None:
            op = layer.weight_tensor.op
            own = dict(moving_avg=False, narrow_range=True, bits=weight_bits, symmetric=symmetric)
            _InsertQuantOp(context, "weights_quant", op, consumers(op), consumer_scope=scope, **own, **of_all)
        if layer.activation_op is not None:
            op = layer.activation_op
            own = dict(init_min=0.0, producer_scope=scope)
            _InsertQuantOp(above, "act_quant", op, consumers(op), **own, **of_activations)
            done.add(op)
        if layer.bypass_op is not None:
            both = dict(producer_scope=scope, consumer_scope=scope, **of_activations)
            op = layer.bias_add_op
            _InsertQuantOp(context, "conv_quant", op, consumers(op), **both)
            done.add(op)
            op = layer.bypass_op
            if not _is_before(consumers(op), _ACTIVATIONS, op):
                _InsertQuantOp(above, "add_quant", op, consumers(op), **both)
                done.add(op)
        if layer.post_activation_bypass_op is not None:
            op = layer.post_activation_bypass_op
            if not _is_before(consumers(op), _RELUS, op):
                _InsertQuantOp(
                    _scope_above(op.name),
                    "post_activation_bypass_quant",
                    op,
                    consumers(op),
                    producer_scope=scope,
                    **of_activations,
                )
                done.add(op)
    _QuantizeActivationLayers(
        done, graph, dict(of_all, moving_avg=True, bits=activation_bits, producer_scope=scope)
    )


def _is_before(consumers, types, op):
    """Whether an activation takes what the node gives: both are computed as one."""
    if any(consumer.type in types for consumer in consumers):
        logging.info("Skipping %s, because its followed by an activation.", op.name)
        return True
    return False


def _QuantizeActivationLayers(done, graph, options):
    """Rounds the sums and products of what is rounded already."""
    consumers = input_to_ops.InputToOps(graph).ConsumerOperations
    for op in graph.get_operations():
        if _CheckIfQuantizableOp(op, done):
            name = f"activation_{op.type}_quant"
            logging.info("Inserting fake quant op %s after %s", name, op.name)
            _InsertQuantOp(op.name, name, op, consumers(op), **options)


def _CheckIfQuantizableOp(src_op, quantized_ops):
    """Whether a node is a sum or a product of tensors of which one is rounded."""
    if src_op in quantized_ops or src_op.type not in _SUMS_AND_PRODUCTS:
        return False
    if len(src_op.outputs) == 1:
        consumers = src_op.outputs[0].consumers()
        if len(consumers) == 1 and consumers[0].type in _RELUS:
            logging.info("Skipping quant after %s", src_op.name)
            return False
    for tensor in src_op.inputs:
        op = tensor.op
        while op.type in _PASS_THROUGH:
            op = op.inputs[0].op
        if op.type == "FakeQuantWithMinMaxVars" or op.name.find("delayed_quant/Merge") > 0:
            return True
        if op.type in _SUMS_AND_PRODUCTS:
            if any(_CheckIfQuantizableOp(t.op, quantized_ops) for t in op.inputs):
                return True
    return False


class _Patterns:
    """A layer with its weights, and what may follow it: a correction of a folded batch norm, a bias, a
    bypass, an activation, a bypass behind it.
    """

    def __init__(self):
        variable = _Type("Variable|VariableV2")
        part = _Type("Identity", inputs=[variable])
        parts = _Type("ConcatV2", inputs=[part, "*", "*"])
        self.weights = [
            _Type("Identity", inputs=[_Oneof([part, parts, variable])]),
            _Type("ReadVariableOp"),
            _Type("Mul"),  # of a folded batch norm
        ]
        unordered = dict(ordered_inputs=False)
        self.layer = _Type(_LAYERS, inputs=["*", _Oneof(self.weights)], **unordered)
        output = _Oneof([_Type("BatchToSpaceND", inputs=[self.layer, "*", "*"]), self.layer])
        self.second_layer = _Type(_LAYERS, inputs=[output, "*"], **unordered)
        corrected = _Type(_ADD, inputs=[_Type("Mul", inputs=["*", output], **unordered), "*"], **unordered)
        self.folded_bias_add = _Type(_ADD, inputs=[corrected, "*"], **unordered)
        identity = _Type("Identity", inputs=[self.folded_bias_add])
        self.bias_add = _Type(_ADD + "|BiasAdd", inputs=[output, "*"], **unordered)
        biased = [self.bias_add, self.folded_bias_add, identity]
        self.bypass = _Type(_ADD, inputs=[_Oneof(biased), "*"], **unordered)
        self.activation = _Type("Relu|Relu6|Identity", inputs=[_Oneof([*biased, self.bypass, self.layer])])
        self.post_activation_bypass = _Type(_ADD, inputs=["*", self.activation], **unordered)


def _FindLayersToQuantize(graph):
    """The layers of a graph, each once, with as much behind it as matches."""
    p, found = _Patterns(), {}

    def add(result, activation, bypass, last, bias_add, weights=3):
        tensors = (result.get_tensor(pattern) for pattern in p.weights[:weights])
        layer_op = result.get_op(p.layer)
        weight = next((t for t in tensors if t is not None), None)
        found.setdefault(layer_op, _Layer(layer_op, weight, activation, bypass, last, bias_add))

    def first_op(result, *patterns):
        return next((op for op in map(result.get_op, patterns) if op is not None), None)

    def matches(pattern):
        return graph_matcher.GraphMatcher(pattern).match_graph(graph)

    biases = (p.bias_add, p.folded_bias_add)
    for result in matches(p.post_activation_bypass):
        last = result.get_op(p.post_activation_bypass)
        bypass = result.get_op(p.bypass)
        add(result, result.get_op(p.activation), bypass, last, first_op(result, *biases))
    for result in matches(p.activation):
        activation = result.get_op(p.activation)
        if not _IsSkipLayer(activation):
            add(result, activation, result.get_op(p.bypass), None, first_op(result, *biases))
    for result in matches(_Oneof(biases)):  # a last layer without activation: its sum is rounded
        add(result, first_op(result, *biases), None, None, None)
    for result in matches(p.second_layer):  # separable convolutions without an activation between them
        add(result, result.get_op(p.layer), None, None, None, weights=2)
    return list(found.values())


def _IsSkipLayer(activation_op):
    """Whether the "activation" is the Identity before a batch norm, which is folded and only gives averages."""
    if activation_op.type != "Identity" or len(activation_op.outputs) != 1:
        return False
    consumers = activation_op.outputs[0].consumers()
    if len(consumers) == 1 and consumers[0].type in ("FusedBatchNorm", "FusedBatchNormV3"):
        logging.info("Skipping quantizing %s: a batch norm takes it", activation_op.name)
        return True
    return False


def _FollowedByFakeQuant(tensor):
    """Whether a tensor is rounded already."""
    todo = list(tensor.consumers())
    while todo:
        op = todo.pop()
        if op.type in _FAKE_QUANTS:
            return True
        if op.type in ("Reshape", "Identity"):
            todo.extend(consumer for output in op.outputs for consumer in output.consumers())
    return False


def _InsertQuantOp(
    context,
    name,
    producer,
    consumers,
    is_training,
    moving_avg=True,
    init_min=-6.0,
    init_max=6.0,
    bits=8,
    symmetric=False,
    ema_decay=0.999,
    quant_delay=None,
    vars_collection=ops.GraphKeys.GLOBAL_VARIABLES,
    narrow_range=False,
    producer_scope=None,
    consumer_scope=None,
):
    """Rounds what a node gives to others, if both are in the scopes and it is not rounded yet.

    moving_avg: the range is a moving average, else the last one.
    """
    if producer_scope and not producer.name.startswith(producer_scope):
        logging.info("%s of %s is left out: it is not in the scope %s", name, producer.name, producer_scope)
        return
    if consumer_scope and not all(op.name.startswith(consumer_scope) for op in consumers):
        logging.info("%s is left out: not all that take it are in %s", producer.name, consumer_scope)
        return
    prefix = context + "/" + name if context else name
    if ops.get_name_scope():
        prefix = common.DropStringPrefix(prefix, ops.get_name_scope() + "/")
    inputs = producer.outputs[0]
    if _FollowedByFakeQuant(inputs):
        return
    options = dict(
        init_min=init_min,
        init_max=init_max,
        is_training=is_training,
        num_bits=bits,
        symmetric=symmetric,
        narrow_range=narrow_range,
        vars_collection=vars_collection,
        name_prefix=prefix,
    )
    if moving_avg:
        quant = quant_ops.MovingAvgQuantize(inputs, ema_decay=ema_decay, **options)
    else:
        quant = quant_ops.LastValueQuantize(inputs, **options)
    if quant_delay and quant_delay > 0:
        step = common.CreateOrGetQuantizationStep()
        is_active = math_ops.greater_equal(step, quant_delay, name=prefix + "/activate_quant")
        rounded = quant
        quant = control_flow_ops.cond(
            is_active, lambda: rounded, lambda: inputs, name=prefix + "/delayed_quant"
        )
    if consumers and common.RerouteTensor(quant, inputs, can_modify=consumers) < len(consumers):
        raise ValueError(f"No inputs quantized for ops: [{', '.join(op.name for op in consumers)}]")


def _scope_above(name):
    """The name without its last part; "" for one part."""
    match = re.search(r"^(.*)/([^/]+)", name)
    return match.group(1) if match else ""


def _GetContextFromOp(op):
    """The scope of a node."""
    return _scope_above(op.name)
