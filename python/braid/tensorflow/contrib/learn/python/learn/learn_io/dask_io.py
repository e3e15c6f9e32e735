"""Data frames and series of dask, whose parts are numbered through."""

import numpy as np

from braid.tensorflow.python.util.deprecation import deprecated

try:
    import dask
    import dask.dataframe as dd

    HAS_DASK = True
    allowed_classes = (dd.Series, dd.DataFrame)
except ImportError:
    HAS_DASK = False
    allowed_classes = ()


def _shift_index(part, start):
    part = part.copy()
    part.index += start
    return part


def _number_through(data):
    """The index of each part goes on where that of the part before ends."""
    divisions = [0, *np.cumsum(data.map_partitions(len).compute()).tolist()]
    parts = [dask.delayed(_shift_index)(part, start) for part, start in zip(data.to_delayed(), divisions)]
    return dd.from_delayed(parts, meta=data._meta, divisions=tuple(divisions))


@deprecated(None, "Please feed input to tf.data to support dask.")
def extract_dask_data(data):
    """A dask.dataframe.DataFrame or Series whose index counts the rows of all its parts; else `data` itself."""
    return _number_through(data) if isinstance(data, allowed_classes) else data


@deprecated(None, "Please feed input to tf.data to support dask.")
def extract_dask_labels(labels):
    """extract_dask_data of one column. ValueError: a data frame has several columns."""
    if not isinstance(labels, allowed_classes):
        return labels
    if isinstance(labels, dd.DataFrame) and len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    return _number_through(labels)
