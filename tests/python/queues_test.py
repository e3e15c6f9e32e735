# Queues and what else steps share, readers, parsing, and the input pipelines of queue runners.
import os
import struct
import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import numpy as np

import braid.tensorflow as tf
from braid import protos
from braid.tensorflow.python.ops import data_flow_ops


def example(**features):
    message = protos.Example()
    for name, values in features.items():
        feature = message.features.feature[name]
        kind = {float: feature.float_list, int: feature.int64_list, bytes: feature.bytes_list}[
            type(values[0])
        ]
        kind.value.extend(values)
    return message.SerializeToString()


class QueuesTest(unittest.TestCase):
    def setUp(self):
        entered = tf.Graph().as_default()
        entered.__enter__()
        self.addCleanup(entered.__exit__, None, None, None)
        self.session = tf.Session()
        self.addCleanup(self.session.close)
        self.run_ = self.session.run

    def file(self, text):
        fd, name = tempfile.mkstemp()
        self.addCleanup(os.remove, name)
        with open(fd, "w") as f:
            f.write(text)
        return name


class QueueTest(QueuesTest):
    def test_elements_leave_in_order(self):
        q = tf.FIFOQueue(10, [tf.float32, tf.int32], shapes=[[2], []])
        self.run_(q.enqueue([[0.0, 1.0], 1]))
        self.run_(q.enqueue_many([[[2.0, 3], [4, 5], [6, 7]], [2, 3, 4]]))
        rows, numbers = q.dequeue_many(2)
        self.assertEqual((rows.shape.as_list(), numbers.name), ([2, 2], "fifo_queue_DequeueMany:1"))
        self.assertEqual(self.run_([q.size(), numbers])[1].tolist(), [1, 2])
        self.run_(q.close())
        self.assertTrue(self.run_(q.is_closed()))
        self.assertEqual(self.run_(q.dequeue_up_to(5))[1].tolist(), [3, 4])
        with self.assertRaisesRegex(tf.errors.OutOfRangeError, "closed and has insufficient elements"):
            self.run_(q.dequeue())

    def test_other_orders(self):
        padding = tf.PaddingFIFOQueue(5, tf.int32, [[None]])
        self.run_([padding.enqueue([[1]])])
        self.run_([padding.enqueue([[1, 2, 3]])])
        self.assertEqual(self.run_(padding.dequeue_many(2)).tolist(), [[1, 0, 0], [1, 2, 3]])
        first = tf.PriorityQueue(5, tf.string, [[]])
        self.run_(first.enqueue_many([[3, 1, 2], ["c", "a", "b"]]))
        self.assertEqual(self.run_(first.dequeue_many(3))[1].tolist(), [b"a", b"b", b"c"])
        random = tf.RandomShuffleQueue(9, 0, tf.int32, [[]], names=["n"], seed=1)
        self.run_(random.enqueue_many({"n": list(range(8))}))
        self.assertEqual(sorted(self.run_(random.dequeue_many(8))["n"]), list(range(8)))

    def test_what_does_not_fit_is_refused(self):
        q = tf.FIFOQueue(1, [tf.float32], [[2]])
        named = tf.FIFOQueue(1, [tf.float32], names=["a"])
        for make, text in (
            (lambda: q.enqueue([tf.zeros([3])]), r"not compatible|incompatible"),
            (lambda: q.enqueue({"a": 1.0}), "names"),
            (lambda: named.enqueue([1.0]), "dictionary"),
            (lambda: named.enqueue({"b": 1.0}), "do not match"),
            (lambda: tf.FIFOQueue(1, [tf.float32], [[None]]), "fully defined"),
            (lambda: tf.FIFOQueue(1, [tf.float32], [[], []]), "same length"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                make()

    def test_one_of_several(self):
        queues = [tf.FIFOQueue(3, tf.int32, [[]], shared_name=str(i)) for i in range(2)]
        for i, q in enumerate(queues):
            self.run_(q.enqueue(i * 10))
        self.assertEqual(self.run_(tf.QueueBase.from_list(tf.constant(1), queues).dequeue()), 10)


class SharedTest(QueuesTest):
    def test_barrier(self):
        b = data_flow_ops.Barrier((tf.float32, tf.int32), shapes=((), (2,)))
        self.run_(b.insert_many(0, ["x", "y"], [1.0, 2.0]))
        self.assertEqual(self.run_([b.ready_size(), b.incomplete_size()]), [0, 2])
        self.run_(b.insert_many(1, ["y"], [[3, 4]]))
        _, keys, (numbers, pairs) = self.run_(b.take_many(1))
        self.assertEqual((keys[0], numbers[0], pairs.tolist()), (b"y", 2, [[3, 4]]))

    def test_accumulators(self):
        c = tf.ConditionalAccumulator(tf.float32, shape=[2])
        self.run_([c.apply_grad([1.0, 2.0]), c.apply_grad([3.0, 4.0])])
        self.assertEqual(self.run_(c.num_accumulated()), 2)
        self.assertEqual(self.run_(c.take_grad(2)).tolist(), [2, 3])
        self.run_(c.apply_grad([5.0, 6.0], local_step=0))  # that step is over
        self.assertEqual(self.run_(c.num_accumulated()), 0)
        s = tf.SparseConditionalAccumulator(tf.float32, shape=[3, 1])
        self.run_(s.apply_grad([1], [[2.0]], [3, 1]))
        self.run_(s.apply_indexed_slices_grad(tf.IndexedSlices([[4.0], [6.0]], [0, 1], [3, 1])))
        got = self.run_(s.take_indexed_slices_grad(2))
        self.assertEqual((got.indices.tolist(), got.values.tolist()), ([0, 1], [[4], [4]]))

    def test_staging(self):
        area = data_flow_ops.StagingArea([tf.float32, tf.int32], shapes=[[], [2]], names=["a", "b"])
        self.run_(area.put({"a": 1.0, "b": [2, 3]}))
        self.assertEqual(self.run_([area.size(), area.peek(0)["a"]]), [1, 1])
        self.assertEqual(self.run_(area.get())["b"].tolist(), [2, 3])
        stages = data_flow_ops.MapStagingArea([tf.float32, tf.int32], ordered=True)
        key = tf.placeholder(tf.int64, [])
        puts = [stages.put(key, [1.5], [0]), stages.put(key, [7], [1])]
        self.run_(puts, {key: 5})
        self.run_(puts, {key: 3})
        self.assertEqual(self.run_(stages.get()[0]), 3)
        self.assertEqual(self.run_(stages.get(key)[1], {key: 5}), [1.5, 7])

    def test_rows_by_number(self):
        parts = tf.dynamic_partition([1.0, 2, 3], [0, 1, 0], 2)
        self.assertEqual([p.tolist() for p in self.run_(parts)], [[1, 3], [2]])
        self.assertEqual(self.run_(tf.dynamic_stitch([[0, 2], [1]], [[1, 3], [2]])).tolist(), [1, 2, 3])


def lmdb_database(key, value):
    """The bytes of an LMDB database of one record, with pages of 512 bytes."""

    def page(number, flags, content, at=16):
        whole = struct.pack("<QHHHH", number, 0, flags, 16 + 2 * (flags == 2), 512) + bytes(496)
        return whole[:at] + content + whole[at + len(content) :]

    meta = struct.pack("<II8x8xI44x40xQQQ", 0xBEEFC0DE, 1, 512, 2, 2, 1)
    node = struct.pack("<HHHH", len(value), 0, 0, len(key)) + key + value
    leaf = page(2, 2, struct.pack("<H", 64))
    return page(0, 8, meta) + page(1, 8, meta) + leaf[:64] + node + leaf[64 + len(node) :]


class ReaderTest(QueuesTest):
    def test_lines_and_whole_files(self):
        name = self.file("head\none\ntwo\n")
        q = tf.FIFOQueue(9, tf.string, [[]])
        self.run_(q.enqueue_many([[name] * 3]))
        lines = tf.TextLineReader(skip_header_lines=1)
        line = lines.read(q)
        self.assertEqual(self.run_([line.key, line.value]), [f"{name}:2".encode(), b"one"])
        self.assertEqual(self.run_(lines.read_up_to(q, 5)[1]).tolist(), [b"two"])
        self.assertEqual(self.run_(lines.num_records_produced()), 2)
        pieces = tf.FixedLengthRecordReader(4, header_bytes=5, footer_bytes=4).read(q)
        self.assertEqual(self.run_(pieces[1]), b"one\n")
        self.assertEqual(self.run_(tf.WholeFileReader().read(q)[1]), b"head\none\ntwo\n")
        self.assertEqual(self.run_(tf.read_file(name)), b"head\none\ntwo\n")

    def test_databases_of_lmdb(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "data.mdb")
            with open(path, "wb") as f:
                f.write(lmdb_database(b"key", b"value"))
            q = tf.FIFOQueue(2, tf.string)
            self.run_(q.enqueue_many([[directory, path]]))
            record = tf.LMDBReader().read(q)
            self.assertEqual(self.run_(record), (b"key", b"value"))
            self.assertEqual(self.run_(record), (b"key", b"value"))


class ParsingTest(QueuesTest):
    FEATURES = {
        "a": tf.FixedLenFeature([2], tf.float32, default_value=[1.0, 2.0]),
        "b": tf.VarLenFeature(tf.int64),
        "c": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
        "d": tf.SparseFeature("b", "v", tf.float32, 10),
    }
    MESSAGES = [example(a=[5.0, 6.0], b=[1, 2], v=[0.5, 1.5]), example(c=[b"y", b"z"])]

    def test_examples(self):
        got = self.run_(tf.parse_example(self.MESSAGES, self.FEATURES))
        self.assertEqual(got["a"].tolist(), [[5, 6], [1, 2]])
        self.assertEqual((got["b"].values.tolist(), got["b"].dense_shape.tolist()), ([1, 2], [2, 2]))
        self.assertEqual(got["c"].tolist(), [[b"", b""], [b"y", b"z"]])
        self.assertEqual(got["d"].indices.tolist(), [[0, 1], [0, 2]])
        self.assertEqual(got["d"].dense_shape.tolist(), [2, 10])
        self.assertIn("ParseExample/ParseExample", [o.name for o in tf.get_default_graph().get_operations()])
        one = self.run_(tf.parse_single_example(self.MESSAGES[0], self.FEATURES))
        self.assertEqual((one["a"].tolist(), one["b"].values.tolist()), ([5, 6], [1, 2]))

    def test_sequences(self):
        message = protos.SequenceExample()
        message.context.feature["n"].int64_list.value.append(3)
        for i in range(3):
            message.feature_lists.feature_list["x"].feature.add().float_list.value.append(i)
        features = {"n": tf.FixedLenFeature([], tf.int64)}, {"x": tf.FixedLenSequenceFeature([], tf.float32)}
        got = self.run_(tf.parse_single_sequence_example(message.SerializeToString(), *features))
        self.assertEqual((got[0]["n"], got[1]["x"].tolist()), (3, [0, 1, 2]))

    def test_what_is_no_feature_is_refused(self):
        for feature, text in (
            (5, "Unsupported int"),
            (tf.FixedLenFeature([None], tf.float32), "First dimension"),
            (tf.FixedLenFeature([], None), "Missing type"),
            (tf.FixedLenSequenceFeature([], tf.float32), "allow_missing"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                tf.parse_example([b""], {"a": feature})

    def test_text_and_bytes(self):
        numbers, words = tf.decode_csv(["1,x", ",y"], [[9], [""]])
        self.assertEqual(self.run_(numbers).tolist(), [1, 9])
        self.assertEqual(self.run_(words).tolist(), [b"x", b"y"])
        self.assertEqual(self.run_(tf.decode_raw([b"\1\2"], tf.uint8)).tolist(), [[1, 2]])
        with self.assertRaisesRegex(ValueError, "strictly increasing"):
            tf.decode_csv([""], [[0], [0]], select_cols=[1, 0])


class InputTest(QueuesTest):
    def batches(self, batch):
        self.run_([tf.local_variables_initializer(), tf.global_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(self.session, coord)
        got = []
        try:
            while True:
                got.append(self.run_(batch))
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
        return got

    def test_lines_of_files_in_batches(self):
        names = [self.file("a\nb\n"), self.file("c\n")]
        q = tf.train.string_input_producer(names, num_epochs=1, shuffle=False)
        line = tf.TextLineReader().read(q)[1]
        sparse = tf.SparseTensor([[0, 1]], [1.0], [2, 2])
        batch = tf.train.batch({"line": line, "sparse": sparse}, 2, allow_smaller_final_batch=True)
        first, last = self.batches(batch)
        self.assertEqual((first["line"].tolist(), last["line"].tolist()), ([b"a", b"b"], [b"c"]))
        self.assertEqual(first["sparse"].indices.tolist(), [[0, 0, 1], [1, 0, 1]])
        self.assertEqual([s.name for s in tf.get_collection("summaries")][1], "batch/fraction_of_32_full:0")

    def test_elements_of_about_the_same_length(self):
        (length,) = tf.train.slice_input_producer([[1, 5, 2, 7, 3]], num_epochs=1, shuffle=False)
        lengths, batch = tf.contrib.training.bucket_by_sequence_length(
            length,
            {"row": tf.range(length)},
            2,
            [3, 6],
            shapes=[[None]],
            dynamic_pad=True,
            allow_smaller_final_batch=True,
        )
        got = {tuple(n): b["row"].tolist() for n, b in self.batches([lengths, batch])}
        self.assertEqual(set(got), {(1, 2), (5, 3), (7,)})
        self.assertEqual(got[1, 2], [[0, 0], [0, 1]])
        with self.assertRaisesRegex(ValueError, "increasing"):
            tf.contrib.training.bucket_by_sequence_length(length, [length], 2, [3, 3])

    def test_batches_of_a_bucket(self):
        (n,) = tf.train.slice_input_producer([list(range(8))], num_epochs=1, shuffle=False)
        which, batch = tf.contrib.training.bucket([n], n % 2, [1, 2], 2, keep_input=n < 7)
        self.assertEqual(batch.shape.as_list(), [None])
        got = sorted((int(w), b.tolist()) for w, b in self.batches([which, batch]))
        self.assertEqual(got, [(0, [0]), (0, [2]), (0, [4]), (0, [6]), (1, [1, 3])])  # 5 has no partner

    def test_shuffled_slices(self):
        numbers, squares = tf.train.slice_input_producer([np.arange(6), np.arange(6) ** 2], num_epochs=1)
        batch = tf.train.shuffle_batch([numbers, squares], 2, 10, 2)
        got = self.batches(batch)
        self.assertEqual(sorted(n for b in got for n in b[0]), list(range(6)))
        self.assertTrue(all((b[0] ** 2 == b[1]).all() for b in got))

    def test_only_what_is_kept(self):
        number = tf.train.range_input_producer(6, num_epochs=1, shuffle=False).dequeue()
        batch = tf.train.maybe_batch([number], number % 2 > 0, 3)
        self.assertEqual([b.tolist() for b in self.batches(batch)], [[1, 3, 5]])

    def assert_only_odd_rows(self, batch):
        numbers = tf.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue_many(4)
        rows = tf.cast(tf.range(4), tf.int64)
        sparse = tf.SparseTensor(tf.stack([rows, rows], 1), tf.cast(numbers, tf.float32), [4, 5])
        got = self.batches(batch([numbers, sparse], numbers % 2 > 0))
        self.assertEqual(sorted(n for dense, _ in got for n in dense), [1, 3, 5, 7, 9, 11])
        for dense, kept in got:
            self.assertEqual(kept.indices.tolist(), [[i, n % 4] for i, n in enumerate(dense)])
            self.assertEqual((kept.values.tolist(), kept.dense_shape.tolist()), (dense.tolist(), [3, 5]))

    def test_only_rows_that_are_kept(self):
        self.assert_only_odd_rows(lambda t, keep: tf.train.maybe_batch(t, keep, 3, enqueue_many=True))

    def test_only_rows_that_are_kept_of_several_lists(self):
        self.assert_only_odd_rows(
            lambda t, keep: tf.train.maybe_batch_join([t] * 2, keep, 3, enqueue_many=True)
        )

    def assert_mask_is_refused(self, tensor):
        keep = tf.placeholder_with_default([True] * 2, [None])
        tf.train.maybe_batch([tensor], keep, 1, enqueue_many=True)
        (runner,) = tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            self.run_(runner.enqueue_ops)

    def test_a_mask_has_an_element_for_each_row(self):
        self.assert_mask_is_refused(tf.placeholder_with_default(tf.zeros([3]), [None]))

    def test_a_mask_has_an_element_for_each_row_of_a_sparse_tensor(self):
        self.assert_mask_is_refused(tf.SparseTensor([[0, 0]], [1.0], [3, 1]))

    def test_lists_that_are_joined_have_the_shapes_of_the_first(self):
        some = tf.placeholder_with_default(["a"], [None])
        batch = tf.train.batch_join([[some], [["b", "b"]]], 2, dynamic_pad=True)
        self.assertEqual(batch.shape.as_list(), [2, None])
        with self.assertRaisesRegex(ValueError, "incompatible"):
            tf.train.batch_join([[["a"]], [["b", "b"]]], 2)

    def test_names_of_components_of_several_types(self):
        batch = tf.train.batch({"z": tf.constant(1), 1: tf.constant(2)}, 1, shapes=[[], []])
        self.assertEqual({name: t.shape.as_list() for name, t in batch.items()}, {"z": [1], 1: [1]})

    def test_shapes_must_be_known(self):
        with self.assertRaisesRegex(ValueError, "Cannot infer Tensor's rank"):
            tf.train.batch([tf.placeholder(tf.float32)], 2)


if __name__ == "__main__":
    unittest.main()
