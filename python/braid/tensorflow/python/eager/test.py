"""Tests of programs that run in either mode."""

from braid.tensorflow.python.platform.test import *
from braid.tensorflow.python.platform.test import Benchmark, TestCase, main, mock


def main(argv=None):
    from braid.tensorflow.python.platform import googletest

    googletest.main(argv)
