"""Dense, Dropout, Flatten, for keras and for tf.layers; activations, shapes, masks and functions as layers."""

import sys
import types

import numpy as np

from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import smart_cond
from braid.tensorflow.python.framework import sparse_tensor
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import activations
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.keras.utils import conv_utils
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import gen_math_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import sparse_ops
from braid.tensorflow.python.keras.engine import base_layer_utils
from braid.tensorflow.python.ops import variable_scope
from braid.tensorflow.python.util import nest
from braid.tensorflow.python.util.tf_export import keras_export


@keras_export("keras.layers.Dense")
class Dense(Layer):
    """activation(inputs [..., n] * kernel [n, units] + bias [units])."""

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        kernel_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        bias_constraint=None,
        **kwargs,
    ):
        if "input_shape" not in kwargs and "input_dim" in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_dim"),)
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.units = units if isinstance(units, int) else int(units)
        self.activation = activations.get(activation)
        self.use_bias = use_bias
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape):
        dtype = dtypes.as_dtype(self.dtype or backend.floatx())
        if not (dtype.is_floating or dtype.is_complex):
            raise TypeError(f"Unable to build `Dense` layer with non-floating point dtype {dtype}")
        last = tensor_shape.dimension_value(tensor_shape.TensorShape(input_shape)[-1])
        if last is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: last})
        self.kernel = self.add_weight(
            "kernel",
            shape=[last, self.units],
            initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
            dtype=self.dtype,
            trainable=True,
        )
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias",
                shape=[self.units],
                initializer=self.bias_initializer,
                regularizer=self.bias_regularizer,
                constraint=self.bias_constraint,
                dtype=self.dtype,
                trainable=True,
            )
        self.built = True

    def call(self, inputs):
        rank = inputs.shape.ndims
        if rank is not None and rank > 2:
            outputs = math_ops.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape(inputs.shape.as_list()[:-1] + [self.units])
        elif isinstance(inputs, sparse_tensor.SparseTensor):
            outputs = sparse_ops.sparse_tensor_dense_matmul(inputs, self.kernel)
        else:
            if not self._dtype_policy.should_cast_variables:
                inputs = math_ops.cast(inputs, self.dtype)
            outputs = gen_math_ops.mat_mul(inputs, self.kernel)
        if self.use_bias:
            outputs = nn_ops.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape):
        shape = tensor_shape.TensorShape(input_shape).with_rank_at_least(2)
        if tensor_shape.dimension_value(shape[-1]) is None:
            raise ValueError(
                f"The innermost dimension of input_shape must be defined, but saw: {input_shape}"
            )
        return shape[:-1].concatenate(self.units)

    def get_config(self):
        config = {
            "units": self.units,
            "activation": activations.serialize(self.activation),
            "use_bias": self.use_bias,
            "kernel_initializer": initializers.serialize(self.kernel_initializer),
            "bias_initializer": initializers.serialize(self.bias_initializer),
            "kernel_regularizer": regularizers.serialize(self.kernel_regularizer),
            "bias_regularizer": regularizers.serialize(self.bias_regularizer),
            "activity_regularizer": regularizers.serialize(self.activity_regularizer),
            "kernel_constraint": constraints.serialize(self.kernel_constraint),
            "bias_constraint": constraints.serialize(self.bias_constraint),
        }
        return {**super().get_config(), **config}


@keras_export("keras.layers.Dropout")
class Dropout(Layer):
    """In training, a part `rate` of the inputs set to 0 and the others scaled to the same mean."""

    def __init__(self, rate, noise_shape=None, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.noise_shape = noise_shape
        self.seed = seed
        self.supports_masking = True

    def _get_noise_shape(self, inputs):
        if self.noise_shape is None:
            return None
        sizes = array_ops.shape(inputs)
        return array_ops.stack(
            [sizes[i] if size is None else size for i, size in enumerate(self.noise_shape)]
        )

    def call(self, inputs, training=None):
        if training is None:
            training = backend.learning_phase()

        def dropped_inputs():
            return nn_ops.dropout(
                inputs, noise_shape=self._get_noise_shape(inputs), seed=self.seed, rate=self.rate
            )

        return smart_cond.smart_cond(training, dropped_inputs, lambda: array_ops.identity(inputs))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        config = {"rate": self.rate, "noise_shape": self.noise_shape, "seed": self.seed}
        return {**super().get_config(), **config}


@keras_export("keras.layers.Flatten")
class Flatten(Layer):
    """[batch, ...] as [batch, all the rest], the channels last."""

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = conv_utils.normalize_data_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs):
        rank = inputs.shape.ndims
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = array_ops.transpose(inputs, perm=[0] + list(range(2, rank)) + [1])
        batch = tensor_shape.dimension_value(inputs.shape[0])
        outputs = array_ops.reshape(inputs, (array_ops.shape(inputs)[0] if batch is None else batch, -1))
        outputs.set_shape(self.compute_output_shape(inputs.get_shape()))
        return outputs

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.as_shape(input_shape).as_list()
        if not sizes:
            return tensor_shape.TensorShape([1])
        total = 1
        for size in sizes[1:]:
            total = None if size is None or total is None else total * size
        return tensor_shape.TensorShape([sizes[0], total])

    def get_config(self):
        return {**super().get_config(), "data_format": self.data_format}


