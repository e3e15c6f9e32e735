"""Ops that make summaries for TensorBoard (tf.summary)."""

import json

from braid.tensorflow.core.framework.summary_pb2 import Summary  # noqa: F401
from braid.tensorflow.core.framework.summary_pb2 import SummaryDescription
from braid.tensorflow.core.framework.summary_pb2 import SummaryMetadata as _SummaryMetadata
from braid.tensorflow.core.util.event_pb2 import Event  # noqa: F401
from braid.tensorflow.core.util.event_pb2 import SessionLog  # noqa: F401
from braid.tensorflow.core.util.event_pb2 import TaggedRunMetadata  # noqa: F401
from braid.tensorflow.python.distribute import summary_op_util as distribute_summary_op_util
from braid.tensorflow.python.framework import constant_op, dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_logging_ops
from braid.tensorflow.python.ops import summary_op_util
from braid.tensorflow.python.summary.writer.writer import FileWriter  # noqa: F401
from braid.tensorflow.python.summary.writer.writer_cache import FileWriterCache  # noqa: F401
from braid.tensorflow.python.util import compat, tf_decorator
from braid.tensorflow.python.util.tf_export import tf_export

_DEFAULT = [ops.GraphKeys.SUMMARIES]


def _unless_skipped(function):
    """Where summaries are skipped, as in all replicas but the first, the result is an empty string."""

    def summary(*args, **kwargs):
        if distribute_summary_op_util.skip_summary():
            return constant_op.constant("")
        return function(*args, **kwargs)

    return tf_decorator.make_decorator(function, summary)


@tf_export(v1=["summary.scalar"])
@_unless_skipped
def scalar(name, tensor, collections=None, family=None):
    """A summary of one number. Returns a string tensor with a Summary.

    name: of the op; it is the tag as well, with the scopes around it. collections: by default
    GraphKeys.SUMMARIES. family: what stands before the tag; TensorBoard groups by it.
    """
    with summary_op_util.summary_scope(name, family, values=[tensor]) as (tag, scope):
        val = gen_logging_ops.scalar_summary(tags=tag, values=tensor, name=scope)
        summary_op_util.collect(val, collections, _DEFAULT)
    return val


@tf_export(v1=["summary.image"])
@_unless_skipped
def image(name, tensor, max_outputs=3, collections=None, family=None):
    """A summary of images: [batch, height, width, 1, 3 or 4], of uint8, or floats that are brought to 0 to
    255.

    max_outputs: of how many of the batch.
    """
    with summary_op_util.summary_scope(name, family, values=[tensor]) as (tag, scope):
        val = gen_logging_ops.image_summary(tag=tag, tensor=tensor, max_images=max_outputs, name=scope)
        summary_op_util.collect(val, collections, _DEFAULT)
    return val


@tf_export(v1=["summary.histogram"])
@_unless_skipped
def histogram(name, values, collections=None, family=None):
    """A summary of the distribution of the numbers of a tensor. They have to be finite."""
    with summary_op_util.summary_scope(name, family, values=[values], default_name="HistogramSummary") as (
        tag,
        scope,
    ):
        val = gen_logging_ops.histogram_summary(tag=tag, values=values, name=scope)
        summary_op_util.collect(val, collections, _DEFAULT)
    return val


@tf_export(v1=["summary.audio"])
@_unless_skipped
def audio(name, tensor, sample_rate, max_outputs=3, collections=None, family=None):
    """A summary of sounds: [batch, frames, channels] or [batch, frames], of floats from -1 to 1."""
    with summary_op_util.summary_scope(name, family=family, values=[tensor]) as (tag, scope):
        sample_rate = ops.convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        val = gen_logging_ops.audio_summary_v2(
            tag=tag, tensor=tensor, max_outputs=max_outputs, sample_rate=sample_rate, name=scope
        )
        summary_op_util.collect(val, collections, _DEFAULT)
    return val


@tf_export(v1=["summary.text"])
def text(name, tensor, collections=None):
    """A summary of strings, which TensorBoard shows as Markdown; those of a matrix as a table."""
    if tensor.dtype != dtypes.string:
        raise ValueError("Expected tensor %s to have dtype string, got %s" % (tensor.name, tensor.dtype))
    plugin = _SummaryMetadata.PluginData(plugin_name="text")
    return tensor_summary(
        name=name,
        tensor=tensor,
        summary_metadata=_SummaryMetadata(plugin_data=plugin),
        collections=collections,
    )


@tf_export(v1=["summary.tensor_summary"])
@_unless_skipped
def tensor_summary(
    name,
    tensor,
    summary_description=None,
    collections=None,
    summary_metadata=None,
    family=None,
    display_name=None,
):
    """A summary of a whole tensor, for a plugin of TensorBoard that summary_metadata names."""
    metadata = _SummaryMetadata()
    if summary_metadata is not None:
        metadata.CopyFrom(summary_metadata)
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with summary_op_util.summary_scope(name, family, values=[tensor]) as (tag, scope):
        val = gen_logging_ops.tensor_summary_v2(
            tensor=tensor, tag=tag, name=scope, serialized_summary_metadata=metadata.SerializeToString()
        )
        summary_op_util.collect(val, collections, _DEFAULT)
    return val


@tf_export(v1=["summary.merge"])
@_unless_skipped
def merge(inputs, collections=None, name=None):
    """One summary with the values of several, whose tags differ. It is in no collection by default."""
    name = summary_op_util.clean_tag(name)
    with ops.name_scope(name, "Merge", inputs):
        val = gen_logging_ops.merge_summary(inputs=inputs, name=name)
        summary_op_util.collect(val, collections, [])
    return val


@tf_export(v1=["summary.merge_all"])
def merge_all(key=ops.GraphKeys.SUMMARIES, scope=None, name=None):
    """One summary with all of a collection; None: there are none.

    scope: a regular expression for their names.
    """
    summaries = ops.get_collection(key, scope=scope)
    return merge(summaries, name=name) if summaries else None


@tf_export(v1=["summary.get_summary_description"])
def get_summary_description(node_def):
    """The SummaryDescription of a node of op TensorSummary. ValueError: it is none."""
    if node_def.op != "TensorSummary":
        raise ValueError("Can't get_summary_description on %s" % node_def.op)
    fields = json.loads(compat.as_str_any(node_def.attr["description"].s))
    return SummaryDescription(type_hint=fields.get("type_hint", fields.get("typeHint", "")))


tf_export(v1=["summary.TaggedRunMetadata"]).export_constant(__name__, "TaggedRunMetadata")
