"""Hooks: objects that take part in every run of a monitored session."""

import collections

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["train.SessionRunHook"])
class SessionRunHook:
    """What a monitored session calls around its runs. All methods do nothing unless they are overridden."""

    def begin(self):
        """Called once, before the session is made. The graph may still be changed, and later not."""

    def after_create_session(self, session, coord):
        """Called when a session has been made: at first, and after each recovery.

        session: the tf.Session. coord: the Coordinator of all threads.
        """

    def before_run(self, run_context):
        """Called before each run. Returns what to add to it, a SessionRunArgs, or None.

        run_context: a SessionRunContext.
        """
        return None

    def after_run(self, run_context, run_values):
        """Called after each run that has succeeded. run_values: a SessionRunValues with the hook's own results."""

    def end(self, session):
        """Called at the end of the session, unless that is an error other than OutOfRange or StopIteration."""


@tf_export(v1=["train.SessionRunArgs"])
class SessionRunArgs(collections.namedtuple("SessionRunArgs", ["fetches", "feed_dict", "options"])):
    """The arguments of a run, or what a hook adds to them."""

    def __new__(cls, fetches, feed_dict=None, options=None):
        return super().__new__(cls, fetches, feed_dict, options)


@tf_export(v1=["train.SessionRunContext"])
class SessionRunContext:
    """One run, as its hooks see it."""

    def __init__(self, original_args, session):
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self):
        """The SessionRunArgs of the program's call of run."""
        return self._original_args

    @property
    def session(self):
        """The session that executes the run."""
        return self._session

    @property
    def stop_requested(self):
        """Whether a hook has asked to stop."""
        return self._stop_requested

    def request_stop(self):
        """Makes should_stop() of the monitored session true after this run."""
        self._stop_requested = True


@tf_export(v1=["train.SessionRunValues"])
class SessionRunValues(collections.namedtuple("SessionRunValues", ["results", "options", "run_metadata"])):
    """What a hook gets after a run: the results of its fetches, the RunOptions and the RunMetadata."""
