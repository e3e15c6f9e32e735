"""Rewrites of the syntax tree of a function, each in a file: jumps, then expressions, then control flow."""
