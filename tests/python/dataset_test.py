# Datasets and iterators of tf.data: elements, their static types, and the ways to iterate.
import os
import sqlite3
import tempfile
import threading
import unittest

import support  # noqa: F401, before the others: where the package is
import numpy as np

import braid.tensorflow as tf
from braid import protos
from braid.tensorflow.python.data.ops import multi_device_iterator_ops

D = tf.data.Dataset
E = tf.data.experimental


def plain(value):
    """Arrays as lists."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(plain(v) for v in value) if not hasattr(value, "_fields") else value
    return value.tolist() if hasattr(value, "tolist") else value


class DatasetTest(unittest.TestCase):
    def setUp(self):
        entered = tf.Graph().as_default()
        entered.__enter__()
        self.addCleanup(entered.__exit__, None, None, None)
        self.session = tf.Session()
        self.addCleanup(self.session.close)
        self.run_ = self.session.run

    def rest(self, element, most=50):
        got = []
        try:
            while len(got) < most:
                got.append(plain(self.run_(element)))
        except tf.errors.OutOfRangeError:
            pass
        return got

    def elements(self, dataset, most=50):
        return self.rest(dataset.make_one_shot_iterator().get_next(), most)

    def initialized(self, dataset):
        iterator = dataset.make_initializable_iterator()
        element = iterator.get_next()
        self.run_(iterator.initializer)
        return self.rest(element)

    def file(self, text):
        fd, name = tempfile.mkstemp()
        self.addCleanup(os.remove, name)
        with open(fd, "w") as f:
            f.write(text)
        return name


class SourceTest(DatasetTest):
    def test_tensors_and_slices(self):
        self.assertEqual(self.elements(D.range(5)), [0, 1, 2, 3, 4])
        self.assertEqual(self.elements(D.range(2, 9, 3)), [2, 5, 8])
        self.assertEqual(self.elements(D.from_tensors({"a": [1, 2]})), [{"a": [1, 2]}])
        slices = D.from_tensor_slices(({"a": np.arange(2)}, [[1.0], [2.0]]))
        self.assertEqual(self.elements(slices), [({"a": 0}, [1.0]), ({"a": 1}, [2.0])])
        self.assertEqual(slices.output_types, ({"a": tf.int64}, tf.float32))
        self.assertEqual(slices.output_shapes[1].as_list(), [1])
        rows = D.from_tensor_slices(tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 2])).batch(2)
        self.assertEqual(rows.output_classes, tf.SparseTensor)
        got = self.run_(rows.make_one_shot_iterator().get_next())
        self.assertEqual(got.indices.tolist(), [[0, 1], [1, 0]])
        with self.assertRaises(ValueError):
            D.from_tensor_slices(([1, 2], [1, 2, 3]))

    def test_generators(self):
        def numbers(n=3):
            for i in range(n):
                yield i, [i] * i

        dataset = D.from_generator(numbers, (tf.int32, tf.float32), ([], [None]))
        self.assertEqual(self.elements(dataset), [(0, []), (1, [1.0]), (2, [2.0, 2.0])])
        again = D.from_generator(numbers, (tf.int32, tf.float32), args=[2]).repeat(2)
        self.assertEqual([n for n, _ in self.elements(again)], [0, 1, 0, 1])
        wrong = D.from_generator(lambda: iter([[1, 2]]), tf.int32, [])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "element of shape"):
            self.run_(wrong.make_one_shot_iterator().get_next())

    def test_files(self):
        names = [self.file("a\nb\n"), self.file("c\nd\n")]
        self.assertEqual(self.elements(tf.data.TextLineDataset(names)), [b"a", b"b", b"c", b"d"])
        in_turns = tf.data.TextLineDataset(D.from_tensor_slices(names), num_parallel_reads=2)
        self.assertEqual(self.elements(in_turns), [b"a", b"c", b"b", b"d"])
        self.assertEqual(self.elements(tf.data.FixedLengthRecordDataset(names[0], 2)), [b"a\n", b"b\n"])
        self.assertEqual(self.elements(D.list_files(names[0])), [names[0].encode()])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "No files matched pattern: .*none"):
            self.elements(D.list_files(names[0] + "none*"))
        out = self.file("")
        self.run_(E.TFRecordWriter(out).write(D.from_tensor_slices(["x", "y"])))
        self.assertEqual(self.elements(tf.data.TFRecordDataset(out)), [b"x", b"y"])

    def test_lists_of_datasets(self):
        datasets = D.from_tensor_slices([D.range(2), D.range(3)]).flat_map(lambda d: d)
        self.assertEqual(self.elements(datasets), [0, 1, 0, 1, 2])

    def test_tensor_arrays(self):
        def up_to(n):
            return tf.TensorArray(tf.int64, n, element_shape=()).unstack(tf.range(tf.cast(n, tf.int64)))

        arrays = D.range(3).map(lambda n: up_to(tf.cast(n, tf.int32)))
        self.assertIs(arrays.output_classes, tf.TensorArray)
        self.assertEqual(self.elements(arrays.map(lambda a: a.stack())), [[], [0], [0, 1]])
        array = arrays.skip(2).make_one_shot_iterator().get_next()
        self.assertEqual(plain(self.run_(array.write(1, np.int64(7)).stack())), [0, 7])

    def test_databases(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "db")
            with sqlite3.connect(path) as database:
                database.execute("CREATE TABLE t (a INTEGER, b TEXT)")
                database.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, None)])
            database.close()
            rows = E.SqlDataset("sqlite", path, "SELECT b, a FROM t ORDER BY a", (tf.string, tf.int32))
            self.assertEqual(self.elements(rows), [(b"x", 1), (b"", 2)])


class TransformationTest(DatasetTest):
    def test_order_and_number(self):
        for dataset, want in (
            (D.range(3).concatenate(D.range(5, 6)), [0, 1, 2, 5]),
            (D.range(10).skip(2).take(5).shard(2, 1), [3, 5]),
            (D.range(2).cache().repeat(2).prefetch(1), [0, 1, 0, 1]),
            (D.from_tensors(7).enumerate(5), [(5, 7)]),
            (D.zip((D.range(2), {"x": D.range(4, 9)})), [(0, {"x": 4}), (1, {"x": 5})]),
        ):
            self.assertEqual(self.elements(dataset), want)
        shuffled = self.elements(D.range(20).shuffle(20, seed=1))
        self.assertEqual(sorted(shuffled), list(range(20)))
        self.assertNotEqual(shuffled, list(range(20)))
        for make, error in (
            (lambda: D.range(3).shard(2, 2), tf.errors.InvalidArgumentError),
            (lambda: D.range(3).concatenate(D.from_tensors(1.0)), TypeError),
            (lambda: D.zip([D.range(3)]), TypeError),
            (lambda: D.range(3).apply(lambda d: None), TypeError),
            (lambda: iter(D.range(3)), RuntimeError),
        ):
            self.assertRaises(error, make)

    def test_a_repeated_shuffle_has_the_order_of_tensorflow(self):
        tf.set_random_seed(3)
        dataset = D.range(6).shuffle(5, seed=1).repeat(2)
        options = tf.data.Options()
        options.experimental_optimization.shuffle_and_repeat_fusion = False
        plain_order = [2, 4, 3, 1, 5, 0, 3, 0, 4, 2, 5, 1]
        self.assertEqual(self.initialized(dataset), [4, 1, 5, 0, 3, 2, 2, 3, 4, 0, 1, 5])
        self.assertEqual(self.elements(dataset.prefetch(1)), [4, 1, 5, 0, 3, 2, 2, 3, 4, 0, 1, 5])
        self.assertEqual(self.elements(dataset.with_options(options)), plain_order)
        nested = D.range(1).flat_map(lambda _: D.range(5).shuffle(3, seed=1).repeat(2))
        self.assertEqual(self.elements(nested), [1, 2, 4, 0, 3, 2, 3, 0, 1, 4])

    def test_pipelines_have_the_nodes_of_tensorflow(self):
        # Ops without a seed of their own take the number of nodes before them.
        lines = tf.data.TextLineDataset(["a.txt", "b.txt"]).skip(1)
        lines.make_initializable_iterator()
        self.assertEqual(
            [op.name for op in tf.get_default_graph().get_operations()],
            "Const flat_filenames/shape flat_filenames TensorSliceDataset FlatMapDataset count SkipDataset "
            "optimizations OptimizeDataset ModelDataset IteratorV2 MakeIterator IteratorToStringHandle".split(),
        )

        def nodes(make):
            with tf.Graph().as_default() as graph:
                make().make_initializable_iterator().get_next()
                return len(graph.get_operations())

        def by_length():
            dataset = D.range(9).map(lambda x: tf.fill([tf.cast(x, tf.int32)], x))
            return dataset.apply(E.bucket_by_sequence_length(tf.size, [3, 5], [2, 2, 2]))

        def without_optimizations():
            options = tf.data.Options()
            options.experimental_optimization.apply_default_optimizations = False
            options.experimental_optimization.autotune = False
            return D.range(3).map(lambda x: x).with_options(options)

        name = self.file("")
        for make, count in (
            (lambda: D.range(10).map(lambda x: x + 1).shuffle(5).repeat().batch(2), 21),
            (lambda: tf.data.TFRecordDataset(name, num_parallel_reads=2), 17),
            (lambda: tf.data.FixedLengthRecordDataset(name, 4, 1, 1), 12),
            (lambda: D.range(9).batch(3).apply(E.unbatch()), 16),
            (lambda: E.sample_from_datasets([D.range(3), D.range(3)], [0.5, 0.5]), 27),
            (lambda: D.range(9).apply(E.shuffle_and_repeat(4, 2)), 16),
            (by_length, 14),
            (without_optimizations, 9),
        ):
            with self.subTest(make):
                self.assertEqual(nodes(make), count)

    def test_functions_draw_the_numbers_of_tensorflow(self):
        # For whose seeds a conditional in a function is one node, and its branches are functions.
        def draw(x):
            is_less = tf.random_uniform([]) < 0.5
            x = tf.cond(is_less, lambda: x + tf.random_uniform([]), lambda: x * tf.random_normal([]))
            return x + tf.random_normal([])

        tf.set_random_seed(5)
        got = self.elements(D.from_tensors(1.0).repeat(4).map(draw))
        np.testing.assert_allclose(got, [-1.93903, -2.45191, 0.9016, -2.39372], atol=2e-5)

    def test_batches(self):
        lengths = D.range(1, 4).map(lambda n: tf.fill([tf.cast(n, tf.int32)], n))
        for dataset, want in (
            (D.range(5).batch(2), [[0, 1], [2, 3], [4]]),
            (D.range(5).batch(2, drop_remainder=True), [[0, 1], [2, 3]]),
            (lengths.padded_batch(2, [None]), [[[1, 0], [2, 2]], [[3, 3, 3]]]),
            (lengths.padded_batch(3, [4], np.int64(-1)), [[[1, -1, -1, -1], [2, 2, -1, -1], [3, 3, 3, -1]]]),
            (D.range(5).batch(3).unbatch(), [0, 1, 2, 3, 4]),
            (
                D.range(6).window(3, 2, drop_remainder=True).flat_map(lambda w: w.batch(3)),
                [[0, 1, 2], [2, 3, 4]],
            ),
        ):
            self.assertEqual(self.elements(dataset), want)
        self.assertEqual(D.range(5).batch(2).output_shapes.as_list(), [None])
        self.assertEqual(D.range(5).batch(2, True).output_shapes.as_list(), [2])

    def test_functions(self):
        ten = tf.constant(10, tf.int64)
        for dataset, want in (
            (D.range(3).map(lambda x: x + ten), [10, 11, 12]),
            (
                D.range(4).map(lambda x: (x, x * x), num_parallel_calls=2).filter(lambda x, y: y > 1),
                [(2, 4), (3, 9)],
            ),
            (D.range(4).flat_map(D.range), [0, 0, 1, 0, 1, 2]),
            (D.range(3).interleave(lambda x: D.from_tensors(x).repeat(2), 2), [0, 1, 0, 1, 2, 2]),
            (D.range(2).map(lambda x: {"y": [x, x]}), [{"y": [0, 0]}, {"y": [1, 1]}]),
            (D.range(3).map(lambda x: tf.py_func(lambda v: v * 2, [x], tf.int64)), [0, 2, 4]),
        ):
            self.assertEqual(self.elements(dataset), want)
        self.assertEqual(self.run_(D.range(5).reduce(np.int64(0), lambda s, x: s + x)), 10)
        for make, error, text in (
            (lambda: D.range(3).map(lambda x: None), TypeError, "Unsupported return value"),
            (lambda: D.range(3).flat_map(lambda x: x), TypeError, "must return a `Dataset`"),
            (lambda: D.range(3).filter(lambda x: x), ValueError, "scalar boolean"),
        ):
            with self.assertRaisesRegex(error, text):
                make()

    def test_experimental_ones(self):
        length = E.bucket_by_sequence_length(lambda e: tf.shape(e)[0], [3], [2, 2])
        lengths = D.range(1, 5).map(lambda n: tf.fill([tf.cast(n, tf.int32)], n)).apply(length)
        sums = E.Reducer(lambda k: np.int64(0), lambda s, x: s + x, lambda s: s)
        for dataset, want in (
            (D.range(5).apply(E.map_and_batch(lambda x: x * x, 2)), [[0, 1], [4, 9], [16]]),
            (
                D.range(6).apply(E.group_by_window(lambda x: x % 2, lambda k, w: w.batch(3), 3)),
                [[0, 2, 4], [1, 3, 5]],
            ),
            (D.range(6).apply(E.group_by_reducer(lambda x: x % 2, sums)), [6, 9]),
            (lengths, [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]]),
            (D.range(4).apply(E.scan(np.int64(0), lambda s, x: (s + x, s + x))), [0, 1, 3, 6]),
            (D.range(9).apply(E.take_while(lambda x: x < 3)), [0, 1, 2]),
            (E.Counter(3, 2).take(3), [3, 5, 7]),
            (D.from_tensor_slices([1, 2, 1]).apply(E.unique()), [1, 2]),
            (
                D.range(3).apply(E.parallel_interleave(lambda x: D.from_tensors(x).repeat(2), 2)),
                [0, 1, 0, 1, 2, 2],
            ),
            (
                E.choose_from_datasets(
                    [D.range(3), D.range(10, 13)], D.from_tensor_slices(np.array([0, 1, 1]))
                ),
                [0, 10, 11],
            ),
        ):
            self.assertEqual(self.elements(dataset), want)
        division = D.from_tensor_slices([1.0, 0.0, 2.0]).map(lambda x: tf.check_numerics(1 / x, "bad"))
        self.assertEqual(self.elements(division.apply(E.ignore_errors())), [1, 0.5])
        sampled = E.sample_from_datasets([D.range(9), D.range(10, 19)], [0.2, 0.8], seed=1)
        self.assertEqual(sorted(self.elements(sampled)), [*range(9), *range(10, 19)])
        self.assertEqual(self.run_([E.cardinality(D.range(3)), E.cardinality(D.range(3).repeat())]), [3, -1])
        self.assertEqual(self.run_(E.get_single_element(D.range(7, 8))), 7)

    def test_a_reduction_of_no_elements_is_the_first_state(self):
        reducer = E.Reducer(lambda _: np.int64(5), lambda state, x: state + x, lambda state: state)
        reduce = tf.contrib.data.reduce_dataset
        self.assertEqual(self.run_([reduce(D.range(n), reducer) for n in (0, 4)]), [5, 11])

    def test_shapes_of_elements_are_asserted(self):
        shaped = tf.contrib.data.assert_element_shape
        known = D.from_tensors((np.ones(2), np.zeros((3, 4)))).apply(shaped((None, [None, 4])))
        self.assertEqual(plain(known.output_shapes[1].as_list()), [3, 4])
        self.assertEqual(self.elements(known)[0][0], [1, 1])
        with self.assertRaises(ValueError):
            D.from_tensors(np.zeros((3, 4))).apply(shaped(tf.TensorShape([None, 5])))
        unknown = D.from_tensors(0).map(lambda x: tf.py_func(lambda _: np.zeros((3, 4)), [x], tf.float64))
        some = unknown.apply(shaped(tf.TensorShape([None, 4])))
        self.assertEqual(some.output_shapes.as_list(), [None, 4])
        self.assertEqual(len(self.elements(some)), 1)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            self.elements(unknown.apply(shaped(tf.TensorShape([None, 5]))))

    def test_an_error_takes_its_batch(self):
        checked = E.map_and_batch(lambda x: tf.check_numerics(tf.log(tf.to_float(x - 2)), "log"), 3)
        element = D.range(6).apply(checked).make_one_shot_iterator().get_next()
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "log : Tensor had"):
            self.run_(element)
        self.assertEqual(self.run_(element)[0], 0)

    def test_resampling(self):
        resample = E.rejection_resample(lambda x: tf.cast(x, tf.int32), [0.9, 0.1], [0.5, 0.5], seed=1)
        dataset = D.range(1000).repeat().map(lambda x: x % 2).apply(resample)
        classes = [c for c, _ in self.elements(dataset, 500)]
        self.assertAlmostEqual(np.mean(classes), 0.1, delta=0.05)

    def test_files_of_columns_and_examples(self):
        name = self.file("x,y,z\n1,2.5,a\n2,3.5,b\n3,,c\n")
        columns = E.CsvDataset(name, [tf.int32, [7.0], tf.string], header=True)
        self.assertEqual(self.elements(columns), [(1, 2.5, b"a"), (2, 3.5, b"b"), (3, 7.0, b"c")])
        batches = E.make_csv_dataset(name, 2, label_name="z", num_epochs=1, shuffle=False)
        first = self.elements(batches)[0]
        self.assertEqual((dict(first[0]), first[1]), ({"x": [1, 2], "y": [2.5, 3.5]}, [b"a", b"b"]))
        self.assertEqual(batches.output_types[0]["x"], tf.int32)
        message = protos.Example()
        message.features.feature["n"].int64_list.value.append(4)
        message.features.feature["label"].int64_list.value.append(1)
        self.run_(E.TFRecordWriter(name).write(D.from_tensors(message.SerializeToString())))
        features = {k: tf.FixedLenFeature([], tf.int64) for k in ("n", "label")}
        batches = E.make_batched_features_dataset(name, 2, features, label_key="label", num_epochs=1)
        self.assertEqual(self.elements(batches), [({"n": [4]}, [1])])

    def test_options(self):
        options = tf.data.Options()
        options.experimental_deterministic = False
        options.experimental_threading.private_threadpool_size = 2
        dataset = D.range(2).with_options(options).map(lambda x: x)
        self.assertEqual(dataset.options().experimental_threading.private_threadpool_size, 2)
        self.assertEqual(self.elements(dataset), [0, 1])
        with self.assertRaisesRegex(AttributeError, "Cannot set the property"):
            options.unknown = 1
        with self.assertRaises(TypeError):
            options.experimental_deterministic = 5
        # What is set to its default gives way to another value, whichever comes first.
        policies, mine, its = tf.data.experimental.AutoShardPolicy, tf.data.Options(), tf.data.Options()
        mine.experimental_distribute.auto_shard_policy = policies.AUTO
        mine.experimental_distribute._make_stateless = True
        its.experimental_distribute.auto_shard_policy = policies.DATA
        for one, other in ((mine, its), (its, mine)):
            distribute = D.range(2).with_options(one).with_options(other).options().experimental_distribute
            self.assertEqual(distribute.auto_shard_policy, policies.DATA)
            self.assertTrue(distribute._make_stateless)
        mine.experimental_distribute.auto_shard_policy = policies.FILE
        with self.assertRaisesRegex(ValueError, "Cannot merge incompatible values"):
            mine.merge(its)


class OrderTest(DatasetTest):
    """Elements come as they are ready where the program allows it: the first one waits for the others."""

    def setUp(self):
        super().setUp()
        self.others_are_there = threading.Event()

    def waiting(self, number):
        def wait(i):
            if i == 0:
                self.others_are_there.wait(60)
            return i

        return tf.py_func(wait, [number], tf.int64)

    def in_any_order(self, dataset):
        options = tf.data.Options()
        options.experimental_deterministic = False
        return dataset.with_options(options)

    def expect_zeros_last(self, dataset, zeros, others):
        element = dataset.make_one_shot_iterator().get_next()
        before = [plain(self.run_(element)) for _ in range(others)]
        self.others_are_there.set()
        self.assertNotIn(0, before)
        self.assertEqual(self.rest(element), [0] * zeros)

    def test_of_parallel_calls(self):
        dataset = D.range(3).map(self.waiting, num_parallel_calls=3)
        self.expect_zeros_last(self.in_any_order(dataset), 1, 2)

    def test_of_interleaved_datasets(self):
        def twice(i):
            return D.from_tensors(i).map(self.waiting).repeat(2)

        dataset = D.range(3).interleave(twice, cycle_length=3, num_parallel_calls=3)
        self.expect_zeros_last(self.in_any_order(dataset), 2, 4)

    def test_of_sloppy_interleaving(self):
        def twice(i):
            return D.from_tensors(i).map(self.waiting).repeat(2)

        dataset = D.range(3).apply(E.parallel_interleave(twice, cycle_length=3, sloppy=True))
        self.expect_zeros_last(dataset, 2, 4)


class IteratorTest(DatasetTest):
    def test_variables_and_placeholders_need_an_initializer(self):
        v, p = tf.Variable(5, dtype=tf.int64), tf.placeholder(tf.int64, [])
        self.run_(v.initializer)
        for dataset in (D.range(2).map(lambda x: x + v), D.from_tensors(p)):
            with self.assertRaisesRegex(ValueError, "make_initializable_iterator"):
                dataset.make_one_shot_iterator()
        self.assertEqual(self.initialized(D.range(2).map(lambda x: x + v)), [5, 6])
        iterator = D.range(p).make_initializable_iterator()
        element = iterator.get_next()
        for n in (1, 3):
            self.run_(iterator.initializer, {p: n})
            self.assertEqual(self.rest(element), list(range(n)))

    def test_one_iterator_for_several_datasets(self):
        iterator = tf.data.Iterator.from_structure(tf.int64, [])
        element = iterator.get_next()
        for dataset, want in ((D.range(2), [0, 1]), (D.range(5, 6), [5])):
            self.run_(iterator.make_initializer(dataset))
            self.assertEqual(self.rest(element), want)
        with self.assertRaisesRegex(TypeError, "types"):
            iterator.make_initializer(D.from_tensors(1.0))
        with self.assertRaisesRegex(ValueError, "does not have an initializer"):
            iterator.initializer

    def test_an_iterator_may_be_fed(self):
        handle = tf.placeholder(tf.string, [])
        element = tf.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
        a, b = D.range(3).make_one_shot_iterator(), D.range(5, 8).make_initializable_iterator()
        self.run_(b.initializer)
        ha, hb = self.run_([a.string_handle(), b.string_handle()])
        self.assertEqual([self.run_(element, {handle: h}) for h in (ha, hb, ha)], [0, 5, 1])

    def test_elements_that_may_be_missing(self):
        optional = E.get_next_as_optional(D.range(1).make_one_shot_iterator())
        self.assertEqual(self.run_([optional.has_value(), optional.get_value()]), [True, 0])
        self.assertFalse(self.run_(optional.has_value()))

    def test_devices_take_turns(self):
        iterator = multi_device_iterator_ops.MultiDeviceIterator(D.range(5), ["/cpu:0", "/cpu:1"])
        element = iterator.get_next()
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            self.run_ = session.run
            for _ in range(2):
                session.run(iterator.initializer)
                self.assertEqual(self.rest(element), [[0, 1], [2, 3]])

    def test_a_checkpoint_has_how_far_it_is(self):
        iterator = D.range(10).make_initializable_iterator()
        element = iterator.get_next()
        saver = tf.train.Saver([E.make_saveable_from_iterator(iterator)])
        self.run_(iterator.initializer)
        self.run_(element)
        with tempfile.TemporaryDirectory() as directory:
            path = saver.save(self.session, os.path.join(directory, "model"))
            self.assertEqual(self.run_(element), 1)
            saver.restore(self.session, path)
            self.assertEqual(self.run_(element), 1)


if __name__ == "__main__":
    unittest.main()
