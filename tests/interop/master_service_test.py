# What a TensorFlow worker gets from a Braid master: the test is one of the tasks, and the client.
# labels: concurrent
# timeout: 120
import queue

from client import InteropTest, Session, named
from cluster import Cluster, main
from fake_worker import INCARNATION, FakeWorker
from graphs import FLOAT, const, endless_loop, node, placeholder, tensor, tensor_by_element, value
from protos import config_pb2, grpc, master_pb2, tensor_pb2, worker_pb2

PS_TASK, WORKER_TASK = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
PS, WORKER = PS_TASK + "/device:CPU:0", WORKER_TASK + "/device:CPU:0"


def setUpModule():
    global cluster, peer
    cluster = Cluster(ps=1, worker=1, absent=[("ps", 0), ("worker", 0)])
    peer = FakeWorker(cluster.address("ps"), PS_TASK)
    cluster.start("worker")


def tearDownModule():
    cluster.stop()
    peer.stop()


class MasterTest(InteropTest):
    def setUp(self):
        self.answers, peer.answers = peer.answers, dict(peer.answers)
        peer.calls.clear()
        self.session = Session(
            cluster.master(),
            placeholder("x", FLOAT, [], PS),
            node("y", "Square", "x", device=PS, T=FLOAT),
            node("z", "Neg", "y", device=WORKER, T=FLOAT),
            *endless_loop("loop", WORKER),
        )
        status = cluster.worker().call(worker_pb2.GetStatusRequest())
        self.incarnation = status.device_attributes[0].incarnation

    def tearDown(self):
        peer.answers = self.answers

    def key(self, source, target, edge):
        incarnation = INCARNATION if source == PS else self.incarnation
        return f"{source};{incarnation:016x};{target};{edge};0:0"

    def begin(self, fetches=("y:0",), **fields):
        """A step that feeds x = 3; the RunGraph that the peer gets of it, not answered yet."""
        step = self.session.start(list(fetches), {"x:0": 3.0}, **fields)
        return step, peer.next("RunGraph")

    def start_for(self, ms):
        """Begins a step that has so many milliseconds."""
        return self.session.start(["y:0"], {"x:0": 3.0}, options={"timeout_in_ms": ms})

    def reply(self, run, v):
        (wanted,) = run.request.recv_key
        run.answer(worker_pb2.RunGraphResponse(recv=[named(wanted, v)]))


