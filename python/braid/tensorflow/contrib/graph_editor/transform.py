"""Copies of a part of a graph, in the same graph or in another."""

import functools

from braid.tensorflow.contrib.graph_editor import reroute
from braid.tensorflow.contrib.graph_editor import select
from braid.tensorflow.contrib.graph_editor import subgraph
from braid.tensorflow.contrib.graph_editor import util
from braid.tensorflow.python.framework import ops as tf_ops

__all__ = [
    "replace_t_with_placeholder_handler",
    "keep_t_if_possible_handler",
    "assign_renamed_collections_handler",
    "transform_op_if_inside_handler",
    "copy_op_handler",
    "Transformer",
    "TransformerInfo",
    "copy",
    "copy_with_input_replacements",
    "graph_replace",
]


def replace_t_with_placeholder_handler(info, t):
    """A placeholder in the place of a tensor."""
    with info.graph_.as_default():
        return util.make_placeholder_from_tensor(t, scope=info.scope_)


def keep_t_if_possible_handler(info, t):
    """The tensor itself; in another graph, a placeholder."""
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


def assign_renamed_collections_handler(info, elem, elem_):
    """Adds a copy to the collections of the original; those that are not TensorFlow's are renamed as nodes
    are."""
    for name, collection in info.collections.items():
        if any(elem is member for member in collection):
            known = name in util.get_predefined_collection_names()
            info.graph_.add_to_collection(name if known else info.new_name(name), elem_)


def transform_op_if_inside_handler(info, op, keep_if_possible=True):
    """The copy of a node, the node itself where it is not copied, or, in another graph, None."""
    if op in info.ops:
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


def copy_op_handler(info, op, new_inputs, copy_shape=False, nodedef_fn=None):
    """A copy of a node: (the node, its outputs).

    Args:
      new_inputs: its inputs.
      copy_shape: whether its outputs get the static shapes of the original's.
      nodedef_fn: a function from the NodeDef to that of the copy.
    """
    if isinstance(new_inputs, bool):
        raise TypeError("the `new_inputs` argument must be an iterable.")
    node_def = op.node_def
    node_def.name = info.graph_.unique_name(info.new_name(op.name))
    if nodedef_fn is not None:
        node_def = nodedef_fn(node_def)
    made = tf_ops.Operation(node_def, info.graph_, list(new_inputs), op_def=op.op_def)
    if copy_shape:
        for t, t_ in zip(op.outputs, made.outputs):
            t_.set_shape(t.get_shape())
    if op._original_op:
        made._original_op = op._original_op
    return made, made.outputs


class TransformerInfo:
    """Which copy belongs to which node and tensor."""

    def __init__(self, info):
        self._graph, self._scope = info.graph, info.scope
        self._graph_, self._scope_ = info.graph_, info.scope_
        self._transformed_ops, self._transformed_ts = info.transformed_ops, info.transformed_ts

    def _map_of(self, element):
        if isinstance(element, tf_ops.Operation):
            return self._transformed_ops
        if isinstance(element, tf_ops.Tensor):
            return self._transformed_ts
        if isinstance(element, str):  # a tensor's name has a ':'
            made = self._transformed_ts if ":" in element else self._transformed_ops
            return made
        raise TypeError(f"Expected a tf.Tensor or a tf.Operation, got a {type(element)}")

    def _find(self, element, pairs, missing_fn):
        for known, other in pairs:
            if known is element or (isinstance(element, str) and known.name == element):
                return other
        return None if missing_fn is None else missing_fn(element)

    def _transformed_elem(self, original, missing_fn=None):
        made = self._map_of(original)
        if not isinstance(original, str) and original in made:
            return made[original]
        return self._find(original, made.items(), missing_fn)

    def _original_elem(self, transformed, missing_fn=None):
        pairs = [(copied, original) for original, copied in self._map_of(transformed).items()]
        return self._find(transformed, pairs, missing_fn)

    def transformed(self, original, missing_fn=None):
        """The copies of nodes and tensors, or of names of them, in nested lists; of those that have none,
        missing_fn(element) or None."""
        return util.transform_tree(original, functools.partial(self._transformed_elem, missing_fn=missing_fn))

    def original(self, transformed, missing_fn=None):
        """The originals of copies."""
        return util.transform_tree(transformed, functools.partial(self._original_elem, missing_fn=missing_fn))

    def __str__(self):
        lines = ["Transform result info:"]
        if self._graph is self._graph_:
            lines.append(f"  Within graph[{id(self._graph)}]{'' if self._scope_ else ' IN-PLACE'}")
        else:
            lines.append(f"  graph[{id(self._graph)}] => graph[{id(self._graph_)}]")
        if self._scope:
            lines.append(f"  Relative to source scope: {self._scope}")
        if self._scope_:
            lines.append(f"  Scope destination: {self._scope_}")
        lines.append("Operations mapping:")
        lines += [f"  {op.name} => {op_.name}" for op, op_ in self._transformed_ops.items()]
        return "\n".join(lines) + "\n"


