"""tf.contrib.tensor_forest: random forests of extremely randomized trees, which grow with each batch."""

from braid.tensorflow.contrib.tensor_forest.client import eval_metrics, random_forest  # noqa: F401
from braid.tensorflow.contrib.tensor_forest.python import (  # noqa: F401
    data_ops,
    model_ops,
    stats_ops,
    tensor_forest,
    tensor_forest_ops,
)
