"""The area below the ROC curve by histograms of the scores of both classes."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import histogram_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variable_scope

__all__ = ["auc_using_histogram"]


def _checked(boolean_labels, scores, check_shape):
    labels = ops.convert_to_tensor(boolean_labels, name="boolean_labels")
    scores = ops.convert_to_tensor(scores, name="scores")
    if labels.dtype != dtypes.bool:
        raise ValueError(f"Argument boolean_labels should have dtype bool.  Found: {labels.dtype}")
    if not check_shape:
        return labels, scores

    def is_vector(tensor, what):
        return control_flow_ops.Assert(
            math_ops.equal(1, array_ops.rank(tensor)),
            [f"Argument {what} should have rank 1.  Found: ", tensor.name, array_ops.shape(tensor)],
        )

    with ops.control_dependencies([is_vector(labels, "boolean_labels"), is_vector(scores, "scores")]):
        return array_ops.identity(labels), array_ops.identity(scores)


def auc_using_histogram(
    boolean_labels, scores, score_range, nbins=100, collections=None, check_shape=True, name=None
):
    """(the area, an op that adds a batch). score_range: the least and the greatest score; others go to the
    ends."""
    if collections is None:
        collections = [ops.GraphKeys.LOCAL_VARIABLES]
    with variable_scope.variable_scope(name, "auc_using_histogram", [boolean_labels, scores, score_range]):
        score_range = ops.convert_to_tensor(score_range, name="score_range")
        labels, scores = _checked(boolean_labels, scores, check_shape)

        def of_class(is_member, name):
            with variable_scope.variable_scope("hist_accumulate"):
                total = variable_scope.get_variable(
                    f"{name}_acc",
                    shape=[nbins],
                    dtype=dtypes.int64,
                    initializer=init_ops.zeros_initializer(),
                    collections=collections,
                    trainable=False,
                )
            chosen = array_ops.boolean_mask(scores, is_member)
            counts = histogram_ops.histogram_fixed_width(
                chosen, score_range, nbins=nbins, dtype=dtypes.int64, name=name
            )
            share = math_ops.truediv(total, math_ops.reduce_sum(total))
            return math_ops.cast(share, dtypes.float32), total.assign_add(counts)

        true, add_true = of_class(labels, "hist_true")
        false, add_false = of_class(math_ops.logical_not(labels), "hist_false")
        update_op = control_flow_ops.group(add_true, add_false, name="update_op")
        # From the highest threshold to the lowest, the curve goes up by the trues of a bin, and right by its
        # falses.
        recall = math_ops.cumsum(true, reverse=True)
        auc = math_ops.reduce_sum(false * (recall - true / 2.0), name="auc")
        return auc, update_op
