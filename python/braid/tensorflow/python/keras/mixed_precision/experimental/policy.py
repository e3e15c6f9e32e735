"""Policies: the types in which layers compute, and those of their variables."""

import contextlib

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.platform import tf_logging as logging
from braid.tensorflow.python.training.experimental import loss_scale as loss_scale_module
from braid.tensorflow.python.util.tf_export import keras_export

USE_DEFAULT = "USE_DEFAULT"
_SINGLE_VARS = "_with_float32_vars"


@keras_export("keras.mixed_precision.experimental.Policy")
class Policy:
    """The types of a layer.

    name: a type for all; TYPE_with_float32_vars, mixed_float16 or mixed_bfloat16 for variables of float32
    that are cast where they are read; infer or infer_with_float32_vars for the type of the first input.
    loss_scale: a number, "dynamic" or a LossScale; "dynamic" for mixed_float16 by default.
    """

    def __init__(self, name, loss_scale=USE_DEFAULT):
        if isinstance(name, dtypes.DType):
            raise TypeError(
                f"'name' must be a string, not a DType. Instead, pass DType.name. Got: {name.name}"
            )
        if not isinstance(name, str):
            raise TypeError(f"'name' must be a string, but got: {name}")
        name = {
            "infer_float32_vars": "infer_with_float32_vars",
            "float32_with_float32_vars": "float32",
        }.get(name, name)
        self._name = name
        self._compute_dtype, self._variable_dtype = _types(name)
        if loss_scale == USE_DEFAULT:
            loss_scale = "dynamic" if name == "mixed_float16" else None
        if loss_scale and self._compute_dtype not in (None, "float16"):
            logging.warning(
                "Creating a Policy with a loss scale is only useful for float16 policies. You passed "
                "loss_scale=%r for policy %s. Consider not passing any loss_scale instead.",
                loss_scale,
                name,
            )
        self._loss_scale = loss_scale_module.get(loss_scale)

    @property
    def variable_dtype(self):
        """The type of variables; None if it is inferred."""
        return self._variable_dtype

    @property
    def compute_dtype(self):
        """The type of what is computed; None if it is inferred."""
        return self._compute_dtype

    @property
    def should_cast_variables(self):
        """Whether variables are cast where they are read."""
        return self._variable_dtype != self._compute_dtype

    @property
    def loss_scale(self):
        return self._loss_scale

    @property
    def name(self):
        return self._name

    def __repr__(self):
        return f'<Policy "{self._name}", loss_scale={self._loss_scale}>'

    def get_config(self):
        """The arguments of the constructor."""
        config = {"name": self._name}
        if self._loss_scale is not None:
            config["loss_scale"] = {
                "class_name": type(self._loss_scale).__name__,
                "config": self._loss_scale.get_config(),
            }
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        scale = config.get("loss_scale")
        if isinstance(scale, dict):
            kinds = dict(vars(loss_scale_module), **(custom_objects or {}))
            config["loss_scale"] = kinds[scale["class_name"]].from_config(scale["config"])
        return cls(**config)


def _types(name):
    """(the type of what is computed, that of variables), None for what is inferred."""
    if name in ("mixed_float16", "mixed_bfloat16"):
        return name[len("mixed_") :], "float32"
    base = name[: -len(_SINGLE_VARS)] if name.endswith(_SINGLE_VARS) else name
    kind = None
    if base != "infer":
        try:
            kind = dtypes.as_dtype(base).name
        except TypeError:
            more = ""
            if base != name:
                more = (
                    f" The value {name} ends with {_SINGLE_VARS}, but {base} cannot be converted to a DType"
                )
            raise ValueError(
                f"Cannot convert value {name} to a mixed precision Policy. Valid policies include include those "
                'in the form "<dtype>" and "<dtype>_with_float32_vars", where <dtype> is the name of a dtype.'
                + more
            ) from None
    return kind, kind if base == name else "float32"


def with_input_dtype(policy, dtype):
    """A policy that infers, with the type of an input."""
    name = dtypes.as_dtype(dtype).name
    return Policy(name if policy.variable_dtype is None else name + _SINGLE_VARS)


_global_policy = None
_INFER = Policy("infer")


@keras_export("keras.mixed_precision.experimental.global_policy")
def global_policy():
    """The policy of layers without one of their own."""
    if _global_policy is not None:
        return _global_policy
    if base_layer_utils.v2_dtype_behavior_enabled():
        from braid.tensorflow.python.keras import backend

        return Policy(backend.floatx())
    return _INFER


def policy_defaults_to_floatx():
    """Whether global_policy() gives the type of floatx()."""
    return _global_policy is None and base_layer_utils.v2_dtype_behavior_enabled()


@keras_export("keras.mixed_precision.experimental.set_policy")
def set_policy(policy):
    """Sets the policy of layers without one of their own: a Policy, a name, or None. TensorFlow 1 takes only
    policies that infer.
    """
    global _global_policy
    if policy is not None and not isinstance(policy, Policy):
        policy = Policy(policy)
    if policy and policy.compute_dtype and not base_layer_utils.v2_dtype_behavior_enabled():
        raise ValueError("The global policy can only be set to a non-infer policy in TensorFlow 2")
    _global_policy = policy


@contextlib.contextmanager
def policy_scope(policy):
    """A context in which it is the global policy."""
    old = _global_policy
    try:
        set_policy(policy)
        yield
    finally:
        set_policy(old)


def serialize(policy):
    """A name where that is all, else a dict."""
    if policy.compute_dtype == policy.variable_dtype and policy.loss_scale is None:
        return policy.name if policy.compute_dtype is not None else None
    return {"class_name": type(policy).__name__, "config": policy.get_config()}


def deserialize(config, custom_objects=None):
    """The policy that serialize has described."""
    if config is None:
        return Policy("infer")
    if isinstance(config, str):
        return Policy(config)
    return Policy.from_config(config["config"], custom_objects)
