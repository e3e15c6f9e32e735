# Types, shapes and errors behave as TensorFlow 1.15's do.
import copy
import pickle
import unittest

import support  # noqa: F401, before the others: where the package is
import numpy as np

from braid.tensorflow.python.framework import dtypes, errors
from braid.tensorflow.python.framework.tensor_shape import (
    Dimension,
    TensorShape,
    as_shape,
    dimension_value,
    matrix,
    scalar,
    unknown_shape,
    vector,
)


class DTypeTest(unittest.TestCase):
    def test_names_numbers_and_numpy_types_lead_to_one_object(self):
        for value in (
            "float32",
            "float",
            1,
            np.float32,
            np.dtype("float32"),
            float,
            dtypes.float32,
            np.dtype(">f4"),
        ):
            self.assertIs(dtypes.as_dtype(value), dtypes.float32)
        for value, want in (
            (int, dtypes.int64),
            (bool, dtypes.bool),
            (object, dtypes.string),
            (np.dtype("S7"), dtypes.string),
        ):
            self.assertIs(dtypes.as_dtype(value), want)
        for value in (None, "nothing", 0, 24, -1, 3.5, [], "f4", np.datetime64, True):
            self.assertRaises(TypeError, dtypes.as_dtype, value)

    def test_each_is_what_it_is_called(self):
        for number in range(1, 24):
            d = dtypes.as_dtype(number)
            self.assertIs(getattr(dtypes, d.name), d)
            self.assertEqual((d.as_datatype_enum, int(d), str(d)), (number, number, f"<dtype: '{d.name}'>"))
            self.assertEqual(repr(d), f"tf.{d.name}")
            self.assertIs(dtypes.as_dtype(number + 100), d._as_ref)
            self.assertIs(pickle.loads(pickle.dumps(d)), d)
            self.assertIs(copy.deepcopy(d), d)

    def test_equality_takes_what_makes_a_type(self):
        self.assertTrue(dtypes.int32 == np.int32 and dtypes.int32 == "int32" and dtypes.int32 == 3)
        self.assertTrue(
            dtypes.int32 != None and dtypes.int32 != "none" and dtypes.int32 != dtypes.int32_ref
        )  # noqa: E711
        self.assertEqual(len({dtypes.int32, dtypes.as_dtype("int32"), dtypes.int64}), 2)

    def test_references(self):
        ref = dtypes.float32_ref
        self.assertEqual((ref.base_dtype, ref._is_ref_dtype, ref.name), (dtypes.float32, True, "float32_ref"))
        self.assertTrue(dtypes.float32_ref.is_compatible_with(dtypes.float32_ref))
        self.assertTrue(dtypes.float32.is_compatible_with(dtypes.float32_ref))
        self.assertFalse(dtypes.float32_ref.is_compatible_with(dtypes.float32))

    def test_kinds(self):
        every = [dtypes.as_dtype(n) for n in range(1, 24)]

        def names(test):
            return {d.name for d in every if test(d)}

        self.assertEqual(names(lambda d: d.is_floating), {"float16", "bfloat16", "float32", "float64"})
        self.assertEqual(names(lambda d: d.is_complex), {"complex64", "complex128"})
        self.assertEqual(names(lambda d: d.is_quantized), {"qint8", "quint8", "qint16", "quint16", "qint32"})
        self.assertEqual(names(lambda d: d.is_unsigned), {"uint8", "uint16", "uint32", "uint64"})
        self.assertEqual(
            names(lambda d: d.is_integer),
            {"uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"},
        )
        self.assertEqual(dtypes.complex64.real_dtype, dtypes.float32)
        self.assertEqual(dtypes.complex128.real_dtype, dtypes.float64)

    def test_ranges(self):
        self.assertEqual((dtypes.int8.min, dtypes.int8.max, dtypes.uint16.max), (-128, 127, 65535))
        self.assertEqual(dtypes.float16.max, 65504)
        self.assertEqual(dtypes.bfloat16.max, float.fromhex("0x1.FEp127"))
        for d in (dtypes.string, dtypes.bool, dtypes.complex64, dtypes.qint8, dtypes.resource):
            with self.assertRaisesRegex(TypeError, "Cannot find minimum value"):
                d.min
        self.assertEqual((dtypes.float32.limits, dtypes.uint8.limits), ((0, 1), (0, 255)))

    def test_sizes(self):
        sizes = {
            "float16": 2,
            "bfloat16": 2,
            "float32": 4,
            "complex128": 16,
            "bool": 1,
            "string": 8,
            "qint32": 4,
        }
        for name, size in sizes.items():
            self.assertEqual(dtypes.as_dtype(name).size, size)


