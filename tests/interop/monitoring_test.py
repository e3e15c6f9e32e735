# The web page and the metrics of a task (braid server --monitoring): who is answered, and what.
# labels: concurrent
# timeout: 120
import contextlib
import http.client
import json
import os
import re
import select
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import cluster
from cluster import Cluster, Server, main, take_port

TIMEOUT = 20
NUMBER = r"[-+]?(\d+(\.\d+)?([eE][-+]?\d+)?|Inf|NaN)"
SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-z_]+="([^"\\\n]|\\.)*",?)*\})? ' + NUMBER)


def get(port, path, method="GET", headers=None, context=None):
    if context:
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


class MonitoredCluster:
    """A parameter server that is monitored at `port`; `options` are more of its options."""

    def __init__(self, *options):
        self.port, self.reservation = take_port()
        self.cluster = Cluster(ps=1, options=("--monitoring", f"127.0.0.1:{self.port}", *options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cluster.stop()
        self.reservation.close()


class PlainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.monitored = MonitoredCluster()
        cls.port = cls.monitored.port

    @classmethod
    def tearDownClass(cls):
        cls.monitored.__exit__()

    def test_each_line_of_the_metrics_is_well_formed(self):
        response, text = get(self.port, "/metrics")
        self.assertEqual(response.status, 200)
        self.assertEqual(response.getheader("Content-Type"), "text/plain; version=0.0.4; charset=utf-8")
        self.assertTrue(text.endswith("\n"))
        types, helped, sampled = {}, set(), set()
        for line in text.splitlines():
            if line.startswith("# HELP "):
                name = line.split(" ")[2]
                self.assertNotIn(name, helped)
                helped.add(name)
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.assertIn(kind, ("counter", "gauge", "histogram"))
                types[name] = kind
            else:
                match = SAMPLE.fullmatch(line)
                self.assertIsNotNone(match, line)
                name = re.sub("_(bucket|sum|count)$", "", match[1]) if "duration" in match[1] else match[1]
                self.assertIn(name, types, "TYPE stands before the samples")
                self.assertRegex(name, "^(braid|process)_")
                if types[name] == "counter":
                    self.assertTrue(name.endswith("_total"), name)
                sampled.add(name)
        self.assertEqual(helped, set(types))
        self.assertEqual(sampled, set(types))
        self.assertIn("braid_steps_total", sampled)
        self.assertIn("braid_step_duration_seconds", sampled)

    def test_the_data_is_what_the_task_says(self):
        response, text = get(self.port, "/status.json")
        self.assertEqual((response.status, response.getheader("Content-Type")), (200, "application/json"))
        said = json.loads(text)
        self.assertEqual((said["job"], said["index"]), ("ps", 0))
        self.assertEqual(said["address"], self.monitored.cluster.address("ps"))
        self.assertEqual(said["tasks"][0]["state"], "connected")

    def test_the_page_needs_nothing_else(self):
        response, text = get(self.port, "/")
        self.assertEqual(
            (response.status, response.getheader("Content-Type")), (200, "text/html; charset=utf-8")
        )
        self.assertEqual(re.findall(r'(?:src|href)="(?!data:)', text), [])
        self.assertNotIn("innerHTML", text)
        policy = response.getheader("Content-Security-Policy")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(response.getheader("X-Content-Type-Options"), "nosniff")
        self.assertEqual(response.getheader("Cache-Control"), "no-store")

    def test_only_reading_is_served(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            response, _ = get(self.port, "/", method)
            self.assertEqual((response.status, response.getheader("Allow")), (405, "GET, HEAD"))
        response, text = get(self.port, "/metrics", "HEAD")
        self.assertEqual((response.status, text), (200, ""))
        self.assertEqual(get(self.port, "/etc/passwd")[0].status, 404)
        self.assertEqual(get(self.port, "/../../etc/passwd")[0].status, 404)

    def test_a_request_names_this_host(self):
        for host in ("evil.example.org", "evil.example.org:80", "127.0.0.1.example.org", ""):
            self.assertEqual(get(self.port, "/status.json", headers={"Host": host})[0].status, 421, host)
        for host in ("localhost", "localhost:1", "127.0.0.1:9", "[::1]:9", "10.1.2.3"):
            self.assertEqual(get(self.port, "/status.json", headers={"Host": host})[0].status, 200, host)

    def test_large_headers_are_refused(self):
        response, _ = get(self.port, "/", headers={"X-Long": "x" * 20000})
        self.assertIn(response.status, (413, 431))

    def test_connections_are_limited(self):
        with contextlib.ExitStack() as stack:
            address = "127.0.0.1", self.port
            idle = [stack.enter_context(socket.create_connection(address, TIMEOUT)) for _ in range(40)]
            open_ones = set(idle)
            # Connections of requests before may count for a moment, so the closed ones need not be the last.
            while len(open_ones) > 32:
                ended, _, _ = select.select(open_ones, [], [], TIMEOUT)
                self.assertTrue(ended, f"{len(open_ones)} connections stay open")
                self.assertTrue(all(map(self.is_closed, ended)))
                open_ones.difference_update(ended)
        deadline = time.monotonic() + TIMEOUT
        while not self.is_answered():  # the server sees soon that they are gone
            self.assertLess(time.monotonic(), deadline)

    def is_answered(self):
        try:
            return get(self.port, "/metrics")[0].status == 200
        except (http.client.HTTPException, OSError):
            return False

    @staticmethod
    def is_closed(s):
        try:
            return s.recv(1) == b""
        except ConnectionResetError:
            return True

    def test_one_connection_serves_several_requests(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        for _ in range(3):
            connection.request("GET", "/metrics")
            response = connection.getresponse()
            response.read()
            self.assertEqual(response.status, 200)
            self.assertIsNotNone(connection.sock)
        connection.close()

    @unittest.skipUnless(os.geteuid() == 0, "only root runs processes as other users")
    def test_other_users_are_refused(self):
        self.assertEqual(status_as_nobody(self.port), "403")


def status_as_nobody(port):
    program = (
        "import http.client, sys; c = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]), timeout=20); "
        "c.request('GET', '/status.json'); print(c.getresponse().status)"
    )
    command = ["setpriv", "--reuid=nobody", "--clear-groups", "/usr/bin/python3", "-c", program, str(port)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd="/").stdout.strip()


class AllowedTest(unittest.TestCase):
    @unittest.skipUnless(os.geteuid() == 0, "only root runs processes as other users")
    def test_allowed_users_are_answered(self):
        with MonitoredCluster("--allow-user", "nobody") as m:
            self.assertEqual(status_as_nobody(m.port), "200")


class TlsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.keys = Path(cls.folder.name) / "keys"
        cls.others = Path(cls.folder.name) / "others"
        for keys in (cls.keys, cls.others):
            cls.braid_keys("new", keys)
            for role in ("task", "client", "viewer"):
                cls.braid_keys("add", "--role", role, keys, role)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def braid_keys(*arguments):
        subprocess.run(
            [f"{cluster.programs}/braid", "keys", *map(str, arguments)], stdout=subprocess.DEVNULL, check=True
        )

    def context(self, holder=None):
        context = ssl.create_default_context(cafile=self.keys / "task" / "ca.pem")
        context.check_hostname = False  # certificates name roles, not hosts
        if holder:
            context.load_cert_chain(holder / "cert.pem", holder / "key.pem")
        return context

    def test_certificates_say_who_may_look(self):
        port, reservation = take_port()
        address = f"127.0.0.1:{port}"
        grpc_port, grpc_reservation = take_port()
        command = [
            f"{cluster.programs}/braid",
            "server",
            "--job",
            "ps",
            "--task",
            "0",
            "--monitoring",
            address,
        ]
        command += [
            "--cluster",
            json.dumps({"ps": [f"127.0.0.1:{grpc_port}"]}),
            "--tls-dir",
            self.keys / "task",
        ]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            for line in server.stderr:
                if "Serving" in line:
                    break
                if "Monitoring" in line:
                    self.assertTrue(line.endswith(f" at https://{address}/\n"), line)
            for role in ("viewer", "client", "task"):
                response, text = get(port, "/status.json", context=self.context(self.keys / role))
                self.assertEqual((response.status, json.loads(text)["job"]), (200, "ps"))
            other_name = get(port, "/", headers={"Host": "ps0"}, context=self.context(self.keys / "viewer"))
            self.assertEqual(other_name[0].status, 200)
            self.assertEqual(get(port, "/status.json", context=self.context())[0].status, 403)
            self.assertIn(self.status_of_stranger(port), (403, None))
            with self.assertRaises((http.client.HTTPException, OSError)):
                get(port, "/status.json")  # without TLS
            before = self.certificate_of(port)
            self.assertEqual(self.certificate_of(port), before)
            self.braid_keys("add", self.keys, "task")
            renewed = self.certificate_of(port)
            self.assertNotEqual(renewed, before)
            (self.keys / "task" / "cert.pem").write_text("half a file")
            self.assertEqual(self.certificate_of(port), renewed)
        finally:
            server.terminate()
            server.stderr.read()
            server.stderr.close()
            self.assertEqual(server.wait(TIMEOUT), 0)
            reservation.close()
            grpc_reservation.close()

    def certificate_of(self, port):
        with socket.create_connection(("127.0.0.1", port), TIMEOUT) as connection:
            with self.context(self.keys / "viewer").wrap_socket(connection) as tls:
                return tls.getpeercert(binary_form=True)

    def status_of_stranger(self, port):
        """The status for a task of another authority; None when the handshake fails."""
        try:
            return get(port, "/status.json", context=self.context(self.others / "task"))[0].status
        except (ssl.SSLError, ConnectionError):
            return None


class AddressTest(unittest.TestCase):
    def start(self, *options):
        port, reservation = take_port()
        spec = json.dumps({"ps": [f"127.0.0.1:{port}"]})
        command = [
            f"{cluster.programs}/braid",
            "server",
            "--cluster",
            spec,
            "--job",
            "ps",
            "--task",
            "0",
            *options,
        ]
        result = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT)
        reservation.close()
        return result

    def test_other_addresses_need_a_certificate(self):
        result = self.start("--monitoring", "0.0.0.0:0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("PermissionDenied: Monitoring: 0.0.0.0:0 would show anyone", result.stderr)

    def test_an_address_in_use_is_an_error(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            result = self.start("--monitoring", f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertEqual(result.returncode, 1)
        self.assertIn("AlreadyExists: Monitoring: ", result.stderr)

    def test_an_address_has_a_port(self):
        result = self.start("--monitoring", "localhost")
        self.assertEqual(result.returncode, 1)
        self.assertIn("InvalidArgument: Monitoring: 'localhost' is no host:port", result.stderr)


if __name__ == "__main__":
    main()
