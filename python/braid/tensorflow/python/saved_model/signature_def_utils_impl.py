"""Signatures: which tensors a saved model takes, and which it gives."""

from braid import protos
from braid.tensorflow.python.framework import dtypes, errors, ops
from braid.tensorflow.python.saved_model import signature_constants as keys
from braid.tensorflow.python.saved_model import utils_impl as utils
from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["saved_model.build_signature_def", "saved_model.signature_def_utils.build_signature_def"])
def build_signature_def(inputs=None, outputs=None, method_name=None):
    """The SignatureDef of dicts of TensorInfos by their names in the signature."""
    made = protos.SignatureDef()
    for name, info in (inputs or {}).items():
        made.inputs[name].CopyFrom(info)
    for name, info in (outputs or {}).items():
        made.outputs[name].CopyFrom(info)
    if method_name is not None:
        made.method_name = method_name
    return made


def _of_tensors(inputs, outputs, method_name):
    return build_signature_def(
        {name: utils.build_tensor_info(t) for name, t in inputs.items()},
        {name: utils.build_tensor_info(t) for name, t in outputs.items()},
        method_name,
    )


def _check_strings(what, tensor):
    if tensor.dtype.base_dtype != dtypes.string:
        raise ValueError(f"{what} must be of type string.")


@tf_export(
    v1=["saved_model.regression_signature_def", "saved_model.signature_def_utils.regression_signature_def"]
)
def regression_signature_def(examples, predictions):
    """The signature of a regression. examples: a tensor of serialized Examples. predictions: float."""
    if examples is None:
        raise ValueError("Regression examples cannot be None.")
    if not isinstance(examples, ops.Tensor):
        raise ValueError("Regression examples must be a string Tensor.")
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    _check_strings("Regression examples", examples)
    if predictions.dtype.base_dtype != dtypes.float32:
        raise ValueError("Regression output tensors must be of type float.")
    return _of_tensors(
        {keys.REGRESS_INPUTS: examples}, {keys.REGRESS_OUTPUTS: predictions}, keys.REGRESS_METHOD_NAME
    )


@tf_export(
    v1=[
        "saved_model.classification_signature_def",
        "saved_model.signature_def_utils.classification_signature_def",
    ]
)
def classification_signature_def(examples, classes, scores):
    """The signature of a classification. examples, classes: strings; scores: float; None for one of the latter."""
    if examples is None:
        raise ValueError("Classification examples cannot be None.")
    if not isinstance(examples, ops.Tensor):
        raise ValueError("Classification examples must be a string Tensor.")
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    _check_strings("Classification examples", examples)
    outputs = {}
    if classes is not None:
        _check_strings("Classification classes", classes)
        outputs[keys.CLASSIFY_OUTPUT_CLASSES] = classes
    if scores is not None:
        if scores.dtype.base_dtype != dtypes.float32:
            raise ValueError("Classification scores must be of type float.")
        outputs[keys.CLASSIFY_OUTPUT_SCORES] = scores
    return _of_tensors({keys.CLASSIFY_INPUTS: examples}, outputs, keys.CLASSIFY_METHOD_NAME)


@tf_export(v1=["saved_model.predict_signature_def", "saved_model.signature_def_utils.predict_signature_def"])
def predict_signature_def(inputs, outputs):
    """The signature of a prediction. inputs, outputs: dicts of tensors."""
    if not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return _of_tensors(inputs, outputs, keys.PREDICT_METHOD_NAME)


def _supervised_signature_def(method_name, inputs, loss=None, predictions=None, metrics=None):
    if not inputs:
        raise ValueError(
            "{} inputs cannot be None or empty.".format("Training" if "train" in method_name else "Eval")
        )
    outputs = {}
    for given, name in ((loss, "loss"), (predictions, "predictions"), (metrics, "metrics")):
        if given is None:
            continue
        outputs.update(given if isinstance(given, dict) else {name: given})
    return _of_tensors(inputs, outputs, method_name)


def supervised_train_signature_def(inputs, loss, predictions=None, metrics=None):
    """The signature of a training step."""
    return _supervised_signature_def(
        keys.SUPERVISED_TRAIN_METHOD_NAME, inputs, loss=loss, predictions=predictions, metrics=metrics
    )


def supervised_eval_signature_def(inputs, loss, predictions=None, metrics=None):
    """The signature of an evaluation step."""
    return _supervised_signature_def(
        keys.SUPERVISED_EVAL_METHOD_NAME, inputs, loss=loss, predictions=predictions, metrics=metrics
    )


@tf_export(v1=["saved_model.is_valid_signature", "saved_model.signature_def_utils.is_valid_signature"])
def is_valid_signature(signature_def):
    """Whether a SignatureDef is one of a classification, a regression or a prediction, as serving expects it."""
    if signature_def is None:
        return False
    return (
        _is_valid_classification_signature(signature_def)
        or _is_valid_regression_signature(signature_def)
        or _is_valid_predict_signature(signature_def)
    )


def _has_types(infos, types):
    return all(infos[name].dtype == dtype.as_datatype_enum for name, dtype in types.items() if name in infos)


def _is_valid_predict_signature(signature_def):
    return (
        signature_def.method_name == keys.PREDICT_METHOD_NAME
        and bool(signature_def.inputs)
        and bool(signature_def.outputs)
    )


def _is_valid_regression_signature(signature_def):
    return (
        signature_def.method_name == keys.REGRESS_METHOD_NAME
        and set(signature_def.inputs) == {keys.REGRESS_INPUTS}
        and set(signature_def.outputs) == {keys.REGRESS_OUTPUTS}
        and _has_types(signature_def.inputs, {keys.REGRESS_INPUTS: dtypes.string})
        and _has_types(signature_def.outputs, {keys.REGRESS_OUTPUTS: dtypes.float32})
    )


def _is_valid_classification_signature(signature_def):
    allowed = {keys.CLASSIFY_OUTPUT_CLASSES: dtypes.string, keys.CLASSIFY_OUTPUT_SCORES: dtypes.float32}
    return (
        signature_def.method_name == keys.CLASSIFY_METHOD_NAME
        and set(signature_def.inputs) == {keys.CLASSIFY_INPUTS}
        and bool(signature_def.outputs)
        and not set(signature_def.outputs) - set(allowed)
        and _has_types(signature_def.inputs, {keys.CLASSIFY_INPUTS: dtypes.string})
        and _has_types(signature_def.outputs, allowed)
    )


def op_signature_def(op, key):
    """The signature that names an operation."""
    return build_signature_def(outputs={key: utils.build_tensor_info_from_op(op)})


def load_op_from_signature_def(signature_def, key, import_scope=None):
    """The operation that a signature names. NotFoundError: the graph does not have it."""
    try:
        return utils.get_element_from_tensor_info(signature_def.outputs[key], import_scope=import_scope)
    except KeyError:
        raise errors.NotFoundError(
            None, None, f"The operation of the signature {key} could not be found in the graph."
        ) from None
