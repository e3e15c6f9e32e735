"""Models of Keras from saved models of objects, which TensorFlow 2, TensorFlow 1.15 and Braid write.

A model is made of its settings where these say enough; then it has the layers of Keras. Otherwise it has
objects whose calls are the functions of the saved model.
"""

import inspect
import json
import os
import re

from braid import protos
from braid.tensorflow.python.framework import smart_cond
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import metrics
from braid.tensorflow.python.keras import models
from braid.tensorflow.python.keras import optimizers
from braid.tensorflow.python.keras.engine import base_layer
from braid.tensorflow.python.keras.engine import training
from braid.tensorflow.python.keras.saving import hdf5_format
from braid.tensorflow.python.keras.saving import tf_format
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import load as load_lib
from braid.tensorflow.python.saved_model import loader_impl
from braid.tensorflow.python.saved_model import utils_impl
from braid.tensorflow.python.util import nest

_METADATA = "third_party.tensorflow.python.keras.protobuf.SavedMetadata"
_NETWORKS = ("_tf_keras_model", "_tf_keras_network", "_tf_keras_sequential")
_LOSSES = "call_and_return_conditional_losses"


def load(path, custom_objects=None, compile=True):
    """The model of a directory, compiled as it was. ValueError: it is none of Keras."""
    graph = loader_impl.parse_saved_model(path).meta_graphs[0]
    settings = _settings(graph, path)
    if 0 not in settings or settings[0][0] not in _NETWORKS:
        raise ValueError(
            f"Unable to create a Keras model from SavedModel at {path}: it has no settings of Keras, as those that "
            "tf.saved_model.save of TensorFlow 2 writes; tf.saved_model.load_v2 reads its objects"
        )
    known = settings[0][1]
    with generic_utils.CustomObjectScope(custom_objects or {}):
        model = _of_settings(known, path)
        if model is None:
            model = _of_functions(settings, path)
    compiled_as = known.get("training_config")
    if compile and compiled_as:
        hdf5_format.compile_as(model, _translated(compiled_as), custom_objects)
        if not isinstance(model, _RevivedLayer):
            _load_weights(model, path)  # those of the optimizer, too
    return model


def _settings(graph, path):
    """{number of an object: (its identifier, its settings)}."""
    file = os.path.join(path, "keras_metadata.pb")
    if file_io.file_exists(file):
        nodes = (
            protos.message(_METADATA).FromString(file_io.read_file_to_string(file, binary_mode=True)).nodes
        )
        return {n.node_id: (n.identifier, _decoded(n.metadata)) for n in nodes}
    objects = protos.SavedObjectGraph.FromString(graph.object_graph_def).nodes
    return {
        number: (node.user_object.identifier, _decoded(node.user_object.metadata))
        for number, node in enumerate(objects)
        if node.user_object.identifier.startswith("_tf_keras_") and node.user_object.metadata
    }


# Arguments of layers that TensorFlow 1.15 does not have, with the values that change nothing.
_ARGUMENTS = {"groups": 1, "synchronized": False, "keepdims": False}
# Classes of TensorFlow 2 by what they are in TensorFlow 1.15.
_REGULARIZERS = {"L1": "l1", "L2": "l2"}
_INITIALIZERS = {
    "HeNormal": {"scale": 2.0, "mode": "fan_in", "distribution": "truncated_normal"},
    "HeUniform": {"scale": 2.0, "mode": "fan_in", "distribution": "uniform"},
    "LecunNormal": {"scale": 1.0, "mode": "fan_in", "distribution": "truncated_normal"},
    "LecunUniform": {"scale": 1.0, "mode": "fan_in", "distribution": "uniform"},
}


