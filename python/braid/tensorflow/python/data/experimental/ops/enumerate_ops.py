"""Elements with numbers."""

from braid.tensorflow.python.util.tf_export import tf_export


@tf_export(v1=["data.experimental.enumerate_dataset"])
def enumerate_dataset(start=0):
    """Pairs of a number and an element: for Dataset.apply."""
    return lambda dataset: dataset.enumerate(start)
