"""tf.feature_column: all of it."""

# flake8: noqa
from braid.tensorflow.python.feature_column.dense_features import *
from braid.tensorflow.python.feature_column.feature_column import *
from braid.tensorflow.python.feature_column.feature_column_v2 import *
from braid.tensorflow.python.feature_column.feature_column import (
    InputLayer,
    _LinearModel,
    make_parse_example_spec,
)
from braid.tensorflow.python.feature_column.linear_layers import LinearModel
from braid.tensorflow.python.feature_column.sequence_feature_column import *
