"""What tf.saved_model.save writes of layers and models: functions of their calls, and their settings.

The names are those of TensorFlow 1.15, whose load_model makes models of the functions; TensorFlow 2's makes
them of the settings where these say enough. A layer has call_and_return_conditional_losses and its kin in an
object `keras_api`, and some of them itself.
"""

import contextlib
import json

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_spec
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import restored_functions
from braid.tensorflow.python.saved_model import save as save_lib
from braid.tensorflow.python.training.tracking import tracking
from braid.tensorflow.python.util import nest

_LOSSES = "call_and_return_conditional_losses"
_ALL_LOSSES = "call_and_return_all_conditional_losses"
_SIGNATURE = "_default_save_signature"


def save(model, path, include_optimizer=True, signatures=None):
    """Writes a model. ValueError: its inputs are not known yet."""
    if not _inputs_of(model):
        raise ValueError(
            f"Model {model} cannot be saved because the input shapes have not been set. Usually, input shapes are "
            "automatically determined from calling .fit() or .predict(). To manually set the shapes, call "
            "model._set_inputs(inputs)."
        )
    session = K.get_session()
    with contextlib.ExitStack() as stack:
        if not include_optimizer:
            stack.callback(setattr, model, "optimizer", model.optimizer)
            model.optimizer = None
        stack.enter_context(session.graph.as_default())
        stack.enter_context(session.as_default())
        stack.enter_context(K.learning_phase_scope(0))
        save_lib.save(model, path, signatures)


class _KerasApi(tracking.AutoTrackable):
    """The object with a layer's functions and lists."""

    def __init__(self, layer, lists):
        self._layer, self._lists = self._no_dependency(layer), self._no_dependency(lists)

    def _list_extra_dependencies_for_serialization(self, view):
        return self._lists

    def _list_functions_for_serialization(self, view):
        return functions_of(self._layer, view)


def objects_of(layer, view):
    """{name: object} of the lists that a layer has in the saved model."""
    if ("objects", id(layer)) not in view.cache:
        losses = [_loss_function(make, view) for make in layer._callable_losses]
        nested = [_loss_function(make, view) for l in _below(layer)[1:] for make in l._callable_losses]
        found = {
            "variables": list(layer.variables),
            "trainable_variables": list(layer.trainable_variables),
            "regularization_losses": losses + nested,
        }
        more = {
            "non_trainable_variables": list(layer.non_trainable_variables),
            "layers": _listed(layer),
            "metrics": [],
            "layer_regularization_losses": losses,
        }
        view.cache["objects", id(layer)] = {**found, "keras_api": _KerasApi(layer, {**found, **more})}
    return view.cache["objects", id(layer)]


def functions_of(layer, view):
    """{name: Function} of a layer's calls, for its keras_api; {} where it has not been called."""
    key = ("functions", id(layer))
    if key not in view.cache:
        view.cache[key] = {}
        try:
            view.cache[key] = _functions(layer, view)
        except (ValueError, TypeError, NotImplementedError) as e:
            logging.warning(
                "Skipping full serialization of object %s, because an error occurred while tracing layer functions. "
                "Error message: %s",
                layer,
                e,
            )
    return view.cache[key]


def endpoints_of(layer, view):
    """Those functions that a layer has itself."""
    functions = functions_of(layer, view)
    return {name: f for name, f in functions.items() if name in ("__call__", _ALL_LOSSES, _SIGNATURE)}


def _below(layer):
    """The layer and all that are in it, each once."""
    found, pending = [], [layer]
    while pending:
        one = pending.pop(0)
        if not any(one is known for known in found):
            found.append(one)
            pending += one._nested()
    return found


def _listed(layer):
    """The layers in a layer, as its readers have them: those of a Sequential are without its inputs."""
    own = layer.layers if _is_model(layer) else layer._nested()
    kept = [one for one in own if not getattr(one, "_is_metric", False)]
    if hasattr(layer, "_stack"):
        kept = [one for one in kept if one._object_identifier != "_tf_keras_input_layer"]
    return kept


def _is_model(layer):
    return hasattr(layer, "_is_graph_network")


