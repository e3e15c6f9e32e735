"""What a function that `pfor` runs may ask for, and converters of ops, which Braid has no need of."""

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops


class ReductionNeeded(Exception):
    """A value of an iteration has to be reduced over all iterations before it goes on."""

    def __init__(self, fn, value):
        super().__init__("a reduction over the iterations of pfor")
        self.fn, self.value = fn, value


class PForConfig:
    """Reductions over all iterations, for the argument `pfor_config` of a function that `pfor` runs.

    The function is built again for each reduction, up to that.
    """

    def __init__(self):
        self._results = []  # of the reductions that are known
        self._count = 0  # those of the function so far

    def _begin(self):
        self._count = 0

    def _has_reductions(self):
        return self._count > 0

    def _reduce(self, fn, x):
        """fn of the values of x of all iterations, stacked."""
        self._count += 1
        if self._count > len(self._results):
            raise ReductionNeeded(fn, x)
        return self._results[self._count - 1]

    def reduce_concat(self, x):
        """The values of x of all iterations, stacked."""
        return self._reduce(array_ops.identity, x)

    def reduce_mean(self, x):
        """The mean of the values of x of all iterations."""
        return self._reduce(lambda stacked: math_ops.reduce_mean(stacked, axis=0), x)

    def reduce_sum(self, x):
        """The sum of the values of x of all iterations."""
        return self._reduce(lambda stacked: math_ops.reduce_sum(stacked, axis=0), x)


class RegisterPFor:
    """A decorator without effect: iterations run as they are, so any op may be in one."""

    def __init__(self, op_type, *args, **kwargs):
        self.op_type = op_type

    def __call__(self, converter):
        return converter


RegisterPForWithArgs = RegisterPFor
