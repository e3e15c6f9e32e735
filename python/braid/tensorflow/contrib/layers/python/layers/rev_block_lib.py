"""Blocks of reversible residual layers, and functions that their gradients compute again: both save memory.

A reversible layer gives y1 = x1 + f(x2) and y2 = x2 + g(y1), so that x2 = y2 - g(y1) and x1 = y1 - f(x2):
the gradients compute the inputs of each layer from its outputs, and nothing is kept but the outputs of the
last one.
"""

import functools

import numpy as np

from braid.tensorflow.contrib.framework.python.ops.arg_scope import arg_scope, current_arg_scope
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.layers import base
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import custom_gradient
from braid.tensorflow.python.ops import gradients_impl
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.ops import variables as variables_lib
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util import tf_inspect

__all__ = ["rev_block", "RevBlock", "recompute_grad"]

_OTHER_VARIABLES = (
    "The variables used on recompute were different than the variables originally used. A function in "
    "@recompute_grad that opens a variable scope by a default name, and is called twice in the same enclosing "
    "scope, does this: call it in scopes of different names."
)


def _sum_of_each(*lists):
    """Sums of the first, the second... of the lists, without those that are None."""
    sums = []
    for parts in zip(*lists):
        parts = [part for part in parts if part is not None]
        sums.append(math_ops.add_n(parts) if parts else None)
    return sums


def _call(fn, x, side_input):
    return fn(x, side_input) if side_input else fn(x)


def _inputs_of(y1, y2, f, g, f_side_input, g_side_input):
    """(x1, x2) of a layer."""
    x2 = y2 - _call(g, y1, g_side_input)
    return y1 - _call(f, x2, f_side_input), x2


def _layer_backward(y, grad_y, f, g, f_side_input, g_side_input, variables):
    """(x, grad_x, gradients of the variables, of the side inputs of f, and of those of g) of a layer."""
    (y1, y2), (grad_y1, grad_y2) = y, grad_y
    y1 = array_ops.stop_gradient(y1)
    g_side_input = [array_ops.stop_gradient(t) for t in g_side_input]
    f_side_input = [array_ops.stop_gradient(t) for t in f_side_input]
    of_g = _call(g, y1, g_side_input)
    x2 = array_ops.stop_gradient(y2 - of_g)
    of_f = _call(f, x2, f_side_input)
    x1 = y1 - of_f
    from_g = gradients_impl.gradients(of_g, [y1, *variables, *g_side_input], grad_y2)
    grad_x1 = _sum_of_each([grad_y1], from_g[:1])[0]
    from_f = gradients_impl.gradients(of_f, [x2, *variables, *f_side_input], grad_x1)
    grad_x2 = _sum_of_each([grad_y2], from_f[:1])[0]
    end = 1 + len(variables)
    of_variables = _sum_of_each(from_g[1:end], from_f[1:end])
    made = ((x1, x2), (grad_x1, grad_x2), of_variables, from_f[end:], from_g[end:])
    # Together: a layer is done with before the next one begins.
    return nest.pack_sequence_as(made, control_flow_ops.tuple(nest.flatten(made)))


def _wraps(fn):
    """functools.wraps(), which partial functions have no attributes for."""
    return (lambda f: f) if isinstance(fn, functools.partial) else functools.wraps(fn)


def _in_scope(fn, scope):
    @_wraps(fn)
    def scoped(*args, **kwargs):
        with variable_scope.variable_scope(scope, use_resource=True):
            return fn(*args, **kwargs)

    return scoped


