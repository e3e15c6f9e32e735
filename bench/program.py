"""The programs of the benchmarks. Each is started once and works in turns.

A command is the name of a C program, of a PyTorch program (NAME.py), of the peer "ps_lite", or "braid" or
"tensorflow", with which front_end.py runs; its arguments follow.

A program answers "go STEPS" on its standard input with one line: nanoseconds per step. Each has a session
of its own, so that ending it ends its children too, and each wait for it has a limit. A program of a peer
is stopped (SIGSTOP) outside of its turn, because PyTorch's idle RPC polls shared memory and would use the
processors of the others."""
import contextlib
import functools
import os
import signal
import subprocess
import tempfile
import threading
import time

import peers

HERE = os.path.dirname(os.path.abspath(__file__))
TURN_SECONDS = 0.2  # the length of a turn: long in comparison with a time slice of the system
STDERR_SHOWN = 4000  # bytes at the end of a program's standard error


class Trouble(Exception):
    """A program failed to answer. verdict: one word for the table; said: the end of its standard error."""

    def __init__(self, verdict, message, said):
        super().__init__(message)
        self.verdict, self.said = verdict, said


@functools.cache
def program_of(peer):
    found = peers.find(peer)
    if not found:
        raise Trouble("skipped", f"{peer} cannot be installed: bench/peers.py {peer} tells why", "")
    return found


def arguments(bin_dir, words):
    """The words with which a command is started, and whether it is a peer's."""
    if words[0].endswith(".py"):
        return [program_of("torch"), os.path.join(HERE, words[0]), *words[1:]], True
    if words[0] == "ps_lite":
        return [program_of("ps_lite"), *words[1:]], True
    program = os.path.join(HERE, "front_end.py")
    if words[0] == "tensorflow":
        return [program_of("tensorflow"), program, *words[1:]], True
    if words[0] == "braid":
        return [peers.PYTHON, "-m", "braid", program, *words[1:]], False
    return [os.path.join(bin_dir, words[0]), *words[1:]], False


def environment(bin_dir, is_peer):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OPENBLAS_", "PYTHON"))}
    env.update(
        OMP_NUM_THREADS="1",
        OPENBLAS_NUM_THREADS="1",
        PYTHONPATH=os.path.abspath(os.path.join(bin_dir, "..", "python")),
        TF_CPP_MIN_LOG_LEVEL="3",
    )
    if is_peer:
        del env["PYTHONPATH"]
        env.update(
            GLOG_minloglevel="2",
            MALLOC_MMAP_THRESHOLD_="1073741824",
            MALLOC_TRIM_THRESHOLD_="4294967296",
            MALLOC_TOP_PAD_="268435456",
        )
    return env


# Delays the signals that would end the driver, so that no program is started but not yet listed in `running`.
@contextlib.contextmanager
def undisturbed():
    received = []
    handlers = {
        n: signal.signal(n, lambda number, _: received.append(number))
        for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for n, handler in handlers.items():
            signal.signal(n, handler)
        for n in received:
            signal.raise_signal(n)


running = []


def end_all():
    """Kills all programs that still run."""
    with undisturbed():
        while running:
            running.pop().end()


class Program:
    """A program that is started once and works in turns, until `close` or `end_all`."""

    def __init__(self, bin_dir, words, limit):
        argv, self.is_peer = arguments(bin_dir, words)
        self.name, self.limit = " ".join(words), limit
        self.steps, self.is_late = 1, False
        self.stderr = tempfile.TemporaryFile()
        with undisturbed():
            self.process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.stderr,
                text=True,
                env=environment(bin_dir, self.is_peer),
                start_new_session=True,
            )
            running.append(self)

    def end(self):
        self.signal(signal.SIGKILL)
        self.process.wait(self.limit)

    def signal(self, number):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def trouble(self, verdict, what):
        self.stderr.seek(max(0, self.stderr.seek(0, os.SEEK_END) - STDERR_SHOWN))
        return Trouble(verdict, f"{self.name} {what}", self.stderr.read().decode(errors="replace"))

    def expire(self):
        self.is_late = True
        self.signal(signal.SIGKILL)

    # The program's turn: it runs, for at most `limit` seconds. After that it is killed, which ends the wait
    # for it.
    @contextlib.contextmanager
    def turn(self, what):
        timer = threading.Timer(self.limit, self.expire)
        timer.daemon = True
        try:
            timer.start()
            if self.is_peer:
                self.signal(signal.SIGCONT)
            yield
            if self.is_peer:
                self.signal(signal.SIGSTOP)
        finally:
            timer.cancel()
        if self.is_late:
            raise self.trouble("hung", f"{what} in {self.limit:g} s")

    def go(self):
        with self.turn("gave no answer"):
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.write(f"go {self.steps}\n")
                self.process.stdin.flush()
            answer = self.process.stdout.readline()
        if not answer:
            raise self.trouble("died", f"ended with exit code {self.process.wait(self.limit)} in its turn")
        return float(answer)

    # Finds the number of steps that fills a turn.
    def warm(self):
        for _ in range(4):
            begin = time.perf_counter()
            self.go()
            took = (time.perf_counter() - begin) / self.steps
            self.steps = max(1, min(100 * self.steps, int(TURN_SECONDS / took)))

    # Closes the program's standard input and waits until it ends.
    def close(self):
        with self.turn("did not end"):
            self.process.stdin.close()
            code = self.process.wait()
        self.end()  # kills the children that it left
        running.remove(self)
        if code != 0:
            raise self.trouble("died", f"ended with exit code {code}")


class StartedProgram:
    """A program that is started in each turn. Its time is from its start to its first answer."""

    def __init__(self, bin_dir, words, limit):
        self.arguments = bin_dir, words[1:], limit

    def go(self):
        begin = time.perf_counter_ns()
        program = Program(*self.arguments)
        program.go()
        took = time.perf_counter_ns() - begin
        program.close()
        return took

    def warm(self):
        self.go()

    def close(self):
        pass


def open_program(bin_dir, command, limit):
    words = command.split()
    return (StartedProgram if words[0] == "started" else Program)(bin_dir, words, limit)
