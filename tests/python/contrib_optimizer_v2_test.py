"""tf.contrib.optimizer_v2 and tf.contrib.grid_rnn: values and names are those of TensorFlow 1.15."""

import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.contrib.optimizer_v2 import optimizer_v2

opt, grid = tf.contrib.optimizer_v2, tf.contrib.grid_rnn

# w[0, 1] and w[1, 0], of a tensor as gradient, and e[1, 0], of slices, after three steps.
STEPS = {
    "gradient_descent": (lambda: opt.GradientDescentOptimizer(lambda: 0.1), 0.512, 1.024, 0.216),
    "momentum": (
        lambda: opt.MomentumOptimizer(0.1, lambda: 0.9, use_nesterov=True),
        -0.10835,
        -0.2167,
        -0.433296,
    ),
    "adagrad": (lambda: opt.AdagradOptimizer(0.1), 0.7823, 1.7763, 0.780922),
    "adadelta": (lambda: opt.AdadeltaOptimizer(1.0), 0.99864, 1.99864, 0.998643),
    "rms_prop": (lambda: opt.RMSPropOptimizer(0.1), 0.36918, 1.30872, 0.369181),
    "centered_rms_prop": (
        lambda: opt.RMSPropOptimizer(0.1, momentum=0.5, centered=True, epsilon=0.1),
        0.08803,
        0.92092,
        0.0392332,
    ),
    "adam": (lambda: opt.AdamOptimizer(0.1), 0.70159, 1.70062, 0.701587),
}
SLOTS = {"adam": ["m", "v"], "centered_rms_prop": ["mg", "momentum", "rms"], "gradient_descent": []}
# The cells, the sums of the output and of the state, and the first variables.
GRID = [
    (
        lambda: grid.Grid2LSTMCell(3, use_peepholes=True),
        [2.37042, 4.22654, 2.37042, 2.10755, 1.31212],
        [
            "r/Grid2LSTMCell/project_m_0",
            "r/Grid2LSTMCell/project_c_0",
            "r/Grid2LSTMCell/recurrent/cell_1/lstm_cell/kernel",
        ],
    ),
    (
        lambda: grid.Grid3LSTMCell(3, non_recurrent_fn=tf.tanh),
        [3.7373, 2.40488, 1.46163, 2.40488, 1.46163],
        [
            "r/Grid3LSTMCell/project_m_0",
            "r/Grid3LSTMCell/project_c_0",
            "r/Grid3LSTMCell/recurrent/cell_1/lstm_cell/kernel",
        ],
    ),
    (
        lambda: grid.Grid2GRUCell(3, tied=True),
        [1.18864, 1.18864, 0.913093],
        [
            "r/Grid2GRUCell/project_m_0",
            "r/Grid2GRUCell/recurrent/gru_cell/gates/kernel",
            "r/Grid2GRUCell/recurrent/gru_cell/gates/bias",
        ],
    ),
    (
        lambda: grid.GridRNNCell(2, 3, [0, 2], [1, 2], [1], cell_fn=tf.nn.rnn_cell.GRUCell),
        [1.12953, 1.0779, 1.0779, 1.12953, 1.0779],
        [
            "r/GridRNNCell/project_m_0",
            "r/GridRNNCell/project_m_2",
            "r/GridRNNCell/recurrent/cell_0/gru_cell/gates/kernel",
        ],
    ),
]


class OptimizersTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_steps_are_those_of_the_algorithms(self):
        for name, (make, *expected) in STEPS.items():
            for use_resource in (False, True):
                with self.subTest(name, use_resource=use_resource), tf.Graph().as_default():
                    values = np.arange(6, dtype=np.float32).reshape(3, 2)
                    w = tf.get_variable("w", initializer=values, use_resource=use_resource)
                    e = tf.get_variable("e", initializer=np.ones([4, 2], "f"), use_resource=use_resource)
                    step = tf.train.get_or_create_global_step()
                    loss = tf.reduce_sum(w * w) + tf.reduce_sum(tf.gather(e, [1, 2, 1]) ** 2)
                    optimizer = make()
                    train = optimizer.minimize(loss, global_step=step)
                    with tf.Session() as session:
                        session.run(tf.global_variables_initializer())
                        for _ in range(3):
                            session.run(train)
                        w, e, step = session.run([w, e, step])
                    np.testing.assert_allclose([w[0, 1], w[1, 0], e[1, 0]], expected, atol=1e-5)
                    self.assertEqual((3, [1, 1]), (step, e[0].tolist()))
                    self.assertEqual(SLOTS.get(name, optimizer.get_slot_names()), optimizer.get_slot_names())

    def test_a_state_belongs_to_a_graph_and_is_in_checkpoints(self):
        optimizer = opt.AdamOptimizer(0.1)
        for _ in range(2):
            with tf.Graph().as_default():
                v = tf.get_variable("v", initializer=[1.0, 2.0])
                train = optimizer.minimize(tf.reduce_sum(v * v))
                names = ["beta1_power:0", "beta2_power:0", "v/Adam:0", "v/Adam_1:0"]
                self.assertEqual(names, [own.name for own in optimizer.variables()])
                self.assertEqual("v/Adam", optimizer.get_slot(v, "m").op.name)
                checkpoint = tf.train.Checkpoint(optimizer=optimizer, v=v)
                with tf.Session() as session:
                    session.run(tf.global_variables_initializer())
                    session.run(train)
                    path = checkpoint.save(self._path(), session)
                    saved = session.run(optimizer.get_slot(v, "m"))
                    session.run(train)
                    checkpoint.restore(path).assert_consumed().run_restore_ops(session)
                    np.testing.assert_array_equal(saved, session.run(optimizer.get_slot(v, "m")))

    def _path(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        return directory.name + "/checkpoint"

    def test_an_optimizer_of_the_program_is_given_its_state(self):
        class Halving(optimizer_v2.OptimizerV2):
            def __init__(self, factor):
                super().__init__(False, "Halving")
                self._set_hyper("factor", factor)

            def _create_vars(self, var_list, state):
                for v in var_list:
                    state.zeros_slot(v, "count")

            def _apply_dense(self, grad, var, state):
                count = state.get_slot(var, "count").assign_add(tf.ones_like(var))
                with tf.control_dependencies([count]):
                    return var.assign(var * state.get_hyper("factor", var.dtype.base_dtype))

        v = tf.get_variable("v", initializer=[4.0])
        factor = tf.placeholder(tf.float32)
        optimizer = Halving(lambda: factor)
        train = optimizer.minimize(v * v)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train, {factor: 0.5})
            self.assertEqual(
                ([2.0], [1.0]), tuple(map(list, session.run([v, optimizer.get_slot(v, "count")])))
            )
        with self.assertRaisesRegex(RuntimeError, "Override _create_vars instead of _create_slots"):
            type("Old", (Halving,), {"_create_slots": lambda self, var_list: None})(1.0)

    def test_replicas_add_up_their_gradients(self):
        strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
        with strategy.scope():
            optimizer, step = opt.AdamOptimizer(0.1), tf.train.get_or_create_global_step()
            w = tf.get_variable("w", initializer=np.arange(4, dtype=np.float32))
            plain = opt.GradientDescentOptimizer(0.1)
            u = tf.get_variable("u", initializer=np.arange(4, dtype=np.float32))

            def train():
                i = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
                one = optimizer.minimize(
                    tf.reduce_sum((w - i) ** 2), step, [w], scale_loss_by_num_replicas=True
                )
                return tf.group(
                    one,
                    plain.minimize(
                        tf.reduce_sum((u - i) ** 2), var_list=[u], scale_loss_by_num_replicas=True
                    ),
                )

            trained = strategy.group(strategy.unwrap(strategy.experimental_run_v2(train)))
            w, u = strategy.extended.read_var(w), strategy.extended.read_var(u)
            init = tf.global_variables_initializer()
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            session.run(init)
            for _ in range(3):
                session.run(trained)
            np.testing.assert_allclose(session.run(w), [0.29513, 0.70487, 1.7009, 2.70048], atol=1e-5)
            np.testing.assert_allclose(session.run(u), [0.244, 0.756, 1.268, 1.78], atol=1e-5)


class GridTest(unittest.TestCase):
    def test_cells_have_the_outputs_and_variables_of_tensorflow(self):
        for make, expected, names in GRID:
            with tf.Graph().as_default(), tf.variable_scope("r", initializer=tf.constant_initializer(0.3)):
                cell = make()
                x = tf.reshape(tf.range(8.0), [2, 4]) / 10
                state = tf.contrib.framework.nest.map_structure(
                    lambda n: tf.ones([2, n]) / 10, cell.state_size
                )
                outputs = cell(x, state)
                flat = [tf.reduce_sum(t) for t in tf.contrib.framework.nest.flatten(outputs)]
                self.assertEqual(names, [v.op.name for v in tf.trainable_variables()][:3])
                with tf.Session() as session:
                    session.run(tf.global_variables_initializer())
                    np.testing.assert_allclose(session.run(flat), expected, rtol=1e-4)

    def test_states_of_another_structure_are_refused(self):
        with self.assertRaisesRegex(ValueError, "Expected state as a tuple of 2 element"):
            grid.Grid2GRUCell(2)(tf.ones([1, 2]), (tf.ones([1, 2]),))
        with self.assertRaisesRegex(ValueError, r"Invalid dims: \[2\]. Must be in \[0, 2\)"):
            grid.GridRNNCell(2, 2, input_dims=2)


if __name__ == "__main__":
    unittest.main()
