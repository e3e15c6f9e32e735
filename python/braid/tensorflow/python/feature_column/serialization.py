"""Feature columns as dictionaries that JSON can hold, and back."""

from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.feature_column import interfaces


def serialize_feature_column(column):
    """{"class_name": ..., "config": ...} of a column. The name of a feature stays as it is."""
    from braid.tensorflow.python.keras.utils import generic_utils

    if isinstance(column, str):
        return column
    if not isinstance(column, interfaces.FeatureColumn):
        raise ValueError(f"Instance: {column} is not a FeatureColumn")
    return generic_utils.serialize_keras_class_and_config(type(column).__name__, column._get_config())


def deserialize_feature_column(config, custom_objects=None, columns_by_name=None):
    """The column of serialize_feature_column's result.

    custom_objects: a dict from names to the program's own columns, initializers and functions.
    columns_by_name: the columns that are there already, by _column_name_with_class_name; a new one is added.
    """
    if isinstance(config, str):
        return config
    if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
        raise ValueError(f"Improper config format: {config}")
    name = config["class_name"]
    kind = _class_of(name, custom_objects)
    if kind is None:
        raise ValueError(f"Unknown feature_column_v2: {name}")
    if not issubclass(kind, interfaces.FeatureColumn):
        raise ValueError(f"Expected FeatureColumn class, instead found: {kind}")
    columns_by_name = {} if columns_by_name is None else columns_by_name
    column = kind._from_config(
        config["config"], custom_objects=custom_objects, columns_by_name=columns_by_name
    )
    return columns_by_name.setdefault(_column_name_with_class_name(column), column)


def _class_of(name, custom_objects):
    from braid.tensorflow.python.feature_column import sequence_feature_column
    from braid.tensorflow.python.keras.utils import generic_utils

    for objects in (custom_objects or {}, generic_utils.get_custom_objects()):
        if name in objects:
            return objects[name]
    found = getattr(fc, name, None) or getattr(sequence_feature_column, name, None)
    return found if isinstance(found, type) else None


def serialize_feature_columns(feature_columns):
    """A list: serialize_feature_column of each column."""
    return [serialize_feature_column(column) for column in feature_columns]


def deserialize_feature_columns(configs, custom_objects=None):
    """The columns of serialize_feature_columns' result. What two of them are made from is one column."""
    columns_by_name = {}
    return [deserialize_feature_column(c, custom_objects, columns_by_name) for c in configs]


def _column_name_with_class_name(column):
    """A name that an indicator and the column in it do not share."""
    return f"{type(column).__name__}:{column.name}"
