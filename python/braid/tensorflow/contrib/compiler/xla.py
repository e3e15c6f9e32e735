"""tf.contrib.compiler.xla: tf.xla.experimental.compile, also for model functions."""

from braid.tensorflow.python.compiler.xla.xla import check_function_argument_count, compile  # noqa: F401
from braid.tensorflow.python.estimator import model_fn as model_fn_lib
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.util import function_utils, tf_decorator


def estimator_model_fn(target_model_fn=None):
    """Decorates a model function, so that its training and evaluation are computations of compile()."""

    def decorated(function):
        return tf_decorator.make_decorator(function, _ModelFnWrapper(function))

    return decorated(target_model_fn) if target_model_fn else decorated


class _ModelFnWrapper:
    def __init__(self, function):
        self._model_fn = function

    def __call__(self, features, labels, mode, params):
        if params.get("use_tpu"):  # TPUEstimator compiles it
            return self._spec(features, labels, mode, params)
        if mode == model_fn_lib.ModeKeys.TRAIN:
            return self._train(features, labels, params)
        if mode == model_fn_lib.ModeKeys.EVAL:
            return self._evaluate(features, labels, params)
        raise NotImplementedError(f"{mode} is not implemented, only TRAIN and EVAL are supported")

    def _train(self, features, labels, params):
        spec = None

        def step():
            nonlocal spec
            spec = self._spec(features, labels, model_fn_lib.ModeKeys.TRAIN, params)
            with ops.control_dependencies([spec.train_op]):
                return array_ops.identity(spec.loss)

        (loss,) = compile(step)
        return model_fn_lib.EstimatorSpec(
            mode=model_fn_lib.ModeKeys.TRAIN,
            loss=loss,
            train_op=array_ops.identity(loss),
            scaffold=_scaffold_of(spec),
        )

    def _evaluate(self, features, labels, params):
        spec = None

        def step():
            nonlocal spec
            spec = self._spec(features, labels, model_fn_lib.ModeKeys.EVAL, params)
            metric_fn, tensors = getattr(spec, "eval_metrics", None) or (None, [])
            if isinstance(tensors, dict):
                tensors = [tensors[name] for name in function_utils.fn_args(metric_fn)]
            return (spec.loss, *tensors)

        loss, *tensors = compile(step)
        metric_fn, _ = getattr(spec, "eval_metrics", None) or (None, [])
        return model_fn_lib.EstimatorSpec(
            mode=model_fn_lib.ModeKeys.EVAL,
            loss=loss,
            eval_metric_ops=metric_fn(*tensors) if metric_fn else None,
            scaffold=_scaffold_of(spec),
        )

    def _spec(self, features, labels, mode, params):
        names = function_utils.fn_args(self._model_fn)
        arguments = {"mode": mode, "params": params}
        arguments = {name: value for name, value in arguments.items() if name in names}
        if "labels" in names:
            arguments["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        spec = self._model_fn(features=features, **arguments)
        if getattr(spec, "scaffold", None):
            logging.warning(
                "EstimatorSpec.scaffold is ignored with XLA compilation. Please use TPUEstimatorSpec.scaffold_fn "
                "instead."
            )
        if getattr(spec, "eval_metric_ops", None):
            raise ValueError(
                "EstimatorSpec.eval_metric_ops is not supported with XLA compilation. Please use "
                "TPUEstimatorSpec.eval_metrics instead."
            )
        _check_metrics(spec)
        return spec


def _scaffold_of(spec):
    make = getattr(spec, "scaffold_fn", None)
    scaffold = make() if make else None
    if make and scaffold is None:
        raise ValueError("TPUEstimatorSpec.scaffold_fn returns None, which is not allowed")
    return scaffold


def _check_metrics(spec):
    metrics = getattr(spec, "eval_metrics", None)
    if spec.mode != model_fn_lib.ModeKeys.EVAL or not metrics or not isinstance(metrics[1], dict):
        return
    names = function_utils.fn_args(metrics[0])
    missing = [name for name in names if name not in metrics[1]]
    if missing:
        raise ValueError(
            "Arguments %s are needed by metric_fn (first element of TPUEstimatorSpec.eval_metrics) but they are not "
            "provided by evaluation tensors (second element of TPUEstimatorSpec.eval_metrics)." % missing
        )
    more = [name for name in metrics[1] if name not in names]
    if more:
        raise ValueError(
            "Arguments %s are provided by evaluation tensors (second element of TPUEstimatorSpec.eval_metrics) but "
            "they are not needed by metric_fn (first element of TPUEstimatorSpec.eval_metrics)." % more
        )
