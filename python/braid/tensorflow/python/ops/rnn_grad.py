"""Gradients of ops: the engine has them. Programs import this module for its effect in TensorFlow."""
