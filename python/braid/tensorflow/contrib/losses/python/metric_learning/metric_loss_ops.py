"""Losses that bring embeddings of one class together, and those of different classes apart."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import logging_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import sparse_ops


__all__ = [
    "contrastive_loss",
    "lifted_struct_loss",
    "npairs_loss",
    "npairs_loss_multilabel",
    "triplet_semihard_loss",
]


def pairwise_distance(feature, squared=False):
    """The Euclidean distances of all rows, [rows, rows], or their squares."""
    squares = math_ops.reduce_sum(math_ops.square(feature), axis=1, keepdims=True)
    products = math_ops.matmul(feature, feature, transpose_b=True)
    made = math_ops.maximum(squares + array_ops.transpose(squares) - 2.0 * products, 0.0)
    is_zero = math_ops.less_equal(made, 0.0)
    if not squared:
        # sqrt has no gradient at 0.
        made = math_ops.sqrt(array_ops.where_v2(is_zero, array_ops.fill([], 1e-16), made))
        made = array_ops.where_v2(is_zero, array_ops.zeros_like(made), made)
    return array_ops.matrix_set_diag(made, array_ops.zeros_like(made[0]))


def _same_class(labels):
    """Which pairs have one label, [rows, rows]."""
    labels = ops.convert_to_tensor(labels)
    labels.get_shape().assert_has_rank(1)
    return math_ops.equal(array_ops.expand_dims(labels, 1), array_ops.expand_dims(labels, 0))


def _positives(same, dtype):
    """1 for the pairs of different rows with one label."""
    ones = math_ops.cast(same, dtype)
    return array_ops.matrix_set_diag(ones, array_ops.zeros_like(ones[0]))


def contrastive_loss(labels, embeddings_anchor, embeddings_positive, margin=1.0):
    """The mean of d^2 for pairs of one class, of max(margin - d, 0)^2 for others (Hadsell et al. 2006).

    Args:
      labels: [rows], 1 for pairs of one class, else 0.
      embeddings_anchor, embeddings_positive: [rows, size], whose distances are d.
    """
    squares = math_ops.squared_difference(embeddings_anchor, embeddings_positive)
    distances = math_ops.sqrt(math_ops.reduce_sum(squares, 1))
    labels = math_ops.cast(labels, distances.dtype)
    apart = math_ops.square(math_ops.maximum(margin - distances, 0.0))
    return math_ops.reduce_mean(
        labels * math_ops.square(distances) + (1.0 - labels) * apart, name="contrastive_loss"
    )


def triplet_semihard_loss(labels, embeddings, margin=1.0):
    """The mean of max(margin + d(anchor, positive) - d(anchor, negative), 0) (Schroff et al. 2015).

    The negative is the nearest that is farther away than the positive, or, where there is none, the
    farthest. Distances are squared.

    Args:
      labels: [rows], whole numbers.
      embeddings: [rows, size], of length 1.
    """
    same = _same_class(labels)
    distances = pairwise_distance(embeddings, squared=True)
    from_anchor = array_ops.expand_dims(distances, 1)  # [anchor, 1, negative]
    to_positive = array_ops.expand_dims(distances, 2)  # [anchor, positive, 1]
    is_negative = array_ops.expand_dims(math_ops.logical_not(same), 1)
    is_outside = math_ops.logical_and(is_negative, from_anchor > to_positive)
    farthest = math_ops.reduce_max(distances, 1, keepdims=True)
    nearest = math_ops.reduce_min(distances, 1, keepdims=True)
    outside = math_ops.reduce_min(
        array_ops.where_v2(is_outside, from_anchor, array_ops.expand_dims(farthest, 1)), 2
    )
    inside = math_ops.reduce_max(array_ops.where_v2(same, nearest, distances), 1, keepdims=True)
    negatives = array_ops.where_v2(math_ops.reduce_any(is_outside, 2), outside, inside)
    positives = _positives(same, distances.dtype)
    losses = math_ops.maximum((margin + distances - negatives) * positives, 0.0)
    return math_ops.truediv(
        math_ops.reduce_sum(losses), math_ops.reduce_sum(positives), name="triplet_semihard_loss"
    )


def _npairs(same, anchor, positive, reg_lambda, print_losses):
    """The loss for pairs that are of one class where `same` is above 0."""
    length = lambda x: math_ops.reduce_mean(math_ops.reduce_sum(math_ops.square(x), 1))
    l2loss = math_ops.multiply(0.25 * reg_lambda, length(anchor) + length(positive), name="l2loss")
    similarity = math_ops.matmul(anchor, positive, transpose_b=True)
    targets = math_ops.cast(same, dtypes.float32)
    targets /= math_ops.reduce_sum(targets, 1, keepdims=True)
    loss = nn_ops.softmax_cross_entropy_with_logits(logits=similarity, labels=targets)
    loss = math_ops.reduce_mean(loss, name="xentropy")
    if print_losses:
        loss = logging_ops.Print(loss, ["cross entropy:", loss, "l2loss:", l2loss])
    return l2loss + loss


def npairs_loss(labels, embeddings_anchor, embeddings_positive, reg_lambda=0.002, print_losses=False):
    """The cross entropy of which positives are of an anchor's class, by products, and reg_lambda / 4 times
    the mean squares of the lengths (Sohn 2016).

    Args:
      labels: [rows], whole numbers.
      embeddings_anchor, embeddings_positive: [rows, size].
    """
    same = _same_class(labels)
    return _npairs(same, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


def npairs_loss_multilabel(
    sparse_labels, embeddings_anchor, embeddings_positive, reg_lambda=0.002, print_losses=False
):
    """npairs_loss for rows with several labels: pairs count by how many they share.

    Args:
      sparse_labels: a list with a SparseTensor for each row, [labels], 1 for those that it has.
    """
    if not all(isinstance(label, sparse_tensor.SparseTensor) for label in sparse_labels):
        raise TypeError(f"sparse_labels must be a list of SparseTensors, but got {sparse_labels}")
    with ops.name_scope("NpairsLossMultiLabel"):
        shared = lambda a, b: sparse_ops.sparse_reduce_sum(sparse_ops.sparse_minimum(a, b))
        rows = [array_ops.stack([shared(a, b) for b in sparse_labels]) for a in sparse_labels]
        same = array_ops.stack(rows)
        return _npairs(same, embeddings_anchor, embeddings_positive, reg_lambda, print_losses)


def lifted_struct_loss(labels, embeddings, margin=1.0):
    """The lifted structured loss (Song et al. 2016): for pairs of one class, their distance and the logarithm
    of the sum of exp(margin - d) over the distances d of both to others.

    Args:
      labels: [rows], whole numbers.
      embeddings: [rows, size]; they need not have length 1.
    """
    same = _same_class(labels)
    distances = pairwise_distance(embeddings)
    other = math_ops.logical_not(same)
    near = margin - distances
    least = math_ops.reduce_min(near, 1, keepdims=True)
    greatest = math_ops.reduce_max(array_ops.where_v2(other, near, least), 1, keepdims=True)
    greatest = math_ops.maximum(greatest, array_ops.transpose(greatest))  # of both of a pair
    # The sum over the others of the first of each pair; the second's is the transposed one.
    terms = math_ops.exp(array_ops.expand_dims(near, 1) - array_ops.expand_dims(greatest, 2))
    terms *= math_ops.cast(array_ops.expand_dims(other, 1), terms.dtype)
    sums = math_ops.reduce_sum(terms, 2)
    losses = greatest + math_ops.log(sums + array_ops.transpose(sums)) + distances
    positives = _positives(same, distances.dtype)
    squares = math_ops.square(math_ops.maximum(losses * positives, 0.0))
    return math_ops.truediv(
        0.25 * math_ops.reduce_sum(squares),
        math_ops.reduce_sum(positives) / 2.0,
        name="liftedstruct_loss",
    )
