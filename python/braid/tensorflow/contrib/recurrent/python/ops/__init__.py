"""Recurrences with gradients of the program's own, and networks of cells."""
