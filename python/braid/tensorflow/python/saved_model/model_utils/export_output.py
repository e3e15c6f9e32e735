"""What a model gives when it is exported."""

from braid.tensorflow.python.estimator.export.export_output import (  # noqa: F401
    ClassificationOutput,
    EvalOutput,
    ExportOutput,
    PredictOutput,
    RegressionOutput,
    TrainOutput,
    _SupervisedOutput,
)
