"""Flows whose elements depend on those before them (Papamakarios et al. 2017, Germain et al. 2015)."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.layers import core as layers
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import template
from braid.tensorflow.python.ops.distributions import bijector
from braid.tensorflow.python.ops.distributions import util


__all__ = ["MaskedAutoregressiveFlow", "masked_autoregressive_default_template", "masked_dense"]

MASK_INCLUSIVE = "inclusive"
MASK_EXCLUSIVE = "exclusive"


class MaskedAutoregressiveFlow(bijector.Bijector):
    """y[i] = x[i] * exp(log_scale[i]) + shift[i], which depend on y[:i].

    Args:
      shift_and_log_scale_fn: a function from y to (shift, log_scale), each of which may be None. What it
        returns for an element may depend on those before it only. `forward` calls it once for each element.
      unroll_loop: whether `forward` makes the calls one after the other in place of a loop.
    """

    def __init__(
        self,
        shift_and_log_scale_fn,
        is_constant_jacobian=False,
        validate_args=False,
        unroll_loop=False,
        name=None,
    ):
        self._shift_and_log_scale_fn, self._unroll_loop = shift_and_log_scale_fn, unroll_loop
        super().__init__(
            forward_min_event_ndims=1,
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            name=name or "masked_autoregressive_flow",
        )

    def _forward(self, x):
        size = x.get_shape().with_rank_at_least(1).dims[-1].value

        def step(y):
            shift, log_scale = self._shift_and_log_scale_fn(y)
            made = x if log_scale is None else x * math_ops.exp(log_scale)
            return made if shift is None else made + shift

        y = array_ops.zeros_like(x, name="y0")
        if self._unroll_loop:
            if size is None:
                raise ValueError(
                    "The final dimension of `x` must be known at graph construction time if "
                    f"`unroll_loop=True`. `x.shape: {x.get_shape()!r}`"
                )
            for _ in range(size):
                y = step(y)
            return y
        self._shift_and_log_scale_fn(y)  # makes the variables outside of the loop
        count = array_ops.shape(x)[-1]
        _, y = control_flow_ops.while_loop(
            lambda i, _: i < count, lambda i, y: (i + 1, step(y)), (0, y), maximum_iterations=size
        )
        y.set_shape(x.get_shape())
        return y

    def _inverse(self, y):
        shift, log_scale = self._shift_and_log_scale_fn(y)
        x = y if shift is None else y - shift
        return x if log_scale is None else x * math_ops.exp(-log_scale)

    def _inverse_log_det_jacobian(self, y):
        _, log_scale = self._shift_and_log_scale_fn(y)
        if log_scale is None:
            return constant_op.constant(0.0, dtype=y.dtype, name="ildj")
        return -math_ops.reduce_sum(log_scale, axis=-1)


def _gen_mask(num_blocks, n_in, n_out, mask_type=MASK_EXCLUSIVE, dtype=dtypes.float32):
    """[n_out, n_in] ones where a block of outputs may depend on a block of inputs: those before it, and, if
    inclusive, its own."""
    of_inputs = np.arange(n_in) // max(n_in // num_blocks, 1)
    of_outputs = np.arange(n_out) // max(n_out // num_blocks, 1)
    earlier = np.greater if mask_type == MASK_EXCLUSIVE else np.greater_equal
    mask = earlier(of_outputs[:, None], of_inputs[None, :]) & (of_inputs[None, :] < num_blocks)
    return mask.astype(dtype.as_numpy_dtype)


def masked_dense(
    inputs,
    units,
    num_blocks=None,
    exclusive=False,
    kernel_initializer=None,
    reuse=None,
    name=None,
    *args,
    **kwargs,
):
    """A dense layer whose outputs, in `num_blocks` blocks, depend on the inputs of the same and of earlier
    blocks, or, if `exclusive`, of earlier blocks only."""
    depth = inputs.get_shape().with_rank_at_least(1).dims[-1].value
    if depth is None:
        raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
    mask = _gen_mask(num_blocks, depth, units, MASK_EXCLUSIVE if exclusive else MASK_INCLUSIVE).T
    if kernel_initializer is None:
        kernel_initializer = init_ops.glorot_normal_initializer()

    def masked_initializer(shape, dtype=None, partition_info=None):
        return mask * kernel_initializer(shape, dtype, partition_info)

    with ops.name_scope(name, "masked_dense", [inputs, units, num_blocks]):
        layer = layers.Dense(
            units,
            *args,
            kernel_initializer=masked_initializer,
            kernel_constraint=lambda x: mask * x,
            name=name,
            dtype=inputs.dtype.base_dtype,
            _scope=name,
            _reuse=reuse,
            **kwargs,
        )
        return layer.apply(inputs)


def _clip_keeping_gradients(x, low, high):
    """Values between low and high, with the gradients of x."""
    with ops.name_scope(None, "clip_by_value_preserve_grad", [x, low, high]):
        return x + array_ops.stop_gradient(clip_ops.clip_by_value(x, low, high) - x)


def masked_autoregressive_default_template(
    hidden_layers,
    shift_only=False,
    activation=nn_ops.relu,
    log_scale_min_clip=-5.0,
    log_scale_max_clip=3.0,
    log_scale_clip_gradient=False,
    name=None,
    *args,
    **kwargs,
):
    """A function for MaskedAutoregressiveFlow: masked dense layers of these sizes.

    log_scale is clipped; unless `log_scale_clip_gradient`, its gradients are not.
    """
    name = name or "masked_autoregressive_default_template"
    with ops.name_scope(name, values=[log_scale_min_clip, log_scale_max_clip]):

        def shift_and_log_scale(x):
            depth = x.get_shape().with_rank_at_least(1).dims[-1].value
            if depth is None:
                raise NotImplementedError("Rightmost dimension must be known prior to graph execution.")
            shape = util.prefer_static_shape(x)
            for i, units in enumerate(hidden_layers):
                x = masked_dense(
                    *args,
                    inputs=x,
                    units=units,
                    num_blocks=depth,
                    exclusive=i == 0,
                    activation=activation,
                    **kwargs,
                )
            units = (1 if shift_only else 2) * depth
            x = masked_dense(*args, inputs=x, units=units, num_blocks=depth, activation=None, **kwargs)
            if shift_only:
                return array_ops.reshape(x, shape), None
            x = array_ops.reshape(x, array_ops.concat([shape, [2]], 0))
            shift, log_scale = array_ops.unstack(x, num=2, axis=-1)
            clip = clip_ops.clip_by_value if log_scale_clip_gradient else _clip_keeping_gradients
            return shift, clip(log_scale, log_scale_min_clip, log_scale_max_clip)

        return template.make_template(name, shift_and_log_scale)
