"""ServingInputReceiver, and functions that make one: how a served model gets its features."""

import collections
import os

from braid.tensorflow.python.estimator import util
from braid.tensorflow.python.estimator.export import export_output as export_output_lib
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import parsing_ops
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.saved_model import signature_def_utils_impl as signature_def_utils
from braid.tensorflow.python.util.tf_export import estimator_export

_SINGLE_FEATURE_DEFAULT_NAME = "feature"
_SINGLE_RECEIVER_DEFAULT_NAME = "input"
_SINGLE_LABEL_DEFAULT_NAME = "label"
_SINGLE_TENSOR_DEFAULT_NAMES = {
    "feature": _SINGLE_FEATURE_DEFAULT_NAME,
    "label": _SINGLE_LABEL_DEFAULT_NAME,
    "receiver_tensor": _SINGLE_RECEIVER_DEFAULT_NAME,
    "receiver_tensors_alternative": _SINGLE_RECEIVER_DEFAULT_NAME,
}

get_timestamped_export_dir = util.get_timestamped_export_dir


def get_temp_export_dir(timestamped_export_dir):
    """A directory beside `timestamped_export_dir`, from which a finished export is renamed."""
    directory, name = os.path.split(os.fsdecode(timestamped_export_dir))
    return os.path.join(directory, f"temp-{name}")


def wrap_and_check_input_tensors(tensors, field_name, allow_int_keys=False):
    """A dict of tensors; a single one gets the usual name. ValueError for what is not a tensor."""
    if tensors is None:
        raise ValueError(f"{field_name}s must be defined.")
    if not isinstance(tensors, dict):
        tensors = {_SINGLE_TENSOR_DEFAULT_NAMES[field_name]: tensors}
    for name, tensor in tensors.items():
        if not isinstance(name, (str, int) if allow_int_keys else str):
            kinds = "strings or ints" if allow_int_keys else "strings"
            raise ValueError(f"{field_name} keys must be {kinds}: {name}.")
        _check_tensor(tensor, name, field_name)
    return tensors


def _check_tensor(tensor, name, error_label="feature"):
    """ValueError for what is not a tensor, nor an object with one that converts to it."""
    if isinstance(tensor, (ops.Tensor, sparse_tensor.SparseTensor)):
        return
    error = ValueError(f"{error_label}{' ' + str(name) if name else ''} must be a Tensor or SparseTensor.")
    if not hasattr(tensor, "tensor"):
        raise error
    try:
        ops.convert_to_tensor(tensor)
    except TypeError:
        raise error from None


def _verify_alternatives(alternatives):
    if alternatives is None:
        return None
    if not isinstance(alternatives, dict):
        raise ValueError(f"receiver_tensors_alternatives must be a dict: {alternatives}.")
    return {
        key: wrap_and_check_input_tensors(value, "receiver_tensors_alternative")
        for key, value in alternatives.items()
    }


@estimator_export("estimator.export.ServingInputReceiver")
class ServingInputReceiver(
    collections.namedtuple(
        "ServingInputReceiver", ["features", "receiver_tensors", "receiver_tensors_alternatives"]
    )
):
    """features for the model, from receiver_tensors that requests feed.

    features, receiver_tensors: a tensor or a dict. receiver_tensors_alternatives: a dict from names to other
    receiver_tensors, for further signatures.
    """

    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        return super().__new__(
            cls,
            features=wrap_and_check_input_tensors(features, "feature", allow_int_keys=True),
            receiver_tensors=wrap_and_check_input_tensors(receiver_tensors, "receiver_tensor"),
            receiver_tensors_alternatives=_verify_alternatives(receiver_tensors_alternatives),
        )


@estimator_export("estimator.export.TensorServingInputReceiver")
class TensorServingInputReceiver(
    collections.namedtuple(
        "TensorServingInputReceiver", ["features", "receiver_tensors", "receiver_tensors_alternatives"]
    )
):
    """A ServingInputReceiver whose features are one tensor, which the model gets as it is."""

    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        if features is None:
            raise ValueError("features must be defined.")
        _check_tensor(features, None)
        return super().__new__(
            cls,
            features=features,
            receiver_tensors=wrap_and_check_input_tensors(receiver_tensors, "receiver_tensor"),
            receiver_tensors_alternatives=_verify_alternatives(receiver_tensors_alternatives),
        )


class UnsupervisedInputReceiver(ServingInputReceiver):
    """Features for training without labels."""


class SupervisedInputReceiver(
    collections.namedtuple("SupervisedInputReceiver", ["features", "labels", "receiver_tensors"])
):
    """Features and labels for an exported training or evaluation graph."""

    def __new__(cls, features, labels, receiver_tensors):
        wrap_and_check_input_tensors(features, "feature", allow_int_keys=True)
        wrap_and_check_input_tensors(labels, "label", allow_int_keys=True)
        receiver_tensors = wrap_and_check_input_tensors(receiver_tensors, "receiver_tensor")
        return super().__new__(cls, features=features, labels=labels, receiver_tensors=receiver_tensors)


@estimator_export("estimator.export.build_parsing_serving_input_receiver_fn")
def build_parsing_serving_input_receiver_fn(feature_spec, default_batch_size=None):
    """A function that makes a receiver of serialized Examples, parsed by `feature_spec` (see
    parse_example)."""

    def serving_input_receiver_fn():
        serialized = array_ops.placeholder(
            dtype=dtypes.string, shape=[default_batch_size], name="input_example_tensor"
        )
        return ServingInputReceiver(
            parsing_ops.parse_example(serialized, feature_spec), {"examples": serialized}
        )

    return serving_input_receiver_fn


