"""Models and weights in HDF5 files, as Keras writes them. h5py is needed."""

import contextlib
import itertools
import json
import os

import numpy as np

from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras.utils import conv_utils
from braid.tensorflow.python.keras.utils.io_utils import ask_to_proceed_with_overwrite


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


def _bytes(value):
    return value if isinstance(value, bytes) else value.encode("utf-8")


HDF5_OBJECT_HEADER_LIMIT = 64512  # bytes of an attribute that HDF5 takes


def save_attributes_to_hdf5_group(group, name, data):
    """Writes texts as an attribute, or as NAME0, NAME1, ... where one attribute would be too large."""
    data = np.array([_bytes(text) for text in data], dtype="S" if data else "S1")
    if data.itemsize > HDF5_OBJECT_HEADER_LIMIT:
        raise RuntimeError(
            f"{name}: an attribute of an HDF5 file has at most {HDF5_OBJECT_HEADER_LIMIT} bytes, a name has "
            f"{data.itemsize}"
        )
    each = HDF5_OBJECT_HEADER_LIMIT // data.itemsize
    if len(data) <= each:
        group.attrs[name] = data
        return
    for i, start in enumerate(range(0, len(data), each)):
        group.attrs[f"{name}{i}"] = data[start : start + each]


def load_attributes_from_hdf5_group(group, name):
    """The texts that save_attributes_to_hdf5_group has written."""
    if name in group.attrs:
        return [_text(n) for n in group.attrs[name]]
    parts = itertools.takewhile(lambda key: key in group.attrs, (f"{name}{i}" for i in itertools.count()))
    return [_text(n) for key in parts for n in group.attrs[key]]


def save_weights_to_hdf5_group(f, layers):
    """Writes the weights of layers, each layer's into a group of its name."""
    save_attributes_to_hdf5_group(f, "layer_names", [layer.name for layer in layers])
    f.attrs["backend"] = K.backend().encode("utf-8")
    f.attrs["keras_version"] = b"2.2.4-tf"
    for layer in layers:
        weights = _ordered(layer)
        group = f.create_group(layer.name)
        save_attributes_to_hdf5_group(group, "weight_names", [w.name for w in weights])
        for weight, value in zip(weights, K.batch_get_value(weights)):
            group.create_dataset(weight.name, data=value)


def _ordered(layer):
    """A layer's weights, the trainable ones first."""
    return layer.trainable_weights + layer.non_trainable_weights


def _saved_values(f, name):
    group = f[name]
    return [np.asarray(group[w]) for w in load_attributes_from_hdf5_group(group, "weight_names")]


def _origin(f):
    """(the first digit of the version of Keras that wrote a file, its backend)."""
    return _text(f.attrs.get("keras_version", "1"))[:1], _text(f.attrs.get("backend", ""))


def load_weights_from_hdf5_group(f, layers):
    """Sets the weights of layers, in the order in which they were written."""
    with_weights = [layer for layer in layers if _ordered(layer)]
    names = load_attributes_from_hdf5_group(f, "layer_names")
    saved = [(name, values) for name, values in ((n, _saved_values(f, n)) for n in names) if values]
    if len(saved) != len(with_weights):
        raise ValueError(
            f"You are trying to load a weight file containing {len(saved)} layers into a model with "
            f"{len(with_weights)} layers."
        )
    pairs = []
    for k, ((name, values), layer) in enumerate(zip(saved, with_weights)):
        values = preprocess_weights_for_loading(layer, values, *_origin(f))
        weights = _ordered(layer)
        if len(values) != len(weights):
            raise ValueError(
                f'Layer #{k} (named "{layer.name}" in the current model) was found to correspond to layer {name} in '
                f"the save file. However the new layer {layer.name} expects {len(weights)} weights, but the saved "
                f"weights have {len(values)} elements."
            )
        pairs += zip(weights, values)
    K.batch_set_value(pairs)


def load_weights_from_hdf5_group_by_name(f, layers):
    """Sets the weights of the layers whose names the file has."""
    pairs = []
    for k, name in enumerate(load_attributes_from_hdf5_group(f, "layer_names")):
        for layer in [layer for layer in layers if layer.name == name]:
            values = preprocess_weights_for_loading(layer, _saved_values(f, name), *_origin(f))
            weights = _ordered(layer)
            start = f'Layer #{k} (named "{name}")'
            if len(values) != len(weights):
                raise ValueError(
                    f"{start} expects {len(weights)} weight(s), but the saved weights have {len(values)} element(s)."
                )
            for w, value in zip(weights, values):
                if K.int_shape(w) != value.shape:
                    raise ValueError(
                        f"{start}, weight {w} has shape {K.int_shape(w)}, but the saved weight has shape "
                        f"{value.shape}."
                    )
            pairs += zip(weights, values)
    K.batch_set_value(pairs)


