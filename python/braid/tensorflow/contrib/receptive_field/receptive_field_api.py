"""The functions of tf.contrib.receptive_field."""

from braid.tensorflow.contrib.receptive_field.python.util.graph_compute_order import (  # noqa: F401
    get_compute_order,
)
from braid.tensorflow.contrib.receptive_field.python.util.receptive_field import (  # noqa: F401
    compute_receptive_field_from_graph_def,
)
