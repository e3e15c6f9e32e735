# Files: tf.gfile, TFRecord files, event files and what FileWriter writes, and MNIST's.
import contextlib
import glob
import gzip
import os
import pickle
import struct
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401, before the others: where the package is
import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.examples.tutorials.mnist import input_data
from braid.tensorflow.python.lib.io import file_io


class FilesTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name

    def path(self, *names):
        return os.path.join(self.directory, *names)


class GFileTest(FilesTest):
    def test_text_and_bytes(self):
        with tf.gfile.GFile(self.path("x"), "w") as f:
            f.write("ä\n")
            f.write(b"two\nthree")
        with tf.gfile.Open(self.path("x")) as f:
            self.assertEqual(
                (f.readline(), f.tell(), f.read(2), f.readlines()), ("ä\n", 3, "tw", ["o\n", "three"])
            )
            f.seek(3)
            self.assertEqual((f.read(), f.size()), ("two\nthree", 12))
            self.assertRaises(tf.errors.PermissionDeniedError, f.write, "no")
        with tf.gfile.FastGFile(self.path("x"), "rb") as f:
            self.assertEqual(next(f), b"\xc3\xa4\n")
        with tf.gfile.GFile(self.path("y"), "w+") as f:  # reading begins at the start
            f.write("content")
            f.flush()
            self.assertEqual(f.read(), "content")
        self.assertRaises(tf.errors.NotFoundError, tf.gfile.GFile(self.path("none")).read)
        with tf.gfile.GFile(self.path("z"), "wb") as f:  # in pieces that Python 3.7 did not have
            pickle.dump(np.arange(50000), f, protocol=pickle.HIGHEST_PROTOCOL)
        with tf.gfile.GFile(self.path("z"), "rb") as f:
            self.assertEqual(pickle.load(f).sum(), 50000 * 49999 // 2)
        self.assertRaises(TypeError, file_io.FileIO(self.path("n"), "wb").write, 3)

    def test_directories(self):
        tf.gfile.MakeDirs(self.path("a", "b"))
        tf.gfile.MakeDirs(self.path("a", "b"))
        tf.gfile.MakeDirs(os.path.dirname("name_alone"))
        for name in ("one.txt", "two.txt", ".hidden"):
            file_io.write_string_to_file(self.path("a", name), name)
        self.assertEqual(
            sorted(tf.gfile.ListDirectory(self.path("a"))), [".hidden", "b", "one.txt", "two.txt"]
        )
        self.assertEqual(tf.gfile.Glob(self.path("*", "t*.txt")), [self.path("a", "two.txt")])
        self.assertEqual(tf.gfile.Glob(self.path("a", "[!tb.]??\\.txt")), [self.path("a", "one.txt")])
        self.assertRaises(tf.errors.NotFoundError, tf.gfile.Glob, self.path("none", "*"))
        self.assertRaises(tf.errors.FailedPreconditionError, tf.gfile.Glob, self.path("a", "one.txt", "*"))
        self.assertEqual(tf.gfile.Glob(self.path("a", "*", "x")), [])
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.path("a"))
        self.assertEqual(tf.gfile.Glob("o*.txt"), ["./one.txt"])
        self.assertEqual(
            tf.gfile.Glob("file://" + self.path("a", "o*")), ["file://" + self.path("a", "one.txt")]
        )
        self.assertEqual(tf.gfile.Glob("../a/one.txt"), ["../a/one.txt"])
        os.chdir(here)
        self.assertEqual(
            [d for d, _, _ in tf.gfile.Walk(self.path("a"))], [self.path("a"), self.path("a", "b")]
        )
        self.assertRaises(
            tf.errors.AlreadyExistsError, tf.gfile.Copy, self.path("a", "one.txt"), self.path("a", "two.txt")
        )
        tf.gfile.Rename(self.path("a", "one.txt"), self.path("a", "two.txt"), overwrite=True)
        self.assertEqual(file_io.read_file_to_string(self.path("a", "two.txt")), "one.txt")
        self.assertRaises(tf.errors.FailedPreconditionError, tf.gfile.Remove, self.path("a"))
        tf.gfile.DeleteRecursively(self.path("a"))
        self.assertFalse(tf.gfile.Exists(self.path("a")))
        self.assertRaises(tf.errors.NotFoundError, tf.gfile.DeleteRecursively, self.path("a"))
        self.assertRaises(tf.errors.UnimplementedError, tf.gfile.Exists, "gs://bucket/x")


