"""Derivatives of outputs along a direction of the inputs, by two gradients."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gradients_impl


def fwd_gradients(ys, xs, grad_xs=None, assert_unused=False):
    """The derivatives of each of ys along grad_xs (ones), summed over xs.

    assert_unused: running ys' gradients, whose values do not matter, is an error.
    """
    # The gradient is linear in us, so that its gradient by us does not depend on their values.
    us = [array_ops.zeros_like(y) + float("nan") for y in ys]
    dydxs = gradients_impl.gradients(ys, xs, grad_ys=us)
    dydxs = [ops.convert_to_tensor(d) if isinstance(d, ops.IndexedSlices) else d for d in dydxs]
    if assert_unused:
        with ops.control_dependencies([d for d in dydxs if d is not None]):
            unused = control_flow_ops.Assert(False, [1], name="fwd_gradients")
        with ops.control_dependencies([unused]):
            dydxs = [None if d is None else array_ops.identity(d) for d in dydxs]
    dydxs = [array_ops.zeros_like(x) if d is None else d for x, d in zip(xs, dydxs)]
    for x, d in zip(xs, dydxs):
        d.set_shape(x.shape)
    return gradients_impl.gradients(dydxs, us, grad_ys=grad_xs)
