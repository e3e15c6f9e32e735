"""The two interfaces of feature columns, and the caches that ask columns for their tensors.

A column of the newer one (FeatureColumn) finds its variables by a state manager; layers like DenseFeatures
use it. One of the older (_FeatureColumn) makes them in the current variable scope; input_layer and
linear_model use it. A class may have both, as the columns of tf.feature_column do.
"""

import collections

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor as sparse_tensor_lib
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sparse_ops

IdWeightPair = collections.namedtuple("IdWeightPair", ("id_tensor", "weight_tensor"))
TensorSequenceLengthPair = collections.namedtuple(
    "TensorSequenceLengthPair", ("dense_tensor", "sequence_length")
)


# The newer interface.


class FeatureColumn:
    """A column whose variables a state manager has."""

    @property
    def name(self):
        """The name, from which those of variables are made."""
        raise NotImplementedError(f"{type(self).__name__}.name")

    def transform_feature(self, transformation_cache, state_manager):
        """The column's own form of its features, which the cache keeps."""
        raise NotImplementedError(f"{type(self).__name__}.transform_feature")

    @property
    def parse_example_spec(self):
        """A dict for parse_example: how to read the features that the column needs."""
        raise NotImplementedError(f"{type(self).__name__}.parse_example_spec")

    def create_state(self, state_manager):
        """Makes the column's variables."""

    @property
    def parents(self):
        """The columns and names of features that this one is made from."""
        return []

    @property
    def _is_v2_column(self):
        """Whether the column and those it is made from have this interface."""
        return False

    def _get_config(self):
        """The settings as a dict that JSON can hold."""
        raise NotImplementedError(f"{type(self).__name__}._get_config")

    @classmethod
    def _from_config(cls, config, custom_objects=None, columns_by_name=None):
        """A column of _get_config()'s settings."""
        raise NotImplementedError(f"{cls.__name__}._from_config")

    # Columns and names of features can be sorted together.

    def __lt__(self, other):
        return str(self) < str(other)

    def __gt__(self, other):
        return str(self) > str(other)


class DenseColumn(FeatureColumn):
    """A column that gives a dense tensor [batch, ...]."""

    @property
    def variable_shape(self):
        """The shape of the tensor for one example."""
        raise NotImplementedError(f"{type(self).__name__}.variable_shape")

    def get_dense_tensor(self, transformation_cache, state_manager):
        """The dense tensor [batch] + variable_shape."""
        raise NotImplementedError(f"{type(self).__name__}.get_dense_tensor")


class CategoricalColumn(FeatureColumn):
    """A column that gives ids."""

    IdWeightPair = IdWeightPair

    @property
    def num_buckets(self):
        """How many ids there are."""
        raise NotImplementedError(f"{type(self).__name__}.num_buckets")

    def get_sparse_tensors(self, transformation_cache, state_manager):
        """An IdWeightPair of SparseTensors: ids (int64), and their weights or None."""
        raise NotImplementedError(f"{type(self).__name__}.get_sparse_tensors")


class SequenceDenseColumn(FeatureColumn):
    """A column that gives a dense tensor for each step of a sequence."""

    TensorSequenceLengthPair = TensorSequenceLengthPair

    def get_sequence_dense_tensor(self, transformation_cache, state_manager):
        """A TensorSequenceLengthPair: [batch, steps, ...], and lengths [batch] (int64)."""
        raise NotImplementedError(f"{type(self).__name__}.get_sequence_dense_tensor")


# The older interface.


class _FeatureColumn:
    """A column whose variables are in the current variable scope."""

    @property
    def name(self):
        """The name, from which those of variables are made."""
        raise NotImplementedError(f"{type(self).__name__}.name")

    @property
    def _var_scope_name(self):
        """The scope of the column's variables."""
        return self.name

    def _transform_feature(self, inputs):
        """The column's own form of its features, which `inputs`, a _LazyBuilder, keeps."""
        raise NotImplementedError(f"{type(self).__name__}._transform_feature")

    @property
    def _parse_example_spec(self):
        """A dict for parse_example: how to read the features that the column needs."""
        raise NotImplementedError(f"{type(self).__name__}._parse_example_spec")

    def _reset_config(self):
        """Called before the column is used in another graph."""

    def __lt__(self, other):
        return str(self) < str(other)

    def __gt__(self, other):
        return str(self) > str(other)


