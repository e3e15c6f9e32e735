"""tf.feature_column's functions input_layer and linear_model, and columns that only these can use.

The columns of tf.feature_column are in feature_column_v2.
"""

import collections
import functools

from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.feature_column import interfaces
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import template
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util.tf_export import tf_export

_FeatureColumn = interfaces._FeatureColumn
_DenseColumn = interfaces._DenseColumn
_CategoricalColumn = interfaces._CategoricalColumn
_SequenceDenseColumn = interfaces._SequenceDenseColumn
_LazyBuilder = interfaces._LazyBuilder
_SharedEmbeddingColumn = fc._SharedEmbeddingColumn
_to_sparse_input_and_drop_ignore_values = fc._to_sparse_input_and_drop_ignore_values
_verify_static_batch_size_equality = fc._verify_static_batch_size_equality


# Columns that have the older interface alone, and the functions that make them.


class _NumericColumn(fc._NumericColumnRules, _DenseColumn):
    """See numeric_column."""


class _BucketizedColumn(fc._BucketizedColumnRules, _DenseColumn, _CategoricalColumn):
    """See bucketized_column."""


class _HashedCategoricalColumn(fc._HashedCategoricalColumnRules, _CategoricalColumn):
    """See categorical_column_with_hash_bucket."""


class _IdentityCategoricalColumn(fc._IdentityCategoricalColumnRules, _CategoricalColumn):
    """See categorical_column_with_identity."""


class _VocabularyListCategoricalColumn(fc._VocabularyListCategoricalColumnRules, _CategoricalColumn):
    """See categorical_column_with_vocabulary_list."""


class _VocabularyFileCategoricalColumn(fc._VocabularyFileCategoricalColumnRules, _CategoricalColumn):
    """See categorical_column_with_vocabulary_file."""


class _WeightedCategoricalColumn(fc._WeightedCategoricalColumnRules, _CategoricalColumn):
    """See weighted_categorical_column."""


class _CrossedColumn(fc._CrossedColumnRules, _CategoricalColumn):
    """See crossed_column."""


class _IndicatorColumn(fc._IndicatorColumnRules, _DenseColumn, _SequenceDenseColumn):
    """See indicator_column."""


class _EmbeddingColumn(fc._EmbeddingColumnRules, _DenseColumn, _SequenceDenseColumn):
    """See embedding_column."""


class _SequenceCategoricalColumn(fc._SequenceCategoricalColumnRules, _CategoricalColumn):
    """Ids for each step of a sequence."""


def _made_by(function, kind):
    """A function that makes columns of class `kind` as `function` makes those of the newer interface."""

    @functools.wraps(function)
    def make(*args, **kwargs):
        return kind(*function(*args, **kwargs))

    return make


_numeric_column = _made_by(fc.numeric_column, _NumericColumn)
_categorical_column_with_hash_bucket = _made_by(
    fc.categorical_column_with_hash_bucket, _HashedCategoricalColumn
)
_categorical_column_with_identity = _made_by(fc.categorical_column_with_identity, _IdentityCategoricalColumn)
_categorical_column_with_vocabulary_list = _made_by(
    fc.categorical_column_with_vocabulary_list, _VocabularyListCategoricalColumn
)
_categorical_column_with_vocabulary_file = _made_by(
    fc.categorical_column_with_vocabulary_file, _VocabularyFileCategoricalColumn
)
_weighted_categorical_column = _made_by(fc.weighted_categorical_column, _WeightedCategoricalColumn)
_crossed_column = _made_by(fc.crossed_column, _CrossedColumn)
_indicator_column = _made_by(fc.indicator_column, _IndicatorColumn)
_embedding_column = _made_by(fc.embedding_column, _EmbeddingColumn)


def _bucketized_column(source_column, boundaries):
    """See bucketized_column."""
    fc._check_bucketized(source_column, boundaries)
    return _BucketizedColumn(source_column, tuple(boundaries))


def _normalize_feature_columns(feature_columns):
    return fc._normalize_feature_columns(feature_columns, _FeatureColumn)


# Layers.


def _model_collections(weight_collections):
    names = list(weight_collections or [])
    for name in (ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.MODEL_VARIABLES):
        if name not in names:
            names.append(name)
    return names


