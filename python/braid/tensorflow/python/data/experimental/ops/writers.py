"""Datasets as files."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import convert
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.TFRecordWriter")
class TFRecordWriter:
    """Writes a dataset of strings as a TFRecord file. compression_type: "", "ZLIB" or "GZIP"."""

    def __init__(self, filename, compression_type=None):
        self._filename = ops.convert_to_tensor(filename, dtypes.string, name="filename")
        self._compression_type = convert.optional_param_to_tensor(
            "compression_type", compression_type, argument_default="", argument_dtype=dtypes.string
        )

    def write(self, dataset):
        """The operation that writes it. TypeError: it is no dataset of string scalars."""
        if not isinstance(dataset, dataset_ops.DatasetV2):
            raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
        if not structure.are_compatible(dataset.element_spec, tensor_spec.TensorSpec([], dtypes.string)):
            raise TypeError(
                f"`dataset` must produce scalar `DT_STRING` tensors, but has {dataset.element_spec}."
            )
        return gen_experimental_dataset_ops.dataset_to_tf_record(
            dataset._variant_tensor, self._filename, self._compression_type
        )
