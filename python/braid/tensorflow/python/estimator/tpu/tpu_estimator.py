"""TPUEstimator and TPUEstimatorSpec for programs that also run without a TPU.

With use_tpu=False, TPUEstimator is an Estimator whose params hold the batch size of the mode.
"""

from braid.tensorflow.python.estimator import estimator as estimator_lib
from braid.tensorflow.python.estimator import model_fn as model_fn_lib
from braid.tensorflow.python.estimator import util
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.estimator.tpu import tpu_config
from braid.tensorflow.python.util.tf_export import estimator_export

_BATCH_SIZE_KEY = "batch_size"


@estimator_export(v1=["estimator.tpu.TPUEstimatorSpec"])
class TPUEstimatorSpec(model_fn_lib._TPUEstimatorSpec):
    """What a model function returns. See EstimatorSpec and model_fn._TPUEstimatorSpec."""


@estimator_export(v1=["estimator.tpu.TPUEstimator"])
class TPUEstimator(estimator_lib.Estimator):
    """An Estimator that gives model and input functions params["batch_size"]. use_tpu=True is refused.

    train_batch_size, eval_batch_size, predict_batch_size: of all workers together.
    """

    def __init__(
        self,
        model_fn=None,
        model_dir=None,
        config=None,
        params=None,
        use_tpu=True,
        train_batch_size=None,
        eval_batch_size=None,
        predict_batch_size=None,
        batch_axis=None,
        eval_on_tpu=True,
        export_to_tpu=True,
        export_to_cpu=True,
        warm_start_from=None,
        embedding_config_spec=None,
        export_saved_model_api_version=None,
    ):
        if use_tpu:
            raise NotImplementedError("TPUEstimator(use_tpu=True): there are no TPUs; give use_tpu=False")
        if config is None or not isinstance(config, tpu_config.RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        if params is not None and _BATCH_SIZE_KEY in params:
            raise ValueError(f"{_BATCH_SIZE_KEY} are reserved keys but existed in params {params}.")
        if embedding_config_spec is not None:
            raise NotImplementedError("TPUEstimator(embedding_config_spec=): use tf.feature_column")
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        self._own_model_fn = model_fn
        names = util.fn_args(model_fn)

        def new_model_fn(features, labels, mode, params, config):
            known = {
                "labels": labels,
                "mode": mode,
                "params": self._with_batch_size(params, mode),
                "config": config,
            }
            result = model_fn(features=features, **{n: known[n] for n in names if n in known})
            return result.as_estimator_spec() if hasattr(result, "as_estimator_spec") else result

        super().__init__(
            model_fn=new_model_fn,
            model_dir=model_dir,
            config=config,
            params=params or {},
            warm_start_from=warm_start_from,
        )

    def _with_batch_size(self, params, mode):
        params = dict(params) if isinstance(params, dict) else params
        size = self._batch_sizes.get(mode)
        if size is None:
            return params
        if hasattr(params, "add_hparam"):
            if _BATCH_SIZE_KEY not in params:
                params.add_hparam(_BATCH_SIZE_KEY, size)
            else:
                params.set_hparam(_BATCH_SIZE_KEY, size)
        else:
            params[_BATCH_SIZE_KEY] = size
        return params

    def _call_input_fn(self, input_fn, mode):
        from braid.tensorflow.python.framework import ops

        names = util.fn_args(input_fn)
        config = self.config
        known = {"mode": mode, "params": self._with_batch_size(self.params, mode), "config": config}
        with ops.device("/cpu:0"):
            return input_fn(**{n: known[n] for n in names if n in known})
