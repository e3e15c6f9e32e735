"""Parts of a graph that only one step runs at a time."""

import collections

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import gen_resource_variable_ops
from braid.tensorflow.python.ops import tensor_array_ops
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export

__all__ = ["CriticalSection"]

CRITICAL_SECTIONS = "critical_sections"
CRITICAL_SECTION_EXECUTIONS = "critical_section_executions"

# A use of a section: the MutexLock, the section's handle, the resources that the function takes, and whether
# no other section's function may take them.
_ExecutionSignature = collections.namedtuple(
    "_ExecutionSignature", ("op", "handle", "resources", "exclusive_resource_access")
)


def _identity(x):
    if isinstance(x, tensor_array_ops.TensorArray):
        return x.identity()
    return control_flow_ops.group(x) if isinstance(x, ops.Operation) else array_ops.identity(x)


def _colocation(op):
    """The names of nodes that `op` is colocated with, or None."""
    try:
        return op.get_attr("_class")
    except ValueError:
        return None


@tf_export("CriticalSection")
class CriticalSection:
    """A lock: of all nodes that `execute` builds with it, only those of one function run at a time."""

    def __init__(self, name=None, shared_name=None, critical_section_def=None, import_scope=None):
        """shared_name: sections of one name, in several graphs and sessions of a server, are one lock."""
        del import_scope
        if critical_section_def:
            raise NotImplementedError("CriticalSection(critical_section_def): a section has no message")
        with ops.name_scope(name, "CriticalSection", []) as name:
            with ops.init_scope():
                self._handle = gen_resource_variable_ops.mutex_v2(
                    shared_name=name if shared_name is None else shared_name,
                    container=ops.get_default_graph()._container or "",
                    name=name,
                )
        ops.add_to_collections(CRITICAL_SECTIONS, self)

    @property
    def name(self):
        return self._handle.op.name

    def execute(self, fn, exclusive_resource_access=True, name=None):
        """What `fn()` returns, as tensors that are available when its nodes have run under the lock.

        exclusive_resource_access: whether no function of another section may take the same resources.
        ValueError: one does, or `fn` uses this section itself and would wait for ever.
        """
        with ops.name_scope(name, "critical_section_execute", []):
            graph = ops.get_default_graph()
            lock = gen_resource_variable_ops.mutex_lock(self._handle)
            before = set(graph.get_operations())
            with ops.control_dependencies([lock]):
                result = fn()
            created = [op for op in graph.get_operations() if op not in before]
            self._wait_for_arguments(created, lock.op)
            resources = list(
                {x.name: x for op in created for x in op.inputs if x.dtype == dtypes.resource}.values()
            )
            if any(self._is_self_handle(x) for x in resources):
                raise ValueError(
                    "The function fn attempts to directly access the CriticalSection in which it would be running. "
                    " This is illegal and would cause deadlocks."
                )
            self._check_multiple_access_to_resources(resources, exclusive_resource_access)
            flat = [_identity(x) for x in nest.flatten(result)]
            with ops.control_dependencies(flat):
                # The lock lives for the step: this keeps it until the function's nodes have run.
                with ops.colocate_with(self._handle):
                    held = gen_resource_variable_ops.consume_mutex_lock(lock)
                result = nest.pack_sequence_as(result, control_flow_ops.tuple(nest.flatten(result)))
            with ops.control_dependencies([held]):
                outputs = nest.map_structure(_identity, result)
            ops.add_to_collections(
                CRITICAL_SECTION_EXECUTIONS,
                _ExecutionSignature(lock.op, self._handle, resources, exclusive_resource_access),
            )
            return outputs

    def _wait_for_arguments(self, created, lock_op):
        """Has the lock taken only when all that the function's nodes take from outside is there."""
        inside = {*created, *lock_op.control_inputs, *(x.op for x in lock_op.inputs), lock_op}
        taken = [op for made in created for op in (*(x.op for x in made.inputs), *made.control_inputs)]
        outside = list(dict.fromkeys(op for op in taken if op not in inside))
        if outside:
            lock_op._add_control_input(control_flow_ops.group(*outside))

    def _is_self_handle(self, x):
        """Whether a tensor is the handle of the same lock."""
        own, other = self._handle.op, x.op
        return (
            other.type == "MutexV2"
            and bool(other.get_attr("shared_name"))
            and other.get_attr("shared_name") == own.get_attr("shared_name")
            and (other.device == own.device or _colocation(other) == _colocation(own))
        )

    def _check_multiple_access_to_resources(self, captured_resources, exclusive_resource_access):
        """ValueError: a function of another section takes one of the resources, and one is to have it alone."""
        for use in ops.get_collection(CRITICAL_SECTION_EXECUTIONS):
            if self._is_self_handle(use.handle):
                continue
            if not (exclusive_resource_access or use.exclusive_resource_access):
                continue
            both = [x for x in captured_resources if any(x is y for y in use.resources)]
            if both:
                raise ValueError(
                    f"This execution would access resources: {both}.  Either this lock (CriticalSection: "
                    f"{self._handle}) or lock '{use}' (CriticalSection: {use.handle}) requested exclusive resource "
                    "access of this resource.  Did you mean to call execute with keyword argument "
                    "exclusive_resource_access=False?"
                )
