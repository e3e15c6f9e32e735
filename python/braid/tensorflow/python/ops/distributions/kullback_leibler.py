"""The Kullback-Leibler divergence of distributions, by functions that are registered for their classes."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util.tf_export import tf_export

_DIVERGENCES = {}


def _registered_kl(type_a, type_b):
    """The function for the nearest base classes of both; None: there is none."""
    pairs = [
        (i + j, _DIVERGENCES[a, b])
        for i, a in enumerate(type_a.__mro__)
        for j, b in enumerate(type_b.__mro__)
        if (a, b) in _DIVERGENCES
    ]
    return min(pairs, key=lambda pair: pair[0])[1] if pairs else None


@tf_export(v1=["distributions.kl_divergence"])
def kl_divergence(distribution_a, distribution_b, allow_nan_stats=True, name=None):
    """The mean of log(p_a / p_b) under a. NotImplementedError: none is registered for the two classes."""
    function = _registered_kl(type(distribution_a), type(distribution_b))
    if function is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type %s and "
            "distribution_b type %s" % (type(distribution_a).__name__, type(distribution_b).__name__)
        )
    with ops.name_scope("KullbackLeibler"):
        made = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return made
        made = array_ops.identity(made, name="kl")
        message = "KL calculation between %s and %s returned NaN values" % (
            distribution_a.name,
            distribution_b.name,
        )
        is_nan = math_ops.reduce_any(math_ops.is_nan(made))
        check = control_flow_ops.Assert(math_ops.logical_not(is_nan), [message, made])
        with ops.control_dependencies([check]):
            return array_ops.identity(made, name="checked_kl")


def cross_entropy(ref, other, allow_nan_stats=True, name=None):
    """The mean of -log(p_other) under `ref`."""
    with ops.name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)


@tf_export(v1=["distributions.RegisterKL"])
class RegisterKL:
    """Decorates the divergence of two classes: function(a, b, name=None)."""

    def __init__(self, dist_cls_a, dist_cls_b):
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn):
        if not callable(kl_fn):
            raise TypeError("kl_fn must be callable, received: %s" % kl_fn)
        if self._key in _DIVERGENCES:
            raise ValueError(
                "KL(%s || %s) has already been registered" % tuple(kind.__name__ for kind in self._key)
            )
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn
