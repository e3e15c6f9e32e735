# What of ConfigProto and RunOptions changes what a session does: it is heeded, or refused by name.
# labels: concurrent
# timeout: 120
import os
import tempfile

from client import InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, const, graph, node, variable
from protos import cluster_pb2, config_pb2, debug_pb2, master_pb2, tensorflow_server_pb2, worker_pb2

PS, WORKER = "/job:ps/task:0", "/job:worker/task:0"


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


def model():
    return [
        *variable("v", [], FLOAT, PS, initial=1.0),
        node("v/add", "AssignAdd", "v", "v/one", device=PS, T=FLOAT, _class=["loc:@v"]),
        const("v/one", 1.0, device=PS),
    ]


def cluster_def(spec):
    return cluster_pb2.ClusterDef(
        job=[cluster_pb2.JobDef(name=job, tasks=dict(enumerate(tasks))) for job, tasks in spec.items()]
    )


class SessionConfigTest(InteropTest):
    def session(self, **config):
        return Session(cluster.master(), *model(), config=config_pb2.ConfigProto(**config))

    def assert_shares_nothing(self, config):
        first, second = self.session(**config), self.session(**config)
        first.run(targets=["v/init"])
        first.run(targets=["v/add"])
        with self.fails("FAILED_PRECONDITION", "Attempting to use uninitialized value v"):
            second.run("v/read:0")
        second.run(targets=["v/init"])
        self.assertEqual((first.run("v/read:0"), second.run("v/read:0")), (2.0, 1.0))
        first.close()
        second.close()
        with self.fails("FAILED_PRECONDITION", "Attempting to use uninitialized value v"):
            self.session(**config).run("v/read:0")

    # ---- isolate_session_state ----

    def test_sessions_share_variables(self):
        self.session().run(targets=["v/init"])
        self.assertEqual(self.session().run("v/read:0"), 1.0)

    def test_isolated_sessions_share_nothing(self):
        self.assert_shares_nothing({"isolate_session_state": True})

    # ---- device_count, which is the server's in TensorFlow ----

    def test_a_task_has_as_many_cpu_devices_as_its_server_was_given(self):
        with Cluster(options=["--cpu-devices", "2"], ps=1, worker=1) as wide:
            first, second = (f"{PS}/device:CPU:{i}" for i in range(2))
            s = Session(
                wide.master(),
                *variable("v", [], FLOAT, second, initial=3.0),
                node("y", "Square", "v/read", device=first, T=FLOAT),
                node("z", "Add", "y", "v/read", device="/job:worker/device:CPU:1", T=FLOAT),
            )
            listed = wide.master().call(master_pb2.ListDevicesRequest(session_handle=s.handle))
            names = sorted(d.name for d in [*listed.local_device, *listed.remote_device])
            self.assertEqual(
                names,
                [f"/job:{job}/replica:0/task:0/device:CPU:{i}" for job in ("ps", "worker") for i in range(2)],
            )
            s.run(targets=["v/init"])
            self.assertEqual(s.run("z:0"), 12.0)
            step = s.step(["z:0"], options={"trace_level": config_pb2.RunOptions.FULL_TRACE})
            ran = {n.node_name: d.device for d in step.metadata.step_stats.dev_stats for n in d.node_stats}
            self.assertTrue(ran["v"].endswith("ps/replica:0/task:0/device:CPU:1"), ran)
            self.assertTrue(ran["y"].endswith("ps/replica:0/task:0/device:CPU:0"), ran)
            self.assertTrue(ran["z"].endswith("worker/replica:0/task:0/device:CPU:1"), ran)
            with self.fails("INVALID_ARGUMENT", "bad", f"{PS}/device:CPU:2"):
                s.extend(node("bad", "Abs", "v/read", device=f"{PS}/device:CPU:2", T=FLOAT))

    # ---- allow_soft_placement ----

    def test_soft_placement_maps_gpus_to_the_cpu_devices_of_the_task(self):
        with Cluster(options=["--cpu-devices", "2"], ps=1, worker=1) as wide:
            s = Session(
                wide.master(),
                *[const(f"c{k}", float(k), device=f"/job:worker/device:GPU:{k}") for k in range(4)],
                *[node(f"n{k}", "Neg", f"c{k}", device=f"{PS}/gpu:{k}", T=FLOAT) for k in range(4)],
                config=config_pb2.ConfigProto(allow_soft_placement=True),
            )
            s.extend(const("later", 5.0, device="/job:worker/gpu:3"))
            step = s.step(
                [f"n{k}:0" for k in range(4)],
                options={"trace_level": config_pb2.RunOptions.FULL_TRACE},
            )
            ran = {n.node_name: d.device for d in step.metadata.step_stats.dev_stats for n in d.node_stats}
            for k in range(4):
                self.assertTrue(ran[f"n{k}"].endswith(f"ps/replica:0/task:0/device:CPU:{k % 2}"), ran)
            lines = [line for line in wide.server("worker").log().splitlines() if "soft placement" in line]
            self.assertEqual(len(lines), 8, lines)  # one for each device
            self.assertIn(
                "There is no device /job:worker/device:GPU:3: its operations are placed on "
                "/job:worker/replica:0/task:0/device:CPU:1 (soft placement)",
                "\n".join(lines),
            )
            with self.fails("INVALID_ARGUMENT", "available devices are", f"{PS}", "device:CPU:1"):
                Session(wide.master(), const("hard", 1.0, device=f"{PS}/gpu:1")).run("hard:0")

    # ---- use_per_session_threads, session_inter_op_thread_pool ----

    def test_sessions_have_no_threads_of_their_own(self):
        for field, config in [
            ("use_per_session_threads", {"use_per_session_threads": True}),
            (
                "session_inter_op_thread_pool",
                {"session_inter_op_thread_pool": [config_pb2.ThreadPoolOptionProto(num_threads=2)]},
            ),
        ]:
            with self.fails(
                "INVALID_ARGUMENT", "Distributed session does not support session thread pool options", field
            ):
                self.session(**config)

    # ---- graph_options ----

    def test_only_what_runs_must_have_its_device(self):
        graph = [
            const("a", 1.0, device="/device:GPU:0"),
            const("b", 2.0),
            node("c", "Identity", "a", T=FLOAT),
        ]
        config = config_pb2.ConfigProto(graph_options=config_pb2.GraphOptions(place_pruned_graph=True))
        session = Session(cluster.master(), *graph, config=config)
        self.assertEqual(session.run("b:0"), 2.0)
        with self.fails(
            "INVALID_ARGUMENT",
            "Cannot assign a device for operation a: {{node a}} was explicitly assigned to",
        ):
            session.run("c:0")
        with self.fails("INVALID_ARGUMENT", "Cannot assign a device for operation a"):
            Session(cluster.master(), *graph).run("b:0")

    # ---- cluster_def ----

    def test_a_session_may_bring_the_cluster_and_share_its_state_all_the_same(self):
        shared = {
            "cluster_def": cluster_def(cluster.spec),
            "isolate_session_state": True,
            "experimental": {"share_session_state_in_clusterspec_propagation": True},
        }
        self.session(**shared).run(targets=["v/init"])
        self.assertEqual(self.session(**shared).run("v/read:0"), 1.0)

    def test_a_session_may_bring_the_cluster_that_the_servers_have_and_is_isolated(self):
        self.assert_shares_nothing({"cluster_def": cluster_def(cluster.spec)})

    def test_a_session_may_give_the_servers_other_names(self):
        (ps,), (worker,) = cluster.spec["ps"], cluster.spec["worker"]
        renamed = cluster_def({"trainer": [ps, worker]})
        s = Session(
            cluster.master(),
            *variable("v", [], FLOAT, "/job:trainer/task:0", initial=3.0),
            node("y", "Square", "v/read", device="/job:trainer/task:1", T=FLOAT),
            config=config_pb2.ConfigProto(cluster_def=renamed),
        )
        s.run(targets=["v/init"])
        self.assertEqual(s.run("y:0"), 9.0)
        listed = cluster.master().call(master_pb2.ListDevicesRequest(session_handle=s.handle))
        self.assertEqual(
            [d.name for d in listed.local_device], ["/job:trainer/replica:0/task:1/device:CPU:0"]
        )
        self.assertEqual(
            [d.name for d in listed.remote_device], ["/job:trainer/replica:0/task:0/device:CPU:0"]
        )
        with self.fails("INVALID_ARGUMENT", "Cannot assign a device", PS):
            s.extend(const("unknown", 1.0, device=PS))
        s.close()

    def test_a_cluster_without_the_server_or_with_a_task_twice_is_refused(self):
        (ps,), (worker,) = cluster.spec["ps"], cluster.spec["worker"]
        with self.fails("INVALID_ARGUMENT", "no task with the address of the server", worker):
            self.session(cluster_def=cluster_def({"ps": [ps]}))
        with self.fails("INVALID_ARGUMENT", "ConfigProto.cluster_def: ", worker):
            self.session(cluster_def=cluster_def({"worker": [worker], "chief": [worker]}))
        with self.fails("INVALID_ARGUMENT", "ConfigProto.cluster_def has no task"):
            self.session(cluster_def=cluster_def({"worker": []}))

    def test_a_master_may_give_a_worker_another_name(self):
        (worker,) = cluster.spec["worker"]
        server = tensorflow_server_pb2.ServerDef(cluster=cluster_def({"trainer": [worker]}))
        stub = cluster.worker("worker", 0)
        request = worker_pb2.CreateWorkerSessionRequest(session_handle="renamed", server_def=server)
        server.job_name, server.task_index = "trainer", 1
        request.server_def.CopyFrom(server)
        with self.fails("INVALID_ARGUMENT", "is for /job:trainer/task:1, which its cluster has not"):
            stub.call(request)
        request.server_def.task_index = 0
        stub.call(request)

        def register(device):
            graph_def = graph(const("c", 1.0, device=device))
            return stub.call(
                worker_pb2.RegisterGraphRequest(
                    session_handle="renamed", create_worker_session_called=True, graph_def=graph_def
                )
            )

        register("/job:trainer/replica:0/task:0/device:CPU:0")
        with self.fails("INVALID_ARGUMENT", "no device of /job:trainer/replica:0/task:0"):
            register("/job:worker/replica:0/task:0/device:CPU:0")
        stub.call(worker_pb2.DeleteWorkerSessionRequest(session_handle="renamed"))

    # ---- graph_options ----

    def test_a_cost_model_of_every_so_many_runs_of_a_signature(self):
        s = self.session(graph_options={"build_cost_model": 3, "build_cost_model_after": 1})
        s.run(targets=["v/init"])
        s.extend(node("minus", "Neg", "v/read", "^v/one", device=WORKER, T=FLOAT))
        for run in range(1, 9):
            metadata = s.step(["minus:0"]).metadata
            self.assertEqual(metadata.HasField("cost_graph"), run in (1, 4, 7), run)
            self.assertFalse(metadata.HasField("step_stats"))
            self.assertEqual(len(metadata.partition_graphs), 0)
            if not metadata.HasField("cost_graph"):
                continue
            nodes = {n.name: n for n in metadata.cost_graph.node}
            self.assertEqual(
                sorted(n.id for n in metadata.cost_graph.node), list(range(len(metadata.cost_graph.node)))
            )
            minus, read = nodes["minus"], nodes["v/read"]
            self.assertEqual(
                (minus.device, read.device),
                (
                    WORKER.replace("/task", "/replica:0/task") + "/device:CPU:0",
                    PS.replace("/task", "/replica:0/task") + "/device:CPU:0",
                ),
            )
            self.assertEqual(
                [(o.dtype, o.size, len(o.shape.dim)) for o in minus.output_info], [(FLOAT, 4, 0)]
            )
            (source,) = minus.input_info
            self.assertIn(source.preceding_node, [n.id for n in metadata.cost_graph.node])
            self.assertTrue(any(n.is_final for n in metadata.cost_graph.node))
            self.assertFalse(minus.is_final)
            self.assertTrue(
                any(
                    minus.id in [i.preceding_node for i in n.input_info] and n.is_final
                    for n in metadata.cost_graph.node
                )
            )

    # ---- RunOptions ----

    def test_watched_tensors_are_written_to_the_debug_url(self):
        watch = debug_pb2.DebugTensorWatch(node_name="v/one", debug_ops=["DebugIdentity"])
        options = {"debug_options": debug_pb2.DebugOptions(debug_tensor_watch_opts=[watch])}
        self.assertEqual(self.session().run("v/one:0", options=options), 1.0)  # it is written to no file
        urls = options["debug_options"].debug_tensor_watch_opts[0].debug_urls
        with tempfile.TemporaryDirectory() as root:
            urls.append("file://" + root)
            self.assertEqual(self.session().run("v/one:0", options=options), 1.0)
            found = [name for _, _, names in os.walk(root) for name in names]
            self.assertEqual(sum(name.startswith("one_0_DebugIdentity_") for name in found), 1)
            self.assertEqual(sum(name.startswith("_tfdbg_graph_hash") for name in found), 1)
            self.assertEqual(sum(name.startswith("_tfdbg_core_metadata_sessionrun0") for name in found), 1)
        urls[0] = "grpc://localhost:6064"
        with self.fails("UNIMPLEMENTED", "grpc://localhost:6064"):
            self.session().run("v/one:0", options=options)


if __name__ == "__main__":
    main()
