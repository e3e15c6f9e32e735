"""EstimatorSpec: what a model function returns."""

import collections

from braid.tensorflow.python.estimator import mode_keys
from braid.tensorflow.python.estimator import util
from braid.tensorflow.python.estimator.export import export_output as export_output_lib
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import control_flow_ops
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.saved_model import tag_constants
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.training import session_run_hook
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import estimator_export

LOSS_METRIC_KEY = "loss"
AVERAGE_LOSS_METRIC_KEY = "average_loss"
ModeKeys = mode_keys.ModeKeys

EXPORT_TAG_MAP = {
    ModeKeys.PREDICT: [tag_constants.SERVING],
    ModeKeys.TRAIN: [tag_constants.TRAINING],
    ModeKeys.EVAL: [getattr(tag_constants, "EVAL", "eval")],
}

_FIELDS = [
    "mode",
    "predictions",
    "loss",
    "train_op",
    "eval_metric_ops",
    "export_outputs",
    "training_chief_hooks",
    "training_hooks",
    "scaffold",
    "evaluation_hooks",
    "prediction_hooks",
]


@estimator_export("estimator.EstimatorSpec")
class EstimatorSpec(collections.namedtuple("EstimatorSpec", _FIELDS)):
    """Ops and objects of a model, for one mode.

    mode: a ModeKeys. predictions: a tensor or a dict of them. loss: a scalar. train_op: makes a step.
    eval_metric_ops: a dict from names to (value, update op) or Metric objects. export_outputs: a dict from
    names of signatures to ExportOutputs. Hooks are lists of SessionRunHook. scaffold: a Scaffold.

    Training needs loss and train_op, evaluation loss, prediction predictions.
    """

    def __new__(
        cls,
        mode,
        predictions=None,
        loss=None,
        train_op=None,
        eval_metric_ops=None,
        export_outputs=None,
        training_chief_hooks=None,
        training_hooks=None,
        scaffold=None,
        evaluation_hooks=None,
        prediction_hooks=None,
    ):
        _check_needed(mode, predictions, loss, train_op)
        predictions = {} if predictions is None else predictions
        hooks = [
            _as_hooks(given)
            for given in (training_chief_hooks, training_hooks, evaluation_hooks, prediction_hooks)
        ]
        train_op = _checked_train_op(train_op)
        loss = _checked_loss(loss)
        _check_predictions(predictions)
        eval_metric_ops = _checked_metrics(eval_metric_ops)
        if mode == ModeKeys.PREDICT:
            export_outputs = _checked_export_outputs(export_outputs, predictions)
        scaffold = scaffold or monitored_session.Scaffold()
        if not isinstance(scaffold, monitored_session.Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        _check_same_graph(train_op, loss, predictions)
        return super().__new__(
            cls,
            mode=mode,
            predictions=predictions,
            loss=loss,
            train_op=train_op,
            eval_metric_ops=eval_metric_ops,
            export_outputs=export_outputs,
            training_chief_hooks=hooks[0],
            training_hooks=hooks[1],
            scaffold=scaffold,
            evaluation_hooks=hooks[2],
            prediction_hooks=hooks[3],
        )

    def _replace(self, **kwds):
        """A copy with some fields changed, which are checked like those of a new one. The mode stays."""
        if "mode" in kwds and self.mode != kwds["mode"]:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        fields = {name: kwds.pop(name, getattr(self, name)) for name in self._fields}
        if kwds:
            raise ValueError(f"Got unexpected field names: {list(kwds)!r}")
        return EstimatorSpec(**fields)


class _TPUEstimatorSpec(
    collections.namedtuple(
        "TPUEstimatorSpec",
        [
            "mode",
            "predictions",
            "loss",
            "train_op",
            "eval_metrics",
            "export_outputs",
            "scaffold_fn",
            "host_call",
            "training_hooks",
            "evaluation_hooks",
            "prediction_hooks",
        ],
        defaults=[None] * 10,
    )
):
    """What heads return; tf.estimator.tpu.TPUEstimatorSpec. See EstimatorSpec.

    eval_metrics: (a function, its tensors as a list or a dict by argument); it returns a dict of metrics.
    scaffold_fn: a function that returns a Scaffold. host_call: (a function, its tensors), run with each step.
    """

    def as_estimator_spec(self):
        """The EstimatorSpec."""
        train_op = self.train_op
        if self.host_call is not None and train_op is not None:
            train_op = control_flow_ops.group(train_op, _called(*self.host_call))
        return EstimatorSpec(
            mode=self.mode,
            predictions=self.predictions,
            loss=self.loss,
            train_op=train_op,
            eval_metric_ops=_called(*self.eval_metrics) if self.eval_metrics else None,
            export_outputs=self.export_outputs,
            scaffold=self.scaffold_fn() if self.scaffold_fn else None,
            training_hooks=self.training_hooks,
            evaluation_hooks=self.evaluation_hooks,
            prediction_hooks=self.prediction_hooks,
        )


def _called(fn, tensors):
    return fn(**tensors) if isinstance(tensors, dict) else fn(*tensors)


def _check_needed(mode, predictions, loss, train_op):
    if mode == ModeKeys.TRAIN and train_op is None:
        raise ValueError("Missing train_op.")
    if mode == ModeKeys.PREDICT and predictions is None:
        raise ValueError("Missing predictions.")
    if mode in (ModeKeys.TRAIN, ModeKeys.EVAL) and loss is None:
        raise ValueError("Missing loss.")


def _as_hooks(hooks):
    hooks = tuple(hooks) if hooks else ()
    for hook in hooks:
        if not isinstance(hook, session_run_hook.SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
    return hooks


def _checked_train_op(train_op):
    if train_op is None or isinstance(train_op, ops.Operation) or ops.is_dense_tensor_like(train_op):
        return train_op
    raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")


def _checked_tensor(value, name):
    if not ops.is_dense_tensor_like(value):
        raise TypeError(f"{name} must be Tensor, given: {value}")
    return value


def _checked_loss(loss):
    if loss is None:
        return None
    shape = _checked_tensor(loss, "loss").get_shape()
    if shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    if not shape.is_compatible_with(tensor_shape.TensorShape([])):
        loss = array_ops.reshape(loss, [])
    return loss


def _check_predictions(predictions):
    if not isinstance(predictions, dict):
        _checked_tensor(predictions, "predictions")
        return
    for key, value in predictions.items():
        _checked_tensor(value, f"predictions[{key}]")


def _checked_metrics(eval_metric_ops):
    """The metrics as pairs (value, update op), those of Metric objects too, whose variables are local ones."""
    if eval_metric_ops is None:
        return {}
    if not isinstance(eval_metric_ops, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {eval_metric_ops}")
    variables = []
    for key, value in eval_metric_ops.items():
        if hasattr(value, "updates") and hasattr(value, "result"):
            if not value.updates:
                raise ValueError(f'Please call update_state(...) on the "{value.name}" metric')
            variables.extend(value.variables)
            value = (value.result(), value.updates[0])
        elif not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, "
                f"given: {value} for key: {key}"
            )
        for part in nest.flatten(value):
            _check_graph("eval_metric_ops", f"{key}: {getattr(part, 'name', part)}", part)
        eval_metric_ops[key] = value
    for collection in (ops.GraphKeys.LOCAL_VARIABLES, ops.GraphKeys.METRIC_VARIABLES):
        for variable in variables:
            if not any(variable is known for known in ops.get_collection(collection)):
                ops.add_to_collection(collection, variable)
    return eval_metric_ops


def _checked_export_outputs(export_outputs, predictions):
    default = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if export_outputs is None:
        export_outputs = {default: export_output_lib.PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {export_outputs}")
    for value in export_outputs.values():
        if not isinstance(value, export_output_lib.ExportOutput):
            raise TypeError(f"Values in export_outputs must be ExportOutput objects. Given: {export_outputs}")
    if len(export_outputs) == 1 and default not in export_outputs:
        (value,) = export_outputs.values()
        export_outputs[default] = value
    if len(export_outputs) > 1 and default not in export_outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default.  Do this by naming "
            f"one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY ('{default}')."
        )
    return export_outputs


def _check_same_graph(train_op, loss, predictions):
    values = list(predictions.values()) if isinstance(predictions, dict) else [predictions]
    for name, value in [("train_op", train_op), ("loss", loss)] + [("prediction values", v) for v in values]:
        if value is not None:
            _check_graph(name, getattr(value, "name", value), value)


def _check_graph(name, what, value):
    graph = ops.get_default_graph()
    if getattr(value, "graph", graph) is not graph:
        raise ValueError(
            f'{name} with "{what}" must be from the default graph. Possible causes of this error include: '
            f"\n\n1) {name} was created outside the context of the default graph."
            f"\n\n2) The object passed through to EstimatorSpec was not created in the most recent "
            'call to "model_fn".'
        )


@estimator_export(v1=["estimator.experimental.call_logit_fn"])
def call_logit_fn(logit_fn, features, mode, params, config):
    """logit_fn(features, ...) with those of mode, params and config that it takes. Returns a tensor, or a
    dict."""
    known = {"mode": mode, "params": params, "config": config}
    kwargs = {name: known[name] for name in util.fn_args(logit_fn) if name in known}
    result = logit_fn(features=features, **kwargs)
    values = result.values() if isinstance(result, dict) else [result]
    keys = result if isinstance(result, dict) else ()
    if not all(isinstance(v, ops.Tensor) for v in values) or not all(isinstance(k, str) for k in keys):
        raise ValueError(
            "logit_fn should return a Tensor or a dictionary mapping strings to Tensors.  "
            f"logit_fn returned: {result}"
        )
    return result
