"""Reading checkpoints without a graph."""

from braid import _native
from braid.tensorflow.core.framework import types_pb2
from braid.tensorflow.python.framework import arrays, dtypes, ops
from braid.tensorflow.python.util import compat
from braid.tensorflow.python.util.tf_export import tf_export


class CheckpointReader:
    """The tensors of a checkpoint, by name. A partitioned variable is one tensor."""

    def __init__(self, filepattern):
        """filepattern: the checkpoint's prefix. NotFoundError: there is none; DataLossError: it is damaged."""
        self._prefix = compat.as_str(filepattern)
        self._reader = _call(_native.CheckpointReader, self._prefix)
        self._entries = {name: (dtype, shape) for name, dtype, shape in self._reader.entries()}

    def get_variable_to_shape_map(self):
        """The shapes, as lists, by name."""
        return {name: list(shape) for name, (_, shape) in self._entries.items()}

    def get_variable_to_dtype_map(self):
        """The dtypes by name."""
        return {name: dtypes.as_dtype(dtype) for name, (dtype, _) in self._entries.items()}

    def has_tensor(self, tensor_str):
        return compat.as_str(tensor_str) in self._entries

    def get_tensor(self, tensor_str):
        """The value as an array. NotFoundError: there is no such tensor."""
        return arrays.to_numpy(_call(self._reader.read, compat.as_str(tensor_str)))

    def debug_string(self):
        """The list of tensors with their types and shapes, as bytes."""
        lines = [
            f"{name} ({types_pb2.DataType.Name(dtype)}) [{','.join(map(str, shape))}]"
            for name, (dtype, shape) in self._entries.items()
        ]
        return "\n".join(lines).encode("utf-8")


def _call(function, *args):
    try:
        return function(*args)
    except _native.Error as error:
        raise ops.error_of(error) from None


@tf_export(v1=["train.NewCheckpointReader"])
def NewCheckpointReader(filepattern):
    """A reader of the checkpoint with this prefix."""
    return CheckpointReader(filepattern)
