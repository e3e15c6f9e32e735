"""Probability distributions (tf.distributions)."""