class RevBlock(base.Layer):
    """A block of reversible layers, as a layer."""

    def __init__(
        self,
        f,
        g,
        num_layers=1,
        f_side_input=None,
        g_side_input=None,
        use_efficient_backprop=True,
        name="revblock",
        **kwargs,
    ):
        """f, g: functions of a tensor, and of a list of side inputs where there are some, or a list of one
        for each layer. They give a tensor of the same shape. use_efficient_backprop: False: what the layers
        give is kept for the gradients.
        """
        super().__init__(name=name, **kwargs)
        f, g = (fn if isinstance(fn, list) else [fn] * num_layers for fn in (f, g))
        assert len(f) == num_layers and len(g) == num_layers
        self.f = [_in_scope(fn, f"revlayer_{i}/f") for i, fn in enumerate(f)]
        self.g = [_in_scope(fn, f"revlayer_{i}/g") for i, fn in enumerate(g)]
        self.num_layers = num_layers
        self.f_side_input, self.g_side_input = f_side_input or [], g_side_input or []
        self._use_efficient_backprop = use_efficient_backprop

    def build(self, _):
        logging.warn("RevBlock constructs its variables on first call, not on build.")
        self.built = True

    def call(self, inputs, forward=True):
        scope = variable_scope.get_variable_scope()
        before = len(scope.global_variables())
        result = (self._forward if forward else self._backward)(*inputs)
        trainable = scope.trainable_variables()
        for v in scope.global_variables()[before:]:
            is_trainable = any(v is t for t in trainable)
            (self._trainable_weights if is_trainable else self._non_trainable_weights).append(v)
        return result

    def forward(self, x1, x2):
        """(y1, y2) of the last layer."""
        return self.apply([x1, x2])

    def backward(self, y1, y2):
        """(x1, x2) of the first layer."""
        return self.apply([y1, y2], forward=False)

    def _layers(self, x1, x2, f_side_input, g_side_input):
        for f, g in zip(self.f, self.g):
            y1 = x1 + _call(f, x2, f_side_input)
            y2 = x2 + _call(g, y1, g_side_input)
            x1, x2 = control_flow_ops.tuple([y1, y2]) if self._use_efficient_backprop else (y1, y2)
        return x1, x2

    def _forward(self, x1, x2):
        if not self._use_efficient_backprop:
            return self._layers(x1, x2, self.f_side_input, self.g_side_input)
        count = len(self.f_side_input)

        @custom_gradient.custom_gradient
        def forward(x1, x2, *side_inputs):
            f_side, g_side = list(side_inputs[:count]), list(side_inputs[count:])
            y = self._layers(x1, x2, f_side, g_side)

            def gradient(*grad_y, variables=None):
                grads, of_variables = self._gradients(y, grad_y, f_side, g_side, list(variables or []))
                return (grads, of_variables) if variables else grads

            return y, gradient

        return forward(x1, x2, *self.f_side_input, *self.g_side_input)

    def _gradients(self, y, grad_y, f_side_input, g_side_input, variables):
        """([of x1, of x2, of side inputs...], [of variables])."""
        of_variables, of_f_side, of_g_side = [], [], []
        with variable_scope.variable_scope(self.scope_name, reuse=True):
            for f, g in zip(reversed(self.f), reversed(self.g)):
                y, grad_y, *parts = _layer_backward(y, grad_y, f, g, f_side_input, g_side_input, variables)
                for found, part in zip((of_variables, of_f_side, of_g_side), parts):
                    found.append(part)
        sides = _sum_of_each(*of_f_side) + _sum_of_each(*of_g_side)
        return [*grad_y, *sides], _sum_of_each(*of_variables)

    def _backward(self, y1, y2):
        for f, g in zip(reversed(self.f), reversed(self.g)):
            y1, y2 = _inputs_of(y1, y2, f, g, self.f_side_input, self.g_side_input)
        return y1, y2


def rev_block(x1, x2, f, g, num_layers=1, f_side_input=None, g_side_input=None, is_training=True):
    """(y1, y2) of a block of reversible layers: see RevBlock. is_training: the inputs are computed again."""
    block = RevBlock(
        f=f,
        g=g,
        num_layers=num_layers,
        f_side_input=f_side_input,
        g_side_input=g_side_input,
        use_efficient_backprop=is_training,
        _reuse=variable_scope.get_variable_scope().reuse,
    )
    return block.forward(x1, x2)


