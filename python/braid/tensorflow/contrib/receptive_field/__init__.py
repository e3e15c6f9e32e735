"""tf.contrib.receptive_field: which part of an image an output of a convolutional network depends on."""

from braid.tensorflow.contrib.receptive_field.receptive_field_api import (  # noqa: F401
    compute_receptive_field_from_graph_def,
    get_compute_order,
)
