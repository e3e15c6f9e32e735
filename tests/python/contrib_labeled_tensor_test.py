"""Tensors whose axes have names and labels. Names of nodes are TensorFlow 1.15's."""

import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.contrib import labeled_tensor as lt


class LabeledTensorTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
        tensor = tf.constant(self.values)
        self.image = lt.LabeledTensor(tensor, ["row", ("channel", ["r", "g", "b"]), "column"])

    def check(self, actual, axes, values):
        self.assertEqual(actual.axes, lt.Axes(axes))
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(actual.tensor), values, rtol=1e-6)

    def test_operators_match_axes_by_name(self):
        weights = lt.constant([1.0, 2.0, 3.0], axes=[("channel", ["r", "g", "b"])])
        self.check(weights, [("channel", ["r", "g", "b"])], [1, 2, 3])
        product = 2.0 - self.image * weights
        expected = 2 - self.values * np.array([1, 2, 3]).reshape(1, 3, 1)
        self.check(product, [("row", 2), ("channel", ["r", "g", "b"]), ("column", 4)], expected)
        self.assertEqual(product.name, "lt_sub:0")
        with lt.axis_order_scope(["batch", "row", "channel", "column"]):
            batch = lt.constant([[1.0] * 4] * 5, axes=["batch", "column"])
            self.check(
                batch**2.0 + self.image,
                [("batch", 5), ("row", 2), ("channel", ["r", "g", "b"]), ("column", 4)],
                np.broadcast_to(self.values + 1, (5, 2, 3, 4)),
            )
            with self.assertRaisesRegex(lt.AxisOrderError, "do not appear in the same order"):
                lt.add(self.image, lt.transpose(self.image))
        with self.assertRaisesRegex(lt.AxisOrderError, "No consistent axis order"):
            lt.add(self.image, lt.transpose(self.image))
        with self.assertRaisesRegex(ValueError, "Mismatched 'channel' axis on input tensors"):
            lt.add(self.image, lt.constant([1.0] * 3, axes=["channel"]))
        with self.assertRaisesRegex(ValueError, "unlabeled arrays or tensors with rank>0"):
            lt.add(self.image, tf.ones([4]))
        with self.assertRaisesRegex(ValueError, "int32 for Tensor with dtype float32: <tf.Tensor 'Const:0'"):
            lt.convert_to_labeled_tensor(self.image, tf.int32)

    def test_parts_are_chosen_by_labels(self):
        row, column = ("row", 2), ("column", 4)
        two = lt.select(self.image, {"channel": ["b", "r"]})
        self.check(two, [row, ("channel", ["b", "r"]), column], self.values[:, [2, 0]])
        self.assertEqual(two.name, "lt_select:0")
        self.check(lt.select(self.image, {"channel": "g"}), [row, column], self.values[:, 1])
        last = lt.select(self.image, {"channel": slice("g", "b")})  # the last label belongs to it
        self.check(last, [row, ("channel", ["g", "b"]), column], self.values[:, 1:])
        self.check(self.image[1, :2, 0], [("channel", ["r", "g"])], self.values[1, :2, 0])
        with self.assertRaisesRegex(ValueError, "does not have labels"):
            lt.select(self.image, {"row": 0})
        with self.assertRaises(KeyError):
            lt.select(self.image, {"channel": "alpha"})

    def test_axes_are_added_and_removed(self):
        channel, column = ("channel", ["r", "g", "b"]), ("column", 4)
        mean = lt.reduce_mean(self.image, ["row", ("channel", "grey")])
        self.check(mean, [("channel", ["grey"]), column], self.values.mean((0, 1))[None])
        self.assertEqual(mean.name, "lt_reduce_mean:0")
        pixels = lt.reshape(self.image, ["row", "channel"], ["line"])
        self.check(pixels, [("line", 6), column], self.values.reshape(6, 4))
        padded = lt.pad(self.image, {"channel": ([], ["alpha"]), "row": (1, 0)})
        expected = np.pad(self.values, [(1, 0), (0, 1), (0, 0)])
        self.check(padded, [("row", 3), ("channel", ["r", "g", "b", "alpha"]), column], expected)
        doubled = lt.map_fn(lambda row: lt.slice(row, {"column": 0}) * 2.0, self.image)
        self.check(doubled, [("row", 2), channel], self.values[:, :, 0] * 2)
        matrix = lt.constant(np.ones((5, 3), np.float32), axes=["out", channel])
        product = lt.matmul(self.image[0, :, :], matrix)
        self.check(product, [column, ("out", 5)], np.repeat(self.values[0].sum(0)[:, None], 5, 1))

    def test_inputs_have_axes(self):
        example = tf.train.Example()
        example.features.feature["x"].float_list.value.extend([1, 2])
        serialized = lt.constant([example.SerializeToString()] * 4, axes=["batch"])
        feature = lt.FixedLenFeature([("side", ["left", "right"])], tf.float32)
        x = lt.parse_example(serialized, {"x": feature})["x"]
        side = ("side", ["left", "right"])
        self.check(x, [("batch", 4), side], [[1, 2]] * 4)
        (batch,) = lt.batch([x], 3, enqueue_many=True)
        self.assertEqual(batch.axes, lt.Axes([("batch", 3), side]))
        with self.assertRaisesRegex(ValueError, 'axis called "batch" as their first dimension'):
            lt.batch([self.image], 3, enqueue_many=True)
        image = lt.placeholder(tf.float32, ["batch", side])
        self.assertEqual((image.shape.as_list(), image.name), ([None, 2], "lt_placeholder:0"))
        coder = lt.ReshapeCoder(["batch", "side"], ["line"])
        with self.assertRaisesRegex(ValueError, "decode called before encode"):
            coder.decode(x)
        self.check(coder.decode(coder.encode(x) + 1.0), [("batch", 4), side], [[2, 3]] * 4)

    def test_errors_name_the_types_that_are_allowed(self):
        with self.assertRaisesRegex(
            TypeError,
            r"of type <class 'NoneType'> is not an instance of the allowed type List\(Union\(labeled",
        ):
            lt.Axes(None)
        with self.assertRaisesRegex(ValueError, "Tick labels must be unique"):
            lt.Axis("x", [1, 1])
        with self.assertRaisesRegex(ValueError, "Tensor rank was not equal to the number of axes"):
            lt.LabeledTensor(self.image.tensor, ["row"])


if __name__ == "__main__":
    unittest.main()
