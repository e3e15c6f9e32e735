"""Pictures turned, moved and projected (tf.contrib.image)."""

from braid.tensorflow.contrib.image.python.ops.dense_image_warp import dense_image_warp
from braid.tensorflow.contrib.image.python.ops.image_ops import angles_to_projective_transforms
from braid.tensorflow.contrib.image.python.ops.image_ops import bipartite_match
from braid.tensorflow.contrib.image.python.ops.image_ops import compose_transforms
from braid.tensorflow.contrib.image.python.ops.image_ops import flat_transforms_to_matrices
from braid.tensorflow.contrib.image.python.ops.image_ops import matrices_to_flat_transforms
from braid.tensorflow.contrib.image.python.ops.image_ops import rotate
from braid.tensorflow.contrib.image.python.ops.image_ops import transform
from braid.tensorflow.contrib.image.python.ops.image_ops import translate
from braid.tensorflow.contrib.image.python.ops.image_ops import translations_to_projective_transforms
from braid.tensorflow.contrib.image.python.ops.interpolate_spline import interpolate_spline
from braid.tensorflow.contrib.image.python.ops.sparse_image_warp import sparse_image_warp


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.image.{name}"))
