"""tf.contrib.cudnn_rnn."""
