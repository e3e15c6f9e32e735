"""Residual networks that normalize before each convolution, by He and others, "Identity Mappings in Deep
Residual Networks", 2016."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope
from braid.tensorflow.contrib.framework.python.ops.arg_scope import arg_scope
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.layers.python.layers import utils
from braid.tensorflow.contrib.slim.python.slim.nets import resnet_utils
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope

resnet_arg_scope = resnet_utils.resnet_arg_scope


@add_arg_scope
def bottleneck(inputs, depth, depth_bottleneck, stride, rate=1, outputs_collections=None, scope=None):
    """A unit of three convolutions of the normalized inputs."""
    with variable_scope.variable_scope(scope, "bottleneck_v2", [inputs]) as sc:
        depth_in = utils.last_dimension(inputs.get_shape(), min_rank=4)
        normalized = layers.batch_norm(inputs, activation_fn=nn_ops.relu, scope="preact")
        plain = {"normalizer_fn": None, "activation_fn": None}
        if depth == depth_in:
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(normalized, depth, [1, 1], stride=stride, scope="shortcut", **plain)
        residual = layers.conv2d(normalized, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = layers.conv2d(residual, depth, [1, 1], stride=1, scope="conv3", **plain)
        return utils.collect_named_outputs(outputs_collections, sc.name, shortcut + residual)


def _root(net):
    with arg_scope([layers.conv2d], activation_fn=None, normalizer_fn=None):
        return resnet_utils.conv2d_same(net, 64, 7, stride=2, scope="conv1")


def _end(net):
    return layers.batch_norm(net, activation_fn=nn_ops.relu, scope="postnorm")


resnet_v2 = resnet_utils._resnet(2, bottleneck, _root, _end)


def resnet_v2_block(scope, base_depth, num_units, stride):
    """A block of units, the last of which has the stride."""
    return resnet_utils._block(bottleneck, scope, base_depth, num_units, stride)


resnet_v2_50 = resnet_utils._depths(resnet_v2, resnet_v2_block, "resnet_v2_50", (3, 4, 6, 3))
resnet_v2_101 = resnet_utils._depths(resnet_v2, resnet_v2_block, "resnet_v2_101", (3, 4, 23, 3))
resnet_v2_152 = resnet_utils._depths(resnet_v2, resnet_v2_block, "resnet_v2_152", (3, 8, 36, 3))
resnet_v2_200 = resnet_utils._depths(resnet_v2, resnet_v2_block, "resnet_v2_200", (3, 24, 36, 3))
