"""Neural networks (tf.nn): the functions of nn_ops, nn_impl and the modules beside them."""

from braid.tensorflow.python.ops import candidate_sampling_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import gen_nn_ops

_MODULES = (nn_impl, nn_ops, embedding_ops, candidate_sampling_ops, gen_nn_ops, math_ops)


def __getattr__(name):
    if not name.startswith("__"):
        for module in _MODULES:
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
