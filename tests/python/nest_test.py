# tf.nest, and tf.data's structures, in which a list stands for a tensor.
import collections
import unittest

import support  # noqa: F401, before the others: where the package is

import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.python.data.util import nest as data_nest
from braid.tensorflow.python.util import nest

Pair = collections.namedtuple("Pair", ["x", "y"])
Other = collections.namedtuple("Other", ["x", "y"])


class NestTest(unittest.TestCase):
    def test_leaves_come_in_order_and_mappings_by_key(self):
        structure = {"b": [1, (2, 3)], "a": Pair(4, "text")}
        self.assertEqual(nest.flatten(structure), [4, "text", 1, 2, 3])
        self.assertEqual(nest.flatten(None), [None])
        self.assertEqual(nest.flatten(b"abc"), [b"abc"])
        self.assertEqual(nest.flatten([]), [])
        self.assertRaises(TypeError, nest.flatten, {1: 2, "a": 3})

    def test_what_is_packed_has_the_types_of_the_structure(self):
        structure = collections.OrderedDict([("b", Pair(1, [2])), ("a", (3,))])
        packed = nest.pack_sequence_as(structure, [30, 10, 20])
        self.assertEqual(list(packed.items()), [("b", Pair(10, [20])), ("a", (30,))])
        self.assertIs(type(packed), collections.OrderedDict)
        self.assertEqual(nest.pack_sequence_as("leaf", [7]), 7)
        self.assertRaises(ValueError, nest.pack_sequence_as, structure, [1, 2])
        self.assertRaises(ValueError, nest.pack_sequence_as, "leaf", [1, 2])

    def test_functions_are_mapped(self):
        self.assertEqual(
            nest.map_structure(lambda a, b: a + b, [1, {"k": 2}], [10, {"k": 20}]), [11, {"k": 22}]
        )
        self.assertEqual(
            nest.map_structure_with_paths(lambda path, _: path, {"a": [1, Pair(2, 3)]}),
            {"a": ["a/0", Pair("a/1/x", "a/1/y")]},
        )
        self.assertEqual(
            nest.map_structure_up_to([0, 0], lambda a, b: (a, b), [[1], 2], [3, [4]]), [([1], 3), (2, [4])]
        )

    def test_structures_that_differ_are_refused(self):
        for one, two, error in (
            ([1], [1, 2], ValueError),
            ([1], 1, ValueError),
            ({"a": 1}, {"b": 1}, ValueError),
            ([1], (1,), TypeError),
            (Pair(1, 2), Other(1, 2), TypeError),
        ):
            self.assertRaises(error, nest.assert_same_structure, one, two)
        nest.assert_same_structure([1], (1,), check_types=False)
        nest.assert_same_structure({"a": 1}, collections.OrderedDict(a=2))
        self.assertRaises(ValueError, nest.flatten_up_to, [1], [1, 2])

    def test_the_structures_of_data_have_no_lists(self):
        self.assertEqual(data_nest.flatten(([1, 2], {"k": [3]})), [[1, 2], [3]])
        self.assertFalse(data_nest.is_sequence([1]))
        self.assertEqual(data_nest.map_structure(len, ([1, 2], "abc")), (2, 3))

    def test_an_array_is_given_for_a_tuple_of_one_tensor(self):
        x = tf.placeholder(tf.float32, [1, 2])
        with tf.Session() as session:
            self.assertEqual([[1, 2]], session.run(x, {(x,): np.array([[1.0, 2.0]])}).tolist())
        with self.assertRaisesRegex(ValueError, "Key had 2 elements, but value had 1 elements"):
            nest.flatten_dict_items({("a", "b"): 1})


if __name__ == "__main__":
    unittest.main()
