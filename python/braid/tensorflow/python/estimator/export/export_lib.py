"""All that is exported."""

# flake8: noqa
from braid.tensorflow.python.estimator.export.export import (
    ServingInputReceiver,
    SupervisedInputReceiver,
    TensorServingInputReceiver,
    UnsupervisedInputReceiver,
    build_all_signature_defs,
    build_parsing_serving_input_receiver_fn,
    build_raw_serving_input_receiver_fn,
    build_raw_supervised_input_receiver_fn,
    build_supervised_input_receiver_fn_from_input_fn,
    export_outputs_for_mode,
    get_temp_export_dir,
    get_timestamped_export_dir,
    wrap_and_check_input_tensors,
)
from braid.tensorflow.python.estimator.model_fn import EXPORT_TAG_MAP
from braid.tensorflow.python.estimator.export.export_output import (
    ClassificationOutput,
    EvalOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
    TrainOutput,
)
