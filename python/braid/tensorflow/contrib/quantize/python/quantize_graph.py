"""Rewrites a graph: batch norms are folded into weights, then weights and activations are rounded."""

from braid.tensorflow.contrib.quantize.python import fold_batch_norms
from braid.tensorflow.contrib.quantize.python import quantize
from braid.tensorflow.python.framework import ops


def _create_graph(
    input_graph,
    is_training,
    weight_bits=8,
    activation_bits=8,
    symmetric=False,
    quant_delay=None,
    freeze_bn_delay=None,
    scope=None,
):
    graph = ops.get_default_graph() if input_graph is None else input_graph
    _check_for_training_ops(graph)
    with graph.as_default():
        fold_batch_norms.FoldBatchNorms(
            graph, is_training=is_training, freeze_batch_norm_delay=freeze_bn_delay
        )
        quantize.Quantize(
            graph,
            is_training,
            quant_delay=quant_delay,
            weight_bits=weight_bits,
            activation_bits=activation_bits,
            symmetric=symmetric,
            scope=scope,
        )


def create_training_graph(input_graph=None, quant_delay=0):
    """Rewrites a graph (the default one if None) for training, before an optimizer adds its nodes.

    quant_delay: how many steps are made before tensors are rounded.
    """
    _create_graph(input_graph, True, quant_delay=quant_delay)


def create_eval_graph(input_graph=None):
    """Rewrites a graph for evaluation, with the ranges of the checkpoint."""
    _create_graph(input_graph, False)


def experimental_create_training_graph(
    input_graph=None,
    weight_bits=8,
    activation_bits=8,
    symmetric=False,
    quant_delay=0,
    freeze_bn_delay=None,
    scope=None,
):
    """create_training_graph with settings.

    weight_bits, activation_bits: 2 to 16. symmetric: ranges around 0. freeze_bn_delay: after how many steps
    batch norms use their moving averages; None for never. scope: only nodes in it are rounded.
    """
    _create_graph(
        input_graph, True, weight_bits, activation_bits, symmetric, quant_delay, freeze_bn_delay, scope
    )


def experimental_create_eval_graph(
    input_graph=None, weight_bits=8, activation_bits=8, symmetric=False, quant_delay=None, scope=None
):
    """create_eval_graph with settings. quant_delay: that of training, for the same variables."""
    _create_graph(input_graph, False, weight_bits, activation_bits, symmetric, quant_delay, None, scope)


def _check_for_training_ops(graph):
    """ValueError: the graph has an optimizer's nodes, whose gradients are those of the graph as it was."""
    kinds = ("Apply", "ResourceApply", "SparseApply", "ResourceSparseApply")
    rules = (
        "AdaMax Adadelta Adagrad AdagradDA Adam AddSign CenteredRMSProp Ftrl FtrlV2 GradientDescent Momentum "
        "PowerSign ProximalAdagrad ProximalGradientDescent RMSProp"
    )
    training = {kind + rule for kind in kinds for rule in rules.split()}
    found = training.intersection(op.type for op in graph.get_operations())
    if found:
        raise ValueError(f"Training op found in graph, exiting {found}")
