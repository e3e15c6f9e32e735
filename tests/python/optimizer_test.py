"""Optimizers: values as TensorFlow computes them, names of nodes and slots; averages; learning rates."""

import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.python.training import moving_averages, optimizer, slot_creator

train = tf.train

# w[0, 0], w[1, 0] and w[2, 2] after three steps of TensorFlow 2.15 from the model of _build, with a gradient
# for all of w, and for rows 1, 2 and 1 again.
VALUES = {
    "sgd": ([0.3296, 0.4832, 0.7968], [0.0, 0.612, 0.8096]),
    "momentum": ([0.6212, 0.6398, 0.786], [0.0, 0.882, 0.8132]),
    "nesterov": ([0.608758, 0.576253, 0.703747], [0.0, 0.639432, 0.73819]),
    "adam": ([0.295165, 0.590405, 0.966978], [0.0, 0.590385, 0.967449]),
    "adagrad": ([0.207666, 0.495598, 0.873522], [0.0, 0.498225, 0.874675]),
    "adagrad_da": ([0.170571, 0.171607, 0.155222], [0.0, 0.172577, 0.155225]),
    "adadelta": ([0.000135682, 0.300136, 0.800136], [0.0, 0.300136, 0.800136]),
    "rmsprop": ([0.484265, 0.615701, 0.804484], [0.0, 0.745321, 0.817066]),
    "centered": ([0.34731, 0.52511, 0.807272], [0.0, 0.622894, 0.816359]),
    "ftrl": ([0.206153, 0.435605, 0.521246], [0.0, 0.467973, 0.522731]),
    "shrinkage": ([0.206406, 0.435105, 0.518862], [0.0, 0.46766, 0.52035]),
    "proximal_adagrad": ([0.206524, 0.493987, 0.869844], [0.0, 0.497441, 0.871101]),
    "proximal": ([0.3274, 0.481, 0.7946], [0.0, 0.6106, 0.80748]),
}

# Each with its slots.
OPTIMIZERS = {
    "sgd": (lambda step: train.GradientDescentOptimizer(0.1), []),
    "momentum": (lambda step: train.MomentumOptimizer(0.1, 0.9), ["momentum"]),
    "nesterov": (lambda step: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), ["momentum"]),
    "adam": (lambda step: train.AdamOptimizer(0.1), ["m", "v"]),
    "adagrad": (lambda step: train.AdagradOptimizer(0.1), ["accumulator"]),
    "adagrad_da": (
        lambda step: train.AdagradDAOptimizer(0.1, step),
        ["gradient_accumulator", "gradient_squared_accumulator"],
    ),
    "adadelta": (lambda step: train.AdadeltaOptimizer(0.1), ["accum", "accum_update"]),
    "rmsprop": (lambda step: train.RMSPropOptimizer(0.1, momentum=0.5), ["momentum", "rms"]),
    "centered": (lambda step: train.RMSPropOptimizer(0.1, centered=True), ["mg", "momentum", "rms"]),
    "ftrl": (lambda step: train.FtrlOptimizer(0.1, l1_regularization_strength=0.01), ["accum", "linear"]),
    "shrinkage": (
        lambda step: train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.01),
        ["accum", "linear"],
    ),
    "proximal_adagrad": (
        lambda step: train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01),
        ["accumulator"],
    ),
    "proximal": (
        lambda step: train.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.01),
        [],
    ),
}


def _build(is_sparse, use_resource):
    """(loss, global step, w) of sum((w or rows of w + b - 1)^2) in a new graph."""
    tf.reset_default_graph()
    start = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
    with tf.variable_scope("a"):
        w = tf.get_variable("w", initializer=start, use_resource=use_resource)
        b = tf.get_variable("b", [3], initializer=tf.zeros_initializer(), use_resource=use_resource)
    step = train.get_or_create_global_step()
    used = tf.gather(w, [1, 2, 1]) if is_sparse else w
    return tf.reduce_sum(tf.square(used + b - 1.0)), step, w


