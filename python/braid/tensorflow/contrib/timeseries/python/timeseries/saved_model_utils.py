"""Filtering and predictions with a model that was exported and is loaded in a session."""

from braid.tensorflow.contrib.timeseries.python.timeseries import feature_keys as _feature_keys
from braid.tensorflow.contrib.timeseries.python.timeseries import head as _head
from braid.tensorflow.contrib.timeseries.python.timeseries import input_pipeline as _input_pipeline
from braid.tensorflow.contrib.timeseries.python.timeseries import model_utils as _model_utils

_TIMES = _feature_keys.Times.TIMES


def _run(label, signatures, session, features, continue_from=None):
    """The outputs of a signature for features and a state, with the times of the features."""
    signature = signatures.signature_def[label]

    def tensor(info):
        return session.graph.as_graph_element(info.name)

    feeds = dict(features)
    if continue_from is not None:
        state = continue_from.get(_feature_keys.FilteringResults.STATE_TUPLE)
        # Evaluations have the state as a tuple, filtering returns it in parts, beside the times.
        feeds = {**(continue_from if state is None else _head.state_to_dictionary(state)), **feeds}
    output = session.run(
        {key: tensor(info) for key, info in signature.outputs.items()},
        feed_dict={tensor(signature.inputs[key]): value for key, value in feeds.items()},
    )
    output[_TIMES] = features[_TIMES]
    return output


def predict_continuation(continue_from, signatures, session, steps=None, times=None, exogenous_features=None):
    """Predictions after an evaluation or a filtering.

    continue_from: what Estimator.evaluate, cold_start_filter or filter_continuation returned.
    signatures: the MetaGraphDef that tf.saved_model.loader.load returned for `session`.
    steps or times: how many steps to predict, or the times [batch, n] (or [n]).
    exogenous_features: arrays [batch, n, ...] for these times.
    """
    features = {
        _TIMES: _model_utils.canonicalize_times_or_steps_from_output(
            times=times, steps=steps, previous_model_output=continue_from
        ),
        **(exogenous_features or {}),
    }
    return _run(_feature_keys.SavedModelLabels.PREDICT, signatures, session, features, continue_from)


def cold_start_filter(signatures, session, features):
    """The state after arrays of times, values and exogenous features, from the model's start state."""
    features = _input_pipeline._canonicalize_numpy_data(data=features, require_single_batch=False)
    return _run(_feature_keys.SavedModelLabels.COLD_START_FILTER, signatures, session, features)


def filter_continuation(continue_from, signatures, session, features):
    """The state after arrays of times, values and exogenous features, from an earlier state."""
    features = _input_pipeline._canonicalize_numpy_data(data=features, require_single_batch=False)
    return _run(_feature_keys.SavedModelLabels.FILTER, signatures, session, features, continue_from)
