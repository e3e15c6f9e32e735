"""Samplers of classes, for losses over many of them.

A sampler returns (sampled classes, [num_sampled]; how often each true class, [batch, num_true], and each
sampled one is expected among the sampled ones).
"""

from braid.tensorflow.python.framework import random_seed
from braid.tensorflow.python.ops import gen_candidate_sampling_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(
    "random.uniform_candidate_sampler",
    v1=["random.uniform_candidate_sampler", "nn.uniform_candidate_sampler"],
)
def uniform_candidate_sampler(true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None):
    """Classes below `range_max`, all as likely; unique: each one once at most."""
    seed1, seed2 = random_seed.get_seed(seed)
    return gen_candidate_sampling_ops.uniform_candidate_sampler(
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        seed=seed1,
        seed2=seed2,
        name=name,
    )


@tf_export(
    "random.log_uniform_candidate_sampler",
    v1=["random.log_uniform_candidate_sampler", "nn.log_uniform_candidate_sampler"],
)
def log_uniform_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None
):
    """Class k with probability log((k + 2) / (k + 1)) / log(range_max + 1): for classes by falling
    frequency."""
    seed1, seed2 = random_seed.get_seed(seed)
    return gen_candidate_sampling_ops.log_uniform_candidate_sampler(
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        seed=seed1,
        seed2=seed2,
        name=name,
    )


@tf_export(
    "random.learned_unigram_candidate_sampler",
    v1=["random.learned_unigram_candidate_sampler", "nn.learned_unigram_candidate_sampler"],
)
def learned_unigram_candidate_sampler(
    true_classes, num_true, num_sampled, unique, range_max, seed=None, name=None
):
    """Classes as often as they have been among the true ones so far."""
    seed1, seed2 = random_seed.get_seed(seed)
    return gen_candidate_sampling_ops.learned_unigram_candidate_sampler(
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        seed=seed1,
        seed2=seed2,
        name=name,
    )


@tf_export(
    "random.fixed_unigram_candidate_sampler",
    v1=["random.fixed_unigram_candidate_sampler", "nn.fixed_unigram_candidate_sampler"],
)
def fixed_unigram_candidate_sampler(
    true_classes,
    num_true,
    num_sampled,
    unique,
    range_max,
    vocab_file="",
    distortion=1.0,
    num_reserved_ids=0,
    num_shards=1,
    shard=0,
    unigrams=(),
    seed=None,
    name=None,
):
    """Classes with probabilities from a file or a list, each to the power of `distortion`."""
    seed1, seed2 = random_seed.get_seed(seed)
    return gen_candidate_sampling_ops.fixed_unigram_candidate_sampler(
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        range_max=range_max,
        vocab_file=vocab_file,
        distortion=distortion,
        num_reserved_ids=num_reserved_ids,
        num_shards=num_shards,
        shard=shard,
        unigrams=unigrams,
        seed=seed1,
        seed2=seed2,
        name=name,
    )


@tf_export("random.all_candidate_sampler", v1=["random.all_candidate_sampler", "nn.all_candidate_sampler"])
def all_candidate_sampler(true_classes, num_true, num_sampled, unique, seed=None, name=None):
    """All classes, for tests."""
    seed1, seed2 = random_seed.get_seed(seed)
    return gen_candidate_sampling_ops.all_candidate_sampler(
        true_classes,
        num_true=num_true,
        num_sampled=num_sampled,
        unique=unique,
        seed=seed1,
        seed2=seed2,
        name=name,
    )


@tf_export("nn.compute_accidental_hits")
def compute_accidental_hits(true_classes, sampled_candidates, num_true, seed=None, name=None):
    """Where sampled classes are true ones: (rows, places among the sampled ones, weights of -FLT_MAX)."""
    seed1, seed2 = random_seed.get_seed(seed)
    return gen_candidate_sampling_ops.compute_accidental_hits(
        true_classes, sampled_candidates, num_true=num_true, seed=seed1, seed2=seed2, name=name
    )
