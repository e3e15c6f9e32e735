# Conditionals, loops and order: values, gradients, and the nodes that TensorFlow 1.15 makes.
import collections
import threading
import unittest
from unittest import mock

import support  # noqa: F401, before the others: where the package is
import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.util import tf_should_use

Pair = collections.namedtuple("Pair", "a b")


class ControlFlowTest(unittest.TestCase):
    def setUp(self):
        graph = tf.Graph()
        entered = graph.as_default()
        entered.__enter__()
        self.addCleanup(entered.__exit__, None, None, None)
        self.graph = graph

    def run_(self, fetches, feeds=None):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return session.run(fetches, feeds)

    def edges(self, prefix):
        """{name: (op, inputs, control inputs)} of the nodes of a scope."""
        return {
            op.name: (op.type, [t.name for t in op.inputs], sorted(c.name for c in op.control_inputs))
            for op in self.graph.get_operations()
            if op.name.startswith(prefix)
        }


class OrderTest(ControlFlowTest):
    def test_group_has_a_node_for_each_device(self):
        with tf.device("/cpu:0"):
            a = tf.no_op()
        tf.group(a, tf.no_op())
        self.assertEqual(
            self.edges("group_deps"),
            {
                "group_deps/NoOp": ("NoOp", [], ["NoOp_1"]),
                "group_deps/NoOp_1": ("NoOp", [], ["NoOp"]),
                "group_deps": ("NoOp", [], ["group_deps/NoOp", "group_deps/NoOp_1"]),
            },
        )
        with self.assertRaisesRegex(TypeError, "Expected tf.group"):
            tf.group(7)

    def test_tuple_waits_for_all(self):
        x, nothing, op = tf.tuple([tf.placeholder(tf.float32), None, tf.no_op()])
        self.assertIsNone(nothing)
        self.assertEqual(x.op.control_inputs[0].name, "tuple/group_deps")
        self.assertEqual(op.name, "tuple/group_deps_1")
        self.assertRaises(ValueError, tf.tuple, [None])

    def test_with_dependencies_runs_them_first(self):
        v = tf.Variable(1.0)
        after = control_flow_ops.with_dependencies([tf.assign(v, 5.0)], tf.constant(2.0))
        with tf.Session() as session:
            session.run(v.initializer)
            self.assertEqual((session.run(after), session.run(v)), (2, 5))


