# The floods of floods_test.py at a server with TLS: from a process without a certificate, which the handshake
# keeps out, and from one with a certificate of the role viewer, which is let in. The server ends the
# connection, its memory stays small, and the steps of a client with a certificate of its own go on meanwhile.
#
# Each flood is a process of its own, so that its work is not in the times of the steps.
# labels: concurrent
# timeout: 900
import subprocess
import tempfile

import cluster
import floods
from client import CHANNEL_OPTIONS, master_service
from cluster import Server, main, take_port
from flooded import MEMORY_MAX, OPTIONS, FloodedTest
from floods import FLOODS, SENT_MAX, connect, over_tls
from protos import grpc, master_pb2

STRANGER_MEMORY_MAX = MEMORY_MAX // 4
STRANGER_SENT_MAX = 20 << 20  # most of it is in the buffers of the kernel
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


class TlsFloodsTest(FloodedTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.keys = f"{cls.folder.name}/keys"
        keys("new", cls.keys)
        for name, role in (("ps0", "task"), ("alice", "client"), ("monitor", "viewer")):
            keys("--role", role, "add", cls.keys, name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def begin(self):
        port, self.reservation = take_port()
        self.address = f"127.0.0.1:{port}"
        options = ["--tls-dir", f"{self.keys}/ps0", *OPTIONS]
        self.server = ServerWithTls({"ps": [self.address]}, "ps", 0, options)
        self.master = master_with_tls(self.address, f"{self.keys}/alice")
        self.master.call(master_pb2.ListDevicesRequest(), wait_for_ready=True)

    def connect(self):
        return over_tls(connect(self.address), f"{self.keys}/monitor")

    def end(self):
        self.master.close()
        self.server.kill()  # gRPC may still work on what was sent, and that takes it long
        self.reservation.close()

    def flood(self, names, tls_dir, sent_max, memory_max, *more):
        """Runs one flood after the other until the server has ended its connection, and steps meanwhile."""
        sent = {}

        def flood_all():
            for name in names:
                command = ["/usr/bin/python3", floods.__file__, name, self.address, tls_dir, *more]
                sent[name] = int(subprocess.run(command, stdout=subprocess.PIPE).stdout or -1)
            print({name: f"{count >> 10} KB" for name, count in sent.items()}, end=", ")

        self.check_others(flood_all, memory_max)
        for name in names:
            self.assertIn(sent[name], range(sent_max), name)

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