def _inputs_of(layer):
    """The TensorSpecs of a layer's inputs in their structure, or None."""
    if _is_model(layer):
        if not getattr(layer, "inputs", None):
            return None
        names = getattr(layer, "input_names", None) or [f"input_{i + 1}" for i in range(len(layer.inputs))]
        specs = [
            tensor_spec.TensorSpec([None, *x.shape.as_list()[1:]], x.dtype, name)
            for x, name in zip(layer.inputs, names)
        ]
        return specs[0] if len(specs) == 1 else specs
    return layer.__dict__.get("_first_inputs")


def _uses_training(layer):
    return any(one._expects_training_arg for one in _below(layer))


def _spec(names, defaults=None, varargs=None):
    return restored_functions.FullArgSpec(names, varargs, None, defaults, [], None, {})


def _functions(layer, view):
    specs = _inputs_of(layer)
    if specs is None or not layer.built:
        return {}
    flat, tensors = nest.flatten(specs), view.tensors()
    named = nest.flatten(_named(specs))
    uses_training = _uses_training(layer)
    if uses_training:
        fullargspec, cases = _spec(["inputs", "training"], (False,)), (False, True)
    else:
        fullargspec, cases = _spec(["inputs"]), (None,)
    signature = None if uses_training else (specs,)

    def made(name, results):
        """A Function that gives some of (outputs, losses)."""
        traced = []
        for training in cases:

            def body(*args, training=training):
                return results(*_called(layer, nest.pack_sequence_as(specs, args), training))

            arguments = ((specs,) if training is None else (specs, training), {})
            traced.append(
                restored_functions.trace(f"__inference_{layer.name}_{name}", body, named, tensors, arguments)
            )
        function_spec = restored_functions.FunctionSpec(fullargspec, False, signature)
        return restored_functions.Function(name, function_spec, traced)

    found = {
        "__call__": made("layer_call_fn", lambda outputs, losses: outputs),
        _LOSSES: made(f"layer_{_LOSSES}", lambda outputs, losses: (outputs, losses)),
    }
    found[_ALL_LOSSES] = found[_LOSSES]
    regularizer = layer._activity_regularizer
    if regularizer is not None:
        dtype = dtypes.as_dtype(layer.dtype or K.floatx())
        any_shape = tensor_spec.TensorSpec(None, dtype, "x")
        traced = restored_functions.trace(
            f"__inference_{layer.name}_activity_regularizer", regularizer, [any_shape], tensors
        )
        one = restored_functions.FunctionSpec(_spec(["x"]), False, (any_shape,))
        found["activity_regularizer_fn"] = restored_functions.Function("regularizer", one, [traced])
        found[_ALL_LOSSES] = made(
            f"layer_{_ALL_LOSSES}",
            lambda outputs, losses: (outputs, losses + [regularizer(x) for x in nest.flatten(outputs)]),
        )
    if layer is view.root and _is_model(layer):
        names = getattr(layer, "output_names", None)

        def serve(*args):
            outputs = nest.flatten(_called(layer, nest.pack_sequence_as(specs, args), False)[0])
            return dict(zip(names or [f"output_{i + 1}" for i in range(len(outputs))], outputs))

        traced = restored_functions.trace("__inference__wrapped_model", serve, flat, tensors, ((specs,), {}))
        wrapped = restored_functions.FunctionSpec(_spec([], varargs="args"), False, (specs,))
        found[_SIGNATURE] = restored_functions.Function("_wrapped_model", wrapped, [traced])
    return found


def _named(specs):
    """The specs with the names of a function's arguments, as TensorFlow gives them."""
    if not nest.is_sequence(specs):
        return tensor_spec.TensorSpec(specs.shape, specs.dtype, "inputs")
    return [
        tensor_spec.TensorSpec(spec.shape, spec.dtype, f"inputs_{number}" if number else "inputs")
        for number, spec in enumerate(nest.flatten(specs))
    ]


_GROWING = ("_updates", "_losses", "_metrics", "_inbound_nodes", "_outbound_nodes")


