# A client without TLS, as TensorFlow 1.x is one, runs steps on a server with TLS through `braid connect`.
# labels: concurrent
# timeout: 120
import subprocess
import tempfile
from pathlib import Path

import cluster
from client import InteropTest, Session, master_service
from cluster import Server, main, take_port
from graphs import FLOAT, node, placeholder, tensor
from protos import SOURCES, grpc, master_pb2, worker_pb2

MANY = 4 << 20  # 16 MB of floats, more than sockets hold


class ServerWithTls(Server):
    """Nobody waits for it: its clients do."""

    def wait_until_ready(self):
        pass


class Entrance:
    """`braid connect`, and a client of it."""

    def __init__(self, target, tls_dir):
        self.process = subprocess.Popen(
            [
                "setpriv",
                "--pdeathsig",
                "KILL",
                f"{cluster.programs}/braid",
                "connect",
                "--tls-dir",
                tls_dir,
                target,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        said = self.process.stdout.readline()
        assert said.startswith("Listening: sessions with the target grpc://127.0.0.1:"), said
        assert said.endswith(f" reach {target}\n"), said
        self.address = said.split("grpc://")[1].split()[0]
        self.master = master_service(self.address)

    def stop(self):
        self.master.close()
        self.process.terminate()
        code = self.process.wait(60)
        self.process.stdout.close()
        assert code == 0, code


def setUpModule():
    global folder, server, reservation, target
    folder = tempfile.TemporaryDirectory()
    keys("new", f"{folder.name}/keys")
    for name, role in (("worker0", "task"), ("alice", "client"), ("monitor", "viewer")):
        keys("--role", role, "add", f"{folder.name}/keys", name)
    port, reservation = take_port()
    target = f"localhost:{port}"
    spec = {"worker": [f"127.0.0.1:{port}"]}
    server = ServerWithTls(spec, "worker", 0, ["--tls-dir", f"{folder.name}/keys/worker0"])


def tearDownModule():
    server.stop()
    reservation.close()
    folder.cleanup()


def keys(*words):
    subprocess.run([f"{cluster.programs}/braid", "keys", *words], check=True, stdout=subprocess.DEVNULL)


class ConnectTest(InteropTest):
    def enter(self, name):
        entrance = Entrance(target, f"{folder.name}/keys/{name}")
        self.addCleanup(entrance.stop)
        entrance.master.call(master_pb2.ListDevicesRequest(), wait_for_ready=True)
        return entrance

    def test_a_client_without_tls_runs_a_step(self):
        session = Session(
            self.enter("alice").master, placeholder("x", FLOAT, [-1]), node("y", "Neg", "x", T=FLOAT)
        )
        self.assertEqual(session.run("y:0", {"x:0": tensor([1.0, 2.0])}), [-1.0, -2.0])
        session.close()

    def test_large_tensors_pass_both_ways(self):
        master = self.enter("alice").master
        session = Session(master, placeholder("x", FLOAT, [-1]), node("y", "Neg", "x", T=FLOAT))
        sent = tensor([1.0])
        sent.tensor_shape.dim[0].size = MANY
        sent.ClearField("float_val")
        sent.tensor_content = b"\0\0\x80\x3f" * MANY
        (got,) = session.step(["y:0"], {"x:0": sent}).tensor
        self.assertEqual(got.tensor.tensor_content, b"\0\0\x80\xbf" * MANY)
        session.close()

    def test_the_server_knows_the_certificate(self):
        entrance = self.enter("alice")
        Session(entrance.master, placeholder("x", FLOAT, [-1])).close()
        self.assertIn("by certificate 'alice'", server.log())
        service = cluster.worker_service(entrance.address)
        with self.fails("PERMISSION_DENIED", "needs a certificate of the role task"):
            service.call(worker_pb2.GetStatusRequest())
        service.close()

    def test_several_clients_use_one_entrance(self):
        entrance = self.enter("alice")
        masters = [master_service(entrance.address) for _ in range(8)]
        calls = [m.start(master_pb2.ListDevicesRequest(), wait_for_ready=True) for m in masters]
        for call, master in zip(calls, masters):
            self.assertEqual(len(call.result().local_device), 1)
            master.close()


if __name__ == "__main__":
    main()
