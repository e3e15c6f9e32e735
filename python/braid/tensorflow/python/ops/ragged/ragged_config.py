"""Settings of ragged tensors."""


def auto_cast_partition_dtype():
    """Whether splits of different types are converted: an error says that they differ."""
    return False
