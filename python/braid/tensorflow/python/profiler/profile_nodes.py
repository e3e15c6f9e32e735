"""The numbers of a profile: what each node has, and the tree of its scopes."""

import collections
import re

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.profiler import flops  # noqa: F401, it registers how they are counted

ROOT = "_TFProfRoot"
_SCOPE_TYPE = "_kTFScopeParent"
TRAINABLE = "_trainable_variables"
_VARIABLES = ("Variable", "VariableV2", "AutoReloadVariable", "VarHandleOp")
# What is added up, with the name of the order and of the least value that is shown.
NUMBERS = {
    "parameters": "params",
    "float_ops": "float_ops",
    "requested_bytes": "bytes",
    "peak_bytes": "peak_bytes",
    "residual_bytes": "residual_bytes",
    "output_bytes": "output_bytes",
    "exec_micros": "micros",
    "accelerator_exec_micros": "accelerator_micros",
    "cpu_exec_micros": "cpu_micros",
    "run_count": "occurrence",
    "definition_count": "definitions",
}
_OF_A_RUN = (
    "run_count",
    "exec_micros",
    "accelerator_exec_micros",
    "cpu_exec_micros",
    "requested_bytes",
    "peak_bytes",
    "residual_bytes",
    "output_bytes",
)


class Node:
    """A node, or a scope: its own numbers, and those of all that counts at and below it."""

    def __init__(self, name, op=None):
        self.name = name
        self.op = op  # None: a scope
        self.types = {op} if op else {_SCOPE_TYPE}
        self.devices = set()
        self.shape = None  # of a variable
        self.own = dict.fromkeys(NUMBERS, 0)
        self.total = dict.fromkeys(NUMBERS, 0)
        self.children = []
        self.counts = False

    def add(self, other):
        for name in NUMBERS:
            self.total[name] += other[name]


def of_graph(graph, runs=(), op_log=None):
    """The Nodes of a graph by name. `runs`: the RunMetadata of steps; a node has the mean of those it ran in."""
    nodes = {}
    trainable = {v.op.name for v in graph.get_collection(ops.GraphKeys.TRAINABLE_VARIABLES)}
    for operation in graph.get_operations():
        node = nodes[operation.name] = Node(operation.name, operation.type)
        node.own["definition_count"] = 1
        if operation.device:
            node.devices.add(operation.device)
        if operation.type in _VARIABLES:
            size = [d.size for d in operation.get_attr("shape").dim]
            if all(n >= 0 for n in size):
                node.shape = size
                node.own["parameters"] = _product(size)
        if operation.name in trainable:
            node.types.add(TRAINABLE)
        stats = ops.get_stats_for_node_def(graph, operation.node_def, "flops")
        node.own["float_ops"] = stats.value or 0
    for entry in op_log.log_entries if op_log is not None else ():
        if entry.name in nodes:
            nodes[entry.name].types.update(entry.types)
            if entry.float_ops:
                nodes[entry.name].own["float_ops"] = entry.float_ops
    _add_runs(nodes, runs)
    for node in nodes.values():
        node.types |= node.devices
    return nodes


def _product(sizes):
    product = 1
    for size in sizes:
        product *= size
    return product


def _add_runs(nodes, runs):
    """Time and memory of steps."""
    steps = collections.Counter()
    for run_meta in runs:
        steps.update(_add_run(nodes, run_meta))
    for name, count in steps.items():
        for number in _OF_A_RUN:
            nodes[name].own[number] //= count


def _add_run(nodes, run_meta):
    """Adds those of a step. Returns the names of the nodes that ran."""
    ran = set()
    for device in run_meta.step_stats.dev_stats:
        is_accelerator = "gpu" in device.device.lower()
        for stats in device.node_stats:
            node = nodes.get(stats.node_name.split(":")[0])
            if node is None:
                continue
            ran.add(node.name)
            micros = max(stats.op_end_rel_micros, 1)
            node.own["run_count"] += 1
            node.own["exec_micros"] += micros
            node.own["accelerator_exec_micros" if is_accelerator else "cpu_exec_micros"] += micros
            node.own["requested_bytes"] += sum(m.total_bytes for m in stats.memory)
            node.own["peak_bytes"] += sum(m.peak_bytes for m in stats.memory)
            node.own["residual_bytes"] += sum(m.live_bytes for m in stats.memory)
            node.own["output_bytes"] += sum(
                o.tensor_description.allocation_description.requested_bytes for o in stats.output
            )
            node.devices.add(device.device.replace("CPU", "cpu").replace("GPU", "gpu"))
    return ran


def _matches(patterns, name):
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def counts(node, options):
    """Whether one of the node's types is accounted."""
    return any(_matches(options["account_type_regexes"], t) for t in node.types)


def scopes(nodes, options):
    """The root of the tree of scopes, with totals."""
    root = Node(ROOT)
    tree = {"": root, **nodes}
    for name in sorted(nodes):
        while name:
            parent = name.rpartition("/")[0]
            is_new = parent not in tree
            if is_new:
                tree[parent] = Node(parent)
            tree[parent].children.append(tree[name])
            if not is_new:
                break
            name = parent
    _total(root, options)
    return root


def _total(node, options):
    node.counts = node.op is not None and counts(node, options)
    node.counts = node.counts or (node.op is None and node.name != ROOT and counts(node, options))
    if node.counts:
        node.add(node.own)
    for child in node.children:
        _total(child, options)
        node.add(child.total)


def _is_large_enough(node, options):
    """Parameters, operations and runs are the node's own, time and memory those below it too."""
    own = ("parameters", "float_ops", "run_count")
    for number, name in NUMBERS.items():
        value = node.own[number] if number in own else node.total[number]
        if value < options.get("min_" + name, 0):
            return False
    return True


def _is_shown(node, options, depth):
    return (
        depth <= options["max_depth"]
        and _is_large_enough(node, options)
        and _matches(options["show_name_regexes"], node.name)
        and not _matches(options["hide_name_regexes"], node.name)
    )


def in_order(nodes, options):
    """By name, or the largest total first."""
    number = {order: name for name, order in NUMBERS.items()}.get(options["order_by"])
    if number is None:
        return sorted(nodes, key=lambda node: node.name)
    return sorted(nodes, key=lambda node: (-node.total[number], node.name))


def select(node, options, depth=1):
    """The nodes of a tree that are shown, each with those below it as children: the node itself, or these."""
    if _matches(options["trim_name_regexes"], node.name) or depth > options["max_depth"]:
        return []
    below = [shown for child in node.children for shown in select(child, options, depth + 1)]
    is_root = node.name == ROOT
    if not is_root and not (_is_shown(node, options, depth) and (node.counts or below)):
        return below
    if options["account_displayed_op_only"]:
        node.total = dict(node.own) if node.counts else dict.fromkeys(NUMBERS, 0)
        for child in below:
            node.add(child.total)
    node.children = in_order(below, options)
    return [node]


def of_types(nodes, options):
    """Nodes that stand for all of a type of op, in order, and the sum of all.

    A total is that of all from there on.
    """
    by_type = {}
    everything = Node(ROOT)
    for node in nodes.values():
        if not counts(node, options):
            continue
        found = by_type.setdefault(node.op, Node(node.op, node.op))
        found.devices |= node.devices
        found.counts = True
        for number in NUMBERS:
            found.own[number] += node.own[number]
            found.total[number] += node.own[number]
        everything.add(node.own)
    ordered = in_order(by_type.values(), options)
    for node, later in zip(reversed(ordered[:-1]), reversed(ordered)):
        node.add(later.total)
    return [node for node in ordered if _is_shown(node, options, 1)], everything
