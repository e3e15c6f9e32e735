# Requests that no sane peer sends, from broken bytes to steps run twice: each gets a clear error, and the
# servers live on.
# labels: concurrent
# timeout: 180
import random

from client import InteropTest, Session, named
from cluster import Cluster, main
from graphs import FLOAT, INT32, const, endless_loop, graph, node, placeholder, tensor, value, variable
from protos import attr_value_pb2, config_pb2, grpc, master_pb2, node_def_pb2, tensor_pb2, worker_pb2

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
WORKER_CPU = "/job:worker/replica:0/task:0/device:CPU:0"
MASTER_METHODS = [
    "CreateSession",
    "ExtendSession",
    "RunStep",
    "CloseSession",
    "ListDevices",
    "Reset",
    "PartialRunSetup",
    "MakeCallable",
    "RunCallable",
    "ReleaseCallable",
]
WORKER_METHODS = [
    "GetStatus",
    "CreateWorkerSession",
    "DeleteWorkerSession",
    "RegisterGraph",
    "DeregisterGraph",
    "RunGraph",
    "CleanupGraph",
    "CleanupAll",
    "RecvTensor",
    "Logging",
    "Tracing",
    "RecvBuf",
    "MarkRecvFinished",
    "GetStepSequence",
    "CompleteGroup",
    "CompleteInstance",
]
HARM = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL")


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


class HostileTest(InteropTest):
    def setUp(self):
        self.master, self.worker = cluster.master(), cluster.worker()

    def tearDown(self):
        """The servers live, and serve."""
        for job in "ps", "worker":
            self.assertTrue(cluster.server(job).is_alive(), cluster.server(job).log())
        s = self.session(const("a", 1.0, device=PS), node("b", "Neg", "a", device=WORKER, T=FLOAT))
        self.assertEqual(s.run("b:0"), -1.0)
        s.close()

    def session(self, *nodes, **fields):
        return Session(self.master, *nodes, **fields)

    def services(self):
        return (self.master, MASTER_METHODS), (self.worker, WORKER_METHODS)


# ---- Bytes that are no request ----


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    """A length-delimited field on the wire."""
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def damaged(content, rng):
    """With one to three bits changed, or cut off."""
    content = bytearray(content)
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(content))
        if rng.randrange(8) == 0:
            del content[at + 1 :]
        else:
            content[at] ^= 1 << rng.randrange(8)
    return bytes(content)


class BytesTest(HostileTest):
    # No message begins so: a field that is longer than what follows, wire types and field numbers that there
    # are not, a varint without an end.
    BROKEN = [
        b"\x0a\xff\xff\xff\xff\x0f",
        b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x0a\x05abc",
        b"\x0f\x00",
        b"\x00\x00",
        b"\xff" * 20,
        b"\x0b\x0a",
    ]

    def test_what_is_no_message_is_an_error(self):
        for service, methods in self.services():
            for method in methods:
                if method == "GetStatus":  # has no fields, and may not look
                    continue
                for content in self.BROKEN:
                    with self.subTest(method=method, content=content):
                        code = service.start_raw(method, content).code().name
                        self.assertIn(code, ("INVALID_ARGUMENT", "UNIMPLEMENTED"))

    def test_random_bytes_do_no_harm(self):
        rng = random.Random(1)
        for service, methods in self.services():
            for method in methods:
                calls = [service.start_raw(method, rng.randbytes(rng.randrange(1, 100))) for _ in range(40)]
                for call in calls:
                    self.assertNotIn(call.code().name, HARM, method)

    def requests(self):
        """A request of each kind that carries much, as its service takes it."""
        s = self.session(placeholder("x", FLOAT, [-1], PS), node("y", "Abs", "x", device=WORKER, T=FLOAT))
        step = s.request(["y:0"], {"x:0": [1.0, 2.0, 3.0]})
        create = master_pb2.CreateSessionRequest(
            config=config_pb2.ConfigProto(device_filters=["/job:worker"])
        )
        create.graph_def.node.extend(variable("v", [2, 3], FLOAT, WORKER, initial=[[1.0] * 3] * 2))
        create.graph_def.node.extend(endless_loop("loop", WORKER))
        extend = master_pb2.ExtendSessionRequest(
            session_handle=s.handle, graph_def=graph(const("z", 1.0)), current_graph_version=s.version
        )
        register = worker_pb2.RegisterGraphRequest(session_handle="damaged", graph_def=create.graph_def)
        run = worker_pb2.RunGraphRequest(
            session_handle="damaged",
            graph_handle="g",
            step_id=1,
            send=[named("a;1;b;c;0:0", [1.0])],
            recv_key=["a;1;b;d;0:0"],
        )
        recv = worker_pb2.RecvTensorRequest(step_id=1, rendezvous_key=f"{WORKER_CPU};1;{WORKER_CPU};e;0:0")
        return (
            (self.master, step),
            (self.master, create),
            (self.master, extend),
            (self.worker, register),
            (self.worker, run),
            (self.worker, recv),
        )

    def test_damaged_requests_do_no_harm(self):
        rng = random.Random(2)
        for service, request in self.requests():
            method, content = type(request).__name__.removesuffix("Request"), request.SerializeToString()
            calls = [service.start_raw(method, damaged(content, rng)) for _ in range(200)]
            for call in calls:
                self.assertNotIn(call.code().name, HARM, f"{method}: {call.details()}")

    def test_requests_cut_off_at_every_byte_do_no_harm(self):
        for service, request in self.requests():
            method, content = type(request).__name__.removesuffix("Request"), request.SerializeToString()
            calls = [service.start_raw(method, content[:length]) for length in range(0, len(content), 3)]
            for call in calls:
                self.assertNotIn(call.code().name, HARM, f"{method}: {call.details()}")

    def test_fields_of_another_wire_type_do_no_harm(self):
        values = {0: b"\x01", 1: b"\0" * 8, 2: b"\x03abc", 5: b"\0" * 4}
        for service, methods in self.services():
            for method in methods:
                content = [
                    bytes([number << 3 | wire]) + v for number in range(1, 9) for wire, v in values.items()
                ]
                calls = [service.start_raw(method, c) for c in content]
                for call in calls:
                    self.assertNotIn(call.code().name, HARM, f"{method}: {call.details()}")

    def test_a_message_nested_too_deeply(self):
        inner = b""
        while len(inner) < 150_000:  # AttrValue.func { attr { value { func ... } } }
            inner = field(10, field(2, field(2, inner)))
        deep_node = field(1, b"a") + field(2, b"Const") + field(5, field(1, b"f") + field(2, inner))
        for service, method, content in (
            (self.master, "CreateSession", field(1, field(1, deep_node))),
            (self.master, "ExtendSession", field(1, b"s") + field(2, field(1, deep_node))),
            (self.worker, "RegisterGraph", field(1, b"s") + field(2, field(1, deep_node))),
        ):
            call = service.start_raw(method, content)
            self.assertIn(call.code().name, ("INVALID_ARGUMENT", "ABORTED"), call.details())


