"""Numbers without end."""

from braid.tensorflow.python.data.ops import dataset_ops
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["data.experimental.Counter"])
def Counter(start=0, step=1, dtype=dtypes.int64):
    """A dataset of start, start + step, start + 2 step, ..."""
    with ops.name_scope("counter"):
        start = ops.convert_to_tensor(start, dtype=dtype, name="start")
        step = ops.convert_to_tensor(step, dtype=dtype, name="step")
        return dataset_ops.Dataset.from_tensors(0).repeat(None).apply(_scan_of(start, step))


CounterV1 = CounterV2 = Counter


def _scan_of(start, step):
    from braid.tensorflow.python.data.experimental.ops import scan_ops

    return scan_ops.scan(start, lambda state, _: (state + step, state))
