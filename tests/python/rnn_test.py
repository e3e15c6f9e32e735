"""Recurrent networks: values (those of TensorFlow), names of weights, states, and gradients through loops."""

import itertools
import unittest

import support
import braid.tensorflow as tf
import numpy as np

INPUTS = np.arange(2 * 3 * 4).reshape([2, 3, 4]).astype(np.float32) / 10


def names(variables):
    return [v.op.name for v in variables]


class RnnTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        tf.get_variable_scope().set_initializer(tf.constant_initializer(0.1))

    def run_after_initialization(self, fetches):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return session.run(fetches)

    def test_values_are_those_of_tensorflow(self):
        lstm, state = tf.nn.dynamic_rnn(
            tf.nn.rnn_cell.BasicLSTMCell(1), INPUTS, sequence_length=[3, 2], dtype=tf.float32
        )
        gru, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(1), INPUTS, dtype=tf.float32)
        peeping = tf.nn.rnn_cell.LSTMCell(2, use_peepholes=True, num_proj=1, cell_clip=0.5)
        projected, _ = tf.nn.dynamic_rnn(peeping, INPUTS, dtype=tf.float32)
        gradient = tf.gradients(tf.reduce_sum(lstm), tf.trainable_variables()[0])[0]
        lstm, state, gru, projected, gradient = self.run_after_initialization(
            [lstm, state, gru, projected, gradient]
        )
        np.testing.assert_allclose(
            lstm[:, :, 0], [[0.01588911, 0.07987611, 0.19306855], [0.19066779, 0.39710677, 0]], rtol=1e-5
        )
        np.testing.assert_allclose(state.c[:, 0], [0.336166, 0.678556], rtol=1e-5)
        np.testing.assert_allclose(state.h[:, 0], [0.19306855, 0.39710677], rtol=1e-5)
        np.testing.assert_allclose(
            gru[:, :, 0],
            [[0.01542007, 0.06146144, 0.12257034], [0.08702976, 0.16706818, 0.23830852]],
            rtol=1e-5,
        )
        np.testing.assert_allclose(
            projected[:, :, 0],
            [[0.00318258, 0.01600688, 0.03872503], [0.03856906, 0.06284964, 0.06601663]],
            rtol=1e-5,
        )
        np.testing.assert_allclose(gradient[0], [0.28768316, 1.2770998, 0.04016034, 0.3729005], rtol=1e-5)
        np.testing.assert_allclose(gradient[4], [0.01597557, 0.06506454, 0.00442372, 0.03162553], rtol=1e-4)

    def test_names_and_shapes(self):
        x = tf.placeholder(tf.float32, [None, None, 4])
        cells = [tf.nn.rnn_cell.GRUCell(3), tf.nn.rnn_cell.BasicLSTMCell(2)]
        outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.MultiRNNCell(cells), x, dtype=tf.float32)
        self.assertEqual((outputs.name, outputs.shape.as_list()), ("rnn/transpose_1:0", [None, None, 2]))
        self.assertEqual(state[1].c.shape.as_list(), [None, 2])
        self.assertEqual(
            names(tf.trainable_variables()),
            [
                "rnn/multi_rnn_cell/cell_0/gru_cell/gates/kernel",
                "rnn/multi_rnn_cell/cell_0/gru_cell/gates/bias",
                "rnn/multi_rnn_cell/cell_0/gru_cell/candidate/kernel",
                "rnn/multi_rnn_cell/cell_0/gru_cell/candidate/bias",
                "rnn/multi_rnn_cell/cell_1/basic_lstm_cell/kernel",
                "rnn/multi_rnn_cell/cell_1/basic_lstm_cell/bias",
            ],
        )

    def test_loops_and_lists_agree(self):
        cell = tf.nn.rnn_cell.BasicLSTMCell(2)
        steps = tf.unstack(tf.constant(INPUTS), axis=1)
        lengths = [1, 3]
        with tf.variable_scope("net"):
            looped, looped_state = tf.nn.dynamic_rnn(cell, INPUTS, lengths, dtype=tf.float32)
        with tf.variable_scope("net", reuse=True):
            listed, listed_state = tf.nn.static_rnn(cell, steps, dtype=tf.float32, sequence_length=lengths)
        values = self.run_after_initialization(
            [looped, tf.stack(listed, axis=1), looped_state.c, listed_state.c]
        )
        np.testing.assert_allclose(values[0], values[1], rtol=1e-6)
        np.testing.assert_allclose(values[2], values[3], rtol=1e-6)
        self.assertEqual(len(tf.trainable_variables()), 2)

    def test_both_directions(self):
        cells = tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.GRUCell(2)
        (forward, backward), states = tf.nn.bidirectional_dynamic_rnn(
            *cells, INPUTS, sequence_length=[2, 3], dtype=tf.float32
        )
        reverse = tf.reverse_sequence(INPUTS, [2, 3], seq_axis=1)
        self.assertEqual(
            names(tf.trainable_variables())[::4],
            ["bidirectional_rnn/fw/gru_cell/gates/kernel", "bidirectional_rnn/bw/gru_cell/gates/kernel"],
        )
        again, _ = tf.nn.dynamic_rnn(cells[0], reverse, sequence_length=[2, 3], dtype=tf.float32)
        values = self.run_after_initialization(
            [backward, tf.reverse_sequence(again, [2, 3], seq_axis=1), states]
        )
        np.testing.assert_allclose(values[0], values[1], rtol=1e-6)
        np.testing.assert_array_equal(values[0][0, 2], [0, 0])

    def test_wrappers(self):
        cell = tf.nn.rnn_cell.ResidualWrapper(tf.nn.rnn_cell.BasicRNNCell(4))
        cell = tf.nn.rnn_cell.DropoutWrapper(cell, output_keep_prob=0.5, seed=1)
        outputs, _ = tf.nn.dynamic_rnn(cell, INPUTS, dtype=tf.float32)
        self.assertEqual(
            names(cell.trainable_weights), ["rnn/basic_rnn_cell/kernel", "rnn/basic_rnn_cell/bias"]
        )
        values = self.run_after_initialization(outputs)
        self.assertTrue((values == 0).any() and (values > INPUTS).any())

    def test_a_cell_of_the_program_and_a_loop_of_its_own(self):
        class Sum(tf.nn.rnn_cell.RNNCell):
            state_size = output_size = 4

            def call(self, inputs, state):
                scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())
                return scale * (inputs + state), scale * (inputs + state)

        cell = Sum()
        steps = tf.transpose(tf.constant(INPUTS), [1, 0, 2])

        def loop(time, output, state, loop_state):
            inputs = tf.gather(steps, tf.minimum(time, 2))
            state = cell.zero_state(2, tf.float32) if state is None else state
            return time >= [3, 2], inputs, state, output, None

        emitted, state, _ = tf.nn.raw_rnn(cell, loop)
        emitted, state = self.run_after_initialization([emitted.stack(), state])
        np.testing.assert_allclose(state[0], INPUTS[0].sum(0), rtol=1e-6)
        np.testing.assert_allclose(state[1], INPUTS[1, :2].sum(0), rtol=1e-6)
        self.assertEqual(names(cell.trainable_weights), ["rnn/sum/scale"])

    def test_products_of_a_hessian_and_a_vector_are_those_without_a_loop(self):
        weights = np.random.RandomState(0).randn(2, 3, 4)
        products = []
        for cell in (tf.nn.rnn_cell.LSTMCell(4), tf.nn.rnn_cell.GRUCell(4)):
            inputs, lengths = tf.constant(INPUTS), [3, 2]
            looped, _ = tf.nn.dynamic_rnn(cell, inputs, lengths, dtype=tf.float32, scope=cell.name)
            unrolled, _ = tf.nn.static_rnn(
                cell, tf.unstack(inputs, axis=1), sequence_length=lengths, dtype=tf.float32, scope=cell.name
            )
            for outputs in (looped, tf.stack(unrolled, axis=1)):
                gradients = tf.gradients(tf.reduce_sum(tf.square(outputs) * weights), cell.trainable_weights)
                product = sum(tf.reduce_sum(g * tf.sin(tf.cumsum(tf.ones_like(g)))) for g in gradients)
                products.append(tf.gradients(product, cell.trainable_weights))
        lstm, lstm_unrolled, gru, gru_unrolled = self.run_after_initialization(products)
        for got, want in zip(lstm + gru, lstm_unrolled + gru_unrolled):
            self.assertGreater(np.abs(want).max(), 1e-4)
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-5)

    def test_a_gradient_loop_in_a_branch_without_its_loop_has_no_gradient(self):
        x = tf.constant(2.0)
        _, y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * y), [0, x])
        chosen = tf.cond(x > 0, lambda: tf.gradients(y, x)[0], lambda: y)
        with self.assertRaisesRegex(TypeError, "Second-order gradient .* in a branch of a conditional"):
            tf.gradients(chosen, x)

    def test_attention_and_beams(self):
        seq2seq = tf.contrib.seq2seq
        memory = tf.constant(INPUTS)
        embedding = tf.get_variable("embedding", [5, 3])
        attention = seq2seq.LuongAttention(4, seq2seq.tile_batch(memory, 2))
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), attention)
        decoder = seq2seq.BeamSearchDecoder(
            cell, embedding, [1, 1], 0, cell.zero_state(4, tf.float32), 2, tf.layers.Dense(5)
        )
        decoded, _, _ = seq2seq.dynamic_decode(decoder, maximum_iterations=4)
        tree = seq2seq.gather_tree(
            [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]],
            [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]],
            [3],
            10,
        )
        self.assertEqual(decoded.predicted_ids.shape.as_list(), [2, None, 2])
        ids, tree = self.run_after_initialization([decoded.predicted_ids, tree])
        self.assertTrue(((0 <= ids) & (ids < 5)).all())
        np.testing.assert_array_equal(tree[:, 0], [[2, 2, 2], [6, 5, 6], [7, 8, 9]])

    def test_decoders_have_the_seeds_of_tensorflow(self):
        # Which are the numbers of nodes before the ops that draw the initial values.
        seq2seq = tf.contrib.seq2seq
        x = tf.constant(np.zeros([3, 5, 4], np.float32))
        tf.set_random_seed(4)
        tf.get_variable_scope().set_initializer(None)
        memory, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(6), x, dtype=tf.float32)
        attention = seq2seq.LuongAttention(6, memory, tf.constant([5, 3, 4]), scale=True)
        cell = seq2seq.AttentionWrapper(
            tf.nn.rnn_cell.LSTMCell(6), attention, attention_layer_size=4, alignment_history=True
        )
        helper = seq2seq.TrainingHelper(x, [5, 3, 4])
        decoder = seq2seq.BasicDecoder(cell, helper, cell.zero_state(3, tf.float32), tf.layers.Dense(2))
        seq2seq.dynamic_decode(decoder, impute_finished=True)
        nodes = tf.get_default_graph().as_graph_def().node
        seeds = [node.attr["seed2"].i for node in nodes if node.op == "RandomUniform"]
        self.assertEqual(seeds, [74, 88, 174, 370, 455, 473])

    def test_conditional_random_fields_agree_with_all_sequences(self):
        random = np.random.RandomState(0)
        inputs = random.randn(2, 4, 3).astype(np.float32)
        transitions = random.randn(3, 3).astype(np.float32)
        tags, lengths = random.randint(0, 3, [2, 4]), [4, 2]
        likelihood, _ = tf.contrib.crf.crf_log_likelihood(inputs, tags, lengths, tf.constant(transitions))
        best, score = tf.contrib.crf.crf_decode(
            tf.constant(inputs), tf.constant(transitions), tf.constant(lengths)
        )
        likelihood, best, score = self.run_after_initialization([likelihood, best, score])
        for i, length in enumerate(lengths):

            def value(sequence, i=i):
                own = sum(inputs[i, t, tag] for t, tag in enumerate(sequence))
                return own + sum(transitions[a, b] for a, b in zip(sequence, sequence[1:]))

            values = {s: value(s) for s in itertools.product(range(3), repeat=length)}
            norm = np.log(sum(np.exp(v) for v in values.values()))
            self.assertAlmostEqual(likelihood[i], value(tags[i, :length]) - norm, places=4)
            self.assertEqual(tuple(best[i, :length]), max(values, key=values.get))
            self.assertAlmostEqual(score[i], max(values.values()), places=4)


