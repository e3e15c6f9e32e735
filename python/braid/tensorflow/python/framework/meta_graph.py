"""Graphs with what belongs to them (collections, the saver) as MetaGraphDefs, whole or one scope of them."""

import importlib
import os
import re

from google.protobuf import text_format

from braid import protos
from braid.tensorflow.python.framework import graph_io, importer, op_def_registry, ops, versions
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import compat

# What stands before the name of an input that is outside of the exported scope.
_UNBOUND_INPUT_PREFIX = "$unbound_inputs_"

# Collections that early versions wrote as node names; they cannot be restored from those.
_COMPAT_COLLECTION_LIST = [
    ops.GraphKeys.LOCAL_VARIABLES,
    ops.GraphKeys.MODEL_VARIABLES,
    ops.GraphKeys.METRIC_VARIABLES,
]

SAVE_AND_RESTORE_OPS = [
    "SaveV2",
    "Save",
    "SaveSlice",
    "LegacySave",
    "LegacySaveSlice",
    "RestoreV2",
    "Restore",
    "RestoreSlice",
    "LegacyRestore",
    "LegacyRestoreSlice",
]


def _node_def(from_node_def, export_scope, unbound_inputs, clear_devices=False):
    """A copy of a node with names relative to the scope. Inputs from outside are added to
    `unbound_inputs`.
    """
    node = protos.NodeDef()
    node.CopyFrom(from_node_def)
    for i, name in enumerate(node.input):
        if export_scope and not name.lstrip("^").startswith(export_scope):
            node.input[i] = re.sub(r"^(\^?)", lambda m: m.group(1) + _UNBOUND_INPUT_PREFIX, name)
            unbound_inputs.append(node.input[i])
        else:
            node.input[i] = ops.strip_name_scope(name, export_scope)
    node.name = ops.strip_name_scope(node.name, export_scope)
    if export_scope and "_class" in node.attr:
        kept = [
            compat.as_bytes(ops.strip_name_scope(s, export_scope))
            for s in node.attr["_class"].list.s
            if compat.as_str(s).split("@")[1].startswith(export_scope)
        ]
        node.attr["_class"].CopyFrom(protos.AttrValue(list=protos.AttrValue.ListValue(s=kept)))
    if export_scope and node.op in ("Enter", "RefEnter"):
        frame = compat.as_str(node.attr["frame_name"].s)
        if frame.startswith(export_scope):
            node.attr["frame_name"].s = compat.as_bytes(ops.strip_name_scope(frame, export_scope))
    if clear_devices:
        node.device = ""
    return node


def _read_file(filename):
    """The GraphDef of a file, in bytes or text. OSError: the file cannot be read."""
    return _read(filename, protos.GraphDef)


def read_meta_graph_file(filename):
    """The MetaGraphDef of a file, in bytes or text. OSError: there is no such file, or it is no graph."""
    return _read(filename, protos.MetaGraphDef)


def _read(filename, message):
    if not file_io.file_exists(filename):
        raise OSError(f"File {filename} does not exist.")
    content = file_io.read_file_to_string(filename, binary_mode=True)
    read = message()
    try:
        read.ParseFromString(content)
        return read
    except Exception:  # DecodeError, which versions of protobuf raise as different classes
        pass
    try:
        text_format.Merge(content.decode("utf-8"), read)
    except (text_format.ParseError, UnicodeDecodeError) as e:
        raise OSError(f"Cannot parse file {filename}: {e}.") from None
    return read


def ops_used_by_graph_def(graph_def):
    """The names of the ops of a graph, and of the functions of its library that it calls."""
    functions = {f.signature.name: f for f in graph_def.library.function}
    used, to_visit = set(), [graph_def.node]
    while to_visit:
        for node in to_visit.pop():
            if node.op in used:
                continue
            used.add(node.op)
            if node.op in functions:
                to_visit.append(functions[node.op].node_def)
    return used.difference(functions)


def stripped_op_list_for_graph(graph_def):
    """The definitions, without documentation, of the ops that a graph uses and the engine knows."""
    stripped = protos.OpList()
    for name in sorted(ops_used_by_graph_def(graph_def)):
        definition = op_def_registry.get(name)
        if definition is None:
            continue
        op = stripped.op.add()
        op.CopyFrom(definition)
        op.summary = op.description = ""
        for item in [*op.input_arg, *op.output_arg, *op.attr]:
            item.description = ""
    return stripped


def _is_default_attr_value(op_def, attr_name, attr_value):
    for attr in op_def.attr:
        if attr.name == attr_name:
            return attr.HasField("default_value") and attr.default_value == attr_value
    return False


