# Models of Keras: values are those of TensorFlow's tf.keras (graph mode) for the same weights.
# timeout: 180
import json
import os
import shutil
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401, before the others: where the package is
import numpy as np

import braid.tensorflow as tf

keras = tf.keras
layers = keras.layers


def set_weights(model):
    """Weights that any TensorFlow can be given, too."""
    r = np.random.RandomState(1)
    model.set_weights(
        [
            r.randn(*w.shape).astype("f") * 0.3 if w.ndim > 1 else np.abs(r.randn(*w.shape)).astype("f")
            for w in model.get_weights()
        ]
    )


def classifier():
    model = keras.Sequential(
        [
            layers.Dense(4, activation="relu", input_shape=(3,), name="a"),
            layers.BatchNormalization(),
            layers.Dense(2, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    set_weights(model)
    return model


class Keras(unittest.TestCase):
    def setUp(self):
        keras.backend.clear_session()
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        r = np.random.RandomState(0)
        self.x = r.rand(20, 3).astype("f")
        self.y = r.randint(0, 2, 20)

    def fit(self, model, x=None, y=None, **kwargs):
        x, y = self.x if x is None else x, self.y if y is None else y
        return model.fit(x, y, verbose=0, shuffle=False, **kwargs).history

    def close(self, expected, got):
        self.assertEqual(set(expected), set(got))
        for name, values in expected.items():
            np.testing.assert_allclose(values, got[name], atol=2e-5, err_msg=name)

    def test_seeds_give_the_losses_of_tensorflow(self):
        # Initial values, masks of dropout, and the order of the rows in each epoch.
        tf.set_random_seed(42)
        np.random.seed(1)
        r = np.random.RandomState(0)
        x, y = r.randint(0, 50, [96, 4]), r.randint(0, 2, 96)
        model = keras.Sequential(
            [
                layers.Embedding(50, 6, input_length=4),
                layers.LSTM(5, dropout=0.2, return_sequences=True),
                layers.Bidirectional(layers.GRU(3, reset_after=True)),
                layers.Dropout(0.3),
                layers.Dense(2, "softmax"),
            ]
        )
        model.compile("adam", "sparse_categorical_crossentropy")
        got = model.fit(x, y, epochs=3, batch_size=16, validation_split=0.25, verbose=0).history
        np.testing.assert_allclose(got["loss"], [0.689106, 0.686679, 0.687579], rtol=2e-5)
        np.testing.assert_allclose(got["val_loss"], [0.705533, 0.719207, 0.726389], rtol=2e-5)

    def test_a_cleared_session_has_a_learning_phase_and_a_single_batch_keeps_its_order(self):
        tf.set_random_seed(3)
        np.random.seed(2)
        x, y = np.random.RandomState(0).randn(3, 5, 4), np.eye(2)[[0, 1, 1]]
        lstm = layers.LSTM(3, dropout=0.3, recurrent_dropout=0.4, input_shape=(5, 4))
        model = keras.Sequential([lstm, layers.Dense(2, activation="softmax")])
        model.compile("adam", "categorical_crossentropy")
        got = model.fit(x.astype("f"), y, epochs=2, verbose=0, validation_data=(x, y)).history
        np.testing.assert_allclose(got["loss"], [0.758248, 0.723279], rtol=2e-5)
        np.testing.assert_allclose(got["val_loss"], [0.681044, 0.6788], rtol=2e-5)

    def test_arrays_in_files_are_read_in_their_order(self):
        class Array:
            """Of HDF5: its rows are read by growing numbers."""

            def __init__(self, array):
                self._array, self.shape, self.dtype = array, array.shape, array.dtype

            def __len__(self):
                return len(self._array)

            def __getitem__(self, key):
                if not isinstance(key, slice) and np.any(np.diff(key) <= 0):
                    raise TypeError("Indexing elements must be in increasing order")
                return self._array[key]

        x = np.random.RandomState(0).randn(12, 3).astype("f")
        model = keras.Sequential([layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse")
        data = Array(x), Array(x[:, :1])
        got = model.fit(*data, batch_size=4, shuffle="batch", verbose=0, validation_data=data).history
        self.assertAlmostEqual(got["val_loss"][0], model.evaluate(*data, batch_size=4, verbose=0), 5)
        np.random.seed(1)
        with self.assertRaisesRegex(TypeError, 'pass shuffle="batch"'):
            model.fit(*data, batch_size=4, verbose=0)

    def test_settings_of_objects(self):
        spec = keras.layers.InputSpec(dtype="float32", ndim=3, axes={-1: 4})
        self.assertEqual(vars(keras.layers.InputSpec.from_config(spec.get_config())), vars(spec))
        series = keras.preprocessing.sequence.TimeseriesGenerator(np.arange(4), [1, 2, 3, 4], length=2)
        config = json.loads(series.to_json())["config"]
        self.assertEqual((config["data"], config["start_index"]), ("[0, 1, 2, 3]", 2))
        with self.assertRaisesRegex(TypeError, "Targets not JSON"):
            keras.preprocessing.sequence.TimeseriesGenerator([1, 2], [{1}, {2}], length=1).get_config()
        self.assertIs(keras.backend.name_scope, tf.name_scope)

    def test_a_classifier_learns_as_in_tensorflow(self):
        model = classifier()
        expected = {
            "loss": [0.58539, 0.58412],
            "acc": [0.75, 0.75],
            "val_loss": [1.35757, 1.35838],
            "val_acc": [0.0, 0.0],
        }
        self.close(expected, self.fit(model, epochs=2, batch_size=8, validation_split=0.2))
        self.assertEqual(["loss", "acc"], model.metrics_names)
        self.assertEqual("training/Adam/a/kernel/m:0", model.optimizer.weights[1].name)

    def test_a_model_of_two_outputs(self):
        a = keras.Input((3,))
        b = layers.Dense(2, name="o1")(a)
        c = layers.Dense(1, name="o2")(layers.concatenate([a, b]))
        model = keras.Model(a, [b, c])
        metrics = {"o1": "mae", "o2": ["mse", "mae"]}
        model.compile("sgd", ["mse", "mae"], metrics=metrics, loss_weights=[1.0, 0.5])
        set_weights(model)
        expected = {
            "loss": [2.45823],
            "o1_loss": [2.13463],
            "o2_loss": [0.6472],
            "o1_mean_absolute_error": [1.13292],
            "o2_mean_squared_error": [0.42869],
            "o2_mean_absolute_error": [0.6472],
        }
        self.close(expected, self.fit(model, y=[np.zeros((20, 2)), np.zeros((20, 1))]))

    def test_optimizers_make_the_steps_of_tensorflow(self):
        expected = {
            keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True): [0.69399, 0.69122, 0.68675],
            keras.optimizers.Adam(0.01, amsgrad=True): [0.69155, 0.67883, 0.66146],
            keras.optimizers.RMSprop(0.01, momentum=0.5, centered=True): [0.68244, 0.55288, 0.33757],
            tf.train.AdamOptimizer(0.01): [0.69154, 0.6788, 0.66141],
        }
        ids, labels = np.arange(50).reshape(10, 5) % 10, np.arange(10) % 2
        for optimizer, losses in expected.items():
            model = keras.Sequential(
                [
                    layers.Embedding(10, 4, input_length=5, mask_zero=True),
                    layers.LSTM(3),
                    layers.Dense(1, activation="sigmoid"),
                ]
            )
            model.compile(optimizer, "binary_crossentropy")
            set_weights(model)
            got = self.fit(model, ids, labels, epochs=3, batch_size=4)
            np.testing.assert_allclose(losses, got["loss"], atol=5e-5, err_msg=type(optimizer).__name__)

    def test_losses_are_those_of_tensorflow(self):
        y_true = keras.backend.constant([[0.0, 1.0], [1.0, 0.0]])
        y_pred = keras.backend.constant([[0.3, 0.7], [0.6, 0.4]])
        expected = {
            "mse": [0.09, 0.16],
            "mae": [0.3, 0.4],
            "hinge": [0.8, 0.9],
            "categorical_crossentropy": [0.35667, 0.51083],
            "binary_crossentropy": [0.35667, 0.51082],
            "kld": [0.35667, 0.51082],
            "cosine_proximity": [0.91915, 0.83205],
        }
        for name, values in expected.items():
            got = keras.backend.eval(keras.losses.get(name)(y_true, y_pred))
            np.testing.assert_allclose(values, got, atol=2e-5, err_msg=name)
        weights = keras.backend.constant([1.0, 2.0])
        loss = keras.losses.CategoricalCrossentropy(from_logits=True)(y_true, y_pred, sample_weight=weights)
        self.assertAlmostEqual(0.85465, float(keras.backend.eval(loss)), 4)

    def test_metrics_add_up_over_batches(self):
        y_true, y_pred = np.array([0.0, 1, 1, 0, 1], "f"), np.array([0.1, 0.4, 0.8, 0.6, 0.9], "f")
        expected = {
            keras.metrics.AUC(): 0.83333,
            keras.metrics.AUC(curve="PR"): 0.90411,
            keras.metrics.Precision(): 0.66667,
            keras.metrics.TruePositives(thresholds=[0.3, 0.7]): [6, 4],
            keras.metrics.RootMeanSquaredError(): 0.39497,
            keras.metrics.MeanIoU(2): 0.2,
        }
        for metric, value in expected.items():
            update = metric.update_state(keras.backend.constant(y_true), keras.backend.constant(y_pred))
            session = keras.backend.get_session()
            session.run(update)
            session.run(update)
            np.testing.assert_allclose(value, session.run(metric.result()), atol=2e-5, err_msg=metric.name)

    def test_states_are_no_weights(self):
        for layer in (layers.LSTM(3, stateful=True), layers.Bidirectional(layers.GRU(3, stateful=True))):
            model = keras.Sequential([keras.Input(batch_shape=(2, 4, 3)), layer])
            kinds = 1 if isinstance(layer, layers.LSTM) else 2
            self.assertEqual([len(model.weights), len(model.trainable_weights)], [3 * kinds] * 2)

    def test_what_a_property_sets_is_no_weight(self):
        class Paired(layers.Layer):
            pair = None

        layer = Paired()
        layer.pair = [tf.Variable(1.0), tf.Variable(2.0)]
        layer.other = tf.Variable(3.0)
        self.assertEqual([w is layer.other for w in layer.weights], [True])
        lstm = layers.LSTM(3, stateful=True, batch_input_shape=(2, 4, 5))
        lstm.build((2, 4, 5))
        lstm.states = [tf.Variable(np.ones([2, 3])), tf.Variable(np.ones([2, 3]))]
        self.assertEqual(len(lstm.weights), 3)

    def test_masked_steps_of_recurrent_layers_do_not_count(self):
        x = np.random.RandomState(2).rand(2, 5, 3).astype("f")
        x[0, 3:] = 0
        for layer in (
            layers.LSTM(4),
            layers.GRU(4),
            layers.SimpleRNN(4),
            layers.Bidirectional(layers.LSTM(2)),
            layers.LSTM(4, unroll=True),
        ):
            inputs = keras.Input((None if not getattr(layer, "unroll", False) else 5, 3))
            model = keras.Model(inputs, layer(layers.Masking()(inputs)))
            whole = model.predict(x)
            if getattr(layer, "unroll", False):
                continue
            np.testing.assert_allclose(whole[:1], model.predict(x[:1, :3]), atol=1e-6, err_msg=layer.name)

    def test_weights_survive_a_checkpoint_and_json(self):
        model = classifier()
        self.fit(model)
        path = os.path.join(self.directory, "weights")
        model.save_weights(path)
        names = {name for name, _ in tf.train.list_variables(path)}
        self.assertIn("layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE", names)
        self.assertIn(
            "layer_with_weights-0/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE", names
        )
        copy = keras.models.model_from_json(model.to_json())
        copy.load_weights(path)
        np.testing.assert_array_equal(model.predict(self.x), copy.predict(self.x))

    def test_ops_between_layers_are_layers(self):
        a = keras.Input((3,))
        d = layers.Dense(3, name="d")
        model = keras.Model(a, d(tf.nn.relu(d(a)) * 2.0))
        self.assertEqual(
            ["input_1", "d", "tf_op_layer_Relu", "tf_op_layer_mul"], [lay.name for lay in model.layers]
        )
        self.assertEqual(["d/kernel:0", "d/bias:0"], [w.name for w in model.weights])
        b = keras.Input((3,))
        again = keras.Model(b, model(b))
        np.testing.assert_allclose(model.predict(self.x), again.predict(self.x), atol=1e-6)

    def test_a_subclass_has_the_type_of_its_first_input(self):
        class Own(keras.Model):
            def call(self, x):
                return x * tf.ones([], self.dtype)

        model = Own()
        self.assertEqual(tf.float16, model(tf.ones([2, 3], tf.float16)).dtype)
        self.assertEqual("float16", model.dtype)

    def test_a_subclass_is_trained(self):
        class Own(keras.Model):
            def __init__(self):
                super().__init__()
                self.hidden = layers.Dense(
                    5, activation="relu", kernel_regularizer=keras.regularizers.l2(0.1)
                )
                self.dropout = layers.Dropout(0.5)
                self.rest = [layers.Dense(3), layers.Dense(1)]

            def call(self, x, training=None):
                h = self.dropout(self.hidden(x), training=training)
                for layer in self.rest:
                    h = layer(h)
                return h

        tf.set_random_seed(1)
        model = Own()
        model.compile("sgd", "mse")
        history = self.fit(model, y=self.x.sum(1), epochs=20)
        self.assertLess(history["loss"][-1], history["loss"][0])
        self.assertEqual(6, len(model.trainable_weights))
        without = model.predict(self.x)
        np.testing.assert_array_equal(without, model.predict(self.x))  # no dropout
        hidden = keras.backend.get_value(model.hidden.kernel)
        self.assertAlmostEqual(
            0.1 * float((hidden**2).sum()), float(keras.backend.get_value(model.losses[0])), 5
        )

    def test_weights_that_are_loaded_before_the_first_call(self):
        class Own(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(2, kernel_initializer="ones")

            def call(self, x):
                return self.dense(x)

        first, x = Own(), tf.ones([1, 3])
        y = first(x)
        session = keras.backend.get_session()
        session.run(first.dense.kernel.assign(tf.fill([3, 2], 2.0)))
        with tempfile.TemporaryDirectory() as directory:
            for name in ("weights", ""):  # also a prefix that is a directory
                path = os.path.join(directory, name)
                first.save_weights(path)
                second = Own()
                second.load_weights(path)
                z = second(x)
                self.assertEqual(session.run(y).tolist(), session.run(z).tolist())

    def test_archives_of_a_format_are_unpacked(self):
        archived = os.path.join(self.directory, "archived")
        os.makedirs(archived)
        with open(os.path.join(archived, "a"), "w") as file:
            file.write("text")
        made = shutil.make_archive(os.path.join(self.directory, "x"), "bztar", archived)

        def unpacked(archive_format):
            cache = tempfile.mkdtemp(dir=self.directory)
            origin = "file://" + made
            keras.utils.get_file(
                "x", origin, extract=True, archive_format=archive_format, cache_dir=cache, cache_subdir="d"
            )
            return os.path.exists(os.path.join(cache, "d", "a"))

        formats = ("auto", "tar", ["zip", "tar"], "zip", None)
        self.assertEqual([unpacked(f) for f in formats], [True, True, True, False, False])

    def test_learning_rates_of_the_program_are_read_with_custom_objects(self):
        class Rate(keras.optimizers.schedules.LearningRateSchedule):
            def __call__(self, step):
                return 1.0 / (1.0 + step)

            def get_config(self):
                return {}

        config = keras.optimizers.SGD(Rate()).get_config()
        again = keras.optimizers.SGD.from_config(config, custom_objects={"Rate": Rate})
        self.assertIsInstance(again._hyper["learning_rate"], Rate)

    def test_weights_of_layers_are_before_those_of_the_model(self):
        class Own(keras.Model):
            def __init__(self):
                super().__init__()
                self.scale = tf.Variable(1.0, name="scale")
                self.dense = keras.layers.Dense(2)
                self.mean = keras.metrics.Mean()
                self.loose = [tf.Variable(2.0, name="loose")]
                self.part = tf.make_template("part", lambda: tf.get_variable("k", []))

            def call(self, x):
                return self.dense(x) * self.scale * self.part()

        model = Own()
        model(tf.ones([1, 3]))
        trainable = ["kernel:0", "bias:0", "scale:0", "loose:0", "k:0"]
        self.assertEqual(trainable, [v.name.split("/")[-1] for v in model.trainable_weights])
        self.assertEqual(["total:0", "count:0"], [v.name for v in model.non_trainable_weights])

    def test_generators_datasets_and_weights_of_examples(self):
        model = classifier()

        def batches():
            while True:
                yield self.x[:10], self.y[:10]

        model.fit_generator(batches(), steps_per_epoch=2, epochs=1, verbose=0)
        data = tf.data.Dataset.from_tensor_slices((self.x, self.y)).batch(10)
        self.assertEqual(2, len(model.evaluate(data, verbose=0)))
        plain = model.evaluate(self.x, self.y, verbose=0)[0]
        weighted = model.evaluate(self.x, self.y, sample_weight=np.full(20, 2.0), verbose=0)[0]
        self.assertAlmostEqual(2 * plain, weighted, 4)

    def test_callbacks(self):
        model = classifier()
        log = os.path.join(self.directory, "log.csv")
        rates = []
        history = self.fit(
            model,
            epochs=4,
            validation_data=(self.x, self.y),
            callbacks=[
                keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1)),
                keras.callbacks.CSVLogger(log),
                keras.callbacks.ModelCheckpoint(
                    os.path.join(self.directory, "{epoch}"), save_weights_only=True
                ),
                keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: rates.append(logs["lr"])),
                keras.callbacks.EarlyStopping("loss", min_delta=10, patience=2),
            ],
        )
        self.assertEqual(3, len(history["loss"]))  # the first loss is the best; two more are allowed
        np.testing.assert_allclose([0.1, 0.05, 0.1 / 3], rates, rtol=1e-6)
        with open(log) as file:
            self.assertEqual("epoch,acc,loss,lr,val_acc,val_loss", file.readline().strip())
        self.assertTrue(os.path.exists(os.path.join(self.directory, "3.index")))

    def test_tensorboard_has_summaries_of_validation(self):
        model = classifier()
        log = keras.callbacks.TensorBoard(
            self.directory, histogram_freq=2, write_grads=True, write_images=True
        )
        self.fit(model, epochs=2, validation_data=(self.x, self.y), callbacks=[log])
        tags = {}
        for path in tf.gfile.Glob(os.path.join(self.directory, "events*")):
            for event in tf.train.summary_iterator(path):
                for value in event.summary.value:
                    tags.setdefault(value.tag, []).append(event.step)
        self.assertEqual([0, 1], tags["epoch_val_loss"])
        for tag in ("a/kernel_0", "a/kernel_0_grad", "a_out", "a/kernel_0_1/image/0"):  # of one batch, of 20
            self.assertEqual([0], tags[tag])

    def test_tensorboard_has_a_profile_of_a_batch_and_the_outputs_of_embeddings(self):
        model = keras.Sequential(
            [layers.Embedding(10, 4, input_length=3, name="words"), layers.Flatten(), layers.Dense(1)]
        )
        model.compile("sgd", "mse")
        x = np.arange(30).reshape(10, 3) % 10
        log = keras.callbacks.TensorBoard(
            self.directory,
            batch_size=2,
            profile_batch=2,
            embeddings_freq=1,
            embeddings_data=x[:5],
            embeddings_metadata="words.tsv",
        )
        model.fit(x, np.ones((10, 1)), batch_size=4, verbose=0, callbacks=[log])
        (path,) = tf.gfile.Glob(os.path.join(self.directory, "plugins/profile/*/local.trace"))
        with open(path, "rb") as file:
            self.assertIn(b"long name\x12", file.read())
        self.assertTrue(tf.gfile.Glob(os.path.join(self.directory, "*.profile-empty")))
        with open(os.path.join(self.directory, "projector_config.pbtxt")) as file:
            self.assertIn('tensor_name: "words_embedding:0"', file.read())
        outputs = keras.backend.function(model.inputs, [model.layers[0].output])([x[:5]])[0]
        reader = tf.train.load_checkpoint(self.directory)
        np.testing.assert_allclose(reader.get_tensor("words_embedding"), outputs.reshape(5, 12))
        with self.assertRaisesRegex(ValueError, "embeddings_data"):
            log = keras.callbacks.TensorBoard(self.directory, embeddings_freq=1, profile_batch=0)
            model.fit(x, np.ones((10, 1)), verbose=0, callbacks=[log])

    def test_a_sequential_model_that_waits_for_data_has_the_names_of_tensorflow(self):
        model = keras.Sequential([layers.Dense(3), layers.Dense(2)])
        model.compile("sgd", "mse", metrics=["mae"])
        model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0)
        self.assertEqual(
            [w.name for w in model.weights],
            [f"sequential/{w}:0" for w in ("dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias")],
        )
        self.assertEqual((model.input_names, model.output_names), (["input_1"], ["output_1"]))
        self.assertEqual(model.get_config()["build_input_shape"], (None, 4))

    def test_what_is_trained_is_settled_by_compile(self):
        model = keras.Sequential([layers.Dense(3, input_shape=(4,)), layers.Dense(2)])
        model.compile("sgd", "mse")
        model.layers[0].trainable = False
        before = model.get_weights()
        model.train_on_batch(np.ones((8, 4)), np.ones((8, 2)))
        self.assertFalse(np.allclose(before[0], model.get_weights()[0]))
        model.compile("sgd", "mse")
        before = model.get_weights()
        model.train_on_batch(np.ones((8, 4)), np.ones((8, 2)))
        np.testing.assert_array_equal(before[0], [w for w in model.get_weights() if w.shape == (4, 3)][0])

    def test_validation_calls_callbacks_and_begins_its_dataset_anew(self):
        seen = []

        class Counter(keras.callbacks.Callback):
            def on_test_batch_end(self, batch, logs=None):
                seen.append((batch, sorted(logs)))

        model = keras.Sequential([layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse")
        data = tf.data.Dataset.from_tensor_slices((self.x, self.y.astype("f"))).batch(5)
        model.fit(
            data,
            epochs=2,
            steps_per_epoch=2,
            validation_data=data,
            validation_steps=1,
            verbose=0,
            callbacks=[Counter()],
        )
        self.assertEqual(seen, [(0, ["batch", "loss", "size"])] * 2)

    def test_arrays_that_do_not_fit_are_refused(self):
        model = classifier()
        model.compile("sgd", "categorical_crossentropy")
        with self.assertRaisesRegex(ValueError, "sparse_categorical_crossentropy"):
            model.fit(self.x, self.y, verbose=0)
        with self.assertRaisesRegex(ValueError, "same number of samples"):
            model.train_on_batch(self.x, np.ones((19, 2)))
        with self.assertRaisesRegex(ValueError, "Unknown entries in class_weight"):
            two = keras.Model(model.inputs, [model.outputs[0], model.layers[0].output])
            two.compile("sgd", "mse")
            two.fit(self.x, [np.ones((20, 2)), np.ones((20, 4))], class_weight={"other": {0: 1.0}}, verbose=0)

    def test_replicas_make_the_steps_of_one(self):
        def trained(optimizer):
            model = keras.Sequential(
                [
                    layers.Dense(4, activation="tanh", input_shape=(3,), kernel_regularizer="l2"),
                    layers.Dense(1),
                ]
            )
            set_weights(model)
            model.compile(optimizer(), "mse", metrics=["mae"])
            return model

        for optimizer in (
            lambda: keras.optimizers.SGD(0.1, momentum=0.9),
            lambda: tf.train.AdamOptimizer(0.01),
        ):
            keras.backend.clear_session()
            alone = trained(optimizer)
            expected = self.fit(alone, epochs=2, batch_size=8)
            weights = alone.get_weights()
            keras.backend.clear_session()
            with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
                model = trained(optimizer)
            self.close(expected, self.fit(model, epochs=2, batch_size=8))
            for a, b in zip(weights, model.get_weights()):
                np.testing.assert_allclose(a, b, atol=1e-5)
            session = keras.backend.get_session()
            for variable in model.weights:
                first, second = session.run(list(variable.values))
                np.testing.assert_array_equal(first, second)

    def test_a_replica_without_examples_leaves_the_averages_of_batch_norms(self):
        with tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"]).scope():
            norms = [layers.BatchNormalization(input_shape=(3,)), layers.BatchNormalization(renorm=True)]
            model = keras.Sequential([*norms, layers.Dense(1)])
            model.compile("sgd", "mse")
        self.fit(model, batch_size=19)  # the last batch has one example
        for variable, value in zip(model.weights, model.get_weights()):
            self.assertTrue(np.isfinite(value).all(), variable.name)

    def test_a_saved_model_has_graphs_to_train_evaluate_and_predict(self):
        model = classifier()
        self.fit(model)
        expected = model.predict(self.x)
        path = os.path.join(self.directory, "exported")
        keras.experimental.export_saved_model(model, path)
        for tag in ("train", "eval", "serve"):
            with tf.Session(graph=tf.Graph()) as session:
                graph = tf.saved_model.loader.load(session, [tag], path)
                (signature,) = [d for k, d in graph.signature_def.items() if not k.startswith("__")]
                self.assertIn("a_input", signature.inputs)
        with tf.Session(graph=tf.Graph()) as session:
            graph = tf.saved_model.loader.load(session, ["serve"], path)
            signature = graph.signature_def["serving_default"]
            got = session.run(signature.outputs["dense"].name, {signature.inputs["a_input"].name: self.x})
            np.testing.assert_allclose(got, expected, atol=1e-6)
        keras.backend.clear_session()
        np.testing.assert_allclose(
            keras.experimental.load_from_saved_model(path).predict(self.x), expected, atol=1e-6
        )

    def test_model_save_as_a_saved_model(self):
        model = classifier()
        self.fit(model)
        expected, path = model.evaluate(self.x, self.y, verbose=0), os.path.join(self.directory, "saved")
        model.save(path, save_format="tf")
        keras.backend.clear_session()
        again = keras.models.load_model(path)
        np.testing.assert_allclose(again.evaluate(self.x, self.y, verbose=0), expected, atol=1e-6)

    def test_gates_of_recurrent_cells_have_masks_of_their_own_with_implementation_1(self):
        def hard_sigmoid(x):
            return np.clip(0.2 * x + 0.5, 0, 1)

        rng = np.random.RandomState(0)
        x, h, c = (rng.rand(2, n).astype(np.float32) for n in (13, 14, 14))
        cells = tf.keras.layers
        for implementation in (1, 2):
            options = {"dropout": 0.5, "recurrent_dropout": 0.5, "implementation": implementation}
            for cell, gates in (
                (cells.LSTMCell(14, **options), 4),
                (cells.GRUCell(14, **options), 3),
                (cells.GRUCell(14, reset_after=True, **options), 3),
            ):
                inputs, states = tf.constant(x), [tf.constant(h), tf.constant(c)][: gates - 2]
                output, _ = cell(inputs, states, training=True)
                fetches = [
                    output,
                    cell.get_dropout_mask_for_cell(inputs, True, gates),
                    cell.get_recurrent_dropout_mask_for_cell(states[0], True, gates),
                    cell.kernel,
                    cell.recurrent_kernel,
                ]
                with tf.Session() as session:
                    session.run(tf.global_variables_initializer())
                    output, masks, recurrent_masks, kernel, recurrent = session.run(fetches)
                self.assertEqual(gates, len({mask.tobytes() for mask in masks}))
                if implementation == 2:
                    masks, recurrent_masks = [masks[0]] * gates, [recurrent_masks[0]] * gates
                xs = [(x * mask) @ part for mask, part in zip(masks, np.split(kernel, gates, 1))]
                hs, parts = [h * mask for mask in recurrent_masks], np.split(recurrent, gates, 1)
                if gates == 4:
                    i, f, g, o = (a + b @ part for a, b, part in zip(xs, hs, parts))
                    carry = hard_sigmoid(f + 1) * c + hard_sigmoid(i) * np.tanh(g)
                    expected = hard_sigmoid(o) * np.tanh(carry)
                else:
                    z, r = (hard_sigmoid(xs[k] + hs[k] @ parts[k]) for k in range(2))
                    inner = r * (hs[2] @ parts[2]) if cell.reset_after else (r * hs[2]) @ parts[2]
                    old = h if implementation == 1 else hs[0]
                    expected = z * old + (1 - z) * np.tanh(xs[2] + inner)
                np.testing.assert_allclose(output, expected, rtol=1e-4, atol=1e-5)

    def test_conv_lstm(self):
        model = keras.Sequential([layers.ConvLSTM2D(2, 3, padding="same", input_shape=(3, 4, 4, 1))])
        set_weights(model)
        x = np.random.RandomState(2).rand(2, 3, 4, 4, 1).astype("f")
        # By a step at a time: the state of one is what the next begins with.
        kernel, recurrent, bias = model.get_weights()
        h = c = np.zeros((2, 4, 4, 2), "f")
        conv = lambda a, k: tf.nn.conv2d(a, k, [1, 1, 1, 1], "SAME")  # noqa: E731
        with tf.Session() as session:
            for t in range(3):
                z = session.run(conv(x[:, t], kernel) + conv(tf.constant(h), recurrent)) + bias
                i, f, g, o = np.split(z, 4, axis=3)
                hard = lambda v: np.clip(0.2 * v + 0.5, 0, 1)  # noqa: E731
                c = hard(f) * c + hard(i) * np.tanh(g)
                h = (hard(o) * np.tanh(c)).astype("f")
        np.testing.assert_allclose(model.predict(x), h, atol=1e-5)

    def test_sparse_and_ragged_inputs(self):
        dense = np.array([[1, 0, 2], [0, 0, 3], [4, 5, 0]], "f")
        places = np.argwhere(dense)
        sparse = tf.SparseTensorValue(places, dense[tuple(places.T)], dense.shape)
        x = keras.Input((3,), sparse=True)
        model = keras.Model(x, layers.Dense(2, kernel_initializer="ones")(x))
        np.testing.assert_array_equal(model.predict(sparse), dense.sum(1, keepdims=True).repeat(2, 1))

        ragged = tf.ragged.constant_value([[1.0], [2.0, 3.0], [], [4.0]], dtype="float32")
        x = keras.Input((None,), ragged=True)
        sums = layers.Lambda(lambda t: tf.expand_dims(tf.reduce_sum(t, axis=1), 1))(x)
        model = keras.Model(x, layers.Dense(1, kernel_initializer="ones")(sums))
        np.testing.assert_array_equal(model.predict(ragged, batch_size=3)[:, 0], [1, 5, 0, 4])
        model.compile("sgd", "mse")
        losses = model.fit(ragged, np.ones((4, 1)), batch_size=2, epochs=9, verbose=0).history["loss"]
        self.assertLess(losses[-1], losses[0])
        twice = keras.Model(x, layers.Lambda(lambda t: t * 2.0)(x)).predict(ragged, batch_size=3)
        self.assertEqual([[2.0], [4.0, 6.0], [], [8.0]], twice.to_list())
        with self.assertRaisesRegex(ValueError, "to have 2 dimensions"):
            model.predict(tf.ragged.constant_value([[[1.0]], [[2.0], [3.0]]], dtype="float32"))

    def test_metrics_of_ragged_labels(self):
        labels = tf.ragged.constant([[1.0], [0.0, 1.0]])
        accuracy = keras.metrics.BinaryAccuracy()
        value = accuracy(labels, tf.ragged.constant([[0.9], [0.2, 0.1]]))
        session = keras.backend.get_session()
        self.assertAlmostEqual(2 / 3, session.run(value), places=6)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "splits"):
            session.run(accuracy(labels, tf.ragged.constant([[0.9, 0.2], [0.1]])))

    def test_a_cell_with_constants_in_both_directions(self):
        class Cell(layers.Layer):
            state_size = output_size = 2

            def call(self, inputs, states, constants):
                output = states[0] + inputs + constants[0]
                return output, [output]

        x, c = keras.Input((3, 2)), keras.Input((2,))
        layer = layers.Bidirectional(layers.RNN(Cell(), return_sequences=True), merge_mode="sum")
        model = keras.Model([x, c], layer(x, constants=c))
        data = [np.ones((1, 3, 2)), np.full((1, 2), 2.0)]
        expected = [[[12, 12], [12, 12], [12, 12]]]  # 3, 6, 9 and 9, 6, 3
        np.testing.assert_array_equal(model.predict(data), expected)
        again = keras.Model.from_config(model.get_config(), custom_objects={"Cell": Cell})
        np.testing.assert_array_equal(again.predict(data), expected)

    def test_a_loss_of_a_layer_within_a_model_that_is_called(self):
        inputs = keras.Input((2,))
        inner = keras.Model(
            inputs, layers.Dense(1)(layers.Dense(3, kernel_initializer="ones", name="sums")(inputs))
        )
        outer = keras.Input((2,))
        model = keras.Model(outer, inner(outer))
        activations = inner.get_layer("sums").get_output_at(-1)  # of the call on the outer input
        model.add_loss(keras.backend.mean(activations))
        model.compile("sgd", None)
        self.assertAlmostEqual(model.evaluate(np.full([4, 2], 2.0), verbose=0), 4.0, 5)
        self.assertEqual(inner.get_layer("sums").output.name, "sums/BiasAdd:0")  # of the first call

    def test_calls_of_a_model_within_a_model_are_numbered_as_in_1_15(self):
        inputs, outer = keras.Input((2,), name="x"), keras.Input((2,))
        inner = keras.Model(inputs, layers.Dense(3)(inputs), name="inner")
        model = keras.Model(outer, layers.Add()([inner(outer), inner(outer * 2)]))
        config = json.loads(model.to_json())["config"]
        [added] = [data for data in config["layers"] if data["class_name"] == "Add"]
        # 0 is the model's own node.
        self.assertEqual(added["inbound_nodes"], [[["inner", 1, 0, {}], ["inner", 2, 0, {}]]])
        again = keras.Model.from_config(config)
        again.set_weights(model.get_weights())
        x = np.ones((1, 2))
        np.testing.assert_array_equal(again.predict(x), model.predict(x))

    def test_an_output_may_be_a_scalar(self):
        class Sum(layers.Layer):
            def call(self, inputs):
                return keras.backend.sum(inputs)

        model = keras.Sequential([Sum(input_shape=(2,))])
        model.compile("sgd", "mae")
        examples = tf.data.Dataset.from_tensor_slices((np.ones([4, 2], "f"), np.zeros([4, 1], "f"))).batch(2)
        self.assertEqual(model.evaluate(examples, verbose=0), 4.0)

    def test_losses_and_tensors_of_calls_are_in_the_settings(self):
        class Scaled(layers.Layer):
            def call(self, inputs, factor=None):
                return inputs * factor

        x, factor = keras.Input((3,)), keras.Input((1,))
        y = Scaled()(x, factor=factor * 2.0)
        model = keras.Model([x, factor], y)
        model.add_loss(tf.reduce_mean(y))
        config = keras.Model([x, factor], y).get_config()
        self.assertEqual(["input_1", "input_2"], [place[0] for place in config["input_layers"]])
        again = keras.Model.from_config(model.get_config(), custom_objects={"Scaled": Scaled})
        again.compile("sgd")
        data = [np.ones((2, 3)), np.array([[1.0], [3.0]])]
        np.testing.assert_array_equal(again.predict(data)[:, 0], [2, 6])
        self.assertEqual(4.0, again.evaluate(data, verbose=0))

    def test_a_metric_of_the_program_s_own_returns_nothing(self):
        class Count(keras.metrics.Metric):
            def __init__(self):
                super().__init__(name="count")
                self.count = self.add_weight("count", initializer="zeros")

            def update_state(self, y_true, y_pred, sample_weight=None):
                self.count.assign_add(tf.cast(tf.shape(y_true)[0], "float32"))

            def result(self):
                return self.count

        model = keras.Sequential([layers.Dense(1, input_shape=(3,))])
        model.compile("sgd", "mse", metrics=[Count()])
        history = self.fit(model, batch_size=8, epochs=2)
        self.assertEqual([20.0, 20.0], history["count"])

    def test_frozen_batch_normalization_keeps_its_averages(self):
        shared = layers.BatchNormalization()
        x = keras.Input((3,))
        model = keras.Model(x, shared(x))
        shared.trainable = False
        model.compile("sgd", "mse")
        shared.trainable = True  # settled by compile
        before = model.get_weights()
        model.train_on_batch(self.x, self.x)
        for old, new in zip(before, model.get_weights()):
            np.testing.assert_array_equal(old, new)

    def test_layers_with_the_weights_of_cudnn(self):
        from braid.tensorflow.python.keras.saving import hdf5_format

        x = keras.Input((5, 3))
        cases = (
            (layers.CuDNNLSTM, layers.LSTM(4, recurrent_activation="sigmoid")),
            (layers.CuDNNGRU, layers.GRU(4, recurrent_activation="sigmoid", reset_after=True)),
        )
        for of_cudnn, plain in cases:
            layer = of_cudnn(4, bias_initializer="random_normal")
            models = [keras.Model(x, own(x)) for own in (layer, plain)]
            plain.set_weights(hdf5_format.preprocess_weights_for_loading(plain, layer.get_weights()))
            data = np.random.RandomState(0).rand(2, 5, 3)
            np.testing.assert_allclose(*[model.predict(data) for model in models], atol=1e-6)

    def test_an_estimator_of_a_subclass(self):
        class Own(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = layers.Dense(1, kernel_initializer="zeros")

            def call(self, inputs):
                return self.dense(inputs)

        model = Own()
        model.compile("sgd", "mse")
        dense = model.dense
        estimator = keras.estimator.model_to_estimator(model, model_dir=self.directory)
        data = lambda: tf.data.Dataset.from_tensors(
            (self.x, self.x.sum(1, keepdims=True))
        ).repeat()  # noqa: E731
        estimator.train(data, steps=500)
        self.assertLess(estimator.evaluate(data, steps=1)["loss"], 0.05)
        self.assertIs(model.dense, dense)  # it has its own layers back

    def test_a_model_becomes_an_estimator_with_its_weights(self):
        model = classifier()
        self.fit(model, epochs=2)
        loss, accuracy = model.evaluate(self.x, self.y, verbose=0)
        e = keras.estimator.model_to_estimator(model, model_dir=self.directory)
        data = lambda: tf.data.Dataset.from_tensor_slices(({"a_input": self.x}, self.y)).batch(
            20
        )  # noqa: E731
        e.train(data, steps=1)
        kernel = e.get_variable_value("a/kernel")
        self.assertLess(np.abs(kernel - model.get_weights()[0]).max(), 2e-3)  # one step of Adam
        self.assertAlmostEqual(loss, e.evaluate(data)["loss"], 1)

    def test_an_estimator_s_checkpoints_of_objects_are_weights_of_the_model(self):
        model = classifier()
        e = keras.estimator.model_to_estimator(
            model, model_dir=self.directory, checkpoint_format="checkpoint"
        )
        e.train(lambda: tf.data.Dataset.from_tensors(({"a_input": self.x}, self.y)).repeat(), steps=2)
        name = "layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE"
        kernel = e.get_variable_value(name)
        self.assertGreater(np.abs(kernel - model.get_weights()[0]).max(), 0)
        model.load_weights(
            tf.train.latest_checkpoint(self.directory)
        ).expect_partial()  # without the optimizer
        np.testing.assert_array_equal(model.get_weights()[0], kernel)

    def test_an_estimator_weighs_examples(self):
        model = classifier()
        weights = np.linspace(0, 2, len(self.x)).astype(np.float32)
        loss, _ = model.evaluate(self.x, self.y, sample_weight=weights, batch_size=len(self.x), verbose=0)
        e = keras.estimator.model_to_estimator(model, model_dir=self.directory)
        features = {"features": {"a_input": self.x}, "sample_weights": weights}
        got = e.evaluate(lambda: tf.data.Dataset.from_tensors((features, self.y)), steps=1)
        self.assertAlmostEqual(loss, got["loss"], 5)


class Scaled(layers.Layer):
    """A layer that only its program knows, with a loss of its inputs."""

    def build(self, shape):
        self.scale = self.add_weight("scale", [int(shape[-1])], initializer="ones")

    def call(self, inputs):
        self.add_loss(0.5 * tf.reduce_mean(inputs), inputs=True)
        return inputs * self.scale


class Own(keras.Model):
    """A model that only its program knows."""

    def __init__(self):
        super().__init__()
        self.first = layers.Dense(4, activation="tanh", kernel_regularizer=keras.regularizers.l2(0.1))
        self.norm, self.last = layers.BatchNormalization(), layers.Dense(2)

    def call(self, inputs, training=None):
        return self.last(self.norm(self.first(inputs), training=training))


class SavedModelTest(unittest.TestCase):
    """Model.save(save_format="tf"), keras.models.load_model and tf.saved_model.load_v2."""

    def setUp(self):
        keras.backend.clear_session()
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = temporary.name
        self.x = np.random.RandomState(3).rand(6, 3).astype("f")
        self.y = np.ones((6, 2), "f")

    def saved(self, model):
        """The predictions, the loss and the variables of a model after a step, which is saved."""
        model.compile("adam", "mse")
        model.fit(self.x, self.y, verbose=0)
        found = model.predict(self.x), model.evaluate(self.x, self.y, verbose=0), model.get_weights()
        model.save(self.directory, save_format="tf")
        keras.backend.clear_session()
        return found

    def test_a_model_of_the_programs_own_is_loaded_without_its_class(self):
        expected, loss, weights = self.saved(Own())
        model = keras.models.load_model(self.directory)
        np.testing.assert_allclose(model.predict(self.x), expected, atol=1e-6)
        self.assertAlmostEqual(
            model.evaluate(self.x, self.y, verbose=0), loss, 5
        )  # with that of the regularizer
        means = [w for w in model.weights if "moving_mean" in w.name]
        before = keras.backend.get_value(means[0])
        model.fit(self.x, self.y, epochs=500, verbose=0)
        self.assertLess(model.evaluate(self.x, self.y, verbose=0), loss)
        self.assertEqual(len(model.trainable_weights), 6)
        self.assertGreater(np.abs(keras.backend.get_value(means[0]) - before).max(), 0)

    def test_layers_of_the_programs_own_are_functions_or_made_of_their_classes(self):
        inputs = keras.Input((3,))
        expected, loss, weights = self.saved(keras.Model(inputs, layers.Dense(2)(Scaled()(inputs))))
        model = keras.models.load_model(self.directory)
        np.testing.assert_allclose(model.predict(self.x), expected, atol=1e-6)
        self.assertAlmostEqual(model.evaluate(self.x, self.y, verbose=0), loss, 5)
        keras.backend.clear_session()
        model = keras.models.load_model(self.directory, custom_objects={"Scaled": Scaled})
        self.assertIsInstance(model.layers[1], Scaled)
        self.assertAlmostEqual(model.evaluate(self.x, self.y, verbose=0), loss, 5)

    def test_the_functions_of_a_model_are_called_and_written_again(self):
        expected, _, _ = self.saved(Own())
        again = os.path.join(self.directory, "again")
        with tf.Graph().as_default(), tf.Session() as session:
            loaded = tf.saved_model.load_v2(self.directory)
            outputs, trained = loaded(self.x), loaded(self.x, training=True)
            (served,) = loaded.signatures["serving_default"](tf.constant(self.x)).values()
            (gradient,) = tf.gradients(outputs, [loaded.last.bias])
            with self.assertRaisesRegex(ValueError, "Could not find matching function"):
                loaded(self.x[:, :2])
            session.run(tf.global_variables_initializer())
            got = session.run([outputs, served, gradient])
            np.testing.assert_allclose(got[0], expected, atol=1e-6)
            np.testing.assert_allclose(got[1], expected, atol=1e-6)
            np.testing.assert_array_equal(got[2], [6.0, 6.0])
            tf.saved_model.save(loaded, again, signatures={"s": loaded.signatures["serving_default"]})
            self.assertGreater(np.abs(session.run(trained) - expected).max(), 1e-3)
        with tf.Graph().as_default(), tf.Session() as session:
            graph = tf.saved_model.load(session, ["serve"], again)
            signature = graph.signature_def["s"]
            ((_, fed),), ((_, fetched),) = signature.inputs.items(), signature.outputs.items()
            np.testing.assert_allclose(session.run(fetched.name, {fed.name: self.x}), expected, atol=1e-6)

    def test_a_model_is_loaded_in_a_graph_that_has_one(self):
        expected, _, _ = self.saved(keras.Sequential([layers.Dense(2, input_shape=(3,))]))
        first = keras.models.load_model(self.directory)
        second = keras.models.load_model(self.directory)
        np.testing.assert_allclose(first.predict(self.x), expected, atol=1e-6)
        np.testing.assert_allclose(second.predict(self.x), expected, atol=1e-6)

    def test_a_model_without_inputs_and_other_directories_are_refused(self):
        with self.assertRaisesRegex(ValueError, "input shapes have not been set"):
            Own().save(self.directory, save_format="tf")
        module = tf.Module()
        module.v = tf.Variable(1.0, use_resource=True)
        with tf.Session().as_default() as session:
            session.run(module.v.initializer)
            tf.saved_model.save(module, self.directory)
        with self.assertRaisesRegex(ValueError, "Unable to create a Keras model"):
            keras.models.load_model(self.directory)


class TimeDistributedTest(unittest.TestCase):
    def test_nodes_and_seeds_are_those_of_1_15(self):
        keras.backend.clear_session()
        tf.set_random_seed(5)
        layer = layers.TimeDistributed(layers.Dropout(0.3))
        self.assertEqual(layer(layers.Input((3, 8))).shape.as_list(), [None, 3, 8])
        operations = tf.get_default_graph().get_operations()
        seeds = [o.get_attr("seed2") for o in operations if o.type == "RandomUniform"]
        self.assertEqual((seeds, [o.name for o in operations if o.type == "Pack"]), ([14], []))

    def test_unknown_sizes_come_from_the_tensor(self):
        x, mask = layers.Input((None, None, 2)), layers.Input((None, None))
        masked = layers.Lambda(lambda both: both[0], mask=lambda both, _: tf.cast(both[1], tf.bool))(
            [x, mask]
        )
        hidden = layers.TimeDistributed(layers.GRU(4))(masked)
        model = keras.Model(
            [x, mask], [hidden, layers.Lambda(lambda y, mask=None: tf.cast(mask, tf.int32))(hidden)]
        )
        values = np.random.RandomState(0).rand(2, 3, 5, 2)
        steps = np.array([[[1, 1, 0, 0, 0]] * 2 + [[0] * 5]] * 2)
        outputs, lengths = model.predict([values, steps])
        shorter, _ = model.predict([values[:, :, :2], steps[:, :, :2]])
        np.testing.assert_allclose(outputs, shorter, rtol=1e-6)
        self.assertEqual(lengths.tolist(), [[1, 1, 0]] * 2)


class NASNetTest(unittest.TestCase):
    def test_weights_are_in_the_scopes_of_the_cells(self):
        keras.backend.clear_session()
        shape = (32, 32, 3)
        model = keras.applications.NASNetMobile(weights=None, include_top=False, input_shape=shape)
        names = {w.name for w in model.weights}
        cell, adjusted = "normal_A_block_0/", "adjust_block/adjust_reduction_block_0/adjust_conv_1_0/kernel:0"
        block = "block_1/separable_conv_block_normal_left1_0/"
        self.assertIn(cell + adjusted, names)
        self.assertIn(cell + block + "separable_conv_1_normal_left1_0/depthwise_kernel:0", names)
        self.assertIn("reduction_A_block_stem_1/reduction_bn_1_stem_1/gamma:0", names)
        kinds = [o.type for o in tf.get_default_graph().get_operations() if "depthwise_kernel/Init" in o.name]
        self.assertNotIn("TruncatedNormal", kinds)  # the default, as in TensorFlow 1.15


class SaveTest(unittest.TestCase):
    def test_a_savedmodel_leaves_other_files_of_its_directory(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
        with tempfile.TemporaryDirectory() as directory:
            open(directory + "/other", "w").close()
            with mock.patch("importlib.util.find_spec", return_value=None):  # no h5py
                model.save(directory)
                model.save(directory)
            self.assertEqual(
                sorted(os.listdir(directory)), ["assets", "other", "saved_model.pb", "variables"]
            )
            loaded = tf.keras.models.load_model(directory)
        np.testing.assert_array_equal(loaded.get_weights()[0], model.get_weights()[0])

    def test_the_session_of_keras_places_nodes_softly(self):
        tf.keras.backend.clear_session()
        with tf.device("/gpu:0"):
            model = tf.keras.Sequential(
                [tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(2,))]
            )
        self.assertEqual(model.predict(np.ones([1, 2])), 2.0)

    def test_numpy_of_a_variable_is_its_value_in_the_session_of_keras(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,), kernel_initializer="ones")])
        tf.keras.backend.get_session()
        np.testing.assert_array_equal(model.weights[0].numpy(), [[1.0], [1.0]])
        with tf.Graph().as_default():
            self.assertRaises(NotImplementedError, tf.Variable(1.0).numpy)


if __name__ == "__main__":
    unittest.main()
