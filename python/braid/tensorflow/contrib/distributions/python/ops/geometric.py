"""The geometric distribution."""

import numpy as np

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import random_ops
from braid.tensorflow.python.ops.distributions import distribution
from braid.tensorflow.python.ops.distributions import util


__all__ = ["Geometric"]


class Geometric(distribution.ScalarDistribution):
    """How many draws fail before the first that succeeds, with the probability `probs` (or of the log-odds
    `logits`)."""

    def __init__(self, logits=None, probs=None, validate_args=False, allow_nan_stats=True, name="Geometric"):
        parameters = dict(locals())
        with ops.name_scope(name, values=[logits, probs]) as name:
            self._logits, self._probs = util.get_logits_and_probs(
                logits, probs, validate_args=validate_args, name=name
            )
            with util.positive(validate_args, self._probs):
                self._probs = array_ops.identity(self._probs, name="probs")
        self._tensors = (self._probs,)
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=distribution.NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._probs, self._logits],
            name=name,
        )

    @property
    def logits(self):
        return self._logits

    @property
    def probs(self):
        return self._probs

    def _whole(self, x):
        x = util.embed_check_nonnegative_integer_form(x) if self.validate_args else math_ops.floor(x)
        return x * array_ops.ones_like(self.probs)

    def _sample_n(self, n, seed=None):
        least = np.finfo(self.dtype.as_numpy_dtype).tiny
        uniform = random_ops.random_uniform(
            array_ops.concat([[n], array_ops.shape(self._probs)], 0),
            minval=least,
            maxval=1.0,
            seed=seed,
            dtype=self.dtype,
        )
        return math_ops.floor(math_ops.log(uniform) / math_ops.log1p(-self.probs))

    def _log_prob(self, x):
        x = self._whole(x)
        probs = self.probs * array_ops.ones_like(x)
        # 0 * log(0) is 0 here.
        safe = array_ops.where(math_ops.equal(x, 0.0), array_ops.zeros_like(probs), probs)
        return x * math_ops.log1p(-safe) + math_ops.log(probs)

    def _cdf(self, x):
        x = self._whole(x)
        is_below, zeros = x < 0.0, array_ops.zeros_like(x)
        return array_ops.where(is_below, zeros, -math_ops.expm1((1.0 + x) * math_ops.log1p(-self.probs)))

    def _entropy(self):
        probs = self.probs
        if self.validate_args:
            message = "Entropy is undefined when logits = inf or probs = 1."
            check = check_ops.assert_less(probs, constant_op.constant(1.0, probs.dtype), message=message)
            probs = control_flow_ops.with_dependencies([check], probs)
        return nn_ops.softplus(self.logits) / probs - self.logits

    def _mean(self):
        return math_ops.exp(-self.logits)

    def _variance(self):
        return self._mean() / self.probs

    def _mode(self):
        return array_ops.zeros(self.batch_shape_tensor(), dtype=self.dtype)