# ---- Requests whose fields make no sense ----


class FieldsTest(HostileTest):
    def test_requests_with_nothing_in_them(self):
        for service, request, code, words in (
            (self.master, master_pb2.ExtendSessionRequest(), "ABORTED", "is not found"),
            (self.master, master_pb2.RunStepRequest(), "ABORTED", "is not found"),
            (self.master, master_pb2.CloseSessionRequest(), "ABORTED", "is not found"),
            (
                self.worker,
                worker_pb2.CreateWorkerSessionRequest(),
                "INVALID_ARGUMENT",
                "Session must be non-empty",
            ),
            (self.worker, worker_pb2.DeregisterGraphRequest(), "ABORTED", "Graph handle is not found"),
            (self.worker, worker_pb2.RunGraphRequest(), "ABORTED", "Graph handle is not found"),
            (self.worker, worker_pb2.RecvTensorRequest(), "INVALID_ARGUMENT", "key"),
        ):
            with self.subTest(request=type(request).__name__):
                with self.fails(code, words):
                    service.call(request)

    def test_nodes_without_a_name_or_an_op(self):
        for words, n in (
            ("name", node_def_pb2.NodeDef(op="NoOp")),
            ("a", node_def_pb2.NodeDef(name="a")),
            ("name", node_def_pb2.NodeDef()),
        ):
            with self.subTest(node=str(n)):
                with self.fails("INVALID_ARGUMENT", words):
                    self.session(n)

    def test_attrs_of_enum_values_that_nobody_knows(self):
        for wrong in 77, 999, -1, 1 << 30, 120:  # 120: a reference to what nobody knows
            n = placeholder("x")
            n.attr["dtype"].CopyFrom(attr_value_pb2.AttrValue(type=wrong))
            with self.subTest(dtype=wrong):
                with self.fails("INVALID_ARGUMENT", "x", "dtype"):
                    self.session(n)

    def test_options_of_enum_values_that_nobody_knows(self):
        s = self.session(const("a", 1.0))
        for level in 77, -1:
            self.assertEqual(s.run("a:0", options={"trace_level": level}), 1.0)

    def test_an_attr_without_a_value(self):
        n = placeholder("x")
        n.attr["dtype"].CopyFrom(attr_value_pb2.AttrValue())
        with self.fails("INVALID_ARGUMENT", "x", "dtype"):
            self.session(n)

    def test_tensors_that_announce_more_than_any_memory(self):
        for shape in [1 << 40], [1 << 31, 1 << 31], [1 << 62, 4], [-1], [0, -5]:
            t = tensor_pb2.TensorProto(dtype=FLOAT, float_val=[1.0])
            for size in shape:
                t.tensor_shape.dim.add(size=size)
            with self.subTest(shape=shape):
                with self.assertRaises(grpc.RpcError) as raised:
                    self.session(node("a", "Const", dtype=FLOAT, value=t)).run("a:0")
                self.assertIn(raised.exception.code().name, ("INVALID_ARGUMENT", "RESOURCE_EXHAUSTED"))
                self.assertIn("a", raised.exception.details())

    def test_a_feed_without_a_tensor(self):
        s = self.session(placeholder("x"))
        request = s.request(["x:0"])
        request.feed.add(name="x:0")
        with self.fails("INVALID_ARGUMENT", "x:0"):
            self.master.call(request)

    def test_timeouts_that_are_none(self):
        s = self.session(const("a", 1.0))
        for timeout in -1, -(1 << 63), (1 << 63) - 1:
            self.assertEqual(s.run("a:0", options={"timeout_in_ms": timeout}), 1.0)

    def test_handles_of_any_bytes(self):
        s = self.session()
        for handle in "\0", "x" * 100_000, "\n\x1b[31m", "%s%n", "../../etc/passwd":
            s.handle = handle
            with self.fails("ABORTED"):
                s.run(targets=["a"])
            with self.fails("ABORTED"):
                self.worker.call(
                    worker_pb2.RunGraphRequest(session_handle=handle, graph_handle=handle, step_id=1)
                )


