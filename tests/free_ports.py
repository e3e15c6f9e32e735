"""Free ports of loopback for the servers of a test, below the ports that Linux gives to outgoing connections.

A port that the kernel assigns (port 0) lies among those: once it is closed, any connection may take it before
the server listens. As a program, `free_ports.py COUNT` prints the ports in a line.
"""
import random
import socket
import sys

PORTS = range(12000, 32000)  # `braid run` takes its own from the same numbers


def _bound(kind, address):
    s = socket.socket(kind, socket.SOCK_DGRAM if kind == socket.AF_UNIX else socket.SOCK_STREAM)
    try:
        if kind == socket.AF_INET:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(address)
    except OSError:
        s.close()
        return None
    return s


_reserved = []  # as long as this process lives


def free_ports(count):
    """`count` different ports that nothing listens on and that no running `braid run` has reserved."""
    ports = []
    for port in random.SystemRandom().sample(PORTS, len(PORTS)):
        if len(ports) == count:
            return ports
        reservation = _bound(socket.AF_UNIX, f"\0braid-port-{port}")
        if not reservation:
            continue
        listener = _bound(socket.AF_INET, ("127.0.0.1", port))
        if listener:
            listener.close()
            _reserved.append(reservation)
            ports.append(port)
        else:
            reservation.close()
    raise OSError(f"there are not {count} free ports from {PORTS.start} to {PORTS.stop - 1}")


def free_addresses(count):
    return [f"127.0.0.1:{port}" for port in free_ports(count)]


if __name__ == "__main__":
    print(*free_ports(int(sys.argv[1])))