@contextlib.contextmanager
def _unchanged(layers):
    """Nodes, losses and updates of calls within are not the layers' afterwards; gives what is new as a function."""
    before = [
        {name: list(layer.__dict__[name]) for name in _GROWING if name in layer.__dict__} for layer in layers
    ]
    others = [
        (
            layer.__dict__.get("_unconditional_updates"),
            set(layer.__dict__.get("_unconditional_updates") or ()),
        )
        for layer in layers
    ]
    metrics = [dict(layer.__dict__.get("_metrics_tensors") or {}) for layer in layers]

    def new(name):
        graph = ops.get_default_graph()
        known = [id(x) for lists in before for x in lists.get(name, ())]
        found = [x for layer in layers for x in layer.__dict__.get(name, ()) if id(x) not in known]
        return [x for x in found if getattr(x, "graph", None) is graph]

    try:
        yield new
    finally:
        for layer, lists, (marks, old), tensors in zip(layers, before, others, metrics):
            for name, values in lists.items():
                layer.__dict__[name][:] = values
            if marks is not None:
                marks.clear()
                marks.update(old)
            if layer.__dict__.get("_metrics_tensors") is not None:
                layer.__dict__["_metrics_tensors"].clear()
                layer.__dict__["_metrics_tensors"].update(tensors)


def _called(layer, inputs, training):
    """(outputs, losses of the inputs) of a call in the graph of a function, whose updates run with it."""
    kwargs = {}
    if layer._expects_training_arg and training is not None:
        kwargs["training"] = training
    with contextlib.ExitStack() as stack:
        stack.enter_context(K.learning_phase_scope(int(bool(training))))
        new = stack.enter_context(_unchanged(_below(layer)))
        stack.enter_context(base_layer_utils.call_context().enter(layer, inputs, True, training))
        outputs = layer.call(inputs, **kwargs)
        losses = [loss for loss in new("_losses") if isinstance(loss, ops.Tensor)]
        updates = [update for update in new("_updates") if isinstance(update, (ops.Tensor, ops.Operation))]
        if updates:
            with ops.control_dependencies(updates):
                outputs = nest.map_structure(array_ops.identity, outputs)
    return outputs, losses


def _loss_function(make, view):
    """The Function of a loss that does not depend on inputs."""
    if ("loss", id(make)) not in view.cache:
        view.cache["loss", id(make)] = restored_functions.Function(
            "loss_fn",
            restored_functions.FunctionSpec(_spec([]), False, ()),
            make=lambda: [
                restored_functions.trace("__inference_loss_fn", lambda: make(), [], view.tensors())
            ],
        )
    return view.cache["loss", id(make)]


# ---- Settings ----


def metadata_of(layer):
    """The settings of a layer as JSON."""
    from braid.tensorflow.python.keras.engine.network import _jsonable
    from braid.tensorflow.python.keras.saving import hdf5_format
    from braid.tensorflow.python.keras.utils import generic_utils

    made = {
        "class_name": type(layer).__name__,
        "name": layer.name,
        "trainable": layer.trainable,
        "expects_training_arg": layer._expects_training_arg,
        "dtype": layer.dtype,
        "batch_input_shape": getattr(layer, "_batch_input_shape", None),
        "stateful": bool(layer.stateful),
    }
    try:
        made["config"] = layer.get_config()
    except NotImplementedError:  # it has none
        pass
    for name in ("sparse", "ragged"):
        if type(layer).__name__ == "InputLayer":
            made[name] = getattr(layer, name)
    if layer._activity_regularizer is not None:
        made["activity_regularizer"] = generic_utils.serialize_keras_object(layer._activity_regularizer)
    if _is_model(layer):
        made["is_graph_network"] = layer._is_graph_network
        made["model_config"] = {"class_name": type(layer).__name__, "config": made.get("config")}
        if getattr(layer, "optimizer", None):
            training = hdf5_format.training_config(layer)
            if training is not None:
                made["training_config"] = training
    else:
        shapes = layer.__dict__.get("_first_inputs")
        if shapes is not None:
            made["build_input_shape"] = nest.map_structure(lambda spec: _Shape(spec.shape), shapes)
    made["keras_version"], made["backend"] = "2.2.4-tf", K.backend()
    return json.dumps(made, default=lambda value: _encoded(value, _jsonable))


class _Shape:
    def __init__(self, shape):
        self.shape = shape


def _encoded(value, otherwise):
    if isinstance(value, _Shape):
        items = None if value.shape.rank is None else value.shape.as_list()
        return {"class_name": "TensorShape", "items": items}
    return otherwise(value)
