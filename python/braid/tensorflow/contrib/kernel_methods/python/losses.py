"""The hinge loss of several classes (Crammer and Singer, 2001)."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.losses import losses_impl as losses


def sparse_multiclass_hinge_loss(
    labels,
    logits,
    weights=1.0,
    scope=None,
    loss_collection=ops.GraphKeys.LOSSES,
    reduction=losses.Reduction.SUM_BY_NONZERO_WEIGHTS,
):
    """max(0, 1 + the largest logit of another class - the label's logit).

    labels: integers [batch] or [batch, 1]. weights: a scalar, or of the labels' shape.
    """
    with ops.name_scope(scope, "sparse_multiclass_hinge_loss", (logits, labels)) as scope:
        if logits.get_shape().ndims != 2:
            raise ValueError(
                "logits should have rank 2 ([batch_size, num_classes]). Given rank is "
                f"{logits.get_shape().ndims}"
            )
        classes = array_ops.shape(logits)[1]
        logits = math_ops.cast(logits, dtypes.float32)
        if labels.dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(f"Invalid dtype for labels: {labels.dtype}. Acceptable dtypes: int32 and int64")
        if labels.get_shape().ndims not in (1, 2):
            raise ValueError(
                "labels should have rank 1 ([batch_size]) or 2 ([batch_size, 1]). "
                f"Given rank is {labels.get_shape().ndims}"
            )
        are_classes = check_ops.assert_less(labels, math_ops.cast(classes, labels.dtype))
        with ops.control_dependencies([are_classes]):
            labels = array_ops.reshape(labels, shape=[-1])
        weights = ops.convert_to_tensor(weights)
        if weights.get_shape().ndims not in (0, 1, 2):
            raise ValueError(
                "non-scalar weights should have rank 1 ([batch_size]) or 2 ([batch_size, 1]). "
                f"Given rank is {weights.get_shape().ndims}"
            )
        if weights.get_shape().ndims > 0:
            weights = array_ops.reshape(weights, shape=[-1])
            weights.get_shape().assert_is_compatible_with(labels.get_shape())
        of_label = array_ops.batch_gather(logits, array_ops.expand_dims(labels, 1))
        margin = array_ops.one_hot(labels, classes, on_value=0.0, off_value=1.0)
        loss = math_ops.reduce_max(nn_ops.relu(logits - of_label + margin), axis=1)
        return losses.compute_weighted_loss(loss, weights, scope, loss_collection, reduction=reduction)
