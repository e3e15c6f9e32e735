"""Transformations of datasets that TensorFlow calls experimental, a module each as TensorFlow has them."""
