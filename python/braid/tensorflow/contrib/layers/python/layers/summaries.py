"""Summaries of activations, losses and variables."""

import functools
import re

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.summary import summary

__all__ = [
    "summarize_tensor",
    "summarize_activation",
    "summarize_tensors",
    "summarize_collection",
    "summarize_variables",
    "summarize_weights",
    "summarize_biases",
    "summarize_activations",
]


def _is_new(tensor):
    """Whether the tensor has no summary yet."""
    return all(
        all(tensor is not used for used in existing.op.inputs)
        for existing in ops.get_collection(ops.GraphKeys.SUMMARIES)
    )


def _add_scalar_summary(tensor, tag=None):
    tensor.get_shape().assert_has_rank(0)
    tag = tag or "%s_summary" % tensor.op.name
    return summary.scalar(tag, tensor)


def _add_histogram_summary(tensor, tag=None):
    tag = tag or "%s_summary" % tensor.op.name
    return summary.histogram(tag, tensor)


def summarize_activation(op):
    """Summaries of the values of an op and, for ReLU and sigmoid, of how many of them are at an end."""
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        zeros = math_ops.reduce_mean(math_ops.cast(math_ops.less_equal(op, 0), dtypes.float32))
        _add_scalar_summary(zeros, "%s/zeros" % op.op.name)
    if op.op.type == "Relu6":
        sixes = math_ops.reduce_mean(math_ops.cast(math_ops.greater_equal(op, 6), dtypes.float32))
        _add_scalar_summary(sixes, "%s/sixes" % op.op.name)
    return _add_histogram_summary(op, "%s/activation" % op.op.name)


def summarize_tensor(tensor, tag=None):
    """A summary of a tensor: its number, or a histogram. None: it has one already, or is no number."""
    if not _is_new(tensor):
        return None
    if tensor.get_shape().ndims == 0:
        return _add_scalar_summary(tensor, tag)
    return _add_histogram_summary(tensor, tag)


def summarize_tensors(tensors, summarizer=summarize_tensor):
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(collection, name_filter=None, summarizer=summarize_tensor):
    """Summaries of what a collection has, or of what matches `name_filter`."""
    tensors = [
        tensor
        for tensor in ops.get_collection(collection)
        if name_filter is None or re.match(name_filter, tensor.op.name)
    ]
    return summarize_tensors(tensors, summarizer)


summarize_variables = functools.partial(summarize_collection, ops.GraphKeys.GLOBAL_VARIABLES)
summarize_weights = functools.partial(summarize_collection, ops.GraphKeys.WEIGHTS)
summarize_biases = functools.partial(summarize_collection, ops.GraphKeys.BIASES)


def summarize_activations(name_filter=None, summarizer=summarize_activation):
    return summarize_collection(ops.GraphKeys.ACTIVATIONS, name_filter, summarizer)
