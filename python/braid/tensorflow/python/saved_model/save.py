"""tf.saved_model.save: a saved model of objects with their variables, tables, files and functions."""

import itertools
import os

from braid import protos
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import meta_graph
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_util
from braid.tensorflow.python.framework import versions
from braid.tensorflow.python.keras.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import lookup_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.saved_model import builder_impl
from braid.tensorflow.python.saved_model import constants
from braid.tensorflow.python.saved_model import nested_structure_coder
from braid.tensorflow.python.saved_model import restored_functions
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.saved_model import signature_def_utils_impl as signature_def_utils
from braid.tensorflow.python.saved_model import signature_serialization
from braid.tensorflow.python.saved_model import tag_constants
from braid.tensorflow.python.saved_model import utils_impl
from braid.tensorflow.python.training import saver as saver_lib
from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.training.tracking import data_structures
from braid.tensorflow.python.training.tracking import graph_view
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.training.tracking import util
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export

_OTHER_WAYS = "tf.saved_model.Builder and tf.saved_model.simple_save write graphs with signatures"


@tf_export("saved_model.save", v1=["saved_model.save", "saved_model.experimental.save"])
def save(obj, export_dir, signatures=None):
    """Writes a trackable object, those that it leads to, and the values that their variables have in the
    default session (else Keras').

    TensorFlow 2's tf.saved_model.load, and tf.saved_model.load_v2, return such objects. Functions are those
    of objects that load_v2 has returned, of Keras' models and layers, and of tables.

    signatures: a function with one kind of arguments, or a dict of such functions; None: that of a Keras
    model, or the only one of the object. ValueError: obj is not trackable, or a function uses a variable
    that is no part of it. NotImplementedError: it has a table that changes.
    """
    if not isinstance(obj, base.Trackable):
        raise ValueError(f"Expected a Trackable object for export, got {obj}.")
    writer = _Writer(obj, signatures)
    saved_model = protos.SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
    saved_model.meta_graphs.append(writer.meta_graph())
    saved_model.meta_graphs[0].object_graph_def = writer.objects().SerializeToString()
    utils_impl.get_or_create_variables_dir(export_dir)
    util.TrackableSaver(writer.view).save(utils_impl.get_variables_path(export_dir))
    if writer.files:
        directory = utils_impl.get_or_create_assets_dir(export_dir)
        for path, name in writer.files.items():
            file_io.copy(path, os.path.join(directory, name), overwrite=True)
    file_io.atomic_write_string_to_file(
        os.path.join(os.fsdecode(export_dir), constants.SAVED_MODEL_FILENAME_PB),
        saved_model.SerializeToString(),
    )


class _View(graph_view.ObjectGraphView):
    """The objects below a root, with those that only a saved model has. Functions are asked for once."""

    def __init__(self, root):
        super().__init__(root)
        self._more, self._functions, self._asked, self._tensors = {}, {}, [], None
        self.cache = {}  # what objects of Keras keep while they are written

    def add(self, parent, name, child):
        self._more.setdefault(id(parent), {})[name] = child

    def list_dependencies(self, obj):
        more = {}
        if isinstance(obj, base.Trackable):
            more = dict(obj._list_extra_dependencies_for_serialization(self))
        more.update(self._more.get(id(obj), {}))
        own = [r for r in super().list_dependencies(obj) if r.name not in more]
        return own + [base.TrackableReference(name, child) for name, child in more.items()]

    def list_functions(self, obj):
        if isinstance(obj, (list, tuple, dict)):
            values = obj.items() if isinstance(obj, dict) else enumerate(obj)
            return {str(k): v for k, v in values if isinstance(v, restored_functions.Function)}
        if id(obj) not in self._functions:
            if _is_table(obj) and not isinstance(obj, tracking.CapturableResource):
                found = _functions_of_table(obj, self)
            else:
                found = obj._list_functions_for_serialization(self)
            self._functions[id(obj)] = found
            self._asked.append(obj)  # so that its id stays its own
        return self._functions[id(obj)]

    def tensors(self):
        """{id of a tensor: the variable, table or file that it belongs to}."""
        if self._tensors is not None:
            return self._tensors
        found = {}
        for obj in self.snapshot().objects:
            if isinstance(obj, variables.Variable):
                found[id(getattr(obj, "handle", None))] = obj
            elif _is_table(obj):
                found[id(obj.resource_handle)] = obj
            elif isinstance(obj, tracking.TrackableAsset):
                found[id(obj.asset_path)] = obj
        found.pop(id(None), None)
        self._tensors = found
        return found


def _is_table(obj):
    return isinstance(obj, (lookup_ops.LookupInterface, tracking.CapturableResource))


