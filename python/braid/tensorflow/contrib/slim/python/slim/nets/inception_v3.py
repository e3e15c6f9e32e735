"""Inception v3, by Szegedy and others, "Rethinking the Inception Architecture for Computer Vision", 2015."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import arg_scope
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.slim.python.slim.nets import inception_utils
from braid.tensorflow.contrib.slim.python.slim.nets.inception_utils import trunc_normal
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import variable_scope

_HALF = {"stride": 2, "padding": "VALID"}


def _pooled(features):
    return [(layers.avg_pool2d, "3x3", "0a"), (features, "1x1", "0b")]


def _mixed_5(pooled, tags=("0a", "0b")):
    return [
        [(64, "1x1", "0a")],
        [(48, "1x1", tags[0]), (64, "5x5", tags[1])],
        [(64, "1x1", "0a"), (96, "3x3", "0b"), (96, "3x3", "0c")],
        _pooled(pooled),
    ]


def _mixed_6(features):
    return [
        [(192, "1x1", "0a")],
        [(features, "1x1", "0a"), (features, "1x7", "0b"), (192, "7x1", "0c")],
        [
            (features, "1x1", "0a"),
            (features, "7x1", "0b"),
            (features, "1x7", "0c"),
            (features, "7x1", "0d"),
            (192, "1x7", "0e"),
        ],
        _pooled(192),
    ]


def _mixed_7(tag):
    return [
        [(320, "1x1", "0a")],
        [(384, "1x1", "0a"), ((384, "1x3", "0b"), (384, "3x1", tag))],
        [(448, "1x1", "0a"), (384, "3x3", "0b"), ((384, "1x3", "0c"), (384, "3x1", "0d"))],
        _pooled(192),
    ]


# The branches of each end point. Some names are not those of their kernels; checkpoints have them.
_MIXED = {
    "Mixed_5b": _mixed_5(32),
    "Mixed_5c": _mixed_5(64, ("0b", "Conv_1_0c_5x5")),
    "Mixed_5d": _mixed_5(64),
    "Mixed_6a": [
        [(384, "3x3", "Conv2d_1a_1x1", _HALF)],
        [(64, "1x1", "0a"), (96, "3x3", "0b"), (96, "3x3", "Conv2d_1a_1x1", _HALF)],
        [(layers.max_pool2d, "3x3", "1a", _HALF)],
    ],
    "Mixed_6b": _mixed_6(128),
    "Mixed_6c": _mixed_6(160),
    "Mixed_6d": _mixed_6(160),
    "Mixed_6e": _mixed_6(192),
    "Mixed_7a": [
        [(192, "1x1", "0a"), (320, "3x3", "1a", _HALF)],
        [(192, "1x1", "0a"), (192, "1x7", "0b"), (192, "7x1", "0c"), (192, "3x3", "1a", _HALF)],
        [(layers.max_pool2d, "3x3", "1a", _HALF)],
    ],
    "Mixed_7b": _mixed_7("0b"),
    "Mixed_7c": _mixed_7("0c"),
}


def inception_v3_base(inputs, final_endpoint="Mixed_7c", min_depth=16, depth_multiplier=1.0, scope=None):
    """The features at `final_endpoint`, and the outputs of all stages up to it by their names.

    depth_multiplier: of the numbers of features, which stay `min_depth` at least.
    """
    inception_utils.check_depth_multiplier(depth_multiplier)

    def depth(features):
        return max(int(features * depth_multiplier), min_depth)

    def conv(name, features, size, **arguments):
        return name, lambda net: layers.conv2d(net, depth(features), [size, size], scope=name, **arguments)

    def pool(name):
        return name, lambda net: layers.max_pool2d(net, [3, 3], stride=2, scope=name)

    def mixed(name):
        return name, lambda net: inception_utils.mixed(net, name, _MIXED[name], depth)

    first = [
        conv("Conv2d_1a_3x3", 32, 3, stride=2),
        conv("Conv2d_2a_3x3", 32, 3),
        conv("Conv2d_2b_3x3", 64, 3, padding="SAME"),
        pool("MaxPool_3a_3x3"),
        conv("Conv2d_3b_1x1", 80, 1),
        conv("Conv2d_4a_3x3", 192, 3),
        pool("MaxPool_5a_3x3"),
    ]
    kinds = [layers.conv2d, layers.max_pool2d, layers.avg_pool2d]
    end_points = {}
    with variable_scope.variable_scope(scope, "InceptionV3", [inputs]):
        with arg_scope(kinds, stride=1, padding="VALID"):
            net, done = inception_utils.sequence(inputs, first, final_endpoint, end_points)
        if not done:
            with arg_scope(kinds, stride=1, padding="SAME"):
                stages = [mixed(name) for name in _MIXED]
                net, done = inception_utils.sequence(net, stages, final_endpoint, end_points)
    if not done:
        raise ValueError("Unknown final endpoint %s" % final_endpoint)
    return net, end_points


def inception_v3(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.8,
    min_depth=16,
    depth_multiplier=1.0,
    prediction_fn=layers.softmax,
    spatial_squeeze=True,
    reuse=None,
    scope="InceptionV3",
):
    """The logits, and the outputs of all stages, the logits of the side tower among them, by their names.

    inputs: of 299 x 299 pixels.
    """
    inception_utils.check_depth_multiplier(depth_multiplier)

    def depth(features):
        return max(int(features * depth_multiplier), min_depth)

    plain = {"activation_fn": None, "normalizer_fn": None}
    with variable_scope.variable_scope(scope, "InceptionV3", [inputs, num_classes], reuse=reuse) as scope:
        with arg_scope([layers.batch_norm, layers.dropout], is_training=is_training):
            net, end_points = inception_v3_base(
                inputs, scope=scope, min_depth=min_depth, depth_multiplier=depth_multiplier
            )
            with arg_scope(
                [layers.conv2d, layers.max_pool2d, layers.avg_pool2d], stride=1, padding="SAME"
            ), variable_scope.variable_scope("AuxLogits"):
                side = layers.avg_pool2d(
                    end_points["Mixed_6e"], [5, 5], stride=3, padding="VALID", scope="AvgPool_1a_5x5"
                )
                side = layers.conv2d(side, depth(128), [1, 1], scope="Conv2d_1b_1x1")
                size = inception_utils.reduced_kernel_size(side, [5, 5])
                side = layers.conv2d(
                    side,
                    depth(768),
                    size,
                    weights_initializer=trunc_normal(0.01),
                    padding="VALID",
                    scope="Conv2d_2a_{}x{}".format(*size),
                )
                side = layers.conv2d(
                    side,
                    num_classes,
                    [1, 1],
                    weights_initializer=trunc_normal(0.001),
                    scope="Conv2d_2b_1x1",
                    **plain,
                )
                if spatial_squeeze:
                    side = array_ops.squeeze(side, [1, 2], name="SpatialSqueeze")
                end_points["AuxLogits"] = side
            with variable_scope.variable_scope("Logits"):
                size = inception_utils.reduced_kernel_size(net, [8, 8])
                net = layers.avg_pool2d(net, size, padding="VALID", scope="AvgPool_1a_{}x{}".format(*size))
                net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
                end_points["PreLogits"] = net
                logits = layers.conv2d(net, num_classes, [1, 1], scope="Conv2d_1c_1x1", **plain)
                if spatial_squeeze:
                    logits = array_ops.squeeze(logits, [1, 2], name="SpatialSqueeze")
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v3.default_image_size = 299


def inception_v3_arg_scope(
    weight_decay=0.00004,
    batch_norm_var_collection="moving_vars",
    batch_norm_decay=0.9997,
    batch_norm_epsilon=0.001,
    updates_collections=ops.GraphKeys.UPDATE_OPS,
    use_fused_batchnorm=True,
):
    """The defaults of the network's layers."""
    return inception_utils.inception_arg_scope(
        weight_decay,
        batch_norm_var_collection,
        batch_norm_decay,
        batch_norm_epsilon,
        updates_collections,
        fused=use_fused_batchnorm,
    )
