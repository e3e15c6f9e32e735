# Floods below gRPC, over raw sockets: connections and frames of HTTP/2 that no client sends. The server ends
# the connection, its memory stays small, and another client's steps go on meanwhile.
#
# Known weaknesses of HTTP/2 servers: rapid resets (CVE-2023-44487), CONTINUATION without an end
# (CVE-2024-27316 and its kin), floods of settings, pings and empty frames (CVE-2019-9512, 9515, 9518), HPACK
# bombs, clients that do not read (CVE-2019-9517) or hardly send.
# labels: concurrent
# timeout: 240
import itertools
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

from client import InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, const, node

MEMORY_MAX = (4 if os.environ.get("BRAID_SANITIZE") else 1) << 30  # what a flood may add
SENT_MAX = 400 << 20  # bytes that a flood sends when nothing stops it
STEPS = 300
MANY_CALLS = 15000
STRANGER = 54321  # a user
STRANGER_SENT_MAX = 20 << 20  # most of it is in the buffers of the kernel
# How much longer a step may take than twice its time without a flood: 50 ms on a quiet machine. Tests run
# beside others, on few processors.
SLACK_S = float(os.environ.get("BRAID_FLOOD_SLACK_S", "2"))

DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, END_HEADERS = 1, 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def number(value, bits):
    """An integer of HPACK, whose prefix has so many bits."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([value])
    out, value = bytes([most]), value - most
    while value > 127:
        out, value = out + bytes([value % 128 + 128]), value // 128
    return out + bytes([value])


def text(value):
    return number(len(value), 7) + value


def field(name, value):
    """A literal header field that is not indexed."""
    return b"\0" + text(name) + text(value)


METHOD = b"/tensorflow.MasterService/ListDevices"
CALL = (
    b"\x83\x86"
    + field(b":path", METHOD)
    + field(b"content-type", b"application/grpc")
    + field(b"te", b"trailers")
)


def endless_headers(start, piece):
    yield frame(HEADERS, 0, 1, CALL + start)
    yield from itertools.repeat(piece)


def one_long_string():
    """A header that is announced with 1 GB."""
    start = b"\0" + text(b"a") + number(1 << 30, 7)
    return endless_headers(start, frame(CONTINUATION, 0, 1, b"a" * 16384))


def many_headers():
    one = field(b"a", b"b" * 100)
    return endless_headers(b"", frame(CONTINUATION, 0, 1, one * (16000 // len(one))))


def empty_continuations():
    return endless_headers(b"", frame(CONTINUATION, 0, 1) * 1000)


def hpack_bomb():
    """One field of 3.8 KB in the table, and references to it of a byte each."""
    start = b"\x40" + text(b"a") + text(b"b" * 3800)
    return endless_headers(start, frame(CONTINUATION, 0, 1, b"\xbe" * 16000))


def rapid_resets():
    for first in range(1, 1 << 31, 2000):
        streams = range(first, first + 2000, 2)
        cancel = struct.pack(">I", 8)
        yield b"".join(
            frame(HEADERS, END_HEADERS, s, CALL) + frame(RST_STREAM, 0, s, cancel) for s in streams
        )


def settings():
    return itertools.repeat(frame(SETTINGS, 0, 0, struct.pack(">HI", 3, 100)) * 1000)


def pings():
    return itertools.repeat(frame(PING, 0, 0, b"12345678") * 1000)


def window_updates():
    return itertools.repeat(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 0x100)) * 1000)


def calls_without_reading():
    """Calls whose answers the client does not read."""
    for first in range(1, 1 << 31, 2000):
        message = frame(DATA, END_STREAM, 0, b"\0" * 5)
        yield b"".join(
            frame(HEADERS, END_HEADERS, s, CALL) + message[:5] + struct.pack(">I", s) + message[9:]
            for s in range(first, first + 2000, 2)
        )


def unknown_frames():
    return itertools.repeat(frame(200, 0, 0, b"a" * 16000))


def connect(address):
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), 60)


def peak_memory(server):
    """The most that the process has had, in bytes."""
    with open(f"/proc/{server.process.pid}/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM:"))


class Steps(threading.Thread):
    """Runs steps of a session until it is stopped. `times` has how long each took."""

    def __init__(self, session):
        super().__init__()
        self.session, self.times, self.is_over, self.error = session, [], False, None
        self.start()

    def run(self):
        try:
            while not self.is_over:
                start = time.monotonic()
                self.session.run("b:0")
                self.times.append(time.monotonic() - start)
        except Exception as e:
            self.error = e

    def stop(self):
        self.is_over = True
        self.join()
        if self.error:
            raise self.error
        return self.times


def p99(times):
    return sorted(times)[int(len(times) * 0.99)]


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
                for piece in pieces:
                    s.sendall(piece)
                    sent += len(piece)
                    self.assertLess(sent, SENT_MAX)
        times = steps.stop() + [self.time_of_a_step() for _ in range(3)]
        added = peak_memory(self.server) - before
        print(f"{sent >> 10} KB, {added >> 20} MB more; {len(times)} steps, p99 {p99(times) * 1e3:.1f} ms")
        self.assertLess(added, MEMORY_MAX)
        self.assertLess(p99(times), 2 * self.quiet_p99 + SLACK_S)

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
            command = ["setpriv", f"--reuid={STRANGER}", "--clear-groups", "/usr/bin/python3", __file__]
            result = subprocess.run(
                [*command, "--flood", flood.__name__, self.address], stdout=subprocess.PIPE
            )
            sent = int(result.stdout)
            self.assertLess(sent, STRANGER_SENT_MAX, flood.__name__)
        self.assertLess(p99(steps.stop()), 2 * self.quiet_p99 + SLACK_S)
        self.assertLess(peak_memory(self.server) - before, MEMORY_MAX / 4)


def send_flood(name, address):
    """As another user: prints how many bytes were sent before the connection ended."""
    sent = 0
    with connect(address) as s:
        try:
            s.sendall(PREFACE + frame(SETTINGS, 0, 0))
            for piece in globals()[name]():
                s.sendall(piece)
                sent += len(piece)
                if sent > SENT_MAX:
                    break
        except OSError:
            pass
    print(sent)


FLOODS = (
    one_long_string,
    many_headers,
    empty_continuations,
    hpack_bomb,
    rapid_resets,
    settings,
    pings,
    window_updates,
    unknown_frames,
    calls_without_reading,
)
for pieces in FLOODS:
    setattr(FloodsTest, f"test_{pieces.__name__}", lambda self, pieces=pieces: self.flood(pieces()))

if __name__ == "__main__":
    if sys.argv[1:2] == ["--flood"]:
        send_flood(*sys.argv[2:])
    else:
        main()
