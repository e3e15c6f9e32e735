# Callables: a signature that is planned once and run by number, as TensorFlow's MakeCallable, RunCallable,
# ReleaseCallable.
# labels: concurrent
# timeout: 120
from client import InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, const, endless_loop, node, placeholder, tensor, value, variable
from protos import config_pb2, master_pb2

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


class CallableTest(InteropTest):
    def setUp(self):
        self.master = cluster.master()
        self.s = Session(
            self.master,
            placeholder("x", FLOAT, [], WORKER),
            placeholder("y", FLOAT, [], PS),
            node("sum", "Add", "x", "y", device=PS, T=FLOAT),
            node("square", "Square", "sum", device=WORKER, T=FLOAT),
            node("neg", "Neg", "x", device=PS, T=FLOAT),
            const("seven", 7.0, device=PS),
            *variable("v", [], device=PS, initial=1.0),
            *endless_loop("loop", WORKER),
        )

    def tearDown(self):
        self.s.close()

    def make(self, session=None, request_id=0, **options):
        options = config_pb2.CallableOptions(**options)
        request = master_pb2.MakeCallableRequest(
            session_handle=(session or self.s).handle, options=options, request_id=request_id
        )
        return self.master.call(request).handle

    def start(self, handle, *feeds, timeout=60, request_id=0):
        request = master_pb2.RunCallableRequest(
            session_handle=self.s.handle,
            handle=handle,
            feed=[tensor(f) for f in feeds],
            request_id=request_id,
        )
        return self.master.start(request, timeout)

    def run_callable(self, handle, *feeds):
        return [value(t) for t in self.start(handle, *feeds).result().fetch]

    def release(self, handle):
        self.master.call(master_pb2.ReleaseCallableRequest(session_handle=self.s.handle, handle=handle))


class RunTest(CallableTest):
    def test_feeds_and_fetches_come_by_position(self):
        handle = self.make(feed=["y:0", "x:0"], fetch=["square:0", "sum:0", "square:0"])
        self.assertEqual(self.run_callable(handle, 2.0, 3.0), [25.0, 5.0, 25.0])
        self.assertEqual(self.run_callable(handle, -1.0, 3.0), [4.0, 2.0, 4.0])

    def test_handles_count_up_from_zero(self):
        self.assertEqual([self.make(fetch=["seven:0"]) for _ in range(3)], [0, 1, 2])

    def test_targets_run(self):
        self.s.run(targets=["v/init"])
        self.s.extend(node("add", "AssignAdd", "v", "x", device=PS, T=FLOAT))
        handle = self.make(feed=["x"], target=["add"])
        self.assertEqual(self.run_callable(handle, 2.0), [])
        self.assertEqual(self.run_callable(handle, 3.0), [])
        self.assertEqual(self.s.run("v:0"), 6.0)

    def test_nothing_at_all(self):
        with self.fails("INVALID_ARGUMENT", "Must specify at least one target to fetch or execute."):
            self.make()

    def test_many_at_once(self):
        handles = [self.make(feed=["x"], fetch=["neg"]), self.make(feed=["x", "y"], fetch=["sum"])]
        runs = [(self.start(handles[0], float(i)), self.start(handles[1], float(i), 1.0)) for i in range(20)]
        for i, (neg, total) in enumerate(runs):
            self.assertEqual(value(neg.result().fetch[0]), -i)
            self.assertEqual(value(total.result().fetch[0]), i + 1)

    def test_run_options_belong_to_the_callable(self):
        options = config_pb2.RunOptions(
            trace_level=config_pb2.RunOptions.FULL_TRACE, output_partition_graphs=True
        )
        response = self.start(self.make(feed=["x"], fetch=["neg"], run_options=options), 1.0).result()
        names = [n.node_name for d in response.metadata.step_stats.dev_stats for n in d.node_stats]
        self.assertIn("neg", names)
        self.assertTrue(response.metadata.partition_graphs)
        self.assertFalse(self.start(self.make(feed=["x"], fetch=["neg"]), 1.0).result().HasField("metadata"))

    def test_the_timeout_of_the_callable(self):
        handle = self.make(
            feed=["x"], fetch=["loop/exit"], run_options=config_pb2.RunOptions(timeout_in_ms=300)
        )
        self.check_error(self.start(handle, 1.0), "DEADLINE_EXCEEDED")

    def test_closing_the_session_ends_runs(self):
        run = self.start(self.make(feed=["x"], fetch=["loop/exit"]), 1.0)
        other = self.start(self.make(feed=["x"], fetch=["neg"]), 1.0)
        other.result()
        self.s.close()
        self.check_error(run, "CANCELLED", "Session has been closed")
        self.s = Session(self.master)

    def test_cancelling_a_run(self):
        run = self.start(self.make(feed=["x"], fetch=["loop/exit"]), 1.0, timeout=0.5)
        self.check_error(run, "DEADLINE_EXCEEDED")