class CondTest(ControlFlowTest):
    def test_the_nodes_are_those_of_tensorflow(self):
        x = tf.placeholder(tf.float32, [], "x")
        p = tf.placeholder(tf.bool, [], "p")
        tf.cond(p, lambda: x + 1, lambda: x)
        self.assertEqual(
            self.edges("cond"),
            {
                "cond/Switch": ("Switch", ["p:0", "p:0"], []),
                "cond/switch_t": ("Identity", ["cond/Switch:1"], []),
                "cond/switch_f": ("Identity", ["cond/Switch:0"], []),
                "cond/pred_id": ("Identity", ["p:0"], []),
                "cond/add/y": ("Const", [], ["cond/switch_t"]),
                "cond/add": ("AddV2", ["cond/add/Switch:1", "cond/add/y:0"], []),
                "cond/add/Switch": ("Switch", ["x:0", "cond/pred_id:0"], []),
                "cond/Switch_1": ("Switch", ["x:0", "cond/pred_id:0"], []),
                "cond/Merge": ("Merge", ["cond/Switch_1:0", "cond/add:0"], []),
            },
        )
        self.assertEqual(self.graph.get_operation_by_name("cond/add/Switch").colocation_groups(), [b"loc:@x"])

    def test_only_the_branch_taken_has_effects(self):
        p, v = tf.placeholder(tf.bool, []), tf.Variable(1.0)
        taken = tf.cond(p, lambda: tf.group(tf.assign_add(v, 1.0)), tf.no_op)
        with tf.Session() as session:
            session.run(v.initializer)
            for value in (True, False, True):
                session.run(taken, {p: value})
            self.assertEqual(session.run(v), 3)

    def test_structures_come_back(self):
        p, x = tf.placeholder(tf.bool, []), tf.constant(3.0)
        rows = tf.constant([0, 1])

        def branch(k):
            return Pair(
                {"d": x * k, "sparse": tf.SparseTensor([[0, k]], [x], [2, 3])},
                [tf.IndexedSlices(tf.fill([2, 1], x * k), rows)],
            )

        got = self.run_(tf.cond(p, lambda: branch(1), lambda: branch(2)), {p: False})
        self.assertIsInstance(got, Pair)
        self.assertEqual(got.a["d"], 6)
        np.testing.assert_array_equal(got.a["sparse"].indices, [[0, 2]])
        np.testing.assert_array_equal(got.b[0].values, [[6], [6]])
        self.assertIsInstance(tf.cond(p, lambda: [x], lambda: [x]), tf.Tensor)

    def test_rows_of_both_types_of_indices_become_int64(self):
        p, x = tf.placeholder(tf.bool, []), tf.constant([3.0])
        narrow, wide = (
            tf.IndexedSlices(x, tf.constant([k], dtype)) for k, dtype in enumerate((tf.int32, tf.int64))
        )
        rows = tf.cond(p, lambda: narrow, lambda: wide)
        self.assertEqual(rows.indices.dtype, tf.int64)
        self.assertEqual(
            [self.run_(rows.indices, {p: value}).tolist() for value in (True, False)], [[0], [1]]
        )
        self.assertIsInstance(tf.cond(p, lambda: [x], lambda: [x], strict=True), list)

    def test_gradients_go_through_the_branch_taken(self):
        x = tf.placeholder(tf.float32, [])
        y = tf.cond(x > 1, lambda: x * x, lambda: tf.cond(x > 0, lambda: 3 * x, lambda: -x))
        grad = tf.gradients(y, x)[0]
        for value, want in ((2.0, 4), (0.5, 3), (-1.0, -1)):
            self.assertEqual(self.run_(grad, {x: value}), want)

    def test_what_does_not_fit_is_refused(self):
        p = tf.placeholder(tf.bool, [])
        for true, false, error, text in (
            (lambda: 1, lambda: 2.0, ValueError, "must have the same type"),
            (lambda: 1, lambda: (1, 2), ValueError, "same nested structure"),
            (lambda: None, lambda: 1, ValueError, "true_fn must have a return value"),
            (None, lambda: 1, TypeError, "true_fn"),
        ):
            with self.assertRaisesRegex(error, text):
                tf.cond(p, true, false)
        with self.assertRaisesRegex(TypeError, "Python bool"):
            tf.cond(True, lambda: 1, lambda: 2)

    def test_a_summary_within_is_evaluated_with_the_result(self):
        tf.summary.scalar("outside", 1.0)
        merged = len(tf.get_collection("_SUMMARY_V2"))
        tf.cond(tf.placeholder(tf.bool, []), lambda: tf.summary.scalar("within", 1.0), lambda: "")
        self.assertEqual(len(tf.get_collection("_SUMMARY_V2")), merged)

    def test_cases(self):
        x = tf.placeholder(tf.float32, [])
        pairs = [(x > 5, lambda: x * 10), (x > 0, lambda: x + 1)]
        first = tf.case(pairs, default=lambda: -x)
        for value, want in ((7.0, 70), (1.0, 2), (-3.0, 3)):
            self.assertEqual(self.run_(first, {x: value}), want)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "more than 1 conditions"):
            self.run_(tf.case(pairs, default=lambda: -x, exclusive=True), {x: 7.0})
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "None of conditions evaluated as True"):
            self.run_(tf.case(pairs), {x: -1.0})
        i = tf.placeholder(tf.int32, [])
        chosen = tf.switch_case(i, {0: lambda: x, 1: lambda: x * 3}, default=lambda: x * 0)
        self.assertEqual([self.run_(chosen, {x: 2.0, i: k}) for k in (0, 1, 3)], [2, 6, 0])

    def test_assertions(self):
        x = tf.placeholder(tf.float32, [])
        check = tf.Assert(x > 0, ["x is", x])
        self.assertEqual((check.name, check.type), ("Assert/AssertGuard/Merge", "Merge"))
        self.run_(check, {x: 1.0})
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"\[x is\]\s*\[-1\]"):
            self.run_(check, {x: -1.0})


