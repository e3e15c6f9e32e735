"""State of Python in checkpoints of objects."""

import abc
import functools

from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("train.experimental.PythonState")
class PythonState(base.Trackable, metaclass=abc.ABCMeta):
    """An object that checkpoints have as a string. Subclasses say how."""

    @abc.abstractmethod
    def serialize(self):
        """The state as a string, at each save."""

    @abc.abstractmethod
    def deserialize(self, string_value):
        """Takes the state of a checkpoint over."""

    def _gather_saveables_for_checkpoint(self):
        return {
            "py_state": functools.partial(
                base.PythonStringStateSaveable,
                state_callback=self.serialize,
                restore_callback=self.deserialize,
            )
        }
