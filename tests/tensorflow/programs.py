"""Public distributed programs of TensorFlow 1, unmodified, on Braid.

    programs.py [--package DIR] [--braid FILE] [--sources DIR] [--results DIR] [--way WAY] [--long]
                [PATTERN...]

Each program of the table below runs in two ways: its roles as processes of their own, by the program's flags
or TF_CONFIG ("processes"), and all of them by `braid run` ("run"). A run is ok when every role has ended by
itself with exit code 0 within the limit, and what the program prints last lies in the range that its
algorithm reaches. One cluster runs at a time. PATTERN is a name of the table, with * for any characters.
Programs whose own pauses take more than a minute, and whose steps no flag lowers, run by --long alone.

The programs are in public repositories, not in this one: DIR of --sources has them in folders OWNER+NAME
(working trees, clones or bare mirrors). What is not there comes from github.com at the commit of the table.
A program that cannot be had is skipped. They read MNIST from BRAID_MNIST_DIR; without it, files of easy
patterns are made. The exit code is 1 when a run has failed.
"""

import argparse
import dataclasses
import fnmatch
import gzip
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from free_ports import free_ports

REPOSITORIES = {  # what is fetched of each
    "tensorflow/tensorflow": "refs/tags/v1.15.0",
    "tmulc18/Distributed-TensorFlow-Guide": "8e7fec757112a3ab5dccff93e848e7617ef7ed3e",
    "hn826/distributed-tensorflow": "6715352effdb39517fd3c3708c4dddf0ec566db8",
    "kubeflow/tf-operator": "47a74b738920edbf4207160cec7e1dff9cdab3f2",
    "GoogleCloudPlatform/cloudml-samples": "efddc4a9898127e55edc0946557aca4bfaf59705",
    "yanglei99/Distributed_TensorFlow_Exercise": "860b8425e708dba1e5c02beeafcfda8ea51d990f",
}
FETCH_LIMIT = 300  # seconds for a repository
GRACE = 10  # seconds that processes have to end when they are told to


@dataclasses.dataclass
class Program:
    """A program, its cluster, and what it has to print.

    In arguments, {data} is the directory of MNIST, {flowers} that of made tables like those of iris, and
    {dir} one that the roles of a run share; the words that `braid run` replaces stand for the task, as there.
    """

    name: str
    repository: str
    file: str  # the working directory is the one that has it
    arguments: str
    result: str  # a regular expression; its first group is the number
    reaches: tuple  # (least, most): where the last such number of each role that prints one lies
    by: str = "worker"  # the job whose output has it
    one: bool = False  # one role suffices: a late one finds few steps left, and prints what it began with
    ps: int = 1
    workers: int = 2
    chief: bool = False
    evaluator: bool = False
    ports: tuple = ()  # those that the program itself names
    module: str = ""  # runs with -m in place of the file, from the directory above the module's package
    seconds: int = 120
    long: bool = False
    not_run: str = ""  # why it cannot run: what it needs, or what Braid does not have


NUMBER = r"([-+]?[\d.]+(?:e[-+]?\d+)?|nan)"
FLAGS = "--ps_hosts={ps_hosts} --worker_hosts={worker_hosts} --job_name={job_name} --task_index={task_index}"
TASK = "--job_name={job_name} --task_index={task_index}"
SAMPLES = "GoogleCloudPlatform/cloudml-samples"
GUIDE = "tmulc18/Distributed-TensorFlow-Guide"
REPLICA = "tensorflow/tools/dist_test/python/mnist_replica.py"
REPLICA_FLAGS = f"{FLAGS} --data_dir={{data}} --num_gpus=0 --train_steps=500"
# The sum over 5000 images for validation. A network that has learned nothing has 5000 ln 10 = 11513.
REPLICA_RESULT = f"validation cross entropy = {NUMBER}"
PAIR = rf"^\[ *{NUMBER} +\S+ *\]"  # the two numbers that approach 100 in the guide's programs


def replica(name, flags="", ps=1):
    return Program(
        f"mnist_replica/{name}",
        "tensorflow/tensorflow",
        REPLICA,
        f"{REPLICA_FLAGS} {flags}",
        REPLICA_RESULT,
        (0, 3500),
        ps=ps,
    )


