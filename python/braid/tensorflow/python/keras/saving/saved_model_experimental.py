"""Models of Keras as SavedModels: graphs for training, evaluation and prediction, and the settings as JSON.

The layout is that of TensorFlow 1.15's tf.keras.experimental.export_saved_model: variables/variables is a
checkpoint of the model's objects, assets/saved_model.json what to_json gives.
"""

import json
import os

from braid.tensorflow.python.client import session as session_module
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import models
from braid.tensorflow.python.keras import optimizers
from braid.tensorflow.python.keras.engine import sequential
from braid.tensorflow.python.keras.optimizer_v2 import optimizer_v2
from braid.tensorflow.python.keras.saving import hdf5_format
from braid.tensorflow.python.keras.saving.saved_model import load as saved_model_load
from braid.tensorflow.python.keras.saving.saved_model import save as saved_model_save
from braid.tensorflow.python.lib.io import file_io
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import builder_impl
from braid.tensorflow.python.saved_model import model_utils
from braid.tensorflow.python.saved_model import utils_impl
from braid.tensorflow.python.saved_model.model_utils import mode_keys
from braid.tensorflow.python.training import saver as saver_lib
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export

_JSON = "saved_model.json"
_MODES = mode_keys.KerasModeKeys


@keras_export("keras.experimental.export_saved_model")
def export_saved_model(
    model, saved_model_path, custom_objects=None, as_text=False, input_signature=None, serving_only=False
):
    """Writes a SavedModel with a graph for each of training, evaluation and prediction.

    input_signature: TensorSpecs in place of the model's inputs. serving_only: only the graph for prediction.
    NotImplementedError: the model is of a class of the program's own. AssertionError: there are files.
    """
    _export(model, saved_model_path, custom_objects, as_text, input_signature, serving_only)
    _write_asset(saved_model_path, _JSON, model.to_json())


def _write_asset(path, name, text):
    file_io.write_string_to_file(os.path.join(utils_impl.get_or_create_assets_dir(path), name), text)


def _export(model, path, custom_objects, as_text, input_signature, serving_only):
    if not model._is_graph_network:
        if not isinstance(model, sequential.Sequential):
            raise NotImplementedError(
                "A subclass of Model cannot be written as a SavedModel: use save_weights, or "
                "tf.saved_model.simple_save with its inputs and outputs"
            )
        if not model.built:
            raise ValueError(
                "Weights for sequential model have not yet been created. Weights are created when the Model is "
                "first called on inputs or `build()` is called with an `input_shape`, or the first layer in "
                "the model has `input_shape` during construction."
            )
    builder = builder_impl._SavedModelBuilder(path)
    utils_impl.get_or_create_variables_dir(path)
    checkpoint = utils_impl.get_variables_path(path)
    model.save_weights(checkpoint, save_format="tf", overwrite=True)
    modes = [_MODES.PREDICT]
    if model.optimizer and not serving_only:
        if isinstance(model.optimizer, (optimizers.TFOptimizer, optimizer_v2.OptimizerV2)):
            modes = [_MODES.TRAIN, _MODES.TEST] + modes
        else:
            logging.warning(
                "Model was compiled with an optimizer, but the optimizer is not from `tf.train` (e.g. "
                "`tf.train.AdagradOptimizer`). Only the serving graph was exported. The train and evaluate "
                "graphs were not added to the SavedModel."
            )
    settings = None
    if isinstance(model.optimizer, optimizer_v2.OptimizerV2):
        settings = model.optimizer.get_config()  # read in the session of the model's graph
    for mode in modes:
        _add_graph(builder, model, mode, settings, custom_objects, checkpoint, input_signature)
    builder.save(as_text)


