#!/usr/bin/env python3
"""Runs mnist_replica many times while processes of its cluster are killed, stopped or cut off the network at
random.

    tests/mnist/chaos.py build/release/bin --runs 200
    tests/mnist/chaos.py build/release/bin --runs 200 --faults kill,stop,cut

Cuts need root: each task then has a network namespace of its own.

Each run has a seed, which decides the cluster, the mode and the faults (the moments depend on the machine,
too). With --restarts above 0 each run must end by itself with exit code 0, train as well as without faults,
leave no process, and its newest checkpoint must restore. Without restarts each run must train to the end,
or end within the grace time and ten seconds, and name a task when it fails.
"""

import argparse
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from hosts import Hosts, host_of

MARK = "BRAID_CHAOS_MARK"
HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = 7  # of the largest cluster
MTU = 65000  # few packets, so that the processor is left to the cluster
SLACK_SECONDS = 10
ACCURACY_MIN = 0.8


class Cluster:
    """One run of `braid run` and what it has written."""

    def __init__(self, options, hosts, rng, directory):
        self.options = options
        self.hosts = hosts
        self.directory = directory
        self.mark = f"{os.getpid()}-{rng.getrandbits(48)}"
        self.is_sync = rng.random() < 0.5
        self.ps = rng.randint(1, 2)
        self.workers = rng.randint(2, 3)
        self.lines = []
        self.changed = threading.Condition()
        program = ["mnist_replica"]
        if hosts:
            program = ["/usr/bin/python3", f"{HERE}/hosts.py", f"{options.bin}/mnist_replica", "--insecure"]
        program += [f"--train_steps={options.steps}", f"--log_dir={directory}/model"]
        program += ["--save_checkpoint_secs=0.3", "--batch_size=50"]
        if self.is_sync:
            program += ["--sync_replicas", f"--replicas_to_aggregate={self.workers - rng.randint(0, 1)}"]
        self.command = [f"{options.bin}/braid", "run", "--ps", str(self.ps), "--workers", str(self.workers)]
        self.command += ["--ps-replicas", str(options.ps_replicas)]
        self.command += ["--restarts", str(options.restarts), "--grace", str(options.grace)] + program
        self.process = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=dict(os.environ, **{MARK: self.mark}, **(hosts.environment if hosts else {})),
        )
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append((time.monotonic(), line.rstrip("\n")))
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, pattern, seconds):
        """Waits until a line matches; False when the run ends before or the time is over."""
        with self.changed:
            return self.changed.wait_for(
                lambda: self.process.poll() is not None
                or any(re.search(pattern, line) for _, line in self.lines),
                seconds,
            )

    def tasks(self):
        """The running tasks: name -> process id."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    variables = file.read().split(b"\0")
            except OSError:
                continue
            if f"{MARK}={self.mark}".encode() not in variables:
                continue
            for variable in variables:
                match = re.search(rb'"type": "(\w+)", "index": (\d+)(?:, "replica": (\d))?', variable)
                if variable.startswith(b"TF_CONFIG=") and match:
                    job, index, replica = (text and text.decode() for text in match.groups())
                    found[f"{job}/{index}.{replica}" if replica else f"{job}/{index}"] = int(pid)
        return found

    def text(self):
        return "\n".join(line for _, line in self.lines)

    def is_standby(self, name, at):
        """Whether no step needed the process then: the other one of its parameter server served."""
        lines = [
            line
            for when, line in self.lines
            if when < at and re.search(rf"^{name[:-1]}\d \| .*this process .* serves", line)
        ]
        return "." in name and (not lines or not lines[-1].startswith(f"{name} "))

    def seconds_until_step(self, name, killed):
        """From the kill of a task until the next step that needed it; None: there was none."""
        if self.is_standby(name, killed):
            return None
        pattern = r"Training goes on at" if name.startswith("ps/") else rf"^{name} \| .*first step after"
        times = (at for at, line in self.lines if at > killed and re.search(pattern, line))
        return min((at - killed for at in times), default=None)


def cut(cluster, name, seconds):
    """Cuts a task off the network."""
    job, index, replica = re.fullmatch(r"(\w+)/(\d+)\.?(\d?)", name).groups()
    jobs = {"ps": ["|" * (cluster.options.ps_replicas - 1)] * cluster.ps, "worker": [""] * cluster.workers}
    host = host_of(jobs, job, int(index), int(replica or 0))
    cluster.hosts.cut(host)
    wait(cluster, seconds)
    cluster.hosts.join(host)
    return f"cut {name} for {seconds:.1f} s"


def wait(cluster, seconds):
    """Until the run ends, at most so long."""
    try:
        cluster.process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def hurt(cluster, rng, faults):
    """Does one fault to a random task, and returns what it was."""
    tasks = cluster.tasks()
    if not tasks:
        return None
    name = rng.choice(sorted(tasks))
    kind = rng.choice(faults)
    seconds = rng.choice([0.3, 2, cluster.options.stop_max]) * rng.random()
    if kind == "cut":
        return cut(cluster, name, seconds)
    try:
        if kind == "kill":
            os.kill(tasks[name], signal.SIGKILL)
            return f"kill {name}"
        os.kill(tasks[name], signal.SIGSTOP)
        wait(cluster, seconds)
        os.kill(tasks[name], signal.SIGCONT)
        return f"stop {name} for {seconds:.1f} s"
    except ProcessLookupError:
        return None


def check_checkpoint(options, directory):
    """The newest checkpoint must restore: a process that has nothing left to train tests it."""
    if not os.path.exists(f"{directory}/model/checkpoint"):
        return ["no checkpoint was written"]
    command = [f"{options.bin}/mnist_replica", "--train_steps=1", f"--log_dir={directory}/model"]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
        env=dict(os.environ, TF_CONFIG="{}"),
    )
    if done.returncode or "Restored the checkpoint" not in done.stdout:
        return [f"the newest checkpoint does not restore: {done.stdout}"]
    return []


def accuracy_of(text):
    match = re.search(r"test accuracy: ([\d.]+)", text)
    return float(match[1]) if match else 0.0


def problems_of(cluster, code, faults, seconds_after):
    problems = []
    options = cluster.options
    if cluster.tasks():
        problems.append(f"processes are left: {cluster.tasks()}")
    if options.restarts or not faults:
        if code:
            problems.append(f"exit code {code}")
        elif accuracy_of(cluster.text()) < ACCURACY_MIN:
            problems.append(f"accuracy {accuracy_of(cluster.text())}")
        problems += check_checkpoint(options, cluster.directory)
    else:
        # A run that has failed and still trained to the end, as asynchronous ones do, takes its time. Any of
        # the workers may be the one that is left.
        is_late = seconds_after > options.grace + SLACK_SECONDS
        if code and is_late and not re.search(r"worker/\d+ +\| step \d+ after ", cluster.text()):
            problems.append(f"ended {seconds_after:.1f} s after the last fault")
        if code and not re.search(
            r"(/job:\w+/task:\d|(ps|worker)/[\d.]+ (was killed|ended))", cluster.text()
        ):
            problems.append("no error names a task")
    return problems


def run_seed(options, hosts, seed):
    """One run; returns (description, problems, text, seconds from kills to the next step)."""
    rng = random.Random(seed)
    directory = tempfile.mkdtemp(prefix="braid-chaos-")
    cluster = Cluster(options, hosts, rng, directory)
    faults, kills = [], []
    kinds = options.faults.split(",")
    try:
        if rng.random() < 0.8:
            cluster.wait_for(r"worker/0 \| .*first step", 60)
        last = time.monotonic()
        for _ in range(rng.randint(1, options.faults_max)):
            try:
                cluster.process.wait(rng.random() * 1.5)
                break
            except subprocess.TimeoutExpired:
                pass
            fault = hurt(cluster, rng, kinds)
            last = time.monotonic()
            if fault:
                faults.append(fault)
                if fault.startswith("kill "):
                    kills.append((fault[len("kill ") :], last))
        code = None
        try:
            code = cluster.process.wait(options.limit)
        except subprocess.TimeoutExpired:
            pass
        ended = time.monotonic()
        problems = []
        if code is None:
            problems.append(f"has not ended {options.limit} s after the last fault")
            cluster.process.send_signal(signal.SIGTERM)
            cluster.process.wait(30)
        cluster.reader.join()
        problems += problems_of(cluster, code, faults, ended - last) if code is not None else []
        mode = "sync" if cluster.is_sync else "async"
        what = f"seed {seed}: {mode}, {cluster.ps} ps, {cluster.workers} workers, {', '.join(faults) or 'no fault'}"
        pauses = [cluster.seconds_until_step(name, at) for name, at in kills]
        return f"{what}: {ended - last:.1f} s after it", problems, cluster.text(), [p for p in pauses if p]
    finally:
        for pid in cluster.tasks().values():
            os.kill(pid, signal.SIGKILL)
        cluster.process.kill()
        cluster.reader.join()
        shutil.rmtree(directory)


def run_seeds(options, hosts):
    failed, pauses = 0, []
    for seed in range(options.seed, options.seed + options.runs):
        what, problems, text, of_run = run_seed(options, hosts, seed)
        pauses += of_run
        print(f"{'FAILED' if problems else 'ok'}: {what}", flush=True)
        if problems:
            failed += 1
            print("\n".join(problems))
            print("\n".join("    " + line for line in text.splitlines()[-60:]))
            print(f"again: {' '.join(sys.argv)} --runs 1 --seed {seed}")
    if pauses:
        print(f"from a kill to the next step that needed the task: median {statistics.median(pauses):.2f} s")
    print(f"{options.runs - failed} of {options.runs} runs passed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bin", help="the directory of braid and mnist_replica")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first run")
    parser.add_argument("--restarts", type=int, default=20)
    parser.add_argument("--ps-replicas", type=int, default=1)
    parser.add_argument("--grace", type=float, default=60)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--faults", default="kill,stop", help="kinds, with commas: kill, stop, cut")
    parser.add_argument("--faults-max", type=int, default=3, help="in one run")
    parser.add_argument("--stop-max", type=float, default=30, help="the longest stop or cut in seconds")
    parser.add_argument(
        "--limit", type=float, default=150, help="seconds a run may take after its last fault"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # cleans up
    if "cut" not in options.faults.split(","):
        return run_seeds(options, None)
    with Hosts(HOSTS, MTU) as hosts:
        return run_seeds(options, hosts)


if __name__ == "__main__":
    sys.exit(main())
