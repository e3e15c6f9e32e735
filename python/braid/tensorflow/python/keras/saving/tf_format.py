"""Weights in TensorFlow's checkpoints of objects.

A variable's name in the checkpoint is its path from the model:
layer_with_weights-0/kernel/.ATTRIBUTES/VARIABLE_VALUE. The graph of objects is beside it, as a message, so
that TensorFlow loads the checkpoint, too.
"""

from braid.tensorflow.python.keras.saving import object_graph
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.ops import io_ops
from braid.tensorflow.python.training import checkpoint_management

_VALUE = ".ATTRIBUTES/VARIABLE_VALUE"
_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


class _Graph:
    """The objects below a model, breadth first: their children by name, the variables by key."""

    def __init__(self, model):
        self.message = object_graph.object_graph_class()()
        self.variables = {}  # by key
        self._ids = {id(model): 0}
        self._keep = [model]
        self.message.nodes.add()
        todo = [(model, "")]
        while todo:
            thing, path = todo.pop(0)
            node = self.message.nodes[self._ids[id(thing)]]
            if K.is_variable(thing):
                key = path + _VALUE
                node.attributes.add(name="VARIABLE_VALUE", full_name=thing.op.name, checkpoint_key=key)
                self.variables[key] = thing
                continue
            for name, child in _children(thing, thing is model):
                known = id(child) in self._ids
                if not known:
                    self._ids[id(child)] = len(self.message.nodes)
                    self._keep.append(child)
                    self.message.nodes.add()
                    todo.append((child, f"{path}{name.replace('/', '.S')}/"))
                node.children.add(node_id=self._ids[id(child)], local_name=name)
        self._slots(model)

    def _slots(self, model):
        """Adds the optimizer's slots: they belong to a variable and to the optimizer."""
        optimizer = getattr(model, "optimizer", None)
        if id(optimizer) not in self._ids:
            return
        node = self.message.nodes[self._ids[id(optimizer)]]
        keys = {id(v): k for k, v in self.variables.items()}
        for slots in list(optimizer._slots.values()):
            for name, slot in slots.items():
                of = slot._keras_slot_of
                if id(of) not in keys:
                    continue
                key = keys[id(of)][: -len(_VALUE)] + f".OPTIMIZER_SLOT/optimizer/{name}/{_VALUE}"
                number = len(self.message.nodes)
                self.message.nodes.add().attributes.add(
                    name="VARIABLE_VALUE", full_name=slot.op.name, checkpoint_key=key
                )
                node.slot_variables.add(
                    original_variable_node_id=self._ids[id(of)], slot_name=name, slot_variable_node_id=number
                )
                self.variables[key] = slot


def _children(thing, is_root):
    """(name, object) of what an object holds."""
    if isinstance(thing, base_layer.Layer) and hasattr(thing, "layers"):
        children, number = [], 0
        if thing._is_graph_network or getattr(thing, "_stack", None) is not None:
            layers = (
                thing._nested() if thing._is_graph_network and not hasattr(thing, "_stack") else thing.layers
            )
            for i, layer in enumerate(layers):
                if layer.weights:
                    children.append((f"layer_with_weights-{number}", layer))
                    number += 1
                children.append((f"layer-{i}", layer))
        else:
            children += [(n, v) for n, v in thing._checkpoint_children()]
        optimizer = getattr(thing, "optimizer", None)
        if optimizer is not None and hasattr(optimizer, "_hyper"):
            children.append(("optimizer", optimizer))
        return children
    if hasattr(thing, "_hyper"):
        children = [] if thing._iterations is None else [("iter", thing._iterations)]
        return children + [(n, v) for n, v in sorted(thing._hyper.items()) if K.is_variable(v)]
    if isinstance(thing, base_layer.Layer):
        return thing._checkpoint_children()
    if isinstance(thing, (list, tuple)):
        return [(str(i), v) for i, v in enumerate(thing) if base_layer._holds_layers(v) or K.is_variable(v)]
    if isinstance(thing, dict):
        return [(str(k), v) for k, v in thing.items() if base_layer._holds_layers(v) or K.is_variable(v)]
    return []


