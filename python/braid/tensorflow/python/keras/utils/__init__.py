"""Keras: utils."""
