"""Summaries that ops write to event files while a step runs (tf.contrib.summary)."""

from braid.tensorflow.python.ops.summary_ops_v2 import all_summary_ops  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import always_record_summaries  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import audio  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import create_db_writer  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import create_file_writer  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import create_summary_file_writer  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import eval_dir  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import flush  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import generic  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import graph  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import histogram  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import image  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import import_event  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import initialize  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import never_record_summaries  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import record_summaries_every_n_global_steps  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import scalar  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import should_record_summaries  # noqa: F401
from braid.tensorflow.python.ops.summary_ops_v2 import summary_writer_initializer_op  # noqa: F401


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.summary.{name}"))