class WhileTest(ControlFlowTest):
    def test_the_nodes_are_those_of_tensorflow(self):
        x = tf.placeholder(tf.float32, [], "x")
        with tf.control_dependencies([tf.no_op("first")]):
            tf.while_loop(lambda a: a < 9, lambda a: a * x, [tf.constant(1.0, name="one")])
        self.assertEqual(
            self.edges("while"),
            {
                "while/Enter": ("Enter", ["one:0"], []),
                "while/Merge": ("Merge", ["while/Enter:0", "while/NextIteration:0"], []),
                "while/Less/y": ("Const", [], ["while/Merge"]),
                "while/Less": ("Less", ["while/Merge:0", "while/Less/y:0"], []),
                "while/LoopCond": ("LoopCond", ["while/Less:0"], []),
                "while/Switch": ("Switch", ["while/Merge:0", "while/LoopCond:0"], []),
                "while/Identity": ("Identity", ["while/Switch:1"], []),
                "while/mul": ("Mul", ["while/Identity:0", "while/mul/Enter:0"], []),
                "while/mul/Enter": ("Enter", ["x:0"], ["first"]),
                "while/NextIteration": ("NextIteration", ["while/mul:0"], []),
                "while/Exit": ("Exit", ["while/Switch:0"], []),
            },
        )
        enter = self.graph.get_operation_by_name("while/mul/Enter")
        self.assertEqual(enter.get_attr("frame_name"), b"while/while_context")
        self.assertTrue(enter.get_attr("is_constant"))

    def test_nested_loops_and_branches_have_gradients(self):
        x = tf.placeholder(tf.float32, [2])

        def body(i, a):
            inner = tf.while_loop(lambda j, b: j < 2, lambda j, b: (j + 1, b * x), [0, a])[1]
            return i + 1, tf.cond(i > 0, lambda: inner, lambda: inner + x)

        y = tf.while_loop(lambda i, a: i < 2, body, [0, tf.ones([2])])[1]
        # (x^2 + x) x^2
        value = np.array([1.0, 2.0], np.float32)
        got, grad = self.run_([y, tf.gradients(y, x)[0]], {x: value})
        np.testing.assert_allclose(got, value**4 + value**3)
        np.testing.assert_allclose(grad, 4 * value**3 + 3 * value**2)

    def test_values_of_several_tensors_may_grow_in_a_loop(self):
        x = tf.SparseTensor([[0]], [1.0], [10])

        def grown(i, x):
            return i + 1, tf.sparse_add(x, tf.SparseTensor([[3]], [1.0], [10]))

        for invariants in (None, [tf.TensorShape([]), tf.TensorShape([1])]):
            got = self.run_(tf.while_loop(lambda i, x: i < 3, grown, [0, x], invariants)[1])
            self.assertEqual(got.values.tolist(), [1, 3])
        with self.assertRaisesRegex(ValueError, "is not compatible with"):
            tf.while_loop(lambda i, x: i < 3, grown, [0, x], [tf.TensorShape([]), tf.TensorShape([2])])
        rows = tf.ragged.constant([[1, 2], [3]])
        rows = tf.while_loop(lambda i, r: i < 2, lambda i, r: (i + 1, tf.concat([r, r], 1)), [0, rows])[1]
        self.assertEqual(self.run_(rows).to_list(), [[1, 2] * 4, [3] * 4])

    def test_no_gradient_goes_through_a_loop_without_back_propagation(self):
        v = tf.constant(2.0)
        y = tf.while_loop(lambda x: x < 100.0, tf.square, [v], back_prop=False) + v
        self.assertEqual(self.run_(tf.gradients(y, v)[0]), 1)

    def test_a_gradient_of_a_loop_that_is_stopped_has_no_gradient(self):
        x, y = tf.constant(3.0), tf.constant(2.0)
        loop = tf.while_loop(lambda a: a < 100.0, lambda a: a * y, [x])
        stopped = tf.stop_gradient(tf.gradients(loop, y)[0])
        self.assertEqual(self.run_(tf.gradients(tf.square(y) + loop + stopped, y)[0]), 580)
        self.assertEqual(self.run_(tf.gradients(tf.gradients(loop, y)[0], y)[0]), 3 * 6 * 5 * 2**4)

    def test_gradients_of_results_of_a_loop_that_are_stopped_are_zeros(self):
        a, b, x = tf.constant(1.0), tf.constant(2.0), tf.zeros([5])
        kept, stopped = tf.scan(lambda last, _: (last[0] + a, last[1] * b), x, initializer=(0.0, 1.0))
        grads = tf.gradients(kept + tf.stop_gradient(tf.square(stopped)), [a, b])
        self.assertEqual([self.run_(grad) for grad in grads], [15, 0])
        self.assertIsNone(tf.gradients(kept, [a, b])[1])

    def test_a_gradient_by_the_first_value_of_a_variable_is_refused_in_the_loop(self):
        x = tf.placeholder(tf.float32, [])
        with self.assertRaisesRegex(ValueError, "initial value of a loop variable"):
            tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, tf.gradients(v * 2, x)[0]), [0, x + 1])

    def test_gradients_within_a_loop_reach_what_is_outside(self):
        x = tf.constant([1.0, 2.0])
        rows = tf.map_fn(lambda k: tf.gradients(x**k, x)[0], tf.constant([2.0, 3.0]))
        np.testing.assert_allclose(self.run_(rows), [[2, 4], [3, 12]])
        np.testing.assert_allclose(self.run_(tf.hessians(tf.reduce_sum(x**3), x)[0]), [[6, 0], [0, 12]])

    def test_gradients_within_a_loop_wait_for_what_is_outside(self):
        x = tf.constant([1.0, 2.0])

        @tf.custom_gradient
        def tripled(y):
            return 3 * y, lambda grad: 3 * grad

        def row(n):
            with tf.control_dependencies([x + n]):
                return tf.map_fn(lambda k: tf.gradients(tripled(x) ** k, x)[0], tf.constant([1.0, 2.0]))

        np.testing.assert_allclose(self.run_(tf.map_fn(row, tf.zeros([2]))), [[[3, 3], [18, 36]]] * 2)

    def test_gradients_of_a_loop_within_a_loop_may_have_any_shape(self):
        x = tf.placeholder(tf.float32)

        def steps_to_ten(n):
            inner = tf.while_loop(lambda k: k < 10.0, lambda k: k + x, [n], [tf.TensorShape(None)])
            return tf.gradients(inner, x)[0]

        outer = tf.while_loop(lambda n: n < 6.0, steps_to_ten, [tf.constant(1.0)], [tf.TensorShape(None)])
        with tf.Session() as session:
            self.assertEqual(session.run(outer, {x: 1.0}), 9)

    def test_gradients_of_a_variable_in_a_branch_of_a_loop_within_a_loop_without_iterations(self):
        v, n = tf.Variable([0.75, 0.5], use_resource=True), tf.placeholder_with_default(0, [])

        def within(y):
            return tf.cond(y[0] > 0, lambda: y * v, lambda: y)

        def body(i, y):
            return i + 1, tf.while_loop(lambda k, y: k < n, lambda k, y: (k + 1, within(y)), [0, v * y])[1]

        y = tf.while_loop(lambda i, y: i < 2, body, [0, tf.ones([2])])[1]
        gradients = tf.gradients(y, v)[0]
        with tf.Session() as session:
            session.run(v.initializer)
            np.testing.assert_allclose(session.run(gradients), [1.5, 1])  # of v^2
            np.testing.assert_allclose(session.run(gradients, {n: 1}), [4 * 0.75**3, 0.5], rtol=1e-6)

    def test_a_gradient_of_a_loop_that_a_long_row_of_nodes_leads_out_of(self):
        x = tf.constant(2.0)
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]
        nodes = tf.get_default_graph().as_graph_def()
        last = next(node for node in nodes.node if node.name == y.op.name)
        for i in range(60000):
            node = nodes.node.add(name=f"row_{i}", op="Identity", input=[last.input[0]])
            node.attr["T"].type = tf.float32.as_datatype_enum
            last.input[0] = node.name
        found = []

        def differentiate():
            with tf.Graph().as_default():
                x_and_y = tf.import_graph_def(nodes, return_elements=[x.name, y.name])
                found.append(self.run_(tf.gradients(x_and_y[1], x_and_y[0])[0]))

        before = threading.stack_size(1 << 20)
        thread = threading.Thread(target=differentiate)
        thread.start()
        threading.stack_size(before)
        thread.join()
        self.assertEqual(found, [32])

    def test_structures_and_bounds(self):
        loop = tf.while_loop(
            lambda d: d["i"] < 5,
            lambda d: [{"i": d["i"] + 1, "rows": d["rows"].write(d["i"], d["i"] * 2)}],
            [{"i": tf.constant(0), "rows": tf.TensorArray(tf.int32, 5)}],
        )
        self.assertEqual(self.run_(loop[0]["rows"].stack()).tolist(), [0, 2, 4, 6, 8])
        sparse = tf.while_loop(
            lambda i, s: i < 3,
            lambda i, s: (i + 1, tf.SparseTensor(s.indices, s.values * 2, s.dense_shape)),
            (0, tf.SparseTensor([[0, 1]], [1.0], [2, 2])),
        )[1]
        self.assertEqual(self.run_(sparse).values, 8)
        bounded = tf.while_loop(lambda i: True, lambda i: i + 1, [0], maximum_iterations=4)
        self.assertEqual(self.run_(bounded), 4)
        same = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], return_same_structure=True)
        self.assertIsInstance(same, list)

    def test_shapes_are_kept_unless_invariants_allow_more(self):
        def grow(**kwargs):
            return tf.while_loop(
                lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a], 0)), [0, tf.ones([1])], **kwargs
            )[1]

        with self.assertRaisesRegex(ValueError, "shape_invariants"):
            grow()
        grown = grow(shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])
        self.assertEqual(grown.shape.as_list(), [None])
        self.assertEqual(self.run_(grown).shape, (8,))
        with self.assertRaisesRegex(ValueError, "not compatible with the initial shape"):
            grow(shape_invariants=[tf.TensorShape([]), tf.TensorShape([2])])

    def test_values_of_another_loop_are_refused(self):
        inside = []
        tf.while_loop(lambda i: i < 3, lambda i: inside.append(i + 1) or inside[0], [0])
        with self.assertRaisesRegex(ValueError, "'while/add' is in a while loop"):
            inside[0] * 2
        with self.assertRaisesRegex(ValueError, "different while loops"):
            tf.while_loop(lambda i: i < 3, lambda i: i + inside[0], [0])
        with self.assertRaisesRegex(ValueError, "not fetchable"):
            self.run_(inside[0])

    def test_contexts_survive_a_meta_graph(self):
        x = tf.placeholder(tf.float32, [], "x")
        loop = tf.while_loop(lambda a: a < 20, lambda a: tf.cond(a > 5, lambda: a + 1, lambda: a * x), [1.0])
        tf.identity(loop, "y")
        meta = tf.train.export_meta_graph()
        with tf.Graph().as_default() as other:
            tf.train.import_meta_graph(meta, import_scope="scope")
            (context,) = other.get_collection("while_context")
            self.assertEqual(context.name, "scope/while/while_context")
            self.assertEqual(context._nested_contexts[0].name, "scope/while/cond/cond_text")
            self.assertIs(context.loop_exits[0].op._get_control_flow_context(), context)
            y, x = (other.get_tensor_by_name(f"scope/{n}:0") for n in "yx")
            grad = tf.gradients(y, x)[0]
            with tf.Session() as session:  # x^2 + 11: 9, 10, ... 20
                self.assertEqual(session.run([y, grad], {x: 3.0}), [20, 6])


