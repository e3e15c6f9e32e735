"""What programs import as tensorflow.python.saved_model.main_op."""

from braid.tensorflow.python.saved_model.main_op_impl import main_op, main_op_with_restore  # noqa: F401
