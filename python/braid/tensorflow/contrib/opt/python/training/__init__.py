"""Optimizers of tf.contrib.opt."""
