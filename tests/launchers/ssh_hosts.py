"""`braid run --hosts` on three hosts, network namespaces with a real sshd each: training, the launcher
killed, and a host cut off.

Called with the directory of the programs, as root.
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
LAUNCHER, A, B = 0, 1, 2  # hosts
TRAINING = ["mnist_replica", "--learning_rate=0.003"]


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
            [*namespaces.inside(f"{self.hosts.spaces}-{host}"), *sshd], stderr=subprocess.PIPE, text=True
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

    def space(self, host):
        return f"{self.hosts.spaces}-{host}"

    def start(self, layout, *program, options=()):
        """Starts braid run on the first host. `layout` is the tasks of each host in the order given."""
        by_host = ",".join(f"{namespaces.address(host)}:{tasks}" for host, tasks in layout.items())
        ssh = f"ssh -F {self.directory.name}/ssh_config"
        run = subprocess.Popen(
            [*namespaces.inside(self.space(LAUNCHER))]
            + [str(BIN / "braid"), "run", "--hosts", by_host, "--ssh", ssh, *options, *TRAINING, *program],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={key: value for key, value in os.environ.items() if key != "TF_CONFIG"},
        )
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        return run

    def read_until(self, run, text):
        for line in run.stdout:
            if text in line:
                return
        self.fail(f"braid run ended without '{text}'")

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
        run = self.start({LAUNCHER: 1, A: 2, B: 1}, "--insecure", "--train_steps=500", options=["--insecure"])
        output, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 0, output)
        self.assertRegex(output, r"worker/0 \| test accuracy: 0\.[6-9]|worker/0 \| test accuracy: 1")
        for task, host in (("ps/0", LAUNCHER), ("worker/0", A), ("worker/1", B), ("worker/2", A)):
            self.assertRegex(output, rf"{task} \| .*reaches {namespaces.address(host)}:")

    def test_hosts_with_certificates_train(self):
        keys = f"{self.directory.name}/keys"
        for words in (["new", keys], ["--role", "task", "add", keys, "task"]):
            subprocess.run([BIN / "braid", "keys", *words], check=True, capture_output=True)
        run = self.start({A: 2, B: 1}, "--train_steps=300", options=["--tls-dir", f"{keys}/task"])
        output, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 0, output)
        self.assertIn("worker/0 | test accuracy: 0.", output)
        self.assertNotIn("Insecure", output)

    def test_hosts_with_certificates_of_the_run_train(self):
        run = self.start({A: 2, B: 1}, "--train_steps=300")
        output, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 0, output)
        self.assertIn("worker/0 | test accuracy: 0.", output)
        self.assertNotIn("Insecure", output)

    def test_a_killed_launcher_leaves_no_process(self):
        run = self.start({A: 2, B: 2}, "--train_steps=10000000")
        self.read_until(run, "worker/1 | first step")
        processes = processes_of(self.space(A)) + processes_of(self.space(B))
        self.assertEqual(len(processes), 8, "an agent and a program for each task")
        run.send_signal(signal.SIGKILL)
        self.wait_for_end(processes)

    def test_a_host_that_is_cut_off_ends_the_run(self):
        run = self.start({A: 1, B: 2}, "--train_steps=10000000")
        self.read_until(run, "worker/1 | first step")
        there, here = processes_of(self.space(A)), processes_of(self.space(B))
        self.assertEqual((len(there), len(here)), (2, 4))
        self.hosts.cut(A)
        self.addCleanup(self.hosts.join, A)
        output, _ = run.communicate(timeout=LIMIT_S)
        self.assertEqual(run.returncode, 255, output)
        lost = f"ps/0 on host {namespaces.address(A)} is lost: nothing was heard from there for 20 s"
        self.assertIn(lost, output)
        self.assertIn("without ps/0 the training cannot go on", output)
        self.wait_for_end(there + here)  # on the host that is still cut off, too

    def test_a_host_without_sshd_is_named(self):
        self.sshd.processes[B].kill()
        self.sshd.processes[B].wait()
        run = self.start({B: 2}, "--insecure", "--train_steps=1")
        output, _ = run.communicate(timeout=LIMIT_S)
        self.sshd._start(B)
        self.assertEqual(run.returncode, 255, output)
        self.assertRegex(output, r"ps/0 \| ssh: connect to host .* Connection refused")
        self.assertIn(f"ps/0 on host {namespaces.address(B)} is lost: ssh could not start it", output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