def guide(file, reaches, workers=2, result=PAIR, **more):
    """A program of the guide: its hosts are in its text, its steps and pauses too."""
    ports = tuple(range(2222, 2223 + workers))
    name = "guide/" + file.removesuffix(".py")
    return Program(name, GUIDE, file, TASK, result, reaches, workers=workers, ports=ports, **more)


PROGRAMS = (
    replica("async"),
    replica("async-2ps", ps=2),
    replica("sync", "--sync_replicas"),
    replica("sync-2ps", "--sync_replicas", ps=2),
    # A step of gradient descent moves each number by 2 * 0.0001 of its distance from 100. Workers print what
    # they read before or after the tenth step.
    guide("Synchronous-SGD/ssgd.py", (0.15, 0.21)),
    # The mean of any two gradients: 0.36 after nine steps with worker 1's rate alone, which has 40 s before
    # the chief begins, 99.4 after ten with the chief's.
    guide("Synchronous-SGD-different-learning-rates/ssgd.py", (0.35, 99.5), seconds=180, long=True),
    # Adam moves each of the two variables of a number by 0.0001 a step, Adagrad by 0.0001 / sqrt(step). What
    # is printed is a worker's own copy, which is up to a window of local steps ahead.
    guide("AGN/AGN.py", (0.006, 0.02), seconds=180, long=True),
    guide("DOWNPOUR/DOWNPOUR.py", (0.002, 0.004), seconds=180, long=True),
    guide("DOWNPOUR-Easy/DOWNPOUR.py", (0.002, 0.07), seconds=180, long=True),
    guide("SAGN/SAGN.py", (0.0015, 0.004), seconds=240, long=True),
    # 991 steps of one worker before its last line: 100 * (1 - 0.9998 ** 991) = 18, and what is left of the
    # initial values, of which each is between -2 and 2.
    guide("Distributed-Setup/dist_setup.py", (14.6, 21.4), workers=1, seconds=240, long=True),
    guide("Distributed-Setup/dist_setup_sup.py", (14.6, 21.4), workers=1),
    guide("Hogwild/Hogwild.py", (14.6, 36.1), seconds=240, long=True),
    Program(
        "guide/Non-Distributed_Setup",
        GUIDE,
        "Non-Distributed_Setup.py",
        "",
        PAIR,
        (14.6, 21.4),
        ps=0,
        workers=1,
        seconds=240,
        long=True,
    ),
    guide(
        "Multiple-GPUs-Single-Machine/dist_mult_gpu_sing_mach.py",
        (14.6, 36.1),
        not_run="needs two GPUs, and Python 3 refuses its mixture of tabs and spaces",
    ),
    *(
        Program(
            f"hn826/{name}",
            "hn826/distributed-tensorflow",
            f"{name}.py",
            f"{FLAGS} --data_dir={{data}} --log_dir={{dir}}/log",
            f"training accuracy {NUMBER}",
            (0.7, 1),  # of a batch of 50
            one=True,
            seconds=300,
        )
        for name in ("distributed-deep-mnist", "distributed-deep-mnist-with-queue")
    ),
    # The parameter server reads from a queue which workers have ended, and ends by itself.
    Program(
        "yanglei99/dist_mnist",
        "yanglei99/Distributed_TensorFlow_Exercise",
        "tensorflow_mesos/jobs/dist_mnist.py",
        f"{FLAGS} --data_dir={{data}} --log_dir={{dir}}/log --max_step=300",
        f"Test-Accuracy: {NUMBER}",
        (0.7, 1),
    ),
    Program(
        "kubeflow/dist_mnist",
        "kubeflow/tf-operator",
        "examples/v1/dist-mnist/dist_mnist.py",
        "--data_dir={data} --num_gpus=0 --train_steps=500",
        REPLICA_RESULT,
        (0, 3500),
    ),
    # Random labels: nothing can be learned, and the loss stays at ln 2.
    Program(
        "kubeflow/keras_model_to_estimator",
        "kubeflow/tf-operator",
        "examples/v1/distribution_strategy/estimator-API/keras_model_to_estimator.py",
        "{dir}/model",
        f"loss = {NUMBER}",
        (0.5, 0.8),
        ps=0,
    ),
    # Long for another reason: its graph has the images as a constant, which graph.pbtxt writes as text.
    Program(
        "cloudml/mnist",
        SAMPLES,
        "tensorflow/standard/mnist/trainer/task.py",
        "--job-dir={dir}/model --num-epochs=1 --batch-size=64"
        " --train-file={data}/train-images-idx3-ubyte.gz --train-labels-file={data}/train-labels-idx1-ubyte.gz"
        " --test-file={data}/t10k-images-idx3-ubyte.gz --test-labels-file={data}/t10k-labels-idx1-ubyte.gz",
        f"acc = {NUMBER}",
        (0.8, 1),
        by="evaluator",
        chief=True,
        workers=1,
        evaluator=True,
        module="trainer.task",
        seconds=480,
        long=True,
    ),
    Program(
        "cloudml/iris",
        SAMPLES,
        "tensorflow/standard/iris/trainer/task.py",
        "--train-files={flowers}/train.csv --eval-files={flowers}/test.csv --job-dir={dir}/model"
        " --train-steps=2000 --eval-steps=4",
        f"accuracy = {NUMBER}",
        (0.9, 1),
        by="evaluator",
        chief=True,
        workers=1,
        evaluator=True,
        module="trainer.task",
        seconds=240,
    ),
)


