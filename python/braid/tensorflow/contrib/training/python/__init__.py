"""What tf.contrib.training has for training."""
