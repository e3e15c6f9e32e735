"""model_to_estimator: a model of Keras as an estimator."""

import os
import re

from braid.tensorflow.python.client import session
from braid.tensorflow.python.estimator import estimator as estimator_lib
from braid.tensorflow.python.estimator import model_fn as model_fn_lib
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import metrics as metrics_module
from braid.tensorflow.python.keras import models
from braid.tensorflow.python.keras import optimizers
from braid.tensorflow.python.keras.engine import training_utils
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.training import checkpoint_management
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.training import saver as saver_lib
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.training.tracking import graph_view
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export

_DEFAULT_SERVING_KEY = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def _as_list(values, names, what):
    """Tensors in the order of names, of a tensor, a list or a dict."""
    if isinstance(values, dict):
        missing = [n for n in names if n not in values]
        if missing:
            raise KeyError(
                f"The dictionary passed into {what} does not have the expected {what} keys defined in the keras "
                f"model.\n\tExpected keys: {sorted(names)}\n\t{what} keys: {sorted(values)}\n\tDifference: "
                f"{sorted(set(names) ^ set(values))}"
            )
        values = [values[n] for n in names]
    elif isinstance(values, (list, tuple)):
        values = list(values)
    else:
        values = [values]
    if len(values) != len(names):
        raise ValueError(f"Cannot find {what}: the model has {names}, but {len(values)} tensors are given")
    return values


def _floating(feature):
    """The tensor, in floatx() if it is floating."""
    feature = ops.convert_to_tensor(feature)
    return math_ops.cast(feature, K.floatx()) if feature.dtype.is_floating else feature


def _cloned_optimizer(optimizer):
    """The same optimizer in the current graph; it counts the estimator's global step."""
    step = training_util.get_global_step()
    if isinstance(optimizer, optimizers.TFOptimizer):
        return optimizers.TFOptimizer(optimizer.optimizer, iterations=step)
    clone = type(optimizer).from_config(optimizer.get_config())
    clone.iterations = step
    return clone


def _optimizer_maker(keras_model):
    """A function that makes the model's optimizer anew, in the current graph."""
    optimizer = keras_model.optimizer
    if isinstance(optimizer, optimizers.TFOptimizer):
        return lambda: _cloned_optimizer(optimizer)
    # Hyperparameters are variables of the model's graph: they are read here.
    kind, values = type(optimizer), optimizer.get_config()

    def make():
        clone = kind.from_config(values)
        clone.iterations = training_util.get_global_step()
        return clone

    return make


def _create_keras_model_fn(keras_model, custom_objects=None, by_objects=False):
    """The model function. by_objects: checkpoints are of objects."""
    make_optimizer = _optimizer_maker(keras_model)

    def model_fn(features, labels, mode):
        with generic_utils.CustomObjectScope(custom_objects or {}):
            try:
                return _spec(keras_model, make_optimizer, features, labels, mode, by_objects)
            finally:
                models.in_place_subclassed_model_state_restoration(keras_model)

    return model_fn


def _spec(keras_model, make_optimizer, features, labels, mode, by_objects):
    K.set_learning_phase(mode == ModeKeys.TRAIN)
    weights = None
    if isinstance(features, dict) and set(features) == {"features", "sample_weights"}:
        features, weights = features["features"], features["sample_weights"]
    if keras_model._is_graph_network:
        inputs = [
            math_ops.cast(ops.convert_to_tensor(f), K.dtype(own))
            for f, own in zip(_as_list(features, keras_model.input_names, "features"), keras_model.inputs)
        ]
        inputs = [
            array_ops.expand_dims(f, -1) if f.shape.ndims == 1 and K.ndim(own) == 2 else f
            for f, own in zip(inputs, keras_model.inputs)
        ]
        model = models.clone_model(keras_model, input_tensors=inputs)
    else:  # a class of the program's own is called on what its input function gives
        inputs = nest.map_structure(_floating, features)
        model = models.clone_and_build_model(
            keras_model, input_tensors=inputs, compile_clone=False, in_place_reset=True
        )
    predictions = dict(zip(model.output_names, model.outputs))
    loss = train_op = eval_metric_ops = None
    if mode != ModeKeys.PREDICT:
        targets = []
        for label, output in zip(_as_list(labels, model.output_names, "labels"), model.outputs):
            label = ops.convert_to_tensor(label)
            if label.shape.ndims is not None and label.shape.ndims == K.ndim(output) - 1:
                label = array_ops.expand_dims(label, -1)
            targets.append(label)
        model.compile(
            optimizer=make_optimizer() if mode == ModeKeys.TRAIN else "sgd",
            loss=keras_model.loss,
            metrics=metrics_module.clone_metrics(keras_model._compile_metrics),
            loss_weights=keras_model.loss_weights,
            weighted_metrics=metrics_module.clone_metrics(keras_model._compile_weighted_metrics),
            target_tensors=targets,
        )
        if weights is not None:
            _weigh(model, weights)
        loss = model.total_loss
    if mode == ModeKeys.TRAIN:
        train_op = model._make_train().updates_op
    elif mode == ModeKeys.EVAL:
        eval_metric_ops = dict(zip(model._metric_names, model._metric_objects))
        for metric in model._metric_objects:
            for v in metric.variables:
                ops.add_to_collection(ops.GraphKeys.LOCAL_VARIABLES, v)
    return model_fn_lib.EstimatorSpec(
        mode=mode,
        predictions=predictions,
        loss=loss,
        train_op=train_op,
        scaffold=monitored_session.Scaffold(saver=_object_saver(model)) if by_objects else None,
        eval_metric_ops=eval_metric_ops,
        export_outputs={_DEFAULT_SERVING_KEY: export_output.PredictOutput(predictions)},
    )


