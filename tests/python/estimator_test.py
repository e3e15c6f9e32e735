# Estimators train, evaluate, predict and export; names and values are those of TensorFlow 1.15
# (tensorflow_estimator).
# timeout: 180
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401, before the others: where the package is
import numpy as np
from free_ports import free_ports

import braid.tensorflow as tf

fc = tf.feature_column
X = {"x": np.random.RandomState(0).randn(64, 2).astype("f"), "c": np.array(list("abca") * 16)}
Y = (np.arange(64) % 3).astype("int64")


def inputs(labels=Y, epochs=1):
    return tf.estimator.inputs.numpy_input_fn(X, labels, batch_size=16, shuffle=False, num_epochs=epochs)


def columns():
    x = fc.numeric_column("x", shape=(2,))
    c = fc.categorical_column_with_vocabulary_list("c", ["a", "b", "c"])
    return x, c, fc.bucketized_column(x, [0.0, 1.0])


class Canned(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def test_a_linear_classifier_gives_the_values_of_tensorflow(self):
        x, c, buckets = columns()
        e = tf.estimator.LinearClassifier([x, c, buckets], n_classes=3, model_dir=self.directory)
        e.train(inputs(epochs=None), steps=3)
        metrics = e.evaluate(inputs())
        self.assertEqual(3, metrics["global_step"])
        self.assertAlmostEqual(0.4375, metrics["accuracy"], 6)
        self.assertAlmostEqual(1.0717924, metrics["average_loss"], 5)
        self.assertAlmostEqual(17.148678, metrics["loss"], 4)
        first = next(e.predict(inputs(None)))
        np.testing.assert_allclose([0.80437595, -0.503241, 0.12546729], first["logits"], atol=1e-5)
        self.assertEqual([b"0"], first["classes"].tolist())

    def test_a_baseline_learns_the_mean(self):
        e = tf.estimator.BaselineRegressor(model_dir=self.directory)
        e.train(inputs(X["x"].sum(1), None), steps=3)
        self.assertAlmostEqual(0.08550436, next(e.predict(inputs(None)))["predictions"][0], 5)

    def test_names_of_variables_are_those_in_tensorflows_checkpoints(self):
        x, c, _ = columns()
        deep = [x, fc.embedding_column(c, 4)]
        e = tf.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=[c],
            dnn_feature_columns=deep,
            dnn_hidden_units=[5],
            n_classes=3,
            model_dir=self.directory,
        )
        e.train(inputs(epochs=None), steps=1)
        names = {n for n, _ in tf.train.list_variables(self.directory)}
        self.assertLessEqual(
            {
                "dnn/hiddenlayer_0/kernel",
                "dnn/input_from_feature_columns/input_layer/c_embedding/embedding_weights",
                "dnn/logits/bias",
                "global_step",
                "linear/linear_model/bias_weights",
                "linear/linear_model/c/weights",
            },
            names,
        )
        self.assertEqual((6, 5), e.get_variable_value("dnn/hiddenlayer_0/kernel").shape)

    def test_an_export_serves_examples(self):
        x, c, _ = columns()
        e = tf.estimator.LinearClassifier([x, c], n_classes=3, model_dir=self.directory)
        e.train(inputs(epochs=None), steps=1)
        receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
            fc.make_parse_example_spec([x, c])
        )
        path = e.export_saved_model(os.path.join(self.directory, "export"), receiver)
        with tf.Graph().as_default(), tf.Session() as session:
            meta = tf.saved_model.loader.load(session, ["serve"], path.decode())
            self.assertEqual({"serving_default", "classification", "predict"}, set(meta.signature_def))
            signature = meta.signature_def["predict"]
            example = tf.train.Example()
            example.features.feature["x"].float_list.value.extend([1.0, -1.0])
            example.features.feature["c"].bytes_list.value.append(b"b")
            scores = session.run(
                signature.outputs["probabilities"].name,
                {signature.inputs["examples"].name: [example.SerializeToString()]},
            )
        self.assertAlmostEqual(1.0, scores.sum(), 5)


def model(features, labels, mode, params):
    logits = tf.layers.dense(features["x"], 2, name="logits")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"p": tf.nn.softmax(logits)})
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    metrics = {"acc": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}
    step = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step, eval_metric_ops=metrics)


