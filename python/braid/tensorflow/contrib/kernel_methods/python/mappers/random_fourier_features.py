"""Random features of the Gaussian kernel (Rahimi and Recht, 2007)."""

import math

import numpy as np

from braid.tensorflow.contrib.kernel_methods.python.mappers import dense_kernel_mapper
from braid.tensorflow.python.framework import constant_op
from braid.tensorflow.python.framework import dtypes
from braid.tensorflow.python.ops import math_ops


class RandomFourierFeatureMapper(dense_kernel_mapper.DenseKernelMapper):
    """sqrt(2 / output_dim) * cos(x * omega + b): products of features are about exp(-|x - y|^2 / (2
    stddev^2))."""

    def __init__(self, input_dim, output_dim, stddev=1.0, seed=1, name=None):
        """seed: numpy's, of omega and b."""
        self._input_dim = input_dim
        self._output_dim = output_dim
        self._stddev = stddev
        self._seed = seed
        self._name = name

    @property
    def name(self):
        return self._name or str(id(self))

    @property
    def input_dim(self):
        return self._input_dim

    @property
    def output_dim(self):
        return self._output_dim

    def map(self, input_tensor):
        shape = input_tensor.get_shape()
        if shape.ndims != 2:
            raise dense_kernel_mapper.InvalidShapeError(
                f"The shape of the tensor should be 2. Got {shape.ndims} instead."
            )
        if shape.as_list()[1] != self._input_dim:
            raise dense_kernel_mapper.InvalidShapeError(
                f"Invalid dimension: expected {self._input_dim} input features, got {shape[1]} instead."
            )
        random = np.random.RandomState(self._seed)
        omega = random.normal(scale=1.0 / self._stddev, size=[self._input_dim, self._output_dim])
        bias = random.uniform(low=0.0, high=2 * np.pi, size=[self._output_dim])
        omega, bias = (constant_op.constant(x, dtype=dtypes.float32) for x in (omega, bias))
        phases = math_ops.add(math_ops.matmul(input_tensor, omega), bias)
        return math.sqrt(2.0 / self._output_dim) * math_ops.cos(phases)
