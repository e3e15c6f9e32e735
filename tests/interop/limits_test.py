# Limits of what a caller may use of a server: beyond each there is an error that names the limit, and within
# it all goes on afterwards.
# labels: concurrent
# timeout: 120
from client import InteropTest, Session
from cluster import Cluster, main
from graphs import FLOAT, INT32, Shape, const, endless_loop, node, placeholder, tensor_of_bytes, value
from protos import grpc

CALLS, SESSIONS, MB = 20, 3, 1 << 20


def setUpModule():
    global cluster
    limits = f"calls={CALLS},sessions={SESSIONS},messages=8M,memory=64M,step-time=0.5"
    cluster = Cluster(ps=1, options=["--limit", limits])


def tearDownModule():
    cluster.stop()


class LimitsTest(InteropTest):
    def session(self, *nodes):
        s = Session(cluster.master("ps"), *nodes)
        self.addCleanup(s.close)
        return s

    def test_sessions(self):
        held = [Session(cluster.master("ps"), const("a", 1.0)) for _ in range(SESSIONS)]
        with self.fails("RESOURCE_EXHAUSTED", f"has {SESSIONS} sessions open", "--limit sessions=N"):
            Session(cluster.master("ps"), const("a", 1.0))
        held.pop().close()
        held.append(Session(cluster.master("ps"), const("a", 1.0)))
        self.assertEqual(held[-1].run("a:0"), 1.0)
        for s in held:
            s.close()

    def test_calls_in_progress(self):
        queue = node("q", "FIFOQueueV2", component_types=[FLOAT], shapes=[Shape([])], capacity=1)
        s = self.session(queue, node("d", "QueueDequeueV2", "q", component_types=[FLOAT]), const("a", 1.0))
        waiting = [s.start(["d:0"]) for _ in range(CALLS)]
        refused = [s.start(["d:0"]) for _ in range(3)]
        for call in refused:
            self.check_error(call.exception(), "RESOURCE_EXHAUSTED", f"{CALLS} calls in progress")
        for call in waiting:
            self.check_error(call.exception(), "DEADLINE_EXCEEDED")
        self.assertEqual(s.run("a:0"), 1.0)

    def size_of(self, session, bytes):
        return session.run("y:0", {"x:0": tensor_of_bytes(b"\0" * bytes, [bytes // 4], FLOAT)})

    def test_bytes_of_messages(self):
        s = self.session(placeholder("x", FLOAT), node("y", "Size", "x", T=FLOAT, out_type=INT32))
        self.assertEqual(self.size_of(s, 7 * MB), 7 * MB // 4)
        with self.fails("RESOURCE_EXHAUSTED", "messages of", "--limit messages=BYTES"):
            self.size_of(s, 9 * MB)
        self.assertEqual(self.size_of(s, 7 * MB), 7 * MB // 4)

    def test_a_message_far_beyond_the_limit(self):
        s = self.session(placeholder("x", FLOAT), node("y", "Size", "x", T=FLOAT, out_type=INT32))
        with self.assertRaises(grpc.RpcError) as raised:
            self.size_of(s, 256 * MB)
        self.assertIn(raised.exception.code().name, ("RESOURCE_EXHAUSTED", "UNAVAILABLE"))
        request = s.request(["y:0"], {"x:0": [0.0] * 10})
        master = cluster.master("ps")
        try:
            response = master.call(request, wait_for_ready=True)
        except grpc.RpcError as e:  # the connection ends a moment later than the call
            self.assertEqual(e.code().name, "UNAVAILABLE")
            response = master.call(request, wait_for_ready=True)
        self.assertEqual(value(response.tensor[0].tensor), 10)

    def test_memory_of_tensors(self):
        s = self.session(
            placeholder("n", INT32),
            const("zero", [0]),
            const("one", 1.0),
            node("ones", "Fill", "n", "one", T=FLOAT),
            node("sum", "Sum", "ones", "zero", T=FLOAT),
        )
        for _ in range(3):
            with self.fails("RESOURCE_EXHAUSTED", "ones"):
                s.run("sum:0", {"n:0": [100 * MB // 4]})
            self.assertEqual(s.run("sum:0", {"n:0": [MB]}), MB)

    def test_time_of_a_step(self):
        s = self.session(*endless_loop("loop"), const("a", 1.0))
        with self.fails("DEADLINE_EXCEEDED", "took longer than 500 ms"):
            s.run(targets=["loop/exit"])
        self.assertEqual(s.run("a:0"), 1.0)


if __name__ == "__main__":
    main()
