"""tf.contrib.legacy_seq2seq."""
