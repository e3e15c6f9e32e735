"""tf.contrib.feature_column: columns of sequences, which are tf.feature_column's."""

from braid.tensorflow.python.feature_column.sequence_feature_column import (  # noqa: F401
    sequence_categorical_column_with_hash_bucket,
    sequence_categorical_column_with_identity,
    sequence_categorical_column_with_vocabulary_file,
    sequence_categorical_column_with_vocabulary_list,
    sequence_input_layer,
    sequence_numeric_column,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.feature_column.{name}"))
