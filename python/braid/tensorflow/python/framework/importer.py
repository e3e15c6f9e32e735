"""Importing a GraphDef into the default graph (tf.import_graph_def)."""

from braid import _native, protos
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export


def _names(given, what):
    if given is None:
        return None
    names = tuple(given)
    if not all(isinstance(n, (str, bytes)) for n in names):
        raise TypeError(f"{what} must be a list of strings.")
    return tuple(compat.as_str(n) for n in names)


def _message(graph_def):
    if isinstance(graph_def, protos.GraphDef):
        return graph_def
    try:
        return protos.GraphDef.FromString(graph_def.SerializeToString())
    except AttributeError:
        raise TypeError("graph_def must be a GraphDef proto.") from None


@tf_export("graph_util.import_graph_def", "import_graph_def")
def import_graph_def(
    graph_def, input_map=None, return_elements=None, name=None, op_dict=None, producer_op_list=None
):
    """Adds the nodes of a GraphDef below the scope `name` ("import").

    `input_map`: tensors by the names of inputs of the GraphDef that they replace. Returns the tensors and
    operations that `return_elements` names, or None. ValueError: the GraphDef is not one, or a name is not
    there.
    """
    graph_def = _message(graph_def)
    elements = _names(return_elements, "return_elements")
    graph = ops.get_default_graph()
    graph._check_not_finalized()
    if input_map is not None and not isinstance(input_map, dict):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    with ops.name_scope(name, "import", list((input_map or {}).values())) as scope:
        prefix = scope[:-1] if scope else ""
        if input_map and not prefix:
            if not all(isinstance(v, ops.Tensor) for v in input_map.values()):
                raise ValueError("tf.import_graph_def() requires a non-empty `name` if `input_map` is used.")
        mapping = {
            compat.as_str(key): ops.convert_to_tensor(value)._pair for key, value in (input_map or {}).items()
        }
        controls = [op._native for op in graph._control_dependencies_for_inputs(set())]
        outputs = [e for e in elements or () if ":" in e]
        operations = [e for e in elements or () if ":" not in e]
        graph._sync()
        first = len(graph._nodes)
        try:
            found_outputs, found_ops, unknown = graph._native.import_with(
                graph_def.SerializeToString(),
                prefix,
                False,
                True,  # names that the graph has get a number
                mapping,
                controls,
                outputs,
                operations,
                None,
            )
        except _native.Error as error:
            raise ops._building_error(error) from None
    if graph_def.versions.producer and (not first or graph_def.versions.producer < graph._versions_producer):
        graph._versions_producer = graph_def.versions.producer
    _set_shapes(graph_def, prefix, _finish(graph, first))
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{names}]")
    if elements is None:
        return None
    found = {e: graph._tensor_of(pair) for e, pair in zip(outputs, found_outputs)}
    found.update((e, graph._get_operation_by_tf_operation(op)) for e, op in zip(operations, found_ops))
    return [found[e] for e in elements]


def _set_shapes(graph_def, prefix, made):
    """Gives outputs the shapes of _output_shapes: those that a program has set, and those within loops."""
    if not any("_output_shapes" in node.attr for node in graph_def.node):
        return
    by_name = {op.name: op for op in made}
    for node in graph_def.node:
        op = by_name.get(f"{prefix}/{node.name}" if prefix else node.name)
        if op is None or "_output_shapes" not in node.attr:
            continue
        for output, shape in zip(op.outputs, node.attr["_output_shapes"].list.shape):
            if not output.shape.is_fully_defined():
                shape = tensor_shape.TensorShape(shape)
                if output.shape.is_compatible_with(shape):
                    output.set_shape(shape)


def _finish(graph, first):
    """Gives the new nodes, which it returns, what the scopes say: devices and the control-flow context."""
    made = graph._adopt(first)
    for op in made:
        if graph._scopes.devices:
            node = ops._NodeView(op.name, op.type, op.device, list(op.inputs), graph, op._output_types)
            device = graph._device_of(node)
            if device != op.device:
                op._set_device_from_string(device)
    return made
