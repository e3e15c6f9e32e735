# Lists of tensors on Braid servers: in loops, as while_v2 builds them, and on their way between tasks and to
# the client.
# labels: concurrent
# timeout: 180
from client import InteropTest, Session
from cluster import Cluster, main
from graphs import BOOL, FLOAT, INT32, VARIANT, const, func, node, placeholder, with_library
from protos import tensor_pb2

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"
ANY_SHAPE = const("any", -1)


def setUpModule():
    global cluster
    cluster = Cluster(ps=1, worker=1)


def tearDownModule():
    cluster.stop()


def empty(name, device="", most="any"):
    return node(name, "EmptyTensorList", "any", most, device=device, element_dtype=FLOAT, shape_type=INT32)


def push(name, to, element, device=""):
    return node(name, "TensorListPushBack", to, element, device=device, element_dtype=FLOAT)


def set_item(name, of, index, item, device=""):
    return node(name, "TensorListSetItem", of, index, item, device=device, element_dtype=FLOAT)


def stack(name, of, device=""):
    return node(name, "TensorListStack", of, "any", device=device, element_dtype=FLOAT)


def move(name, what, device):
    return node(name, "Identity", what, device=device, T=VARIANT)


class TasksTest(InteropTest):
    def session(self, *nodes):
        return Session(
            cluster.master(),
            ANY_SHAPE,
            const("zero", 0),
            const("one", 1),
            const("two", 2),
            const("a", 1.0),
            const("b", 2.0),
            *nodes,
        )

    def test_a_list_goes_to_another_task(self):
        s = self.session(
            node(
                "l", "TensorListReserve", "any", "two", device=WORKER, element_dtype=FLOAT, shape_type=INT32
            ),
            set_item("with_a", "l", "zero", "a", WORKER),
            move("there", "with_a", PS),
            set_item("with_b", "there", "one", "b", PS),
            stack("y", "with_b", PS),
        )
        for _ in range(2):
            self.assertEqual(s.run("y:0"), [1.0, 2.0])

    def test_what_was_not_set_stays_so(self):
        s = self.session(
            node(
                "l", "TensorListReserve", "any", "two", device=WORKER, element_dtype=FLOAT, shape_type=INT32
            ),
            move("there", "l", PS),
            node("shape", "TensorListElementShape", "there", device=PS, shape_type=INT32),
            stack("y", "there", PS),
        )
        self.assertEqual(s.run("shape:0"), -1)
        with self.fails("INVALID_ARGUMENT", "only contains uninitialized tensors", "<unknown>"):
            s.run("y:0")

    def test_a_list_stays_full(self):
        s = self.session(
            empty("l", WORKER, "one"),
            push("with_a", "l", "a", WORKER),
            move("there", "with_a", PS),
            push("with_b", "there", "b", PS),
        )
        with self.fails("INVALID_ARGUMENT", "Tried to push item into a full list", "{{node with_b}}"):
            s.run([], targets=["with_b"])

    def test_the_client_gets_a_list_and_feeds_it(self):
        s = self.session(
            empty("l"),
            push("with_a", "l", "a"),
            push("y", "with_a", "b"),
            stack("z", "y"),
            placeholder("fed", VARIANT, []),
            stack("of_fed", "fed"),
        )
        fetched = s.step(["y:0"]).tensor[0].tensor
        (variant,) = fetched.variant_val
        self.assertEqual((variant.type_name, len(variant.tensors)), ("tensorflow::TensorList", 2))
        self.assertEqual(
            variant.metadata, b"\0\1" + b"\xff" * 9 + b"\1\x18\1"
        )  # none unset, float, no limit, any shape
        self.assertEqual(s.run("of_fed:0", {"fed:0": fetched}), [1.0, 2.0])
        # As a TensorFlow worker sends it: the lengths of all elements, then their bytes.
        packed = variant.SerializeToString()
        content = tensor_pb2.TensorProto(dtype=VARIANT, tensor_content=bytes([len(packed)]) + packed)
        content.tensor_shape.SetInParent()
        self.assertEqual(s.run("of_fed:0", {"fed:0": content}), [1.0, 2.0])


# while i < n: i += 1, l += [x * i]
LOOP = """
function {
  signature { name: "less" input_arg { name: "i" type: DT_FLOAT } input_arg { name: "n" type: DT_FLOAT }
              input_arg { name: "x" type: DT_FLOAT } input_arg { name: "l" type: DT_VARIANT }
              output_arg { name: "y" type: DT_BOOL } }
  node_def { name: "c" op: "Less" input: "i" input: "n" attr { key: "T" value { type: DT_FLOAT } } }
  ret { key: "y" value: "c:z:0" }
}
function {
  signature { name: "more" input_arg { name: "i" type: DT_FLOAT } input_arg { name: "n" type: DT_FLOAT }
              input_arg { name: "x" type: DT_FLOAT } input_arg { name: "l" type: DT_VARIANT }
              output_arg { name: "i_" type: DT_FLOAT } output_arg { name: "n_" type: DT_FLOAT }
              output_arg { name: "x_" type: DT_FLOAT } output_arg { name: "l_" type: DT_VARIANT } }
  node_def { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } }
  node_def { name: "a" op: "AddV2" input: "i" input: "one:output:0" attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "m" op: "Mul" input: "x" input: "a:z:0" attr { key: "T" value { type: DT_FLOAT } } }
  node_def { name: "p" op: "TensorListPushBack" input: "l" input: "m:z:0"
             attr { key: "element_dtype" value { type: DT_FLOAT } } }
  ret { key: "i_" value: "a:z:0" } ret { key: "n_" value: "n" } ret { key: "x_" value: "x" }
  ret { key: "l_" value: "p:output_handle:0" }
}
"""


class LoopTest(InteropTest):
    def expect(self, n, **attrs):
        loop = func(
            node("y", "While", "i", "n", "x", "l", T=[FLOAT, FLOAT, FLOAT, VARIANT], **attrs),
            cond="less",
            body="more",
        )
        s = Session(
            cluster.master(),
            with_library(
                LOOP,
                ANY_SHAPE,
                const("i", 0.0),
                placeholder("n", FLOAT, []),
                const("x", 2.0),
                empty("l"),
                loop,
                stack("z", "y:3"),
            ),
        )
        for _ in range(2):
            self.assertEqual(s.run("z:0", {"n:0": float(n)}), [2.0 * (i + 1) for i in range(n)])

    def test_a_lowered_loop(self):
        self.expect(5, _lower_using_switch_merge=True, parallel_iterations=10)

    def test_a_loop_of_calls(self):
        self.expect(5)

    # Copying all that is there at each turn would take minutes.
    def test_a_long_loop(self):
        self.expect(100000, _lower_using_switch_merge=True, parallel_iterations=10)


if __name__ == "__main__":
    main()
