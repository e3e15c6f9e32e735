"""SavedModelEstimator: an estimator of the graphs that another one exported."""

from braid.tensorflow.python.estimator import estimator as estimator_lib
from braid.tensorflow.python.estimator import model_fn as model_fn_lib
from braid.tensorflow.python.estimator.export import export as export_helpers
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.estimator.mode_keys import ModeKeys
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.saved_model import constants
from braid.tensorflow.python.saved_model import loader_impl
from braid.tensorflow.python.saved_model import signature_constants
from braid.tensorflow.python.training import checkpoint_utils
from braid.tensorflow.python.training import monitored_session
from braid.tensorflow.python.training import training_util
from braid.tensorflow.python.util.tf_export import estimator_export

_Supervised = export_output._SupervisedOutput


@estimator_export("estimator.experimental.SavedModelEstimator")
class SavedModelEstimator(estimator_lib.EstimatorV2):
    """Trains, evaluates and predicts by the graphs of a SavedModel, from its variables on.

    saved_model_dir: what experimental_export_all_saved_models wrote. A mode whose graph the SavedModel has
    not raises RuntimeError. Input functions give features and labels by the names of the exported graph's
    inputs.
    """

    def __init__(self, saved_model_dir, model_dir=None):
        checkpoint = estimator_lib._get_saved_model_ckpt(saved_model_dir)
        names = [name for name, _ in checkpoint_utils.list_variables(checkpoint)]
        super().__init__(
            model_fn=self._model_fn_from_saved_model,
            model_dir=model_dir,
            warm_start_from=estimator_lib.WarmStartSettings(
                ckpt_to_initialize_from=checkpoint, vars_to_warm_start=names
            ),
        )
        if self._train_distribution or self._eval_distribution:
            raise NotImplementedError("SavedModelEstimator currently does not support DistributionStrategy.")
        self.saved_model_dir = saved_model_dir
        self.saved_model_loader = loader_impl.SavedModelLoader(saved_model_dir)
        self._available_modes = self._extract_available_modes()

    def _extract_available_modes(self):
        modes = []
        for mode in (ModeKeys.TRAIN, ModeKeys.EVAL, ModeKeys.PREDICT):
            try:
                self._get_meta_graph_def_for_mode(mode)
            except RuntimeError:
                logging.warning("%s mode not found in SavedModel.", mode)
                continue
            if self._get_signature_def_for_mode(mode) is not None:
                modes.append(mode)
        logging.info("Available modes for Estimator: %s", modes)
        return modes

    def _validate_mode(self, mode):
        if mode not in self._available_modes:
            raise RuntimeError(
                f"{mode} mode is not available in the SavedModel. Use saved_model_cli to check that the "
                "Metagraph for this mode has been exported."
            )

    def _get_meta_graph_def_for_mode(self, mode):
        return self.saved_model_loader.get_meta_graph_def_from_tags(model_fn_lib.EXPORT_TAG_MAP[mode])

    def _get_signature_def_for_mode(self, mode):
        signatures = self._get_meta_graph_def_for_mode(mode).signature_def
        key = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY if mode == ModeKeys.PREDICT else mode
        if key not in signatures:
            logging.warning(
                'Metagraph for mode %s was found, but SignatureDef with key "%s" is missing.', mode, key
            )
            return None
        return signatures[key]

    def _create_and_assert_global_step(self, graph):
        """None: the global step is that of the SavedModel."""
        return None

    def _model_fn_from_saved_model(self, features, labels, mode):
        self._validate_mode(mode)
        graph = ops.get_default_graph()
        if training_util.get_global_step(graph) is not None:
            raise RuntimeError(
                "Graph must not contain a global step tensor before the SavedModel is loaded. Please make "
                "sure that the input function does not create a global step."
            )
        signature = self._get_signature_def_for_mode(mode)
        names = [info.name for info in signature.outputs.values()]
        _, tensors = self.saved_model_loader.load_graph(
            graph,
            model_fn_lib.EXPORT_TAG_MAP[mode],
            input_map=_generate_input_map(signature, features, labels),
            return_elements=names,
        )
        scaffold = monitored_session.Scaffold(
            local_init_op=loader_impl._get_main_op_tensor(self._get_meta_graph_def_for_mode(mode))
        )
        training_util.assert_global_step(training_util.get_global_step(graph))
        outputs = dict(zip(signature.outputs, tensors))
        loss, predictions, metrics = _validate_and_extract_outputs(mode, outputs, signature.method_name)
        train_ops = ops.get_collection(constants.TRAIN_OP_KEY)
        if len(train_ops) > 1:
            raise RuntimeError("Multiple ops found in the train_op collection.")
        train_op = train_ops[0] if train_ops else None
        _clear_saved_model_collections()
        return model_fn_lib.EstimatorSpec(
            scaffold=scaffold,
            mode=mode,
            loss=loss,
            train_op=train_op,
            predictions=predictions,
            eval_metric_ops=metrics,
        )


