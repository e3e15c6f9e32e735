"""What programs import as tensorflow.python.saved_model.utils."""

from braid.tensorflow.python.saved_model.utils_impl import (
    build_tensor_info,
    get_tensor_from_tensor_info,
)  # noqa: F401
