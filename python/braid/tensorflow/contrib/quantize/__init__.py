"""tf.contrib.quantize: graphs that train, and are evaluated, with the rounding of integers of few bits."""

from braid.tensorflow.contrib.quantize.python.quantize_graph import (  # noqa: F401
    create_eval_graph,
    create_training_graph,
    experimental_create_eval_graph,
    experimental_create_training_graph,
)
