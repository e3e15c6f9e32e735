"""Estimators with something added."""

from braid.tensorflow.python.estimator import estimator as estimator_lib
from braid.tensorflow.python.estimator import util
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.util.tf_export import estimator_export

_VALID_METRIC_FN_ARGS = {"features", "labels", "predictions", "config"}


@estimator_export("estimator.add_metrics")
def add_metrics(estimator, metric_fn):
    """An estimator like `estimator` that computes further metrics.

    metric_fn: a function of those of features, labels, predictions and config that it takes by these names;
    it returns a dict of metrics, which take the place of those with the same names.
    """
    _verify_metric_fn_args(metric_fn)

    def new_model_fn(features, labels, mode, config):
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        new = _call_metric_fn(metric_fn, features, labels, spec.predictions, config)
        metrics = dict(spec.eval_metric_ops or {})
        metrics.update(new)
        return spec._replace(eval_metric_ops=metrics)

    return estimator_lib.Estimator(
        model_fn=new_model_fn,
        model_dir=estimator.model_dir,
        config=estimator.config,
        warm_start_from=estimator._warm_start_settings,
    )


def _verify_metric_fn_args(metric_fn):
    unknown = sorted(set(util.fn_args(metric_fn)) - _VALID_METRIC_FN_ARGS)
    if unknown:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {unknown}")


def _call_metric_fn(metric_fn, features, labels, predictions, config):
    known = {"features": features, "labels": labels, "predictions": predictions, "config": config}
    return metric_fn(**{name: known[name] for name in util.fn_args(metric_fn) if name in known})
