"""Files of tf.contrib: models exported by tf.contrib.session_bundle, lines of LIBSVM, and words of skip-grams."""

import pathlib
import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.contrib.session_bundle import bundle_shim, constants, exporter, gc
from braid.tensorflow.contrib.session_bundle import manifest_pb2, session_bundle


class FilesTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()  # as the loader does
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)


class SessionBundleTest(FilesTest):
    def export(self, steps, exports_to_keep=None, **arguments):
        """Exports y = 2 * x + the number of the words, at each of `steps`."""
        words = self.directory / "words.txt"
        words.write_text("one\ntwo\n")
        step = tf.train.create_global_step()
        scale = tf.get_variable("scale", initializer=2.0)
        path = tf.constant(str(words), name="path")
        count = tf.Variable(0.0, trainable=False, collections=[], name="count")
        lines = tf.size(tf.string_split([tf.read_file(path)], "\n").values)
        init_op = tf.assign(count, tf.cast(lines, tf.float32)).op
        x = tf.placeholder(tf.float32, name="x")
        with tf.device("/cpu:1"):
            y = tf.add(scale * x, count, name="y")
        export = exporter.Exporter(tf.train.Saver([step, scale]))
        with self.assertRaisesRegex(RuntimeError, "init must be called first"):
            export.export("none", step)
        export.init(
            init_op=init_op,
            clear_devices=True,
            assets_collection=[path],
            named_graph_signatures={
                "inputs": exporter.generic_signature({"x": x}),
                "outputs": exporter.generic_signature({"y": y}),
            },
            **arguments,
        )
        with self.assertRaisesRegex(RuntimeError, "only once"):
            export.init()
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(tf.global_variables_initializer())
            for number in steps:
                session.run(step.assign(number))
                made = export.export(f"{self.directory}/models/", step, session, exports_to_keep)
            with self.assertRaisesRegex(RuntimeError, "Duplicate export dir"):
                export.export(f"{self.directory}/models", step, session)
        words.unlink()
        return made.decode()

    def check(self, session):
        """The model in another graph, without its variables' initial values and with its own file."""
        y = session.graph.get_tensor_by_name("y:0")
        self.assertEqual((y.op.device, session.run(y, {"x:0": 10})), ("", 22))

    def test_a_model_is_loaded_with_its_files(self):
        made = self.export([7])
        self.assertEqual(made, f"{self.directory}/models/00000007")
        self.assertTrue(session_bundle.maybe_session_bundle_dir(made))
        session, meta_graph = session_bundle.load_session_bundle_from_path(made)
        with session:
            self.check(session)
        signatures = manifest_pb2.Signatures()
        meta_graph.collection_def[constants.SIGNATURES_KEY].any_list.value[0].Unpack(signatures)
        outputs = signatures.named_signatures["outputs"].generic_signature.map
        self.assertEqual({name: b.tensor_name for name, b in outputs.items()}, {"y": "y:0"})

    def test_signatures_become_those_of_a_saved_model(self):
        made = self.export([1])
        session, meta_graph = bundle_shim.load_session_bundle_or_saved_model_bundle_from_path(made)
        with session:
            self.check(session)
        signature = meta_graph.signature_def["serving_default"]
        self.assertEqual(signature.method_name, "tensorflow/serving/predict")
        self.assertEqual((signature.inputs["x"].name, signature.outputs["y"].name), ("x:0", "y:0"))

    def test_a_default_signature_stands_beside_the_named_ones(self):
        made = self.export(
            [1], default_graph_signature=exporter.regression_signature(*[tf.constant(1.0)] * 2)
        )
        session, meta_graph = bundle_shim.load_session_bundle_or_saved_model_bundle_from_path(made)
        session.close()
        methods = {key: s.method_name.split("/")[-1] for key, s in meta_graph.signature_def.items()}
        self.assertEqual(methods, {"serving_default": "regress", "serving_default_from_named": "predict"})

    def test_old_versions_are_deleted(self):
        self.export([1, 2, 3, 10], gc.union(gc.largest_export_versions(2), gc.mod_export_version(2)))
        names = sorted(p.name for p in (self.directory / "models").iterdir())
        self.assertEqual(names, ["00000002", "00000003", "00000010"])

    def test_what_is_no_model_is_refused(self):
        with self.assertRaisesRegex(RuntimeError, "meta graph file missing"):
            session_bundle.load_session_bundle_from_path(str(self.directory))
        with self.assertRaisesRegex(RuntimeError, "not found at specified export location"):
            bundle_shim.load_session_bundle_or_saved_model_bundle_from_path(str(self.directory))


