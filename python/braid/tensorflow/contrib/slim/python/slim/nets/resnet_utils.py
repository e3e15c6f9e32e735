"""What residual networks share: blocks, and convolutions whose padding does not depend on the size."""

import collections

from braid.tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope
from braid.tensorflow.contrib.framework.python.ops.arg_scope import arg_scope
from braid.tensorflow.contrib.layers.python.layers import initializers
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.layers.python.layers import regularizers
from braid.tensorflow.contrib.layers.python.layers import utils
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope


class Block(collections.namedtuple("Block", ["scope", "unit_fn", "args"])):
    """A block: its scope, the function that builds a unit, and the arguments of each unit."""


def subsample(inputs, factor, scope=None):
    """Each factor-th pixel of both directions."""
    return inputs if factor == 1 else layers.max_pool2d(inputs, [1, 1], stride=factor, scope=scope)


def conv2d_same(inputs, num_outputs, kernel_size, stride, rate=1, scope=None):
    """A convolution of padding "SAME" whose padding of a stride above 1 is as for the stride 1."""
    if stride == 1:
        padding = "SAME"
    else:
        padding = "VALID"
        total = kernel_size + (kernel_size - 1) * (rate - 1) - 1
        pair = [total // 2, total - total // 2]
        inputs = array_ops.pad(inputs, [[0, 0], pair, pair, [0, 0]])
    return layers.conv2d(
        inputs, num_outputs, kernel_size, stride=stride, rate=rate, padding=padding, scope=scope
    )


@add_arg_scope
def stack_blocks_dense(net, blocks, output_stride=None, outputs_collections=None):
    """The blocks one after the other.

    output_stride: units that would make the stride of all greater have the stride 1, and those after them
    pixels that lie farther apart.
    """
    reached = 1
    rate = 1
    for block in blocks:
        with variable_scope.variable_scope(block.scope, "block", [net]) as sc:
            for number, unit in enumerate(block.args, 1):
                if output_stride is not None and reached > output_stride:
                    raise ValueError("The target output_stride cannot be reached.")
                with variable_scope.variable_scope(f"unit_{number}", values=[net]):
                    stride = unit.get("stride", 1)
                    if output_stride is not None and reached == output_stride:
                        net = block.unit_fn(net, rate=rate, **dict(unit, stride=1))
                        rate *= stride
                    else:
                        net = block.unit_fn(net, rate=1, **unit)
                        reached *= stride
            net = utils.collect_named_outputs(outputs_collections, sc.name, net)
    if output_stride is not None and reached != output_stride:
        raise ValueError("The target output_stride cannot be reached.")
    return net


def resnet_arg_scope(
    weight_decay=0.0001, batch_norm_decay=0.997, batch_norm_epsilon=1e-5, batch_norm_scale=True
):
    """The defaults of the networks' layers."""
    norm = {
        "decay": batch_norm_decay,
        "epsilon": batch_norm_epsilon,
        "scale": batch_norm_scale,
        "updates_collections": ops.GraphKeys.UPDATE_OPS,
    }
    with arg_scope(
        [layers.conv2d],
        weights_regularizer=regularizers.l2_regularizer(weight_decay),
        weights_initializer=initializers.variance_scaling_initializer(),
        activation_fn=nn_ops.relu,
        normalizer_fn=layers.batch_norm,
        normalizer_params=norm,
    ):
        with arg_scope([layers.batch_norm], **norm):
            with arg_scope([layers.max_pool2d], padding="SAME") as scope:
                return scope


def _resnet(version, bottleneck, root, end):
    """The function resnet_v1 or resnet_v2: of a unit, and what comes before and after the units."""
    default = f"resnet_v{version}"

    def build(
        inputs,
        blocks,
        num_classes=None,
        is_training=True,
        global_pool=True,
        output_stride=None,
        include_root_block=True,
        reuse=None,
        scope=None,
    ):
        """A network of these blocks: (the logits or features, the outputs of layers by their names).

        num_classes: None: features. output_stride: of the features, a multiple of 4.
        """
        with variable_scope.variable_scope(scope, default, [inputs], reuse=reuse) as sc:
            collection = sc.original_name_scope + "_end_points"
            with arg_scope(
                [layers.conv2d, bottleneck, stack_blocks_dense], outputs_collections=collection
            ), arg_scope([layers.batch_norm], is_training=is_training):
                net = inputs
                if include_root_block:
                    if output_stride is not None:
                        if output_stride % 4 != 0:
                            raise ValueError("The output_stride needs to be a multiple of 4.")
                        output_stride /= 4
                    net = layers.max_pool2d(root(net), [3, 3], stride=2, scope="pool1")
                net = end(stack_blocks_dense(net, blocks, output_stride))
                if global_pool:
                    net = math_ops.reduce_mean(net, [1, 2], name="pool5", keepdims=True)
                if num_classes is not None:
                    net = layers.conv2d(
                        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="logits"
                    )
                end_points = utils.convert_collection_to_dict(collection)
                if num_classes is not None:
                    end_points["predictions"] = layers.softmax(net, scope="predictions")
                return net, end_points

    build.__name__ = default
    build.default_image_size = 224
    return build


def _depths(resnet, block, name, units):
    """The function of a network with these numbers of units in its four blocks."""

    def build(
        inputs,
        num_classes=None,
        is_training=True,
        global_pool=True,
        output_stride=None,
        reuse=None,
        scope=name,
    ):
        """(logits or features, the outputs of layers by their names)"""
        blocks = [
            block(f"block{i + 1}", base_depth=64 << i, num_units=count, stride=1 if i == 3 else 2)
            for i, count in enumerate(units)
        ]
        return resnet(
            inputs,
            blocks,
            num_classes,
            is_training,
            global_pool,
            output_stride,
            include_root_block=True,
            reuse=reuse,
            scope=scope,
        )

    build.__name__ = name
    build.default_image_size = 224
    return build


def _block(bottleneck, scope, base_depth, num_units, stride):
    unit = {"depth": base_depth * 4, "depth_bottleneck": base_depth}
    return Block(scope, bottleneck, [dict(unit, stride=1)] * (num_units - 1) + [dict(unit, stride=stride)])
