# A client that neither calls nor reads for a while is not taken for gone: it may be stopped, or its gRPC
# asleep. Its host is asked by the system instead.
# labels: slow
# timeout: 120
import socket
import time

from client import InteropTest
from cluster import Cluster, main

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"  # and SETTINGS without any
PATIENCE = 25  # seconds; gRPC's own tests of connections, where a server asks for them, end one sooner
KEEPALIVE = "02"  # of the timers in /proc/net/tcp and tcp6


def timer_of_server(client):
    """The timer of the server's end of a connection."""
    ends = [f":{port:04X}" for port in (client.getpeername()[1], client.getsockname()[1])]
    for name in "tcp", "tcp6":
        with open(f"/proc/net/{name}") as table:
            for line in table:
                fields = line.split()
                if fields[1].endswith(ends[0]) and fields[2].endswith(ends[1]):
                    return fields[5].split(":")[0]
    return None


class IdleClientTest(InteropTest):
    def test_who_does_not_answer_pings_stays_connected(self):
        with Cluster(worker=1) as cluster:
            host, port = cluster.address("worker").split(":")
            with socket.create_connection((host, int(port)), timeout=PATIENCE) as client:
                client.sendall(PREFACE)
                received, end = b"", time.monotonic() + PATIENCE
                with self.assertRaises(TimeoutError):
                    while True:
                        client.settimeout(max(end - time.monotonic(), 0.001))
                        more = client.recv(4096)
                        self.assertTrue(more, "the server has closed the connection")
                        received += more
                self.assertTrue(received)  # its SETTINGS
                self.assertEqual(timer_of_server(client), KEEPALIVE)


if __name__ == "__main__":
    main()