class GradientsWithinTest(ControlFlowTest):
    """Gradients that are built within a branch or a loop."""

    def in_branch(self, build):
        """What a branch gives where it is taken, and where it is not (-1)."""
        v, p = tf.Variable(2.0), tf.placeholder(tf.bool, [])
        got = tf.cond(p, build(v), lambda: tf.constant(-1.0))
        return [self.run_(got, {p: taken}) for taken in (True, False)]

    @staticmethod
    def cube(v):
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * v), (0, 1.0))[1]

    @staticmethod
    def square(v):
        return tf.cond(v > 1, lambda: v * v, lambda: v)

    def test_of_a_loop_outside_of_the_branch(self):
        def build(v):
            y = self.cube(v)
            return lambda: tf.gradients(y, v)[0]

        self.assertEqual(self.in_branch(build), [12, -1])

    def test_of_a_loop_in_the_branch(self):
        self.assertEqual(self.in_branch(lambda v: lambda: tf.gradients(self.cube(v), v)[0]), [12, -1])

    def test_of_a_conditional_in_the_branch(self):
        self.assertEqual(self.in_branch(lambda v: lambda: tf.gradients(self.square(v), v)[0]), [4, -1])

    def test_of_a_conditional_in_a_loop(self):
        v = tf.Variable(2.0)
        loop = tf.while_loop(
            lambda i, a: i < 2, lambda i, a: (i + 1, a + tf.gradients(a * self.square(v), v)[0]), (0, 1.0)
        )
        self.assertEqual(self.run_(loop[1]), 25)

    def test_of_a_loop_in_a_loop(self):
        v, x = tf.Variable(2.0), tf.constant([1.0, 2.0, 3.0])
        rows = tf.map_fn(lambda r: tf.gradients(self.cube(r * v), r)[0], x)
        np.testing.assert_allclose(self.run_(rows), 3 * 8 * np.array([1, 4, 9.0]))

        def body(i, a):
            y = tf.cond(i > 0, lambda: self.cube(v * a), lambda: v)
            return i + 1, a + tf.gradients(y, v)[0]

        loop = tf.while_loop(lambda i, a: i < 2, body, (0, 1.0))
        self.assertEqual(self.run_(loop[1]), 2 + 3 * 2**2 * 2**3)

    def test_of_a_loop_in_a_branch_outside_of_the_loop(self):
        x, p = tf.placeholder_with_default([1.0, 2.0], [None]), tf.constant(True)

        def looped():
            loop = [lambda i, a, b: i < 2, lambda i, a, b: (i + 1, x * 2.0, b * x), [0, x, x]]
            return tf.multiply(*tf.while_loop(*loop)[1:])

        y = tf.cond(p, looped, lambda: x)  # 2 x^4
        loop = tf.while_loop(lambda i, g: i < 1, lambda i, g: (i + 1, g + tf.gradients(y, x)[0]), [0, x])
        self.assertEqual(self.run_(loop[1]).tolist(), [9, 66])

    def test_a_step_of_training_may_depend_on_a_condition(self):
        v, p = tf.Variable([1.0, 2.0]), tf.placeholder(tf.bool, [])
        loss = tf.reduce_sum(v * v)
        step = tf.cond(p, lambda: tf.group(tf.train.AdamOptimizer(0.1).minimize(loss)), tf.no_op)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step, {p: False})
            self.assertEqual(session.run(v).tolist(), [1, 2])
            session.run(step, {p: True})
            np.testing.assert_allclose(session.run(v), [0.9, 1.9], rtol=1e-5)

    def test_a_loop_of_training(self):
        v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)

        def body(i):
            step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum((v - 3) ** 2))
            with tf.control_dependencies([step]):
                return i + 1

        loop = tf.while_loop(lambda i: i < 3, body, [0], parallel_iterations=1)
        with tf.Session() as session:
            session.run(v.initializer)
            session.run(loop)
            np.testing.assert_allclose(session.run(v), [1.976, 2.488], rtol=1e-5)


