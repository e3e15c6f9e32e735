"""Summaries that ops write to event files while a step runs (tf.contrib.summary).

A writer is a resource of the graph. The ops write if a writer is the default one, and where summaries are
recorded (always_record_summaries, record_summaries_every_n_global_steps). In a graph a program runs
all_summary_ops().
"""

import contextlib
import os
import re
import threading

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import smart_cond
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_summary_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import summary_op_util
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export

_SUMMARY_WRITER_INIT_COLLECTION_NAME = "_SUMMARY_WRITER_V2"
_SUMMARIES = ops.GraphKeys._SUMMARY_COLLECTION

_INVALID_SCOPE_CHARACTERS = re.compile(r"[^-_/.A-Za-z0-9]")


class _State(threading.local):
    writer = None
    recording = None  # a bool, a tensor, or a function that gives either; None: nothing says so
    step = None


_state = _State()


@contextlib.contextmanager
def _with(**changes):
    before = {name: getattr(_state, name) for name in changes}
    vars(_state).update(changes)
    try:
        yield
    finally:
        vars(_state).update(before)


def should_record_summaries():
    """Whether the ops that are built now write: a bool, or a tensor of one."""
    recording = _state.recording() if callable(_state.recording) else _state.recording
    return False if recording is None else recording


def _should_record_summaries_v2():
    """Whether the ops that are built now write. Where nothing says so they do, unlike tf.contrib.summary's."""
    if _state.writer is None:
        return False
    return _state.recording is None or should_record_summaries()


def record_if(condition):
    """A scope: summaries are recorded if the condition, a bool, a tensor or a function that gives one, is
    true.
    """
    return _with(recording=condition)


def always_record_summaries():
    """A scope: summaries are recorded."""
    return _with(recording=True)


def never_record_summaries():
    """A scope: summaries are not recorded."""
    return _with(recording=False)


@contextlib.contextmanager
def record_summaries_every_n_global_steps(n, global_step=None):
    """A scope: summaries are recorded in every n-th step."""
    if global_step is None:
        global_step = training_util.get_or_create_global_step()
    with ops.device("cpu:0"):
        should = math_ops.equal(global_step % n, 0)
    with _with(recording=should):
        yield should


def get_step():
    """The step that set_step has set in this thread, or None."""
    return _state.step


def set_step(step):
    """Sets the step of the summaries of this thread that are given none: a number, a tensor or a variable."""
    _state.step = step


class ResourceSummaryWriter:
    """A writer: a resource. See create_file_writer."""

    def __init__(self, shared_name, init_op_fn, name=None, **init_arguments):
        self._resource = gen_summary_ops.summary_writer(shared_name=shared_name, name=name)
        self._init_op = init_op_fn(self._resource, **init_arguments)
        ops.add_to_collection(_SUMMARY_WRITER_INIT_COLLECTION_NAME, self._init_op)

    def init(self):
        """The op that makes the file."""
        return self._init_op

    def set_as_default(self):
        """Has the summaries that are built from now on go here."""
        _state.writer = self

    @contextlib.contextmanager
    def as_default(self):
        """A scope: the summaries that are built in it go here."""
        with _with(writer=self):
            yield self

    def flush(self):
        """The op that hands all events to the system."""
        with ops.device("cpu:0"):
            return gen_summary_ops.flush_summary_writer(self._resource)

    def close(self):
        """The op that ends the file."""
        with ops.control_dependencies([self.flush()]), ops.device("cpu:0"):
            return gen_summary_ops.close_summary_writer(self._resource)


SummaryWriter = ResourceSummaryWriter


class NoopSummaryWriter:
    """A writer that writes nothing."""

    def set_as_default(self):
        _state.writer = None

    @contextlib.contextmanager
    def as_default(self):
        with _with(writer=None):
            yield self

    def init(self):
        return control_flow_ops.no_op()

    flush = close = init


