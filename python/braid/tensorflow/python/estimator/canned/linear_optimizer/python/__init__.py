"""Dual coordinate ascent for linear estimators."""
