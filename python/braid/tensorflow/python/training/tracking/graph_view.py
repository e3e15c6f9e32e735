"""The graph of the objects below a root: its message, and the keys of a checkpoint's values.

A variable's key is its path from the root, model/dense/kernel/.ATTRIBUTES/VARIABLE_VALUE. A slot's key is that
of its variable and the path of the optimizer, model/dense/kernel/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/...
A '.' in a name is written as "..", a '/' as ".S".
"""

import collections
import weakref

from braid import protos
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.training.saving import saveable_object
from braid.tensorflow.python.training.saving import saveable_object_util
from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.training.tracking import data_structures
from braid.tensorflow.python.training.tracking import tracking


def _escape(name):
    return name.replace(".", "..").replace("/", ".S")


class ObjectGraphView:
    """The objects below a root (or a weak reference to one), as they are when it is asked."""

    def __init__(self, root):
        self._root_ref = root
        self._made = {}

    def made_saveable(self, obj, attribute, saveable, key):
        """What _gather_saveables_for_checkpoint() gives for an attribute. A function is called once for each
        name, so that saving again adds no nodes.
        """
        if isinstance(saveable, saveable_object.SaveableObject) or not callable(saveable):
            return saveable
        case = (id(ops.get_default_graph()), id(obj), attribute, key)
        if case not in self._made:
            self._made[case] = (obj, saveable(name=key))
        return self._made[case][1]

    @property
    def root(self):
        return self._root_ref() if isinstance(self._root_ref, weakref.ref) else self._root_ref

    def list_dependencies(self, obj):
        """The references of an object, which may be a list or a dictionary."""
        if data_structures.is_container(obj):
            return data_structures.nodes_of(obj)
        return [
            reference
            for reference in obj._checkpoint_dependencies
            if not data_structures.is_container(reference.ref)
            or data_structures.holds_trackables(reference.ref)
        ]

    def snapshot(self):
        """The objects, breadth first, and their slots."""
        return Snapshot(self)

    def list_objects(self):
        return self.snapshot().objects

    def frozen_saveable_objects(self):
        """SaveableObjects named by their keys, of the objects as they depend on each other now; with their
        graph.
        """
        graph, values = self.snapshot().to_proto()
        with ops.device("/cpu:0"):
            content = constant_op.constant(graph.SerializeToString(), dtype=dtypes.string)
        return [*saveable_objects(values), base.NoRestoreSaveable(content, base.OBJECT_GRAPH_PROTO_KEY)]

    def serialize_object_graph(self):
        """(SaveableObjects named by their keys, TrackableObjectGraph, {tensor: value to feed})."""
        graph, values = self.snapshot().to_proto()
        return saveable_objects(values), graph, feeds(values)


class Snapshot:
    """The graph of objects at one time. Objects are numbered, the root is 0.

    paths: the keys' first parts. children: {number: [(name, number)]}. slots: {the optimizer's number:
    [(the variable's number, the slot's name, the slot's number)]}; slots come after all other objects.
    """

    def __init__(self, view):
        self._view = view
        self.objects, self.paths, self.children = [view.root], [""], {}
        self.slots = collections.defaultdict(list)
        self.number_of = {id(view.root): 0}
        number = 0
        while number < len(self.objects):  # the list grows
            self.children[number] = [
                (name, self._add(child, self.paths[number], name))
                for name, child in view.list_dependencies(self.objects[number])
            ]
            number += 1
        for optimizer in range(number):
            self._add_slots(optimizer, number)

    def _add(self, obj, parent, name):
        if isinstance(obj, tracking.NotTrackable):
            raise NotImplementedError(f"The object {obj} does not support object-based saving.")
        if id(obj) not in self.number_of:
            self.number_of[id(obj)] = len(self.objects)
            self.objects.append(obj)
            self.paths.append(f"{parent}/{_escape(name)}" if parent else _escape(name))
        return self.number_of[id(obj)]

    def _add_slots(self, optimizer, number_of_objects):
        thing = self.objects[optimizer]
        if not hasattr(thing, "get_slot_names") or not isinstance(thing, base.Trackable):
            return
        for name in thing.get_slot_names():
            for variable in range(number_of_objects):
                try:
                    slot = thing.get_slot(self.objects[variable], name)
                except (AttributeError, KeyError):  # it is no variable, or has no such slot
                    slot = None
                if slot is None:
                    continue
                if id(slot) in self.number_of:
                    raise NotImplementedError(f"The slot {slot} is a dependency of an object, too")
                where = f"{self.paths[variable]}/.OPTIMIZER_SLOT/{self.paths[optimizer]}"
                self.slots[optimizer].append((variable, name, self._add(slot, where, name)))

    def saveables(self, number, keys=None):
        """{name of an attribute: (key, variable or SaveableObject)} of an object.

        keys: {name of an attribute: key}, in place of the object's own, of those that are wanted.
        """
        obj, found = self.objects[number], {}
        if data_structures.is_container(obj):
            return {}
        for name, saveable in obj._gather_saveables_for_checkpoint().items():
            key = f"{self.paths[number]}/.ATTRIBUTES/{_escape(name)}" if keys is None else keys.get(name)
            if key is not None:
                found[name] = (key, self._view.made_saveable(obj, name, saveable, key))
        return found

    def to_proto(self):
        """(TrackableObjectGraph, [(key, variable or SaveableObject)])."""
        graph, values = protos.TrackableObjectGraph(), []
        for number in range(len(self.objects)):
            node = graph.nodes.add()
            for name, child in self.children.get(number, ()):
                node.children.add(node_id=child, local_name=name)
            for variable, name, slot in self.slots.get(number, ()):
                node.slot_variables.add(
                    original_variable_node_id=variable, slot_name=name, slot_variable_node_id=slot
                )
            for name, (key, saveable) in self.saveables(number).items():
                attribute = node.attributes.add(name=name, checkpoint_key=key)
                if isinstance(saveable, saveable_object.SaveableObject):
                    attribute.optional_restore = saveable.optional_restore
                else:
                    attribute.full_name = global_name(saveable)
                values.append((key, saveable))
        return graph, values


def global_name(variable):
    """The name of a variable in checkpoints of tf.train.Saver."""
    return next(iter(saveable_object_util.op_list_to_dict([variable], convert_variable_to_tensor=False)))


def feeds(pairs):
    """{tensor: value} of what is state of Python among (key, variable or SaveableObject)."""
    fed = {}
    for _, saveable in pairs:
        if isinstance(saveable, base.PythonStateSaveable):
            fed.update(saveable.feed_dict_additions())
    return fed


def saveable_objects(pairs):
    """The SaveableObjects of (key, variable or SaveableObject)."""
    found = []
    for key, saveable in pairs:
        for made in saveable_object_util.saveable_objects_for_op(saveable, key):
            if made is not saveable:
                made.full_name = global_name(saveable)
            found.append(made)
    return found
