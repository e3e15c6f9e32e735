"""Keras as TensorFlow 1.15 has it."""
