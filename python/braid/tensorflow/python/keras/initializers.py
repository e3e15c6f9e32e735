"""Initializers by name. The classes are those of tf.initializers, with Keras' defaults."""

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.keras.utils.generic_utils import deserialize_keras_object
from braid.tensorflow.python.keras.utils.generic_utils import serialize_keras_object
from braid.tensorflow.python.ops import init_ops
from braid.tensorflow.python.ops import init_ops_v2
from braid.tensorflow.python.util.tf_export import keras_export

Initializer = init_ops.Initializer
Zeros = init_ops.Zeros
Ones = init_ops.Ones
Constant = init_ops.Constant
VarianceScaling = init_ops.VarianceScaling
Orthogonal = init_ops.Orthogonal
Identity = init_ops.Identity
GlorotUniform = init_ops.GlorotUniform
GlorotNormal = init_ops.GlorotNormal
glorot_uniform = init_ops.GlorotUniform
glorot_normal = init_ops.GlorotNormal
he_normal = init_ops.he_normal
he_uniform = init_ops.he_uniform
lecun_normal = init_ops.lecun_normal
lecun_uniform = init_ops.lecun_uniform


@keras_export(
    v1=["keras.initializers.RandomNormal", "keras.initializers.random_normal", "keras.initializers.normal"]
)
class RandomNormal(init_ops.RandomNormal):
    """Normal numbers, of deviation 0.05."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=dtypes.float32):
        super().__init__(mean=mean, stddev=stddev, seed=seed, dtype=dtype)


@keras_export(
    v1=["keras.initializers.RandomUniform", "keras.initializers.random_uniform", "keras.initializers.uniform"]
)
class RandomUniform(init_ops.RandomUniform):
    """Uniform numbers in [-0.05, 0.05)."""

    def __init__(self, minval=-0.05, maxval=0.05, seed=None, dtype=dtypes.float32):
        super().__init__(minval=minval, maxval=maxval, seed=seed, dtype=dtype)


@keras_export(v1=["keras.initializers.TruncatedNormal", "keras.initializers.truncated_normal"])
class TruncatedNormal(init_ops.TruncatedNormal):
    """Normal numbers, within two deviations of 0.05."""

    def __init__(self, mean=0.0, stddev=0.05, seed=None, dtype=dtypes.float32):
        super().__init__(mean=mean, stddev=stddev, seed=seed, dtype=dtype)


# Those of TensorFlow 2.
ZerosV2 = init_ops_v2.Zeros
OnesV2 = init_ops_v2.Ones
ConstantV2 = init_ops_v2.Constant
RandomUniformV2 = init_ops_v2.RandomUniform
RandomNormalV2 = init_ops_v2.RandomNormal
TruncatedNormalV2 = init_ops_v2.TruncatedNormal
VarianceScalingV2 = init_ops_v2.VarianceScaling
OrthogonalV2 = init_ops_v2.Orthogonal
IdentityV2 = init_ops_v2.Identity
GlorotUniformV2 = init_ops_v2.GlorotUniform
GlorotNormalV2 = init_ops_v2.GlorotNormal
he_normalV2 = init_ops_v2.he_normal
he_uniformV2 = init_ops_v2.he_uniform
lecun_normalV2 = init_ops_v2.lecun_normal
lecun_uniformV2 = init_ops_v2.lecun_uniform
zero = zeros = Zeros
one = ones = Ones
constant = Constant
uniform = random_uniform = RandomUniform
normal = random_normal = RandomNormal
truncated_normal = TruncatedNormal
identity = Identity
orthogonal = Orthogonal
keras_export("keras.initializers.orthogonal").export_constant(__name__, "orthogonal")


@keras_export("keras.initializers.serialize")
def serialize(initializer):
    """The class's name and the settings."""
    return serialize_keras_object(initializer)


@keras_export("keras.initializers.deserialize")
def deserialize(config, custom_objects=None):
    """An initializer of a name, or of a class's name and settings."""
    return deserialize_keras_object(
        config, module_objects=globals(), custom_objects=custom_objects, printable_module_name="initializer"
    )


@keras_export("keras.initializers.get")
def get(identifier):
    """An initializer: of a name or settings, or a function; None for None."""
    if identifier is None:
        return None
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        is_ours = identifier in globals()  # a class, or a function that makes an object
        return deserialize({"class_name": identifier, "config": {}} if is_ours else identifier)
    if callable(identifier):
        return identifier() if isinstance(identifier, type) else identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")
