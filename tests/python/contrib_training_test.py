"""Batches of segments with states, and files that workers share: values and keys are TensorFlow 1.15's."""

import os
import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np

_FIRST = -(2**63)


class _Input:
    """Sequences 0, 1, ... of 3, 4, 5, ... steps; sequence i counts up from 10 i."""

    def __init__(self, count):
        self.number = tf.train.range_input_producer(count, num_epochs=1, shuffle=False).dequeue()
        self.key = tf.string_join(["k", tf.as_string(self.number)])
        self.length = 3 + self.number
        steps = tf.to_float(tf.range(self.length) + 10 * self.number)
        self.sequences = {"x": tf.stack([steps, -steps], axis=1)}
        self.sequences["x"].set_shape([None, 2])


class BatchSequencesWithStatesTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def _run(self, session, whole_input=False):
        """Starts the queue runners, and waits until they have taken the whole input where it says so."""
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        for thread in threads if whole_input else ():
            thread.join()
        self.addCleanup(coordinator.join, threads)
        self.addCleanup(coordinator.request_stop)

    def test_the_next_segment_has_the_state_that_was_saved_until_the_input_ends(self):
        sequence = _Input(3)
        batch = tf.contrib.training.batch_sequences_with_states(
            input_key=sequence.key,
            input_sequences=sequence.sequences,
            input_context={"number": sequence.number},
            input_length=None,
            initial_states={"sum": tf.zeros([2])},
            num_unroll=2,
            batch_size=2,
            num_threads=1,
            capacity=3,
        )
        total = batch.state("sum") + tf.reduce_sum(batch.sequences["x"], axis=1)
        save = batch.save_state("sum", total)
        fetches = {
            "keys": batch.key,
            "next": batch.next_key,
            "lengths": batch.length,
            "of": batch.total_length,
            "numbers": batch.context["number"],
            "indices": batch.insertion_index,
            "sum": total[:, 0],
            "save": save,
        }
        self.assertEqual([None, 2, 2], batch.sequences["x"].shape.as_list())
        got = []
        with tf.Session() as session:
            # A batch that waits for the input's end keeps waiting for all its segments, as in TensorFlow.
            self._run(session, whole_input=True)
            with self.assertRaises(tf.errors.OutOfRangeError):
                while True:
                    got.append(session.run(fetches))
        segments = [
            row
            for step in got
            for row in zip(*(step[k] for k in ("keys", "next", "lengths", "of", "numbers", "indices", "sum")))
        ]
        expected = [
            (b"00000_of_00002:k0", b"00001_of_00002:k0", 2, 3, 0, _FIRST, 1),
            (b"00000_of_00002:k1", b"00001_of_00002:k1", 2, 4, 1, _FIRST + 1, 21),
            (b"00001_of_00002:k0", b"STOP:k0", 1, 3, 0, _FIRST, 3),
            (b"00001_of_00002:k1", b"STOP:k1", 2, 4, 1, _FIRST + 1, 46),
            (b"00000_of_00003:k2", b"00001_of_00003:k2", 2, 5, 2, _FIRST + 2, 41),
            (b"00001_of_00003:k2", b"00002_of_00003:k2", 2, 5, 2, _FIRST + 2, 86),
            (b"00002_of_00003:k2", b"STOP:k2", 1, 5, 2, _FIRST + 2, 110),
        ]
        self.assertEqual(expected, segments)

    def test_a_recurrent_network_goes_on_from_segment_to_segment(self):
        steps = tf.constant(np.arange(12, dtype=np.float32).reshape(6, 2) / 10)
        cell = tf.nn.rnn_cell.LSTMCell(3, initializer=tf.constant_initializer(0.2))
        batch = tf.contrib.training.batch_sequences_with_states(
            input_key="k",
            input_sequences={"x": steps},
            input_context={},
            input_length=6,
            initial_states={"c": tf.zeros([3]), "h": tf.zeros([3])},
            num_unroll=2,
            batch_size=1,
            capacity=2,
            make_keys_unique=True,
        )
        inputs = tf.unstack(batch.sequences["x"], axis=1)
        with tf.variable_scope("net"):
            outputs, _ = tf.nn.static_state_saving_rnn(cell, inputs, batch, state_name=("c", "h"))
        with tf.variable_scope("net", reuse=True):
            whole, _ = tf.nn.static_rnn(cell, tf.unstack(steps[None], axis=1), dtype=tf.float32)
        with tf.Session() as session:
            self._run(session)
            for first in (0, 2, 4):
                got, expected = session.run([outputs, whole[first : first + 2]])
                np.testing.assert_allclose(got, expected, rtol=1e-6)

    def test_sparse_tensors_are_split_and_contexts_are_in_each_segment(self):
        batch = tf.contrib.training.batch_sequences_with_states(
            input_key=tf.string_join(["k", tf.as_string(tf.random_uniform([]))]),
            input_sequences={
                "s": tf.SparseTensor([[0, 0], [1, 1], [2, 0], [2, 2]], [1.0, 2.0, 3.0, 4.0], [3, 3])
            },
            input_context={"c": tf.SparseTensor([[0, 0], [1, 1]], [7, 8], [2, 2])},
            input_length=None,
            initial_states={"n": 0},
            num_unroll=2,
            batch_size=2,
            num_threads=1,
            capacity=2,
        )
        save = batch.save_state("n", batch.state("n") + 1)
        with tf.Session() as session:
            self._run(session)
            for values in ([1, 2], [3, 4]):
                sequence, context, _ = session.run([batch.sequences["s"], batch.context["c"], save])
                columns = [[0, 0], [1, 1]] if values == [1, 2] else [[0, 0], [0, 2]]
                expected = [[row, *column] for row in range(2) for column in columns]
                np.testing.assert_array_equal(expected, sequence.indices)
                np.testing.assert_array_equal(values * 2, sequence.values)
                np.testing.assert_array_equal([2, 2, 3], sequence.dense_shape)
                np.testing.assert_array_equal([[0, 0, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]], context.indices)
                np.testing.assert_array_equal([7, 8, 7, 8], context.values)

    def test_a_length_that_is_no_multiple_of_the_steps_is_told_where_it_is_not_padded(self):
        steps = {"x": tf.placeholder_with_default(tf.zeros([3]), [None])}
        saver = tf.contrib.training.SequenceQueueingStateSaver(
            2, 2, 3, "k", steps, {}, {"s": [0.0]}, capacity=2
        )
        with tf.Session() as session:
            with self.assertRaisesRegex(
                tf.errors.InvalidArgumentError, "should be a multiple of: 2, but saw value: 3.*pad=True"
            ):
                session.run(saver.prefetch_op)
        with self.assertRaisesRegex(ValueError, "capacity 1 needs to be >= batch_size 2"):
            tf.contrib.training.SequenceQueueingStateSaver(2, 2, 3, "k", {}, {}, {}, capacity=1)