def _placeholder_from_tensor(tensor, default_batch_size=None):
    shape = tensor.get_shape().as_list()
    if shape:
        shape[0] = default_batch_size
    return array_ops.placeholder(
        dtype=tensor.dtype.base_dtype, shape=tensor_shape.TensorShape(shape), name=tensor.op.name
    )


def _placeholders_of(tensors, name, default_batch_size):
    if not isinstance(tensors, dict):
        tensors = {_SINGLE_TENSOR_DEFAULT_NAMES[name]: tensors}
    return {
        key: value if _is_placeholder(value) else _placeholder_from_tensor(value, default_batch_size)
        for key, value in tensors.items()
    }


def _is_placeholder(value):
    return value.op.type == "Placeholder" and value.graph is ops.get_default_graph()


@estimator_export("estimator.export.build_raw_serving_input_receiver_fn")
def build_raw_serving_input_receiver_fn(features, default_batch_size=None):
    """A function that makes a receiver of placeholders like `features`, a dict of tensors."""

    def serving_input_receiver_fn():
        placeholders = _placeholders_of(features, "feature", default_batch_size)
        return ServingInputReceiver(placeholders, dict(placeholders))

    return serving_input_receiver_fn


@estimator_export("estimator.experimental.build_raw_supervised_input_receiver_fn")
def build_raw_supervised_input_receiver_fn(features, labels, default_batch_size=None):
    """A function that makes a receiver of placeholders like `features` and `labels`."""
    names = lambda t, default: set(t) if isinstance(t, dict) else {default}  # noqa: E731
    both = names(features, _SINGLE_RECEIVER_DEFAULT_NAME) & names(labels, _SINGLE_LABEL_DEFAULT_NAME)
    if both:
        raise ValueError(f"Features and labels must have distinct keys. Found overlapping keys: {both}")

    def placeholders(tensors, default):
        if isinstance(tensors, dict):
            made = _placeholders_of(tensors, "feature", default_batch_size)
            return made, made
        made = _placeholders_of({default: tensors}, "feature", default_batch_size)
        return made[default], made

    def supervised_input_receiver_fn():
        given, feature_receivers = placeholders(features, _SINGLE_RECEIVER_DEFAULT_NAME)
        given_labels, label_receivers = placeholders(labels, _SINGLE_LABEL_DEFAULT_NAME)
        return SupervisedInputReceiver(given, given_labels, {**feature_receivers, **label_receivers})

    return supervised_input_receiver_fn


def build_supervised_input_receiver_fn_from_input_fn(input_fn, **input_fn_args):
    """The receiver function for the features and labels that an input function makes."""
    with ops.Graph().as_default():
        features, labels = util.parse_input_fn_result(input_fn(**input_fn_args))[:2]
        return build_raw_supervised_input_receiver_fn(features, labels)


def export_outputs_for_mode(mode, serving_export_outputs=None, predictions=None, loss=None, metrics=None):
    """The ExportOutputs of a mode: those for serving, or those of training or evaluation."""
    if mode == ModeKeys.PREDICT:
        return serving_export_outputs
    if mode == ModeKeys.TRAIN:
        return {mode: export_output_lib.TrainOutput(loss=loss, predictions=predictions, metrics=metrics)}
    if mode == ModeKeys.EVAL:
        return {mode: export_output_lib.EvalOutput(loss=loss, predictions=predictions, metrics=metrics)}
    raise ValueError(f"Export output type not found for mode: {mode}")


def build_all_signature_defs(
    receiver_tensors, export_outputs, receiver_tensors_alternatives=None, serving_only=True
):
    """A dict from names to SignatureDefs, for all outputs; those of alternatives are named
    ALTERNATIVE:OUTPUT.

    serving_only: leaves out, with a message, those that do not serve the default signature's method.
    """
    if not isinstance(receiver_tensors, dict):
        receiver_tensors = {_SINGLE_RECEIVER_DEFAULT_NAME: receiver_tensors}
    if export_outputs is None or not isinstance(export_outputs, dict):
        raise ValueError("export_outputs must be a dict and not " f"{type(export_outputs)}.")
    signatures, refused = {}, {}

    def add(prefix, receivers):
        for key, output in export_outputs.items():
            name = (
                signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
                if key is None or key == signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
                else key
            )
            full = f"{prefix}:{key or 'None'}" if prefix else name
            try:
                signatures[full] = output.as_signature_def(receivers)
            except ValueError as error:
                refused[full] = str(error)

    add(None, receiver_tensors)
    for name, receivers in (receiver_tensors_alternatives or {}).items():
        if not isinstance(receivers, dict):
            receivers = {_SINGLE_RECEIVER_DEFAULT_NAME: receivers}
        add(name, receivers)
    _log_signature_report(signatures, refused)
    return {
        k: v for k, v in signatures.items() if not serving_only or signature_def_utils.is_valid_signature(v)
    }


def _log_signature_report(signatures, refused):
    by_method = {}
    for name, signature in signatures.items():
        by_method.setdefault(signature.method_name, []).append(name)
    kinds = {
        "Classify": signature_constants.CLASSIFY_METHOD_NAME,
        "Regress": signature_constants.REGRESS_METHOD_NAME,
        "Predict": signature_constants.PREDICT_METHOD_NAME,
    }
    for kind, method in kinds.items():
        logging.info("Signatures INCLUDED in export for %s: %s", kind, by_method.get(method))
    if refused:
        logging.info(
            "Signatures EXCLUDED from export because they cannot be be served via TensorFlow Serving APIs:"
        )
        for name, error in refused.items():
            logging.info("'%s' : %s", name, error)
    if not signatures:
        logging.warn("Export includes no signatures!")
    elif signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY not in signatures:
        logging.warn("Export includes no default signature!")
