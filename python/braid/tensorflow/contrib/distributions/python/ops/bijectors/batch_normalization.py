"""Batch normalization as a bijector (Dinh et al. 2016)."""

from braid.tensorflow.python.layers import normalization
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import math_ops
from braid.tensorflow.python.ops import nn
from braid.tensorflow.python.ops import nn_ops
from braid.tensorflow.python.ops.distributions import bijector


__all__ = ["BatchNormalization"]


class BatchNormalization(bijector.Bijector):
    """`inverse` normalizes by a layer of tf.layers, `forward` undoes that by its moving statistics.

    Args:
      batchnorm_layer: a tf.layers.BatchNormalization.
      training: whether `inverse` takes the statistics of the batch.
    """

    def __init__(self, batchnorm_layer=None, training=True, validate_args=False, name="batch_normalization"):
        if batchnorm_layer is None:
            batchnorm_layer = normalization.BatchNormalization(
                gamma_constraint=lambda x: nn_ops.relu(x) + 1e-6
            )
        if not isinstance(batchnorm_layer, normalization.BatchNormalization):
            raise ValueError("batchnorm_layer must be an instance of BatchNormalization layer.")
        if batchnorm_layer.renorm:
            raise ValueError("BatchNorm Bijector does not support renormalization.")
        if batchnorm_layer.virtual_batch_size:
            raise ValueError("BatchNorm Bijector does not support virtual batch sizes.")
        self.batchnorm, self._training = batchnorm_layer, training
        axis = batchnorm_layer.axis
        super().__init__(
            forward_min_event_ndims=1 if isinstance(axis, int) else len(axis),
            validate_args=validate_args,
            name=name,
        )

    def _build(self, shape):
        if not shape.is_fully_defined():
            raise ValueError("Input must have shape known at graph construction.")
        if not self.batchnorm.built:
            self.batchnorm.build(shape)

    def _axes(self):
        axis = self.batchnorm.axis
        return [axis] if isinstance(axis, int) else list(axis)

    def _forward(self, x):
        self._build(x.get_shape())
        layer, ndims = self.batchnorm, x.get_shape().ndims
        shape = [1] * ndims
        for axis in self._axes():
            shape[axis] = x.get_shape().as_list()[axis]
        aligned = lambda v: v if len(v.get_shape()) == ndims else array_ops.reshape(v, shape)
        factor = math_ops.sqrt(aligned(layer.moving_variance) + layer.epsilon)
        if layer.scale:
            factor /= aligned(layer.gamma)
        mean = aligned(layer.moving_mean)
        return x * factor + (mean - aligned(layer.beta) * factor if layer.center else mean)

    def _inverse(self, y):
        return self.batchnorm.apply(y, training=self._training)

    def _log_det(self, shape, variance):
        """Of the inverse, by the variance that it divides by."""
        value = -0.5 * math_ops.reduce_sum(math_ops.log(variance + self.batchnorm.epsilon))
        if self.batchnorm.scale:
            value += math_ops.reduce_sum(math_ops.log(self.batchnorm.gamma))
        return value

    def _forward_log_det_jacobian(self, x):
        self._build(x.get_shape())
        return -self._log_det(x.get_shape(), self.batchnorm.moving_variance)

    def _inverse_log_det_jacobian(self, y):
        self._build(y.get_shape())
        variance = self.batchnorm.moving_variance
        if self._training:
            others = [i for i in range(y.get_shape().ndims) if i not in self._axes()]
            _, variance = nn.moments(y, axes=others, keepdims=True)
        return self._log_det(y.get_shape(), variance)
