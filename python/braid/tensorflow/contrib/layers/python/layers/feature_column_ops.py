"""Inputs of networks, and linear models, from tf.contrib.layers' feature columns."""

import functools

from braid.tensorflow.contrib.framework.python.ops import variables as contrib_variables
from braid.tensorflow.contrib.layers.python.layers import embedding_ops
from braid.tensorflow.contrib.layers.python.layers import feature_column as fc
from braid.tensorflow.contrib.layers.python.layers import layers
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor as sparse_tensor_lib
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest

__all__ = [
    "check_feature_columns",
    "infer_real_valued_columns",
    "input_from_feature_columns",
    "joint_weighted_sum_from_feature_columns",
    "parse_feature_columns_from_examples",
    "parse_feature_columns_from_sequence_examples",
    "sequence_input_from_feature_columns",
    "transform_features",
    "weighted_sum_from_feature_columns",
]


class _Transformer:
    """Transforms columns, each once. The dict gets their forms."""

    def __init__(self, columns_to_tensors):
        self._columns_to_tensors = columns_to_tensors

    def transform(self, feature_column):
        if feature_column not in self._columns_to_tensors:
            feature_column.insert_transformed_feature(self._columns_to_tensors)
        if feature_column not in self._columns_to_tensors:
            raise ValueError(f"Column {feature_column.name} is not supported.")
        return self._columns_to_tensors[feature_column]


def _sorted(feature_columns):
    return sorted(set(feature_columns), key=lambda column: column.key)


def _add_variable_collection(weight_collections):
    if not weight_collections:
        return weight_collections
    return list({*weight_collections, ops.GraphKeys.GLOBAL_VARIABLES})


