"""Keras: engine."""