class RecordsTest(FilesTest):
    def test_records_come_back_with_every_compression(self):
        records = [b"", b"one", bytes(range(256)) * 100]
        kinds = tf.python_io.TFRecordCompressionType
        for options in (None, "ZLIB", kinds.GZIP, tf.python_io.TFRecordOptions(kinds.ZLIB)):
            with tf.python_io.TFRecordWriter(self.path("x"), options) as writer:
                for record in records:
                    writer.write(record)
            self.assertEqual(list(tf.python_io.tf_record_iterator(self.path("x"), options)), records)
        self.assertRaises(ValueError, tf.python_io.TFRecordWriter, self.path("x"), "LZ4")

    def test_options_reach_zlib(self):
        sizes = []
        for level in (0, 9):
            options = tf.io.TFRecordOptions("GZIP", compression_level=level, mem_level=9)
            with tf.io.TFRecordWriter(self.path("x"), options) as writer:
                writer.write(b"abc" * 1000)
            self.assertEqual(list(tf.io.tf_record_iterator(self.path("x"), options)), [b"abc" * 1000])
            sizes.append(os.path.getsize(self.path("x")))
        self.assertTrue(sizes[0] > 3000 > 300 > sizes[1])
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tf.io.TFRecordWriter(self.path("x"), tf.io.TFRecordOptions("GZIP", compression_level=10))

    def test_a_damaged_record_is_an_error(self):
        with tf.python_io.TFRecordWriter(self.path("x")) as writer:
            writer.write("abc")
        with open(self.path("x"), "r+b") as f:
            f.seek(13)
            f.write(b"X")
        self.assertRaises(tf.errors.DataLossError, list, tf.python_io.tf_record_iterator(self.path("x")))


