"""Modules of tf.tpu."""

from braid.tensorflow.python.tpu import without_tpus

without_tpus.add_modules(__name__, without_tpus.MODULES)
