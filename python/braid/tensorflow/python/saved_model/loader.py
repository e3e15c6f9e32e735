"""What programs import as tensorflow.python.saved_model.loader."""

from braid.tensorflow.python.saved_model.loader_impl import (
    SavedModelLoader,
    contains_saved_model,
    load,
    maybe_saved_model_directory,
    parse_saved_model,
)  # noqa: F401