# ---- Sources and data ----


class NotThere(Exception):
    """A program or a resource that a run needs cannot be had; the message says why."""


class Sources:
    """Trees of the repositories: in the folder that the user names, else from github.com."""

    def __init__(self, folder, scratch):
        self._folder = folder and pathlib.Path(folder).resolve()
        self._scratch = scratch
        self._fetched = {}  # (repository, part): a directory, or why there is none

    def copy(self, program, to):
        """Copies the directory that a run of a program works in. NotThere: it cannot be had."""
        file = pathlib.PurePosixPath(program.file)
        part = file.parent.parent if program.module else file.parent
        own = self._folder and self._folder / program.repository.replace("/", "+")
        if own and (own / file).is_file():
            source = own / part
        else:
            remote = str(own) if own and own.is_dir() else f"https://github.com/{program.repository}"
            source = self._fetch(program.repository, remote, str(part)) / part
        # Without what earlier runs in a working tree have left, which a program would go on from.
        only = shutil.ignore_patterns(".git", "__pycache__", "logdir")
        if part == pathlib.PurePosixPath("."):
            only = lambda _, names: [n for n in names if not n.endswith(".py")]  # noqa: E731
        shutil.copytree(source, to, ignore=only)

    def _fetch(self, repository, remote, part):
        key = repository, part
        if key not in self._fetched:
            tree = self._scratch / f"tree-{len(self._fetched)}"
            git = ["git", "-C", str(tree)]
            steps = [
                ["git", "init", "-q", str(tree)],
                [*git, "fetch", "-q", "--depth=1", "--filter=blob:none", remote, REPOSITORIES[repository]],
                [*git, "remote", "add", "origin", remote],
                [*git, "config", "remote.origin.promisor", "true"],
                [*git, "checkout", "-q", "FETCH_HEAD", "--", part],
            ]
            env = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
            self._fetched[key] = tree
            for step in steps:
                try:
                    done = subprocess.run(step, env=env, capture_output=True, text=True, timeout=FETCH_LIMIT)
                except subprocess.TimeoutExpired:
                    self._fetched[key] = f"git took more than {FETCH_LIMIT} s"
                    break
                if done.returncode:
                    lines = done.stderr.splitlines()
                    self._fetched[key] = next((x for x in lines if x.startswith("fatal:")), done.stderr)
                    break
        if isinstance(self._fetched[key], str):
            raise NotThere(f"{repository}: {self._fetched[key]}")
        return self._fetched[key]


def make_digits(folder):
    """Files of MNIST's format with ten patterns, each under noise."""
    random = np.random.RandomState(1)
    patterns = random.randint(0, 2, (10, 7, 7)).repeat(4, axis=1).repeat(4, axis=2) * 180
    for name, count in (("train", 20000), ("t10k", 2000)):
        labels = random.randint(0, 10, count)
        images = patterns[labels] + random.randint(0, 76, (count, 28, 28))
        with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb", 1) as f:
            f.write(struct.pack(">4i", 2051, count, 28, 28) + images.astype(np.uint8).tobytes())
        with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb", 1) as f:
            f.write(struct.pack(">2i", 2049, count) + labels.astype(np.uint8).tobytes())