class ConnectionTest(CallableTest):
    def connect(self, *pairs, **options):
        connections = [config_pb2.TensorConnection(from_tensor=a, to_tensor=b) for a, b in pairs]
        return self.make(tensor_connection=connections, **options)

    def test_a_tensor_takes_the_place_of_another(self):
        handle = self.connect(("seven:0", "y:0"), feed=["x:0"], fetch=["sum:0"])
        self.assertEqual(self.run_callable(handle, 1.0), [8.0])

    def test_what_it_takes_the_place_of_may_be_computed(self):
        handle = self.connect(("neg:0", "sum"), feed=["x:0"], fetch=["square:0"])
        self.assertEqual(self.run_callable(handle, 3.0), [9.0])

    def test_another_signature_without_it(self):
        with_it = self.connect(("seven:0", "sum:0"), feed=["x:0", "y:0"], fetch=["square:0"])
        without = self.make(feed=["x:0", "y:0"], fetch=["square:0"])
        self.assertEqual(self.run_callable(with_it, 1.0, 2.0), [49.0])
        self.assertEqual(self.run_callable(without, 1.0, 2.0), [9.0])

    def test_wrong_ones(self):
        with self.fails("INVALID_ARGUMENT", "Requested tensor connection from unknown node"):
            self.connect(("nobody:0", "y:0"), fetch=["sum:0"])
        with self.fails("INVALID_ARGUMENT", "Requested tensor connection from unknown edge"):
            self.connect(("seven:1", "y:0"), fetch=["sum:0"])
        with self.fails("NOT_FOUND", "FeedInputs: unable to find feed output nobody"):
            self.connect(("seven:0", "nobody:0"), fetch=["y:0"])
        with self.fails("INVALID_ARGUMENT", '"x" and "square" would create a cycle'):
            self.connect(("square:0", "x:0"), fetch=["square:0"])
        with self.fails("INVALID_ARGUMENT", "Duplicated feeds"):
            self.connect(("seven:0", "x:0"), feed=["x"], fetch=["neg"])
        with self.fails("INVALID_ARGUMENT", "Duplicated feeds"):
            self.connect(("seven:0", "x:0"), ("y:0", "x:0"), fetch=["neg"])
        with self.fails("INVALID_ARGUMENT", "y:0 is both fed and fetched."):
            self.connect(("seven:0", "y:0"), fetch=["y:0"])


class ErrorTest(CallableTest):
    def test_the_wrong_number_of_feeds(self):
        handle = self.make(feed=["x"], fetch=["neg"])
        for feeds in (), (1.0, 2.0):
            self.check_error(
                self.start(handle, *feeds),
                "INVALID_ARGUMENT",
                f"Expected 1 feed tensors, but got {len(feeds)}",
            )

    def test_a_handle_that_was_released(self):
        handle = self.make(feed=["x"], fetch=["neg"])
        self.release(handle)
        self.release(handle)
        self.check_error(
            self.start(handle, 1.0), "INVALID_ARGUMENT", "Attempted to run callable after handle was released"
        )

    def test_a_handle_that_nobody_made(self):
        for handle in 0, 7, -1:
            self.check_error(self.start(handle), "INVALID_ARGUMENT", f"No such callable handle: {handle}")
            self.release(handle)

    def test_a_signature_that_cannot_be_planned(self):
        for options, code, words in (
            (
                {"feed": ["nobody:0"], "fetch": ["neg"]},
                "NOT_FOUND",
                "FeedInputs: unable to find feed output nobody:0",
            ),
            ({"fetch": ["nobody:0"]}, "NOT_FOUND", "FetchOutputs node nobody:0: not found"),
            ({"target": ["nobody"]}, "NOT_FOUND", "Some target nodes not found: nobody"),
            ({"feed": ["x", "x:0"], "fetch": ["neg"]}, "INVALID_ARGUMENT", "Duplicated feeds"),
            ({"fetch": ["neg\n"]}, "NOT_FOUND", "control character"),
        ):
            with self.fails(code, words):
                self.make(**options)

    def test_the_session_is_gone(self):
        other = Session(self.master, const("a", 1.0))
        other.close()
        with self.fails("ABORTED", "Session", "is not found"):
            self.make(session=other, fetch=["a"])

    def test_the_same_request_twice(self):
        handle = self.make(feed=["x"], fetch=["neg"], request_id=7001)
        with self.fails("ABORTED", "MakeCallable request was received twice"):
            self.make(feed=["x"], fetch=["neg"], request_id=7001)
        self.start(handle, 1.0, request_id=7002).result()
        self.check_error(
            self.start(handle, 1.0, request_id=7002), "ABORTED", "RunCallable request was received twice"
        )

    def test_places_of_feeds_and_fetches(self):
        cpu = WORKER + "/device:CPU:0"
        for places in (
            {"feed_devices": {"x": cpu}},
            {"fetch_devices": {"neg": cpu}},
            {"fetch_devices": {"neg": cpu}, "fetch_skip_sync": True},
        ):
            with self.fails(
                "UNIMPLEMENTED", "CallableOptions.feed_devices", "not supported when using a remote session"
            ):
                self.make(feed=["x"], fetch=["neg"], **places)

    def test_an_uninitialized_variable_names_its_node(self):
        self.s.extend(*variable("u", [], device=PS))
        handle = self.make(fetch=["u/read:0"])
        self.check_error(self.start(handle), "FAILED_PRECONDITION", "Attempting to use uninitialized value u")


if __name__ == "__main__":
    main()
