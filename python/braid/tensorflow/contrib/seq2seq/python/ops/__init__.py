"""The ops of tf.contrib.seq2seq."""
