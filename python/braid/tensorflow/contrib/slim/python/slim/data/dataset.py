"""Dataset: where data is, and how it is read and decoded."""


class Dataset:
    """What DatasetDataProvider takes.

    data_sources: files, or patterns of them. reader: a class of readers (tf.TFRecordReader). decoder: a
    DataDecoder. num_samples: how many there are. items_to_descriptions: {item: what it is}. Others become
    attributes.
    """

    def __init__(self, data_sources, reader, decoder, num_samples, items_to_descriptions, **kwargs):
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        self.__dict__.update(kwargs)
