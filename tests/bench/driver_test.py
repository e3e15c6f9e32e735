# Tests of the driver of the benchmarks. It kills a program that does not answer, with its children, reports
# it and continues with the other rows. With --baseline it compares two builds.
import os
import select
import signal
import subprocess
import sys
import tempfile

DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/run.py")
ANSWER = "while read -r line; do echo 7; done"
HANG = "sleep 1000 & echo $! >>children; echo waiting in vain >&2; echo >started; wait"

# The script of mnist_bench, the driver's limit in seconds, the signal that stops the driver, its exit code,
# and parts of the row and of standard error.
CASES = [
    (ANSWER, 60, None, 0, "ok", ""),
    (HANG, 2, None, 1, "hung: mnist_bench adam memory gave no answer in 2 s", "waiting in vain"),
    (
        "echo out of luck >&2; exit 3",
        60,
        None,
        1,
        "died: mnist_bench adam memory ended with exit code 3 in its turn",
        "out of luck",
    ),
    (ANSWER + "; exit 4", 60, None, 1, "died: mnist_bench adam memory ended with exit code 4", ""),
    (ANSWER + "\n" + HANG, 2, None, 1, "hung: mnist_bench adam memory did not end in 2 s", "waiting in vain"),
    (HANG, 60, signal.SIGINT, 130, "", ""),
    (HANG, 60, signal.SIGTERM, 143, "", ""),
]


def program(folder, name, does):
    path = os.path.join(folder, name)
    with open(path, "w") as f:
        f.write(f"#!/bin/bash\ncd {folder}\n{does}\n")
    os.chmod(path, 0o755)


# Waits for the end of a process that has been killed.
def has_ended(pid):
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ended, _, _ = select.select([handle], [], [], 10)
    os.close(handle)
    return bool(ended)


def check(does, limit, stop, code, row, said):
    with tempfile.TemporaryDirectory() as folder:
        program(folder, "mnist_bench", does)
        program(folder, "nodes_bench", ANSWER)
        program(folder, "malloc_bench", ANSWER)
        started = os.path.join(folder, "started")
        if stop:
            os.mkfifo(started)
        argv = [
            sys.executable,
            DRIVER,
            folder,
            "--only",
            "memory",
            "--only",
            "chain",
            "--rounds",
            "1",
            "--limit",
            str(limit),
        ]
        driver = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if stop:
            with open(started) as f:
                f.read()
            driver.send_signal(stop)
        out, err = driver.communicate(timeout=50)
        assert driver.returncode == code, (does, driver.returncode, out, err)
        assert row in out and said in err, (does, out, err)
        assert stop or "chain " in out, (does, out)
        if does.endswith(HANG):
            with open(os.path.join(folder, "children")) as f:
                pids = [int(pid) for pid in f]
            assert len(pids) == (1 if stop else 2), (does, pids)
            for pid in pids:
                assert has_ended(pid), does


def check_baseline(ours, baseline, code, verdict):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        program(folder, "mnist_bench", f"while read -r line; do echo {ours}; done")
        program(other, "mnist_bench", f"while read -r line; do echo {baseline}; done")
        argv = [sys.executable, DRIVER, folder, "--baseline", other, "--only", "memory", "--rounds", "3"]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=50)
        assert done.returncode == code and verdict in done.stdout, (done.returncode, done.stdout, done.stderr)


for case in CASES:
    check(*case)
check_baseline(102, 100, 0, "1.02-1.02  <= 1.03 ok")
check_baseline(104, 100, 1, "1.04-1.04  <= 1.03 missed")