def _run(op, count, *fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(count):
            session.run(op)
        return session.run(fetches)


class ValuesTest(unittest.TestCase):
    def check(self, is_sparse, use_resource):
        for name, (make, slots) in OPTIMIZERS.items():
            with self.subTest(name):
                loss, step, w = _build(is_sparse, use_resource)
                made = make(step)
                value, steps = _run(made.minimize(loss, global_step=step), 3, w, step)
                got = [value[0, 0], value[1, 0], value[2, 2]]
                np.testing.assert_allclose(got, VALUES[name][is_sparse], rtol=2e-5)
                self.assertEqual(steps, 3)
                self.assertEqual(made.get_slot_names(), slots)

    def test_dense(self):
        self.check(False, False)

    def test_sparse(self):
        self.check(True, False)

    def test_dense_of_resource_variables(self):
        self.check(False, True)

    def test_sparse_of_resource_variables(self):
        self.check(True, True)


class NamesTest(unittest.TestCase):
    def test_adam(self):
        loss, step, w = _build(False, False)
        adam = train.AdamOptimizer()
        op = adam.minimize(loss, global_step=step)
        self.assertEqual(
            [v.name for v in adam.variables()],
            ["a/b/Adam:0", "a/b/Adam_1:0", "a/w/Adam:0", "a/w/Adam_1:0", "beta1_power:0", "beta2_power:0"],
        )
        self.assertEqual(adam.get_slot(w, "v").name, "a/w/Adam_1:0")
        graph = tf.get_default_graph()
        update = graph.get_operation_by_name("Adam/update_a/w/ApplyAdam")
        self.assertEqual([i.op.name for i in update.inputs][5:9], [f"Adam/{n}" for n in _HYPER])
        for name in ("Adam/mul", "Adam/Assign_1", "Adam/update", "a/w/Adam/Initializer/zeros"):
            graph.get_operation_by_name(name)
        self.assertEqual(op.name, "Adam")
        self.assertEqual(graph.get_collection(tf.GraphKeys.TRAIN_OP), [op])
        self.assertEqual(graph.get_operation_by_name("beta1_power").colocation_groups(), [b"loc:@a/b"])

    def test_a_second_optimizer_has_slots_of_its_own(self):
        loss, _, w = _build(False, False)
        train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        second = train.MomentumOptimizer(0.1, 0.9)
        second.minimize(loss)
        self.assertEqual(second.get_slot(w, "momentum").name, "a/w/Momentum_1:0")

    def test_slots_of_partitioned_variables_are_slices(self):
        tf.reset_default_graph()
        whole = tf.get_variable(
            "whole", [10, 3], partitioner=tf.fixed_size_partitioner(3), initializer=tf.ones_initializer()
        )
        slot = slot_creator.create_zeros_slot(list(whole)[1], "slot")
        self.assertEqual(slot.name, "whole/part_1/slot:0")
        self.assertEqual(slot._save_slice_info.full_name, "whole/slot")
        self.assertEqual(slot._save_slice_info.var_offset, [4, 0])


_HYPER = ("learning_rate", "beta1", "beta2", "epsilon")


class OptimizerTest(unittest.TestCase):
    def test_gradients_wait_for_the_control_dependencies_of_their_scope(self):
        with tf.Graph().as_default():
            x = tf.Variable(0.0)
            loss = tf.square(x - 100.0)
            descent = tf.train.GradientDescentOptimizer(0.001)
            step = descent.minimize(loss)
            with tf.control_dependencies([step]):
                [(grad, _)] = descent.compute_gradients(loss)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run(grad)
                self.assertAlmostEqual(session.run(x), 0.2, places=6)

    def test_gradients_of_a_loop_wait_outside_it(self):
        with tf.Graph().as_default():
            x, count = tf.Variable(2.0), tf.Variable(0)
            power = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, tf.constant(1.0)))[1]
            with tf.control_dependencies([tf.assign_add(count, 1)]):
                [grad] = tf.gradients(power, [x])
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                self.assertEqual((session.run(grad), session.run(count)), (12.0, 1))

    def test_gradients_are_placed_by_the_device_scopes(self):
        """Those of a worker's model on the worker, but those of looked-up rows with the rows' variable."""
        cluster = {"ps": ["a:1"], "worker": ["b:1", "c:1"]}
        setter = tf.train.replica_device_setter(worker_device="/job:worker/task:1", cluster=cluster)
        with tf.Graph().as_default() as graph:
            with tf.device(setter):
                rows = tf.get_variable("rows", [3, 2])
                x = tf.nn.embedding_lookup(rows, [0, 1])
                y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, x))[1]
                tf.gradients(tf.reduce_mean(tf.log(y)), [rows])
            gradients = [op for op in graph.get_operations() if op.name.startswith("gradients/")]
            self.assertGreater(len(gradients), 20)
            for op in gradients:
                lookup = "embedding_lookup_grad/" in op.name and b"loc:@rows" in op.colocation_groups()
                self.assertEqual(op.device, "/job:ps/task:0" if lookup else "/job:worker/task:1", op.name)

    def test_variables_ignore_the_device_scopes_of_a_graph_around_theirs(self):
        """An evaluation while another graph is being trained builds its own."""
        with tf.Graph().as_default() as outer, outer.device("/job:ps/task:0"):
            with tf.Graph().as_default() as graph:
                self.assertEqual(tf.train.create_global_step(graph).device, "")
                with tf.init_scope():
                    self.assertEqual(tf.constant(1.0).op.device, "")
                with tf.device("/cpu:0"), tf.init_scope():
                    self.assertEqual(tf.constant(1.0).op.device, "/device:CPU:0")

    def test_gradients_beside_their_ops_ignore_the_device_scopes(self):
        with tf.Graph().as_default() as graph:
            with tf.device("/job:a"):
                x = tf.get_variable("x", [2])
                y = tf.exp(x)
            with tf.device("/job:b"):
                tf.gradients(y, [x], name="near", colocate_gradients_with_ops=True)
                tf.gradients(y, [x], name="scoped")
            devices = {
                name: {op.device for op in graph.get_operations() if op.name.startswith(name)}
                for name in ("near", "scoped")
            }
            self.assertEqual(devices, {"near": {"/job:a"}, "scoped": {"/job:b"}})

    def test_errors(self):
        loss, _, w = _build(False, False)
        made = train.GradientDescentOptimizer(0.1)
        with self.assertRaisesRegex(ValueError, "No gradients provided for any variable"):
            made.minimize(tf.constant(1.0))
        with self.assertRaisesRegex(ValueError, "No variables to optimize"):
            made.minimize(loss, var_list=[])
        with self.assertRaisesRegex(ValueError, "No variables provided"):
            made.apply_gradients([])
        with self.assertRaisesRegex(ValueError, "Invalid type"):
            made.compute_gradients(tf.constant(1))
        with self.assertRaisesRegex(ValueError, "gate_gradients"):
            made.compute_gradients(loss, gate_gradients=7)
        with self.assertRaisesRegex(TypeError, "Gradient must be"):
            made.apply_gradients([(object(), w)])
        for make in (train.AdagradOptimizer, train.ProximalAdagradOptimizer):
            with self.assertRaises(ValueError):
                make(0.1, initial_accumulator_value=0.0)

    def test_gradients_can_be_changed_in_between(self):
        loss, _, w = _build(False, False)
        made = train.GradientDescentOptimizer(lambda: 0.5)
        pairs = made.compute_gradients(loss, gate_gradients=optimizer.Optimizer.GATE_GRAPH)
        self.assertEqual([v.name for _, v in pairs], ["a/w:0", "a/b:0"])
        op = made.apply_gradients([(tf.ones_like(pairs[0][0]), w), (None, pairs[1][1])], name="own")
        self.assertEqual(op.name, "own")
        (value,) = _run(op, 1, w)
        self.assertAlmostEqual(value[0, 0], -0.5)

    def test_constraints_are_applied(self):
        tf.reset_default_graph()
        w = tf.get_variable("w", initializer=1.0, constraint=lambda v: tf.clip_by_value(v, 0.0, 1.0))
        (value,) = _run(train.GradientDescentOptimizer(1.0).minimize(-3.0 * w), 1, w)
        self.assertEqual(value, 1.0)

    def test_programs_derive_optimizers(self):
        class Sign(optimizer.Optimizer):
            def __init__(self):
                super().__init__(False, "Sign")

            def _apply_dense(self, grad, var):
                return tf.assign_sub(var, tf.sign(grad))

        loss, _, w = _build(False, False)
        op = Sign().minimize(loss)
        self.assertEqual(op.name, "Sign")
        (value,) = _run(op, 1, w)
        self.assertEqual(value[0, 0], 1.0)


