# Programs recorded from TensorFlow's own front end, replayed on real servers: all roles of a program at once.
# timeout: 240
import json
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from google.protobuf import text_format

from client import TIMEOUT, InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, INT32, INT64, STRING, shape_of, value
from mnist import CLASSES, PIXELS, Mnist
from protos import config_pb2, graph_pb2, skip_all

SHARED = Path(__file__).resolve().parents[3] / "shared"
GOLDEN, MNIST = SHARED / "golden", SHARED / "mnist"

# Of each program its loss, to what part of its first value it is to fall at least (some train very slowly),
# and the variables that all roles share.
PROGRAMS = {
    "deep_mnist_cnn": ("Mean:0", 0.6, ["global_step:0"]),
    "downpour": ("Mean:0", 0.99995, ["g/Variable:0", "g/Variable_1:0", "global_step:0"]),
    "hogwild_supervisor": ("Mean:0", 0.6, ["Variable:0", "Variable_1:0"]),
    "local_then_global": ("Abs:0", 0.9991, ["g/a:0"]),
    "mnist_replica-async-1ps": ("Neg:0", 0.4, ["hid_w:0", "sm_b:0", "global_step:0"]),
}

# Ops that servers do not have yet. Checkpoints are left out of a replay; a program that needs one of the rest
# is skipped.
CHECKPOINT_OPS = {"SaveV2", "RestoreV2", "MergeV2Checkpoints", "ShardedFilename", "StringJoin"}
MISSING_OPS = {
    "AccumulatorApplyGradient", "AccumulatorSetGlobalStep", "AccumulatorTakeGradient", "AsString",
    "ConditionalAccumulator", "HistogramSummary", "MergeSummary", "ScalarSummary",
}


class Role:
    """One process of a program, as it was recorded."""

    def __init__(self, folder):
        self.folder = folder
        recorded = json.loads((folder / "runs.json").read_text())
        self.signatures, self.events = recorded["signatures"], recorded["events"]
        server = next((e for e in self.events if e["ev"] == "server_new"), None)
        self.server = server and (server["job"], server["task"])
        self.cluster = server and {job: len(tasks) for job, tasks in server["cluster"].items()}
        self.is_chief = self.server == ("worker", 0)

    def session(self, cluster):
        new = next(e for e in self.events if e["ev"] == "new_session")
        graph = graph_pb2.GraphDef.FromString((self.folder / "sess0_graph0.pb").read_bytes())
        config = text_format.Parse(new["config"], config_pb2.ConfigProto())
        return Session(cluster.master(*self.server), graph, config=config)

    def runs(self):
        """(thread, signature) of each run, repeated as recorded, without those of checkpoints."""
        done = []
        for e in self.events:
            if e["ev"] != "run":
                continue
            done.append([(e["thread"], self.signatures[e["sig"]])] * e["count"])
            if "period" in e:
                done.extend(done[-e["period"]:] * (e["loops"] - 1))
        return [run for runs in done for run in runs if not CHECKPOINT_OPS & run[1]["ops"].keys()]

    def missing_ops(self):
        return {op for _, signature in self.runs() for op in signature["ops"]} & MISSING_OPS


def roles_of(program):
    folders = sorted(path.parent for path in program.glob("**/runs.json"))
    return [role for role in map(Role, folders) if role.signatures]


def is_ready_check(signature):
    return "IsVariableInitialized" in signature["ops"]


def trains(signature):
    return any(op.startswith("Apply") for op in signature["ops"])


