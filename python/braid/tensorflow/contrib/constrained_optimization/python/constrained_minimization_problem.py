"""What is minimized under constraints."""

import abc


class ConstrainedMinimizationProblem(abc.ABC):
    """An objective, and constraints that should not be above 0; a program's own class has these."""

    @property
    @abc.abstractmethod
    def objective(self):
        """A scalar."""

    @property
    @abc.abstractmethod
    def constraints(self):
        """A tensor, each of whose elements should be at most 0."""

    @property
    def proxy_constraints(self):
        """What has gradients in place of the constraints, which are then only computed, or None."""
        return None

    @property
    def pre_train_ops(self):
        """Ops that run before each step of training, or None."""
        return None

    @property
    def num_constraints(self):
        """How many constraints there are. ValueError: their shape is not known, or that of the proxies differs."""
        shape = self.constraints.get_shape()
        proxy_shape = shape if self.proxy_constraints is None else self.proxy_constraints.get_shape()
        if not shape.is_fully_defined() or not proxy_shape.is_fully_defined():
            raise ValueError("constraints and proxy_constraints must have fully-known shapes")
        if shape != proxy_shape:
            raise ValueError("constraints and proxy_constraints must have the same shape")
        return int(shape.num_elements())
