"""Work on GraphDefs: the part that some nodes need, variables as constants, nodes of training left out."""


from braid import protos
from braid.tensorflow.python.framework import dtypes, tensor_util
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util.tf_export import tf_export

_VARIABLE_OPS = {
    "Assign",
    "AssignAdd",
    "AssignSub",
    "Queue",
    "ScatterAdd",
    "ScatterSub",
    "ScatterUpdate",
    "TruncatedNormal",
    "Variable",
    "VariableV2",
}

# Ops through which a resource variable may reach what reads it.
_PASSING_OPS = {"Identity", "Switch", "Enter", "Exit", "Merge", "NextIteration"}


def _node_name(n):
    """The name of the node that an input names: without "^" and the output's number."""
    return n[1:] if n.startswith("^") else n.partition(":")[0]


def _is_variable_op(op):
    return op in _VARIABLE_OPS


@tf_export(v1=["graph_util.must_run_on_cpu"])
def must_run_on_cpu(node, pin_variables_on_cpu=False):
    """Whether a node (an Operation or a NodeDef) can only run on a CPU: strings, and constants of 32-bit integers."""
    node_def = node if isinstance(node, protos.NodeDef) else node.node_def
    if pin_variables_on_cpu and _is_variable_op(node_def.op):
        return True
    dtype = dtypes.as_dtype(node_def.attr["dtype"].type) if "dtype" in node_def.attr else None
    if node_def.op == "Const":
        return dtype in (dtypes.string, dtypes.int32)
    if node_def.op in ("DynamicStitch", "ParallelDynamicStitch"):
        return dtypes.as_dtype(node_def.attr["T"].type) == dtypes.int32
    if node_def.op == "Cast":
        return dtypes.int32 in (
            dtypes.as_dtype(node_def.attr["SrcT"].type),
            dtypes.as_dtype(node_def.attr["DstT"].type),
        )
    return False


def _extract_graph_summary(graph_def):
    """(inputs by node name, NodeDef by name, number by name)."""
    inputs, nodes, numbers = {}, {}, {}
    for i, node in enumerate(graph_def.node):
        nodes[node.name] = node
        inputs[node.name] = [_node_name(x) for x in node.input]
        # Nodes that must be on one device stay together.
        for group in node.attr["_class"].list.s if "_class" in node.attr else ():
            named = group.decode("utf-8")
            if named.startswith("loc:@"):
                inputs[node.name].append(named[len("loc:@") :])
        numbers[node.name] = i
    return inputs, nodes, numbers


def _assert_nodes_are_present(name_to_node, nodes):
    for name in nodes:
        assert name in name_to_node, f"{name} is not in graph"


def _bfs_for_reachable_nodes(target_nodes, name_to_input_name):
    reached, to_visit = set(), list(target_nodes)
    while to_visit:
        name = to_visit.pop()
        if name not in reached:
            reached.add(name)
            to_visit.extend(name_to_input_name.get(name, ()))
    return reached


@tf_export(v1=["graph_util.extract_sub_graph"])
def extract_sub_graph(graph_def, dest_nodes):
    """A GraphDef of the nodes that those named in the list `dest_nodes` need. AssertionError: one is not there."""
    if not isinstance(graph_def, protos.GraphDef):
        raise TypeError("graph_def must be a graph_pb2.GraphDef proto.")
    if isinstance(dest_nodes, str):
        raise TypeError("dest_nodes must be a list.")
    inputs, nodes, numbers = _extract_graph_summary(graph_def)
    _assert_nodes_are_present(nodes, dest_nodes)
    kept = _bfs_for_reachable_nodes(dest_nodes, inputs)
    out = protos.GraphDef(library=graph_def.library, versions=graph_def.versions)
    for name in sorted((name for name in kept if name in nodes), key=lambda name: numbers[name]):
        out.node.append(nodes[name])
    return out


@tf_export(v1=["graph_util.tensor_shape_from_node_def_name"])
def tensor_shape_from_node_def_name(graph, input_name):
    """The static shape of a node's output that an input of a NodeDef names."""
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).get_shape()


