"""Ensembles of trees as resources that checkpoints hold."""

import functools

from braid.tensorflow.contrib.boosted_trees.python.ops import gen_model_ops
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import resources
from braid.tensorflow.python.ops.gen_model_ops import (  # noqa: F401
    tree_ensemble_deserialize,
    tree_ensemble_serialize,
    tree_ensemble_stamp_token,
    tree_ensemble_used_handlers,
)
from braid.tensorflow.python.training import saver
from braid.tensorflow.python.training.tracking import tracking


class TreeEnsembleVariableSavable(saver.BaseSaverBuilder.SaveableObject):
    """An ensemble as its stamp and its serialized DecisionTreeEnsembleConfig.

    Args:
      tree_ensemble_handle: of the ensemble.
      create_op: makes it; it runs before a restore.
      name: in the checkpoint.
    """

    def __init__(self, tree_ensemble_handle, create_op, name):
        stamp, config = tree_ensemble_serialize(tree_ensemble_handle)
        spec = saver.BaseSaverBuilder.SaveSpec
        specs = [spec(stamp, "", name + "_stamp"), spec(config, "", name + "_config")]
        super().__init__(tree_ensemble_handle, specs, name)
        self._tree_ensemble_handle = tree_ensemble_handle
        self._create_op = create_op

    def restore(self, restored_tensors, unused_restored_shapes):
        with ops.control_dependencies([self._create_op]):
            return tree_ensemble_deserialize(
                self._tree_ensemble_handle,
                stamp_token=restored_tensors[0],
                tree_ensemble_config=restored_tensors[1],
            )


class TreeEnsembleVariable(tracking.NamedResource):
    """An ensemble of trees."""

    def __init__(self, stamp_token, tree_ensemble_config, name, container=None):
        self._stamp_token = stamp_token
        self._tree_ensemble_config = tree_ensemble_config
        super().__init__(name, container)

    def _create_resource(self):
        return gen_model_ops.decision_tree_ensemble_resource_handle_op(
            self._container or "", shared_name=self._name, name=self._name
        )

    def _initialize(self):
        return gen_model_ops.create_tree_ensemble_variable(
            self.resource_handle, self._stamp_token, self._tree_ensemble_config
        )

    def is_initialized(self):
        return gen_model_ops.tree_ensemble_is_initialized_op(self.resource_handle)

    def _gather_saveables_for_checkpoint(self):
        return {
            self.resource_handle.op.name
            + "/tree_ensemble_variable": functools.partial(
                TreeEnsembleVariableSavable,
                tree_ensemble_handle=self.resource_handle,
                create_op=self.initializer,
            )
        }


def tree_ensemble_variable(stamp_token, tree_ensemble_config, name, container=None):
    """The handle of an ensemble, which the graph's savers save.

    Args:
      stamp_token: the stamp that it begins with.
      tree_ensemble_config: a serialized DecisionTreeEnsembleConfig that it begins as.
      name: of its node, and of the resource.
      container: of the resource.
    """
    with ops.name_scope(name, "TreeEnsembleVariable") as name:
        ensemble = TreeEnsembleVariable(stamp_token, tree_ensemble_config, name, container)
        handle, create_op = ensemble.resource_handle, ensemble.initializer
        is_initialized_op = ensemble.is_initialized()
        saveable = TreeEnsembleVariableSavable(handle, create_op, handle.name)
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, saveable)
        resources.register_resource(handle, create_op, is_initialized_op)
        return handle
