"""Resources of sessions that need an initialization: tables and the like."""

import collections

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops, control_flow_ops, math_ops
from braid.tensorflow.python.util import tf_should_use

_Resource = collections.namedtuple("_Resource", ["handle", "create", "is_initialized"])


def register_resource(handle, create_op, is_initialized_op, is_shared=True):
    """Adds a resource to those that initialize_resources and report_uninitialized_resources look at."""
    key = ops.GraphKeys.RESOURCES if is_shared else ops.GraphKeys.LOCAL_RESOURCES
    ops.add_to_collection(key, _Resource(handle, create_op, is_initialized_op))


def shared_resources():
    return ops.get_collection(ops.GraphKeys.RESOURCES)


def local_resources():
    return ops.get_collection(ops.GraphKeys.LOCAL_RESOURCES)


def report_uninitialized_resources(resource_list=None, name="report_uninitialized_resources"):
    """The names of the resources that are not initialized: a vector of strings."""
    if resource_list is None:
        resource_list = shared_resources() + local_resources()
    with ops.name_scope(name):
        if not resource_list:
            return array_ops.constant([], dtype="string")
        missing = math_ops.logical_not(array_ops.stack([r.is_initialized for r in resource_list]))
        return array_ops.boolean_mask(array_ops.constant([r.handle.name for r in resource_list]), missing)


@tf_should_use.should_use_result
def initialize_resources(resource_list, name="init"):
    """An operation that initializes the resources."""
    if resource_list:
        return control_flow_ops.group(*[r.create for r in resource_list], name=name)
    return control_flow_ops.no_op(name=name)
