"""Elements that came before."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.unique")
def unique():
    """Each element once, a tensor of type int32, int64 or string: for Dataset.apply."""

    def apply(dataset):
        spec = dataset.element_spec
        if not isinstance(spec, tensor_spec.TensorSpec) or spec.dtype not in (
            dtypes.int32,
            dtypes.int64,
            dtypes.string,
        ):
            raise TypeError(
                "`tf.data.experimental.unique()` only supports inputs with a single `tf.int32`, `tf.int64`, or "
                "`tf.string` component."
            )
        return dataset_ops._Unchanged(dataset, gen_experimental_dataset_ops.unique_dataset)

    return apply
