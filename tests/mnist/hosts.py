"""Hosts of a cluster, each a network namespace of its own, joined by a bridge (as root).

    with Hosts(5) as hosts:
        program = [sys.executable, hosts.__file__, ...]

A task of `braid run` enters its host when its program is this file: it takes the addresses of its TF_CONFIG,
which are loopback ones, for those of the hosts, and becomes the real program in its namespace.
"""

import json
import os
import subprocess
import sys

SPACES = "BRAID_TEST_SPACES"  # in the environment of tasks: what the names of namespaces begin with
PORT = 2222
FORWARDING, DISABLED = "3", "0"  # states of a port of the bridge


def address(index):
    return f"10.77.0.{index + 1}"


def inside(space):
    """The beginning of a command that runs in a namespace.

    `ip -n` and `ip netns exec` change mounts, too, which fails in a root directory that is no mount point.
    """
    return ["nsenter", f"--net=/run/netns/{space}"]


class Hosts:
    """Namespaces SPACES-0, SPACES-1, ..., with the addresses 10.77.0.1, 10.77.0.2, ..."""

    def __init__(self, count):
        self.count = count
        self.spaces = f"braid-{os.getpid()}"
        self.switch = f"{self.spaces}-switch"
        self.environment = {SPACES: self.spaces}

    def __enter__(self):
        try:
            self._ip("netns", "add", self.switch)
            self._ip_in(self.switch, "link", "add", "switch", "type", "bridge")
            self._ip_in(self.switch, "link", "set", "switch", "up")
            for i in range(self.count):
                self._add_host(i)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in [self.switch] + [f"{self.spaces}-{i}" for i in range(self.count)]:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)

    def _add_host(self, i):
        space, port = f"{self.spaces}-{i}", f"port{i}"
        self._ip("netns", "add", space)
        self._ip(
            "link", "add", port, "netns", self.switch, "type", "veth", "peer", "name", "eth0", "netns", space
        )
        self._ip_in(self.switch, "link", "set", port, "master", "switch", "up")
        self._ip_in(space, "address", "add", f"{address(i)}/24", "dev", "eth0")
        self._ip_in(space, "link", "set", "lo", "up")
        self._ip_in(space, "link", "set", "eth0", "up")

    def cut(self, i):
        """From now on the bridge drops what host `i` sends and what is sent to it, without a word."""
        self._set_port(i, DISABLED)

    def join(self, i):
        self._set_port(i, FORWARDING)

    def _set_port(self, i, state):
        command = ["bridge", "link", "set", "dev", f"port{i}", "state", state]
        subprocess.run([*inside(self.switch), *command], check=True)

    @staticmethod
    def _ip(*words):
        subprocess.run(["ip", *words], check=True)

    @staticmethod
    def _ip_in(space, *words):
        subprocess.run([*inside(space), "ip", *words], check=True)


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
