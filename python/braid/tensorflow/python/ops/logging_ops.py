"""Printing from a step, and the old names of summaries."""

import collections
import pprint
import sys

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import gen_logging_ops
from braid.tensorflow.python.ops import string_ops
from braid.tensorflow.python.platform import tf_logging
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(gen_logging_ops, name)


@tf_export(v1=["Print"])
def Print(input_, data, message=None, first_n=None, summarize=None, name=None):
    """The tensor; a step that computes it prints `data` to the standard error.

    first_n: how many steps print. summarize: how many elements of each tensor are printed.
    """
    return gen_logging_ops._print(input_, data, message, first_n, summarize, name)


def _is_filepath(output_stream):
    return isinstance(output_stream, str) and output_stream.startswith("file://")


_STREAMS = (
    ("stdout", lambda: sys.stdout),
    ("stderr", lambda: sys.stderr),
    ("log(info)", lambda: tf_logging.INFO),
    ("log(info)", lambda: tf_logging.info),
    ("log(warning)", lambda: tf_logging.WARN),
    ("log(warning)", lambda: tf_logging.warn),
    ("log(warning)", lambda: tf_logging.warning),
    ("log(error)", lambda: tf_logging.ERROR),
    ("log(error)", lambda: tf_logging.error),
)


def _stream_name(output_stream):
    if _is_filepath(output_stream):
        return output_stream
    for name, stream in _STREAMS:
        if output_stream is stream() or (isinstance(output_stream, int) and output_stream == stream()):
            return name
    raise ValueError(
        "Unsupported output stream, logging level, or file." + str(output_stream) + ". Supported streams are "
        "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File needs to be "
        "in the "
        "form of 'file://<filepath>'."
    )


class _Placeholder:
    """A tensor's place in the text of a structure."""

    def __init__(self, text):
        self._text = text

    def __repr__(self):
        return self._text


_PLACEHOLDER = "\x00{}"  # which no text has


def _is_tensor(value):
    return isinstance(value, ops.Tensor) or (hasattr(value, "_as_graph_element") and hasattr(value, "dtype"))


def _text_of(value, tensors):
    """How `value` is printed, with `{}` for each of its tensors, which are added to `tensors`."""
    if isinstance(value, sparse_tensor.SparseTensor):
        tensors += [value.indices, value.values, value.dense_shape]
        return f"'SparseTensor(indices={_PLACEHOLDER}, values={_PLACEHOLDER}, shape={_PLACEHOLDER})'"
    if isinstance(value, str):
        return value
    if _is_tensor(value):
        tensors.append(value)
        return _PLACEHOLDER
    if isinstance(value, (list, tuple, dict, collections.OrderedDict)):

        def place(item):
            is_sparse = isinstance(item, sparse_tensor.SparseTensor)
            return _Placeholder(_text_of(item, tensors)) if is_sparse or _is_tensor(item) else item

        return pprint.pformat(nest.map_structure(place, value))
    return pprint.pformat(value)


@tf_export("print")
def print_v2(*inputs, **kwargs):
    """An operation that prints tensors and other values: to output_stream (sys.stderr), separated by `sep`.

    summarize: how many elements at each end of a dimension are printed, 3 by default, -1 for all.
    """
    output_stream = kwargs.pop("output_stream", sys.stderr)
    name = kwargs.pop("name", None)
    summarize = kwargs.pop("summarize", 3)
    sep = kwargs.pop("sep", " ")
    end = kwargs.pop("end", "\n")
    if kwargs:
        raise ValueError("Unrecognized keyword arguments for tf.print: %s" % kwargs)
    stream = _stream_name(output_stream)
    if len(inputs) == 1 and _is_tensor(inputs[0]):
        only = ops.convert_to_tensor(inputs[0])
        if only.dtype == dtypes.string and only.get_shape().ndims == 0:
            return gen_logging_ops.print_v2(only, output_stream=stream, name=name, end=end)
    tensors = []
    template = sep.join(_text_of(value, tensors) for value in inputs)
    if tensors:
        placeholder = _PLACEHOLDER if "{}" in template.replace(_PLACEHOLDER, "") else "{}"
        text = string_ops.string_format(
            inputs=tuple(tensors),
            template=template.replace(_PLACEHOLDER, placeholder),
            placeholder=placeholder,
            summarize=summarize,
        )
    else:
        text = constant_op.constant(template)
    return gen_logging_ops.print_v2(text, output_stream=stream, name=name, end=end)


def _collect(value, collections_):
    ops.add_to_collections([ops.GraphKeys.SUMMARIES] if collections_ is None else collections_, value)
    return value


def histogram_summary(tag, values, collections=None, name=None):
    """A summary with a histogram, under its old name: use tf.summary.histogram."""
    with ops.name_scope(name, "HistogramSummary", [tag, values]) as scope:
        made = gen_logging_ops.histogram_summary(tag=tag, values=values, name=scope)
    return _collect(made, collections)


def image_summary(tag, tensor, max_images=3, collections=None, name=None):
    """A summary with pictures, under its old name: use tf.summary.image."""
    with ops.name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        made = gen_logging_ops.image_summary(tag=tag, tensor=tensor, max_images=max_images, name=scope)
    return _collect(made, collections)


def audio_summary(tag, tensor, sample_rate, max_outputs=3, collections=None, name=None):
    """A summary with sounds, under its old name: use tf.summary.audio."""
    with ops.name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        rate = ops.convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        made = gen_logging_ops.audio_summary_v2(
            tag=tag, tensor=tensor, max_outputs=max_outputs, sample_rate=rate, name=scope
        )
    return _collect(made, collections)


def scalar_summary(tags, values, collections=None, name=None):
    """A summary with numbers, under its old name: use tf.summary.scalar."""
    with ops.name_scope(name, "ScalarSummary", [tags, values]) as scope:
        made = gen_logging_ops.scalar_summary(tags=tags, values=values, name=scope)
    return _collect(made, collections)


def merge_summary(inputs, collections=None, name=None):
    """One summary of several, under its old name: use tf.summary.merge."""
    with ops.name_scope(name, "MergeSummary", inputs):
        made = gen_logging_ops.merge_summary(inputs=inputs, name=name)
    ops.add_to_collections([] if collections is None else collections, made)
    return made


def merge_all_summaries(key=ops.GraphKeys.SUMMARIES):
    """One summary of all in a collection, or None, under its old name: use tf.summary.merge_all."""
    found = ops.get_collection(key)
    return merge_summary(found) if found else None
