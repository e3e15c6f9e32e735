# What a master, and other workers, of TensorFlow get from a Braid worker: WorkerService, call by call.
# labels: concurrent
# timeout: 120
#
# The test is the master of the cluster, and in the second half a task of it too.
import random

from client import InteropTest, named
from cluster import Cluster, main
from fake_worker import INCARNATION, FakeWorker
from graphs import BOOL, FLOAT, STRING, const, graph, node, tensor, tensor_by_element, value, variable
from protos import cluster_pb2, grpc, tensor_pb2, tensorflow_server_pb2, worker_pb2

PS_TASK, WORKER_TASK = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
PS, WORKER = PS_TASK + "/device:CPU:0", WORKER_TASK + "/device:CPU:0"
CLIENT_INCARNATION = 0xC11E47  # of the device that feeds and fetches, as its master knows it


def setUpModule():
    global cluster, peer
    cluster = Cluster(ps=1, worker=1, absent=[("ps", 0), ("worker", 0)])
    peer = FakeWorker(cluster.address("ps"), PS_TASK)
    cluster.start("worker")


def tearDownModule():
    cluster.stop()
    peer.stop()


def key(source, incarnation, target, edge):
    return f"{source};{incarnation:016x};{target};{edge};0:0"


def edge_attrs(edge, source, incarnation, target, of_client):
    return {
        "tensor_name": edge,
        "send_device": source,
        "send_device_incarnation": signed(incarnation),
        "recv_device": target,
        "client_terminated": of_client,
    }


def signed(incarnation):
    return incarnation - (1 << 64) if incarnation >> 63 else incarnation


def recv(name, edge, source, incarnation, dtype=FLOAT, of_client=False):
    """A _Recv on the worker, as a partitioner makes it."""
    return node(
        name,
        "_Recv",
        device=WORKER,
        tensor_type=dtype,
        **edge_attrs(edge, source, incarnation, WORKER, of_client),
    )


def send(name, value_name, edge, incarnation, target, dtype=FLOAT, of_client=False):
    return node(
        name,
        "_Send",
        value_name,
        device=WORKER,
        T=dtype,
        **edge_attrs(edge, WORKER, incarnation, target, of_client),
    )


class WorkerTest(InteropTest):
    def setUp(self):
        self.worker = cluster.worker()
        status = self.worker.call(worker_pb2.GetStatusRequest())
        self.incarnation = status.device_attributes[0].incarnation
        self.session = f"session-{random.randrange(1 << 32)}"
        self.create_session(self.session)

    def create_session(self, handle):
        jobs = [
            cluster_pb2.JobDef(name=job, tasks=dict(enumerate(addresses)))
            for job, addresses in cluster.spec.items()
        ]
        server = tensorflow_server_pb2.ServerDef(
            cluster=cluster_pb2.ClusterDef(job=jobs), job_name="worker", protocol="grpc"
        )
        devices = self.worker.call(worker_pb2.GetStatusRequest()).device_attributes
        self.worker.call(
            worker_pb2.CreateWorkerSessionRequest(
                session_handle=handle, server_def=server, cluster_device_attributes=devices
            )
        )

    def register(self, *nodes, session=None):
        request = worker_pb2.RegisterGraphRequest(
            session_handle=session or self.session, create_worker_session_called=True, graph_def=graph(*nodes)
        )
        return self.worker.call(request).graph_handle

    def start(self, handle, step, sends=(), recvs=(), session=None, timeout=60, **fields):
        values = [named(k, v) for k, v in dict(sends).items()]
        request = worker_pb2.RunGraphRequest(
            session_handle=session or self.session,
            graph_handle=handle,
            create_worker_session_called=True,
            step_id=step,
            send=values,
            recv_key=recvs,
            **fields,
        )
        return self.worker.start(request, timeout)

    def run_graph(self, handle, step=None, sends=(), recvs=(), **fields):
        """The values of recvs, by key."""
        response = self.start(handle, step or self.new_step(), sends, recvs, **fields).result()
        return {t.name: value(t.tensor) for t in response.recv}

    def start_recv(self, step, rendezvous_key, timeout=60, request_id=0):
        return self.worker.start(
            worker_pb2.RecvTensorRequest(step_id=step, rendezvous_key=rendezvous_key, request_id=request_id),
            timeout,
        )

    def clean_up(self, step):
        self.worker.call(worker_pb2.CleanupGraphRequest(step_id=step))

    def new_step(self):
        return random.getrandbits(62)

    # x comes from the client; x + x goes to it, and x * x to the parameter server.
    def double_and_square(self):
        self.x = key(WORKER, CLIENT_INCARNATION, WORKER, "x:0")
        self.double = key(WORKER, self.incarnation, WORKER, "double:0")
        self.square = key(WORKER, self.incarnation, PS, "edge_3_square")
        return self.register(
            recv("x", "x:0", WORKER, CLIENT_INCARNATION, of_client=True),
            node("double", "Add", "x", "x", device=WORKER, T=FLOAT),
            node("square", "Mul", "x", "x", device=WORKER, T=FLOAT),
            send("double/send", "double", "double:0", self.incarnation, WORKER, of_client=True),
            send("square/send", "square", "edge_3_square", self.incarnation, PS),
        )


