"""Lines of LIBSVM as labels and features."""

from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import gen_libsvm_ops


def decode_libsvm(content, num_features, dtype=None, label_dtype=None):
    """Lines `LABEL INDEX:VALUE INDEX:VALUE ...` as features and labels.

    content: strings of any shape. dtype: of the features, by default float32; label_dtype: by default int64;
    both float32, float64, int32 or int64. Indices are not shifted, nor compared with num_features.

    Returns:
      A SparseTensor of shape [content's, num_features], and a tensor of content's shape with the labels.
    """
    labels, indices, values, shape = gen_libsvm_ops.decode_libsvm(
        content, num_features, dtype=dtype, label_dtype=label_dtype
    )
    return sparse_tensor.SparseTensor(indices, values, shape), labels
