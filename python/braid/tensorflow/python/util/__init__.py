"""Helpers that do not know of graphs: nested structures, decorators, deprecation."""
