"""Layers' mathematics that is made of several ops: moments, batch normalization, losses by sampling."""

import math

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import candidate_sampling_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import gen_nn_ops
from braid.tensorflow.python.ops import gen_sparse_ops
from braid.tensorflow.python.ops import linalg_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.util import deprecation
from braid.tensorflow.python.util.tf_export import tf_export

# ---- Losses of elements ----


@tf_export("nn.log_poisson_loss")
def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """exp(log_input) - log_input * targets: the loss of counts, up to a constant.

    compute_full_loss: with Stirling's approximation of the constant for targets above 1.
    """
    with ops.name_scope(name, "log_poisson_loss", [log_input, targets]) as name:
        log_input = ops.convert_to_tensor(log_input, name="log_input")
        targets = ops.convert_to_tensor(targets, name="targets")
        _merge_shapes("log_input", log_input, "targets", targets)
        made = math_ops.exp(log_input) - log_input * targets
        if compute_full_loss:
            half = constant_op.constant(0.5, dtype=targets.dtype)
            two_pi = constant_op.constant(2 * math.pi, dtype=targets.dtype)
            stirling = targets * math_ops.log(targets) - targets + half * math_ops.log(two_pi * targets)
            zeros = array_ops.zeros_like(targets, dtype=targets.dtype)
            ones = array_ops.ones_like(targets, dtype=targets.dtype)
            is_small = math_ops.logical_and(targets >= zeros, targets <= ones)
            made += array_ops.where(is_small, zeros, stirling)
        return made


def _merge_shapes(name_a, a, name_b, b):
    try:
        b.get_shape().merge_with(a.get_shape())
    except ValueError:
        raise ValueError(
            "%s and %s must have the same shape (%s vs %s)" % (name_a, name_b, a.get_shape(), b.get_shape())
        ) from None