def _decoded(text):
    """Settings as JSON, with those of TensorFlow 2 as TensorFlow 1.15 has them."""

    def value(found):
        name, config = found.get("class_name"), found.get("config")
        if name == "__tuple__":
            return tuple(found["items"])
        if name == "TensorShape":
            return None if found["items"] is None else tuple(found["items"])
        found.pop("shared_object_id", None)
        if isinstance(config, dict):
            if name in _REGULARIZERS and set(config) == {_REGULARIZERS[name]}:
                return {"class_name": "L1L2", "config": {"l1": 0.0, "l2": 0.0, **config}}
            if name in _INITIALIZERS:
                return {"class_name": "VarianceScaling", "config": {**_INITIALIZERS[name], **config}}
            for argument, default in _ARGUMENTS.items():
                if argument in config and config[argument] == default:
                    del config[argument]
        return found

    return json.loads(text, object_hook=value)


def _load_weights(model, path):
    status = tf_format.load_weights(model, utils_impl.get_variables_path(path))
    return status.expect_partial()  # the checkpoint has more: lists of variables, metrics


# ---- Of settings ----


def _of_settings(known, path):
    """The model with its weights, or None where the settings do not say enough."""
    config, name = known.get("config"), known["class_name"]
    builtin = name in ("Sequential", "Model", "Functional")
    if not config or not (builtin or name in generic_utils._GLOBAL_CUSTOM_OBJECTS):
        return None
    if builtin and name != "Sequential" and "layers" not in config:
        return None
    name = "Model" if name == "Functional" else name
    try:
        model = models.model_from_config({"class_name": name, "config": config})
    except (ValueError, TypeError, NotImplementedError) as e:  # it has layers of the program's own
        logging.warning(
            "The model is made of the functions in %s, because its settings do not suffice: %s", path, e
        )
        return None
    if not model.built or not model.weights:
        shape = known.get("build_input_shape") or known.get("batch_input_shape")
        if shape is not None:
            model.build(shape)
    try:
        missing = _load_weights(model, path).unmatched_variables()
    except AssertionError:  # there is none of them
        missing = model.weights
    if missing:
        logging.warning(
            "The model is made of the functions in %s, because its variables differ: %s", path, missing
        )
        return None
    return model


# What optimizers of TensorFlow 2 have beside those of TensorFlow 1.15, where it changes nothing.
_WITHOUT_EFFECT = {
    "weight_decay": (None, 0.0),
    "clipnorm": (None,),
    "global_clipnorm": (None,),
    "clipvalue": (None,),
    "use_ema": (False,),
    "ema_momentum": (),
    "ema_overwrite_frequency": (),
    "jit_compile": (),
    "is_legacy_optimizer": (),
}


def _translated(compiled_as):
    """The arguments of compile as TensorFlow 1.15 writes them."""
    made = dict(compiled_as)
    optimizer = dict(made["optimizer_config"])
    optimizer["class_name"] = optimizer["class_name"].rpartition(">")[2]
    config = {}
    cls = optimizers._CLASSES.get(optimizer["class_name"].lower())
    parameters = inspect.signature(cls.__init__).parameters if cls is not None else {}
    for name, value in optimizer["config"].items():
        if name in _WITHOUT_EFFECT and name not in parameters:
            if value in _WITHOUT_EFFECT[name] or name in ("jit_compile", "is_legacy_optimizer"):
                continue
            if name in ("ema_momentum", "ema_overwrite_frequency") and not optimizer["config"].get("use_ema"):
                continue
            if name not in ("clipnorm", "clipvalue"):
                logging.warning("The optimizer's %s=%s is left out: TensorFlow 1.15 has none", name, value)
                continue
        config[name] = value
    optimizer["config"] = config
    made["optimizer_config"] = optimizer
    for name in ("metrics", "weighted_metrics"):
        made[name] = _metrics(made.get(name))
    return made


def _metrics(given):
    """Metrics as compile takes them. TensorFlow 2 writes a list for each output, and functions as objects."""
    if isinstance(given, list) and len(given) == 1 and isinstance(given[0], list):
        given = given[0]
    if isinstance(given, list):
        return [_metrics(one) for one in given]
    if isinstance(given, dict) and given.get("class_name") == "MeanMetricWrapper":
        config = dict(given["config"])
        return metrics.MeanMetricWrapper(metrics.get(config.pop("fn")), **config)
    if isinstance(given, dict) and "class_name" not in given:
        return {name: _metrics(one) for name, one in given.items()}
    return given


