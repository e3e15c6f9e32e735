# Steps over a cluster in which the test plays a task that computes: tensors go both ways. And the test as the
# master of two tasks of Braid that exchange tensors. Tasks fail, hang, vanish, come back as others, and
# answer late or twice.
# labels: concurrent
# timeout: 180
import random
import threading

from client import InteropTest, Session, named, worker_service
from cluster import Cluster, main
from fake_worker import INCARNATION, FakeWorker
from graphs import FLOAT, const, graph, node, placeholder, tensor, value
from protos import device_attributes_pb2, worker_pb2

PS_TASK, WORKER_TASK = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
PS, WORKER = PS_TASK + "/device:CPU:0", WORKER_TASK + "/device:CPU:0"


def rendezvous_key(source, incarnation, target, edge):
    return f"{source};{incarnation:016x};{target};{edge};0:0"


class Negator(FakeWorker):
    """A task whose nodes are all Neg. It computes its part of each step in a thread, as a worker of TensorFlow does."""

    def __init__(self, address, master_address, incarnation=INCARNATION):
        self.graphs = {}
        self.incarnation = incarnation
        self.master = worker_service(master_address)
        super().__init__(address, PS_TASK)

    def get_status(self):
        device = device_attributes_pb2.DeviceAttributes(
            name=self.device, device_type="CPU", incarnation=self.incarnation, memory_limit=1 << 28
        )
        return worker_pb2.GetStatusResponse(device_attributes=[device])

    def serve(self, method, request, context):
        if method == "RegisterGraph":
            handle = f"graph-{len(self.graphs)}"
            self.graphs[handle] = request.graph_def
            return worker_pb2.RegisterGraphResponse(graph_handle=handle)
        return super().serve(method, request, context)

    def compute(self, run, deadness=()):
        """Answers a RunGraph, with the RecvTensors that it needs; gives dead tensors for the edges in `deadness`."""
        values = {s.name: value(s.tensor) for s in run.request.send}
        nodes = {n.name: n for n in self.graphs[run.request.graph_handle].node}

        def result_of(name):
            n = nodes[name.split(":")[0]]
            return -result_of(n.input[0]) if n.op == "Neg" else self.receive(n, values, run.request.step_id)

        response = worker_pb2.RunGraphResponse()
        results = {}
        for n in nodes.values():
            if n.op != "_Send":
                continue
            if n.input[0] not in results:
                results[n.input[0]] = result_of(n.input[0])
            edge, result = n.attr["tensor_name"].s.decode(), results[n.input[0]]
            if n.attr["client_terminated"].b:
                k = rendezvous_key(PS, self.incarnation, PS, edge)
                response.recv.add().CopyFrom(named(k, result))
            else:
                call = self.next("RecvTensor", run.request.step_id)
                is_dead = any(d in n.input[0] for d in deadness)
                call.answer(
                    worker_pb2.RecvTensorResponse(tensor=None if is_dead else tensor(result), is_dead=is_dead)
                )
        run.answer(response)

    def receive(self, n, values, step):
        edge, source = n.attr["tensor_name"].s.decode(), n.attr["send_device"].s.decode()
        k = rendezvous_key(source, n.attr["send_device_incarnation"].i % (1 << 64), PS, edge)
        if k in values:
            return values[k]
        response = self.master.call(
            worker_pb2.RecvTensorRequest(step_id=step, rendezvous_key=k, request_id=random.getrandbits(62))
        )
        assert not response.is_dead
        return value(response.tensor)

    def stop(self):
        super().stop()
        self.master.close()


