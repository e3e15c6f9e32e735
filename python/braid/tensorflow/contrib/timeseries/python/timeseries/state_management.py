"""Which state a window begins with: none, one that is given, or the one that the window before it ended with."""

import abc

from braid.tensorflow.contrib.timeseries.python.timeseries import feature_keys
from braid.tensorflow.contrib.timeseries.python.timeseries import math_utils
from braid.tensorflow.contrib.timeseries.python.timeseries.model import ModelOutputs
from braid.tensorflow.python.estimator import estimator_lib
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.util import nest

_Features = feature_keys.TrainEvalFeatures


class PassthroughStateManager:
    """No management: each window begins with the model's start state."""

    def __init__(self):
        self._input_statistics = None
        self._graph_initialized = False

    def initialize_graph(self, model, input_statistics=None):
        """Begins in the default graph."""
        self._graph_initialized = True
        self._input_statistics = input_statistics

    def define_loss(self, model, features, mode):
        """The ModelOutputs of features, for training or evaluation."""
        if feature_keys.State.STATE_TUPLE in features:
            raise ValueError("Overriding start state is not supported for this model.")
        return model.define_loss(features, mode)


class _OverridableStateManager(PassthroughStateManager):
    """A manager whose state is replaced by the one that features have."""

    @abc.abstractmethod
    def _define_loss_with_saved_state(self, model, features, mode):
        """The ModelOutputs, with the manager's state."""

    def define_loss(self, model, features, mode):
        key = feature_keys.FilteringFeatures.STATE_TUPLE
        if key not in features:
            return self._define_loss_with_saved_state(model=model, features=features, mode=mode)
        if mode == estimator_lib.ModeKeys.TRAIN:
            raise ValueError(
                "Overriding saved state for training is not supported "
                f"(but a value for feature {key} was specified)."
            )
        start_state = features.pop(key)
        return model.get_batch_loss(features=features, mode=mode, state=start_state)


class FilteringOnlyStateManager(_OverridableStateManager):
    """For models that need a state for filtering alone, as those of windows, where it is the last window."""

    def _define_loss_with_saved_state(self, model, features, mode):
        return model.define_loss(features, mode)


class ChainingStateManager(_OverridableStateManager):
    """For sequential models: a window begins with a state that an earlier step of training saved.

    The series is divided into chunks of times. A table has for each chunk the state that a window was in
    when it came to the chunk's first time. A step reads the states of its windows, runs all windows side by
    side, and writes the states that it came through: those it read may be some steps old.
    """

    def __init__(self, state_saving_interval=20, checkpoint_state=False):
        """A manager with a state for every `state_saving_interval` times.

        checkpoint_state: the table is in checkpoints, which grow with the series; else training begins with
        none after a restore.
        """
        super().__init__()
        self._checkpoint_state = checkpoint_state
        self._state_saving_interval = state_saving_interval
        self._start_state = None
        self._cached_states = None

    def initialize_graph(self, model, input_statistics=None):
        super().initialize_graph(model=model, input_statistics=input_statistics)
        self._start_state = model.get_start_state()
        self._cached_states = math_utils.TupleOfTensorsLookup(
            key_dtype=dtypes.int64,
            default_values=self._start_state,
            empty_key=-1,
            deleted_key=-2,
            name="cached_states",
            checkpoint=self._checkpoint_state,
        )

    def _define_loss_with_saved_state(self, model, features, mode):
        if not self._graph_initialized:
            raise ValueError("ChainingStateManager requires initialize_graph() to be called before use.")
        loss, end_state, predictions = self._update_cached_states(model=model, features=features, mode=mode)
        # The state of the last window, as a batch of one, with which predictions can go on.
        last = [element[-1][None] for element in nest.flatten(end_state)]
        predictions["observed"] = features[_Features.VALUES]
        return ModelOutputs(
            loss=loss,
            end_state=nest.pack_sequence_as(end_state, last),
            predictions=predictions,
            prediction_times=features[_Features.TIMES],
        )

    def _get_chunk_number(self, time):
        return time // self._state_saving_interval

    def _get_cached_states(self, times):
        """The states for windows that begin at times [batch]."""
        chunks = self._get_chunk_number(times)
        found = tuple(self._cached_states.lookup(math_ops.cast(chunks, dtypes.int64)))
        start_time = 0 if self._input_statistics is None else self._input_statistics.start_time
        # The first chunk has the start state itself, not one out of the table, so that it is trained.
        is_start = math_ops.equal(chunks, self._get_chunk_number(start_time))
        start = math_utils.replicate_state(self._start_state, array_ops.shape(times)[0])
        states = [
            array_ops.where(is_start, first, saved)
            for first, saved in zip(nest.flatten(start), nest.flatten(found))
        ]
        return nest.pack_sequence_as(found, states)

    def _update_cached_states(self, model, features, mode):
        """The loss (which saves the states), the states at the ends of the windows, and the predictions."""
        times = features[_Features.TIMES]
        start = self._get_cached_states(times[:, 0])
        model_loss, states, predictions = model.per_step_batch_loss(features=features, mode=mode, state=start)
        # A state goes where a window would look that begins with the next observation, at the least into
        # the chunk behind its own. Where several go to one place, the last stays.
        following = self._get_chunk_number(times) + 1
        next_times = array_ops.concat([times[:, 1:], times[:, -1:] + 1], axis=1)
        chunks = math_ops.maximum(self._get_chunk_number(next_times), following)
        saved = self._cached_states.insert(keys=chunks, values=states)
        ends = [element[:, -1] for element in nest.flatten(states)]
        with ops.control_dependencies([saved]):
            loss = array_ops.identity(model_loss)
        return loss, nest.pack_sequence_as(states, ends), predictions
