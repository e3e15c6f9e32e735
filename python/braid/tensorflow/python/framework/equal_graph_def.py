"""What differs in two GraphDefs, whose nodes may be in any order."""

from braid import protos


def difference(actual, expected, checkpoint_v2=False, hash_table_shared_name=False):
    """A sentence on the first node that differs; "" if none does.

    `checkpoint_v2` leaves out values of nodes below "save", `hash_table_shared_name` names of tables.
    """
    a, b = (_nodes(what, hash_table_shared_name) for what in (actual, expected))
    for name in sorted({*a, *b}, reverse=True):
        if name not in a:
            return f"Did not find expected node '{{{{node {name}}}}}'"
        if name not in b:
            return f"Found unexpected node '{{{{node {name}}}}}'"
        if _comparable(a[name], checkpoint_v2) != _comparable(b[name], checkpoint_v2):
            return f"Node {name!r} differs: {a[name]} vs {b[name]}"
    return ""


def _nodes(graph_def, hash_table_shared_name):
    found = {}
    for node in graph_def.node:
        copy = protos.NodeDef.FromString(node.SerializeToString())
        if hash_table_shared_name and copy.op in ("HashTable", "HashTableV2", "MutableHashTableV2"):
            copy.attr["shared_name"].s = b"hash_table"
        found[node.name] = copy
    return found


def _comparable(node, checkpoint_v2):
    inputs = [i for i in node.input if not i.startswith("^")]
    controls = sorted(i for i in node.input if i.startswith("^"))
    attrs = {
        k: v.SerializeToString(deterministic=True) for k, v in node.attr.items() if k != "_output_shapes"
    }
    if checkpoint_v2 and node.name.startswith("save/"):
        attrs.pop("value", None)
    return node.op, node.device, inputs, controls, attrs
