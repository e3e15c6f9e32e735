"""tf.compat.v2.summary: summaries that are written to the default writer when their op runs."""

import contextlib

from braid.tensorflow.python.framework import constant_op, dtypes, messages, ops, smart_cond
from braid.tensorflow.python.ops import array_ops, check_ops, gen_summary_ops, math_ops, summary_ops_v2

_step = None


def get_step():
    """The step that set_step has set, or None."""
    return _step


def set_step(step):
    """Sets the step of summaries that are given none: a number, a tensor or a variable."""
    global _step
    _step = step


@contextlib.contextmanager
def summary_scope(name, default_name="summary", values=None):
    """A scope of names for a summary. Yields (tag, scope). The tag has the name as it is given."""
    name = name or default_name
    current = ops.get_name_scope()
    tag = f"{current}/{name}" if current else name
    name = summary_ops_v2._INVALID_SCOPE_CHARACTERS.sub("", name) or None
    with ops.name_scope(name, default_name, values) as scope:
        yield tag, scope


def should_record_summaries():
    """Whether the ops that are built now write. Where nothing says so they do, unlike tf.contrib.summary's."""
    if summary_ops_v2._state.writer is None:
        return False
    return summary_ops_v2._state.recording is None or summary_ops_v2.should_record_summaries()


def write(tag, tensor, step=None, metadata=None, name=None):
    """The op that writes a tensor, with SummaryMetadata for a plugin of TensorBoard.

    The op gives whether it wrote. ValueError: there is a writer, and no step.
    """
    with ops.name_scope(name, "write_summary") as scope:
        writer = summary_ops_v2._state.writer
        if writer is None:
            return constant_op.constant(False)
        step = _step if step is None else step
        if step is None:
            raise ValueError("No step set via 'step' argument or tf.summary.experimental.set_step()")
        serialized = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata

        def record():
            op = gen_summary_ops.write_summary(
                writer._resource,
                math_ops.cast(step, dtypes.int64),
                array_ops.identity(tensor),
                tag,
                serialized or b"",
                name=scope,
            )
            with ops.control_dependencies([op]):
                return constant_op.constant(True)

        with ops.device("cpu:0"):
            op = smart_cond.smart_cond(
                should_record_summaries(), record, lambda: constant_op.constant(False), name="summary_cond"
            )
        ops.add_to_collection(summary_ops_v2._SUMMARIES, op)
        return op


def _metadata(plugin, description):
    made = messages.SummaryMetadata(summary_description=description or "")
    made.plugin_data.plugin_name = plugin
    return made


def scalar(name, data, step=None, description=None):
    """Writes a number. See write."""
    with summary_scope(name, "scalar_summary", [data, step]) as (tag, _):
        check_ops.assert_scalar(data)
        return write(tag, math_ops.cast(data, dtypes.float32), step, _metadata("scalars", description))


def text(name, data, step=None, description=None):
    """Writes a string tensor. See write."""
    with summary_scope(name, "text_summary", [data, step]) as (tag, _):
        data = ops.convert_to_tensor(data, dtypes.string)
        return write(tag, data, step, _metadata("text", description))


def _refused(name):
    def summary(*args, **kwargs):
        raise NotImplementedError(
            f"tf.compat.v2.summary.{name} is not in Braid: tf.contrib.summary.{name} writes to the same files"
        )

    return summary


NAMES = {
    "SummaryWriter": summary_ops_v2.SummaryWriter,
    "audio": _refused("audio"),
    "create_file_writer": summary_ops_v2.create_file_writer,
    "create_noop_writer": summary_ops_v2.create_noop_writer,
    "experimental.get_step": get_step,
    "experimental.set_step": set_step,
    "experimental.summary_scope": summary_scope,
    "flush": summary_ops_v2.flush,
    "histogram": _refused("histogram"),
    "image": _refused("image"),
    "import_event": summary_ops_v2.import_event,
    "record_if": summary_ops_v2.record_if,
    "scalar": scalar,
    "should_record_summaries": should_record_summaries,
    "text": text,
    "write": write,
}