def strip_graph_default_valued_attrs(meta_graph_def):
    """Removes attributes that have their default value, so that programs before the attribute can read the
    graph.
    """
    functions = {f.signature.name for f in meta_graph_def.graph_def.library.function}

    def strip(node):
        definition = None if node.op in functions else op_def_registry.get(node.op)
        if definition is not None:
            for name in [k for k, v in node.attr.items() if _is_default_attr_value(definition, k, v)]:
                del node.attr[name]

    for node in meta_graph_def.graph_def.node:
        strip(node)
    for function in meta_graph_def.graph_def.library.function:
        for node in function.node_def:
            strip(node)
    meta_graph_def.meta_info_def.stripped_default_attrs = True


def _add_default_attrs(graph_def):
    """Gives nodes the attributes that strip_graph_default_valued_attrs has removed."""
    for node in graph_def.node:
        definition = op_def_registry.get(node.op)
        for attr in definition.attr if definition is not None else ():
            if attr.HasField("default_value") and attr.name not in node.attr:
                node.attr[attr.name].CopyFrom(attr.default_value)


def _is_any(item):
    """Whether an element is a google.protobuf.Any, of this copy of the messages or another."""
    return getattr(getattr(item, "DESCRIPTOR", None), "full_name", "") == "google.protobuf.Any"


def _get_kind_name(item):
    """The field of CollectionDef for an element of a collection."""
    if isinstance(item, (str, bytes)):
        return "bytes_list"
    if isinstance(item, int):
        return "int64_list"
    if isinstance(item, float):
        return "float_list"
    if _is_any(item):
        return "any_list"
    return "node_list"


def _should_include_node(node_or_node_name, export_scope, exclude_nodes):
    """Whether a node, or what has one, is in the exported scope and not excluded."""
    name = node_or_node_name
    if not isinstance(name, str):
        name = getattr(getattr(name, "op", name), "name", None)
        if name is None:
            return True
    if exclude_nodes and name in exclude_nodes:
        return False
    return name.startswith(_UNBOUND_INPUT_PREFIX) or not export_scope or name.startswith(export_scope)


def add_collection_def(
    meta_graph_def, key, graph=None, export_scope=None, exclude_nodes=None, override_contents=None
):
    """Adds a collection of the graph to a MetaGraphDef. What cannot be written is left out with a warning.

    override_contents: what is added in place of the graph's collection.
    """
    if graph and not isinstance(graph, ops.Graph):
        raise TypeError(f"graph must be of type Graph, not {type(graph)}")
    if not isinstance(key, (str, bytes)):
        logging.warning(
            "Only collections with string type keys can be serialized. This key has %s", type(key)
        )
        return
    graph = graph or ops.get_default_graph()
    contents = graph.get_collection(key) if override_contents is None else override_contents
    items = [x for x in contents if _should_include_node(x, export_scope, exclude_nodes)]
    if not items:
        return
    try:
        to_proto = ops.get_to_proto_function(key)
        field = meta_graph_def.collection_def[compat.as_str(key)]
        if to_proto:
            for x in items:
                message = to_proto(x, export_scope=export_scope)
                if message:
                    field.bytes_list.value.append(message.SerializeToString())
            if not field.bytes_list.value:
                field.bytes_list.SetInParent()
            return
        kind = _get_kind_name(items[0])
        if kind == "node_list":
            for x in items:
                if not export_scope or x.name.startswith(export_scope):
                    field.node_list.value.append(ops.strip_name_scope(x.name, export_scope))
        elif kind == "bytes_list":
            field.bytes_list.value.extend(compat.as_bytes(x) for x in items)
        elif kind == "any_list":
            for x in items:
                field.any_list.value.add(type_url=x.type_url, value=x.value)
        else:
            getattr(field, kind).value.extend(items)
    except Exception as e:
        logging.warning(
            "The collection %s cannot be written to the graph (%s); this is only a problem for what reads it there.",
            key,
            e,
        )
        if compat.as_str(key) in meta_graph_def.collection_def:
            del meta_graph_def.collection_def[compat.as_str(key)]


