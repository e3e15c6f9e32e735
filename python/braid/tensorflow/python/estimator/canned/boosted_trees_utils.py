"""Explanations of boosted trees' predictions: what each feature column contributes.

Saabas, "Interpreting random forests" (2014); Palczewska et al., "Interpreting random forest models using a
feature contribution method", arXiv 1312.1121: a split contributes what the prediction changes by behind it.
"""

import collections

import numpy as np

from braid.tensorflow.core.kernels.boosted_trees import boosted_trees_pb2

_DEBUG_PROTO_KEY = "_serialized_debug_outputs_proto"
_BIAS_ID = 0  # the place of the bias in a path of logits


def _parse_debug_proto_string(example_proto_serialized):
    """The features of the splits that an example passed, and the logits before and after each."""
    outputs = boosted_trees_pb2.DebugOutput()
    outputs.ParseFromString(example_proto_serialized)
    return outputs.feature_ids, outputs.logits_path


def _compute_directional_feature_contributions(
    example_feature_ids, example_logits_paths, activation, feature_col_names
):
    """The bias, and an OrderedDict of contributions by column name, the largest first."""
    predictions = np.array(activation(example_logits_paths))
    changes = predictions[_BIAS_ID + 1 :] - predictions[:-1]
    contributions = np.bincount(example_feature_ids, weights=changes, minlength=len(feature_col_names))
    return predictions[_BIAS_ID], _sum_by_feature_col_name_and_sort(feature_col_names, contributions)


def _identity(logits):
    return logits


def _sigmoid(logits):
    return 1 / (1 + np.exp(-np.array(logits)))


def _parse_explanations_from_prediction(serialized_debug_proto, feature_col_names, classification=False):
    """Bias and contributions of one example, of probabilities for a classifier."""
    feature_ids, logits_path = _parse_debug_proto_string(serialized_debug_proto)
    activation = _sigmoid if classification else _identity
    return _compute_directional_feature_contributions(feature_ids, logits_path, activation, feature_col_names)


def _sum_by_feature_col_name_and_sort(names, vals):
    """Adds up values of the same name. An OrderedDict, the largest absolute value first."""
    sums = {}
    for name, value in zip(names, vals):
        sums[name] = sums.get(name, 0) + value
    return collections.OrderedDict(sorted(sums.items(), key=lambda item: abs(item[1]), reverse=True))