class Replay:
    """All roles of a program on a cluster. `losses`: the chief's on one batch, before it trains and after."""

    def __init__(self, test, cluster, loss):
        self.test, self.cluster, self.loss = test, cluster, loss
        self.is_ready = threading.Event()
        self.losses = []

    def play(self, role):
        try:
            session = role.session(self.cluster)
            if not role.is_chief:
                self.test.assertTrue(self.is_ready.wait(TIMEOUT), "the chief does not get ready")
            with ThreadPoolExecutor(1) as beside:
                self.play_runs(role, session, beside)
            if role.is_chief:
                self.measure(session)
            return session
        finally:
            self.is_ready.set()  # whatever happens, nobody waits for a chief that is gone

    def play_runs(self, role, session, beside):
        aside = []
        for number, (thread, signature) in enumerate(role.runs()):
            if thread != "main":
                aside.append(beside.submit(self.run, session, signature, number))
                continue
            if role.is_chief and trains(signature) and not self.losses:
                self.measure(session)
            self.run(session, signature, number)
            if is_ready_check(signature):
                self.is_ready.set()
        for future in aside:
            future.result()

    def run(self, session, signature, number):
        fetches = [fetch["name"] for fetch in signature["fetches"]]
        response = session.step(fetches, self.feeds(signature, number), signature["targets"])
        for fetch, got in zip(signature["fetches"], response.tensor, strict=True):
            self.check_fetch(fetch, got)
            if is_ready_check(signature):
                self.test.assertEqual(value(got.tensor), [], "uninitialized variables")

    def check_fetch(self, fetch, got):
        dtypes = {"float32": FLOAT, "int32": INT32, "int64": INT64, "string": STRING}
        self.test.assertEqual(got.name, fetch["name"])
        self.test.assertEqual(got.tensor.dtype, dtypes[fetch["dtype"].removesuffix("_ref")])
        shape = shape_of(got.tensor)
        self.test.assertEqual(len(shape), len(fetch["shape"]), fetch)
        self.test.assertTrue(all(known in (None, size) for known, size in zip(fetch["shape"], shape)), fetch)

    def feeds(self, signature, number):
        feeds = {}
        for feed in signature["feeds"]:
            if feed["shape"] == []:
                feeds[feed["name"]] = 0.5  # the probability to keep a value that may be dropped
                continue
            size, width = feed["shape"]
            images, labels = examples("train").batch(size, number)
            feeds[feed["name"]] = {PIXELS: images, CLASSES: labels}[width]
        return feeds

    def measure(self, session):
        feeds = {}
        if "mnist" in self.test.program.name:
            images, labels = examples("t10k").batch(1000, 0)
            feeds = {"Placeholder:0": images, "Placeholder_1:0": labels}
            if self.test.program.name == "deep_mnist_cnn":
                feeds["Placeholder_2:0"] = 1.0
        loss = session.run(self.loss, feeds)
        self.losses.append(loss if isinstance(loss, float) else sum(loss))


loaded = {}


def examples(part):
    if part not in loaded:
        loaded[part] = Mnist(MNIST, part, 2000)
    return loaded[part]


class GoldenTest(InteropTest):

    def replay(self, program):
        self.program = program
        roles = roles_of(program)
        missing = sorted(set().union(*[role.missing_ops() for role in roles]))
        if missing:
            raise unittest.SkipTest(f"{program.name} needs ops that are not there yet: {', '.join(missing)}")
        examples("train"), examples("t10k")  # before the threads
        loss, part, shared = PROGRAMS[program.name]
        with Cluster(**roles[0].cluster) as cluster:
            replay = Replay(self, cluster, loss)
            with ThreadPoolExecutor(len(roles)) as processes:
                sessions = list(processes.map(replay.play, roles))
            before, after = replay.losses
            print(f"loss {before:.4f} -> {after:.4f} ... ", end="", flush=True)
            self.assertLess(after, part * before)
            self.check_shared(shared, roles, sessions)
            for session in sessions:
                session.close()

    def check_shared(self, names, roles, sessions):
        values = [dict(zip(names, session.run(names))) for session in sessions]
        for other in values[1:]:
            self.assertEqual(other, values[0])
        steps = sum(1 for role in roles for _, signature in role.runs() if trains(signature))
        counted = values[0].get("global_step:0", steps)
        self.assertLessEqual(counted, steps)
        # Without locking, one of two that come at once may be lost.
        self.assertGreaterEqual(counted, 0.9 * steps)


def add_test(program):
    name = program.name.replace("-", "_")
    setattr(GoldenTest, f"test_{name}", lambda self: self.replay(program))


if not GOLDEN.is_dir() or not MNIST.is_dir():
    skip_all(f"no recorded programs or no MNIST in {SHARED}")
for path in sorted(GOLDEN.iterdir()):
    if path.is_dir():
        add_test(path)

if __name__ == "__main__":
    main()
