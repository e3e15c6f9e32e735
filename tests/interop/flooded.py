# A server that is flooded, for tests: what the flood costs the server, and another client who runs steps.
#
# Tests run beside others, on few processors and with sanitizers, so the clock says little about a step. What
# counts is the work of the server, in processor time, while the client waits for one. It is compared with the
# work for as many correct calls as one client may have in progress: that much any client may cause.
import os
import threading
import time

from client import InteropTest, Session
from floods import answers
from graphs import FLOAT, const, node
from protos import grpc

SANITIZED = bool(os.environ.get("BRAID_SANITIZE"))
# What a server holds of calls, and how long it works on them, is tens of times as much with a sanitizer.
CALLS_MAX = 4000 if SANITIZED else 20000  # the latter is the default
OPTIONS = ["--limit", f"calls={CALLS_MAX}"]
MANY_CALLS = CALLS_MAX * 3 // 4
ROUNDS = 3  # of many calls
WORK_MAX = 300000  # for a step, in correct calls: fifteen times those that a client may have by default
MEMORY_MAX = (4 if SANITIZED else 1) << 30  # what a flood may add
QUIET_STEPS = 100
SETTLING_ROUNDS = 10


def peak_memory(server):
    """The most that the process has had, in bytes."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))


def work(server):
    """The processor time of the process, in seconds."""
    return time.clock_gettime(~server.process.pid << 3 | 2)  # as clock_getcpuclockid makes it


def p99(values):
    return sorted(values)[int(len(values) * 0.99)]


# The work of the server is what counts: on a busy machine a step waits long until that is done.
PATIENCE_S = 300


class Steps(threading.Thread):
    """Runs steps until it is stopped. `times` has how long each took, `works` how long the server worked."""

    def __init__(self, session, server):
        super().__init__()
        self.session, self.server, self.times, self.works = session, server, [], []
        self.is_over, self.error = False, None

    def step(self):
        start, before = time.monotonic(), work(self.server)
        try:
            self.session.run("b:0", timeout=PATIENCE_S)
        except grpc.RpcError as e:  # the flood may use up the calls of its user
            if e.code() != grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
        self.times.append(time.monotonic() - start)
        self.works.append(work(self.server) - before)

    def run(self):
        try:
            while not self.is_over:
                self.step()
        except Exception as e:
            self.error = e

    def stop(self):
        self.is_over = True
        self.join()
        if self.error:
            raise self.error

    def settle(self, quiet_work):
        """More steps, until the server works for nothing else: it may still end what was begun."""
        for _ in range(SETTLING_ROUNDS):
            for _ in range(QUIET_STEPS):
                self.step()
            if sum(self.works[-QUIET_STEPS:]) < 2 * quiet_work * QUIET_STEPS:
                break

    def __str__(self):
        return (
            f"{len(self.times)} steps, p99 {p99(self.times) * 1e3:.1f} ms, longest {max(self.times) * 1e3:.1f} ms"
            f" with {max(self.works) * 1e3:.1f} ms of work"
        )


class FloodedTest(InteropTest):
    """
    Each test has a server of its own: what is left of a flood is in no other's measure. A subclass has
    begin(), which sets `server`, `address` and `master`, connect() to the server, and end().
    """

    def setUp(self):
        self.begin()
        self.session = Session(self.master, const("a", 1.0), node("b", "Neg", "a", T=FLOAT))
        quiet = self.steps()
        for _ in range(QUIET_STEPS):
            quiet.step()
        self.quiet_p99, self.quiet_work = p99(quiet.times), sum(quiet.works) / QUIET_STEPS

    def tearDown(self):
        self.session.close()
        self.end()

    def steps(self):
        return Steps(self.session, self.server)

    def work_of_a_call(self):
        """Of one of many at once. No client that waits for answers is taken for a flood."""
        before = work(self.server)
        with self.connect() as connection:
            self.assertEqual(answers(connection, MANY_CALLS, ROUNDS), ROUNDS * MANY_CALLS)
        return (work(self.server) - before) / (ROUNDS * MANY_CALLS)

    def check_others(self, flood, memory_max=MEMORY_MAX):
        """Another client's steps go on while flood() runs, and the server's memory stays small."""
        before, steps = peak_memory(self.server), self.steps()
        steps.start()
        try:
            flood()
        finally:
            steps.stop()
        steps.settle(self.quiet_work)
        added, work_of_a_call = peak_memory(self.server) - before, self.work_of_a_call()
        print(f"{added >> 20} MB more; {steps}, as for {max(steps.works) / work_of_a_call:.0f} calls")
        self.assertLess(added, memory_max)
        self.assertLess(max(steps.works), WORK_MAX * work_of_a_call)
