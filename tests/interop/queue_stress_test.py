# Queues under steps that come, wait, are cancelled, time out and lose their session, in random order: every
# step ends, and every element is taken at most once.
#
# BRAID_ROUNDS=N in the environment: so many rounds. A round that fails names its seed: BRAID_SEED=S begins
# there.
# labels: concurrent
# timeout: 180
import os
import random
from concurrent.futures import ThreadPoolExecutor

from client import InteropTest, Session, master_service
from cluster import Cluster, main
from graphs import INT32, Shape, const, node, placeholder, value
from protos import grpc

ROUNDS, SEED = int(os.environ.get("BRAID_ROUNDS", "30")), int(os.environ.get("BRAID_SEED", "1"))
PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
STEPS = 40
# How a step may end when it is cancelled, late, or when its queue or session is closed.
ENDS = {"CANCELLED", "OUT_OF_RANGE", "DEADLINE_EXCEEDED", "ABORTED"}


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


def queue(name):
    types = {"component_types": [INT32]}
    return [
        node("q", "FIFOQueueV2", device=PS, shapes=[Shape([])], capacity=4, shared_name=name, **types),
        placeholder("x", INT32, [], WORKER),
        const("two", 2, device=WORKER),
        node("put", "QueueEnqueueV2", "q", "x", device=PS, Tcomponents=[INT32]),
        node("take", "QueueDequeueV2", "q", device=PS, **types),
        node("take_two", "QueueDequeueManyV2", "q", "two", device=PS, **types),
        node("take_up_to_two", "QueueDequeueUpToV2", "q", "two", device=PS, **types),
        node("taken", "Identity", "take", device=WORKER, T=INT32),
        node("close", "QueueCloseV2", "q", device=PS),
        node("cancel", "QueueCloseV2", "q", device=PS, cancel_pending_enqueues=True),
    ]


class Round:
    def __init__(self, test, seed):
        self.test, self.rng, self.name = test, random.Random(seed), f"queue-{seed}"
        self.masters = [master_service(cluster.address(job)) for job in ("ps", "worker", "worker")]
        self.sessions = [Session(master, *queue(self.name)) for master in self.masters]
        self.steps, self.put, self.taken = [], 0, []

    def start(self):
        """A step of a random kind on a random session, which may be cancelled or time out soon."""
        fields = self.rng.choice([{}, {}, {}, {"timeout": 0.05}, {"options": {"timeout_in_ms": 30}}])
        session = self.rng.choice(self.sessions)
        kind = self.rng.choice(["put", "put", "taken:0", "take:0", "take_two:0", "take_up_to_two:0"])
        if kind == "put":
            self.put += 1
            step = session.start(targets=["put"], feeds={"x:0": self.put}, **fields)
        else:
            step = session.start([kind], **fields)
        self.steps.append(step)
        if self.rng.random() < 0.15:
            self.rng.choice(self.steps).cancel()

    def disturb(self):
        """What may happen while steps wait."""
        session = self.rng.choice(self.sessions)
        kind = self.rng.choice(["nothing", "close the session", "lose the client"])
        if kind == "close the session":
            session.close()
        elif kind == "lose the client":
            session.master.close()
        if kind != "nothing":
            self.sessions.remove(session)

    def close_queue(self):
        """In the end nothing waits any more, whichever way the queue is closed."""
        closer = Session(cluster.master(), *queue(self.name))
        closer.run(targets=[self.rng.choice(["close", "cancel"])])
        with self.test.assertRaises(grpc.RpcError) as raised:  # puts that waited come first
            while True:
                self.taken.append(closer.run("take:0", timeout=30))
        self.test.check_error(raised.exception, "OUT_OF_RANGE", "is closed and has insufficient elements")
        closer.close()

    def end(self, step):
        try:
            response = step.result(timeout=30)
        except grpc.FutureCancelledError:
            return
        except grpc.RpcError as e:
            self.test.assertIn(e.code().name, ENDS, e.details())
            return
        for t in response.tensor:
            v = value(t.tensor)
            self.taken.extend(v if isinstance(v, list) else [v])

    def play(self):
        for _ in range(STEPS):
            self.start()
        self.disturb()
        self.close_queue()
        for step in self.steps:
            self.end(step)
        self.test.assertEqual(len(set(self.taken)), len(self.taken), "taken twice")
        self.test.assertLessEqual(set(self.taken), set(range(1, self.put + 1)))
        for session in self.sessions:
            session.close()
        for master in self.masters:
            master.close()


class QueueStressTest(InteropTest):
    def test_every_step_ends(self):
        for seed in range(SEED, SEED + ROUNDS):
            with self.subTest(seed=seed):
                Round(self, seed).play()

    def test_rounds_at_once(self):
        with ThreadPoolExecutor(4) as threads:
            seeds = range(SEED + 1_000_000, SEED + 1_000_000 + ROUNDS)
            for future in [threads.submit(lambda seed=seed: Round(self, seed).play()) for seed in seeds]:
                future.result()


if __name__ == "__main__":
    main()