def make_flowers(folder):
    """Tables of four measures and one of three kinds, behind a header, as those of the iris data set."""
    random = np.random.RandomState(2)
    middles = np.array([[5.0, 3.4, 1.5, 0.2], [5.9, 2.8, 4.3, 1.3], [6.6, 3.0, 5.6, 2.0]])
    for name, count in (("train", 120), ("test", 128)):
        kinds = random.randint(0, 3, count)
        rows = np.abs(middles[kinds] + random.normal(0, 0.15, (count, 4)))
        lines = [",".join([f"{x:.1f}" for x in row] + [str(kind)]) for row, kind in zip(rows, kinds)]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c,d,kind", *lines, ""]))


# ---- Runs ----


def check_ports(ports):
    for port in ports:
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                raise NotThere(f"port {port}, which the program names, is in use") from None


def replace(text, values):
    for name, value in values.items():
        text = text.replace("{" + name + "}", str(value))
    return text


def tasks(program):
    """The tasks of a program's cluster, each with what it gets for its flags and TF_CONFIG."""
    jobs = {"chief": int(program.chief), "ps": program.ps, "worker": program.workers}
    ports = iter(free_ports(sum(jobs.values())))
    cluster = {job: [f"localhost:{next(ports)}" for _ in range(n)] for job, n in jobs.items() if n}
    all_tasks = [(job, i) for job, hosts in cluster.items() for i in range(len(hosts))]
    if program.evaluator:
        all_tasks.append(("evaluator", 0))
    for job, index in all_tasks:
        values = {
            "job_name": job,
            "task_index": index,
            "ps_hosts": ",".join(cluster.get("ps", ())),
            "worker_hosts": ",".join(cluster.get("worker", ())),
        }
        yield f"{job}/{index}", values, json.dumps(
            {"cluster": cluster, "task": {"type": job, "index": index}}
        )


