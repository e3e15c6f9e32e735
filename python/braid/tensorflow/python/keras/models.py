"""tf.keras.models: making models again, from settings and files."""

import os

from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_layer import Input, InputLayer
from braid.tensorflow.python.keras.engine.network import Network  # noqa: F401
from braid.tensorflow.python.keras.engine.sequential import Sequential
from braid.tensorflow.python.keras.engine.training import Model
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.models.model_from_config")
def model_from_config(config, custom_objects=None):
    """The model of a dict with class_name and config."""
    from braid.tensorflow.python.keras.layers import deserialize

    if isinstance(config, list):
        raise TypeError(
            "`model_from_config` expects a dictionary, not a list. Maybe you meant to use "
            "`Sequential.from_config(config)`?"
        )
    return deserialize(config, custom_objects=custom_objects)


@keras_export("keras.models.model_from_json")
def model_from_json(json_string, custom_objects=None):
    """The model of what to_json has written, without weights."""
    import json

    return model_from_config(json.loads(json_string), custom_objects=custom_objects)


@keras_export("keras.models.model_from_yaml")
def model_from_yaml(yaml_string, custom_objects=None):
    """The model of what to_yaml has written, without weights. PyYAML is needed."""
    try:
        import yaml
    except ImportError:
        raise ImportError("Requires yaml module installed (`pip install pyyaml`).") from None
    return model_from_config(yaml.safe_load(yaml_string), custom_objects=custom_objects)


@keras_export("keras.models.load_model")
def load_model(filepath, custom_objects=None, compile=True):
    """The model that Model.save has written: an HDF5 file, or a directory with a SavedModel."""
    if isinstance(filepath, (str, os.PathLike)) and os.path.isdir(filepath):
        from braid.tensorflow.python.keras.saving import saved_model_experimental

        return saved_model_experimental.load(os.fspath(filepath), custom_objects, compile)
    from braid.tensorflow.python.keras.saving import hdf5_format

    return hdf5_format.load_model_from_hdf5(filepath, custom_objects, compile)


@keras_export("keras.models.save_model")
def save_model(model, filepath, overwrite=True, include_optimizer=True, save_format=None, signatures=None):
    """Model.save."""
    model.save(filepath, overwrite, include_optimizer, save_format, signatures)


@keras_export("keras.models.clone_model")
def clone_model(model, input_tensors=None, clone_function=None):
    """A model of the same layers with weights of its own. input_tensors: what it is made of; new Inputs if None."""
    copy = clone_function or (lambda layer: type(layer).from_config(layer.get_config()))
    if isinstance(model, Sequential):
        layers = [layer if isinstance(layer, InputLayer) else copy(layer) for layer in model.layers]
        clone = Sequential(name=model.name)
        if input_tensors is not None:
            if len(nest.flatten(input_tensors)) != 1:
                raise ValueError(
                    "To clone a `Sequential` model, we expect at most one tensor as part of `input_tensors`."
                )
            (x,) = nest.flatten(input_tensors)
            if not K.is_keras_tensor(x):
                x = Input(tensor=x, name="input_wrapper_for_" + str(x.op.name))
            elif not isinstance(x._keras_history[0], InputLayer):
                raise ValueError(
                    "Cannot clone a `Sequential` model on top of a tensor that comes from a Keras layer other "
                    "than an `InputLayer`. Use the functional API instead."
                )
            clone.add(x._keras_history[0])
        elif model.inputs and not any(hasattr(layer, "_batch_input_shape") for layer in layers[:1]):
            clone.add(
                InputLayer(
                    batch_input_shape=K.int_shape(model.inputs[0]),
                    dtype=K.dtype(model.inputs[0]),
                    name=model.layers[0].name + "_input",
                )
            )
        for layer in layers:
            clone.add(layer)
        return clone
    if not isinstance(model, Model) or not model._is_graph_network:
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, but got a subclass model "
            "instead."
        )
    computed = {}
    if input_tensors is None:
        inputs = [
            Input(
                batch_shape=layer._batch_input_shape,
                dtype=layer.dtype,
                sparse=layer.sparse,
                ragged=layer.ragged,
                name=layer.name,
            )
            for layer in model._input_layers
        ]
    else:
        inputs = []
        for x, own in zip(nest.flatten(input_tensors), model._input_layers):
            inputs.append(
                x if K.is_keras_tensor(x) else Input(tensor=x, name="input_wrapper_for_" + own.name)
            )
    for own, x in zip(model.inputs, inputs):
        computed[id(own)] = x
    clones = {}
    for node in model._nodes:
        outputs = nest.flatten(node.output_tensors)
        if all(id(t) in computed for t in outputs):
            continue
        layer = node.outbound_layer
        if id(layer) not in clones:
            clones[id(layer)] = copy(layer)
        arguments = nest.map_structure(lambda t: computed[id(t)], node.input_tensors)
        kwargs = nest.map_structure(lambda v: computed.get(id(v), v), node.arguments)
        result = clones[id(layer)](arguments, **kwargs)
        computed.update((id(t), r) for t, r in zip(outputs, nest.flatten(result)))
    ends = [computed[id(t)] for t in model.outputs]
    unwrap = lambda ts: ts[0] if len(ts) == 1 else ts  # noqa: E731
    clone = Model(unwrap(inputs), unwrap(ends), name=model.name)
    clone._insert_apart(clones.values())
    return clone


def _clone_layer(layer):
    return type(layer).from_config(layer.get_config())


