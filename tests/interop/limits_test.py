# Limits of what a caller may use of a server: beyond each there is an error that names the limit, and within
# it all goes on afterwards.
# labels: concurrent
# timeout: 240
import time

from client import InteropTest, Session
from cluster import Cluster, main
from graphs import (
    FLOAT,
    INT32,
    Shape,
    const,
    endless_loop,
    graph,
    node,
    placeholder,
    tensor_of_bytes,
    value,
    with_library,
)
from protos import grpc, worker_pb2

CALLS, SESSIONS, MB = 20, 3, 1 << 20
# Of graphs. Two messages of them are within the limit: one counts until a moment after its answer.
PART = 3 * MB


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

    def sum_of_ones(self, s, count):
        """Attempts again while the memory of what ended before has not come back."""
        deadline = time.monotonic() + 30
        while True:
            try:
                return s.run("sum:0", {"n:0": [count]})
            except grpc.RpcError as e:
                if e.code().name != "RESOURCE_EXHAUSTED" or time.monotonic() > deadline:
                    raise

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
            self.assertEqual(self.sum_of_ones(s, MB), MB)

    def fill(self, session, make, words):
        """Extends the session by make(0), make(1)... as long as the server lets it; returns how often it did."""
        for i in range(40):
            try:
                session.extend(make(i))
            except grpc.RpcError as e:
                self.check_error(e, "RESOURCE_EXHAUSTED", words)
                return i
        self.fail("nothing stops the session")

    def enough(self, attempt, undo):
        """Attempts again until a result is long enough: the memory of what ended before comes back a moment
        after its end."""
        deadline = time.monotonic() + 30
        made, count = attempt()
        while count <= 5 and time.monotonic() < deadline:
            undo(made)
            made, count = attempt()
        self.assertGreater(count, 5)
        return made, count

    def fills_and_gives_back(self, make, words="--limit memory=BYTES"):
        """What is refused changes nothing; a session that ends makes room."""
        other = self.session(const("a", 1.0))

        def filled():
            s = Session(cluster.master("ps"), const("a", 1.0))
            return s, self.fill(s, make, words)

        for _ in range(2):
            s, before = self.enough(filled, lambda s: s.close())
            for _ in range(5):  # none of them leaves anything
                before += self.fill(s, lambda i: make(before + i), words)
            with self.fails("RESOURCE_EXHAUSTED"):
                Session(cluster.master("ps"), make(0))
            self.assertEqual((s.run("a:0"), other.run("a:0")), (1.0, 1.0))
            s.close()

    def test_nodes_of_graphs(self):
        self.fills_and_gives_back(lambda i: graph(*(const(f"n{i}_{k}", 1.0) for k in range(5000))))

    def test_large_attributes_of_nodes(self):
        self.fills_and_gives_back(lambda i: graph(node(f"n{i}", "NoOp", _x=b"x" * PART)))

    def test_constants_of_graphs(self):
        zeros = tensor_of_bytes(b"\0" * PART, [PART // 4], FLOAT)
        self.fills_and_gives_back(
            lambda i: graph(node(f"n{i}", "Const", dtype=FLOAT, value=zeros)), "out of memory"
        )

    def test_functions(self):
        def library(i):
            body = f'node_def {{ name: "n" op: "NoOp" attr {{ key: "_x" value {{ s: "{"x" * 2 * MB}" }} }} }}'
            return with_library(f'function {{ signature {{ name: "f{i}" }} {body} }}')

        self.fills_and_gives_back(library)

    def test_registered_graphs(self):
        worker, session = cluster.worker("ps"), "limits-test"

        def register():
            g = graph(node("n", "NoOp", device="/job:ps/task:0", _x=b"x" * PART))
            return worker.call(
                worker_pb2.RegisterGraphRequest(session_handle=session, graph_def=g)
            ).graph_handle

        def register_first():
            """Memory of sessions that have ended comes back a moment later than their end."""
            deadline = time.monotonic() + 30
            while True:
                try:
                    return register()
                except grpc.RpcError as e:
                    if e.code().name != "RESOURCE_EXHAUSTED" or time.monotonic() > deadline:
                        raise

        def register_all():
            handles = [register_first()]
            with self.fails("RESOURCE_EXHAUSTED", "--limit memory=BYTES"):
                while len(handles) < 40:
                    handles.append(register())
            return handles, len(handles)

        def deregister(handles):
            for h in handles:
                worker.call(worker_pb2.DeregisterGraphRequest(session_handle=session, graph_handle=h))

        for _ in range(2):
            handles, _ = self.enough(register_all, deregister)
            deregister(handles)

    def test_time_of_a_step(self):
        s = self.session(*endless_loop("loop"), const("a", 1.0))
        with self.fails("DEADLINE_EXCEEDED", "took longer than 500 ms"):
            s.run(targets=["loop/exit"])
        self.assertEqual(s.run("a:0"), 1.0)


if __name__ == "__main__":
    main()