class LibsvmTest(FilesTest):
    def test_a_linear_model_learns_from_lines(self):
        """y = x[0] - 2 * x[3], from sparse features."""
        rng = np.random.RandomState(0)
        with open(self.directory / "lines", "w") as out:
            for _ in range(64):
                x = rng.rand(2)
                print(x[0] - 2 * x[1], f"0:{x[0]}", f"3:{x[1]}", file=out)
        lines = tf.data.TextLineDataset(str(self.directory / "lines")).repeat().batch(16)
        content = lines.make_one_shot_iterator().get_next()
        features, labels = tf.contrib.libsvm.decode_libsvm(content, 4, label_dtype=tf.float32)
        weights = tf.get_variable("weights", [4, 1], initializer=tf.zeros_initializer())
        outputs = tf.sparse.matmul(features, weights)[:, 0]
        loss = tf.reduce_mean(tf.square(outputs - labels))
        train_op = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(200):
                session.run(train_op)
            np.testing.assert_allclose(session.run(weights)[:, 0], [1, 0, 0, -2], atol=1e-2)


class SkipGramTest(FilesTest):
    def vocabulary(self):
        path = self.directory / "words.csv"
        path.write_text("the,50\nquick,1\nbrown,4\nfox,5\n")
        return str(path)

    def test_pairs_are_those_of_a_seed(self):
        """The pairs of TensorFlow 1.15."""
        words = tf.constant("the quick brown fox jumps".split())
        pairs = tf.contrib.text.skip_gram_sample(words, 1, 2, seed=7)
        with tf.Session() as session:
            tokens, labels = session.run(pairs)
        self.assertEqual(
            b" ".join(tokens).decode(), "the the quick quick quick brown brown brown brown fox fox jumps"
        )
        self.assertEqual(
            b" ".join(labels).decode(), "quick brown the brown fox the quick fox jumps brown jumps fox"
        )

    def test_rare_and_unknown_words_are_left_out(self):
        words = tf.constant("the quick brown unknown fox".split())
        pairs = tf.contrib.text.skip_gram_sample_with_text_vocab(
            words, self.vocabulary(), vocab_min_count=4, min_skips=1, max_skips=1
        )
        with tf.Session() as session:
            session.run(tf.tables_initializer())
            tokens, labels = session.run(pairs)
        self.assertEqual(tokens.tolist(), [b"the", b"brown", b"brown", b"fox"])
        self.assertEqual(labels.tolist(), [b"brown", b"the", b"fox", b"brown"])

    def test_frequent_words_are_left_out_at_random(self):
        words = tf.constant(["the", "fox"] * 2000)
        tokens, _ = tf.contrib.text.skip_gram_sample_with_text_vocab(
            words,
            self.vocabulary(),
            vocab_subsampling=0.05,
            min_skips=0,
            max_skips=0,
            emit_self_as_target=True,
            seed=1,
        )
        with tf.Session() as session:
            session.run(tf.tables_initializer())
            kept = session.run(tokens).tolist()
        share = 50 / (0.05 * 60)
        self.assertEqual(kept.count(b"fox"), 2000)
        self.assertAlmostEqual(kept.count(b"the") / 2000, (share**0.5 + 1) / share, delta=0.04)

    def test_what_does_not_fit_is_refused(self):
        text, words = tf.contrib.text, tf.constant(["the"])
        with self.assertRaisesRegex(ValueError, "vocab_freq_table is not provided"):
            text.skip_gram_sample(words, vocab_min_count=2)
        with self.assertRaisesRegex(ValueError, "should be different"):
            text.skip_gram_sample_with_text_vocab(words, self.vocabulary(), vocab_freq_index=0)
        with self.assertRaisesRegex(ValueError, "only has 2 columns"):
            text.skip_gram_sample_with_text_vocab(words, self.vocabulary(), vocab_freq_index=2)
        with self.assertRaisesRegex(ValueError, "must be greater than or equal to the sum"):
            text.skip_gram_sample_with_text_vocab(words, self.vocabulary(), corpus_size=59)


if __name__ == "__main__":
    unittest.main()
