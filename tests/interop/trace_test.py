# Tracing a step of a running server on demand (braid.MonitoringService/Trace).
# labels: concurrent
# timeout: 60
import subprocess

import cluster as clusters
from client import CHANNEL_OPTIONS, TIMEOUT, InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, INT32, Shape, const, node, placeholder
from protos import config_pb2, grpc

CPU = "/job:{}/replica:0/task:0/device:CPU:0"


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


class TraceTest(InteropTest):
    def setUp(self):
        self.channel = grpc.insecure_channel(cluster.address("worker"), CHANNEL_OPTIONS)
        self.addCleanup(self.channel.close)
        queue = node("q", "FIFOQueueV2", component_types=[FLOAT], shapes=[Shape([])], capacity=1)
        self.session = Session(
            cluster.master("worker"),
            const("a", 1.0, device="/job:ps/task:0"),
            node("b", "Neg", "a", device="/job:worker/task:0", T=FLOAT),
            placeholder("n", INT32),
            node("fails", "Fill", "n", "a", T=FLOAT),
            queue,
            node("waits", "QueueDequeueV2", "q", component_types=[FLOAT]),
        )
        self.addCleanup(self.session.close)

    def trace(self, timeout=TIMEOUT):
        """Begins to wait for a step."""
        call = self.channel.unary_unary(
            "/braid.MonitoringService/Trace", response_deserializer=config_pb2.RunMetadata.FromString
        )
        return call.future(b"", timeout)

    def steps_until(self, trace):
        """A trace may begin to wait while a step runs: that is one of the later ones."""
        while not trace.done():
            self.assertEqual(self.session.run("b:0"), -1.0)
        return trace.result()

    def test_the_next_step_is_traced_on_all_its_devices(self):
        stats = self.steps_until(self.trace()).step_stats
        self.assertEqual({d.device for d in stats.dev_stats}, {CPU.format("ps"), CPU.format("worker")})
        self.assertIn("b", {n.node_name for d in stats.dev_stats for n in d.node_stats})

    def test_each_of_several_waits_gets_a_step(self):
        traces = [self.trace() for _ in range(3)]
        for t in traces:
            self.assertTrue(self.steps_until(t).step_stats.dev_stats)

    def test_a_wait_without_a_step_ends_at_its_deadline(self):
        self.check_error(self.trace(timeout=0.2).exception(), "DEADLINE_EXCEEDED")
        self.assertEqual(self.session.run("b:0"), -1.0)

    def test_a_step_that_fails_leaves_the_trace_to_the_next_one(self):
        trace = self.trace()
        for _ in range(5):
            with self.fails("INVALID_ARGUMENT"):
                self.session.run("fails:0", {"n:0": [-1]})
        self.assertFalse(trace.done())
        self.assertTrue(self.steps_until(trace).step_stats.dev_stats)

    def test_a_wait_may_end_while_its_step_waits(self):
        trace = self.trace(timeout=0.5)
        waiting = self.session.start(["waits:0"], options={"timeout_in_ms": 1500})
        self.check_error(trace.exception(), "DEADLINE_EXCEEDED")
        self.check_error(waiting.exception(), "DEADLINE_EXCEEDED")

    def test_braid_timeline_shows_it(self):
        command = [f"{clusters.programs}/braid", "timeline", "--server", cluster.address("worker")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        while process.poll() is None:
            self.session.run("b:0")
        output = process.stdout.read()
        process.stdout.close()
        self.assertEqual(process.returncode, 0)
        self.assertRegex(output, "Step: .* on 2 devices")

    def test_braid_timeline_says_when_there_is_no_step(self):
        command = [
            f"{clusters.programs}/braid",
            "timeline",
            "--server",
            cluster.address("ps"),
            "--timeout",
            "0.3",
        ]
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("has begun and ended no step within 0.3 s", done.stderr)


if __name__ == "__main__":
    main()