class SharedFilesTest(unittest.TestCase):
    def test_each_file_is_read_by_one_worker(self):
        with tempfile.TemporaryDirectory() as directory:
            for i in range(4):
                with tf.python_io.TFRecordWriter(f"{directory}/{i}") as writer:
                    for j in range(2):
                        example = tf.train.Example()
                        example.features.feature["x"].int64_list.value.append(10 * i + j)
                        writer.write(example.SerializeToString())
            server = tf.train.Server.create_local_server()
            got, sessions = [], []
            for worker in range(2):
                with tf.Graph().as_default() as graph:
                    keys, features = tf.contrib.learn.io.read_keyed_batch_features_shared_queue(
                        directory + "/*",
                        2,
                        {"x": tf.FixedLenFeature([1], tf.int64)},
                        tf.TFRecordReader,
                        randomize_input=False,
                        num_epochs=1,
                        num_queue_runners=1,
                        name=f"worker{worker}",
                    )
                    init = [tf.global_variables_initializer(), tf.local_variables_initializer()]
                sessions.append((tf.Session(server.target, graph=graph), keys, features["x"], init))
            sessions[0][0].run(sessions[0][3])  # the variables are those of both
            coordinator = tf.train.Coordinator()
            for session, keys, x, _ in sessions:
                with session.graph.as_default():
                    tf.train.start_queue_runners(session, coordinator)
            for session, keys, x, _ in sessions:
                with self.assertRaises(tf.errors.OutOfRangeError):
                    while True:
                        names, values = session.run([keys, x])
                        self.assertEqual(2, len({os.path.basename(n) for n in names}))
                        got.extend(values.ravel().tolist())
            coordinator.request_stop()
            for session, *_ in sessions:
                session.close()
        self.assertEqual([0, 1, 10, 11, 20, 21, 30, 31], sorted(got))

    def test_input_functions_of_learn_shuffle_by_default(self):
        rows = np.arange(200)
        with tf.Graph().as_default():
            made = [
                tf.contrib.learn.io.numpy_input_fn({"x": rows}, rows, batch_size=200, shuffle=shuffle)()
                for shuffle in (True, False)
            ]
            with tf.train.MonitoredSession() as session:
                (mixed, labels), (ordered, _) = session.run(made)
        self.assertEqual(mixed["x"].tolist(), labels.tolist())
        self.assertNotEqual(mixed["x"].tolist(), rows.tolist())
        self.assertEqual(ordered["x"].tolist(), rows.tolist())

    def _batches(self, session, rows, **arguments):
        """The batches of generator_input_fn until its end, and the error of its threads."""
        fetched = tf.contrib.learn.io.generator_input_fn(rows, shuffle=False, **arguments)()
        batches, coordinator = [], tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        with self.assertRaises(tf.errors.OutOfRangeError):
            while True:
                batches.append(session.run(fetched))
        coordinator.request_stop()
        return batches, lambda: coordinator.join(threads)

    def test_a_generator_gives_rows_of_different_lengths(self):
        def rows():
            for length in (1, 3, 2, 2):
                yield {"words": np.arange(length), "length": np.array(length)}

        with tf.Graph().as_default(), tf.Session() as session:
            batches, join = self._batches(session, rows, target_key="length", batch_size=4, pad_value=-1)
            join()
        # Two rows, of two values each, are filled up with pad_value, those of a batch with 0; two rows of the
        # next epoch follow.
        words = [[[0, -1, -1], [0, 1, 2], [0, 1, 0], [0, 1, 0]], [[0, -1, -1], [0, 1, 2]]]
        self.assertEqual([features["words"].tolist() for features, _ in batches], words)
        self.assertEqual([labels.tolist() for _, labels in batches], [[1, 3, 2, 2], [1, 3]])

    def test_rows_of_a_generator_without_a_key_are_told(self):
        def rows():
            yield {"x": np.zeros(2), "y": np.ones(1)}
            yield {"x": np.zeros(2)}

        with tf.Graph().as_default(), tf.Session() as session:
            batches, join = self._batches(session, rows, target_key=["x", "y"], batch_size=1)
            self.assertEqual([sorted(labels) for _, labels in batches], [["x", "y"]])
            with self.assertRaisesRegex(KeyError, "key mismatch between dicts emitted by GenFun"):
                join()
        with self.assertRaisesRegex(TypeError, r"x\(\) must be generator"):
            tf.contrib.learn.io.generator_input_fn(lambda: [])
        with self.assertRaisesRegex(KeyError, "target_key not in yielded dict"):
            tf.contrib.learn.io.generator_input_fn(rows, target_key=["z"])


if __name__ == "__main__":
    unittest.main()
