"""Ragged tensors (tf.ragged): rows of different lengths."""
