"""Normalization of layers, of instances, of groups and of batches."""

import functools

from braid.tensorflow.contrib.framework.python.ops import variables
from braid.tensorflow.contrib.framework.python.ops.arg_scope import add_arg_scope
from braid.tensorflow.contrib.layers.python.layers import layers as layers_module
from braid.tensorflow.contrib.layers.python.layers import utils
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.layers import normalization as normalization_layers
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.training import moving_averages

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm"]

DATA_FORMAT_NCHW = "NCHW"
DATA_FORMAT_NHWC = "NHWC"


@add_arg_scope
def batch_norm(
    inputs,
    decay=0.999,
    center=True,
    scale=False,
    epsilon=0.001,
    activation_fn=None,
    param_initializers=None,
    param_regularizers=None,
    updates_collections=ops.GraphKeys.UPDATE_OPS,
    is_training=True,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    batch_weights=None,
    fused=None,
    data_format=DATA_FORMAT_NHWC,
    zero_debias_moving_mean=False,
    scope=None,
    renorm=False,
    renorm_clipping=None,
    renorm_decay=0.99,
    adjustment=None,
):
    """Batch normalization (Ioffe and Szegedy 2015).

    The updates of the moving averages go to `updates_collections`; if that is None they are done when the
    outputs are computed. `batch_weights` [batch] weigh the examples. `zero_debias_moving_mean` takes from
    the moving mean what its beginning at 0 adds.
    """
    if data_format not in (DATA_FORMAT_NCHW, DATA_FORMAT_NHWC):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    inputs = ops.convert_to_tensor(inputs)
    rank = inputs.get_shape().ndims
    can_be_fused = batch_weights is None and not renorm and rank in (2, 4) and adjustment is None
    fused = fused is None or fused
    is_plain = updates_collections is ops.GraphKeys.UPDATE_OPS and not zero_debias_moving_mean
    is_fused_here = fused and can_be_fused and (rank == 2 or not is_plain)
    with variable_scope.variable_scope(
        scope,
        "BatchNorm",
        [inputs],
        reuse=reuse,
        custom_getter=layers_module._build_variable_getter(),
    ) as sc:
        if batch_weights is None and is_plain and not is_fused_here:
            outputs = _by_layer(
                inputs,
                decay,
                center,
                scale,
                epsilon,
                param_initializers or {},
                param_regularizers or {},
                is_training,
                reuse,
                variables_collections,
                trainable,
                fused,
                data_format,
                sc,
                renorm,
                renorm_clipping,
                renorm_decay,
                adjustment,
            )
        elif renorm:
            raise ValueError(
                "renorm is not supported with batch_weights, updates_collections or zero_debias_moving_mean"
            )
        elif adjustment is not None:
            raise ValueError(
                "adjustment is not supported with batch_weights, updates_collections or zero_debias_moving_mean"
            )
        else:
            outputs = _by_hand(
                inputs,
                decay,
                center,
                scale,
                epsilon,
                param_initializers or {},
                param_regularizers or {},
                updates_collections,
                is_training,
                variables_collections,
                trainable,
                batch_weights,
                is_fused_here,
                data_format,
                zero_debias_moving_mean,
            )
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


def _by_layer(
    inputs,
    decay,
    center,
    scale,
    epsilon,
    param_initializers,
    param_regularizers,
    is_training,
    reuse,
    variables_collections,
    trainable,
    fused,
    data_format,
    sc,
    renorm,
    renorm_clipping,
    renorm_decay,
    adjustment,
):
    """By the layer of tf.layers."""
    layer = normalization_layers.BatchNormalization(
        axis=1 if data_format == DATA_FORMAT_NCHW else -1,
        momentum=decay,
        epsilon=epsilon,
        center=center,
        scale=scale,
        beta_initializer=param_initializers.get("beta", init_ops.zeros_initializer()),
        gamma_initializer=param_initializers.get("gamma", init_ops.ones_initializer()),
        moving_mean_initializer=param_initializers.get("moving_mean", init_ops.zeros_initializer()),
        moving_variance_initializer=param_initializers.get("moving_variance", init_ops.ones_initializer()),
        beta_regularizer=param_regularizers.get("beta"),
        gamma_regularizer=param_regularizers.get("gamma"),
        trainable=trainable,
        renorm=renorm,
        renorm_clipping=renorm_clipping,
        renorm_momentum=renorm_decay,
        adjustment=adjustment,
        name=sc.name,
        _scope=sc,
        _reuse=reuse,
        fused=fused and not renorm and adjustment is None,
    )
    outputs = layer.apply(inputs, training=is_training)
    add = layers_module._add_variable_to_collections
    add(layer.moving_mean, variables_collections, "moving_mean")
    add(layer.moving_variance, variables_collections, "moving_variance")
    if layer.gamma is not None:
        add(layer.gamma, variables_collections, "gamma")
    if layer.beta is not None:
        add(layer.beta, variables_collections, "beta")
    return outputs


