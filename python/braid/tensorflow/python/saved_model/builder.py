"""What programs import as tensorflow.python.saved_model.builder."""

from braid.tensorflow.python.saved_model.builder_impl import (  # noqa: F401
    SavedModelBuilder,
    _SavedModelBuilder,
)
