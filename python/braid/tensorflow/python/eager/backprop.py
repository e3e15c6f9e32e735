"""Gradients of eager execution, which Braid refuses: tf.gradients gives those of graphs."""

from braid.tensorflow.python.util.tf_export import tf_export

_WAY = "is not in Braid: build a graph, and tf.gradients gives its derivatives"


@tf_export("GradientTape")
class GradientTape:
    def __init__(self, persistent=False, watch_accessed_variables=True):
        raise NotImplementedError(f"tf.GradientTape {_WAY}")


def implicit_grad(f):
    raise NotImplementedError(f"implicit_grad {_WAY}")


implicit_val_and_grad = gradients_function = val_and_grad_function = implicit_grad
