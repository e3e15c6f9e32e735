"""Helpers of the pipelines: structures, types of elements."""
