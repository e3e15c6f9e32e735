"""Scaling of losses."""
