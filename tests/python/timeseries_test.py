# timeout: 120
"""tf.contrib.timeseries: values that TensorFlow 1.15 gives, exported models, readers and windows."""

import os
import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.contrib.timeseries.python.timeseries import ar_model, estimators, input_pipeline
from braid.tensorflow.contrib.timeseries.python.timeseries.state_space_models import kalman_filter

ts = tf.contrib.timeseries
TIMES = np.arange(48)
VALUES = (np.sin(TIMES / 3.0) * 4 + TIMES * 0.25 + (TIMES % 7 == 3)).astype(np.float32)
SERIES = {"times": TIMES, "values": VALUES[:, None], "flag": (TIMES % 7 == 3).astype(np.float32)[:, None]}


class SeededConfig(tf.estimator.RunConfig):
    @property
    def tf_random_seed(self):
        return 3


def flag():
    return [tf.feature_column.numeric_column("flag")]


def structural():
    return ts.StructuralEnsembleRegressor(
        5.5,
        1,
        cycle_num_latent_values=3,
        moving_average_order=1,
        anomaly_prior_probability=0.05,
        exogenous_feature_columns=flag(),
        exogenous_update_condition=lambda times, features: features["flag"][:, 0] > 0,
        config=SeededConfig(),
    )


REGRESSORS = {
    "linear": (lambda: ts.ARRegressor(7, 6, 2, 1, config=SeededConfig()), 8),
    "squared": (
        lambda: ts.ARRegressor(
            [7, 5],
            2,
            4,
            1,
            exogenous_feature_columns=flag(),
            hidden_layer_sizes=[5],
            loss=ts.ARModel.SQUARED_LOSS,
            config=SeededConfig(),
        ),
        6,
    ),
    "anomalies": (
        lambda: ts.ARRegressor(
            7, 0, 2, 1, anomaly_prior_probability=0.1, anomaly_distribution="cauchy", config=SeededConfig()
        ),
        2,
    ),
    "lstm": (
        lambda: estimators.TimeSeriesRegressor(
            ar_model.ARModel(7, 6, 2, 1, lambda **sizes: ar_model.LSTMPredictionModel(num_units=4, **sizes)),
            config=SeededConfig(),
        ),
        8,
    ),
    "structural": (structural, 6),
}
# The loss of the whole series, and three predictions' means and variances, after three steps.
EXPECTED = {
    "linear": (1.340393, [12.4633, 10.3433, 11.0531], [20.8279, 23.645, 19.0899]),
    "squared": (19.31374, [8.34465, 9.60497, 7.80873], [11.3262, 11.3262, 11.3262]),
    "anomalies": (2.088669, [7.54195, 8.03992, 7.43116], [12.623, 12.147, 10.8212]),
    "lstm": (1.66957, [7.20208, 7.26039, 7.30958], [23.4393, 21.2038, 17.7969]),
    "structural": (2.405792, [16.9199, 21.4112, 22.3626], [127.509, 340.463, 441.256]),
}


def windows(size):
    """An input_fn of two windows for each step."""

    def input_fn():
        starts = np.random.RandomState(7).randint(0, len(TIMES) - size + 1, size=[10, 2])
        step = tf.train.get_global_step() % 10
        features = {}
        for key, value in sorted(SERIES.items()):
            cut = np.stack([[value[start : start + size] for start in row] for row in starts])
            features[key] = tf.gather(tf.constant(cut), step)
        return features, None

    return input_fn


def train_and_predict(name):
    make, size = REGRESSORS[name]
    estimator = make()
    estimator.train(windows(size), steps=3)
    whole = ts.WholeDatasetInputFn(ts.NumpyReader(SERIES))
    evaluation = estimator.evaluate(whole, steps=1)
    exogenous = {"flag": [[[0.0], [1.0], [0.0]]]}
    input_fn = ts.predict_continuation_input_fn(evaluation, steps=3, exogenous_features=exogenous)
    (prediction,) = estimator.predict(input_fn)
    return estimator, evaluation, prediction


def run_once(make):
    """What the tensors of an input function are in a session with its queues."""
    with tf.Graph().as_default():
        tensors = make()
        with tf.train.MonitoredSession() as session:
            return session.run(tensors)


