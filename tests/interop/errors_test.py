# The errors that TensorFlow's clients and test suites look for, from Braid servers: codes and words.
# labels: concurrent
# timeout: 180
from client import InteropTest, Session, master_service
from cluster import Cluster, main
from graphs import (
    FLOAT,
    INT32,
    STRING,
    Shape,
    beginning,
    const,
    endless_loop,
    node,
    placeholder,
    tensor,
    tensor_by_element,
    tensor_of_bytes,
    value,
    variable,
)
from protos import config_pb2, master_pb2

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
NAMES_NODE = r" \[\[(\{\{node %s\}\}|Node: %s = ).*\]\]"  # at the end of a kernel's error


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


class ErrorTest(InteropTest):
    def setUp(self):
        self.master = cluster.master()
        self.master.call(master_pb2.ResetRequest())

    def session(self, *nodes, **fields):
        return Session(self.master, *nodes, **fields)

    def fails_late(self, session, fetch, *words):
        """A step that does not end fails at its timeout; a busy machine needs more until it has begun."""
        for ms in 300, 3000, 30000:
            step = session.start([fetch], options={"timeout_in_ms": ms})
            self.check_error(step, "DEADLINE_EXCEEDED", f"{ms} ms")
            if all(word in step.details() for word in words):
                break
        self.check_error(step, "DEADLINE_EXCEEDED", *words)

    def names_node(self, future, name):
        self.assertRegex(future.details(), NAMES_NODE % (name, name))


