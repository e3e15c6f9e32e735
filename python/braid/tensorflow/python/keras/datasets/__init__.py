"""Keras: datasets."""
