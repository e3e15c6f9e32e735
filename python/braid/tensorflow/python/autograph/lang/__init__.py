"""Functions for code that is converted."""
