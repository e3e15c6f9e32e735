# Floods below gRPC, over raw sockets: connections and frames of HTTP/2 that no client sends. The server ends
# the connection, its memory stays small, and another client's steps go on meanwhile.
#
# Known weaknesses of HTTP/2 servers: rapid resets (CVE-2023-44487), CONTINUATION without an end
# (CVE-2024-27316 and its kin), floods of settings, pings and empty frames (CVE-2019-9512, 9515, 9518), HPACK
# bombs, clients that do not read (CVE-2019-9517) or hardly send.
# timeout: 480
import os
import statistics
import subprocess
import unittest

import floods
from cluster import Cluster, main
from flooded import MEMORY_MAX, OPTIONS, QUIET_STEPS, FloodedTest, p99
from floods import CALL, END_HEADERS, FLOODS, HEADERS, PREFACE, SENT_MAX, SETTINGS
from floods import begin, call, connect, first_answer, frame

SLACK_S = 2  # a step may take so much longer than twice its time: tests run beside others
STRANGER = 54321  # a user
STRANGER_SENT_MAX = 20 << 20  # most of it is in the buffers of the kernel


class FloodsTest(FloodedTest):
    def begin(self):
        self.cluster = Cluster(ps=1, options=OPTIONS)
        self.server, self.address = self.cluster.server("ps"), self.cluster.address("ps")
        self.master = self.cluster.master("ps")

    def connect(self):
        return connect(self.address)

    def end(self):
        self.cluster.kill("ps")  # gRPC may still work on what was sent, and that takes it long
        self.cluster.stop()

    def send(self, pieces):
        """Until the server ends the connection."""
        sent = 0
        with self.connect() as connection:
            begin(connection)
            with self.assertRaises(OSError, msg="the server takes it all"):
                for piece in pieces:
                    connection.sendall(piece)
                    sent += len(piece)
                    self.assertLess(sent, SENT_MAX)
        print(f"{sent >> 10} KB", end=", ")

    def test_a_thousand_connections_that_say_nothing(self):
        connections, steps = [self.connect() for _ in range(1000)], self.steps()
        for _ in range(QUIET_STEPS):
            steps.step()
        for c in connections:
            c.close()
        self.assertLess(p99(steps.times), 2 * self.quiet_p99 + SLACK_S)

    def test_connections_that_say_a_byte_at_a_time(self):
        connections, steps = [self.connect() for _ in range(100)], self.steps()
        for byte in PREFACE:
            for c in connections:
                c.sendall(bytes([byte]))
            steps.step()
        for c in connections:
            c.close()
        self.assertLess(statistics.median(steps.times), 2 * self.quiet_p99 + SLACK_S)

    def test_many_calls_at_once_are_no_flood(self):
        """As when a program has thousands of blocked steps: each is answered. Others' steps go on meanwhile."""
        steps = self.steps()
        steps.start()
        try:
            self.work_of_a_call()
        finally:
            steps.stop()
        print(steps)
        self.assertLess(p99(steps.times), 2 * self.quiet_p99 + SLACK_S)

    def test_calls_without_messages_do_not_stop_those_behind_them(self):
        with self.connect() as connection:
            without = b"".join(frame(HEADERS, END_HEADERS, stream, CALL) for stream in range(1, 201, 2))
            connection.sendall(PREFACE + frame(SETTINGS, 0, 0) + without + call(CALL, 201))
            self.assertEqual(first_answer(connection), 201)

    @unittest.skipUnless(os.geteuid() == 0, "only root runs processes as other users")
    def test_floods_of_another_user_do_not_reach_grpc(self):
        as_stranger = [
            "setpriv",
            f"--reuid={STRANGER}",
            "--clear-groups",
            "/usr/bin/python3",
            floods.__file__,
        ]

        def flood_all():
            for flood in FLOODS:
                command = [*as_stranger, flood.__name__, self.address]
                sent = int(subprocess.run(command, stdout=subprocess.PIPE).stdout)
                self.assertLess(sent, STRANGER_SENT_MAX, flood.__name__)

        self.check_others(flood_all, MEMORY_MAX / 4)


for pieces in FLOODS:
    setattr(
        FloodsTest,
        f"test_{pieces.__name__}",
        lambda self, pieces=pieces: self.check_others(lambda: self.send(pieces())),
    )

if __name__ == "__main__":
    main()
