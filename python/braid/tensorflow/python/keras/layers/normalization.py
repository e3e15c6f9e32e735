"""Batch normalization, for keras and for tf.layers; layer normalization."""

import functools

from braid.tensorflow.python.distribute import distribution_strategy_context
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import smart_cond as smart
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend
from braid.tensorflow.python.keras import constraints
from braid.tensorflow.python.keras import initializers
from braid.tensorflow.python.keras import regularizers
from braid.tensorflow.python.keras.engine.base_layer import Layer
from braid.tensorflow.python.keras.engine.input_spec import InputSpec
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn_impl
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops import state_ops
from braid.tensorflow.python.ops import variable_scope as vs
from braid.tensorflow.python.util.tf_export import keras_export


class BatchNormalizationBase(Layer):
    """Inputs less their mean by their deviation, times gamma plus beta (Ioffe and Szegedy 2015).

    The mean and deviation are those of the batch in training, and their moving averages otherwise. axis:
    the axis, or axes, with a mean each. fused: whether the kernel that does all at once is used where it
    can be (None: it is). virtual_batch_size: the batch is normalized in parts of that size. renorm: batch
    renormalization (Ioffe 2017), with renorm_clipping of "rmin", "rmax" and "dmax". adjustment: a function
    of the shape of the inputs that gives a factor and a term for normalized values, in training alone.
    """

    def __init__(
        self,
        axis=-1,
        momentum=0.99,
        epsilon=1e-3,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        moving_mean_initializer="zeros",
        moving_variance_initializer="ones",
        beta_regularizer=None,
        gamma_regularizer=None,
        beta_constraint=None,
        gamma_constraint=None,
        renorm=False,
        renorm_clipping=None,
        renorm_momentum=0.99,
        fused=None,
        trainable=True,
        virtual_batch_size=None,
        adjustment=None,
        name=None,
        **kwargs,
    ):
        super().__init__(name=name, trainable=trainable, **kwargs)
        if isinstance(axis, (list, tuple)):
            axis = list(axis)
        elif not isinstance(axis, int):
            raise TypeError(f"axis must be int or list, type given: {type(axis)}")
        self.axis = axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.moving_mean_initializer = initializers.get(moving_mean_initializer)
        self.moving_variance_initializer = initializers.get(moving_variance_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)
        self.renorm = renorm
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment
        self.supports_masking = True
        self.fused = True if fused is None else fused
        if renorm:
            renorm_clipping = renorm_clipping or {}
            if not set(renorm_clipping) <= {"rmax", "rmin", "dmax"}:
                raise ValueError(f"renorm_clipping {renorm_clipping} contains keys not in rmax, rmin, dmax")
            self.renorm_clipping = renorm_clipping
            self.renorm_momentum = renorm_momentum

    @property
    def _param_dtype(self):
        """The type of the weights: not one of 16 bits."""
        dtype = dtypes.as_dtype(self.dtype or backend.floatx())
        return dtypes.float32 if dtype in (dtypes.float16, dtypes.bfloat16) else dtype

    def build(self, input_shape):
        input_shape = tensor_shape.TensorShape(input_shape)
        if not input_shape.ndims:
            raise ValueError("Input has undefined rank:", input_shape)
        rank = input_shape.ndims
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        self.axis = [axis + rank if axis < 0 else axis for axis in axes]
        for axis in self.axis:
            if not 0 <= axis < rank:
                raise ValueError(f"Invalid axis: {axis}")
        if len(set(self.axis)) != len(self.axis):
            raise ValueError(f"Duplicate axis: {self.axis}")
        if self.virtual_batch_size is not None:
            if self.virtual_batch_size <= 0:
                raise ValueError(
                    "virtual_batch_size must be a positive integer that divides the true batch size"
                )
            if 0 in self.axis:
                raise ValueError("When using virtual_batch_size, axis must not be 0, the batch")
            # The batch becomes two axes: the parts, and what is in a part.
            self.axis = [axis + 1 for axis in self.axis]
        other = self.renorm or self.virtual_batch_size is not None or self.adjustment is not None
        self.fused = bool(self.fused) and rank == 4 and self.axis in ([1], [3]) and not other
        if self.fused:
            self._data_format = "NCHW" if self.axis == [1] else "NHWC"
        shift = 0 if self.virtual_batch_size is None else 1
        axis_to_dim = {a: tensor_shape.dimension_value(input_shape.dims[a - shift]) for a in self.axis}
        for a, size in axis_to_dim.items():
            if size is None:
                raise ValueError(
                    f"Input has undefined `axis` dimension. Input shape: {input_shape}, axis {a}"
                )
        self.input_spec = InputSpec(ndim=rank, axes={a - shift: size for a, size in axis_to_dim.items()})
        if len(axis_to_dim) == 1 and self.virtual_batch_size is None:
            shape = (next(iter(axis_to_dim.values())),)
        else:
            shape = [axis_to_dim.get(a, 1) for a in range(rank + shift)]
        self._make_weights(shape)
        self.built = True

    def _make_weights(self, shape):
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(
                name="gamma",
                shape=shape,
                dtype=self._param_dtype,
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
                trainable=True,
            )
        elif self.fused:
            self._gamma_const = array_ops.constant(1.0, dtype=self._param_dtype, shape=shape)
        if self.center:
            self.beta = self.add_weight(
                name="beta",
                shape=shape,
                dtype=self._param_dtype,
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
                trainable=True,
            )
        elif self.fused:
            self._beta_const = array_ops.constant(0.0, dtype=self._param_dtype, shape=shape)
        scope = getattr(self, "_scope", None)
        partitioner = scope.partitioner if scope else None
        if scope:
            scope.set_partitioner(None)  # moving averages are not divided
        try:
            self.moving_mean = self._moving("moving_mean", shape, self.moving_mean_initializer)
            self.moving_variance = self._moving("moving_variance", shape, self.moving_variance_initializer)
            if self.renorm:
                # The deviation is averaged, and the variance made of it.
                def stddev_initializer(*args, **kwargs):
                    return math_ops.sqrt(self.moving_variance_initializer(*args, **kwargs))

                with ops.colocate_with(self.moving_variance):
                    self.moving_stddev = self._moving("moving_stddev", shape, stddev_initializer)
                with ops.colocate_with(self.moving_mean):
                    self.renorm_mean = self._moving("renorm_mean", shape, self.moving_mean_initializer)
                with ops.colocate_with(self.moving_stddev):
                    self.renorm_stddev = self._moving("renorm_stddev", shape, stddev_initializer)
        finally:
            if scope:
                scope.set_partitioner(partitioner)

    def _moving(self, name, shape, initializer):
        return self.add_weight(
            name=name,
            shape=shape,
            dtype=self._param_dtype,
            initializer=initializer,
            synchronization=vs.VariableSynchronization.ON_READ,
            trainable=False,
            aggregation=vs.VariableAggregation.MEAN,
        )

    def _has_inputs(self, inputs):
        """Whether the batch has elements, where one of several replicas may have none of it; else None."""
        is_one_of_several = distribution_strategy_context.get_strategy().num_replicas_in_sync > 1
        return array_ops.size(inputs) > 0 if is_one_of_several else None

    def _assign_moving_average(self, variable, value, momentum, has_inputs):
        # Across replicas the average is on several devices.
        place = None if distribution_strategy_context.in_cross_replica_context() else variable
        with ops.name_scope("AssignMovingAvg") as scope, ops.colocate_with(place, place is None):
            decay = ops.convert_to_tensor(1.0 - momentum, name="decay")
            if decay.dtype != variable.dtype.base_dtype:
                decay = math_ops.cast(decay, variable.dtype.base_dtype)
            update = (variable - math_ops.cast(value, variable.dtype.base_dtype)) * decay
            if has_inputs is not None:
                update = array_ops.where(has_inputs, update, array_ops.zeros_like(update))
            return state_ops.assign_sub(variable, update, name=scope)

    _bessels_correction_test_only = True

    def _fused_batch_norm(self, inputs, training):
        gamma = self.gamma if self.scale else self._gamma_const
        beta = self.beta if self.center else self._beta_const

        def of_batch():
            return nn_impl.fused_batch_norm(
                inputs, gamma, beta, epsilon=self.epsilon, data_format=self._data_format
            )

        def of_averages():
            return nn_impl.fused_batch_norm(
                inputs,
                gamma,
                beta,
                mean=self.moving_mean,
                variance=self.moving_variance,
                epsilon=self.epsilon,
                is_training=False,
                data_format=self._data_format,
            )

        output, mean, variance = smart.smart_cond(training, of_batch, of_averages)
        known = smart.smart_constant_value(training)
        if not self._bessels_correction_test_only:  # the fused op's variance has the correction
            size = math_ops.cast(array_ops.size(inputs) // array_ops.size(variance), variance.dtype)
            variance = variance * ((size - 1) / size)
        if known is None:
            momentum = smart.smart_cond(training, lambda: self.momentum, lambda: 1.0)
        else:
            momentum = ops.convert_to_tensor(self.momentum)
        if known is False:
            return output
        has_inputs = self._has_inputs(inputs)
        for average, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
            self.add_update(
                functools.partial(self._assign_moving_average, average, value, momentum, has_inputs)
            )
        return output

    def _renorm_correction_and_moments(self, mean, variance, training, has_inputs):
        """The factors r and d of batch renormalization, and the moments once its averages have been updated."""
        stddev = math_ops.sqrt(variance + self.epsilon)
        average = math_ops.maximum(self.renorm_stddev, math_ops.sqrt(self.epsilon))
        r = stddev / average
        d = (mean - self.renorm_mean) / average
        with ops.control_dependencies([r, d]):
            mean = array_ops.identity(mean)
            stddev = array_ops.identity(stddev)
        rmin, rmax, dmax = (self.renorm_clipping.get(key) for key in ("rmin", "rmax", "dmax"))
        if rmin is not None:
            r = math_ops.maximum(r, rmin)
        if rmax is not None:
            r = math_ops.minimum(r, rmax)
        if dmax is not None:
            d = math_ops.minimum(math_ops.maximum(d, -dmax), dmax)
        r = smart.smart_cond(training, lambda: r, lambda: array_ops.ones_like(r))
        d = smart.smart_cond(training, lambda: d, lambda: array_ops.zeros_like(d))

        def updated(variable, value):
            value = array_ops.identity(value)
            return smart.smart_cond(
                training,
                lambda: self._assign_moving_average(variable, value, self.renorm_momentum, has_inputs),
                lambda: array_ops.identity(variable),
            )

        updates = [updated(self.renorm_mean, mean), updated(self.renorm_stddev, stddev)]
        with ops.control_dependencies(updates):
            return r, d, array_ops.identity(mean), array_ops.identity(variance)

    def _update_variance(self, variance, has_inputs):
        """The op that has the moving variance follow that of a batch."""
        if not self.renorm:
            return self._assign_moving_average(self.moving_variance, variance, self.momentum, has_inputs)
        stddev = self._assign_moving_average(
            self.moving_stddev, math_ops.sqrt(variance + self.epsilon), self.momentum, has_inputs
        )
        value = nn_ops.relu(stddev * stddev - self.epsilon)
        with ops.name_scope("AssignNewValue") as scope, ops.colocate_with(self.moving_variance):
            return state_ops.assign(self.moving_variance, value, name=scope)

    def call(self, inputs, training=None):
        if training is None:
            training = backend.learning_phase()
        if self.virtual_batch_size is not None:
            sizes = inputs.shape.as_list()
            original = [-1] + sizes[1:]
            inputs = array_ops.reshape(inputs, [self.virtual_batch_size, -1] + sizes[1:])
            inputs = array_ops.transpose(inputs, [1, 0] + list(range(2, len(sizes) + 1)))
            outputs = array_ops.transpose(
                self._normalized(inputs, training), [1, 0] + list(range(2, len(sizes) + 1))
            )
            outputs = array_ops.reshape(outputs, original)
            return outputs
        if self.fused:
            return self._fused_batch_norm(inputs, training=training)
        return self._normalized(inputs, training)

    def _normalized(self, inputs, training):
        shape = inputs.get_shape()
        rank = len(shape)
        reduced = [axis for axis in range(rank) if axis not in self.axis]
        if self.virtual_batch_size is not None:
            reduced.remove(0)  # each part has moments of its own
        broadcast_shape = [1] * rank
        broadcast_shape[self.axis[0]] = tensor_shape.dimension_value(shape.dims[self.axis[0]])

        def broadcast(v):
            if v is not None and len(v.get_shape()) != rank and reduced != list(range(rank - 1)):
                return array_ops.reshape(v, broadcast_shape)
            return v

        scale, offset = broadcast(self.gamma), broadcast(self.beta)
        if smart.smart_constant_value(training) is False:
            mean, variance = self.moving_mean, self.moving_variance
        else:
            if self.adjustment:
                adjust_scale, adjust_bias = self.adjustment(array_ops.shape(inputs))
                ones, zeros = array_ops.ones_like, array_ops.zeros_like
                adjust_scale = smart.smart_cond(training, lambda: adjust_scale, lambda: ones(adjust_scale))
                adjust_bias = smart.smart_cond(training, lambda: adjust_bias, lambda: zeros(adjust_bias))
                scale, offset = _compose(adjust_scale, adjust_bias, scale, offset)
            keep_dims = self.virtual_batch_size is not None or len(self.axis) > 1
            batch_mean, batch_variance = nn_impl.moments(inputs, reduced, keep_dims=keep_dims)
            has_inputs = self._has_inputs(inputs)
            if has_inputs is not None:
                batch_mean, batch_variance = (
                    array_ops.where(has_inputs, v, array_ops.zeros_like(v))
                    for v in (batch_mean, batch_variance)
                )
            mean = smart.smart_cond(training, lambda: batch_mean, lambda: _value(self.moving_mean))
            variance = smart.smart_cond(
                training, lambda: batch_variance, lambda: _value(self.moving_variance)
            )
            new_mean, new_variance = mean, variance
            if self.virtual_batch_size is not None:
                # The moving averages take the mean over the parts.
                new_mean = math_ops.reduce_mean(mean, axis=0, keepdims=True)
                new_variance = math_ops.reduce_mean(variance, axis=0, keepdims=True)
            if self.renorm:
                r, d, new_mean, new_variance = self._renorm_correction_and_moments(
                    new_mean, new_variance, training, has_inputs
                )
                r = broadcast(array_ops.stop_gradient(r, name="renorm_r"))
                d = broadcast(array_ops.stop_gradient(d, name="renorm_d"))
                scale, offset = _compose(r, d, scale, offset)

            def update_of(variable, make):
                return smart.smart_cond(training, make, lambda: variable)

            self.add_update(
                lambda: update_of(
                    self.moving_mean,
                    lambda: self._assign_moving_average(
                        self.moving_mean, new_mean, self.momentum, has_inputs
                    ),
                )
            )
            self.add_update(
                lambda: update_of(
                    self.moving_variance, lambda: self._update_variance(new_variance, has_inputs)
                )
            )
        mean = math_ops.cast(mean, inputs.dtype)
        variance = math_ops.cast(variance, inputs.dtype)
        if offset is not None:
            offset = math_ops.cast(offset, inputs.dtype)
        if scale is not None:
            scale = math_ops.cast(scale, inputs.dtype)
        outputs = nn_impl.batch_normalization(
            inputs, broadcast(mean), broadcast(variance), offset, scale, self.epsilon
        )
        outputs.set_shape(shape)
        return outputs

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        config = {
            "axis": self.axis,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "center": self.center,
            "scale": self.scale,
            "beta_initializer": initializers.serialize(self.beta_initializer),
            "gamma_initializer": initializers.serialize(self.gamma_initializer),
            "moving_mean_initializer": initializers.serialize(self.moving_mean_initializer),
            "moving_variance_initializer": initializers.serialize(self.moving_variance_initializer),
            "beta_regularizer": regularizers.serialize(self.beta_regularizer),
            "gamma_regularizer": regularizers.serialize(self.gamma_regularizer),
            "beta_constraint": constraints.serialize(self.beta_constraint),
            "gamma_constraint": constraints.serialize(self.gamma_constraint),
        }
        if self.renorm:
            config["renorm"] = True
            config["renorm_clipping"] = self.renorm_clipping
            config["renorm_momentum"] = self.renorm_momentum
        if self.virtual_batch_size is not None:
            config["virtual_batch_size"] = self.virtual_batch_size
        return {**super().get_config(), **config}


@keras_export(v1=["keras.layers.BatchNormalization"])
class BatchNormalization(BatchNormalizationBase):
    __doc__ = BatchNormalizationBase.__doc__


BatchNormalizationV1 = BatchNormalization


def _value(variable):
    return ops.convert_to_tensor(variable)


def _compose(inner_scale, inner_offset, scale, offset):
    """The factor and the term of (x * inner_scale + inner_offset) * scale + offset."""
    total_scale, total_offset = inner_scale, inner_offset
    if scale is not None:
        total_scale, total_offset = inner_scale * scale, inner_offset * scale
    return total_scale, total_offset if offset is None else total_offset + offset


@keras_export("keras.layers.LayerNormalization")
class LayerNormalization(Layer):
    """Inputs less their mean by their deviation along `axis`, times gamma plus beta (Ba et al. 2016)."""

    def __init__(
        self,
        axis=-1,
        epsilon=0.001,
        center=True,
        scale=True,
        beta_initializer="zeros",
        gamma_initializer="ones",
        beta_regularizer=None,
        gamma_regularizer=None,
        beta_constraint=None,
        gamma_constraint=None,
        trainable=True,
        name=None,
        **kwargs,
    ):
        super().__init__(name=name, trainable=trainable, **kwargs)
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else axis
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer = initializers.get(beta_initializer)
        self.gamma_initializer = initializers.get(gamma_initializer)
        self.beta_regularizer = regularizers.get(beta_regularizer)
        self.gamma_regularizer = regularizers.get(gamma_regularizer)
        self.beta_constraint = constraints.get(beta_constraint)
        self.gamma_constraint = constraints.get(gamma_constraint)
        self.supports_masking = True
        if not isinstance(axis, (int, list, tuple)):
            raise ValueError(
                f"Expected an int or a list/tuple of ints for the argument 'axis', but received: {axis}"
            )

    def build(self, input_shape):
        sizes = tensor_shape.TensorShape(input_shape).as_list()
        axes = [self.axis] if isinstance(self.axis, int) else self.axis
        self.axis = [axis + len(sizes) if axis < 0 else axis for axis in axes]
        for axis in self.axis:
            if not 0 <= axis < len(sizes):
                raise ValueError(f"Invalid axis: {axis}")
        if len(set(self.axis)) != len(self.axis):
            raise ValueError(f"Duplicate axis: {tuple(self.axis)}")
        shape = [sizes[axis] for axis in self.axis]
        self.gamma = self.beta = None
        if self.scale:
            self.gamma = self.add_weight(
                name="gamma",
                shape=shape,
                initializer=self.gamma_initializer,
                regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint,
                trainable=True,
            )
        if self.center:
            self.beta = self.add_weight(
                name="beta",
                shape=shape,
                initializer=self.beta_initializer,
                regularizer=self.beta_regularizer,
                constraint=self.beta_constraint,
                trainable=True,
            )
        self.built = True

    def call(self, inputs):
        sizes = inputs.shape.as_list()
        mean, variance = nn_impl.moments(inputs, self.axis, keep_dims=True)
        broadcast_shape = [sizes[a] if a in self.axis else 1 for a in range(len(sizes))]

        def broadcast(v):
            return v if v is None or self.axis == [len(sizes) - 1] else array_ops.reshape(v, broadcast_shape)

        outputs = nn_impl.batch_normalization(
            inputs,
            mean,
            variance,
            offset=broadcast(self.beta),
            scale=broadcast(self.gamma),
            variance_epsilon=self.epsilon,
        )
        outputs.set_shape(inputs.shape)
        return outputs

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        config = {
            "axis": self.axis,
            "epsilon": self.epsilon,
            "center": self.center,
            "scale": self.scale,
            "beta_initializer": initializers.serialize(self.beta_initializer),
            "gamma_initializer": initializers.serialize(self.gamma_initializer),
            "beta_regularizer": regularizers.serialize(self.beta_regularizer),
            "gamma_regularizer": regularizers.serialize(self.gamma_regularizer),
            "beta_constraint": constraints.serialize(self.beta_constraint),
            "gamma_constraint": constraints.serialize(self.gamma_constraint),
        }
        return {**super().get_config(), **config}