class UnderAMasterTest(InteropTest):
    def setUp(self):
        self.cluster = Cluster(ps=1, worker=1, absent=[("ps", 0), ("worker", 0)])
        self.start_peer()
        self.cluster.start("worker")
        self.session = self.new_session()

    def tearDown(self):
        self.peer.stop()
        self.cluster.stop()

    def start_peer(self, incarnation=INCARNATION):
        self.peer = Negator(self.cluster.address("ps"), self.cluster.address("worker"), incarnation)

    def new_session(self):
        """x is fed on the worker; y = -(x * x) on the parameter server, z = y + x on the worker."""
        return Session(
            self.cluster.master(),
            placeholder("x", FLOAT, [], WORKER),
            node("square", "Mul", "x", "x", device=WORKER, T=FLOAT),
            node("y", "Neg", "square", device=PS, T=FLOAT),
            node("z", "Add", "y", "x", device=WORKER, T=FLOAT),
            node("alone", "Neg", "x", device=WORKER, T=FLOAT),
        )

    def begin(self, x, fetches=("z:0", "y:0"), **fields):
        step = self.session.start(list(fetches), {"x:0": x}, **fields)
        return step, self.peer.next("RunGraph")

    def check_good(self, x=3.0):
        step, run = self.begin(x)
        self.peer.compute(run)
        self.assertEqual([value(t.tensor) for t in step.result().tensor], [x - x * x, -x * x])

    def test_tensors_go_both_ways(self):
        for i in range(20):
            self.check_good(float(i))

    def test_many_steps_at_once(self):
        begun = [self.session.start(["z:0"], {"x:0": float(i)}) for i in range(8)]
        runs = [self.peer.next("RunGraph") for _ in begun]
        threads = [threading.Thread(target=self.peer.compute, args=[run]) for run in runs]
        for t in threads:
            t.start()
        for i, step in enumerate(begun):
            self.assertEqual(value(step.result().tensor[0].tensor), float(i - i * i))
        for t in threads:
            t.join()

    def test_a_dead_tensor_reaches_what_takes_it(self):
        step, run = self.begin(3.0, ["z:0"])
        self.peer.compute(run, deadness=["y"])
        self.check_error(step, "INTERNAL", "Failed to fetch outputs for step", "z:0", "was not valid")
        self.check_good()

    def test_a_task_that_fails(self):
        step, run = self.begin(3.0)
        run.fail("DATA_LOSS", "the numbers are gone [[{{node y}}]]")
        self.check_error(step, "DATA_LOSS", "the numbers are gone")
        self.peer.next("CleanupGraph", run.request.step_id)
        self.check_good()

    def test_a_task_that_hangs_and_answers_late(self):
        step, run, _ = self.peer.next_of(
            "RunGraph",
            lambda ms: self.session.start(["z:0", "y:0"], {"x:0": 3.0}, options={"timeout_in_ms": ms}),
        )
        self.check_error(step, "DEADLINE_EXCEEDED", "/job:ps/task:0")
        run.answer(worker_pb2.RunGraphResponse())  # to nobody
        with self.fails("ABORTED", str(run.request.step_id)):  # and asks for what the step had sent
            n = next(n for n in self.peer.graphs[run.request.graph_handle].node if n.op == "_Recv")
            self.peer.receive(n, {}, run.request.step_id)
        self.check_good()

    def test_a_task_that_asks_twice(self):
        step, run = self.begin(3.0)
        n = next(n for n in self.peer.graphs[run.request.graph_handle].node if n.op == "_Recv")
        request = worker_pb2.RecvTensorRequest(
            step_id=run.request.step_id,
            request_id=random.getrandbits(62),
            rendezvous_key=rendezvous_key(
                WORKER, n.attr["send_device_incarnation"].i % (1 << 64), PS, n.attr["tensor_name"].s.decode()
            ),
        )
        self.assertEqual(value(self.peer.master.call(request).tensor), 9.0)
        with self.fails("ABORTED", str(request.request_id)):
            self.peer.master.call(request)
        run.fail("UNAVAILABLE", "lost the first answer")
        self.check_error(step, "UNAVAILABLE", "lost the first answer")
        self.check_good()

    def test_a_task_that_vanishes_in_a_step(self):
        step, _ = self.begin(3.0)
        self.peer.stop()
        self.check_error(step, "UNAVAILABLE", "/job:ps/task:0", self.cluster.address("ps"))
        self.assertEqual(self.session.run("alone:0", {"x:0": 1.0}), -1.0)  # does without it
        self.start_peer(INCARNATION + 1)
        self.session = self.new_session()
        self.check_good()

    def test_a_task_that_comes_back_as_another(self):
        self.check_good()
        self.peer.stop()
        self.start_peer(INCARNATION + 1)
        step, run = self.begin(3.0)
        run.fail("ABORTED", "Graph handle is not found: graph-0. Possibly, this worker just restarted.")
        self.check_error(step, "ABORTED", "Graph handle is not found")
        self.session = self.new_session()
        self.check_good()


