"""DataDecoder: items of what a reader has read."""

import abc


class DataDecoder(metaclass=abc.ABCMeta):
    @abc.abstractmethod
    def decode(self, data, items):
        """The tensors of the items, in their order."""

    @abc.abstractmethod
    def list_items(self):
        """The names of the items."""