def preprocess_weights_for_loading(layer, weights, original_keras_version=None, original_backend=None):
    """The weights of a file as the layer has them: of a cuDNN layer for its like, of Keras 1 and of Theano."""
    kind, weights = type(layer).__name__, list(weights)
    convert = lambda part, values: preprocess_weights_for_loading(  # noqa: E731
        part, values, original_keras_version, original_backend
    )
    if kind == "Bidirectional":
        half = len(weights) // 2
        return convert(layer.forward_layer, weights[:half]) + convert(layer.backward_layer, weights[half:])
    if kind == "TimeDistributed":
        return convert(layer.layer, weights)
    if kind in ("Model", "Sequential"):
        return _of_nested_model(layer, weights, convert)
    if original_keras_version == "1":
        weights = _from_keras_1(layer, kind, weights)
    if kind in ("Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose", "ConvLSTM2D"):
        for i in range(2 if kind == "ConvLSTM2D" else 1):
            if original_backend == "theano":
                weights[i] = conv_utils.convert_kernel(weights[i])
            if K.int_shape(layer.weights[i]) != weights[i].shape and weights[i].ndim == 4:
                weights[i] = np.transpose(weights[i], (3, 2, 0, 1))
    return _convert_rnn_weights(layer, weights)


def _of_nested_model(model, weights, convert):
    count = len(model.trainable_weights)
    trainable, others = weights[:count], weights[count:]
    results = [], []
    for layer in model.layers:
        t, n = len(layer.trainable_weights), len(layer.non_trainable_weights)
        values = convert(layer, trainable[:t] + others[:n])
        results[0].extend(values[:t])
        results[1].extend(values[t:])
        trainable, others = trainable[t:], others[n:]
    return results[0] + results[1]


def _from_keras_1(layer, kind, weights):
    """Keras 1 had other orders of axes, and a weight for each gate."""
    first = getattr(layer, "data_format", None) == "channels_first"
    if kind == "Conv1D":
        if weights[0].shape[:2] != (layer.kernel_size[0], 1) or weights[0].shape[3] != layer.filters:
            weights[0] = np.transpose(weights[0], (2, 3, 1, 0))
        weights[0] = weights[0][:, 0, :, :]
    elif kind == "Conv2D" and first:
        weights[0] = np.transpose(weights[0], (2, 3, 1, 0))
    elif kind == "Conv2DTranspose":
        weights[0] = np.transpose(weights[0], (2, 3, 0, 1) if first else (0, 1, 3, 2))
    elif kind == "Conv3D" and first:
        weights[0] = np.transpose(weights[0], (2, 3, 4, 1, 0))
    gates = {("GRU", 9): (0, 3, 6), ("LSTM", 12): (0, 6, 3, 9), ("ConvLSTM2D", 12): (0, 6, 3, 9)}
    starts = gates.get((kind, len(weights)))
    if starts:
        weights = [np.concatenate([weights[s + i] for s in starts], axis=-1) for i in range(3)]
        if kind == "ConvLSTM2D" and first:
            weights[:2] = [np.transpose(w, (2, 3, 1, 0)) for w in weights[:2]]
    return weights


def _convert_rnn_weights(layer, weights):
    """Weights of LSTM for CuDNNLSTM or back, and of GRU(reset_after=True) for CuDNNGRU or back.

    cuDNN has the kernels of gates transposed, and two biases. ValueError: weights of another kind of GRU.
    """
    kind = type(layer).__name__
    if kind not in ("LSTM", "CuDNNLSTM", "GRU", "CuDNNGRU") or len(weights) != 3:
        return weights
    kernel, recurrent, bias = weights
    gates = 4 if "LSTM" in kind else 3
    width = recurrent.shape[0] * gates
    plain, cudnn = ("LSTM", "CuDNNLSTM") if gates == 4 else ("GRU(reset_after=True)", "CuDNNGRU")
    kinds = {(2 * width,): cudnn, (width,): plain}
    if gates == 3:
        kinds.update({(2, width): plain, (width,): "GRU(reset_after=False)"})
    if bias.shape not in kinds:
        raise ValueError(f"Invalid bias shape: {bias.shape}")
    source, target = kinds[bias.shape], kind
    if kind == "GRU":
        target = f"GRU(reset_after={bool(layer.reset_after)})"
    if source == target:
        return weights
    if "GRU(reset_after=False)" in (source, target):
        raise ValueError(f"{source} is not compatible with {target}")
    order = "F" if source == cudnn else "C"
    by_gate = lambda fn, matrix: np.hstack([fn(k) for k in np.hsplit(matrix, gates)])  # noqa: E731
    kernel = by_gate(lambda k: k.T.reshape(k.shape, order=order), kernel)
    recurrent = by_gate(np.transpose, recurrent)
    if gates == 3:
        bias = bias.reshape((2, -1) if source == cudnn else -1)
    else:
        bias = np.sum(np.split(bias, 2), axis=0) if source == cudnn else np.tile(0.5 * bias, 2)
    return [kernel, recurrent, bias]


