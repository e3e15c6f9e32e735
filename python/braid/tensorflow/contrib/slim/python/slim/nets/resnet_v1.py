"""Residual networks, by He and others, "Deep Residual Learning for Image Recognition", 2015."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.layers.python.layers import utils
from braid.tensorflow.contrib.slim.python.slim.nets import resnet_utils
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope

resnet_arg_scope = resnet_utils.resnet_arg_scope


@add_arg_scope
def bottleneck(inputs, depth, depth_bottleneck, stride, rate=1, outputs_collections=None, scope=None):
    """A unit of three convolutions, normalized after each."""
    with variable_scope.variable_scope(scope, "bottleneck_v1", [inputs]) as sc:
        if depth == utils.last_dimension(inputs.get_shape(), min_rank=4):
            shortcut = resnet_utils.subsample(inputs, stride, "shortcut")
        else:
            shortcut = layers.conv2d(
                inputs, depth, [1, 1], stride=stride, activation_fn=None, scope="shortcut"
            )
        residual = layers.conv2d(inputs, depth_bottleneck, [1, 1], stride=1, scope="conv1")
        residual = resnet_utils.conv2d_same(residual, depth_bottleneck, 3, stride, rate=rate, scope="conv2")
        residual = layers.conv2d(residual, depth, [1, 1], stride=1, activation_fn=None, scope="conv3")
        output = nn_ops.relu(shortcut + residual)
        return utils.collect_named_outputs(outputs_collections, sc.name, output)


def _root(net):
    return resnet_utils.conv2d_same(net, 64, 7, stride=2, scope="conv1")


resnet_v1 = resnet_utils._resnet(1, bottleneck, _root, lambda net: net)


def resnet_v1_block(scope, base_depth, num_units, stride):
    """A block of units, the last of which has the stride."""
    return resnet_utils._block(bottleneck, scope, base_depth, num_units, stride)


resnet_v1_50 = resnet_utils._depths(resnet_v1, resnet_v1_block, "resnet_v1_50", (3, 4, 6, 3))
resnet_v1_101 = resnet_utils._depths(resnet_v1, resnet_v1_block, "resnet_v1_101", (3, 4, 23, 3))
resnet_v1_152 = resnet_utils._depths(resnet_v1, resnet_v1_block, "resnet_v1_152", (3, 8, 36, 3))
resnet_v1_200 = resnet_utils._depths(resnet_v1, resnet_v1_block, "resnet_v1_200", (3, 24, 36, 3))