def create_file_writer(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None):
    """A writer of event files in a directory. Its `init` op makes the file: see initialize.

    max_queue (10): events that may wait. flush_millis (120000): how long. name: writers of one name share the
    file.
    """
    if logdir is None:
        return NoopSummaryWriter()
    logdir = compat.path_to_str(logdir)
    with ops.device("cpu:0"):
        if name is None:
            name = "logdir:" + compat.as_str_any(logdir)
        return ResourceSummaryWriter(
            shared_name=name,
            init_op_fn=gen_summary_ops.create_summary_file_writer,
            logdir=logdir,
            max_queue=constant_op.constant(10 if max_queue is None else max_queue),
            flush_millis=constant_op.constant(120000 if flush_millis is None else flush_millis),
            filename_suffix=constant_op.constant(".v2" if filename_suffix is None else filename_suffix),
        )


create_summary_file_writer = create_file_writer


def create_file_writer_v2(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None):
    """A writer of an event file of its own. See create_file_writer. ValueError: logdir is None."""
    if logdir is None:
        raise ValueError("logdir cannot be None")
    with ops.name_scope(name, "create_file_writer") as scope, ops.device("cpu:0"):
        logdir = ops.convert_to_tensor(compat.path_to_str(logdir), dtypes.string)
        suffix = constant_op.constant(".v2") if filename_suffix is None else filename_suffix
        return ResourceSummaryWriter(
            shared_name=ops.name_from_scope_name(scope),
            init_op_fn=gen_summary_ops.create_summary_file_writer,
            name=name,
            logdir=logdir,
            max_queue=constant_op.constant(10) if max_queue is None else max_queue,
            flush_millis=constant_op.constant(120000) if flush_millis is None else flush_millis,
            filename_suffix=constant_op.constant(f".{os.getpid()}.{ops.uid()}") + suffix,
        )


def create_db_writer(db_uri, experiment_name=None, run_name=None, user_name=None, name=None):
    """NotImplementedError."""
    raise NotImplementedError(
        "tf.contrib.summary.create_db_writer: Braid writes event files: use create_file_writer"
    )


@tf_export(v1=["summary.initialize"])
def initialize(graph=None, session=None):
    """Runs what makes the files of all writers of the graph, and writes a graph, if one is given.

    session: by default the default session. ValueError: there is none.
    """
    if _state.writer is None:
        raise RuntimeError("No default tf.contrib.summary.SummaryWriter found")
    if session is None:
        session = ops.get_default_session()
        if session is None:
            raise ValueError("session must be passed if no default session exists")
    session.run(summary_writer_initializer_op())
    if graph is not None:
        data = graph.as_graph_def(add_shapes=True).SerializeToString()
        x = array_ops.placeholder(dtypes.string)
        session.run(graph_summary(x, 0), feed_dict={x: data})


def summary_writer_initializer_op():
    """The ops that make the files of all writers of the graph."""
    return ops.get_collection(_SUMMARY_WRITER_INIT_COLLECTION_NAME)


@tf_export(v1=["summary.all_v2_summary_ops"])
def all_summary_ops():
    """The ops that write the summaries of the graph."""
    return ops.get_collection(_SUMMARIES)


def _choose_step(step):
    if step is None:
        return ops.convert_to_tensor(training_util.get_or_create_global_step())
    if not isinstance(step, ops.Tensor):
        return ops.convert_to_tensor(step, dtypes.int64)
    return step


def summary_writer_function(name, tensor, function, family=None):
    """The op function(tag, scope), which writes a summary, if there is a writer and summaries are recorded."""
    outer = ops.get_name_scope()
    outer = outer and outer + "/"

    def record():
        with ops.name_scope(outer), summary_op_util.summary_scope(name, family, values=[tensor]) as (
            tag,
            scope,
        ):
            with ops.control_dependencies([function(tag, scope)]):
                return constant_op.constant(True)

    if _state.writer is None:
        return control_flow_ops.no_op()
    with ops.device("cpu:0"):
        op = smart_cond.smart_cond(
            should_record_summaries(), record, lambda: constant_op.constant(False), name=""
        )
    ops.add_to_collection(_SUMMARIES, op)
    return op


@contextlib.contextmanager
def summary_scope(name, default_name="summary", values=None):
    """A scope of names for a summary. Yields (tag, scope). The tag has the name as it is given."""
    name = name or default_name
    current = ops.get_name_scope()
    tag = f"{current}/{name}" if current else name
    name = _INVALID_SCOPE_CHARACTERS.sub("", name) or None
    with ops.name_scope(name, default_name, values) as scope:
        yield tag, scope