class TimeSeriesTest(unittest.TestCase):
    def setUp(self):
        tf.logging.set_verbosity(tf.logging.ERROR)

    def test_regressors_learn_what_those_of_tensorflow_learn(self):
        for name, (loss, mean, variance) in EXPECTED.items():
            with self.subTest(name):
                _, evaluation, prediction = train_and_predict(name)
                np.testing.assert_allclose(evaluation["loss"], loss, rtol=1e-4)
                np.testing.assert_allclose(prediction["mean"][:, 0], mean, rtol=1e-4)
                np.testing.assert_allclose(prediction["covariance"].reshape(-1), variance, rtol=1e-3)

    def test_exported_models_filter_and_predict_as_their_estimator(self):
        estimator, evaluation, prediction = train_and_predict("linear")
        path = estimator.export_saved_model(
            tempfile.mkdtemp(), estimator.build_raw_serving_input_receiver_fn()
        )
        first = {key: SERIES[key][:40] for key in ("times", "values")}
        rest = {key: SERIES[key][40:] for key in ("times", "values")}
        utils = ts.saved_model_utils
        with tf.Graph().as_default(), tf.Session() as session:
            signatures = tf.saved_model.loader.load(session, ["serve"], path)
            state = utils.cold_start_filter(signatures, session, first)
            state = utils.filter_continuation(state, signatures, session, rest)
            for before in (state, evaluation):
                output = utils.predict_continuation(before, signatures, session, steps=3)
                np.testing.assert_allclose(output["mean"][0], prediction["mean"], rtol=1e-5)
                np.testing.assert_array_equal(output["times"], [[48, 49, 50]])
            with self.assertRaisesRegex(ValueError, "must be after the corresponding"):
                utils.predict_continuation(state, signatures, session, times=[47, 48])

    def test_readers_yield_whole_series_of_several_files(self):
        directory = tempfile.mkdtemp()
        names = [os.path.join(directory, name) for name in ("a.csv", "b.csv")]
        for name, rows in zip(names, (range(3), range(3, 5))):
            with open(name, "w") as file:
                file.write("time,one,two\n" + "".join(f"{i},{i * 2},{i * 3}\n" for i in rows))
        columns = (ts.TrainEvalFeatures.TIMES,) + (ts.TrainEvalFeatures.VALUES,) * 2
        reader = ts.CSVReader(names, column_names=columns, skip_header_lines=1)
        features = run_once(lambda: ts.WholeDatasetInputFn(reader)()[0])
        np.testing.assert_array_equal(features["times"], [range(5)])
        np.testing.assert_array_equal(features["values"], [[[i * 2, i * 3] for i in range(5)]])

    def test_windows_out_of_order_are_sorted_or_left_out(self):
        series = {"times": [5, 6, 7, 1, 2, 3], "values": [50.0, 60, 70, 10, 20, 30]}
        for discard in (False, True):
            input_fn = ts.RandomWindowInputFn(
                ts.NumpyReader(series), window_size=3, batch_size=8, discard_out_of_order=discard
            )
            features = run_once(lambda: input_fn()[0])
            times, values = features["times"], features["values"]
            self.assertEqual(times.shape, (8, 3))
            self.assertTrue((times[:, 1:] >= times[:, :-1]).all())
            np.testing.assert_array_equal(values[..., 0], times * 10)

    def test_series_that_are_too_short_or_have_other_shapes_are_refused(self):
        reader = ts.NumpyReader({"times": range(3), "values": [1.0, 2, 3]})
        with self.assertRaisesRegex(ValueError, "only 3 records were available"):
            ts.RandomWindowInputFn(reader, window_size=4, batch_size=1)
        with self.assertRaisesRegex(ValueError, "prefixed by the shape of the times feature"):
            ts.NumpyReader({"times": range(3), "values": [1.0, 2]})
        with self.assertRaisesRegex(ValueError, "expecting unbatched input"):
            ts.NumpyReader({"times": [[1], [2]], "values": [[1.0], [2.0]]})
        with self.assertRaisesRegex(ValueError, "expects feature 'times' to have shape"):
            ts.ARRegressor(7, 6, 2, 1).train(windows(9), steps=1)

    def test_an_observation_model_may_have_no_known_rank(self):
        mean, variance = kalman_filter.KalmanFilter().posterior_from_prior_state(
            prior_state=tf.constant([[0.0, 1.0]]),
            prior_state_var=tf.eye(2, batch_shape=[1]),
            observation=tf.constant([[2.0]]),
            observation_model=tf.placeholder_with_default([[[1.0, 0.0]]], None),
            predicted_observations=(tf.constant([[0.0]]), tf.constant([[[2.0]]])),
            observation_noise=tf.constant([[1.0]]),
        )
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(mean), [[1, 1]], rtol=1e-6)
            np.testing.assert_allclose(session.run(variance), [[[0.5, 0], [0, 1]]], rtol=1e-6)

    def test_examples_have_a_time_each(self):
        path = os.path.join(tempfile.mkdtemp(), "series")
        with tf.python_io.TFRecordWriter(path) as writer:
            for i in range(4):
                example = tf.train.Example()
                example.features.feature["times"].int64_list.value.append(i)
                example.features.feature["values"].float_list.value.append(i / 2)
                writer.write(example.SerializeToString())
        specs = {
            "times": tf.FixedLenFeature([], tf.int64),
            "values": tf.FixedLenFeature([1], tf.float32),
        }
        features = run_once(input_pipeline.TFExampleReader(path, specs).read_full)
        np.testing.assert_array_equal(features["times"], range(4))
        np.testing.assert_array_equal(features["values"][:, 0], [0, 0.5, 1, 1.5])


if __name__ == "__main__":
    unittest.main()
