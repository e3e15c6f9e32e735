"""Models and weights in HDF5 files, as Keras writes them. h5py is needed."""

import json
import os

import numpy as np

from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.keras import backend as K


def _h5py():
    try:
        import h5py
    except ImportError:
        raise ImportError(
            "HDF5 files need h5py, which is not installed; save_weights without .h5 writes a checkpoint "
            "of TensorFlow"
        ) from None
    return h5py


def _text(value):
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _names(names):
    return np.array([n.encode("utf-8") for n in names], dtype="S") if names else np.array([], dtype="S1")


def _write_weights(group, layers):
    group.attrs["layer_names"] = _names([layer.name for layer in layers])
    group.attrs["backend"] = K.backend().encode("utf-8")
    group.attrs["keras_version"] = b"2.2.4-tf"
    for layer in layers:
        g = group.create_group(layer.name)
        weights = _ordered(layer)
        values = K.batch_get_value(weights)
        names = [w.name for w in weights]
        g.attrs["weight_names"] = _names(names)
        for name, value in zip(names, values):
            data = g.create_dataset(name, np.shape(value), dtype=np.asarray(value).dtype)
            if np.ndim(value):
                data[:] = value
            else:
                data[()] = value


def _ordered(layer):
    """A layer's weights, the trainable ones first."""
    return layer.trainable_weights + layer.non_trainable_weights


def save_weights(model, filepath):
    """Writes the weights of all layers."""
    with _h5py().File(filepath, "w") as file:
        _write_weights(file, model.layers)


def load_weights(model, filepath, by_name=False):
    """Reads weights: by the order of layers, or by their names."""
    with _h5py().File(filepath, "r") as file:
        group = file["model_weights"] if "layer_names" not in file.attrs and "model_weights" in file else file
        _read_weights(group, model.layers, by_name)


def _read_weights(group, layers, by_name):
    saved = [_text(n) for n in group.attrs["layer_names"]]
    pairs = []
    if by_name:
        index = {}
        for layer in layers:
            index.setdefault(layer.name, []).append(layer)
        for name in saved:
            g = group[name]
            values = [np.asarray(g[_text(w)]) for w in g.attrs["weight_names"]]
            for layer in index.get(name, []):
                pairs += _matched(layer, values)
    else:
        with_weights = [layer for layer in layers if _ordered(layer)]
        saved = [n for n in saved if len(group[n].attrs["weight_names"])]
        if len(saved) != len(with_weights):
            raise ValueError(
                f"You are trying to load a weight file containing {len(saved)} layers into a model with "
                f"{len(with_weights)} layers."
            )
        for name, layer in zip(saved, with_weights):
            g = group[name]
            pairs += _matched(layer, [np.asarray(g[_text(w)]) for w in g.attrs["weight_names"]])
    K.batch_set_value(pairs)


def _matched(layer, values):
    weights = _ordered(layer)
    if len(weights) != len(values):
        raise ValueError(
            f"Layer {layer.name} expects {len(weights)} weights, but the saved weights have {len(values)} "
            "elements."
        )
    for w, v in zip(weights, values):
        if tuple(w.shape.as_list()) != v.shape:
            raise ValueError(
                f"Layer {layer.name}, weight {w.name} has shape {tuple(w.shape.as_list())}, but the saved "
                f"weight has shape {v.shape}."
            )
    return list(zip(weights, values))


def save_model_to_hdf5(model, filepath, overwrite=True, include_optimizer=True):
    """Writes settings, weights, and the optimizer with its weights."""
    from braid.tensorflow.python.keras.engine.network import _jsonable

    filepath = os.fspath(filepath)
    if not overwrite and os.path.exists(filepath):
        raise IOError(f"{filepath} exists already")
    config = {"class_name": type(model).__name__, "config": model.get_config()}
    with _h5py().File(filepath, "w") as file:
        file.attrs["keras_version"] = b"2.2.4-tf"
        file.attrs["backend"] = b"tensorflow"
        file.attrs["model_config"] = json.dumps(config, default=_jsonable).encode("utf-8")
        _write_weights(file.create_group("model_weights"), model.layers)
        training = training_config(model) if include_optimizer else None
        if training is None:
            return
        file.attrs["training_config"] = json.dumps(training, default=_jsonable).encode("utf-8")
        weights = model.optimizer.weights
        if weights:
            group = file.create_group("optimizer_weights")
            group.attrs["weight_names"] = _names([w.name for w in weights])
            for w, value in zip(weights, K.batch_get_value(weights)):
                group.create_dataset(w.name, data=value)


def training_config(model):
    """What compile was called with, None if it was not or for an optimizer of tf.train."""
    from braid.tensorflow.python.keras import optimizers
    from braid.tensorflow.python.keras.utils import generic_utils

    if not model.optimizer or isinstance(model.optimizer, (optimizers.TFOptimizer, list)):
        return None
    return {
        "loss": model.loss,
        "metrics": model._compile_metrics,
        "weighted_metrics": model._compile_weighted_metrics,
        "sample_weight_mode": model.sample_weight_mode,
        "loss_weights": model.loss_weights,
        "optimizer_config": generic_utils.serialize_keras_object(model.optimizer),
    }


def load_model_from_hdf5(filepath, custom_objects=None, compile=True):
    """The model that save_model_to_hdf5 has written."""
    from braid.tensorflow.python.keras import models
    from braid.tensorflow.python.keras import optimizers

    with _h5py().File(os.fspath(filepath), "r") as file:
        if "model_config" not in file.attrs:
            raise ValueError("No model found in config file.")
        model = models.model_from_config(json.loads(_text(file.attrs["model_config"])), custom_objects)
        _read_weights(file["model_weights"], model.layers, False)
        if not compile or "training_config" not in file.attrs:
            return model
        training = json.loads(_text(file.attrs["training_config"]))
        optimizer = optimizers.deserialize(training.pop("optimizer_config"), custom_objects=custom_objects)
        from braid.tensorflow.python.keras.utils import generic_utils

        with generic_utils.CustomObjectScope(custom_objects or {}):
            model.compile(
                optimizer,
                loss=training["loss"],
                metrics=training.get("metrics"),
                loss_weights=training.get("loss_weights"),
                sample_weight_mode=training.get("sample_weight_mode"),
                weighted_metrics=training.get("weighted_metrics"),
            )
        if "optimizer_weights" in file and not model._is_graph_network:
            logging.warning(
                "Sequential models without an `input_shape` passed in to the first layer cannot reload their "
                "optimizer state. As a result, your model is starting with a freshly initialized optimizer."
            )
        elif "optimizer_weights" in file:
            group = file["optimizer_weights"]
            model._function("train", False)  # makes the optimizer's variables
            values = [np.asarray(group[_text(n)]) for n in group.attrs["weight_names"]]
            if len(values) == len(model.optimizer.weights):
                model.optimizer.set_weights(values)
        return model
