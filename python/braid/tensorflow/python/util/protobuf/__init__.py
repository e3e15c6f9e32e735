"""Comparing messages."""
