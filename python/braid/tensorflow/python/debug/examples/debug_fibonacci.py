"""python3 -m braid -m tensorflow.python.debug.examples.debug_fibonacci --debug: sums that overflow."""

import argparse

import numpy as np

import braid.tensorflow as tf
from braid.tensorflow.python import debug as tf_debug


def main(args=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--tensor_size", type=int, default=1, help="rows and columns of each tensor")
    parser.add_argument("--length", type=int, default=20, help="the number's place in the sequence")
    parser.add_argument("--ui_type", default="curses", help="(curses | readline)")
    parser.add_argument("--debug", action="store_true", help="stop in the debugger's command line")
    parser.add_argument("--tensorboard_debug_address", help="refused: there is no debugger of TensorBoard")
    flags, _ = parser.parse_known_args(args)
    with tf.Graph().as_default():
        ones = np.ones([flags.tensor_size] * 2)
        before = tf.Variable(ones, dtype=tf.int32, name="node_00")
        last = tf.Variable(ones, dtype=tf.int32, name="node_01")
        init = tf.global_variables_initializer()
        for i in range(2, flags.length):
            before, last = last, tf.add(before, last, name="node_%.2d" % i)
        sess = tf.Session()
        sess.run(init)
        if flags.tensorboard_debug_address:
            sess = tf_debug.TensorBoardDebugWrapperSession(sess, flags.tensorboard_debug_address)
        elif flags.debug:
            sess = tf_debug.LocalCLIDebugWrapperSession(sess, ui_type=flags.ui_type)
            sess.add_tensor_filter("has_inf_or_nan", tf_debug.has_inf_or_nan)
            sess.add_tensor_filter("has_negative", lambda datum, tensor: np.any(tensor < 0))
        print("Fibonacci number at position %d:\n%s" % (flags.length, sess.run(last)))


if __name__ == "__main__":
    main()
