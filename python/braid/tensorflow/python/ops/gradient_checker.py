"""Gradients compared with differences (tf.test.compute_gradient)."""

import numpy as np

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import gradients_impl
from braid.tensorflow.python.util.tf_export import tf_export

_EXACT = (dtypes.float16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)


def _columns(size, dtype):
    """How many real numbers an array of `size` has."""
    return size * 2 if dtype.is_complex else size


def _real(array):
    """Its numbers as real ones, in a row."""
    flat = np.asarray(array).ravel()
    return flat.view(flat.real.dtype) if np.iscomplexobj(flat) else flat


def _theoretical(x, x_data, y, y_shape, feeds):
    """The Jacobian [numbers of x, numbers of y] by tf.gradients."""
    dtype = y.dtype.as_numpy_dtype
    from braid.tensorflow.python.ops import array_ops

    dy = array_ops.placeholder(y.dtype.base_dtype, y_shape)
    (dx,) = gradients_impl.gradients(y, x, dy)
    session = ops.get_default_session()
    x_size, y_size = _columns(x_data.size, x.dtype), _columns(int(np.prod(y_shape)), y.dtype)
    jacobian = np.zeros((x_size, y_size), x.dtype.real_dtype.as_numpy_dtype)
    if dx is None:
        return jacobian
    if y_size == 0:
        # No number of y: the one run shows that the gradient can be computed and has the shape of x.
        got = session.run(dx, {**feeds, x: x_data, dy: np.zeros(y_shape, dtype)})
        if not isinstance(got, ops.IndexedSlicesValue) and got.shape != x_data.shape:
            raise ValueError(f"Empty gradient has wrong shape: expected {x_data.shape}, got {got.shape}")
        return jacobian
    unit = np.zeros(y_shape, dtype)
    numbers = unit.reshape(-1).view(unit.real.dtype) if y.dtype.is_complex else unit.reshape(-1)
    for column in range(y_size):
        numbers[column] = 1
        got = session.run(dx, {**feeds, x: x_data, dy: unit})
        if isinstance(got, ops.IndexedSlicesValue):
            dense = np.zeros(x_data.shape, got.values.dtype)
            np.add.at(dense, got.indices, got.values)
            got = dense
        jacobian[:, column] = _real(got)
        numbers[column] = 0
    return jacobian


def _numeric(x, x_data, y, y_shape, delta, feeds):
    """The Jacobian by differences of the values at x - delta and x + delta."""
    session = ops.get_default_session()
    scale = np.array(2 * delta, y.dtype.real_dtype.as_numpy_dtype)
    data = np.array(x_data, order="C")  # so that a reshape is no copy
    numbers = data.reshape(-1).view(data.real.dtype) if x.dtype.is_complex else data.reshape(-1)
    y_size = _columns(int(np.prod(y_shape)), y.dtype)
    jacobian = np.zeros((numbers.size, y_size), x.dtype.real_dtype.as_numpy_dtype)
    for row in range(numbers.size):
        kept = numbers[row]
        numbers[row] = kept - delta
        low = session.run(y, {**feeds, x: data})
        numbers[row] = kept + delta
        high = session.run(y, {**feeds, x: data})
        numbers[row] = kept
        jacobian[row] = _real((high - low) / scale)
    return jacobian


def _one(x, x_shape, y, y_shape, x_init_value, delta, feeds):
    for tensor, name in ((x, "x"), (y, "y")):
        if tensor.dtype.base_dtype not in _EXACT:
            raise TypeError(
                f"compute_gradient needs {name} of a floating or complex type, not {tensor.dtype.name}"
            )
    kind = x.dtype.as_numpy_dtype
    if x_init_value is None:
        data = np.random.random_sample(x_shape).astype(kind)
        if x.dtype.is_complex:
            data.imag = np.random.random_sample(x_shape)
    else:
        data = np.asarray(x_init_value, kind)
    return _theoretical(x, data, y, y_shape, feeds), _numeric(x, data, y, y_shape, delta, feeds)


@tf_export(v1=["test.compute_gradient"])
def compute_gradient(
    x,
    x_shape,
    y,
    y_shape,
    x_init_value=None,
    delta=1e-3,
    init_targets=None,
    extra_feed_dict=None,
):
    """The Jacobian of y by x, [numbers of x, numbers of y], by gradients and by differences, as a pair.

    `x`, `x_shape`: a tensor or a list of them. Needs a default session.
    """
    if extra_feed_dict is None:
        extra_feed_dict = {}
    if init_targets is not None:
        for target in init_targets if isinstance(init_targets, (list, tuple)) else [init_targets]:
            ops.get_default_session().run(target)
    if not isinstance(x, list):
        return _one(x, x_shape, y, list(y_shape), x_init_value, delta, extra_feed_dict)
    values = x_init_value if x_init_value is not None else [None] * len(x)
    data = [
        np.asarray(v, t.dtype.as_numpy_dtype) if v is not None else np.random.random_sample(s)
        for t, s, v in zip(x, x_shape, values)
    ]
    found = []
    for i, (tensor, shape) in enumerate(zip(x, x_shape)):
        feeds = {t: d for j, (t, d) in enumerate(zip(x, data)) if j != i}
        found.append(_one(tensor, shape, y, list(y_shape), data[i], delta, {**feeds, **extra_feed_dict}))
    return found


def _error_of(pair):
    theoretical, numeric = pair
    if theoretical.size == 0 and numeric.size == 0:
        return 0
    return np.fabs(theoretical - numeric).max()


def _compute_error(grad):
    return max(_error_of(pair) for pair in grad) if isinstance(grad, list) else _error_of(grad)


@tf_export(v1=["test.compute_gradient_error"])
def compute_gradient_error(
    x,
    x_shape,
    y,
    y_shape,
    x_init_value=None,
    delta=1e-3,
    init_targets=None,
    extra_feed_dict=None,
):
    """The greatest difference between the two Jacobians of compute_gradient."""
    return _compute_error(
        compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    )
