"""Operations on sets (tf.sets)."""

from braid.tensorflow.python.ops.sets_impl import set_difference, set_intersection, set_size, set_union
