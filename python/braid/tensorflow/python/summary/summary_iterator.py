"""Reads event files."""

from braid.tensorflow.core.util import event_pb2
from braid.tensorflow.python.lib.io import tf_record
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.summary_iterator"])
def summary_iterator(path):
    """The Event messages of an event file, in order."""
    for record in tf_record.tf_record_iterator(path):
        yield event_pb2.Event.FromString(record)
