# Collectives between tasks of a cluster, and the calls by which members of any kind find each other and fetch
# what they give.
# labels: concurrent
# timeout: 180
import struct
import time
from concurrent.futures import ThreadPoolExecutor

from client import TIMEOUT, InteropTest, Session
from cluster import Cluster, main
from fake_worker import FakeWorker
from graphs import (
    DOUBLE,
    FLOAT,
    INT32,
    INT64,
    Shape,
    beginning,
    const,
    graph,
    node,
    placeholder,
    shape_of,
    tensor,
    tensor_of_bytes,
    value,
)
from protos import config_pb2, grpc, worker_pb2
from tensorflow.core.protobuf import transport_options_pb2

PS, WORKER, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"
MEMBERS = [PS, WORKER, OTHER]


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=2)


def tearDownModule():
    cluster.stop()


def full(task):
    return task.replace("/task", "/replica:0/task") + "/device:CPU:0"


def members(size, key, instance=1):
    return {"group_size": size, "group_key": key, "instance_key": instance}


class CollectiveTest(InteropTest):
    next_group = 100

    def setUp(self):
        self.s = Session(cluster.master())
        CollectiveTest.next_group += 1
        self.group = CollectiveTest.next_group  # one that nobody has used

    def tearDown(self):
        self.s.close()

    def reduce(self, name, source, device, dtype=FLOAT, merge="Add", final="Id", instance=1, size=3):
        return node(
            name,
            "CollectiveReduce",
            source,
            device=device,
            T=dtype,
            merge_op=merge,
            final_op=final,
            subdiv_offsets=[0],
            **members(size, self.group, instance),
        )

    def reduced(self, values, dtype=FLOAT, merge="Add", final="Id"):
        nodes = []
        for i, task in enumerate(MEMBERS):
            nodes += [
                const(f"x{i}", values[i], dtype, task),
                self.reduce(f"y{i}", f"x{i}", task, dtype, merge, final),
            ]
        s = Session(cluster.master(), *nodes)
        results = [s.run([f"y{i}:0" for i in range(3)]) for _ in range(3)]
        s.close()
        self.group += 1000
        for r in results:
            self.assertEqual(r, [results[0][0]] * 3)
        return results[0][0]


class ReduceTest(CollectiveTest):
    def test_every_merge_and_end_of_every_type(self):
        values = [[3, 8], [5, -1], [-2, 2]]
        for dtype in FLOAT, DOUBLE, INT32, INT64:
            for merge, want in ("Add", [6, 9]), ("Mul", [-30, -16]), ("Min", [-2, -1]), ("Max", [5, 8]):
                self.assertEqual(self.reduced(values, dtype, merge), want)
        self.assertEqual(self.reduced(values, FLOAT, "Add", "Div"), [2.0, 3.0])
        self.assertEqual(self.reduced(values, INT32, "Add", "Div"), [2, 3])

    def test_scalars_and_empty_tensors(self):
        self.assertEqual(self.reduced([1.0, 2.0, 3.0]), 6.0)
        s = Session(
            cluster.master(),
            *[
                n
                for i, t in enumerate(MEMBERS)
                for n in (placeholder(f"x{i}", FLOAT, [0, 2], t), self.reduce(f"y{i}", f"x{i}", t))
            ],
        )
        empty = {f"x{i}:0": tensor_of_bytes(b"", [0, 2]) for i in range(3)}
        results = s.step([f"y{i}:0" for i in range(3)], empty).tensor
        self.assertEqual([shape_of(r.tensor) for r in results], [[0, 2]] * 3)
        s.close()

    def test_a_large_tensor(self):
        self.s.extend(
            *[
                n
                for i, t in enumerate(MEMBERS)
                for n in (
                    placeholder(f"x{i}", FLOAT, None, t),
                    self.reduce(f"y{i}", f"x{i}", t),
                    const(f"axis{i}", [0], INT32, t),
                    node(
                        f"sum{i}", "Sum", f"y{i}", f"axis{i}", device=t, T=FLOAT, Tidx=INT32, keep_dims=False
                    ),
                )
            ]
        )
        feeds = {f"x{i}:0": floats(i + 1.0, 1 << 20) for i in range(3)}
        self.assertEqual(self.s.run([f"sum{i}:0" for i in range(3)], feeds), [6.0 * (1 << 20)] * 3)

    def test_a_group_of_one(self):
        self.s.extend(const("x", [4.0], device=PS), self.reduce("y", "x", PS, final="Div", size=1))
        self.assertEqual(self.s.run("y:0"), [4.0])

    def test_many_instances_at_once(self):
        self.s.extend(
            *[
                n
                for k in range(20)
                for i, t in enumerate(MEMBERS)
                for n in (
                    const(f"x{i}_{k}", float(k), FLOAT, t),
                    self.reduce(f"y{i}_{k}", f"x{i}_{k}", t, instance=k),
                )
            ]
        )
        names = [f"y{i}_{k}:0" for k in range(20) for i in range(3)]
        for _ in range(5):
            self.assertEqual(self.s.run(names), [3.0 * k for k in range(20) for _ in range(3)])


