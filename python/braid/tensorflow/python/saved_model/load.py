"""tf.saved_model.load_v2: the objects that tf.saved_model.save has written, with functions to call."""

import os

from braid import protos
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.ops import io_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.saved_model import load_v1_in_v2
from braid.tensorflow.python.saved_model import loader_impl
from braid.tensorflow.python.saved_model import nested_structure_coder
from braid.tensorflow.python.saved_model import restored_functions
from braid.tensorflow.python.saved_model import signature_serialization
from braid.tensorflow.python.saved_model import utils_impl
from braid.tensorflow.python.training import py_checkpoint_reader
from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.training.tracking import data_structures
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.training.tracking import util
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("saved_model.load", v1=["saved_model.load_v2"])
def load(export_dir, tags=None):
    """The object of a saved model, in the default graph.

    Its attributes are those of the object that was saved: variables, tables, functions, other objects.
    `signatures` has the functions of the signatures. Calls add nodes. The initializer of a variable gives it
    the saved value, and tf.tables_initializer() fills the tables.

    Of a saved model without objects (tf.saved_model.builder's) the object has `signatures`, `variables`, the
    `graph`, which is not the default graph, and prune(feeds, fetches), which makes a function of a part of
    it. tf.tables_initializer() restores variables of reference type, too, which are not in `variables`.

    tags: None, or those of the graph; others are a ValueError.
    """
    return load_internal(export_dir, tags)


def load_internal(export_dir, tags=None, loader=None):
    export_dir = os.fsdecode(export_dir)
    saved_model = loader_impl.parse_saved_model(export_dir)
    graph = saved_model.meta_graphs[0]
    if len(saved_model.meta_graphs) != 1 or not graph.object_graph_def:
        with ops.init_scope():
            return load_v1_in_v2.load(export_dir, tags)
    if tags is not None and set(nest.flatten(list(tags) if isinstance(tags, set) else tags)) != set(
        graph.meta_info_def.tags
    ):
        raise ValueError(
            f"The SavedModel at {export_dir} has one MetaGraph with tags {list(graph.meta_info_def.tags)}, but got "
            f"an incompatible argument tags={tags} to tf.saved_model.load. You may omit it, pass 'None', or pass "
            "matching tags."
        )
    with ops.init_scope():
        root = (loader or Loader)(graph, export_dir).nodes[0]
    root.tensorflow_version = graph.meta_info_def.tensorflow_version
    root.tensorflow_git_version = graph.meta_info_def.tensorflow_git_version
    return root


class _Optimizer(tracking.AutoTrackable):
    """An optimizer whose variables are there, and not what it does with them."""

    def __init__(self):
        self._slots = self._no_dependency({})

    def add_slot(self, var, slot_name, slot):
        self._slots.setdefault(slot_name, {})[id(var)] = slot

    def get_slot_names(self):
        return sorted(self._slots)

    def get_slot(self, var, name):
        return self._slots[name].get(id(var))


class _RestoredResource(tracking.TrackableResource):
    """A table, or another resource, which functions of the saved model make and fill."""

    def _list_functions_for_serialization(self, view):
        names = ("_create_resource", "_initialize", "_destroy_resource")
        return {name: vars(self)[name] for name in names if name in vars(self)}


def _set_attribute(obj, name, value):
    setattr(obj, name, value)
    if name == "__call__" and not callable(obj):
        setattr(
            type(obj), name, lambda instance, *args, **kwargs: vars(instance)["__call__"](*args, **kwargs)
        )


def _set_item(obj, name, value):
    if isinstance(obj, dict):
        obj[name] = value
    elif name == str(len(obj)):
        obj.append(value)


