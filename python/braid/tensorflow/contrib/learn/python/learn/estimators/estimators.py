"""Estimators with fit(), evaluate() and predict() of arrays, over those of tf.estimator."""

import collections

import numpy as np

from braid.tensorflow.contrib.learn.python.learn import metric_spec
from braid.tensorflow.contrib.learn.python.learn import monitors as learn_monitors
from braid.tensorflow.contrib.learn.python.learn.utils import input_fn_utils
from braid.tensorflow.contrib.learn.python.learn.utils import saved_model_export_utils
from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.estimator import estimator as core
from braid.tensorflow.python.estimator import model_fn as core_model_fn
from braid.tensorflow.python.estimator.canned import dnn
from braid.tensorflow.python.estimator.canned import dnn_linear_combined
from braid.tensorflow.python.estimator.canned import linear
from braid.tensorflow.python.estimator.export import export as core_export
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.estimator.inputs import numpy_io
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.feature_column import feature_column_v2 as fc
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.training import session_run_hook

# The name of the one feature of an array.
_FEATURE = ""

ModelFnOps = collections.namedtuple(
    "ModelFnOps",
    [
        "mode",
        "predictions",
        "loss",
        "train_op",
        "eval_metric_ops",
        "output_alternatives",
        "training_chief_hooks",
        "training_hooks",
        "scaffold",
    ],
    defaults=[None] * 8,
)


class PredictionKey:
    """Names of predictions, for MetricSpec(prediction_key=)."""

    CLASSES = "classes"
    PROBABILITIES = "probabilities"
    LOGITS = "logits"
    LOGISTIC = "logistic"
    SCORES = "scores"
    TOP_K = "top_k"
    GENERIC = "output"


def infer_real_valued_columns_from_input(x):
    """The columns of an array [examples, n]: one numeric column."""
    return [fc.numeric_column(_FEATURE, shape=np.shape(x)[1:] or (1,))]


def infer_real_valued_columns_from_input_fn(input_fn):
    """The columns of what an input function gives."""
    with ops.Graph().as_default():
        features = input_fn()
        features = features[0] if isinstance(features, tuple) else features
        if not isinstance(features, dict):
            features = {_FEATURE: features}
        return [
            fc.numeric_column(k, shape=v.shape.as_list()[1:] or (1,)) for k, v in sorted(features.items())
        ]


def _as_features(x):
    return x if isinstance(x, dict) else {_FEATURE: np.asarray(x)}


def _input_of(x, y, input_fn, batch_size, epochs, shuffle):
    if input_fn is not None:
        if x is not None or y is not None:
            raise ValueError("Can not provide both input_fn and x or y.")
        return _with_dict(input_fn)
    if x is None:
        raise ValueError("Either x or input_fn must be provided.")
    x = _as_features(x)
    count = len(next(iter(x.values())))
    y = np.asarray(y) if y is not None and not isinstance(y, dict) else y
    return numpy_io.numpy_input_fn(x, y, batch_size=batch_size or count, num_epochs=epochs, shuffle=shuffle)


def _with_dict(input_fn):
    """An input function whose single tensor of features has the name of the one feature."""

    def wrapped():
        result = input_fn()
        if isinstance(result, tuple) and len(result) == 2 and not isinstance(result[0], dict):
            return {_FEATURE: result[0]}, result[1]
        return result

    return wrapped


class _EndOfConstantInput(session_run_hook.SessionRunHook):
    """Ends predictions after their first batch where no queue and no dataset ends them."""

    def __init__(self, input_fn):
        self._input_fn = input_fn
        self._is_dataset = False

    def features(self):
        """What the input function gives."""
        found = self._input_fn()
        self._is_dataset = isinstance(found, dataset_ops.DatasetV2)
        return found

    def after_run(self, run_context, run_values):
        graph = run_context.session.graph
        if not self._is_dataset and not graph.get_collection(ops.GraphKeys.QUEUE_RUNNERS):
            run_context.request_stop()


