"""Writes Event messages to event files, which TensorBoard reads."""

import atexit
import os
import socket
import threading
import time
import weakref

from braid.tensorflow.core.util import event_pb2
from braid.tensorflow.python.lib.io import tf_record
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.util import compat

_open_writers = weakref.WeakSet()


@atexit.register
def _flush_all():
    """What a program leaves unwritten when it ends goes to the files."""
    for writer in list(_open_writers):
        writer.flush()


class EventFileWriter:
    """Writes events to a new file DIR/events.out.tfevents.SECONDS.HOST. Any thread may use it.

    The first event makes the file. Events are handed to the system when more than `max_queue` wait, when the
    last time is `flush_secs` seconds ago, by flush and close, and when the program ends. filename_suffix: the
    end of the file's name; with it the file is made at once.
    """

    def __init__(self, logdir, max_queue=10, flush_secs=120, filename_suffix=None):
        self._logdir = compat.as_str_any(compat.path_to_str(logdir))
        self._max_queue = max_queue
        self._flush_secs = flush_secs
        self._filename_suffix = compat.as_str_any(filename_suffix or "")
        self._lock = threading.Lock()
        self._writer = None
        self._closed = False
        self._make_directory()
        if self._filename_suffix:
            self._open()
        _open_writers.add(self)

    def _make_directory(self):
        if not gfile.IsDirectory(self._logdir):
            gfile.MakeDirs(self._logdir)

    def _open(self):
        """Makes the file. Its first event says that it is an event file."""
        self._make_directory()  # the program may have removed it
        self._writer = tf_record.TFRecordWriter(self._new_path())
        self._waiting = 0
        self._add(event_pb2.Event(wall_time=time.time(), file_version="brain.Event:2"))
        self._flush()

    def _new_path(self):
        name = "events.out.tfevents.%010d.%s" % (time.time(), socket.gethostname())
        count, end = 0, self._filename_suffix
        while gfile.Exists(os.path.join(self._logdir, name + end)):  # of another writer in the same second
            count += 1
            end = ".%d%s" % (count, self._filename_suffix)
        return os.path.join(self._logdir, name + end)

    def _add(self, event):
        self._writer.write(event.SerializeToString())
        self._waiting += 1

    def _flush(self):
        self._writer.flush()
        self._waiting = 0
        self._next_flush = time.monotonic() + self._flush_secs

    def get_logdir(self):
        return self._logdir

    def reopen(self):
        """Goes on after close, in another file, which the next event makes."""
        with self._lock:
            self._closed = False
            _open_writers.add(self)

    def add_event(self, event):
        """Adds an Event. After close nothing happens."""
        with self._lock:
            if self._closed:
                return
            if self._writer is None:
                self._open()
            self._add(event)
            if self._waiting > self._max_queue or time.monotonic() > self._next_flush:
                self._flush()

    def flush(self):
        with self._lock:
            if self._writer is not None:
                self._flush()

    def close(self):
        with self._lock:
            self._closed = True
            writer, self._writer = self._writer, None
            _open_writers.discard(self)
            if writer is not None:
                writer.close()
