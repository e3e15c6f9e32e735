# Files of Braid in TensorFlow's hands, and the reverse. Run by `./dev peers`, which installs TensorFlow.
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework.types_pb2 import DataType
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

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


def braid_checkpoint(*arguments):
    """Returns what `braid checkpoint` prints, line by line."""
    done = subprocess.run(
        [f"{BIN}/braid", "checkpoint", *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def compile_program(name, directory):
    """Compiles a C program beside this file with the shared library; returns its path."""
    here, build = os.path.dirname(os.path.abspath(__file__)), os.path.dirname(os.path.abspath(BIN))
    program = f"{directory}/{name}"
    command = ["cc", "-I", f"{here}/../../include", "-I", f"{build}/generated/include"]
    command += [f"{here}/{name}.c", "-o", program, "-L", f"{build}/lib", "-lbraid"]
    subprocess.run([*command, f"-Wl,-rpath,{build}/lib"], check=True)
    return program


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


class Summaries(unittest.TestCase):
    """Each kind of event, read by TensorBoard's own reader."""

    def test_tensorboard_reads_each_kind(self):
        with tempfile.TemporaryDirectory() as directory:
            program = compile_program("summaries", directory)
            subprocess.run([program, f"{directory}/log"], check=True, timeout=60)
            events = EventAccumulator(f"{directory}/log").Reload()
        (loss,) = events.Scalars("model/loss")
        self.assertEqual((loss.step, loss.value), (7, 0.25))
        (weights,) = events.Histograms("model/weights")
        values = weights.histogram_value
        self.assertEqual((values.min, values.max, values.num, values.sum), (-1, 1, 8, 0.25))
        (image,) = events.Images("model/digit/image")
        self.assertEqual((image.width, image.height), (2, 2))
        pixels = tf1.Session().run(tf.io.decode_png(image.encoded_image_string))
        np.testing.assert_array_equal(pixels.ravel(), [0, 63, 127, 255])
        (sound,) = events.Audio("model/sound/audio")
        self.assertEqual((sound.content_type, sound.sample_rate, sound.length_frames), ("audio/wav", 8000, 8))
        wave = tf1.Session().run(tf.audio.decode_wav(sound.encoded_audio_string).audio).ravel()
        np.testing.assert_allclose(wave, [0, 0.5, -0.5, 1, -1, 0.25, 0, 0], atol=1e-4)
        (words,) = events.Tensors("model/words")
        self.assertEqual(words.tensor_proto.string_val, [b"some *words*"])
        self.assertEqual(events.SummaryMetadata("model/words").plugin_data.plugin_name, "text")
        self.assertIn("model/words", [node.name for node in events.Graph().node])
        devices = events.RunMetadata("step_7").step_stats.dev_stats
        nodes = " ".join(node.node_name for device in devices for node in device.node_stats)
        self.assertIn("MergeSummary", nodes)  # constants and what depends on them alone are folded


class PartitionedVariables(unittest.TestCase):
    """A table in parts with its momentum, saved by one side and restored by the other in other parts."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.directory = cls.temporary.name
        cls.program = compile_program("partitioned", cls.directory)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def braid(self, what, prefix, parts):
        """Returns the table and its momentum."""
        done = subprocess.run(
            [self.program, what, prefix, str(parts)], capture_output=True, text=True, timeout=60, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.array(done.stdout.split(), np.float32).reshape(2, 7, 2)

    def tensorflow(self, what, prefix, parts):
        """The same by TensorFlow's own partitioned variables."""
        partitioner = tf1.fixed_size_partitioner(parts) if parts else None
        with tf.Graph().as_default(), tf1.Session() as session:
            with tf1.variable_scope("emb"):
                table = tf1.get_variable(
                    "table", [7, 2], initializer=tf1.ones_initializer(), partitioner=partitioner
                )
            loss = tf.reduce_sum(tf.square(tf.convert_to_tensor(table) - np.arange(14.0).reshape(7, 2)))
            optimizer = tf1.train.MomentumOptimizer(0.1, 0.5)
            train = optimizer.minimize(loss)
            saver = tf1.train.Saver()
            if what == "save":
                session.run(tf1.global_variables_initializer())
                for _ in range(3):
                    session.run(train)
                saver.save(session, prefix)
            else:
                saver.restore(session, prefix)
            variables = list(table) if parts else [table]
            momentum = [session.run(optimizer.get_slot(v, "momentum")) for v in variables]
            return np.array([session.run(tf.convert_to_tensor(table)), np.concatenate(momentum)])

    def test_each_restores_what_the_other_saved_in_other_parts(self):
        sides = {"braid": self.braid, "tensorflow": self.tensorflow}
        for saver, restorer in [("braid", "tensorflow"), ("tensorflow", "braid"), ("braid", "braid")]:
            for parts, others in [(3, 2), (2, 0), (0, 3), (1, 4)]:
                with self.subTest(saver=saver, restorer=restorer, parts=parts, others=others):
                    prefix = f"{self.directory}/{saver}-{restorer}-{parts}-{others}"
                    saved = sides[saver]("save", prefix, parts)
                    np.testing.assert_array_equal(sides[restorer]("restore", prefix, others), saved)
                    self.assertNotEqual(saved[0].std(), 0)
                    reader = tf.train.load_checkpoint(prefix)
                    self.assertEqual(
                        sorted(reader.get_variable_to_shape_map()), ["emb/table", "emb/table/Momentum"]
                    )
                    np.testing.assert_array_equal(reader.get_tensor("emb/table"), saved[0])

    def expect_equal_readers(self, prefix):
        """TensorFlow's reader and `braid checkpoint` list the same tensors, with the same values."""
        reader = tf.train.load_checkpoint(prefix)
        types = reader.get_variable_to_dtype_map()
        expected = [
            (name, DataType.Name(types[name].as_datatype_enum)[3:].lower(), shape)
            for name, shape in tf.train.list_variables(prefix)
        ]
        listed = [line.split() for line in braid_checkpoint(prefix)[:-1]]
        self.assertEqual([(name, dtype, json.loads(shape)) for name, dtype, shape in listed], expected)
        for name, _, shape in expected:
            text = " ".join(braid_checkpoint("--elements", "0", prefix, name)[1:])
            values = np.array(text.translate(str.maketrans("[]", "  ")).split(), types[name].as_numpy_dtype)
            np.testing.assert_array_equal(values.reshape(shape), reader.get_tensor(name))

    def test_both_readers_list_and_read_the_same(self):
        for side, save in [("braid", self.braid), ("tensorflow", self.tensorflow)]:
            with self.subTest(saver=side):
                save("save", f"{self.directory}/read-{side}", 3)
                self.expect_equal_readers(f"{self.directory}/read-{side}")

    def test_both_readers_read_each_format(self):
        # TensorFlow's own reader refuses slices of the first format.
        for version, parts in [(tf1.train.SaverDef.V1, 1), (tf1.train.SaverDef.V2, 2)]:
            with self.subTest(version=version), tf.Graph().as_default(), tf1.Session() as session:
                partitioner = tf1.fixed_size_partitioner(parts) if parts > 1 else None
                tf1.get_variable("t", initializer=tf.range(10, dtype=tf.int64), partitioner=partitioner)
                tf1.get_variable("d/x", [2, 3, 2], tf.float64, tf1.random_normal_initializer(seed=1))
                tf1.get_variable("d/empty", [0, 3], tf.int32, tf1.zeros_initializer())
                tf1.get_variable("step", initializer=tf.constant(7, tf.int64))
                session.run(tf1.global_variables_initializer())
                prefix = f"{self.directory}/format-{version}"
                tf1.train.Saver(write_version=version).save(session, prefix)
                self.expect_equal_readers(prefix)

    def test_the_meta_graph_tells_which_parts_variables_are(self):
        prefix = f"{self.directory}/meta"
        saved = self.braid("save", prefix, 3)
        with tf.Graph().as_default(), tf1.Session() as session:
            tf1.train.import_meta_graph(prefix + ".meta").restore(session, prefix)
            parts = tf1.trainable_variables()
            self.assertEqual([v.op.name for v in parts], [f"emb/table/part_{i}" for i in range(3)])
            self.assertEqual([v._get_save_slice_info().spec for v in parts][1], "7 2 3,2:0,2")
            tf1.train.Saver().save(session, prefix + "-again")
        np.testing.assert_array_equal(self.braid("restore", prefix + "-again", 2), saved)


class SavedModels(unittest.TestCase):
    """Models that an estimator of Braid exports, in TensorFlow. They have been moved after the export, and
    the vocabulary files that they were made with are gone."""

    EXAMPLES = [
        (1.8, b"cook", b"Ulm"),
        (2.5, b"smith", b"Bonn"),
        (7.0, b"baker", b"Bonn"),
        (3.3, b"cook", b"Trier"),
    ]
    VOCABULARIES = {"jobs": "smith\ncook\n", "towns": "Trier\nUlm\n"}

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.directory = cls.temporary.name
        program = compile_program("estimators", cls.directory)
        origin = f"{cls.directory}/origin"
        for name, words in cls.VOCABULARIES.items():
            os.makedirs(f"{origin}/{name}")
            with open(f"{origin}/{name}/words.txt", "w", encoding="utf-8") as file:
                file.write(words)
        done = subprocess.run([program, origin], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        cls.probabilities = np.array(done.stdout.split(), np.float32)
        for kind in ["examples", "raw"]:
            os.rename(f"{origin}/{kind}", f"{cls.directory}/{kind}")
        shutil.rmtree(origin)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def path_of(self, kind):
        (path,) = glob.glob(f"{self.directory}/{kind}/*")
        return path

    def run_signature(self, kind, key, feeds):
        """Loads a model in a session and returns the outputs of a signature."""
        with tf.Graph().as_default(), tf1.Session() as session:
            meta = tf1.saved_model.loader.load(session, ["serve"], self.path_of(kind))
            signature = meta.signature_def[key]
            fed = {signature.inputs[name].name: value for name, value in feeds.items()}
            outputs = {name: info.name for name, info in signature.outputs.items()}
            return signature.method_name, session.run(outputs, fed)

    def serialized(self):
        return [
            tf.train.Example(
                features=tf.train.Features(
                    feature={
                        "age": tf.train.Feature(float_list=tf.train.FloatList(value=[age])),
                        "job": tf.train.Feature(bytes_list=tf.train.BytesList(value=[job])),
                        "town": tf.train.Feature(bytes_list=tf.train.BytesList(value=[town])),
                    }
                )
            ).SerializeToString()
            for age, job, town in self.EXAMPLES
        ]

    def test_vocabulary_files_are_assets(self):
        words = {}
        for path in glob.glob(f"{self.directory}/raw/*/assets/*"):
            with open(path, encoding="utf-8") as file:
                words[os.path.basename(path)] = file.read()
        self.assertEqual(
            words, {"words.txt": self.VOCABULARIES["jobs"], "words.txt_1": self.VOCABULARIES["towns"]}
        )

    def test_a_classification_takes_examples(self):
        for key in ["serving_default", "classification"]:
            method, outputs = self.run_signature("examples", key, {"inputs": self.serialized()})
            self.assertEqual(method, "tensorflow/serving/classify")
            np.testing.assert_allclose(outputs["scores"][:, 1], self.probabilities, rtol=1e-5)
            self.assertEqual(outputs["classes"].tolist(), [[b"0", b"1"]] * 4)

    def test_a_regression_takes_examples(self):
        method, outputs = self.run_signature("examples", "regression", {"inputs": self.serialized()})
        self.assertEqual(method, "tensorflow/serving/regress")
        np.testing.assert_allclose(outputs["outputs"][:, 0], self.probabilities, rtol=1e-5)

    def test_a_prediction_takes_examples_or_tensors(self):
        ages, jobs, towns = zip(*self.EXAMPLES)
        for kind, feeds in [
            ("examples", {"examples": self.serialized()}),
            ("raw", {"age": ages, "job": jobs, "town": towns}),
        ]:
            method, outputs = self.run_signature(kind, "predict", feeds)
            self.assertEqual(method, "tensorflow/serving/predict")
            np.testing.assert_allclose(outputs["logistic"][:, 0], self.probabilities, rtol=1e-5)
            self.assertEqual(outputs["class_ids"][:, 0].tolist(), [int(p > 0.5) for p in self.probabilities])

    @unittest.skipIf(tf.__version__.startswith("1."), "TensorFlow 1 has none")
    def test_the_functions_of_tensorflow_2_load_it(self):
        program = """
import sys, tensorflow as tf
model = tf.saved_model.load(sys.argv[1])
predict = model.signatures["predict"]
age = tf.constant([1.8, 2.5, 7.0, 3.3])
job = tf.constant(["cook", "smith", "baker", "cook"])
out = predict(age=age, job=job, town=tf.constant(["Ulm", "Bonn", "Bonn", "Trier"]))
print(*out["logistic"].numpy()[:, 0])
"""
        done = subprocess.run(
            [sys.executable, "-c", program, self.path_of("raw")],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        got = np.array(done.stdout.split(), np.float32)
        np.testing.assert_allclose(got, self.probabilities, rtol=1e-5)


class KilledTraining(unittest.TestCase):
    """A cluster with all roles trains an estimator, is killed, and goes on. Its exported model predicts in
    TensorFlow what it predicts in Braid's Python."""

    PREDICT = """
import sys, numpy as np, tensorflow.compat.v1 as tf
images = np.random.RandomState(1).rand(8, 784).astype(np.float32)
with tf.Graph().as_default(), tf.Session() as session:
    meta = tf.saved_model.loader.load(session, ["serve"], sys.argv[1])
    predict = meta.signature_def["predict"]
    fed = {predict.inputs["image"].name: images}
    probabilities = session.run(predict.outputs["probabilities"].name, fed)
print(*probabilities.ravel())
"""

    def command(self, directory, steps):
        command = [f"{BIN}/braid", "run", "--chief", "--workers", "2", "--ps", "1", "--evaluator"]
        return [*command, "estimator_mnist", f"--model_dir={directory}", f"--train_steps={steps}"]

    def kill_after_an_evaluation(self, directory):
        """Kills a training that would last for hours: the tasks die with `braid run`. Returns the step that
        was saved."""
        with subprocess.Popen(
            self.command(directory, 10**8), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        ) as running:
            for line in running.stderr:
                if re.search("Evaluation of .*model.ckpt-[1-9]", line):
                    break
            running.kill()
        return int(tf1.train.latest_checkpoint(directory).rpartition("-")[2])

    def predict(self, python, environment, model):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
            program.write(self.PREDICT)
            program.flush()
            done = subprocess.run(
                [*python, program.name, model],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                env=environment,
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        return np.array(done.stdout.split(), np.float32).reshape(8, 10)

    def test_it_is_resumed_and_exported(self):
        with tempfile.TemporaryDirectory() as directory:
            saved = self.kill_after_an_evaluation(directory)
            self.assertGreater(saved, 0)
            done = subprocess.run(
                self.command(directory, saved + 300), capture_output=True, text=True, timeout=120, check=False
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            restored = re.search(r"chief/0 .*Restored the checkpoint .*model.ckpt-(\d+)\n", done.stderr)
            self.assertGreaterEqual(int(restored.group(1)), saved)
            (model,) = glob.glob(f"{directory}/export/digits/*")
            kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
            own = {**kept, "PYTHONPATH": os.path.abspath(f"{BIN}/../python")}
            expected = self.predict(["/usr/bin/python3", "-m", "braid"], own, model)
            got = self.predict([sys.executable], kept, model)
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-5)


@unittest.skipUnless(hasattr(tf1, "estimator"), "TensorFlow from 2.16 on has no estimators")
class CannedCheckpoints(unittest.TestCase):
    """Training of canned estimators that one side begins and both continue: the same losses and variables."""

    KINDS = ["linear", "dnn", "combined"]
    STEPS = 3

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.directory = cls.temporary.name
        cls.program = compile_program("canned", cls.directory)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def braid(self, kind, optimizer, parts, directory):
        command = [self.program, kind, optimizer, str(parts), str(self.STEPS), directory]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def estimator_of_tensorflow(self, kind, optimizer, parts, directory):
        """The model of canned.c."""
        column = tf.feature_column
        age, number = column.numeric_column("age"), column.categorical_column_with_identity("id", 4)
        job = column.categorical_column_with_hash_bucket("job", 6)
        wide = [age, number, job]
        deep = [age, column.indicator_column(number), column.embedding_column(job, 2)]
        partitioner = tf1.fixed_size_partitioner(parts) if parts else None
        adam = (lambda: tf1.train.AdamOptimizer(0.01, epsilon=1e-3)) if optimizer == "adam" else None
        config = tf1.estimator.RunConfig(directory, save_summary_steps=1)
        if kind == "linear":
            own = {"optimizer": adam} if adam else {}
            return tf1.estimator.LinearClassifier(wide, config=config, partitioner=partitioner, **own)
        common = {"config": config, "input_layer_partitioner": partitioner}
        if kind == "dnn":
            own = {"optimizer": adam} if adam else {}
            return tf1.estimator.DNNClassifier(
                [3, 2], deep, activation_fn=tf.tanh, batch_norm=True, **common, **own
            )
        own = {"linear_optimizer": adam, "dnn_optimizer": adam} if adam else {}
        return tf1.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=wide,
            dnn_feature_columns=deep,
            dnn_hidden_units=[3, 2],
            dnn_activation_fn=tf.tanh,
            **common,
            **own,
        )

    def tensorflow(self, kind, optimizer, parts, directory):
        def batch():
            features = {
                "age": tf.constant([1.8, 2.5, 7.0, 3.3]),
                "id": tf.constant([0, 3, 1, 2], tf.int64),
                "job": tf.constant(["cook", "smith", "baker", "cook"]),
            }
            return features, tf.constant([0, 1, 1, 0], tf.int64)

        self.estimator_of_tensorflow(kind, optimizer, parts, directory).train(batch, steps=self.STEPS)

    def results(self, directory):
        """The losses of the steps that are continued, and variables by name."""
        events = EventAccumulator(directory).Reload().Scalars("loss")
        losses = {event.step: event.value for event in events if event.step > self.STEPS}
        reader = tf.train.load_checkpoint(directory)
        # Slots in parts are saved as parts of several tensors, which TensorFlow's reader does not read.
        names = reader.get_variable_to_shape_map()
        wholes = {name: re.sub("/(t|part)_[0-9]+/", "/", name) for name in names}
        counts = collections.Counter(wholes.values())
        values = {
            name: reader.get_tensor(name) if counts[whole] == 1 else None for name, whole in wholes.items()
        }
        return losses, values

    def train(self, side, kind, optimizer, parts, directory):
        {"braid": self.braid, "tensorflow": self.tensorflow}[side](kind, optimizer, parts, directory)

    def results_of_continuing(self, origin, side, kind, optimizer, parts):
        copy = f"{origin}-{side}"
        shutil.copytree(origin, copy)
        # the state of TensorFlow has relative paths, that of Braid absolute ones
        tf1.train.update_checkpoint_state(copy, f"{copy}/model.ckpt-{self.STEPS}")
        self.train(side, kind, optimizer, parts, copy)
        return self.results(copy)

    def expect_the_same_losses(self, losses, expected):
        self.assertEqual(sorted(expected), list(range(self.STEPS + 1, 2 * self.STEPS + 1)))
        self.assertEqual(sorted(losses), sorted(expected))
        for step, loss in expected.items():
            np.testing.assert_allclose(losses[step], loss, rtol=1e-5, err_msg=f"step {step}")

    def expect_the_same_training(self, beginning, kind, optimizer, parts):
        origin = f"{self.directory}/{beginning}-{kind}-{optimizer}-{parts}"
        self.train(beginning, kind, optimizer, parts, origin)
        losses, variables = self.results_of_continuing(origin, "braid", kind, optimizer, parts)
        expected_losses, expected = self.results_of_continuing(origin, "tensorflow", kind, optimizer, parts)
        self.expect_the_same_losses(losses, expected_losses)
        self.assertEqual(expected["global_step"], 2 * self.STEPS)
        self.assertEqual(sorted(variables), sorted(expected))
        for name, value in expected.items():
            if value is not None:
                np.testing.assert_allclose(variables[name], value, rtol=1e-4, atol=1e-6, err_msg=name)

    def test_each_continues_what_the_other_has_begun(self):
        for beginning in ["tensorflow", "braid"]:
            for kind in self.KINDS:
                for optimizer, parts in [("default", 0), ("adam", 0), ("default", 2)]:
                    with self.subTest(beginning=beginning, kind=kind, optimizer=optimizer, parts=parts):
                        self.expect_the_same_training(beginning, kind, optimizer, parts)

    def test_braid_continues_in_other_parts(self):
        for kind in self.KINDS:
            with self.subTest(kind=kind):
                origin = f"{self.directory}/other-parts-{kind}"
                self.train("tensorflow", kind, "default", 2, origin)
                losses, _ = self.results_of_continuing(origin, "braid", kind, "default", 3)
                expected, _ = self.results_of_continuing(origin, "tensorflow", kind, "default", 2)
                self.expect_the_same_losses(losses, expected)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main(verbosity=2)
