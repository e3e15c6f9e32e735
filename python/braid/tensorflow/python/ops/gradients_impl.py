"""Gradients of a graph (tf.gradients, tf.hessians)."""

from braid.tensorflow.python.framework import dtypes, ops
from braid.tensorflow.python.ops import gradients_util
from braid.tensorflow.python.ops.gradients_util import AggregationMethod
from braid.tensorflow.python.ops.unconnected_gradients import UnconnectedGradients
from braid.tensorflow.python.util.tf_export import tf_export

tf_export("AggregationMethod").export_constant(__name__, "AggregationMethod")


@tf_export(v1=["gradients"])
def gradients(
    ys,
    xs,
    grad_ys=None,
    name="gradients",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
):
    """The derivatives of the sum of `ys` by each of `xs`: tensors, tf.IndexedSlices, or None without a path.

    `grad_ys`: initial gradients in place of ones. Nothing flows through `stop_gradients`. LookupError: an op
    on a path has no gradient.
    """
    return gradients_util._GradientsHelper(
        ys,
        xs,
        grad_ys,
        name,
        colocate_gradients_with_ops,
        gate_gradients,
        aggregation_method,
        stop_gradients,
        unconnected_gradients,
    )


def gradients_v2(
    ys,
    xs,
    grad_ys=None,
    name="gradients",
    gate_gradients=False,
    aggregation_method=None,
    stop_gradients=None,
    unconnected_gradients=UnconnectedGradients.NONE,
):
    return gradients(
        ys, xs, grad_ys, name, True, gate_gradients, aggregation_method, stop_gradients, unconnected_gradients
    )


def _hessian_vector_product(ys, xs, v):
    """The product of the Hessian of ys by xs with the vectors v (Pearlmutter 1994)."""
    from braid.tensorflow.python.ops import array_ops, math_ops

    if len(v) != len(xs):
        raise ValueError("xs and v must have the same length.")
    grads = gradients(ys, xs)
    products = [
        math_ops.multiply(g, array_ops.stop_gradient(v_elem)) for g, v_elem in zip(grads, v) if g is not None
    ]
    return gradients(products, xs)


@tf_export(v1=["hessians"])
def hessians(
    ys,
    xs,
    name="hessians",
    colocate_gradients_with_ops=False,
    gate_gradients=False,
    aggregation_method=None,
):
    """The matrices of second derivatives of the sum of `ys` by each of `xs`, of shape x.shape + x.shape."""
    from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops, tensor_array_ops

    xs = gradients_util._listed(xs)
    options = {
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
    }
    found = []
    for gradient, x in zip(gradients(ys, xs, **options), xs):
        flat = array_ops.reshape(gradient, [-1])
        count = array_ops.size(x)

        def row(i, rows, flat=flat, x=x):
            return i + 1, rows.write(i, gradients(flat[i], x)[0])

        _, rows = control_flow_ops.while_loop(
            lambda i, _: i < count,
            row,
            [array_ops.constant(0, dtypes.int32), tensor_array_ops.TensorArray(x.dtype, count)],
        )
        shape = array_ops.shape(x)
        found.append(array_ops.reshape(rows.stack(), array_ops.concat((shape, shape), 0)))
    return found
