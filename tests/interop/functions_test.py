# Functions of a library, called on Braid servers: as a client sends them, as a master does, and as a
# TensorFlow worker gets them.
# labels: concurrent
# timeout: 180
from client import InteropTest, Session
from cluster import Cluster, main
from fake_worker import FakeWorker
from graphs import BOOL, FLOAT, RESOURCE, Shape, const, func, graph, node, placeholder, value, with_library
from protos import config_pb2, worker_pb2

PS, WORKER = "/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:CPU:0"

T = 'attr { key: "T" value { type: DT_FLOAT } } '
SQUARE = (
    """
function {
  signature { name: "sq" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "m" op: "Mul" input: "x" input: "x" """
    + T
    + """ }
  ret { key: "y" value: "m:z:0" }
}
"""
)
NEGATE = (
    SQUARE.replace('"sq"', '"neg"').replace('op: "Mul" input: "x"', 'op: "Neg"').replace("m:z:0", "m:y:0")
)
# sq(neg(x)) through a call of a call
BOTH = """
function {
  signature { name: "both" input_arg { name: "x" type: DT_FLOAT } output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "n" op: "neg" input: "x" }
  node_def { name: "s" op: "sq" input: "n:y:0" }
  ret { key: "y" value: "s:y:0" }
}
"""
# The handle is captured; adds x to the variable and reads it.
ADD_TO = """
function {
  signature { name: "add_to" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT }
              output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
  node_def { name: "a" op: "AssignAddVariableOp" input: "v" input: "x"
             attr { key: "dtype" value { type: DT_FLOAT } } }
  node_def { name: "r" op: "ReadVariableOp" input: "v" input: "^a" attr { key: "dtype" value { type: DT_FLOAT } } }
  ret { key: "y" value: "r:value:0" }
}
"""
# Reads the variables behind both handles, wherever they are.
READ_BOTH = (
    """
function {
  signature { name: "read_both" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "w" type: DT_RESOURCE }
              output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
  node_def { name: "a" op: "ReadVariableOp" input: "v" attr { key: "dtype" value { type: DT_FLOAT } } }
  node_def { name: "b" op: "ReadVariableOp" input: "w" attr { key: "dtype" value { type: DT_FLOAT } } }
  node_def { name: "s" op: "Add" input: "a:value:0" input: "b:value:0" """
    + T
    + """ }
  ret { key: "y" value: "s:z:0" }
}
function {
  signature { name: "read_none" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "w" type: DT_RESOURCE }
              output_arg { name: "y" type: DT_FLOAT } }
  node_def { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: -1 } } } }
  ret { key: "y" value: "c:output:0" }
}
"""
)
# Gives x back; that v grows is nothing that the result needs.
BUMP = """
function {
  signature { name: "bump" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT }
              output_arg { name: "y" type: DT_FLOAT } is_stateful: true }
  node_def { name: "a" op: "AssignAddVariableOp" input: "v" input: "x" attr { key: "dtype" value { type: DT_FLOAT } } }
  ret { key: "y" value: "x" }
}
function {
  signature { name: "leave" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "x" type: DT_FLOAT }
              output_arg { name: "y" type: DT_FLOAT } }
  ret { key: "y" value: "x" }
}
"""
# while v < 10: v += w; and the handles go round
ADD_UP = (
    """
function {
  signature { name: "is_small" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "w" type: DT_RESOURCE }
              output_arg { name: "y" type: DT_BOOL } is_stateful: true }
  node_def { name: "a" op: "ReadVariableOp" input: "v" attr { key: "dtype" value { type: DT_FLOAT } } }
  node_def { name: "c" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 10 } } } }
  node_def { name: "l" op: "Less" input: "a:value:0" input: "c:output:0" """
    + T
    + """ }
  ret { key: "y" value: "l:z:0" }
}
function {
  signature { name: "add" input_arg { name: "v" type: DT_RESOURCE } input_arg { name: "w" type: DT_RESOURCE }
              output_arg { name: "v_" type: DT_RESOURCE } output_arg { name: "w_" type: DT_RESOURCE }
              is_stateful: true }
  node_def { name: "b" op: "ReadVariableOp" input: "w" attr { key: "dtype" value { type: DT_FLOAT } } }
  node_def { name: "a" op: "AssignAddVariableOp" input: "v" input: "b:value:0"
             attr { key: "dtype" value { type: DT_FLOAT } } }
  ret { key: "v_" value: "v" } ret { key: "w_" value: "w" }
}
"""
)


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


def partitioned_call(name, f, *inputs, device=""):
    return func(
        node(name, "PartitionedCall", *inputs, device=device, Tin=[FLOAT] * len(inputs), Tout=[FLOAT]), f=f
    )


