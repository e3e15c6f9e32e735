"""DataProvider: tensors by name."""


class DataProvider:
    def __init__(self, items_to_tensors, num_samples):
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items):
        """The tensors of the items, in their order. ValueError: there is no such item."""
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(f"Items not in the provider: {item}; there are {self.list_items()}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self):
        return list(self._items_to_tensors)

    def num_samples(self):
        return self._num_samples
