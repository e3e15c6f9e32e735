# Functions: of the graph's library, with gradients of the program, and Python functions that nodes call.
import gc
import unittest

import support  # noqa: F401, before the others: where the package is
import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.python.framework import function
from braid.tensorflow.python.ops import functional_ops
from braid.tensorflow.python.ops import script_ops

F = tf.float32


class FunctionTest(unittest.TestCase):
    def setUp(self):
        entered = tf.Graph().as_default()
        entered.__enter__()
        self.addCleanup(entered.__exit__, None, None, None)

    def run_(self, fetches, feeds=None):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return session.run(fetches, feeds)


class DefunTest(FunctionTest):
    def test_a_call_is_a_node_of_that_name(self):
        @function.Defun(F, F, func_name="Sums", out_names=["sum", "difference"])
        def sums(x, y):
            return x + y, x - y

        a, b = sums(5.0, 3.0, name="called")
        self.assertEqual((a.op.name, a.op.type), ("called", "Sums"))
        self.assertEqual([o.name for o in sums.definition.signature.output_arg], ["sum", "difference"])
        self.assertEqual(self.run_([a, b]), [8, 2])
        library = tf.get_default_graph().as_graph_def().library.function
        self.assertEqual([f.signature.name for f in library], ["Sums"])

    def test_what_is_outside_becomes_an_argument(self):
        v = tf.Variable(3.0, name="v")
        outside = tf.constant(2.0)

        @function.Defun(F)
        def inner(x):
            return x * outside

        @function.Defun(F)
        def outer(x):
            return inner(x) + v

        y = outer(4.0)
        self.assertEqual(self.run_(y), 11)
        self.assertEqual(sorted(t.name for t in outer.captured_inputs), ["Const:0", "v/read:0"])
        self.assertEqual(self.run_(tf.gradients(y, v)[0]), 1)

    def test_variables_are_made_outside(self):
        @function.Defun(F)
        def scaled(x):
            return x * tf.get_variable("scale", [], initializer=tf.constant_initializer(5.0))

        y = scaled(2.0)
        self.assertEqual([v.name for v in tf.global_variables()], ["scale:0"])
        self.assertEqual(self.run_(y), 10)

    def test_gradients_are_those_given_or_of_the_body(self):
        @function.Defun(F, F)
        def hundred(x, dy):
            return dy * 100

        def graded(**kwargs):
            @function.Defun(F, **kwargs)
            def square(x):
                return x * x

            x = tf.constant(3.0)
            return self.run_(tf.gradients(square(x), x)[0])

        self.assertEqual(graded(), 6)
        self.assertEqual(graded(func_name="a", grad_func=hundred), 100)
        self.assertEqual(graded(func_name="b", python_grad_func=lambda op, dy: dy * op.inputs[0] * 7), 21)

    def test_types_and_numbers_of_arguments(self):
        @function.Defun()
        def twice(x):
            return x + x

        self.assertEqual(self.run_([twice(1.5), twice(2)]), [3, 4])
        with self.assertRaisesRegex(ValueError, "more arguments"):
            function.Defun(F)(lambda x, y: x)
        with self.assertRaisesRegex(ValueError, "can not return None"):
            function.Defun(F)(lambda x: [None])(1.0)

    def test_nodes_that_call_functions(self):
        outside = tf.constant(2.0)
        square = function.Defun(F)(lambda x: x * x)
        double = function.Defun(F)(lambda x: x * 2)
        x = tf.placeholder(F, [])
        chosen = functional_ops.If(x > 2, [x], square, double)[0]
        self.assertEqual([self.run_(chosen, {x: v}) for v in (1.0, 3.0)], [2, 9])
        self.assertEqual(self.run_(tf.gradients(chosen, x)[0], {x: 3.0}), 6)
        loop = functional_ops.While(
            [0, 1.0],
            function.Defun(tf.int32, F)(lambda i, a: i < 3),
            function.Defun(tf.int32, F)(lambda i, a: (i + 1, a * outside)),
        )
        self.assertEqual(self.run_(loop), [3, 8])
        counted = functional_ops.For(0, 4, 1, [1.0], function.Defun(tf.int32, F)(lambda i, a: a * outside))
        self.assertEqual(self.run_(counted), [16])


