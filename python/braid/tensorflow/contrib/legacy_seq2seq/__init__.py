"""tf.contrib.legacy_seq2seq: sequences to sequences, with a list of tensors for the steps."""

from braid.tensorflow.contrib.legacy_seq2seq.python.ops.seq2seq import *  # noqa: F401,F403
