"""Scopes of arguments, and tensors that are checked."""
