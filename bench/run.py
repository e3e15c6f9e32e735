# Runs the benchmarks and prints the table: ratios of interleaved rounds in one run, medians of several.
#
# Each program is started once and answers "go STEPS" with nanoseconds per step; ours and its peer take turns. What
# cripples a peer (OPENBLAS_* set in a shell) is unset, and PyTorch gets the malloc settings that make it fastest.
import argparse
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Debian's own python3 has Debian's PyTorch.
PYTHON = "/usr/bin/python3"

# (what is measured, ours, its peer, steps a round, target ratio or None, unit, nanoseconds in it)
ROWS = [
    ("MNIST network, SGD, of PyTorch's time", "mnist_bench sgd", "torch_mnist.py sgd", 200, 0.60, "ms/step", 1e6),
    ("MNIST network, Adam, of PyTorch's time", "mnist_bench adam", "torch_mnist.py adam", 200, 0.45, "ms/step", 1e6),
    ("a node of a chain of 10,000, beside malloc+free", "nodes_bench chain", "malloc_bench", 20, None, "ns", 1),
    ("a node of a 100 x 100 grid, beside malloc+free", "nodes_bench grid", "malloc_bench", 20, None, "ns", 1),
    ("MNIST step, 1 ps + 1 worker over gRPC, of one process", "mnist_bench adam cluster", "mnist_bench adam", 200, None,
     "ms/step", 1e6),
]


def environment(is_peer):
    env = {k: v for k, v in os.environ.items() if not k.startswith("OPENBLAS_")}
    env.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    if is_peer:
        env.update(MALLOC_MMAP_THRESHOLD_="1073741824", MALLOC_TRIM_THRESHOLD_="4294967296",
                   MALLOC_TOP_PAD_="268435456")
    return env


class Program:
    def __init__(self, bin_dir, command):
        words = command.split()
        is_peer = words[0].endswith(".py")
        argv = [PYTHON, os.path.join(HERE, words[0])] if is_peer else [os.path.join(bin_dir, words[0])]
        self.command = command
        self.process = subprocess.Popen(argv + words[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment(is_peer))

    def go(self, steps):
        self.process.stdin.write(f"go {steps}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(f"benchmark program '{self.command}' ended with exit code {self.process.wait()}")
        return float(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(bin_dir, row, rounds):
    _, ours, peer, steps, _, _, _ = row
    programs = [Program(bin_dir, ours), Program(bin_dir, peer)]
    for p in programs:
        p.go(max(1, steps // 4))  # warm
    times = []
    for i in range(rounds):
        order = (0, 1) if i % 2 == 0 else (1, 0)
        pair = [0.0, 0.0]
        for which in order:
            pair[which] = programs[which].go(steps)
        times.append(pair)
    for p in programs:
        p.close()
    return (statistics.median(a / b for a, b in times), statistics.median(a for a, _ in times),
            statistics.median(b for _, b in times))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin_dir", help="where the benchmark programs are")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--only", default="", help="rows whose name contains this")
    args = parser.parse_args()
    print(f"{'what':58} {'ratio':>7} {'target':>7} {'ours':>12} {'peer':>12}", flush=True)
    for row in ROWS:
        if args.only not in row[0]:
            continue
        ratio, ours, peer = measure(args.bin_dir, row, args.rounds)
        target = f"{row[4]:.2f}" if row[4] else "-"
        print(f"{row[0]:58} {ratio:7.2f} {target:>7} {ours / row[6]:12.3f} {peer / row[6]:12.3f}  {row[5]}",
              flush=True)


if __name__ == "__main__":
    main()