class RunGraphTest(WorkerTest):
    def test_calls_that_ask_for_nothing(self):
        for request in (
            worker_pb2.LoggingRequest(enable_rpc_logging=True, fetch_step_id=[7], clear=True),
            worker_pb2.TracingRequest(),
            worker_pb2.MarkRecvFinishedRequest(request_id=7),
        ):
            self.assertEqual(self.worker.call(request).ByteSize(), 0)
            with self.fails("INVALID_ARGUMENT"):
                self.worker.start_raw(type(request).__name__[: -len("Request")], b"\x0a\xff").result()

    def test_status(self):
        devices = self.worker.call(worker_pb2.GetStatusRequest()).device_attributes
        self.assertEqual([(d.name, d.device_type) for d in devices], [(WORKER, "CPU")])
        self.assertNotEqual(devices[0].incarnation, 0)
        self.assertGreater(devices[0].memory_limit, 0)

    def test_values_go_in_and_out_with_the_call(self):
        g = self.double_and_square()
        self.assertEqual(self.run_graph(g, sends={self.x: 4.0}, recvs=[self.double]), {self.double: 8.0})

    def test_steps_at_once_keep_their_values_apart(self):
        g = self.double_and_square()
        steps = [self.new_step() for _ in range(100)]
        calls = [self.start(g, step, {self.x: float(i)}, [self.double]) for i, step in enumerate(steps)]
        for i, (step, call) in enumerate(zip(steps, calls)):
            self.assertEqual(value(call.result().recv[0].tensor), 2.0 * i)
            self.assertEqual(value(self.start_recv(step, self.square).result().tensor), 1.0 * i * i)

    def test_what_another_task_asks_for_after_the_run(self):
        g, step = self.double_and_square(), self.new_step()
        self.run_graph(g, step, {self.x: 3.0})
        response = self.start_recv(step, self.square).result()
        self.assertEqual((value(response.tensor), response.is_dead), (9.0, False))
        self.assertGreater(response.send_start_micros, 0)

    def test_what_another_task_asks_for_before_the_run(self):
        g, step = self.double_and_square(), self.new_step()
        early = self.start_recv(step, self.square)
        self.worker.call(worker_pb2.GetStatusRequest())  # it has come before the run does
        self.assertFalse(early.done())
        self.run_graph(g, step, {self.x: 3.0})
        self.assertEqual(value(early.result().tensor), 9.0)

    def test_every_value_is_given_once(self):
        g, step = self.double_and_square(), self.new_step()
        self.run_graph(g, step, {self.x: 3.0})
        self.start_recv(step, self.square).result()
        again = self.start_recv(step, self.square)
        self.clean_up(step)
        self.check_error(again, "ABORTED")

    # As Braid's workers ask for large tensors: the first of three parts comes with where the others are.
    def test_a_step_that_is_cleaned_up_holds_no_parts(self):
        g, step = self.double_and_square(), self.new_step()
        self.run_graph(g, step, {self.x: [3.0] * 600000})
        request = worker_pb2.RecvTensorRequest(step_id=step, rendezvous_key=self.square)
        request.MergeFromString(b"\xc0\x3e\x01")  # that it takes parts
        answer = self.worker.start(request).result().SerializeToString()
        at = answer.index(b"\xc2\x3e") + 3
        tensor_id = answer[at : at + 9]
        recv_part = self.worker.channel.unary_unary("/braid.ClusterService/RecvChunk")
        self.assertEqual(len(recv_part(tensor_id + b"\x10\x01")), 1 << 20)
        self.clean_up(step)
        self.check_error(recv_part.future(tensor_id + b"\x10\x02"), "ABORTED", "not held")

    def test_dead_tensors(self):
        to_ps = key(WORKER, self.incarnation, PS, "edge_5_branches")
        to_client = key(WORKER, self.incarnation, WORKER, "on:0")
        pred = key(WORKER, CLIENT_INCARNATION, WORKER, "pred:0")
        g = self.register(
            recv("pred", "pred:0", WORKER, CLIENT_INCARNATION, BOOL, of_client=True),
            const("data", 5.0, device=WORKER),
            node("branches", "Switch", "data", "pred", device=WORKER, T=FLOAT),
            node("on", "Abs", "branches:1", device=WORKER, T=FLOAT),
            send("ps/send", "on", "edge_5_branches", self.incarnation, PS),
            send("client/send", "on", "on:0", self.incarnation, WORKER, of_client=True),
        )
        dead, alive = self.new_step(), self.new_step()
        self.run_graph(g, alive, {pred: True})
        response = self.start_recv(alive, to_ps).result()
        self.assertEqual((value(response.tensor), response.is_dead), (5.0, False))
        self.run_graph(g, dead, {pred: False})
        self.assertTrue(self.start_recv(dead, to_ps).result().is_dead)
        with self.fails("INTERNAL", "Failed to fetch outputs for step", "on:0", "was not valid"):
            self.run_graph(g, sends={pred: False}, recvs=[to_client])

    def test_strings(self):
        x, y = key(WORKER, 1, WORKER, "x:0"), key(WORKER, self.incarnation, WORKER, "y:0")
        g = self.register(
            recv("x", "x:0", WORKER, 1, STRING, of_client=True),
            node("y", "Identity", "x", device=WORKER, T=STRING),
            send("y/send", "y", "y:0", self.incarnation, WORKER, STRING, of_client=True),
        )
        self.assertEqual(self.run_graph(g, sends={x: [b"a", b"\0\xff"]}, recvs=[y]), {y: [b"a", b"\0\xff"]})

    def test_what_is_fed_may_come_from_a_device_of_another_task(self):
        x = key(PS, CLIENT_INCARNATION, WORKER, "x:0")  # the master is at the parameter server
        y = key(WORKER, self.incarnation, PS, "y:0")
        g = self.register(
            recv("x", "x:0", PS, CLIENT_INCARNATION, of_client=True),
            node("y", "Square", "x", device=WORKER, T=FLOAT),
            send("y/send", "y", "y:0", self.incarnation, PS, of_client=True),
        )
        self.assertEqual(self.run_graph(g, sends={x: 3.0}, recvs=[y]), {y: 9.0})

    def test_stats_and_partition_graphs(self):
        g = self.double_and_square()
        opts = worker_pb2.ExecutorOpts(record_timeline=True, record_partition_graphs=True)
        response = self.start(g, self.new_step(), {self.x: 1.0}, [self.double], exec_opts=opts).result()
        device = response.step_stats.dev_stats[0]
        self.assertEqual(device.device, WORKER)
        self.assertIn("square", [n.node_name for n in device.node_stats])
        self.assertIn("square", [n.name for n in response.partition_graph[0].node])

    def test_a_cost_model(self):
        g = self.double_and_square()
        response = self.start(
            g,
            self.new_step(),
            {self.x: 1.0},
            [self.double],
            exec_opts=worker_pb2.ExecutorOpts(record_costs=True),
        ).result()
        nodes = {n.name: n for n in response.cost_graph.node}
        self.assertEqual((nodes["square"].device, nodes["square"].output_info[0].dtype), (WORKER, FLOAT))
        self.assertEqual([i.preceding_node for i in nodes["square/send"].input_info], [nodes["square"].id])
        self.assertTrue(nodes["square/send"].is_final)
        self.assertFalse(response.HasField("step_stats"))
        self.assertEqual(len(response.partition_graph), 0)

    def test_an_error_names_the_node(self):
        x, y = key(WORKER, 1, WORKER, "x:0"), key(WORKER, self.incarnation, PS, "edge_1_y")
        g = self.register(
            recv("x", "x:0", WORKER, 1, of_client=True),
            node("y", "MatMul", "x", "x", device=WORKER, T=FLOAT),
            send("y/send", "y", "edge_1_y", self.incarnation, PS),
        )
        step = self.new_step()
        waiting = self.start_recv(step, y)
        with self.fails("INVALID_ARGUMENT", "[1,2]", "[[{{node y}}"):
            self.run_graph(g, step, {x: [[1.0, 2.0]]})
        # Whoever waits for the value hears of it, marked as a consequence.
        self.assertTrue(waiting.details().startswith("[_Derived_]"), waiting.details())
        run = self.start(g, self.new_step(), {x: [[1.0, 2.0]]}, store_errors_in_response_body=True)
        self.check_status(run.result(), "INVALID_ARGUMENT", "[1,2]")

    def test_a_value_that_no_node_sends(self):
        g = self.double_and_square()
        nobody = key(WORKER, self.incarnation, WORKER, "nobody:0")
        with self.assertRaises(grpc.RpcError) as raised:
            self.run_graph(g, sends={self.x: 1.0}, recvs=[nobody])
        self.assertIn("nobody:0", raised.exception.details())

    def test_a_run_that_waits_for_what_does_not_come_ends_with_its_caller(self):
        g = self.double_and_square()
        with self.fails("DEADLINE_EXCEEDED"):
            self.run_graph(g, timeout=0.3)
        waiting = self.start(g, self.new_step())
        waiting.cancel()
        self.assertEqual(self.run_graph(g, sends={self.x: 1.0}, recvs=[self.double]), {self.double: 2.0})

    def test_a_run_that_is_cleaned_up_ends(self):
        g, step = self.double_and_square(), self.new_step()
        early = self.start_recv(step, self.square)
        self.worker.call(worker_pb2.GetStatusRequest())
        self.clean_up(step)
        self.check_error(early, "ABORTED", str(step))
        with self.fails("ABORTED", str(step)):  # it is over
            self.run_graph(g, step, {self.x: 1.0})
        self.check_error(self.start_recv(step, self.square), "ABORTED", str(step))

    def test_requests_that_come_twice_are_done_once(self):
        g, step = self.double_and_square(), self.new_step()
        run_id, recv_id = random.getrandbits(60), random.getrandbits(60)
        self.run_graph(g, step, {self.x: 3.0}, request_id=run_id)
        with self.fails("ABORTED", str(run_id)):
            self.run_graph(g, self.new_step(), {self.x: 3.0}, request_id=run_id)
        again = self.start(
            g, self.new_step(), {self.x: 3.0}, request_id=run_id, store_errors_in_response_body=True
        )
        self.check_status(again.result(), "ABORTED", str(run_id))
        self.start_recv(step, self.square, request_id=recv_id).result()
        self.check_error(self.start_recv(step, self.square, request_id=recv_id), "ABORTED", str(recv_id))


