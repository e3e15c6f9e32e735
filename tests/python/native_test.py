# The extension module braid._native: tensors share memory with numpy, and graphs and sessions are the C ones.
import sys
import threading
import unittest

import support  # noqa: F401, before the others: where the package is
import numpy as np

from braid import _native as native
from braid import protos

FLOAT, INT32, STRING, INT64, BOOL = 1, 3, 7, 9, 10
INVALID_ARGUMENT, DEADLINE_EXCEEDED, CANCELLED = 3, 4, 1
NUMPY = {
    "float32": FLOAT,
    "float64": 2,
    "int32": INT32,
    "int64": INT64,
    "bool": BOOL,
    "complex64": 8,
    "float16": 19,
}


def tensor(array):
    array = np.asarray(array)
    return native.Tensor.from_buffer(array, NUMPY[array.dtype.name], array.shape)


def attr(**value):
    return protos.AttrValue(**value).SerializeToString()


class Builder:
    def __init__(self):
        self.graph = native.Graph()

    def node(self, op, inputs=(), name=None, controls=(), **attrs):
        return self.graph.add(op, name, list(inputs), list(controls), attrs, None)

    def placeholder(self, dtype, name=None):
        return (self.node("Placeholder", name=name, dtype=attr(type=dtype)), 0)


class TensorTest(unittest.TestCase):
    def test_a_tensor_and_its_array_are_one_memory(self):
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        t = tensor(array)
        self.assertEqual((t.dtype, t.shape), (FLOAT, (2, 3)))
        back = np.asarray(t)
        self.assertEqual(back.ctypes.data, array.ctypes.data)
        np.testing.assert_array_equal(back, array)
        self.assertFalse(back.flags.writeable)

    def test_every_plain_type_keeps_its_bits(self):
        for name in NUMPY:
            for shape in ((), (0,), (2, 0, 3), (4, 1, 2)):
                array = (np.arange(np.prod(shape)) % 2).reshape(shape).astype(name)
                back = np.asarray(tensor(array))
                self.assertEqual((back.dtype, back.shape), (array.dtype, shape))
                np.testing.assert_array_equal(back, array)

    def test_a_tensor_keeps_the_memory_of_its_array(self):
        array = np.full(1000, 7, np.int64)
        references = sys.getrefcount(array)
        t = tensor(array)
        self.assertGreater(sys.getrefcount(array), references)
        del t
        self.assertEqual(sys.getrefcount(array), references)

    def test_strings_are_bytes(self):
        t = native.Tensor.from_strings([b"a", b"", b"\0\xff"], (3, 1))
        self.assertEqual((t.dtype, t.shape, t.strings()), (STRING, (3, 1), [b"a", b"", b"\0\xff"]))
        with self.assertRaisesRegex(BufferError, "string"):
            memoryview(t)

    def test_what_is_no_tensor_is_refused(self):
        four = np.zeros(4, np.float32)
        for make, error in (
            (lambda: native.Tensor.from_buffer(four, FLOAT, (5,)), ValueError),
            (lambda: native.Tensor.from_buffer(four, FLOAT, (-1,)), ValueError),
            (lambda: native.Tensor.from_buffer(four, FLOAT, (1,) * 20), ValueError),
            (lambda: native.Tensor.from_buffer(four, STRING, (4,)), ValueError),
            (lambda: native.Tensor.from_buffer(four, 12345, (4,)), ValueError),
            (
                lambda: native.Tensor.from_buffer(np.zeros((4, 4), np.float32).T[1:], FLOAT, (3, 4)),
                (BufferError, ValueError),
            ),
            (lambda: native.Tensor.from_buffer("text", FLOAT, (1,)), TypeError),
            (lambda: native.Tensor.from_strings([b"a"], (2,)), ValueError),
            (lambda: native.Tensor.from_strings(["text"], (1,)), TypeError),
            (lambda: native.Tensor(), TypeError),
        ):
            self.assertRaises(error, make)


