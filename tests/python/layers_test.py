"""tf.layers: the names of their weights and nodes, sharing, collections, and values."""

import unittest

import support
import braid.tensorflow as tf
import numpy as np

IMAGES = (np.arange(2 * 4 * 4 * 3) % 7).reshape([2, 4, 4, 3]).astype(np.float32)


def names(variables):
    return [v.op.name for v in variables]


class LayersTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def run_after_initialization(self, *fetches):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            results = [session.run(fetch) for fetch in fetches]
        return results[0] if len(results) == 1 else results

    def test_weights_are_named_by_the_scope_of_the_layer(self):
        x = tf.placeholder(tf.float32, [None, 5])
        tf.layers.dense(x, 3)
        tf.layers.dense(x, 3, use_bias=False)
        with tf.variable_scope("s"):
            tf.layers.dense(x, 3, name="d", activation=tf.nn.relu)
        self.assertEqual(
            names(tf.trainable_variables()),
            ["dense/kernel", "dense/bias", "dense_1/kernel", "s/d/kernel", "s/d/bias"],
        )
        nodes = [op.name for op in tf.get_default_graph().get_operations() if op.type in ("MatMul", "Relu")]
        self.assertEqual(nodes, ["dense/MatMul", "dense_1/MatMul", "s/d/MatMul", "s/d/Relu"])
        self.assertEqual(tf.global_variables()[0].dtype, tf.float32._as_ref)

    def test_a_layer_shares_its_weights_between_calls_and_by_name(self):
        x = tf.ones([2, 5])
        layer = tf.layers.Dense(3)
        with self.assertRaisesRegex(ValueError, "has not been used yet"):
            layer.scope_name
        first, second = layer(x), layer(x)
        self.assertEqual((first.name, second.name), ("dense/BiasAdd:0", "dense/BiasAdd_1:0"))
        self.assertEqual((layer.scope_name, names(layer.weights)), ("dense", ["dense/kernel", "dense/bias"]))
        tf.layers.dense(x, 3, name="d")
        again = tf.layers.dense(x, 3, name="d", reuse=True)
        self.assertEqual(again.name, "d_1/BiasAdd:0")
        with self.assertRaisesRegex(ValueError, "d/kernel already exists"):
            tf.layers.dense(x, 3, name="d")
        self.assertEqual(len(tf.global_variables()), 4)

    def test_losses_of_weights_are_collected(self):
        x = tf.ones([2, 5])
        with tf.variable_scope("s", initializer=tf.ones_initializer()):
            tf.layers.dense(x, 2, kernel_regularizer=tf.nn.l2_loss)
        losses = tf.losses.get_regularization_losses()
        self.assertEqual([loss.name for loss in losses], ["s/dense/kernel/Regularizer/L2Loss:0"])
        self.assertEqual(self.run_after_initialization(tf.losses.get_regularization_loss()), 5)

    def test_inputs_that_do_not_fit_are_refused(self):
        with self.assertRaisesRegex(ValueError, "last dimension"):
            tf.layers.dense(tf.placeholder(tf.float32, [None, None]), 3)
        with self.assertRaisesRegex(ValueError, "min_ndim=2"):
            tf.layers.dense(tf.ones([3]), 3)
        with self.assertRaisesRegex(ValueError, "ndim=4"):
            tf.layers.conv2d(tf.ones([3, 3]), 3, 3)

    def test_convolutions_and_pools(self):
        x = tf.placeholder_with_default(IMAGES, [None, 4, 4, 3])
        with tf.variable_scope("", initializer=tf.ones_initializer()):
            plain = tf.layers.conv2d(x, 2, 3)
            strided = tf.layers.conv2d(x, 2, [3, 1], strides=(2, 1), padding="same", use_bias=False)
            separable = tf.layers.separable_conv2d(x, 2, 3)
            transposed = tf.layers.conv2d_transpose(x, 2, 3, strides=2)
            sequence = tf.layers.conv1d(x[0], 2, 3)
        pooled = tf.layers.max_pooling2d(x, 2, 2)
        shapes = [t.shape.as_list() for t in (plain, strided, separable, transposed, sequence, pooled)]
        self.assertEqual(
            shapes,
            [[None, 2, 2, 2], [None, 2, 4, 2], [None, 2, 2, 2], [None, 9, 9, 2], [4, 2, 2], [None, 2, 2, 3]],
        )
        self.assertEqual(
            names(tf.trainable_variables())[3:6],
            [
                "separable_conv2d/depthwise_kernel",
                "separable_conv2d/pointwise_kernel",
                "separable_conv2d/bias",
            ],
        )
        values = self.run_after_initialization(plain, separable, strided, pooled)
        window = IMAGES[0, :3, :3].sum()
        np.testing.assert_array_equal(values[0][0, 0, 0], [window, window])
        np.testing.assert_array_equal(values[0], values[1])
        self.assertEqual(values[2][0, 0, 0, 0], IMAGES[0, :3, 0].sum())
        self.assertEqual(values[3][0, 0, 0, 0], IMAGES[0, :2, :2, 0].max())

    def test_what_the_fused_kernel_does_not_do_is_done_without_it(self):
        x = tf.constant(np.random.RandomState(0).randn(4, 2, 2, 3).astype(np.float32))
        adjust = {"adjustment": lambda shape: (tf.fill([1, 1, 1, 3], 2.0), tf.ones([1, 1, 1, 3]))}
        for arguments in adjust, {"renorm": True}, {"virtual_batch_size": 2}:
            layers = [tf.layers.BatchNormalization(fused=fused, **arguments) for fused in (True, False)]
            results = [layer(x, training=True) for layer in layers]
            self.assertEqual([layer.fused for layer in layers], [False, False])
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                np.testing.assert_allclose(*session.run(results), rtol=1e-5)

    def test_batch_normalization_in_training_and_after(self):
        x = tf.placeholder_with_default(IMAGES, [None, 4, 4, 3])
        is_training = tf.placeholder_with_default(True, [])
        for arguments in {"training": True}, {"training": is_training}, {"training": True, "fused": False}:
            tf.get_default_graph().clear_collection(tf.GraphKeys.UPDATE_OPS)
            normalized = tf.layers.batch_normalization(x, momentum=0.9, **arguments)
            updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
            mean, variance = tf.global_variables()[-2:]
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                values = session.run([normalized, updates])[0]
                moved = session.run([mean, variance])
            np.testing.assert_allclose(values.mean((0, 1, 2)), [0, 0, 0], atol=1e-5)
            np.testing.assert_allclose(values.std((0, 1, 2)), [1, 1, 1], atol=1e-3)
            np.testing.assert_allclose(moved[0], 0.1 * IMAGES.mean((0, 1, 2)), rtol=1e-4)
            correction = 1 if arguments.get("fused") is False else 32 / 31
            np.testing.assert_allclose(moved[1], 0.9 + 0.1 * correction * IMAGES.var((0, 1, 2)), rtol=1e-4)
        tf.layers.batch_normalization(x, name="off")
        self.assertEqual(
            names(tf.global_variables())[:4],
            [
                "batch_normalization/gamma",
                "batch_normalization/beta",
                "batch_normalization/moving_mean",
                "batch_normalization/moving_variance",
            ],
        )
        self.assertEqual(len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)), 2)

    def test_dropout_and_flatten(self):
        x = tf.ones([2, 500])
        on, off = tf.layers.dropout(x, 0.3, training=True, seed=1), tf.layers.dropout(x, 0.3)
        flat = tf.layers.flatten(tf.placeholder_with_default(IMAGES, [None, 4, 4, 3]))
        self.assertEqual(flat.shape.as_list(), [None, 48])
        dropped, kept = self.run_after_initialization(on, off)
        np.testing.assert_array_equal(kept, np.ones([2, 500]))
        self.assertAlmostEqual(float(dropped.mean()), 1, delta=0.1)
        np.testing.assert_allclose(np.unique(dropped), [0, 1 / 0.7], rtol=1e-6)

    def test_a_class_of_the_program(self):
        class Scale(tf.layers.Layer):
            def build(self, shape):
                self.factor = self.add_variable("factor", [int(shape[-1])], initializer=tf.ones_initializer())
                super().build(shape)

            def call(self, inputs):
                return inputs * self.factor

        layer = Scale()
        result = layer.apply(tf.constant([[1.0, 2.0]]))
        self.assertEqual(names(layer.trainable_variables), ["scale/factor"])
        np.testing.assert_array_equal(self.run_after_initialization(result), [[1, 2]])


class ContribTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_a_layer_may_keep_a_list_of_its_own_named_layers(self):
        class Stack(tf.keras.layers.Layer):
            def __init__(self):
                super().__init__()
                self._layers = []
                self._layers.append(tf.keras.layers.Dense(3))

            def call(self, inputs):
                return self._layers[0](inputs)

        stack = Stack()
        stack(tf.zeros([2, 4]))
        self.assertEqual([v.shape.as_list() for v in stack.trainable_weights], [[4, 3], [3]])

    def test_lookups_in_parts_of_several_types_are_refused(self):
        ids = tf.SparseTensor([[0, 0], [1, 0]], tf.constant([1, 3], tf.int64), [2, 1])
        parts = [np.ones([2, 3], np.float32), 2 * np.ones([2, 3], np.float32)]
        look_up = tf.contrib.layers.safe_embedding_lookup_sparse
        with tf.Session() as session:
            found = session.run(look_up(parts, ids))
        np.testing.assert_allclose(found, [[1, 1, 1], [2, 2, 2]])
        weights = tf.SparseTensor(ids.indices, tf.ones([2], tf.float64), ids.dense_shape)
        with self.assertRaises(ValueError):
            look_up([parts[0], parts[1].astype(np.float64)], ids)
        with self.assertRaises(ValueError):
            look_up([tf.constant(part) for part in parts], ids, weights)

    def test_arguments_by_scope(self):
        layers = tf.contrib.layers
        x = tf.placeholder_with_default(IMAGES, [None, 4, 4, 3])
        with tf.contrib.framework.arg_scope(
            [layers.conv2d, layers.fully_connected],
            normalizer_fn=layers.batch_norm,
            weights_regularizer=layers.l2_regularizer(0.5),
        ):
            net = layers.conv2d(x, 2, 3, scope="c")
            net = layers.flatten(layers.max_pool2d(net, 2))
            net = layers.fully_connected(net, 3, activation_fn=None, normalizer_fn=None)
        self.assertEqual(net.shape.as_list(), [None, 3])
        self.assertEqual(
            names(tf.model_variables()),
            [
                "c/weights",
                "c/BatchNorm/beta",
                "c/BatchNorm/moving_mean",
                "c/BatchNorm/moving_variance",
                "fully_connected/weights",
                "fully_connected/biases",
            ],
        )
        self.assertEqual(len(tf.losses.get_regularization_losses()), 2)
        self.assertEqual(len(tf.get_collection(tf.GraphKeys.UPDATE_OPS)), 2)

    def test_a_loss_is_optimized(self):
        tf.set_random_seed(1)
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        net = tf.contrib.layers.fully_connected(x, 1, activation_fn=None)
        loss = tf.losses.mean_squared_error([[1.0], [2.0]], net)
        train = tf.contrib.layers.optimize_loss(
            loss, tf.train.get_or_create_global_step(), 0.1, "Adam", clip_gradients=5.0
        )
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            losses = [session.run(train) for _ in range(50)]
            self.assertEqual(session.run(tf.train.get_global_step()), 50)
        self.assertLess(losses[-1], losses[0] / 2)


