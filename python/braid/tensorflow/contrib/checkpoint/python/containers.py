"""A container of trackable objects whose names are made unique."""

from braid.tensorflow.python.training.tracking import base
from braid.tensorflow.python.training.tracking import data_structures


class UniqueNameTracker(data_structures.TrackableDataStructure):
    """Depends on objects under names like "x", "x_1"."""

    def __init__(self):
        self._counts = {}

    @property
    def _values(self):
        return [reference.ref for reference in self._checkpoint_dependencies]

    def track(self, trackable, base_name):
        """Adds a dependency, and returns it. ValueError: it is not trackable."""
        if not isinstance(trackable, base.Trackable):
            raise ValueError(
                f"Expected a trackable value, got {trackable} which does not inherit from tf.track.Trackable."
            )
        count = self._counts.get(base_name, 0)
        name = f"{base_name}_{count}" if count else base_name
        while self._lookup_dependency(name) is not None:
            count += 1
            name = f"{base_name}_{count}"
        self._counts[base_name] = count + 1
        return self._track_trackable(trackable, name=name)
