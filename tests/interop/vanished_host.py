# A host that vanishes without a word is noticed by every task that waits for it, and by the master that keeps
# a session of a client there: run by hand, as root.
#
#     /usr/bin/python3 tests/interop/vanished_host.py build/release/bin
#
# Two network namespaces stand for two hosts, connected by a link; then one of them loses its address.
import json
import os
import subprocess
import sys
import threading
import time

NOTICED_WITHIN = (
    35  # seconds; 10 until a connection is tested, 10 more until nobody has answered, and a slow machine
)
QUIET = 2  # seconds until all is received and acknowledged: what is not would tell of the loss
HERE, THERE = f"braid-here-{os.getpid()}", f"braid-there-{os.getpid()}"
ADDRESS_HERE, ADDRESS_THERE = "10.199.7.1", "10.199.7.2"
SPEC = {"ps": [f"{ADDRESS_HERE}:2300"], "worker": [f"{ADDRESS_HERE}:2301", f"{ADDRESS_THERE}:2302"]}


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def hardware_address(space, link):
    shown = subprocess.run(
        ["ip", "-n", space, "-json", "link", "show", link], check=True, capture_output=True
    )
    return json.loads(shown.stdout)[0]["address"]


def outside(programs):
    """Makes the hosts and runs the test on the first one."""
    try:
        ip("netns", "add", HERE)
        ip("netns", "add", THERE)
        ip("link", "add", "here", "netns", HERE, "type", "veth", "peer", "name", "there", "netns", THERE)
        for space, link, address in (HERE, "here", ADDRESS_HERE), (THERE, "there", ADDRESS_THERE):
            ip("-n", space, "address", "add", f"{address}/24", "dev", link)
            ip("-n", space, "link", "set", "lo", "up")
            ip("-n", space, "link", "set", link, "up")
        # Packets go out for ever, without a word that nobody takes them.
        ip(
            "-n",
            HERE,
            "neighbour",
            "replace",
            ADDRESS_THERE,
            "lladdr",
            hardware_address(THERE, "there"),
            "dev",
            "here",
            "nud",
            "permanent",
        )
        inside = [sys.executable, __file__, programs, HERE, THERE]
        return subprocess.run(["ip", "netns", "exec", HERE, *inside]).returncode
    finally:
        for space in HERE, THERE:
            subprocess.run(["ip", "netns", "del", space])


def start_server(programs, job, index, space=None, **options):
    command = [
        f"{programs}/braid",
        "server",
        "--job",
        job,
        "--task",
        str(index),
        "--cluster",
        json.dumps(SPEC),
        "--insecure",
        "--client-lost-timeout",
        "0.2",
    ]
    return subprocess.Popen((["ip", "netns", "exec", space] if space else []) + command, **options)


def check(master, there, name):
    """The endless step of a master is told that the other host is gone."""
    from client import Session, master_service
    from graphs import const, endless_loop

    s = Session(
        master_service(SPEC[master[0]][master[1]]),
        const("a", 1.0, device="/job:worker/task:1"),
        *endless_loop("loop", "/job:worker/task:1"),
    )
    assert s.run("a:0") == 1.0
    step = s.start(["loop/exit:0"], timeout=400)
    assert s.run("a:0") == 1.0  # the other one has begun
    time.sleep(QUIET)
    ip("-n", there, "address", "del", f"{ADDRESS_THERE}/24", "dev", "there")
    begin = time.monotonic()
    code, words = step.code().name, step.details()
    seconds = time.monotonic() - begin
    print(f"{name}: {seconds:.1f} s: {code}: {words}", flush=True)
    ip("-n", there, "address", "add", f"{ADDRESS_THERE}/24", "dev", "there")
    return seconds < NOTICED_WITHIN and code == "UNAVAILABLE" and "/job:worker/task:1" in words


def wait_as_client():
    """A client on the other host: makes a session and does not call again."""
    from client import Session, master_service
    from graphs import const

    session = Session(master_service(SPEC["worker"][0]), const("a", 1.0, device="/job:worker/task:0"))
    print(session.handle, flush=True)
    sys.stdin.read()


def check_client(server, there):
    """The server says that it has closed the session of a client whose host is gone, though nobody calls."""
    client = subprocess.Popen(
        ["ip", "netns", "exec", there, sys.executable, __file__, "client"],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    words = f"Session {client.stdout.readline().strip()} is closed"
    begin = time.monotonic()
    ip("-n", there, "address", "del", f"{ADDRESS_THERE}/24", "dev", "there")
    watchdog = threading.Timer(NOTICED_WITHIN, server.kill)
    watchdog.start()
    said = next((line for line in server.stderr if words in line), None)
    watchdog.cancel()
    print(f"a client: {time.monotonic() - begin:.1f} s: {said}", flush=True)
    client.kill()
    return said is not None


def inside(programs, here, there):
    from client import worker_service
    from protos import worker_pb2

    servers = [
        start_server(programs, "ps", 0),
        start_server(programs, "worker", 0, stderr=subprocess.PIPE, text=True),
        start_server(programs, "worker", 1, there),
    ]
    try:
        for addresses in SPEC.values():
            for address in addresses:
                worker_service(address).call(worker_pb2.GetStatusRequest(), wait_for_ready=True)
        good = [
            check(("worker", 0), there, "a worker's master"),
            check(("ps", 0), there, "a parameter server's master"),
            check_client(servers[1], there),
        ]
        return 0 if all(good) else 1
    finally:
        for server in servers:
            server.kill()


if __name__ == "__main__":
    if sys.argv[1] == "client":
        sys.exit(wait_as_client())
    programs = sys.argv[1]
    sys.exit(inside(*sys.argv[1:]) if len(sys.argv) > 2 else outside(programs))
