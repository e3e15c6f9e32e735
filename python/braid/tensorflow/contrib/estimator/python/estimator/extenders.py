"""Estimators and optimizers with something added."""

from braid.tensorflow.python.estimator import estimator as estimator_lib
from braid.tensorflow.python.estimator import extenders
from braid.tensorflow.python.estimator.export import export_output
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.ops import clip_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.training import optimizer as optimizer_lib

add_metrics = extenders.add_metrics


def clip_gradients_by_norm(optimizer, clip_norm):
    """An optimizer that clips all gradients by their common norm."""

    def clip_grads(grads_and_vars):
        gradients, variables = zip(*grads_and_vars)
        return list(zip(clip_ops.clip_by_global_norm(gradients, clip_norm)[0], variables))

    return _TransformGradients(optimizer, clip_grads, f"ClipByNorm{optimizer.get_name()}")


class _TransformGradients(optimizer_lib.Optimizer):
    """An optimizer whose gradients a function changes before they are applied."""

    def __init__(self, optimizer, transform_grads_fn, name=None):
        super().__init__(use_locking=False, name=name)
        self._optimizer = optimizer
        self._transform = transform_grads_fn

    def compute_gradients(self, *args, **kwargs):
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        grads_and_vars = [(g, v) for g, v in grads_and_vars if g is not None]
        return self._optimizer.apply_gradients(self._transform(grads_and_vars), global_step, name)

    def get_slot(self, *args, **kwargs):
        return self._optimizer.get_slot(*args, **kwargs)

    def get_slot_names(self, *args, **kwargs):
        return self._optimizer.get_slot_names(*args, **kwargs)

    def variables(self):
        return self._optimizer.variables()


def forward_features(estimator, keys=None, sparse_default_values=None):
    """An estimator whose predictions have features beside them.

    keys: which; all if None. sparse_default_values: what fills sparse ones up, by key.
    """

    if isinstance(keys, str):
        keys = [keys]
    if keys is not None:
        if not isinstance(keys, (list, tuple)):
            raise TypeError(f"keys should be either a string or a list of strings. Given: {type(keys)}")
        for key in keys:
            if not isinstance(key, str):
                raise TypeError(
                    "All items in the given keys list should be a string. There exist an item with type: "
                    f"{type(key)}"
                )

    def new_model_fn(features, labels, mode, config):
        spec = estimator.model_fn(features, labels, mode, config)
        predictions = spec.predictions
        if predictions is None:
            return spec
        if not isinstance(predictions, dict):
            raise ValueError(
                f"Predictions should be a dict to be able to forward features. Given: {type(predictions)}"
            )
        chosen = list(features) if keys is None else keys
        for key in chosen:
            if key not in features:
                raise ValueError(
                    f'keys should be exist in features. Key "{key}" is not in features dict. '
                    f"features dict has following keys: {list(features)}."
                )
            if key in predictions:
                raise ValueError(
                    f"Cannot forward feature key ({key}). Since it does exist in predictions. Existing "
                    f"prediction keys: {list(predictions)}."
                )
        for key in chosen:
            predictions[key] = _dense(features[key], (sparse_default_values or {}).get(key), key)
        spec = spec._replace(predictions=predictions)
        for name in ("predict", "serving_default"):
            output = (spec.export_outputs or {}).get(name)
            if isinstance(output, export_output.PredictOutput):
                output.outputs.update({key: predictions[key] for key in chosen})
        return spec

    return estimator_lib.Estimator(
        model_fn=new_model_fn, model_dir=estimator.model_dir, config=estimator.config
    )


def _dense(feature, default, key):
    feature = sparse_tensor.convert_to_tensor_or_sparse_tensor(feature)
    if default is not None:
        if not isinstance(feature, sparse_tensor.SparseTensor):
            raise ValueError(f"Feature ({key}) is expected to be a `SparseTensor`.")
        feature = sparse_ops.sparse_tensor_to_dense(feature, default_value=default)
    if not isinstance(feature, ops.Tensor):
        raise ValueError(
            f"Feature ({key}) should be a Tensor. Please use `keys` argument of forward_features to filter "
            "unwanted features, or add key to argument `sparse_default_values`. "
            f"Type of features[{key}] is {type(feature)}."
        )
    return feature
