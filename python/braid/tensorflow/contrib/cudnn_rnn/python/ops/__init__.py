"""Cells, functions and saveables of cuDNN's networks."""
