"""The ops of tf.contrib.rnn."""
