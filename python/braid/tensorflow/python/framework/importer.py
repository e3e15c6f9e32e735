"""Importing a GraphDef into the default graph (tf.import_graph_def)."""

import re

from braid import _native, protos
from braid.tensorflow.python.framework import op_def_library, ops, versions
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
    if producer_op_list is not None:
        graph_def = _without_newer_defaults(graph_def, producer_op_list)
    elements = _names(return_elements, "return_elements")
    graph = ops.get_default_graph()
    graph._check_not_finalized()
    if input_map is not None and not isinstance(input_map, dict):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    with ops.name_scope(name, "import", list((input_map or {}).values())) as scope:
        prefix = scope[:-1] if scope else ""
        if prefix:
            _check_colocation(graph_def)
        if input_map and not prefix:
            if not all(isinstance(v, ops.Tensor) for v in input_map.values()):
                raise ValueError(
                    "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values. "
                    "Try calling tf.convert_to_tensor() on `input_map` values before."
                )
        mapping = {
            compat.as_str(key): ops.convert_to_tensor(value)._pair for key, value in (input_map or {}).items()
        }
        controls = [op._native for op in graph._control_dependencies_for_inputs(set())]
        outputs = [e for e in elements or () if ":" in e]
        for name in outputs:
            if name.count(":") > 1:
                raise ValueError(f"Cannot convert {name!r} to a tensor name.")
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
            raise ops._building_error(_in_graph_def(error, prefix)) from None
    if not first:
        graph._versions_producer = graph_def.versions.producer
        graph._versions_min_consumer = graph_def.versions.min_consumer
    else:
        graph._versions_producer = min(graph._versions_producer, graph_def.versions.producer)
        graph._versions_min_consumer = max(graph._versions_min_consumer, graph_def.versions.min_consumer)
    if graph_def.library.function:
        for function in _functions(graph_def):
            graph._functions.setdefault(function.name, function)
    _finish(graph, first)
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{names}]")
    if elements is None:
        return None
    found = {e: graph._tensor_of(pair) for e, pair in zip(outputs, found_outputs)}
    found.update((e, graph._get_operation_by_tf_operation(op)) for e, op in zip(operations, found_ops))
    return [found[e] for e in elements]


# What TensorFlow's errors of versions say besides.
_OF_VERSIONS = (
    ("producer version", f" supported by TensorFlow {versions.VERSION}.  Please regenerate your graph."),
    ("min consumer version", f" for TensorFlow {versions.VERSION}.  Please upgrade TensorFlow."),
)


def _in_graph_def(error, prefix):
    """The error of a GraphDef that names nodes as it does, without the scope that they are imported to."""
    code, message = error.args
    if prefix and "(op: " not in message and " was passed " not in message:
        message = re.sub(rf"(\b[Nn]ode '?){re.escape(prefix)}/", r"\1", message)
    for start, end in _OF_VERSIONS:
        if message.startswith(f"GraphDef {start}"):
            message += end
    return _native.Error(code, message)


def _check_colocation(graph_def):
    """ValueError: a node is to be placed with one that the GraphDef does not have."""
    names = None
    for node in graph_def.node:
        for group in node.attr["_class"].list.s if "_class" in node.attr else ():
            other = compat.as_str(group)[len("loc:@") :] if group.startswith(b"loc:@") else None
            names = names or {n.name for n in graph_def.node}
            if other is not None and other not in names:
                raise ValueError(f"Node '{node.name}' expects to be colocated with unknown node '{other}'")


def _functions(graph_def):
    from braid.tensorflow.python.framework import function

    return function._from_library(graph_def.library)


def _without_newer_defaults(graph_def, producer_op_list):
    """The GraphDef without attributes that only the producer's ops have, where they have their default."""
    newer = {op.name: {a.name: a.default_value for a in op.attr} for op in producer_op_list.op}
    made = protos.GraphDef()
    made.CopyFrom(graph_def)
    for node in made.node:
        own = op_def_library.op_def_or_none(node.op)
        if own is None or node.op not in newer:
            continue
        known = {a.name for a in own.attr}
        for name, default in newer[node.op].items():
            if name not in known and name in node.attr and node.attr[name] == default:
                del node.attr[name]
    return made


def _finish(graph, first):
    """Gives the new nodes what the scopes say, devices and the control-flow context, and what their
    attributes say: the shapes of _output_shapes, and the devices of the nodes that they are placed with.
    """
    new = graph._adopt(first)
    colocated = []
    for op in new:
        attrs = op._native.attr_names
        if "_output_shapes" in attrs:
            _set_shapes(op)
        groups = op.colocation_groups() if ops.COLOCATION_ATTR in attrs else []
        others = [compat.as_str(g)[len("loc:@") :] for g in groups]
        others = [name for name in others if name != op.name]
        if others:
            colocated.append((op, others))
        elif graph._scopes.devices:
            device = graph._device_of(ops._MadeNodeView(op, op.device))
            if device != op.device:
                op._set_device_from_string(device)
    for op, others in colocated:
        found = [graph._find(name) for name in others]
        device = next((o.device for o in found if o is not None and o.device), "")
        if device != op.device:
            op._set_device_from_string(device)


# Ops for which older versions of TensorFlow, and those before this producer's, wrote other shapes.
_OTHER_SHAPES = frozenset(
    """
    Barrier BarrierIncompleteSize BarrierReadySize CuckooTable FIFOQueue FixedLengthRecordReader HashTable
    IdentityReader IndexTable LMDBReader MutableHashTable MutableHashTableOfTensors Mutex PaddingFIFOQueue
    PriorityQueue QueueSize RandomShuffleQueue RefEnter RefIdentity RefMerge RefNextIteration RefSwitch Stack
    TFRecordReader TextLineReader WholeFileReader
    """.split()
)
_SHAPES_PRODUCER = 21


def _set_shapes(op):
    for i, (output, shape) in enumerate(zip(op.outputs, op.get_attr("_output_shapes"))):
        try:
            output.set_shape(shape)
        except ValueError as error:
            if op.type in _OTHER_SHAPES or op.graph._versions_producer < _SHAPES_PRODUCER:
                continue
            raise ValueError(
                f"Node '{op.name}' has an _output_shapes attribute inconsistent with the GraphDef for output #{i}: "
                f"{error}"
            ) from None
    op._clear_attr("_output_shapes")
