"""Random programs of TensorFlow 1 by Braid and by a real TensorFlow: in one process, and sessions of one on a
server of the other. And clusters of tasks of both.

    random_programs.py DIRECTORY_OF_THE_PROGRAMS [TESTS]

BRAID_PROGRAMS is the number of programs (200), BRAID_PROGRAMS_SEED the first seed.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import compare_programs
import programs

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from free_ports import free_addresses

FIRST = int(os.environ.get("BRAID_PROGRAMS_SEED", 0))
SEEDS = [str(FIRST + i) for i in range(int(os.environ.get("BRAID_PROGRAMS", 200)))]
LIMIT_S = 1800  # of all programs, on a loaded machine
GRACE_S = 4  # within which a task that is lost may come back
EMPTY = {"pieces": [], "kept": {}, "steps": []}
PACKAGE = None  # the directory of the package braid

_SERVER = """
import sys, tensorflow as tf
train = tf.train if hasattr(tf, "placeholder") else tf.compat.v1.train
target = train.Server.create_local_server().target
print(target if isinstance(target, str) else target.decode(), flush=True)
sys.stdin.read()
"""


def command(kind):
    """Of Python with Braid or with TensorFlow, and the environment."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    kept.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", BRAID_GRACE_SECONDS=str(GRACE_S))
    if kind == "TensorFlow":
        return [sys.executable], kept
    return ["/usr/bin/python3", "-m", "braid"], {**kept, "PYTHONPATH": str(PACKAGE)}


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.results = {}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def begin(self, kind, target):
        python, env = command(kind)
        path = f"{self.temporary.name}/{kind}{'-served' * bool(target)}"
        options = ["--target", target] if target else []
        with open(f"{path}.log", "w") as log:
            done = subprocess.Popen(
                [*python, HERE / "run_programs.py", path, *options, *SEEDS],
                env=env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.addCleanup(done.kill)
        return done, path

    def run_each(self, *what):
        """The results of (kind, target) in turn, which run side by side; of one process they are kept."""
        runs = [
            None if not target and kind in self.results else self.begin(kind, target) for kind, target in what
        ]
        found = []
        for run, (kind, target) in zip(runs, what):
            if run is None:
                found.append(dict(self.results[kind]))
                continue
            process, path = run
            process.wait(LIMIT_S)
            found.append(compare_programs.load(path))
            if not target:
                self.results[kind] = found[-1]
        return found

    def expect_the_same(self, ours, theirs):
        self.assertEqual(len(theirs), len(SEEDS))
        texts = compare_programs.report(ours, theirs)
        self.assertFalse(texts, "\n".join(texts[:20]))

    def serve(self, kind):
        python, env = command(kind)
        server = subprocess.Popen(
            [*python, "-c", _SERVER] if kind == "TensorFlow" else [*python, self.server_program()],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.addCleanup(server.wait)
        self.addCleanup(server.stdin.close)
        self.addCleanup(server.stdout.close)
        return server.stdout.readline().strip()

    def server_program(self):
        path = f"{self.temporary.name}/server.py"
        Path(path).write_text(_SERVER)
        return path

    def test_in_one_process(self):
        self.expect_the_same(*self.run_each(("Braid", None), ("TensorFlow", None)))

    def test_sessions_of_tensorflow_on_a_server_of_braid(self):
        target = self.serve("Braid")
        self.expect_the_same(*self.run_each(("Braid", None), ("TensorFlow", target)))

    def test_sessions_of_braid_on_a_server_of_tensorflow(self):
        target = self.serve("TensorFlow")
        ours, theirs = self.run_each(("Braid", target), ("TensorFlow", None))
        for seed in list(theirs):
            missing = ["tf.linalg.expm("]  # TensorFlow has removed the op MatrixExponential
            if theirs[seed]["version"].startswith("1."):  # 1.15 does not have DecodeImage
                missing.append("tf.image.decode_image(")
            if any(name in piece for piece in programs.program(seed) for name in missing):
                ours[seed] = theirs[seed] = EMPTY
        self.expect_the_same(ours, theirs)


class Clusters(unittest.TestCase):
    """Training by replicas.py on tasks of both: each ends, and what was learnt is good."""

    def train(self, kind, steps=300, **tasks):
        """tasks: worker_0="Braid" and so on. Returns what each task printed, when all but servers have ended."""
        cluster = {}
        for name, address in zip(tasks, free_addresses(len(tasks))):
            cluster.setdefault(name.split("_")[0], []).append(address)
        running = {}
        for name, of in tasks.items():
            job, number = name.split("_")
            python, env = command(of)
            running[name] = subprocess.Popen(
                [*python, HERE / "replicas.py", kind, job, number, json.dumps(cluster), str(steps)],
                env=env,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            self.addCleanup(running[name].kill)
        printed = {}
        for name, process in running.items():
            serves_for_ever = tasks[name] == "TensorFlow" and self.only_serves(kind, name)
            if serves_for_ever:
                continue
            printed[name], errors = process.communicate(timeout=240)
            self.assertEqual(process.returncode, 0, f"{name}: {errors[-2000:]}")
        for process in running.values():
            process.kill()
            process.communicate()
        return printed

    @staticmethod
    def only_serves(kind, name):
        return name.startswith("ps") or kind in ("within", "calls") and name != "worker_0"

    def expect_trained(self, printed, *names):
        for name in names:
            self.assertLess(float(printed[name].split()[-1]), 0.1, name)

    def test_a_worker_of_tensorflow_beside_one_of_braid_on_a_parameter_server_of_braid(self):
        for chief, other in [("TensorFlow", "Braid"), ("Braid", "TensorFlow")]:
            with self.subTest(chief=chief):
                printed = self.train("between", ps_0="Braid", worker_0=chief, worker_1=other)
                self.expect_trained(printed, "worker_0", "worker_1")

    def test_workers_of_braid_on_a_parameter_server_of_tensorflow(self):
        printed = self.train("between", ps_0="TensorFlow", worker_0="Braid", worker_1="Braid")
        self.expect_trained(printed, "worker_0", "worker_1")

    def test_a_master_of_tensorflow_computes_on_workers_of_braid(self):
        printed = self.train("within", ps_0="Braid", worker_0="TensorFlow", worker_1="Braid")
        self.expect_trained(printed, "worker_0")

    def test_a_master_of_braid_computes_on_a_worker_of_tensorflow(self):
        printed = self.train("within", ps_0="Braid", worker_0="Braid", worker_1="TensorFlow")
        self.expect_trained(printed, "worker_0")

    def test_tasks_call_functions_on_tasks_of_the_other(self):
        for caller, called in [("TensorFlow", "Braid"), ("Braid", "TensorFlow")]:
            with self.subTest(caller=caller):
                printed = self.train("calls", ps_0="Braid", worker_0=caller, worker_1=called)
                self.expect_trained(printed, "worker_0")


class Files(unittest.TestCase):
    """What files.py writes by one, the other reads as the first does."""

    def run_files(self, kind, what, directory, script="files.py"):
        python, env = command(kind)
        done = subprocess.run(
            [*python, HERE / script, what, directory],
            env=env,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        self.assertEqual(done.returncode, 0, f"{kind}, {what}: {done.stderr[-2000:]}")
        return json.loads(done.stdout.split("RESULT ")[1])

    def expect_the_same(self, a, b, where=""):
        self.assertIs(type(a), type(b), where)
        if isinstance(a, float):
            self.assertAlmostEqual(a, b, 5, where)
        elif isinstance(a, list):
            self.assertEqual(len(a), len(b), where)
            for i, (x, y) in enumerate(zip(a, b)):
                self.expect_the_same(x, y, f"{where}[{i}]")
        elif isinstance(a, dict):
            self.assertEqual(a.keys(), b.keys(), where)
            for key in a:
                self.expect_the_same(a[key], b[key], f"{where}.{key}")
        else:
            self.assertEqual(a, b, where)

    def test_each_reads_what_the_other_writes(self):
        for writer in ("Braid", "TensorFlow"):
            with self.subTest(writer=writer), tempfile.TemporaryDirectory() as directory:
                written = self.run_files(writer, "write", directory)
                found = {
                    reader: self.run_files(reader, "read", directory) for reader in ("Braid", "TensorFlow")
                }
                self.expect_the_same(found["Braid"], found["TensorFlow"])
                for name in ("v2", "v1", "sharded"):
                    self.expect_the_same(found["Braid"][name], written, name)
                self.expect_the_same(found["Braid"]["saved"]["made"], written[0], "saved")
                self.expect_the_same(found["Braid"]["frozen"], written[0], "frozen")

    def test_each_loads_models_of_keras_that_the_other_saved(self):
        for writer in ("Braid", "TensorFlow"):
            with self.subTest(writer=writer), tempfile.TemporaryDirectory() as directory:
                written = self.run_files(writer, "write", directory, "keras_models.py")
                for reader in ("Braid", "TensorFlow"):
                    read = self.run_files(reader, "read", directory, "keras_models.py")
                    self.expect_the_same(read, written, reader)


if __name__ == "__main__":
    PACKAGE = Path(sys.argv.pop(1)).resolve().parent / "python"
    unittest.main(verbosity=2)
