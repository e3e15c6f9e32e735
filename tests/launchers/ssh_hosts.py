"""`braid run --hosts` on three hosts, network namespaces with a real sshd each, near and far from each other:
training, the launcher killed, and a host cut off for a while or for good.

Called with the directory of the programs, as root. Trains on the digits of BRAID_MNIST_DIR, where it is set.
"""

import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "mnist"))
import hosts as namespaces  # noqa: E402

BIN = pathlib.Path(sys.argv[1]).absolute()
LIMIT_S = 100
OUTAGE_S = 3  # shorter than the 8 s after which a task takes another one for lost
SILENCE = "nothing was heard from there for 20 s"
# Of ten digits, after few steps of stale gradients.
GOOD_ACCURACY = r"worker/0 \| test accuracy: (0\.[4-9]|1)"
LAUNCHER, A, B = 0, 1, 2  # hosts
PYTHON = {"BRAID_PYTHON": "/usr/bin/python3", "PYTHONPATH": str(BIN.parent / "python")}
# Its graph reads a file on the worker and writes one on the parameter server.
COPY_FILE = """
import json, os, sys, tensorflow as tf
read, written = sys.argv[1:]
config = json.loads(os.environ["TF_CONFIG"])
job = config["task"]["type"]
server = tf.train.Server(config["cluster"], job, 0)
if job == "ps":
    server.join()
with tf.device("/job:worker"):
    content = tf.read_file(read)
with tf.device("/job:ps"), tf.Session(server.target) as session:
    session.run(tf.write_file(written, content))
"""
TRAINING = ["mnist_replica", f"--data_dir={os.environ.get('BRAID_MNIST_DIR', '')}", "--learning_rate=0.01"]
FEW_WEIGHTS = "--hidden_units=20"  # with more, a network that loses packets decides how long a step takes
FAR = {"delay_ms": 20, "jitter_ms": 5, "loss": 0.01}  # each way


class Sshd:
    """An sshd on each host, with keys of its own."""

    def __init__(self, hosts, directory):
        self.hosts, self.directory, self.processes = hosts, pathlib.Path(directory), []
        for key in ("host_key", "user_key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.directory / key], check=True
            )
        self._write(
            "sshd_config",
            f"HostKey {directory}/host_key",
            f"AuthorizedKeysFile {directory}/user_key.pub",
            "PidFile none",
            "StrictModes no",
            "UsePAM no",
            "PermitRootLogin prohibit-password",
        )
        self._write(
            "ssh_config",
            "Host *",
            f"IdentityFile {directory}/user_key",
            "StrictHostKeyChecking no",
            f"UserKnownHostsFile {directory}/known_hosts",
            "LogLevel ERROR",
            "BatchMode yes",
        )
        os.makedirs("/run/sshd", exist_ok=True)
        for host in range(hosts.count):
            self._start(host)

    def _write(self, name, *lines):
        (self.directory / name).write_text("\n".join(lines) + "\n")

    def _start(self, host):
        sshd = ["/usr/sbin/sshd", "-D", "-e", "-f", str(self.directory / "sshd_config")]
        process = subprocess.Popen(
            [*namespaces.inside(self.hosts.space(host)), *sshd], stderr=subprocess.PIPE, text=True
        )
        self.processes.append(process)
        for line in process.stderr:
            if line.startswith("Server listening"):
                break

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stderr.close()


def processes_of(host_space):
    """Pid files of the programs of this test that run in a namespace."""
    pids = subprocess.run(["ip", "netns", "pids", host_space], capture_output=True, text=True, check=True)
    found = []
    for pid in map(int, pids.stdout.split()):
        try:
            if os.readlink(f"/proc/{pid}/exe").startswith(f"{BIN}/"):
                found.append(os.pidfd_open(pid))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


class SshTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.hosts = namespaces.Hosts(3)
        cls.hosts.__enter__()
        cls.addClassCleanup(cls.hosts.__exit__)
        cls.sshd = Sshd(cls.hosts, cls.directory.name)
        cls.addClassCleanup(cls.sshd.close)

    def tearDown(self):
        self.hosts.shape()

    def start_training(self, layout, *flags, options=()):
        return self.start(layout, *TRAINING, *flags, options=options)

    def start(self, layout, *program, options=(), variables=None):
        """Starts braid run on the first host. `layout` is the tasks of each host in the order given."""
        by_host = ",".join(f"{namespaces.address(host)}:{tasks}" for host, tasks in layout.items())
        ssh = f"ssh -F {self.directory.name}/ssh_config"
        run = subprocess.Popen(
            [*namespaces.inside(self.hosts.space(LAUNCHER))]
            + [str(BIN / "braid"), "run", "--hosts", by_host, "--ssh", ssh, *options, *program],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={key: value for key, value in os.environ.items() if key != "TF_CONFIG"} | (variables or {}),
        )
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def cut(self, host):
        self.hosts.cut(host)
        self.addCleanup(self.hosts.join, host)

    def read_until(self, run, *texts):
        """Reads lines of the run until each of the texts was in one."""
        left = set(texts)
        for line in run.stdout:
            left = {text for text in left if text not in line}
            if not left:
                return
        self.fail(f"braid run ended without {sorted(left)}")

    def wait_for_end(self, processes):
        """Waits until the processes have ended."""
        poll = select.poll()
        for process in processes:
            poll.register(process, select.POLLIN)
        left = set(processes)
        while left:
            events = poll.poll(LIMIT_S * 1000)
            self.assertTrue(events, f"{len(left)} processes are left")
            for process, _ in events:
                poll.unregister(process)
                os.close(process)
                left.discard(process)

    def test_three_hosts_train(self):
        run = self.start_training(
            {LAUNCHER: 1, A: 2, B: 1}, "--insecure", "--train_steps=100", options=["--insecure"]
        )
        output, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 0, output)
        self.assertRegex(output, GOOD_ACCURACY)
        for task, host in (("ps/0", LAUNCHER), ("worker/0", A), ("worker/1", B), ("worker/2", A)):
            self.assertRegex(output, rf"{task} \| .*reaches {namespaces.address(host)}:")

    def test_hosts_with_certificates_train(self):
        keys = f"{self.directory.name}/keys"
        for words in (["new", keys], ["--role", "task", "add", keys, "task"]):
            subprocess.run([BIN / "braid", "keys", *words], check=True, capture_output=True)
        run = self.start_training({A: 2, B: 1}, "--train_steps=100", options=["--tls-dir", f"{keys}/task"])
        output, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 0, output)
        self.assertIn("worker/0 | test accuracy: 0.", output)
        self.assertNotIn("Insecure", output)

    def test_hosts_with_certificates_of_the_run_train(self):
        run = self.start_training({A: 2, B: 1}, "--train_steps=100")
        output, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 0, output)
        self.assertIn("worker/0 | test accuracy: 0.", output)
        self.assertNotIn("Insecure", output)

    def test_a_python_program_uses_files_of_all_directories_with_certificates_of_the_run(self):
        with tempfile.TemporaryDirectory() as elsewhere:
            program, read, written = (
                pathlib.Path(elsewhere, name) for name in ("copy.py", "read", "written")
            )
            program.write_text(COPY_FILE)
            read.write_text("a line\n")
            run = self.start(
                {A: 1, B: 1}, program, read, written, options=["--workers", "1"], variables=PYTHON
            )
            output, _ = run.communicate(timeout=LIMIT_S)
            self.assertEqual(run.returncode, 0, output)
            self.assertNotIn("Insecure", output)
            self.assertEqual(written.read_text(), "a line\n")

    def test_a_killed_launcher_leaves_no_process(self):
        run = self.start_training({A: 2, B: 2}, "--train_steps=10000000")
        self.read_until(run, *[f"worker/{i} | first step" for i in range(3)])
        processes = processes_of(self.hosts.space(A)) + processes_of(self.hosts.space(B))
        self.assertEqual(len(processes), 8, "an agent and a program for each task")
        run.send_signal(signal.SIGKILL)
        self.wait_for_end(processes)

    def test_hosts_far_apart_train(self):
        self.hosts.shape(**FAR)
        for run in [
            self.start_training({LAUNCHER: 1, A: 1, B: 1}, FEW_WEIGHTS, *mode)
            for mode in (["--train_steps=80"], ["--train_steps=40", "--sync_replicas"])
        ]:
            with self.subTest(run.args):
                output, _ = run.communicate(timeout=LIMIT_S)
                self.assertEqual(run.returncode, 0, output)
                self.assertRegex(output, GOOD_ACCURACY)
                self.assertNotIn("Lost ", output)

    def test_training_goes_on_after_a_short_outage(self):
        self.hosts.shape(**FAR)
        run = self.start_training({A: 1, B: 1, LAUNCHER: 1}, "--train_steps=80", FEW_WEIGHTS)
        self.read_until(run, "worker/0 | step ")
        self.cut(B)
        with self.assertRaises(subprocess.TimeoutExpired):
            run.wait(OUTAGE_S)
        self.hosts.join(B)
        output, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 0, output)
        self.assertRegex(output, GOOD_ACCURACY)

    def test_a_host_that_is_cut_off(self):
        """Four runs at once, because each waits for 20 s until the host is lost."""
        self.hosts.shape(**FAR)
        endless, steps = ["--train_steps=10000000"], ["--train_steps=120", FEW_WEIGHTS]
        model = [f"--log_dir={self.directory.name}/model", "--save_checkpoint_secs=1"]
        runs = {}
        for name, layout, options, program in (
            ("ps", {B: 1, A: 2}, [], endless),
            ("killed", {A: 1, B: 2}, [], endless),
            ("restarts", {B: 1, A: 2}, ["--restarts", "5"], [*steps, *model]),
            ("worker", {LAUNCHER: 1, A: 1, B: 1}, ["--grace", "15"], steps),
        ):
            runs[name] = self.start_training(layout, *program, options=options)
        for run in runs.values():
            self.read_until(run, "worker/1 | first step")
        there = processes_of(self.hosts.space(B))
        self.assertEqual(len(there), 2 * (1 + 2 + 1 + 1), "an agent and a program for each task")
        self.cut(B)
        runs["killed"].kill()
        with self.subTest("without a worker the others go on, and its host is named"):
            output, _ = runs["worker"].communicate(timeout=LIMIT_S)
            self.assertNotEqual(runs["worker"].returncode, 0, output)
            self.assertRegex(output, GOOD_ACCURACY)
            self.assertIn(f"worker/1 on host {namespaces.address(B)} is lost: {SILENCE}", output)
            self.assertIn(f"/job:worker/task:1 at {namespaces.address(B)}", output)
        with self.subTest("without the parameter server the training ends, and its host is named"):
            output, _ = runs["ps"].communicate(timeout=LIMIT_S)
            self.assertEqual(runs["ps"].returncode, 255, output)
            self.assertIn(f"ps/0 on host {namespaces.address(B)} is lost: {SILENCE}", output)
            self.assertIn("without ps/0 the training cannot go on", output)
        self.wait_for_end(there)  # before the host is back
        self.hosts.join(B)
        with self.subTest("a run with restarts goes on when the host is back"):
            output, _ = runs["restarts"].communicate(timeout=LIMIT_S)
            self.assertEqual(runs["restarts"].returncode, 0, output)
            self.assertRegex(output, "Restored the checkpoint")
            self.assertRegex(output, GOOD_ACCURACY)
        for host in (LAUNCHER, A, B):
            self.wait_for_end(processes_of(self.hosts.space(host)))

    def test_a_host_without_sshd_is_named(self):
        self.sshd.processes[B].kill()
        self.sshd.processes[B].wait()
        run = self.start_training({B: 2}, "--insecure", "--train_steps=1")
        output, _ = run.communicate(timeout=LIMIT_S)
        self.sshd._start(B)
        self.assertEqual(run.returncode, 255, output)
        self.assertRegex(output, r"ps/0 \| ssh: connect to host .* Connection refused")
        self.assertIn(f"ps/0 on host {namespaces.address(B)} is lost: ssh could not start it", output)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)