class Heads(unittest.TestCase):
    """tf.estimator's heads, whose metrics and optimizers are Keras'."""

    def test_a_head_trains_and_evaluates_by_keras(self):
        def model_fn(features, labels, mode):
            head = tf.estimator.MultiHead(
                [
                    tf.estimator.BinaryClassHead(name="odd", thresholds=[0.25]),
                    tf.estimator.RegressionHead(name="sum"),
                ],
                head_weights=[1.0, 0.5],
            )
            dense = tf.keras.layers.Dense(head.logits_dimension, kernel_initializer="zeros")
            logits = dense(features["x"])
            optimizer = tf.keras.optimizers.SGD(0.1)
            optimizer.iterations = tf.train.get_global_step()
            return head.create_estimator_spec(
                features=features,
                mode=mode,
                logits=logits,
                labels=labels,
                optimizer=optimizer,
                trainable_variables=dense.trainable_variables,
            )

        def batch():
            labels = {"odd": [[1], [0]], "sum": [[2.0], [4.0]]}
            return tf.data.Dataset.from_tensors(({"x": [[1.0], [0.0]]}, labels))

        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        e = tf.estimator.Estimator(model_fn, directory)
        metrics = e.evaluate(batch)
        self.assertAlmostEqual(np.log(2) + 0.5 * 10, metrics["loss"], 5)
        self.assertEqual(0.5, metrics["accuracy/positive_threshold_0.25/odd"])
        self.assertAlmostEqual(3.0, metrics["label/mean/sum"], 6)
        e.train(lambda: batch().repeat(3))
        self.assertLess(e.evaluate(batch)["loss"], metrics["loss"])

    def test_the_mean_of_a_metric_counts_no_step_without_input(self):
        def model_fn(features, labels, mode):
            mean = tf.keras.metrics.Mean()
            mean.update_state(features)
            return tf.estimator.EstimatorSpec(mode, loss=tf.constant(1.0), eval_metric_ops={"mean": mean})

        e = tf.estimator.Estimator(model_fn, tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, e.model_dir, ignore_errors=True)
        self.assertEqual(4.5, e.evaluate(lambda: tf.data.Dataset.range(10))["mean"])

    def test_an_optimizer_of_tf_train_is_refused(self):
        with tf.Graph().as_default(), self.assertRaisesRegex(ValueError, "not a tf.keras.optimizers"):
            tf.estimator.RegressionHead().create_estimator_spec(
                {}, "train", [[1.0]], labels=[[1.0]], optimizer=tf.train.AdamOptimizer()
            )


class Sequences(unittest.TestCase):
    def test_a_recurrent_network_takes_columns_of_sequences(self):
        column = tf.contrib.feature_column.sequence_categorical_column_with_identity("t", 3)
        tokens = tf.SparseTensorValue([[0, 0], [0, 1], [1, 0]], [0, 2, 1], [2, 2])
        e = tf.contrib.estimator.RNNClassifier(
            [fc.embedding_column(column, 2)],
            num_units=[4, 3],
            cell_type="gru",
            model_dir=tempfile.mkdtemp(),
            config=tf.estimator.RunConfig(tf_random_seed=1),
        )
        self.addCleanup(shutil.rmtree, e.model_dir, ignore_errors=True)

        def batch():
            return tf.data.Dataset.from_tensors(({"t": tokens}, [[1], [0]])).repeat(20)

        e.train(batch, steps=1)
        before = e.evaluate(batch, steps=1)["loss"]
        e.train(batch)
        self.assertLess(e.evaluate(batch, steps=1)["loss"], before)
        names = e.get_variable_names()
        layer = "rnn/sequence_input_layer/sequence_input_layer"
        self.assertIn(f"{layer}/t_embedding/embedding_weights", names)
        self.assertIn("rnn/rnn/multi_rnn_cell/cell_1/gru_cell/gates/kernel", names)
        self.assertIn("rnn/logits/dense/kernel", names)