class SessionTest(InteropTest):
    def session(self, *nodes):
        return Session(cluster.master(), *nodes)

    def test_calls_on_both_tasks(self):
        g = with_library(
            SQUARE + NEGATE + BOTH,
            placeholder("x", FLOAT, []),
            node("a", "both", "x", device=PS),
            node("b", "neg", "a", device=WORKER),
            partitioned_call("c", "sq", "b", device=PS),
        )
        self.assertEqual(self.session(g).run(["a:0", "b:0", "c:0"], {"x:0": 3.0}), [9.0, -9.0, 81.0])

    def test_functions_that_come_later(self):
        s = self.session(with_library(SQUARE, const("x", 3.0), node("a", "sq", "x", device=PS)))
        self.assertEqual(s.run("a:0"), 9.0)
        s.extend(with_library(SQUARE + NEGATE + BOTH, node("b", "both", "a", device=PS)))
        self.assertEqual(s.run(["a:0", "b:0"]), [9.0, 81.0])

    def test_another_definition_of_the_same_name(self):
        s = self.session(with_library(SQUARE, const("x", 3.0), node("a", "sq", "x")))
        other = SQUARE.replace("Mul", "Add")
        with self.fails("INVALID_ARGUMENT", "'sq'", "a different function with the same name already exists"):
            s.extend(with_library(other, const("y", 1.0)))
        self.assertEqual(s.run("a:0"), 9.0)
        s.extend(with_library(SQUARE, node("b", "sq", "a")))  # nothing of the failed one is there
        self.assertEqual(s.run("b:0"), 81.0)

    def test_the_name_of_an_op(self):
        with self.fails("INVALID_ARGUMENT", "an op with the same name already exists"):
            self.session(with_library(SQUARE.replace('"sq"', '"MatMul"'), const("x", 3.0)))

    def test_a_function_that_nobody_has(self):
        s = self.session(const("x", 3.0), partitioned_call("y", "nowhere", "x", device=PS))
        with self.fails("NOT_FOUND", "Function nowhere is not defined", "{{node y}}"):
            s.run("y:0")
        self.assertEqual(s.run("x:0"), 3.0)

    def test_an_error_names_the_node_and_its_caller(self):
        broken = (
            SQUARE.replace('"sq"', '"broken"')
            .replace("Mul", "Gather")
            .replace(T, "")
            .replace(
                'input: "x" input: "x"',
                'input: "x" input: "x" attr { key: "Tparams" value { type: DT_FLOAT } } ',
            )
            .replace("m:z:0", "m:output:0")
        )
        s = self.session(with_library(broken, const("x", 3.0), node("y", "broken", "x", device=PS)))
        with self.fails("INVALID_ARGUMENT", "{{node m}}", "y"):
            s.run("y:0")

    def test_effects_on_a_captured_handle(self):
        handle = node(
            "v", "VarHandleOp", device=PS, dtype=FLOAT, shape=Shape([]), shared_name="functions_test_v"
        )
        s = self.session(
            with_library(
                ADD_TO,
                handle,
                const("one", 1.0),
                node("init", "AssignVariableOp", "v", "one", dtype=FLOAT),
                node("y", "add_to", "v", "one"),
            )
        )
        s.run([], targets=["init"])
        self.assertEqual([s.run("y:0") for _ in range(3)], [2.0, 3.0, 4.0])

    def test_a_function_of_an_isolated_session_has_its_variables(self):
        nodes = [
            node(
                "v", "VarHandleOp", device=PS, dtype=FLOAT, shape=Shape([]), shared_name="functions_test_own"
            ),
            const("one", 1.0),
            node("init", "AssignVariableOp", "v", "one", dtype=FLOAT),
            node("y", "add_to", "v", "one"),
        ]
        config = config_pb2.ConfigProto(isolate_session_state=True)
        sessions = [Session(cluster.master(), with_library(ADD_TO, *nodes), config=config) for _ in range(2)]
        for s in sessions:
            s.run([], targets=["init"])
        self.assertEqual([s.run("y:0") for s in sessions * 2], [2.0, 2.0, 3.0, 3.0])

    def test_a_session_is_extended_while_functions_run(self):
        s = self.session(with_library(SQUARE, const("x", 3.0), node("a0", "sq", "x", device=PS)))
        for i in range(1, 20):
            steps = [s.start([f"a{i - 1}:0"]) for _ in range(4)]
            s.extend(
                with_library(SQUARE.replace('"sq"', f'"sq{i}"'), node(f"a{i}", f"sq{i}", "x", device=PS))
            )
            for step in steps:
                self.assertEqual(value(step.result().tensor[0].tensor), 9.0)


