"""Tensors of which only some elements are kept (tf.SparseTensor)."""

import collections

import numpy as np

from braid.tensorflow.python.framework import composite_tensor
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.framework import type_spec
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("sparse.SparseTensor", "SparseTensor")
class SparseTensor(ops._TensorLike, composite_tensor.CompositeTensor):
    """The elements of a tensor that are not zero, with their places, in row-major order.

    indices: int64 [count, rank], values: [count], dense_shape: int64 [rank].
    """

    @classmethod
    def from_value(cls, sparse_tensor_value):
        """A SparseTensor from a SparseTensorValue."""
        if not is_sparse(sparse_tensor_value):
            raise TypeError("Neither a SparseTensor nor SparseTensorValue: %s." % (sparse_tensor_value,))
        return cls(
            indices=sparse_tensor_value.indices,
            values=sparse_tensor_value.values,
            dense_shape=sparse_tensor_value.dense_shape,
        )

    def __init__(self, indices, values, dense_shape):
        with ops.name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            indices = ops.convert_to_tensor(indices, name="indices", dtype=dtypes.int64)
            is_list = isinstance(values, (list, tuple))  # which may have tensors in it
            values = ops.internal_convert_to_tensor(values, name="values", as_ref=not is_list)
            dense_shape = ops.convert_to_tensor(dense_shape, name="dense_shape", dtype=dtypes.int64)
        self._indices = indices
        self._values = values
        self._dense_shape = dense_shape
        self._dense_shape_default = None  # a static shape from elsewhere: of an iterator's element
        table = indices.get_shape().with_rank(2)
        vector = values.get_shape().with_rank(1)
        sizes = dense_shape.get_shape().with_rank(1)
        table.dims[0].assert_is_compatible_with(vector.dims[0])
        table.dims[1].assert_is_compatible_with(sizes.dims[0])

    @property
    def indices(self):
        return self._indices

    @property
    def values(self):
        return self._values

    @property
    def dense_shape(self):
        return self._dense_shape

    @property
    def op(self):
        return self.values.op

    @property
    def dtype(self):
        return self._values.dtype

    @property
    def graph(self):
        return self._indices.graph

    @property
    def shape(self):
        """The dense tensor's TensorShape, as far as it is known."""
        known = tensor_util.constant_value_as_shape(self._dense_shape)
        return known if self._dense_shape_default is None else known.merge_with(self._dense_shape_default)

    def get_shape(self):
        return self.shape

    def consumers(self):
        """The operations that take one of the parts."""
        found = []
        for part in (self.indices, self.values, self.dense_shape):
            found += [op for op in part.consumers() if op not in found]
        return found

    def __str__(self):
        return "SparseTensor(indices=%s, values=%s, dense_shape=%s)" % (
            self._indices,
            self._values,
            self._dense_shape,
        )

    @property
    def name(self):
        return self._values.name

    @property
    def _type_spec(self):
        return SparseTensorSpec(self.shape, self.dtype)

    def eval(self, feed_dict=None, session=None):
        """The SparseTensorValue of a step of the session, or of the default one."""
        parts = [self.indices, self.values, self.dense_shape]
        if session is None:
            session = ops.get_default_session()
            if session is None:
                raise ValueError("Cannot evaluate a SparseTensor: no default session is registered.")
        return SparseTensorValue(*session.run(parts, feed_dict))

    @staticmethod
    def _override_operator(operator, func):
        if getattr(SparseTensor, operator, None) not in (None, getattr(object, operator, None)):
            raise ValueError("operator %s cannot be overwritten again on class SparseTensor." % operator)
        setattr(SparseTensor, operator, func)


@tf_export("SparseTensorSpec")
class SparseTensorSpec(type_spec.BatchableTypeSpec):
    """What is known of a SparseTensor: the dense tensor's shape and dtype."""

    __slots__ = ["_shape", "_dtype"]

    value_type = SparseTensor

    def __init__(self, shape=None, dtype=dtypes.float32):
        self._shape = tensor_shape.as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    def _serialize(self):
        return (self._shape, self._dtype)

    @property
    def _component_specs(self):
        rank = self._shape.ndims
        return [
            tensor_spec.TensorSpec([None, rank], dtypes.int64),
            tensor_spec.TensorSpec([None], self._dtype),
            tensor_spec.TensorSpec([rank], dtypes.int64),
        ]

    def _to_components(self, value):
        if isinstance(value, SparseTensorValue):
            value = SparseTensor.from_value(value)
        if not isinstance(value, SparseTensor):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {value}.")
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components):
        if all(isinstance(c, np.ndarray) for c in components):
            return SparseTensorValue(*components)
        made = SparseTensor(*components)
        made._dense_shape_default = self._shape
        return made

    # In a dataset it is a tensor of variants.

    @property
    def _flat_tensor_specs(self):
        return [tensor_spec.TensorSpec(None, dtypes.variant)]

    def _serialized(self, value, serialize):
        indices, values, shape = self._to_components(value)
        return [serialize(indices, values, shape, out_type=dtypes.variant)]

    def _to_tensor_list(self, value):
        from braid.tensorflow.python.ops import gen_sparse_ops

        return self._serialized(value, gen_sparse_ops.serialize_sparse)

    def _to_batched_tensor_list(self, value):
        from braid.tensorflow.python.ops import gen_sparse_ops

        if self._shape.merge_with(value.get_shape()).ndims == 0:
            raise ValueError("Unbatching a sparse tensor is only supported for rank >= 1")
        return self._serialized(value, gen_sparse_ops.serialize_many_sparse)

    def _from_compatible_tensor_list(self, tensor_list):
        from braid.tensorflow.python.ops import gen_sparse_ops

        made = SparseTensor(*gen_sparse_ops.deserialize_sparse(tensor_list[0], dtype=self._dtype))
        rank = self._shape.ndims
        made.indices.set_shape([None, rank])
        made.dense_shape.set_shape([rank])
        made._dense_shape_default = self._shape
        return made

    def _batch(self, batch_size):
        shape = tensor_shape.TensorShape([batch_size]).concatenate(self._shape)
        return SparseTensorSpec(shape, self._dtype)

    def _unbatch(self):
        if self._shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return SparseTensorSpec(self._shape[1:], self._dtype)

    def _to_legacy_output_types(self):
        return self._dtype

    def _to_legacy_output_shapes(self):
        return self._shape

    def _to_legacy_output_classes(self):
        return SparseTensor


SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
SparseTensorValue.__doc__ = "A SparseTensor's parts as arrays: what a step returns and takes."
tf_export(v1=["SparseTensorValue", "compat.v1.SparseTensorValue"]).export_constant(
    __name__, "SparseTensorValue"
)


@tf_export(v1=["convert_to_tensor_or_sparse_tensor"])
def convert_to_tensor_or_sparse_tensor(value, dtype=None, name=None):
    """A SparseTensor from one or its value, and a Tensor from anything else."""
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if isinstance(value, SparseTensor):
        if dtype and not dtype.is_compatible_with(value.dtype):
            raise RuntimeError("Sparse dtype: requested = %s, actual = %s" % (dtype.name, value.dtype.name))
        return value
    return ops.internal_convert_to_tensor(value, dtype=dtype, name=name)


def is_sparse(x):
    """Whether it is a SparseTensor or a SparseTensorValue."""
    return isinstance(x, (SparseTensor, SparseTensorValue))
