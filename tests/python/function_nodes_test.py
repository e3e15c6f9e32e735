"""The nodes of functions: names, ops, edges and number are those of TensorFlow 1.15.

An op without a seed of its own draws by the number of nodes before it.
"""

import unittest
import zlib

import numpy as np

import support  # noqa: F401, before the others: where the package is
import braid.tensorflow as tf

SQUARE = [[1.0, 2.0], [3.0, 4.0]]


def number():
    return tf.constant(0.5)


def square():
    return tf.constant(SQUARE)


def places():
    return tf.constant([[1, 0], [0, 1]])


def sparse():
    return tf.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [2, 2])


def unknown():
    return tf.placeholder(tf.float32, [None, None])


def pictures():
    return tf.constant(np.ones([1, 4, 4, 3], np.float32))


def step_of(cell):
    cell(square(), cell.zero_state(2, tf.float32))


def labelled():
    return tf.constant([1, 0]), tf.constant([0.5, 0.2])


# A call, how many nodes TensorFlow 1.15 makes of it, and the CRC of their lines.
CALLS = [
    (lambda: tf.transpose(number()), 9, 1050313802),
    (lambda: tf.sparse.expand_dims(sparse()), 43, 1391663211),
    (lambda: tf.nn.weighted_moments(square(), 0, 1), 19, 816029749),
    (lambda: tf.reduce_logsumexp(0.5), 15, 883964152),
    (lambda: tf.math.reduce_std(0.5), 13, 2721355065),
    (lambda: tf.math.zero_fraction(square()), 27, 3454426414),
    (lambda: tf.sort(tf.placeholder(tf.float32, [2, 3]), axis=0), 14, 3844352185),
    (lambda: tf.argsort(square()), 10, 4033550925),
    (lambda: tf.batch_gather(places(), places()), 44, 3501897101),
    (lambda: tf.repeat(square(), 2, 1), 22, 2955962599),
    (lambda: tf.repeat(square(), [1, 2], 1), 71, 196403762),
    (lambda: tf.searchsorted(square(), square()), 21, 4188193414),
    (lambda: tf.unsorted_segment_sqrt_n(square(), [0, 1], 2), 15, 3359583224),
    (lambda: tf.histogram_fixed_width_bins([1.0, 2.0], [0.0, 4.0]), 31, 1869010230),
    (lambda: tf.is_non_decreasing([1.0, 2.0]), 36, 1135373128),
    (lambda: tf.assert_non_positive(tf.placeholder(tf.float32, [2])), 20, 230555840),
    (lambda: tf.clip_by_average_norm(square(), 0.5), 19, 3972831855),
    (lambda: tf.matrix_solve_ls(square(), square(), 0.1), 26, 3439799175),
    (lambda: tf.losses.hinge_loss(square(), square()), 42, 1505516611),
    (lambda: tf.contrib.losses.mean_squared_error(square(), square(), [1.0, 0.0]), 27, 672621933),
    (lambda: tf.contrib.losses.mean_pairwise_squared_error(square(), square()), 48, 929869306),
    (
        lambda: tf.contrib.losses.softmax_cross_entropy(square(), places(), label_smoothing=0.1),
        76,
        3069403397,
    ),
    (lambda: tf.metrics.auc(*labelled()), 171, 3660589560),
    (lambda: tf.metrics.specificity_at_sensitivity(*labelled(), 0.5), 187, 2261808870),
    (lambda: tf.train.polynomial_decay(0.1, places()[0, 0], 100, cycle=True), 31, 3098100416),
    (lambda: tf.train.cosine_decay_restarts(0.1, places()[0, 0], 100), 58, 4129431432),
    (lambda: tf.train.noisy_linear_cosine_decay(0.1, places()[0, 0], 100), 43, 2738997620),
    (lambda: tf.image.image_gradients(pictures()), 35, 2195762777),
    (lambda: tf.nn.ctc_unique_labels(places()), 83, 3218129978),
    (lambda: tf.nn.collapse_repeated(places(), [2, 2]), 112, 1573227726),
    (lambda: tf.losses.mean_squared_error(square(), unknown(), unknown()), 149, 2407819751),
    (
        lambda: tf.metrics.precision_at_k(tf.constant([[1]], tf.int64), tf.constant([[0.1, 0.2]]), 1),
        35,
        1542284880,
    ),
    (
        lambda: tf.metrics.average_precision_at_k(tf.constant([[1]], tf.int64), square()[:1], 1),
        83,
        2848624056,
    ),
    (lambda: tf.signal.hann_window(tf.placeholder(tf.int32, [])), 33, 585087169),
    (lambda: tf.signal.irfft(tf.placeholder(tf.complex64, [2, None])), 52, 1522320066),
    (lambda: tf.signal.fftshift(square()), 4, 1995145529),
    (lambda: tf.contrib.layers.unit_norm(square(), 1), 20, 1119366868),
    (lambda: tf.contrib.layers.maxout(square(), 1), 5, 1509511486),
    (lambda: tf.contrib.layers.images_to_sequence(pictures()), 17, 1562225803),
    (lambda: tf.contrib.layers.embedding_lookup_unique(square(), [0, 1]), 20, 3763087990),
    (lambda: tf.contrib.layers.bow_encoder(places(), 3, 2), 60, 950871798),
    (lambda: tf.contrib.image.rotate(pictures(), 0.5), 104, 3474030269),
    (lambda: tf.contrib.image.translate(pictures(), [1.0, 2.0]), 69, 1516043372),
    (lambda: tf.contrib.nn.alpha_dropout(square(), 0.5), 35, 3615851269),
    (lambda: tf.signal.dct(square(), norm="ortho"), 40, 622400599),
    (lambda: tf.signal.overlap_and_add(square(), 1), 92, 1941392896),
    (lambda: tf.linalg.pinv(square()), 15, 3916995971),
    (lambda: tf.linalg.matrix_rank(square()), 13, 2874863592),
    (lambda: tf.linalg.LinearOperatorCirculant([1.0, 2.0]), 9, 76790320),
    (lambda: tf.gradients(square(), 1.0), 5, 848589488),
    (lambda: tf.contrib.metrics.accuracy(places(), places(), 0.5), 16, 504002458),
    (lambda: tf.contrib.layers.gdn(pictures()), 34, 2344474312),
    (lambda: step_of(tf.contrib.rnn.UGRNNCell(2)), 39, 2239086846),
    (lambda: step_of(tf.contrib.rnn.IntersectionRNNCell(3, 3)), 77, 1403002321),
    (lambda: step_of(tf.contrib.rnn.CoupledInputForgetGateLSTMCell(2)), 50, 2249031810),
    (lambda: step_of(tf.contrib.rnn.IndyLSTMCell(2)), 61, 440160036),
    (lambda: tf.ragged.row_splits_to_segment_ids([0, 2, 3]), 67, 911956182),
    (lambda: tf.ragged.segment_ids_to_row_splits([0, 0, 1], 2), 24, 4264732628),
    (lambda: tf.einsum("aij,kj->aik", tf.placeholder(tf.float32, [None, None, 2]), square()), 23, 2485583162),
    (lambda: tf.einsum("...j,kj,ni", square(), square(), unknown()), 19, 1118986),
    (lambda: tf.einsum("a,b->ba", tf.constant([1.0]), tf.constant([2.0])), 9, 1644873417),
]


def lines(graph):
    made = []
    for node in graph.as_graph_def().node:
        inputs = sorted(node.input, key=lambda name: name if name.startswith("^") else "~")
        made.append("%s %s %s" % (node.name, node.op, " ".join(inputs)))
    return made


class FunctionNodes(unittest.TestCase):
    def test_functions_have_the_nodes_of_tensorflow(self):
        for number, (call, *want) in enumerate(CALLS):
            with self.subTest(call=number), tf.Graph().as_default() as graph:
                call()
                made = lines(graph)
                self.assertEqual([len(made), zlib.crc32("\n".join(made).encode())], want)


if __name__ == "__main__":
    unittest.main()