class LoweringTest(InteropTest):
    """What Python's cond and while_loop build: their functions' nodes go where what they take is."""

    def variables(self, *nodes, library):
        both = []
        for name, device, v in ("v", PS, 2.0), ("w", WORKER, 3.0):
            both += [
                node(
                    name,
                    "VarHandleOp",
                    device=device,
                    dtype=FLOAT,
                    shape=Shape([]),
                    shared_name=f"{self.id()}{name}",
                ),
                const(f"{name}/value", v, device=device),
                node(f"{name}/init", "AssignVariableOp", name, f"{name}/value", device=device, dtype=FLOAT),
            ]
        s = Session(cluster.master(), with_library(library, *both, *nodes))
        s.run([], targets=["v/init", "w/init"])
        return s

    def test_a_branch_over_two_tasks(self):
        cond = func(
            node(
                "y",
                "If",
                "p",
                "v",
                "w",
                Tcond=BOOL,
                Tin=[RESOURCE, RESOURCE],
                Tout=[FLOAT],
                _lower_using_switch_merge=True,
            ),
            then_branch="read_both",
            else_branch="read_none",
        )
        s = self.variables(placeholder("p", BOOL, []), cond, library=READ_BOTH)
        self.assertEqual([s.run("y:0", {"p:0": p}) for p in (True, False, True)], [5.0, -1.0, 5.0])

    def test_a_call_over_two_tasks(self):
        call = func(
            node(
                "y",
                "StatefulPartitionedCall",
                "v",
                "w",
                Tin=[RESOURCE, RESOURCE],
                Tout=[FLOAT],
                device=WORKER,
            ),
            f="read_both",
        )
        self.assertEqual(self.variables(call, library=READ_BOTH).run("y:0"), 5.0)

    def test_effects_that_no_result_needs(self):
        call = func(
            node("call", "StatefulPartitionedCall", "v", "v/value", Tin=[RESOURCE, FLOAT], Tout=[FLOAT]),
            f="bump",
        )
        branch = func(
            node(
                "branch",
                "If",
                "p",
                "v",
                "w/value",
                Tcond=BOOL,
                Tin=[RESOURCE, FLOAT],
                Tout=[FLOAT],
                _lower_using_switch_merge=True,
            ),
            then_branch="bump",
            else_branch="leave",
        )
        s = self.variables(
            placeholder("p", BOOL, []),
            call,
            branch,
            node("r", "ReadVariableOp", "v", dtype=FLOAT),
            node("a", "Neg", "call", T=FLOAT),
            node("b", "Neg", "branch", T=FLOAT),
            library=BUMP,
        )
        self.assertEqual(s.run("a:0"), -2.0)
        self.assertEqual(s.run("r:0"), 4.0)
        self.assertEqual(s.run("b:0", {"p:0": True}), -3.0)
        self.assertEqual(s.run("r:0"), 7.0)
        self.assertEqual(s.run("b:0", {"p:0": False}), -3.0)
        self.assertEqual(s.run("r:0"), 7.0)

    def test_a_loop_over_two_tasks(self):
        loop = func(
            node("y", "While", "v", "w", T=[RESOURCE, RESOURCE], _lower_using_switch_merge=True),
            cond="is_small",
            body="add",
        )
        read = node("r", "ReadVariableOp", "v", "^y", dtype=FLOAT)
        through = node("t", "ReadVariableOp", "y", dtype=FLOAT)  # the handle that comes out
        s = self.variables(loop, read, through, library=ADD_UP)
        self.assertEqual(s.run("r:0"), 11.0)
        self.assertEqual(s.run("t:0"), 11.0)


class WorkerTest(InteropTest):
    def register(self, g):
        request = worker_pb2.RegisterGraphRequest(session_handle="functions", graph_def=g)
        return cluster.worker().call(request).graph_handle

    def run_graph(self, g, recv):
        incarnation = cluster.worker().call(worker_pb2.GetStatusRequest()).device_attributes[0].incarnation
        signed = incarnation - (1 << 64) if incarnation >> 63 else incarnation
        g.node.append(
            node(
                "send",
                "_Send",
                recv,
                device=WORKER,
                T=FLOAT,
                tensor_name=f"{recv}:0",
                send_device=WORKER,
                send_device_incarnation=signed,
                recv_device=WORKER,
                client_terminated=True,
            )
        )
        key = f"{WORKER};{incarnation:016x};{WORKER};{recv}:0;0:0"
        request = worker_pb2.RunGraphRequest(
            session_handle="functions",
            graph_handle=self.register(g),
            step_id=hash(key) & 0xFFFFFF,
            recv_key=[key],
        )
        response = cluster.worker().call(request)
        return value(response.recv[0].tensor)

    def test_a_graph_with_its_library(self):
        g = with_library(
            SQUARE + NEGATE + BOTH, const("x", 3.0, device=WORKER), node("y", "both", "x", device=WORKER)
        )
        self.assertEqual(self.run_graph(g, "y"), 9.0)

    def test_a_graph_without_it(self):
        g = graph(const("x", 3.0, device=WORKER), node("y", "both", "x", device=WORKER))
        with self.fails("NOT_FOUND", "both"):
            self.register(g)


class MasterTest(InteropTest):
    def test_a_partition_carries_what_its_nodes_call(self):
        mixed = Cluster(ps=1, worker=1, absent=[("ps", 0), ("worker", 0)])
        peer = FakeWorker(mixed.address("ps"), "/job:ps/replica:0/task:0")
        try:
            mixed.start("worker")
            unused = SQUARE.replace('"sq"', '"unused"')
            g = with_library(
                SQUARE + NEGATE + BOTH + unused, const("x", 3.0, device=PS), node("y", "both", "x", device=PS)
            )
            step = Session(mixed.master(), g).start(["y:0"])
            sent = peer.next("RegisterGraph").request.graph_def
            step.cancel()
            self.assertEqual(sorted(f.signature.name for f in sent.library.function), ["both", "neg", "sq"])
        finally:
            mixed.stop()
            peer.stop()


if __name__ == "__main__":
    main()
