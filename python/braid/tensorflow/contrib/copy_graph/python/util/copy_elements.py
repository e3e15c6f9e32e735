"""Copies of variables, and of ops with all that they need, in another graph."""

from braid.tensorflow.python.client import session
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import variables as variables_lib

__all__ = ["copy_op_to_graph", "copy_variable_to_graph", "get_copied_op"]
_UNSCOPED = (ops.GraphKeys.GLOBAL_VARIABLES, ops.GraphKeys.TRAINABLE_VARIABLES)


def _scoped(name, scope):
    return name if scope == "" else scope + "/" + name


def _collections_of(element):
    """The names of the collections of its graph that it is in."""
    graph = element.graph
    return [key for key in graph.collections if any(x is element for x in graph.get_collection_ref(key))]


def copy_variable_to_graph(org_instance, to_graph, scope=""):
    """A tf.Variable of the same name below `scope`. Its initial value is that of a variable of another graph.

    It is in the same collections, but for the standard ones below `scope`, too.

    Raises:
      TypeError: org_instance is no variable.
    """
    if not isinstance(org_instance, variables_lib.VariableV1):
        raise TypeError(str(org_instance) + " is not a Variable")
    names = _collections_of(org_instance)
    with org_instance.graph.as_default():
        with session.Session() as temporary:
            value = temporary.run(org_instance.initialized_value())
    with to_graph.as_default():
        return variables_lib.VariableV1(
            value,
            trainable=ops.GraphKeys.TRAINABLE_VARIABLES in names,
            name=_scoped(org_instance.op.name, scope),
            collections=[name if name in _UNSCOPED else _scoped(name, scope) for name in names],
            validate_shape=False,
        )


def copy_op_to_graph(org_instance, to_graph, variables, scope=""):
    """A copy of an op or a tensor below `scope` of another graph, with copies of all that it needs.

    What is there under its new name already is taken. variables: copies of the variables that it needs.

    Raises:
      TypeError: org_instance is neither an op nor a tensor.
      ValueError: it needs a loop.
    """
    if not isinstance(org_instance, (ops.Tensor, ops.Operation)):
        raise TypeError("Could not copy instance: " + str(org_instance))
    copied = {variable.name: variable for variable in variables}
    waiting = [org_instance]
    while waiting:
        element = waiting[-1]
        if _present(element, to_graph, copied, scope) is not None:
            waiting.pop()
            continue
        needed = [x for x in _needed(element) if _present(x, to_graph, copied, scope) is None]
        if not needed:
            _copy(waiting.pop(), to_graph, copied, scope)
        elif any(x is y for x in needed for y in waiting):
            raise ValueError("Could not copy instance: %s is part of a loop" % element)
        else:
            waiting += needed
    return _present(org_instance, to_graph, copied, scope)


def _present(element, to_graph, copied, scope):
    """The copy of an op or a tensor, or None."""
    name = _scoped(element.name, scope)
    if name in copied:
        return to_graph.get_tensor_by_name(name)
    try:
        return to_graph.as_graph_element(name)
    except (KeyError, ValueError):
        return None


def _needed(element):
    """What has to be copied before."""
    if isinstance(element, ops.Tensor):
        return [element.op]
    original = [] if element._original_op is None else [element._original_op]
    return [*original, *element.control_inputs, *element.inputs]


def _copy(element, to_graph, copied, scope):
    def of(x):
        return _present(x, to_graph, copied, scope)

    if isinstance(element, ops.Operation):
        node_def = element.node_def
        node_def.name = _scoped(element.name, scope)
        groups = node_def.attr["_class"].list.s if "_class" in node_def.attr else []
        for i, group in enumerate(groups):
            if group.startswith(b"loc:@"):
                groups[i] = b"loc:@" + _scoped(group[len(b"loc:@") :].decode(), scope).encode()
        original = element._original_op
        made = ops.Operation(
            node_def,
            to_graph,
            [of(x) for x in element.inputs],
            control_inputs=[of(x) for x in element.control_inputs],
            original_op=None if original is None else of(original),
            op_def=element.op_def,
        )
        for function in to_graph._device_functions_outer_to_inner:
            made._set_device(function(made))
    # Those of a tensor are there as soon as its op is.
    for x in (element, *element.outputs) if isinstance(element, ops.Operation) else ():
        for name in _collections_of(x):
            to_graph.add_to_collection(_scoped(name, scope), of(x))


def get_copied_op(org_instance, graph, scope=""):
    """The copy of an op or a tensor that copy_op_to_graph has made below `scope`. KeyError: there is none."""
    return graph.as_graph_element(_scoped(org_instance.name, scope), allow_tensor=True, allow_operation=True)
