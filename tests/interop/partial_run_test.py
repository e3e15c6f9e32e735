# Partial runs: a step whose values are fed and fetched in several calls, over tasks, as TensorFlow's
# partial_run.
# labels: concurrent
# timeout: 180
from client import InteropTest, Session, named
from cluster import Cluster, main
from fake_worker import FakeWorker
from graphs import FLOAT, INT32, const, endless_loop, node, placeholder, tensor, value, variable
from protos import master_pb2, worker_pb2

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


def graph():
    """a on the worker, b and c on the parameter server; r1 = a + b, r2 = r1 * c."""
    return [
        placeholder("a", FLOAT, [], WORKER),
        placeholder("b", FLOAT, [], PS),
        placeholder("c", FLOAT, [], PS),
        node("r1", "Add", "a", "b", device=WORKER, T=FLOAT),
        node("r2", "Mul", "r1", "c", device=PS, T=FLOAT),
        node("count", "AssignAdd", "v", "c", device=PS, T=FLOAT),
        node("r3", "Neg", "b", device=PS, T=FLOAT),
        *variable("v", [], device=PS, initial=0.0),
        *endless_loop("loop", WORKER),
    ]


class PartialRun:
    def __init__(self, session, feeds=(), fetches=(), targets=(), **fields):
        self.session = session
        request = master_pb2.PartialRunSetupRequest(
            session_handle=session.handle, feed=feeds, fetch=fetches, target=targets, **fields
        )
        self.handle = session.master.call(request).partial_run_handle

    def start(self, fetches=(), feeds=None, **fields):
        return self.session.start(fetches, feeds, partial_run_handle=self.handle, **fields)

    def run(self, fetches=(), feeds=None, **fields):
        response = self.start(fetches, feeds, **fields).result()
        assert [t.name for t in response.tensor] == list(fetches)
        return [value(t.tensor) for t in response.tensor]


class PartialRunTest(InteropTest):
    def setUp(self):
        self.s = Session(cluster.master(), *graph())
        self.s.run(targets=["v/init"])

    def tearDown(self):
        self.s.close()

    def set_up(self, *args, **fields):
        return PartialRun(self.s, *args, **fields)

    def all(self):
        return self.set_up(["a:0", "b:0", "c:0"], ["r1:0", "r2:0"])


class CallsTest(PartialRunTest):
    def test_values_go_in_and_come_out_bit_by_bit(self):
        p = self.all()
        self.assertEqual(p.run(["r1:0"], {"a:0": 1.0, "b:0": 2.0}), [3.0])
        self.assertEqual(p.run(["r2:0"], {"c:0": 17.0}), [51.0])

    def test_feeding_alone_and_fetching_alone(self):
        p = self.all()
        for name in "abc":
            self.assertEqual(p.run([], {f"{name}:0": 2.0}), [])
        self.assertEqual(p.run(["r2:0"]), [8.0])
        self.assertEqual(p.run(["r1:0"]), [4.0])

    def test_what_was_computed_before_waits_to_be_fetched(self):
        p = self.all()
        self.assertEqual(p.run([], {"a:0": 1.0, "b:0": 2.0, "c:0": 3.0}), [])
        self.assertEqual(p.run(["r1:0", "r2:0"]), [3.0, 9.0])

    def test_all_in_one_call(self):
        self.assertEqual(self.all().run(["r2:0", "r1:0"], {"a:0": 1.0, "b:0": 2.0, "c:0": 3.0}), [9.0, 3.0])

    def test_many_at_once_each_with_its_own_values(self):
        runs = [self.all() for _ in range(20)]
        self.assertEqual([p.handle for p in runs], [str(i) for i in range(20)])
        for i, p in enumerate(runs):
            self.assertEqual(p.run(["r1:0"], {"a:0": float(i), "b:0": 1.0}), [i + 1.0])
        for i, p in reversed(list(enumerate(runs))):
            self.assertEqual(p.run(["r2:0"], {"c:0": 2.0}), [2 * i + 2.0])

    def test_the_last_call_waits_for_targets(self):
        p = self.set_up(["b:0", "c:0"], ["r3:0"], ["count"])
        self.assertEqual(p.run(["r3:0"], {"b:0": 1.0}), [-1.0])
        self.assertEqual(self.s.run("v:0"), 0.0)
        p.run([], {"c:0": 5.0})
        self.assertEqual(self.s.run("v:0"), 5.0)

    def test_a_whole_step_beside_it(self):
        p = self.all()
        p.run(["r1:0"], {"a:0": 1.0, "b:0": 2.0})
        self.assertEqual(self.s.run("r2:0", {"a:0": 1.0, "b:0": 1.0, "c:0": 1.0}), 2.0)
        self.assertEqual(p.run(["r2:0"], {"c:0": 2.0}), [6.0])

    def test_a_call_that_waits_for_what_another_feeds(self):
        self.s.extend(
            node(
                "q",
                "FIFOQueue",
                device=PS,
                component_types=[FLOAT],
                shapes=[],
                capacity=9,
                container="",
                shared_name="",
            ),
            node("put", "QueueEnqueue", "q", "c", device=PS, Tcomponents=[FLOAT], timeout_ms=-1),
            node("get", "QueueDequeue", "q", "^r3", device=PS, component_types=[FLOAT], timeout_ms=-1),
        )
        p = self.set_up(["b:0", "c:0"], ["get:0"], ["put"])
        get = p.start(["get:0"], {"b:0": 1.0})
        p.run([], {"c:0": 7.0})
        self.assertEqual(value(get.result().tensor[0].tensor), 7.0)


