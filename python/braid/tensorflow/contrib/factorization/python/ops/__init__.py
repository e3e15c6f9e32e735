"""tf.contrib.crf."""
