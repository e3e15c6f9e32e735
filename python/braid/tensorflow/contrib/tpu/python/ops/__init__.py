"""A former place of tensorflow.python.tpu.ops."""
