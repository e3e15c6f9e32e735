"""Inception v1 (GoogLeNet), by Szegedy and others, "Going deeper with convolutions", 2014."""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import arg_scope
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.slim.python.slim.nets import inception_utils
from braid.tensorflow.contrib.slim.python.slim.nets.inception_utils import trunc_normal
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import variable_scope

# For each end point: the features of the branches' convolutions.
_MIXED = {
    "Mixed_3b": (64, 96, 128, 16, 32, 32),
    "Mixed_3c": (128, 128, 192, 32, 96, 64),
    "Mixed_4b": (192, 96, 208, 16, 48, 64),
    "Mixed_4c": (160, 112, 224, 24, 64, 64),
    "Mixed_4d": (128, 128, 256, 24, 64, 64),
    "Mixed_4e": (112, 144, 288, 32, 64, 64),
    "Mixed_4f": (256, 160, 320, 32, 128, 128),
    "Mixed_5b": (256, 160, 320, 32, 128, 128),
    "Mixed_5c": (384, 192, 384, 48, 128, 128),
}


def _mixed(name):
    a, b, c, d, e, f = _MIXED[name]
    branches = [
        [(a, "1x1", "0a")],
        [(b, "1x1", "0a"), (c, "3x3", "0b")],
        [(d, "1x1", "0a"), (e, "3x3", "0a" if name == "Mixed_5b" else "0b")],
        [(layers.max_pool2d, "3x3", "0a"), (f, "1x1", "0b")],
    ]
    return name, lambda net: inception_utils.mixed(net, name, branches)


def _pool(name, size):
    return name, lambda net: layers.max_pool2d(net, [size, size], stride=2, scope=name)


def inception_v1_base(inputs, final_endpoint="Mixed_5c", scope="InceptionV1"):
    """The features at `final_endpoint`, and the outputs of all stages up to it by their names."""
    stages = [
        ("Conv2d_1a_7x7", lambda net: layers.conv2d(net, 64, [7, 7], stride=2, scope="Conv2d_1a_7x7")),
        _pool("MaxPool_2a_3x3", 3),
        ("Conv2d_2b_1x1", lambda net: layers.conv2d(net, 64, [1, 1], scope="Conv2d_2b_1x1")),
        ("Conv2d_2c_3x3", lambda net: layers.conv2d(net, 192, [3, 3], scope="Conv2d_2c_3x3")),
        _pool("MaxPool_3a_3x3", 3),
        *[_mixed(f"Mixed_3{c}") for c in "bc"],
        _pool("MaxPool_4a_3x3", 3),
        *[_mixed(f"Mixed_4{c}") for c in "bcdef"],
        _pool("MaxPool_5a_2x2", 2),
        *[_mixed(f"Mixed_5{c}") for c in "bc"],
    ]
    end_points = {}
    with variable_scope.variable_scope(scope, "InceptionV1", [inputs]):
        with arg_scope([layers.conv2d, layers.fully_connected], weights_initializer=trunc_normal(0.01)):
            with arg_scope([layers.conv2d, layers.max_pool2d], stride=1, padding="SAME"):
                net, done = inception_utils.sequence(inputs, stages, final_endpoint, end_points)
    if not done:
        raise ValueError("Unknown final endpoint %s" % final_endpoint)
    return net, end_points


def inception_v1(
    inputs,
    num_classes=1000,
    is_training=True,
    dropout_keep_prob=0.8,
    prediction_fn=layers.softmax,
    spatial_squeeze=True,
    reuse=None,
    scope="InceptionV1",
):
    """The logits, and the outputs of all stages by their names. inputs: of 224 x 224 pixels."""
    with variable_scope.variable_scope(scope, "InceptionV1", [inputs, num_classes], reuse=reuse) as scope:
        with arg_scope([layers.batch_norm, layers.dropout], is_training=is_training):
            net, end_points = inception_v1_base(inputs, scope=scope)
            with variable_scope.variable_scope("Logits"):
                net = layers.avg_pool2d(net, [7, 7], stride=1, scope="MaxPool_0a_7x7")
                net = layers.dropout(net, dropout_keep_prob, scope="Dropout_0b")
                logits = layers.conv2d(
                    net, num_classes, [1, 1], activation_fn=None, normalizer_fn=None, scope="Conv2d_0c_1x1"
                )
                if spatial_squeeze:
                    logits = array_ops.squeeze(logits, [1, 2], name="SpatialSqueeze")
                end_points["Logits"] = logits
                end_points["Predictions"] = prediction_fn(logits, scope="Predictions")
    return logits, end_points


inception_v1.default_image_size = 224


def inception_v1_arg_scope(
    weight_decay=0.00004, use_batch_norm=True, batch_norm_var_collection="moving_vars"
):
    """The defaults of the network's layers."""
    return inception_utils.inception_arg_scope(
        weight_decay, batch_norm_var_collection, use_batch_norm=use_batch_norm
    )
