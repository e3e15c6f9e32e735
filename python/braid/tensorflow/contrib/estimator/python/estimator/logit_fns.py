"""Functions that build logits: tf.estimator's."""

from braid.tensorflow.python.estimator.canned.dnn import dnn_logit_fn_builder  # noqa: F401
from braid.tensorflow.python.estimator.canned.linear import linear_logit_fn_builder  # noqa: F401
from braid.tensorflow.python.estimator.model_fn import call_logit_fn  # noqa: F401