class ErrorTest(PartialRunTest):
    def test_what_was_not_set_up(self):
        p = self.set_up(["a:0", "b:0"], ["r1:0"])
        with self.fails("INVALID_ARGUMENT", "The feed c:0 was not specified in partial_run_setup."):
            p.run([], {"c:0": 1.0})
        with self.fails("INVALID_ARGUMENT", "The fetch r2:0 was not specified in partial_run_setup."):
            p.run(["r2:0"])
        self.assertEqual(p.run(["r1:0"], {"a:0": 1.0, "b:0": 2.0}), [3.0])

    def test_feeding_and_fetching_twice(self):
        p = self.all()
        p.run(["r1:0"], {"a:0": 1.0, "b:0": 2.0})
        with self.fails("INVALID_ARGUMENT", "The feed a:0 has already been fed."):
            p.run([], {"a:0": 1.0})
        with self.fails("INVALID_ARGUMENT", "The fetch r1:0 has already been fetched."):
            p.run(["r1:0"])
        with self.fails("INVALID_ARGUMENT", "The feed c:0 has already been fed."):
            p.run([], [("c:0", 1.0), ("c:0", 2.0)])
        self.assertEqual(p.run(["r2:0"], {"c:0": 2.0}), [6.0])

    def test_fetching_what_cannot_be_computed_yet(self):
        p = self.all()
        with self.fails(
            "INVALID_ARGUMENT", "Fetch c:0 can't be computed from the feeds that have been fed so far."
        ):
            p.run(["r2:0"], {"a:0": 1.0, "b:0": 2.0})
        self.assertEqual(p.run(["r1:0", "r2:0"], {"a:0": 1.0, "b:0": 2.0, "c:0": 3.0}), [3.0, 9.0])

    def test_calls_at_once(self):
        for _ in range(50):
            p = self.all()
            calls = [p.start([], {"c:0": 3.0}), p.start(["r1:0"], {"a:0": 1.0, "b:0": 2.0})]
            for call in calls:
                call.result()
            late = p.start(["r2:0"])
            self.assertEqual(value(late.result().tensor[0].tensor), 9.0)
            with self.fails("INVALID_ARGUMENT", "Must run PartialRunSetup"):
                p.run(["r2:0"])

    def test_a_handle_that_nobody_has(self):
        p = self.all()
        p.run(["r1:0", "r2:0"], {"a:0": 1.0, "b:0": 2.0, "c:0": 3.0})  # it is over then
        for p.handle in p.handle, "no such":
            with self.fails("INVALID_ARGUMENT", "Must run PartialRunSetup before performing partial runs"):
                p.run([], {})

    def test_a_signature_that_cannot_be_planned(self):
        with self.fails("NOT_FOUND", "FeedInputs: unable to find feed output nobody:0"):
            self.set_up(["nobody:0"], ["v:0"])
        with self.fails("NOT_FOUND", "FetchOutputs node nobody:0: not found"):
            self.set_up([], ["nobody:0"])
        with self.fails("NOT_FOUND", "Some target nodes not found: nobody"):
            self.set_up([], [], ["nobody"])
        with self.fails("INVALID_ARGUMENT", "Must specify at least one target to fetch or execute."):
            self.set_up(["a:0"])

    def test_the_same_setup_twice(self):
        self.set_up([], ["v:0"], request_id=8101)
        with self.fails("ABORTED", "PartialRunSetup request was received twice"):
            self.set_up([], ["v:0"], request_id=8101)

    def test_a_node_that_fails_ends_it(self):
        self.s.extend(
            placeholder("i", INT32, [], PS),
            const("one", 1, INT32, device=PS),
            node("div", "FloorDiv", "one", "i", device=PS, T=INT32),
            node("cast", "Cast", "div", device=WORKER, SrcT=INT32, DstT=FLOAT),
        )
        p = self.set_up(["i:0", "c:0"], ["cast:0"])
        with self.fails("INVALID_ARGUMENT", "div"):
            p.run(["cast:0"], {"i:0": tensor(0, INT32)})
        with self.fails("INVALID_ARGUMENT", "Must run PartialRunSetup"):
            p.run([], {"c:0": 1.0})

    def test_an_error_in_the_body(self):
        p = self.all()
        response = p.start([], {"x:0": 1.0}, store_errors_in_response_body=True).result()
        self.check_status(response, "INVALID_ARGUMENT", "The feed x:0 was not specified")