@tf_export(v1=["nn.sigmoid_cross_entropy_with_logits"])
def sigmoid_cross_entropy_with_logits(_sentinel=None, labels=None, logits=None, name=None):
    """The cross entropy of probabilities and the sigmoid of logits, for each element.

    It is max(x, 0) - x * z + log(1 + exp(-|x|)) for logits x and labels z.
    """
    nn_ops._ensure_xent_args("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with ops.name_scope(name, "logistic_loss", [logits, labels]) as name:
        logits = ops.convert_to_tensor(logits, name="logits")
        labels = ops.convert_to_tensor(labels, name="labels")
        _merge_shapes("logits", logits, "labels", labels)
        zeros = array_ops.zeros_like(logits, dtype=logits.dtype)
        is_positive = logits >= zeros
        positive = array_ops.where(is_positive, logits, zeros)
        negated = array_ops.where(is_positive, -logits, logits)
        return math_ops.add(positive - logits * labels, math_ops.log1p(math_ops.exp(negated)), name=name)


def sigmoid_cross_entropy_with_logits_v2(labels=None, logits=None, name=None):
    return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def weighted_cross_entropy_with_logits_v2(labels, logits, pos_weight, name=None):
    with ops.name_scope(name, "logistic_loss", [logits, labels]) as name:
        logits = ops.convert_to_tensor(logits, name="logits")
        labels = ops.convert_to_tensor(labels, name="labels")
        _merge_shapes("logits", logits, "labels", labels)
        weight = 1 + (pos_weight - 1) * labels
        first = (1 - labels) * logits
        second = weight * (math_ops.log1p(math_ops.exp(-math_ops.abs(logits))) + gen_nn_ops.relu(-logits))
        return math_ops.add(first, second, name=name)


@tf_export(v1=["nn.weighted_cross_entropy_with_logits"])
def weighted_cross_entropy_with_logits(labels=None, logits=None, pos_weight=None, name=None, targets=None):
    """tf.nn.sigmoid_cross_entropy_with_logits with the loss of positive labels times `pos_weight`."""
    labels = deprecation.deprecated_argument_lookup("labels", labels, "targets", targets)
    return weighted_cross_entropy_with_logits_v2(labels, logits, pos_weight, name)


# ---- Activations and norms ----


@tf_export("nn.swish")
def swish(features):
    """x * sigmoid(x)"""
    features = ops.convert_to_tensor(features, name="features")
    return features * math_ops.sigmoid(features)


@tf_export(v1=["nn.relu_layer"])
def relu_layer(x, weights, biases, name=None):
    """relu(matmul(x, weights) + biases)"""
    with ops.name_scope(name, "relu_layer", [x, weights, biases]) as name:
        x = ops.convert_to_tensor(x, name="x")
        weights = ops.convert_to_tensor(weights, name="weights")
        biases = ops.convert_to_tensor(biases, name="biases")
        return gen_nn_ops.relu(nn_ops.bias_add(math_ops.matmul(x, weights), biases), name=name)


def l2_normalize_v2(x, axis=None, epsilon=1e-12, name=None):
    with ops.name_scope(name, "l2_normalize", [x]) as name:
        x = ops.convert_to_tensor(x, name="x")
        squares = math_ops.reduce_sum(math_ops.square(x), axis, keepdims=True)
        return math_ops.multiply(x, math_ops.rsqrt(math_ops.maximum(squares, epsilon)), name=name)


@tf_export(v1=["math.l2_normalize", "linalg.l2_normalize", "nn.l2_normalize"])
def l2_normalize(x, axis=None, epsilon=1e-12, name=None, dim=None):
    """x by its norm along the dimensions of `axis`; epsilon: the least square of the norm."""
    axis = deprecation.deprecated_argument_lookup("axis", axis, "dim", dim)
    return l2_normalize_v2(x, axis, epsilon, name)


@tf_export("linalg.normalize", v1=["linalg.normalize"])
def normalize(tensor, ord="euclidean", axis=None, name=None):
    """(the tensor by its norm, the norm); the arguments are those of tf.norm."""
    with ops.name_scope(name, "normalize", [tensor]) as name:
        tensor = ops.convert_to_tensor(tensor)
        norm = linalg_ops.norm(tensor, ord, axis, keepdims=True)
        norm = math_ops.cast(norm, tensor.dtype)
        return tensor / norm, norm


@tf_export("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value, name=None):
    """The part of the elements that are zero, a float32."""
    with ops.name_scope(name, "zero_fraction", [value]):
        value = ops.convert_to_tensor(value, name="value")
        count = array_ops.size(value, out_type=dtypes.int64)

        def others(dtype):
            with ops.name_scope("count_nonzero"):
                is_other = math_ops.not_equal(value, array_ops.zeros([], value.dtype))
                return math_ops.reduce_sum(math_ops.cast(is_other, dtype), name="nonzero_count")

        # In int32 where that suffices: the mask takes half of the memory.
        nonzero = control_flow_ops.cond(
            count <= dtypes.int32.max,
            lambda: math_ops.cast(others(dtypes.int32), dtypes.int64),
            lambda: others(dtypes.int64),
        )
        with ops.name_scope("counts_to_fraction"):
            zeros = math_ops.cast(count - nonzero, dtypes.float32)
            fraction = zeros / math_ops.cast(count, dtypes.float32)
        return array_ops.identity(fraction, "fraction")


# ---- Convolutions of channels by themselves ----


@tf_export(v1=["nn.depthwise_conv2d"])
def depthwise_conv2d(input, filter, strides, padding, rate=None, name=None, data_format=None, dilations=None):
    """Convolution of each channel by itself; filter: [y, x, in, multiplier], the result [batch, y, x, in *
    multiplier].

    rate: how far apart the filter's elements are.
    """
    rate = deprecation.deprecated_argument_lookup("dilations", dilations, "rate", rate)
    with ops.name_scope(name, "depthwise", [input, filter]) as name:
        input = ops.convert_to_tensor(input, name="tensor_in")
        filter = ops.convert_to_tensor(filter, name="filter_in")
        data_format = data_format or "NHWC"

        def op(converted, _, padding):
            return nn_ops.depthwise_conv2d_native(
                converted, filter, strides=strides, padding=padding, data_format=data_format, name=name
            )

        return nn_ops.with_space_to_batch(
            input=input,
            filter_shape=array_ops.shape(filter),
            dilation_rate=[1, 1] if rate is None else rate,
            padding=padding,
            data_format=data_format,
            op=op,
        )


def depthwise_conv2d_v2(input, filter, strides, padding, data_format=None, dilations=None, name=None):
    return depthwise_conv2d(input, filter, strides, padding, dilations, name, data_format)


@tf_export(v1=["nn.separable_conv2d"])
def separable_conv2d(
    input,
    depthwise_filter,
    pointwise_filter,
    strides,
    padding,
    rate=None,
    name=None,
    data_format=None,
    dilations=None,
):
    """tf.nn.depthwise_conv2d, and then a convolution of 1x1 that mixes the channels."""
    rate = deprecation.deprecated_argument_lookup("dilations", dilations, "rate", rate)
    with ops.name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as name:
        input = ops.convert_to_tensor(input, name="tensor_in")
        depthwise_filter = ops.convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = ops.convert_to_tensor(pointwise_filter, name="pointwise_filter")
        known = pointwise_filter.get_shape().with_rank(4)
        known.dims[0].assert_is_compatible_with(1)
        known.dims[1].assert_is_compatible_with(1)
        data_format = data_format or "NHWC"

        def op(converted, _, padding):
            return nn_ops.depthwise_conv2d_native(
                converted,
                depthwise_filter,
                strides=strides,
                padding=padding,
                data_format=data_format,
                name="depthwise",
            )

        depthwise = nn_ops.with_space_to_batch(
            input=input,
            filter_shape=array_ops.shape(depthwise_filter),
            dilation_rate=[1, 1] if rate is None else rate,
            padding=padding,
            data_format=data_format,
            op=op,
        )
        return nn_ops.conv2d(
            depthwise,
            pointwise_filter,
            strides=[1, 1, 1, 1],
            padding="VALID",
            data_format=data_format,
            name=name,
        )


def separable_conv2d_v2(
    input, depthwise_filter, pointwise_filter, strides, padding, data_format=None, dilations=None, name=None
):
    return separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, dilations, name, data_format
    )


# ---- Moments ----


def _keepdims(keepdims, keep_dims):
    return bool(deprecation.deprecated_argument_lookup("keepdims", keepdims, "keep_dims", keep_dims))


@tf_export(v1=["nn.sufficient_statistics"])
def sufficient_statistics(x, axes, shift=None, keep_dims=None, name=None, keepdims=None):
    """What the mean and the variance are computed from: (count, sum, sum of squares, shift).

    shift: a number near the mean, which is subtracted before.
    """
    axes = sorted(set(axes))
    keepdims = _keepdims(keepdims, keep_dims)
    with ops.name_scope(name, "sufficient_statistics", [x, shift]):
        x = ops.convert_to_tensor(x, name="x")
        known = x.get_shape()
        sizes = [known.dims[d].value for d in axes] if known.ndims is not None else [None]
        if None not in sizes:
            counts = constant_op.constant(int(np.prod(sizes, dtype=np.int64)), dtype=x.dtype)
        else:
            counts = math_ops.reduce_prod(
                math_ops.cast(array_ops.gather(array_ops.shape(x), axes), x.dtype), name="count"
            )
        if shift is not None:
            shift = ops.convert_to_tensor(shift, name="shift")
            sums, squares = math_ops.subtract(x, shift), math_ops.squared_difference(x, shift)
        else:
            sums, squares = x, math_ops.square(x)
        sums = math_ops.reduce_sum(sums, axes, keepdims=keepdims, name="mean_ss")
        squares = math_ops.reduce_sum(squares, axes, keepdims=keepdims, name="var_ss")
        return counts, sums, squares, shift


def sufficient_statistics_v2(x, axes, shift=None, keepdims=False, name=None):
    return sufficient_statistics(x, axes, shift, keepdims, name)


@tf_export("nn.normalize_moments")
def normalize_moments(counts, mean_ss, variance_ss, shift, name=None):
    """The mean and the variance from what tf.nn.sufficient_statistics returns."""
    with ops.name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = math_ops.reciprocal(counts, name="divisor")
        if shift is not None:
            distance = math_ops.multiply(mean_ss, divisor, name="shifted_mean")
            mean = math_ops.add(distance, shift, name="mean")
        else:
            distance = mean = math_ops.multiply(mean_ss, divisor, name="mean")
        variance = math_ops.subtract(
            math_ops.multiply(variance_ss, divisor), math_ops.square(distance), name="variance"
        )
        return mean, variance


@tf_export(v1=["nn.moments"])
def moments(x, axes, shift=None, name=None, keep_dims=None, keepdims=None):
    """The mean and the variance along the dimensions of `axes`; of float16 they are computed as float32."""
    keep = _keepdims(keepdims, keep_dims)
    with ops.name_scope(name, "moments", [x, axes]):
        x = ops.convert_to_tensor(x, name="x") if not hasattr(x, "dtype") else x
        is_half = x.dtype.base_dtype == dtypes.float16
        y = math_ops.cast(x, dtypes.float32) if is_half else x
        mean = math_ops.reduce_mean(y, axes, keepdims=True, name="mean")
        variance = math_ops.reduce_mean(
            math_ops.squared_difference(y, array_ops.stop_gradient(mean)),
            axes,
            keepdims=True,
            name="variance",
        )
        if not keep:
            mean = array_ops.squeeze(mean, axes)
            variance = array_ops.squeeze(variance, axes)
        if is_half:
            return math_ops.cast(mean, dtypes.float16), math_ops.cast(variance, dtypes.float16)
        return mean, variance


def moments_v2(x, axes, shift=None, keepdims=False, name=None):
    return moments(x, axes, shift, name, keepdims)


@tf_export(v1=["nn.weighted_moments"])
def weighted_moments(x, axes, frequency_weights, name=None, keep_dims=None, keepdims=None):
    """The mean and the variance of elements with weights, which are broadcast to the elements' shape."""
    keep = _keepdims(keepdims, keep_dims)
    with ops.name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = ops.convert_to_tensor(x, name="x")
        weights = ops.convert_to_tensor(frequency_weights, name="frequency_weights")
        is_half = x.dtype == dtypes.float16
        if is_half:
            x = math_ops.cast(x, dtypes.float32)
        if weights.dtype != x.dtype:
            weights = math_ops.cast(weights, x.dtype)
        total = math_ops.reduce_sum(weights * x, axes, name="weighted_input_sum", keepdims=True)
        broadcast = weights + array_ops.zeros_like(x)
        weight = math_ops.reduce_sum(broadcast, axes, name="sum_of_weights", keepdims=True)
        inverse = math_ops.reciprocal(weight, name="inv_weight_sum")
        mean = math_ops.multiply(total, inverse)
        distances = math_ops.reduce_sum(
            weights * math_ops.squared_difference(x, mean), axes, name="weighted_distsq", keepdims=True
        )
        variance = math_ops.multiply(distances, inverse)
        if not keep:
            mean = array_ops.squeeze(mean, axis=axes)
            variance = array_ops.squeeze(variance, axis=axes)
        if is_half:
            mean, variance = math_ops.cast(mean, dtypes.float16), math_ops.cast(variance, dtypes.float16)
        return mean, variance


# ---- Batch normalization ----


@tf_export("nn.batch_normalization")
def batch_normalization(x, mean, variance, offset, scale, variance_epsilon, name=None):
    """(x - mean) / sqrt(variance + epsilon) * scale + offset; scale and offset may be None."""
    with ops.name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        factor = math_ops.rsqrt(variance + variance_epsilon)
        if scale is not None:
            factor *= scale
        scaled = x * math_ops.cast(factor, x.dtype)
        constant = -mean * factor if offset is None else offset - mean * factor
        return scaled + math_ops.cast(constant, x.dtype)


@tf_export(v1=["nn.fused_batch_norm"])
def fused_batch_norm(
    x,
    scale,
    offset,
    mean=None,
    variance=None,
    epsilon=0.001,
    data_format="NHWC",
    is_training=True,
    name=None,
):
    """Batch normalization of pictures in one op: (y, mean, variance).

    is_training: the batch's own moments are taken; otherwise mean and variance are those given.
    """
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True")
    if mean is None:
        mean = constant_op.constant([])
    if variance is None:
        variance = constant_op.constant([])
    epsilon = max(
        epsilon, 1.001e-5
    )  # the least that cuDNN takes, so that results do not depend on the device
    y, batch_mean, batch_variance, _, _, _ = gen_nn_ops.fused_batch_norm_v3(
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=epsilon,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return y, batch_mean, batch_variance


@tf_export(v1=["nn.batch_norm_with_global_normalization"])
def batch_norm_with_global_normalization(
    t=None,
    m=None,
    v=None,
    beta=None,
    gamma=None,
    variance_epsilon=None,
    scale_after_normalization=None,
    name=None,
    input=None,
    mean=None,
    variance=None,
):
    """tf.nn.batch_normalization under its old name."""
    t = deprecation.deprecated_argument_lookup("input", input, "t", t)
    m = deprecation.deprecated_argument_lookup("mean", mean, "m", m)
    v = deprecation.deprecated_argument_lookup("variance", variance, "v", v)
    return batch_normalization(
        t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name
    )


# ---- Losses of many classes by sampling ----


def _sum_rows(x):
    """The sum of each row, as the product with a column of ones."""
    columns = array_ops.shape(x)[1]
    ones = array_ops.ones(array_ops.stack([columns, 1]), x.dtype)
    return array_ops.reshape(math_ops.matmul(x, ones), [-1])


def _compute_sampled_logits(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    subtract_log_q=True,
    remove_accidental_hits=False,
    partition_strategy="mod",
    name=None,
    seed=None,
):
    """The logits and labels of the true and of the sampled classes, [batch, num_true + num_sampled].

    weights: [classes, n] or a list of its partitions, biases: [classes], inputs: [batch, n].
    """
    if isinstance(weights, variables.PartitionedVariable):
        weights = list(weights)
    if not isinstance(weights, list):
        weights = [weights]
    with ops.name_scope(name, "compute_sampled_logits", weights + [biases, inputs, labels]):
        if labels.dtype != dtypes.int64:
            labels = math_ops.cast(labels, dtypes.int64)
        labels_flat = array_ops.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = candidate_sampling_ops.log_uniform_candidate_sampler(
                true_classes=labels,
                num_true=num_true,
                num_sampled=num_sampled,
                unique=True,
                range_max=num_classes,
                seed=seed,
            )
        sampled, true_count, sampled_count = (array_ops.stop_gradient(s) for s in sampled_values)
        sampled = math_ops.cast(sampled, dtypes.int64)
        all_ids = array_ops.concat([labels_flat, sampled], 0)
        all_w = embedding_ops.embedding_lookup(weights, all_ids, partition_strategy=partition_strategy)
        if all_w.dtype != inputs.dtype:
            all_w = math_ops.cast(all_w, inputs.dtype)

        def how_many():
            return array_ops.shape(labels_flat)[0]

        true_w = array_ops.slice(all_w, [0, 0], array_ops.stack([how_many(), -1]))
        sampled_w = array_ops.slice(all_w, array_ops.stack([how_many(), 0]), [-1, -1])
        sampled_logits = math_ops.matmul(inputs, sampled_w, transpose_b=True)
        all_b = embedding_ops.embedding_lookup(biases, all_ids, partition_strategy=partition_strategy)
        if all_b.dtype != inputs.dtype:
            all_b = math_ops.cast(all_b, inputs.dtype)
        true_b = array_ops.slice(all_b, [0], array_ops.shape(labels_flat))
        sampled_b = array_ops.slice(all_b, array_ops.shape(labels_flat), [-1])
        width = array_ops.shape(true_w)[1:2]
        by_true = array_ops.concat([[-1, num_true], width], 0)
        products = math_ops.multiply(array_ops.expand_dims(inputs, 1), array_ops.reshape(true_w, by_true))
        rows = array_ops.reshape(products, array_ops.concat([[-1], width], 0))
        true_logits = array_ops.reshape(_sum_rows(rows), [-1, num_true])
        true_logits += array_ops.reshape(true_b, [-1, num_true])
        sampled_logits += sampled_b
        if remove_accidental_hits:
            sampled_logits += _minus_accidental_hits(labels, sampled, num_true, sampled_logits)
        if subtract_log_q:
            true_logits -= math_ops.log(true_count)
            sampled_logits -= math_ops.log(sampled_count)
        out_logits = array_ops.concat([true_logits, sampled_logits], 1)
        out_labels = array_ops.concat(
            [array_ops.ones_like(true_logits) / num_true, array_ops.zeros_like(sampled_logits)], 1
        )
        return out_logits, out_labels


def _minus_accidental_hits(labels, sampled, num_true, sampled_logits):
    """A great negative number where a sampled class is one of the true ones, and 0 elsewhere."""
    rows, ids, values = candidate_sampling_ops.compute_accidental_hits(labels, sampled, num_true=num_true)
    rows = array_ops.reshape(rows, [-1, 1])
    ids = array_ops.reshape(math_ops.cast(ids, dtypes.int32), [-1, 1])
    places = array_ops.concat([rows, ids], 1, "sparse_indices")
    count = array_ops.expand_dims(array_ops.shape(sampled)[0], 0)
    sizes = array_ops.concat([array_ops.shape(labels)[:1], count], 0)
    if sampled_logits.dtype != values.dtype:
        values = math_ops.cast(values, sampled_logits.dtype)
    return gen_sparse_ops.sparse_to_dense(places, sizes, values, default_value=0.0, validate_indices=False)


@tf_export(v1=["nn.nce_loss"])
def nce_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=False,
    partition_strategy="mod",
    name="nce_loss",
):
    """Noise-contrastive estimation (Gutmann and Hyvarinen 2010): a loss for each row of `inputs`.

    weights: [classes, n] or a list of its partitions; labels: int64 [batch, num_true]. Classes are sampled by
    tf.random.log_uniform_candidate_sampler unless `sampled_values` has what a sampler returned.
    """
    logits, labels = _compute_sampled_logits(
        weights=weights,
        biases=biases,
        labels=labels,
        inputs=inputs,
        num_sampled=num_sampled,
        num_classes=num_classes,
        num_true=num_true,
        sampled_values=sampled_values,
        subtract_log_q=True,
        remove_accidental_hits=remove_accidental_hits,
        partition_strategy=partition_strategy,
        name=name,
    )
    losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="sampled_losses")
    return _sum_rows(losses)


