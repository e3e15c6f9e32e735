"""tf.contrib.timeseries: models of time series (autoregressive, and in state spaces) and their Estimators."""

from braid.tensorflow.contrib.timeseries.python.timeseries import saved_model_utils  # noqa: F401
from braid.tensorflow.contrib.timeseries.python.timeseries.ar_model import ARModel  # noqa: F401
from braid.tensorflow.contrib.timeseries.python.timeseries.estimators import (  # noqa: F401
    ARRegressor,
    StructuralEnsembleRegressor,
    TimeSeriesRegressor,
)
from braid.tensorflow.contrib.timeseries.python.timeseries.feature_keys import (  # noqa: F401
    FilteringResults,
    TrainEvalFeatures,
)
from braid.tensorflow.contrib.timeseries.python.timeseries.head import OneShotPredictionHead  # noqa: F401
from braid.tensorflow.contrib.timeseries.python.timeseries.input_pipeline import (  # noqa: F401
    CSVReader,
    NumpyReader,
    RandomWindowInputFn,
    WholeDatasetInputFn,
    predict_continuation_input_fn,
)


def __getattr__(name):
    from braid.tensorflow import missing

    raise AttributeError(missing.message(f"contrib.timeseries.{name}"))