def share_weights(layer):
    """The layer itself: clones that have it share its weights."""
    return layer


def _clone_functional_model(model, input_tensors=None, layer_fn=_clone_layer):
    if not isinstance(model, Model):
        raise ValueError(f"Expected `model` argument to be a `Model` instance, got {model}")
    if isinstance(model, Sequential) or not model._is_graph_network:
        raise ValueError(
            "Expected `model` argument to be a functional `Model` instance, got "
            f"{type(model).__name__} instead."
        )
    return clone_model(model, input_tensors, layer_fn)


def _clone_sequential_model(model, input_tensors=None, layer_fn=_clone_layer):
    if not isinstance(model, Sequential):
        raise ValueError(f"Expected `model` argument to be a `Sequential` model instance, but got: {model}")
    return clone_model(model, input_tensors, layer_fn)


_LISTS = (
    "_track",
    "_trainable_weights",
    "_non_trainable_weights",
    "_updates",
    "_losses",
    "_callable_losses",
    "_metrics",
    "_inbound_nodes",
    "_outbound_nodes",
)


def _in_place_subclassed_model_reset(model):
    """Gives a subclass of Model new layers without weights. in_place_subclassed_model_state_restoration gives
    it back those that it has.
    """
    before = dict(model.__dict__)
    model.__dict__.update((name, []) for name in _LISTS)
    model.__dict__.update(_metrics_tensors={}, _unconditional_updates=set(), _functions={})
    model.__dict__.update(built=False, inputs=None, outputs=None, _endpoints=None, optimizer=None)
    model.__dict__.update(_is_compiled=False, _original_attributes=before)

    def copied(value):
        if isinstance(value, Layer):
            if getattr(value, "layers", None):
                raise ValueError(
                    "We do not support the use of nested layers in `model_to_estimator` at this time. Found "
                    f"nested layer: {value}"
                )
            return _clone_layer(value)
        if isinstance(value, (list, tuple)):
            return type(value)(copied(v) for v in value)
        return value

    for name, value in before["_track"]:
        if not name.startswith("_") and name != "optimizer":
            setattr(model, name, copied(value))


def in_place_subclassed_model_state_restoration(model):
    """Gives a model the layers and weights back that _in_place_subclassed_model_reset took."""
    before = model.__dict__.get("_original_attributes")
    if before is not None:
        model.__dict__.clear()
        model.__dict__.update(before)


def clone_and_build_model(
    model,
    input_tensors=None,
    target_tensors=None,
    custom_objects=None,
    compile_clone=True,
    in_place_reset=False,
    optimizer_iterations=None,
    optimizer_config=None,
):
    """A clone with its inputs, compiled as the model was.

    in_place_reset: whether a subclass of Model that does not define get_config may be reset itself.
    optimizer_iterations: the variable that counts steps. optimizer_config: settings of the optimizer, where
    the model's are in another session.
    """
    from braid.tensorflow.python.keras import metrics as metrics_module
    from braid.tensorflow.python.keras import optimizers
    from braid.tensorflow.python.keras.utils import generic_utils

    optimizer = model.optimizer
    if compile_clone and not optimizer:
        raise ValueError(
            "Error when cloning model: compile_clone was set to True, but the original model has not been compiled."
        )
    how = {
        "loss": model.__dict__.get("loss"),
        "metrics": model.__dict__.get("_compile_metrics"),
        "loss_weights": model.__dict__.get("loss_weights"),
        "sample_weight_mode": model.__dict__.get("sample_weight_mode"),
        "weighted_metrics": model.__dict__.get("_compile_weighted_metrics"),
    }
    settings = optimizer_config
    if compile_clone and settings is None and not isinstance(optimizer, optimizers.TFOptimizer):
        settings = optimizer.get_config()
    with generic_utils.CustomObjectScope(custom_objects or {}):
        if model._is_graph_network or isinstance(model, Sequential):
            clone = clone_model(model, input_tensors=input_tensors)
            shape = getattr(model, "_build_input_shape", None)
            if isinstance(clone, Sequential) and not clone._is_graph_network and shape is not None:
                dtype = model.inputs[0].dtype if model.inputs else None
                clone._set_inputs(K.placeholder(shape, dtype=dtype), None)
        else:
            try:
                clone = type(model).from_config(model.get_config())
            except NotImplementedError:
                if not in_place_reset:
                    raise ValueError(
                        "This model is a subclassed model. Such a model cannot be cloned, but there is a "
                        "workaround where the model is reset in-place. To use this, please set the argument "
                        "`in_place_reset` to `True`. This will reset the attributes in the original model. To "
                        "restore the attributes, call `in_place_subclassed_model_state_restoration(model)`."
                    ) from None
                clone = model
                _in_place_subclassed_model_reset(clone)
            if input_tensors is not None:
                if isinstance(input_tensors, (list, tuple)) and len(input_tensors) == 1:
                    input_tensors = input_tensors[0]
                clone._set_inputs(input_tensors)
    if compile_clone:
        if isinstance(optimizer, optimizers.TFOptimizer):
            made = optimizers.TFOptimizer(optimizer.optimizer, optimizer_iterations)
        else:
            made = type(optimizer).from_config(settings)
            if optimizer_iterations is not None:
                made.iterations = optimizer_iterations
        for key in ("metrics", "weighted_metrics"):
            how[key] = metrics_module.clone_metrics(how[key]) if how[key] else None
        clone.compile(made, target_tensors=target_tensors, **how)
    return clone
