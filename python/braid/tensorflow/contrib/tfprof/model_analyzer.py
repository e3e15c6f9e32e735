"""tf.profiler.profile under its old name."""

from braid.tensorflow.python.profiler.model_analyzer import ALL_ADVICE  # noqa: F401
from braid.tensorflow.python.profiler.model_analyzer import Profiler  # noqa: F401
from braid.tensorflow.python.profiler.model_analyzer import advise  # noqa: F401
from braid.tensorflow.python.profiler.model_analyzer import profile
from braid.tensorflow.python.profiler.option_builder import ProfileOptionBuilder
from braid.tensorflow.python.profiler.profile_context import ProfileContext  # noqa: F401

TRAINABLE_VARS_PARAMS_STAT_OPTIONS = ProfileOptionBuilder.trainable_variables_parameter()
FLOAT_OPS_OPTIONS = ProfileOptionBuilder.float_operation()
PRINT_ALL_TIMING_MEMORY = ProfileOptionBuilder.time_and_memory()


def print_model_analysis(
    graph,
    run_meta=None,
    op_log=None,
    tfprof_cmd="scope",
    tfprof_options=TRAINABLE_VARS_PARAMS_STAT_OPTIONS,
):
    """Shows a profile of a graph and returns it: see tf.profiler.profile."""
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)
