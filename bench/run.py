"""Runs the benchmarks and prints the table: programs that take turns, round by round, in one run; medians of the rounds.

Each program is started once for its row and answers "go STEPS" with nanoseconds per step. What cripples a peer (OPENBLAS_* set
in a shell) is unset, and PyTorch gets the malloc settings that make it fastest."""
import argparse
import os
import statistics
import subprocess
import sys
import time

from table import ROWS

HERE = os.path.dirname(os.path.abspath(__file__))
# Debian's own python3 has Debian's PyTorch.
PYTHON = "/usr/bin/python3"
TURN_SECONDS = 0.2  # what a program works in its turn: long beside a time slice of the system


def environment(is_peer):
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    env.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if is_peer:
        env.update(GLOG_minloglevel="2", MALLOC_MMAP_THRESHOLD_="1073741824", MALLOC_TRIM_THRESHOLD_="4294967296",
                   MALLOC_TOP_PAD_="268435456")
    return env


class Program:
    """One that is started once and works in turns."""

    def __init__(self, bin_dir, words):
        is_peer = words[0].endswith(".py")
        argv = [PYTHON, os.path.join(HERE, words[0])] if is_peer else [os.path.join(bin_dir, words[0])]
        self.words = words
        self.steps = 1
        self.process = subprocess.Popen(argv + words[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE if not is_peer else None, text=True, env=environment(is_peer))

    def go(self):
        try:
            self.process.stdin.write(f"go {self.steps}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer:
            said = self.process.stderr.read() if self.process.stderr else ""
            sys.exit(f"{said}benchmark program '{' '.join(self.words)}' ended with exit code {self.process.wait()}")
        return float(answer)

    # Finds the number of steps that fills a turn.
    def warm(self):
        for _ in range(4):
            begin = time.perf_counter()
            self.go()
            took = (time.perf_counter() - begin) / self.steps
            self.steps = max(1, min(100 * self.steps, int(TURN_SECONDS / took)))

    def close(self):
        self.process.stdin.close()
        if self.process.stderr:
            self.process.stderr.read()
        self.process.wait()


class StartedProgram:
    """One that is started in each turn; its time is that from its start to its first answer."""

    def __init__(self, bin_dir, words):
        self.bin_dir, self.words = bin_dir, words[1:]

    def go(self):
        begin = time.perf_counter_ns()
        program = Program(self.bin_dir, self.words)
        program.go()
        took = time.perf_counter_ns() - begin
        program.close()
        return took

    def warm(self):
        self.go()

    def close(self):
        pass


def open_program(bin_dir, command):
    words = command.split()
    return (StartedProgram if words[0] == "started" else Program)(bin_dir, words)


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def measure(bin_dir, row, rounds):
    """The answers of each program, a list with one a round."""
    progress(f"{row.what}: starting")
    programs = {name: open_program(bin_dir, command) for name, command in row.programs.items()}
    for p in programs.values():
        p.warm()
    answers = {name: [] for name in programs}
    for i in range(rounds):
        progress(f"{row.what}: round {i + 1} of {rounds}")
        for name in list(programs) if i % 2 == 0 else reversed(list(programs)):
            answers[name].append(programs[name].go())
    for p in programs.values():
        p.close()
    progress("")
    return answers


def quartiles(values):
    if len(values) < 4:
        return min(values), max(values)
    low, _, high = statistics.quantiles(values, n=4)
    return low, high


def number(x):
    return f"{x:.{0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2}f}"


def line(row, answers):
    figures = row.formula(answers)
    figure = statistics.median(figures)
    is_ok = figure <= row.target if row.at_most else figure >= row.target
    verdict = "noise" if figure != figure else "ok" if is_ok else "missed"
    spread = "-".join(number(q) for q in quartiles(figures))
    names = [c(answers) if callable(c) else c for c in row.columns]
    times = [number(statistics.median(answers[n]) / row.scale) for n in names]
    target = f"{'<=' if row.at_most else '>='} {row.target:g}"
    return (f"{row.key:12} {row.what:57} {number(figure):>7} {spread:>11} {target:>8} {verdict:7}"
            f"{times[0]:>8} {times[1] if len(times) > 1 else '':>8} {row.unit}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin_dir", help="where the benchmark programs are")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", metavar="ROW", action="append", default=[],
                        help="only rows whose name starts with this; can be given again")
    args = parser.parse_args()
    rows = [r for r in ROWS if not args.only or any(r.key.startswith(o) for o in args.only)]
    if not rows:
        parser.error(f"no such row; there are: {' '.join(r.key for r in ROWS)}")
    print(f"{'row':12} {'what':57} {'figure':>7} {'quartiles':>11} {'target':>8} {'':7}{'ours':>8} {'peer':>8}", flush=True)
    for row in rows:
        print(line(row, measure(args.bin_dir, row, args.rounds)), flush=True)


if __name__ == "__main__":
    main()
