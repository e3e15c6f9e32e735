"""A session whose runs write what they compute to directories, one for each run."""

import os
import threading
import time

from braid import protos
from braid.tensorflow.python.debug.lib import debug_data
from braid.tensorflow.python.debug.wrappers import framework
from braid.tensorflow.python.platform import gfile


def _write_log_message(run_dir, tag, message):
    event = protos.Event()
    event.log_message.message = message
    with gfile.GFile(os.path.join(run_dir, debug_data.METADATA_FILE_PREFIX + tag), "wb") as f:
        f.write(event.SerializeToString())


class DumpingDebugWrapperSession(framework.NonInteractiveDebugWrapperSession):
    """Writes each run to a directory of its own, which DebugDumpDir reads."""

    def __init__(
        self,
        sess,
        session_root,
        watch_fn=None,
        thread_name_filter=None,
        pass_through_operrors=None,
        log_usage=True,
    ):
        """`session_root`: an empty or a new directory. It gets a directory run_MICROSECONDS_NUMBER for each run."""
        super().__init__(
            sess,
            watch_fn=watch_fn,
            thread_name_filter=thread_name_filter,
            pass_through_operrors=pass_through_operrors,
        )
        session_root = os.path.expanduser(session_root)
        if not gfile.Exists(session_root):
            gfile.MakeDirs(session_root)
        elif not gfile.IsDirectory(session_root):
            raise ValueError("session_root path points to a file: %s" % session_root)
        elif gfile.ListDirectory(session_root):
            raise ValueError("session_root path points to a non-empty directory: %s" % session_root)
        self._session_root = session_root
        self._run_counter = 0
        self._run_counter_lock = threading.Lock()

    def prepare_run_debug_urls(self, fetches, feed_dict):
        with self._run_counter_lock:
            name = "run_%d_%d" % (int(time.time() * 1e6), self._run_counter)
            self._run_counter += 1
        run_dir = os.path.join(self._session_root, name)
        gfile.MkDir(run_dir)
        _write_log_message(run_dir, debug_data.FETCHES_INFO_FILE_TAG, repr(fetches))
        feeds = repr(feed_dict.keys()) if feed_dict else repr(feed_dict)
        _write_log_message(run_dir, debug_data.FEED_KEYS_INFO_FILE_TAG, feeds)
        return ["file://" + run_dir]