def floats(v, count):
    return tensor_of_bytes(struct.pack("<f", v) * count, [count])


class MoveTest(CollectiveTest):
    def test_broadcast(self):
        attrs = dict(T=FLOAT, shape=Shape([2]), **members(3, self.group))
        self.s.extend(
            placeholder("x", FLOAT, [2], WORKER),
            node("send", "CollectiveBcastSend", "x", device=WORKER, **attrs),
            node("r0", "CollectiveBcastRecv", device=PS, **attrs),
            node("r1", "CollectiveBcastRecv", device=OTHER, **attrs),
        )
        for v in [1.0, 2.0], [3.0, 4.0]:
            self.assertEqual(self.s.run(["send:0", "r0:0", "r1:0"], {"x:0": v}), [v] * 3)

    def test_gather(self):
        attrs = dict(T=INT32, shape=Shape([6, 1]), **members(3, self.group))
        self.s.extend(
            *[
                n
                for i, t in enumerate(MEMBERS)
                for n in (
                    const(f"x{i}", [[i], [i + 10]], INT32, t),
                    node(f"y{i}", "CollectiveGather", f"x{i}", device=t, **attrs),
                )
            ]
        )
        want = [[0], [10], [1], [11], [2], [12]]
        self.assertEqual(self.s.run([f"y{i}:0" for i in range(3)]), [want] * 3)

    def test_a_declared_shape_that_is_another(self):
        attrs = dict(T=FLOAT, shape=Shape([3]), **members(2, self.group))
        self.s.extend(
            const("x", [1.0, 2.0], device=WORKER),
            node("send", "CollectiveBcastSend", "x", device=WORKER, **attrs),
            node("r", "CollectiveBcastRecv", device=PS, **attrs),
        )
        with self.fails("INTERNAL", "Declared shape of op send does not match shape of input"):
            self.s.run(["send:0", "r:0"])


class DisagreementTest(CollectiveTest):
    def pair(self, a, b):
        """Two members, on the parameter server and a worker; the step's error is that of the one who is wrong."""
        self.s.extend(const("x", [1.0], device=PS), const("z", [1.0, 2.0], device=WORKER), a, b)
        return ["a:0", "b:0"]

    def test_of_the_size(self):
        names = self.pair(self.reduce("a", "x", PS, size=2), self.reduce("b", "x", WORKER, size=3))
        with self.fails("INTERNAL", "but that group has size"):
            self.s.run(names)

    def test_of_the_kind(self):
        names = self.pair(
            self.reduce("a", "x", PS, size=2),
            node(
                "b",
                "CollectiveGather",
                "x",
                device=WORKER,
                T=FLOAT,
                shape=Shape([2]),
                **members(2, self.group),
            ),
        )
        with self.fails("INTERNAL", "Collective instance 1 expected type"):
            self.s.run(names)

    def test_of_the_shape(self):
        names = self.pair(self.reduce("a", "x", PS, size=2), self.reduce("b", "z", WORKER, size=2))
        with self.fails("INVALID_ARGUMENT", "Members of the group disagree", "float[1]", "float[2]"):
            self.s.run(names)

    def test_of_a_large_shape(self):
        self.s.extend(
            placeholder("p", FLOAT, None, PS),
            placeholder("q", FLOAT, None, WORKER),
            self.reduce("a", "p", PS, size=2),
            self.reduce("b", "q", WORKER, size=2),
        )
        for counts in (300000, 350000), (300000, 5), (300000, 4000000), (40000, 300000):
            feeds = {"p:0": floats(1.0, counts[0]), "q:0": floats(1.0, counts[1])}
            shapes = [f"float[{n}]" for n in counts]
            with self.fails("INVALID_ARGUMENT", "Members of the group disagree", *shapes):
                self.s.run(["a:0", "b:0"], feeds)

    def test_of_a_shape_among_three(self):
        self.s.extend(*(placeholder(f"p{i}", FLOAT, None, d) for i, d in enumerate((PS, WORKER, OTHER))))
        self.s.extend(*(self.reduce(f"r{i}", f"p{i}", d, size=3) for i, d in enumerate((PS, WORKER, OTHER))))
        for counts in (1, 2, 2), (2, 1, 1), (1, 1, 2), (1, 1, 600000), (600000, 600000, 1), (600000, 1, 1):
            feeds = {f"p{i}:0": floats(1.0, count) for i, count in enumerate(counts)}
            shapes = [f"float[{n}]" for n in set(counts)]
            with self.fails("INVALID_ARGUMENT", "Members of the group disagree", *shapes):
                self.s.run(["r0:0", "r1:0", "r2:0"], feeds)

    def test_a_member_too_many(self):
        names = self.pair(self.reduce("a", "x", PS, size=2), self.reduce("b", "x", WORKER, size=2))
        self.s.run(names)
        self.s.extend(self.reduce("c", "x", OTHER, size=2))
        with self.fails("INTERNAL", "but that group doesn't contain that device"):
            self.s.run("c:0")

    def test_two_sources(self):
        attrs = dict(T=FLOAT, shape=Shape([1]), **members(2, self.group))
        names = self.pair(
            node("a", "CollectiveBcastSend", "x", device=PS, **attrs),
            node("b", "CollectiveBcastSend", "x", device=WORKER, **attrs),
        )
        with self.fails("INTERNAL", "has source"):
            self.s.run(names)

    def test_sizes_that_cannot_be(self):
        self.s.extend(const("x", [1.0], device=PS), self.reduce("y", "x", PS, size=0))
        with self.fails("INVALID_ARGUMENT", "group_size must be positive"):
            self.s.run("y:0")


