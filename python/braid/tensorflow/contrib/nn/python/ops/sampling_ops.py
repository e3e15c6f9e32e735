"""Softmax over samples of many classes."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import embedding_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops

__all__ = ["rank_sampled_softmax_loss", "sampled_sparse_softmax_loss"]


def _rank_resample(weights, biases, inputs, sampled_values, num_resampled, temperature, partition_strategy):
    """The sampled values of the classes whose logits, over all of the batch, are the largest."""
    sampled, true_count, sampled_count = sampled_values
    sampled = math_ops.cast(array_ops.stop_gradient(sampled), dtypes.int64)
    true_count, sampled_count = map(array_ops.stop_gradient, (true_count, sampled_count))
    rows = embedding_ops.embedding_lookup(weights, sampled, partition_strategy)
    logits = math_ops.reduce_logsumexp(math_ops.matmul(rows, inputs / temperature, transpose_b=True), axis=1)
    biases = embedding_ops.embedding_lookup(biases, sampled, partition_strategy)
    logits = logits + array_ops.reshape(biases, [-1]) / temperature
    _, chosen = nn.top_k(logits, k=num_resampled, sorted=False)
    return array_ops.gather(sampled, chosen), true_count, array_ops.gather(sampled_count, chosen)


def rank_sampled_softmax_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_resampled,
    num_classes,
    num_true,
    sampled_values,
    resampling_temperature,
    remove_accidental_hits,
    partition_strategy,
    name=None,
):
    """sampled_softmax_loss with the num_resampled of num_sampled classes that are the most probable of the
    samples.

    sampled_values: what a candidate sampler gives; None: learned_unigram_candidate_sampler's.
    """
    if num_sampled > num_classes:
        raise ValueError(f"num_sampled ({num_sampled}) cannot be greater than num_classes ({num_classes})")
    if num_sampled <= num_resampled:
        raise ValueError(f"num_resampled ({num_resampled}) must be less than num_sampled ({num_sampled})")
    if partition_strategy not in ("div", "mod"):
        raise ValueError(f"unsupported partition_strategy ({partition_strategy})")
    given = [weights, biases, labels, inputs, sampled_values, resampling_temperature]
    with ops.name_scope(name, "rank_sampled_softmax_loss", given) as name:
        if not sampled_values:
            sampled_values = nn.learned_unigram_candidate_sampler(
                true_classes=labels,
                num_true=num_true,
                num_sampled=num_sampled,
                unique=True,
                range_max=num_classes,
            )
        resampled = _rank_resample(
            weights, biases, inputs, sampled_values, num_resampled, resampling_temperature, partition_strategy
        )
        return nn.sampled_softmax_loss(
            weights=weights,
            biases=biases,
            labels=labels,
            inputs=inputs,
            num_sampled=num_resampled,
            num_classes=num_classes,
            num_true=num_true,
            sampled_values=resampled,
            remove_accidental_hits=remove_accidental_hits,
            partition_strategy=partition_strategy,
            name=name,
        )


def sampled_sparse_softmax_loss(
    weights,
    biases,
    labels,
    inputs,
    num_sampled,
    num_classes,
    sampled_values=None,
    remove_accidental_hits=True,
    partition_strategy="mod",
    name="sampled_sparse_softmax_loss",
):
    """The softmax loss of one label [batch, 1] for each input against samples of the other classes."""
    logits, _ = nn_impl._compute_sampled_logits(
        weights=weights,
        biases=biases,
        labels=labels,
        inputs=inputs,
        num_sampled=num_sampled,
        num_classes=num_classes,
        num_true=1,
        sampled_values=sampled_values,
        subtract_log_q=True,
        remove_accidental_hits=remove_accidental_hits,
        partition_strategy=partition_strategy,
        name=name,
    )
    first = array_ops.zeros(array_ops.shape(logits)[:1], dtype=dtypes.int64)  # where the label's logit is
    return nn_ops.sparse_softmax_cross_entropy_with_logits(labels=first, logits=logits)
