"""Pictures (tf.image): the functions of image_ops_impl and of gen_image_ops."""

from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_image_ops
from braid.tensorflow.python.ops import image_ops_impl
from braid.tensorflow.python.ops import random_ops

_MODULES = (image_ops_impl, gen_image_ops)


def __getattr__(name):
    if name == "random_crop":
        return random_ops.random_crop
    if name in ("extract_image_patches", "extract_image_patches_v2"):
        return getattr(array_ops, name)
    if not name.startswith("__"):
        for module in _MODULES:
            if hasattr(module, name):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