class TensorArrayTest(ControlFlowTest):
    def test_elements(self):
        array = tf.TensorArray(tf.float32, size=3, clear_after_read=False, element_shape=[2])
        array = array.unstack(tf.constant([[1.0, 2], [3, 4], [5, 6]]))
        got = self.run_([array.read(1), array.stack(), array.gather([2, 0]), array.concat(), array.size()])
        self.assertEqual(got[0].tolist(), [3, 4])
        self.assertEqual(got[1].tolist(), [[1, 2], [3, 4], [5, 6]])
        self.assertEqual(got[2].tolist(), [[5, 6], [1, 2]])
        self.assertEqual(got[3].tolist(), [1, 2, 3, 4, 5, 6])
        self.assertEqual(got[4], 3)
        self.assertEqual(array.stack().shape.as_list(), [3, 2])
        with self.assertRaisesRegex(ValueError, "Inconsistent shapes"):
            array.write(0, tf.zeros([3]))
        with self.assertRaisesRegex(TypeError, "Expected float32, got int32"):
            array.write(0, tf.zeros([2], tf.int32))

    def test_names_of_nodes(self):
        array = tf.TensorArray(tf.float32, size=1).write(0, tf.ones([]))
        array.stack()
        names = set(self.edges("TensorArray"))
        for name in (
            "TensorArray",
            "TensorArrayWrite/TensorArrayWriteV3",
            "TensorArrayStack/range",
            "TensorArrayStack/TensorArrayGatherV3",
        ):
            self.assertIn(name, names)

    def test_gradients(self):
        x = tf.constant([1.0, 2, 3])
        array = tf.TensorArray(tf.float32, size=3).unstack(x)
        y = array.read(0) * array.read(2)
        self.assertEqual(self.run_(tf.gradients(y, x)[0]).tolist(), [3, 0, 1])

    def test_lists_of_tensors(self):
        from braid.tensorflow.python.ops import list_ops

        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        items = list_ops.tensor_list_from_tensor(x, element_shape=[2])
        items = list_ops.tensor_list_push_back(items, [5.0, 6.0])
        items = list_ops.tensor_list_set_item(items, 4, [7.0, 8.0], resize_if_index_out_of_bounds=True)
        y = list_ops.tensor_list_stack(items, tf.float32)
        got = self.run_([y, tf.gradients(y * y, x)[0]])
        self.assertEqual(got[0].tolist(), [[1, 2], [3, 4], [5, 6], [0, 0], [7, 8]])
        self.assertEqual(got[1].tolist(), [[2, 4], [6, 8]])

    def test_an_element_that_is_written_and_dropped_is_told(self):
        array = tf.TensorArray(tf.float32, 1)
        with self.assertLogs("tensorflow", "ERROR") as logs:
            array.write(0, 1.0)
        (message,) = logs.output
        self.assertIn("Object was never used (type <class", message)
        self.assertIn("array.write(0, 1.0)", message)
        dropped = array.write(0, 1.0)
        with mock.patch("sys.unraisablehook") as hook, mock.patch.object(tf_should_use, "sys", None):
            with self.assertLogs("tensorflow", "ERROR"):  # modules lose their names when the process ends
                del dropped
        hook.assert_not_called()
        with mock.patch.object(tf_should_use.tf_logging, "error") as error:
            array.write(0, 1.0).mark_used()
            written = array.write(0, 1.0)
            self.assertIsInstance(written, tf.TensorArray)
            self.assertEqual(self.run_(written.stack()).tolist(), [1.0])
            asserted = tf.Assert(True, ["no"])
            self.assertIsInstance(asserted, tf.Operation)
            self.assertEqual({self.graph.get_operation_by_name(asserted.name): 1}[asserted], 1)
            with tf.control_dependencies([asserted]):
                after = tf.no_op()
            self.assertEqual([op.name for op in after.control_inputs], ["Assert/Assert"])
            self.assertIsNone(self.run_(asserted))
            del written, asserted
        error.assert_not_called()


