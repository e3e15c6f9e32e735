"""A recurrence over the steps of inputs, which keeps no more than the states for its gradients."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import function
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import custom_gradient
from braid.tensorflow.python.ops import gradients_impl
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.util import nest


def _check_pure(fn, what, arguments):
    """AssertionError: fn takes tensors that are not its arguments, so that these would get no gradients."""
    flat = nest.flatten(arguments)

    @function.Defun(*[t.dtype for t in flat])
    def traced(*args):
        for arg, t in zip(args, flat):
            arg.set_shape(t.get_shape())
        made = nest.flatten(fn(*nest.pack_sequence_as(arguments, args)))
        return [t for t in made if t is not None]

    captured = traced.captured_inputs
    assert not captured, f"{what} is not pure with extra args: {captured}."


def _like(tensors, templates):
    """The tensors, with zeros in place of None."""
    flat = zip(nest.flatten(tensors), nest.flatten(templates))
    return nest.pack_sequence_as(templates, [array_ops.zeros_like(t) if x is None else x for x, t in flat])


def _loop(count, step, carried, collected):
    """(carried values after `count` steps, [values of all steps, stacked]).

    step: a function of (the number of the step, carried values) that gives new ones and the values that are
    to be collected, as flat lists. collected: tensors that these are like.
    """
    arrays = [
        tensor_array_ops.TensorArray(t.dtype, size=count, element_shape=t.get_shape()) for t in collected
    ]

    def body(i, carried, arrays):
        new, values = step(i, carried)
        for value, before in zip(new, carried):
            value.set_shape(before.get_shape())
        return i + 1, new, [array.write(i, value) for array, value in zip(arrays, values)]

    _, carried, arrays = control_flow_ops.while_loop(
        lambda i, *_: i < count, body, (array_ops.constant(0), carried, arrays)
    )
    return carried, [array.stack() for array in arrays]


class _Recurrence:
    """What Recurrent() computes, for given structures of theta, states, inputs and extras."""

    def __init__(self, theta, state0, inputs, extras, cell_fn, cell_grad, max_input_length, aligned_end):
        self._structures = theta, state0, inputs
        self._state0, self._inputs, self._extras = state0, inputs, extras
        self._cell_fn, self._cell_grad = cell_fn, cell_grad
        self._steps = array_ops.shape(nest.flatten(inputs)[0])[0]
        self._count = self._steps
        if max_input_length is not None:
            self._count = math_ops.cast(max_input_length, dtypes.int32)
        self._first = self._steps - self._count if aligned_end else 0

    def _at(self, values, t):
        return nest.map_structure(lambda x: array_ops.gather(x, t), values)

    def _padded(self, stacked):
        """Values of the steps that are computed, with zeros for the others."""
        before = self._first
        after = self._steps - self._count - before
        made = []
        for x in stacked:
            rest = [[0, 0]] * (x.get_shape().ndims - 1)
            made.append(
                array_ops.pad(
                    x, array_ops.concat([[[before, after]], rest], 0) if rest else [[before, after]]
                )
            )
        return made

    def _forward(self, flat):
        """[states of all steps..., last states..., extras of all steps...]."""
        theta, state0, inputs = nest.pack_sequence_as(self._structures, flat)
        states, extras = nest.flatten(state0), nest.flatten(self._extras)

        def step(i, carried):
            state, extra = self._cell_fn(
                theta, nest.pack_sequence_as(state0, carried), self._at(inputs, self._first + i)
            )
            state = nest.flatten(state)
            return state, state + nest.flatten(extra)

        last, stacked = _loop(self._count, step, states, states + extras)
        stacked = self._padded(stacked)
        return stacked[: len(states)], last, stacked[len(states) :]

    def _backward(self, flat, made, grads):
        """Gradients of theta, state0 and inputs, flat."""
        theta, state0, inputs = nest.pack_sequence_as(self._structures, flat)
        of_theta, states, of_inputs = nest.flatten(theta), nest.flatten(state0), nest.flatten(inputs)
        acc_state, _, acc_extras = made
        d_acc, d_last = grads[: len(states)], grads[len(states) : 2 * len(states)]

        def step(i, carried):
            t = self._first + self._count - 1 - i
            d_state = [
                d + array_ops.gather(of_step, t) for d, of_step in zip(carried[len(of_theta) :], d_acc)
            ]
            before = [
                control_flow_ops.cond(
                    math_ops.equal(t, self._first),
                    lambda s=s: s,
                    lambda acc=acc: array_ops.gather(acc, t - 1),
                )
                for s, acc in zip(states, acc_state)
            ]
            arguments = theta, nest.pack_sequence_as(state0, before), self._at(inputs, t)
            extras = nest.pack_sequence_as(self._extras, [array_ops.gather(x, t) for x in acc_extras])
            d_theta, d_state, d_inputs = self._cell_grad(
                *arguments, extras, nest.pack_sequence_as(state0, d_state)
            )
            d_theta, d_state, d_inputs = (
                nest.flatten(_like(d, x)) for d, x in zip((d_theta, d_state, d_inputs), arguments)
            )
            sums = [total + d for total, d in zip(carried, d_theta)]
            return sums + d_state, d_inputs

        zeros = [array_ops.zeros_like(t) for t in of_theta]
        inputs_t = [array_ops.gather(x, 0) for x in of_inputs]
        carried, stacked = _loop(self._count, step, zeros + list(d_last), inputs_t)
        d_inputs = self._padded([array_ops.reverse(x, [0]) for x in stacked])
        return carried + d_inputs

    def compute(self):
        """(states of all steps, last state)."""

        @custom_gradient.custom_gradient
        def recurrence(*flat):
            made = self._forward(flat)
            outputs = [*made[0], *made[1]]

            def gradient(*grads):
                grads = [array_ops.zeros_like(y) if d is None else d for y, d in zip(outputs, grads)]
                return self._backward(flat, made, grads)

            return outputs, gradient

        outputs = recurrence(*nest.flatten(self._structures))
        half = len(outputs) // 2
        return tuple(nest.pack_sequence_as(self._state0, part) for part in (outputs[:half], outputs[half:]))


def _gradient_of(cell_fn):
    """The gradient of a cell, which computes it again."""

    def cell_grad(theta, state0, inputs, extras, dstate1):
        # Nodes of the body of the loop: gradients within it end there.
        arguments = nest.map_structure(array_ops.identity, (theta, state0, inputs))
        state1, _ = cell_fn(*arguments)
        grads = gradients_impl.gradients(
            nest.flatten(state1), nest.flatten(arguments), grad_ys=nest.flatten(dstate1)
        )
        return _like(nest.pack_sequence_as(arguments, grads), arguments)

    return cell_grad


def _has_one_step(inputs, max_input_length):
    if not isinstance(max_input_length, ops.Tensor):
        return max_input_length == 1
    shapes = [x.get_shape() for x in nest.flatten(inputs)]
    return all(s.ndims is not None and tensor_shape.dimension_value(s[0]) == 1 for s in shapes)


def Recurrent(
    theta,
    state0,
    inputs,
    cell_fn,
    cell_grad=None,
    extras=None,
    max_input_length=None,
    use_tpu=False,
    aligned_end=False,
):
    """(states of all steps, last state) of a cell over the first dimension of inputs.

    theta, state0, inputs: structures of tensors: weights, the first state, inputs. cell_fn: a function of
    (theta, state, inputs of a step) that gives the next state and extras, what its gradient needs; it
    takes no other tensors. cell_grad: a function of (theta, state, inputs, extras, gradient of the next
    state) that gives the gradients of the first three; by default the cell is computed again. extras: a
    structure as cell_fn's. max_input_length: the number of steps that are computed, at the beginning of
    the inputs, or with aligned_end at their end; states of others are zeros.
    """
    if use_tpu:
        raise NotImplementedError("Recurrent(use_tpu=True): Braid has no TPUs")
    if cell_grad is None and _has_one_step(inputs, max_input_length):
        first = nest.map_structure(lambda x: array_ops.squeeze(x, axis=0), inputs)
        state1, _ = cell_fn(theta, state0, first)
        return nest.map_structure(lambda x: array_ops.expand_dims(x, axis=0), state1), state1
    one = nest.map_structure(lambda x: array_ops.gather(x, 0), inputs)
    _check_pure(cell_fn, "cell_fn", (theta, state0, one))
    if extras is None:
        _, extras = cell_fn(theta, state0, one)
    if cell_grad is None:
        cell_grad = _gradient_of(cell_fn)
    else:
        _check_pure(cell_grad, "cell_grad", (theta, state0, one, extras, state0))
    return _Recurrence(
        theta, state0, inputs, extras, cell_fn, cell_grad, max_input_length, aligned_end
    ).compute()