class OldCell(tf.nn.rnn_cell.RNNCell):
    """A cell as programs wrote them before TensorFlow 1.2: without super().__init__()."""

    def __init__(self, num_units):
        self._cell = tf.nn.rnn_cell.LSTMCell(num_units)

    @property
    def state_size(self):
        return self._cell.state_size

    @property
    def output_size(self):
        return self._cell.output_size

    def __call__(self, inputs, state, scope=None):
        return self._cell(inputs, state, scope)


class OldCellsTest(unittest.TestCase):
    def test_cells_that_do_not_call_the_constructor_of_their_class_can_be_stacked(self):
        tf.reset_default_graph()
        cells = tf.nn.rnn_cell.MultiRNNCell([OldCell(3), OldCell(5)])
        outputs, _ = tf.nn.dynamic_rnn(cells, tf.ones([2, 4, 6]), dtype=tf.float32)
        self.assertEqual(outputs.shape.as_list(), [2, 4, 5])
        self.assertEqual(
            [v.op.name for v in tf.global_variables()],
            [f"rnn/multi_rnn_cell/cell_{i}/lstm_cell/{name}" for i in (0, 1) for name in ("kernel", "bias")],
        )


class ContribCellsTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_a_gru_of_one_op_has_the_weights_and_outputs_of_the_one_of_many(self):
        x = tf.constant(np.linspace(-1, 1, 2 * 5 * 4).reshape([2, 5, 4]), tf.float32)
        with tf.variable_scope("rnn", initializer=tf.random_uniform_initializer(-1, 1, seed=1)):
            many, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(3), x, dtype=tf.float32)
        with tf.variable_scope("rnn", reuse=True):
            one, _ = tf.nn.dynamic_rnn(tf.contrib.rnn.GRUBlockCellV2(3), x, dtype=tf.float32)
        gradients = [tf.gradients(tf.reduce_sum(y * y), tf.trainable_variables()) for y in (many, one)]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for a, b in zip(*session.run([[many] + gradients[0], [one] + gradients[1]])):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

    def test_an_lstm_of_all_steps_ends_at_the_length_of_each_sequence(self):
        x = tf.constant(np.linspace(-1, 1, 5 * 2 * 4).reshape([5, 2, 4]), tf.float32)
        fused = tf.contrib.rnn.LSTMBlockFusedCell(3, name="cell", use_peephole=True)
        outputs, state = fused(x, dtype=tf.float32, sequence_length=[5, 2])
        cell = tf.contrib.rnn.LSTMBlockCell(3, name="cell", use_peephole=True, reuse=True)
        step, states = cell.zero_state(2, tf.float32), []
        for t in range(5):
            output, step = cell(x[t], step)
            states.append((output, step))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            made, last, steps = session.run([outputs, state, states])
        for t, (output, _) in enumerate(steps):
            np.testing.assert_allclose(made[t, 0], output[0], rtol=1e-5)
            np.testing.assert_allclose(made[t, 1], output[1] if t < 2 else [0, 0, 0], rtol=1e-5)
        np.testing.assert_allclose(last.c[0], steps[4][1].c[0], rtol=1e-5)
        np.testing.assert_allclose(last.h[1], steps[1][1].h[1], rtol=1e-5)

    def test_a_convolutional_lstm_keeps_the_size_of_pictures(self):
        cell = tf.contrib.rnn.Conv2DLSTMCell(
            input_shape=[6, 5, 2], output_channels=3, kernel_shape=[3, 3], skip_connection=True
        )
        self.assertEqual(cell.output_size.as_list(), [6, 5, 5])
        outputs, state = cell(tf.ones([4, 6, 5, 2]), cell.zero_state(4, tf.float32))
        self.assertEqual(outputs.shape.as_list(), [4, 6, 5, 5])
        self.assertEqual(state.c.shape.as_list(), [4, 6, 5, 3])
        variables = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
        self.assertEqual(
            variables, {"conv_2d_lstm_cell/kernel": [3, 3, 5, 12], "conv_2d_lstm_cell/biases": [12]}
        )


if __name__ == "__main__":
    unittest.main()
