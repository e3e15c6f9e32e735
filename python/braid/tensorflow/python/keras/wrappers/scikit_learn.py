"""Models of Keras as classifiers and regressors of scikit-learn."""

import copy
import inspect

import numpy as np

from braid.tensorflow.python.keras import losses
from braid.tensorflow.python.keras.models import Sequential
from braid.tensorflow.python.keras.utils.np_utils import to_categorical
from braid.tensorflow.python.util.tf_export import keras_export


def _accepts(function, name):
    parameters = inspect.signature(function).parameters
    return name in parameters and parameters[name].kind in (
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        inspect.Parameter.KEYWORD_ONLY,
    )


class BaseWrapper:
    """What both share.

    build_fn: a function, or an object that can be called, which makes a compiled model; the method __call__
    of a subclass if None. sk_params: arguments of build_fn and of Sequential's fit, predict and evaluate.
    """

    def __init__(self, build_fn=None, **sk_params):
        self.build_fn = build_fn
        self.sk_params = sk_params
        self.check_params(sk_params)

    def _builder(self):
        if self.build_fn is None:
            return self.__call__
        if inspect.isfunction(self.build_fn) or inspect.ismethod(self.build_fn):
            return self.build_fn
        return self.build_fn.__call__

    def check_params(self, params):
        """ValueError: none of the functions takes one of them."""
        known = [Sequential.fit, Sequential.predict, Sequential.predict_classes, Sequential.evaluate]
        known.append(self._builder())
        for name in params:
            if name != "nb_epoch" and not any(_accepts(fn, name) for fn in known):
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **params):
        """The arguments, and build_fn."""
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params):
        """Sets arguments. Returns self."""
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def fit(self, x, y, **kwargs):
        """Makes a model and trains it. Returns its History."""
        build = self._builder()
        self.model = build(**self.filter_sk_params(build))
        loss = self.model.loss
        is_categorical = loss in ("categorical_crossentropy", losses.categorical_crossentropy) or isinstance(
            loss, losses.CategoricalCrossentropy
        )
        if is_categorical and len(y.shape) != 2:
            y = to_categorical(y)
        return self.model.fit(x, y, **{**copy.deepcopy(self.filter_sk_params(Sequential.fit)), **kwargs})

    def filter_sk_params(self, fn, override=None):
        """The arguments that a function takes, and those of `override`."""
        return {**{k: v for k, v in self.sk_params.items() if _accepts(fn, k)}, **(override or {})}


@keras_export("keras.wrappers.scikit_learn.KerasClassifier")
class KerasClassifier(BaseWrapper):
    """A classifier. Its classes are those of the labels of fit."""

    def fit(self, x, y, **kwargs):
        y = np.array(y)
        if len(y.shape) == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif (len(y.shape) == 2 and y.shape[1] == 1) or len(y.shape) == 1:
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"Invalid shape for y: {y.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x, **kwargs):
        """The class of each example."""
        kwargs = self.filter_sk_params(Sequential.predict_classes, kwargs)
        return self.classes_[self.model.predict_classes(x, **kwargs)]

    def predict_proba(self, x, **kwargs):
        """The probabilities of the classes; of two, for a model with one output."""
        kwargs = self.filter_sk_params(Sequential.predict_proba, kwargs)
        probs = self.model.predict(x, **kwargs)
        return np.hstack([1 - probs, probs]) if probs.shape[1] == 1 else probs

    def score(self, x, y, **kwargs):
        """The accuracy, which the model must have as a metric."""
        y = np.searchsorted(self.classes_, y)
        kwargs = self.filter_sk_params(Sequential.evaluate, kwargs)
        loss = getattr(self.model.loss, "__name__", self.model.loss)
        if loss == "categorical_crossentropy" and len(y.shape) != 2:
            y = to_categorical(y)
        values = self.model.evaluate(x, y, **kwargs)
        for name, value in zip(self.model.metrics_names, values if isinstance(values, list) else [values]):
            if name in ("accuracy", "acc"):
                return value
        raise ValueError(
            'The model is not configured to compute accuracy. You should pass `metrics=["accuracy"]` to the '
            "`model.compile()` method."
        )


@keras_export("keras.wrappers.scikit_learn.KerasRegressor")
class KerasRegressor(BaseWrapper):
    """A regressor."""

    def predict(self, x, **kwargs):
        """The values of the examples."""
        return np.squeeze(self.model.predict(x, **self.filter_sk_params(Sequential.predict, kwargs)))

    def score(self, x, y, **kwargs):
        """The negative loss."""
        loss = self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs))
        return -(loss[0] if isinstance(loss, list) else loss)
