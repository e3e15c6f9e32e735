"""Measures what work costs as it grows, and draws the curves: scale.py BIN_DIR [--only CURVE].

    workers    steps per second and processor time by step of asynchronous MNIST, 1 to 16 workers, 1 to 8 ps
    sessions   opening a session, and a step, with 1 to 1,000 sessions on one server
    nodes      building a graph, its first run and the next ones, by node, 100 to 1,000,000 nodes
    tensors    a step that receives a tensor of 1 byte to 4 GB
    rows       a step that updates 1,000 rows of a table of 1,000 to 100,000,000 rows of 4 numbers

Each point is the median of several turns. Of processor time, what the processes take when they are idle is
subtracted. The tasks of "workers" are pinned to processors in turn. A point that needs more memory than is free
is left out. The numbers are in scale.json, the pictures beside it, in build/scale (--out).
"""

import argparse
import json
import os
import statistics
import sys
import time

from program import Trouble, end_all, open_program

GIB = 1 << 30


class Curve:
    """x, y: what the axes show. lines: name -> {x: command}. scale(ns): y of an answer. memory(x): bytes that
    a point needs."""

    def __init__(self, x, y, lines, scale, memory=lambda x: 0):
        self.x, self.y, self.lines, self.scale, self.memory = x, y, lines, scale, memory


def powers(first, last):
    return [10**i for i in range(first, last + 1)]


WORKERS = (1, 2, 4, 8, 16)
CURVES = {
    "workers": Curve(
        "workers",
        "steps per second, all workers",
        {f"{ps} ps": {w: f"mnist_bench sgd workers {w} {ps}" for w in WORKERS} for ps in (1, 2, 4, 8)},
        lambda ns: 1e9 / ns,
    ),
    "sessions": Curve(
        "sessions",
        "microseconds",
        {
            "opening one, with its first step": {n: f"scale_bench open {n}" for n in powers(0, 3)},
            "a step": {n: f"scale_bench step {n}" for n in powers(0, 3)},
        },
        lambda ns: ns / 1e3,
    ),
    "nodes": Curve(
        "nodes",
        "nanoseconds by node",
        {
            name: {n: f"scale_bench {what} {n}" for n in powers(2, 6)}
            for name, what in (("building", "build"), ("first run", "first"), ("next runs", "next"))
        },
        lambda ns: ns,
    ),
    "tensors": Curve(
        "bytes",
        "microseconds",
        {"RecvTensor, one host": {n: f"recv_bench {n}" for n in (*powers(0, 9), 4 * 10**9)}},
        lambda ns: ns / 1e3,
        memory=lambda x: 3 * x,
    ),
    "rows": Curve(
        "rows of the table",
        "microseconds by step",
        {"1,000 rows updated, Adagrad": {n: f"rows_bench {n} 4" for n in powers(3, 8)}},
        lambda ns: ns / 1e3,
        memory=lambda x: 4 * 16 * x,
    ),
}


# ---- Processes ----


def free_memory():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))


def processes(session):
    """The ids of a session's processes."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[3]) == session:
                    yield int(name)
        except OSError:
            pass  # it has ended meanwhile


def pin(session):
    processors = sorted(os.sched_getaffinity(0))
    for i, pid in enumerate(sorted(processes(session))):
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), {processors[i % len(processors)]})


def cpu_s(session):
    total = 0
    for pid in processes(session):
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


IDLE_S = 0.5


def measure(bin_dir, command, rounds, limit):
    """Nanoseconds of a step, and microseconds of processor time, idle cost subtracted."""
    program = open_program(bin_dir, command, limit)
    session = program.process.pid
    program.go()  # all processes are there
    if command.startswith("mnist_bench"):
        pin(session)
    program.warm()
    before = cpu_s(session)
    time.sleep(IDLE_S)
    idle = (cpu_s(session) - before) / IDLE_S
    answers, before, start = [], cpu_s(session), time.perf_counter()
    for _ in range(rounds):
        answers.append(program.go())
    used = cpu_s(session) - before - idle * (time.perf_counter() - start)
    program.close()
    workers = int(command.split()[3]) if " workers " in command else 1
    return {
        "command": command,
        "ns": statistics.median(answers),
        "least_ns": min(answers),
        "most_ns": max(answers),
        "cpu_us": used * 1e6 / (rounds * program.steps * workers),
    }


# ---- Pictures ----


def draw(name, curve, points, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    has_cpu = name == "workers"
    figure, axes = pyplot.subplots(1, 2 if has_cpu else 1, figsize=(11 if has_cpu else 6, 4), squeeze=False)
    for line, values in points.items():
        xs = sorted(values, key=int)
        at = [max(int(x), 1) for x in xs]
        axes[0][0].plot(at, [curve.scale(values[x]["ns"]) for x in xs], marker="o", label=line)
        if has_cpu:
            axes[0][1].plot(at, [values[x]["cpu_us"] for x in xs], marker="o", label=line)
    for i, ax in enumerate(axes[0]):
        ax.set_xlabel(curve.x)
        ax.set_ylabel("microseconds of processor time by step" if i else curve.y)
        ax.set_xscale("log", base=2 if has_cpu else 10)
        if not has_cpu:
            ax.set_yscale("log")
        ax.grid(True, alpha=0.3)
        ax.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin_dir", help="the folder of the benchmark programs")
    parser.add_argument("--only", metavar="CURVE", action="append", default=[], choices=list(CURVES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--limit", metavar="SECONDS", type=float, default=300, help="the longest time for one answer"
    )
    parser.add_argument("--most", metavar="N", type=int, default=4 * 10**9, help="the largest x of a point")
    parser.add_argument("--out", metavar="DIRECTORY", default="build/scale")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    numbers_path = os.path.join(args.out, "scale.json")
    numbers = {}
    if os.path.exists(numbers_path):
        with open(numbers_path) as file:
            numbers = json.load(file)
    code = 0
    for name in args.only or CURVES:
        curve, points = CURVES[name], {}
        for line, commands in curve.lines.items():
            points[line] = {}
            for x, command in commands.items():
                if x > args.most or curve.memory(x) > free_memory():
                    continue
                try:
                    point = measure(args.bin_dir, command, args.rounds, args.limit)
                except Trouble as trouble:
                    print(f"{name}, {line}, {x}: {trouble.verdict}: {trouble}\n{trouble.said}", flush=True)
                    code = 1
                    continue
                finally:
                    end_all()
                points[line][str(x)] = point
                value = curve.scale(point["ns"])
                print(
                    f"{name:9} {line:34} {x:>11} {value:12.1f} {curve.y}  {point['cpu_us']:10.1f} us cpu",
                    flush=True,
                )
        numbers[name] = points
        with open(numbers_path, "w") as file:
            json.dump(numbers, file, indent=1)
        draw(name, curve, points, os.path.join(args.out, f"{name}.png"))
    return code


if __name__ == "__main__":
    sys.exit(main())
