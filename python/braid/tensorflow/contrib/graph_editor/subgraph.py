"""Views of a part of a graph: some of its nodes, the tensors that go in, and those that come out."""

import copy

from braid.tensorflow.contrib.graph_editor import select
from braid.tensorflow.contrib.graph_editor import util
from braid.tensorflow.python.framework import ops as tf_ops

__all__ = ["SubGraphView", "make_view", "make_view_from_scope"]


def _indices(elements, ts):
    """Numbers in place of tensors of a list."""
    return [e if isinstance(e, int) else ts.index(e) for e in elements]


class SubGraphView:
    """Nodes of a graph, `ops`, with the tensors that go in and out.

    A tensor that passes through is an input and an output that no node of the view takes or makes. A view
    does not follow later changes of the graph. Functions of the graph editor that change the edges of a view
    change the view, too.

    Args:
      inside_ops: the nodes.
      passthrough_ts: tensors that pass through. Those that a node takes or makes do not count.
    """

    def __init__(self, inside_ops=(), passthrough_ts=()):
        inside_ops = util.make_list_of_op(inside_ops)
        passthrough_ts = util.make_list_of_t(passthrough_ts)
        self._graph = util.get_unique_graph(inside_ops + passthrough_ts, none_if_empty=True)
        self._ops = list(inside_ops)
        inputs, outputs, inside = select.compute_boundary_ts(inside_ops)
        known = {*inputs, *outputs, *inside}
        self._passthrough_ts = [t for t in passthrough_ts if t not in known]
        self._input_ts = inputs + self._passthrough_ts
        self._output_ts = outputs + self._passthrough_ts

    def __copy__(self):
        made = type(self).__new__(type(self))
        made._assign_from(self)
        return made

    def _assign_from(self, other):
        """Becomes a view of the same as another."""
        if not isinstance(other, SubGraphView):
            raise TypeError(f"Expected SubGraphView, got: {type(other)}")
        self._graph = other._graph
        self._ops = list(other._ops)
        self._passthrough_ts = list(other._passthrough_ts)
        self._input_ts = list(other._input_ts)
        self._output_ts = list(other._output_ts)

    def copy(self):
        """Another view of the same."""
        return copy.copy(self)

    # Each remap_X returns a changed view, _remap_X changes this one.

    def _remap_default(self, remove_input_map=True, remove_output_map=True):
        inputs, outputs, _ = select.compute_boundary_ts(self._ops)
        if remove_input_map:
            self._input_ts = inputs + self._passthrough_ts
        if remove_output_map:
            self._output_ts = outputs + self._passthrough_ts

    def remap_default(self, remove_input_map=True, remove_output_map=True):
        """A view with all inputs and outputs that there are."""
        made = self.copy()
        made._remap_default(remove_input_map, remove_output_map)
        return made

    def _remapped(self, ts, wanted, repetition):
        indices = _indices(wanted, ts)
        for i in indices:
            if not 0 <= i < len(ts):
                raise ValueError(f"Out of [0, {len(ts)}[ range: {i}")
        if not repetition and len(set(indices)) != len(indices):
            raise ValueError(f"Found repetition in mapping: {indices}")
        return [ts[i] for i in indices]

    def _remap_inputs(self, new_input_indices):
        self._input_ts = self._remapped(self._input_ts, new_input_indices, repetition=False)

    def _remap_outputs(self, new_output_indices):
        self._output_ts = self._remapped(self._output_ts, new_output_indices, repetition=True)

    def _remap_outputs_make_unique(self):
        self._output_ts = util.concatenate_unique([], self._output_ts)

    def _remap_outputs_to_consumers(self):
        self._remap_outputs_make_unique()
        self._output_ts = [t for t in self._output_ts for _ in t.consumers()]

    def remap_outputs_make_unique(self):
        """A view in which each output is there once."""
        made = self.copy()
        made._remap_outputs_make_unique()
        return made

    def remap_outputs_to_consumers(self):
        """A view in which each output is there once for each node that takes it."""
        made = self.copy()
        made._remap_outputs_to_consumers()
        return made

    def _remove_unused_ops(self, control_inputs=True):
        used = set(
            select.get_walks_union_ops(
                self.connected_inputs,
                self.connected_outputs,
                within_ops=self._ops,
                control_inputs=control_inputs,
            )
        )
        self._ops = [op for op in self._ops if op in used]

    def remove_unused_ops(self, control_inputs=True):
        """A view without the nodes that no input leads to and that lead to no output."""
        made = self.copy()
        made._remove_unused_ops(control_inputs)
        return made

    def remap_inputs(self, new_input_indices):
        """A view with those of the inputs, given by numbers or as tensors, in this order."""
        made = self.copy()
        made._remap_inputs(new_input_indices)
        return made

    def remap_outputs(self, new_output_indices):
        """A view with those of the outputs; one may be there several times."""
        made = self.copy()
        made._remap_outputs(new_output_indices)
        return made

    def remap(self, new_input_indices=None, new_output_indices=None):
        """Both at once."""
        made = self.copy()
        if new_input_indices is not None:
            made._remap_inputs(new_input_indices)
        if new_output_indices is not None:
            made._remap_outputs(new_output_indices)
        return made

    def find_op_by_name(self, op_name):
        """The node of that name. ValueError: there is none."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not in subgraph.")

    def __str__(self):
        if not self:
            return "SubGraphView: empty"
        lines = [f"SubGraphView (graphid={id(self.graph)}):"]
        for name, elements in (("ops", self._ops), ("inputs", self._input_ts), ("outputs", self._output_ts)):
            lines.append(f"** {name}[{len(elements)}]:" if elements else f"** {name}: empty")
            lines.extend(f"  {e.name}{' *' * (e in self._passthrough_ts)}" for e in elements)
        return "\n".join(lines) + "\n"

    @property
    def graph(self):
        return self._graph

    @property
    def ops(self):
        return self._ops

    @property
    def inputs(self):
        return util.ListView(self._input_ts)

    @property
    def connected_inputs(self):
        """The inputs that do not pass through."""
        return [t for t in self._input_ts if t not in self._passthrough_ts]

    @property
    def outputs(self):
        return util.ListView(self._output_ts)

    @property
    def connected_outputs(self):
        """The outputs that do not pass through."""
        return [t for t in self._output_ts if t not in self._passthrough_ts]

    @property
    def passthroughs(self):
        return util.ListView(self._passthrough_ts)

    def __bool__(self):
        return self._graph is not None

    def op(self, op_id):
        return self._ops[op_id]

    def is_passthrough(self, t):
        return t in self._passthrough_ts

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        pass

    def input_index(self, t):
        """The number of an input. ValueError: it is none."""
        if t not in self._input_ts:
            raise ValueError(f"Can't find {t.name} in inputs of the subgraph.")
        return self._input_ts.index(t)

    def output_index(self, t):
        """The number of an output. ValueError: it is none."""
        if t not in self._output_ts:
            raise ValueError(f"Can't find {t.name} in outputs of the subgraph.")
        return self._output_ts.index(t)

    def consumers(self):
        """The nodes outside of the view that take one of its outputs."""
        inside = set(self._ops)
        consumers = [op for t in self._output_ts for op in t.consumers() if op not in inside]
        return util.concatenate_unique([], consumers)


def make_view(*args, **kwargs):
    """A view of the nodes and tensors that select.select_ops_and_ts chooses, or the view that is given."""
    graph = kwargs.get("graph")
    if len(args) == 1 and isinstance(args[0], SubGraphView):
        view = args[0]
    else:
        view = SubGraphView(*select.select_ops_and_ts(*args, **kwargs))
    if graph is not None and view.graph is not None and view.graph is not graph:
        if not isinstance(graph, tf_ops.Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
        raise ValueError("Graph mismatch.")
    return view


def make_view_from_scope(scope, graph):
    """A view of the nodes of a name scope."""
    return SubGraphView(select.get_name_scope_ops(graph, scope))
