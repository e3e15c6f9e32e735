# The floods of floods_test.py at a server with TLS: from a process without a certificate, which the handshake
# keeps out, and from one with a certificate of the role viewer, which is let in. The server ends the
# connection, its memory stays small, and the steps of a client with a certificate of its own go on meanwhile.
#
# Each flood is a process of its own, so that its work is not in the times of the steps.
# labels: concurrent
# timeout: 240
import os
import subprocess
import tempfile
import time

import cluster
import floods
from client import CHANNEL_OPTIONS, InteropTest, Session, master_service
from cluster import Server, main, take_port
from floods import FLOODS, SENT_MAX, Steps, p99, peak_memory, slack
from graphs import FLOAT, const, node
from protos import grpc, master_pb2

MEMORY_MAX = (4 if os.environ.get("BRAID_SANITIZE") else 1) << 30  # what a flood may add
STRANGER_MEMORY_MAX = MEMORY_MAX // 4
STRANGER_SENT_MAX = 20 << 20  # most of it is in the buffers of the kernel
STEPS = 300
HANDSHAKES = 1000
NAMES = [pieces.__name__ for pieces in FLOODS]


class ServerWithTls(Server):
    """Nobody waits for it: its clients do."""

    def wait_until_ready(self):
        pass


def keys(*words):
    subprocess.run([f"{cluster.programs}/braid", "keys", *words], check=True, stdout=subprocess.DEVNULL)


def master_with_tls(address, tls_dir):
    def content(name):
        with open(f"{tls_dir}/{name}", "rb") as f:
            return f.read()

    service = master_service(address)
    service.close()
    service.channel = grpc.secure_channel(
        address,
        grpc.ssl_channel_credentials(content("ca.pem"), content("key.pem"), content("cert.pem")),
        [*CHANNEL_OPTIONS, ("grpc.ssl_target_name_override", "task.braid")],
    )
    return service


class TlsFloodsTest(InteropTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.keys = f"{cls.folder.name}/keys"
        keys("new", cls.keys)
        for name, role in (("ps0", "task"), ("alice", "client"), ("monitor", "viewer")):
            keys("--role", role, "add", cls.keys, name)
        port, cls.reservation = take_port()
        cls.address = f"127.0.0.1:{port}"
        cls.server = ServerWithTls({"ps": [cls.address]}, "ps", 0, ["--tls-dir", f"{cls.keys}/ps0"])
        cls.master = master_with_tls(cls.address, f"{cls.keys}/alice")
        cls.master.call(master_pb2.ListDevicesRequest(), wait_for_ready=True)
        cls.session = Session(cls.master, const("a", 1.0), node("b", "Neg", "a", T=FLOAT))
        cls.quiet_p99 = p99([cls.time_of_a_step() for _ in range(STEPS)])
        print(f"quiet p99 {cls.quiet_p99 * 1e3:.1f} ms")

    @classmethod
    def tearDownClass(cls):
        cls.session.close()
        cls.master.close()
        if os.environ.get("BRAID_SANITIZE"):  # gRPC may still work on what was sent, and that takes it long
            cls.server.kill()
        else:
            cls.server.stop()
        cls.reservation.close()
        cls.folder.cleanup()

    @classmethod
    def time_of_a_step(cls):
        start = time.monotonic()
        cls.session.run("b:0")
        return time.monotonic() - start

    def flood(self, names, tls_dir, sent_max, memory_max, *more):
        """Runs one flood after the other until the server has ended its connection, and steps meanwhile."""
        before = peak_memory(self.server)
        steps, sent = Steps(self.session), {}
        for name in names:
            command = ["/usr/bin/python3", floods.__file__, name, self.address, tls_dir, *more]
            sent[name] = int(subprocess.run(command, stdout=subprocess.PIPE).stdout or -1)
        times = steps.stop() + [self.time_of_a_step() for _ in range(3)]
        added = peak_memory(self.server) - before
        ms = f"p99 {p99(times) * 1e3:.1f} ms, longest {max(times) * 1e3:.1f} ms"
        print(f"{sent} bytes, {added >> 20} MB more; {len(times)} steps, {ms}")
        for name in names:
            self.assertIn(sent[name], range(sent_max), name)
        self.assertLess(added, memory_max)
        self.assertLess(p99(times), 2 * self.quiet_p99 + slack(names))

    def test_a_stranger_without_tls_gets_nowhere(self):
        self.flood(NAMES, "", STRANGER_SENT_MAX, STRANGER_MEMORY_MAX)

    def test_a_stranger_without_a_certificate_gets_nowhere(self):
        self.flood(NAMES, "-", STRANGER_SENT_MAX, STRANGER_MEMORY_MAX)

    def test_handshakes_without_a_certificate(self):
        self.flood(["handshakes"], "-", STRANGER_SENT_MAX, STRANGER_MEMORY_MAX, str(HANDSHAKES))

    def test_handshakes_of_a_viewer(self):
        self.flood(
            ["handshakes"], f"{self.keys}/monitor", STRANGER_SENT_MAX, STRANGER_MEMORY_MAX, str(HANDSHAKES)
        )


for flooding in NAMES:
    setattr(
        TlsFloodsTest,
        f"test_{flooding}_of_a_viewer",
        lambda self, name=flooding: self.flood([name], f"{self.keys}/monitor", SENT_MAX, MEMORY_MAX),
    )

if __name__ == "__main__":
    main()
