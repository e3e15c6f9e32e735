"""Modules of tf.contrib.tpu that programs import from inside."""