class RegisterGraphTest(WorkerTest):
    def test_an_unknown_graph(self):
        g = self.double_and_square()
        for handle, session in ("no-such-graph", self.session), (g, "no-such-session"), ("", ""):
            with self.fails("ABORTED", "Graph handle is not found", handle):
                self.run_graph(handle, sends={self.x: 1.0}, session=session or " ")

    def test_an_unknown_session(self):
        with self.fails("ABORTED", "Session handle is not found", "no-such-session"):
            self.register(const("a", 1.0, device=WORKER), session="no-such-session")

    def test_a_master_that_creates_no_sessions(self):
        request = worker_pb2.RegisterGraphRequest(
            session_handle="of-an-old-master", graph_def=graph(const("a", 1.0, device=WORKER))
        )
        g = self.worker.call(request).graph_handle
        self.worker.call(
            worker_pb2.RunGraphRequest(
                session_handle="of-an-old-master", graph_handle=g, step_id=self.new_step()
            )
        )
        self.worker.call(worker_pb2.DeregisterGraphRequest(session_handle="of-an-old-master", graph_handle=g))

    def test_deregistering(self):
        g, other = self.double_and_square(), self.double_and_square()
        self.assertNotEqual(g, other)
        self.deregister(g)
        with self.fails("ABORTED", "Graph handle is not found", g):
            self.run_graph(g, sends={self.x: 1.0})
        with self.fails("ABORTED", "Graph handle is not found", g):
            self.deregister(g)
        self.run_graph(other, sends={self.x: 1.0})

    def deregister(self, handle):
        self.worker.call(
            worker_pb2.DeregisterGraphRequest(
                session_handle=self.session, graph_handle=handle, create_worker_session_called=True
            )
        )

    def test_what_runs_while_its_graph_is_deregistered_goes_on(self):
        go, done = key(WORKER, 1, WORKER, "go:0"), key(WORKER, self.incarnation, WORKER, "done:0")
        from_ps = key(PS, INCARNATION, WORKER, "edge_2_late")
        g = self.register(
            recv("go", "go:0", WORKER, 1, of_client=True),
            recv("late", "edge_2_late", PS, INCARNATION),
            node("done", "Add", "go", "late", device=WORKER, T=FLOAT),
            send("done/send", "done", "done:0", self.incarnation, WORKER, of_client=True),
        )
        step = self.new_step()
        run = self.start(g, step, {go: 1.0}, [done])
        late = peer.next("RecvTensor", step)
        self.assertEqual(late.request.rendezvous_key, from_ps)
        self.deregister(g)
        late.answer(worker_pb2.RecvTensorResponse(tensor=tensor(2.0)))
        self.assertEqual(value(run.result().recv[0].tensor), 3.0)

    def test_deleting_a_session_deletes_its_graphs(self):
        g = self.double_and_square()
        self.worker.call(worker_pb2.DeleteWorkerSessionRequest(session_handle=self.session))
        with self.fails("ABORTED", "Graph handle is not found"):
            self.run_graph(g, sends={self.x: 1.0})
        with self.fails("ABORTED", "Session handle is not found"):
            self.register(const("a", 1.0, device=WORKER))
        self.worker.call(worker_pb2.DeleteWorkerSessionRequest(session_handle=self.session))  # nothing to do

    def test_variables_live_until_their_container_is_cleared(self):
        graphs = {}
        for name, container in ("in_default", ""), ("in_box", "box"):
            var, initial, assign, read = variable(name, [], FLOAT, WORKER, initial=1.0, container=container)
            fetch = send(f"{name}/send", read.name, f"{name}:0", self.incarnation, WORKER, of_client=True)
            self.run_graph(self.register(var, initial, assign))
            graphs[name] = self.register(var, read, fetch)

        def read_variable(name):
            fetched = key(WORKER, self.incarnation, WORKER, f"{name}:0")
            return self.run_graph(graphs[name], recvs=[fetched])[fetched]

        self.assertEqual([read_variable(name) for name in graphs], [1.0, 1.0])
        self.worker.call(worker_pb2.CleanupAllRequest(container=["box"]))
        self.assertEqual(read_variable("in_default"), 1.0)
        with self.fails("FAILED_PRECONDITION", "Attempting to use uninitialized value in_box"):
            read_variable("in_box")
        self.worker.call(worker_pb2.CleanupAllRequest())
        with self.fails("FAILED_PRECONDITION", "Attempting to use uninitialized value in_default"):
            read_variable("in_default")

    def test_graphs_that_cannot_run_here(self):
        for code, words, nodes in (
            ("INVALID_ARGUMENT", ["elsewhere", PS], [const("elsewhere", 1.0, device=PS)]),
            ("NOT_FOUND", ["odd", "NobodysOp"], [node("odd", "NobodysOp", device=WORKER)]),
            ("INVALID_ARGUMENT", ["y", "nobody"], [node("y", "Abs", "nobody", device=WORKER, T=FLOAT)]),
            ("INVALID_ARGUMENT", ["x"], [node("x", "_Recv", device=WORKER, tensor_type=FLOAT)]),
        ):
            with self.fails(code, *words):
                self.register(*nodes)


