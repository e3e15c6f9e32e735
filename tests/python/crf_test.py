"""tf.contrib.crf: against all sequences of tags."""

import itertools
import unittest

import support
import braid.tensorflow as tf
import numpy as np


class CrfTest(unittest.TestCase):
    def setUp(self):
        tf.reset_default_graph()
        rng = np.random.RandomState(0)
        self.scores = rng.randn(3, 4, 3).astype(np.float32)
        self.transitions = rng.randn(3, 3).astype(np.float32)
        self.lengths = np.array([4, 2, 1])
        self.tags = rng.randint(0, 3, [3, 4])

    def score(self, b, tags):
        unary = sum(self.scores[b, t, tag] for t, tag in enumerate(tags))
        return unary + sum(self.transitions[pair] for pair in zip(tags, tags[1:]))

    def all_tags(self, b):
        return itertools.product(range(3), repeat=int(self.lengths[b]))

    def test_likelihoods_and_the_best_tags(self):
        norms = [np.log(sum(np.exp(self.score(b, t)) for t in self.all_tags(b))) for b in range(3)]
        wanted = [self.score(b, tuple(self.tags[b, : self.lengths[b]])) - norms[b] for b in range(3)]
        best = [max(self.all_tags(b), key=lambda t: self.score(b, t)) for b in range(3)]
        for shape in ([3, 4, 3], [None, None, 3]):
            scores = tf.placeholder(tf.float32, shape)
            likelihood, _ = tf.contrib.crf.crf_log_likelihood(
                scores, self.tags, self.lengths, self.transitions
            )
            decoded, best_score = tf.contrib.crf.crf_decode(scores, self.transitions, self.lengths)
            with tf.Session() as session:
                got = session.run([likelihood, decoded, best_score], {scores: self.scores})
            np.testing.assert_allclose(got[0], wanted, atol=1e-4)
            self.assertEqual([tuple(got[1][b, : self.lengths[b]]) for b in range(3)], best)
            np.testing.assert_allclose(got[2], [self.score(b, best[b]) for b in range(3)], atol=1e-4)
        one, its_score = tf.contrib.crf.viterbi_decode(self.scores[0], self.transitions)
        self.assertEqual(tuple(one), best[0])
        self.assertAlmostEqual(float(its_score), float(self.score(0, best[0])), places=4)

    def test_the_transitions_become_a_variable(self):
        _, transitions = tf.contrib.crf.crf_log_likelihood(self.scores, self.tags, self.lengths)
        self.assertEqual(transitions.op.name, "transitions")
        self.assertEqual(transitions.shape.as_list(), [3, 3])


if __name__ == "__main__":
    unittest.main()
