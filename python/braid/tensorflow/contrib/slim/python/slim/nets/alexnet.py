"""AlexNet, by Krizhevsky, "One weird trick for parallelizing convolutional neural networks", 2014."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import arg_scope
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.layers.python.layers import regularizers
from braid.tensorflow.contrib.slim.python.slim.nets import vgg
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope


def trunc_normal(stddev):
    return init_ops.truncated_normal_initializer(0.0, stddev)


def alexnet_v2_arg_scope(weight_decay=0.0005):
    """The defaults of the network's layers."""
    with arg_scope(
        [layers.conv2d, layers.fully_connected],
        activation_fn=nn_ops.relu,
        biases_initializer=init_ops.constant_initializer(0.1),
        weights_regularizer=regularizers.l2_regularizer(weight_decay),
    ):
        with arg_scope([layers.conv2d], padding="SAME"):
            with arg_scope([layers.max_pool2d], padding="VALID") as scope:
                return scope


def alexnet_v2(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.5,
    spatial_squeeze=True,
    scope="alexnet_v2",
):
    """The logits, and the outputs of all layers by their names. inputs: of 224 x 224 pixels."""
    with variable_scope.variable_scope(scope, "alexnet_v2", [inputs]) as sc:
        collection = sc.original_name_scope + "_end_points"
        with arg_scope(
            [layers.conv2d, layers.fully_connected, layers.max_pool2d], outputs_collections=[collection]
        ):
            net = layers.conv2d(inputs, 64, [11, 11], 4, padding="VALID", scope="conv1")
            net = layers.max_pool2d(net, [3, 3], 2, scope="pool1")
            net = layers.conv2d(net, 192, [5, 5], scope="conv2")
            net = layers.max_pool2d(net, [3, 3], 2, scope="pool2")
            for number, features in ((3, 384), (4, 384), (5, 256)):
                net = layers.conv2d(net, features, [3, 3], scope=f"conv{number}")
            net = layers.max_pool2d(net, [3, 3], 2, scope="pool5")
            with arg_scope(
                [layers.conv2d],
                weights_initializer=trunc_normal(0.005),
                biases_initializer=init_ops.constant_initializer(0.1),
            ):
                zeros = init_ops.zeros_initializer()
                net = vgg._classes(
                    net, 4096, 5, num_classes, is_training, dropout_keep_prob, biases_initializer=zeros
                )
            return vgg._logits_and_end_points(net, collection, sc.name, spatial_squeeze)


alexnet_v2.default_image_size = 224
