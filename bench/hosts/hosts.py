"""RecvTensor over gRPC between two hosts, beside a raw socket: hosts.py BIN_DIR DELAYS_MS SIZES_MB, as root.

The hosts are network namespaces with a link of a given delay in each direction (delayed_link.c). Prints the
best time of each program in milliseconds, and what part of the socket's rate RecvTensor reaches:

    /usr/bin/python3 bench/hosts/hosts.py build/release/bin 0,1,10 4,32,128
"""

import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER, CLIENT = "braid-bench-ps", "braid-bench-worker"
ADDRESSES = ("10.77.3.1", "10.77.3.2")
ROUNDS, RUNS = 3, 5


def start_link(program, delay_ms):
    for name in (SERVER, CLIENT):
        subprocess.run(["ip", "netns", "del", name], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "netns", "add", name], check=True)
    link = subprocess.Popen(
        [program, str(int(delay_ms * 1000)), SERVER, ADDRESSES[0], CLIENT, ADDRESSES[1]],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert link.stdout.readline() == "ready\n", "the link does not start"
    return link


def end_link(link):
    link.kill()
    link.wait()
    for name in (SERVER, CLIENT):
        subprocess.run(["ip", "netns", "del", name], check=True)


def times(program, runs):
    """The times of RUNS runs, after a first one."""
    env = dict(os.environ, BRAID_BENCH_HOSTS=" ".join((SERVER, *ADDRESSES)))
    bench = subprocess.Popen(
        ["ip", "netns", "exec", CLIENT, *program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=env,
    )
    found = []
    for i in range(RUNS + 1):
        bench.stdin.write(f"go {runs}\n")
        bench.stdin.flush()
        found.append(float(bench.stdout.readline()) / 1e6)
    bench.stdin.close()
    bench.wait()
    return found[1:]


def main():
    bin_dir, delays, sizes = sys.argv[1], sys.argv[2].split(","), [int(s) for s in sys.argv[3].split(",")]
    with tempfile.TemporaryDirectory() as made:
        program = os.path.join(made, "delayed_link")
        source = os.path.join(HERE, "delayed_link.c")
        subprocess.run(["cc", "-O2", "-D_GNU_SOURCE", "-o", program, source, "-lpthread"], check=True)
        for delay in delays:
            link = start_link(program, float(delay))
            for size in sizes:
                ours, raw = [], []
                for _ in range(ROUNDS):
                    runs = max(1, 16 // size)  # in a time that can be measured
                    ours += times([f"{bin_dir}/recv_bench", "grpc", str(size << 20)], runs)
                    raw += times([f"{bin_dir}/socket_bench", str(size << 20)], runs)
                print(
                    f"{delay} ms, {size} MB: RecvTensor {min(ours):.1f} ms, socket {min(raw):.1f} ms: "
                    f"{min(raw) / min(ours):.2f} of its rate (of medians {statistics.median(raw) / statistics.median(ours):.2f})",
                    flush=True,
                )
            end_link(link)


if __name__ == "__main__":
    main()
