"""Directories and signatures of exports."""

from braid.tensorflow.python.estimator.export import export_output as export_output_lib
from braid.tensorflow.python.estimator.export.export import (  # noqa: F401
    build_all_signature_defs,
    get_temp_export_dir,
)
from braid.tensorflow.python.estimator.util import get_timestamped_export_dir  # noqa: F401
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.saved_model import tag_constants
from braid.tensorflow.python.saved_model.model_utils import mode_keys

_DEFAULT = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY

EXPORT_TAG_MAP = mode_keys.ModeKeyMap(
    predict=[tag_constants.SERVING], train=[tag_constants.TRAINING], test=[tag_constants.EVAL]
)
SIGNATURE_KEY_MAP = mode_keys.ModeKeyMap(
    predict=_DEFAULT,
    train=signature_constants.DEFAULT_TRAIN_SIGNATURE_DEF_KEY,
    test=signature_constants.DEFAULT_EVAL_SIGNATURE_DEF_KEY,
)

SINGLE_FEATURE_DEFAULT_NAME = "feature"
SINGLE_RECEIVER_DEFAULT_NAME = "input"
SINGLE_LABEL_DEFAULT_NAME = "label"


def export_outputs_for_mode(mode, serving_export_outputs=None, predictions=None, loss=None, metrics=None):
    """The ExportOutputs of a mode, by the names of their signatures. ValueError: it is no mode."""
    if mode not in SIGNATURE_KEY_MAP:
        raise ValueError(
            f"Export output type not found for mode: {mode}. Expected one of: {list(SIGNATURE_KEY_MAP)}."
        )
    if mode_keys.is_predict(mode):
        return get_export_outputs(serving_export_outputs, predictions)
    is_train = mode_keys.is_train(mode)
    kind = export_output_lib.TrainOutput if is_train else export_output_lib.EvalOutput
    return {SIGNATURE_KEY_MAP[mode]: kind(loss=loss, predictions=predictions, metrics=metrics)}


def get_export_outputs(export_outputs, predictions):
    """ExportOutputs that are checked; those of the predictions if there are none. The only one is the
    default.

    TypeError, ValueError: they are none, or several without a default.
    """
    if export_outputs is None:
        export_outputs = {_DEFAULT: export_output_lib.PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError("export_outputs must be dict, given: {}".format(export_outputs))
    if not all(isinstance(v, export_output_lib.ExportOutput) for v in export_outputs.values()):
        raise TypeError(
            "Values in export_outputs must be ExportOutput objects. Given: {}".format(export_outputs)
        )
    if _DEFAULT not in export_outputs:
        if len(export_outputs) > 1:
            raise ValueError(
                "Multiple export_outputs were provided, but none of them is specified as the default.  Do this by "
                "naming one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
            )
        for value in list(export_outputs.values()):
            export_outputs[_DEFAULT] = value
    return export_outputs
