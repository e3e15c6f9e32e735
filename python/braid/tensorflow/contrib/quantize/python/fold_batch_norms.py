"""Folds batch norms into the weights of the layer before them: weights are rounded as they are used.

y = gamma * (w x - mean) / sigma + beta becomes y = (w * gamma / sigma) x + (beta - mean * gamma / sigma).
In training weights are scaled by the moving sigma, which changes slowly, and the result is corrected to that
of the batch's sigma, until the batch norm is frozen.
"""

import collections
import re

from braid import protos
from braid.tensorflow.contrib.quantize.python import common
from braid.tensorflow.contrib.quantize.python import graph_matcher
from braid.tensorflow.contrib.quantize.python import input_to_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.layers import utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope

_Type, _Oneof = graph_matcher.OpTypePattern, graph_matcher.OneofPattern
_GRADIENT = "FoldFusedBatchNormGrad"

_BatchNorm = collections.namedtuple(
    "_BatchNorm",
    "layer_op output_tensor input_tensor weight_tensor gamma_tensor beta_tensor mean_tensor variance_tensor "
    "moving_mean_tensor moving_variance_tensor bn_decay_mean_tensor bn_decay_var_tensor batch_epsilon "
    "batch_to_space_op",
    defaults=(None,) * 14,
)


def FoldBatchNorms(graph, is_training, freeze_batch_norm_delay=None):
    """Folds the batch norms behind convolutions and dense layers of a graph.

    freeze_batch_norm_delay: after how many steps of training the moving averages are used; None for never.
    """
    _FoldFusedBatchNorms(graph, is_training, freeze_batch_norm_delay)
    _FoldUnfusedBatchNorms(graph, is_training, freeze_batch_norm_delay)


# ---- FusedBatchNorm ----


def _FoldFusedBatchNorms(graph, is_training, freeze_batch_norm_delay):
    for match in _FindFusedBatchNorms(graph):
        scope, sep, _ = match.layer_op.name.rpartition("/")
        with graph.as_default(), graph.name_scope(scope + sep):
            _fold(match, scope + sep + "BatchNorm_Fold" + sep, is_training, freeze_batch_norm_delay)


def _fold(match, fold_scope, is_training, freeze_batch_norm_delay):
    """Builds the folded layer, which takes the place of the batch norm."""
    scale = recip = offset = None
    with ops.get_default_graph().name_scope(fold_scope):
        multiplier = match.gamma_tensor * math_ops.rsqrt(match.variance_tensor + match.batch_epsilon)
        bias = math_ops.subtract(match.beta_tensor, match.mean_tensor * multiplier, name="bias")
        if is_training:
            scale, recip, offset = _ComputeBatchNormCorrections("", match, freeze_batch_norm_delay)
        weights = match.weight_tensor
        if match.layer_op.type == "DepthwiseConv2dNative":
            shape = weights.get_shape().as_list()[2:4]
            multiplier = array_ops.reshape(multiplier, shape, name="scale_reshape")
            if scale is not None:
                scale = array_ops.reshape(scale, shape, name="correction_reshape")
    if scale is not None:
        weights = math_ops.multiply(scale, weights, name="correction_mult")
    weights = math_ops.multiply(weights, multiplier, name="mul_fold")
    layer = _CloneWithNewOperands(match.layer_op, match.input_tensor, weights, match.batch_to_space_op)
    if recip is not None:
        layer = math_ops.multiply(recip, layer, name="post_conv_mul")
        layer = math_ops.add(layer, offset, "correction_add")
    folded = math_ops.add(layer, bias, name="add_fold")
    if common.RerouteTensor(folded, match.output_tensor) == 0:
        raise ValueError(f"Folding batch norms failed, {match.output_tensor.name} had no outputs.")


class _Patterns:
    """A layer, its batch norm, and what may be between and behind them."""

    def __init__(self):
        self.input, self.weight = _Type("*"), _Type("*")
        self.gamma, self.beta, self.mean, self.variance = (_Type("*") for _ in range(4))
        self.layer = _Type("Conv2D|DepthwiseConv2dNative|MatMul", inputs=[self.input, self.weight])
        self.batch_to_space = _Type("BatchToSpaceND", inputs=[self.layer, "*", "*"])
        with_identity = _Type("Identity", inputs=[_Oneof([self.batch_to_space, self.layer])])
        output = _Oneof([with_identity, self.layer, self.batch_to_space])
        reshaped = _Type("Reshape", inputs=[output, "*"])  # of a dense layer
        self.batch_norm = _Type(
            "FusedBatchNorm|FusedBatchNormV3",
            inputs=[_Oneof([reshaped, output]), self.gamma, self.beta, self.mean, self.variance],
        )
        self.output_reshape = _Type("Reshape", inputs=[self.batch_norm, "*"])
        # TensorFlow's asks for an Identity with both as inputs, which no graph has.
        self.whole = _Oneof([self.output_reshape, self.batch_norm])
        self.average, self.decay = _Type("*"), _Type("*")
        self.average_sub = _Type("Sub", inputs=[self.average, self.batch_norm])
        self.average_mul = _Type("Mul", inputs=[self.average_sub, self.decay])