class StepErrorTest(ErrorTest):
    def test_reading_a_variable_nobody_assigned(self):
        for device in PS, WORKER:
            s = self.session(*variable("v", [2], FLOAT, device))
            for fetch in "v:0", "v/read:0":
                step = s.start([fetch])
                self.check_error(step, "FAILED_PRECONDITION", "Attempting to use uninitialized value v")
                self.names_node(step, ".*v.*")

    def test_a_placeholder_without_a_feed(self):
        for device in PS, WORKER:
            s = self.session(
                placeholder("x", FLOAT, [2], device), node("y", "Abs", "x", device=WORKER, T=FLOAT)
            )
            step = s.start(["y:0"])
            self.check_error(step, "INVALID_ARGUMENT", "You must feed a value for placeholder tensor 'x'")
            self.names_node(step, "x")

    def test_names_that_do_not_exist(self):
        s = self.session(const("a", 1.0))
        with self.fails("NOT_FOUND", "FeedInputs: unable to find feed output nobody:0"):
            s.run("a:0", {"nobody:0": 1.0})
        with self.fails("NOT_FOUND", "FetchOutputs node nobody:0: not found"):
            s.run("nobody:0")
        with self.fails("INVALID_ARGUMENT", "FetchOutputs a:1: output index too large, must be < 1"):
            s.run("a:1")
        with self.fails("INVALID_ARGUMENT", "FeedInputs: a:1 should have output index < 1"):
            s.run("a:0", {"a:1": 1.0})
        with self.fails("NOT_FOUND", "nobody"):
            s.run(targets=["nobody"])
        for empty in {"fetches": [""]}, {"targets": [""]}, {"fetches": ["a:0"], "feeds": {"": 1.0}}:
            with self.subTest(**empty):
                with self.fails("NOT_FOUND"):
                    s.run(**empty)

    def test_names_that_are_no_names(self):
        s = self.session(placeholder("x"), const("a", 1.0))
        for odd in "\n", "^x", "x:", "x:-1", "x:99999999999999999999", "x" * 100_000:
            with self.subTest(name=odd[:30]):
                for step in (
                    s.start([odd], {"x:0": 1.0}),
                    s.start(["a:0"], {odd: 1.0}),
                    s.start(["a:0"], targets=[odd]),
                ):
                    self.assertIn(step.code().name, ("NOT_FOUND", "INVALID_ARGUMENT"), step.details())

    def test_a_name_cannot_pass_for_several(self):
        s = self.session(
            *variable("v", [], FLOAT, PS, initial=1.0),
            placeholder("x"),
            placeholder("y"),
            node("sum", "Add", "x", "y", T=FLOAT),
            node("difference", "Sub", "x", "y", T=FLOAT),
        )
        feeds, fetches = {"x:0": 1.0, "y:0": 2.0}, ["sum:0", "difference:0"]
        s.run(fetches, feeds, ["v/init", "v/read"])  # a plan that the others are not to be taken for
        for fetches, feeds, targets in (
            (fetches, {"x:0\n<y:0": 1.0}, ["v/init", "v/read"]),
            (["sum:0\n>difference:0"], feeds, ["v/init", "v/read"]),
            (fetches, feeds, ["v/init\n!v/read"]),
        ):
            with self.fails("NOT_FOUND", "\n"):
                s.run(fetches, feeds, targets)

    def test_the_same_feed_twice(self):
        s = self.session(placeholder("x"))
        for again in "x:0", "x":
            with self.fails("INVALID_ARGUMENT", "Duplicated feeds: Endpoint", "fed more than once."):
                s.run(targets=["x"], feeds=[("x:0", 1.0), (again, 2.0)])

    def test_a_fetch_that_is_fed(self):
        s = self.session(placeholder("x"), const("a", 1.0))
        for feed, fetch in ("x:0", "x:0"), ("x", "x:0"), ("x:0", "x"):
            with self.fails("INVALID_ARGUMENT", "x:0 is both fed and fetched."):
                s.run(["a:0", fetch], {feed: 1.0})

    def test_a_step_that_asks_for_nothing(self):
        s = self.session(placeholder("x"))
        for feeds in {}, {"x:0": 1.0}:
            with self.fails("INVALID_ARGUMENT", "Must specify at least one target to fetch or execute."):
                s.run(feeds=feeds)

    def test_a_feed_of_another_dtype_or_shape(self):
        s = self.session(placeholder("x", FLOAT, [2], PS), node("y", "Abs", "x", device=PS, T=FLOAT))
        self.assertEqual(s.run("y:0", {"x:0": [1.0, -1.0]}), [1.0, 1.0])
        with self.fails("INVALID_ARGUMENT", "x"):
            s.run("y:0", {"x:0": [1, 2]})

    def test_a_feed_that_is_no_tensor(self):
        s = self.session(placeholder("x"))
        for wrong in (
            tensor_of_bytes(b"123", [1]),
            tensor_of_bytes(b"12345678", [1]),
            tensor_of_bytes(b"1234", [-1]),
            tensor_of_bytes(b"", [1], 0),
            tensor_of_bytes(b"1234", [1], 77),
            tensor_of_bytes(b"", [1 << 62, 1 << 62]),
        ):
            with self.subTest(tensor=str(wrong)):
                with self.fails("INVALID_ARGUMENT"):
                    s.run("x:0", {"x:0": wrong})

    def test_a_feed_larger_than_any_memory(self):
        s = self.session(placeholder("x"))
        with self.fails("RESOURCE_EXHAUSTED"):
            s.run("x:0", {"x:0": tensor_by_element([1.0], [1 << 50], FLOAT)})

    def test_assign_with_another_shape(self):
        s = self.session(
            *variable("v", [2], FLOAT, PS),
            placeholder("x", FLOAT, None, WORKER),
            node("set", "Assign", "v", "x", device=PS, T=FLOAT),
        )
        step = s.start(targets=["set"], feeds={"x:0": [1.0, 2.0, 3.0]})
        self.check_error(
            step, "INVALID_ARGUMENT", "Assign requires shapes of both tensors to match", "[2]", "[3]"
        )
        self.names_node(step, "set")

    def test_shapes_that_an_op_cannot_take(self):
        s = self.session(
            placeholder("a", FLOAT, None, WORKER),
            placeholder("b", FLOAT, None, PS),
            node("y", "MatMul", "a", "b", device=WORKER, T=FLOAT),
        )
        step = s.start(["y:0"], {"a:0": [[1.0, 2.0, 3.0]], "b:0": [[1.0], [2.0]]})
        self.check_error(step, "INVALID_ARGUMENT", "MatMul", "y", "[1,3]", "[2,1]")
        self.names_node(step, "y")

    def test_the_root_cause_comes_from_whichever_task(self):
        for fails_on, waits_on in (PS, WORKER), (WORKER, PS):
            s = self.session(
                placeholder("a", FLOAT, None, fails_on),
                node("wrong", "MatMul", "a", "a", device=fails_on, T=FLOAT),
                node("there", "Abs", "wrong", device=waits_on, T=FLOAT),
                node("back", "Abs", "there", device=fails_on, T=FLOAT),
            )
            step = s.start(["there:0", "back:0"], {"a:0": [[1.0, 2.0]]})
            self.check_error(step, "INVALID_ARGUMENT", "[1,2]")
            self.names_node(step, "wrong")

    def test_a_session_goes_on_after_an_error(self):
        s = self.session(
            placeholder("a", FLOAT, None, PS), node("y", "MatMul", "a", "a", device=WORKER, T=FLOAT)
        )
        for _ in range(20):
            with self.fails("INVALID_ARGUMENT", "[1,2]"):
                s.run("y:0", {"a:0": [[1.0, 2.0]]})
            self.assertEqual(s.run("y:0", {"a:0": [[3.0]]}), [[9.0]])

    def test_errors_in_the_response_when_asked_for_there(self):
        s = self.session(*variable("v", [], FLOAT, PS))
        response = s.step(["v:0"], store_errors_in_response_body=True)
        self.check_status(response, "FAILED_PRECONDITION", "Attempting to use uninitialized value v")
        self.assertEqual(len(response.tensor), 0)
        s.handle = "nobody"
        self.check_status(
            s.step(["v:0"], store_errors_in_response_body=True), "ABORTED", "Session nobody is not found"
        )

    def test_a_long_error_comes_whole(self):
        text = "x" * (1 << 20) + " to the end"
        for device in PS, WORKER:
            s = self.session(
                const("no", False, device=device),
                const("text", text, device=device),
                node("check", "Assert", "no", "text", device=device, T=[STRING]),
            )
            response = s.step(targets=["check"], store_errors_in_response_body=True)
            self.check_status(response, "INVALID_ARGUMENT", "assertion failed", text)

    def test_the_same_request_twice(self):
        s = self.session(const("a", 1.0))
        s.run("a:0", request_id=4711)
        with self.fails("ABORTED", "4711"):
            s.run("a:0", request_id=4711)


