"""tf.contrib.checkpoint: checkpoints of objects, and looking into them."""

from braid.protos import TrackableObjectGraph as CheckpointableObjectGraph  # noqa: F401
from braid.tensorflow.contrib.checkpoint.python.containers import UniqueNameTracker  # noqa: F401
from braid.tensorflow.contrib.checkpoint.python.python_state import NumpyState  # noqa: F401
from braid.tensorflow.contrib.checkpoint.python.visualize import dot_graph_from_checkpoint  # noqa: F401
from braid.tensorflow.python.training.checkpoint_management import CheckpointManager  # noqa: F401
from braid.tensorflow.python.training.tracking.base import Trackable as CheckpointableBase  # noqa: F401
from braid.tensorflow.python.training.tracking.data_structures import (  # noqa: F401
    List,
    Mapping,
    NoDependency,
)
from braid.tensorflow.python.training.tracking.python_state import (  # noqa: F401
    PythonState as PythonStateWrapper,
)
from braid.tensorflow.python.training.tracking.tracking import (  # noqa: F401
    AutoTrackable as Checkpointable,
)
from braid.tensorflow.python.training.tracking.util import (  # noqa: F401
    capture_dependencies,
    list_objects,
    object_metadata,
)