def _parts(variable):
    """The variable, or a list of its partitions where there are several."""
    if not hasattr(variable, "_get_partitions"):
        return variable
    parts = list(variable)
    return parts[0] if len(parts) == 1 else parts


def _internal_input_layer(
    features,
    feature_columns,
    weight_collections=None,
    trainable=True,
    cols_to_vars=None,
    scope=None,
    cols_to_output_tensors=None,
    from_template=False,
):
    columns = _normalize_feature_columns(feature_columns)
    for column in columns:
        if not isinstance(column, _DenseColumn):
            raise ValueError(
                "Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
    weight_collections = _model_collections(weight_collections)

    def concatenated():
        builder = _LazyBuilder(features)
        outputs, ordered = [], []
        for column in columns:
            ordered.append(column)
            with variable_scope.variable_scope(None, default_name=column._var_scope_name):
                tensor = column._get_dense_tensor(
                    builder, weight_collections=weight_collections, trainable=trainable
                )
                elements = column._variable_shape.num_elements()
                output = array_ops.reshape(tensor, shape=(array_ops.shape(tensor)[0], elements))
                outputs.append(output)
                if cols_to_vars is not None:
                    cols_to_vars[column] = ops.get_collection(
                        ops.GraphKeys.GLOBAL_VARIABLES, scope=variable_scope.get_variable_scope().name
                    )
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = output
        fc._verify_static_batch_size_equality(outputs, ordered)
        return array_ops.concat(outputs, 1)

    if from_template:
        return concatenated()
    with variable_scope.variable_scope(scope, default_name="input_layer", values=features.values()):
        return concatenated()


@tf_export(v1=["feature_column.input_layer"])
def input_layer(
    features,
    feature_columns,
    weight_collections=None,
    trainable=True,
    cols_to_vars=None,
    cols_to_output_tensors=None,
):
    """Dense columns side by side, in the order of their names, as a tensor [batch, sum of their sizes].

    features: a dict from names to tensors. weight_collections: collections for the variables, besides those
    of global and model variables. cols_to_vars, cols_to_output_tensors: dicts to be filled.
    """
    return _internal_input_layer(
        features,
        feature_columns,
        weight_collections=weight_collections,
        trainable=trainable,
        cols_to_vars=cols_to_vars,
        cols_to_output_tensors=cols_to_output_tensors,
    )


class InputLayer:
    """input_layer as an object: its calls share their variables."""

    def __init__(
        self,
        feature_columns,
        weight_collections=None,
        trainable=True,
        cols_to_vars=None,
        name="feature_column_input_layer",
        create_scope_now=True,
    ):
        self._feature_columns = feature_columns
        self._weight_collections = weight_collections
        self._trainable = trainable
        self._cols_to_vars = cols_to_vars
        self._name = name
        self._input_layer_template = template.make_template(
            self._name, _internal_input_layer, create_scope_now_=create_scope_now
        )
        self._scope = self._input_layer_template.variable_scope

    def __call__(self, features):
        return self._input_layer_template(
            features=features,
            feature_columns=self._feature_columns,
            weight_collections=self._weight_collections,
            trainable=self._trainable,
            cols_to_vars=None,
            from_template=True,
        )

    @property
    def name(self):
        return self._name

    @property
    def non_trainable_variables(self):
        return self._input_layer_template.non_trainable_variables

    @property
    def non_trainable_weights(self):
        return self._input_layer_template.non_trainable_weights

    @property
    def trainable_variables(self):
        return self._input_layer_template.trainable_variables

    @property
    def trainable_weights(self):
        return self._input_layer_template.trainable_weights

    @property
    def variables(self):
        return self._input_layer_template.variables

    @property
    def weights(self):
        return self._input_layer_template.weights


def _strip_leading_slashes(name):
    return name.rsplit("/", 1)[-1]


@tf_export(v1=["feature_column.linear_model"])
def linear_model(
    features,
    feature_columns,
    units=1,
    sparse_combiner="sum",
    weight_collections=None,
    trainable=True,
    cols_to_vars=None,
):
    """A linear model of columns: [batch, units], the sum of each column's weights, and a bias.

    Categorical columns have a weight for each id. sparse_combiner: "sum", "mean" or "sqrtn" of the ids of an
    example. cols_to_vars: a dict to be filled: columns, and "bias", to lists of variables.
    """
    with variable_scope.variable_scope(None, "linear_model") as scope:
        model_name = _strip_leading_slashes(scope.name)
    model = _LinearModel(
        feature_columns,
        units,
        sparse_combiner,
        weight_collections=weight_collections,
        trainable=trainable,
        name=model_name,
    )
    result = model(features)
    if cols_to_vars is not None:
        cols_to_vars.update(model.cols_to_vars())
    return result


class _LinearModel:
    """linear_model as an object. Its variables are in a scope of its name."""

    def __init__(
        self,
        feature_columns,
        units=1,
        sparse_combiner="sum",
        weight_collections=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        self._feature_columns = _normalize_feature_columns(feature_columns)
        for column in self._feature_columns:
            if not isinstance(column, (_DenseColumn, _CategoricalColumn)):
                raise ValueError(
                    "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn. "
                    f"Given: {column}"
                )
        self.name = name or "linear_model"
        self._units = units
        self._sparse_combiner = sparse_combiner
        self._weight_collections = _model_collections(weight_collections)
        self._trainable = trainable
        self._scopes = {}
        # Columns of the same name in models of one scope get scopes of their own: x, x_1.
        for column in self._feature_columns:
            base = fc._sanitize_column_name_for_variable_scope(column._var_scope_name)
            with variable_scope.variable_scope(None, default_name=base) as scope:
                self._scopes[column] = scope.name.rsplit("/", 1)[-1] if "/" not in base else base
        self._variables = collections.OrderedDict()
        self.bias = None

    def cols_to_vars(self):
        """A dict from columns, and "bias", to lists of variables."""
        result = {}
        for column, variables in self._variables.items():
            result[column] = variables
        result["bias"] = [self.bias] if not isinstance(self.bias, list) else self.bias
        return result

    def __call__(self, features):
        with ops.name_scope(self.name), variable_scope.variable_scope(self.name):
            builder = _LazyBuilder(features)
            sums, ordered = [], []
            for column in self._feature_columns:
                with variable_scope.variable_scope(self._scopes[column]) as scope:
                    sums.append(self._weighted_sum(column, builder))
                    ordered.append(column)
                    self._variables[column] = ops.get_collection(
                        ops.GraphKeys.GLOBAL_VARIABLES, scope=scope.name + "/"
                    )
            fc._verify_static_batch_size_equality(sums, ordered)
            no_bias = math_ops.add_n(sums, name="weighted_sum_no_bias")
            bias = self._variable("bias_weights", [self._units])
            self.bias = _parts(bias)
            return nn_ops.bias_add(no_bias, bias, name="weighted_sum")

    def _variable(self, name, shape):
        return variable_scope.get_variable(
            name,
            shape=shape,
            dtype=dtypes.float32,
            initializer=init_ops.zeros_initializer(),
            trainable=self._trainable,
            collections=self._weight_collections,
        )

    def _weighted_sum(self, column, builder):
        if isinstance(column, _CategoricalColumn):
            rows = column._num_buckets
        else:
            rows = column._variable_shape.num_elements()
        weights = self._variable("weights", [rows, self._units])
        return fc._create_weighted_sum(column, builder, None, self._sparse_combiner, weights)


def _transform_features(features, feature_columns):
    """A dict from columns to their tensors."""
    columns = _normalize_feature_columns(feature_columns)
    outputs = {}
    with ops.name_scope(None, default_name="transform_features", values=features.values()):
        builder = _LazyBuilder(features)
        for column in columns:
            with ops.name_scope(None, default_name=column.name):
                outputs[column] = builder.get(column)
    return outputs


@tf_export(v1=["feature_column.make_parse_example_spec"])
def make_parse_example_spec(feature_columns):
    """A dict for parse_example: all features that the columns need."""
    return fc._parse_example_spec_of(
        feature_columns, _FeatureColumn, lambda column: column._parse_example_spec
    )
