"""Scales, and other functions that several distributions use."""

import functools

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops.distributions.util import *  # noqa: F401,F403
from braid.tensorflow.python.ops.distributions.util import dimension_size  # noqa: F401
from braid.tensorflow.python.ops.linalg import linalg


def _checked_diagonal(x, diagonal, validate_args, assert_positive):
    if not validate_args:
        return x
    if assert_positive:
        check = check_ops.assert_positive(diagonal, message="diagonal part must be positive")
    else:
        zero = array_ops.zeros([], x.dtype)
        check = check_ops.assert_none_equal(diagonal, zero, message="diagonal part must be non-zero")
    return control_flow_ops.with_dependencies([check], x)


def make_tril_scale(
    loc=None,
    scale_tril=None,
    scale_diag=None,
    scale_identity_multiplier=None,
    shape_hint=None,
    validate_args=False,
    assert_positive=False,
    name=None,
    dtype=None,
):
    """The sum of a lower triangular matrix, a diagonal and a multiple of the identity, as a LinearOperator.

    The size of a multiple of the identity alone is that of `loc`, or `shape_hint`.
    """
    if scale_tril is None:
        return make_diag_scale(
            loc,
            scale_diag,
            scale_identity_multiplier,
            shape_hint,
            validate_args,
            assert_positive,
            name,
            dtype,
        )
    with ops.name_scope(name, "make_tril_scale", [loc, scale_tril, scale_diag, scale_identity_multiplier]):
        tril = array_ops.matrix_band_part(ops.convert_to_tensor(scale_tril, dtype, name="scale_tril"), -1, 0)
        diagonal = array_ops.matrix_diag_part(tril)
        if scale_diag is not None:
            diagonal += scale_diag
        if scale_identity_multiplier is not None:
            diagonal += array_ops.expand_dims(scale_identity_multiplier, -1)
        tril = array_ops.matrix_set_diag(tril, diagonal)
        return linalg.LinearOperatorLowerTriangular(
            _checked_diagonal(tril, diagonal, validate_args, assert_positive),
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
    dtype=None,
):
    """The same without a triangular matrix."""
    with ops.name_scope(name, "make_diag_scale", [loc, scale_diag, scale_identity_multiplier]):
        as_tensor = lambda x, name: None if x is None else ops.convert_to_tensor(x, dtype, name=name)
        loc, diagonal = as_tensor(loc, "loc"), as_tensor(scale_diag, "scale_diag")
        multiplier = as_tensor(scale_identity_multiplier, "scale_identity_multiplier")
        checked = lambda x: _checked_diagonal(x, x, validate_args, assert_positive)
        hints = {"is_self_adjoint": True, "is_non_singular": True}
        if diagonal is not None:
            if multiplier is not None:
                diagonal += array_ops.expand_dims(multiplier, -1)
            return linalg.LinearOperatorDiag(checked(diagonal), is_positive_definite=assert_positive, **hints)
        if loc is None and shape_hint is None:
            raise ValueError("Cannot infer `event_shape` unless `loc` or `shape_hint` is specified.")
        size = dimension_size(loc, -1) if shape_hint is None else shape_hint
        if multiplier is None:
            dtype = loc.dtype.base_dtype if loc is not None else dtype
            return linalg.LinearOperatorIdentity(
                num_rows=size,
                dtype=dtype,
                is_positive_definite=True,
                assert_proper_shapes=validate_args,
                **hints,
            )
        return linalg.LinearOperatorScaledIdentity(
            num_rows=size,
            multiplier=checked(multiplier),
            is_positive_definite=assert_positive,
            assert_proper_shapes=validate_args,
            **hints,
        )


def get_broadcast_shape(*tensors):
    """The shape of what is made of all tensors: a list where it is known, else a tensor."""
    known = functools.reduce(array_ops.broadcast_static_shape, [tensor.shape for tensor in tensors])
    if known.is_fully_defined():
        return known.as_list()
    shape = array_ops.shape(tensors[0])
    for tensor in tensors[1:]:
        shape = array_ops.broadcast_dynamic_shape(shape, array_ops.shape(tensor))
    return shape


def is_diagonal_scale(scale):
    """Whether a LinearOperator is known to be a diagonal."""
    if not isinstance(scale, linalg.LinearOperator):
        raise TypeError(f"Expected argument 'scale' to be instance of LinearOperator. Found: {scale}")
    diagonal = (linalg.LinearOperatorIdentity, linalg.LinearOperatorScaledIdentity, linalg.LinearOperatorDiag)
    return isinstance(scale, diagonal)
