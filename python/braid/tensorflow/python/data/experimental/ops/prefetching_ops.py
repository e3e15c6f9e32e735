"""Elements on other devices."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.data.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("data.experimental.prefetch_to_device")
def prefetch_to_device(device, buffer_size=None):
    """Elements that are made before they are wanted: for Dataset.apply, as the last transformation.

    The engine moves an element to `device` when a node there takes it.
    """
    del device
    return lambda dataset: dataset.prefetch(buffer_size)


@tf_export("data.experimental.copy_to_device")
def copy_to_device(target_device, source_device="/cpu:0"):
    """Elements whose nodes are on a device: for Dataset.apply."""
    del source_device

    def copy(*element):
        with ops.device(target_device):
            copied = nest.map_structure(array_ops.identity, element)
        return copied if len(copied) > 1 else copied[0]

    return lambda dataset: dataset_ops.Dataset.map(dataset, copy)