def nce_loss_v2(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=False,
    name="nce_loss",
):
    return nce_loss(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy="div",
        name=name,
    )


def sampled_softmax_loss_v2(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=True,
    seed=None,
    name="sampled_softmax_loss",
):
    return sampled_softmax_loss(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy="div",
        name=name,
        seed=seed,
    )


@tf_export(v1=["nn.sampled_softmax_loss"])
def sampled_softmax_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    num_true=1,
    sampled_values=None,
    remove_accidental_hits=True,
    partition_strategy="mod",
    name="sampled_softmax_loss",
    seed=None,
):
    """The cross entropy over the true and some sampled classes (Jean et al. 2014): a loss for each row.

    The arguments are those of tf.nn.nce_loss.
    """
    logits, labels = _compute_sampled_logits(
        weights=weights,
        biases=biases,
        labels=labels,
        inputs=inputs,
        num_sampled=num_sampled,
        num_classes=num_classes,
        num_true=num_true,
        sampled_values=sampled_values,
        subtract_log_q=True,
        remove_accidental_hits=remove_accidental_hits,
        partition_strategy=partition_strategy,
        name=name,
        seed=seed,
    )
    labels = array_ops.stop_gradient(labels, name="labels_stop_gradient")
    return nn_ops.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)


def _replicas():
    """The number of replicas. RuntimeError: the code is not in one."""
    from braid.tensorflow.python.distribute import distribution_strategy_context as ds

    if ds.has_strategy() and ds.in_cross_replica_context():
        raise RuntimeError("This is called in cross replica context; it is to be called in a replica's.")
    return ds.get_strategy().num_replicas_in_sync


@tf_export("nn.compute_average_loss")
def compute_average_loss(per_example_loss, sample_weight=None, global_batch_size=None):
    """The sum of the losses, [batch, ...], over global_batch_size: the examples of all replicas if None."""
    loss = ops.convert_to_tensor(per_example_loss)
    dtype = loss.dtype
    if sample_weight is not None:
        from braid.tensorflow.python.ops.losses import util

        weights = math_ops.cast(ops.convert_to_tensor(sample_weight), dtypes.float32)
        loss, _, weights = util.squeeze_or_expand_dimensions(loss, None, weights)
        loss = math_ops.cast(math_ops.cast(loss, dtypes.float32) * weights, dtype)
    if global_batch_size is None:
        global_batch_size = math_ops.cast(array_ops.shape(loss)[0] * _replicas(), dtype)
        return math_ops.reduce_sum(loss) / global_batch_size
    return math_ops.reduce_sum(loss) / math_ops.cast(global_batch_size, dtype)


@tf_export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss):
    """The sum of the losses over the number of replicas."""
    return math_ops.reduce_sum(regularization_loss) / _replicas()