def _weigh(model, weights):
    """Builds the loss of a compiled model anew, with weights of examples: of its output, or of each."""
    given = training_utils.standardize_sample_weights(weights, model.output_names)
    for endpoint, weight in zip(model._endpoints, given):
        if weight is None:
            weight = array_ops.ones(array_ops.shape(endpoint.output)[:1])
        endpoint.weight = math_ops.cast(ops.convert_to_tensor(weight), K.floatx())
    model._build_total_loss(weighted=True)


def _object_saver(model):
    """A Saver that writes checkpoints of the model's objects."""
    model._track_trackable(training_util.get_global_step(), "estimator_global_step", overwrite=True)
    return saver_lib.Saver(graph_view.ObjectGraphView(model).frozen_saveable_objects(), sharded=True)


def _save_first_checkpoint(keras_model, custom_objects, config, by_objects):
    """Writes the weights that the model has, for the first training. Returns (path, names of variables).

    The checkpoint has the other variables of training, too: the model can be exported before it is trained.
    """
    names = [w.op.name for w in keras_model.weights]
    directory = os.path.join(config.model_dir, "keras")
    latest = checkpoint_management.latest_checkpoint(directory)
    if latest:
        return latest, names
    os.makedirs(directory, exist_ok=True)
    make_optimizer = _optimizer_maker(keras_model)
    with keras_model.outputs[0].graph.as_default():
        values = keras_model.get_weights()
    with ops.Graph().as_default(), generic_utils.CustomObjectScope(custom_objects or {}):
        training_util.create_global_step()
        K.set_learning_phase(True)
        model = models.clone_model(keras_model)
        model.compile(
            optimizer=make_optimizer(), loss=keras_model.loss, loss_weights=keras_model.loss_weights
        )
        model._make_train()
        with session.Session(config=config.session_config) as sess:
            sess.run(variables.global_variables_initializer())
            for variable, value in zip(model.weights, values):
                variable.load(value, sess)
            saver = _object_saver(model) if by_objects else saver_lib.Saver()
            path = saver.save(sess, os.path.join(directory, "keras_model.ckpt"), write_meta_graph=False)
    return path, names


@keras_export(v1=["keras.estimator.model_to_estimator"])
def model_to_estimator(
    keras_model=None,
    keras_model_path=None,
    custom_objects=None,
    model_dir=None,
    config=None,
    checkpoint_format="saver",
    use_v2_estimator=False,
):
    """An estimator of a compiled model, which begins with the weights that the model has.

    keras_model_path: an HDF5 file with the model, in place of keras_model. Features are tensors by the names
    of the model's inputs, or a tensor; {"features": those, "sample_weights": weights of examples, of each
    output in a list or by its name} weighs the loss. model_dir: that of config, or a temporary one, if None.
    checkpoint_format: "saver" for checkpoints by names of variables, "checkpoint" for those of objects.
    """
    if not (keras_model or keras_model_path):
        raise ValueError("Either `keras_model` or `keras_model_path` needs to be provided.")
    if keras_model and keras_model_path:
        raise ValueError("Please specity either `keras_model` or `keras_model_path`, but not both.")
    if checkpoint_format not in (None, "saver", "checkpoint"):
        raise ValueError(f"Checkpoint format must be either 'checkpoint' or 'saver'. Got {checkpoint_format}")
    by_objects = checkpoint_format == "checkpoint"
    if keras_model is None:
        keras_model = models.load_model(keras_model_path, custom_objects=custom_objects)
    if by_objects and not keras_model._is_graph_network:
        raise ValueError("Object-based checkpoints are currently not supported with subclassed models.")
    if not getattr(keras_model, "optimizer", None):
        raise ValueError(
            "The given keras model has not been compiled yet. Please compile the model with "
            "`model.compile()` before calling `model_to_estimator()`."
        )
    config = estimator_lib.maybe_overwrite_model_dir_and_session_config(config, model_dir)
    # The weights of another model are made by its first call: an estimator begins with new ones.
    path, names = None, []
    if keras_model._is_graph_network:
        path, names = _save_first_checkpoint(keras_model, custom_objects, config, by_objects)
    return estimator_lib.Estimator(
        _create_keras_model_fn(keras_model, custom_objects, by_objects),
        config=config,
        warm_start_from=estimator_lib.WarmStartSettings(
            ckpt_to_initialize_from=path, vars_to_warm_start=[f"^{re.escape(name)}:" for name in names]
        )
        if names
        else None,
    )