def write(tag, tensor, step=None, metadata=None, name=None):
    """The op that writes a tensor, with SummaryMetadata for a plugin of TensorBoard.

    The op gives whether it wrote. ValueError: there is a writer, and no step.
    """
    with ops.name_scope(name, "write_summary") as scope:
        writer = _state.writer
        if writer is None:
            return constant_op.constant(False)
        step = _state.step if step is None else step
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
                _should_record_summaries_v2(),
                record,
                lambda: constant_op.constant(False),
                name="summary_cond",
            )
        ops.add_to_collection(_SUMMARIES, op)
        return op


def generic(name, tensor, metadata=None, family=None, step=None):
    """Writes a whole tensor, with SummaryMetadata for a plugin of TensorBoard."""

    def write(tag, scope):
        serialized = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata
        return gen_summary_ops.write_summary(
            _state.writer._resource,
            _choose_step(step),
            array_ops.identity(tensor),
            tag,
            serialized or b"",
            name=scope,
        )

    return summary_writer_function(name, tensor, write, family=family)


def scalar(name, tensor, family=None, step=None):
    """Writes a number."""

    def write(tag, scope):
        return gen_summary_ops.write_scalar_summary(
            _state.writer._resource, _choose_step(step), tag, array_ops.identity(tensor), name=scope
        )

    return summary_writer_function(name, tensor, write, family=family)


def histogram(name, tensor, family=None, step=None):
    """Writes the distribution of a tensor's numbers."""

    def write(tag, scope):
        return gen_summary_ops.write_histogram_summary(
            _state.writer._resource, _choose_step(step), tag, array_ops.identity(tensor), name=scope
        )

    return summary_writer_function(name, tensor, write, family=family)


def image(name, tensor, bad_color=None, max_images=3, family=None, step=None):
    """Writes images [batch, height, width, channels]. bad_color: of pixels that are not finite."""

    def write(tag, scope):
        colour = (
            constant_op.constant([255, 0, 0, 255], dtype=dtypes.uint8) if bad_color is None else bad_color
        )
        return gen_summary_ops.write_image_summary(
            _state.writer._resource,
            _choose_step(step),
            tag,
            array_ops.identity(tensor),
            colour,
            max_images,
            name=scope,
        )

    return summary_writer_function(name, tensor, write, family=family)


def audio(name, tensor, sample_rate, max_outputs, family=None, step=None):
    """Writes sounds [batch, frames, channels]."""

    def write(tag, scope):
        return gen_summary_ops.write_audio_summary(
            _state.writer._resource,
            _choose_step(step),
            tag,
            array_ops.identity(tensor),
            sample_rate=sample_rate,
            max_outputs=max_outputs,
            name=scope,
        )

    return summary_writer_function(name, tensor, write, family=family)


def graph_summary(param, step=None, name=None):
    """Writes a graph: a string tensor with a serialized GraphDef."""
    if not isinstance(param, ops.Tensor):
        raise TypeError(
            "graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but got: %s" % type(param)
        )
    if _state.writer is None:
        return control_flow_ops.no_op()
    with ops.device("cpu:0"):
        return gen_summary_ops.write_graph_summary(
            _state.writer._resource, _choose_step(step), param, name=name
        )


graph = graph_summary


def import_event(tensor, name=None):
    """Writes a serialized Event."""
    return gen_summary_ops.import_event(_state.writer._resource, tensor, name=name)


def flush(writer=None, name=None):
    """The op that hands all events of a writer, by default the default one, to the system."""
    writer = _state.writer if writer is None else writer
    if writer is None:
        return control_flow_ops.no_op()
    resource = writer._resource if isinstance(writer, ResourceSummaryWriter) else writer
    with ops.device("cpu:0"):
        return gen_summary_ops.flush_summary_writer(resource, name=name)


def eval_dir(model_dir, name=None):
    """The directory of an evaluation's summaries: eval or eval_NAME below the model's."""
    return os.path.join(model_dir, "eval" if not name else "eval_" + name)


def create_noop_writer():
    return NoopSummaryWriter()