class _Fit:
    """fit, evaluate and predict of arrays."""

    def fit(self, x=None, y=None, input_fn=None, steps=None, batch_size=None, monitors=None, max_steps=None):
        """Trains. x, y: arrays; or input_fn. Returns self."""
        inputs = _input_of(x, y, input_fn, batch_size, None, True)
        for monitor in monitors or ():
            if isinstance(monitor, learn_monitors.ValidationMonitor):
                monitor.set_estimator(self)
        return self.train(inputs, hooks=monitors, steps=steps, max_steps=max_steps)

    partial_fit = fit

    def evaluate(
        self,
        x=None,
        y=None,
        input_fn=None,
        feed_fn=None,
        batch_size=None,
        steps=None,
        metrics=None,
        name=None,
        checkpoint_path=None,
        hooks=None,
        log_progress=True,
    ):
        """The metrics, as a dict."""
        if feed_fn is not None:
            raise NotImplementedError("tf.contrib.learn evaluate(feed_fn=): use input_fn")
        if callable(x):
            input_fn, x = x, None
        inputs = _input_of(x, y, input_fn, batch_size, 1, False)
        evaluate = metric_spec.add_metrics(self, metrics).evaluate if metrics else super().evaluate
        return evaluate(inputs, steps=steps, hooks=hooks, checkpoint_path=checkpoint_path, name=name)

    def predict(
        self,
        x=None,
        input_fn=None,
        batch_size=None,
        outputs=None,
        as_iterable=True,
        iterate_batches=False,
        **kwargs,
    ):
        """The predictions, one after another, or as an array."""
        if iterate_batches:
            raise NotImplementedError("tf.contrib.learn predict(iterate_batches=True): use tf.estimator")
        if callable(x):
            input_fn, x = x, None
        end = _EndOfConstantInput(_input_of(x, None, input_fn, batch_size, 1, False))
        hooks = [*(kwargs.pop("hooks", None) or ()), end]
        found = super().predict(end.features, predict_keys=outputs, hooks=hooks, **kwargs)
        key = getattr(self, "_PREDICTION", None)
        values = (p[key] if key and not outputs else p for p in found)
        if key:
            values = (v[0] if np.ndim(v) and np.shape(v)[0] == 1 else v for v in values)
        return values if as_iterable else np.array(list(values))

    # export_savedmodel has an argument for the head that serves.
    _EXPORTS_ALTERNATIVES = True
    _default_output_alternative_key = None
    _is_exporting = False

    def export_savedmodel(
        self,
        export_dir_base,
        serving_input_fn,
        default_output_alternative_key=None,
        assets_extra=None,
        as_text=False,
        checkpoint_path=None,
        strip_default_attrs=False,
    ):
        """Writes a SavedModel to serve, below export_dir_base. Returns its path.

        serving_input_fn: returns an InputFnOps. default_output_alternative_key: the head that serves, for
        model functions with output_alternatives.
        """

        def receiver():
            inputs = serving_input_fn()
            if isinstance(inputs, input_fn_utils.InputFnOps):
                return core_export.ServingInputReceiver(inputs.features, inputs.default_inputs)
            return inputs

        if default_output_alternative_key is not None and not isinstance(self, Estimator):
            raise ValueError(
                f"Requested default_output_alternative: {default_output_alternative_key}, but "
                f"{type(self).__name__} has the outputs of tf.estimator"
            )
        before, self._default_output_alternative_key = (
            self._default_output_alternative_key,
            default_output_alternative_key,
        )
        self._is_exporting = True
        try:
            return super().export_savedmodel(
                export_dir_base,
                receiver,
                assets_extra=assets_extra,
                as_text=as_text,
                checkpoint_path=checkpoint_path,
                strip_default_attrs=strip_default_attrs,
            )
        finally:
            self._default_output_alternative_key = before
            self._is_exporting = False


