# Replaying a recorded program: all its roles at once, each with the threads and sessions that it had.
#
# Nothing waits without an end. A step has a timeout, so that a master that waits in vain says for what; a
# call has a deadline above it; roles wait for one another only as long as runs end. What was under way when
# the first role failed stands in the error.
import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from client import TIMEOUT, Session, master_service
from graphs import FLOAT, INT32, INT64, STRING, shape_of, value
from mnist import CLASSES, PIXELS
from protos import grpc, summary_pb2

STEP_TIMEOUT_MS = 1000 * (TIMEOUT - 15)
DTYPES = {"float32": FLOAT, "int32": INT32, "int64": INT64, "string": STRING}


class Abandoned(Exception):
    """Another role has failed."""


class Stage:
    """What the roles of a program have in common."""

    def __init__(self, examples, folder, loss, pull=None):
        self.examples, self.folder, self.loss, self.pull = examples, folder, loss, pull
        self.changed = threading.Condition()
        self.is_ready = self.has_failed = False  # these and the next are guarded by changed
        self.busy, self.under_way, self.ended, self.gradients = set(), {}, 0, 0
        self.losses, self.counted, self.fetched, self.slowest = [], 0, {}, (0.0, "")
        self.begin = self.end = time.monotonic()  # without the servers' start and stop

    def set(self, **fields):
        with self.changed:
            vars(self).update(fields)
            self.changed.notify_all()

    def wait_for(self, condition, what):
        """Until a condition holds, as long as something goes on."""
        with self.changed:
            while not condition() and not self.has_failed:
                ended = self.ended
                if not self.changed.wait_for(
                    lambda: condition() or self.has_failed or self.ended != ended, TIMEOUT
                ):
                    raise AssertionError(f"waits in vain for {what}")
            if self.has_failed:
                raise Abandoned

    @contextmanager
    def doing(self, what):
        key, begin = object(), time.monotonic()
        with self.changed:
            self.under_way[key] = what, begin
        yield
        with self.changed:  # after an error it stays, for the report
            self.under_way.pop(key)
            self.slowest = max(self.slowest, (time.monotonic() - begin, what))
            self.ended += 1
            self.changed.notify_all()

    def report(self):
        with self.changed:
            return "".join(
                f"\n    {what}, for {time.monotonic() - since:.1f} s"
                for what, since in self.under_way.values()
            )