@tf_export(v1=["graph_util.convert_variables_to_constants"])
def convert_variables_to_constants(
    sess,
    input_graph_def,
    output_node_names,
    variable_names_whitelist=None,
    variable_names_blacklist=None,
):
    """A GraphDef of what the output nodes need, with constants of the session's values in place of variables.

    variable_names_whitelist, variable_names_blacklist: the names of those that are replaced, or are not.
    """
    graph_def = extract_sub_graph(input_graph_def, output_node_names)
    nodes = {node.name: node for node in graph_def.node}

    def is_replaced(name):
        if variable_names_whitelist is not None and name not in variable_names_whitelist:
            return False
        return variable_names_blacklist is None or name not in variable_names_blacklist

    def source(name):
        """The variable that a resource comes from, or None."""
        node = nodes[_node_name(name)]
        while node.op in _PASSING_OPS and node.input:
            node = nodes[_node_name(node.input[0])]
        return node if node.op == "VarHandleOp" else None

    fetches = {}
    for node in graph_def.node:
        if node.op in ("Variable", "VariableV2") and is_replaced(node.name):
            fetches[node.name] = f"{node.name}:0"
        elif node.op in ("ReadVariableOp", "ResourceGather"):
            variable = source(node.input[0])
            if variable is not None and is_replaced(variable.name):
                fetches.setdefault(variable.name, None)
    for name in [name for name, fetch in fetches.items() if fetch is None]:
        fetches[name] = _value_of(sess.graph, name)
    values = dict(zip(fetches, sess.run(list(fetches.values())))) if fetches else {}
    logging.info("Froze %d variables.", len(values))

    out = protos.GraphDef(library=graph_def.library, versions=graph_def.versions)
    for node in graph_def.node:
        made = out.node.add()
        if node.name in values:
            value = values[node.name]
            dtype = node.attr["dtype"]
            made.op, made.name, made.device = "Const", node.name, node.device
            made.attr["dtype"].CopyFrom(dtype)
            tensor = tensor_util.make_tensor_proto(value, dtype=dtype.type, shape=value.shape)
            made.attr["value"].tensor.CopyFrom(tensor)
            continue
        made.CopyFrom(node)
        variable = None
        if node.op in ("ReadVariableOp", "ResourceGather") or (node.op in _PASSING_OPS and node.input):
            variable = source(node.input[0])
        if variable is None or variable.name not in values:
            continue
        dtype = variable.attr["dtype"]
        if node.op in _PASSING_OPS:
            made.attr["T"].CopyFrom(dtype)
        elif node.op == "ReadVariableOp":
            made.op = "Identity"
            made.attr["T"].CopyFrom(dtype)
            made.attr.pop("dtype", None)
        else:
            _as_gather(out, made, node, dtype)
    logging.info("Converted %d variables to const ops.", len(values))
    return out


def _value_of(graph, name):
    """A tensor that reads a resource variable: what its node Read does, or any other node."""
    for reader in (f"{name}/Read/ReadVariableOp", f"{name}/ReadVariableOp"):
        try:
            return graph.get_operation_by_name(reader).outputs[0]
        except KeyError:
            pass
    handle = graph.get_operation_by_name(name).outputs[0]
    for consumer in handle.consumers():
        if consumer.type == "ReadVariableOp":
            return consumer.outputs[0]
    raise ValueError(f"The graph has no node that reads the variable {name}")


def _as_gather(graph_def, made, node, dtype):
    """Makes a GatherV2 of a ResourceGather."""
    axis = graph_def.node.add(name=f"{node.name}/axis", op="Const")
    axis.attr["dtype"].type = dtypes.int32.as_datatype_enum
    axis.attr["value"].tensor.CopyFrom(tensor_util.make_tensor_proto(0, dtype=dtypes.int32, shape=()))
    indices_type = node.attr["Tindices"]
    made.ClearField("attr")
    made.op = "GatherV2"
    made.input[:] = [node.input[0], node.input[1], axis.name, *node.input[2:]]
    made.attr["Tparams"].CopyFrom(dtype)
    made.attr["Tindices"].CopyFrom(indices_type)
    made.attr["Taxis"].type = dtypes.int32.as_datatype_enum
    made.attr["batch_dims"].CopyFrom(node.attr["batch_dims"])
    if "_class" in node.attr:
        made.attr["_class"].CopyFrom(node.attr["_class"])


@tf_export(v1=["graph_util.remove_training_nodes"])
def remove_training_nodes(input_graph, protected_nodes=None):
    """The nodes of a GraphDef without CheckNumerics and Identity nodes, but for those of `protected_nodes`.

    An Identity with control inputs stays, and so does one that another node has as a control input.
    """
    protected = set(protected_nodes or ())
    checks = {
        n.name: n.input[0] for n in input_graph.node if n.op == "CheckNumerics" and n.name not in protected
    }

    def unchecked(name):
        while _node_name(name) in checks:
            name = checks[_node_name(name)]
        return name

    kept = []
    for node in input_graph.node:
        if node.name in checks:
            continue
        made = protos.NodeDef()
        made.CopyFrom(node)
        inputs = [i for i in node.input if not (i.startswith("^") and _node_name(i) in checks)]
        made.input[:] = [unchecked(i) for i in inputs]
        kept.append(made)

    controls = {_node_name(i) for node in kept for i in node.input if i.startswith("^")}
    spliced = {
        n.name: n.input[0]
        for n in kept
        if n.op == "Identity"
        and n.name not in protected
        and n.name not in controls
        and not any(i.startswith("^") for i in n.input)
    }
    out = protos.GraphDef()
    for node in kept:
        if node.name in spliced:
            continue
        for i, name in enumerate(node.input):
            while _node_name(name) in spliced:
                name = spliced[_node_name(name)]
            node.input[i] = name
        out.node.append(node)
    return out
