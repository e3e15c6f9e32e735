"""Moving the elements of tensors around (tf.manip)."""

from braid.tensorflow.python.ops import gen_manip_ops
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export("roll", v1=["roll", "manip.roll"])
def roll(input, shift, axis, name=None):
    """Moves the elements along dimensions, the last ones to the front."""
    return gen_manip_ops.roll(input, shift, axis, name)