class EndTest(CollectiveTest):
    def test_a_group_that_never_fills_waits_until_it_is_cancelled(self):
        self.s.extend(const("x", [1.0], device=PS), self.reduce("y", "x", PS), *beginning(PS))
        self.check_error(self.s.start(["y:0"], options={"timeout_in_ms": 300}), "DEADLINE_EXCEEDED")
        step = self.s.start_and_await_beginning(["y:0"])
        self.s.close()
        self.check_error(step, "CANCELLED", "Session has been closed")
        self.s = Session(cluster.master())

    def test_a_member_that_fails_ends_it(self):
        self.s.extend(
            const("x", [1.0], device=PS),
            placeholder("p", FLOAT, [1], WORKER),
            self.reduce("a", "x", PS, size=2),
            self.reduce("b", "p", WORKER, size=2),
        )
        with self.fails("INVALID_ARGUMENT", "You must feed a value for placeholder tensor 'p'"):
            self.s.run(["a:0", "b:0"])

    def test_a_member_that_is_killed_ends_it_and_may_come_back(self):
        with Cluster(ps=1, worker=2) as own:

            def session():
                s = Session(
                    own.master(),
                    *[
                        n
                        for i, t in enumerate(MEMBERS)
                        for n in (placeholder(f"x{i}", FLOAT, [], t), self.reduce(f"y{i}", f"x{i}", t))
                    ],
                )
                return s, [f"y{i}:0" for i in range(3)], {f"x{i}:0": 1.0 for i in range(3)}

            s, names, feeds = session()
            self.assertEqual(s.run(names, feeds), [3.0] * 3)
            own.server("worker", 1).kill()
            with self.assertRaises(grpc.RpcError) as raised:
                s.run(names, feeds)
            self.assertIn(raised.exception.code().name, ("UNAVAILABLE", "ABORTED"))
            own.start("worker", 1)
            # Until all have noticed: a task that could not connect meanwhile waits for up to a second.
            results, deadline = None, time.monotonic() + TIMEOUT
            while not results:
                try:
                    s, names, feeds = session()
                    results = s.run(names, feeds)
                except grpc.RpcError as e:
                    self.assertIn(e.code().name, ("UNAVAILABLE", "ABORTED"))
                    self.assertLess(time.monotonic(), deadline, e)
            self.assertEqual(results, [3.0] * 3)