def _functions_of_table(table, view):
    if not isinstance(table, lookup_ops.StaticHashTable):
        raise NotImplementedError(f"tf.saved_model.save does not write {table}: {_OTHER_WAYS}")
    tensors = view.tensors()
    name = table._table_name

    def create():
        try:
            return table._create_resource()
        finally:
            table._table_name = name  # that of the node in the program's graph

    def initialize():
        with ops.control_dependencies([table._initialize()]):
            return constant_op.constant(1)

    empty = restored_functions.FullArgSpec([], None, None, None, [], None, {})
    return {
        what: restored_functions.Function(
            what,
            restored_functions.FunctionSpec(empty, False, ()),
            [restored_functions.trace(f"__inference_{what}", body, [], tensors)],
        )
        for what, body in (
            ("_create_resource", create),
            ("_initialize", initialize),
            ("_destroy_resource", lambda: constant_op.constant(1)),
        )
    }


class _Writer:
    """The messages of an object. `files`: the names of assets by their paths."""

    def __init__(self, obj, signatures):
        self.view, self.files = _View(obj), {}
        self._coder = nested_structure_coder.StructureCoder()
        given = dict(self.view.list_dependencies(obj)).get(signature_serialization.SIGNATURE_ATTRIBUTE_NAME)
        if given is not None and not isinstance(given, signature_serialization._SignatureMap):
            raise ValueError(
                f"Exporting an object {obj} which has an attribute named 'signatures'. This is a reserved "
                "attribute used to store SavedModel signatures in objects which come from `tf.saved_model.load`. "
                "Delete this attribute (e.g. 'del obj.signatures') before saving if this shadowing is acceptable."
            )
        if signatures is None:
            signatures = signature_serialization.find_function_to_export(self.view.list_functions(obj))
        self._signatures = signature_serialization.canonicalize_signatures(signatures, self.view.tensors())
        mapped = signature_serialization._SignatureMap()
        for key, function in self._signatures.items():
            mapped._add_signature(key, function)
        self.view.add(obj, signature_serialization.SIGNATURE_ATTRIBUTE_NAME, mapped)
        self._snapshot = self.view.snapshot()
        self._number_of = dict(self._snapshot.number_of)
        self._extra = []  # functions and constants, behind the objects
        self._concrete = {}
        for thing in self._snapshot.objects:
            for function in self.view.list_functions(thing).values():
                self._add(function)
                for concrete in getattr(function, "concrete_functions", [function]):
                    self._concrete[concrete.name] = concrete
        for concrete in self._concrete.values():
            for capture in concrete.captures:
                if isinstance(capture, (restored_functions.Constant, ops.Tensor)):
                    self._add(capture)

    def _add(self, thing):
        if id(thing) not in self._number_of:
            self._number_of[id(thing)] = len(self._snapshot.objects) + len(self._extra)
            self._extra.append(thing)

    def _number(self, capture):
        try:
            return self._number_of[id(capture)]
        except KeyError:
            raise KeyError(
                f"A function captures {capture}, which is not reachable from the object that is saved: a variable "
                "or table that a function depends on must be an attribute of it"
            ) from None

    # -- The graph --

    def meta_graph(self):
        """The MetaGraphDef: variables, what restores and initializes them, and a call of each signature."""
        made = protos.MetaGraphDef()
        with ops.Graph().as_default() as graph:
            self._tensors, copies, starts, self._assets = {}, {}, [], {}
            for path, obj in zip(self._snapshot.paths, self._snapshot.objects):
                if isinstance(obj, variables.Variable):
                    copy = copies[f"{path}/.ATTRIBUTES/{base.VARIABLE_VALUE_KEY}"] = _copy(obj)
                    self._tensors[id(obj)] = copy.handle
                elif isinstance(obj, tracking.TrackableAsset):
                    starts.append(self._add_asset(obj, made))
            for thing in self._extra:
                if isinstance(thing, (restored_functions.Constant, ops.Tensor)):
                    value = thing.value if isinstance(thing, restored_functions.Constant) else None
                    if value is None:
                        value = tensor_util.constant_value(thing)
                    self._tensors[id(thing)] = constant_op.constant(value)
            for obj in self._snapshot.objects:
                if _is_table(obj):
                    functions = self.view.list_functions(obj)
                    with ops.device(getattr(obj, "_resource_device", "")):
                        self._tensors[id(obj)] = self._call(functions["_create_resource"], [])
            for obj in self._snapshot.objects:
                if _is_table(obj):
                    with ops.control_dependencies(starts[: len(self._assets)]):
                        starts.append(self._call(self.view.list_functions(obj)["_initialize"], []).op)
            with ops.control_dependencies(starts):
                start = control_flow_ops.no_op()
            signatures = {
                key: self._signature_def(key, function) for key, function in sorted(self._signatures.items())
            }
            for function in self._concrete.values():
                function.add_to_graph(graph)
            saver = saver_lib.Saver(copies) if copies else None
            packed = meta_graph.create_meta_graph_def(
                graph=graph, saver_def=saver.to_proto() if saver else None, strip_default_attrs=True
            )
        made.MergeFrom(packed)
        made.meta_info_def.tags.append(tag_constants.SERVING)
        made.meta_info_def.tensorflow_version = versions.__version__
        made.collection_def[constants.MAIN_OP_KEY].node_list.value.append(start.name)
        made.signature_def[constants.INIT_OP_SIGNATURE_KEY].CopyFrom(
            signature_def_utils.op_signature_def(start, constants.INIT_OP_SIGNATURE_KEY)
        )
        for key, signature in signatures.items():
            made.signature_def[key].CopyFrom(signature)
        return made

    def _call(self, function, tensors):
        if isinstance(function, restored_functions.Function):
            function = function.concrete_functions[0]
        return function.call_flat(tensors, [self._tensors[id(c)] for c in function.captures])

    def _signature_def(self, key, function):
        specs = function.structured_input_signature[1]
        inputs = {
            name: array_ops.placeholder(spec.dtype, spec.shape, name=f"{key}_{name}")
            for name, spec in specs.items()
        }
        outputs = self._call(function, [inputs[name] for name in function._arg_keywords])
        return signature_def_utils.build_signature_def(
            {name: utils_impl.build_tensor_info(t) for name, t in inputs.items()},
            {name: utils_impl.build_tensor_info(t) for name, t in outputs.items()},
            signature_constants.PREDICT_METHOD_NAME,
        )

    def _add_asset(self, asset, made):
        """Adds a variable with the path of a file, which loading feeds; returns its initializer."""
        path = tensor_util.constant_value(asset.asset_path)
        if path is None:
            raise ValueError(f"tf.saved_model.save: the path of a file is not known: {asset.asset_path}")
        path = compat.as_text(path.item())
        name = self.files[path] = builder_impl._get_unique_asset_filename(path, self.files)
        fed = array_ops.placeholder(dtypes.string, asset.asset_path.shape, name="asset_path_initializer")
        variable = variables.VariableV1(fed, use_resource=True, trainable=False, collections=[])
        made.asset_file_def.add(filename=name).tensor_info.name = fed.name
        self._assets[id(asset)] = len(made.asset_file_def) - 1
        self._tensors[id(asset)] = variable.value()
        return variable.initializer

    # -- The objects --

    def objects(self):
        """The SavedObjectGraph. meta_graph() comes before."""
        graph = protos.SavedObjectGraph()
        for name, function in self._concrete.items():
            graph.concrete_functions[name].CopyFrom(
                restored_functions.message_of(function, self._number, self._coder)
            )
        for number, obj in enumerate(self._snapshot.objects):
            node = graph.nodes.add()
            functions = self.view.list_functions(obj)
            children = itertools.chain(
                self._snapshot.children.get(number, ()),
                ((name, self._number_of[id(function)]) for name, function in functions.items()),
            )
            for name, child in children:
                node.children.add(node_id=child, local_name=name)
            # Readers make slots by optimizers of Keras; those of tf.train are objects with attributes.
            slots = self._snapshot.slots.get(number, ()) if isinstance(obj, optimizer_v2.OptimizerV2) else ()
            for variable, name, slot in slots:
                node.slot_variables.add(
                    original_variable_node_id=variable, slot_name=name, slot_variable_node_id=slot
                )
            self._describe(obj, node)
        for thing in self._extra:
            node = graph.nodes.add()
            if isinstance(thing, restored_functions.Function):
                node.function.concrete_functions.extend(f.name for f in thing.concrete_functions)
                spec = restored_functions.spec_message(thing.function_spec, self._coder)
                node.function.function_spec.CopyFrom(spec)
            elif isinstance(thing, restored_functions.ConcreteFunction):
                bare = node.bare_concrete_function
                bare.concrete_function_name = thing.name
                bare.argument_keywords.extend(thing._arg_keywords)
                bare.allowed_positional_arguments = thing._num_positional_args
            else:
                node.constant.operation = self._tensors[id(thing)].op.name
        return graph

    def _describe(self, obj, node):
        if isinstance(obj, variables.Variable):
            node.variable.dtype = obj.dtype.base_dtype.as_datatype_enum
            node.variable.shape.CopyFrom(obj.shape.as_proto())
            node.variable.trainable = bool(obj.trainable)
            node.variable.synchronization = obj.synchronization.value
            node.variable.aggregation = obj.aggregation.value
            node.variable.name = obj.op.name
        elif isinstance(obj, tracking.TrackableAsset):
            node.asset.asset_file_def_index = self._assets[id(obj)]
        elif _is_table(obj):
            node.resource.device = getattr(obj, "_resource_device", "")
        else:
            node.user_object.identifier = _identifier(obj)
            node.user_object.metadata = getattr(obj, "_tracking_metadata", "")
            node.user_object.version.producer = node.user_object.version.min_consumer = 1


def _copy(variable):
    """A variable of resource type as a given one, in the default graph."""
    return variables.VariableV1(
        lambda: array_ops.zeros(variable.shape.as_list(), variable.dtype.base_dtype),
        dtype=variable.dtype.base_dtype,
        name=variable.op.name,
        trainable=variable.trainable,
        use_resource=True,
    )


def _identifier(obj):
    """What a reader makes an object by."""
    if isinstance(obj, (list, tuple, dict)):
        return "trackable_dict_wrapper" if isinstance(obj, dict) else "trackable_list_wrapper"
    if isinstance(obj, signature_serialization._SignatureMap):
        return "signature_map"
    if isinstance(obj, optimizer_v2.OptimizerV2):
        return "optimizer"
    return getattr(obj, "_object_identifier", "_generic_user_object")
