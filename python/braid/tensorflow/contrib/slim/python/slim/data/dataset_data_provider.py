"""DatasetDataProvider: the items of one example of a Dataset after the other."""

from braid.tensorflow.contrib.slim.python.slim.data import data_provider
from braid.tensorflow.contrib.slim.python.slim.data import parallel_reader


class DatasetDataProvider(data_provider.DataProvider):
    """Examples read by parallel_read(). The key of an example is the item `record_key`."""

    def __init__(
        self,
        dataset,
        num_readers=1,
        reader_kwargs=None,
        shuffle=True,
        num_epochs=None,
        common_queue_capacity=256,
        common_queue_min=128,
        record_key="record_key",
        seed=None,
        scope=None,
    ):
        key, data = parallel_reader.parallel_read(
            dataset.data_sources,
            reader_class=dataset.reader,
            num_epochs=num_epochs,
            num_readers=num_readers,
            reader_kwargs=reader_kwargs,
            shuffle=shuffle,
            capacity=common_queue_capacity,
            min_after_dequeue=common_queue_min,
            seed=seed,
            scope=scope,
        )
        items = list(dataset.decoder.list_items())
        tensors = list(dataset.decoder.decode(data, items))
        if record_key in items:
            raise ValueError(
                f"The item name used for `record_key` cannot also be used for a dataset item: {record_key}"
            )
        super().__init__(
            items_to_tensors=dict(zip([*items, record_key], [*tensors, key])),
            num_samples=dataset.num_samples,
        )
