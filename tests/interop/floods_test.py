# Floods below gRPC, over raw sockets: connections and frames of HTTP/2 that no client sends. The server ends
# the connection, its memory stays small, and another client's steps go on meanwhile.
#
# Known weaknesses of HTTP/2 servers: rapid resets (CVE-2023-44487), CONTINUATION without an end
# (CVE-2024-27316 and its kin), floods of settings, pings and empty frames (CVE-2019-9512, 9515, 9518), HPACK
# bombs, clients that do not read (CVE-2019-9517) or hardly send.
# labels: concurrent
# timeout: 240
import os
import struct
import subprocess
import threading
import time
import unittest

import floods
from client import InteropTest, Session
from cluster import Cluster, main
from floods import (
    CALL,
    DATA,
    END_HEADERS,
    END_STREAM,
    FLOODS,
    HEADERS,
    PREFACE,
    SENT_MAX,
    SETTINGS,
    SLACK_S,
    WINDOW_UPDATE,
    Steps,
    connect,
    frame,
    p99,
    peak_memory,
    slack,
)
from graphs import FLOAT, const, node

MEMORY_MAX = (4 if os.environ.get("BRAID_SANITIZE") else 1) << 30  # what a flood may add
STEPS = 300
MANY_CALLS = 15000
STRANGER = 54321  # a user
STRANGER_SENT_MAX = 20 << 20  # most of it is in the buffers of the kernel


class FloodsTest(InteropTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(ps=1)
        cls.server = cls.cluster.server("ps")
        cls.address = cls.cluster.address("ps")
        cls.session = Session(cls.cluster.master("ps"), const("a", 1.0), node("b", "Neg", "a", T=FLOAT))
        cls.quiet_p99 = p99([cls.time_of_a_step() for _ in range(STEPS)])

    @classmethod
    def tearDownClass(cls):
        cls.session.close()
        if os.environ.get("BRAID_SANITIZE"):  # gRPC may still work on what was sent, and that takes it long
            cls.cluster.kill("ps")
        cls.cluster.stop()

    def flood(self, pieces):
        """Sends the pieces until the server ends the connection, and runs steps meanwhile."""
        before, sent = peak_memory(self.server), 0
        steps = Steps(self.session)
        with connect(self.address) as s:
            s.sendall(PREFACE + frame(SETTINGS, 0, 0))
            with self.assertRaises(OSError, msg="the server takes it all"):
                for piece in pieces():
                    s.sendall(piece)
                    sent += len(piece)
                    self.assertLess(sent, SENT_MAX)
        times = steps.stop() + [self.time_of_a_step() for _ in range(3)]
        added = peak_memory(self.server) - before
        print(f"{sent >> 10} KB, {added >> 20} MB more; {len(times)} steps, p99 {p99(times) * 1e3:.1f} ms")
        self.assertLess(added, MEMORY_MAX)
        self.assertLess(p99(times), 2 * self.quiet_p99 + slack([pieces.__name__]))

    @classmethod
    def time_of_a_step(cls):
        start = time.monotonic()
        cls.session.run("b:0")
        return time.monotonic() - start

    def test_a_thousand_connections_that_say_nothing(self):
        connections = [connect(self.address) for _ in range(1000)]
        times = [self.time_of_a_step() for _ in range(STEPS)]
        for c in connections:
            c.close()
        self.assertLess(p99(times), 2 * self.quiet_p99 + SLACK_S)

    def test_connections_that_say_a_byte_at_a_time(self):
        connections = [connect(self.address) for _ in range(100)]
        times = []
        for byte in PREFACE:
            for c in connections:
                c.sendall(bytes([byte]))
            times.append(self.time_of_a_step())
        for c in connections:
            c.close()
        self.assertLess(max(times), 2 * self.quiet_p99 + SLACK_S)

    def test_many_calls_at_once_are_no_flood(self):
        """As when a program has thousands of blocked steps: each is answered."""
        streams = range(1, 2 * MANY_CALLS, 2)
        message = b"\0" * 5
        calls = b"".join(
            frame(HEADERS, END_HEADERS, s, CALL) + frame(DATA, END_STREAM, s, message) for s in streams
        )
        with connect(self.address) as s:
            s.sendall(
                PREFACE + frame(SETTINGS, 0, 0) + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30))
            )
            sender = threading.Thread(target=s.sendall, args=[calls])
            sender.start()
            ends, stream = 0, s.makefile("rb")
            while ends < MANY_CALLS:
                head = stream.read(9)
                self.assertEqual(len(head), 9, "the connection has ended")
                stream.read(int.from_bytes(head[:3], "big"))
                ends += head[3] == HEADERS and head[4] & END_STREAM
            sender.join()
            stream.close()

    @unittest.skipUnless(os.geteuid() == 0, "only root runs processes as other users")
    def test_floods_of_another_user_do_not_reach_grpc(self):
        before = peak_memory(self.server)
        steps = Steps(self.session)
        for flood in FLOODS:
            command = [
                "setpriv",
                f"--reuid={STRANGER}",
                "--clear-groups",
                "/usr/bin/python3",
                floods.__file__,
            ]
            result = subprocess.run([*command, flood.__name__, self.address], stdout=subprocess.PIPE)
            sent = int(result.stdout)
            self.assertLess(sent, STRANGER_SENT_MAX, flood.__name__)
        self.assertLess(p99(steps.stop()), 2 * self.quiet_p99 + SLACK_S)
        self.assertLess(peak_memory(self.server) - before, MEMORY_MAX / 4)


for pieces in FLOODS:
    setattr(FloodsTest, f"test_{pieces.__name__}", lambda self, pieces=pieces: self.flood(pieces))

if __name__ == "__main__":
    main()