def run_all(commands, directory, seconds):
    """Runs commands, (name, words, environment) each, and gives what was wrong, or None.

    Each is the leader of a group of processes and writes into NAME.log. When one fails, or the time is up,
    the groups of all are ended.
    """
    ended, processes = queue.Queue(), {}
    deadline, wrong = time.monotonic() + seconds, None
    try:
        for name, words, env in commands:
            with open(directory / (name.replace("/", "-") + ".log"), "wb") as log:
                processes[name] = subprocess.Popen(
                    words,
                    cwd=directory / "tree",
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        for name, process in processes.items():
            threading.Thread(target=lambda n=name, p=process: ended.put((n, p.wait())), daemon=True).start()
        left = set(processes)
        while left and not wrong:
            try:
                name, code = ended.get(timeout=max(0, deadline - time.monotonic()))
            except queue.Empty:
                return f"{', '.join(sorted(left))} did not end within {seconds} s"
            left.discard(name)
            if code:
                wrong = f"{name} ended with exit code {code}"
        return wrong
    finally:
        stop(processes.values())


def stop(processes):
    """Ends groups of processes: by SIGTERM, by which `braid run` ends those of its tasks, then by SIGKILL."""
    deadline = time.monotonic() + GRACE
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in processes:
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass  # all of the group have ended
        for process in processes:
            try:
                process.wait(max(0, deadline - time.monotonic()) if number == signal.SIGTERM else None)
            except subprocess.TimeoutExpired:
                pass


def outputs_of(directory):
    """The lines of each task: of a log of its own, or behind its name in that of `braid run`."""
    outputs = {}
    for log in sorted(directory.glob("*.log")):
        own = log.stem.replace("-", "/")
        for line in log.read_text(errors="replace").splitlines():
            task, bar, text = line.partition(" | ")
            if log.stem == "run":
                outputs.setdefault(task if bar else own, []).append(text if bar else line)
            else:
                outputs.setdefault(own, []).append(line)
    return outputs


def judge(program, outputs):
    """What the program reached, as a text, and what is wrong with it, or None."""
    reached = {}
    for task, lines in outputs.items():
        if not task.startswith(program.by + "/"):
            continue
        for line in lines:
            match = re.search(program.result, line)
            if match:
                reached[task] = float(match[1])
    least, most = program.reaches
    text = ", ".join(f"{task} {value:g}" for task, value in reached.items())
    if not reached:
        return text, f"no {program.by} printed a line like {program.result}"
    within = [least <= value <= most for value in reached.values()]
    if not (any(within) if program.one else all(within)):
        return text, f"reached {text}, not {least:g} to {most:g}"
    return text, None


def run(program, way, args, sources, data, directory):
    """Runs a program, and gives what it reached, what is wrong, or None, and the lines of each task."""
    check_ports(program.ports)
    directory.mkdir(parents=True)
    sources.copy(program, directory / "tree")
    path = os.pathsep.join(filter(None, [args.package, os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "BRAID_MNIST_DIR": str(data["data"])}
    env.update(BRAID_PYTHON=sys.executable)
    env.pop("TF_CONFIG", None)
    what = ["-m", program.module] if program.module else [pathlib.PurePosixPath(program.file).name]
    words = [sys.executable, "-m", "braid", *what]
    words += replace(program.arguments, {**data, "dir": directory}).split()
    if way == "run":
        cluster = ["--ps", str(program.ps), "--workers", str(program.workers)]
        cluster += ["--chief"] * program.chief + ["--evaluator"] * program.evaluator
        commands = [("run", [args.braid, "run", *cluster, *words], env)]
    else:
        commands = [
            (name, [replace(word, values) for word in words], {**env, "TF_CONFIG": config})
            for name, values, config in tasks(program)
        ]
    wrong = run_all(commands, directory, program.seconds)
    outputs = outputs_of(directory)
    text, off_range = judge(program, outputs)
    return text, wrong or off_range, outputs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--package", help="directory of the package, as build/release/python")
    parser.add_argument("--braid", default="braid", help="the command, as build/release/bin/braid")
    parser.add_argument("--sources", help="folder of repositories, OWNER+NAME each")
    parser.add_argument("--results", help="directory for the output of each run")
    parser.add_argument("--way", choices=("processes", "run"), help="one of the two ways alone")
    parser.add_argument("--long", action="store_true", help="runs also those with pauses of minutes")
    parser.add_argument("patterns", nargs="*")
    args = parser.parse_args()
    args.package = args.package and os.path.abspath(args.package)
    args.braid = os.path.abspath(args.braid) if os.sep in args.braid else args.braid
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the roles, too
    chosen = [p for p in PROGRAMS if any(fnmatch.fnmatch(p.name, x) for x in args.patterns or ["*"])]
    if not chosen:
        sys.exit(f"no program has a name like {', '.join(args.patterns)}")
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        sources = Sources(args.sources, scratch)
        digits, flowers = os.environ.get("BRAID_MNIST_DIR"), scratch / "flowers"
        flowers.mkdir()
        make_flowers(flowers)
        if not digits:
            digits = scratch / "digits"
            digits.mkdir()
            make_digits(digits)
        data = {"data": pathlib.Path(digits).resolve(), "flowers": flowers}
        for program in chosen:
            for way in [args.way] if args.way else ["processes", "run"]:
                directory = scratch / "runs" / f"{program.name}-{way}".replace("/", "_")
                counts[report(program, way, args, sources, data, directory)] += 1
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    sys.exit(counts["failed"] > 0)


def report(program, way, args, sources, data, directory):
    """Runs a program, prints a line of what became of it, and gives the word to count it by."""
    label, begin = f"{program.name} ({way})", time.monotonic()
    try:
        if program.not_run:
            raise NotThere(program.not_run)
        if program.long and not args.long:
            raise NotThere("takes minutes; --long runs it")
        text, wrong, outputs = run(program, way, args, sources, data, directory)
    except NotThere as e:
        print(f"{label}: skipped: {e}", flush=True)
        return "skipped"
    if args.results:
        kept = pathlib.Path(args.results) / directory.name
        kept.mkdir(parents=True, exist_ok=True)
        for log in directory.glob("*.log"):
            shutil.copy(log, kept)
    shutil.rmtree(directory)
    if not wrong:
        print(f"{label}: ok: {text}, {time.monotonic() - begin:.0f} s", flush=True)
        return "passed"
    print(f"{label}: FAILED: {wrong}")
    for task, lines in outputs.items():
        print(*(f"    {task} | {line}" for line in lines[-5:]), sep="\n", flush=True)
    return "failed"


if __name__ == "__main__":
    main()