@keras_export("keras.layers.Masking")
class Masking(Layer):
    """Masks the steps whose values are all mask_value."""

    def __init__(self, mask_value=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.mask_value = mask_value
        self._compute_output_and_mask_jointly = True

    def compute_mask(self, inputs, mask=None):
        return backend.any(math_ops.not_equal(inputs, self.mask_value), axis=-1)

    def call(self, inputs):
        mask = backend.any(math_ops.not_equal(inputs, self.mask_value), axis=-1, keepdims=True)
        outputs = inputs * math_ops.cast(mask, inputs.dtype)
        outputs._keras_mask = array_ops.squeeze(mask, axis=[-1])
        return outputs

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "mask_value": self.mask_value}


class SpatialDropout(Dropout):
    """Dropout of whole channels."""

    def __init__(self, rank, rate, data_format=None, **kwargs):
        super().__init__(rate, **kwargs)
        self.data_format = data_format or backend.image_data_format()
        if self.data_format not in {"channels_last", "channels_first"}:
            raise ValueError('data_format must be in {"channels_last", "channels_first"}')
        self.input_spec = InputSpec(ndim=rank + 2)

    def _get_noise_shape(self, inputs):
        sizes = array_ops.shape(inputs)
        inner = [1] * (inputs.shape.ndims - 2)
        if self.data_format == "channels_first":
            return array_ops.stack([sizes[0], sizes[1]] + inner)
        return array_ops.stack([sizes[0]] + inner + [sizes[inputs.shape.ndims - 1]])


@keras_export("keras.layers.SpatialDropout1D")
class SpatialDropout1D(SpatialDropout):
    """SpatialDropout of [batch, steps, channels]."""

    def __init__(self, rate, **kwargs):
        super().__init__(1, rate, data_format="channels_last", **kwargs)


@keras_export("keras.layers.SpatialDropout2D")
class SpatialDropout2D(SpatialDropout):
    """SpatialDropout of images."""

    def __init__(self, rate, data_format=None, **kwargs):
        super().__init__(2, rate, data_format=data_format, **kwargs)


@keras_export("keras.layers.SpatialDropout3D")
class SpatialDropout3D(SpatialDropout):
    """SpatialDropout of volumes."""

    def __init__(self, rate, data_format=None, **kwargs):
        super().__init__(3, rate, data_format=data_format, **kwargs)


@keras_export("keras.layers.Activation")
class Activation(Layer):
    """A function of each element."""

    def __init__(self, activation, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = activations.get(activation)

    def call(self, inputs):
        return self.activation(inputs)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "activation": activations.serialize(self.activation)}