# ---- Requests that come twice, late, or for what there never was ----


class OrderTest(HostileTest):
    def setUp(self):
        super().setUp()
        devices = self.worker.call(worker_pb2.GetStatusRequest()).device_attributes
        self.handle = f"session-{random.getrandbits(32)}"
        self.create = worker_pb2.CreateWorkerSessionRequest(
            session_handle=self.handle, cluster_device_attributes=devices
        )
        self.worker.call(self.create)
        self.out = f"{WORKER_CPU};{devices[0].incarnation:016x};{WORKER_CPU};out:0;0:0"
        send = node(
            "out/send",
            "_Send",
            "a",
            device=WORKER_CPU,
            T=FLOAT,
            tensor_name="out:0",
            send_device=WORKER_CPU,
            send_device_incarnation=devices[0].incarnation - (devices[0].incarnation >> 63 << 64),
            recv_device=WORKER_CPU,
            client_terminated=False,
        )
        register = worker_pb2.RegisterGraphRequest(
            session_handle=self.handle,
            create_worker_session_called=True,
            graph_def=graph(const("a", 5.0, device=WORKER_CPU), send),
        )
        self.graph = self.worker.call(register).graph_handle
        self.step = random.getrandbits(62)

    def tearDown(self):
        self.worker.call(worker_pb2.DeleteWorkerSessionRequest(session_handle=self.handle))
        super().tearDown()

    def run_graph(self, step):
        return self.worker.call(
            worker_pb2.RunGraphRequest(
                session_handle=self.handle,
                graph_handle=self.graph,
                create_worker_session_called=True,
                step_id=step,
            )
        )

    def recv(self, step, timeout=60):
        return self.worker.start(worker_pb2.RecvTensorRequest(step_id=step, rendezvous_key=self.out), timeout)

    def clean_up(self, step):
        self.worker.call(worker_pb2.CleanupGraphRequest(step_id=step))

    def test_a_session_that_is_created_twice(self):
        self.worker.call(self.create)  # a master that asks again, since it has not heard
        self.run_graph(self.step)

    def test_a_step_whose_graph_runs_twice(self):
        self.run_graph(self.step)
        with self.fails("ABORTED", "out:0"):  # its value is there already
            self.run_graph(self.step)
        self.clean_up(self.step)
        with self.fails("ABORTED", str(self.step)):
            self.run_graph(self.step)

    def test_a_tensor_that_is_asked_for_after_the_step(self):
        self.run_graph(self.step)
        self.assertEqual(value(self.recv(self.step).result().tensor), 5.0)
        self.check_error(self.recv(self.step), "ABORTED", f"Step {self.step} is over")
        self.clean_up(self.step)
        self.check_error(self.recv(self.step), "ABORTED", f"Step {self.step} is over")

    def test_a_tensor_of_a_step_that_never_comes(self):
        self.check_error(self.recv(self.step, timeout=0.5), "DEADLINE_EXCEEDED")

    def test_a_step_that_is_cleaned_up_before_it_comes(self):
        self.clean_up(self.step)
        with self.fails("ABORTED", f"Step {self.step} is over"):
            self.run_graph(self.step)

    def test_cleaning_up_twice_and_what_there_never_was(self):
        self.run_graph(self.step)
        for step in self.step, self.step, 1, 2, -2, (1 << 63) - 2, -(1 << 63) + 1:
            self.clean_up(step)

    def test_steps_of_odd_ids(self):
        for step in -1, -(1 << 63), (1 << 63) - 1:
            with self.subTest(step=step):
                self.run_graph(step)
                self.assertEqual(value(self.recv(step).result().tensor), 5.0)
                self.clean_up(step)

    def test_a_session_that_is_closed_twice_or_used_afterwards(self):
        s = self.session(const("a", 1.0))
        s.close()
        for late in (lambda: s.run("a:0"), lambda: s.extend(const("b", 1.0)), s.close):
            with self.fails("ABORTED", f"Session {s.handle} is not found"):
                late()


if __name__ == "__main__":
    main()
