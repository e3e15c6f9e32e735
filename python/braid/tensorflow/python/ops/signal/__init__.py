"""Signals (tf.signal)."""