def _FindFusedBatchNorms(graph):
    """The batch norms with a layer before them, each layer once."""
    patterns, found = _Patterns(), {}
    for result in graph_matcher.GraphMatcher(patterns.whole).match_graph(graph):
        layer_op = result.get_op(patterns.layer)
        match = _fused_match(graph, patterns, result)
        if match is not None and layer_op not in found:
            found[layer_op] = match
    return list(found.values())


def _fused_match(graph, patterns, result):
    """The _BatchNorm of a MatchResult; None if nothing takes its result, or another match has all of it."""
    layer_op, bn_op = result.get_op(patterns.layer), result.get_op(patterns.batch_norm)
    output = bn_op.outputs[0]
    if layer_op.type == "MatMul":
        reshape = result.get_op(patterns.output_reshape)
        if reshape is None:
            return None
        output = reshape.outputs[0]
    if not output.consumers():
        return None
    moving = {}
    mean, variance = result.get_tensor(patterns.mean), result.get_tensor(patterns.variance)
    if bn_op.get_attr("is_training"):
        # The batch's mean and variance are used by the folded layer: their gradients are not the op's own.
        bn_op._set_attr("_gradient_op_type", protos.AttrValue(s=_GRADIENT.encode()))
        mean, variance = bn_op.outputs[1], _biased_variance(result.get_tensor(patterns.layer), bn_op)
        for update in graph_matcher.GraphMatcher(patterns.average_mul).match_graph(graph):
            sub, decay = update.get_op(patterns.average_sub), update.get_tensor(patterns.decay)
            if sub.inputs[1] is bn_op.outputs[1]:
                moving.update(moving_mean_tensor=sub.inputs[0], bn_decay_mean_tensor=decay)
            if sub.inputs[1] is bn_op.outputs[2]:
                moving.update(moving_variance_tensor=sub.inputs[0], bn_decay_var_tensor=decay)
    return _BatchNorm(
        layer_op=layer_op,
        output_tensor=output,
        input_tensor=result.get_tensor(patterns.input),
        weight_tensor=result.get_tensor(patterns.weight),
        gamma_tensor=result.get_tensor(patterns.gamma),
        beta_tensor=result.get_tensor(patterns.beta),
        mean_tensor=mean,
        variance_tensor=variance,
        batch_epsilon=bn_op.get_attr("epsilon"),
        batch_to_space_op=result.get_op(patterns.batch_to_space),
        **moving,
    )


def _biased_variance(layer, bn_op):
    """The variance that the batch norm divides by; the op gives the one with Bessel's correction."""
    scope, sep, _ = bn_op.name.rpartition("/")
    with ops.get_default_graph().name_scope(scope + sep):
        n = math_ops.cast(array_ops.size(layer) / array_ops.size(bn_op.outputs[1]), dtypes.float32)
        return math_ops.multiply(bn_op.outputs[2], (n - 1) / n, name="Undo_Bessel_Correction")


def _ComputeBatchNormCorrections(context, match, freeze_batch_norm_delay):
    """(scale of the weights, factor and offset of the result), which change when the batch norm is frozen.

    scale: sigma_batch / sigma_moving. Before: factor 1 / scale, offset 0, so that the batch's sigma counts.
    Afterwards: factor 1, offset gamma (mean_batch / sigma_batch - mean_moving / sigma_moving).
    """
    with ops.get_default_graph().name_scope(context + "batch_norm_correction"):
        recip_moving = math_ops.rsqrt(match.moving_variance_tensor + match.batch_epsilon)
        recip_batch = math_ops.rsqrt(match.variance_tensor + match.batch_epsilon)
        scale = math_ops.divide(recip_moving, recip_batch, name="scale_compute")
        scale = array_ops.identity(scale, name="correction_scale")
        recip = math_ops.reciprocal(scale, name="reciprocal_compute")
        offset = math_ops.multiply(
            match.gamma_tensor,
            match.mean_tensor * recip_batch - match.moving_mean_tensor * recip_moving,
            name="offset_compute",
        )
        is_frozen = False
        if freeze_batch_norm_delay is not None:
            step = common.CreateOrGetQuantizationStep()
            is_frozen = math_ops.greater_equal(step, freeze_batch_norm_delay, name="use_moving_average")
        for decay, name in (
            (match.bn_decay_mean_tensor, "freeze_moving_mean"),
            (match.bn_decay_var_tensor, "freeze_moving_var"),
        ):
            consumers = list(decay.consumers())
            now = utils.smart_cond(is_frozen, lambda: 0.0, lambda d=decay: d, name=name)
            common.RerouteTensor(now, decay, can_modify=consumers)
        factor = utils.smart_cond(
            is_frozen, lambda: array_ops.ones(scale.shape), lambda: recip, name="correction_recip"
        )
        shift = utils.smart_cond(
            is_frozen, lambda: offset, lambda: array_ops.zeros(offset.shape), name="correction_offset"
        )
    return scale, factor, shift


