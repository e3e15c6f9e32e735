"""TensorFlow's debugger, which Braid does not have: what programs import is there, and says so when it is used."""

_WAY = "tf.Print, tf.Assert and tf.add_check_numerics_ops show values, and tf.RunMetadata what ran"


def _absent(name):
    class Absent:
        """Raises NotImplementedError."""

        def __init__(self, *args, **kwargs):
            raise NotImplementedError(f"tfdbg.{name} is not in Braid: {_WAY}")

    Absent.__name__ = Absent.__qualname__ = name
    return Absent


for _name in (
    "DebugDumpDir DebugTensorDatum DumpingDebugHook DumpingDebugWrapperSession GrpcDebugHook "
    "GrpcDebugWrapperSession LocalCLIDebugHook LocalCLIDebugWrapperSession TensorBoardDebugHook "
    "TensorBoardDebugWrapperSession WatchOptions add_debug_tensor_watch load_tensor_from_event "
    "load_tensor_from_event_file reconstruct_non_debug_graph_def watch_graph watch_graph_with_blacklists"
).split():
    globals()[_name] = _absent(_name)


def has_inf_or_nan(datum, tensor):
    """Whether an array has a number that is infinite or none."""
    import numpy as np

    if not isinstance(tensor, np.ndarray) or not np.issubdtype(tensor.dtype, np.inexact):
        return False
    return not np.all(np.isfinite(tensor))
