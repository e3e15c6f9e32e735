"""MetricSpec: a metric function with the predictions, labels and weights that it takes."""

import functools
import inspect

from braid.tensorflow.python.estimator import extenders
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops

# What metric functions call these arguments.
_NAMES = {
    "labels": ("labels", "label", "targets", "target"),
    "predictions": ("predictions", "prediction", "logits", "logit"),
    "weights": ("weights", "weight"),
}


def _arguments(function):
    if isinstance(function, functools.partial):
        return [name for name in _arguments(function.func) if name not in function.keywords]
    return list(inspect.signature(function).parameters)


def _one_of(kind, arguments, is_needed):
    """The name that the function has for this argument; None: it does not take it."""
    found = [name for name in arguments if name in _NAMES[kind]]
    if len(found) > 1:
        raise ValueError(f"Ambiguous arguments {found}, must provide only one of {_NAMES[kind]}.")
    if is_needed and not found:
        raise ValueError(f"{_NAMES[kind]} missing from the arguments {arguments} of the metric.")
    return found[0] if found else None


def _chosen(kind, values, key):
    """One of a dict, or the only tensor."""
    if key:
        if not isinstance(values, dict):
            raise ValueError(f"MetricSpec with {kind}_key specified requires {kind}s dict, got {values}.")
        if key not in values:
            raise KeyError(f"Key '{key}' missing from {list(values)}.")
        return values[key]
    if isinstance(values, dict):
        if len(values) != 1:
            raise ValueError(
                f"MetricSpec without specified {kind}_key requires {kind}s tensor or single element dict, got {values}"
            )
        return next(iter(values.values()))
    return values


class MetricSpec:
    """A metric of `evaluate(metrics={name: MetricSpec(...)})`.

    metric_fn: takes predictions and, by one of their usual names, labels and weights; returns
    (value, update_op), or a tensor. The keys choose from dicts of predictions, of labels and of features (for
    (for weights).
    """

    def __init__(self, metric_fn, prediction_key=None, label_key=None, weight_key=None):
        self._arguments = _arguments(metric_fn)
        self._labels = _one_of("labels", self._arguments, label_key is not None)
        self._predictions = _one_of("predictions", self._arguments, False)
        self._weights = _one_of("weights", self._arguments, weight_key is not None)
        self._function = metric_fn
        self.prediction_key, self.label_key, self.weight_key = prediction_key, label_key, weight_key

    def metric_fn(self, labels=None, predictions=None, weights=None):
        """Calls the metric function with those that it takes."""
        values, by_name = [], {}
        if self._predictions:
            by_name[self._predictions] = predictions
        else:
            values.append(predictions)
        if self._labels and self._labels == self._arguments[0] and values:
            values.insert(0, labels)
        elif self._labels:
            by_name[self._labels] = labels
        if weights is not None:
            by_name[self._weights or "weights"] = weights
        return self._function(*values, **by_name)

    def create_metric_ops(self, inputs, labels, predictions):
        """The metric of a model's inputs, labels and predictions, each a dict or a tensor."""
        return self.metric_fn(
            labels=_chosen("label", labels, self.label_key),
            predictions=_chosen("prediction", predictions, self.prediction_key),
            weights=inputs[self.weight_key] if self.weight_key else None,
        )

    def __str__(self):
        function = self._function
        while isinstance(function, functools.partial):
            function = function.func
        return (
            f"MetricSpec(metric_fn={getattr(function, '__name__', function)}, "
            f"prediction_key={self.prediction_key}, label_key={self.label_key}, weight_key={self.weight_key})"
        )


def _as_pair(metric):
    """(value, update_op): a tensor has no update."""
    if isinstance(metric, (tuple, list)):
        return tuple(metric)
    return array_ops.identity(metric), control_flow_ops.no_op()


def add_metrics(estimator, metrics):
    """An estimator like `estimator` that has further metrics.

    metrics: by name, each a MetricSpec or a function of predictions and labels. A name may be (name, key of
    the predictions); a function without a key takes the classes of a classifier, the scores of a regressor.
    """

    def metric_fn(features, labels, predictions):
        made = {}
        is_dict = isinstance(predictions, dict)
        if is_dict:
            names = getattr(estimator, "PREDICTION_NAMES", {})
            predictions = {**predictions, **{new: predictions[old] for new, old in names.items()}}
        for name, metric in metrics.items():
            key = None
            if isinstance(name, tuple):
                if len(name) != 2:
                    raise ValueError(
                        f"Invalid metric for {name}. It returned a tuple with len {len(name)}, expected 2."
                    )
                name, key = name
            if not isinstance(metric, MetricSpec):
                key = next(iter(names), None) if is_dict and key is None else key
                if is_dict and key is None:
                    raise ValueError(
                        f"Metrics passed provide no pred_name, but `predictions` is dict. The metric {name} needs a "
                        f"MetricSpec with one of these keys: {sorted(predictions)}"
                    )
                made[name] = _as_pair(metric(predictions[key] if key else predictions, labels))
            elif key is not None:
                raise ValueError(f"MetricSpec of {name}: the key of the predictions is its prediction_key")
            else:
                made[name] = _as_pair(metric.create_metric_ops(features, labels, predictions))
        return made

    return extenders.add_metrics(estimator, metric_fn)
