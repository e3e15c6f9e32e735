"""Jacobians: the gradients of each element of a tensor, by a loop over the elements."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import gradients as gradient_ops
from braid.tensorflow.python.ops.parallel_for import control_flow_ops
from braid.tensorflow.python.util import nest


def _for_all(loop_fn, types, count, use_pfor, parallel_iterations):
    if use_pfor:
        return control_flow_ops.pfor(loop_fn, count, parallel_iterations=parallel_iterations)
    return control_flow_ops.for_loop(loop_fn, types, count, parallel_iterations=parallel_iterations)


def jacobian(output, inputs, use_pfor=True, parallel_iterations=None):
    """The derivatives of each element of `output` by each of `inputs`: shape output.shape + input.shape.

    Args:
      inputs: a tensor or a structure of tensors, as which the result is built; None in it: there is no path.
      use_pfor: whether `pfor` or `for_loop` goes over the elements.
      parallel_iterations: as of these.
    """
    return _jacobian(output, inputs, gradient_ops.gradients, use_pfor, parallel_iterations)


def _jacobian(output, inputs, gradients, use_pfor, parallel_iterations):
    """`jacobian` by gradients(y, list of inputs)."""
    flat_inputs = nest.flatten(inputs)
    shape, known = array_ops.shape(output), output.shape
    flat = array_ops.reshape(output, [-1])
    count = tensor_shape.dimension_value(flat.shape[0])

    def loop_fn(i):
        return gradients(array_ops.gather(flat, i), flat_inputs)

    types = [output.dtype] * len(flat_inputs)
    made = _for_all(
        loop_fn, types, array_ops.shape(flat)[0] if count is None else count, use_pfor, parallel_iterations
    )
    for k, x in enumerate(made):
        if x is not None:
            x = array_ops.reshape(x, array_ops.concat([shape, array_ops.shape(x)[1:]], axis=0))
            x.set_shape(known.concatenate(flat_inputs[k].shape))
            made[k] = x
    return nest.pack_sequence_as(inputs, made)


def batch_jacobian(output, inp, use_pfor=True, parallel_iterations=None):
    """For each i the derivatives of output[i] by inp[i]: shape output.shape + inp.shape[1:].

    output[i] may depend on inp[i] only. ValueError: the first dimensions differ. None: there is no path.
    """
    return _batch_jacobian(output, inp, gradient_ops.gradients, use_pfor, parallel_iterations)


def _batch_jacobian(output, inp, gradients, use_pfor, parallel_iterations):
    """`batch_jacobian` by gradients(y, inp)."""
    if not output.shape[0].is_compatible_with(inp.shape[0]):
        raise ValueError(
            f"Need first dimension of output shape ({output.shape}) and inp shape ({inp.shape}) to match."
        )
    known = output.shape.concatenate(inp.shape[1:])
    shape, inp_shape = array_ops.shape(output), array_ops.shape(inp)
    if output.shape.is_fully_defined():
        batch = int(output.shape[0])
        row = output.shape.num_elements() // batch
    else:
        batch = shape[0]
        row = array_ops.size(output) // batch
    with ops.control_dependencies([check_ops.assert_equal(batch, inp_shape[0])]):
        flat = array_ops.reshape(output, [batch, row])

    def loop_fn(i):
        return gradients(array_ops.gather(flat, i, axis=1), inp)[0]

    made = _for_all(loop_fn, output.dtype, row, use_pfor, parallel_iterations)
    if made is None:
        return None
    made = array_ops.transpose(array_ops.reshape(made, [row, batch, -1]), [1, 0, 2])
    made = array_ops.reshape(made, array_ops.concat([shape, inp_shape[1:]], axis=0))
    made.set_shape(known)
    return made