class _DenseColumn(_FeatureColumn):
    """A column that gives a dense tensor [batch, ...]."""

    @property
    def _variable_shape(self):
        """The shape of the tensor for one example."""
        raise NotImplementedError(f"{type(self).__name__}._variable_shape")

    def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        """The dense tensor [batch] + _variable_shape."""
        raise NotImplementedError(f"{type(self).__name__}._get_dense_tensor")


class _CategoricalColumn(_FeatureColumn):
    """A column that gives ids."""

    IdWeightPair = IdWeightPair

    @property
    def _num_buckets(self):
        """How many ids there are."""
        raise NotImplementedError(f"{type(self).__name__}._num_buckets")

    def _get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
        """An IdWeightPair of SparseTensors: ids (int64), and their weights or None."""
        raise NotImplementedError(f"{type(self).__name__}._get_sparse_tensors")


class _SequenceDenseColumn(_FeatureColumn):
    """A column that gives a dense tensor for each step of a sequence."""

    TensorSequenceLengthPair = TensorSequenceLengthPair

    def _get_sequence_dense_tensor(self, inputs, weight_collections=None, trainable=None):
        """A TensorSequenceLengthPair: [batch, steps, ...], and lengths [batch] (int64)."""
        raise NotImplementedError(f"{type(self).__name__}._get_sequence_dense_tensor")


# The caches.


class _Cache:
    """The features of one input, and what columns have made of them."""

    def __init__(self, features):
        self._features = dict(features)
        self._tensors = {}

    def get(self, key, state_manager=None):
        """The tensor of a feature's name or of a column."""
        if key not in self._tensors:
            self._tensors[key] = self._made(key, state_manager)
        return self._tensors[key]

    def _made(self, key, state_manager):
        if key in self._features:
            return self._raw(key)
        if isinstance(key, str):
            raise ValueError(f"Feature {key} is not in features dictionary.")
        tensor = self._transformed(key, state_manager)
        if tensor is None:
            raise ValueError(f"Column {key.name} is not supported.")
        return tensor

    def _raw(self, key):
        tensor = sparse_tensor_lib.convert_to_tensor_or_sparse_tensor(self._features[key])
        rank = tensor.get_shape().ndims
        if rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {tensor}")
        if rank is not None:
            return tensor if rank > 1 else _as_column(tensor)
        not_rank_0 = check_ops.assert_positive(
            array_ops.rank(tensor), message=f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"
        )
        with ops.control_dependencies([not_rank_0]):
            return control_flow_ops.cond(
                math_ops.equal(1, array_ops.rank(tensor)), lambda: _as_column(tensor), lambda: tensor
            )


def _as_column(tensor):
    """[batch] as [batch, 1]."""
    if isinstance(tensor, sparse_tensor_lib.SparseTensor):
        return sparse_ops.sparse_reshape(tensor, [array_ops.shape(tensor)[0], 1])
    return array_ops.expand_dims(tensor, -1)


class FeatureTransformationCache(_Cache):
    """The features of one input, and what columns of the newer interface have made of them.

    features: a dict from names to Tensors or SparseTensors. Those of rank 1 become columns [batch, 1].
    """

    def _transformed(self, key, state_manager):
        if not isinstance(key, FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "FeatureColumn". Provided: {key}')
        return key.transform_feature(self, state_manager)


class _LazyBuilder(_Cache):
    """The same for columns of the older interface."""

    def _transformed(self, key, state_manager):
        if not isinstance(key, _FeatureColumn):
            raise TypeError(f'"key" must be either a "str" or "_FeatureColumn". Provided: {key}')
        return key._transform_feature(self)