class Loader:
    """The objects of a SavedObjectGraph, in its order: `nodes`."""

    def __init__(self, meta_graph, export_dir):
        self._meta_graph, self._export_dir = meta_graph, export_dir
        self._proto = protos.SavedObjectGraph.FromString(meta_graph.object_graph_def)
        self._coder = nested_structure_coder.StructureCoder()
        self._checkpoint = utils_impl.get_variables_path(export_dir)
        self._constants = {node.name: node.attr for node in meta_graph.graph_def.node}
        library = restored_functions.load_library(meta_graph.graph_def.library)
        self._functions = {name: restored_functions.ConcreteFunction(f) for name, f in library.items()}
        for name, saved in self._proto.concrete_functions.items():
            function = self._functions[name]
            function.structured_input_signature = self._coder.decode_proto(
                saved.canonicalized_input_signature
            )
            function.structured_outputs = self._coder.decode_proto(saved.output_signature)
        self._saved_values = self._values_by_node()
        self.nodes = [self._recreate(number, node) for number, node in enumerate(self._proto.nodes)]
        for name, saved in self._proto.concrete_functions.items():
            self._functions[name].captures = [self.nodes[number] for number in saved.bound_inputs]
        self._connect()
        for node in self.nodes:
            if isinstance(node, tracking.CapturableResource):
                made = node._initialize()
                if made is not None:
                    tensors = nest.flatten(made)
                    ops.add_to_collection(ops.GraphKeys.TABLE_INITIALIZERS, tensors[0].op)

    def _values_by_node(self):
        """{number of a node: the key of its value in the checkpoint}; edges of both have the same names."""
        if not any(node.WhichOneof("kind") == "variable" for node in self._proto.nodes):
            return {}
        saved = util.object_graph_of(py_checkpoint_reader.NewCheckpointReader(self._checkpoint))
        keys, met, pending = {}, {0}, [(0, 0)]
        slots = {}
        while pending:
            here, there = pending.pop()
            slots[here] = there
            for attribute in saved.nodes[there].attributes:
                if attribute.name == base.VARIABLE_VALUE_KEY:
                    keys[here] = attribute.checkpoint_key
                elif attribute.checkpoint_key and self._proto.nodes[here].WhichOneof("kind") == "resource":
                    raise NotImplementedError(
                        f"tf.saved_model.load_v2 does not restore {attribute.checkpoint_key}: of tables in a "
                        "saved model of objects only those that are initialized from constants and files are read"
                    )
            named = {child.local_name: child.node_id for child in saved.nodes[there].children}
            for child in self._proto.nodes[here].children:
                if child.local_name in named and child.node_id not in met:
                    met.add(child.node_id)
                    pending.append((child.node_id, named[child.local_name]))
        for here, there in slots.items():
            known = {(s.original_variable_node_id, s.slot_name): s for s in saved.nodes[there].slot_variables}
            for slot in self._proto.nodes[here].slot_variables:
                found = known.get((slots.get(slot.original_variable_node_id), slot.slot_name))
                for attribute in saved.nodes[found.slot_variable_node_id].attributes if found else ():
                    keys[slot.slot_variable_node_id] = attribute.checkpoint_key
        return keys

    def _recreate(self, number, node):
        kind = node.WhichOneof("kind")
        if kind is None:
            raise NotImplementedError(
                f"tf.saved_model.load_v2: object {number} of {self._export_dir} is of a kind that TensorFlow 1.15 "
                "does not have"
            )
        return getattr(self, f"_recreate_{kind}")(number, getattr(node, kind))

    def _recreate_user_object(self, number, saved):
        del number
        if saved.identifier in ("trackable_list_wrapper", "trackable_tuple_wrapper"):
            return data_structures.ListWrapper([])
        if saved.identifier == "trackable_dict_wrapper":
            return data_structures._DictWrapper({})
        if saved.identifier == "signature_map":
            return signature_serialization._SignatureMap()
        if saved.identifier == "optimizer":
            return _Optimizer()

        class _UserObject(tracking.AutoTrackable):  # of its own, because __call__ is an attribute of a class
            pass

        return _UserObject()

    def _recreate_asset(self, number, saved):
        del number
        file = self._meta_graph.asset_file_def[saved.asset_file_def_index].filename
        return tracking.TrackableAsset(os.path.join(utils_impl.get_assets_dir(self._export_dir), file))

    def _recreate_function(self, number, saved):
        names = [
            child.local_name
            for node in self._proto.nodes
            for child in node.children
            if child.node_id == number
        ]
        return restored_functions.function_of(saved, self._functions, self._coder, (names or ["function"])[0])

    def _recreate_bare_concrete_function(self, number, saved):
        del number
        function = self._functions[saved.concrete_function_name]
        function._arg_keywords = list(saved.argument_keywords)
        function._num_positional_args = saved.allowed_positional_arguments
        return function

    def _recreate_variable(self, number, saved):
        key = self._saved_values.get(number)
        dtype, shape = dtypes.as_dtype(saved.dtype), tensor_shape.TensorShape(saved.shape)
        if key is None:
            raise ValueError(f"The checkpoint of {self._export_dir} has no value of {saved.name or number}")

        def restored():
            with ops.device("/cpu:0"):
                value = io_ops.restore_v2(self._checkpoint, [key], [""], [dtype])[0]
            value.set_shape(shape)
            return value

        return variables.VariableV1(
            restored,
            trainable=saved.trainable,
            dtype=dtype,
            name=saved.name or None,
            validate_shape=shape.is_fully_defined(),
            use_resource=True,
            synchronization=variables.VariableSynchronization(saved.synchronization),
            aggregation=variables.VariableAggregation(saved.aggregation),
        )

    def _recreate_constant(self, number, saved):
        del number
        return constant_op.constant(
            tensor_util.MakeNdarray(self._constants[saved.operation]["value"].tensor),
            dtype=dtypes.as_dtype(self._constants[saved.operation]["value"].tensor.dtype),
        )

    def _recreate_resource(self, number, saved):
        del number
        return _RestoredResource(device=saved.device)

    def _connect(self):
        for number, node in enumerate(self._proto.nodes):
            obj = self.nodes[number]
            for slot in node.slot_variables:
                obj.add_slot(
                    self.nodes[slot.original_variable_node_id],
                    slot.slot_name,
                    self.nodes[slot.slot_variable_node_id],
                )
            for child in sorted(node.children, key=_position):
                self._set(obj, child.local_name, self.nodes[child.node_id])

    def _set(self, obj, name, value):
        if isinstance(obj, (list, dict)):
            _set_item(obj, name, value)
        elif isinstance(obj, signature_serialization._SignatureMap):
            obj._add_signature(name, value)
        elif isinstance(obj, (variables.Variable, restored_functions.Function, ops.Tensor)):
            pass  # TensorFlow 2 gives variables and functions children that have no place here
        else:
            _set_attribute(obj, name, value)


def _position(child):
    return (0, int(child.local_name)) if child.local_name.isdigit() else (1, 0)