class AsTheMasterTest(InteropTest):
    """Two tasks of Braid; the test runs their steps as a master of TensorFlow would."""

    def setUp(self):
        self.cluster = Cluster(ps=1, worker=1)
        self.tasks = {PS: self.cluster.worker("ps"), WORKER: self.cluster.worker("worker")}
        self.session = f"session-{random.randrange(1 << 32)}"
        self.incarnation = {}
        for device, task in self.tasks.items():
            status = task.call(worker_pb2.GetStatusRequest())
            self.incarnation[device] = status.device_attributes[0].incarnation
            task.call(worker_pb2.CreateWorkerSessionRequest(session_handle=self.session))

    def tearDown(self):
        for task in self.tasks.values():
            task.call(worker_pb2.DeleteWorkerSessionRequest(session_handle=self.session))
        self.cluster.stop()

    def edge(self, op, name, tensor_name, source, target, *inputs, of_client=False):
        incarnation = self.incarnation[source]
        attrs = {"tensor_type" if op == "_Recv" else "T": FLOAT}
        return node(
            name,
            op,
            *inputs,
            device=target if op == "_Recv" else source,
            tensor_name=tensor_name,
            send_device=source,
            recv_device=target,
            client_terminated=of_client,
            send_device_incarnation=incarnation - (1 << 64) if incarnation >> 63 else incarnation,
            **attrs,
        )

    def register(self):
        """x goes from the client to the worker, x * x to the parameter server, -(x * x) back, and its inverse to the client."""
        graphs = {
            WORKER: graph(
                self.edge("_Recv", "x", "x:0", WORKER, WORKER, of_client=True),
                node("square", "Mul", "x", "x", device=WORKER, T=FLOAT),
                self.edge("_Send", "square/send", "edge_1_square", WORKER, PS, "square"),
                self.edge("_Recv", "back", "edge_2_y", PS, WORKER),
                node("z", "Inv", "back", device=WORKER, T=FLOAT),
                self.edge("_Send", "z/send", "z:0", WORKER, WORKER, "z", of_client=True),
            ),
            PS: graph(
                self.edge("_Recv", "there", "edge_1_square", WORKER, PS),
                node("y", "Neg", "there", device=PS, T=FLOAT),
                const("one", 1.0, device=PS),
                node("check", "CheckNumerics", "y", device=PS, T=FLOAT, message="not finite"),
                self.edge("_Send", "y/send", "edge_2_y", PS, WORKER, "check"),
            ),
        }
        return {
            device: task.call(
                worker_pb2.RegisterGraphRequest(
                    session_handle=self.session, create_worker_session_called=True, graph_def=graphs[device]
                )
            ).graph_handle
            for device, task in self.tasks.items()
        }

    def start(self, device, handle, step, x=None):
        z = rendezvous_key(WORKER, self.incarnation[WORKER], WORKER, "z:0")
        fed = rendezvous_key(WORKER, self.incarnation[WORKER], WORKER, "x:0")
        return self.tasks[device].start(
            worker_pb2.RunGraphRequest(
                session_handle=self.session,
                graph_handle=handle,
                create_worker_session_called=True,
                step_id=step,
                send=[] if x is None else [named(fed, x)],
                recv_key=[] if x is None else [z],
                request_id=random.getrandbits(62),
                store_errors_in_response_body=True,
            )
        )

    def run_step(self, handles, x, order):
        step = random.getrandbits(62)
        runs = {
            device: self.start(device, handles[device], step, x if device == WORKER else None)
            for device in order
        }
        return step, runs

    def clean_up(self, step):
        for task in self.tasks.values():
            task.call(worker_pb2.CleanupGraphRequest(step_id=step))

    def test_tensors_go_both_ways(self):
        handles = self.register()
        for i in range(1, 21):
            step, runs = self.run_step(handles, float(i), [PS, WORKER] if i % 2 else [WORKER, PS])
            responses = {device: run.result() for device, run in runs.items()}
            self.assertEqual([r.status_code for r in responses.values()], [0, 0])
            self.assertAlmostEqual(value(responses[WORKER].recv[0].tensor), -1 / (i * i), places=6)
            self.clean_up(step)

    def test_a_task_that_fails_ends_the_wait_of_the_other(self):
        handles = self.register()
        step, runs = self.run_step(handles, float("inf"), [WORKER, PS])
        self.check_status(runs[PS].result(), "INVALID_ARGUMENT", "not finite", "[[{{node check}}]]")
        waits = runs[WORKER].result()  # by the answer to its RecvTensor
        self.assertNotEqual(waits.status_code, 0)
        self.assertIn("not finite", waits.status_error_message)
        self.assertTrue(waits.status_error_message.startswith("[_Derived_]"))
        self.clean_up(step)
        _, runs = self.run_step(handles, 2.0, [WORKER, PS])
        self.assertEqual(value(runs[WORKER].result().recv[0].tensor), -0.25)

    def test_one_part_alone_waits_until_it_is_cleaned_up(self):
        handles = self.register()
        step = random.getrandbits(62)
        run = self.start(WORKER, handles[WORKER], step, 2.0)
        self.clean_up(step)
        self.assertNotEqual(run.result().status_code, 0)

    def test_a_step_runs_once_a_task_whatever_comes_twice(self):
        handles = self.register()
        step, runs = self.run_step(handles, 2.0, [WORKER, PS])
        for run in runs.values():
            run.result()
        again = self.start(PS, handles[PS], step).result()
        self.check_status(again, "ABORTED", str(step))
        self.clean_up(step)


if __name__ == "__main__":
    main()
