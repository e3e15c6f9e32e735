"""tf.math.confusion_matrix, and labels and predictions brought to the same rank."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.util.tf_export import tf_export


def remove_squeezable_dimensions(labels, predictions, expected_rank_diff=0, name=None):
    """Both, one without its last axis, of size 1, if it has a rank more than expected.

    `expected_rank_diff` is the rank of predictions less that of labels.
    """
    with ops.name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions = ops.convert_to_tensor(predictions)
        labels = ops.convert_to_tensor(labels)
        predictions_rank = predictions.get_shape().ndims
        labels_rank = labels.get_shape().ndims
        if labels_rank is not None and predictions_rank is not None:
            difference = predictions_rank - labels_rank
            if difference == expected_rank_diff + 1:
                predictions = array_ops.squeeze(predictions, [-1])
            elif difference == expected_rank_diff - 1:
                labels = array_ops.squeeze(labels, [-1])
            return labels, predictions
        difference = array_ops.rank(predictions) - array_ops.rank(labels)
        if predictions_rank is None or predictions.get_shape().dims[-1].is_compatible_with(1):
            unsqueezed_predictions = predictions
            predictions = control_flow_ops.cond(
                math_ops.equal(expected_rank_diff + 1, difference),
                lambda: array_ops.squeeze(unsqueezed_predictions, [-1]),
                lambda: unsqueezed_predictions,
            )
        if labels_rank is None or labels.get_shape().dims[-1].is_compatible_with(1):
            unsqueezed_labels = labels
            labels = control_flow_ops.cond(
                math_ops.equal(expected_rank_diff - 1, difference),
                lambda: array_ops.squeeze(unsqueezed_labels, [-1]),
                lambda: unsqueezed_labels,
            )
        return labels, predictions


@tf_export(v1=["math.confusion_matrix", "confusion_matrix"])
def confusion_matrix_v1(labels, predictions, num_classes=None, dtype=dtypes.int32, name=None, weights=None):
    """[classes, classes]: how often (or with what weight) a label was predicted as what."""
    with ops.name_scope(name, "confusion_matrix", (predictions, labels, num_classes, weights)):
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        predictions = math_ops.cast(predictions, dtypes.int64)
        labels = math_ops.cast(labels, dtypes.int64)
        labels = control_flow_ops.with_dependencies(
            [check_ops.assert_non_negative(labels, message="`labels` contains negative values")], labels
        )
        predictions = control_flow_ops.with_dependencies(
            [check_ops.assert_non_negative(predictions, message="`predictions` contains negative values")],
            predictions,
        )
        if num_classes is None:
            num_classes = math_ops.maximum(math_ops.reduce_max(predictions), math_ops.reduce_max(labels)) + 1
        else:
            num_classes = math_ops.cast(num_classes, dtypes.int64)
            labels = control_flow_ops.with_dependencies(
                [check_ops.assert_less(labels, num_classes, message="`labels` out of bound")], labels
            )
            predictions = control_flow_ops.with_dependencies(
                [check_ops.assert_less(predictions, num_classes, message="`predictions` out of bound")],
                predictions,
            )
        if weights is not None:
            weights = ops.convert_to_tensor(weights, name="weights")
            predictions.get_shape().assert_is_compatible_with(weights.get_shape())
            weights = math_ops.cast(weights, dtype)
        shape = array_ops.stack([num_classes, num_classes])
        indices = array_ops.stack([labels, predictions], axis=1)
        values = array_ops.ones_like(predictions, dtype) if weights is None else weights
        counted = sparse_tensor.SparseTensor(indices, values, math_ops.cast(shape, dtypes.int64))
        zeros = array_ops.zeros(math_ops.cast(shape, dtypes.int32), dtype)
        return sparse_ops.sparse_add(zeros, counted)


def confusion_matrix(labels, predictions, num_classes=None, weights=None, dtype=dtypes.int32, name=None):
    """confusion_matrix_v1() with its arguments in TensorFlow 2's order."""
    return confusion_matrix_v1(labels, predictions, num_classes, dtype, name, weights)
