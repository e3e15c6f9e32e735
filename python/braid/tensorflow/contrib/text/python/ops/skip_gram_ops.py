"""Pairs of tokens and neighbours for skip-gram models: tf.contrib.text."""

import csv

from braid.tensorflow.python.framework import dtypes, ops, random_seed
from braid.tensorflow.python.ops import array_ops, gen_skip_gram_ops, lookup_ops, math_ops, random_ops
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.training import input as input_ops


def skip_gram_sample(
    input_tensor,
    min_skips=1,
    max_skips=5,
    start=0,
    limit=-1,
    emit_self_as_target=False,
    vocab_freq_table=None,
    vocab_min_count=None,
    vocab_subsampling=None,
    corpus_size=None,
    batch_size=None,
    batch_capacity=None,
    seed=None,
    name=None,
):
    """Tokens and labels: each token of a vector with its neighbours (Mikolov et al., arXiv 1301.3781).

    How many neighbours on each side is drawn for each token, from [min_skips, max_skips]. Of the vector, the
    tokens [start, start + limit) are taken; limit -1: all from start on. emit_self_as_target: a token is a
    neighbour of itself.

    vocab_freq_table: a table with the frequency of tokens; tokens that are not there, or less frequent than
    vocab_min_count, are left out first. vocab_subsampling: tokens whose share of corpus_size is larger are
    left out at random (equation 5 of arXiv 1310.4546). batch_size: the pairs go through a queue of
    batch_capacity pairs (100 batches) and come in batches.

    Returns:
      Two vectors of input_tensor's dtype, of the same random length, or of batch_size.

    Raises:
      ValueError: an argument needs another one that is missing, or vocab_subsampling is outside [0, 1].
    """
    needing = (vocab_min_count, vocab_subsampling, corpus_size)
    if vocab_freq_table is None and any(value is not None for value in needing):
        raise ValueError(
            "vocab_freq_table is not provided, but vocab_min_count={}, vocab_subsampling={}, or corpus_size={} is "
            "not None. These settings are useless without a vocab_freq_table.".format(*needing)
        )
    if (vocab_subsampling is None) != (corpus_size is None):
        raise ValueError(
            "vocab_subsampling is {} while corpus_size is {} - both must be provided in order for subsampling to "
            "work.".format(vocab_subsampling, corpus_size)
        )
    with ops.name_scope(name, "skip_gram_sample", values=[input_tensor, min_skips, max_skips, start, limit]):
        input_tensor = _filter_input(
            input_tensor, vocab_freq_table, vocab_min_count, vocab_subsampling, corpus_size, seed
        )
        seed1, seed2 = random_seed.get_seed(seed)
        pairs = gen_skip_gram_ops.skip_gram_generate_candidates(
            input_tensor=input_tensor,
            min_skips=min_skips,
            max_skips=max_skips,
            start=start,
            limit=limit,
            emit_self_as_target=emit_self_as_target,
            seed=seed1,
            seed2=seed2,
        )
        if batch_size is None or batch_size <= 0:
            return pairs
        capacity = batch_capacity if batch_capacity and batch_capacity > 0 else 100 * batch_size
        return input_ops.batch(list(pairs), batch_size, capacity=capacity, enqueue_many=True)


