"""tf.contrib.model_pruning: training that sets the smallest weights to zero, more and more of them."""

from braid.tensorflow.contrib.model_pruning.python.layers.layers import (  # noqa: F401
    masked_conv2d,
    masked_convolution,
    masked_fully_connected,
)
from braid.tensorflow.contrib.model_pruning.python.layers.rnn_cells import (  # noqa: F401
    MaskedBasicLSTMCell,
    MaskedLSTMCell,
)
from braid.tensorflow.contrib.model_pruning.python.learning import train  # noqa: F401
from braid.tensorflow.contrib.model_pruning.python.pruning import (  # noqa: F401
    Pruning,
    apply_mask,
    get_masked_weights,
    get_masks,
    get_pruning_hparams,
    get_thresholds,
    get_weight_sparsity,
    get_weights,
)
from braid.tensorflow.contrib.model_pruning.python.strip_pruning_vars_lib import (  # noqa: F401
    graph_def_from_checkpoint,
    strip_pruning_vars_fn,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.model_pruning.{name}"))
