"""Optimizers of constrained problems: each wraps a tf.train.Optimizer, or two."""

import abc
import contextlib

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops, state_ops, variables
from braid.tensorflow.python.training import optimizer as train_optimizer


def _after(pre_train_ops):
    """A context: what is made runs after these ops, if there are some."""
    return ops.control_dependencies(pre_train_ops) if pre_train_ops else contextlib.nullcontext()


class ConstrainedOptimizer(abc.ABC):
    """Minimizes ConstrainedMinimizationProblems. Arguments that are not told are those of Optimizer.minimize."""

    def __init__(self, optimizer):
        self._optimizer = optimizer

    @property
    def optimizer(self):
        """The tf.train.Optimizer of the model."""
        return self._optimizer

    @abc.abstractmethod
    def _minimize_constrained(
        self,
        minimization_problem,
        global_step=None,
        var_list=None,
        gate_gradients=train_optimizer.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """The op of a step, without the problem's pre_train_ops."""

    def minimize_constrained(
        self,
        minimization_problem,
        global_step=None,
        var_list=None,
        gate_gradients=train_optimizer.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """An op that makes a step under the constraints."""
        with _after(minimization_problem.pre_train_ops):
            return self._minimize_constrained(
                minimization_problem,
                global_step=global_step,
                var_list=var_list,
                gate_gradients=gate_gradients,
                aggregation_method=aggregation_method,
                colocate_gradients_with_ops=colocate_gradients_with_ops,
                name=name,
                grad_loss=grad_loss,
            )

    def minimize_unconstrained(
        self,
        minimization_problem,
        global_step=None,
        var_list=None,
        gate_gradients=train_optimizer.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """An op that makes a step for the objective alone."""
        with _after(minimization_problem.pre_train_ops):
            return self.optimizer.minimize(
                minimization_problem.objective,
                global_step=global_step,
                var_list=var_list,
                gate_gradients=gate_gradients,
                aggregation_method=aggregation_method,
                colocate_gradients_with_ops=colocate_gradients_with_ops,
                name=name,
                grad_loss=grad_loss,
            )

    def minimize(
        self,
        minimization_problem,
        unconstrained_steps=None,
        global_step=None,
        var_list=None,
        gate_gradients=train_optimizer.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """An op that makes a step under the constraints, but for the first unconstrained_steps.

        Raises:
          ValueError: there is no global_step with unconstrained_steps.
        """
        arguments = dict(
            minimization_problem=minimization_problem,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )
        if unconstrained_steps is None:
            return self.minimize_constrained(**arguments)
        if global_step is None:
            raise ValueError("global_step cannot be None if unconstrained_steps is provided")
        steps = ops.convert_to_tensor(unconstrained_steps)
        return control_flow_ops.cond(
            math_ops.cast(global_step, steps.dtype) < steps,
            true_fn=lambda: self.minimize_unconstrained(**arguments),
            false_fn=lambda: self.minimize_constrained(**arguments),
        )


class _GameOptimizer(ConstrainedOptimizer):
    """A game: the model minimizes the objective with weighted constraints, the weights maximize it.

    A variable, the state, has the weights. It is updated by the constraint_optimizer, or else with the model.
    """

    _STATE_NAME = None

    def __init__(self, optimizer, constraint_optimizer=None):
        super().__init__(optimizer=optimizer)
        self._constraint_optimizer = constraint_optimizer

    @property
    def constraint_optimizer(self):
        """The tf.train.Optimizer of the weights, or None."""
        return self._constraint_optimizer

    @abc.abstractmethod
    def _initial_state(self, num_constraints):
        """A tensor."""

    @abc.abstractmethod
    def _loss_and_gradient(self, state, objective, constraints, proxy_constraints):
        """What the model minimizes, and the gradient of the state's weights."""

    @abc.abstractmethod
    def _constraint_grad_and_var(self, state, gradient):
        """What an optimizer applies to the state."""

    @abc.abstractmethod
    def _projection_op(self, state, name=None):
        """An op that makes weights of the state that are allowed."""

    def _minimize_constrained(
        self,
        minimization_problem,
        global_step=None,
        var_list=None,
        gate_gradients=train_optimizer.Optimizer.GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        objective, constraints = minimization_problem.objective, minimization_problem.constraints
        proxy_constraints = minimization_problem.proxy_constraints
        if proxy_constraints is None:
            proxy_constraints = constraints
        if len({x.dtype.base_dtype for x in (objective, constraints, proxy_constraints)}) > 1:
            raise ValueError("objective, constraints and proxy_constraints must have the same dtype")
        count = minimization_problem.num_constraints
        constraints = array_ops.reshape(constraints, shape=(count,))
        proxy_constraints = array_ops.reshape(proxy_constraints, shape=(count,))
        # A function, so that the initial value does not wait for the control dependencies here.
        state = variables.Variable(lambda: self._initial_state(count), trainable=False, name=self._STATE_NAME)
        loss, gradient = self._loss_and_gradient(state, objective, constraints, proxy_constraints)
        of_model = self.optimizer.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        of_state = [self._constraint_grad_and_var(state, gradient)]
        if self.constraint_optimizer is None:
            updates = [self.optimizer.apply_gradients(of_model + of_state, name="update")]
        else:
            gradients = [grad for grad, _ in of_model + of_state if grad is not None]
            with ops.control_dependencies(gradients):
                updates = [
                    self.optimizer.apply_gradients(of_model, name="update"),
                    self.constraint_optimizer.apply_gradients(of_state, name="optimizer_state_update"),
                ]
        with ops.control_dependencies(updates):
            if global_step is None:
                return self._projection_op(state, name=name)
            projection = self._projection_op(state, name="project")
            with ops.colocate_with(global_step):
                increment = state_ops.assign_add(global_step, 1, name="global_step_increment")
            return control_flow_ops.group(projection, increment, name=name)
