"""Savers of SaveableObjects whose save and restore build ops for any prefix, also a tensor.

The files are those of tf.train.Saver's format V2.
"""

from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.training import saver as saver_lib
from braid.tensorflow.python.training.saving import saveable_object_util


class _SingleDeviceSaver:
    """Writes the values of all objects into one part of a checkpoint.

    saveable_objects: SaveableObjects.
    """

    def __init__(self, saveable_objects):
        self._builder = saver_lib.BulkSaverBuilder()
        self._saveables = list(saveable_objects)

    def save(self, file_prefix):
        """An op that writes the checkpoint. file_prefix: a string or a scalar tensor of type string."""
        return self._builder.save_op(_prefix(file_prefix), self._saveables)

    def restore(self, file_prefix):
        """{name of an object: the op that gives it its value of the checkpoint}."""
        tensors = iter(self._builder.bulk_restore(_prefix(file_prefix), self._saveables, -1, False))
        restores = {}
        for saveable in self._saveables:
            values = [next(tensors) for _ in saveable.specs]
            restores[saveable.name] = saveable.restore(values, restored_shapes=None)
        return restores


class MultiDeviceSaver:
    """Writes the values of each device's objects into a part of the checkpoint."""

    def __init__(self, saveable_objects):
        self._builder = saver_lib.BulkSaverBuilder()
        self._per_device = self._builder._GroupByDevices(list(saveable_objects))

    def to_proto(self):
        """A SaverDef of ops that are built now in the default graph, for a prefix that is fed."""
        from braid.tensorflow.core.protobuf import saver_pb2

        prefix = constant_op.constant("", dtype=dtypes.string, name="saver_filename")
        with ops.control_dependencies([control_flow_ops.group(*self.restore(prefix).values())]):
            restored = control_flow_ops.no_op("saver_restore")
        return saver_pb2.SaverDef(
            filename_tensor_name=prefix.name,
            save_tensor_name=self.save(prefix).name,
            restore_op_name=restored.name,
            version=saver_pb2.SaverDef.V2,
        )

    def save(self, file_prefix):
        """The prefix as a tensor, once the checkpoint is written."""
        with ops.device("cpu:0"):
            return self._builder._AddShardedSaveOpsForV2(_prefix(file_prefix), self._per_device)

    def restore(self, file_prefix):
        """{name of an object: the op that gives it its value of the checkpoint}."""
        restores = {}
        for device, saveables in self._per_device:
            with ops.device(saveable_object_util.set_cpu0(device)):
                restores.update(_SingleDeviceSaver(saveables).restore(file_prefix))
        return restores


def _prefix(file_prefix):
    with ops.device("cpu:0"):
        return ops.convert_to_tensor(file_prefix, dtype=dtypes.string)
