# PushTensors that no sane task sends: malformed, foreign, repeated, for steps that never begin, too much.
# Each gets a clear error, the servers live on, and what they hold is bounded.
# labels: concurrent
# timeout: 180
# slots: 3
import os
import random

from client import Service
from cluster import Cluster, main
from graphs import FLOAT, const, node
from hostile_requests_test import HostileTest, damaged, field, varint
from leaks_test import resident_bytes
from protos import grpc, tensor_pb2, worker_pb2
import hostile_requests_test

WORKER = "/job:worker/replica:0/task:0/device:CPU:0"
PS = "/job:ps/replica:0/task:0/device:CPU:0"
MB = 1 << 20
EARLY_MAX = 256 * MB  # of tensors whose steps have not begun
IN_FLIGHT_MAX = 256 * MB  # of requests that a busy server has not answered, and of its allocator


def setUpModule():
    global cluster
    cluster = hostile_requests_test.cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


def number(n, value):
    return varint(n << 3) + varint(value)


REFUSED = number(1, 0)  # an answer to a push of one tensor that begins so refuses it


def key(edge, source=PS, target=WORKER):
    return f"{source};0000000000000001;{target};{edge};0:0"


def pushed(k, content=None):
    """A PushedTensor: of bytes, or dead."""
    t = tensor_pb2.TensorProto(dtype=4, tensor_content=content or b"")  # DT_UINT8
    t.tensor_shape.dim.add(size=len(content or b""))
    return (
        field(1, t.SerializeToString()) * (content is not None) + number(2, content is None) + tag(1002) + k
    )


def tag(n):
    return varint(n << 3 | 2)


def request(step, *tensors, id=0):
    return number(1, step) + number(2, id) + b"".join(field(3, t) for t in tensors)


def tensor(edge, content=None, **devices):
    k = key(edge, **devices).encode()
    return pushed(varint(len(k)) + k, content)


class PushTest(HostileTest):
    def setUp(self):
        super().setUp()
        self.service = Service(cluster.spec["worker"][0], "ClusterService", None)
        self.steps = [random.getrandbits(62)]
        self.step = self.steps[0]

    def tearDown(self):
        for step in self.steps:
            self.clean_up(step)
        self.service.close()
        super().tearDown()

    def clean_up(self, step):
        self.worker.call(worker_pb2.CleanupGraphRequest(step_id=step))

    def start(self, content):
        call = self.service.channel.unary_unary("/braid.ClusterService/PushTensors")
        return call.future(content, 60)

    def push(self, *tensors, step=None, **fields):
        """The answer's bytes: the places of the tensors that were refused."""
        return self.start(request(self.step if step is None else step, *tensors, **fields)).result()

    def test_what_is_no_request_is_an_error(self):
        for content in (
            b"\x0a\xff\xff\xff\xff\x0f",
            b"\x0a\x05abc",
            b"\xff" * 20,
            field(3, b"\x0a\x05abc"),
            field(3, b""),
            request(self.step, tensor("a")[:-3]),
        ):
            with self.subTest(content=content):
                self.check_error(self.start(content), "INVALID_ARGUMENT")

    def test_damaged_requests_do_no_harm(self):
        rng = random.Random(3)
        sound = request(self.step, tensor("a", b"abc"), tensor("b"), tensor("c", bytes(100)), id=7)
        contents = [damaged(sound, rng) for _ in range(500)] + [
            sound[:length] for length in range(len(sound))
        ]
        for call in [self.start(content) for content in contents]:
            self.assertNotIn(call.code().name, hostile_requests_test.HARM, call.details())

    def test_keys_that_are_not_of_this_task(self):
        for wrong in (
            tensor("a", source=WORKER),
            tensor("a", target=PS),
            tensor("a", source=PS, target=PS),
            tensor("a", source=WORKER.replace("task:0", "task:9")),
        ):
            with self.fails("INVALID_ARGUMENT", "is not to be pushed to /job:worker/task:0"):
                self.push(wrong)
        for none in b"", b"a;b", b"\0" * 10:
            with self.fails("INVALID_ARGUMENT", "Invalid rendezvous key"):
                self.push(pushed(varint(len(none)) + none, b""))
        with self.fails("RESOURCE_EXHAUSTED", "a key is longer than 4096"):
            self.push(tensor("e" * 5000))

    def test_what_comes_twice(self):
        id = random.getrandbits(62) + 1
        self.push(tensor("a", b"1"), id=id)
        with self.fails("ABORTED", f"request {id} has come before"):
            self.push(tensor("b", b"1"), id=id)
        with self.fails("ABORTED", "Duplicated send"):
            self.push(tensor("a", b"2"))

    def test_a_step_that_is_over(self):
        self.clean_up(self.step)
        with self.fails("ABORTED", f"Step {self.step} is over"):
            self.push(tensor("a", b"1"))

    def test_steps_that_never_begin_are_bounded(self):
        self.steps += [random.getrandbits(62) for _ in range(1500)]
        for call in [self.start(request(step, tensor("a", b"1"))) for step in self.steps]:
            call.result()
        with self.fails("ABORTED", f"Step {self.steps[0]} is over"):  # the oldest had to go
            self.push(tensor("b", b"1"), step=self.steps[0])
        self.push(tensor("b", b"1"), step=self.steps[-1])

    def test_tensors_of_steps_that_never_begin_are_bounded(self):
        pid = cluster.server("worker").process.pid
        before = resident_bytes(pid)
        large, count = bytes(16 * MB), 24
        for left in 2, 1, 0:
            try:
                refused = [self.push(tensor(f"t{i}", large)).startswith(REFUSED) for i in range(count)]
                break
            except grpc.RpcError as e:  # a busy machine takes longer than a step may take to begin
                self.check_error(e, "ABORTED", f"Step {self.step} is over")
                self.assertTrue(left)
                self.step = random.getrandbits(62)
                self.steps.append(self.step)
        taken = EARLY_MAX // len(large)
        self.assertEqual(refused, [False] * taken + [True] * (count - taken))
        if not os.environ.get("BRAID_SANITIZE"):
            self.assertLess(resident_bytes(pid) - before, EARLY_MAX + IN_FLIGHT_MAX)
        self.clean_up(self.step)
        self.steps.append(self.step + 1)
        self.assertFalse(self.push(tensor("t", large), step=self.step + 1).startswith(REFUSED))


if __name__ == "__main__":
    main()