def _by_hand(
    inputs,
    decay,
    center,
    scale,
    epsilon,
    param_initializers,
    param_regularizers,
    updates_collections,
    is_training,
    variables_collections,
    trainable,
    batch_weights,
    fused,
    data_format,
    zero_debias_moving_mean,
):
    """With the updates where they are asked for."""
    shape = inputs.get_shape()
    rank = shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    is_first = data_format == DATA_FORMAT_NCHW and rank == 4
    axis = 1 if is_first else rank - 1
    channels = tensor_shape.dimension_value(shape.dims[axis])
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {shape}.")
    dtype = dtypes.float32 if inputs.dtype in (dtypes.float16, dtypes.bfloat16) else inputs.dtype.base_dtype

    def make(name, initializer, regularizer=None, is_trained=False):
        return variables.model_variable(
            name,
            shape=[channels],
            dtype=dtype,
            initializer=param_initializers.get(name, initializer),
            regularizer=regularizer,
            collections=utils.get_variable_collections(variables_collections, name),
            trainable=is_trained and trainable,
        )

    zeros, ones = init_ops.zeros_initializer(), init_ops.ones_initializer()
    beta = make("beta", zeros, param_regularizers.get("beta"), True) if center else None
    gamma = make("gamma", ones, param_regularizers.get("gamma"), True) if scale else None
    # The scope's name is taken twice, so that "batchnorm" is "batchnorm_1", as in TensorFlow.
    with variable_scope.variable_scope(variable_scope.get_variable_scope()) as local:
        local.set_partitioner(None)
        moving_mean = make("moving_mean", zeros)
        moving_variance = make("moving_variance", ones)

    def updates(mean, variance):
        return [
            moving_averages.assign_moving_average(
                moving_mean, mean, decay, zero_debias=zero_debias_moving_mean
            ),
            moving_averages.assign_moving_average(moving_variance, variance, decay, zero_debias=False),
        ]

    def collect_updates(mean, variance):
        no_updates = functools.partial(
            list, [ops.convert_to_tensor(moving_mean), ops.convert_to_tensor(moving_variance)]
        )
        for update in utils.smart_cond(is_training, functools.partial(updates, mean, variance), no_updates):
            ops.add_to_collections(updates_collections, update)

    known = utils.constant_value(is_training)
    if not fused:
        outputs = _unfused(
            inputs,
            beta,
            gamma,
            moving_mean,
            moving_variance,
            epsilon,
            axis,
            batch_weights,
            is_training,
            updates if updates_collections is None else None,
            collect_updates,
        )
        outputs.set_shape(shape)
        return outputs
    of_batch, of_averages = _fused(
        inputs, beta, gamma, moving_mean, moving_variance, epsilon, data_format, channels, dtype
    )
    if known is False:
        outputs, _, _ = of_averages()
    else:
        outputs, mean, variance = utils.smart_cond(is_training, of_batch, of_averages)
        if updates_collections is None:

            def updated():
                with ops.control_dependencies(updates(mean, variance)):
                    return array_ops.identity(outputs)

            outputs = utils.smart_cond(is_training, updated, lambda: outputs)
        else:
            collect_updates(mean, variance)
    outputs.set_shape(shape)
    return outputs


def _fused(inputs, beta, gamma, moving_mean, moving_variance, epsilon, data_format, channels, dtype):
    """Two functions for outputs, mean and variance: from the batch, and from the moving averages."""
    original_shape = inputs.get_shape()
    is_matrix = original_shape.ndims == 2
    if is_matrix:
        new_shape = [-1, channels, 1, 1] if data_format == DATA_FORMAT_NCHW else [-1, 1, 1, channels]
        inputs = array_ops.reshape(inputs, new_shape)
    if beta is None:
        beta = array_ops.constant(0.0, dtype=dtype, shape=[channels])
    if gamma is None:
        gamma = array_ops.constant(1.0, dtype=dtype, shape=[channels])

    def shaped(results):
        outputs, mean, variance = results
        return (array_ops.reshape(outputs, [-1, channels]) if is_matrix else outputs), mean, variance

    def of_batch():
        return shaped(nn.fused_batch_norm(inputs, gamma, beta, epsilon=epsilon, data_format=data_format))

    def of_averages():
        return shaped(
            nn.fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=moving_mean,
                variance=moving_variance,
                epsilon=epsilon,
                is_training=False,
                data_format=data_format,
            )
        )

    return of_batch, of_averages