class _State:
    """A copy that is being made. What ends in '_' is the copy's."""

    def __init__(self, sgv, dst_graph, dst_scope, src_scope):
        self.sgv = sgv
        self.sgv_inputs_set = set(sgv.inputs)
        self.ops = set(sgv.ops)
        self.graph, self.scope = sgv.graph, src_scope
        self.graph_, self.scope_ = dst_graph, dst_scope
        self.transformed_ops, self.transformed_ts = {}, {}
        keys = self.graph.get_all_collection_keys()
        self.collections = {key: self.graph.get_collection(key) for key in keys}
        self.pending = set()  # nodes whose copies are being made, or are made
        self.tmp_cyclic_ts = []  # (tensor that is not copied yet, the node that takes it, as which input)

    def new_name(self, name):
        if not name.startswith(self.scope):
            raise ValueError(f"{name} does not belong to source scope: {self.scope}.")
        return self.scope_ + name[len(self.scope) :]


class Transformer:
    """Copies a view. The attributes, functions of (info, element ...), say what is made of its elements:

    transform_op_handler: of a node; assign_collections_handler: of its collections;
    transform_control_input_handler: of a node that is waited for; transform_external_input_handler: of an
    input of the view; transform_external_hidden_input_handler: of an input that the view does not have;
    transform_original_op_handler: of the node whose gradient a node belongs to.
    """

    def __init__(self):
        self.transform_op_handler = copy_op_handler
        self.transform_control_input_handler = transform_op_if_inside_handler
        self.assign_collections_handler = assign_renamed_collections_handler
        self.transform_external_input_handler = replace_t_with_placeholder_handler
        self.transform_external_hidden_input_handler = keep_t_if_possible_handler
        self.transform_original_op_handler = transform_op_if_inside_handler

    def __call__(self, sgv, dst_graph, dst_scope, src_scope="", reuse_dst_scope=False):
        """(view of the copy, TransformerInfo). Names have `dst_scope` in place of `src_scope`; unless
        `reuse_dst_scope`, the scope is a new one."""
        sgv = subgraph.make_view(sgv)
        if not isinstance(dst_graph, tf_ops.Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(dst_graph)}")
        src_scope, dst_scope = util.scope_finalize(src_scope), util.scope_finalize(dst_scope)
        if dst_scope and not reuse_dst_scope:
            dst_scope = util.scope_finalize(dst_graph.unique_name(dst_scope[:-1]))
        info = _State(sgv, dst_graph, dst_scope, src_scope)
        for op in sorted(sgv.ops, key=lambda op: op._id):
            self._copy_op(info, op)
        for t, op, i in info.tmp_cyclic_ts:
            info.transformed_ops[op]._update_input(i, info.transformed_ts[t])
        for op in sgv.ops:
            self._connect_control_inputs(info, op)
        return self._transform_sgv(info, sgv), TransformerInfo(info)

    def _copy_op(self, info, op):
        if op in info.transformed_ops:
            return
        info.pending.add(op)
        inputs = [self._transformed_t(info, t, op, i) for i, t in enumerate(op.inputs)]
        op_, outputs_ = self.transform_op_handler(info, op, inputs)
        if op is op_:
            raise ValueError("In-place transformation not allowed.")
        info.transformed_ops[op] = op_
        self.assign_collections_handler(info, op, op_)
        for t, t_ in zip(op.outputs, outputs_):
            info.transformed_ts[t] = t_
            self.assign_collections_handler(info, t, t_)

    def _connect_control_inputs(self, info, op):
        op_ = info.transformed_ops[op]
        if op._original_op:
            original = self.transform_original_op_handler(info, op._original_op)
            if original is not None:
                op_._original_op = original
        controls = [self.transform_control_input_handler(info, c) for c in op.control_inputs]
        reroute.add_control_inputs(op_, [c for c in controls if c is not None])

    def _transform_sgv(self, info, sgv):
        """The view of the copies, with the inputs and outputs of the original in their order."""
        made = subgraph.SubGraphView(list(info.transformed_ops.values()))

        def mapped(ts, known):
            copies = [info.transformed_ts[t] for t in ts if t in info.transformed_ts]
            return [known.index(t) for t in copies if t in known]

        inputs, outputs = mapped(sgv.inputs, made._input_ts), mapped(sgv.outputs, made._output_ts)
        return made.remap(inputs, outputs)

    def _transformed_t(self, info, t, consumer, index):
        if t in info.transformed_ts:
            return info.transformed_ts[t]
        if t in info.sgv_inputs_set:
            return self.transform_external_input_handler(info, t)
        if t.op not in info.ops:
            return self.transform_external_hidden_input_handler(info, t)
        if consumer.type != "Merge" and t.op not in info.pending:  # no cycle, but it was built later
            self._copy_op(info, t.op)
            return info.transformed_ts[t]
        # It closes a loop: something stands for it until it is made.
        info.tmp_cyclic_ts.append((t, consumer, index))
        if consumer.type == "Merge" and index > 0:
            return self._transformed_t(info, consumer.inputs[0], consumer, 0)
        with info.graph_.as_default():
            return util.make_placeholder_from_tensor(t, scope=info.scope_, prefix="geph_tmp")


