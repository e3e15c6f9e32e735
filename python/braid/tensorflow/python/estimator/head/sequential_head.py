"""SequentialHeadWrapper: a head for each step of sequences."""

import abc
from collections.abc import Iterable

from braid.tensorflow.python.estimator.head import base_head
from braid.tensorflow.python.estimator.head import multi_head
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import check_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import sparse_ops


class _SequentialHead(base_head.Head):
    """A head for each step of sequences; the features have a mask of the steps that are there."""

    @property
    @abc.abstractmethod
    def input_sequence_mask_key(self):
        """The name of the mask among the features: booleans [batch, steps]."""


class SequentialHeadWrapper(_SequentialHead):
    """static_head for each step of sequences: the steps that the mask has are its examples.

    sequence_length_mask: the name of the mask among the features. feature_columns: names of the features
    that static_head uses, such as that of the weights: they have values for each step.
    """

    def __init__(self, static_head, sequence_length_mask="sequence_length_mask", feature_columns=None):
        if not isinstance(sequence_length_mask, str):
            raise TypeError(
                f"`sequence_mask` column must be a string. Given type: {type(sequence_length_mask)}."
            )
        feature_columns = feature_columns or []
        if not isinstance(feature_columns, Iterable):
            raise TypeError(
                "`feature_columns` must be either a string or an iterable of strings got "
                f"{type(feature_columns)} instead."
            )
        columns = [feature_columns] if isinstance(feature_columns, str) else list(feature_columns)
        for column in columns:
            if not isinstance(column, str):
                raise TypeError(f"Column must a string. Given type: {type(column)}.")
        if isinstance(static_head, multi_head.MultiHead):
            raise ValueError("`MultiHead` is not supported with `SequentialHeadWrapper`.")
        self._sequence_length_mask = sequence_length_mask
        self._feature_columns = columns
        self._static_head = static_head

    @property
    def static_head(self):
        return self._static_head

    @property
    def input_sequence_mask_key(self):
        return self._sequence_length_mask

    @property
    def logits_dimension(self):
        return self._static_head.logits_dimension

    @property
    def loss_reduction(self):
        return self._static_head.loss_reduction

    @property
    def name(self):
        return f"{self._static_head.name}_sequential" if self._static_head.name else None

    def _flatten(self, labels, logits, features):
        """(labels, logits, features) of the steps that are there, one after the other."""
        key = self.input_sequence_mask_key
        if key not in features:
            raise ValueError(
                f"The provided sequence_length_mask key `{key}` should be included in the features "
                f"dictionary, but was not found. Found keys: {list(features)}."
            )
        mask = features[key]
        if mask.get_shape().ndims != 2:
            raise ValueError(
                f"Mask is expected to have two dimensions, got {mask.get_shape().ndims} instead."
            )
        with ops.name_scope("flatten"):
            length = math_ops.reduce_sum(math_ops.cast(mask, dtypes.int32))
            flat_features = {}
            for column in self._feature_columns:
                if column not in features:
                    raise ValueError(f"`{column}` column expected in features dictionary.")
                flat_features[column] = _flatten_tensor(features[column], mask, length)
            return (
                _flatten_tensor(labels, mask, length),
                _flatten_tensor(logits, mask, length),
                flat_features,
            )

    def loss(self, labels, logits, features=None, mode=None, regularization_losses=None):
        labels, logits, features = self._flatten(labels, logits, features)
        return self._static_head.loss(
            logits=logits,
            labels=labels,
            features=features,
            mode=mode,
            regularization_losses=regularization_losses,
        )

    def predictions(self, logits, keys=None):
        return self._static_head.predictions(logits, keys=keys)

    def metrics(self, regularization_losses=None):
        return self._static_head.metrics(regularization_losses)

    def update_metrics(self, eval_metrics, features, logits, labels, regularization_losses=None, mode=None):
        labels, logits, features = self._flatten(labels, logits, features)
        return self._static_head.update_metrics(
            eval_metrics=eval_metrics,
            features=features,
            logits=logits,
            labels=labels,
            regularization_losses=regularization_losses,
        )

    def create_estimator_spec(
        self,
        features,
        mode,
        logits,
        labels=None,
        optimizer=None,
        trainable_variables=None,
        train_op_fn=None,
        update_ops=None,
        regularization_losses=None,
    ):
        if mode == ModeKeys.PREDICT:
            spec = self._static_head.create_estimator_spec(features=features, mode=mode, logits=logits)
            key = self.input_sequence_mask_key
            spec.predictions[key] = features[key]
            return spec._replace(predictions=spec.predictions)
        labels, logits, features = self._flatten(labels, logits, features)
        return self._static_head.create_estimator_spec(
            features=features,
            mode=mode,
            logits=logits,
            labels=labels,
            optimizer=optimizer,
            trainable_variables=trainable_variables,
            train_op_fn=train_op_fn,
            update_ops=update_ops,
            regularization_losses=regularization_losses,
        )


def _flatten_tensor(tensor, sequence_mask, expected_length):
    """The values of the steps that are there, [expected_length, ...]; a number for a step becomes [1]."""
    shape = tensor.get_shape()
    if shape.ndims < 2:
        raise ValueError(f"Input tensor expected to have at least 2 dimensions, got {shape.ndims} instead.")
    if isinstance(tensor, sparse_tensor.SparseTensor):
        flat = sparse_ops.sparse_reorder(tensor).values
        if shape.ndims > 2:
            flat = array_ops.reshape(flat, [-1] + shape.as_list()[2:])
    elif isinstance(tensor, ops.Tensor):
        flat = array_ops.boolean_mask(tensor, sequence_mask)
    else:
        raise ValueError(f"`tensor` expected to be a `Tensor` or  `SparseTensor` got `{tensor}` instead.")
    if shape.ndims == 2:
        flat = array_ops.expand_dims(flat, -1)
        expected = array_ops.stack([expected_length, 1])
    else:
        expected = array_ops.concat([[expected_length], shape.as_list()[2:]], axis=0)
    check = check_ops.assert_equal(
        array_ops.shape(flat), expected, message="Tensor shape is incompatible with provided mask."
    )
    with ops.control_dependencies([check]):
        return array_ops.identity(flat)