class GraphTest(unittest.TestCase):
    def test_a_node_has_what_it_was_made_with(self):
        b = Builder()
        x, y = b.placeholder(FLOAT, "x"), b.placeholder(FLOAT, "y")
        z = b.node("AddN", [[x, y, x]], name="z", controls=[y[0]])
        self.assertEqual((z.name, z.type, z.num_outputs, z.dtype(0)), ("z", "AddN", 1, FLOAT))
        self.assertEqual(z.inputs, [x, y, x])
        self.assertEqual(z.controls, [y[0]])
        self.assertEqual(protos.AttrValue.FromString(z.attr("N")).i, 3)
        self.assertEqual(b.node("NoOp", name="z").name, "z_1")
        self.assertEqual(b.graph.find("z"), z)
        self.assertEqual([op.name for op in b.graph], ["x", "y", "z", "z_1"])
        self.assertIsNone(b.graph.find("w"))

    def test_shapes_are_inferred(self):
        b = Builder()
        shape = protos.AttrValue()
        for size in (-1, 3):
            shape.shape.dim.add(size=size)
        x = (b.node("Placeholder", dtype=attr(type=FLOAT), shape=shape.SerializeToString()), 0)
        self.assertEqual(x[0].shape(0), (-1, 3))
        self.assertEqual(b.node("MatMul", [x, x], transpose_a=attr(b=True)).shape(0), (3, 3))
        self.assertIsNone(b.placeholder(FLOAT)[0].shape(0))

    def test_an_error_names_the_line_and_leaves_the_graph_usable(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        with self.assertRaises(native.Error) as caught:
            b.graph.add("MatMul", "bad", [x], [], {}, None, "train.py", 17)
        code, message = caught.exception.args
        self.assertEqual(code, INVALID_ARGUMENT)
        self.assertIn("train.py:17", message)
        self.assertIsNone(b.graph.find("bad"))
        self.assertEqual(b.node("Neg", [x], name="good").name, "good")

    def test_wrong_arguments_are_refused(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        for arguments in (
            ("Neg", None, [x[0]], [], {}, None),
            ("Neg", None, [(x[0], 1)], [], {}, None),
            ("Neg", None, [x], [x], {}, None),
            ("Neg", None, [x], [], {"T": "text"}, None),
            ("Neg", None, [x], [], [], None),
        ):
            self.assertRaises((TypeError, IndexError), b.graph.add, *arguments)
        self.assertRaises(IndexError, x[0].dtype, 1)
        self.assertEqual(len(b.graph), 1)

    def test_graph_defs_go_both_ways(self):
        b = Builder()
        b.node("Neg", [b.placeholder(FLOAT, "x")], name="y")
        data = b.graph.export_graph_def()
        self.assertEqual([n.name for n in protos.GraphDef.FromString(data).node], ["x", "y"])
        copy = native.Graph()
        copy.import_graph_def(data)
        self.assertEqual(copy.find("y").inputs, [(copy.find("x"), 0)])
        self.assertRaises(native.Error, copy.import_graph_def, b"\xff")


class SessionTest(unittest.TestCase):
    def test_a_step_computes(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        y = (b.node("MatMul", [x, x]), 0)
        with_session = native.Session(b.graph)
        array = np.random.RandomState(1).rand(50, 50).astype(np.float32)
        (got,) = with_session.run([(*x, tensor(array))], [y], [])
        np.testing.assert_allclose(np.asarray(got), array @ array, rtol=1e-5)
        with_session.close()
        with_session.close()
        self.assertRaisesRegex(RuntimeError, "closed", with_session.run, [], [y], [])

    def test_a_result_outlives_its_session(self):
        b = Builder()
        x = b.placeholder(INT64)
        y = (b.node("Square", [x]), 0)
        session = native.Session(b.graph)
        (got,) = session.run([(*x, tensor(np.arange(5)))], [y], [])
        del session, b, x, y
        np.testing.assert_array_equal(np.asarray(got), [0, 1, 4, 9, 16])

    def test_an_error_has_its_code(self):
        b = Builder()
        session = native.Session(b.graph)
        x = b.placeholder(FLOAT, "x")
        with self.assertRaises(native.Error) as caught:
            session.run([], [x], [])
        self.assertEqual(caught.exception.args[0], INVALID_ARGUMENT)
        self.assertIn("x", caught.exception.args[1])

    def blocked(self):
        """A session, and the fetch of a queue to which no element comes."""
        b = Builder()
        types = protos.AttrValue()
        types.list.type.append(FLOAT)
        types = types.SerializeToString()
        queue = b.node("FIFOQueueV2", component_types=types)
        return native.Session(b.graph), (b.node("QueueDequeueV2", [(queue, 0)], component_types=types), 0)

    def test_a_timeout_ends_a_step(self):
        session, never = self.blocked()
        with self.assertRaises(native.Error) as caught:
            session.run([], [never], [], 20)
        self.assertEqual(caught.exception.args[0], DEADLINE_EXCEEDED)

    def test_other_threads_run_and_close_ends_a_step(self):
        session, never = self.blocked()
        codes, begun = [], threading.Event()

        def run():
            begun.set()
            try:
                session.run([], [never], [])
            except native.Error as e:
                codes.append(e.args[0])
            except RuntimeError:  # the session was closed before
                codes.append(CANCELLED)

        threads = [threading.Thread(target=run) for _ in range(3)]
        for t in threads:
            t.start()
        begun.wait()
        session.close()  # that it gets here shows that a step does not hold the interpreter's lock
        for t in threads:
            t.join()
        self.assertEqual(codes, [CANCELLED] * 3)

    def test_graphs_and_sessions_leave_nothing(self):
        def pages():
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1])

        def once():
            b = Builder()
            x = b.placeholder(FLOAT)
            session = native.Session(b.graph)
            session.run([(*x, tensor(np.zeros(1000, np.float32)))], [(b.node("Neg", [x]), 0)], [])

        for _ in range(200):
            once()
        before = pages()
        for _ in range(500):
            once()
        self.assertLess(pages() - before, 500)  # 2 MB


if __name__ == "__main__":
    unittest.main()
