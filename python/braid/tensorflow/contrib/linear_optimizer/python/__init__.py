"""Dual coordinate ascent for linear models."""