@keras_export("keras.layers.Reshape")
class Reshape(Layer):
    """Another shape for each example. target_shape: without the batch; -1 for one length that follows."""

    def __init__(self, target_shape, **kwargs):
        super().__init__(**kwargs)
        self.target_shape = tuple(target_shape)

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        if None in sizes[1:]:
            return tensor_shape.TensorShape([sizes[0]] + [None if n == -1 else n for n in self.target_shape])
        total = 1
        for n in sizes[1:]:
            total *= n
        known = 1
        for n in self.target_shape:
            known *= n if n != -1 else 1
        if (-1 in self.target_shape and (known == 0 or total % known)) or (
            -1 not in self.target_shape and known != total
        ):
            raise ValueError("total size of new array must be unchanged")
        return tensor_shape.TensorShape(
            [sizes[0]] + [total // known if n == -1 else n for n in self.target_shape]
        )

    def call(self, inputs):
        outputs = array_ops.reshape(inputs, (array_ops.shape(inputs)[0],) + self.target_shape)
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def get_config(self):
        return {**super().get_config(), "target_shape": self.target_shape}


@keras_export("keras.layers.Permute")
class Permute(Layer):
    """Another order of dimensions. dims: beginning with 1, without the batch."""

    def __init__(self, dims, **kwargs):
        super().__init__(**kwargs)
        self.dims = tuple(dims)
        if sorted(dims) != list(range(1, len(dims) + 1)):
            raise ValueError(
                f"Invalid permutation `dims` for Permute Layer: {dims}. The set of indices in `dims` must be "
                f"consecutive and start from 1."
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        return tensor_shape.TensorShape([sizes[0]] + [sizes[d] for d in self.dims])

    def call(self, inputs):
        return array_ops.transpose(inputs, perm=(0,) + self.dims)

    def get_config(self):
        return {**super().get_config(), "dims": self.dims}


@keras_export("keras.layers.RepeatVector")
class RepeatVector(Layer):
    """[batch, n, features] of [batch, features]."""

    def __init__(self, n, **kwargs):
        super().__init__(**kwargs)
        self.n = n
        self.input_spec = InputSpec(ndim=2)

    def compute_output_shape(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        return tensor_shape.TensorShape([sizes[0], self.n, sizes[1]])

    def call(self, inputs):
        return backend.repeat(inputs, self.n)

    def get_config(self):
        return {**super().get_config(), "n": self.n}


@keras_export("keras.layers.Lambda")
class Lambda(Layer):
    """A function of tensors as a layer. Variables that it uses are not the layer's."""

    def __init__(self, function, output_shape=None, mask=None, arguments=None, **kwargs):
        super().__init__(**kwargs)
        self.function = function
        self.arguments = dict(arguments or {})
        self.mask = mask
        self.supports_masking = mask is not None
        self._output_shape = output_shape
        names = generic_utils.has_arg
        self._fn_expects_mask_arg = names(function, "mask")
        self._fn_expects_training_arg = names(function, "training")

    def compute_output_shape(self, input_shape):
        if self._output_shape is None:
            return super().compute_output_shape(input_shape)
        if callable(self._output_shape):
            return base_layer_utils.shape_list(self._output_shape(input_shape))
        first = nest.flatten(base_layer_utils.shape_list(input_shape))[0]
        batch = first[0] if first.ndims else None
        return nest.map_structure(
            lambda s: tensor_shape.TensorShape([batch]).concatenate(s),
            base_layer_utils.shape_list(self._output_shape),
        )

    def call(self, inputs, mask=None, training=None):
        arguments = dict(self.arguments)
        if self._fn_expects_mask_arg:
            arguments["mask"] = mask
        if self._fn_expects_training_arg:
            arguments["training"] = training
        made = []

        def tracked(next_creator, **kwargs):
            made.append(next_creator(**kwargs))
            return made[-1]

        with variable_scope.variable_creator_scope(tracked):
            result = self.function(inputs, **arguments)
        for variable in made:  # the session of Keras makes them
            backend.track_variable(variable)
        return result

    def compute_mask(self, inputs, mask=None):
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self):
        function, kind = self._written(self.function)
        shape, shape_kind = self._written(self._output_shape)
        config = {
            **super().get_config(),
            "function": function,
            "function_type": kind,
            "module": getattr(self.function, "__module__", None),
            "output_shape": shape,
            "output_shape_type": shape_kind,
            "output_shape_module": getattr(self._output_shape, "__module__", None),
            "arguments": self.arguments,
        }
        if self.mask is not None:
            config["mask"], config["mask_type"] = self._written(self.mask)
            config["mask_module"] = getattr(self.mask, "__module__", None)
        return config

    @staticmethod
    def _written(fn):
        if isinstance(fn, types.FunctionType):
            return generic_utils.func_dump(fn), "lambda"
        if callable(fn):
            return fn.__name__, "function"
        return fn, "raw"

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        for key in ("function", "output_shape", "mask"):
            module = config.pop("module" if key == "function" else f"{key}_module", None)
            kind = config.pop(f"{key}_type", "raw")
            names = {**globals(), **vars(sys.modules.get(module, types)), **(custom_objects or {})}
            if kind == "lambda":
                config[key] = generic_utils.func_load(config[key], globs=names)
            elif kind == "function":
                config[key] = generic_utils.deserialize_keras_object(
                    config[key], names, custom_objects, printable_module_name="function in Lambda layer"
                )
        for key, value in config.get("arguments", {}).items():
            if isinstance(value, dict) and value.get("type") == "ndarray":
                config["arguments"][key] = np.array(value["value"])
        return cls(**config)


@keras_export("keras.layers.ActivityRegularization")
class ActivityRegularization(Layer):
    """Adds a loss of its inputs, which it gives back."""

    def __init__(self, l1=0.0, l2=0.0, **kwargs):
        super().__init__(activity_regularizer=regularizers.L1L2(l1=l1, l2=l2), **kwargs)
        self.supports_masking = True
        self.l1, self.l2 = l1, l2

    def call(self, inputs):
        return inputs

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "l1": self.l1, "l2": self.l2}
