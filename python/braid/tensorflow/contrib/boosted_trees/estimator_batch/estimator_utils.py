"""EstimatorSpecs of tf.estimator as ModelFnOps of tf.contrib.learn."""

from braid.tensorflow.contrib.learn.python.learn.estimators import constants, estimators, prediction_key
from braid.tensorflow.contrib.learn.python.learn.estimators import model_fn as contrib_model_fn_lib
from braid.tensorflow.python.estimator import model_fn as model_fn_lib
from braid.tensorflow.python.estimator.export import export_output

_MODES = {
    model_fn_lib.ModeKeys.TRAIN: contrib_model_fn_lib.ModeKeys.TRAIN,
    model_fn_lib.ModeKeys.EVAL: contrib_model_fn_lib.ModeKeys.EVAL,
    model_fn_lib.ModeKeys.PREDICT: contrib_model_fn_lib.ModeKeys.INFER,
}


def _alternatives(export_outputs):
    if export_outputs is None:
        return None
    keys = prediction_key.PredictionKey
    return {
        name: (
            constants.ProblemType.CLASSIFICATION,
            {keys.SCORES: output.scores, keys.CLASSES: output.classes},
        )
        for name, output in export_outputs.items()
        if isinstance(output, export_output.ClassificationOutput)
    }


def estimator_spec_to_model_fn_ops(estimator_spec, export_alternatives=False):
    return estimators.ModelFnOps(
        mode=_MODES[estimator_spec.mode],
        predictions=estimator_spec.predictions,
        loss=estimator_spec.loss,
        train_op=estimator_spec.train_op,
        eval_metric_ops=estimator_spec.eval_metric_ops,
        output_alternatives=_alternatives(estimator_spec.export_outputs) if export_alternatives else None,
        training_chief_hooks=[],
        training_hooks=[],
    )