# ---- Of functions ----


class _RevivedLayer(base_layer.Layer):
    """A layer whose call is a function of the saved model."""

    def _revive(self, known):
        self.__dict__["_settings"] = known
        self.__dict__["_serialized_attributes"] = {}
        if known.get("trainable") is not None:
            self.trainable = known["trainable"]
        self.built = True

    @property
    def keras_api(self):
        return self._serialized_attributes.get("keras_api")

    def get_config(self):
        """The settings that were saved. NotImplementedError: there were none."""
        config = self._settings.get("config")
        if config is None:
            raise NotImplementedError(f"The saved model has no settings of {self.name}")
        return config

    def call(self, inputs, training=None):
        """What the saved function of the layer's call gives."""
        function = getattr(self.keras_api, _LOSSES, None)
        if function is None:
            raise ValueError(
                f"Cannot call custom layer {self.name} of type {type(self)}, because the call function was not "
                "serialized to the SavedModel."
            )
        if "training" not in function.function_spec.fullargspec.args:
            outputs, losses = function(inputs)
        else:
            if training is None:
                training = K.learning_phase()
            outputs, losses = smart_cond.smart_cond(
                K.cast(training, "bool") if hasattr(training, "dtype") else bool(training),
                lambda: function(inputs, training=True),
                lambda: function(inputs, training=False),
            )
        if losses:
            self.add_loss(losses, inputs=inputs)
        return outputs


class _RevivedModel(_RevivedLayer, training.Model):
    """A model whose call is a function of the saved model."""

    def __init__(self, name=None):
        training.Model.__init__(self, name=name)


def _of_functions(settings, path):
    class Loader(_Loader):
        known = settings

    session = K.get_session()
    with session.graph.as_default():
        return load_lib.load_internal(path, loader=Loader)


class _Loader(load_lib.Loader):
    """The loader of objects, with layers and models among them. `known`: their settings."""

    known = {}

    def __init__(self, meta_graph, export_dir):
        super().__init__(meta_graph, export_dir)
        for node in self.nodes:
            if isinstance(node, _RevivedLayer):
                for loss in getattr(node.keras_api, "layer_regularization_losses", ()):
                    node.add_loss(loss)
        for node in self.nodes:
            if isinstance(node, _RevivedModel) and not node.inputs:
                function = getattr(node.keras_api, _LOSSES, None)
                if function is not None:
                    node._set_inputs(nest.map_structure(_placeholder, _first_argument(function)))

    def _recreate_user_object(self, number, saved):
        identifier, known = self.known.get(number, (saved.identifier, None))
        if known is None or identifier == "_tf_keras_metric":
            return super()._recreate_user_object(number, saved)
        base = _RevivedModel if identifier in _NETWORKS else _RevivedLayer
        layer = type(str(known["class_name"]), (base,), {})(name=known["name"])
        layer._revive(known)
        return layer

    def _set(self, obj, name, value):
        if not isinstance(obj, _RevivedLayer):
            super()._set(obj, name, value)
        elif hasattr(type(obj), name) or hasattr(value, "function_spec") or name == "signatures":
            obj._serialized_attributes[name] = value
        elif not re.match(r"layer(_with_weights)?-\d+$", name) or value not in obj._nested():
            setattr(obj, name, value)


def _first_argument(function):
    """The specs of the inputs that all kinds of arguments of a function have."""
    specs = [f.structured_input_signature[0][0] for f in function.concrete_functions]

    def common(*found):
        shape = found[0].shape
        for spec in found[1:]:
            shape = shape.most_specific_compatible_shape(spec.shape)
        return tensor_spec.TensorSpec(shape, found[0].dtype, found[0].name)

    return nest.map_structure(common, *specs)


def _placeholder(spec):
    return K.placeholder(shape=spec.shape.as_list(), dtype=spec.dtype.name)