class GraphErrorTest(ErrorTest):
    def test_a_device_nobody_has(self):
        for device in "/job:nobody", "/job:ps/task:7", "/job:ps/task:0/device:GPU:0", "/job:ps/task:0/cpu:1":
            job = device.split("/")[1]
            with self.fails(
                "INVALID_ARGUMENT",
                "Cannot assign a device for operation a: {{node a}} was explicitly assigned",
                f"to {device} but available devices are [ /job:ps/replica:0/task:0/device:CPU:0,",
                job,
                "]. Make sure the device specification refers to a valid device. [[a]]",
            ):
                self.session(const("a", 1.0, device=device))

    def test_nodes_that_cannot_be_together(self):
        with self.fails(
            "INVALID_ARGUMENT",
            "Cannot assign a device for operation b: Cannot colocate nodes "
            "{{colocation_node a}} and {{colocation_node b}}: Cannot merge devices with incompatible jobs: "
            "'/job:ps/task:0' and '/job:worker/task:0'",
        ):
            self.session(const("a", 1.0, device=PS), node("b", "NoOp", device=WORKER, _class=["loc:@a"]))

    def test_an_unknown_op_that_no_step_reaches_is_harmless(self):
        s = self.session(const("a", 1.0), node("odd", "NobodysOp", "a", T=FLOAT, level=3))
        self.assertEqual(s.run("a:0"), 1.0)

    def test_an_unknown_op_in_a_step_is_named_with_its_node(self):
        for device in PS, WORKER:
            s = self.session(
                const("a", 1.0),
                node("odd", "NobodysOp", "a", device=device, T=FLOAT),
                node("y", "Abs", "odd", device=WORKER, T=FLOAT),
            )
            with self.fails("NOT_FOUND", "NobodysOp", "odd"):
                s.run("y:0")
            with self.fails("NOT_FOUND", "NobodysOp", "odd"):
                s.run(targets=["odd"])

    def test_an_unknown_attr_is_ignored(self):
        s = self.session(node("a", "Const", dtype=FLOAT, value=tensor(1.0), from_the_future=[1, 2]))
        self.assertEqual(s.run("a:0"), 1.0)

    def test_a_known_attr_of_the_wrong_kind(self):
        with self.fails("INVALID_ARGUMENT", "a", "dtype"):
            self.session(node("a", "Const", dtype="float", value=tensor(1.0)))

    def test_inputs_that_do_not_exist_or_do_not_fit(self):
        for words, nodes in (
            (["y", "nobody"], [node("y", "Abs", "nobody", T=FLOAT)]),
            (
                ["Node 'y': Connecting to invalid output 1 of source node a which has 1 outputs"],
                [const("a", 1.0), node("y", "Abs", "a:1", T=FLOAT)],
            ),
            (
                ["y", "NodeDef expected inputs 'float, float' do not match 1 inputs specified"],
                [const("a", 1.0), node("y", "Add", "a", T=FLOAT)],
            ),
            (
                ["Input 1 of node y was passed int32 from b:0 incompatible with expected float."],
                [const("a", 1.0), const("b", 1), node("y", "Add", "a", "b", T=FLOAT)],
            ),
            (
                ["y", "NodeDef missing attr 'DstT' from Op<name=Cast"],
                [const("a", 1.0), node("y", "Cast", "a", SrcT=FLOAT)],
            ),
            (["Node 'a' is not unique"], [const("a", 1.0), const("a", 2.0)]),
        ):
            with self.subTest(nodes=str(nodes)):
                with self.fails("INVALID_ARGUMENT", *words):
                    self.session(*nodes)

    def test_names_that_only_a_master_gives(self):
        for name in "a:b", "a:0", "_a", "":
            with self.fails("INVALID_ARGUMENT", f"Illegal op name '{name}' [[{{{{node {name}}}}}]]"):
                self.session(const(name, 1.0))
        s = self.session(const("a", [[1.0]]))
        for name in "a:first", "_a", "_a:0", "a:01":
            with self.fails("INVALID_ARGUMENT", f"Illegal op input name '{name}' [[{{{{node b}}}}]]"):
                s.extend(node("b", "MatMul", name, "a", T=FLOAT))
        s.extend(
            node("b", "MatMul", "a", "a", T=FLOAT, transpose_a=False, transpose_b=False, _kernel="eigen")
        )
        with self.fails("INVALID_ARGUMENT", "'b', which was created by a previous call"):
            s.extend(node("b", "MatMul", "a", "a", T=FLOAT))
        self.assertEqual(s.run("b:0"), [[1.0]])

    def test_a_cycle_without_a_loop(self):
        nodes = [node("a", "Abs", "b", T=FLOAT), node("b", "Abs", "a", T=FLOAT)]
        with self.fails("INVALID_ARGUMENT"):
            self.session(*nodes).run("a:0")


