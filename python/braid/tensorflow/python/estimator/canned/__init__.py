"""Estimators that are ready made."""