def save_weights(model, filepath):
    """Writes the model's variables, and those of its optimizer."""
    graph = _Graph(model)
    session = K.get_session()
    keys = sorted(graph.variables)
    with session.graph.as_default(), ops.name_scope("keras_save"), ops.device("/cpu:0"):
        values = [
            graph.variables[k].read_value()
            if hasattr(graph.variables[k], "read_value")
            else graph.variables[k]
            for k in keys
        ]
        op = io_ops.save_v2(
            filepath,
            keys + [_GRAPH_KEY],
            [""] * (len(keys) + 1),
            values + [ops.convert_to_tensor(graph.message.SerializeToString(), dtype=dtypes.string)],
        )
    session.run(op)
    checkpoint_management.update_checkpoint_state_internal(
        _directory(filepath), filepath, save_relative_paths=True, all_model_checkpoint_paths=[filepath]
    )


def _directory(path):
    import os

    return os.path.dirname(path) or "."


def load_weights(model, filepath):
    """Sets the variables that the checkpoint has. Those of an optimizer that is not there yet are left
    out."""
    from braid.tensorflow.python.training import checkpoint_utils

    graph = _Graph(model)
    reader = checkpoint_utils.load_checkpoint(filepath)
    saved = reader.get_variable_to_shape_map()
    if _GRAPH_KEY in saved:
        keys = _matching(reader.get_tensor(_GRAPH_KEY), graph)
    else:
        keys = {v.op.name: v for v in graph.variables.values() if v.op.name in saved}
    if not keys:
        raise ValueError(f"{filepath} has none of the weights of the model {model.name}")
    K.batch_set_value([(v, reader.get_tensor(k)) for k, v in keys.items()])
    return LoadStatus(graph, keys)


def _matching(serialized, graph):
    """{key in the checkpoint: variable}: the same path from the root in both graphs of objects."""
    serialized = serialized if isinstance(serialized, bytes) else serialized.item()
    saved = object_graph.object_graph_class().FromString(serialized)
    own = graph.message
    pairs, todo = {0: 0}, [0]  # from numbers of own nodes to those of saved ones
    while todo:
        number = todo.pop()
        names = {c.local_name: c.node_id for c in saved.nodes[pairs[number]].children}
        for child in own.nodes[number].children:
            if child.local_name in names and child.node_id not in pairs:
                pairs[child.node_id] = names[child.local_name]
                todo.append(child.node_id)
    for number, theirs in list(pairs.items()):
        slots = {
            (s.original_variable_node_id, s.slot_name): s.slot_variable_node_id
            for s in saved.nodes[theirs].slot_variables
        }
        for s in own.nodes[number].slot_variables:
            key = (pairs.get(s.original_variable_node_id), s.slot_name)
            if key in slots:
                pairs[s.slot_variable_node_id] = slots[key]
    found = {}
    for number, theirs in pairs.items():
        keys = {a.name: a.checkpoint_key for a in saved.nodes[theirs].attributes}
        for attribute in own.nodes[number].attributes:
            if attribute.name in keys:
                found[keys[attribute.name]] = graph.variables[attribute.checkpoint_key]
    return found


class LoadStatus:
    """What load_weights has set."""

    def __init__(self, graph, keys):
        self._graph, self._keys = graph, keys

    def assert_consumed(self):
        """AssertionError where a variable of the model is not in the checkpoint."""
        loaded = {id(v) for v in self._keys.values()}
        missing = [k for k, v in self._graph.variables.items() if id(v) not in loaded]
        if missing:
            raise AssertionError(f"The checkpoint has no values for {missing}")
        return self

    assert_existing_objects_matched = assert_consumed

    def expect_partial(self):
        return self

    def initialize_or_restore(self, session=None):
        """Nothing is left to do: weights are set at once."""
