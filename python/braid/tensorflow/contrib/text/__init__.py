"""tf.contrib.text: pairs of words for skip-gram models."""

from braid.tensorflow.contrib.text.python.ops.skip_gram_ops import (  # noqa: F401
    skip_gram_sample,
    skip_gram_sample_with_text_vocab,
)
