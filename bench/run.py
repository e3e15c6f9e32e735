"""Runs the benchmarks and prints a table.

The programs of a row take turns, round by round; the figure is the median of the rounds. With --baseline the
table compares two builds instead: each row is the time of this build over the time of the other one, of the
same program.

The programs run without OPENBLAS_* variables, which slow a peer down, and PyTorch and TensorFlow get the
malloc settings that make PyTorch fastest. pip installs them when a row needs them; where it cannot, the row
is skipped. A program that does not answer is killed and its row is tried once more. The exit code is 1 if a
row failed twice or, with --baseline, missed its target."""
import argparse
import os
import signal
import statistics
import sys

from program import Trouble, end_all, open_program
from table import ROWS, against_baseline


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def measure(args, row):
    """Returns for each program the list of its answers, one for each round."""
    try:
        programs = {}
        for name, command in row.programs.items():
            progress(f"{row.what}: starting {command}")
            bin_dir = args.baseline if name == "baseline" else args.bin_dir
            programs[name] = open_program(bin_dir, command, args.limit)
            programs[name].warm()
        answers = {name: [] for name in programs}
        for i in range(args.rounds):
            progress(f"{row.what}: round {i + 1} of {args.rounds}")
            for name in list(programs) if i % 2 == 0 else reversed(list(programs)):
                answers[name].append(programs[name].go())
        for p in programs.values():
            p.close()
    finally:
        end_all()
    return answers


def report(row, trouble, what):
    progress("")
    sys.stderr.write(f"{trouble.said}{row.key}: {trouble}; {what}\n")


def measure_again(args, row):
    """As `measure`, with a second try."""
    try:
        return measure(args, row)
    except Trouble as trouble:
        if trouble.verdict == "skipped":
            raise
        report(row, trouble, "trying once more")
    return measure(args, row)


def quartiles(values):
    if len(values) < 4:
        return min(values), max(values)
    low, _, high = statistics.quantiles(values, n=4)
    return low, high


def number(x):
    return f"{x:.{0 if abs(x) >= 100 else 1 if abs(x) >= 10 else 2}f}"


def line(row, answers):
    """Returns the row's line of the table, and whether it missed its target."""
    figures = row.formula(answers)
    figure = statistics.median(figures)
    is_ok = figure <= row.target if row.at_most else figure >= row.target
    low, high = quartiles(figures)
    # A slower build is slower in three of four rounds at least; else the difference is not distinct.
    is_noise = figure != figure or ("baseline" in row.programs and low <= 1)
    verdict = "ok" if is_ok else "noise" if is_noise else "missed"
    spread = f"{number(low)}-{number(high)}"
    names = [c(answers) if callable(c) else c for c in row.columns]
    times = [number(statistics.median(answers[n]) / row.scale) for n in names]
    target = f"{'<=' if row.at_most else '>='} {row.target:g}"
    text = (
        f"{row.key:12} {row.what:57} {number(figure):>7} {spread:>11} {target:>8} {verdict:7}"
        f"{times[0]:>8} {times[1] if len(times) > 1 else '':>8} {row.unit}"
    )
    return text, verdict == "missed"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin_dir", help="the folder of the benchmark programs")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument(
        "--limit", metavar="SECONDS", type=float, default=120, help="the longest time for one answer"
    )
    parser.add_argument(
        "--baseline", metavar="BIN_DIR", help="compares with the benchmark programs of another build"
    )
    parser.add_argument(
        "--tolerance",
        metavar="PERCENT",
        type=float,
        default=3,
        help="with --baseline: how much slower a row may be (default 3)",
    )
    parser.add_argument(
        "--only",
        metavar="ROW",
        action="append",
        default=[],
        help="only rows whose name starts with this; can be given again",
    )
    args = parser.parse_args()
    if args.baseline and not os.path.isdir(args.baseline):
        parser.error(f"--baseline: {args.baseline} is not a folder")
    rows = [r for r in ROWS if not args.only or any(r.key.startswith(o) for o in args.only)]
    if args.baseline:
        rows = against_baseline(rows, 1 + args.tolerance / 100)
    if not rows:
        parser.error(f"no such row; there are: {' '.join(r.key for r in ROWS)}")
    other = "baseline" if args.baseline else "peer"
    print(
        f"{'row':12} {'what':57} {'figure':>7} {'quartiles':>11} {'target':>8} {'':7}{'ours':>8} {other:>8}",
        flush=True,
    )
    code = 0
    for row in rows:
        try:
            text, is_missed = line(row, measure_again(args, row))
            if args.baseline and is_missed:
                code = 1
        except Trouble as trouble:
            if trouble.verdict != "skipped":
                report(row, trouble, "giving up")
                code = 1
            text = f"{row.key:12} {row.what:57} {trouble.verdict}: {trouble}"
        progress("")
        print(text, flush=True)
    return code


if __name__ == "__main__":
    # These signals raise SystemExit, so that the driver ends all programs first.
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