def create_meta_graph_def(
    meta_info_def=None,
    graph_def=None,
    saver_def=None,
    collection_list=None,
    graph=None,
    export_scope=None,
    exclude_nodes=None,
    clear_extraneous_savers=False,
    strip_default_attrs=False,
):
    """A MetaGraphDef of a graph (by default that of `graph`, by default the default graph) and its
    collections.

    collection_list: the keys of the collections; None for all.
    """
    if graph and not isinstance(graph, ops.Graph):
        raise TypeError(f"graph must be of type Graph, not {type(graph)}")
    if graph_def and not isinstance(graph_def, protos.GraphDef):
        raise TypeError(f"graph_def must be of type GraphDef, not {type(graph_def)}")
    graph = graph or ops.get_default_graph()
    made = protos.MetaGraphDef()
    info = made.meta_info_def
    if meta_info_def:
        info.MergeFrom(meta_info_def)
    else:
        info.tensorflow_version = versions.__version__
        info.tensorflow_git_version = versions.__git_version__
    made.graph_def.MergeFrom(graph_def or graph.as_graph_def(add_shapes=True))
    if not info.stripped_op_list.op:
        info.stripped_op_list.MergeFrom(stripped_op_list_for_graph(made.graph_def))
    if strip_default_attrs:
        strip_graph_default_valued_attrs(made)
    if saver_def:
        made.saver_def.MergeFrom(saver_def)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        override = None
        if clear_extraneous_savers and key == ops.GraphKeys.SAVERS:
            # The collection keeps the saver of this MetaGraphDef alone.
            from braid.tensorflow.python.training import saver as saver_mod

            override = [saver_mod.Saver.from_proto(saver_def)] if saver_def else []
        add_collection_def(
            made,
            key,
            graph=graph,
            export_scope=export_scope,
            exclude_nodes=exclude_nodes,
            override_contents=override,
        )
    return made


def import_scoped_meta_graph(
    meta_graph_or_file,
    clear_devices=False,
    graph=None,
    import_scope=None,
    input_map=None,
    unbound_inputs_col_name="unbound_inputs",
    restore_collections_predicate=(lambda key: True),
):
    """As import_scoped_meta_graph_with_return_elements, of which it returns the variables alone."""
    return import_scoped_meta_graph_with_return_elements(
        meta_graph_or_file,
        clear_devices,
        graph,
        import_scope,
        input_map,
        unbound_inputs_col_name,
        restore_collections_predicate,
    )[0]


def _check_unbound_inputs(meta_graph_def, column, input_map):
    unbound = meta_graph_def.collection_def.get(column) if column else None
    if unbound is None:
        return
    values = list(getattr(unbound, unbound.WhichOneof("kind") or "node_list").value)
    names = sorted(compat.as_str(v) for v in values)
    if names and names != sorted(input_map or ()):
        raise ValueError(
            f"Graph contains unbound inputs: {','.join(names)}. Must provide these inputs through input_map."
        )


# Modules that say how elements of collections become messages, and messages elements.
_REGISTERING = (
    "ops.control_flow_contexts",
    "ops.resource_variable_ops",
    "training.queue_runner_impl",
    "training.saver",
)


def _restore_collection(graph, key, collection, scope, made):
    """Adds what a CollectionDef has to the graph's collection. made: variables by their bytes, made once."""
    kind = collection.WhichOneof("kind")
    if kind is None:
        logging.error("Cannot identify data type for collection %s. Skipping.", key)
        return
    from_proto = ops.get_from_proto_function(key)
    if from_proto and kind == "bytes_list":
        is_variables = key in ops.GraphKeys._VARIABLE_COLLECTIONS
        proto_type = ops.get_collection_proto_type(key)
        for value in collection.bytes_list.value:
            restored = made.get(value) if is_variables else None
            if restored is None:
                restored = from_proto(proto_type.FromString(value), import_scope=scope)
                if is_variables:
                    made[value] = restored
            graph.add_to_collection(key, restored)
        return
    values = getattr(collection, kind).value
    if key in _COMPAT_COLLECTION_LIST:
        logging.warning(
            "The graph is from an early version: the collection %s has %s, not variables.", key, kind
        )
    if kind == "node_list":
        for value in values:
            graph.add_to_collection(key, graph.as_graph_element(ops.prepend_name_scope(value, scope)))
    elif kind == "bytes_list":
        for value in values:
            graph.add_to_collection(key, ops.prepend_name_scope(value, scope))
    else:
        for value in values:
            graph.add_to_collection(key, value)


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file,
    clear_devices=False,
    graph=None,
    import_scope=None,
    input_map=None,
    unbound_inputs_col_name="unbound_inputs",
    restore_collections_predicate=(lambda key: True),
    return_elements=None,
):
    """Adds the nodes and collections of a MetaGraphDef, or a file of one, to the graph, below `import_scope`.

    input_map: tensors for the unbound inputs, by their names. Returns (variables by their names without the
    scope, what return_elements names).
    """
    if isinstance(meta_graph_or_file, protos.MetaGraphDef):
        meta_graph_def = meta_graph_or_file
    elif hasattr(meta_graph_or_file, "SerializeToString"):  # of another copy of the messages
        meta_graph_def = protos.MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    else:
        meta_graph_def = read_meta_graph_file(meta_graph_or_file)
    _check_unbound_inputs(meta_graph_def, unbound_inputs_col_name, input_map)
    graph = graph or ops.get_default_graph()
    with graph.as_default():
        op_list = None
        if meta_graph_def.meta_info_def.HasField("stripped_op_list"):
            op_list = meta_graph_def.meta_info_def.stripped_op_list
        graph_def = meta_graph_def.graph_def
        if meta_graph_def.meta_info_def.stripped_default_attrs:
            _add_default_attrs(graph_def)  # programs find them in the message that they gave
        if clear_devices:
            graph_def = protos.GraphDef()
            graph_def.CopyFrom(meta_graph_def.graph_def)
            for node in graph_def.node:
                node.device = ""
        scope = graph.unique_name(import_scope or "", mark_as_used=False)
        elements = importer.import_graph_def(
            graph_def,
            name=(import_scope or scope),
            input_map=input_map,
            producer_op_list=op_list,
            return_elements=return_elements,
        )
        for module in _REGISTERING:
            importlib.import_module(f"braid.tensorflow.python.{module}")
        made = {}
        for key, collection in sorted(meta_graph_def.collection_def.items()):
            if key != unbound_inputs_col_name and restore_collections_predicate(key):
                _restore_collection(graph, key, collection, scope, made)
        variables = graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope=scope)
        return {ops.strip_name_scope(v.name, scope): v for v in variables}, elements