def _add_graph(builder, model, mode, settings, custom_objects, checkpoint, input_signature):
    """Adds the graph of a clone that has the checkpoint's variables; the first writes those of training, too."""
    with ops.Graph().as_default() as graph, K.learning_phase_scope(int(mode == _MODES.TRAIN)):
        inputs = None
        if input_signature is not None:
            inputs = nest.map_structure(
                lambda s: K.placeholder(shape=s.shape.as_list(), dtype=s.dtype, name=s.name), input_signature
            )
        compiled = mode != _MODES.PREDICT
        clone = models.clone_and_build_model(
            model,
            input_tensors=inputs,
            custom_objects=custom_objects,
            compile_clone=compiled,
            optimizer_config=settings,
        )
        train_op = None
        if compiled:
            graph.add_to_collection(ops.GraphKeys.GLOBAL_STEP, clone.optimizer.iterations)
        if mode == _MODES.TRAIN:
            train_op = clone._function("train", False).updates_op
        graph.get_collection_ref(ops.GraphKeys.UPDATE_OPS).extend(clone.state_updates)
        with session_module.Session(graph=graph).as_default():
            clone.load_weights(checkpoint).expect_partial()
            if not builder._has_saved_variables:
                clone.save_weights(checkpoint, save_format="tf", overwrite=True)
                builder._has_saved_variables = True
            signatures = _signatures(clone, mode)
            builder.add_meta_graph(
                model_utils.EXPORT_TAG_MAP[mode],
                signature_def_map=signatures,
                saver=saver_lib.Saver(_named(clone), allow_empty=True),
                init_op=variables.local_variables_initializer(),
                train_op=train_op,
            )


def _named(model):
    """The variables by their names in the checkpoint of objects."""
    from braid.tensorflow.python.training.tracking import graph_view

    saveables, _, _ = graph_view.ObjectGraphView(model).serialize_object_graph()
    return saveables


def _signatures(model, mode):
    inputs = dict(zip(model.input_names, model.inputs))
    metrics = loss = None
    if model.optimizer:
        inputs.update((t.name.split(":")[0], t) for t in model.targets)
        loss = model.total_loss
        metrics = {}
        known = set(map(id, ops.get_collection(ops.GraphKeys.LOCAL_VARIABLES)))
        for metric in model._metric_objects:
            metrics[metric.name] = (metric.result(), metric.updates[0])
            for variable in metric.variables:
                if id(variable) not in known:
                    ops.add_to_collection(ops.GraphKeys.LOCAL_VARIABLES, variable)
    outputs = model_utils.export_outputs_for_mode(
        mode, predictions=dict(zip(model.output_names, model.outputs)), loss=loss, metrics=metrics
    )
    return model_utils.build_all_signature_defs(
        inputs, export_outputs=outputs, serving_only=mode == _MODES.PREDICT
    )


@keras_export("keras.experimental.load_from_saved_model")
def load_from_saved_model(saved_model_path, custom_objects=None):
    """The model, not compiled, that export_saved_model has written."""
    path = os.path.join(utils_impl.get_assets_dir(saved_model_path), _JSON)
    model = models.model_from_json(file_io.read_file_to_string(path), custom_objects=custom_objects)
    model.load_weights(utils_impl.get_variables_path(saved_model_path))
    return model


# Model.save(save_format="tf").


def save(model, path, include_optimizer=True, signatures=None):
    """Writes a SavedModel of the model's objects, with its functions, settings and variables.

    It takes the place of a SavedModel that is there; other files in the directory stay.
    """
    part = path.rstrip("/") + ".part"
    if file_io.is_directory(part):
        file_io.delete_recursively(part)
    saved_model_save.save(model, part, include_optimizer, signatures)
    utils_impl.get_or_create_assets_dir(part)
    file_io.recursive_create_dir(path)
    for name in file_io.list_directory(part):
        old = os.path.join(path, name.rstrip("/"))
        if file_io.is_directory(old):
            file_io.delete_recursively(old)
        file_io.rename(os.path.join(part, name.rstrip("/")), old, overwrite=True)
    file_io.delete_recursively(part)


def load(path, custom_objects=None, compile=True):
    """The model that save, TensorFlow's Model.save or export_saved_model has written, compiled if it was."""
    file = os.path.join(utils_impl.get_assets_dir(path), _JSON)
    if not file_io.file_exists(file):
        return saved_model_load.load(path, custom_objects, compile)
    config = json.loads(file_io.read_file_to_string(file))
    model = models.model_from_config(config, custom_objects=custom_objects)
    training = config.get("training_config")
    if compile and training:
        hdf5_format.compile_as(model, training, custom_objects)
    model.load_weights(utils_impl.get_variables_path(path))
    return model