class ContribTest(unittest.TestCase):
    def test_lazy_adam_moves_only_rows_with_a_gradient(self):
        loss, _, w = _build(True, False)
        lazy = tf.contrib.opt.LazyAdamOptimizer(0.1)
        value, m = _run(lazy.minimize(loss), 1, w, lazy.get_slot(w, "m"))
        self.assertEqual(list(np.flatnonzero(m.any(axis=1))), [1, 2])
        np.testing.assert_allclose(value[1:3, 0], [0.4, 0.7], rtol=1e-5)

    def test_weight_decay_is_apart_from_the_gradient(self):
        loss, _, w = _build(False, False)
        decayed = tf.contrib.opt.MomentumWOptimizer(0.5, 0.1, 0.0)
        (value,) = _run(decayed.minimize(loss, decay_var_list=[w]), 1, w)
        # w[2, 2] = 0.8: the gradient is 2 * (0.8 - 1), and the decay half of 0.8.
        self.assertAlmostEqual(value[2, 2], 0.8 - 0.4 + 0.04, 5)

    def test_swapping_saver_has_averages_under_the_names_of_variables(self):
        loss, _, w = _build(False, False)
        made = tf.contrib.opt.MovingAverageOptimizer(train.GradientDescentOptimizer(0.1))
        made.minimize(loss)
        saver = made.swapping_saver()
        self.assertIn("a/w/ExponentialMovingAverage", [v.op.name for v in tf.global_variables()])
        self.assertEqual(saver.saver_def.save_tensor_name, "swapping_saver/control_dependency:0")


class AverageTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.w = tf.get_variable("w", initializer=[1.0, 2.0])

    def test_average_of_variables_and_tensors(self):
        average = train.ExponentialMovingAverage(0.9, zero_debias=True)
        self.assertEqual(average.average_name(self.w), "w/ExponentialMovingAverage")
        doubled = tf.multiply(self.w, 2.0, name="doubled")
        op = average.apply([self.w, doubled])
        self.assertEqual(op.name, "ExponentialMovingAverage")
        with tf.control_dependencies([self.w.initializer]):
            set_up = tf.global_variables_initializer()
        with tf.Session() as session:
            session.run(set_up)
            session.run(self.w.assign([2.0, 4.0]))
            session.run(op)
            np.testing.assert_allclose(session.run(average.average(self.w)), [1.1, 2.2], rtol=1e-6)
            np.testing.assert_allclose(session.run(average.average(doubled)), [4.0, 8.0], rtol=1e-6)
        self.assertEqual(
            sorted(average.variables_to_restore()),
            [
                "doubled/ExponentialMovingAverage",
                "doubled/ExponentialMovingAverage/biased",
                "doubled/ExponentialMovingAverage/local_step",
                "w/ExponentialMovingAverage",
            ],
        )

    def test_num_updates_makes_the_first_averages_follow_faster(self):
        average = train.ExponentialMovingAverage(0.9, num_updates=0)
        op = average.apply([self.w])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(self.w.assign([2.0, 4.0]))
            session.run(op)
            np.testing.assert_allclose(session.run(average.average(self.w)), [1.9, 3.8], rtol=1e-6)

    def test_weighted(self):
        value = moving_averages.weighted_moving_average(tf.constant(4.0), 0.5, tf.constant(2.0))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(session.run(value), 4.0)