class DimensionTest(unittest.TestCase):
    def test_arithmetic(self):
        d, unknown = Dimension(12), Dimension(None)
        for got, want in (
            (d + 5, 17),
            (5 + d, 17),
            (d - 5, 7),
            (20 - d, 8),
            (d * 2, 24),
            (d // 5, 2),
            (30 // d, 2),
            (d % 5, 2),
            (30 % d, 6),
            (d + None, None),
            (unknown * 3, None),
            (3 - unknown, None),
        ):
            self.assertEqual(got.value, want)
        self.assertRaises(TypeError, lambda: d + [])

    def test_comparisons_with_what_is_not_known_give_none(self):
        d, unknown = Dimension(12), Dimension(None)
        self.assertTrue(d == 12 and d != 11 and d < 13 and d <= 12 and d > 11 and d >= Dimension(12))
        for value in (d == unknown, unknown == unknown, d != None, d < unknown, unknown >= 3):  # noqa: E711
            self.assertIsNone(value)

    def test_merging(self):
        self.assertEqual(Dimension(3).merge_with(None).value, 3)
        self.assertEqual(Dimension(None).merge_with(3).value, 3)
        self.assertIsNone(Dimension(None).merge_with(None).value)
        with self.assertRaisesRegex(ValueError, "Dimensions 3 and 4 are not compatible"):
            Dimension(3).merge_with(4)

    def test_what_is_no_size_is_refused(self):
        self.assertEqual(Dimension("7").value, 7)
        self.assertEqual(Dimension(7.0).value, 7)
        self.assertEqual(Dimension(np.int64(7)).value, 7)
        for value, error in ((-1, ValueError), (7.5, ValueError), ("many", ValueError), ([], TypeError)):
            self.assertRaises(error, Dimension, value)

    def test_texts(self):
        self.assertEqual([str(Dimension(v)) for v in (7, None)], ["7", "?"])
        self.assertEqual([repr(Dimension(v)) for v in (7, None)], ["Dimension(7)", "Dimension(None)"])
        self.assertEqual(dimension_value(Dimension(3)), 3)


class TensorShapeTest(unittest.TestCase):
    def test_what_makes_a_shape(self):
        for made, want in (
            (TensorShape([2, None, Dimension(3)]), [2, None, 3]),
            (TensorShape(5), [5]),
            (TensorShape((np.int32(4),)), [4]),
            (TensorShape(TensorShape([1])), [1]),
            (TensorShape(TensorShape([2, None]).as_proto()), [2, None]),
            (scalar(), []),
            (vector(3), [3]),
            (matrix(None, 2), [None, 2]),
            (unknown_shape(2), [None, None]),
            (unknown_shape(ndims=1), [None]),
        ):
            self.assertEqual(made.as_list(), want)
        for made in (TensorShape(None), unknown_shape(), TensorShape(unknown_shape().as_proto())):
            self.assertIsNone(made.rank)
            self.assertRaises(ValueError, made.as_list)
            self.assertRaises(ValueError, len, made)
        for wrong, error in (
            ([-1], ValueError),
            ("text", TypeError),
            ([[1]], TypeError),
            ([1.5], ValueError),
        ):
            self.assertRaises(error, TensorShape, wrong)

    def test_texts(self):
        shapes = [TensorShape(d) for d in (None, [], [3], [2, None])]
        self.assertEqual([str(s) for s in shapes], ["<unknown>", "()", "(3,)", "(2, ?)"])
        self.assertEqual(repr(shapes[3]), "TensorShape([Dimension(2), Dimension(None)])")

    def test_parts(self):
        s = TensorShape([2, 3, 4])
        self.assertEqual((s[1].value, s[-1].value, s[1:].as_list(), len(s)), (3, 4, [3, 4], 3))
        unknown = unknown_shape()
        self.assertIsNone(unknown[5].value)
        self.assertEqual(unknown[2:5].rank, 3)
        self.assertIsNone(unknown[-2:].rank)
        self.assertEqual([d.value for d in s], [2, 3, 4])
        self.assertTrue(s and not unknown)

    def test_merging(self):
        merged = TensorShape([None, 3]).merge_with([2, None])
        self.assertEqual(merged.as_list(), [2, 3])
        self.assertEqual(unknown_shape().merge_with([1]).as_list(), [1])
        for other in ([2, 4], [2]):
            with self.assertRaisesRegex(ValueError, "are not compatible"):
                TensorShape([2, 3]).merge_with(other)
        self.assertEqual(TensorShape([2]).concatenate([None, 3]).as_list(), [2, None, 3])
        self.assertIsNone(TensorShape([2]).concatenate(None).rank)

    def test_ranks(self):
        s = TensorShape([None, 3])
        self.assertEqual(s.with_rank(2).as_list(), [None, 3])
        self.assertEqual(unknown_shape().with_rank(1).as_list(), [None])
        with self.assertRaisesRegex(ValueError, r"Shape \(\?, 3\) must have rank 3"):
            s.with_rank(3)
        self.assertRaises(ValueError, s.with_rank_at_least, 3)
        self.assertRaises(ValueError, s.with_rank_at_most, 1)
        self.assertRaises(ValueError, s.assert_same_rank, [1])

    def test_compatibility_and_equality(self):
        s = TensorShape([None, 3])
        self.assertTrue(s.is_compatible_with([2, 3]) and s.is_compatible_with(None))
        self.assertFalse(s.is_compatible_with([2, 4]) or s.is_compatible_with([3]))
        self.assertTrue(TensorShape([2, 3]) == [2, 3] and TensorShape([2, 3]) != [2, 4])
        self.assertFalse(TensorShape([None]) == TensorShape([None]))
        self.assertTrue(unknown_shape() == unknown_shape())
        with self.assertRaisesRegex(ValueError, "inequality of unknown"):
            unknown_shape() != TensorShape([1])
        self.assertEqual(s.most_specific_compatible_shape([4, 3]).as_list(), [None, 3])
        self.assertEqual(len({TensorShape([2]), as_shape([2]), TensorShape([3])}), 2)

    def test_counts(self):
        self.assertEqual(TensorShape([2, 3]).num_elements(), 6)
        self.assertEqual(scalar().num_elements(), 1)
        self.assertIsNone(TensorShape([2, None]).num_elements())
        self.assertIsNone(unknown_shape().num_elements())
        self.assertTrue(TensorShape([2]).is_fully_defined())
        self.assertRaises(ValueError, TensorShape([None]).assert_is_fully_defined)

    def test_a_shape_may_be_copied(self):
        for s in (TensorShape([2, None]), unknown_shape(), scalar()):
            for copied in (pickle.loads(pickle.dumps(s)), copy.deepcopy(s)):
                self.assertEqual(str(copied), str(s))


class ErrorsTest(unittest.TestCase):
    def test_each_code_has_its_class(self):
        for name, code in (("Cancelled", 1), ("DataLoss", 15), ("InvalidArgument", 3), ("Unavailable", 14)):
            cls = getattr(errors, name + "Error")
            self.assertIs(errors.exception_type_from_error_code(code), cls)
            self.assertEqual(errors.error_code_from_exception_type(cls), code)
            e = cls(None, None, "why")
            self.assertEqual((e.error_code, e.message, e.op, e.node_def), (code, "why", None, None))
            self.assertIsInstance(e, errors.OpError)
            self.assertIn("why", str(e))
        self.assertEqual((errors.DEADLINE_EXCEEDED, errors.OUT_OF_RANGE), (4, 11))

    def test_an_error_may_be_pickled(self):
        e = pickle.loads(pickle.dumps(errors.NotFoundError(None, None, "which")))
        self.assertEqual((type(e), e.message), (errors.NotFoundError, "which"))

    def test_an_error_of_the_engine_becomes_one_of_tensorflows(self):
        from braid import _native
        from braid.tensorflow.python.framework import errors_impl

        try:
            _native.Graph().import_graph_def(b"\xff")
        except _native.Error as error:
            made = errors_impl.make_op_error(error)
        self.assertIsInstance(made, errors.InvalidArgumentError)
        self.assertTrue(made.message)


if __name__ == "__main__":
    unittest.main()
