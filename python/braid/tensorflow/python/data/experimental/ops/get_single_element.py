"""The only element of a dataset."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.ops import gen_dataset_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.get_single_element")
def get_single_element(dataset):
    """The only element; a step fails with InvalidArgumentError if there is none or several.

    Raises TypeError where `dataset` is none.
    """
    if not isinstance(dataset, dataset_ops.DatasetV2):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    flat = gen_dataset_ops.dataset_to_single_element(dataset._variant_tensor, **dataset._flat_structure)
    return structure.from_tensor_list(dataset.element_spec, flat)