class SavedModels(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

        def model_fn(features, labels, mode):
            w = tf.get_variable("w", initializer=2.0)
            predictions = features["x"] * w
            if mode == "infer":
                return tf.estimator.EstimatorSpec(mode, predictions=predictions)
            loss = tf.reduce_mean((predictions - labels["y"]) ** 2)
            step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
            error = tf.metrics.mean_absolute_error(labels["y"], predictions)
            return tf.estimator.EstimatorSpec(mode, predictions, loss, step, {"error": error})

        def receiver():
            x, y = tf.placeholder(tf.float32, [None], "x"), tf.placeholder(tf.float32, [None], "y")
            return tf.contrib.estimator.build_raw_supervised_input_receiver_fn({"x": x}, {"y": y})()

        def serving():
            x = tf.placeholder(tf.float32, [None], "x")
            return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})

        e = tf.estimator.Estimator(model_fn, os.path.join(self.directory, "model"))
        e.train(self.batch, steps=1)
        self.exported = e.experimental_export_all_saved_models(
            os.path.join(self.directory, "export"), {"train": receiver, "eval": receiver, "infer": serving}
        )
        self.w = e.get_variable_value("w")

    @staticmethod
    def batch():
        return tf.data.Dataset.from_tensors(({"x": [1.0, 2.0]}, {"y": [3.0, 6.0]})).repeat(2)

    def test_an_estimator_goes_on_from_an_exported_one(self):
        self.assertAlmostEqual(2.5, self.w, 6)
        e = tf.estimator.experimental.SavedModelEstimator(self.exported, os.path.join(self.directory, "new"))
        metrics = e.evaluate(self.batch)
        self.assertAlmostEqual(0.75, metrics["metrics/error"], 6)
        self.assertEqual(1, metrics["global_step"])
        e.train(self.batch, steps=1)
        self.assertAlmostEqual(2.75, e.get_variable_value("w"), 6)
        self.assertEqual(2, e.get_variable_value("global_step"))
        with self.assertRaisesRegex(ValueError, "Key"):
            e.evaluate(lambda: tf.data.Dataset.from_tensors(({"other": [1.0]}, {"y": [1.0]})))

    def test_a_predictor_is_a_function_of_arrays(self):
        predict = tf.contrib.predictor.from_saved_model(self.exported)
        np.testing.assert_allclose([2.5, 7.5], predict({"x": [1.0, 3.0]})["output"], rtol=1e-6)
        with self.assertRaisesRegex(ValueError, "unexpected keys"):
            predict({"z": [1.0]})