def check_feature_columns(feature_columns):
    """ValueError: they are a dict, or there are two of the same settings."""
    if isinstance(feature_columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    seen = set()
    for column in feature_columns:
        if column.key in seen:
            raise ValueError(
                f"Duplicate feature column key found for column: {column.name}. This usually means that the "
                "column is almost identical to another column, and one must be discarded."
            )
        seen.add(column.key)


# ---- Inputs of networks ----


def _maybe_reshape_input_tensor(tensor, column_name, output_rank):
    """The tensor with its inner dimensions flattened, or one more, of size 1. ValueError: its rank is too low."""
    is_sparse = isinstance(tensor, sparse_tensor_lib.SparseTensor)
    rank = tensor.get_shape().ndims
    if rank is None and is_sparse:
        rank = tensor.dense_shape.get_shape().as_list()[0]
    if rank is None:
        raise ValueError(
            f"Error while processing column {column_name}. Rank of input Tensor can not be None."
        )
    if output_rank > rank + 1:
        raise ValueError(
            f"Error while processing column {column_name}. Rank of input Tensor ({rank}) should be the same as "
            f"output_rank ({output_rank}). For example, sequence data should typically be 3 dimensional (rank 3) "
            "while non-sequence data is typically 2 dimensional (rank 2)."
        )
    if output_rank < rank:
        return layers._inner_flatten(tensor, output_rank)
    if output_rank == rank:
        return tensor
    if is_sparse:
        return sparse_ops.sparse_reshape(tensor, array_ops.concat([tensor.dense_shape, [1]], 0))
    return array_ops.expand_dims(tensor, -1)


def _input_of(column, transformed, weight_collections, trainable, output_rank):
    try:
        arguments = column._deep_embedding_lookup_arguments(transformed)
    except NotImplementedError as no_embeddings:
        try:
            return column._to_dnn_input_layer(
                transformed, weight_collections, trainable, output_rank=output_rank
            )
        except ValueError as error:
            raise ValueError(
                f"Error creating input layer for column: {column.name}.\n{error}, {no_embeddings}"
            )
    return fc._embeddings_from_arguments(
        column, arguments, weight_collections, trainable, output_rank=output_rank
    )


def _input_from_feature_columns(
    columns_to_tensors,
    feature_columns,
    weight_collections,
    trainable,
    scope,
    output_rank,
    default_name,
    cols_to_outs=None,
):
    columns_to_tensors = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    if cols_to_outs is not None and not isinstance(cols_to_outs, dict):
        raise ValueError("cols_to_outs must be a dict unless None")
    with variable_scope.variable_scope(scope, default_name=default_name, values=columns_to_tensors.values()):
        outputs = []
        transformer = _Transformer(columns_to_tensors)
        weight_collections = _add_variable_collection(weight_collections)
        for column in _sorted(feature_columns):
            with variable_scope.variable_scope(
                None, default_name=column.name, values=columns_to_tensors.values()
            ):
                transformed = transformer.transform(column)
                if output_rank == 3:
                    reshape = functools.partial(
                        _maybe_reshape_input_tensor, column_name=column.name, output_rank=output_rank
                    )
                    transformed = nest.map_structure(reshape, transformed)
                outputs.append(_input_of(column, transformed, weight_collections, trainable, output_rank))
                if cols_to_outs is not None:
                    cols_to_outs[column] = outputs[-1]
        return array_ops.concat(outputs, output_rank - 1)


def input_from_feature_columns(
    columns_to_tensors,
    feature_columns,
    weight_collections=None,
    trainable=True,
    scope=None,
    cols_to_outs=None,
):
    """The columns' dense tensors side by side, in the order of their keys, as a tensor [batch, size].

    columns_to_tensors: the features by names; columns that are there are already transformed. cols_to_outs: a
    dict to be filled: columns to their tensors.
    """
    return _input_from_feature_columns(
        columns_to_tensors,
        feature_columns,
        weight_collections,
        trainable,
        scope,
        output_rank=2,
        default_name="input_from_feature_columns",
        cols_to_outs=cols_to_outs,
    )


def _with_parents(feature_columns):
    """The columns and those from which they are made."""
    found = list(feature_columns)
    for column in found:
        parents = list(getattr(column, "columns", ()))
        for field in ("sparse_id_column", "source_column"):
            if hasattr(column, field):
                parents.append(getattr(column, field))
        found.extend(parent for parent in parents if parent not in found)
    return found


def sequence_input_from_feature_columns(
    columns_to_tensors, feature_columns, weight_collections=None, trainable=True, scope=None
):
    """input_from_feature_columns for sequences: [batch, steps, size]. Numbers, one-hot ids and embeddings."""
    kinds = (fc._OneHotColumn, fc._EmbeddingColumn, fc._RealValuedColumn, fc._RealValuedVarLenColumn)
    for column in feature_columns:
        if not isinstance(column, kinds):
            raise ValueError(
                f"FeatureColumn type {type(column).__name__} is not currently supported for sequence data."
            )
    for column in _with_parents(feature_columns):
        if isinstance(column, (fc._ScatteredEmbeddingColumn, fc._BucketizedColumn, fc._CrossedColumn)):
            raise ValueError(
                f"Column {column.name} is of type {type(column).__name__}, which is not currently supported for "
                "sequences."
            )
    return _input_from_feature_columns(
        columns_to_tensors,
        feature_columns,
        weight_collections,
        trainable,
        scope,
        output_rank=3,
        default_name="sequence_input_from_feature_columns",
    )


# ---- Linear models ----


def _weights(name, shape, weight_collections, trainable, initializer=None):
    return contrib_variables.model_variable(
        name=name,
        shape=shape,
        dtype=dtypes.float32,
        initializer=initializer or init_ops.zeros_initializer(),
        trainable=trainable,
        collections=weight_collections,
    )


def _with_bias(outputs, num_outputs, weight_collections, trainable):
    collections = _add_variable_collection(weight_collections)
    bias = _weights("bias_weight", [num_outputs], collections, trainable)
    return nn_ops.bias_add(outputs, bias), bias


def _weighted_sum_of(column, columns_to_tensors, transformed, num_outputs, weight_collections, trainable):
    """(a list of the column's variables, its part of the sum)."""

    def scope():
        return variable_scope.variable_scope(
            None, default_name=column.name, values=columns_to_tensors.values()
        )

    try:
        lookup = column._wide_embedding_lookup_arguments(transformed)
    except NotImplementedError:
        with scope():
            tensor = column._to_dense_tensor(transformed)
            tensor = _maybe_reshape_input_tensor(tensor, column.name, output_rank=2)
            shape = [tensor.get_shape()[1], num_outputs]
            variable = _weights("weight", shape, weight_collections, trainable)
            return [variable], math_ops.matmul(tensor, variable, name="matmul")
    with scope():
        shape = [lookup.vocab_size, num_outputs]
        variable = fc._variables_of(
            _weights("weights", shape, weight_collections, trainable, lookup.initializer)
        )
        return variable, embedding_ops.safe_embedding_lookup_sparse(
            variable,
            lookup.input_tensor,
            sparse_weights=lookup.weight_tensor,
            combiner=lookup.combiner,
            name=column.name + "_weights",
        )


def weighted_sum_from_feature_columns(
    columns_to_tensors, feature_columns, num_outputs, weight_collections=None, trainable=True, scope=None
):
    """(a linear model of the columns [batch, num_outputs], {column: a list of its variables}, the bias).

    Columns of ids have a row of "weights" for each id; those of an example are combined as the column's combiner
    says. Others have a matrix "weight".
    """
    columns_to_tensors = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    with variable_scope.variable_scope(
        scope, default_name="weighted_sum_from_feature_columns", values=columns_to_tensors.values()
    ):
        outputs, found = [], {}
        transformer = _Transformer(columns_to_tensors)
        for column in _sorted(feature_columns):
            transformed = transformer.transform(column)
            try:
                variable, output = _weighted_sum_of(
                    column, columns_to_tensors, transformed, num_outputs, weight_collections, trainable
                )
            except ValueError as error:
                raise ValueError(f"Error creating weighted sum for column: {column.name}.\n{error}")
            outputs.append(array_ops.reshape(output, shape=(-1, num_outputs)))
            found[column] = variable
            fc._maybe_restore_from_checkpoint(column._checkpoint_path(), variable)
        result, bias = _with_bias(math_ops.add_n(outputs), num_outputs, weight_collections, trainable)
        return result, found, bias


def joint_weighted_sum_from_feature_columns(
    columns_to_tensors, feature_columns, num_outputs, weight_collections=None, trainable=True, scope=None
):
    """(a linear model of columns of ids [batch, num_outputs], a list of its one variable's parts, the bias).

    The weights of the columns, in the order of their keys, follow one another in the variable.
    """
    columns_to_tensors = columns_to_tensors.copy()
    check_feature_columns(feature_columns)
    with variable_scope.variable_scope(
        scope, default_name="joint_weighted_sum_from_feature_columns", values=columns_to_tensors.values()
    ):
        transformer = _Transformer(columns_to_tensors)
        lookups = []
        for column in _sorted(feature_columns):
            transformed = transformer.transform(column)
            try:
                lookups.append(column._wide_embedding_lookup_arguments(transformed))
            except NotImplementedError:
                raise NotImplementedError(
                    "Real-valued columns are not supported. Use weighted_sum_from_feature_columns instead, or "
                    "bucketize these columns."
                )
        instead = "Please use weighted_sum_from_feature_columns instead."
        for lookup in lookups:
            assert (
                lookup.weight_tensor is None
            ), f"Joint sums for weighted sparse columns are not supported. {instead}"
            assert (
                lookup.combiner == "sum"
            ), f"Combiners other than sum are not supported for joint sums. {instead}"
        assert lookups, "At least one column must be in the model."
        rows, ids = 0, []
        for lookup in lookups:
            tensor = lookup.input_tensor
            ids.append(
                sparse_tensor_lib.SparseTensor(tensor.indices, tensor.values + rows, tensor.dense_shape)
            )
            rows += lookup.vocab_size
        ids = sparse_ops.sparse_concat(1, ids)
        with variable_scope.variable_scope(
            None, default_name="linear_weights", values=columns_to_tensors.values()
        ):
            variable = fc._variables_of(
                _weights("weights", [rows, num_outputs], weight_collections, trainable)
            )
            output = embedding_ops.safe_embedding_lookup_sparse(
                variable, ids, sparse_weights=None, combiner="sum", name="_weights"
            )
        result, bias = _with_bias(output, num_outputs, weight_collections, trainable)
        return result, variable, bias


# ---- Features ----


def parse_feature_columns_from_examples(serialized, feature_columns, name=None, example_names=None):
    """The features of the columns, parsed, by their names, and the columns' forms of them."""
    check_feature_columns(feature_columns)
    columns_to_tensors = parsing_ops.parse_example(
        serialized=serialized,
        features=fc.create_feature_spec_for_parsing(feature_columns),
        name=name,
        example_names=example_names,
    )
    transformer = _Transformer(columns_to_tensors)
    for column in _sorted(feature_columns):
        transformer.transform(column)
    return columns_to_tensors


def transform_features(features, feature_columns):
    """The columns' forms of the features, by the columns."""
    columns_to_tensors = features.copy()
    check_feature_columns(feature_columns)
    transformer = _Transformer(columns_to_tensors)
    for column in _sorted(feature_columns):
        transformer.transform(column)
    return {column: tensor for column, tensor in columns_to_tensors.items() if column in feature_columns}


def parse_feature_columns_from_sequence_examples(
    serialized, context_feature_columns, sequence_feature_columns, name=None, example_name=None
):
    """(the features of the context, those of the sequence) of one SequenceExample, by names."""
    try:
        serialized = array_ops.reshape(serialized, [])
    except ValueError as error:
        raise ValueError(
            "serialized must contain as single sequence example. Batching must be done after parsing for "
            f"sequence examples. Error: {error}"
        )
    context_feature_columns = context_feature_columns or []
    sequence_feature_columns = sequence_feature_columns or []
    check_feature_columns(context_feature_columns)
    check_feature_columns(sequence_feature_columns)
    return parsing_ops.parse_single_sequence_example(
        serialized,
        fc.create_feature_spec_for_parsing(context_feature_columns),
        fc._create_sequence_feature_spec_for_parsing(sequence_feature_columns),
        example_name,
        name,
    )


def infer_real_valued_columns(features):
    """A real_valued_column for each of a dict of dense tensors, or for one tensor, whose name is empty."""

    def inferred(name, tensor):
        if isinstance(tensor, sparse_tensor_lib.SparseTensor):
            raise ValueError(
                "SparseTensor is not supported for auto detection. Please define corresponding FeatureColumn for "
                f"tensor {name} {tensor}."
            )
        if not (tensor.dtype.is_integer or tensor.dtype.is_floating):
            raise ValueError(
                "Non integer or non floating types are not supported for auto detection. Please define "
                f"corresponding FeatureColumn for tensor {name} {tensor}."
            )
        dimension = 1
        for size in tensor.get_shape().as_list()[1:]:
            dimension *= size
        return fc.real_valued_column(name, dimension=dimension, dtype=tensor.dtype)

    if not isinstance(features, dict):
        return [inferred("", features)]
    return [inferred(name, tensor) for name, tensor in features.items()]