def save_weights(model, filepath):
    """Writes the weights of all layers."""
    with _h5py().File(filepath, "w") as file:
        save_weights_to_hdf5_group(file, model.layers)


def load_weights(model, filepath, by_name=False):
    """Reads weights: by the order of layers, or by their names."""
    with _h5py().File(filepath, "r") as file:
        alone = "layer_names" in file.attrs or "model_weights" not in file
        load = load_weights_from_hdf5_group_by_name if by_name else load_weights_from_hdf5_group
        load(file if alone else file["model_weights"], model.layers)


@contextlib.contextmanager
def _opened(file, mode):
    """The file of a path, or the file of h5py itself, which stays open."""
    if isinstance(file, _h5py().File):
        yield file
        return
    with _h5py().File(os.fspath(file), mode) as opened:
        yield opened


def save_model_to_hdf5(model, filepath, overwrite=True, include_optimizer=True):
    """Writes settings, weights, and the optimizer with its weights."""
    from braid.tensorflow.python.keras.engine.network import _jsonable

    if not isinstance(filepath, _h5py().File) and not overwrite and os.path.exists(filepath):
        if not ask_to_proceed_with_overwrite(filepath):
            return
    config = {"class_name": type(model).__name__, "config": model.get_config()}
    with _opened(filepath, "w") as file:
        file.attrs["keras_version"] = b"2.2.4-tf"
        file.attrs["backend"] = b"tensorflow"
        file.attrs["model_config"] = json.dumps(config, default=_jsonable).encode("utf-8")
        save_weights_to_hdf5_group(file.create_group("model_weights"), model.layers)
        training = training_config(model) if include_optimizer else None
        if training is None:
            return
        file.attrs["training_config"] = json.dumps(training, default=_jsonable).encode("utf-8")
        weights = model.optimizer.weights
        if weights:
            group = file.create_group("optimizer_weights")
            save_attributes_to_hdf5_group(group, "weight_names", [w.name for w in weights])
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


def compile_as(model, training, custom_objects=None):
    """Compiles the model with what training_config gave."""
    from braid.tensorflow.python.keras import losses
    from braid.tensorflow.python.keras import metrics
    from braid.tensorflow.python.keras import optimizers
    from braid.tensorflow.python.keras.utils import generic_utils

    def made(deserialize, config):
        if isinstance(config, dict) and set(config) == {"class_name", "config"}:
            return deserialize(config)
        if isinstance(config, dict):
            return {k: made(deserialize, v) for k, v in config.items()}
        return [made(deserialize, c) for c in config] if isinstance(config, list) else config

    with generic_utils.CustomObjectScope(custom_objects or {}):
        model.compile(
            optimizers.deserialize(training["optimizer_config"]),
            loss=made(losses.deserialize, training["loss"]),
            metrics=made(metrics.deserialize, training.get("metrics")),
            loss_weights=training.get("loss_weights"),
            sample_weight_mode=training.get("sample_weight_mode"),
            weighted_metrics=made(metrics.deserialize, training.get("weighted_metrics")),
        )


def load_model_from_hdf5(filepath, custom_objects=None, compile=True):
    """The model that save_model_to_hdf5 has written."""
    from braid.tensorflow.python.keras import models

    with _opened(filepath, "r") as file:
        if "model_config" not in file.attrs:
            raise ValueError("No model found in config file.")
        model = models.model_from_config(json.loads(_text(file.attrs["model_config"])), custom_objects)
        load_weights_from_hdf5_group(file["model_weights"], model.layers)
        if not compile or "training_config" not in file.attrs:
            return model
        training = json.loads(_text(file.attrs["training_config"]))
        compile_as(model, training, custom_objects)
        if "optimizer_weights" in file and not model._is_graph_network:
            logging.warning(
                "Sequential models without an `input_shape` passed in to the first layer cannot reload their "
                "optimizer state. As a result, your model is starting with a freshly initialized optimizer."
            )
        elif "optimizer_weights" in file:
            group = file["optimizer_weights"]
            model._function("train", False)  # makes the optimizer's variables
            names = load_attributes_from_hdf5_group(group, "weight_names")
            values = [np.asarray(group[n]) for n in names]
            if len(values) == len(model.optimizer.weights):
                model.optimizer.set_weights(values)
        return model
