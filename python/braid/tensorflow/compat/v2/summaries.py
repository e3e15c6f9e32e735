"""tf.compat.v2.summary: summaries that are written to the default writer when their op runs."""

from braid.tensorflow.python.framework import dtypes, messages, ops
from braid.tensorflow.python.ops import check_ops, math_ops, summary_ops_v2


def _metadata(plugin, description):
    made = messages.SummaryMetadata(summary_description=description or "")
    made.plugin_data.plugin_name = plugin
    return made


def scalar(name, data, step=None, description=None):
    """Writes a number. See write."""
    with summary_ops_v2.summary_scope(name, "scalar_summary", [data, step]) as (tag, _):
        check_ops.assert_scalar(data)
        return summary_ops_v2.write(
            tag, math_ops.cast(data, dtypes.float32), step, _metadata("scalars", description)
        )


def text(name, data, step=None, description=None):
    """Writes a string tensor. See write."""
    with summary_ops_v2.summary_scope(name, "text_summary", [data, step]) as (tag, _):
        data = ops.convert_to_tensor(data, dtypes.string)
        return summary_ops_v2.write(tag, data, step, _metadata("text", description))


def _refused(name):
    def summary(*args, **kwargs):
        raise NotImplementedError(
            f"tf.compat.v2.summary.{name} is not in Braid: tf.contrib.summary.{name} writes to the same files"
        )

    return summary


NAMES = {
    "SummaryWriter": summary_ops_v2.SummaryWriter,
    "audio": _refused("audio"),
    "create_file_writer": summary_ops_v2.create_file_writer_v2,
    "create_noop_writer": summary_ops_v2.create_noop_writer,
    "experimental.get_step": summary_ops_v2.get_step,
    "experimental.set_step": summary_ops_v2.set_step,
    "experimental.summary_scope": summary_ops_v2.summary_scope,
    "flush": summary_ops_v2.flush,
    "histogram": _refused("histogram"),
    "image": _refused("image"),
    "import_event": summary_ops_v2.import_event,
    "record_if": summary_ops_v2.record_if,
    "scalar": scalar,
    "should_record_summaries": summary_ops_v2._should_record_summaries_v2,
    "text": text,
    "write": summary_ops_v2.write,
}
