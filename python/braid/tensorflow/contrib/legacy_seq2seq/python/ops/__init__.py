"""The ops of tf.contrib.legacy_seq2seq."""
