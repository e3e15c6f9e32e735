"""Columns of sequences."""

from braid.tensorflow.python.feature_column.sequence_feature_column import (  # noqa: F401
    sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity,
    sequence_categorical_column_with_vocabulary_file,
    sequence_categorical_column_with_vocabulary_list,
    sequence_input_layer,
    sequence_numeric_column,
)
