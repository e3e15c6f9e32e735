"""Hosts of a cluster, each a network namespace of its own, joined by wire.py (as root).

    with Hosts(5) as hosts:
        program = [sys.executable, hosts.__file__, ...]

A task of `braid run` enters its host when its program is this file: it takes the addresses of its TF_CONFIG,
which are loopback ones, for those of the hosts, and becomes the real program in its namespace.
"""

import json
import os
import pathlib
import subprocess
import sys

SPACES = "BRAID_TEST_SPACES"  # in the environment of tasks: what the names of namespaces begin with
PORT = 2222


def address(index):
    return f"10.77.0.{index + 1}"


def inside(space):
    """The beginning of a command that runs in a namespace.

    `ip -n` and `ip netns exec` change mounts, too, which fails in a root directory that is no mount point.
    """
    return ["nsenter", f"--net=/run/netns/{space}"]


class Hosts:
    """Namespaces SPACES-0, SPACES-1, ..., with the addresses 10.77.0.1, 10.77.0.2, ..."""

    def __init__(self, count, mtu=1500):
        self.count, self.mtu = count, mtu
        self.spaces = f"braid-{os.getpid()}"
        self.environment = {SPACES: self.spaces}
        self.wire = None

    def __enter__(self):
        try:
            for i in range(self.count):
                subprocess.run(["ip", "netns", "add", self.space(i)], check=True)
            program = [sys.executable, pathlib.Path(__file__).parent / "wire.py", str(self.mtu)]
            self.wire = subprocess.Popen(
                [*program, *(f"{self.space(i)}={address(i)}" for i in range(self.count))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            self._wait_for_wire()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.wire:
            self.wire.stdin.close()
            self.wire.wait()
            self.wire.stdout.close()
        for i in range(self.count):
            subprocess.run(["ip", "netns", "del", self.space(i)], check=False, stderr=subprocess.DEVNULL)

    def space(self, i):
        return f"{self.spaces}-{i}"

    def cut(self, i):
        """From now on what host `i` sends, and what is sent to it, vanishes without a word."""
        self._tell_wire("cut", self.space(i))

    def join(self, i):
        self._tell_wire("join", self.space(i))

    def shape(self, delay_ms=0, jitter_ms=0, loss=0):
        """From now on each packet takes `delay_ms`, and up to `jitter_ms` more; `loss` of 1 vanish."""
        self._tell_wire("shape", str(delay_ms), str(jitter_ms), str(loss))

    def _tell_wire(self, *words):
        print(*words, file=self.wire.stdin, flush=True)
        self._wait_for_wire()

    def _wait_for_wire(self):
        if not self.wire.stdout.readline():
            raise RuntimeError("wire.py has ended")


def replicas(addresses):
    return len(addresses.split("|"))


def host_of(cluster, job, index, replica=0):
    """The number of the host of a task's process: they have hosts in the order of their jobs' names."""
    processes = [
        (name, i, r)
        for name in sorted(cluster)
        for i, addresses in enumerate(cluster[name])
        for r in range(replicas(addresses))
    ]
    return processes.index((job, index, replica))


def enter_host(program):
    """Becomes `program` on the host of this task."""
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, task = config["cluster"], config["task"]
    space = f"{os.environ[SPACES]}-{host_of(cluster, task['type'], task['index'], task.get('replica', 0))}"
    config["cluster"] = {
        job: [
            "|".join(f"{address(host_of(cluster, job, i, r))}:{PORT}" for r in range(replicas(addresses)))
            for i, addresses in enumerate(of_job)
        ]
        for job, of_job in cluster.items()
    }
    os.environ["TF_CONFIG"] = json.dumps(config)
    os.execvp("nsenter", [*inside(space), *program])


if __name__ == "__main__":
    enter_host(sys.argv[1:])