# A queue of two numbers on the parameter server, and what a program does with it from the worker.
def queue():
    types = {"component_types": [INT32]}
    return [
        node("q", "FIFOQueueV2", device=PS, shapes=[Shape([])], capacity=2, shared_name="q", **types),
        placeholder("x", INT32, [], WORKER),
        const("two", 2, device=WORKER),
        node("put", "QueueEnqueueV2", "q", "x", device=PS, Tcomponents=[INT32]),
        node("take", "QueueDequeueV2", "q", device=PS, **types),
        node("take_two", "QueueDequeueManyV2", "q", "two", device=PS, **types),
        node("close", "QueueCloseV2", "q", device=PS),
        node("cancel", "QueueCloseV2", "q", device=PS, cancel_pending_enqueues=True),
        node("taken", "Identity", "take", device=WORKER, T=INT32),
    ]


class QueueErrorTest(ErrorTest):
    def put(self, session, *values):
        for v in values:
            session.run(targets=["put"], feeds={"x:0": v})

    def test_what_waits_for_an_element_gets_it(self):
        s, other = self.session(*queue()), self.session(*queue())
        steps = [s.start(["taken:0"]) for _ in range(100)]  # more than any server has threads
        self.put(other, *range(100))
        taken = [value(step.result().tensor[0].tensor) for step in steps]
        self.assertEqual(sorted(taken), list(range(100)))

    def test_a_closed_queue_with_too_few_elements(self):
        s = self.session(*queue())
        self.put(s, 1)
        waiting = s.start(["take_two:0"])
        s.run(targets=["close"])
        words = "is closed and has insufficient elements"
        self.check_error(waiting, "OUT_OF_RANGE", words, "[[{{node take_two}}")
        self.assertEqual(s.run("take:0"), 1)
        with self.fails("OUT_OF_RANGE", words, "[[{{node take}}"):
            s.run("taken:0")

    def test_a_closed_queue_takes_nothing(self):
        s = self.session(*queue())
        s.run(targets=["close"])
        with self.fails("CANCELLED", "is closed", "[[{{node put}}"):
            self.put(s, 1)

    def test_closing_may_cancel_what_waits_for_room(self):
        s = self.session(*queue())
        self.put(s, 1, 2)
        waiting = s.start(targets=["put"], feeds={"x:0": 3})
        s.run(targets=["cancel"])
        self.check_error(waiting, "CANCELLED", "[[{{node put}}")
        self.assertRegex(waiting.details(), "was cancelled|is closed")  # it may come after the end

    def test_a_session_that_ends_while_its_step_waits(self):
        s, other = self.session(*queue(), *beginning(PS)), self.session(*queue())
        waiting = s.start_and_await_beginning(["take:0"])
        s.close()
        self.check_error(waiting, "CANCELLED", "Step was cancelled by an explicit call to `Session::Close()`")
        self.put(other, 1)
        self.assertEqual(other.run("take:0"), 1)  # nobody has taken it

    def test_a_step_that_waits_too_long(self):
        s = self.session(*queue())
        self.fails_late(s, "taken:0", PS)
        self.put(s, 1)
        self.assertEqual(s.run("taken:0"), 1)


