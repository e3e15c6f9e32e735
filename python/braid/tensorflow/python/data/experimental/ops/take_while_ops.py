"""Elements up to the first that does not fit."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.ops import gen_experimental_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


class _TakeWhileDataset(dataset_ops._Mapped):
    def __init__(self, input_dataset, predicate):
        wrapped = dataset_ops.StructuredFunctionWrapper(
            predicate, "tf.data.experimental.take_while()", dataset=input_dataset
        )
        if not wrapped.output_structure.is_compatible_with(tensor_spec.TensorSpec([], dtypes.bool)):
            raise ValueError("`predicate` must return a scalar boolean tensor.")
        super().__init__(
            input_dataset,
            wrapped,
            gen_experimental_dataset_ops.take_while_dataset,
            input_dataset.element_spec,
            predicate=wrapped.function,
        )


@tf_export("data.experimental.take_while")
def take_while(predicate):
    """The elements up to the first for which `predicate` is false: for Dataset.apply."""
    return lambda dataset: _TakeWhileDataset(dataset, predicate)
