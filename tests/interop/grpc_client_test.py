# What a client that speaks TensorFlow's gRPC protocol gets from Braid servers: sessions that span tasks.
# labels: concurrent
# timeout: 120
from threading import Thread

from client import InteropTest, Session
from cluster import Cluster, main
from graphs import (
    BOOL,
    DOUBLE,
    ELEMENTS,
    FLOAT,
    HALF,
    INT32,
    INT64,
    STRING,
    Shape,
    const,
    elements_of,
    endless_loop,
    node,
    placeholder,
    shape_of,
    tensor,
    tensor_by_element,
    tensor_of_bytes,
    value,
    variable,
)
from protos import config_pb2, master_pb2, rewriter_config_pb2

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"
PS_CPU = "/job:ps/replica:0/task:0/device:CPU:0"
WORKER_CPU = "/job:worker/replica:0/task:0/device:CPU:0"


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


# y = x w on the worker, w on the parameter server; "w/add" adds to w what the worker computes from x.
def linear_model():
    return [
        *variable("w", [2, 2], FLOAT, PS, initial=[[1.0, 2.0], [3.0, 4.0]]),
        placeholder("x", FLOAT, [-1, 2], WORKER),
        node("y", "MatMul", "x", "w/read", device=WORKER, T=FLOAT),
        node("xtx", "MatMul", "x", "x", device=WORKER, T=FLOAT, transpose_a=True),
        node("w/add", "AssignAdd", "w", "xtx", device=PS, T=FLOAT, _class=["loc:@w"]),
    ]