class Own(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.labels = (X["x"].sum(1) > 0).astype("int64")

    def estimator(self, **kwargs):
        config = tf.estimator.RunConfig(save_checkpoints_steps=10, **kwargs.pop("config", {}))
        return tf.estimator.Estimator(
            model, params={"rate": 0.5}, model_dir=self.directory, config=config, **kwargs
        )

    def test_steps_go_on_from_the_checkpoint(self):
        e = self.estimator()
        e.train(inputs(self.labels, None), steps=5)
        e.train(inputs(self.labels, None), max_steps=8)
        self.assertEqual(8, e.evaluate(inputs(self.labels))["global_step"])
        kernel = e.get_variable_value("logits/kernel")
        e.train(inputs(self.labels, None), max_steps=8)  # nothing is left to do
        np.testing.assert_array_equal(kernel, e.get_variable_value("logits/kernel"))

    def test_a_dataset_is_an_input_and_predictions_come_one_by_one(self):
        e = self.estimator()
        e.train(lambda: tf.data.Dataset.from_tensor_slices((X, self.labels)).repeat().batch(32), steps=30)
        self.assertGreater(
            e.evaluate(lambda: tf.data.Dataset.from_tensor_slices((X, self.labels)).batch(20))["acc"], 0.9
        )
        predicted = list(e.predict(lambda: tf.data.Dataset.from_tensor_slices(X).batch(10)))
        self.assertEqual(64, len(predicted))

    def test_a_warm_start_takes_the_values_over(self):
        self.estimator().train(inputs(self.labels, None), steps=5)
        kernel = self.estimator().get_variable_value("logits/kernel")
        other = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        e = tf.estimator.Estimator(
            model, params={"rate": 0.0}, model_dir=other, warm_start_from=self.directory
        )
        e.train(inputs(self.labels, None), steps=1)
        np.testing.assert_array_equal(kernel, e.get_variable_value("logits/kernel"))

    def test_training_and_evaluation_take_turns(self):
        seen = []

        class Seen(tf.estimator.Exporter):
            name = "seen"

            def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
                seen.append((int(eval_result["global_step"]), is_the_final_export))

        spec = tf.estimator.EvalSpec(inputs(self.labels), steps=None, throttle_secs=0, exporters=Seen())
        train = tf.estimator.TrainSpec(inputs(self.labels, None), max_steps=25)
        metrics, _ = tf.estimator.train_and_evaluate(self.estimator(), train, spec)
        self.assertEqual([(10, False), (20, False), (25, True)], seen)
        self.assertEqual(25, metrics["global_step"])

    def test_wrong_model_functions_are_refused(self):
        with self.assertRaisesRegex(ValueError, "not expected args"):
            tf.estimator.Estimator(lambda features, labels, mode, extra: None)
        with self.assertRaisesRegex(ValueError, "does not include params"):
            tf.estimator.Estimator(lambda features, labels, mode: None, params={})
        e = tf.estimator.Estimator(lambda features, labels, mode: 5, model_dir=self.directory)
        with self.assertRaisesRegex(ValueError, "EstimatorSpec"):
            e.train(inputs(), steps=1)
        with self.assertRaisesRegex(ValueError, "Missing loss"):
            tf.estimator.EstimatorSpec("train", train_op=tf.no_op())


class Configuration(unittest.TestCase):
    def config(self, **tf_config):
        with mock.patch.dict(os.environ, {"TF_CONFIG": json.dumps(tf_config)}):
            return tf.estimator.RunConfig()

    cluster = {"chief": ["c:1"], "worker": ["w0:1", "w1:1"], "ps": ["p:1"]}

    def test_tasks_of_a_cluster(self):
        chief = self.config(cluster=self.cluster, task={"type": "chief", "index": 0})
        self.assertTrue(chief.is_chief)
        self.assertEqual(
            ("grpc://c:1", 1, 3), (chief.master, chief.num_ps_replicas, chief.num_worker_replicas)
        )
        worker = self.config(cluster=self.cluster, task={"type": "worker", "index": 1})
        self.assertEqual((False, 2), (worker.is_chief, worker.global_id_in_cluster))
        self.assertEqual(["/job:ps", "/job:worker/task:1"], list(worker.session_config.device_filters))
        evaluator = self.config(cluster=self.cluster, task={"type": "evaluator", "index": 0})
        self.assertEqual(("", 0), (evaluator.master, evaluator.num_ps_replicas))

    def test_wrong_clusters_are_refused(self):
        for tf_config in (
            {"cluster": {"worker": ["w:1"]}, "task": {"type": "worker", "index": 0}},
            {"cluster": self.cluster, "task": {"type": "worker", "index": 2}},
            {"cluster": self.cluster},
            {"task": {"type": "ps", "index": 0}},
        ):
            with self.assertRaises(ValueError):
                self.config(**tf_config)

    def test_strategies_come_by_either_argument(self):
        strategy = tf.contrib.distribute.CollectiveAllReduceStrategy()
        both = tf.contrib.distribute.DistributeConfig(strategy, tf.distribute.MirroredStrategy(["/cpu:0"]))
        config = tf.estimator.RunConfig(experimental_distribute=both)
        self.assertEqual((config.train_distribute, config.eval_distribute), both[:2])
        with self.assertRaisesRegex(ValueError, "Either `train_distribute` or"):
            tf.estimator.RunConfig(train_distribute=strategy, experimental_distribute=both)

    def test_settings_are_checked(self):
        with self.assertRaisesRegex(ValueError, "cannot be both set"):
            tf.estimator.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1)
        with self.assertRaisesRegex(ValueError, "not supported"):
            tf.estimator.RunConfig().replace(master="x")
        self.assertIsNone(tf.estimator.RunConfig(save_checkpoints_steps=5).save_checkpoints_secs)