def _unfused(
    inputs,
    beta,
    gamma,
    moving_mean,
    moving_variance,
    epsilon,
    axis,
    batch_weights,
    is_training,
    updates,
    collect_updates,
):
    """The normalized inputs. updates: that are made before, or None: collect_updates takes them."""
    rank = inputs.get_shape().ndims
    reduced = [a for a in range(rank) if a != axis]
    broadcast_shape = [1] * rank
    broadcast_shape[axis] = -1

    def broadcast(v):
        return v if v is None or axis == rank - 1 else array_ops.reshape(v, broadcast_shape)

    def averages():
        return moving_mean, moving_variance

    def updated():
        with ops.control_dependencies(updates(mean, variance)):
            return array_ops.identity(mean), array_ops.identity(variance)

    if utils.constant_value(is_training) is False:
        used = averages()
    else:
        if batch_weights is None:
            mean, variance = nn.moments(inputs, reduced)
        else:
            weights = array_ops.reshape(math_ops.cast(batch_weights, inputs.dtype), [-1] + [1] * (rank - 1))
            mean, variance = nn.weighted_moments(inputs, reduced, weights)
        if updates is None:
            collect_updates(mean, variance)
            used = utils.smart_cond(is_training, lambda: (mean, variance), averages)
        else:
            used = utils.smart_cond(is_training, updated, averages)
    return nn.batch_normalization(
        inputs, broadcast(used[0]), broadcast(used[1]), broadcast(beta), broadcast(gamma), epsilon
    )


@add_arg_scope
def layer_norm(
    inputs,
    center=True,
    scale=True,
    activation_fn=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    begin_norm_axis=1,
    begin_params_axis=-1,
    scope=None,
):
    """Inputs less their mean by their deviation, over the axes from `begin_norm_axis` (Ba et al. 2016)."""
    with variable_scope.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = ops.convert_to_tensor(inputs)
        shape = inputs.get_shape()
        rank = shape.ndims
        if rank is None:
            raise ValueError(f"Inputs {inputs.name} has undefined rank.")
        if begin_norm_axis < 0:
            begin_norm_axis += rank
        if begin_params_axis >= rank or begin_norm_axis >= rank:
            raise ValueError(
                f"begin_params_axis ({begin_params_axis}) and begin_norm_axis ({begin_norm_axis}) must be < "
                f"rank(inputs) ({rank})"
            )
        params_shape = shape[begin_params_axis:]
        if not params_shape.is_fully_defined():
            raise ValueError(
                f"Inputs {inputs.name}: shape(inputs)[{begin_params_axis}:] is not fully defined: {shape}"
            )
        beta, gamma = _parameters(center, scale, params_shape, inputs, variables_collections, trainable)
        mean, variance = nn.moments(inputs, list(range(begin_norm_axis, rank)), keep_dims=True)
        epsilon = 1e-3 if inputs.dtype == dtypes.float16 else 1e-12
        outputs = nn.batch_normalization(
            inputs, mean, variance, offset=beta, scale=gamma, variance_epsilon=epsilon
        )
        outputs.set_shape(shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


def _parameters(
    center, scale, shape, inputs, variables_collections, trainable, initializers_=None, regularizers=None
):
    """beta and gamma, None where they are not asked for."""
    made = []
    initializers_, regularizers = initializers_ or {}, regularizers or {}
    for name, wanted, initializer in (
        ("beta", center, init_ops.zeros_initializer()),
        ("gamma", scale, init_ops.ones_initializer()),
    ):
        made.append(
            variables.model_variable(
                name,
                shape=shape,
                dtype=inputs.dtype.base_dtype,
                initializer=initializers_.get(name, initializer),
                regularizer=regularizers.get(name),
                collections=utils.get_variable_collections(variables_collections, name),
                trainable=trainable,
            )
            if wanted
            else None
        )
    return made


@add_arg_scope
def instance_norm(
    inputs,
    center=True,
    scale=True,
    epsilon=1e-6,
    activation_fn=None,
    param_initializers=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    data_format=DATA_FORMAT_NHWC,
    scope=None,
):
    """Each channel of each example less its mean by its deviation (Ulyanov et al. 2016)."""
    inputs = ops.convert_to_tensor(inputs)
    shape = inputs.get_shape()
    rank = shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    if data_format not in (DATA_FORMAT_NCHW, DATA_FORMAT_NHWC):
        raise ValueError("data_format has to be either NCHW or NHWC.")
    with variable_scope.variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        axis = 1 if data_format == DATA_FORMAT_NCHW else rank - 1
        channels = tensor_shape.dimension_value(shape.dims[axis])
        if channels is None:
            raise ValueError(f"Inputs {inputs.name} has undefined channels dimension {shape}.")
        beta, gamma = _parameters(
            center, scale, [channels], inputs, variables_collections, trainable, param_initializers
        )
        broadcast_shape = [1] * rank
        broadcast_shape[axis] = channels
        if axis == 1 and rank > 2:
            beta, gamma = (p if p is None else array_ops.reshape(p, broadcast_shape) for p in (beta, gamma))
        mean, variance = nn.moments(inputs, [a for a in range(rank) if a not in (0, axis)], keep_dims=True)
        outputs = nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon, name="instancenorm")
        outputs.set_shape(shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)