class MapTest(ControlFlowTest):
    def test_maps_folds_and_scans(self):
        x = tf.placeholder(tf.float32, [None, 2])
        value = np.array([[1, 2], [3, 4.0]])
        for made, want in (
            (tf.map_fn(lambda r: tf.reduce_sum(r) * r, x), [[3, 6], [21, 28]]),
            (tf.map_fn(lambda r: tf.cast(r[0], tf.int32), x, dtype=tf.int32), [1, 3]),
            (tf.foldl(lambda a, r: a * r, x), [3, 8]),
            (tf.foldr(lambda a, r: a - r, x), [2, 2]),
            (tf.scan(lambda a, r: a * r, x), [[1, 2], [3, 8]]),
            (tf.scan(lambda a, r: a + r, x, initializer=tf.ones([2]), reverse=True), [[5, 7], [4, 5]]),
        ):
            np.testing.assert_array_equal(self.run_(made, {x: value}), want)
        pair = tf.map_fn(lambda p: (p[0] + p[1], p[0]), (x, x), dtype=(tf.float32, tf.float32))
        np.testing.assert_array_equal(self.run_(pair, {x: value})[0], value * 2)

    def test_gradients(self):
        x, v = tf.constant([1.0, 2, 3]), tf.Variable(2.0)
        y = tf.reduce_sum(tf.map_fn(lambda e: e * e * v, x))
        gx, gv = self.run_(tf.gradients(y, [x, v]))
        self.assertEqual((gx.tolist(), gv), ([4, 8, 12], 14))

    def test_second_gradients_through_gates_at_the_ends_of_a_loop(self):
        x = tf.placeholder(tf.float64, [])
        y = tf.tanh(tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, 1.5 * x), [0, x])[1])
        first = tf.gradients(y, x, gate_gradients=True)[0]
        second = tf.gradients(first, x, gate_gradients=True)[0]
        found = self.run_([first, second], {x: 0.5})
        slope = 1 - np.tanh(0.75) ** 2
        np.testing.assert_allclose(found, [1.5 * slope, -2 * 1.5**2 * slope * np.tanh(0.75)])

    def test_second_gradients_of_conditionals_in_loops(self):
        def first_and_second(branches, start, of, second):
            def body(i, y):
                return i + 1, branches(i, y)

            y = tf.while_loop(lambda i, y: i < 3, body, [0, start])[1]
            first = tf.convert_to_tensor(tf.gradients(y, of)[0])
            return self.run_([first, tf.gradients(first, second)[0]])

        x = tf.constant(0.75)
        found = first_and_second(lambda i, y: y + tf.cond(i > 0, lambda: x * x, lambda: 1.0), x, x, x)
        np.testing.assert_allclose(found, [4, 4], 1e-6)  # of x + 1 + 2 x^2
        x, v = tf.constant([0.75, 0.5]), tf.Variable([0.5, 0.25], use_resource=True)

        def branches(i, y):
            return tf.cond(tf.equal(i, 1), lambda: v * y, lambda: tf.gather(v, [0, 1]) * x * y)

        found = first_and_second(branches, x, v, x)
        a, b = np.array([0.75, 0.5]), np.array([0.5, 0.25])
        np.testing.assert_allclose(found, [3 * b**2 * a**3, 9 * b**2 * a**2], 1e-5)  # of v^3 x^3

    def test_the_gradient_of_rows_of_a_loops_result(self):
        x = tf.constant([0.5, 1.0, 1.5])
        y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]
        found = self.run_(tf.gradients(tf.gather(y, [0, 2, 1]), x)[0])
        np.testing.assert_allclose(found, [0.5, 4, 13.5])  # of x^4

    def test_indices_that_a_loop_does_not_change_go_with_the_rows_of_their_branch(self):
        """One branch has constants, the other indices from outside the loop."""
        e = tf.get_variable("e", initializer=[[1.0], [2.0], [3.0], [4.0]])
        ids = tf.placeholder_with_default(np.int64([2, 3]), [None])

        def body(i, y):
            def first():
                return tf.reduce_sum(tf.gather(e, [0, 1])) * y

            return i + 1, tf.cond(i < 1, first, lambda: tf.reduce_sum(tf.gather(e, ids)) * y)

        y = tf.while_loop(lambda i, y: i < 2, body, [0, 1.0])[1]
        found = self.run_(tf.convert_to_tensor(tf.gradients(y, e)[0]))
        self.assertEqual(found.tolist(), [[7], [7], [3], [3]])  # of (e0 + e1) (e2 + e3)

    def test_rows_that_are_looked_up_in_loops_and_branches(self):
        """Their gradients are rows, also where nothing is looked up."""
        e = tf.get_variable("e", [4, 1], initializer=tf.ones_initializer())
        ids, p = tf.placeholder(tf.int32, [None, 2]), tf.placeholder(tf.bool, [])

        def branches(i):
            return tf.cond(i[0] > 1, lambda: tf.gather(e, i) * 2.0, lambda: tf.zeros([2, 1]))

        looped = tf.map_fn(lambda i: tf.gather(e, i) * 3.0 + branches(i), ids, dtype=tf.float32)
        nested = tf.map_fn(
            lambda i: tf.map_fn(lambda k: tf.gather(e, k), i, dtype=tf.float32), ids, dtype=tf.float32
        )
        chosen = tf.cond(p, lambda: tf.gather(e, ids[0]), lambda: tf.gather(e, ids[0] + 1) * 5.0)
        for y, i, want in (
            (looped, [[0, 1], [2, 2]], [3, 3, 10, 0]),
            (looped, np.zeros([0, 2]), [0, 0, 0, 0]),
            (nested, [[0, 1], [2, 2]], [1, 1, 2, 0]),
            (chosen, [[0, 1]], [0, 5, 5, 0]),
        ):
            (grad,) = tf.gradients(y, e)
            self.assertIsInstance(grad, tf.IndexedSlices)
            found = self.run_(tf.convert_to_tensor(grad), {ids: i, p: False})
            self.assertEqual(found[:, 0].tolist(), want)


if __name__ == "__main__":
    unittest.main()
