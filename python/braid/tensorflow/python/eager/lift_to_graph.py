"""The error of a part of a graph that cannot be computed by itself."""


class UnliftableError(Exception):
    """What is to be computed needs a placeholder that is not fed."""