def _CloneWithNewOperands(layer_op, input_tensor, weight_tensor, batch_to_space_op):
    """The layer with another input and other weights."""
    name = layer_op.name.split("/")[-1] + "_Fold"
    layer = _clone(layer_op, input_tensor, weight_tensor, name)
    if layer_op.type == "DepthwiseConv2dNative" and batch_to_space_op is not None:
        behind = layer_op.outputs[0].consumers()[0]
        name = behind.name.split("/")[-1] + "_Fold"
        layer = array_ops.batch_to_space_nd(layer, behind.inputs[1], behind.inputs[2], name=name)
    return layer


def _clone(op, first, second, name):
    """A node of the same type and attributes on other inputs. TypeError: it is none that is cloned."""
    if op.type == "Mul":
        return math_ops.multiply(first, second, name=name)
    if op.type in ("Add", "AddV2"):
        return math_ops.add(first, second, name=name)
    if op.type == "MatMul":
        transposed = {key: op.get_attr(key) for key in ("transpose_a", "transpose_b")}
        return math_ops.matmul(first, second, name=name, **transposed)
    if op.type not in ("Conv2D", "DepthwiseConv2dNative"):
        raise TypeError(f"Unsupported operation type: {op.type}")
    window = dict(strides=op.get_attr("strides"), padding=op.get_attr("padding"), name=name)
    if op.type == "DepthwiseConv2dNative":
        return nn.depthwise_conv2d(first, second, **window)
    return nn_ops.conv2d(
        first,
        second,
        use_cudnn_on_gpu=op.get_attr("use_cudnn_on_gpu"),
        data_format=op.get_attr("data_format").decode(),
        **window,
    )


@ops.RegisterGradient(_GRADIENT)
def _FoldFusedBatchNormGrad(op, grad_y, grad_mean, grad_var, *_):
    """The gradient of a batch's mean and variance; the normalized batch is not used any more."""
    del grad_y
    x = op.inputs[0]
    n = math_ops.cast(array_ops.size(x) / array_ops.size(grad_mean), dtypes.float32)
    of_mean = grad_mean / n
    of_variance = 2 * grad_var * (x - op.outputs[1]) / (n - 1)
    return (of_mean + of_variance), None, None, None, None


# ---- Batch norms of single ops, which are known by their names ----


def _FoldUnfusedBatchNorms(graph, is_training, freeze_batch_norm_delay):
    consumers = input_to_ops.InputToOps(graph)
    for bn in common.BatchNormGroups(graph):
        has_scaling = _HasScaling(graph, consumers, bn)
        if not graph.get_operation_by_name(bn + "BatchNorm/batchnorm_1/add_1").outputs[0].consumers():
            continue
        original, folded = _CreateFoldedOp(graph, bn, has_scaling, freeze_batch_norm_delay, is_training)
        behind = common.GetEndpointActivationOp(graph, bn)
        if behind is None:  # the addition of a bypass, one scope above
            above = re.search(r"^(.*)/([^/]+)", bn)
            prefix = above.group(1) + "/" if above and above.group(1) else ""
            behind = graph.get_operation_by_name(prefix + "AddV2")
        if common.RerouteTensor(folded.outputs[0], original.outputs[0], can_modify=[behind]) != 1:
            raise ValueError(f"Unexpected inputs to op: {behind.name}")


def _HasScaling(graph, input_to_ops_map, bn):
    """Whether the batch norm has gamma: then one product alone takes 1 / sigma."""
    rsqrt = graph.get_operation_by_name(bn + "BatchNorm/batchnorm_1/Rsqrt")
    return sum(op.type == "Mul" for op in input_to_ops_map.ConsumerOperations(rsqrt)) == 1


