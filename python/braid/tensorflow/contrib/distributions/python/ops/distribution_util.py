"""Scales, and other functions that several distributions use."""

import functools

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops.distributions.util import *  # noqa: F401,F403
from braid.tensorflow.python.ops.distributions.util import dimension_size  # noqa: F401
from braid.tensorflow.python.ops.linalg import linalg


def _checked_diagonal(x, diagonal, validate_args, assert_positive):
    """x, whose diagonal (made by a function of x) is checked in the step."""
    if not validate_args:
        return x
    if assert_positive:
        check = check_ops.assert_positive(diagonal(x), message="diagonal part must be positive")
    else:
        message = "diagonal part must be non-zero"
        check = check_ops.assert_none_equal(diagonal(x), array_ops.zeros([], x.dtype), message=message)
    return control_flow_ops.with_dependencies([check], x)


def _tensor_or_none(x, name):
    return None if x is None else ops.convert_to_tensor(x, name=name)


def make_tril_scale(
    loc=None,
    scale_tril=None,
    scale_diag=None,
    scale_identity_multiplier=None,
    shape_hint=None,
    validate_args=False,
    assert_positive=False,
    name=None,
):
    """The sum of a lower triangular matrix, a diagonal and a multiple of the identity, as a LinearOperator.

    The size of a multiple of the identity alone is that of `loc`, or `shape_hint`.
    """
    with ops.name_scope(name, "make_tril_scale", values=[loc, scale_diag, scale_identity_multiplier]):
        loc = _tensor_or_none(loc, "loc")
        tril = _tensor_or_none(scale_tril, "scale_tril")
        diagonal = _tensor_or_none(scale_diag, "scale_diag")
        multiplier = _tensor_or_none(scale_identity_multiplier, "scale_identity_multiplier")
    if tril is None:
        return make_diag_scale(loc, diagonal, multiplier, shape_hint, validate_args, assert_positive, name)
    tril = array_ops.matrix_band_part(tril, -1, 0)
    total = array_ops.matrix_diag_part(tril)
    if diagonal is not None:
        total += diagonal
    if multiplier is not None:
        total += multiplier[..., array_ops.newaxis]
    tril = array_ops.matrix_set_diag(tril, total)
    return linalg.LinearOperatorLowerTriangular(
        tril=_checked_diagonal(tril, array_ops.matrix_diag_part, validate_args, assert_positive),
        is_non_singular=True,
        is_self_adjoint=False,
        is_positive_definite=assert_positive,
    )


def make_diag_scale(
    loc=None,
    scale_diag=None,
    scale_identity_multiplier=None,
    shape_hint=None,
    validate_args=False,
    assert_positive=False,
    name=None,
):
    """The same without a triangular matrix."""
    with ops.name_scope(name, "make_diag_scale", values=[loc, scale_diag, scale_identity_multiplier]):
        loc = _tensor_or_none(loc, "loc")
        diagonal = _tensor_or_none(scale_diag, "scale_diag")
        multiplier = _tensor_or_none(scale_identity_multiplier, "scale_identity_multiplier")
        checked = lambda x: _checked_diagonal(x, lambda x: x, validate_args, assert_positive)
        if diagonal is not None:
            if multiplier is not None:
                diagonal += multiplier[..., array_ops.newaxis]
            return linalg.LinearOperatorDiag(
                diag=checked(diagonal),
                is_non_singular=True,
                is_self_adjoint=True,
                is_positive_definite=assert_positive,
            )
        if loc is None and shape_hint is None:
            raise ValueError("Cannot infer `event_shape` unless `loc` or `shape_hint` is specified.")
        size = dimension_size(loc, -1) if shape_hint is None else shape_hint
        if multiplier is None:
            return linalg.LinearOperatorIdentity(
                num_rows=size,
                dtype=loc.dtype.base_dtype,
                is_self_adjoint=True,
                is_positive_definite=True,
                assert_proper_shapes=validate_args,
            )
        return linalg.LinearOperatorScaledIdentity(
            num_rows=size,
            multiplier=checked(multiplier),
            is_non_singular=True,
            is_self_adjoint=True,
            is_positive_definite=assert_positive,
            assert_proper_shapes=validate_args,
        )


