"""Trees as resources that checkpoints hold."""

import functools

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_model_ops, resources
from braid.tensorflow.python.ops.gen_model_ops import (  # noqa: F401
    feature_usage_counts,
    traverse_tree_v4,
    tree_predictions_v4,
    tree_size,
    update_model_v4,
)
from braid.tensorflow.python.training import saver
from braid.tensorflow.python.training.tracking import tracking


class TreeVariableSavable(saver.BaseSaverBuilder.SaveableObject):
    """A tree as its serialized decision_trees.Model.

    Args:
      params: has serialized_params_proto.
      tree_handle: of the tree.
      stats_handle: not used.
      create_op: makes the tree; it runs before a restore.
      name: in the checkpoint.
    """

    def __init__(self, params, tree_handle, stats_handle, create_op, name):
        self.params = params
        tensor = gen_model_ops.tree_serialize(tree_handle)
        super().__init__(tree_handle, [saver.BaseSaverBuilder.SaveSpec(tensor, "", name)], name)
        self._tree_handle = tree_handle
        self._create_op = create_op

    def restore(self, restored_tensors, unused_restored_shapes):
        with ops.control_dependencies([self._create_op]):
            return gen_model_ops.tree_deserialize(
                self._tree_handle, restored_tensors[0], params=self.params.serialized_params_proto
            )


class TreeVariable(tracking.NamedResource):
    """A tree."""

    def __init__(self, params, tree_config, stats_handle, name, container=None):
        self._params = params
        self._tree_config = tree_config
        self._stats_handle = stats_handle
        super().__init__(name, container)

    def _create_resource(self):
        return gen_model_ops.decision_tree_resource_handle_op(
            self._container or "", shared_name=self._name, name=self._name
        )

    def _initialize(self):
        return gen_model_ops.create_tree_variable(
            self.resource_handle, self._tree_config, params=self._params.serialized_params_proto
        )

    def is_initialized(self):
        return gen_model_ops.tree_is_initialized_op(self.resource_handle)

    def _gather_saveables_for_checkpoint(self):
        return {
            "tree_variable": functools.partial(
                TreeVariableSavable,
                params=self._params,
                tree_handle=self.resource_handle,
                stats_handle=self._stats_handle,
                create_op=self._init_op,
            )
        }


def tree_variable(params, tree_config, stats_handle, name, container=None):
    """The handle of a tree, which the graph's savers save.

    Args:
      params: a ForestHParams with serialized_params_proto.
      tree_config: a serialized decision_trees.Model that the tree begins as; "": one leaf.
      stats_handle: of the statistics of its leaves; None: it does not grow.
      name: of its node, and of the resource.
      container: of the resource.
    """
    with ops.name_scope(name, "TreeVariable") as name:
        tree = TreeVariable(params, tree_config, stats_handle, name, container)
        handle, create_op, is_initialized_op = tree.resource_handle, tree.initializer, tree.is_initialized()
        saveable = tree._gather_saveables_for_checkpoint()["tree_variable"](name=handle.name)
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, saveable)
        resources.register_resource(handle, create_op, is_initialized_op)
        return handle
