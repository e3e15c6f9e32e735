"""Datasets and iterators."""
