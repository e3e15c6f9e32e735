"""Runs the benchmarks and prints the table: programs that take turns, round by round, in one run; medians of the rounds.

Each program is started once for its row and answers "go STEPS" with nanoseconds per step. What cripples a peer (OPENBLAS_* set
in a shell) is unset, and PyTorch gets the malloc settings that make it fastest. A program that gives no answer is ended, its
row begins once more and then says so; the exit code is 1."""
import argparse
import signal
import statistics
import sys

from program import Trouble, end_all, open_program
from table import ROWS


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def measure(args, row):
    """The answers of each program, a list with one a round."""
    try:
        programs = {}
        for name, command in row.programs.items():
            progress(f"{row.what}: starting {command}")
            programs[name] = open_program(args.bin_dir, command, args.limit)
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


def tell(row, trouble, what):
    progress("")
    sys.stderr.write(f"{trouble.said}{row.key}: {trouble}; {what}\n")


def measure_again(args, row):
    """As measure; a row in trouble has a second try."""
    try:
        return measure(args, row)
    except Trouble as trouble:
        tell(row, trouble, "trying once more")
    return measure(args, row)


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
    parser.add_argument("--limit", metavar="SECONDS", type=float, default=120, help="what a program has for an answer")
    parser.add_argument("--only", metavar="ROW", action="append", default=[],
                        help="only rows whose name starts with this; can be given again")
    args = parser.parse_args()
    rows = [r for r in ROWS if not args.only or any(r.key.startswith(o) for o in args.only)]
    if not rows:
        parser.error(f"no such row; there are: {' '.join(r.key for r in ROWS)}")
    print(f"{'row':12} {'what':57} {'figure':>7} {'quartiles':>11} {'target':>8} {'':7}{'ours':>8} {'peer':>8}", flush=True)
    code = 0
    for row in rows:
        try:
            text = line(row, measure_again(args, row))
        except Trouble as trouble:
            tell(row, trouble, "giving up")
            text, code = f"{row.key:12} {row.what:57} {trouble.verdict}: {trouble}", 1
        progress("")
        print(text, flush=True)
    return code


if __name__ == "__main__":
    # What stops the driver unwinds it, and so ends all programs.
    for stop in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(stop, lambda number, _: sys.exit(128 + number))
    sys.exit(main())