class EndTest(PartialRunTest):
    def begun(self):
        """A partial run that waits for c on both tasks."""
        p = self.set_up(["a:0", "b:0", "c:0"], ["r1:0", "r2:0", "loop/exit:0"])
        p.run(["r1:0"], {"a:0": 1.0, "b:0": 2.0})
        return p

    def test_closing_the_session_ends_it(self):
        p = self.begun()
        waiting = p.start(["loop/exit:0"])
        idle = self.all()
        idle.run(["r1:0"], {"a:0": 1.0, "b:0": 2.0})
        self.s.close()
        self.check_error(waiting, "CANCELLED", "Session has been closed")
        self.s = Session(cluster.master(), *graph())

    def test_cancelling_a_call_ends_it(self):
        with Cluster(ps=1, worker=1, absent=[("ps", 0), ("worker", 0)]) as mixed:
            peer = FakeWorker(mixed.address("ps"), "/job:ps/replica:0/task:0")
            mixed.start("worker")
            p = PartialRun(Session(mixed.master(), *graph()), ["b:0", "c:0"], ["r3:0"])
            waiting = p.start(["r3:0"], {"b:0": 1.0})
            run = peer.next("RunGraph")
            waiting.cancel()
            peer.next("CleanupGraph", run.request.step_id)
            run.wait_for_end()
            peer.stop()

    def test_the_timeout_of_a_call_ends_it(self):
        p = self.begun()
        self.check_error(p.start(["loop/exit:0"], options={"timeout_in_ms": 200}), "DEADLINE_EXCEEDED")
        with self.fails("INVALID_ARGUMENT", "Must run PartialRunSetup"):
            p.run([], {"c:0": 1.0})

    def test_a_server_with_open_partial_runs_stops(self):
        self.begun()
        self.all().run(["r1:0"], {"a:0": 1.0, "b:0": 2.0})
        for job in "ps", "worker":
            cluster.server(job).stop()
        for job in "ps", "worker":
            cluster.start(job)
        self.s = Session(cluster.master(), *graph())


class WireTest(InteropTest):
    """What a worker of TensorFlow gets from the master."""

    def test_each_call_is_a_run_graph(self):
        with Cluster(ps=1, worker=1, absent=[("ps", 0), ("worker", 0)]) as mixed:
            peer = FakeWorker(mixed.address("ps"), "/job:ps/replica:0/task:0")
            mixed.start("worker")
            s = Session(mixed.master(), *graph())
            p = PartialRun(s, ["b:0", "c:0"], ["r3:0"])
            first = p.start([], {"c:0": 1.0})
            run = peer.next("RunGraph")
            self.assertTrue(run.request.is_partial)
            self.assertFalse(run.request.is_last_partial_run)
            run.answer(worker_pb2.RunGraphResponse())
            first.result()
            last = p.start(["r3:0"], {"b:0": 3.0})
            again = peer.next("RunGraph")
            self.assertEqual(again.request.step_id, run.request.step_id)
            self.assertTrue(again.request.is_partial and again.request.is_last_partial_run)
            self.assertIn("b:0", again.request.send[0].name)
            again.answer(worker_pb2.RunGraphResponse(recv=[named(again.request.recv_key[0], -3.0)]))
            self.assertEqual(value(last.result().tensor[0].tensor), -3.0)
            peer.next("CleanupGraph", run.request.step_id)
            self.overlapping_calls(peer, s)
            # One that the session leaves open is cleaned up, too.
            p = PartialRun(s, ["b:0", "c:0"], ["r3:0"])
            first = p.start([], {"c:0": 1.0})
            run = peer.next("RunGraph")
            run.answer(worker_pb2.RunGraphResponse())
            first.result()
            s.close()
            peer.next("CleanupGraph", run.request.step_id)
            peer.stop()

    def overlapping_calls(self, peer, s):
        """The step ends with the call that ends last, whichever began last."""
        for late_is_first in True, False:
            p = PartialRun(s, ["b:0", "c:0"], ["r3:0"])
            first = p.start(["r3:0"], {"b:0": 3.0})
            one = peer.next("RunGraph")
            second = p.start([], {"c:0": 1.0})
            two = peer.next("RunGraph")
            for run in one, two:
                self.assertTrue(run.request.is_partial)
                self.assertFalse(run.request.is_last_partial_run)
            value_of = worker_pb2.RunGraphResponse(recv=[named(one.request.recv_key[0], -3.0)])
            if late_is_first:
                two.answer(worker_pb2.RunGraphResponse())
                second.result()
                one.answer(value_of)
            else:
                one.answer(value_of)
                first.result()
                two.answer(worker_pb2.RunGraphResponse())
            end = peer.next("RunGraph")
            self.assertTrue(end.request.is_partial and end.request.is_last_partial_run)
            self.assertEqual((len(end.request.send), len(end.request.recv_key)), (0, 0))
            end.answer(worker_pb2.RunGraphResponse())
            self.assertEqual(value(first.result().tensor[0].tensor), -3.0)
            second.result()
            peer.next("CleanupGraph", one.request.step_id)
            with self.fails("INVALID_ARGUMENT", "Must run PartialRunSetup"):
                p.run([], {"c:0": 1.0})


if __name__ == "__main__":
    main()