def copy(sgv, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Copies a view; its inputs are placeholders: (view of the copy, TransformerInfo)."""
    sgv = subgraph.make_view(sgv)
    dst_graph = sgv.graph if dst_graph is None else dst_graph
    return Transformer()(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope=reuse_dst_scope)


def copy_with_input_replacements(
    sgv, replacement_ts, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False
):
    """Copies a view whose inputs are replacement_ts[input], or, where there is none, the input itself: (view
    of the copy, TransformerInfo)."""
    sgv = subgraph.make_view(sgv)
    dst_graph = sgv.graph if dst_graph is None else dst_graph
    copier = Transformer()
    copier.transform_external_input_handler = lambda info, t: (
        replacement_ts[t] if t in replacement_ts else keep_t_if_possible_handler(info, t)
    )
    return copier(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope=reuse_dst_scope)


def _with_loops(ops, control_ios):
    """The nodes with all those of the loops that one of them is in."""
    contexts = [op._get_control_flow_context() for op in ops]
    for context in util.concatenate_unique([], [c for c in contexts if c is not None]):
        if context.IsWhileContext():
            loop = select.get_walks_intersection_ops(
                [t.op for t in context.loop_enters],
                [t.op for t in context.loop_exits],
                control_ios=control_ios,
            )
            util.concatenate_unique(ops, loop)
    return ops


def graph_replace(target_ts, replacement_ts, dst_scope="", src_scope="", reuse_dst_scope=False):
    """The targets, a tensor or nested lists of them, computed with replacement_ts[t] in place of tensors t.

    The nodes between the tensors and the targets are copied. ValueError: no target depends on the tensors.
    """
    flat = util.flatten_tree(target_ts)
    graph = util.get_unique_graph(flat, check_types=tf_ops.Tensor)
    control_ios = util.ControlOutputs(graph)
    between = select.get_walks_intersection_ops(list(replacement_ts), flat, control_ios=control_ios)
    if not between:
        raise ValueError("Targets and replacements are not connected!")
    between = _with_loops(between, control_ios)
    _, info = copy_with_input_replacements(
        between, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope
    )
    return info.transformed(target_ts, lambda t: t)