class CustomGradientTest(FunctionTest):
    def test_the_function_says_its_gradients(self):
        @tf.custom_gradient
        def both(x, y):
            return (x * y, x + y), lambda d1, d2: (d1 * 10 + d2, d1 * 20 + d2)

        x, y = tf.constant(3.0), tf.constant(4.0)
        product, total = both(x, y)
        self.assertEqual(self.run_([product, total]), [12, 7])
        self.assertEqual(self.run_(tf.gradients(product, [x, y])), [10, 20])
        self.assertEqual(self.run_(tf.gradients([product, total], [x, y])), [11, 21])

    def test_variables_have_gradients_too(self):
        v = tf.get_variable("v", initializer=2.0, use_resource=True)

        @tf.custom_gradient
        def scaled(x):
            return x * v, lambda dy, variables=None: (dy * 5, [dy * 7 for _ in variables])

        x = tf.constant(3.0)
        self.assertEqual(self.run_(tf.gradients(scaled(x), [x, v])), [5, 7])

        @tf.custom_gradient
        def silent(x):
            return x * v, lambda dy: dy

        with self.assertRaisesRegex(TypeError, "variables"):
            silent(x)

    def test_recomputed_values_have_the_same_gradients(self):
        v = tf.get_variable("v", initializer=2.0, use_resource=True)
        x = tf.constant(3.0)
        y = tf.recompute_grad(lambda a: tf.sin(a) * v)(x)
        gx, gv = self.run_(tf.gradients(y, [x, v]))
        np.testing.assert_allclose([gx, gv], [2 * np.cos(3), np.sin(3)], rtol=1e-5)


class PyFuncTest(FunctionTest):
    def test_arguments_and_results(self):
        seen = []

        def call(*args):
            seen.extend(args)
            return np.float32(args[0] * 2), "text"

        number, text = tf.py_func(call, [np.float32(1.5), b"b", [1, 2], ["x"]], [F, tf.string])
        self.assertEqual(self.run_([number, text]), [3, b"text"])
        self.assertEqual([type(x) for x in seen], [np.float32, bytes, np.ndarray, np.ndarray])
        self.assertEqual((seen[2].tolist(), seen[3].tolist()), ([1, 2], [b"x"]))
        self.assertTrue(seen[2].flags.writeable)
        self.assertIsInstance(tf.py_func(lambda: None, [], []), tf.Operation)
        self.assertEqual(tf.py_func(call, [1.0], F, stateful=False).op.type, "PyFuncStateless")

    def test_exceptions_end_the_step(self):
        def raising(error):
            def call():
                raise error

            return call

        for function_, error, text in (
            (raising(ValueError("bad")), tf.errors.InvalidArgumentError, "ValueError: bad"),
            (raising(StopIteration()), tf.errors.OutOfRangeError, "StopIteration"),
            (raising(KeyError("k")), tf.errors.UnknownError, "KeyError"),
            (lambda: 1.5, tf.errors.InvalidArgumentError, "float64, but expects float32"),
            (lambda: (np.float32(1), np.float32(2)), tf.errors.InvalidArgumentError, "returns 2 values"),
        ):
            with self.assertRaisesRegex(error, text):
                self.run_(tf.py_func(function_, [], F))

    def test_functions_are_freed_with_their_graphs(self):
        before = script_ops._py_funcs.size()
        for _ in range(5):
            with tf.Graph().as_default():
                x = tf.constant(1.0)
                with tf.Session() as session:
                    session.run(tf.py_func(lambda v: v + np.float32(x.shape.ndims), [x], F))
        del x, session
        gc.collect()
        self.assertLessEqual(script_ops._py_funcs.size(), before)


if __name__ == "__main__":
    unittest.main()
