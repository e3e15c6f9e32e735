"""TensorFlow's debugger, tfdbg: shows in the terminal, or writes to files, what runs compute."""

from braid.tensorflow.python.debug.lib.debug_data import DebugDumpDir
from braid.tensorflow.python.debug.lib.debug_data import DebugTensorDatum
from braid.tensorflow.python.debug.lib.debug_data import has_inf_or_nan
from braid.tensorflow.python.debug.lib.debug_data import load_tensor_from_event
from braid.tensorflow.python.debug.lib.debug_data import load_tensor_from_event_file
from braid.tensorflow.python.debug.lib.debug_gradients import GradientsDebugger
from braid.tensorflow.python.debug.lib.debug_gradients import clear_gradient_debuggers
from braid.tensorflow.python.debug.lib.debug_graphs import reconstruct_non_debug_graph_def
from braid.tensorflow.python.debug.lib.debug_utils import add_debug_tensor_watch
from braid.tensorflow.python.debug.lib.debug_utils import watch_graph
from braid.tensorflow.python.debug.lib.debug_utils import watch_graph_with_blacklists
from braid.tensorflow.python.debug.wrappers.dumping_wrapper import DumpingDebugWrapperSession
from braid.tensorflow.python.debug.wrappers.framework import WatchOptions
from braid.tensorflow.python.debug.wrappers.grpc_wrapper import GrpcDebugWrapperSession
from braid.tensorflow.python.debug.wrappers.grpc_wrapper import TensorBoardDebugWrapperSession
from braid.tensorflow.python.debug.wrappers.hooks import DumpingDebugHook
from braid.tensorflow.python.debug.wrappers.hooks import GrpcDebugHook
from braid.tensorflow.python.debug.wrappers.hooks import LocalCLIDebugHook
from braid.tensorflow.python.debug.wrappers.hooks import TensorBoardDebugHook
from braid.tensorflow.python.debug.wrappers.local_cli_wrapper import LocalCLIDebugWrapperSession

__all__ = [
    "DebugDumpDir",
    "DebugTensorDatum",
    "DumpingDebugHook",
    "DumpingDebugWrapperSession",
    "GradientsDebugger",
    "GrpcDebugHook",
    "GrpcDebugWrapperSession",
    "LocalCLIDebugHook",
    "LocalCLIDebugWrapperSession",
    "TensorBoardDebugHook",
    "TensorBoardDebugWrapperSession",
    "WatchOptions",
    "add_debug_tensor_watch",
    "clear_gradient_debuggers",
    "has_inf_or_nan",
    "load_tensor_from_event",
    "load_tensor_from_event_file",
    "reconstruct_non_debug_graph_def",
    "watch_graph",
    "watch_graph_with_blacklists",
]
