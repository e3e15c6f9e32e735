"""The names of features that models of time series take, and of what they return."""

from braid.tensorflow.python.saved_model import signature_constants


class State:
    """A model's state: as one feature, or flattened into features of a prefix and a number (SavedModels)."""

    STATE_TUPLE = "start_tuple"
    STATE_PREFIX = "model_state"


class Times:
    """Integers that increase along a window."""

    TIMES = "times"


class Values:
    """The observations, one vector for each time."""

    VALUES = "values"


class TrainEvalFeatures(Times, Values):
    """Features of training and evaluation."""


class PredictionFeatures(Times, State):
    """Features of predictions: the state after what was seen, and the times to predict."""


class FilteringFeatures(Times, Values, State):
    """Features of filtering: a state, and what was observed after it."""


class PredictionResults(Times):
    """Keys of predictions; models have more."""


class FilteringResults(Times, State):
    """Keys of evaluations and of filtering."""


class SavedModelLabels:
    """The signatures of an exported model."""

    PREDICT = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    FILTER = "filter"
    COLD_START_FILTER = "cold_start_filter"
