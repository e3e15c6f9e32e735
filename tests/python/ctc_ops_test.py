"""Connectionist temporal classification: against the sum over all paths."""

import itertools
import unittest

import support
import braid.tensorflow as tf
import numpy as np


def labels_of(path, blank):
    """What a path says: its classes without repetitions, and then without blanks."""
    return tuple(k for i, k in enumerate(path) if k != blank and (i == 0 or k != path[i - 1]))


class CtcTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        self.logits = np.random.RandomState(0).randn(5, 3, 4).astype(np.float32)
        self.lengths = [5, 3, 1]
        self.labels = [(0, 2, 2), (1,), (2,)]
        p = np.exp(self.logits)
        p /= p.sum(-1, keepdims=True)
        self.likely = []
        for b, length in enumerate(self.lengths):
            sums = {}
            for path in itertools.product(range(4), repeat=length):
                said = labels_of(path, 3)
                sums[said] = sums.get(said, 0) + np.prod([p[t, b, k] for t, k in enumerate(path)])
            self.likely.append(sums)

    def sparse(self):
        places = [(b, i) for b, row in enumerate(self.labels) for i in range(len(row))]
        return tf.SparseTensor(places, tf.constant([k for row in self.labels for k in row]), [3, 3])

    def rows(self, value):
        made = [[] for _ in range(value.dense_shape[0])]
        for (b, _), k in zip(value.indices, value.values):
            made[b].append(int(k))
        return [tuple(row) for row in made]

    def test_the_loss_and_its_gradient(self):
        logits = tf.placeholder(tf.float32, [None, 3, 4])
        loss = tf.nn.ctc_loss(self.sparse(), logits, self.lengths)
        (gradient,) = tf.gradients(loss, logits)
        with tf.Session() as session:
            value, slope = session.run([loss, gradient], {logits: self.logits})
            wanted = [-np.log(sums[row]) for sums, row in zip(self.likely, self.labels)]
            np.testing.assert_allclose(value, wanted, rtol=1e-4)
            self.assertTrue((slope[3:, 1] == 0).all() and (slope[1:, 2] == 0).all())
            for place in ((0, 0, 2), (4, 0, 3), (2, 1, 1), (0, 2, 0)):
                step = np.zeros_like(self.logits)
                step[place] = 1e-2
                above, below = (session.run(loss, {logits: self.logits + s}).sum() for s in (step, -step))
                self.assertAlmostEqual((above - below) / 2e-2, slope[place], delta=2e-3)

    def test_sequences_that_are_too_short_for_their_labels(self):
        short = [2, 3, 1]  # there are 3 labels
        with tf.Session() as session:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "Not enough time"):
                session.run(tf.nn.ctc_loss(self.sparse(), self.logits, short))
            ignored = tf.nn.ctc_loss(
                self.sparse(), self.logits, short, ignore_longer_outputs_than_inputs=True
            )
            self.assertEqual(session.run(ignored)[0], 0)
            no_path = tf.nn.ctc_loss(self.sparse(), self.logits, [3, 3, 1])  # without a blank in 2, 2
            self.assertEqual(session.run(no_path)[0], np.inf)

    def test_the_loss_of_dense_labels_and_of_any_blank(self):
        dense = np.array([[0, 2, 2], [1, 0, 0], [2, 0, 0]], np.int32)
        moved = np.concatenate([self.logits[:, :, 3:], self.logits[:, :, :3]], 2)  # the blank comes first
        ones = [3, 1, 1]
        losses = [
            tf.nn.ctc_loss_v2(dense, tf.constant(self.logits), ones, self.lengths, blank_index=-1),
            tf.nn.ctc_loss_v2(dense + 1, tf.constant(moved), ones, self.lengths),
            tf.nn.ctc_loss_v2(self.sparse(), tf.constant(self.logits), None, self.lengths, blank_index=3),
        ]
        shifted = tf.SparseTensor(self.sparse().indices, self.sparse().values + 1, [3, 3])
        losses.append(tf.nn.ctc_loss_v2(shifted, tf.constant(moved), None, self.lengths, blank_index=0))
        wanted = [-np.log(sums[row]) for sums, row in zip(self.likely, self.labels)]
        with tf.Session() as session:
            for value in session.run(losses):
                np.testing.assert_allclose(value, wanted, rtol=1e-4)

    def test_decoders(self):
        (greedy,), _ = tf.nn.ctc_greedy_decoder(self.logits, self.lengths)
        beams, scores = tf.nn.ctc_beam_search_decoder(
            self.logits, self.lengths, beam_width=200, top_paths=2, merge_repeated=False
        )
        with tf.Session() as session:
            greedy, beams, scores = session.run([greedy, beams, scores])
        best = self.logits.argmax(-1).T
        self.assertEqual(self.rows(greedy), [labels_of(r[:n], 3) for r, n in zip(best, self.lengths)])
        for b, sums in enumerate(self.likely):
            wanted = sorted(sums, key=sums.get, reverse=True)[:2]
            self.assertEqual([self.rows(beam)[b] for beam in beams], wanted)
            np.testing.assert_allclose(np.exp(scores[b]), [sums[w] for w in wanted], rtol=1e-4)


if __name__ == "__main__":
    unittest.main()
