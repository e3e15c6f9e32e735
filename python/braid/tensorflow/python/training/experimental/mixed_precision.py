"""What tf.train.experimental.enable_mixed_precision_graph_rewrite does without a rewrite: scale losses."""

from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training import optimizer
from braid.tensorflow.python.training.experimental import loss_scale_optimizer
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.experimental.enable_mixed_precision_graph_rewrite"])
def enable_mixed_precision_graph_rewrite_v1(opt, loss_scale="dynamic"):
    """The optimizer with a scaled loss. Braid does not rewrite the graph: it computes in the types that it
    has, as TensorFlow does on CPUs.
    """
    if isinstance(opt, loss_scale_optimizer.MixedPrecisionLossScaleOptimizer):
        raise ValueError(
            '"opt" must not already be an instance of a MixedPrecisionLossScaleOptimizer. '
            "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with a "
            "MixedPrecisionLossScaleOptimizer."
        )
    if not isinstance(opt, optimizer.Optimizer):
        raise ValueError(f'"opt" must be an instance of a tf.train.Optimizer, but got: {opt}')
    logging.warning("Braid keeps the types of the graph: no op is changed to half precision.")
    return loss_scale_optimizer.MixedPrecisionLossScaleOptimizer(opt, loss_scale)


@tf_export(v1=["train.experimental.disable_mixed_precision_graph_rewrite"])
def disable_mixed_precision_graph_rewrite_v1():
    """Changes nothing: graphs are not rewritten."""
    logging.warning(
        "disable_mixed_precision_graph_rewrite() called when mixed precision is already disabled."
    )
