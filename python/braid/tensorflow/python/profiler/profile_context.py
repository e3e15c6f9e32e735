"""ProfileContext: records some steps of the sessions of a program, and shows and writes profiles of them."""

import contextlib
import os
import random
import sys
import threading

from braid import protos
from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import errors, ops
from braid.tensorflow.python.platform import gfile
from braid.tensorflow.python.profiler import model_analyzer
from braid.tensorflow.python.util import compat

WARMUP_STEPS = 10
MAX_TRACED_STEPS = 100
_VIEWS = {"scope": "profile_name_scope", "op": "profile_operations"}


class ProfileContext:
    """A context in which calls of Session.run are counted, from 0, and some of them recorded.

    with tf.contrib.tfprof.ProfileContext("/tmp/profiles", trace_steps=range(100, 200, 3), dump_steps=[200]) as c:
        c.add_auto_profiling("op", tf.profiler.ProfileOptionBuilder.time_and_memory(), [150, 200])
        train()

    A step that runs while another thread's does is counted, but not recorded.
    """

    def __init__(self, profile_dir, trace_steps=None, dump_steps=None, enabled=True, debug=False):
        """The profile is written to profile_dir/profile_STEP.

        trace_steps: steps that are recorded, at most 100; by default, after 10 steps, the first one of each
        set of fetches, and some others at random while less than half of the graph's nodes were seen.
        dump_steps: steps after which the profile is written, by default 100. enabled: False: nothing happens.
        debug: the RunMetadata of each recorded step are written, too, as text, and steps are told on stderr.
        """
        self._enabled = enabled
        if not enabled:
            return
        if not profile_dir:
            raise ValueError("Must have a directory for profile.\n")
        if trace_steps is not None and len(trace_steps) > MAX_TRACED_STEPS:
            raise ValueError("Only support tracing up to 100 steps.\n")
        self._profiler_dir = compat.as_str(profile_dir)
        self._debug = debug
        self._auto_tracing = trace_steps is None
        self._trace_steps = set(trace_steps or ())
        self._dump_steps = {MAX_TRACED_STEPS} if dump_steps is None else set(dump_steps)
        self._slow_path_steps = self._trace_steps | self._dump_steps
        self._trace_next_step = self._dump_next_step = False
        self._step = self._traced_steps = 0
        self._fetched = set()
        self._random = random.Random(111)
        self._auto_profiles = []
        self._views = {}
        self._profiler = None
        self._lock = threading.Lock()  # held by the step that may be recorded

    @property
    def profiler(self):
        """The tf.profiler.Profiler of what was recorded; None unless enabled."""
        if not self._enabled:
            return None
        if self._profiler is None:
            self._profiler = model_analyzer.Profiler(ops.get_default_graph())
        return self._profiler

    def add_auto_profiling(self, cmd, options, profile_steps):
        """Records these steps, and makes a profile after each: see get_profiles.

        cmd, options: "scope" or "op", and what a ProfileOptionBuilder made, as of tf.profiler.profile.
        """
        if not self._enabled:
            return
        if cmd in ("graph", "code"):
            raise NotImplementedError(f"tf.profiler: cmd={cmd!r} is not in Braid; 'scope' and 'op' are")
        self._auto_profiles.append((cmd, options, set(profile_steps)))
        self._slow_path_steps.update(profile_steps)
        self._trace_steps.update(profile_steps)

    def get_profiles(self, cmd):
        """The profiles of add_auto_profiling, by their steps. ValueError: there is none yet."""
        if cmd not in self._views:
            raise ValueError("No autoprofiler for command: {}, was run".format(cmd))
        return self._views[cmd]

    def trace_next_step(self):
        """The next step is recorded."""
        if self._enabled:
            self._trace_next_step = True
            self._slow_path_steps.add(self._step)

    def dump_next_step(self):
        """The profile is written after the next step."""
        if self._enabled:
            self._dump_next_step = True
            self._slow_path_steps.add(self._step)

    def _is_fast_path(self, step):
        if step in self._slow_path_steps:
            return False
        return not self._auto_tracing or step <= WARMUP_STEPS or self._traced_steps > MAX_TRACED_STEPS

    def _should_trace(self, step, graph, fetches):
        traces = self._traced_steps <= MAX_TRACED_STEPS and (
            step in self._trace_steps
            or self._trace_next_step
            or (self._auto_tracing and step > WARMUP_STEPS and self._is_of_interest(step, graph, fetches))
        )
        self._traced_steps += traces
        return traces

    def _is_of_interest(self, step, graph, fetches):
        """Whether these fetches are new; of others, some are taken while few nodes were seen."""
        names = "-".join(sorted(element.name for element in session._Plan(graph, fetches).elements))
        self._tell("trace fetches: %s" % names)
        if names not in self._fetched:
            self._fetched.add(names)
            return True
        few = self.profiler._coverage < 0.5 and step < MAX_TRACED_STEPS
        return few and self._random.randint(0, 10) < 2

    def _tell(self, text):
        if self._debug:
            sys.stderr.write("debug: %s\n" % text)

    def _write(self, name, content):
        if not gfile.Exists(self._profiler_dir):
            gfile.MakeDirs(self._profiler_dir)
        with gfile.Open(os.path.join(self._profiler_dir, name), "wb") as f:
            f.write(content)

    @contextlib.contextmanager
    def _new_step(self):
        acquired = self._lock.acquire(blocking=False)
        try:
            yield self._step, acquired
        finally:
            self._step += 1
            self._trace_next_step = self._dump_next_step = False
            if acquired:
                self._lock.release()

    def _run(self, run, target, fetches, feed_dict, options, run_metadata):
        """Calls a session's own run."""
        with self._new_step() as (step, acquired):
            if not acquired or self._is_fast_path(step):
                return run(target, fetches, feed_dict, options, run_metadata)
            if self._should_trace(step, target.graph, fetches):
                self._tell("tracing step: %d" % step)
                traced = protos.RunOptions()
                if options is not None:
                    traced.CopyFrom(options)
                traced.trace_level = protos.RunOptions.FULL_TRACE
                run_metadata = protos.RunMetadata() if run_metadata is None else run_metadata
                result = run(target, fetches, feed_dict, traced, run_metadata)
                if self._debug:
                    self._write("run_meta_%d" % step, str(run_metadata).encode())
                self.profiler._graph = target.graph
                self.profiler.add_step(step, run_metadata)
            else:
                result = run(target, fetches, feed_dict, options, run_metadata)
            if step in self._dump_steps or self._dump_next_step:
                self._tell("dumping file at step: %d" % step)
                self._write("profile_%d" % step, self.profiler.serialize_to_string())
            for cmd, view_options, steps in self._auto_profiles:
                if step in steps:
                    self._profile(cmd, view_options, step)
            return result

    def _profile(self, cmd, options, step):
        self._tell("profiling %s step: %d" % (cmd, step))
        if cmd not in _VIEWS:
            raise ValueError("Unknown cmd: %s\n" % cmd)
        self._views.setdefault(cmd, {})[step] = getattr(self.profiler, _VIEWS[cmd])(options)

    def __enter__(self):
        if not self._enabled:
            return self
        base = session.BaseSession
        if getattr(base, "profile_context", None) is not None:
            raise errors.InternalError(None, None, "Already in context or context not cleaned.")
        run = self._session_run = base.run

        def profiled_run(target, fetches, feed_dict=None, options=None, run_metadata=None):
            return self._run(run, target, fetches, feed_dict, options, run_metadata)

        base.run, base.profile_context = profiled_run, self
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if self._enabled:
            session.BaseSession.run, session.BaseSession.profile_context = self._session_run, None
