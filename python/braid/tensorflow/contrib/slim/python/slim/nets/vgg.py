"""VGG, by Simonyan and Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", 2014."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import arg_scope
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.layers.python.layers import regularizers
from braid.tensorflow.contrib.layers.python.layers import utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope


def vgg_arg_scope(weight_decay=0.0005):
    """The defaults of the network's layers."""
    with arg_scope(
        [layers.conv2d, layers.fully_connected],
        activation_fn=nn_ops.relu,
        weights_regularizer=regularizers.l2_regularizer(weight_decay),
        biases_initializer=init_ops.zeros_initializer(),
    ):
        with arg_scope([layers.conv2d], padding="SAME") as scope:
            return scope


def _classes(net, features, size, num_classes, is_training, keep_prob, **last):
    """The layers fc6 (of `size` pixels), fc7 and fc8, as convolutions: [batch, y, x, num_classes]."""
    net = layers.conv2d(net, features, [size, size], padding="VALID", scope="fc6")
    net = layers.dropout(net, keep_prob, is_training=is_training, scope="dropout6")
    net = layers.conv2d(net, 4096, [1, 1], scope="fc7")
    net = layers.dropout(net, keep_prob, is_training=is_training, scope="dropout7")
    return layers.conv2d(
        net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="fc8", **last
    )


def _logits_and_end_points(net, collection, scope_name, spatial_squeeze):
    end_points = utils.convert_collection_to_dict(collection)
    if spatial_squeeze:
        net = array_ops.squeeze(net, [1, 2], name="fc8/squeezed")
        end_points[scope_name + "/fc8"] = net
    return net, end_points


def _network(name, depths):
    """A function that builds VGG with these numbers of convolutions in its five blocks."""

    def build(
        inputs,
        num_classes=1000,
        is_training=True,
        dropout_keep_prob=0.5,
        spatial_squeeze=True,
        scope=name,
    ):
        """The logits, and the outputs of all layers by their names.

        inputs: of 224 x 224 pixels where spatial_squeeze drops the logits' dimensions of space.
        """
        with variable_scope.variable_scope(scope, name, [inputs]) as sc:
            collection = sc.original_name_scope + "_end_points"
            with arg_scope(
                [layers.conv2d, layers.fully_connected, layers.max_pool2d], outputs_collections=collection
            ):
                net = inputs
                for block, (depth, features) in enumerate(zip(depths, (64, 128, 256, 512, 512)), 1):
                    net = layers.repeat(net, depth, layers.conv2d, features, [3, 3], scope=f"conv{block}")
                    net = layers.max_pool2d(net, [2, 2], scope=f"pool{block}")
                net = _classes(net, 4096, 7, num_classes, is_training, dropout_keep_prob)
                return _logits_and_end_points(net, collection, sc.name, spatial_squeeze)

    build.__name__ = name
    build.default_image_size = 224
    return build


vgg_a = _network("vgg_a", (1, 1, 2, 2, 2))
vgg_d = vgg_16 = _network("vgg_16", (2, 2, 3, 3, 3))
vgg_e = vgg_19 = _network("vgg_19", (2, 2, 4, 4, 4))
