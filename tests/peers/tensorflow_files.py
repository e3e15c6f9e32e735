# Files of Braid in TensorFlow's hands, and the reverse. Run by `./dev peers`, which installs TensorFlow.
import glob
import os
import subprocess
import sys
import tempfile
import unittest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf
from google.protobuf import text_format

tf1 = tf.compat.v1
tf1.disable_eager_execution()
BIN = None  # the directory of braid and mnist_replica
SHAPES = {"global_step": [], "hid_w": [784, 100], "hid_b": [100], "sm_w": [100, 10], "sm_b": [10]}


def train(directory, steps, *options):
    """Trains on a cluster of two parameter servers; returns what the run wrote."""
    command = [
        f"{BIN}/braid",
        "run",
        "--ps",
        "2",
        "--workers",
        "2",
        "mnist_replica",
        f"--train_steps={steps}",
    ]
    command += [f"--log_dir={directory}", *options]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


class FilesOfBraid(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.directory = cls.temporary.name
        train(cls.directory, 150)
        cls.latest = tf.train.latest_checkpoint(cls.directory)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_tensorflow_reads_the_checkpoint(self):
        reader = tf.train.load_checkpoint(self.latest)
        shapes = reader.get_variable_to_shape_map()
        for name, shape in SHAPES.items():
            self.assertEqual(shapes[name], shape)
            self.assertIn(f"{name}/Adam" if name != "global_step" else "beta1_power", shapes)
        self.assertGreaterEqual(reader.get_tensor("global_step"), 150)
        self.assertEqual(self.latest, f"{self.directory}/model.ckpt-{reader.get_tensor('global_step')}")

    def test_tensorflow_lists_the_checkpoints(self):
        state = tf.train.get_checkpoint_state(self.directory)
        self.assertEqual(state.model_checkpoint_path, self.latest)
        self.assertIn(self.latest, state.all_model_checkpoint_paths)

    def test_tensorflow_restores_by_the_meta_graph_and_saves_again(self):
        expected = tf.train.load_checkpoint(self.latest).get_tensor("hid_w")
        with tf.Graph().as_default(), tempfile.TemporaryDirectory() as directory:
            saver = tf1.train.import_meta_graph(self.latest + ".meta", clear_devices=True)
            self.assertEqual(
                [v.op.name for v in tf1.trainable_variables()], ["hid_w", "hid_b", "sm_w", "sm_b"]
            )
            self.assertEqual(tf1.train.get_global_step().name, "global_step:0")
            with tf1.Session() as session:
                saver.restore(session, self.latest)
                np.testing.assert_array_equal(session.run("hid_w:0"), expected)
                session.run(tf1.assign(tf1.train.get_global_step(), 400))
                saver.save(session, f"{directory}/model.ckpt", global_step=400)
            text = train(directory, 500)
            self.assertIn(f"Restored the checkpoint {directory}/model.ckpt-400", text)
            self.assertGreaterEqual(tf.train.load_checkpoint(directory).get_tensor("global_step"), 500)

    def test_tensorflow_reads_the_graph(self):
        with open(f"{self.directory}/graph.pbtxt", encoding="utf-8") as file:
            graph = tf1.GraphDef()
            text_format.Parse(file.read(), graph)
        self.assertIn("save/restore_all", [node.name for node in graph.node])

    def test_tensorboard_reads_the_events(self):
        tags, kinds, statuses = set(), [], []
        for path in glob.glob(f"{self.directory}/events.out.tfevents.*"):
            for event in tf1.train.summary_iterator(path):
                kinds.append(event.WhichOneof("what"))
                tags.update(value.tag for value in event.summary.value)
                if kinds[-1] == "session_log":
                    statuses.append(event.session_log.status)
        self.assertEqual(kinds[:2], ["file_version", "graph_def"])
        self.assertEqual(tags, {"loss", "global_step/sec"})
        self.assertEqual(statuses[0], tf1.SessionLog.START)
        self.assertEqual(statuses[-1], tf1.SessionLog.STOP)
        self.assertIn(tf1.SessionLog.CHECKPOINT, statuses)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
