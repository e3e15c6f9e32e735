"""Ops of random forests."""
