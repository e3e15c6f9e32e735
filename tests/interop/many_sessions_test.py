# Many clients at once, each a process with several sessions in threads of their own, and sessions that nobody
# closes: all get right results, and the servers are afterwards as they were.
#
# A short form; BRAID_LEAKS=full in the environment: 200 sessions of 50 processes, 10,000 sessions that are
# dropped.
# labels: concurrent
# timeout: 1800
import os
import subprocess
import sys
import threading

import cluster as programs_of
from client import InteropTest, Session, master_service
from cluster import Cluster, main
from graphs import FLOAT, INT64, const, node, placeholder, variable
from leaks_test import IS_FULL, Usage
from protos import config_pb2, worker_pb2

PROCESSES, DROPPED = (50, 10000) if IS_FULL else (6, 300)
THREADS, STEPS = 4, 25
JOBS = "ps", "worker"
PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def model(name):
    """A counter that all sessions share, and a sum of the session's own."""
    return [
        *variable("shared", [], INT64, PS, initial=0),
        const("one", 1, dtype=INT64, device=PS),
        node(
            "shared/add",
            "AssignAdd",
            "shared",
            "one",
            device=PS,
            T=INT64,
            use_locking=True,
            _class=["loc:@shared"],
        ),
        *variable(name, [], FLOAT, PS, initial=0.0),
        placeholder("x", FLOAT, [], WORKER),
        node("x2", "Add", "x", "x", device=WORKER, T=FLOAT),
        node("add", "AssignAdd", name, "x2", device=PS, T=FLOAT, _class=[f"loc:@{name}"]),
    ]


class Client:
    """One of the processes: `THREADS` sessions, each of which sums up its own numbers."""

    def __init__(self, address, number):
        self.master, self.number, self.failures = master_service(address), number, []

    def work(self, thread):
        name = f"v{self.number}_{thread}"
        try:
            s = Session(self.master, *model(name))
            s.run(targets=[f"{name}/init"])
            for step in range(STEPS):
                s.run(targets=["shared/add"])
                got = s.run("add:0", {"x:0": float(step)})
                assert got == step * (step + 1), f"{name}: {got} after step {step}"
            s.close()
        except Exception as e:
            self.failures.append(f"{name}: {e}")

    def run(self):
        threads = [threading.Thread(target=self.work, args=[i]) for i in range(THREADS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return "\n".join(self.failures)


class ManySessionsTest(InteropTest):
    def test_many_processes_with_many_sessions(self):
        with Cluster(ps=1, worker=1) as cluster:
            s = Session(cluster.master(), *model("own"))
            s.run(targets=["shared/init"])
            self.run_clients(cluster, PROCESSES)  # what is kept for so many at the same time is kept
            before = self.measure(cluster)
            self.run_clients(cluster, PROCESSES)
            self.assertEqual(s.run("shared:0"), 2 * PROCESSES * THREADS * STEPS)
            self.check_left(cluster, before)

    def measure(self, cluster):
        for job in JOBS:
            cluster.worker(job).call(worker_pb2.GetStatusRequest())  # check_left calls it, too
        return [Usage(cluster.server(job)) for job in JOBS]

    def check_left(self, cluster, before):
        for usage, job in zip(before, JOBS):
            usage.check(self, 24 << 20, lambda: cluster.worker(job).call(worker_pb2.GetStatusRequest()))

    def run_clients(self, cluster, count):
        command = [sys.executable, __file__, programs_of.programs, "--client", cluster.address("worker")]
        clients = [
            subprocess.Popen([*command, str(i)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for i in range(count)
        ]
        for c in clients:
            out, _ = c.communicate()
            self.assertEqual(c.returncode, 0, out)

    def test_sessions_that_are_dropped(self):
        with Cluster(ps=1, worker=1, options=["--client-lost-timeout", "0.5"]) as cluster:
            self.drop(cluster, DROPPED // 10)  # warms up
            before = self.measure(cluster)
            last = self.drop(cluster, DROPPED)
            for _ in range(
                1000000
            ):  # until the last one is gone, which the client that is still there may ask for
                if not self.is_there(cluster, last):
                    break
            self.check_left(cluster, before)

    def drop(self, cluster, count):
        """Opens sessions by connections of a hundred each and closes none; returns the last one's handle."""
        for first in range(0, count, 100):
            client = master_service(cluster.address("worker"))
            for _ in range(min(100, count - first)):
                s = Session(client, const("a", 1.0, device=PS), config=config_pb2.ConfigProto())
                self.assertEqual(s.run("a:0"), 1.0)
            client.close()
        return s.handle

    def is_there(self, cluster, handle):
        request = worker_pb2.RegisterGraphRequest(session_handle=handle, create_worker_session_called=True)
        call = cluster.worker("ps").start(request)
        if call.code().name == "OK":
            return True
        self.check_error(call, "ABORTED", "Session handle is not found")
        return False


if __name__ == "__main__":
    if "--client" in sys.argv:
        failures = Client(*sys.argv[sys.argv.index("--client") + 1 :]).run()
        print(failures)
        os._exit(1 if failures else 0)  # without the end of gRPC's threads, which takes its time
    main()
