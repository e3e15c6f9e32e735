"""Modules of tf.contrib.learn that programs import from inside."""
