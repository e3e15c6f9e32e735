"""tf.contrib.seq2seq."""
