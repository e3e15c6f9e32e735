"""The elements of a dataset in turns for several devices."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.data.util import structure
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_dataset_ops


class MultiDeviceIterator:
    """Gives element n to device n modulo their number.

    Args:
      dataset: the elements.
      devices: the names of the devices.
      max_buffer_size: how many elements wait for each device.
      prefetch_buffer_size: how many of them are on the device; 0: none.
      source_device: where the elements are made.
    """

    def __init__(self, dataset, devices, max_buffer_size=1, prefetch_buffer_size=1, source_device="/cpu:0"):
        self._devices = list(devices)
        self._spec = dataset.element_spec
        attrs = structure.flat_structure(self._spec)
        with ops.device(source_device):
            self._resource = gen_dataset_ops.multi_device_iterator(
                shared_name="", container="", devices=self._devices, **attrs
            )
            begun = gen_dataset_ops.multi_device_iterator_init(
                dataset._apply_options()._variant_tensor, self._resource, max_buffer_size=max_buffer_size
            )
        self._iterators = []
        for i, device in enumerate(self._devices):
            with ops.device(device):
                elements = dataset_ops._GeneratorDataset(
                    begun, lambda x: x, self._next_of(i), lambda x: constant_op.constant(0), self._spec
                )
                if prefetch_buffer_size > 0:
                    elements = elements.prefetch(prefetch_buffer_size)
                self._iterators.append(elements._make_initializable_iterator())

    def _next_of(self, shard):
        def following(incarnation):
            flat = gen_dataset_ops.multi_device_iterator_get_next_from_shard(
                multi_device_iterator=self._resource,
                shard_num=constant_op.constant(shard, dtypes.int32),
                incarnation_id=incarnation,
                **structure.flat_structure(self._spec),
            )
            return structure.from_tensor_list(self._spec, flat)

        return following

    def get_next(self, device=None):
        """The next elements, a list by device; or that of one."""
        if device is not None:
            return self._on(self._devices.index(device), "get_next")
        return [self._on(i, "get_next") for i in range(len(self._devices))]

    def get_next_as_optional(self):
        """The next elements as Optionals, a list by device."""
        return [self._on(i, "get_next_as_optional") for i in range(len(self._devices))]

    def _on(self, i, method):
        with ops.device(self._devices[i]):
            return getattr(self._iterators[i], method)()

    @property
    def initializer(self):
        """The operation that starts it from the first element."""
        return control_flow_ops.group(*[i.initializer for i in self._iterators])

    @property
    def _initializer(self):
        return self.initializer

    @property
    def element_spec(self):
        return self._spec
