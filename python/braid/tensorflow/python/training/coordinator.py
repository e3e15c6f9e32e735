"""Threads that stop together (tf.train.Coordinator)."""

import contextlib
import sys
import threading
import time

from braid.tensorflow.python.framework import errors
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("train.Coordinator")
class Coordinator:
    """Any thread may ask all to stop; the first error that is reported is raised where `join` waits.

    clean_stop_exception_types: errors that are a reason to stop and no failure (OutOfRangeError by default).
    """

    def __init__(self, clean_stop_exception_types=None):
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (errors.OutOfRangeError,)
        self._clean_stop_exception_types = tuple(clean_stop_exception_types)
        self._lock = threading.Condition()
        self._stop_event = threading.Event()
        self._exc_info_to_raise = None
        self._joined = False
        self._registered_threads = set()

    def _filter_exception(self, ex):
        """The error as the triple of sys.exc_info(); None if it is a clean stop."""
        if not isinstance(ex, tuple):
            ex = (type(ex), ex, ex.__traceback__)
        return None if isinstance(ex[1], self._clean_stop_exception_types) else ex

    def request_stop(self, ex=None):
        """Asks the threads to stop. ex: an exception, or the triple of sys.exc_info(), that is the reason.

        Once `join` has returned, the exception is raised here.
        """
        with self._lock:
            ex = self._filter_exception(ex) if ex is not None else None
            if self._joined:
                if ex is not None:
                    raise ex[1].with_traceback(ex[2])
                return
            if self._stop_event.is_set():
                return
            if ex is not None:
                logging.info("Error reported to Coordinator: %s, %s", ex[0], ex[1])
                self._exc_info_to_raise = ex
            self._stop_event.set()
            self._lock.notify_all()

    def clear_stop(self):
        """Forgets that a stop was asked for, and why."""
        with self._lock:
            self._joined = False
            self._exc_info_to_raise = None
            self._stop_event.clear()

    def should_stop(self):
        """Whether a stop was asked for."""
        return self._stop_event.is_set()

    @contextlib.contextmanager
    def stop_on_exception(self):
        """An exception within it asks for a stop, and ends there."""
        try:
            yield
        except:  # noqa: E722, whatever it is, the others are to know
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout=None):
        """Waits until a stop is asked for, or for `timeout` seconds. Whether one was."""
        return self._stop_event.wait(timeout)

    def register_thread(self, thread):
        """Adds a thread to those that `join` waits for."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(self, threads=None, stop_grace_period_secs=120, ignore_live_threads=False):
        """Waits for the threads, those registered too; once a stop is asked for, only so many seconds.

        A thread that has not been started counts as one that has ended.
        Raises the exception that was reported. RuntimeError: threads go on, unless ignore_live_threads.
        """
        with self._lock:
            threads = list(self._registered_threads.union(threads or ()))
        self._wait_for_stop_or_end(threads)
        deadline = time.monotonic() + stop_grace_period_secs
        for thread in threads:
            if thread.is_alive():
                thread.join(max(0.0, deadline - time.monotonic()))
        stragglers = [thread.name for thread in threads if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            error, self._exc_info_to_raise = self._exc_info_to_raise, None
        if error is not None:
            raise error[1].with_traceback(error[2])
        if not stragglers:
            return
        message = "Coordinator stopped with threads still running: %s" % " ".join(stragglers)
        if not ignore_live_threads:
            raise RuntimeError(message)
        logging.info(message)

    def _wait_for_stop_or_end(self, threads):
        """Waits until a stop is asked for, or all threads have ended."""
        ended = threading.Event()

        def watch():
            while alive := [thread for thread in threads if thread.is_alive()]:
                for thread in alive:
                    thread.join()
            with self._lock:
                ended.set()
                self._lock.notify_all()

        if any(thread.is_alive() for thread in threads) and not self.should_stop():
            threading.Thread(target=watch, name="Coordinator", daemon=True).start()
            with self._lock:
                self._lock.wait_for(lambda: ended.is_set() or self.should_stop())

    @property
    def joined(self):
        return self._joined

    def raise_requested_exception(self):
        """Raises the exception that was reported, if one was; `join` raises it, too."""
        with self._lock:
            error = self._exc_info_to_raise
        if error is not None:
            raise error[1].with_traceback(error[2])


@tf_export(v1=["train.LooperThread"])
class LooperThread(threading.Thread):
    """Calls a function again and again, until the coordinator stops.

    timer_interval_secs: the seconds from one call to the next; None: without a pause. target: the function;
    by default the method run_loop does nothing.
    """

    def __init__(self, coord, timer_interval_secs, target=None, args=None, kwargs=None):
        if not isinstance(coord, Coordinator):
            raise ValueError("'coord' argument must be a Coordinator: %s" % coord)
        super().__init__()
        self.daemon = True
        self._coord = coord
        self._timer_interval_secs = timer_interval_secs
        self._target = target
        if target:
            self._args = args or ()
            self._kwargs = kwargs or {}
        elif args or kwargs:
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        coord.register_thread(self)

    @staticmethod
    def loop(coord, timer_interval_secs, target, args=None, kwargs=None):
        """Starts a LooperThread and returns it."""
        looper = LooperThread(coord, timer_interval_secs, target=target, args=args, kwargs=kwargs)
        looper.start()
        return looper

    def run(self):
        with self._coord.stop_on_exception():
            self.start_loop()
            if self._timer_interval_secs is None:
                while not self._coord.should_stop():
                    self.run_loop()
            else:
                next_call = time.time()
                while not self._coord.wait_for_stop(max(0.0, next_call - time.time())):
                    next_call += self._timer_interval_secs
                    self.run_loop()
            self.stop_loop()

    def start_loop(self):
        """Called before the first call."""

    def stop_loop(self):
        """Called after the last call."""

    def run_loop(self):
        """Called again and again: the target."""
        if self._target:
            self._target(*self._args, **self._kwargs)
