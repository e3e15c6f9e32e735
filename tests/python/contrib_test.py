# timeout: 180
"""Parts of tf.contrib whose values TensorFlow 1.15 has given: optimizers, cells, metrics; and pruning."""

import itertools
import math
import tempfile
import unittest

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf
import numpy as np
from braid.tensorflow.contrib.nn.python.ops import fwd_gradients
from braid.tensorflow.contrib.opt.python.training import sign_decay
from braid.tensorflow.contrib.rnn.python.ops import rnn_cell
from braid.tensorflow.contrib.saved_model.python.saved_model import reader
from braid.tensorflow.contrib.training.python.training import sgdr_learning_rate_decay

opt, rnn, metrics = tf.contrib.opt, tf.contrib.rnn, tf.contrib.metrics
nest = tf.contrib.framework.nest

# w[0, 0], w[1, 0] and w[2, 2] after three steps, with a gradient for all of w, and for rows 1, 2 and 1 again.
STEPS = {
    "adamax": ([0.284501, 0.577848, 1.0252], [0.0, 0.577848, 1.0252]),
    "add_sign": ([0.735699, 0.814989, 0.94714], [0.0, 0.98552, 0.94714]),
    "power_sign": ([0.823637, 0.876546, 0.964727], [0.0, 1.03754, 0.964727]),
    "adam_gs": ([0.298414, 0.597256, 1.06718], [0.0, 0.597256, 1.06718]),
    "lazy_adam_gs": ([0.298414, 0.597256, 1.06718], [0.0, 0.597256, 1.06718]),
    "reg_adagrad": ([0.217701, 0.511644, 0.948266], [0.0, 0.514338, 0.948266]),
    "ggt": ([0.164077, 0.414845, 0.832807],),
    "shampoo": ([0.365166, 0.592612, 0.805142], [0.0, 0.79357, 0.883396]),
    "shampoo_diagonal": ([0.285029, 0.539173, 0.902466], [0.0, 0.474995, 0.85817]),
}
OPTIMIZERS = {
    "adamax": lambda step: opt.AdaMaxOptimizer(0.1),
    "add_sign": lambda step: opt.AddSignOptimizer(0.1, sign_decay_fn=sign_decay.get_cosine_decay_fn(4)),
    "power_sign": lambda step: opt.PowerSignOptimizer(0.1, sign_decay_fn=sign_decay.get_linear_decay_fn(4)),
    "adam_gs": lambda step: opt.AdamGSOptimizer(step, 0.1),
    "lazy_adam_gs": lambda step: opt.LazyAdamGSOptimizer(step, 0.1),
    "reg_adagrad": lambda step: opt.RegAdagradOptimizer(0.1),
    "ggt": lambda step: opt.GGTOptimizer(0.1, window=2),
    "shampoo": lambda step: opt.ShampooOptimizer(step, gbar_decay=0.5, learning_rate=0.1, svd_interval=2),
    "shampoo_diagonal": lambda step: opt.ShampooOptimizer(step, max_matrix_size=2, learning_rate=0.1),
}

# The number of variables, one of them, the outputs weighted by 1, 2, ..., and the squares of the state.
CELLS = {
    "grid": (32, "W_f_0_0", -1.40501, 0.964555),
    "coupled_grid": (2, "W_f_0_0", -1.11058, 0.384196),
    "grid_of_both_ways": (8, "bwd/W_t_0_0", 45.4818, 1.41892),
    "time_frequency": (5, "W_0", 0.562362, 0.684808),
    "groups": (7, "projection/kernel", 0.500445, 0.478174),
    "independent": (3, "kernel_u", 1.17902, 1.33339),
    "independent_lstm": (3, "kernel_w", -0.600324, 0.740716),
    "independent_gru": (6, "candidate/kernel", 3.32248, 0.917845),
    "minimal": (2, "kernel", 0.283691, 0.0295257),
    "chaos_free": (3, "recurrent_kernel", 0.222539, 0.0262538),
    "normalized_weights": (9, "wn_lstm_cell/projection/norm_0", 0.596411, 0.417933),
    "normalized_layers": (16, "state/gamma", -0.377549, 1.86709),
    "plain_layers": (2, "kernel", -0.0209545, 0.741275),
}
MAKE_CELL = {
    "grid": lambda: rnn.GridLSTMCell(
        2,
        use_peepholes=True,
        feature_size=2,
        frequency_skip=1,
        num_frequency_blocks=[2, 1],
        start_freqindex_list=[0, 2],
        end_freqindex_list=[3, 4],
        cell_clip=1.5,
    ),
    "coupled_grid": lambda: rnn.GridLSTMCell(
        2,
        share_time_frequency_weights=True,
        couple_input_forget_gates=True,
        feature_size=2,
        frequency_skip=2,
        num_frequency_blocks=[2],
        state_is_tuple=False,
    ),
    "grid_of_both_ways": lambda: rnn.BidirectionalGridLSTMCell(
        2, feature_size=2, frequency_skip=1, num_frequency_blocks=[3], backward_slice_offset=1
    ),
    "time_frequency": lambda: rnn.TimeFreqLSTMCell(2, use_peepholes=True, feature_size=2, frequency_skip=2),
    "groups": lambda: rnn.GLSTMCell(4, number_of_groups=2, num_proj=2),
    "independent": lambda: rnn.IndRNNCell(3),
    "independent_lstm": lambda: rnn.IndyLSTMCell(3),
    "independent_gru": lambda: rnn.IndyGRUCell(3),
    "minimal": lambda: rnn_cell.MinimalRNNCell(3),
    "chaos_free": lambda: rnn_cell.CFNCell(3),
    "normalized_weights": lambda: rnn_cell.WeightNormLSTMCell(
        3, use_peepholes=True, num_proj=2, proj_clip=0.25
    ),
    "normalized_layers": lambda: rnn_cell.LayerNormLSTMCell(
        3, use_peepholes=True, cell_clip=0.8, num_proj=2, layer_norm=True, norm_gain=1.5
    ),
    "plain_layers": lambda: rnn_cell.LayerNormLSTMCell(3),
}


class ValuesTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def _after_three_steps(self, make, by_rows, use_resource):
        with tf.Graph().as_default(), tf.Session() as session:
            start = np.arange(12, dtype="f").reshape(4, 3) / 10
            w = tf.get_variable("w", initializer=start, use_resource=use_resource)
            step = tf.train.get_or_create_global_step()
            loss = tf.reduce_sum(tf.square((tf.gather(w, [1, 2, 1]) if by_rows else w) - 1))
            op = make(step).minimize(loss, global_step=step)
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(op)
            value = session.run(w)
        return [value[0, 0], value[1, 0], value[2, 2]]

    def test_optimizers_make_the_steps_of_1_15(self):
        for name, wanted in STEPS.items():
            for by_rows, values in zip((False, True), wanted):
                for use_resource in (False, True):
                    with self.subTest(name, by_rows=by_rows, use_resource=use_resource):
                        found = self._after_three_steps(OPTIMIZERS[name], by_rows, use_resource)
                        np.testing.assert_allclose(found, values, rtol=4e-5, atol=1e-6)

    def test_a_power_that_is_no_root_is_refused(self):
        """The iteration of ShampooOptimizer(use_iterative_root=True) is that of roots."""
        from braid.tensorflow.contrib.opt.python.training import matrix_functions

        m = tf.constant([[2.0, 1.0], [1.0, 2.0]])
        root = matrix_functions.matrix_inverse_pth_root(m, 2, -1 / 3)
        with self.assertRaisesRegex(ValueError, "-1 / p for a positive integer p, not -0.3"):
            matrix_functions.matrix_inverse_pth_root(m, 2, -0.3)
        with tf.Session() as session:
            root = session.run(root)
        np.testing.assert_allclose(root @ root @ root @ [[2, 1], [1, 2]], np.eye(2), atol=1e-4)

    def test_cells_have_the_values_and_variables_of_1_15(self):
        for name, (number, variable, output, squares) in CELLS.items():
            with self.subTest(name), tf.Graph().as_default(), tf.Session() as session:
                cell = MAKE_CELL[name]()
                x = tf.constant(np.sin(np.arange(8, dtype="f")).reshape(2, 4))
                state = tf.zeros([2, 8]) if name == "time_frequency" else cell.zero_state(2, tf.float32)
                y, state = cell(x, nest.map_structure(lambda t: t + 0.1, state))
                made = tf.global_variables()
                self.assertEqual(number, len(made))
                self.assertIn(variable, [v.op.name.partition("/")[2] for v in made])
                for i, v in enumerate(made):
                    shape = v.shape.as_list()
                    v.load(
                        0.5 * np.cos(np.arange(np.prod(shape), dtype="f") * (i + 1)).reshape(shape), session
                    )
                weights = np.arange(1, 1 + int(y.shape[1]), dtype="f")
                parts = [tf.reduce_sum(s * s) for s in nest.flatten(state)]
                found = session.run([tf.reduce_sum(y * weights), tf.add_n(parts)])
                np.testing.assert_allclose(found, [output, squares], rtol=2e-5)

    def test_a_phase_of_a_cell_is_a_time(self):
        time = tf.placeholder(tf.float64, [1, 1])
        cell, before = rnn.PhasedLSTMCell(2, leak=0.0), tf.fill([1, 2], 0.25)
        output, state = cell((time, tf.ones([1, 3])), rnn.LSTMStateTuple(before, before))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for v in tf.global_variables():
                value = {"period": 4.0, "phase": 1.0, "ratio_on": 0.5}.get(v.op.name.rpartition("/")[2], 0.5)
                v.load(np.full(v.shape.as_list(), value), session)
            found = {t: session.run((output, state.c), {time: [[t]]}) for t in (1.0, 2.0, 3.5, 5.0, 1e9 + 2)}
        for t in (1.0, 3.5, 5.0):  # closed
            np.testing.assert_allclose(found[t], 0.25)
        np.testing.assert_allclose(found[1e9 + 2], found[2.0])
        self.assertGreater(np.min(found[2.0]), 0.6)

    def test_an_attention_over_outputs_has_its_state_in_one_tensor_or_three(self):
        x = tf.constant(np.sin(np.arange(6, dtype="f")).reshape(2, 3))
        found = []
        for is_tuple in (True, False):
            with tf.variable_scope("cell", reuse=tf.AUTO_REUSE):
                cell = rnn.AttentionCellWrapper(tf.nn.rnn_cell.GRUCell(4), 2, state_is_tuple=is_tuple)
                y, state = cell(x, cell.zero_state(2, tf.float32), scope="attention")
                y, state = cell(x, state, scope="attention")
            found.append([y, *([tf.concat(state, 1)] if is_tuple else [state])])
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            (y, state), (y_of_one, one) = session.run(found)
        self.assertEqual((2, 4 + 4 + 8), one.shape)
        np.testing.assert_array_equal(y, y_of_one)
        np.testing.assert_array_equal(state, one)

    def test_areas_and_points_of_curves(self):
        random = np.random.RandomState(0)
        truth = random.randint(0, 2, 50)
        scores = np.clip(truth * 0.3 + random.rand(50) * 0.7, 0, 1).astype("f").round(1).clip(0, 1)
        w = tf.constant(random.rand(50).astype("f"))
        labels, scores = tf.constant(truth), tf.constant(scores)
        is_true = tf.cast(labels, tf.bool)
        points, update = metrics.streaming_curve_points(labels, scores, num_thresholds=5, curve="PR")
        at_all, update_all = metrics.precision_recall_at_equal_thresholds(is_true, scores, w, 11)
        pairs = [
            metrics.streaming_dynamic_auc(labels, scores),
            metrics.streaming_dynamic_auc(labels, scores, "PR", weights=w),
            metrics.auc_with_confidence_intervals(labels, scores, w),
            metrics.auc_with_confidence_intervals(labels, scores, logit_transformation=False),
            metrics.precision_at_recall(labels, scores, 0.7),
            metrics.recall_at_precision(labels, scores, 0.8, w),
            metrics.recall_at_precision(labels, scores, 0.99, strict_mode=True),
            metrics.auc_using_histogram(is_true, scores, [0.0, 1.0], 20),
            (tf.reduce_sum(points * [[1.0, 2.0]]), update),
            (tf.reduce_sum(at_all.precision) + 2 * tf.reduce_sum(at_all.recall), update_all),
        ]
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            for _ in range(3):
                session.run([update for _, update in pairs])
            values = session.run([value for value, _ in pairs])
        found = np.concatenate([np.atleast_1d(np.array(v, dtype="d")) for v in values])
        wanted = [0.884167, 0.943086, 0.898987, 0.811509, 0.948445, 0.884167, 0.835858, 0.932475]
        wanted += [0.84, 0.963602, 0.6, 0.884167, 11.5303, 24.9462]
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)

    def test_values_are_kept_in_an_array_that_grows(self):
        x = tf.placeholder(tf.float32, [2, None])
        value, update = metrics.streaming_concat(x, axis=1)
        first, update_first = metrics.streaming_concat(x, axis=1, max_size=3)
        all_values = np.arange(14.0).reshape(2, 7)
        with tf.Session() as session:
            session.run(tf.local_variables_initializer())
            for begin, end in ((0, 2), (2, 2), (2, 7)):
                session.run([update, update_first], {x: all_values[:, begin:end]})
                np.testing.assert_array_equal(session.run(value), all_values[:, :end])
            np.testing.assert_array_equal(session.run(first), all_values[:, :3])

    def test_monotonic_attention(self):
        p, before = [[0.1, 0.4, 0.7, 0.2]], [[0.5, 0.3, 0.2, 0.0]]
        attention = tf.contrib.seq2seq.monotonic_attention
        found = [attention(p, before, mode) for mode in ("recursive", "parallel")]
        found.append(attention(np.round(p).astype("f"), before, "hard"))
        memory = tf.ones([2, 5, 3])
        mechanism = tf.contrib.seq2seq.BahdanauMonotonicAttention(4, memory, [5, 3], normalize=True)
        cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), mechanism)
        _, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            soft, parallel, hard, alignments = session.run([*found, state.alignments])
        np.testing.assert_allclose(soft, [[0.05, 0.3, 0.455, 0.039]], rtol=1e-6)
        np.testing.assert_allclose(parallel, soft, rtol=1e-6)
        np.testing.assert_array_equal(hard, [[0, 0, 1, 0]])
        np.testing.assert_array_equal(alignments[1, 3:], [0, 0])
        names = [v.op.name.rpartition("/")[2] for v in tf.trainable_variables()]
        self.assertIn("attention_score_bias", names)

    def test_a_decoder_takes_its_own_outputs_for_inputs(self):
        inputs = tf.zeros([2, 3, 4])
        helper = tf.contrib.seq2seq.ScheduledOutputTrainingHelper(
            inputs, [3, 2], 1.0, next_inputs_fn=lambda y: y + 1, auxiliary_inputs=tf.ones([2, 3, 1])
        )
        finished, first = helper.initialize()
        outputs = tf.fill([2, 4], 5.0)
        samples = helper.sample(0, outputs, ())
        _, second, _ = helper.next_inputs(0, outputs, (), samples)
        with tf.Session() as session:
            first, samples, second = session.run([first, samples, second])
        np.testing.assert_array_equal(first[0], [0, 0, 0, 0, 1])
        np.testing.assert_array_equal(samples, [1, 1])
        np.testing.assert_array_equal(second[1], [6, 6, 6, 6, 1])

    def test_beams_are_ranked_by_coverage_and_have_their_alignments(self):
        seq2seq = tf.contrib.seq2seq
        memory = tf.constant(np.sin(np.arange(24, dtype="f")).reshape(2, 4, 3))
        attention = seq2seq.LuongAttention(4, seq2seq.tile_batch(memory, 2))
        cell = seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), attention, alignment_history=True)
        classes = tf.layers.Dense(5)
        table = tf.constant(np.cos(np.arange(15, dtype="f")).reshape(5, 3))
        decoders = [
            seq2seq.BeamSearchDecoder(
                cell,
                table,
                [1, 1],
                0,
                cell.zero_state(4, tf.float32),
                2,
                classes,
                coverage_penalty_weight=weight,
            )
            for weight in (0.0, 5.0)
        ]
        with tf.variable_scope("decoder", reuse=tf.AUTO_REUSE):
            made = [seq2seq.dynamic_decode(d, maximum_iterations=3)[:2] for d in decoders]
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for i, v in enumerate(tf.global_variables()):
                shape = v.shape.as_list()
                v.load(np.cos(np.arange(np.prod(shape), dtype="f") * (i + 1)).reshape(shape), session)
            found = session.run(
                [(f.beam_search_decoder_output, s.cell_state.alignment_history) for f, s in made]
            )
        (plain, history), (covered, _) = found
        self.assertEqual((plain.scores.shape[1], 4, 4), history.shape)
        np.testing.assert_allclose(history.sum(axis=2), np.ones(history.shape[:2]), rtol=1e-5)
        # A beam that has finished before a step loses what it has not attended to.
        np.testing.assert_array_equal(covered.scores[0, 0], plain.scores[0, 0])
        self.assertLess(covered.scores[0, 1].max(), plain.scores[0, 1].max())

    def test_steps_of_beams_are_put_in_the_order_of_sequences(self):
        array = [[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]], [[0, 0, 0]]]
        parents = [[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]], [[-1, -1, -1]]]
        ordered = tf.contrib.seq2seq.gather_tree_from_array(array, parents, [[3, 3, 3]])
        with tf.Session() as session:
            found = session.run(ordered)
        np.testing.assert_array_equal(found[:, 0], [[2, 2, 2], [6, 5, 6], [7, 8, 9], [0, 0, 0]])

    def test_pictures_are_warped_by_moved_points(self):
        picture = tf.constant(np.arange(25, dtype="f").reshape(1, 5, 5, 1))
        moved, flow = tf.contrib.image.sparse_image_warp(
            picture, [[[1.0, 1.0], [3.0, 3.0], [1.0, 3.0]]], [[[2.0, 1.0], [4.0, 3.0], [2.0, 3.0]]]
        )
        by_one = tf.contrib.image.dense_image_warp(picture, tf.ones([1, 5, 5, 2]))
        with tf.Session() as session:
            moved, flow, by_one = session.run([moved, flow, by_one])
        np.testing.assert_allclose(flow[0, :, :, 0], np.ones([5, 5]), atol=1e-3)
        np.testing.assert_allclose(moved[0, 1:, :, 0], np.arange(20).reshape(4, 5), atol=1e-2)
        np.testing.assert_allclose(by_one[0, 1:, 1:, 0], np.arange(25).reshape(5, 5)[:-1, :-1])

    def test_derivatives_along_a_direction(self):
        x = tf.constant([1.0, 2.0])
        (found,) = fwd_gradients.fwd_gradients([x * x * x], [x], [[1.0, 10.0]])
        clipped = tf.contrib.nn.scaled_softplus(tf.constant([0.0, 9.0]), 2.0, clip=5.0)
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(found), [3, 120])
            np.testing.assert_allclose(session.run(clipped), [2 * math.log(2), 5], rtol=1e-6)

    def test_zeros_are_for_variables_without_a_value(self):
        for resource in (False, True):
            v = tf.Variable([1.0, 2.0], use_resource=resource)
            zero = tf.contrib.framework.zero_initializer(v)
            with tf.Session() as session:
                np.testing.assert_array_equal(session.run(zero), [0.0, 0.0])
                session.run(v.initializer)
                with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "already initialized"):
                    session.run(zero)
                np.testing.assert_array_equal(session.run(v), [1.0, 2.0])

    def test_shapes_are_checked_when_they_run(self):
        x = tf.placeholder(tf.float32)
        checked = tf.contrib.framework.with_shape([2, 2], x)
        scalar = tf.contrib.framework.with_shape([], tf.constant([3.0]))
        doubled = tf.contrib.framework.py_func(
            lambda a, b: {"sum": a + b}, args=[x], kwargs={"b": 1.0}, output_types={"sum": tf.float32}
        )
        self.assertEqual([x], tf.contrib.framework.get_placeholders(tf.get_default_graph()))
        with tf.Session() as session:
            self.assertEqual(3.0, session.run(scalar))
            self.assertEqual(3.0, session.run(doubled["sum"], {x: 2.0}))
            session.run(checked, {x: np.ones([2, 2])})
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Wrong shape"):
                session.run(checked, {x: [2.0, 2.0]})

    def test_networks_of_cudnn_are_those_of_their_compatible_cells(self):
        cudnn, x = tf.contrib.cudnn_rnn, np.random.RandomState(0).randn(5, 3, 4).astype("f")
        lengths = np.array([5, 2, 4], "i")
        cells = {
            "CudnnLSTM": lambda: cudnn.CudnnCompatibleLSTMCell(6),
            "CudnnGRU": lambda: cudnn.CudnnCompatibleGRUCell(6),
            "CudnnRNNTanh": lambda: rnn.BasicRNNCell(6),
            "CudnnRNNRelu": lambda: rnn.BasicRNNCell(6, activation=tf.nn.relu),
        }
        for (name, cell), bidirectional in itertools.product(cells.items(), (False, True)):
            direction = "bidirectional" if bidirectional else "unidirectional"
            with self.subTest(name, direction=direction), tempfile.TemporaryDirectory() as folder:
                path = f"{folder}/model"
                with tf.Graph().as_default(), tf.Session() as session:
                    tf.set_random_seed(1)
                    bias = tf.random_normal_initializer()
                    layer = getattr(cudnn, name)(2, 6, direction=direction, bias_initializer=bias)
                    layer.build([None, None, 4])
                    value = tf.constant(x)
                    made = [layer(value), layer(value, sequence_lengths=lengths)]
                    made = [(outputs, states[0]) for outputs, states in made]
                    turned, _ = layer(tf.transpose(value, [1, 0, 2]), time_major=False)
                    rate = tf.train.RMSPropOptimizer(0.01)
                    train = rate.minimize(tf.reduce_sum(tf.square(made[1][0])))
                    session.run(tf.global_variables_initializer())
                    session.run(train)
                    saver = tf.train.Saver()
                    saver.save(session, path)
                    expected = session.run(made)
                    np.testing.assert_allclose(
                        session.run(turned).transpose(1, 0, 2), expected[0][0], atol=1e-6
                    )
                    session.run(layer.kernel.initializer)
                    saver.restore(session, path)
                    for before, after in zip(expected, session.run(made)):
                        np.testing.assert_allclose(before[0], after[0], atol=1e-5)
                with tf.Graph().as_default(), tf.Session() as session:
                    for of_cudnn, sizes in zip(expected, (None, lengths)):
                        with tf.variable_scope(tf.get_variable_scope(), reuse=sizes is not None):
                            arguments = {"dtype": tf.float32, "sequence_length": sizes, "time_major": True}
                            if bidirectional:
                                pairs = [cell(), cell()], [cell(), cell()]
                                outputs, fw, bw = rnn.stack_bidirectional_dynamic_rnn(
                                    *pairs, tf.constant(x), **arguments
                                )
                                states = [s for pair in zip(fw, bw) for s in pair]
                            else:
                                stack = rnn.MultiRNNCell([cell(), cell()])
                                outputs, states = tf.nn.dynamic_rnn(stack, tf.constant(x), **arguments)
                        if sizes is None:
                            tf.train.Saver().restore(session, path)
                        h = tf.stack([getattr(s, "h", s) for s in states])
                        for ours, theirs in zip(of_cudnn, session.run((outputs, h))):
                            np.testing.assert_allclose(ours, theirs, atol=1e-5)

    def test_reversible_blocks_and_recomputed_functions_have_the_gradients_of_plain_ones(self):
        side = tf.constant(np.random.RandomState(1).randn(2, 3).astype("f"))
        x = tf.constant(np.random.RandomState(2).randn(2, 6).astype("f"))
        calls = []

        def f(x, side):
            return tf.layers.dense(x, 3, tf.nn.tanh) * side[0]

        def g(x):
            return tf.layers.dense(x, 3, tf.nn.tanh)

        def again(x, side, is_recomputing):
            calls.append(is_recomputing)
            return f(x, [side]) + g(x)

        def block(is_training, xs):
            return tf.concat(tf.contrib.layers.rev_block(*xs, f, g, 2, [side], None, is_training), 1)

        def gradients(scope, made):
            used = [x, side, *tf.trainable_variables(scope)]
            grads = tf.gradients(tf.reduce_sum(tf.square(made)), used)
            return [made, *grads], tf.trainable_variables(scope)

        cases = {
            "rev": (lambda: block(True, tf.split(x, 2, 1)), lambda: block(False, tf.split(x, 2, 1))),
            "r": (
                lambda: tf.contrib.layers.recompute_grad(again)(x, side[:, :1]),
                lambda: again(x, side[:, :1], None),
            ),
        }
        for name, functions in cases.items():
            made = []
            for way, function in zip("ab", functions):
                with tf.variable_scope(f"{name}_{way}", use_resource=True):
                    made.append(function())
            made = [gradients(f"{name}_{way}", value) for way, value in zip("ab", made)]
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                session.run([tf.assign(a, b) for a, b in zip(*(variables for _, variables in made))])
                for ours, plain in zip(*session.run([values for values, _ in made])):
                    np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-5)
        self.assertEqual([False, None, True], calls)

    def test_recurrences_keep_states_and_compute_cells_again_for_gradients(self):
        def cell(theta, state, inputs):
            total, power = state
            return [total + inputs * power, power * theta], []

        x, coefficients = tf.constant(2.0), tf.constant([1.0, 2.0, 3.0, 4.0])
        states = [tf.constant(0.5), tf.constant(1.0)]
        cases = [
            (None, False, [1.5, 5.5, 17.5, 49.5], [63482, [1112, 2222, 4404, 8008], 1112, 50800]),
            (2, False, [1.5, 5.5, 0, 0], [22, [12, 22, 0, 0], 12, 56]),
            # TensorFlow takes zeros for the state before the first of these steps when it makes gradients.
            (2, True, [0, 0, 3.5, 11.5], [4004, [0, 0, 1101, 2002], 1101, 11311]),
        ]
        for longest, at_end, totals, grads in cases:
            longest = longest and tf.constant(longest)
            all_states, last = tf.contrib.recurrent.Recurrent(
                x, states, coefficients, cell, max_input_length=longest, aligned_end=at_end
            )
            loss = last[0] + tf.reduce_sum(all_states[0] * [1.0, 10.0, 100.0, 1000.0])
            found = tf.gradients(loss, [x, coefficients, *states])
            with tf.Session() as session:
                np.testing.assert_allclose(session.run(all_states[0]), totals)
                for grad, expected in zip(session.run(found), grads):
                    np.testing.assert_allclose(grad, expected, rtol=1e-6)
        with self.assertRaisesRegex(AssertionError, "cell_fn is not pure"):
            tf.contrib.recurrent.Recurrent(
                x, states, coefficients, lambda t, s, i: ([s[0] + x, s[1] * t], [])
            )

    def test_weighted_sums_of_columns(self):
        layers = tf.contrib.layers
        features = {
            "a": tf.SparseTensor([[0, 0], [0, 1], [1, 0]], ["x", "y", "z"], [3, 2]),
            "b": tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
            "p": tf.constant([[1.0], [5.0], [9.0]]),
            "c": tf.constant([["u"], ["v"], ["w"]]),
        }
        words = layers.sparse_column_with_keys("a", ["x", "y", "z"])
        buckets = layers.bucketized_column(layers.real_valued_column("p"), [2.0, 6.0])
        columns = [words, layers.real_valued_column("b", dimension=2), buckets]
        with self.assertRaisesRegex(ValueError, "Duplicate feature column key found for column: a"):
            layers.check_feature_columns([words, *columns])
        total, variables, bias = layers.weighted_sum_from_feature_columns(features, columns, 2)
        names = {
            "a/weights": [3, 2],
            "b/weight": [2, 2],
            "bias_weight": [2],
            "p_bucketized/weights": [3, 2],
        }
        found = tf.global_variables("weighted_sum_from_feature_columns/")
        self.assertEqual(names, {v.op.name.partition("/")[2]: v.shape.as_list() for v in found})
        self.assertEqual(3, len(variables))
        joint, (weights,), joint_bias = layers.joint_weighted_sum_from_feature_columns(
            features, [layers.sparse_column_with_keys("c", ["u", "v", "w"]), words], 1
        )
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.tables_initializer()])
            for v in [*found, weights, joint_bias]:
                v.load(np.arange(1.0, 1 + v.shape.num_elements()).reshape(v.shape), session)
            np.testing.assert_allclose([[13, 20], [24, 34], [29, 42]], session.run(total))
            np.testing.assert_allclose([[8], [9], [7]], session.run(joint))

    def test_columns_have_combiners_and_hashes_of_their_own(self):
        layers = tf.contrib.layers
        features = {
            "w": tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], ["x", "y", "z", "x"], [3, 2]),
            "v": tf.SparseTensor([[0, 0], [0, 1], [1, 0], [2, 0]], [1.0, 3.0, 2.0, 5.0], [3, 2]),
            "n": tf.SparseTensor(
                [[0, 0], [1, 0], [2, 0], [2, 1]], tf.constant([-3, 4, 100, 7], tf.int64), [3, 2]
            ),
            "p": tf.constant([[1.0], [5.0], [9.0]]),
        }
        words = layers.sparse_column_with_hash_bucket("w", 11, combiner="mean")
        numbers = layers.sparse_column_with_integerized_feature("n", 10, combiner="sqrtn")
        buckets = layers.bucketized_column(layers.real_valued_column("p"), [2.0, 6.0])
        weighted = layers.weighted_sparse_column(words, "v")
        crossed = layers.crossed_column([words, numbers], 1000, combiner="sqrtn")
        keyed = layers.crossed_column([crossed, buckets], 1000, hash_key=7)
        columns = [words, numbers, buckets, weighted, crossed, keyed]
        ids = layers.transform_features(features, [crossed, keyed])
        total, _, _ = layers.weighted_sum_from_feature_columns(features, columns, 2)
        inputs = layers.input_from_feature_columns(
            features,
            [
                layers.embedding_column(words, 1, initializer=tf.ones_initializer()),
                layers.one_hot_column(weighted),
                layers.real_valued_column("p"),
                layers.embedding_column(crossed, 1, "sqrtn", tf.ones_initializer()),
                layers.scattered_embedding_column("w", 8, 2, 5, "sqrtn", tf.ones_initializer()),
            ],
        )
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for v in tf.trainable_variables("weighted_sum"):
                if "bias" not in v.op.name:
                    v.load((np.arange(v.shape.num_elements()) % 13).reshape(v.shape), session)
            for v in tf.trainable_variables("input_from"):
                v.load((np.arange(v.shape.num_elements()) % 13).reshape(v.shape), session)
            # The numbers are TensorFlow 1.15's.
            self.assertEqual([240, 259, 37, 766, 537], session.run(ids[crossed]).values.tolist())
            self.assertEqual([161, 350, 434, 866, 395], session.run(ids[keyed]).values.tolist())
            np.testing.assert_allclose(
                [[50.513458, 48.735283], [35, 41], [47.142136, 54.970566]], session.run(total), rtol=1e-6
            )
            expected = [
                [12.727922, 6.5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 3, 0, 1, 4.949748, 4.949748],
                [11, 8, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 5, 7, 5],
                [11.313708, 4, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 9, 5, 5],
            ]
            np.testing.assert_allclose(expected, session.run(inputs), rtol=1e-6)

    def test_a_saved_model_is_read_without_its_graph(self):
        with tempfile.TemporaryDirectory() as folder, tf.Session() as session:
            builder = tf.saved_model.Builder(f"{folder}/model")
            session.run(tf.Variable(1.0).initializer)
            builder.add_meta_graph_and_variables(session, ["serve", "gpu"])
            builder.add_meta_graph(["serve"])
            builder.save(as_text=True)
            self.assertEqual(
                [["serve", "gpu"], ["serve"]],
                [sorted(t, reverse=True) for t in reader.get_saved_model_tag_sets(f"{folder}/model")],
            )
            with self.assertRaisesRegex(IOError, "SavedModel file does not exist at: "):
                reader.read_saved_model(folder)

    def test_expectations_by_samples(self):
        monte_carlo = tf.contrib.bayesflow.monte_carlo
        p, q = tf.distributions.Normal([1.0], [1.0]), tf.distributions.Normal([0.0], [2.0])
        mean, z = tf.constant(0.5), tf.constant([[-1.0], [0.0], [2.0]])
        x = z + mean
        by_score = monte_carlo.expectation(
            tf.square,
            x,
            lambda x: tf.distributions.Normal(mean, 1.0).log_prob(x),
            use_reparametrization=False,
        )
        by_samples = monte_carlo.expectation(tf.square, x)
        made = [
            monte_carlo.expectation_importance_sampler(lambda z: z * z * z, p.log_prob, q, z=z),
            monte_carlo.expectation_importance_sampler_logspace(lambda z: z, p.log_prob, q, z=z),
            by_samples,
            by_score,
            tf.gradients(by_samples, mean)[0],
            tf.gradients(by_score, mean)[0],
        ]
        with tf.Session() as session:
            for value, expected in zip(session.run(made), [5.2311, 1.68046, 2.25, 2.25, 1.66667, 4.08333]):
                np.testing.assert_allclose(np.squeeze(value), expected, rtol=1e-5)
        with self.assertRaisesRegex(ValueError, 'Must specify exactly one of arguments "n" and "z"'):
            monte_carlo.expectation_importance_sampler(tf.square, p.log_prob, q)


class TrainingTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()

    def test_zero_gradients_of_a_task_leave_the_slots(self):
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        on = tf.placeholder(tf.float32, [])
        wrapped = opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(0.1, 0.9))
        pairs, norm = opt.clip_gradients_by_global_norm(
            wrapped.compute_gradients(on * tf.reduce_sum(w * [3.0, 4.0])), 2.5
        )
        op = wrapped.apply_gradients(pairs)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(5.0, session.run([norm, op], {on: 1})[0])
            session.run(op, {on: 0})
            value, momentum = session.run([w, wrapped.get_slot(w, "momentum")])
        np.testing.assert_allclose(value, [0.85, 1.8], rtol=1e-6)
        np.testing.assert_allclose(momentum, [1.5, 2.0], rtol=1e-6)

    def test_variables_stay_within_a_norm(self):
        w = tf.get_variable("w", initializer=[[3.0, 4.0], [0.3, 0.4]])
        plain = tf.train.GradientDescentOptimizer(1.0)
        op = opt.VariableClippingOptimizer(plain, {w: [1]}, 1.0).minimize(0.0 * tf.reduce_sum(w))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(op)
            np.testing.assert_allclose(session.run(w), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6)

    def test_stale_gradients_are_dropped(self):
        step = tf.train.get_or_create_global_step()
        w = tf.get_variable("w", initializer=2.0)
        made = opt.DropStaleGradientOptimizer(tf.train.GradientDescentOptimizer(1.0), 0)
        pairs = made.compute_gradients(w * 1.0)
        behind = tf.placeholder_with_default(np.int64(0), [])
        made._local_step = step - behind
        op = made.apply_gradients(pairs, step)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            self.assertEqual(0, session.run(op))
            self.assertEqual(1, session.run(op, {behind: 1}))
            self.assertEqual([1.0, 1], session.run([w, step]))

    def test_a_worker_sends_the_mean_of_its_gradients(self):
        getter = opt.AGNCustomGetter("/job:localhost/task:0")
        with tf.variable_scope("", custom_getter=getter):
            w = tf.get_variable("w", initializer=10.0)
        step = tf.train.get_or_create_global_step()
        made = opt.AGNOptimizer(tf.train.GradientDescentOptimizer(1.0), 1, getter, communication_period=2)
        op = made.minimize(w * 3.0, global_step=step)
        shared = next(v for v in tf.global_variables() if v.op.name == "global_center_variable/w")
        hook = made.make_session_run_hook(True, 0)
        hook.begin()
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            hook.after_create_session(session, None)
            session.run(op)
            self.assertEqual([7.0, 10.0, 0], session.run([w, shared, step]))
            session.run(op)
            self.assertEqual([7.0, 7.0, 1], session.run([w, shared, step]))

    def test_an_estimator_as_scikit_learn_has_it(self):
        learn = tf.contrib.learn
        x = np.array([[0.0], [1.0], [2.0], [3.0]], "f")
        columns = learn.infer_real_valued_columns_from_input(x)
        made = learn.SKCompat(learn.LinearClassifier(columns))
        self.assertIs(made, made.fit(x, np.array([0, 0, 1, 1]), batch_size=4, steps=200))
        found = made.predict(x)
        np.testing.assert_array_equal(found["classes"], [0, 0, 1, 1])
        self.assertEqual((4, 2), found["probabilities"].shape)
        self.assertEqual({"classes"}, set(made.predict(x, outputs=["classes"])))
        self.assertEqual(1.0, made.score(x, np.array([0, 0, 1, 1]))["accuracy"])

    def test_an_average_is_saved_with_its_variable_only(self):
        w = tf.get_variable("w", initializer=[1.0, 2.0])
        made = opt.MovingAverageOptimizer(tf.train.GradientDescentOptimizer(0.1))
        made.minimize(tf.reduce_sum(w))
        with self.assertRaisesRegex(ValueError, "Variable to swap w/ExponentialMovingAverage is not"):
            made.swapping_saver(var_list=[w])

    def test_parts_of_a_variable_have_centers(self):
        getter = opt.ElasticAverageCustomGetter("/job:localhost/task:0")
        parts = tf.fixed_size_partitioner(2)
        with tf.variable_scope("", custom_getter=getter, partitioner=parts):
            w = tf.get_variable("w", [4, 1])
        for part, center in zip(w, (getter._global_map[p] for p in w)):
            self.assertEqual(f"global_center_variable/{part.op.name}", center.op.name)

    def test_rates_with_warm_restarts(self):
        decay = sgdr_learning_rate_decay.sgdr_decay
        rates = [decay(0.4, step, 4, 2.0, 0.5) for step in (0, 2, 4, 8)]
        with tf.Session() as session:
            np.testing.assert_allclose(session.run(rates), [0.4, 0.2, 0.2, 0.1], rtol=1e-5)

    def test_examples_are_chosen_by_class_and_by_weight(self):
        label = tf.random_uniform([], 0, 2, tf.int32, seed=1)
        (data,), labels = tf.contrib.training.stratified_sample(
            [tf.cast(label, tf.float32)], label, [0.0, 1.0], 8, init_probs=[0.5, 0.5]
        )
        (chosen,), rates = tf.contrib.training.weighted_resample(
            [tf.range(1000)], tf.constant([0.0, 2.0] * 500), 0.5, seed=3
        )
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            np.testing.assert_array_equal(np.ones([2, 8]), session.run([data, labels]))
            coordinator.request_stop()
            coordinator.join(threads)
            chosen, rates = session.run([chosen, rates])
        self.assertTrue((chosen % 2 == 1).all())
        self.assertTrue(400 < len(chosen) < 600)
        np.testing.assert_allclose(rates, np.ones(len(chosen)), rtol=1e-4)

    def test_the_only_task_of_a_job_needs_no_index(self):
        cluster = {"ps": ["localhost:0", "localhost:1"], "worker": ["localhost:0"]}
        server = tf.train.Server(cluster, job_name="worker", start=False)
        self.assertEqual(0, server.server_def.task_index)
        with self.assertRaisesRegex(ValueError, "explicit `task_index`"):
            tf.train.Server(cluster, job_name="ps", start=False)

    def test_summaries_whose_tags_are_their_names(self):
        tf.contrib.deprecated.scalar_summary("loss", 2.0)
        tf.contrib.deprecated.histogram_summary("w", [1.0, 2.0])
        with tf.Session() as session:
            summary = tf.Summary.FromString(session.run(tf.contrib.deprecated.merge_all_summaries()))
        self.assertEqual(["loss", "w"], [v.tag for v in summary.value])

    def test_a_scaled_loss_skips_steps_without_finite_gradients(self):
        mixed = tf.contrib.mixed_precision
        w = tf.get_variable("w", initializer=1.0)
        x = tf.placeholder(tf.float32, [])
        manager = mixed.ExponentialUpdateLossScaleManager(8.0, 2, decr_every_n_nan_or_inf=1, decr_ratio=0.5)
        made = mixed.LossScaleOptimizer(tf.train.MomentumOptimizer(0.5, 0.9), manager)
        op = made.minimize(w * x, tf.train.get_or_create_global_step())
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            scales = []
            for value in (1.0, np.inf, 0.0, 0.0):
                session.run(op, {x: value})
                scales.append(session.run(manager.get_loss_scale()))
            self.assertEqual([8.0, 4.0, 4.0, 8.0], scales)
            found = session.run([w, made.get_slot(w, "momentum"), tf.train.get_global_step()])
        np.testing.assert_allclose(found, [1.0 - 0.5 * (1 + 0.9 + 0.81), 0.81, 3], rtol=1e-6)

    def test_contrib_has_what_moved_to_tf(self):
        contrib = tf.contrib
        self.assertIs(contrib.hooks.ProfilerHook, tf.train.ProfilerHook)
        self.assertIs(contrib.proto.decode_proto, tf.io.decode_proto)
        self.assertIs(contrib.saved_model.save_keras_model, tf.keras.experimental.export_saved_model)

    def test_arguments_have_the_names_of_contrib(self):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        framework = tf.contrib.framework
        with tempfile.TemporaryDirectory() as directory, tf.Session() as session:
            session.run(v.initializer)
            tf.train.Saver().save(session, directory + "/model")
            self.assertEqual(framework.list_variables(checkpoint_dir=directory), [("v", [2])])
            self.assertEqual(framework.load_variable(checkpoint_dir=directory, name="v")[1], 2.0)
            self.assertTrue(framework.load_checkpoint(filepattern=directory).has_tensor("v"))
            session.run(v.assign([0.0, 0.0]))
            framework.init_from_checkpoint(checkpoint_dir=directory, assignment_map={"v": v})
            session.run(v.initializer)
            self.assertEqual(session.run(v)[1], 2.0)
        self.assertIn(tf.contrib.training.RandomStrategy(num_ps_tasks=2)(None), (0, 1))
        with self.assertRaisesRegex(ValueError, "requires num_packs >= 0"):
            tf.distribute.NcclAllReduce(num_packs=-1)
        attention = tf.contrib.seq2seq.LuongAttention(2, tf.zeros([1, 2, 2], tf.float16), dtype=tf.float16)
        cell = tf.nn.rnn_cell.GRUCell(2, dtype=tf.float16)
        self.assertEqual(
            tf.contrib.seq2seq.AttentionWrapper(cell, attention, dtype=tf.float16).dtype, "float16"
        )

    def test_solutions_by_conjugate_gradients(self):
        from braid.tensorflow.contrib.solvers.python.ops import least_squares, linear_equations, util

        random = np.random.RandomState(0)
        a, b = random.randn(6, 4), random.randn(6)
        square, right = a.T @ a, a.T @ b
        operator = util.create_operator(tf.constant(square))
        found = linear_equations.conjugate_gradient(operator, tf.constant(right), tol=1e-10)
        least = least_squares.cgls(util.create_operator(tf.constant(a)), tf.constant(b), tol=1e-10)
        with tf.Session() as session:
            found, least = session.run([found, least])
        np.testing.assert_allclose(found.x, np.linalg.solve(square, right), rtol=1e-6)
        np.testing.assert_allclose(least.x, found.x, rtol=1e-6)
        self.assertLessEqual(found.i, 5)

    def test_random_features_of_a_kernel(self):
        methods = tf.contrib.kernel_methods
        x = tf.constant([[0.1, 0.2], [0.3, -0.1]])
        features = methods.RandomFourierFeatureMapper(2, 20000, stddev=0.5).map(x)
        loss = methods.sparse_multiclass_hinge_loss(
            tf.constant([0, 2]), tf.constant([[1.0, 0.5, 0.0], [0.0, 0.0, 3.0]])
        )
        with tf.Session() as session:
            features, loss = session.run([features, loss])
        kernel = math.exp(-(0.2**2 + 0.3**2) / (2 * 0.5**2))
        np.testing.assert_allclose(features @ features.T, [[1, kernel], [kernel, 1]], atol=0.02)
        self.assertAlmostEqual(0.25, loss, 6)

    def test_differential_equations(self):
        t = np.linspace(0.0, 2.0, 5)
        y, info = tf.contrib.integrate.odeint(lambda y, t: -y * 1.0, [1.0, 2.0], t, full_output=True)
        fixed = tf.contrib.integrate.odeint_fixed(lambda y, t: -y * 1.0, [1.0, 2.0], t, dt=0.1)
        with tf.Session() as session:
            y, fixed, evaluations = session.run([y, fixed, info["num_func_evals"]])
        wanted = np.exp(-t)[:, None] * [1, 2]
        np.testing.assert_allclose(y, wanted, rtol=1e-5)
        np.testing.assert_allclose(fixed, wanted, rtol=1e-5)
        self.assertEqual(1, evaluations % 6)

    def test_the_smallest_weights_become_zero(self):
        pruning = tf.contrib.model_pruning
        x = tf.ones([1, 4])
        with tf.variable_scope("dense"):
            y = pruning.masked_fully_connected(x, 4, activation_fn=None, biases_initializer=None)
        step = tf.train.get_or_create_global_step()
        hparams = pruning.get_pruning_hparams().parse(
            "sparsity_function_end_step=2,target_sparsity=0.5,pruning_frequency=1,block_height=2"
        )
        made = pruning.Pruning(hparams, global_step=step)
        update = made.conditional_mask_update_op()
        weights, (mask,) = tf.trainable_variables()[0], pruning.get_masks()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            weights.load(np.arange(1.0, 17.0).reshape(4, 4), session)
            step.load(2, session)
            session.run(update)
            np.testing.assert_array_equal(session.run(mask), [[0] * 4] * 2 + [[1] * 4] * 2)
            np.testing.assert_array_equal(session.run(y), [[22, 24, 26, 28]])
            constants = tf.graph_util.convert_variables_to_constants(
                session, tf.get_default_graph().as_graph_def(), [y.op.name]
            )
        stripped = pruning.strip_pruning_vars_fn(constants, [y.op.name])
        self.assertNotIn("dense/fully_connected/mask", [n.name for n in stripped.node])
        self.assertEqual({"Const", "MatMul"}, {n.op for n in stripped.node} - {"Identity"})


if __name__ == "__main__":
    unittest.main()