def _FindMatchingTensor(graph, suffix, scope):
    """The first output of the node whose name ends with suffix, and shares most scopes with `scope`."""
    scopes, best, most = set(scope.split("/")), None, -1
    for op in graph.get_operations():
        if op.name.endswith(suffix):
            shared = len(scopes.intersection(op.name.split("/")))
            if (shared > 0 or not scope) and shared > most:
                best, most = op, shared
    return None if best is None else graph.get_tensor_by_name(best.name + ":0")


def _GetBatchNormParams(graph, context, has_scaling):
    def find(name):
        return _FindMatchingTensor(graph, "BatchNorm/" + name, context)

    is_resource = variable_scope.get_variable_scope().use_resource
    read = "/Read/ReadVariableOp" if is_resource else "/read"
    moving_mean = find("moving_mean" + read)
    if has_scaling:
        gamma = find("gamma" + (read if is_resource else ""))
    else:
        gamma = array_ops.ones(moving_mean.shape)
    return _BatchNorm(
        gamma_tensor=gamma,
        mean_tensor=find("moments/Squeeze"),
        variance_tensor=find("moments/Squeeze_1"),
        moving_mean_tensor=moving_mean,
        moving_variance_tensor=find("moving_variance" + read),
        bn_decay_mean_tensor=find("AssignMovingAvg/decay"),
        bn_decay_var_tensor=find("AssignMovingAvg_1/decay"),
        batch_epsilon=find("batchnorm_1/add/y"),
    )


def _CreateFoldedOp(graph, context, has_scaling, freeze_batch_norm_delay, is_training):
    """(the batch norm's last node, the folded layer's last node)."""
    norm = context + "BatchNorm/batchnorm_1/"
    mul_scale = graph.get_operation_by_name(norm + ("mul_1" if has_scaling else "mul"))
    layer_op, batch_to_space = mul_scale.inputs[0].op, None
    if layer_op.type == "BatchToSpaceND":
        batch_to_space, layer_op = layer_op, layer_op.inputs[0].op
    weights = layer_op.inputs[1]
    match = _GetBatchNormParams(graph, context, has_scaling)
    scale = recip = offset = None
    if is_training:
        scale, recip, offset = _ComputeBatchNormCorrections(context, match, freeze_batch_norm_delay)
    if layer_op.type not in ("Conv2D", "MatMul", "DepthwiseConv2dNative"):
        raise ValueError(f"Cannot handle operation of type: {layer_op.type}")
    multiplier = mul_scale.inputs[1]
    if layer_op.type == "DepthwiseConv2dNative":
        shape = weights.get_shape().as_list()[2:4]
        multiplier = graph.get_operation_by_name(norm + ("mul" if has_scaling else "Rsqrt")).outputs[0]
        multiplier = array_ops.reshape(multiplier, shape, context + "scale_reshape")
        if scale is not None:
            scale = array_ops.reshape(scale, shape, context + "correction_reshape")
    if scale is not None:
        with ops.device(mul_scale.device):
            weights = math_ops.multiply(scale, weights, context + "correction_mult")
    mul_fold = _clone(mul_scale, weights, multiplier, context + "mul_fold")
    _check_shapes("mul_fold", mul_fold)
    _check_layer(layer_op, layer_op.inputs[0], mul_fold)
    layer = _clone(layer_op, layer_op.inputs[0], mul_fold, layer_op.name + "_Fold")
    device = layer.op.device
    add_shift = graph.get_operation_by_name(norm + "add_1")
    if batch_to_space is not None:
        blocks, crops = batch_to_space.inputs[1:3]
        layer = array_ops.batch_to_space_nd(layer, blocks, crops, name=batch_to_space.name + "_Fold")
    if offset is not None:
        with ops.device(device):
            layer = math_ops.multiply(recip, layer, context + "post_conv_mul")
            layer = math_ops.add(layer, offset, context + "correction_add")
    add_fold = _clone(add_shift, layer, add_shift.inputs[1], context + "add_fold")
    _check_shapes("add_fold", add_fold)
    return add_shift, add_fold.op


def _check_shapes(name, tensor):
    given = tensor.op.inputs[0].get_shape()
    if not given.is_compatible_with(tensor.get_shape()):
        raise ValueError(f"{name} should not change tensor shape: input {given}, output {tensor.get_shape()}")


def _check_layer(op, first, second):
    """ValueError: the layer's inputs do not fit."""
    a, b, rank, axes = first.get_shape(), second.get_shape(), 4, (3, 2)
    if op.type == "MatMul":
        rank, axes = 2, (1, 0)
        axes = (1 - op.get_attr("transpose_a"), int(op.get_attr("transpose_b")))
    if len(a) != rank or len(b) != rank or a[axes[0]] != b[axes[1]]:
        raise ValueError(f"Incompatible shapes for op {op.name} inputs: {a} and {b}")