def skip_gram_sample_with_text_vocab(
    input_tensor,
    vocab_freq_file,
    vocab_token_index=0,
    vocab_token_dtype=dtypes.string,
    vocab_freq_index=1,
    vocab_freq_dtype=dtypes.float64,
    vocab_delimiter=",",
    vocab_min_count=0,
    vocab_subsampling=None,
    corpus_size=None,
    min_skips=1,
    max_skips=5,
    start=0,
    limit=-1,
    emit_self_as_target=False,
    batch_size=None,
    batch_capacity=None,
    seed=None,
    name=None,
):
    """skip_gram_sample() with frequencies from a file of columns, a token a line.

    vocab_token_index, vocab_freq_index: columns of vocab_freq_file. corpus_size: by default the sum of the
    frequencies. The other arguments are those of skip_gram_sample().

    Raises:
      ValueError: the columns are not in the file or the same, a frequency is negative, or corpus_size is less
        than the sum of the frequencies.
    """
    if vocab_token_index < 0 or vocab_freq_index < 0:
        raise ValueError(
            "vocab_token_index={} and vocab_freq_index={} must both be >= 0.".format(
                vocab_token_index, vocab_freq_index
            )
        )
    if vocab_token_index == vocab_freq_index:
        raise ValueError(
            "vocab_token_index and vocab_freq_index should be different, but are both {}.".format(
                vocab_token_index
            )
        )
    with gfile.GFile(vocab_freq_file, mode="r") as file:
        rows = list(csv.reader(file, delimiter=vocab_delimiter))
    total = sum(_frequency(row, vocab_token_index, vocab_freq_index, vocab_freq_dtype) for row in rows)
    if corpus_size and total - corpus_size > 1e-6:
        raise ValueError(
            "`corpus_size`={} must be greater than or equal to the sum of all the frequency counts ({}) of "
            "`vocab_freq_file` ({}).".format(corpus_size, total, vocab_freq_file)
        )
    table = lookup_ops.HashTable(
        lookup_ops.TextFileInitializer(
            vocab_freq_file,
            vocab_token_dtype,
            vocab_token_index,
            vocab_freq_dtype,
            vocab_freq_index,
            vocab_size=len(rows),
            delimiter=vocab_delimiter,
        ),
        default_value=-1,
    )
    return skip_gram_sample(
        input_tensor,
        min_skips,
        max_skips,
        start,
        limit,
        emit_self_as_target,
        vocab_freq_table=table,
        vocab_min_count=vocab_min_count,
        vocab_subsampling=vocab_subsampling,
        corpus_size=None if vocab_subsampling is None else corpus_size or total,
        batch_size=batch_size,
        batch_capacity=batch_capacity,
        seed=seed,
        name=name,
    )


def _frequency(row, token_index, freq_index, dtype):
    if token_index >= len(row) or freq_index >= len(row):
        raise ValueError(
            "Row in vocab file only has {} columns, so vocab_token_index={} or vocab_freq_index={} is out of "
            "bounds. Row content: {}".format(len(row), token_index, freq_index, row)
        )
    frequency = dtype.as_numpy_dtype(row[freq_index])
    if frequency < 0:
        raise ValueError(
            "Row in vocab file has negative frequency of {}. Row content: {}".format(frequency, row)
        )
    return frequency


def _filter_input(input_tensor, vocab_freq_table, vocab_min_count, vocab_subsampling, corpus_size, seed):
    """The tokens that are in the table, are frequent enough, and are not left out at random. No table: all."""
    if vocab_freq_table is None:
        return input_tensor
    if not isinstance(vocab_freq_table, lookup_ops.InitializableLookupTableBase):
        raise ValueError(
            "vocab_freq_table must be a subclass of InitializableLookupTableBase (such as HashTable) instead of "
            "type {}.".format(type(vocab_freq_table))
        )
    with ops.name_scope("filter_vocab", values=[vocab_freq_table, input_tensor, vocab_min_count]):
        freq = vocab_freq_table.lookup(input_tensor)
        mask = math_ops.not_equal(freq, vocab_freq_table.default_value)
        if vocab_min_count is not None:
            mask = math_ops.logical_and(
                mask, math_ops.greater_equal(freq, math_ops.cast(vocab_min_count, freq.dtype))
            )
        input_tensor = array_ops.boolean_mask(input_tensor, mask)
        freq = array_ops.boolean_mask(freq, mask)
    if not vocab_subsampling:
        return input_tensor
    if vocab_subsampling < 0 or vocab_subsampling > 1:
        raise ValueError(
            "Invalid vocab_subsampling={} - it should be within range [0, 1].".format(vocab_subsampling)
        )
    with ops.name_scope("subsample_vocab", values=[input_tensor, freq, vocab_subsampling]):
        corpus_size = math_ops.cast(corpus_size, dtypes.float64)
        freq = math_ops.cast(freq, dtypes.float64)
        vocab_subsampling = math_ops.cast(vocab_subsampling, dtypes.float64)
        frequent = vocab_subsampling * corpus_size
        keep = (math_ops.sqrt(freq / frequent) + 1.0) * (frequent / freq)
        drawn = random_ops.random_uniform(
            array_ops.shape(freq), minval=0, maxval=1, dtype=dtypes.float64, seed=seed
        )
        return array_ops.boolean_mask(input_tensor, math_ops.less_equal(drawn, keep))