class SessionTest(InteropTest):
    def setUp(self):
        self.master = cluster.master()
        self.master.call(master_pb2.ResetRequest())

    def session(self, *nodes, **fields):
        return Session(self.master, *nodes, **fields)

    # ---- Steps ----

    def test_a_graph_spans_two_tasks(self):
        s = self.session(*linear_model())
        s.run(targets=["w/init"])
        self.assertEqual(s.run("y:0", {"x:0": [[1.0, 0.0], [0.0, 2.0]]}), [[1.0, 2.0], [6.0, 8.0]])
        s.run(targets=["w/add"], feeds={"x:0": [[1.0, 2.0]]})
        self.assertEqual(s.run("w/read:0"), [[2.0, 4.0], [5.0, 8.0]])

    def test_each_task_gets_its_part_of_the_graph(self):
        s = self.session(*linear_model())
        s.run(targets=["w/init"])
        step = s.step(["y:0"], {"x:0": [[1.0, 1.0]]}, options={"output_partition_graphs": True})
        ops = {}
        for part in step.metadata.partition_graphs:
            devices = {n.device for n in part.node}
            self.assertEqual(len(devices), 1, part)
            ops[devices.pop()] = sorted(n.op for n in part.node)
        self.assertEqual(
            ops,
            {
                PS_CPU: ["Identity", "VariableV2", "_Send"],
                WORKER_CPU: ["MatMul", "_Recv", "_Recv", "_Send"],
            },
        )

    def test_rewrites_can_be_switched_off_on_every_task(self):
        level, toggle = config_pb2.OptimizerOptions, rewriter_config_pb2.RewriterConfig
        built, folded = ["Add", "Const", "Const", "_Send"], ["Const", "_Send"]
        for options, expected in [
            ({}, folded),
            ({"optimizer_options": level(opt_level=level.L0)}, built),
            ({"optimizer_options": level(opt_level=level.L0, do_constant_folding=True)}, folded),
            ({"rewrite_options": toggle(constant_folding=toggle.OFF)}, built),
        ]:
            config = config_pb2.ConfigProto(graph_options=config_pb2.GraphOptions(**options))
            s = self.session(
                const("a", 1.0, device=PS),
                const("b", 2.0, device=PS),
                node("sum", "Add", "a", "b", device=PS, T=FLOAT),
                config=config,
            )
            step = s.step(["sum:0"], options={"output_partition_graphs": True})
            ops = [sorted(n.op for n in part.node) for part in step.metadata.partition_graphs]
            self.assertEqual(ops, [expected], options)
            self.assertEqual(s.run("sum:0"), 3.0)

    def test_a_trace_says_what_ran_where(self):
        s = self.session(*linear_model())
        s.run(targets=["w/init"])
        options = {"trace_level": config_pb2.RunOptions.FULL_TRACE}
        stats = s.step(["y:0"], {"x:0": [[1.0, 1.0]]}, options=options).metadata.step_stats
        ran = {d.device: {n.node_name for n in d.node_stats} for d in stats.dev_stats}
        self.assertIn("y", ran[WORKER_CPU])
        self.assertIn("w/read", ran[PS_CPU])

    def test_a_node_of_several_outputs_that_is_a_constant(self):
        """Whichever task's part comes first: the master takes its own one last."""
        for first, other in (WORKER, PS), (PS, WORKER):
            s = self.session(
                const("a", [2, 1], device=first),
                const("b", [2], device=first),
                node("args", "BroadcastGradientArgs", "a", "b", device=first, T=INT32),
                node("there", "Identity", "args:1", device=other, T=INT32),
            )
            self.assertEqual(s.run(["args:0", "args:1", "there:0"]), [[1], [0], [0]])

    def test_what_is_not_needed_does_not_run(self):
        s = self.session(*linear_model(), node("never", "Abs", "x", device=PS, T=FLOAT))
        s.run(targets=["w/init"])  # x is not fed

    def test_any_output_can_be_fed(self):
        s = self.session(*linear_model())
        feeds = {"x:0": [[1.0, 1.0]], "w/read:0": [[1.0, 0.0], [0.0, 1.0]]}
        self.assertEqual(s.run("y:0", feeds), [[1.0, 1.0]])

    def test_fetches_come_in_the_order_asked_for_each_as_often_as_asked_for(self):
        s = self.session(const("a", 1.0, device=PS), const("b", 2.0, device=WORKER))
        self.assertEqual(s.run(["b:0", "a:0", "b:0"]), [2.0, 1.0, 2.0])
        self.assertEqual(s.run(["a:0", "b:0"]), [1.0, 2.0])
        self.assertEqual(s.run(["a", "b"]), [1.0, 2.0])  # output 0 goes without saying

    def test_targets_and_fetches_together(self):
        s = self.session(*variable("v", [], INT32, PS, initial=7), const("c", 1, device=WORKER))
        self.assertEqual(s.run(["c:0"], targets=["v/init"]), [1])
        self.assertEqual(s.run("v:0"), 7)

    def test_a_reference_variable_is_fetched_itself(self):
        s = self.session(
            *variable("step", [], INT32, PS, initial=41),
            const("one", 1, device=WORKER),
            node("more", "AssignAdd", "step", "one", device=PS, T=INT32),
        )
        s.run(targets=["step/init"])
        response = s.step(["step:0"])
        self.assertEqual(response.tensor[0].tensor.dtype, INT32)  # not INT32_REF
        self.assertEqual(value(response.tensor[0].tensor), 41)
        self.assertEqual(s.run("more:0"), 42)

    def test_steps_of_many_threads_at_once(self):
        s = self.session(
            *variable("n", [], INT32, PS, initial=0),
            placeholder("by", INT32, [], WORKER),
            node("by/abs", "Abs", "by", device=WORKER, T=INT32),
            node("more", "AssignAdd", "n", "by/abs", device=PS, T=INT32, use_locking=True),
        )
        s.run(targets=["n/init"])
        threads = [
            Thread(target=lambda: [s.run(targets=["more"], feeds={"by:0": -1}) for _ in range(50)])
            for _ in range(6)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(s.run("n:0"), 300)

    # ---- Tensors on the wire ----

    def round_trip(self, dtype, t):
        s = self.session(
            placeholder("in", dtype, None, WORKER),
            node("there", "Identity", "in", device=PS, T=dtype),
            node("back", "Identity", "there", device=WORKER, T=dtype),
        )
        back = s.step(["back:0"], {"in:0": t}).tensor[0].tensor
        self.assertEqual((back.dtype, shape_of(back)), (dtype, shape_of(t)))
        return elements_of(back)

    def test_every_dtype_in_both_forms(self):
        for dtype in ELEMENTS:
            elements = [True, False, True, True] if dtype == BOOL else [1, 2, 3, 100]
            with self.subTest(dtype=dtype):
                self.assertEqual(self.round_trip(dtype, tensor([elements], dtype)), elements)
                self.assertEqual(self.round_trip(dtype, tensor_by_element(elements, [2, 2], dtype)), elements)

    def test_elements_left_out_repeat_the_last_one(self):
        for dtype in FLOAT, DOUBLE, INT32, HALF:
            back = self.round_trip(dtype, tensor_by_element([3, 5], [2, 3], dtype))
            self.assertEqual(back, [3, 5, 5, 5, 5, 5])

    def test_strings_are_bytes(self):
        strings = [b"", b"two words", b"zero \0 inside", "Größe".encode(), bytes(range(256)), b"x" * 99_999]
        self.assertEqual(self.round_trip(STRING, tensor(strings)), strings)

    def test_empty_tensors(self):
        self.assertEqual(self.round_trip(FLOAT, tensor_of_bytes(b"", [0, 3])), [])
        self.assertEqual(self.round_trip(STRING, tensor([], STRING)), [])

    def test_tensors_of_many_megabytes(self):
        content = bytes(range(256)) * (80_000)  # 20 MB: more than gRPC takes by default
        s = self.session(
            placeholder("in", FLOAT, None, WORKER),
            node("there", "Identity", "in", device=PS, T=FLOAT),
            node("back", "Identity", "there", device=WORKER, T=FLOAT),
        )
        back = s.step(["back:0"], {"in:0": tensor_of_bytes(content, [5_120_000])}).tensor[0].tensor
        self.assertEqual(shape_of(back), [5_120_000])
        self.assertTrue(back.tensor_content == content)

    # ---- Sessions ----

    def test_variables_outlive_sessions_and_belong_to_all(self):
        first = self.session(*linear_model())
        first.run(targets=["w/init"])
        first.close()
        self.assertEqual(self.session(*linear_model()).run("w:0"), [[1.0, 2.0], [3.0, 4.0]])
        of_the_other_master = Session(cluster.master("ps"), *linear_model())
        self.assertEqual(of_the_other_master.run("w:0"), [[1.0, 2.0], [3.0, 4.0]])

    def test_a_shared_name_is_the_variable(self):
        one = self.session(*variable("mine", [], FLOAT, PS, initial=5.0, shared_name="ours"))
        other = self.session(*variable("yours", [], FLOAT, PS, shared_name="ours"))
        one.run(targets=["mine/init"])
        self.assertEqual(other.run("yours:0"), 5.0)

    def test_a_name_is_of_one_resource_of_each_kind(self):
        ref = self.session(*variable("same", [], FLOAT, PS, initial=5.0))
        resource = self.session(
            const("one", 1.0, device=PS),
            node("same", "VarHandleOp", device=PS, dtype=FLOAT, shape=Shape([])),
            node("assign", "AssignVariableOp", "same", "one", device=PS, dtype=FLOAT),
            node("read", "ReadVariableOp", "same", device=PS, dtype=FLOAT),
            node("destroy", "DestroyResourceOp", "same", device=PS),
        )
        queue = self.session(
            node("q", "FIFOQueueV2", device=PS, component_types=[FLOAT], shared_name="same"),
            node("size", "QueueSizeV2", "q", device=PS),
        )
        ref.run(targets=["same/init"])
        resource.run(targets=["assign"])
        self.assertEqual((ref.run("same/read:0"), resource.run("read:0"), queue.run("size:0")), (5.0, 1.0, 0))
        resource.run(targets=["destroy"])
        with self.fails("FAILED_PRECONDITION", "Error while reading resource variable same"):
            resource.run("read:0")
        self.assertEqual((ref.run("same/read:0"), queue.run("size:0")), (5.0, 0))

    def test_extending_a_session(self):
        s = self.session()
        s.extend(const("a", 2.0, device=PS))
        self.assertEqual(s.run("a:0"), 2.0)
        s.extend(node("b", "Square", "a", device=WORKER, T=FLOAT))
        self.assertEqual(s.run(["a:0", "b:0"]), [2.0, 4.0])

    def test_each_extension_is_a_new_version(self):
        s = self.session(const("a", 1.0))
        versions = [s.version]
        for name in "b", "c":
            s.extend(const(name, 1.0))
            versions.append(s.version)
        self.assertEqual(sorted(set(versions)), versions)

    def test_extending_another_version_than_the_current_one(self):
        s = self.session(const("a", 1.0))
        s.extend(const("b", 1.0))
        for version in s.version - 1, s.version + 1:
            with self.fails("ABORTED", f"Current version is {s.version} but caller expected {version}."):
                s.extend(const("c", 1.0), version=version)
        s.extend(const("c", 3.0))
        self.assertEqual(s.run("c:0"), 3.0)

    def test_an_extension_is_taken_whole_or_not_at_all(self):
        s = self.session(const("a", 1.0))
        with self.fails("INVALID_ARGUMENT", "'a'"):
            s.extend(const("b", 2.0), const("a", 2.0))
        with self.fails("NOT_FOUND", "b:0"):
            s.run("b:0")
        with self.fails("INVALID_ARGUMENT", "Cannot assign a device for operation", "c"):
            s.extend(const("b", 2.0), const("c", 2.0, device="/job:nobody"))
        s.extend(const("b", 3.0))
        self.assertEqual(s.run(["a:0", "b:0"]), [1.0, 3.0])

    def test_a_closed_session_is_gone(self):
        s = self.session(const("a", 1.0))
        s.close()
        for use in (lambda: s.run("a:0"), lambda: s.extend(const("b", 1.0)), s.close):
            with self.fails("ABORTED", f"Session {s.handle} is not found"):
                use()

    def test_closing_a_session_ends_its_steps(self):
        for device in PS, WORKER:
            s = self.session(*endless_loop("loop", device))
            step = s.start(["loop/exit:0"])
            s.close()
            # The step may have come after the end of the session.
            self.assertIn(step.code().name, ("CANCELLED", "ABORTED"), step.details())

    # ---- Devices, Reset, logs ----

    def test_list_devices(self):
        s = self.session()
        for handle in "", s.handle:
            devices = self.master.call(master_pb2.ListDevicesRequest(session_handle=handle))
            self.assertEqual([d.name for d in devices.local_device], [WORKER_CPU])
            self.assertEqual([d.name for d in devices.remote_device], [PS_CPU])
            for d in list(devices.local_device) + list(devices.remote_device):
                self.assertEqual(d.device_type, "CPU")
                self.assertNotEqual(d.incarnation, 0)
                self.assertGreater(d.memory_limit, 0)

    def test_reset_clears_the_default_container_and_ends_sessions(self):
        s = self.session(*linear_model())
        s.run(targets=["w/init"])
        self.master.call(master_pb2.ResetRequest())
        with self.fails("ABORTED", f"Session {s.handle} is not found"):
            s.run("w:0")
        with self.fails("FAILED_PRECONDITION", "Attempting to use uninitialized value w"):
            self.session(*linear_model()).run("w:0")

    def test_reset_of_a_container_leaves_the_others(self):
        nodes = variable("kept", [], FLOAT, PS, initial=1.0) + variable(
            "mine", [], FLOAT, PS, initial=2.0, container="box"
        )
        self.session(*nodes).run(targets=["kept/init", "mine/init"])
        self.master.call(master_pb2.ResetRequest(container=["box"]))
        s = self.session(*nodes)
        self.assertEqual(s.run("kept:0"), 1.0)
        with self.fails("FAILED_PRECONDITION", "Attempting to use uninitialized value mine"):
            s.run("mine:0")

    def test_the_default_container_of_a_task_has_the_name_of_its_job(self):
        nodes = variable("far", [], FLOAT, PS, initial=1.0) + variable("near", [], FLOAT, WORKER, initial=2.0)
        self.session(*nodes).run(targets=["far/init", "near/init"])
        self.master.call(master_pb2.ResetRequest(container=["worker", "localhost"]))
        s = self.session(*nodes)
        self.assertEqual(s.run("far:0"), 1.0)
        with self.fails("FAILED_PRECONDITION", "Attempting to use uninitialized value near"):
            s.run("near:0")
        self.master.call(master_pb2.ResetRequest(container=["ps"]))
        with self.fails("FAILED_PRECONDITION", "Attempting to use uninitialized value far"):
            self.session(*nodes).run("far:0")

    # ---- The order of ready nodes ----

    def test_a_counter_fetched_beside_its_increment_is_read_after_it(self):
        for device in PS, WORKER:
            s = self.session(
                *variable("counter", [], INT64, device, initial=0),
                const("one", 1, INT64, device),
                node("increment", "AssignAdd", "counter", "one", device=device, T=INT64),
            )
            s.run(targets=["counter/init"])
            for i in range(1, 20):
                self.assertEqual(s.run("counter:0", targets=["increment"]), i, device)

    def test_the_placement_log_has_a_line_for_each_node(self):
        self.session(*linear_model(), config=config_pb2.ConfigProto(log_device_placement=True))
        log = cluster.server("worker").log()
        self.assertRegex(log, r"\bw: \(VariableV2\): /job:ps/replica:0/task:0/(device:CPU|cpu):0\n")
        self.assertRegex(log, r"\by: \(MatMul\): /job:worker/replica:0/task:0/(device:CPU|cpu):0\n")

    # ---- Placing ----

    def test_without_a_job_the_first_device_of_the_cluster(self):
        s = self.session(const("a", 1.0, device="/cpu:0"), const("b", 1.0, device="/device:CPU:0"))
        for name in "a", "b":
            parts = s.step([f"{name}:0"], options={"output_partition_graphs": True}).metadata.partition_graphs
            self.assertIn((name, PS_CPU), [(n.name, n.device) for part in parts for n in part.node])

    def test_soft_placement_gives_a_gpu_node_to_the_cpu_of_its_task(self):
        nodes = [const("a", 1.0, device="/job:ps/task:0/device:GPU:0")]
        with self.fails("INVALID_ARGUMENT", "Cannot assign a device for operation", "a", "GPU:0"):
            self.session(*nodes)
        s = self.session(*nodes, config=config_pb2.ConfigProto(allow_soft_placement=True))
        self.assertEqual(s.run("a:0"), 1.0)

    def test_device_filters_leave_tasks_out(self):
        config = config_pb2.ConfigProto(device_filters=["/job:worker"])
        s = self.session(const("a", 1.0), config=config)
        devices = self.master.call(master_pb2.ListDevicesRequest(session_handle=s.handle))
        self.assertEqual([d.name for d in devices.remote_device], [])
        with self.fails("INVALID_ARGUMENT", "Cannot assign a device for operation", PS):
            self.session(const("a", 1.0, device=PS), config=config)


if __name__ == "__main__":
    main()
