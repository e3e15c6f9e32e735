"""The ops of tf.contrib.crf."""
