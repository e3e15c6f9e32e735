"""tf.keras.models: making models again, from settings and files."""

from braid.tensorflow.python.keras import backend as K
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
    """The model of an HDF5 file that Model.save has written."""
    from braid.tensorflow.python.keras.saving import hdf5_format

    return hdf5_format.load_model_from_hdf5(filepath, custom_objects, compile)


@keras_export("keras.models.save_model")
def save_model(model, filepath, overwrite=True, include_optimizer=True, save_format=None, signatures=None):
    """Model.save."""
    model.save(filepath, overwrite=overwrite, include_optimizer=include_optimizer, save_format=save_format)


@keras_export("keras.models.clone_model")
def clone_model(model, input_tensors=None, clone_function=None):
    """A model of the same layers with weights of its own. input_tensors: what it is made of; new Inputs if None."""
    copy = clone_function or (lambda layer: type(layer).from_config(layer.get_config()))
    if isinstance(model, Sequential):
        layers = [layer if isinstance(layer, InputLayer) else copy(layer) for layer in model.layers]
        clone = Sequential(name=model.name)
        if input_tensors is not None:
            (x,) = nest.flatten(input_tensors)
            if not K.is_keras_tensor(x):
                x = Input(tensor=x, name="input_wrapper_for_" + str(x.op.name))
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
                batch_shape=layer._batch_input_shape, dtype=layer.dtype, sparse=layer.sparse, name=layer.name
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
        result = clones[id(layer)](arguments, **node.arguments)
        computed.update((id(t), r) for t, r in zip(outputs, nest.flatten(result)))
    ends = [computed[id(t)] for t in model.outputs]
    unwrap = lambda ts: ts[0] if len(ts) == 1 else ts  # noqa: E731
    return Model(unwrap(inputs), unwrap(ends), name=model.name)
