"""Specs for parse_example: the features of a model, its label and its weights."""

from braid.tensorflow.python.feature_column import feature_column
from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.util.tf_export import estimator_export


@estimator_export("estimator.classifier_parse_example_spec")
def classifier_parse_example_spec(
    feature_columns, label_key, label_dtype=dtypes.int64, label_default=None, weight_column=None
):
    """The spec of a classifier: features, a label of one integer or string, weights."""
    spec = feature_column.make_parse_example_spec(feature_columns)
    label = parsing_ops.FixedLenFeature((1,), label_dtype, label_default)
    return _add_label_and_weight_to_parsing_spec(spec, label_key, label, weight_column)


@estimator_export("estimator.regressor_parse_example_spec")
def regressor_parse_example_spec(
    feature_columns,
    label_key,
    label_dtype=dtypes.float32,
    label_default=None,
    label_dimension=1,
    weight_column=None,
):
    """The spec of a regressor: features, a label [label_dimension], weights."""
    spec = feature_column.make_parse_example_spec(feature_columns)
    label = parsing_ops.FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _add_label_and_weight_to_parsing_spec(spec, label_key, label, weight_column)


classifier_parse_example_spec_v2 = classifier_parse_example_spec
regressor_parse_example_spec_v2 = regressor_parse_example_spec


def _add_label_and_weight_to_parsing_spec(parsing_spec, label_key, label_spec, weight_column=None):
    if label_key in parsing_spec:
        raise ValueError(
            f"label should not be used as feature. label_key: {label_key}, features: "
            f"{parsing_spec.keys()}"
        )
    parsing_spec[label_key] = label_spec
    if weight_column is None:
        return parsing_spec
    if isinstance(weight_column, str):
        weight_column = fc.numeric_column(weight_column)
    if not isinstance(weight_column, fc.NumericColumn):
        raise ValueError(
            "weight_column should be an instance of tf.feature_column.numeric_column. "
            f"Given type: {type(weight_column)} value: {weight_column}"
        )
    if weight_column.key in parsing_spec:
        raise ValueError(
            "weight_column should not be used as feature. "
            f"weight_column: {weight_column.key}, features: {parsing_spec.keys()}"
        )
    parsing_spec.update(weight_column.parse_example_spec)
    return parsing_spec
