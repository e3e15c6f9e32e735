"""Writes events by ops of a graph: where the session's master has them run."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.util import compat


class EventFileWriterV2:
    """EventFileWriter by a writer that is a resource of the session: those of one directory share a file.

    The ops are added to the session's graph, which must not be finalized.
    """

    def __init__(self, session, logdir, max_queue=10, flush_secs=120, filename_suffix=""):
        from braid.tensorflow.python.ops import summary_ops_v2  # few programs write in this way

        self._session = session
        self._logdir = compat.path_to_str(logdir)
        self._closed = False
        if not gfile.IsDirectory(self._logdir):
            gfile.MakeDirs(self._logdir)
        with session.graph.as_default(), ops.name_scope("filewriter"):
            writer = summary_ops_v2.create_file_writer(
                logdir=self._logdir,
                max_queue=max_queue,
                flush_millis=flush_secs * 1000,
                filename_suffix=filename_suffix or "",
            )
            with summary_ops_v2.always_record_summaries(), writer.as_default():
                unused = ops.convert_to_tensor("unused", dtypes.string)
                self._event = array_ops.placeholder_with_default(unused, shape=[])
                self._add_event_op = summary_ops_v2.import_event(self._event)
            self._init_op = writer.init()
            self._flush_op = writer.flush()
            self._close_op = writer.close()
        session.run(self._init_op)

    def get_logdir(self):
        return self._logdir

    def reopen(self):
        """Makes a new file, if the writer is closed."""
        if self._closed:
            self._closed = False
            self._session.run(self._init_op)

    def add_event(self, event):
        """Adds an Event; a closed writer ignores it."""
        if not self._closed:
            self._session.run(self._add_event_op, feed_dict={self._event: event.SerializeToString()})

    def flush(self):
        """Hands all events to the system."""
        self._session.run(self._flush_op)

    def close(self):
        """Writes what waits and closes the file."""
        if not self._closed:
            self.flush()
            self._session.run(self._close_op)
            self._closed = True