class LearningRateTest(unittest.TestCase):
    # At steps 0, 5, 7 and 12, by TensorFlow 2.15.
    EXPECTED = {
        "exponential": [0.1, 0.031498, 0.019843, 0.00625],
        "staircase": [0.1, 0.05, 0.025, 0.00625],
        "piecewise": [1.0, 1.0, 2.0, 3.0],
        "polynomial": [0.1, 0.0001, 0.0001, 0.0001],
        "cycle": [0.1, 0.0001, 0.009091, 0.004096],
        "natural": [0.1, 0.04346, 0.03114, 0.013534],
        "inverse": [0.1, 0.066667, 0.05, 0.033333],
        "cosine": [0.1, 0.055, 0.02855, 0.01],
        "restarts": [0.1, 0.075, 0.025, 0.085355],
        "linear": [0.1001, 0.0251, 0.006283, 0.0001],
    }

    def test_values(self):
        tf.reset_default_graph()
        step = tf.placeholder_with_default(tf.constant(7), [])
        rates = {
            "exponential": train.exponential_decay(0.1, step, 3, 0.5),
            "staircase": train.exponential_decay(0.1, step, 3, 0.5, staircase=True),
            "piecewise": train.piecewise_constant(step, [5, 10], [1.0, 2.0, 3.0]),
            "polynomial": train.polynomial_decay(0.1, step, 5),
            "cycle": train.polynomial_decay(0.1, step, 5, cycle=True, power=2.0),
            "natural": train.natural_exp_decay(0.1, step, 3, 0.5),
            "inverse": train.inverse_time_decay(0.1, step, 3, 0.5, staircase=True),
            "cosine": train.cosine_decay(0.1, step, 10, 0.1),
            "restarts": train.cosine_decay_restarts(0.1, step, 3),
            "linear": train.linear_cosine_decay(0.1, step, 10),
        }
        with tf.Session() as session:
            for name, rate in rates.items():
                got = [session.run(rate, {step: at}) for at in (0, 5, 7, 12)]
                np.testing.assert_allclose(got, self.EXPECTED[name], rtol=1e-4, atol=1e-6, err_msg=name)

    def test_without_a_step(self):
        with self.assertRaisesRegex(ValueError, "global_step is required"):
            train.exponential_decay(0.1, None, 3, 0.5)


class GlobalStepTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_it_is_made_once(self):
        self.assertIsNone(train.get_global_step())
        with tf.name_scope("scope"):
            step = train.create_global_step()
        self.assertEqual((step.name, step.dtype.base_dtype), ("global_step:0", tf.int64))
        self.assertIs(train.get_or_create_global_step(), step)
        with self.assertRaisesRegex(ValueError, "already exists"):
            train.create_global_step()

    def test_a_variable_of_that_name_is_one(self):
        tf.Variable(3, name="global_step", trainable=False)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(train.global_step(session, train.get_global_step()), 3)

    def test_other_types_are_refused(self):
        tf.get_default_graph().add_to_collection(tf.GraphKeys.GLOBAL_STEP, tf.Variable(1.0))
        with self.assertRaisesRegex(TypeError, "integer"):
            train.get_global_step()


class ScipyTest(unittest.TestCase):
    def test_scipy_minimizes_with_constraints_and_bounds(self):
        try:
            import scipy  # noqa: F401
        except ImportError:
            self.skipTest("scipy is not installed")
        tf.reset_default_graph()
        x = tf.Variable([7.0, 7.0])
        loss = tf.reduce_sum(tf.square(x - [1.0, 2.0]))
        interface = tf.contrib.opt.ScipyOptimizerInterface
        optimizers = [
            (interface(loss, options={"maxiter": 50}), [1, 2]),
            (interface(loss, equalities=[x[0] - 3.0], inequalities=[x[1] - 4.0], method="SLSQP"), [3, 4]),
            (interface(loss, var_to_bounds={x: ([2, -np.inf], [np.inf, 1.5])}), [2, 1.5]),
        ]
        with tf.Session() as session:
            for optimizer, expected in optimizers:
                losses = []
                session.run(tf.global_variables_initializer())
                optimizer.minimize(session, fetches=[loss], loss_callback=losses.append)
                np.testing.assert_allclose(session.run(x), expected, atol=1e-3)
                self.assertLess(losses[-1], 61.0)


if __name__ == "__main__":
    unittest.main()
