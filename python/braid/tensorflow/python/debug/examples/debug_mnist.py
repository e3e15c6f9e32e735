"""python3 -m braid -m tensorflow.python.debug.examples.debug_mnist --debug: a network whose loss becomes nan.

The logarithm of a probability that is 0 is infinite; `run -f has_inf_or_nan` finds the first such tensor.
"""

import argparse

import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.examples.tutorials.mnist import input_data
from braid.tensorflow.python import debug as tf_debug

_PIXELS, _LABELS, _HIDDEN = 28 * 28, 10, 500


def _layer(name, x, size_in, size_out, activation):
    with tf.name_scope(name):
        weights = tf.Variable(tf.truncated_normal([size_in, size_out], stddev=0.1, seed=42), name="weights")
        biases = tf.Variable(tf.constant(0.1, shape=[size_out]), name="biases")
        return activation(tf.matmul(x, weights) + biases)


def _batches(flags):
    """A function from whether it trains to (images, labels)."""
    if flags.fake_data:
        rng = np.random.RandomState(1)
        labels = np.eye(_LABELS)[rng.randint(_LABELS, size=flags.train_batch_size)]
        images = rng.uniform(size=(flags.train_batch_size, _PIXELS))
        return lambda train: (images, labels)
    mnist = input_data.read_data_sets(flags.data_dir, one_hot=True)
    test = (mnist.test.images, mnist.test.labels)
    return lambda train: mnist.train.next_batch(flags.train_batch_size) if train else test


def main(args=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_steps", type=int, default=10, help="steps of training")
    parser.add_argument("--train_batch_size", type=int, default=100, help="images of a step")
    parser.add_argument("--learning_rate", type=float, default=0.025, help="Adam's")
    parser.add_argument("--data_dir", default="/tmp/mnist_data", help="the directory of MNIST's files")
    parser.add_argument("--fake_data", action="store_true", help="random images")
    parser.add_argument("--ui_type", default="curses", help="(curses | readline)")
    parser.add_argument("--debug", action="store_true", help="stop in the debugger's command line")
    parser.add_argument("--tensorboard_debug_address", help="refused: there is no debugger of TensorBoard")
    flags, _ = parser.parse_known_args(args)
    batch = _batches(flags)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, _PIXELS], name="x-input")
        y_ = tf.placeholder(tf.float32, [None, _LABELS], name="y-input")
        hidden = _layer("hidden", x, _PIXELS, _HIDDEN, tf.nn.relu)
        y = tf.nn.softmax(_layer("output", hidden, _HIDDEN, _LABELS, tf.identity))
        with tf.name_scope("cross_entropy"):
            loss = tf.reduce_mean(-(y_ * tf.log(y)))
        with tf.name_scope("train"):
            train = tf.train.AdamOptimizer(flags.learning_rate).minimize(loss)
        with tf.name_scope("accuracy"):
            is_right = tf.equal(tf.argmax(y, 1), tf.argmax(y_, 1))
            accuracy = tf.reduce_mean(tf.cast(is_right, tf.float32))
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        if flags.tensorboard_debug_address:
            sess = tf_debug.TensorBoardDebugWrapperSession(sess, flags.tensorboard_debug_address)
        elif flags.debug:
            sess = tf_debug.LocalCLIDebugWrapperSession(sess, ui_type=flags.ui_type)
        for step in range(flags.max_steps):
            images, labels = batch(train=False)
            right = sess.run(accuracy, feed_dict={x: images, y_: labels})
            print("Accuracy at step %d: %s" % (step, right))
            images, labels = batch(train=True)
            sess.run(train, feed_dict={x: images, y_: labels})


if __name__ == "__main__":
    main()
