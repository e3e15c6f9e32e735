"""Trees of dense splits that only predict, as resources that checkpoints hold."""

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import gen_tensor_forest_ops, resources
from braid.tensorflow.python.training import saver


class TreeVariableSaveable(saver.BaseSaverBuilder.SaveableObject):
    """A tree as its serialized message.

    Args:
      type_name, name: of the name scope.
      container: of the resource.
      config: the message that the tree begins as.
      The others are the functions of the ops.
    """

    def __init__(
        self,
        type_name,
        name,
        container,
        config,
        resource_handle_func,
        create_op_func,
        is_initialized_op_func,
        serialize_op_func,
        deserialize_op_func,
    ):
        with ops.name_scope(name, type_name) as name:
            self._resource_handle = resource_handle_func(container or "", shared_name=name, name=name)
        self._is_initialized_op = is_initialized_op_func(self._resource_handle)
        tensor = serialize_op_func(self._resource_handle)
        self._create_op = create_op_func(self._resource_handle, config)
        super().__init__(self._resource_handle, [saver.BaseSaverBuilder.SaveSpec(tensor, "", name)], name)
        ops.add_to_collection(ops.GraphKeys.SAVEABLE_OBJECTS, self)
        resources.register_resource(self._resource_handle, self._create_op, self._is_initialized_op)
        self._deserialize_op_func = deserialize_op_func

    def restore(self, restored_tensors, unused_restored_shapes):
        with ops.control_dependencies([self._create_op]):
            return self._deserialize_op_func(self._resource_handle, restored_tensors[0])

    @property
    def resource(self):
        return self._resource_handle


def tree_variable(tree_config, name, container=None):
    """The handle of a tree, which the graph's savers save; tree_config: a serialized boosted_trees.Tree."""
    return TreeVariableSaveable(
        "TreeVariable",
        name,
        container,
        tree_config,
        gen_tensor_forest_ops.tensor_forest_tree_resource_handle_op,
        gen_tensor_forest_ops.tensor_forest_create_tree_variable,
        gen_tensor_forest_ops.tensor_forest_tree_is_initialized_op,
        gen_tensor_forest_ops.tensor_forest_tree_serialize,
        gen_tensor_forest_ops.tensor_forest_tree_deserialize,
    ).resource


class ForestVariables:
    """The trees of a forest; params has their number, n_trees."""

    def __init__(self, params, tree_configs=None):
        self._variables = [
            tree_variable("" if tree_configs is None else tree_configs[i], f"tree-{i}")
            for i in range(params.n_trees)
        ]

    def __getitem__(self, t):
        return self._variables[t]
