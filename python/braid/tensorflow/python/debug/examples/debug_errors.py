"""python3 -m braid -m tensorflow.python.debug.examples.debug_errors --debug: runs that fail."""

import argparse

import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.python import debug as tf_debug


def main(args=None):
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--error",
        default="shape_mismatch",
        choices=["shape_mismatch", "uninitialized_variable", "no_error"],
        help="what is wrong with the run",
    )
    parser.add_argument("--ui_type", default="curses", help="(curses | readline)")
    parser.add_argument("--debug", action="store_true", help="stop in the debugger's command line")
    flags, _ = parser.parse_known_args(args)
    with tf.Graph().as_default():
        fed = tf.placeholder(tf.float32, name="ph_float")
        x = tf.transpose(fed, name="x")
        v = tf.Variable([[-2.0], [-3.0], [6.0]], name="v")
        m = tf.constant([[0.0, 1.0, 2.0], [-4.0, -1.0, 0.0]], name="m")
        y = tf.matmul(m, x, name="y")
        z = tf.matmul(m, v, name="z")
        sess = tf.Session()
        if flags.debug:
            sess = tf_debug.LocalCLIDebugWrapperSession(sess, ui_type=flags.ui_type)
        row = np.array([[0.0, 1.0, 2.0]])
        if flags.error == "uninitialized_variable":
            print(sess.run(z))
        else:
            print(sess.run(y, feed_dict={fed: row if flags.error == "no_error" else row.T}))


if __name__ == "__main__":
    main()
