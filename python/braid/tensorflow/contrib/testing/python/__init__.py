"""The modules of tf.contrib.testing."""