class RecvTensorTest(WorkerTest):
    def test_another_incarnation(self):
        g, step = self.double_and_square(), self.new_step()
        self.run_graph(g, step, {self.x: 1.0})
        old = self.incarnation ^ 1
        recv = self.start_recv(step, key(WORKER, old, PS, "edge_3_square"))
        self.check_error(
            recv, "ABORTED", str(self.incarnation), str(old), "Your worker job", "was probably restarted"
        )

    def test_keys_that_name_no_device_of_the_task(self):
        for source in (
            PS,
            "/job:worker/replica:0/task:1/device:CPU:0",
            WORKER_TASK + "/device:GPU:0",
            WORKER + "0",
        ):
            call = self.start_recv(self.new_step(), key(source, self.incarnation, WORKER, "edge"))
            self.check_error(call, "INVALID_ARGUMENT", source)

    def test_keys_that_are_none(self):
        right = key(WORKER, self.incarnation, PS, "edge")
        for wrong in "", "edge", ";;;;", right + ";", right.removesuffix(";0:0"), right[1:], "\n" * 1000:
            with self.subTest(key=wrong[:80]):
                self.check_error(self.start_recv(self.new_step(), wrong), "INVALID_ARGUMENT")

    def test_waiting_ends_with_the_caller(self):
        step = self.new_step()
        g = self.double_and_square()
        self.check_error(self.start_recv(step, self.square, timeout=0.2), "DEADLINE_EXCEEDED")
        self.start_recv(step, self.square).cancel()
        self.run_graph(g, self.new_step(), {self.x: 1.0})


