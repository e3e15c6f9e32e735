"""What programs import as tensorflow.python.saved_model.saved_model."""

from braid.tensorflow.python.saved_model import (  # noqa: F401
    builder,
    constants,
    loader,
    main_op,
    signature_constants,
    signature_def_utils,
    tag_constants,
    utils,
)
from braid.tensorflow.python.saved_model.simple_save import simple_save  # noqa: F401