def _find_extraneous_saver_nodes(graph_def, saver_def):
    """The names of the nodes of savers other than that of `saver_def`: all in the scopes of their Save and
    Restore.
    """

    def scope_of(name):
        return name.rpartition("/")[0]

    retained = set()
    if saver_def is not None:
        retained = {
            scope_of(name.lstrip("^").partition(":")[0])
            for name in (saver_def.save_tensor_name, saver_def.restore_op_name)
        }
    names = {node.name for node in graph_def.node if node.op in SAVE_AND_RESTORE_OPS}
    scopes = tuple(f"{s}/" for s in {scope_of(name) for name in names} - names - retained)
    return {node.name for node in graph_def.node if scopes and node.name.startswith(scopes)}


def export_scoped_meta_graph(
    filename=None,
    graph_def=None,
    graph=None,
    export_scope=None,
    as_text=False,
    unbound_inputs_col_name="unbound_inputs",
    clear_devices=False,
    saver_def=None,
    clear_extraneous_savers=False,
    strip_default_attrs=False,
    **kwargs,
):
    """A MetaGraphDef of the nodes below `export_scope`, with names relative to it, also as a file.

    Inputs from outside are listed in the collection `unbound_inputs`. Returns (MetaGraphDef, variables by
    name).
    """
    graph = graph or ops.get_default_graph()
    excluded, unbound_inputs = None, []
    if export_scope or clear_extraneous_savers or clear_devices:
        source = graph_def or graph.as_graph_def(add_shapes=True)
        graph_def = protos.GraphDef(versions=source.versions, library=source.library)
        if clear_extraneous_savers:
            excluded = _find_extraneous_saver_nodes(source, saver_def)
        for node in source.node:
            if _should_include_node(node.name, export_scope, excluded):
                graph_def.node.append(_node_def(node, export_scope, unbound_inputs, clear_devices))
        if unbound_inputs_col_name:
            graph.clear_collection(unbound_inputs_col_name)
            for name in unbound_inputs:
                graph.add_to_collection(unbound_inputs_col_name, name)
    found = {
        ops.strip_name_scope(v.name, export_scope): v
        for v in graph.get_collection(ops.GraphKeys.GLOBAL_VARIABLES, scope=export_scope)
        if _should_include_node(v, export_scope, excluded)
    }
    made = create_meta_graph_def(
        graph_def=graph_def,
        graph=graph,
        export_scope=export_scope,
        exclude_nodes=excluded,
        clear_extraneous_savers=clear_extraneous_savers,
        saver_def=saver_def,
        strip_default_attrs=strip_default_attrs,
        **kwargs,
    )
    if filename:
        graph_io.write_graph(made, os.path.dirname(filename), os.path.basename(filename), as_text=as_text)
    return made, found


def copy_scoped_meta_graph(from_scope, to_scope, from_graph=None, to_graph=None):
    """Copies the nodes below one scope to another, of the same graph or of another. Returns variables by
    name.
    """
    from_graph = from_graph or ops.get_default_graph()
    to_graph = to_graph or ops.get_default_graph()
    if from_graph == to_graph and from_scope == to_scope:
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same graph."
        )
    exported, found = export_scoped_meta_graph(export_scope=from_scope, graph=from_graph)
    copied = import_scoped_meta_graph(exported, graph=to_graph, import_scope=to_scope)
    return copied if found else {}
