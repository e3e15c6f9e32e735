# Feature columns give the numbers, the names and the errors that TensorFlow 1.15's give (compared with
# tf.compat.v1).
import json
import unittest

import support  # noqa: F401, before the others: where the package is
import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.python.feature_column import feature_column as old
from braid.tensorflow.python.feature_column import feature_column_v2 as new
from braid.tensorflow.python.feature_column import serialization

fc = tf.feature_column


def evaluate(tensor, assign=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        for variable, value in assign or []:
            variable.load(value, session)
        return session.run(tensor)


class Columns(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.features = {
            "x": tf.constant([[0.5, 2.0], [-1.0, 0.3]]),
            "s": tf.constant([["a"], [""]]),
            "k": tf.constant([[1], [3]], tf.int64),
            "w": tf.constant([[0.5], [2.0]]),
            "v": tf.constant(["b", "zz"]),
        }
        self.x = fc.numeric_column("x", shape=(2,))
        self.buckets = fc.bucketized_column(self.x, [0.0, 1.0])

    def test_numbers_are_normalized_and_bucketized(self):
        shifted = fc.numeric_column("x", shape=(2,), normalizer_fn=lambda x: x * 2)
        np.testing.assert_allclose([[1, 4], [-2, 0.6]], evaluate(fc.input_layer(self.features, [shifted])))
        hot = evaluate(fc.input_layer(self.features, [self.buckets]))
        self.assertEqual([[0, 1, 0, 0, 0, 1], [1, 0, 0, 0, 1, 0]], hot.tolist())

    def test_ids_are_those_of_tensorflow(self):
        columns = [
            fc.indicator_column(fc.categorical_column_with_hash_bucket("s", 10)),
            fc.indicator_column(fc.categorical_column_with_identity("k", 5, default_value=0)),
            fc.indicator_column(
                fc.categorical_column_with_vocabulary_list("v", ["a", "b"], num_oov_buckets=2)
            ),
            fc.indicator_column(fc.crossed_column([self.buckets, "s"], 7)),
        ]
        values = evaluate(fc.input_layer(self.features, columns))
        # In the order of names: k, s_X_x_bucketized, s, v. An empty string is no id, but crosses take it.
        ids = [np.flatnonzero(row).tolist() for row in values]
        self.assertEqual([[1, 5, 6, 21, 23], [3, 5, 7, 24]], ids)

    def test_an_embedding_is_the_weighted_mean_of_rows(self):
        ids = fc.categorical_column_with_identity("k", 5)
        column = fc.embedding_column(fc.weighted_categorical_column(ids, "w"), 2, combiner="sum")
        layer = fc.input_layer(self.features, [column])
        (weights,) = tf.global_variables()
        self.assertEqual("input_layer/k_weighted_by_w_embedding/embedding_weights:0", weights.name)
        table = np.arange(10.0).reshape(5, 2)
        self.assertEqual([[1.0, 1.5], [12.0, 14.0]], evaluate(layer, [(weights, table)]).tolist())

    def test_shared_embeddings_have_one_variable(self):
        a, b = [fc.categorical_column_with_identity(key, 5, default_value=0) for key in "ab"]
        features = {"a": tf.constant([[1, -1], [2, 3]], tf.int64), "b": tf.constant([[4], [9]], tf.int64)}
        layer = fc.input_layer(features, fc.shared_embedding_columns([b, a], 2))
        (weights,) = tf.global_variables()
        self.assertEqual("input_layer/a_b_shared_embedding/embedding_weights:0", weights.name)
        table = np.arange(10.0).reshape(5, 2)
        # -1 is no id; 9 is outside and becomes 0.
        self.assertEqual([[2, 3, 8, 9], [5, 6, 0, 1]], evaluate(layer, [(weights, table)]).tolist())

    def test_a_linear_model_adds_the_weights_of_ids(self):
        variables = {}
        ids = fc.categorical_column_with_identity("k", 5)
        model = fc.linear_model(self.features, [self.x, ids, self.buckets], units=1, cols_to_vars=variables)
        names = [v.name for v in tf.global_variables()]
        self.assertEqual(
            [
                "linear_model/k/weights:0",
                "linear_model/x/weights:0",
                "linear_model/x_bucketized/weights:0",
                "linear_model/bias_weights:0",
            ],
            names,
        )
        self.assertEqual(names[-1], variables["bias"][0].name)
        values = [
            np.arange(float(np.prod(v.shape.as_list()))).reshape(v.shape.as_list())
            for v in tf.global_variables()
        ]
        values[-1] = np.array([100.0])
        result = evaluate(model, zip(tf.global_variables(), values))
        # x * [0, 1] + the id + buckets of each number + bias
        np.testing.assert_allclose([[2.0 + 1 + (1 + 5) + 100], [0.3 + 3 + (0 + 4) + 100]], result, rtol=1e-6)

    def test_the_specification_for_parsing_has_all_features(self):
        columns = [self.buckets, fc.crossed_column([self.buckets, "s"], 7)]
        spec = fc.make_parse_example_spec(columns)
        self.assertEqual({"x": tf.FixedLenFeature((2,), tf.float32), "s": tf.VarLenFeature(tf.string)}, spec)

    def test_columns_are_written_and_read(self):
        double = lambda x: x * 2  # noqa: E731, a function that has a name in custom_objects
        x = fc.numeric_column("x", shape=(2,), normalizer_fn=double)
        buckets = fc.bucketized_column(x, [0.0, 1.0])
        embedding = fc.embedding_column(fc.categorical_column_with_identity("k", 5), 3)
        configs = json.loads(json.dumps(serialization.serialize_feature_columns([x, buckets, embedding])))
        self.assertEqual({"class_name": "NumericColumn", "config": configs[0]["config"]}, configs[0])
        read = serialization.deserialize_feature_columns(configs, custom_objects={"<lambda>": double})
        self.assertEqual([x, buckets], read[:2])
        self.assertIs(read[0], read[1].source_column)
        self.assertEqual(embedding._get_config(), read[2]._get_config())
        with self.assertRaisesRegex(ValueError, "Invalid config.*expected keys"):
            serialization.deserialize_feature_column({"class_name": "NumericColumn", "config": {"key": "x"}})

    def test_a_class_of_the_program_has_both_interfaces(self):
        # As tensorflow_hub's text_embedding_column.
        class Length(old._DenseColumn, new.DenseColumn):
            name = "length"
            _is_v2_column = True
            variable_shape = _variable_shape = tf.TensorShape([1])
            parse_example_spec = _parse_example_spec = {"s": tf.FixedLenFeature([1], tf.string)}

            def transform_feature(self, cache, state_manager):
                return tf.cast(tf.strings.length(cache.get("s", state_manager)), tf.float32)

            def _transform_feature(self, inputs):
                return self.transform_feature(inputs, None)

            def get_dense_tensor(self, cache, state_manager):
                return cache.get(self, state_manager)

            def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
                return inputs.get(self)

        for layer in (lambda f: fc.input_layer(f, [Length()]), tf.keras.layers.DenseFeatures([Length()])):
            self.assertEqual([[1], [0]], evaluate(layer(self.features)).tolist())

    def test_refusals(self):
        for wrong, words in (
            (lambda: fc.bucketized_column(self.x, [1.0, 0.0]), "sorted list"),
            (lambda: fc.crossed_column(["a"], 5), "length > 1"),
            (lambda: fc.categorical_column_with_vocabulary_list("v", ["a", "a"]), "Duplicate"),
            (lambda: fc.input_layer(self.features, [self.x, self.x]), "Duplicate feature column"),
            (lambda: fc.input_layer({}, [self.x]), "not in features"),
            (lambda: fc.numeric_column("x", shape=(0,)), "greater than 0"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                wrong()
        out_of_range = fc.indicator_column(fc.categorical_column_with_identity("k", 2))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "assert_less_than_num_buckets"):
            evaluate(fc.input_layer(self.features, [out_of_range]))


if __name__ == "__main__":
    unittest.main()
