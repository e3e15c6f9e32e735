# The extension module braid._native: tensors share memory with numpy, and graphs and sessions are the C ones.
import contextlib
import itertools
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import unittest

import support  # noqa: F401, before the others: where the package is
import numpy as np

from braid import _native as native
from braid import protos

FLOAT, INT32, STRING, INT64, BOOL = 1, 3, 7, 9, 10
INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, CANCELLED = 3, 4, 5, 1
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


def tensor_attr(array):
    value = protos.AttrValue()
    value.tensor.dtype = NUMPY[array.dtype.name]
    for size in array.shape:
        value.tensor.tensor_shape.dim.add(size=size)
    value.tensor.tensor_content = array.tobytes()
    return value.SerializeToString()


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


class NodeTest(unittest.TestCase):
    def test_the_number_of_a_node_finds_it(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        y = b.node("Neg", [x])
        self.assertEqual((x[0].index, y.index), (0, 1))
        self.assertEqual(b.graph[y.index], y)
        self.assertIs(y.graph, b.graph)

    def test_edges_are_seen_from_both_ends(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        y = b.node("Add", [x, x], controls=[x[0]])
        z = b.node("Neg", [x])
        self.assertEqual(x[0].consumers(0), [(y, 0), (y, 1), (z, 0)])
        self.assertEqual(x[0].control_outputs, [y])
        self.assertEqual(z.consumers(0), [])

    def test_arguments_are_ranges_of_inputs_and_outputs(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        axis = (b.node("Const", dtype=attr(type=INT32), value=tensor_attr(np.int32(0))), 0)
        concat = b.node("ConcatV2", [[x, x, x], axis])
        self.assertEqual((concat.input_range("values"), concat.input_range("axis")), ((0, 3), (3, 1)))
        self.assertEqual(concat.output_range("output"), (0, 1))
        self.assertRaisesRegex(native.Error, "none", concat.input_range, "none")

    def test_nodes_can_be_changed(self):
        b = Builder()
        x, y, i = b.placeholder(FLOAT), b.placeholder(FLOAT), b.placeholder(INT32)
        z = b.node("Neg", [x])
        z.set_input(0, y)
        z.add_control(x[0])
        z.set_device("/job:ps/task:1")
        z.set_attr("_mine", attr(i=7))
        self.assertEqual((z.inputs, z.controls, z.device), ([y], [x[0]], "/job:ps/task:1"))
        self.assertEqual((z.attr_names, protos.AttrValue.FromString(z.attr("_mine")).i), (["T", "_mine"], 7))
        z.set_attr("_mine", None)
        z.set_controls([y[0], y[0]])
        self.assertEqual((z.attr_names, z.controls), (["T"], [y[0]]))
        self.assertRaisesRegex(native.Error, "int32", z.set_input, 0, i)
        self.assertRaisesRegex(native.Error, "'T'", z.set_attr, "T", None)
        self.assertRaises(TypeError, z.set_controls, [y])
        self.assertEqual((z.inputs, z.controls), ([y], [y[0]]))

    def test_a_shape_can_be_said(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        x[0].set_shape(0, (None, 3))
        x[0].set_shape(0, (2, None))
        self.assertEqual(x[0].shape(0), (2, 3))
        self.assertRaises(native.Error, x[0].set_shape, 0, (5, 3))
        self.assertEqual(b.node("Neg", [x]).shape(0), (2, 3))

    def test_values_follow_from_constants(self):
        b = Builder()
        c = (b.node("Const", dtype=attr(type=INT32), value=tensor_attr(np.int32([2, 3]))), 0)
        y = b.node("Add", [c, c])
        np.testing.assert_array_equal(np.asarray(y.constant(0)), [4, 6])
        self.assertEqual(y.constant_shape(0), (4, 6))
        x = b.placeholder(FLOAT)
        self.assertIsNone(x[0].constant(0))
        x[0].set_shape(0, (None, 3))
        shape = b.node("Shape", [x])
        self.assertEqual((shape.constant(0), shape.constant_shape(0)), (None, (-1, 3)))

    def test_a_node_remembers_its_line(self):
        b = Builder()
        op = b.graph.add("NoOp", None, [], [], {}, None, "".join(["train", ".py"]), 17)
        self.assertEqual(op.built_at, ("train.py", 17))
        self.assertIsNone(b.node("NoOp").built_at)


class GradientTest(unittest.TestCase):
    def test_the_engine_builds_gradients(self):
        b = Builder()
        x, w = b.placeholder(FLOAT, "x"), b.placeholder(FLOAT)
        y = (b.node("Square", [x], name="y"), 0)
        dx, dw = b.graph.gradients([y], [x, w])
        self.assertIsNone(dw)
        self.assertTrue(dx[0].name.startswith("gradients/y_grad/"))
        (got,) = native.Session(b.graph).run([(*x, tensor(np.float32([3, 4])))], [dx], [])
        np.testing.assert_array_equal(np.asarray(got), [6, 8])
        (dx,) = b.graph.gradients([y], [x], grad_ys=[y], name="mine/", file="train.py", line=3)
        self.assertTrue(dx[0].name.startswith("mine/y_grad/"))
        self.assertEqual(dx[0].built_at, ("train.py", 3))

    def test_rows_stay_rows(self):
        b = Builder()
        x, i = b.placeholder(FLOAT), b.placeholder(INT32)
        y = (b.node("Gather", [x, i]), 0)
        (rows,) = b.graph.gradients([y], [x])
        self.assertEqual(len(rows), 3)
        whole = b.graph.gradient_to_dense(rows)
        feeds = [(*x, tensor(np.zeros((3, 2), np.float32))), (*i, tensor(np.int32([1, 1])))]
        got = native.Session(b.graph).run(feeds, [rows[1], whole], [])
        np.testing.assert_array_equal(np.asarray(got[0]), [1, 1])
        np.testing.assert_array_equal(np.asarray(got[1]), [[0, 0], [2, 2], [0, 0]])

    def test_the_programs_gradient_comes_first(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        y = (b.node("Exp", [(b.node("Square", [x], name="s"), 0)], name="e"), 0)
        asked = []

        def gradient(op, grads):
            asked.append((op.name, len(grads)))
            return [grads[0]] if op.type == "Exp" else None

        (dx,) = b.graph.gradients([y], [x], fn=gradient)
        self.assertEqual(asked, [("e", 1), ("s", 1)])
        (got,) = native.Session(b.graph).run([(*x, tensor(np.float32(5)))], [dx], [])
        self.assertEqual(np.asarray(got), 10)

    def test_an_exception_of_a_gradient_function_ends_the_walk(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        y = (b.node("Exp", [(b.node("Square", [x]), 0)]), 0)
        calls = []

        def gradient(op, grads):
            calls.append(op)
            raise LookupError("mine")

        for fn, error in ((gradient, LookupError), (lambda op, grads: [], ValueError), (7, TypeError)):
            self.assertRaises(error, b.graph.gradients, [y], [x], fn=fn)
        self.assertEqual(len(calls), 1)
        self.assertIsNotNone(b.graph.gradients([y], [x])[0])

    def test_one_op_can_be_asked(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        mul = b.node("Mul", [x, x])
        self.assertEqual((mul.gradient_kind, x[0].gradient_kind), (2, 1))
        grads = mul.gradient([(mul, 0)])
        self.assertEqual([type(g) for g in grads], [tuple, tuple])
        self.assertEqual([type(g) for g in mul.gradient([None])], [tuple, tuple])
        self.assertRaises(native.Error, mul.gradient, [])
        self.assertEqual(x[0].gradient([x]), [])


class ImportTest(unittest.TestCase):
    def test_a_part_of_a_graph_is_imported(self):
        b = Builder()
        x = b.placeholder(FLOAT, "x")
        b.node("Neg", [x], name="y", controls=[b.node("NoOp", name="c")])
        data = b.graph.export_graph_def()
        to = Builder()
        z = to.placeholder(FLOAT, "z")
        outputs, ops, unknown = to.graph.import_with(
            data,
            "part",
            input_map={"x": z, "^c": z[0], "w:1": z},
            return_outputs=["y:0", "x"],
            return_ops=["c"],
            default_device="/cpu:0",
        )
        y = to.graph.find("part/y")
        self.assertEqual((outputs, ops, unknown), ([(y, 0), z], [to.graph.find("part/c")], ["w:1"]))
        self.assertEqual((y.inputs, y.controls, y.device), ([z], [z[0]], "/cpu:0"))
        self.assertRaises(native.Error, to.graph.import_with, data, "part")
        to.graph.import_with(data, "part", uniquify_prefix=True)
        self.assertIsNotNone(to.graph.find("part_1/y"))
        self.assertRaises(TypeError, to.graph.import_with, data, return_ops=[7])

    def test_functions_are_made_of_graphs_and_called(self):
        b = Builder()
        x = b.placeholder(FLOAT, "x")
        y = (b.node("Square", [x], name="y"), 0)
        data = b.graph.to_function("square", [x], [y], ["result"])
        signature = protos.FunctionDef.FromString(data).signature
        self.assertEqual((signature.input_arg[0].name, signature.output_arg[0].name), ("x", "result"))
        self.assertRaises(ValueError, b.graph.to_function, "square", [x], [y], ["a", "b"])
        to = Builder()
        to.graph.add_function(data)
        self.assertEqual((to.graph.functions(), to.graph.function_gradient("square")), (["square"], None))
        self.assertEqual(protos.FunctionDef.FromString(to.graph.function_def("square")).signature, signature)
        self.assertRaises(native.Error, to.graph.function_def, "none")
        z = to.placeholder(FLOAT)
        (got,) = native.Session(to.graph).run(
            [(*z, tensor(np.float32(3)))], [(to.node("square", [z]), 0)], []
        )
        self.assertEqual(np.asarray(got), 9)

    def test_new_nodes_are_exported_alone(self):
        b = Builder()
        b.node("Neg", [b.placeholder(FLOAT, "x")], name="y")
        names = [n.name for n in protos.GraphDef.FromString(b.graph.export_from(1, True)).node]
        self.assertEqual(names, ["y"])
        self.assertRaises(native.Error, b.graph.export_from, 3, False)

    def test_names_are_unique(self):
        b = Builder()
        self.assertEqual([b.graph.unique_name("a", marks) for marks in (0, 1, 0)], ["a", "a", "a_1"])

    def test_a_seed_makes_random_numbers_repeat(self):
        def numbers():
            b = Builder()
            b.graph.set_seed(7)
            shape = (b.node("Const", dtype=attr(type=INT32), value=tensor_attr(np.int32([3]))), 0)
            got = native.Session(b.graph).run(
                [], [(b.node("RandomUniform", [shape], dtype=attr(type=FLOAT)), 0)], []
            )
            return np.asarray(got[0])

        np.testing.assert_array_equal(numbers(), numbers())

    def test_the_ops_are_described(self):
        self.assertEqual(protos.OpDef.FromString(native.op_def("MatMul")).attr[0].name, "transpose_a")
        names = [op.name for op in protos.OpList.FromString(native.op_def_list()).op]
        self.assertEqual(names, sorted(names))
        self.assertIn("MatMul", names)
        self.assertIn("MatMul", native.op_doc("MatMul"))
        self.assertRaisesRegex(native.Error, "NoSuchOp", native.op_def, "NoSuchOp")


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

    def test_a_traced_run_returns_its_record(self):
        b = Builder()
        x = b.placeholder(FLOAT, "x")
        y = (b.node("Neg", [x], name="y"), 0)
        session = native.Session(b.graph)
        feed = tensor(np.float32(3))

        def nodes(record):
            stats = protos.RunMetadata.FromString(record).step_stats
            return [n.node_name for device in stats.dev_stats for n in device.node_stats]

        (value,), record = session.run([(*x, feed)], [y], [], records=1)
        self.assertEqual(np.asarray(value), -3)
        self.assertIn("y", nodes(record))
        (value,), record = session.make_callable([x], [y], [], trace=True).run([feed])
        self.assertEqual(np.asarray(value), -3)
        self.assertIn("y", nodes(record))

    def test_a_callable_runs_what_was_planned(self):
        b = Builder()
        x, y, unfed = b.placeholder(FLOAT), b.placeholder(FLOAT), b.placeholder(FLOAT)
        difference, negative = (b.node("Sub", [x, y]), 0), (b.node("Neg", [unfed]), 0)
        session = native.Session(b.graph)
        minus = session.make_callable([y, x], [difference, negative], [], connections=[(difference, unfed)])
        for i in range(3):
            got = minus.run([tensor(np.float32(i)), tensor(np.float32(10))])
            self.assertEqual([float(np.asarray(g)) for g in got], [10 - i, i - 10])
        self.assertRaises(ValueError, minus.run, [tensor(np.float32(1))])
        self.assertRaises(TypeError, minus.run, [1, 2])
        minus.close()
        self.assertRaisesRegex(RuntimeError, "closed", minus.run, [tensor(np.float32(1))] * 2)
        self.assertRaises(
            native.Error, session.make_callable, [x], [negative, negative], [unfed[0]], [(x, x)]
        )
        alone = session.make_callable([x, y], [difference], [])
        session.close()
        with self.assertRaises(native.Error) as caught:
            alone.run([tensor(np.float32(1))] * 2)
        self.assertEqual(caught.exception.args[0], CANCELLED)

    def test_a_callable_has_a_time_limit(self):
        session, never = self.blocked()
        waits = session.make_callable([], [never], [], timeout_ms=20)
        with self.assertRaises(native.Error) as caught:
            waits.run([])
        self.assertEqual(caught.exception.args[0], DEADLINE_EXCEEDED)

    def test_a_partial_run_is_fed_and_fetched_in_turns(self):
        b = Builder()
        x, y = b.placeholder(FLOAT), b.placeholder(FLOAT)
        twice = (b.node("Add", [x, x]), 0)
        sum_ = (b.node("Add", [twice, y]), 0)
        session = native.Session(b.graph)
        partial = session.partial_run([x, y], [twice, sum_], [])
        (got,) = partial.run([(*x, tensor(np.float32(3)))], [twice])
        self.assertEqual(np.asarray(got), 6)
        self.assertRaises(native.Error, partial.run, [], [twice])
        (got,) = partial.run([(*y, tensor(np.float32(7)))], [sum_])
        self.assertEqual(np.asarray(got), 13)
        partial.close()
        self.assertRaisesRegex(RuntimeError, "closed", partial.run, [], [])
        session.partial_run([x], [twice], []).run([(*x, tensor(np.float32(3)))], [])  # given up

    def test_a_session_lists_its_devices(self):
        devices = native.Session(native.Graph(), cpu_devices=2).list_devices()
        self.assertEqual(
            [(d[0].split("/")[-1], d[1]) for d in devices], [("device:CPU:0", "CPU"), ("device:CPU:1", "CPU")]
        )

    def test_cancel_ends_a_step_and_leaves_closing_to_the_caller(self):
        session, never = self.blocked()
        session.cancel()
        with self.assertRaises(native.Error) as caught:
            session.run([], [never], [])
        self.assertEqual(caught.exception.args[0], CANCELLED)
        session.close()
        self.assertRaises(RuntimeError, session.cancel)

    def test_many_values_fit(self):
        b = Builder()
        xs = [b.placeholder(FLOAT) for _ in range(50)]
        ys = [(b.node("Neg", [x]), 0) for x in xs]
        session = native.Session(b.graph)
        feeds = [tensor(np.float32(i)) for i in range(50)]
        want = [-i for i in range(50)]
        for got in (
            session.run([(*x, t) for x, t in zip(xs, feeds)], ys, [y[0] for y in ys]),
            session.make_callable(xs, ys, []).run(feeds),
        ):
            self.assertEqual([float(np.asarray(g)) for g in got], want)

    def test_threads_build_and_run_at_once(self):
        b = Builder()
        x = b.placeholder(FLOAT, "x")
        y = (b.node("Square", [x]), 0)
        session = native.Session(b.graph)
        feed = tensor(np.float32(3))
        errors = []

        def run(out, want):
            (got,) = session.run([(*x, feed)], [out], [])
            self.assertEqual(np.asarray(got), want)

        def gradient(op, grads):
            run(y, 9)  # of what was there; lets other threads run
            b.node("NoOp")

        def build():
            for i in range(60):
                (dx,) = b.graph.gradients([y], [x], fn=gradient)
                self.assertRaises(native.Error, b.node, "NoSuchOp")
                x[0].set_shape(0, ())
                run((b.node("Neg", [dx]), 0), -6)

        def guarded(function):
            try:
                function()
            except BaseException as e:
                errors.append(e)

        run(y, 9)
        is_over = threading.Event()

        def run_steps():
            while not is_over.is_set():
                run(y, 9)

        builders = [threading.Thread(target=guarded, args=(build,)) for _ in range(3)]
        runners = [threading.Thread(target=guarded, args=(run_steps,)) for _ in range(2)]
        for t in builders + runners:
            t.start()
        for t in builders:
            t.join()
        is_over.set()
        for t in runners:
            t.join()
        self.assertEqual(errors, [])

    @unittest.skipIf(os.environ.get("BRAID_SANITIZE"), "AddressSanitizer keeps memory that was freed")
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


class InterruptTest(unittest.TestCase):
    """Ctrl-C ends the step of the main thread."""

    def setUp(self):
        b = Builder()
        types = protos.AttrValue()
        types.list.type.append(FLOAT)
        types = types.SerializeToString()
        begun, never = (
            (b.node("FIFOQueueV2", name=name, component_types=types), 0) for name in ("begun", "never")
        )
        one = (b.node("Const", dtype=attr(type=FLOAT), value=tensor_attr(np.float32(1))), 0)
        self.one = one
        begin = b.node("QueueEnqueueV2", [begun, [one]])
        self.has_begun = (b.node("QueueDequeueV2", [begun], component_types=types), 0)
        self.waits = (b.node("QueueDequeueV2", [never], controls=[begin], component_types=types), 0)
        self.session = native.Session(b.graph)

    @contextlib.contextmanager
    def signalled(self, number=signal.SIGINT):
        """Sends a signal when the step waits."""
        sent = []

        def send():
            self.session.run([], [self.has_begun], [])
            sent.append(time.monotonic())
            os.kill(os.getpid(), number)

        thread = threading.Thread(target=send)
        thread.start()
        yield sent
        thread.join()

    def assert_is_usable(self):
        (one,) = self.session.run([], [self.one], [])
        self.assertEqual(np.asarray(one), 1)

    def test_it_ends_the_step_and_leaves_the_session(self):
        waits = self.session.make_callable([], [self.waits], [])
        for run in (
            lambda: self.session.run([], [self.waits], []),
            lambda: waits.run([]),
            lambda: self.session.partial_run([], [self.waits], []).run([], [self.waits]),
        ) * 2:
            with self.signalled() as sent, self.assertRaises(KeyboardInterrupt):
                run()
            self.assertLess(time.monotonic() - sent[0], 30)  # 4 ms on a machine that has time
            self.assert_is_usable()

    def test_a_handler_of_the_program_runs_when_the_step_has_ended(self):
        calls = []
        before = signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
        try:
            with self.signalled(), self.assertRaises(native.Error) as caught:
                self.session.run([], [self.waits], [], 200)
            self.assertEqual(caught.exception.args[0], DEADLINE_EXCEEDED)
            self.assertEqual(calls, [signal.SIGINT])
        finally:
            signal.signal(signal.SIGINT, before)
        with self.signalled(), self.assertRaises(KeyboardInterrupt):
            self.session.run([], [self.waits], [])

    def test_steps_of_other_threads_go_on(self):
        codes, ended = [], threading.Event()

        def run():
            with self.assertRaises(native.Error) as caught:
                self.session.run([], [self.waits], [], 300)
            codes.append(caught.exception.args[0])
            ended.set()

        thread = threading.Thread(target=run)
        with self.signalled(), self.assertRaises(KeyboardInterrupt):
            thread.start()
            ended.wait()
        ended.wait()
        thread.join()
        self.assertEqual(codes, [DEADLINE_EXCEEDED])
        self.assert_is_usable()


counter = itertools.count()


class PyFuncTest(unittest.TestCase):
    """Nodes that call functions of Python."""

    def node(self, b, function, inputs, types, op="PyFunc"):
        """The node, whose function is registered until the test ends."""
        token = f"{self.id()}/{next(counter)}"
        native.register_py_func(token, function)
        self.addCleanup(native.unregister_py_func, token)
        out = protos.AttrValue()
        out.list.type.extend(types)
        types = {"Tout": out.SerializeToString()}
        if not inputs:
            types["Tin"] = protos.AttrValue(list={}).SerializeToString()
        return b.node(op, [inputs], token=attr(s=token.encode()), **types)

    def test_a_function_computes_in_the_step(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        seen = []

        def function(inputs):
            array = np.asarray(inputs[0])
            seen.append((threading.get_ident(), array.ctypes.data))
            return [tensor(array + 1), native.Tensor.from_strings([b"text"], ())]

        y = self.node(b, function, [x], [FLOAT, STRING])
        fed = np.arange(3, dtype=np.float32)
        session = native.Session(b.graph)
        for _ in range(3):
            got = session.run([(*x, tensor(fed))], [(y, 0), (y, 1)], [])
            np.testing.assert_array_equal(np.asarray(got[0]), fed + 1)
            self.assertEqual(got[1].strings(), [b"text"])
        self.assertEqual({place for _, place in seen}, {fed.ctypes.data})  # no copy

    def test_an_exception_is_the_error_of_the_node(self):
        for exception, code in (
            (ValueError("bad value"), INVALID_ARGUMENT),
            (TypeError("bad value"), INVALID_ARGUMENT),
            (StopIteration("bad value"), 11),
            (NotImplementedError("bad value"), 12),
            (KeyError("bad value"), 2),
        ):

            def function(inputs):
                raise exception

            b = Builder()
            y = self.node(b, function, [], [FLOAT])
            with self.assertRaises(native.Error) as caught:
                native.Session(b.graph).run([], [(y, 0)], [])
            self.assertEqual(caught.exception.args[0], code)
            text = caught.exception.args[1]
            self.assertTrue(text.startswith(type(exception).__name__ + ": "), text)
            self.assertIn("bad value", text)
            self.assertIn("in function", text)  # the traceback
            self.assertIn(y.name, text)

    def test_wrong_results_are_errors(self):
        for result, words in (
            ([], "returns 0 values, but expects to see 1"),
            ([tensor(np.int32(1))], "0-th value returned by .* is int32, but expects float"),
            ([1.0], "Tensor is needed"),
            (None, "not iterable"),
        ):
            b = Builder()
            y = self.node(b, lambda inputs: result, [], [FLOAT], "PyFuncStateless")
            with self.assertRaisesRegex(native.Error, words):
                native.Session(b.graph).run([], [(y, 0)], [])

    def test_a_function_that_is_gone_is_an_error(self):
        b = Builder()
        y = self.node(b, lambda inputs: [tensor(np.float32(1))], [], [FLOAT])
        session = native.Session(b.graph)
        session.run([], [(y, 0)], [])
        native.unregister_py_func(protos.AttrValue.FromString(y.attr("token")).s.decode())
        with self.assertRaisesRegex(native.Error, "is not found"):
            session.run([], [(y, 0)], [])
        self.assertRaises(TypeError, native.register_py_func, "token", 7)

    def test_a_function_may_run_steps(self):
        b = Builder()
        x = b.placeholder(FLOAT)
        negative = (b.node("Neg", [x]), 0)
        session = native.Session(b.graph)
        y = self.node(b, lambda inputs: session.run([(*x, inputs[0])], [negative], []), [x], [FLOAT])
        (got,) = session.run([(*x, tensor(np.float32(3)))], [(y, 0)], [])
        self.assertEqual(np.asarray(got), -3)

    def test_many_threads_call_at_once(self):
        b = Builder()
        x = b.placeholder(INT64)
        y = self.node(b, lambda inputs: [tensor(np.asarray(inputs[0]) * 2 + np.int64(0))], [x], [INT64])
        z = self.node(b, lambda inputs: [tensor(np.asarray(inputs[0]) * 3 + np.int64(0))], [x], [INT64])
        sum_ = (b.node("Add", [(y, 0), (z, 0)]), 0)
        session = native.Session(b.graph)
        got = {}

        def run(i):
            array = np.full(4, i)
            for _ in range(50):
                (value,) = session.run([(*x, tensor(array))], [sum_], [])
            got[i] = list(np.asarray(value))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(got, {i: [5 * i] * 4 for i in range(4)})

    def test_it_works_on_a_server_of_the_process(self):
        b = Builder()
        y = self.node(b, lambda inputs: [tensor(np.float32(os.getpid()))], [], [FLOAT])
        server = native.Server()
        session = native.Session(b.graph, server.target)
        (got,) = session.run([], [(y, 0)], [])
        self.assertEqual(np.asarray(got), np.float32(os.getpid()))
        session.close()
        server.close()

    def test_ctrl_c_in_a_function_ends_the_step(self):
        b = Builder()

        def function(inputs):
            signal.raise_signal(signal.SIGINT)
            return [tensor(np.float32(1))]

        y = self.node(b, function, [], [FLOAT])
        with self.assertRaises(KeyboardInterrupt):
            native.Session(b.graph, inter_op_threads=1).run([], [(y, 0)], [])


class ServerTest(unittest.TestCase):
    def test_ctrl_c_ends_a_step_on_a_server(self):
        b = Builder()
        one = (b.node("Const", dtype=attr(type=FLOAT), value=tensor_attr(np.float32(1))), 0)
        server = native.Server()
        test = InterruptTest()
        test.setUp()
        test.session.close()
        test.session = native.Session(test.one[0].graph, server.target)
        for _ in range(2):
            with test.signalled() as sent, self.assertRaises(KeyboardInterrupt):
                test.session.run([], [test.waits], [])
            self.assertLess(time.monotonic() - sent[0], 30)
            test.assert_is_usable()
        test.session.close()
        server.close()

    def test_ctrl_c_ends_the_opening_of_a_session(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            nowhere = "grpc://127.0.0.1:%d" % taken.getsockname()[1]  # nothing listens
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            self.assertRaises(KeyboardInterrupt, native.Session, native.Graph(), nowhere)

    def test_reset_clears_variables(self):
        b = Builder()
        shape = attr(shape={})
        v = (b.node("VariableV2", dtype=attr(type=FLOAT), shape=shape), 0)
        one = (b.node("Const", dtype=attr(type=FLOAT), value=tensor_attr(np.float32(1))), 0)
        assign = b.node("Assign", [v, one])
        server = native.Server()
        session = native.Session(b.graph, server.target)
        session.run([], [], [assign])
        native.reset(server.target)
        with self.assertRaises(native.Error):
            session.run([], [v], [])
        with self.assertRaisesRegex(native.Error, "uninitialized"):
            native.Session(b.graph, server.target).run([], [v], [])
        self.assertRaises(native.Error, native.reset, "")
        server.close()


class CheckpointTest(unittest.TestCase):
    def test_both_formats_are_read(self):
        b = Builder()

        def strings(values):
            value = protos.AttrValue()
            value.tensor.dtype = STRING
            value.tensor.tensor_shape.dim.add(size=len(values))
            value.tensor.string_val.extend(values)
            return (b.node("Const", dtype=attr(type=STRING), value=value.SerializeToString()), 0)

        prefix = b.placeholder(STRING)
        x, y = b.placeholder(FLOAT), b.placeholder(INT64)
        names = strings([b"b/x", b"a/y"])
        v2 = b.node("SaveV2", [prefix, names, strings([b"", b""]), [x, y]])
        v1 = b.node("Save", [prefix, names, [x, y]])
        session = native.Session(b.graph)
        arrays = np.arange(6, dtype=np.float32).reshape(2, 3), np.int64(7)
        with tempfile.TemporaryDirectory() as directory:
            for save in (v2, v1):
                path = os.path.join(directory, save.type)
                at = native.Tensor.from_strings([path.encode()], ())
                session.run([(*prefix, at), (*x, tensor(arrays[0])), (*y, tensor(arrays[1]))], [], [save])
                reader = native.CheckpointReader(path)
                self.assertEqual(reader.prefix, path)
                self.assertEqual(reader.entries(), [("a/y", INT64, ()), ("b/x", FLOAT, (2, 3))])
                self.assertEqual([reader.has_tensor(name) for name in ("b/x", "x")], [True, False])
                np.testing.assert_array_equal(np.asarray(reader.read("b/x")), arrays[0])
                self.assertEqual(np.asarray(reader.read("a/y")), 7)
                with self.assertRaises(native.Error) as caught:
                    reader.read("x")
                self.assertEqual(caught.exception.args[0], NOT_FOUND)
            with self.assertRaises(native.Error) as caught:
                native.CheckpointReader(os.path.join(directory, "none"))
            self.assertEqual(caught.exception.args[0], NOT_FOUND)


if __name__ == "__main__":
    unittest.main()