def recompute_grad(fn=None, use_data_dep=False, tupleize_grads=False):
    """A function as `fn` whose gradients compute its values again. A decorator, also with arguments.

    fn: a function of tensors, which uses no other tensors. With an argument `is_recomputing` it is told
    whether it is called by the gradients. use_data_dep: the second time waits for the gradients by its data,
    too, and not by control edges alone. tupleize_grads: no gradient is used before all are there.
    """
    if fn is None or not callable(fn):
        if fn is not None:
            use_data_dep = fn
        return functools.partial(recompute_grad, use_data_dep=use_data_dep, tupleize_grads=tupleize_grads)
    code = getattr(fn, "__code__", None)
    for name, cell in zip(code.co_freevars if code else (), fn.__closure__ or () if code else ()):
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if isinstance(value, (ops.Tensor, variables_lib.Variable)):
            raise ValueError(
                f"fn decorated with @recompute_grad closes over Tensor {value.name} (local variable name: "
                f"{name}). The decorated fn must not close over Tensors or Variables because gradients will NOT "
                "be computed for them through fn. To ensure correct gradients, make the Tensor an input to fn."
            )
    is_told = "is_recomputing" in tf_inspect.getfullargspec(fn).args

    @_wraps(fn)
    def wrapped(*args):
        if not all(isinstance(arg, ops.Tensor) for arg in args):
            raise ValueError("All inputs to function must be Tensors")
        return _recomputed(fn, args, use_data_dep, tupleize_grads, is_told)

    return wrapped


def _with_variables(fn, args, kwargs):
    """(what fn returns, {id: resource variable that it used})."""
    graph = ops.get_default_graph()
    first = len(graph.get_operations())
    outputs = fn(*args, **kwargs)
    return outputs, {id(v): v for v in custom_gradient._variables_used(graph, first, args)}


def _recomputed(fn, args, use_data_dep, tupleize_grads, is_told):
    scope, arguments = variable_scope.get_variable_scope(), current_arg_scope()

    @custom_gradient.custom_gradient
    def call(*args):
        outputs, used = _with_variables(fn, args, {"is_recomputing": False} if is_told else {})

        def gradient(*output_grads, variables=None):
            variables = list(variables or [])
            if {id(v) for v in variables} != set(used):
                raise ValueError(_OTHER_VARIABLES)
            given = [grad for grad in output_grads if grad is not None]
            with ops.control_dependencies(given):
                inputs = [array_ops.identity(x) for x in args]
                if use_data_dep:
                    inputs = _after(given, inputs)
                with arg_scope(arguments), variable_scope.variable_scope(scope, reuse=True):
                    again, used_again = _with_variables(
                        fn, inputs, {"is_recomputing": True} if is_told else {}
                    )
                if set(used_again) != set(used):
                    raise ValueError(_OTHER_VARIABLES)
            grads = gradients_impl.gradients(nest.flatten(again), inputs + variables, list(output_grads))
            if tupleize_grads:
                grads = _after(grads, grads) if use_data_dep else control_flow_ops.tuple(grads)
            of_args = grads[: len(inputs)]
            return (of_args, grads[len(inputs) :]) if variables else of_args

        return outputs, gradient

    return call(*args)


def _after(first, tensors):
    """The tensors, of which the values depend on all of `first` by a sum that adds nothing."""

    def element(x):
        rank = x.get_shape().ndims
        if rank is None:
            raise ValueError(f"Rank of Tensor {x} must be known")
        return array_ops.reshape(array_ops.slice(x, [0] * rank, [1] * rank), [])

    total = math_ops.add_n([element(x) for x in first if x is not None])
    if not dtypes.as_dtype(total.dtype).is_floating:
        raise ValueError("use_data_dep only supports floating dtypes.")
    nothing = array_ops.stop_gradient(np.finfo(total.dtype.as_numpy_dtype).tiny * total)
    return [x if x is None else array_ops.identity(x) + nothing for x in tensors]
