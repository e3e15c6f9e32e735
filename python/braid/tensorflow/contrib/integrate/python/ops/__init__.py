"""The ops of tf.contrib.integrate."""
