"""tf.saved_model.save: a saved model of objects and their variables."""

import os

from braid import protos
from braid.tensorflow.python.framework import meta_graph
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.ops import lookup_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.saved_model import constants
from braid.tensorflow.python.saved_model import signature_def_utils_impl as signature_def_utils
from braid.tensorflow.python.saved_model import tag_constants
from braid.tensorflow.python.saved_model import utils_impl
from braid.tensorflow.python.training import saver as saver_lib
from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.training.tracking import data_structures
from braid.tensorflow.python.training.tracking import graph_view
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.training.tracking import util
from braid.tensorflow.python.util.tf_export import tf_export

_OTHER_WAYS = "tf.saved_model.Builder and tf.saved_model.simple_save write graphs with signatures"


@tf_export("saved_model.save", v1=["saved_model.save", "saved_model.experimental.save"])
def save(obj, export_dir, signatures=None):
    """Writes a trackable object, those that it leads to, and the values that their variables have in the
    default session (else Keras').

    TensorFlow 2's tf.saved_model.load returns such objects. ValueError: obj is not trackable.
    NotImplementedError: it has tables or files, or there are signatures, which are functions of tf.function.
    """
    if not isinstance(obj, base.Trackable):
        raise ValueError(f"Expected a Trackable object for export, got {obj}.")
    if signatures:
        raise NotImplementedError(
            f"tf.saved_model.save(signatures=) takes functions of tf.function, which Braid has not: {_OTHER_WAYS}"
        )
    view = graph_view.ObjectGraphView(obj)
    snapshot = view.snapshot()
    for found in snapshot.objects:
        if isinstance(found, (lookup_ops.LookupInterface, tracking.CapturableResource)):
            raise NotImplementedError(f"tf.saved_model.save does not write {found}: {_OTHER_WAYS}")
    saved_model = protos.SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
    saved_model.meta_graphs.append(_graph(snapshot))
    saved_model.meta_graphs[0].object_graph_def = _objects(snapshot).SerializeToString()
    utils_impl.get_or_create_variables_dir(export_dir)
    util.TrackableSaver(view).save(utils_impl.get_variables_path(export_dir))
    file_io.atomic_write_string_to_file(
        os.path.join(os.fsdecode(export_dir), constants.SAVED_MODEL_FILENAME_PB),
        saved_model.SerializeToString(),
    )


def _graph(snapshot):
    """The MetaGraphDef of the variables, and of what restores them by the keys of their objects."""
    with ops.Graph().as_default() as graph:
        copies = {
            f"{path}/.ATTRIBUTES/{base.VARIABLE_VALUE_KEY}": _copy(variable)
            for path, variable in zip(snapshot.paths, snapshot.objects)
            if isinstance(variable, variables.Variable)
        }
        saver = saver_lib.Saver(copies) if copies else None
        start = signature_def_utils.op_signature_def(
            control_flow_ops.no_op(), constants.INIT_OP_SIGNATURE_KEY
        )
        made = meta_graph.create_meta_graph_def(
            graph=graph, saver_def=saver.to_proto() if saver else None, strip_default_attrs=True
        )
    made.meta_info_def.tags.append(tag_constants.SERVING)
    made.signature_def[constants.INIT_OP_SIGNATURE_KEY].CopyFrom(start)
    return made


def _copy(variable):
    """A variable of resource type as a given one, in the default graph."""
    return variables.VariableV1(
        lambda: array_ops.zeros(variable.shape.as_list(), variable.dtype.base_dtype),
        dtype=variable.dtype.base_dtype,
        name=variable.op.name,
        trainable=variable.trainable,
        use_resource=True,
    )


def _objects(snapshot):
    """The SavedObjectGraph."""
    graph = protos.SavedObjectGraph()
    for number, obj in enumerate(snapshot.objects):
        node = graph.nodes.add()
        for name, child in snapshot.children.get(number, ()):
            node.children.add(node_id=child, local_name=name)
        # Readers make slots by optimizers of Keras; those of tf.train are objects with attributes to them.
        slots = snapshot.slots.get(number, ()) if isinstance(obj, optimizer_v2.OptimizerV2) else ()
        for variable, name, slot in slots:
            node.slot_variables.add(
                original_variable_node_id=variable, slot_name=name, slot_variable_node_id=slot
            )
        if isinstance(obj, variables.Variable):
            node.variable.dtype = obj.dtype.base_dtype.as_datatype_enum
            node.variable.shape.CopyFrom(obj.shape.as_proto())
            node.variable.trainable = bool(obj.trainable)
            node.variable.synchronization = obj.synchronization.value
            node.variable.aggregation = obj.aggregation.value
            node.variable.name = obj.op.name
        else:
            node.user_object.identifier = _identifier(obj)
            node.user_object.version.producer = node.user_object.version.min_consumer = 1
    signatures = graph.nodes.add()
    graph.nodes[0].children.add(node_id=len(graph.nodes) - 1, local_name="signatures")
    signatures.user_object.identifier = "signature_map"
    signatures.user_object.version.producer = signatures.user_object.version.min_consumer = 1
    return graph


def _identifier(obj):
    """What a reader makes an object by."""
    if isinstance(obj, (list, tuple, dict)):
        return "trackable_dict_wrapper" if isinstance(obj, dict) else "trackable_list_wrapper"
    return "optimizer" if isinstance(obj, optimizer_v2.OptimizerV2) else "_generic_user_object"