class ProtocolTest(MasterTest):
    def test_a_session_is_told_to_its_tasks(self):
        self.assertEqual(peer.next("CreateWorkerSession").request.session_handle, self.session.handle)
        self.session.close()
        self.assertEqual(peer.next("DeleteWorkerSession").request.session_handle, self.session.handle)

    def test_the_graph_that_a_task_gets(self):
        step, run = self.begin()
        self.reply(run, 9.0)
        step.result()
        request = peer.next("RegisterGraph").request
        self.assertEqual(request.session_handle, self.session.handle)
        self.assertTrue(request.create_worker_session_called)
        nodes = {n.op: n for n in request.graph_def.node}
        self.assertEqual(sorted(nodes), ["Square", "_Recv", "_Send"])
        for n in nodes.values():
            self.assertEqual(n.device, PS)
        self.assertEqual(nodes["Square"].input, [nodes["_Recv"].name])
        self.assertEqual(nodes["Square"].name, "y")
        self.assertEqual(nodes["_Send"].input, ["y"])
        for op, dtype, source, target, edge, incarnation in (
            ("_Recv", "tensor_type", PS, PS, b"x:0", INCARNATION),
            ("_Send", "T", PS, PS, b"y:0", INCARNATION),
        ):
            attr = nodes[op].attr
            self.assertEqual(attr[dtype].type, FLOAT)
            self.assertEqual(attr["tensor_name"].s, edge)
            self.assertEqual(attr["send_device"].s.decode(), source)
            self.assertEqual(attr["recv_device"].s.decode(), target)
            self.assertEqual(attr["send_device_incarnation"].i % (1 << 64), incarnation)
            self.assertTrue(attr["client_terminated"].b)

    def test_the_run_that_a_task_gets(self):
        step, run = self.begin()
        request = run.request
        self.assertEqual((request.session_handle, request.graph_handle), (self.session.handle, "graph-1"))
        self.assertTrue(request.create_worker_session_called)
        self.assertEqual([s.name for s in request.send], [self.key(PS, PS, "x:0")])
        self.assertEqual(value(request.send[0].tensor), 3.0)
        self.assertEqual(list(request.recv_key), [self.key(PS, PS, "y:0")])
        self.assertGreater(request.step_id, 0)
        self.assertLess(request.step_id, 1 << 62)
        self.reply(run, 9.0)
        self.assertEqual(value(step.result().tensor[0].tensor), 9.0)
        peer.next("CleanupGraph", request.step_id)

    def test_an_edge_between_tasks(self):
        step, run = self.begin(["z:0"])
        sends = [n for n in peer.next("RegisterGraph").request.graph_def.node if n.op == "_Send"]
        self.assertEqual([s.attr["client_terminated"].b for s in sends], [False])
        edge = sends[0].attr["tensor_name"].s.decode()
        recv = peer.next("RecvTensor", run.request.step_id)
        self.assertEqual(recv.request.rendezvous_key, self.key(PS, WORKER, edge))
        recv.answer(worker_pb2.RecvTensorResponse(tensor=tensor(9.0)))
        run.answer(worker_pb2.RunGraphResponse())
        self.assertEqual(value(step.result().tensor[0].tensor), -9.0)

    def test_a_graph_is_registered_once_and_every_step_has_its_own_id(self):
        ids = set()
        for _ in range(3):
            step, run = self.begin()
            ids.add(run.request.step_id)
            self.reply(run, 9.0)
            step.result()
        self.assertEqual(len(ids), 3)
        peer.next("RegisterGraph")
        with self.assertRaises(queue.Empty):
            peer.queue("RegisterGraph", None).get_nowait()

    def test_a_trace_is_put_together_from_all_tasks(self):
        step, run = self.begin(
            options={"trace_level": config_pb2.RunOptions.FULL_TRACE, "output_partition_graphs": True}
        )
        self.assertTrue(run.request.exec_opts.record_timeline)
        self.assertTrue(run.request.exec_opts.record_partition_graphs)
        response = worker_pb2.RunGraphResponse(recv=[named(run.request.recv_key[0], 9.0)])
        response.step_stats.dev_stats.add(device=PS).node_stats.add(node_name="of the peer")
        response.partition_graph.add().node.add(name="of the peer", op="NoOp")
        run.answer(response)
        metadata = step.result().metadata
        stats = {d.device: [n.node_name for n in d.node_stats] for d in metadata.step_stats.dev_stats}
        self.assertEqual(stats[PS], ["of the peer"])
        self.assertIn(["of the peer"], [[n.name for n in g.node] for g in metadata.partition_graphs])

    def test_values_in_any_form_and_order(self):
        self.session.extend(node("u", "Neg", "x", device=PS, T=FLOAT))
        step = self.session.start(["y:0", "u:0"], {"x:0": 3.0})
        run = peer.next("RunGraph")
        u_key, y_key = sorted(run.request.recv_key, key=lambda k: "y:0" in k)
        run.answer(
            worker_pb2.RunGraphResponse(
                recv=[
                    named(u_key, tensor_by_element([-3.0], [], FLOAT)),
                    named(y_key, tensor_by_element([9.0], [2, 2], FLOAT)),
                ]
            )
        )
        self.assertEqual([value(t.tensor) for t in step.result().tensor], [[[9.0] * 2] * 2, -3.0])

    def test_reset_clears_the_containers_of_all_tasks(self):
        cluster.master().call(master_pb2.ResetRequest(container=["a", "b"]))
        self.assertEqual(list(peer.next("CleanupAll").request.container), ["a", "b"])

    def test_whose_answer_is_long_in_coming_is_logged(self):
        with Cluster(
            ps=1, worker=1, absent=[("ps", 0), ("worker", 0)], options=["--session-timeout", "4"]
        ) as slow:
            silent = FakeWorker(slow.address("ps"), PS_TASK)
            del silent.answers["CleanupAll"]
            slow.start("worker")
            with self.fails("DEADLINE_EXCEEDED", "Reset waited ", " s for /job:ps/task:0"):
                slow.master().call(master_pb2.ResetRequest())
            self.assertIn(
                "Reset still waits for the answer of /job:ps/task:0 at", slow.server("worker").log()
            )
            silent.stop()

    def test_devices_of_the_peer(self):
        devices = cluster.master().call(master_pb2.ListDevicesRequest(session_handle=self.session.handle))
        (d,) = devices.remote_device
        self.assertEqual((d.name, d.device_type), (PS, "CPU"))
        self.assertEqual((d.incarnation, d.memory_limit), (INCARNATION, 1 << 28))


