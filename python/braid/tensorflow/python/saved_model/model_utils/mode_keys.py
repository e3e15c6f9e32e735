"""What a model is built for."""

import collections.abc


class KerasModeKeys:
    """The modes of Keras."""

    TRAIN, TEST, PREDICT = "train", "test", "predict"


class EstimatorModeKeys:
    """The modes of estimators."""

    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


def is_predict(mode):
    return mode in (KerasModeKeys.PREDICT, EstimatorModeKeys.PREDICT)


def is_eval(mode):
    return mode in (KerasModeKeys.TEST, EstimatorModeKeys.EVAL)


def is_train(mode):
    return mode in (KerasModeKeys.TRAIN, EstimatorModeKeys.TRAIN)


def _of_keras(mode):
    for holds, key in (
        (is_train, KerasModeKeys.TRAIN),
        (is_eval, KerasModeKeys.TEST),
        (is_predict, KerasModeKeys.PREDICT),
    ):
        if holds(mode):
            return key
    raise ValueError("Invalid mode key: {}.".format(mode))


class ModeKeyMap(collections.abc.Mapping):
    """Values by mode, which both kinds of keys find. ValueError: a mode is there twice, or is none."""

    def __init__(self, **kwargs):
        self._keys, self._values = list(kwargs), {}
        for key, value in kwargs.items():
            mode = _of_keras(key)
            if mode in self._values:
                raise ValueError(
                    "Error creating ModeKeyMap. Multiple keys/values found for {} mode.".format(mode)
                )
            self._values[mode] = value

    def __getitem__(self, key):
        return self._values[_of_keras(key)]

    def __iter__(self):
        return iter(self._keys)

    def __len__(self):
        return len(self._keys)
