"""Summaries of tensors in collections, which may be printed too."""

from braid.tensorflow.python.ops import logging_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.summary import summary

__all__ = [
    "add_histogram_summaries",
    "add_histogram_summary",
    "add_image_summaries",
    "add_image_summary",
    "add_scalar_summaries",
    "add_scalar_summary",
    "add_zero_fraction_summaries",
    "add_zero_fraction_summary",
]


def _name_of(tensor, name, prefix):
    name = name or tensor.op.name
    return f"{prefix}/{name}" if prefix else name


def add_scalar_summary(tensor, name=None, prefix=None, print_summary=False):
    name = _name_of(tensor, name, prefix)
    if print_summary:
        tensor = logging_ops.Print(tensor, [tensor], name)
    return summary.scalar(name, tensor)


def add_histogram_summary(tensor, name=None, prefix=None):
    return summary.histogram(_name_of(tensor, name, prefix), tensor)


def add_image_summary(tensor, name=None, prefix=None, print_summary=False):
    name = _name_of(tensor, name, prefix)
    if print_summary:
        tensor = logging_ops.Print(tensor, [tensor], name)
    return summary.image(name, tensor)


def add_zero_fraction_summary(tensor, name=None, prefix=None, print_summary=False):
    """A summary of how many elements are 0."""
    name = _name_of(tensor, name, prefix)
    fraction = math_ops.reduce_mean(math_ops.cast(math_ops.equal(tensor, 0), dtypes.float32))
    return add_scalar_summary(fraction, name, print_summary=print_summary)


def _each(function, tensors, prefix, **arguments):
    return [function(tensor, prefix=prefix, **arguments) for tensor in tensors]


def add_histogram_summaries(tensors, prefix=None):
    return _each(add_histogram_summary, tensors, prefix)


def add_image_summaries(tensors, prefix=None):
    return _each(add_image_summary, tensors, prefix)


def add_scalar_summaries(tensors, prefix=None, print_summary=False):
    return _each(add_scalar_summary, tensors, prefix, print_summary=print_summary)


def add_zero_fraction_summaries(tensors, prefix=None):
    return _each(add_zero_fraction_summary, tensors, prefix)