@add_arg_scope
def group_norm(
    inputs,
    groups=32,
    channels_axis=-1,
    reduction_axes=(-3, -2),
    center=True,
    scale=True,
    epsilon=1e-6,
    activation_fn=None,
    param_initializers=None,
    reuse=None,
    variables_collections=None,
    outputs_collections=None,
    trainable=True,
    scope=None,
    mean_close_to_zero=False,
):
    """Each group of channels of each example less its mean by its deviation (Wu and He 2018)."""
    inputs = ops.convert_to_tensor(inputs)
    shape = inputs.get_shape()
    rank = shape.ndims
    if rank is None:
        raise ValueError(f"Inputs {inputs.name} has undefined rank.")
    axis = channels_axis + rank if channels_axis < 0 else channels_axis
    reduced = [a + rank if a < 0 else a for a in reduction_axes]
    if any(not 0 <= a < rank for a in [axis, *reduced]):
        raise ValueError("Axis is out of bounds.")
    if axis in reduced:
        raise ValueError("reduction_axes and channels_axis must be mutually exclusive.")
    if not all(tensor_shape.dimension_value(shape.dims[a]) for a in reduced):
        raise ValueError(f"Inputs {inputs.name} has undefined dimensions: {shape} among reduction_axes")
    channels = tensor_shape.dimension_value(shape.dims[axis])
    if channels is None:
        raise ValueError(f"Inputs {inputs.name} has undefined channel dimension: {shape}")
    if groups > channels:
        raise ValueError(f"Invalid groups {groups} for {channels} channels.")
    if channels % groups:
        raise ValueError(f"{channels} channels is not commensurate with {groups} groups.")
    with variable_scope.variable_scope(scope, "GroupNorm", [inputs], reuse=reuse) as sc:
        dynamic = array_ops.unstack(array_ops.shape(inputs))
        sizes = [dynamic[i] if size is None else size for i, size in enumerate(shape.as_list())]
        grouped_shape = sizes[:axis] + [groups, channels // groups] + sizes[axis + 1 :]
        grouped = array_ops.reshape(inputs, array_ops.stack(grouped_shape))
        axes = sorted([a + 1 if a > axis else a for a in reduced] + [axis + 1])
        beta, gamma = _parameters(
            center, scale, [channels], inputs, variables_collections, trainable, param_initializers
        )
        parameter_shape = [1] * (rank + 1)
        parameter_shape[axis : axis + 2] = [groups, channels // groups]
        beta, gamma = (p if p is None else array_ops.reshape(p, parameter_shape) for p in (beta, gamma))
        mean, variance = nn.moments(grouped, axes, keep_dims=True)
        gain = math_ops.rsqrt(variance + epsilon)
        offset = -mean * gain
        if gamma is not None:
            gain *= gamma
            offset *= gamma
        if beta is not None:
            offset += beta
        outputs = array_ops.reshape(grouped * gain + offset, array_ops.stack(sizes))
        outputs.set_shape(shape)
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return utils.collect_named_outputs(outputs_collections, sc.name, outputs)
