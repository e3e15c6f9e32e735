# Clusters of real `braid server` processes on free loopback ports.
#
# A port is reserved as src/cli/ports.c does it: by an abstract unix socket of its name, below the ports that
# Linux hands out to outgoing connections. A server dies with the test (PDEATHSIG): none outlives one that is
# killed.
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

from client import TIMEOUT, master_service, worker_service
from protos import grpc, worker_pb2

PORT_MIN, PORT_MAX = 12000, 32000
programs = "build/release/bin"  # main() sets it


def is_free(port):
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def take_port():
    """A free port, and the socket that reserves it as long as it is open."""
    while True:
        port = random.randrange(PORT_MIN, PORT_MAX)
        reservation = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            reservation.bind(f"\0braid-port-{port}")
            if is_free(port):
                return port, reservation
        except OSError:
            pass
        reservation.close()


started = []  # servers


class Server:
    """A process that serves one task. What it writes to stderr is its log."""

    def __init__(self, spec, job, index, options):
        self.log_file = tempfile.TemporaryFile("w+", errors="replace")
        self.address = spec[job][index]
        self.name = f"/job:{job}/task:{index}"
        command = [
            "setpriv",
            "--pdeathsig",
            "KILL",
            f"{programs}/braid",
            "server",
            "--job",
            job,
            "--task",
            str(index),
            "--cluster",
            json.dumps(spec),
            "--file-root",
            "/",
            *options,
        ]
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log_file, stderr=self.log_file
        )
        started.append(self)
        self.wait_until_ready()

    def log(self):
        self.log_file.seek(0)
        return self.log_file.read()

    def wait_until_ready(self):
        """Until it answers; an early end of the process ends the wait."""
        service = worker_service(self.address)
        status = service.start(worker_pb2.GetStatusRequest(), wait_for_ready=True)

        def watch():
            self.process.wait()
            status.cancel()

        threading.Thread(target=watch, daemon=True).start()
        try:
            status.result()
        except (grpc.RpcError, grpc.FutureCancelledError) as e:
            raise AssertionError(f"{self.name} does not serve: {e}\n{self.log()}") from None
        finally:
            service.close()

    def is_alive(self):
        return self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.log_file.close()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)  # until every thread of it has stopped

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def stop(self, within=TIMEOUT):
        self.process.terminate()  # once: the second SIGTERM ends a process at once
        self.wait_for_end(within)

    def wait_for_end(self, within=TIMEOUT):
        """After SIGTERM it ends, with exit code 0: sanitizers have found nothing."""
        try:
            code = self.process.wait(within)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "none: it does not end"
        if code != 0:
            raise AssertionError(f"exit code of {self.name} is {code}\n{self.log()}")
        self.log_file.close()


class Cluster:
    """Cluster(ps=1, worker=2). Tasks in `absent`, like ("ps", 0), have an address but no process yet."""

    def __init__(self, absent=(), options=(), **jobs):
        taken = {job: [take_port() for _ in range(count)] for job, count in jobs.items()}
        self.reservations = [reservation for ports in taken.values() for _, reservation in ports]
        self.spec = {job: [f"127.0.0.1:{port}" for port, _ in ports] for job, ports in taken.items()}
        self.options, self.servers, self.services = options, {}, {}
        for job, count in jobs.items():
            for index in range(count):
                if (job, index) not in absent:
                    self.start(job, index)

    def start(self, job, index=0):
        self.servers[job, index] = Server(self.spec, job, index, self.options)

    def server(self, job, index=0):
        return self.servers[job, index]

    def kill(self, job, index=0):
        self.servers.pop((job, index)).kill()

    def address(self, job, index=0):
        return self.spec[job][index]

    def master(self, job="worker", index=0):
        return self.service(master_service, job, index)

    def worker(self, job="worker", index=0):
        return self.service(worker_service, job, index)

    def service(self, make, job, index):
        key = make, job, index
        if key not in self.services:
            self.services[key] = make(self.spec[job][index])
        return self.services[key]

    def stop(self):
        for service in self.services.values():
            service.close()
        for server in self.servers.values():
            server.process.terminate()
        failures = []
        for server in self.servers.values():
            try:
                server.wait_for_end()
            except AssertionError as e:
                failures.append(str(e))
        for reservation in self.reservations:
            reservation.close()
        if failures:
            raise AssertionError("\n".join(failures))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Result(unittest.TextTestResult):
    """Shows with each failure what the servers have said last."""

    def addError(self, test, error):
        super().addError(test, error)
        self.show_logs()

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.show_logs()

    def show_logs(self):
        for server in started:
            if server.log_file.closed:
                continue
            fd = server.log_file.fileno()  # without moving the place at which the server writes
            end = os.pread(fd, 4000, max(0, os.fstat(fd).st_size - 4000)).decode(errors="replace")
            self.stream.writeln(f"---- the end of the log of {server.name}:\n{end}")


def main():
    """Runs the tests of the program; argv[1] is the directory of Braid's programs."""
    global programs
    if len(sys.argv) > 1:
        programs = sys.argv.pop(1)
    unittest.main(verbosity=2, testRunner=unittest.TextTestRunner(verbosity=2, resultclass=Result))