class Player:
    """A role being played. `address` is its server's, `lone` that of a server of no cluster."""

    def __init__(self, role, stage, address, lone):
        self.role, self.stage, self.address, self.lone = role, stage, address, lone
        self.saved = 0
        stage.busy.add(role.name)

    def play(self):
        try:
            for recorded in self.role.sessions:
                self.play_session(recorded)
        except Abandoned:
            pass
        except (AssertionError, grpc.RpcError, grpc.FutureCancelledError) as e:
            report = self.stage.report()
            self.stage.set(has_failed=True)
            words = f"{e.code().name}: {e.details()}" if isinstance(e, grpc.RpcError) else e
            raise AssertionError(f"{self.role.name}: {words}\n  under way in all roles:{report}") from e

    def play_session(self, recorded):
        if not self.role.is_chief:
            self.stage.wait_for(lambda: self.stage.is_ready, "the chief to get ready")
        master = master_service(self.address if recorded.is_remote else self.lone)
        self.is_ending = False
        try:
            with ThreadPoolExecutor(8) as self.threads:
                try:
                    with self.stage.doing(f"{self.role.name} makes a session"):
                        session = Session(master, recorded.graph, config=recorded.config)
                    self.play_runs(session, recorded)
                    self.end_session(session, recorded)
                finally:
                    self.is_ending = True
                    master.close()  # what still waits, as at the end of a process, is cancelled
        finally:
            master.close()

    # ---- Runs ----

    def play_runs(self, session, recorded):
        self.beside = {}  # by name of a thread: its runs one after the other
        self.aside = []
        for number, run in enumerate(recorded.runs):
            if run.is_main:
                if self.role.is_chief and run.signature.trains and not self.stage.is_ready:
                    self.measure(session, recorded)
                    self.stage.set(is_ready=True)
                self.run(session, run, number)
            elif run.is_repeated:
                if run.thread not in self.beside:
                    self.beside[run.thread] = None
                    self.aside.append(self.threads.submit(self.keep_running, session, run))
            else:
                self.start_beside(session, run, number)

    def start_beside(self, session, run, number):
        """On the thread of the run, after what it has been given before."""
        before = self.beside.get(run.thread)
        future = self.threads.submit(lambda: (before and before.result(), self.run(session, run, number)))
        self.beside[run.thread] = future
        self.aside.append(future)

    def start(self, session, signature, number):
        return session.start(
            signature.names,
            self.feeds(signature, number),
            signature.targets,
            options={"timeout_in_ms": STEP_TIMEOUT_MS},
        )

    def run(self, session, run, number):
        with self.stage.doing(f"{self.role.name}, {run.thread}: run {number} ({run.signature})"):
            response = self.start(session, run.signature, number).result()
        self.check(run.signature, response)

    def keep_running(self, session, run):
        """Until the session ends, or what it feeds is closed."""
        for number in range(1 << 60):
            with self.stage.doing(f"{self.role.name}, {run.thread}: repeats {run.signature}"):
                try:
                    self.start(session, run.signature, number).result()
                except (
                    grpc.RpcError,
                    grpc.FutureCancelledError,
                    ValueError,
                ):  # ValueError: on a closed channel
                    if self.is_ending:
                        return
                    raise

    def end_session(self, session, recorded):
        if recorded.steps:
            self.leave_training(session, recorded)
        self.is_ending = True
        for number, run in enumerate(recorded.last_runs):
            try:
                self.run(session, run, number)
            except (
                grpc.RpcError
            ) as e:  # a queue runner closes what its coordinator has closed, and does not care
                if e.code() != grpc.StatusCode.CANCELLED or "is already closed" not in e.details():
                    raise
        if recorded.is_closed:
            with self.stage.doing(f"{self.role.name} closes its session"):
                session.close()
        else:
            session.master.close()
        with self.stage.doing(f"{self.role.name} waits for its threads"):
            for future in self.aside:
                future.result(TIMEOUT)

    def leave_training(self, session, recorded):
        """What is averaged over workers needs all of them: one that is through goes on until the last one is, too."""
        stage = self.stage
        with stage.changed:
            stage.busy.discard(self.role.name)
            stage.gradients += recorded.steps
            stage.changed.notify_all()
        signature = recorded.signature(lambda s: s.is_synchronous)
        while signature and stage.busy and not stage.has_failed:
            step = self.start(session, signature, stage.gradients)
            step.add_done_callback(lambda _: stage.set())
            stage.wait_for(lambda: step.done() or not stage.busy, "a step in company")
            stage.set(gradients=stage.gradients + 1)
            if not step.cancel():
                step.result()
        if self.role.is_chief:
            with stage.doing(f"{self.role.name} waits for the others"):
                stage.wait_for(lambda: not stage.busy, f"the end of {', '.join(stage.busy)}")
            self.measure(session, recorded)

    # ---- What goes in and out ----

    def feeds(self, signature, number):
        return {feed["name"]: self.feed(feed, signature, number) for feed in signature.feeds}

    def feed(self, feed, signature, number):
        shape, dtype = feed["shape"], DTYPES[feed["dtype"]]
        if dtype == STRING:
            self.saved += signature.saves
            return self.path(self.saved)
        if shape == []:
            return 0.5  # the probability to keep a value that may be dropped
        batch = self.stage.examples["train"].batch(shape[0], number)
        return {
            (FLOAT, (PIXELS,)): batch.images,
            (FLOAT, (CLASSES,)): batch.labels,
            (INT32, ()): batch.digits,
            (INT64, ()): batch.rows,
        }[dtype, tuple(shape[1:])]

    def path(self, number):
        return f"{self.stage.folder}/{self.role.name}.ckpt-{number}"

    def check(self, signature, response):
        for fetch, got in zip(signature.fetches, response.tensor, strict=True):
            check_fetch(fetch, got)
            if fetch["op"] == "MergeSummary":
                check_summary(summary_pb2.Summary.FromString(value(got.tensor)))
            elif signature.checks_ready and value(got.tensor) != []:
                raise AssertionError(f"uninitialized: {value(got.tensor)}")
            elif fetch["dtype"] == "float32" and fetch["shape"] == []:
                with self.stage.changed:
                    self.stage.fetched.setdefault(fetch["name"], []).append(value(got.tensor))

    def measure(self, session, recorded):
        """The loss on one batch, unless training itself fetches it, and before it the steps that it is the work of."""
        if self.stage.loss in recorded.signature(lambda s: s.trains).names:
            return
        feeds = {}
        if recorded.can("Placeholder_1"):
            batch = self.stage.examples["t10k"].batch(1000, 0)
            feeds = {"Placeholder:0": batch.images, "Placeholder_1:0": batch.labels}
        if recorded.can("Placeholder_2"):
            feeds["Placeholder_2:0"] = 1.0
        with self.stage.doing(f"{self.role.name} measures the loss"):
            if recorded.can("global_step"):
                self.stage.counted = session.run("global_step:0")
            if self.stage.pull:
                session.run(targets=[self.stage.pull])
            loss = session.run(self.stage.loss, feeds)
        self.stage.losses.append(loss if isinstance(loss, float) else sum(loss))


def check_fetch(fetch, got):
    dtype, shape = DTYPES[fetch["dtype"].removesuffix("_ref")], shape_of(got.tensor)
    fits = len(shape) == len(fetch["shape"]) and all(
        known in (None, size) for known, size in zip(fetch["shape"], shape)
    )
    if (got.name, got.tensor.dtype) != (fetch["name"], dtype) or not fits:
        raise AssertionError(f"{fetch} came as {got.name}, {got.tensor.dtype}, {shape}")


def check_summary(summary):
    for v in summary.value:
        kind = v.WhichOneof("value")
        good = {
            "simple_value": lambda: math.isfinite(v.simple_value),
            "histo": lambda: v.histo.num > 0
            and v.histo.min <= v.histo.max
            and sum(v.histo.bucket) == v.histo.num,
        }
        if not v.tag or kind not in good or not good[kind]():
            raise AssertionError(f"a summary that makes no sense: {v}")
    if not summary.value:
        raise AssertionError("an empty summary")
