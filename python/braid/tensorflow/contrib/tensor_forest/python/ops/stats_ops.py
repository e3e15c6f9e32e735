"""The statistics of the leaves of trees as resources that checkpoints hold."""

import functools

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_stats_ops, resources
from braid.tensorflow.python.ops.gen_stats_ops import (  # noqa: F401
    finalize_tree,
    grow_tree_v4,
    process_input_v4,
)
from braid.tensorflow.python.training import saver
from braid.tensorflow.python.training.tracking import tracking


class FertileStatsVariableSavable(saver.BaseSaverBuilder.SaveableObject):
    """Statistics as their serialized FertileStats.

    Args:
      params: has serialized_params_proto.
      stats_handle: of the statistics.
      create_op: makes them; it runs before a restore.
      name: in the checkpoint.
    """

    def __init__(self, params, stats_handle, create_op, name):
        self.params = params
        tensor = gen_stats_ops.fertile_stats_serialize(stats_handle, params=params.serialized_params_proto)
        super().__init__(stats_handle, [saver.BaseSaverBuilder.SaveSpec(tensor, "", name)], name)
        self._stats_handle = stats_handle
        self._create_op = create_op

    def restore(self, restored_tensors, unused_restored_shapes):
        with ops.control_dependencies([self._create_op]):
            return gen_stats_ops.fertile_stats_deserialize(
                self._stats_handle, restored_tensors[0], params=self.params.serialized_params_proto
            )


class FertileStatsVariable(tracking.NamedResource):
    """The statistics of a tree's leaves."""

    def __init__(self, params, stats_config, name, container=None):
        self._params = params
        self._stats_config = stats_config
        super().__init__(name, container)

    def _create_resource(self):
        return gen_stats_ops.fertile_stats_resource_handle_op(
            self._container or "", shared_name=self._name, name=self._name
        )

    def _initialize(self):
        return gen_stats_ops.create_fertile_stats_variable(
            self.resource_handle, self._stats_config, params=self._params.serialized_params_proto
        )

    def is_initialized(self):
        return gen_stats_ops.fertile_stats_is_initialized_op(self.resource_handle)

    def _gather_saveables_for_checkpoint(self):
        return {
            "fertile_stats_variable": functools.partial(
                FertileStatsVariableSavable,
                params=self._params,
                stats_handle=self.resource_handle,
                create_op=self.initializer,
            )
        }


def fertile_stats_variable(params, stats_config, name, container=None):
    """The handle of the statistics of a tree's leaves, which the graph's savers save.

    Args:
      params: a ForestHParams with serialized_params_proto.
      stats_config: a serialized FertileStats that they begin as; "": those of one leaf.
      name: of the node, and of the resource.
      container: of the resource.
    """
    with ops.name_scope(name, "FertileStatsVariable") as name:
        stats = FertileStatsVariable(params, stats_config, name, container)
        handle, create_op, is_initialized_op = (
            stats.resource_handle,
            stats.initializer,
            stats.is_initialized(),
        )
        saveable = stats._gather_saveables_for_checkpoint()["fertile_stats_variable"](name=handle.name)
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, saveable)
        resources.register_resource(handle, create_op, is_initialized_op)
        return handle