class FailureTest(MasterTest):
    def test_the_error_of_a_task_is_that_of_the_step(self):
        for code, words in ("ABORTED", "Graph handle is not found"), ("DATA_LOSS", "bad"), ("UNKNOWN", "?"):
            step, run = self.begin()
            run.fail(code, words)
            self.check_error(step, code, words)

    def test_an_error_in_the_body_of_a_response(self):
        step, run = self.begin()
        run.answer(
            worker_pb2.RunGraphResponse(
                status_code=grpc.StatusCode.OUT_OF_RANGE.value[0], status_error_message="no more"
            )
        )
        self.check_error(step, "OUT_OF_RANGE", "no more")

    def test_a_consequence_does_not_hide_the_root_cause(self):
        step = self.session.start(["z:0", "y:0"], {"x:0": 3.0})
        run = peer.next("RunGraph")
        recv = peer.next("RecvTensor", run.request.step_id)
        recv.fail("ABORTED", "[_Derived_]the step was aborted")  # first; the worker's part ends with it
        run.fail("INVALID_ARGUMENT", "division by the moon [[{{node y}}]]")
        self.check_error(step, "INVALID_ARGUMENT", "division by the moon")

    def test_a_consequence_alone_loses_its_mark(self):
        step, run = self.begin()
        run.fail("ABORTED", "[_Derived_]the step was aborted")
        self.check_error(step, "ABORTED", "the step was aborted")
        self.assertNotIn("[_Derived_]", step.details())

    def test_an_error_of_one_task_cancels_the_other(self):
        step = self.session.start(["y:0", "loop/exit:0"], {"x:0": 3.0})
        run = peer.next("RunGraph")
        run.fail("INVALID_ARGUMENT", "wrong")
        self.check_error(step, "INVALID_ARGUMENT", "wrong")  # the endless loop has ended
        peer.next("CleanupGraph", run.request.step_id)

    def test_cancelling_reaches_the_tasks(self):
        step, run = self.begin()
        step.cancel()
        run.wait_for_end()
        peer.next("CleanupGraph", run.request.step_id)

    def test_the_deadline_of_the_client_reaches_the_tasks(self):
        _, run, _ = peer.next_of(
            "RunGraph", lambda ms: self.session.start(["y:0"], {"x:0": 3.0}, timeout=ms / 1000)
        )
        run.wait_for_end()

    def test_closing_the_session_reaches_the_tasks(self):
        step, run = self.begin()
        self.session.close()
        run.wait_for_end()
        self.check_error(step, "CANCELLED", "Session has been closed")

    def test_a_timeout_names_the_task_that_is_late(self):
        step, run = self.begin()
        self.reply(run, 9.0)
        step.result()  # what takes long the first time has been done
        step, run, _ = peer.next_of("RunGraph", self.start_for)
        run.wait_for_end()
        self.check_error(step, "DEADLINE_EXCEEDED", "/job:ps/task:0")

    def test_values_that_do_not_come(self):
        step, run = self.begin()
        run.answer(worker_pb2.RunGraphResponse())
        self.assertIn("y:0", step.details())
        step, run = self.begin()
        run.answer(worker_pb2.RunGraphResponse(recv=[named("another", 9.0)]))
        self.assertIn("y:0", step.details())

    def test_values_that_are_no_tensors(self):
        step, run = self.begin()
        wrong = tensor_pb2.TensorProto(dtype=FLOAT, tensor_content=b"123")
        run.answer(worker_pb2.RunGraphResponse(recv=[named(run.request.recv_key[0], wrong)]))
        self.assertIn(step.code().name, ("INTERNAL", "INVALID_ARGUMENT"))
        self.assertIn(PS_TASK, step.details())

    def test_a_graph_that_a_task_refuses(self):
        peer.answers.pop("RegisterGraph")
        step = self.session.start(["y:0"], {"x:0": 3.0})
        peer.next("RegisterGraph").fail("NOT_FOUND", "Op type not registered 'Square'")
        self.check_error(step, "NOT_FOUND", "Op type not registered 'Square'")
        step = self.session.start(["y:0"], {"x:0": 3.0})  # asked again: a failure is not kept
        peer.next("RegisterGraph").answer(worker_pb2.RegisterGraphResponse(graph_handle="graph-2"))
        run = peer.next("RunGraph")
        self.assertEqual(run.request.graph_handle, "graph-2")
        self.reply(run, 9.0)
        step.result()

    def test_closing_the_session_ends_the_registering_of_graphs(self):
        peer.answers.pop("RegisterGraph")
        step = self.session.start(["y:0"], {"x:0": 3.0})
        register = peer.next("RegisterGraph")
        self.session.close()
        register.wait_for_end()
        self.check_error(step, "CANCELLED", "Session has been closed")

    def test_the_timeout_of_a_step_counts_while_its_graph_is_registered(self):
        peer.answers.pop("RegisterGraph")
        step, register, ms = peer.next_of("RegisterGraph", self.start_for)
        register.wait_for_end()
        self.check_error(
            step, "DEADLINE_EXCEEDED", f"longer than {ms} ms", "/job:ps/task:0 at ", "has not registered"
        )
        self.check_registers("graph-2")

    def test_cancelling_ends_the_registering_of_a_graph(self):
        peer.answers.pop("RegisterGraph")
        step = self.session.start(["y:0"], {"x:0": 3.0})
        register = peer.next("RegisterGraph")
        step.cancel()
        register.wait_for_end()
        self.check_registers("graph-2")

    def check_registers(self, handle):
        """The step is asked for again, and its graph is registered."""
        step = self.session.start(["y:0"], {"x:0": 3.0})
        peer.next("RegisterGraph").answer(worker_pb2.RegisterGraphResponse(graph_handle=handle))
        run = peer.next("RunGraph")
        self.assertEqual(run.request.graph_handle, handle)
        self.reply(run, 9.0)
        step.result()

    def test_who_waits_for_the_graph_of_another_step_has_its_own_timeout(self):
        peer.answers.pop("RegisterGraph")
        first = self.session.start(["y:0"], {"x:0": 3.0})
        register = peer.next("RegisterGraph")
        second = self.session.start(["y:0"], {"x:0": 3.0}, options={"timeout_in_ms": 300})
        self.check_error(second, "DEADLINE_EXCEEDED", "longer than 300 ms")
        register.answer(worker_pb2.RegisterGraphResponse(graph_handle="graph-1"))
        self.reply(peer.next("RunGraph"), 9.0)
        first.result()

    def test_who_waits_for_the_graph_of_a_step_that_is_cancelled_registers_it(self):
        peer.answers.pop("RegisterGraph")
        first = self.session.start(["y:0"], {"x:0": 3.0})
        register = peer.next("RegisterGraph")
        second = self.session.start(["y:0"], {"x:0": 3.0})
        first.cancel()
        register.wait_for_end()
        peer.next("RegisterGraph").answer(worker_pb2.RegisterGraphResponse(graph_handle="graph-2"))
        self.reply(peer.next("RunGraph"), 9.0)
        second.result()

    def test_the_timeout_of_a_step_counts_while_others_keep_the_master_busy(self):
        peer.answers.pop("RegisterGraph")
        busy = [self.session.start(["y:0"], {"x:0": 3.0}) for i in range(12)]
        step = self.session.start(["x:0"], {"x:0": 3.0}, options={"timeout_in_ms": 300})
        self.check_error(step, "DEADLINE_EXCEEDED", "longer than 300 ms")
        self.session.close()
        for b in busy:
            self.check_error(b, "CANCELLED", "Session has been closed")

    def test_a_server_that_stops_does_not_wait_for_a_task_that_hangs_in_register_graph(self):
        peer.answers.pop("RegisterGraph")
        self.check_stop("RegisterGraph")

    def test_a_server_that_stops_does_not_wait_for_a_task_that_hangs_in_run_graph(self):
        self.check_stop("RunGraph")

    def check_stop(self, hangs_in):
        step = self.session.start(["y:0"], {"x:0": 3.0})
        peer.next(hangs_in)
        cluster.server("worker").stop()  # one that waited would be ended after some seconds, with an error
        self.check_error(step, "ABORTED", "is stopping")
        cluster.start("worker")
        cluster.master().call(master_pb2.ListDevicesRequest(), wait_for_ready=True)

    def test_a_task_that_refuses_the_session(self):
        peer.answers.pop("CreateWorkerSession")
        create = cluster.master().start(master_pb2.CreateSessionRequest())
        peer.queue("CreateWorkerSession", None).get()  # of setUp
        peer.next("CreateWorkerSession").fail("RESOURCE_EXHAUSTED", "too many")
        self.check_error(create, "RESOURCE_EXHAUSTED", "too many")

    def test_a_server_that_is_another_task(self):
        status = peer.get_status()
        status.device_attributes[0].name = "/job:ps/replica:0/task:1/device:CPU:0"
        peer.answers["GetStatus"] = lambda: status
        address = cluster.address("ps")
        with self.fails("INVALID_ARGUMENT", "/job:ps/task:0", "/job:ps/replica:0/task:1", address):
            Session(cluster.master())

    def test_a_task_without_devices(self):
        peer.answers["GetStatus"] = worker_pb2.GetStatusResponse
        with self.fails("INTERNAL", "/job:ps/task:0"):
            Session(cluster.master())


if __name__ == "__main__":
    main()
