"""Optimizers that are not ops: a function of Python asks for the loss and its gradient, and gives the variables."""

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gradients
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import tf_logging as logging

__all__ = ["ExternalOptimizerInterface", "ScipyOptimizerInterface"]


def _gradients(y, xs):
    made = gradients.gradients(y, xs)
    return [array_ops.zeros_like(x) if g is None else g for g, x in zip(made, xs)]


class ExternalOptimizerInterface:
    """Optimizes a loss by `_minimize`, which a subclass has; variables are one vector for it.

    Arguments:
      var_list: the trainable variables unless given.
      equalities, inequalities: lists of tensors that are to be 0, or not below 0.
      var_to_bounds: a dictionary from a variable to its (lower, upper) bounds, which broadcast to its shape.
      optimizer_kwargs: are passed to `_minimize`.
    """

    def __init__(
        self, loss, var_list=None, equalities=None, inequalities=None, var_to_bounds=None, **optimizer_kwargs
    ):
        self._loss = loss
        self._equalities = equalities or []
        self._inequalities = inequalities or []
        self._vars = variables.trainable_variables() if var_list is None else list(var_list)
        self._shapes = [tuple(v.get_shape().as_list()) for v in self._vars]
        self._packed_bounds = None
        if var_to_bounds is not None:
            self._packed_bounds = []
            for variable, shape in zip(self._vars, self._shapes):
                bounds = var_to_bounds.get(variable, (-np.inf, np.inf))
                lower, upper = (np.broadcast_to(bound, shape).ravel() for bound in bounds)
                self._packed_bounds += zip(lower, upper)
        self._update_placeholders = [array_ops.placeholder(v.dtype) for v in self._vars]
        self._var_updates = [
            variable.assign(array_ops.reshape(value, shape))
            for variable, shape, value in zip(self._vars, self._shapes, self._update_placeholders)
        ]
        loss_grads = _gradients(loss, self._vars)
        equalities_grads = [_gradients(y, self._vars) for y in self._equalities]
        inequalities_grads = [_gradients(y, self._vars) for y in self._inequalities]
        self.optimizer_kwargs = optimizer_kwargs
        self._packed_var = self._pack(self._vars)
        self._packed_loss_grad = self._pack(loss_grads)
        self._packed_equality_grads = [self._pack(grads) for grads in equalities_grads]
        self._packed_inequality_grads = [self._pack(grads) for grads in inequalities_grads]
        ends = np.cumsum([0] + [int(np.prod(shape)) for shape in self._shapes])
        self._packing_slices = [slice(a, b) for a, b in zip(ends[:-1], ends[1:])]

    def minimize(
        self,
        session=None,
        feed_dict=None,
        fetches=None,
        step_callback=None,
        loss_callback=None,
        **run_kwargs,
    ):
        """Minimizes the loss, and assigns the variables at the end.

        fetches: computed with each loss; loss_callback(*values) gets them. step_callback(x): called with the
        vector of all variables after each iteration. run_kwargs: of the Session.run that assigns.
        """
        session = session or ops.get_default_session()
        feed_dict = feed_dict or {}
        fetches = fetches or []

        def functions(tensors):
            return [self._make_eval_func(tensor, session, feed_dict, fetches) for tensor in tensors]

        loss_and_gradient = self._make_eval_func(
            [self._loss, self._packed_loss_grad], session, feed_dict, fetches, loss_callback
        )
        found = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=loss_and_gradient,
            equality_funcs=functions(self._equalities),
            equality_grad_funcs=functions(self._packed_equality_grads),
            inequality_funcs=functions(self._inequalities),
            inequality_grad_funcs=functions(self._packed_inequality_grads),
            packed_bounds=self._packed_bounds,
            step_callback=step_callback or (lambda x: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )
        values = [found[part] for part in self._packing_slices]
        session.run(self._var_updates, dict(zip(self._update_placeholders, values)), **run_kwargs)

    def _minimize(
        self,
        initial_val,
        loss_grad_func,
        equality_funcs,
        equality_grad_funcs,
        inequality_funcs,
        inequality_grad_funcs,
        packed_bounds,
        step_callback,
        optimizer_kwargs,
    ):
        """The vector of variables where loss_grad_func(vector) -> [loss, gradient] is least."""
        raise NotImplementedError("ExternalOptimizerInterface: a subclass has the method _minimize()")

    @classmethod
    def _pack(cls, tensors):
        if not tensors:
            return None
        flat = [array_ops.reshape(tensor, [-1]) for tensor in tensors]
        return flat[0] if len(flat) == 1 else array_ops.concat(flat, 0)

    def _make_eval_func(self, tensors, session, feed_dict, fetches, callback=None):
        tensors = tensors if isinstance(tensors, list) else [tensors]

        def evaluate(x):
            fed = {
                variable: x[part].reshape(shape)
                for variable, part, shape in zip(self._vars, self._packing_slices, self._shapes)
            }
            fed.update(feed_dict)
            values = session.run(tensors + list(fetches), fed)
            if callable(callback):
                callback(*values[len(tensors) :])
            return values[: len(tensors)]

        return evaluate


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Optimizes by scipy.optimize.minimize, whose arguments (method=, options=, tol=) the constructor takes."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self,
        initial_val,
        loss_grad_func,
        equality_funcs,
        equality_grad_funcs,
        inequality_funcs,
        inequality_grad_funcs,
        packed_bounds,
        step_callback,
        optimizer_kwargs,
    ):
        def loss_and_gradient(x):
            loss, gradient = loss_grad_func(x)
            return loss, gradient.astype("float64")

        def value_of(function):  # scipy wants an array
            return lambda x: function(x)[0]

        constraints = [
            {"type": kind, "fun": value_of(function), "jac": value_of(gradient)}
            for kind, functions, grads in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for function, gradient in zip(functions, grads)
        ]
        arguments = {
            "jac": True,
            "callback": step_callback,
            "method": self._DEFAULT_METHOD,
            "constraints": constraints,
            "bounds": packed_bounds,
        }
        given = dict(optimizer_kwargs)
        arguments["method"] = given.pop("method", self._DEFAULT_METHOD)
        for name in arguments:
            if name in given:
                if name == "bounds":
                    raise ValueError("Bounds must be set using the var_to_bounds argument")
                raise ValueError(
                    f"Optimizer keyword arg '{name}' is set automatically and cannot be injected manually"
                )
        arguments.update(given)
        try:
            import scipy.optimize
        except ImportError as error:
            raise ImportError(f"ScipyOptimizerInterface needs the package scipy: {error}") from error

        result = scipy.optimize.minimize(loss_and_gradient, initial_val, **arguments)
        logging.info(
            "Optimization terminated with:\n  Message: %s\n  Objective function value: %f\n"
            "  Number of iterations: %s\n  Number of functions evaluations: %s",
            result.message,
            result.fun,
            result.get("nit", "unknown"),
            result.get("nfev", "unknown"),
        )
        return result["x"]
