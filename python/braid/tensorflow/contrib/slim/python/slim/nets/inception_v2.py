"""Inception v2, by Ioffe and Szegedy, "Batch Normalization: Accelerating Deep Network Training by Reducing
Internal Covariate Shift", 2015."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import arg_scope
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.slim.python.slim.nets import inception_utils
from braid.tensorflow.contrib.slim.python.slim.nets.inception_utils import trunc_normal
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import variable_scope

# For each end point: the features of the branches' convolutions; the last branch begins with a pool.
_MIXED = {
    "Mixed_3b": (64, 64, 64, 64, 96, 32),
    "Mixed_3c": (64, 64, 96, 64, 96, 64),
    "Mixed_4b": (224, 64, 96, 96, 128, 128),
    "Mixed_4c": (192, 96, 128, 96, 128, 128),
    "Mixed_4d": (160, 128, 160, 128, 160, 96),
    "Mixed_4e": (96, 128, 192, 160, 192, 96),
    "Mixed_5b": (352, 192, 320, 160, 224, 128),
    "Mixed_5c": (352, 192, 320, 192, 224, 128),
}
_REDUCED = {"Mixed_4a": (128, 160, 64, 96), "Mixed_5a": (128, 192, 192, 256)}


def _stage(name, depth):
    first, last = ({"weights_initializer": trunc_normal(stddev)} for stddev in (0.09, 0.1))
    half = {"stride": 2}
    if name in _REDUCED:
        a, b, c, d = _REDUCED[name]
        branches = [
            [(a, "1x1", "0a", first), (b, "3x3", "1a", half)],
            [(c, "1x1", "0a", first), (d, "3x3", "0b"), (d, "3x3", "1a", half)],
            [(layers.max_pool2d, "3x3", "1a", half)],
        ]
    else:
        a, b, c, d, e, f = _MIXED[name]
        pool = layers.max_pool2d if name == "Mixed_5c" else layers.avg_pool2d
        branches = [
            [(a, "1x1", "0a")],
            [(b, "1x1", "0a", first), (c, "3x3", "0b")],
            [(d, "1x1", "0a", first), (e, "3x3", "0b"), (e, "3x3", "0c")],
            [(pool, "3x3", "0a"), (f, "1x1", "0b", last)],
        ]
    return name, lambda net: inception_utils.mixed(net, name, branches, depth)


def inception_v2_base(inputs, final_endpoint="Mixed_5c", min_depth=16, depth_multiplier=1.0, scope=None):
    """The features at `final_endpoint`, and the outputs of all stages up to it by their names.

    depth_multiplier: of the numbers of features, which stay `min_depth` at least.
    """
    inception_utils.check_depth_multiplier(depth_multiplier)

    def depth(features):
        return max(int(features * depth_multiplier), min_depth)

    def first(net):
        return layers.separable_conv2d(
            net,
            depth(64),
            [7, 7],
            depth_multiplier=min(int(depth(64) / 3), 8),
            stride=2,
            weights_initializer=trunc_normal(1.0),
            scope="Conv2d_1a_7x7",
        )

    def conv(name, features, size, **arguments):
        return name, lambda net: layers.conv2d(net, depth(features), [size, size], scope=name, **arguments)

    def pool(name):
        return name, lambda net: layers.max_pool2d(net, [3, 3], scope=name, stride=2)

    stages = [
        ("Conv2d_1a_7x7", first),
        pool("MaxPool_2a_3x3"),
        conv("Conv2d_2b_1x1", 64, 1, weights_initializer=trunc_normal(0.1)),
        conv("Conv2d_2c_3x3", 192, 3),
        pool("MaxPool_3a_3x3"),
        *[_stage(f"Mixed_{c}", depth) for c in ("3b", "3c", "4a", "4b", "4c", "4d", "4e", "5a", "5b", "5c")],
    ]
    end_points = {}
    with variable_scope.variable_scope(scope, "InceptionV2", [inputs]):
        with arg_scope(
            [layers.conv2d, layers.max_pool2d, layers.avg_pool2d, layers.separable_conv2d],
            stride=1,
            padding="SAME",
        ):
            net, done = inception_utils.sequence(inputs, stages, final_endpoint, end_points)
    if not done:
        raise ValueError("Unknown final endpoint %s" % final_endpoint)
    return net, end_points


def inception_v2(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.8,
    min_depth=16,
    depth_multiplier=1.0,
    prediction_fn=layers.softmax,
    spatial_squeeze=True,
    reuse=None,
    scope="InceptionV2",
):
    """The logits, and the outputs of all stages by their names. inputs: of 224 x 224 pixels."""
    inception_utils.check_depth_multiplier(depth_multiplier)
    with variable_scope.variable_scope(scope, "InceptionV2", [inputs, num_classes], reuse=reuse) as scope:
        with arg_scope([layers.batch_norm, layers.dropout], is_training=is_training):
            net, end_points = inception_v2_base(
                inputs, scope=scope, min_depth=min_depth, depth_multiplier=depth_multiplier
            )
            with variable_scope.variable_scope("Logits"):
                size = inception_utils.reduced_kernel_size(net, [7, 7])
                net = layers.avg_pool2d(net, size, padding="VALID", scope="AvgPool_1a_{}x{}".format(*size))
                net = layers.dropout(net, keep_prob=dropout_keep_prob, scope="Dropout_1b")
                logits = layers.conv2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="Conv2d_1c_1x1"
                )
                if spatial_squeeze:
                    logits = array_ops.squeeze(logits, [1, 2], name="SpatialSqueeze")
            end_points["Logits"] = logits
            end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v2.default_image_size = 224


def inception_v2_arg_scope(weight_decay=0.00004, batch_norm_var_collection="moving_vars"):
    """The defaults of the network's layers."""
    return inception_utils.inception_arg_scope(weight_decay, batch_norm_var_collection)