class SeedsTest(unittest.TestCase):
    """Ops without a seed take the graph's and the number of the nodes before them: where a function makes as
    many nodes as TensorFlow 1.15's, a program with tf.set_random_seed draws TensorFlow's numbers."""

    def test_functions_make_as_many_nodes_as_those_of_tensorflow(self):
        tf.reset_default_graph()
        tf.set_random_seed(1)
        images = tf.placeholder(tf.float32, [None, 8, 8, 3])
        sequences = tf.placeholder(tf.float32, [None, None, 4])
        classes = tf.placeholder(tf.int32, [None, None])
        cell = tf.nn.rnn_cell.BasicLSTMCell(3)
        functions = [
            (lambda: tf.layers.conv2d(images, 4, 3), 23),
            (lambda: tf.layers.conv2d(images, 4, 3, padding="same", dilation_rate=2), 58),
            (lambda: tf.layers.conv2d_transpose(images, 4, 3), 108),
            (lambda: tf.nn.convolution(images, tf.ones([3, 3, 3, 4]), "SAME"), 117),
            (lambda: tf.nn.dynamic_rnn(cell, sequences, dtype=tf.float32)[0], 283),
            (lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=sequences), 324),
            (lambda: tf.clip_by_global_norm([tf.ones([2])], 1.0), 352),
            (lambda: tf.assert_equal(tf.placeholder(tf.float32), 1.0), 385),
            (lambda: tf.reduce_logsumexp(tf.ones([2])), 407),
        ]
        for function, seed in functions:
            function()
            tf.random_uniform([])
            drawn = [op for op in tf.get_default_graph().get_operations() if op.type == "RandomUniform"]
            self.assertEqual(drawn[-1].get_attr("seed2"), seed)

    def test_labels_of_another_shape_than_the_logits_fail_when_the_shapes_are_known(self):
        tf.reset_default_graph()
        labels = tf.placeholder(tf.int32, [None, None])
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=tf.zeros([2, 3, 4]))
        with tf.Session() as session:
            self.assertEqual(session.run(loss, {labels: np.zeros([2, 3])}).shape, (2, 3))
            with self.assertRaises(tf.errors.InvalidArgumentError):
                session.run(loss, {labels: np.zeros([3, 2])})


if __name__ == "__main__":
    unittest.main()
