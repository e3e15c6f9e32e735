"""Hooks of estimators."""