class SessionErrorTest(ErrorTest):
    def test_an_unknown_session_handle(self):
        s = self.session()
        s.handle = "no-such-session"
        for use in lambda: s.run(targets=[]), lambda: s.extend(const("a", 1.0)), s.close:
            with self.fails("ABORTED", "Session no-such-session is not found"):
                use()
        with self.fails("INVALID_ARGUMENT", "Session no-such-session is not found"):
            self.master.call(master_pb2.ListDevicesRequest(session_handle=s.handle))

    def test_device_filters_that_are_no_device_names(self):
        with self.fails("INVALID_ARGUMENT", "device_filters", "worker one"):
            self.session(config=config_pb2.ConfigProto(device_filters=["worker one"]))

    def test_methods_nobody_has(self):
        for method in "NoSuchMethod", "":
            self.check_error(self.master.start_raw(method, b""), "UNIMPLEMENTED")

    def test_eager_execution_is_not_served(self):
        for method in "CreateContext", "Enqueue", "RegisterFunction":
            call = self.master.channel.unary_unary(f"/tensorflow.eager.EagerService/{method}")
            self.check_error(call.future(b"", 60), "UNIMPLEMENTED", "EagerService", method, "eager execution")


class TimeoutTest(ErrorTest):
    def test_the_timeout_of_a_step(self):
        for device in PS, WORKER:
            s = self.session(*endless_loop("loop", device), const("a", 1.0))
            self.fails_late(s, "loop/exit:0", device)
            self.assertEqual(s.run("a:0"), 1.0)

    def test_the_operation_timeout_of_a_session(self):
        config = config_pb2.ConfigProto(operation_timeout_in_ms=2000)  # opening the session counts, too
        s = self.session(*endless_loop("loop", PS), config=config)
        with self.fails("DEADLINE_EXCEEDED", "2000 ms", PS):
            s.run("loop/exit:0")
        with self.fails("DEADLINE_EXCEEDED", "400 ms", PS):  # a run's own goes before it
            s.run("loop/exit:0", options={"timeout_in_ms": 400})

    def test_a_task_that_hangs(self):
        s = self.session(
            *variable("v", [], FLOAT, PS, initial=1.0), node("y", "Abs", "v/read", device=WORKER, T=FLOAT)
        )
        s.run(targets=["v/init"])
        s.run("y:0")
        cluster.server("ps").pause()
        try:
            self.fails_late(s, "y:0", PS)
        finally:
            cluster.server("ps").go_on()
        self.assertEqual(s.run("y:0"), 1.0)

    def test_the_deadline_of_the_client(self):
        s = self.session(*endless_loop("loop", PS), const("a", 1.0))
        with self.fails("DEADLINE_EXCEEDED"):
            s.run("loop/exit:0", timeout=0.3)
        s.close()  # waits for the step, which has been cancelled

    def test_cancelling_a_step(self):
        for device in PS, WORKER:
            s = self.session(*endless_loop("loop", device))
            for _ in range(10):
                step = s.start(["loop/exit:0"])
                self.assertTrue(step.cancel())
            s.close()

    def test_a_client_that_goes_away(self):
        gone = master_service(cluster.address("worker"))
        s = Session(gone, *endless_loop("loop", PS))
        s.start(["loop/exit:0"])
        gone.close()
        s.master = self.master
        s.close()


if __name__ == "__main__":
    main()
