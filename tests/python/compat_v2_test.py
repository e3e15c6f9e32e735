# tf.compat.v2: the names of TensorFlow 2 in graphs, with its arguments.
import inspect
import os
import pathlib
import tempfile
import unittest

import support
import numpy as np
import braid.as_tensorflow
import braid.tensorflow as tf
from braid.tensorflow.compat import v2
from braid.tensorflow.compat.v2 import _aliases, _arguments, _find, _signatures
from braid.tensorflow.python.ops.linalg import linear_operator_addition


def _of_tf(name):
    value = tf
    for part in name.split("."):
        value = getattr(value, part)
    return value


class CompatV2Test(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def run_session(self, fetches):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return session.run(fetches)

    def test_it_is_imported_under_all_its_names(self):
        import tensorflow.compat.v2 as imported
        import tensorflow.compat.v2.math as math

        self.assertIs(imported, tf.compat.v2)
        self.assertIs(imported, v2)
        self.assertIs(math, v2.math)
        self.assertIs(v2.compat.v1, tf)

    def test_arguments_that_differ_have_names_that_tf_takes(self):
        for name, (target, arguments, fixed) in _signatures().items():
            taken = inspect.signature(_of_tf(target)).parameters
            for _, theirs, _ in (*_arguments(arguments), *_arguments(fixed)):
                self.assertIn(theirs, taken, name)

    def test_arguments_have_the_order_of_tensorflow_2(self):
        x = tf.constant([[1.0, 5.0], [7.0, 2.0]])
        got = self.run_session(
            [
                v2.argmax(x, 1, tf.int32),
                v2.reduce_sum(x, 1, True),
                v2.gather(x, [1], None, 1),
                v2.transpose(x, [1, 0], False, "name"),
                v2.pad(x, [[0, 0], [0, 1]], "CONSTANT", 9.0),
                v2.shape(x, tf.int64),
                v2.random.poisson([2], 0.0),
                v2.boolean_mask(x, [True, False], 1),
                v2.math.in_top_k([1, 1], x, 1),
            ]
        )
        self.assertEqual(got[0].dtype, np.int32)
        self.assertEqual(got[5].dtype, np.int64)
        self.assertEqual(
            [value.tolist() for value in got],
            [
                [1, 0],
                [[6.0], [9.0]],
                [[5.0], [2.0]],
                [[1.0, 7.0], [5.0, 2.0]],
                [[1.0, 5.0, 9.0], [7.0, 2.0, 9.0]],
                [2, 2],
                [0.0, 0.0],
                [[1.0], [7.0]],
                [True, False],
            ],
        )

    def test_a_lookup_divides_ids_by_ranges(self):
        halves = [tf.constant([[0.0], [1.0]]), tf.constant([[2.0], [3.0]])]
        self.assertEqual(
            self.run_session(v2.nn.embedding_lookup(halves, [0, 1, 2, 3])).ravel().tolist(), [0, 1, 2, 3]
        )

    def test_a_loop_keeps_the_structure_of_its_variables(self):
        made = v2.while_loop(lambda i: i < 3, lambda i: [i + 1], [tf.constant(0)])
        self.assertIsInstance(made, list)
        self.assertEqual(self.run_session(made), [3])

    def test_a_variable_is_a_resource(self):
        variable = v2.Variable(3.0, name="v")
        self.assertEqual(variable.handle.dtype, tf.resource)
        self.assertIsInstance(tf.Variable(1.0), v2.Variable)
        self.assertEqual(self.run_session(variable * 2.0), 6.0)

    def test_a_scope_needs_a_string(self):
        with self.assertRaisesRegex(ValueError, "must be a string"):
            v2.name_scope(None)
        with v2.name_scope("scope") as scope:
            self.assertEqual(scope, "scope/")

    def test_names_of_tensorflow_1_alone_are_not_there(self):
        for name in ("placeholder", "Session", "layers", "estimator.DNNClassifier", "keras.layers.LSTM"):
            with self.assertRaises(AttributeError, msg=name):
                value = v2
                for part in name.split("."):
                    value = getattr(value, part)
        self.assertIs(v2.estimator.EstimatorSpec, tf.estimator.EstimatorSpec)
        self.assertIs(v2.keras.layers.Dense, tf.keras.layers.Dense)

    def test_names_that_tf_has_are_found(self):
        missing = []
        for name in sorted(_aliases()):
            try:
                _of_tf(name)
            except AttributeError:
                continue
            if not hasattr(v2, name.partition(".")[0]) or _find(name) is not _of_tf(name):
                missing.append(name)
        self.assertEqual(missing, [])

    def test_summaries_are_recorded_unless_something_says_otherwise(self):
        with tempfile.TemporaryDirectory() as directory:
            writer = v2.summary.create_file_writer(directory)
            with writer.as_default():
                with tf.name_scope("outer"):
                    scalar = v2.summary.scalar("loss", 3.0, step=7)
                text = v2.summary.text("said", "words", step=8)
                with v2.summary.record_if(False):
                    skipped = v2.summary.scalar("skipped", 1.0, step=7)
                with self.assertRaisesRegex(ValueError, "No step set"):
                    v2.summary.scalar("loss", 3.0)
                with self.assertRaisesRegex(NotImplementedError, "tf.contrib.summary.histogram"):
                    v2.summary.histogram("h", [1.0], step=1)
            with tf.Session() as session:
                session.run(writer.init())
                self.assertEqual(session.run([scalar, text, skipped]), [True, True, False])
                session.run(writer.flush())
            (file,) = pathlib.Path(directory).iterdir()
            self.assertRegex(file.name, r"\.%d\.\d+\.v2$" % os.getpid())  # no other writer has its name
            events = [event for event in tf.train.summary_iterator(str(file)) if event.HasField("summary")]
        got = {e.summary.value[0].tag: (e.step, e.summary.value[0]) for e in events}
        self.assertEqual({tag: step for tag, (step, _) in got.items()}, {"outer/loss": 7, "said": 8})
        value = got["outer/loss"][1]
        self.assertEqual(value.metadata.plugin_data.plugin_name, "scalars")
        self.assertEqual(tf.make_ndarray(value.tensor), 3.0)


class SumOfOperatorsTest(unittest.TestCase):
    def test_the_sum_is_of_the_simplest_class_that_holds_it(self):
        identity = tf.linalg.LinearOperatorIdentity(2)
        diagonal = tf.linalg.LinearOperatorDiag([1.0, 2.0])
        triangular = tf.linalg.LinearOperatorLowerTriangular([[1.0, 0.0], [5.0, 1.0]])
        full = tf.linalg.LinearOperatorFullMatrix([[0.0, 1.0], [1.0, 0.0]])
        for operators, kind in (
            ([identity, identity], "LinearOperatorScaledIdentity"),
            ([identity, diagonal], "LinearOperatorDiag"),
            ([diagonal, triangular, identity], "LinearOperatorLowerTriangular"),
            ([full, triangular, diagonal], "LinearOperatorFullMatrix"),
        ):
            (made,) = linear_operator_addition.add_operators(operators)
            self.assertEqual(type(made).__name__, kind)
            with tf.Session() as session:
                got, parts = session.run([made.to_dense(), [o.to_dense() for o in operators]])
            self.assertEqual(got.tolist(), sum(parts).tolist())

    def test_sizes_must_be_equal(self):
        with self.assertRaisesRegex(ValueError, "same domain dimension"):
            linear_operator_addition.add_operators(
                [tf.linalg.LinearOperatorIdentity(2), tf.linalg.LinearOperatorIdentity(3)]
            )


if __name__ == "__main__":
    unittest.main()
