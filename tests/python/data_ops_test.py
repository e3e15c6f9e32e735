"""Sparse tensors, strings, tables and sets."""

import pathlib
import tempfile
import unittest

import support
import braid.tensorflow as tf
import numpy as np


class DataOpsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def run_all(self, tensors, feeds=None):
        with tf.Session() as session:
            session.run(tf.tables_initializer())
            return session.run(tensors, feeds)

    def dense(self, sparse):
        return self.run_all(tf.sparse.to_dense(sparse)).tolist()


class SparseTest(DataOpsTest):
    def setUp(self):
        super().setUp()
        self.a = tf.SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 3])
        self.matrix = [[0, 2, 0], [3, 0, 0]]

    def test_parts_must_fit(self):
        with self.assertRaises(ValueError):
            tf.SparseTensor([[0, 1]], [1.0, 2.0], [2, 3])
        with self.assertRaises(ValueError):
            tf.SparseTensor([[0, 1]], [1.0], [2, 3, 4])
        self.assertEqual(self.a.shape.as_list(), [2, 3])

    def test_a_step_returns_and_takes_values(self):
        p = tf.sparse_placeholder(tf.float32)
        value = self.run_all(self.a)
        self.assertIsInstance(value, tf.SparseTensorValue)
        fed = self.run_all(tf.sparse.to_dense(p), {p: value})
        self.assertEqual(fed.tolist(), self.matrix)

    def test_operations_are_those_of_the_dense_tensor(self):
        m = np.array(self.matrix, np.float32)
        b = tf.SparseTensor([[0, 0]], [1.0], [2, 3])
        self.assertEqual(self.dense(tf.sparse.transpose(self.a)), m.T.tolist())
        self.assertEqual(self.dense(tf.sparse.reshape(self.a, [3, -1])), m.reshape(3, 2).tolist())
        self.assertEqual(self.dense(tf.sparse.add(self.a, b)), (m + [[1, 0, 0], [0, 0, 0]]).tolist())
        self.assertEqual(self.dense(tf.sparse.concat(0, [self.a, b])), [*self.matrix, [1, 0, 0], [0, 0, 0]])
        self.assertEqual(self.dense(tf.sparse.slice(self.a, [0, 1], [1, 2])), [[2, 0]])
        self.assertEqual(self.dense(self.a * (m + 1)), (m * (m + 1)).tolist())
        self.assertEqual(self.dense(self.a / 2.0), (m / 2).tolist())
        self.assertEqual(self.dense(-1.0 * tf.ones([2, 3]) * self.a), (-m).tolist())
        self.assertEqual(self.dense(tf.square(self.a)), (m**2).tolist())
        self.assertEqual(self.dense(tf.sparse.retain(self.a, [False, True])), [[0, 0, 0], [3, 0, 0]])
        self.assertEqual(self.run_all(tf.sparse.reduce_sum(self.a, 0)).tolist(), [3, 2, 0])
        self.assertEqual(self.run_all(tf.sparse.matmul(self.a, m.T)).tolist(), (m @ m.T).tolist())
        self.assertEqual(self.dense(tf.sparse.reset_shape(self.a)), [[0, 2], [3, 0]])
        self.assertEqual(self.dense(tf.sparse.from_dense(tf.constant(m))), self.matrix)
        halves = tf.sparse.split(sp_input=self.a, num_split=2, axis=0)
        self.assertEqual([self.dense(h) for h in halves], [[[0, 2, 0]], [[3, 0, 0]]])

    def test_sets(self):
        a, b = tf.constant([[1, 2], [3, 4]], tf.int64), tf.constant([[2, 5], [3, 4]], tf.int64)
        self.assertEqual(self.run_all(tf.sets.intersection(a, b)).values.tolist(), [2, 3, 4])
        self.assertEqual(self.run_all(tf.sets.difference(a, b)).values.tolist(), [1])
        self.assertEqual(self.run_all(tf.sets.size(tf.sets.union(a, b))).tolist(), [3, 2])


class StringTest(DataOpsTest):
    def test_strings(self):
        words = tf.constant(["big cat", "dog"])
        split = self.run_all(tf.string_split(words))
        self.assertEqual(split.values.tolist(), [b"big", b"cat", b"dog"])
        self.assertEqual(split.indices.tolist(), [[0, 0], [0, 1], [1, 0]])
        got = self.run_all(
            [
                tf.strings.regex_replace(words, "[aeiou]", "_"),
                tf.strings.substr(words, -3, 2),
                tf.strings.join(["<", words, ">"]),
                tf.reduce_join([["a", "b"], ["c", "d"]], separator="-"),
                tf.string_to_number(["1.5"]),
                tf.strings.format("{} of {}", [tf.constant(1), tf.constant([2, 3])]),
            ]
        )
        self.assertEqual(got[0].tolist(), [b"b_g c_t", b"d_g"])
        self.assertEqual(got[1].tolist(), [b"ca", b"do"])
        self.assertEqual(got[2].tolist(), [b"<big cat>", b"<dog>"])
        self.assertEqual(got[3], b"a-b-c-d")
        self.assertEqual(got[4].tolist(), [1.5])
        self.assertEqual(got[5], b"1 of [2 3]")
        with self.assertRaisesRegex(ValueError, "placeholder"):
            tf.strings.format("{}", [words, words])


class TableTest(DataOpsTest):
    def test_a_static_table(self):
        initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2], tf.string, tf.int64)
        table = tf.lookup.StaticHashTable(initializer, -1)
        got = self.run_all([table.lookup(tf.constant(["b", "z"])), table.size()])
        self.assertEqual((got[0].tolist(), got[1]), ([2, -1], 2))
        with self.assertRaisesRegex(TypeError, "Signature mismatch"):
            table.lookup(tf.constant([1]))

    def test_dense_tables_of_a_shared_name_are_one(self):
        def table():
            make = tf.contrib.lookup.MutableDenseHashTable
            return make(tf.int64, tf.int64, -1, 0, -2, shared_name="shared_dense")

        with tf.Graph().as_default(), tf.Session() as session:
            first, second = table(), table()
            five = tf.constant([5], tf.int64)
            session.run(first.insert(five, five))
            self.assertEqual(session.run(second.lookup(five)).tolist(), [5])

    def test_tables_of_a_shared_name_are_one(self):
        def table(values, shared_name):
            initializer = tf.lookup.KeyValueTensorInitializer(["a"], values, tf.string, tf.int64)
            return tf.contrib.lookup.HashTable(initializer, -1, shared_name=shared_name)

        first, same, other = table([1], "t"), table([2], "t"), table([3], None)
        found = [t.lookup(tf.constant("a")) for t in (first, same, other)]
        with tf.Session() as session:
            session.run([first.initializer, other.initializer])
            self.assertEqual(session.run(found), [1, 1, 3])
        with self.assertRaisesRegex(ValueError, "mapping must be specified"):
            tf.contrib.lookup.index_table_from_tensor(None)

    def test_a_vocabulary_in_a_file(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "words")
            path.write_text("emerson\nlake\npalmer\n")
            init = tf.lookup.TextFileInitializer(
                str(path),
                tf.string,
                tf.lookup.TextFileIndex.WHOLE_LINE,
                tf.int64,
                tf.lookup.TextFileIndex.LINE_NUMBER,
            )
            table = tf.lookup.StaticVocabularyTable(init, num_oov_buckets=2)
            sparse = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["lake", "and", "palmer"], [2, 2])
            ids = self.run_all([table.lookup(sparse), table.size()])
        self.assertEqual(ids[0].values[[0, 2]].tolist(), [1, 2])
        self.assertIn(ids[0].values[1], (3, 4))
        self.assertEqual(ids[1], 5)

    def test_tables_that_steps_change(self):
        for table in (
            tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1),
            tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "$"),
        ):
            insert = table.insert(["a", "b"], [1, 2])
            remove = table.remove(["a"])
            found = table.lookup(["a", "b"])
            with tf.Session() as session:
                session.run(insert)
                self.assertEqual(session.run(found).tolist(), [1, 2])
                session.run(remove)
                self.assertEqual(session.run(found).tolist(), [-1, 2])
                self.assertEqual(session.run(table.size()), 1)


if __name__ == "__main__":
    unittest.main()