class BetweenMastersTest(CollectiveTest):
    """Each worker has a session of its own on its own master, as a program a worker makes it."""

    def open(self, index, leader="/job:worker/replica:0/task:0"):
        task = MEMBERS[1 + index]
        experimental = config_pb2.ConfigProto.Experimental(collective_group_leader=leader)
        return Session(
            cluster.master("worker", index),
            placeholder("x", FLOAT, [], task),
            self.reduce("y", "x", task, size=2),
            config=config_pb2.ConfigProto(experimental=experimental),
        )

    def assert_meet(self, sessions):
        """A step in each; who is told that its step is over begins another, whatever the others do."""

        def step_of(s):
            while (step := s.start(["y:0"], {"x:0": 1.0})).code().name == "ABORTED":  # waits for its end
                pass
            return value(step.result().tensor[0].tensor)

        with ThreadPoolExecutor(len(sessions)) as clients:
            self.assertEqual(list(clients.map(step_of, sessions)), [2.0] * 2)

    def test_steps_meet(self):
        sessions = [self.open(0), self.open(1)]
        for i in range(10):
            steps = [s.start(["y:0"], {"x:0": float(i + k)}) for k, s in enumerate(sessions)]
            for s in steps:
                self.assertEqual(value(s.result().tensor[0].tensor), 2.0 * i + 1)
        for s in sessions:
            s.close()

    def test_steps_meet_by_a_key_of_their_own(self):
        sessions = [self.open(0), self.open(1)]
        options = {"experimental": {"collective_graph_key": 77 + self.group}}
        for order in sessions, sessions[::-1], sessions:
            steps = [s.start(["y:0"], {"x:0": 1.0}, options=options) for s in order]
            for s in steps:
                self.assertEqual(value(s.result().tensor[0].tensor), 2.0)
        for s in sessions:
            s.close()

    def test_who_is_left_alone_waits_until_its_step_ends(self):
        s = self.open(1)
        self.check_error(s.start(["y:0"], {"x:0": 1.0}, options={"timeout_in_ms": 300}), "DEADLINE_EXCEEDED")
        # The step that it was alone in is over for all; then they are in step again.
        sessions = [s, self.open(0)]
        self.assert_meet(sessions)
        for s in sessions:
            s.close()

    def test_a_leader_that_runs_no_steps_keeps_others_in_step(self):
        leader = "/job:ps/replica:0/task:0"
        sessions = [self.open(0, leader), self.open(1, leader)]
        for lone, other in sessions, sessions[::-1]:
            for _ in range(2):
                self.assert_meet(sessions)
            self.check_error(
                lone.start(["y:0"], {"x:0": 1.0}, options={"timeout_in_ms": 300}), "DEADLINE_EXCEEDED"
            )
            self.assert_meet([other, lone])
        for s in sessions:
            s.close()

    def test_a_leader_that_there_is_not(self):
        with self.fails("INVALID_ARGUMENT", "collective_group_leader", "/job:chief/task:0"):
            self.open(0, leader="/job:chief/task:0")


