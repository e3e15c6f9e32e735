"""Arrays of numpy in checkpoints of objects."""

import io

import numpy

from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.training.tracking import python_state


class NumpyState(base.Trackable):
    """An object whose attributes that are arrays of numpy are saved and restored.

    A restore makes the attributes that the saved object had. It does not wait for run_restore_ops().
    """

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        return value.array if isinstance(value, _Array) else value

    def __setattr__(self, name, value):
        if isinstance(value, (numpy.ndarray, numpy.generic)):
            held = self.__dict__.get(name)
            if isinstance(held, _Array):
                held.array = value
                return
            value = self._track_trackable(_Array(value), name=name, overwrite=True)
        super().__setattr__(name, value)

    def _create_dependency(self, name):
        """Makes the attribute of a dependency that a checkpoint has and this object has not."""
        setattr(self, name, numpy.array([]))


class _Array(python_state.PythonState):
    """An array in the form of numpy.save."""

    def __init__(self, array):
        self.array = array

    def serialize(self):
        content = io.BytesIO()
        numpy.save(content, self.array, allow_pickle=False)
        return content.getvalue()

    def deserialize(self, string_value):
        self.array = numpy.load(io.BytesIO(string_value), allow_pickle=False)
