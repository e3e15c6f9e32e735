"""The ops of tf.contrib.nn."""