class ServiceTest(CollectiveTest):
    """What a member that is no task of Braid's says to the leader, and hears."""

    def setUp(self):
        super().setUp()
        self.worker = cluster.worker()

    def complete_group(self, device, size=2, **fields):
        return self.worker.start(
            worker_pb2.CompleteGroupRequest(
                group_key=self.group, group_size=size, device_type="CPU", device_name=[device], **fields
            )
        )

    def complete_instance(self, device, type=1, size=2, **fields):
        return self.worker.start(
            worker_pb2.CompleteInstanceRequest(
                name="n",
                type=type,
                data_type=FLOAT,
                group_key=self.group,
                group_size=size,
                instance_key=5,
                device_type="CPU",
                device=device,
                **fields,
            )
        )

    def test_a_group_is_complete_when_all_have_come(self):
        first = self.complete_group(full(WORKER))
        second = self.complete_group(full(PS))
        for r in first.result(), second.result():
            self.assertEqual(r.group_key, self.group)
            self.assertEqual((r.group_size, r.device_type, r.num_tasks), (2, "CPU", 2))
            self.assertEqual(list(r.device_name), [full(PS), full(WORKER)])
            self.assertEqual(list(r.task_name), [full(PS)[:-13], full(WORKER)[:-13]])
        again = self.complete_group(full(PS)).result()
        self.assertEqual(list(again.device_name), [full(PS), full(WORKER)])

    def test_the_source_of_a_broadcast(self):
        receivers = [self.complete_instance(full(PS)), self.complete_instance(full(PS))]
        self.assertFalse(any(r.done() for r in receivers))
        source = self.complete_instance(full(WORKER), is_source=True)
        for r in receivers + [source]:
            self.assertEqual((r.result().instance_key, r.result().source_rank), (5, 1))

    def test_an_instance_of_two_kinds(self):
        calls = [self.complete_instance(full(PS), type=0), self.complete_instance(full(WORKER), type=0)]
        for c in calls:
            c.result()
        self.check_error(
            self.complete_instance(full(PS), type=2), "INTERNAL", "Collective instance 5 expected type 0"
        )

    def test_waiting_ends_with_the_call(self):
        waits = [self.complete_group(full(PS)), self.complete_instance(full(PS))]
        for w in waits:
            w.cancel()
        for member in [self.complete_group(full(PS)), self.complete_group(full(WORKER))]:
            self.assertEqual(member.result().num_tasks, 2)

    def test_requests_that_cannot_be(self):
        self.check_error(self.complete_group(full(PS) + "0" * 2000), "INVALID_ARGUMENT", "longer than")
        for size in 0, -1, 1 << 30:
            self.check_error(self.complete_group(full(PS), size), "INVALID_ARGUMENT", "group_size")
        self.check_error(self.complete_group("nowhere"), "INVALID_ARGUMENT", "nowhere")
        self.check_error(self.complete_instance(full(PS), type=-3), "INVALID_ARGUMENT", "type of collective")
        none = self.worker.start(worker_pb2.CompleteGroupRequest(group_key=self.group, group_size=2))
        self.check_error(none, "INVALID_ARGUMENT", "one device")
        self.complete_group(full(PS), 1).result()
        self.check_error(self.complete_group(full(PS), 3), "INTERNAL", "but that group has size 1")

    def test_step_sequences(self):
        request = worker_pb2.GetStepSequenceRequest(graph_key=[self.group, self.group + 1])
        first = self.worker.call(request).step_sequence
        self.assertEqual([s.graph_key for s in first], [self.group, self.group + 1])
        self.assertNotEqual(first[0].next_step_id, first[1].next_step_id)
        self.assertEqual(self.worker.call(request).step_sequence, first)

    def test_fetching_the_bytes_of_a_member(self):
        """The test is the member on the parameter server: it joins, and asks a worker for what it gives."""
        with Cluster(ps=1, worker=1, absent=[("ps", 0), ("worker", 0)]) as mixed:
            peer = FakeWorker(mixed.address("ps"), PS.replace("/task", "/replica:0/task"))
            mixed.start("worker")
            self.worker = worker = mixed.worker()
            status = worker.call(worker_pb2.GetStatusRequest()).device_attributes[0]
            nodes = graph(
                const("x", [1.0, 2.0], device=full(WORKER)), self.reduce("y", "x", full(WORKER), size=2)
            )
            handle = worker.call(
                worker_pb2.RegisterGraphRequest(session_handle="s", graph_def=nodes)
            ).graph_handle
            run = worker.start(
                worker_pb2.RunGraphRequest(session_handle="s", graph_handle=handle, step_id=4711)
            )
            self.complete_group(full(PS)).result()
            recv = peer.next("RecvTensor", 4711)  # the worker wants what the test gives
            answer = worker.call(
                worker_pb2.RecvBufRequest(
                    step_id=4711,
                    buf_rendezvous_key=f"collective {self.group}:1:0:0",
                    num_bytes=8,
                    src_device=full(WORKER),
                    dst_device=full(PS),
                    src_incarnation=status.incarnation,
                )
            )
            extra = transport_options_pb2.RecvBufRespExtra()
            self.assertTrue(answer.transport_options.Unpack(extra))
            self.assertEqual(struct.unpack("<2f", b"".join(extra.tensor_content)), (1.0, 2.0))
            self.assertEqual(answer.num_bytes, 8)
            recv.answer(worker_pb2.RecvTensorResponse(tensor=tensor([3.0, 4.0])))
            run.result()
            peer.stop()

    def test_bytes_that_cannot_be_had(self):
        def ask(**fields):
            fields = {
                "step_id": 1,
                "buf_rendezvous_key": "k",
                "num_bytes": 8,
                "src_device": full(WORKER),
                "dst_device": full(PS),
                **fields,
            }
            return self.worker.start(worker_pb2.RecvBufRequest(**fields))

        self.check_error(ask(src_incarnation=7), "ABORTED", "different device incarnation")
        self.check_error(ask(src_device=full(PS)), "INVALID_ARGUMENT", "no device of")
        self.check_error(ask(buf_rendezvous_key="a;b"), "INVALID_ARGUMENT", "';'")
        self.check_error(ask(buf_rendezvous_key="k" * 5000), "RESOURCE_EXHAUSTED", "longer than")


if __name__ == "__main__":
    main()