class PeerTest(WorkerTest):
    """What the worker asks another task for."""

    def sum_with_peer(self):
        self.total = key(WORKER, self.incarnation, WORKER, "total:0")
        return self.register(
            recv("theirs", "edge_7_theirs", PS, INCARNATION),
            const("ours", [1.0, 1.0], device=WORKER),
            node("total", "Add", "ours", "theirs", device=WORKER, T=FLOAT),
            send("total/send", "total", "total:0", self.incarnation, WORKER, of_client=True),
        )

    def begin(self):
        step = self.new_step()
        run = self.start(self.sum_with_peer(), step, recvs=[self.total])
        call = peer.next("RecvTensor", step)
        self.assertEqual(call.request.rendezvous_key, key(PS, INCARNATION, WORKER, "edge_7_theirs"))
        return run, call

    def test_a_tensor_in_any_form(self):
        for t, total in (
            (tensor([2.0, 3.0]), [3.0, 4.0]),
            (tensor_by_element([2.0, 3.0], [2], FLOAT), [3.0, 4.0]),
            (tensor_by_element([2.0], [2], FLOAT), [3.0, 3.0]),
        ):
            run, call = self.begin()
            call.answer(worker_pb2.RecvTensorResponse(tensor=t, send_start_micros=1))
            self.assertEqual(value(run.result().recv[0].tensor), total)

    def test_a_large_tensor(self):
        count = 3_000_000
        run, call = self.begin()
        content = tensor_pb2.TensorProto(dtype=FLOAT, tensor_content=b"\0\0\x80\x3f" * count)
        content.tensor_shape.dim.add(size=count // 2)
        content.tensor_shape.dim.add(size=2)
        call.answer(worker_pb2.RecvTensorResponse(tensor=content))
        self.assertTrue(run.result().recv[0].tensor.tensor_content == b"\0\0\0\x40" * count)

    def test_a_dead_tensor(self):
        run, call = self.begin()
        call.answer(worker_pb2.RecvTensorResponse(is_dead=True))
        self.check_error(run, "INTERNAL", "Failed to fetch outputs for step", "total:0", "was not valid")

    def test_the_error_of_a_peer_is_that_of_the_run(self):
        run, call = self.begin()
        call.fail("ABORTED", "RecvTensor expects a different device incarnation: 1 vs. 2.")
        self.check_error(run, "ABORTED", "1 vs. 2", "[[{{node theirs}}")

    def test_a_consequence_stays_one(self):
        run, call = self.begin()
        call.fail("CANCELLED", "[_Derived_]Step 5 is over")
        self.assertTrue(run.details().startswith("[_Derived_]"), run.details())
        self.assertEqual(run.details().count("[_Derived_]"), 1)

    def test_an_answer_that_is_no_tensor(self):
        run, call = self.begin()
        t = tensor([1.0, 2.0])
        t.tensor_content = b"123"
        call.answer(worker_pb2.RecvTensorResponse(tensor=t))
        self.assertIn(run.code().name, ("INVALID_ARGUMENT", "INTERNAL"))
        self.assertIn("/job:ps/task:0", run.details())

    def test_a_tensor_of_another_dtype(self):
        run, call = self.begin()
        call.answer(worker_pb2.RecvTensorResponse(tensor=tensor([1, 2])))
        self.assertIn(run.code().name, ("INVALID_ARGUMENT", "INTERNAL"))
        self.assertIn("theirs", run.details())

    def test_a_cancelled_run_asks_no_longer(self):
        run, call = self.begin()
        run.cancel()
        call.wait_for_end()

    def test_a_step_that_is_cleaned_up_asks_no_longer(self):
        run, call = self.begin()
        self.clean_up(call.request.step_id)
        call.wait_for_end()
        self.check_error(run, "ABORTED")

    def test_an_error_elsewhere_in_the_graph_ends_the_waiting(self):
        x = key(WORKER, 1, WORKER, "x:0")
        g = self.register(
            recv("x", "x:0", WORKER, 1, of_client=True),
            node("wrong", "MatMul", "x", "x", device=WORKER, T=FLOAT),
            recv("theirs", "edge_8_theirs", PS, INCARNATION),
            node("after", "Abs", "theirs", device=WORKER, T=FLOAT),
        )
        with self.fails("INVALID_ARGUMENT", "[1,2]"):
            self.run_graph(g, sends={x: [[1.0, 2.0]]})


if __name__ == "__main__":
    main()
