"""The network between hosts that are namespaces: carries their packets, late or not at all (as root).

    wire.py MTU SPACE=ADDRESS...

gives each namespace a link `eth0` with its address, whose other end is this process. It prints an empty line
when all are up, does what each line of its input says, answers it by an empty line, and ends with its input:

    shape DELAY_MS JITTER_MS LOSS   a packet takes DELAY_MS and up to JITTER_MS more; LOSS of 1 vanish
    cut SPACE                       what the host sends, and what is sent to it, vanishes
    join SPACE                      no longer

Packets from one host to another keep their order. The netem of Linux does the same, where a kernel has it.
"""

import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
PACKET_MAX = 65536
BURST_MAX = 64  # packets of a host, until it is the turn of the next one
QUEUE_MAX = 20000  # packets that wait until they are read here: none but `shape` is to lose any
SEED = 1


class Host:
    def __init__(self, space, address, mtu):
        self.is_cut = False
        self.until = {}  # by source: when the last packet on its way comes
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        request = struct.pack("16sH22x", b"wire%d", IFF_TUN | IFF_NO_PI)  # the kernel draws a number
        name = fcntl.ioctl(self.fd, TUNSETIFF, request)[:16].rstrip(b"\0").decode()
        subprocess.run(["ip", "link", "set", name, "netns", space, "name", "eth0"], check=True)
        for command in (
            "link set lo up",
            f"address add {address}/24 dev eth0",
            f"link set eth0 mtu {mtu} txqueuelen {QUEUE_MAX} up",
        ):
            inside = ["nsenter", f"--net=/run/netns/{space}", "ip"]
            subprocess.run([*inside, *command.split()], check=True)


class Wire:
    def __init__(self, mtu, addresses):
        self.hosts = {space: Host(space, address, mtu) for space, address in addresses.items()}
        self.by_fd = {host.fd: host for host in self.hosts.values()}
        self.by_address = {socket.inet_aton(addresses[space]): host for space, host in self.hosts.items()}
        self.shape = (0.0, 0.0, 0.0)  # delay in seconds, jitter in seconds, loss
        self.random = random.Random(SEED).random
        self.coming, self.number = [], 0  # a heap of (when, number, target, packet)

    def take(self, source, packet, now):
        target = self.by_address.get(packet[16:20]) if packet[0] >> 4 == 4 else None
        delay, jitter, loss = self.shape
        if not target or source.is_cut or self.random() < loss:
            return
        when = max(now + delay + jitter * self.random(), target.until.get(source, 0))
        target.until[source] = when
        self.number += 1
        heapq.heappush(self.coming, (when, self.number, target, packet))

    def read(self, source):
        try:
            for _ in range(BURST_MAX):
                self.take(source, os.read(source.fd, PACKET_MAX), time.monotonic())
        except OSError:
            pass  # no more packets, or the link is down

    def deliver(self):
        """Delivers what has come, and returns the seconds until the next packet; -1: none is on its way."""
        while self.coming:
            left = self.coming[0][0] - time.monotonic()
            if left > 0:
                return left
            _, _, target, packet = heapq.heappop(self.coming)
            try:
                if not target.is_cut:
                    os.write(target.fd, packet)
            except OSError:
                pass  # the link is down
        return -1

    def obey(self, word, *arguments):
        if word == "shape":
            delay_ms, jitter_ms, loss = map(float, arguments)
            self.shape = (delay_ms / 1000, jitter_ms / 1000, loss)
        else:
            self.hosts[arguments[0]].is_cut = {"cut": True, "join": False}[word]

    def serve(self):
        poll = select.epoll()
        for fd in (0, *self.by_fd):
            poll.register(fd, select.EPOLLIN)
        print(flush=True)
        while True:
            for fd, _ in poll.poll(self.deliver()):
                if fd:
                    self.read(self.by_fd[fd])
                    continue
                lines = os.read(0, 4096).decode().splitlines()  # the writer waits for each answer
                if not lines:
                    return
                for line in lines:
                    self.obey(*line.split())
                    print(flush=True)


if __name__ == "__main__":
    Wire(sys.argv[1], dict(argument.split("=") for argument in sys.argv[2:])).serve()
