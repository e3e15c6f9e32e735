"""tf.contrib.graph_editor: changes a graph that is built, and copies parts of it."""

from braid.tensorflow.contrib.graph_editor import (
    edit,
    reroute,
    select,
    subgraph,
    transform,
    util,
)  # noqa: F401
from braid.tensorflow.contrib.graph_editor.edit import *  # noqa: F401,F403
from braid.tensorflow.contrib.graph_editor.reroute import *  # noqa: F401,F403
from braid.tensorflow.contrib.graph_editor.select import *  # noqa: F401,F403
from braid.tensorflow.contrib.graph_editor.subgraph import *  # noqa: F401,F403
from braid.tensorflow.contrib.graph_editor.transform import *  # noqa: F401,F403
from braid.tensorflow.contrib.graph_editor.util import *  # noqa: F401,F403

ph = util.make_placeholder_from_dtype_and_shape
sgv = subgraph.make_view
sgv_scope = subgraph.make_view_from_scope
