"""Writers of summaries and graphs (tf.summary.FileWriter)."""

import os
import time
import warnings

from braid.tensorflow.core.framework import graph_pb2
from braid.tensorflow.core.framework import summary_pb2
from braid.tensorflow.core.protobuf import meta_graph_pb2
from braid.tensorflow.core.util import event_pb2
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.summary import plugin_asset
from braid.tensorflow.python.summary.writer.event_file_writer import EventFileWriter
from braid.tensorflow.python.summary.writer.event_file_writer_v2 import EventFileWriterV2
from braid.tensorflow.python.util.tf_export import tf_export

_PLUGINS_DIR = "plugins"


class SummaryToEventTransformer:
    """Makes events of summaries and graphs, and adds them to an event writer."""

    def __init__(self, event_writer, graph=None, graph_def=None):
        self.event_writer = event_writer
        self._session_run_tags = {}
        self._seen_summary_tags = set()
        if graph is None and graph_def is None:
            return
        from braid.tensorflow.python.framework import meta_graph  # it knows of savers, which write summaries

        self.add_graph(graph=graph, graph_def=graph_def)
        given = graph.as_graph_def(add_shapes=True) if isinstance(graph, ops.Graph) else graph
        self.add_meta_graph(meta_graph.create_meta_graph_def(graph_def=graph_def or given))

    def add_summary(self, summary, global_step=None):
        """Adds a Summary, also in the form of bytes: the result of a summary op."""
        if isinstance(summary, bytes):
            summary = summary_pb2.Summary.FromString(summary)
        # What a plugin has to know of a tag stands in the first event with it.
        for value in summary.value:
            if value.HasField("metadata"):
                if value.tag in self._seen_summary_tags:
                    value.ClearField("metadata")
                else:
                    self._seen_summary_tags.add(value.tag)
        self._add_event(event_pb2.Event(summary=summary), global_step)

    def add_session_log(self, session_log, global_step=None):
        """Adds a SessionLog."""
        self._add_event(event_pb2.Event(session_log=session_log), global_step)

    def _add_graph_def(self, graph_def, global_step=None):
        self._add_event(event_pb2.Event(graph_def=graph_def.SerializeToString()), global_step)

    def add_graph(self, graph, global_step=None, graph_def=None):
        """Adds a tf.Graph."""
        if graph is not None and graph_def is not None:
            raise ValueError("Please pass only graph, or graph_def (deprecated), but not both.")
        if isinstance(graph, ops.Graph):
            self._add_graph_def(graph.as_graph_def(add_shapes=True), global_step)
            self._write_plugin_assets(graph)
            return
        given = graph_def if graph_def is not None else graph
        if not isinstance(given, graph_pb2.GraphDef):
            raise TypeError("The passed graph must be an instance of `Graph` or the deprecated `GraphDef`")
        logging.warning(
            "Passing a `GraphDef` to the SummaryWriter is deprecated. Pass a `Graph` object instead."
        )
        self._add_graph_def(given, global_step)

    def _write_plugin_assets(self, graph):
        """Writes the files of plugins of TensorBoard that are registered with the graph."""
        for asset in plugin_asset.get_all_plugin_assets(graph):
            directory = os.path.join(self.event_writer.get_logdir(), _PLUGINS_DIR, asset.plugin_name)
            gfile.MakeDirs(directory)
            for name, content in asset.assets().items():
                with gfile.Open(os.path.join(directory, name), "w") as f:
                    f.write(content)

    def add_meta_graph(self, meta_graph_def, global_step=None):
        """Adds a MetaGraphDef."""
        if not isinstance(meta_graph_def, meta_graph_pb2.MetaGraphDef):
            raise TypeError("meta_graph_def must be type MetaGraphDef, saw type: %s" % type(meta_graph_def))
        self._add_event(event_pb2.Event(meta_graph_def=meta_graph_def.SerializeToString()), global_step)

    def add_run_metadata(self, run_metadata, tag, global_step=None):
        """Adds the RunMetadata of a step. ValueError: one was added under this tag."""
        if tag in self._session_run_tags:
            raise ValueError("The provided tag was already used for this event type")
        self._session_run_tags[tag] = True
        tagged = event_pb2.TaggedRunMetadata(tag=tag, run_metadata=run_metadata.SerializeToString())
        self._add_event(event_pb2.Event(tagged_run_metadata=tagged), global_step)

    def _add_event(self, event, step):
        event.wall_time = time.time()
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)


@tf_export(v1=["summary.FileWriter"])
class FileWriter(SummaryToEventTransformer):
    """Writes summaries to an event file in the directory `logdir`, which it makes.

    graph: a tf.Graph to begin with. max_queue, flush_secs, filename_suffix: see EventFileWriter. session: ops
    in its graph write the file, which writers of the session for one directory share (EventFileWriterV2).
    """

    def __init__(
        self,
        logdir,
        graph=None,
        max_queue=10,
        flush_secs=120,
        graph_def=None,
        filename_suffix=None,
        session=None,
    ):
        if session is not None:
            event_writer = EventFileWriterV2(session, logdir, max_queue, flush_secs, filename_suffix)
        else:
            event_writer = EventFileWriter(logdir, max_queue, flush_secs, filename_suffix)
        self._closed = False
        super().__init__(event_writer, graph, graph_def)

    def __enter__(self):
        return self

    def __exit__(self, unused_type, unused_value, unused_traceback):
        self.close()

    def get_logdir(self):
        return self.event_writer.get_logdir()

    def _warn_if_event_writer_is_closed(self):
        if self._closed:
            warnings.warn(
                "Attempting to use a closed FileWriter. The operation will be a noop unless the FileWriter is "
                "explicitly reopened."
            )

    def _add_event(self, event, step):
        self._warn_if_event_writer_is_closed()
        super()._add_event(event, step)

    def add_event(self, event):
        """Adds an Event."""
        self._warn_if_event_writer_is_closed()
        self.event_writer.add_event(event)

    def flush(self):
        """Hands all events to the system."""
        self._warn_if_event_writer_is_closed()
        self.event_writer.flush()

    def close(self):
        self.event_writer.close()
        self._closed = True

    def reopen(self):
        """Goes on after close, in another file."""
        self.event_writer.reopen()
        self._closed = False