def shapes_from_loc_and_scale(loc, scale, name="shapes_from_loc_and_scale"):
    """The shapes of the batch and of the event; ValueError: those of `loc` and `scale` do not fit."""
    with ops.name_scope(name, values=[loc] + scale.graph_parents):
        size = scale.range_dimension_tensor()
        known = tensor_util.constant_value(size)
        event_shape = size[array_ops.newaxis] if known is None else known.reshape([1])
        if loc is not None:
            own = tensor_shape.dimension_value(loc.get_shape()[-1])
            if own is not None and known is not None and own not in (1, known):
                raise ValueError(
                    "Event size of 'scale' (%d) could not be broadcast up to that of 'loc' (%d)."
                    % (known, own)
                )
        batch_shape = scale.batch_shape_tensor()
        if loc is None:
            return prefer_static_value(batch_shape), event_shape
        loc_batch = loc.get_shape().with_rank_at_least(1)[:-1]
        if loc.get_shape().ndims is None or not loc_batch.is_fully_defined():
            loc_batch = array_ops.shape(loc)[:-1]
        else:
            loc_batch = ops.convert_to_tensor(loc_batch, name="loc_batch_shape")
        return prefer_static_broadcast_shape(batch_shape, loc_batch), event_shape


def get_broadcast_shape(*tensors):
    """The shape of what is made of all tensors: a list where it is known, else a tensor."""
    known = functools.reduce(array_ops.broadcast_static_shape, [tensor.shape for tensor in tensors])
    if known.is_fully_defined():
        return known.as_list()
    shape = array_ops.shape(tensors[0])
    for tensor in tensors[1:]:
        shape = array_ops.broadcast_dynamic_shape(shape, array_ops.shape(tensor))
    return shape


def mixture_stddev(mixture_weight_vector, mean_vector, stddev_vector):
    """The standard deviations of mixtures: of their weights, means and deviations, [mixtures, components]."""
    weights, means, deviations = mixture_weight_vector, mean_vector, stddev_vector
    weights.shape.assert_has_rank(2)
    if not means.shape.is_compatible_with(weights.shape):
        raise ValueError("Expecting means to have same shape as mixture weights.")
    if not deviations.shape.is_compatible_with(weights.shape):
        raise ValueError("Expecting stddevs to have same shape as mixture weights.")
    rows = array_ops.expand_dims(weights, axis=1)
    means, deviations = array_ops.expand_dims(means, axis=2), array_ops.expand_dims(deviations, axis=2)
    mean_of = lambda columns: array_ops.reshape(math_ops.matmul(rows, columns), (-1,))
    mean = mean_of(means)
    variance = mean_of(math_ops.square(deviations))
    square = mean_of(math_ops.square(means))
    return math_ops.sqrt(variance + square - math_ops.square(mean))


def pad_mixture_dimensions(x, mixture_distribution, categorical_distribution, event_ndims):
    """x, [..., components], with dimensions of size 1 for the batch of a mixture and for its events."""

    def batch_ndims(d):
        known = d.batch_shape.ndims
        return array_ops.shape(d.batch_shape_tensor())[0] if known is None else known

    with ops.name_scope("pad_mix_dims", values=[x]):
        of_mixture, of_choice = batch_ndims(mixture_distribution), batch_ndims(categorical_distribution)
        is_scalar = categorical_distribution.is_scalar_batch()
        ndims = array_ops.where_v2(is_scalar, of_mixture, of_mixture - of_choice)
        shape = array_ops.shape(x)
        parts = [
            shape[:-1],
            array_ops.ones([ndims], dtype=dtypes.int32),
            shape[-1:],
            array_ops.ones([event_ndims], dtype=dtypes.int32),
        ]
        return array_ops.reshape(x, shape=array_ops.concat(parts, axis=0))


def is_diagonal_scale(scale):
    """Whether a LinearOperator is known to be a diagonal."""
    if not isinstance(scale, linalg.LinearOperator):
        raise TypeError(f"Expected argument 'scale' to be instance of LinearOperator. Found: {scale}")
    diagonal = (linalg.LinearOperatorIdentity, linalg.LinearOperatorScaledIdentity, linalg.LinearOperatorDiag)
    return isinstance(scale, diagonal)
