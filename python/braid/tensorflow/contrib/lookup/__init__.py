"""Tables under their names in tf.contrib.lookup."""

from braid.tensorflow.contrib.lookup.lookup_ops import *
