"""What programs import as tensorflow.python.saved_model.signature_def_utils."""

from braid.tensorflow.python.saved_model.signature_def_utils_impl import (
    build_signature_def,
    classification_signature_def,
    is_valid_signature,
    load_op_from_signature_def,
    op_signature_def,
    predict_signature_def,
    regression_signature_def,
    supervised_eval_signature_def,
    supervised_train_signature_def,
)  # noqa: F401