class EventsTest(FilesTest):
    def events(self):
        (path,) = glob.glob(self.path("events.out.tfevents.*"))
        return list(tf.train.summary_iterator(path))

    def test_summaries_reach_the_event_file(self):
        with tf.Graph().as_default(), tf.Session() as session:
            with tf.name_scope("net"):
                x = tf.placeholder(tf.float32, [2], name="x")
                tf.summary.scalar("loss", x[0])
                tf.summary.scalar("a b", x[1], family="f")
            tf.summary.text("note", tf.constant("hello"))
            tf.summary.histogram("h", x, collections=["others"])
            merged = tf.summary.merge_all()
            writer = tf.summary.FileWriter(self.directory)
            for step in range(2):
                writer.add_summary(session.run(merged, {x: [step, 2]}), step)
            writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 7)
            self.assertEqual(len(self.events()), 1)  # the others wait
            writer.close()
            with self.assertWarns(UserWarning):
                writer.add_summary(b"", 9)
        first, *steps, log = self.events()
        self.assertEqual(first.file_version, "brain.Event:2")
        self.assertEqual([e.step for e in steps], [0, 1])
        self.assertEqual([v.tag for v in steps[1].summary.value], ["net/loss", "f/net/f/a_b", "note"])
        self.assertEqual(steps[1].summary.value[0].simple_value, 1)
        self.assertEqual(steps[0].summary.value[2].metadata.plugin_data.plugin_name, "text")
        self.assertFalse(steps[1].summary.value[2].HasField("metadata"))  # once is enough
        self.assertEqual((log.step, log.session_log.status), (7, tf.SessionLog.START))

    def test_flush_and_a_full_queue_hand_events_on(self):
        writer = tf.summary.FileWriter(self.directory, max_queue=3)
        writer.add_event(tf.Event(step=1))
        writer.flush()
        self.assertEqual(len(self.events()), 2)
        for step in range(4):
            writer.add_event(tf.Event(step=step))
        self.assertEqual(len(self.events()), 6)

    def test_ops_write_in_every_second_step(self):
        summary = tf.contrib.summary
        with tf.Graph().as_default() as graph, tf.Session() as session:
            step = tf.train.create_global_step()
            writer = summary.create_file_writer(self.directory, max_queue=0)
            with writer.as_default(), summary.record_summaries_every_n_global_steps(2, step):
                with tf.name_scope("net"):
                    summary.scalar("loss", tf.to_float(step) + 0.5)
                written = summary.all_summary_ops()
                session.run(tf.global_variables_initializer())
                summary.initialize(graph, session)
            for _ in range(4):
                session.run(written)
                session.run(step.assign_add(1))
            session.run(writer.close())
        _, of_graph, *steps = self.events()
        self.assertEqual(of_graph.WhichOneof("what"), "graph_def")
        values = [(e.step, v.tag, v.simple_value) for e in steps for v in e.summary.value]
        self.assertEqual(values, [(0, "net/loss", 0.5), (2, "net/loss", 2.5)])

    def test_writers_of_one_session_share_a_file(self):
        with tf.Graph().as_default(), tf.Session() as session:
            for step in (1, 2):
                writer = tf.summary.FileWriter(self.directory, session=session)
                writer.add_event(tf.Event(step=step))
                writer.flush()
            writer.close()
        self.assertEqual([0, 1, 2], [e.step for e in self.events()])

    def test_the_first_event_makes_the_file_of_a_writer(self):
        for count in (1, 2):  # two writers of a directory have two files
            writer = tf.summary.FileWriter(self.directory)
            writer.flush()
            self.assertEqual(len(os.listdir(self.directory)), count - 1)
            writer.add_event(tf.Event(step=1))
            writer.close()
            writer.reopen()
            writer.close()
            self.assertEqual(len(os.listdir(self.directory)), count)
        tf.summary.FileWriter(self.directory, filename_suffix=".named")
        self.assertEqual(sum(name.endswith(".named") for name in os.listdir(self.directory)), 1)

    def test_a_directory_that_is_removed_before_the_first_event_is_made_again(self):
        directory = os.path.join(self.directory, "logs")
        writer = tf.summary.FileWriter(directory)
        os.rmdir(directory)
        writer.add_event(tf.Event(step=1))
        writer.close()
        self.assertEqual(len(os.listdir(directory)), 1)

    def test_a_child_of_fork_writes_no_event_of_its_parent(self):
        writer = tf.summary.FileWriter(self.directory)
        writer.add_event(tf.Event(step=1))  # it waits, and is not the child's to write
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                writer.flush()
                writer.add_event(tf.Event(step=2))
                writer.close()
            os._exit(0)
        os.waitpid(child, 0)
        writer.add_event(tf.Event(step=3))
        writer.close()
        self.assertEqual([e.step for e in self.events()], [0, 2, 1, 3])


class MnistTest(FilesTest):
    def write(self, name, shape):
        data = np.arange(np.prod(shape)) % (256 if len(shape) > 1 else 10)
        head = struct.pack(f">{len(shape) + 1}I", 0x800 + len(shape), *shape)
        with gzip.open(self.path(name), "wb") as f:
            f.write(head + data.astype(np.uint8).tobytes())

    def test_files_become_data_sets(self):
        for kind, count in (("train", 20), ("t10k", 10)):
            self.write(f"{kind}-images-idx3-ubyte.gz", (count, 2, 2))
            self.write(f"{kind}-labels-idx1-ubyte.gz", (count,))
        data = input_data.read_data_sets(self.directory, one_hot=True, validation_size=5)
        self.assertEqual((data.train.images.shape, data.train.labels.shape), ((15, 4), (15, 10)))
        self.assertEqual((data.validation.num_examples, data.test.num_examples), (5, 10))
        np.testing.assert_allclose(data.test.images[1], np.arange(4, 8) / 255)
        self.assertEqual(list(data.test.labels.argmax(1)), list(range(10)))
        seen = [data.train.next_batch(5)[0] for _ in range(3)]
        self.assertEqual(len(np.unique(np.concatenate(seen)[:, 0])), 15)  # each once
        self.assertEqual(data.train.epochs_completed, 0)
        self.assertEqual(len(data.train.next_batch(12)[0]), 12)
        self.assertEqual(data.train.epochs_completed, 1)

    def test_files_that_are_not_there_are_named(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("BRAID_MNIST_DIR", None)
            with self.assertRaisesRegex(FileNotFoundError, "train-images-idx3-ubyte.gz"):
                input_data.read_data_sets(self.directory)


if __name__ == "__main__":
    unittest.main()
