"""Features and labels as the ops of random forests take them."""

from braid.tensorflow.contrib.tensor_forest.python.ops import tensor_forest_ops
from braid.tensorflow.python.framework import dtypes, ops, sparse_tensor
from braid.tensorflow.python.ops import array_ops, math_ops, sparse_ops
from braid.tensorflow.python.platform import tf_logging as logging

# The kinds of columns: numbers, which splits compare, and anything else, which splits match.
DATA_FLOAT = 0
DATA_CATEGORICAL = 1

DTYPE_TO_FTYPE = {
    dtypes.string: DATA_CATEGORICAL,
    dtypes.int32: DATA_CATEGORICAL,
    dtypes.int64: DATA_CATEGORICAL,
    dtypes.float32: DATA_FLOAT,
    dtypes.float64: DATA_FLOAT,
}


def CastToFloat(tensor):  # noqa: N802
    """Features as floats: strings by numbers that are theirs, double as it is."""
    if tensor.dtype == dtypes.string:
        return tensor_forest_ops.reinterpret_string_to_float(tensor)
    if tensor.dtype.is_integer:
        return math_ops.cast(tensor, dtypes.float32)
    return tensor


class DataColumn:
    """A column of features: its name, its kind, and how many there are (-1: it is sparse)."""

    def __init__(self):
        self.name = ""
        self.original_type = ""
        self.size = 0

    def SerializeToString(self):  # noqa: N802
        return f"name: {self.name} original_type: {self.original_type} size: {self.size}"


class DataColumnCollection:
    """A list of columns, with the methods of a message's field."""

    def __init__(self):
        self.cols = []

    def add(self):
        self.cols.append(DataColumn())
        return self.cols[-1]

    def size(self):
        return len(self.cols)

    def SerializeToString(self):  # noqa: N802
        return "".join("{%s}" % column.SerializeToString() for column in self.cols)


class TensorForestDataSpec:
    """The columns of the features: attribute input_spec of ops."""

    def __init__(self):
        self.sparse = DataColumnCollection()
        self.dense = DataColumnCollection()
        self.dense_features_size = 0

    def SerializeToString(self):  # noqa: N802
        return "dense_features_size: %d dense: [%s] sparse: [%s]" % (
            self.dense_features_size,
            self.dense.SerializeToString(),
            self.sparse.SerializeToString(),
        )


def GetColumnName(column_key, col_num):  # noqa: N802
    """The name of a column whose key in a dict of features is a string or a feature column."""
    if isinstance(column_key, str):
        return column_key
    return getattr(column_key, "column_name", str(col_num))


def _dense_size(shape):
    return 1 if len(shape) == 1 else shape[1].value


def _parse_dict(data):
    spec = TensorForestDataSpec()
    dense, sparse = [], []
    for key in sorted(data):
        value = data[key]
        if not isinstance(value, sparse_tensor.SparseTensor):
            column = spec.dense.add()
            column.original_type = DTYPE_TO_FTYPE[value.dtype]
            column.name = GetColumnName(key, len(dense))
            column.size = _dense_size(value.get_shape())
            spec.dense_features_size += column.size
            dense.append(CastToFloat(value))
        elif value.dtype == dtypes.float32:
            logging.info("TensorForest does not support sparse continuous.")
        else:
            if spec.sparse.size() == 0:
                column = spec.sparse.add()
                column.original_type = DATA_CATEGORICAL
                column.name = "all_sparse"
                column.size = -1
            sparse.append(
                sparse_tensor.SparseTensor(value.indices, CastToFloat(value.values), value.dense_shape)
            )
    logging.info(spec.SerializeToString())
    return (
        array_ops.concat(dense, 1) if dense else None,
        sparse_ops.sparse_concat(1, sparse) if sparse else None,
        spec,
    )


def ParseDataTensorOrDict(data):  # noqa: N802
    """The features of a forest, of a tensor or of a dict of tensors by their columns.

    Columns of a dict stand in the order of their names. Sparse ones are those that are not float32.

    Returns:
      A matrix of dense features, a SparseTensor (each None where there are none), a TensorForestDataSpec.
    """
    if isinstance(data, dict):
        return _parse_dict(data)
    spec = TensorForestDataSpec()
    if isinstance(data, sparse_tensor.SparseTensor):
        column = spec.sparse.add()
        column.name = "sparse_features"
        column.original_type = DTYPE_TO_FTYPE[data.dtype]
        column.size = -1
        return None, data, spec
    data = ops.convert_to_tensor(data)
    column = spec.dense.add()
    column.name = "dense_features"
    column.original_type = DTYPE_TO_FTYPE[data.dtype]
    column.size = spec.dense_features_size = data.get_shape()[1].value
    return data, None, spec


def ParseLabelTensorOrDict(labels):  # noqa: N802
    """Labels as float: of a tensor, of a SparseTensor (-1 where there are none), or of a dict of columns.

    Columns are joined in the order of their names.
    """
    if isinstance(labels, dict):
        labels = array_ops.concat([labels[k] for k in sorted(labels)], 1)
    elif isinstance(labels, sparse_tensor.SparseTensor):
        labels = sparse_ops.sparse_tensor_to_dense(labels, default_value=-1)
    return math_ops.cast(labels, dtypes.float32)
