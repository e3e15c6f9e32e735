"""The interface of maps to the features of a kernel."""

import abc


class InvalidShapeError(Exception):
    """A tensor's shape is not the mapper's."""


class DenseKernelMapper(abc.ABC):
    """A map of tensors [batch, n]."""

    @abc.abstractmethod
    def map(self, input_tensor):
        """The features [batch, output_dim]."""

    @property
    @abc.abstractmethod
    def name(self):
        """The mapper's name."""

    @property
    @abc.abstractmethod
    def output_dim(self):
        """The number of features."""