class _Classifier(_Fit):
    _PREDICTION = "class_ids"
    PREDICTION_NAMES = {"classes": "class_ids"}  # of tf.contrib.learn: of tf.estimator

    def predict_classes(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """The class of each example."""
        return self.predict(x, input_fn, batch_size, as_iterable=as_iterable)

    def predict_proba(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """The probabilities of each example."""
        found = (p["probabilities"] for p in self.predict(x, input_fn, batch_size, outputs=["probabilities"]))
        return found if as_iterable else np.array(list(found))


class _Regressor(_Fit):
    _PREDICTION = "predictions"
    PREDICTION_NAMES = {"scores": "predictions"}

    def predict_scores(self, x=None, input_fn=None, batch_size=None, as_iterable=True):
        """The prediction of each example."""
        return self.predict(x, input_fn, batch_size, as_iterable=as_iterable)


def _renamed(kwargs):
    """Arguments as tf.estimator calls them."""
    for name in (
        "gradient_clip_norm",
        "enable_centered_bias",
        "feature_engineering_fn",
        "embedding_lr_multipliers",
    ):
        if kwargs.pop(name, None):
            raise NotImplementedError(
                f"tf.contrib.learn's argument {name}: use tf.estimator, and an optimizer that does so "
                "(tf.contrib.estimator.clip_gradients_by_norm)"
            )
    if "weight_column_name" in kwargs:
        kwargs["weight_column"] = kwargs.pop("weight_column_name")
    if "label_keys" in kwargs:
        kwargs["label_vocabulary"] = kwargs.pop("label_keys")
    if kwargs.get("optimizer", 0) is None:
        del kwargs["optimizer"]
    return kwargs


class DNNClassifier(_Classifier, dnn.DNNClassifier):
    """tf.estimator.DNNClassifier with fit()."""

    def __init__(self, hidden_units, feature_columns, model_dir=None, n_classes=2, **kwargs):
        super().__init__(hidden_units, feature_columns, model_dir, n_classes, **_renamed(kwargs))


class DNNRegressor(_Regressor, dnn.DNNRegressor):
    """tf.estimator.DNNRegressor with fit()."""

    def __init__(self, hidden_units, feature_columns, model_dir=None, **kwargs):
        super().__init__(hidden_units, feature_columns, model_dir, **_renamed(kwargs))


class LinearClassifier(_Classifier, linear.LinearClassifier):
    """tf.estimator.LinearClassifier with fit()."""

    def __init__(self, feature_columns, model_dir=None, n_classes=2, **kwargs):
        super().__init__(feature_columns, model_dir, n_classes, **_renamed(kwargs))


class LinearRegressor(_Regressor, linear.LinearRegressor):
    """tf.estimator.LinearRegressor with fit()."""

    def __init__(self, feature_columns, model_dir=None, **kwargs):
        super().__init__(feature_columns, model_dir, **_renamed(kwargs))


class DNNLinearCombinedClassifier(_Classifier, dnn_linear_combined.DNNLinearCombinedClassifier):
    """tf.estimator.DNNLinearCombinedClassifier with fit()."""

    def __init__(self, model_dir=None, **kwargs):
        super().__init__(model_dir, **_renamed(kwargs))


class DNNLinearCombinedRegressor(_Regressor, dnn_linear_combined.DNNLinearCombinedRegressor):
    """tf.estimator.DNNLinearCombinedRegressor with fit()."""

    def __init__(self, model_dir=None, **kwargs):
        super().__init__(model_dir, **_renamed(kwargs))


class Estimator(_Fit, core.Estimator):
    """tf.estimator.Estimator with fit(), and model functions that return (predictions, loss, train_op)."""

    def __init__(self, model_fn=None, model_dir=None, config=None, params=None, feature_engineering_fn=None):
        if feature_engineering_fn is not None:
            raise NotImplementedError(
                "tf.contrib.learn.Estimator(feature_engineering_fn=): do so in model_fn"
            )
        from braid.tensorflow.python.estimator import util

        names = util.fn_args(model_fn)

        def new_model_fn(features, labels, mode, params, config):
            if isinstance(features, dict) and list(features) == [_FEATURE]:
                features = features[_FEATURE]
            known = {"mode": mode, "params": params, "config": config}
            kwargs = {n: known[n] for n in names if n in known}
            result = model_fn(features, labels, **kwargs)
            return _as_spec(mode, result, self._is_exporting, self._default_output_alternative_key)

        super().__init__(new_model_fn, model_dir=model_dir, config=config, params=params or {})


class _OutputAlternative(export_output.ExportOutput):
    """The outputs of a head, whose signature follows from its ProblemType."""

    def __init__(self, problem_type, outputs):
        self._problem_type, self._outputs = problem_type, outputs

    def as_signature_def(self, receiver_tensors):
        return saved_model_export_utils.build_standardized_signature_def(
            receiver_tensors, self._outputs, self._problem_type
        )


def _export_outputs(result, default_key):
    """The outputs of all heads, called as tf.contrib.learn calls its signatures."""
    utils = saved_model_export_utils
    heads, default_key = utils.get_output_alternatives(result, default_key)
    outputs = {
        f"{utils.DEFAULT_INPUT_ALTERNATIVE_KEY}:{key or 'None'}": _OutputAlternative(*head)
        for key, head in heads.items()
    }
    outputs[signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY] = _OutputAlternative(*heads[default_key])
    return outputs


def _as_spec(mode, result, is_exporting=False, default_output_key=None):
    if isinstance(result, core_model_fn.EstimatorSpec):
        return result
    if isinstance(result, ModelFnOps):
        predictions, loss, train_op, metrics = (
            result.predictions,
            result.loss,
            result.train_op,
            result.eval_metric_ops,
        )
        more = dict(
            training_chief_hooks=result.training_chief_hooks,
            training_hooks=result.training_hooks,
            scaffold=result.scaffold,
        )
    elif isinstance(result, (list, tuple)) and len(result) == 3:
        (predictions, loss, train_op), metrics, more = result, None, {}
        result = ModelFnOps(mode, predictions, loss, train_op)
    else:
        raise ValueError("Unrecognized value returned by model_fn, please return ModelFnOps.")
    if mode == ModeKeys.PREDICT:
        return core_model_fn.EstimatorSpec(
            mode,
            predictions=predictions,
            export_outputs=_export_outputs(result, default_output_key) if is_exporting else None,
            **more,
        )
    return core_model_fn.EstimatorSpec(
        mode,
        predictions=predictions,
        loss=loss,
        train_op=train_op if mode == ModeKeys.TRAIN else None,
        eval_metric_ops=metrics,
        **more,
    )


class SKCompat:
    """An estimator as scikit-learn has them: fit, score and predict of arrays."""

    def __init__(self, estimator):
        self._estimator = estimator

    def fit(self, x, y, batch_size=128, steps=None, max_steps=None, monitors=None):
        self._estimator.fit(x, y, steps=steps, batch_size=batch_size, monitors=monitors, max_steps=max_steps)
        return self

    def score(self, x, y, batch_size=128, steps=None, metrics=None, name=None):
        """The metrics, as a dict."""
        if metrics is not None and not isinstance(metrics, dict):
            raise ValueError(f"Metrics argument should be None or dict. Got {metrics}.")
        return self._estimator.evaluate(x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name)

    def predict(self, x, batch_size=128, outputs=None):
        """The predictions of all of x: an array, or a dict of them by their names (outputs: some of the
        names)."""
        inputs = _input_of(x, None, None, batch_size, 1, False)
        names = getattr(self._estimator, "PREDICTION_NAMES", {})
        keys = [names.get(name, name) for name in outputs] if outputs else None
        found = list(core.Estimator.predict(self._estimator, inputs, predict_keys=keys))
        if not found or not isinstance(found[0], dict):
            return np.array(found)
        old_names = {new: old for old, new in names.items() if new in found[0]}

        def joined(key):
            values = np.array([p[key] for p in found])
            # The classes and the scores of canned estimators are vectors.
            return values[:, 0] if key in old_names and values.shape[1:] == (1,) else values

        hidden = set(old_names.values())  # tf.estimator has something else under these names
        return {old_names.get(key, key): joined(key) for key in found[0] if key not in hidden}