def _clear_saved_model_collections():
    """Removes what SavedModels keep in collections: another export fills them anew."""
    for key in (
        constants.ASSETS_KEY,
        constants.LEGACY_INIT_OP_KEY,
        constants.MAIN_OP_KEY,
        constants.TRAIN_OP_KEY,
    ):
        del ops.get_collection_ref(key)[:]


def _generate_input_map(signature_def, features, labels):
    """A dict from names of the SavedModel's inputs to the tensors that take their place."""
    given = dict(_by_name(labels, "label"), **_by_name(features, "feature"))
    input_map = {}
    for key, info in signature_def.inputs.items():
        if key not in given:
            raise ValueError(
                f'Key "{key}" not found in features or labels passed in to the model function. All required '
                f"keys: {signature_def.inputs.keys()}"
            )
        _check_same_dtype_and_shape(given[key], info, key)
        name = info.name.partition(":")[0]
        input_map[name] = input_map["^" + name] = given[key]
    return input_map


def _by_name(tensors, field_name):
    """The tensors as a dict; an empty one for no labels."""
    if tensors is None and field_name == "label":
        return {}
    return export_helpers.wrap_and_check_input_tensors(tensors, field_name)


def _check_same_dtype_and_shape(tensor, tensor_info, name):
    expected_dtype = dtypes.as_dtype(tensor_info.dtype)
    expected_shape = tensor_shape.TensorShape(tensor_info.tensor_shape)
    message = ""
    if tensor.dtype != expected_dtype:
        message += f"\n\tExpected dtype: {expected_dtype}, Got: {tensor.dtype}"
    if not tensor.shape.is_compatible_with(expected_shape):
        message += f"\n\tExpected shape: {expected_shape}, Got: {tensor.shape}"
    if message:
        raise ValueError(f"Tensor shape and/or dtype validation failed for input {name}:{message}")


def _extract_eval_metrics(outputs):
    """The metrics among the outputs: pairs (value, update op) by their names."""
    metrics = {}
    separator = _Supervised._SEPARATOR_CHAR
    for key, tensor in outputs.items():
        name, _, kind = key.rpartition(separator)
        if key.partition(separator)[0] != _Supervised.METRICS_NAME or kind != _Supervised.METRIC_VALUE_SUFFIX:
            continue
        update = outputs.get(name + separator + _Supervised.METRIC_UPDATE_SUFFIX)
        if update is not None:
            metrics[name] = (tensor, update)
    return metrics


def _validate_and_extract_outputs(mode, outputs, method_name):
    """(loss, predictions, metrics) among the outputs of a graph."""
    if mode == ModeKeys.PREDICT:
        return None, outputs, None
    expected = {
        ModeKeys.TRAIN: signature_constants.SUPERVISED_TRAIN_METHOD_NAME,
        ModeKeys.EVAL: signature_constants.SUPERVISED_EVAL_METHOD_NAME,
    }[mode]
    if method_name != expected:
        raise RuntimeError(
            f"Invalid SignatureDef method name for mode {mode}.\n\tExpected: {expected}\n\tGot: {method_name}\n"
            "Please ensure that the SavedModel was exported with "
            "`tf.estimator.experimental_export_all_saved_models()`."
        )
    predictions = {
        key: value
        for key, value in outputs.items()
        if key.partition(_Supervised._SEPARATOR_CHAR)[0] == _Supervised.PREDICTIONS_NAME
    }
    return outputs[_Supervised.LOSS_NAME], predictions, _extract_eval_metrics(outputs)
