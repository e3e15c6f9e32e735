"""What the networks Inception share: a description of their layers, and what comes after the last of them.

A layer is a tuple: (features, kernel, tag, more arguments) for a convolution, (function, kernel, tag, more
arguments) for a pool; its name is made of the tag ("0a") and the kernel ("3x3"), or is the tag where that is a
whole name. A tuple of layers is a layer, too: all take the one before, and their outputs lie side by side.
"""

from braid.tensorflow.contrib.framework.python.ops.arg_scope import arg_scope
from braid.tensorflow.contrib.layers.python.layers import initializers
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.contrib.layers.python.layers import regularizers
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variable_scope


def trunc_normal(stddev):
    return init_ops.truncated_normal_initializer(0.0, stddev)


def _layer(net, layer, depth):
    if isinstance(layer[0], tuple):
        return array_ops.concat([_layer(net, part, depth) for part in layer], 3)
    what, kernel, tag, *more = layer
    arguments = more[0] if more else {}
    size = [int(length) for length in kernel.split("x")]
    if isinstance(what, int):
        name = tag if tag.startswith("Conv") else f"Conv2d_{tag}_{kernel}"
        return layers.conv2d(net, depth(what), size, scope=name, **arguments)
    kind = "MaxPool" if what is layers.max_pool2d else "AvgPool"
    return what(net, size, scope=f"{kind}_{tag}_{kernel}", **arguments)


def mixed(net, name, branches, depth=int):
    """The branches' outputs side by side. depth: gives the number of features for the one in the table."""
    with variable_scope.variable_scope(name):
        ends = []
        for number, branch in enumerate(branches):
            with variable_scope.variable_scope(f"Branch_{number}"):
                end = net
                for layer in branch:
                    end = _layer(end, layer, depth)
                ends.append(end)
        return array_ops.concat(ends, 3)


def sequence(net, stages, final_endpoint, end_points):
    """Applies (name, function of the layer before) in turn, up to `final_endpoint`.

    Returns the last layer, and whether it is the final one; adds all to `end_points`.
    """
    for name, build in stages:
        net = build(net)
        end_points[name] = net
        if name == final_endpoint:
            return net, True
    return net, False


def check_depth_multiplier(depth_multiplier):
    if depth_multiplier <= 0:
        raise ValueError("depth_multiplier is not greater than zero.")


def reduced_kernel_size(inputs, kernel_size):
    """The kernel, not greater than inputs whose size is known."""
    shape = inputs.get_shape().as_list()
    if shape[1] is None or shape[2] is None:
        return kernel_size
    return [min(shape[1], kernel_size[0]), min(shape[2], kernel_size[1])]


def inception_arg_scope(
    weight_decay,
    collection,
    decay=0.9997,
    epsilon=0.001,
    updates_collections=ops.GraphKeys.UPDATE_OPS,
    use_batch_norm=True,
    **more,
):
    """The defaults of the networks' layers; collection: of the moving averages."""
    norm = {
        "decay": decay,
        "epsilon": epsilon,
        "updates_collections": updates_collections,
        "variables_collections": {
            "beta": None,
            "gamma": None,
            "moving_mean": [collection],
            "moving_variance": [collection],
        },
        **more,
    }
    with arg_scope(
        [layers.conv2d, layers.fully_connected],
        weights_regularizer=regularizers.l2_regularizer(weight_decay),
    ):
        with arg_scope(
            [layers.conv2d],
            weights_initializer=initializers.variance_scaling_initializer(),
            activation_fn=nn_ops.relu,
            normalizer_fn=layers.batch_norm if use_batch_norm else None,
            normalizer_params=norm if use_batch_norm else {},
        ) as scope:
            return scope