class Contrib(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def test_hyperparameters_keep_their_types(self):
        h = tf.contrib.training.HParams(rate=0.5, layers=[1, 2], name="x", on=True)
        h.parse("rate=1,layers=[3,4],name=y,on=false")
        self.assertEqual({"rate": 1.0, "layers": [3, 4], "name": "y", "on": False}, h.values())
        h.parse("layers[1]=7")
        self.assertEqual([3, 7], h.layers)
        for wrong in ("rate=a", "unknown=1", "layers=5", "rate"):
            with self.assertRaises(ValueError):
                h.parse(wrong)

    def test_an_experiment_runs_the_work_of_a_lone_task(self):
        from braid.tensorflow.contrib import learn

        def experiment(config, hparams):
            e = tf.estimator.LinearClassifier(
                [columns()[0]], n_classes=3, config=config, optimizer=hparams.optimizer
            )
            return learn.Experiment(e, inputs(epochs=None), inputs(), train_steps=5, eval_steps=None)

        hparams = tf.contrib.training.HParams(optimizer="SGD")
        config = learn.RunConfig(model_dir=self.directory)
        metrics, _ = learn.learn_runner.run(experiment, run_config=config, hparams=hparams)
        self.assertEqual(5, metrics["global_step"])

    def test_an_experiment_evaluates_as_often_as_it_is_told(self):
        from braid.tensorflow.contrib import learn

        def experiment(name, **more):
            config = learn.RunConfig(
                model_dir=os.path.join(self.directory, name),
                save_checkpoints_steps=2,
                save_checkpoints_secs=None,
            )
            estimator = tf.estimator.LinearClassifier([columns()[0]], n_classes=3, config=config)
            evaluate, steps = estimator.evaluate, []

            def noted(**given):
                found = evaluate(**given)
                steps.append(found["global_step"])
                return found

            estimator.evaluate = noted
            done = learn.Experiment(
                estimator, inputs(epochs=None), inputs(), train_steps=6, eval_steps=1, eval_delay_secs=0,
                continuous_eval_throttle_secs=0, check_interval_secs=None, **more,
            )  # fmt: skip
            return done, steps

        often, steps = experiment("often")
        often.train_and_evaluate()
        self.assertEqual((steps[-1], len(set(steps))), (6, len(steps) - (steps[-2] == 6)))
        self.assertGreater(len(steps), 2)
        rarely, steps = experiment("rarely", min_eval_frequency=0)
        rarely.train_and_evaluate()
        self.assertEqual(steps, [6])
        turns, steps = experiment("turns", train_steps_per_iteration=3)
        turns.continuous_train_and_eval()
        self.assertEqual(steps, [3, 6])
        turns, steps = experiment("ended", train_steps_per_iteration=2)
        metrics, _ = turns.continuous_train_and_eval(lambda found: found is None)
        self.assertEqual((steps, metrics["global_step"]), ([2], 2))
        asked = []
        turns.continuous_eval(
            continuous_eval_predicate_fn=lambda found, checkpoint_path: not asked.append(checkpoint_path)
            and len(asked) < 3,
            evaluate_checkpoint_only_once=False,
        )
        self.assertEqual((steps, asked[0]), ([2, 2, 2], None))
        with self.assertRaisesRegex(ValueError, "must be a callable"):
            turns.continuous_eval_on_train_data(continuous_eval_predicate_fn=3)
        with self.assertRaisesRegex(ValueError, "must be an integer"):
            experiment("wrong", train_steps_per_iteration=2.5)

    def test_an_experiment_exports_each_checkpoint_with_signatures_of_the_heads(self):
        from braid.tensorflow.contrib import learn
        from braid.tensorflow.contrib.learn.python.learn.estimators import constants

        examples = os.path.join(self.directory, "examples")
        with tf.python_io.TFRecordWriter(examples) as writer:
            for i in range(10):
                example = tf.train.Example()
                example.features.feature["x"].float_list.value.extend([i, 2 * i])
                example.features.feature["y"].int64_list.value.append(i % 2)
                writer.write(example.SerializeToString())
        x = {"x": tf.FixedLenFeature([2], tf.float32)}

        def inputs(epochs=None):
            spec = dict(x, y=tf.FixedLenFeature([], tf.int64))
            features = learn.read_batch_record_features(
                examples, 4, spec, randomize_input=False, num_epochs=epochs
            )
            return features, features.pop("y")

        def model(features, labels, mode):
            logits = tf.matmul(features["x"], tf.get_variable("w", [2, 2]))
            loss = train = None
            if mode != learn.ModeKeys.INFER:
                loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
                step = tf.train.get_global_step()
                train = tf.train.GradientDescentOptimizer(0.001).minimize(loss, step)
            heads = {
                "h1": (constants.ProblemType.CLASSIFICATION, {"scores": tf.nn.softmax(logits)}),
                "h2": (constants.ProblemType.LINEAR_REGRESSION, {"scores": logits[:, 0]}),
            }
            return learn.ModelFnOps(mode, heads["h1"][1], loss, train, output_alternatives=heads)

        calls = []

        def export(estimator, path, checkpoint_path=None, eval_result=None):
            calls.append((os.path.basename(path), os.path.basename(checkpoint_path), sorted(eval_result)))
            return "made"

        def experiment(run_config, hparams):
            servo = learn.make_export_strategy(
                learn.build_parsing_serving_input_fn(x), default_output_alternative_key="h1"
            )
            return learn.Experiment(
                learn.Estimator(model, config=run_config), inputs, lambda: inputs(1), train_steps=20,
                eval_steps=None, checkpoint_and_export=True,
                export_strategies=[servo, learn.ExportStrategy("mine", export)],
            )  # fmt: skip

        config = learn.RunConfig(
            model_dir=self.directory, save_checkpoints_steps=10, save_checkpoints_secs=None
        )
        metrics, (path, made) = learn.learn_runner.run(experiment, run_config=config)
        self.assertEqual((20, "made"), (metrics["global_step"], made))
        self.assertEqual(
            [(b"mine", f"model.ckpt-{step}", ["global_step", "loss"]) for step in (0, 10, 20)], calls
        )
        with tf.Session(graph=tf.Graph()) as session:
            signatures = tf.saved_model.loader.load(session, ["serve"], path.decode()).signature_def
        heads = {name: s.method_name.rpartition("/")[2] for name, s in signatures.items()}
        self.assertEqual("classify", heads.pop("serving_default"))
        prefix = "default_input_alternative:"
        self.assertEqual({prefix + "h1": "classify", prefix + "h2": "regress"}, heads)
        with self.assertRaisesRegex(ValueError, "must be an ExportStrategy"):
            learn.Experiment(tf.estimator.LinearClassifier([]), inputs, inputs, export_strategies=["x"])

    def test_run_n_runs_with_the_same_feeds(self):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32)
            total = tf.Variable(0.0).assign_add(x)
            found = tf.contrib.learn.run_n({"total": total}, {x: 2.0}, n=3)
        self.assertEqual([2.0, 4.0, 6.0], [f["total"] for f in found])

    def test_batches_of_files_of_tf_contrib_learn_end_with_their_epochs(self):
        from braid.tensorflow.contrib import learn

        names = [os.path.join(self.directory, name) for name in ("a", "b")]
        for name, values in zip(names, ((0, 1, 2), (3, 4))):
            with tf.python_io.TFRecordWriter(name) as writer:
                for i in values:
                    example = tf.train.Example()
                    example.features.feature["s"].int64_list.value.extend([i] * i)
                    writer.write(example.SerializeToString())
        with tf.Graph().as_default(), tf.Session() as session:
            keys, features = learn.read_keyed_batch_features(
                names, 2, {"s": tf.VarLenFeature(tf.int64)}, tf.TFRecordReader, randomize_input=False,
                num_epochs=1, num_enqueue_threads=1,
            )  # fmt: skip
            session.run(tf.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            found = []
            with self.assertRaises(tf.errors.OutOfRangeError):
                while True:
                    key, s = session.run((keys, features["s"]))
                    found.append((key[0].decode().rpartition("/")[2], s.values.tolist()))
            coordinator.request_stop()
            coordinator.join(threads)
        self.assertEqual(["a", "a", "b"], [key[0] for key, _ in found])
        self.assertEqual([[1], [2, 2, 3, 3, 3], [4] * 4], [values for _, values in found])

    def test_tasks_of_tf_contrib_learn(self):
        from braid.tensorflow.contrib import learn

        cluster = {"worker": ["w0:1", "w1:1"], "ps": ["p:1"], "master": ["m:1"]}

        def config(task, environment="local", **options):
            tf_config = {"cluster": cluster, "task": task, "environment": environment}
            with mock.patch.dict(os.environ, {"TF_CONFIG": json.dumps(tf_config)}):
                return learn.RunConfig(**options)

        for task, environment, is_chief, master in (
            ({"type": "worker", "index": 0}, "local", True, "grpc://w0:1"),
            ({"type": "worker", "index": 1}, "local", False, "grpc://w1:1"),
            ({"type": "master", "index": 0}, "local", False, "grpc://m:1"),
            ({"type": "master", "index": 0}, "cloud", True, "grpc://m:1"),
            ({"type": "worker", "index": 0}, "cloud", False, "grpc://w0:1"),
            ({}, "local", True, ""),
        ):
            made = config(task, environment)
            found = (made.is_chief, made.master, made.task_type, made.num_worker_replicas)
            self.assertEqual((is_chief, master, task.get("type"), 3), found)
        with self.assertRaisesRegex(ValueError, "evaluator is not a valid task_type"):
            config({"type": "evaluator"})
        with self.assertRaisesRegex(ValueError, "2 is not a valid task_id for task_type worker"):
            config({"type": "worker", "index": 2})
        same, other = (config({}, tf_random_seed=n, save_checkpoints_steps=n) for n in (1, 2))
        self.assertEqual(same.uid(), other.uid())
        self.assertNotEqual(same.uid(whitelist=[]), other.uid(whitelist=[]))
        from braid.tensorflow.contrib.learn.python.learn import run_config  # as programs import it

        self.assertEqual(same.uid(), same.uid(whitelist=run_config._DEFAULT_UID_WHITE_LIST))
        self.assertNotEqual(same.uid(), same.replace(model_dir="elsewhere").uid())
        self.assertIsNone(learn.RunConfig().task_type)

    def test_estimators_of_tf_contrib_learn_take_arrays(self):
        from braid.tensorflow.contrib import learn

        x, y = X["x"], (X["x"][:, 0] > 0).astype("int64")
        columns = learn.infer_real_valued_columns_from_input(x)
        config = learn.RunConfig(tf_random_seed=1)
        c = learn.DNNClassifier([8], columns, model_dir=self.directory, config=config)
        c.fit(x, y, steps=150, batch_size=32)
        self.assertGreater(c.evaluate(x, y)["accuracy"], 0.9)
        self.assertEqual(64, len(list(c.predict(x))))

    def test_predictions_of_tf_contrib_learn_for_constants_are_one_batch(self):
        from braid.tensorflow.contrib import learn

        x = X["x"]
        regressor = learn.LinearRegressor(
            learn.infer_real_valued_columns_from_input(x), model_dir=self.directory
        ).fit(x, x[:, 0], steps=5)

        def constants():
            return {"": tf.constant(x[:7])}, None

        def dataset():
            return tf.data.Dataset.from_tensor_slices({"": x[:6]}).batch(2)

        self.assertEqual(7, len(list(regressor.predict(input_fn=constants))))
        self.assertEqual(7, len(regressor.predict(input_fn=constants, as_iterable=False)))
        self.assertEqual(6, len(list(regressor.predict(input_fn=dataset))))
        self.assertEqual(64, len(list(regressor.predict(x, batch_size=10))))

    def test_metrics_of_tf_contrib_learn_choose_what_they_take(self):
        from braid.tensorflow.contrib import learn
        from braid.tensorflow.contrib import metrics

        x, y = X["x"], (X["x"][:, 0] > 0).astype("int64")
        classes = learn.PredictionKey.CLASSES
        chosen = {
            "hits": learn.MetricSpec(metrics.streaming_accuracy, prediction_key=classes),
            "again": metrics.streaming_accuracy,
            "recall": learn.MetricSpec(functools.partial(tf.metrics.recall), prediction_key=classes),
            ("mean", "probabilities"): lambda predictions, labels: tf.metrics.mean(predictions),
        }
        monitor = learn.monitors.ValidationMonitor(
            x, y, every_n_steps=10, metrics=chosen, early_stopping_rounds=20, early_stopping_metric="mean",
            early_stopping_metric_minimize=False, check_interval_secs=None,
        )  # fmt: skip
        config = learn.RunConfig(save_checkpoints_steps=10, save_checkpoints_secs=None)
        columns = learn.infer_real_valued_columns_from_input(x)
        c = learn.DNNClassifier([8], columns, model_dir=self.directory, config=config)
        c.fit(x, y, steps=150, batch_size=32, monitors=[monitor])
        # The mean of the probabilities is a half in each evaluation: the first one stays the best.
        self.assertTrue(monitor.early_stopped)
        self.assertAlmostEqual(0.5, monitor.best_value, 6)
        self.assertGreater(monitor.best_step, 1)
        self.assertLess(c.get_variable_value("global_step"), 150)
        found = c.evaluate(x, y, metrics=chosen)
        self.assertAlmostEqual(found["hits"], found["accuracy"], 6)
        self.assertEqual(found["hits"], found["again"])
        self.assertAlmostEqual(found["mean"], 0.5, 6)
        self.assertIn("recall", found)
        with self.assertRaisesRegex(ValueError, "without specified prediction_key"):
            c.evaluate(x, y, metrics={"hits": learn.MetricSpec(metrics.streaming_accuracy)})
        with self.assertRaisesRegex(ValueError, "Ambiguous arguments"):
            learn.MetricSpec(lambda label, target: 0)

    def test_f1_and_kappa_of_tf_contrib_metrics(self):
        from braid.tensorflow.contrib import metrics

        random = np.random.RandomState(0)
        labels = random.randint(0, 2, 50)
        scores = np.clip(labels * 0.3 + random.rand(50) * 0.7, 0, 1).astype("f")
        weights = random.rand(50).astype("f")
        given = random.randint(0, 3, 40)
        guessed = np.where(random.rand(40) < 0.6, given, random.randint(0, 3, 40))
        with tf.Graph().as_default(), tf.Session() as session:
            pairs = [
                metrics.f1_score(labels, tf.constant(scores)),
                metrics.f1_score(labels, tf.constant(scores), weights=weights, num_thresholds=11),
                metrics.cohen_kappa(given, guessed, 3),
                metrics.cohen_kappa(given[:, None], guessed, 3, weights=tf.constant(weights[:40])),
            ]
            session.run(tf.local_variables_initializer())
            for _ in range(2):
                session.run([update for _, update in pairs])
            found = session.run([value for value, _ in pairs])
        # of TensorFlow 1.15
        np.testing.assert_allclose(found, [0.86567163, 0.8780685, 0.66165413, 0.65333030], rtol=1e-6)

    def test_a_strategy_of_one_replica(self):
        with tf.distribute.MirroredStrategy().scope():
            self.assertTrue(tf.distribute.in_cross_replica_context())
            self.assertEqual(1, tf.distribute.get_strategy().num_replicas_in_sync)
        self.assertFalse(tf.distribute.has_strategy())


def run_task(task, directory):
    """The program of a task of the cluster test below."""
    os.environ["TF_CONFIG"] = task
    c = fc.categorical_column_with_hash_bucket("c", 20)
    e = tf.estimator.DNNClassifier(
        [4],
        [fc.numeric_column("x", shape=(2,)), fc.embedding_column(c, 3)],
        n_classes=3,
        config=tf.estimator.RunConfig(
            directory, save_checkpoints_steps=20, experimental_max_worker_delay_secs=0
        ),
    )
    evaluation = tf.estimator.EvalSpec(inputs(), steps=None, start_delay_secs=0, throttle_secs=0)
    tf.estimator.train_and_evaluate(e, tf.estimator.TrainSpec(inputs(epochs=None), max_steps=60), evaluation)


class Cluster(unittest.TestCase):
    def test_each_task_of_a_cluster_ends_by_itself(self):
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        roles = ["chief", "worker", "ps"]
        cluster = {role: [f"localhost:{port}"] for role, port in zip(roles, free_ports(3))}
        tasks = {
            role: subprocess.Popen(
                [
                    sys.executable,
                    __file__,
                    PROGRAMS,
                    json.dumps({"cluster": cluster, "task": {"type": role, "index": 0}}),
                    directory,
                ],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            for role in roles + ["evaluator"]
        }
        try:
            for role, task in tasks.items():
                output, _ = task.communicate(timeout=120)
                self.assertEqual(0, task.returncode, f"{role}: {output.decode()[-2000:]}")
        finally:
            for task in tasks.values():
                task.kill()
        reader = tf.train.load_checkpoint(directory)
        self.assertGreaterEqual(reader.get_tensor("global_step"), 60)
        self.assertTrue(os.listdir(os.path.join(directory, "eval")))


# What support has taken from the arguments, for the tasks of a cluster.
PROGRAMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(tf.__path__[0]))), "..", "bin")

if __name__ == "__main__":
    if len(sys.argv) == 3 and sys.argv[1].startswith("{"):
        run_task(*sys.argv[1:])
    else:
        unittest.main()
