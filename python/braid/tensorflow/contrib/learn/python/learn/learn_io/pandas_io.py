"""Tables of pandas: their input function, which shuffles by default, and their values as arrays."""

from braid.tensorflow.python.estimator.inputs import pandas_io
from braid.tensorflow.python.estimator.inputs.pandas_io import HAS_PANDAS
from braid.tensorflow.python.util.deprecation import deprecated

if HAS_PANDAS:
    import pandas as pd

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
PANDAS_DTYPES = {
    **dict.fromkeys(_INTEGERS, "int"),
    **dict.fromkeys(("float16", "float32", "float64"), "float"),
    "bool": "i",
}


@deprecated(None, "Please use tf.compat.v1.estimator.inputs.pandas_input_fn")
def pandas_input_fn(
    x,
    y=None,
    batch_size=128,
    num_epochs=1,
    shuffle=True,
    queue_capacity=1000,
    num_threads=1,
    target_column="target",
):
    """See tf.estimator.inputs.pandas_input_fn."""
    return pandas_io.pandas_input_fn(
        x,
        y,
        batch_size=batch_size,
        num_epochs=num_epochs,
        shuffle=shuffle,
        queue_capacity=queue_capacity,
        num_threads=num_threads,
        target_column=target_column,
    )


def _is_frame(data):
    return HAS_PANDAS and isinstance(data, pd.DataFrame)


def _refuse_other_dtypes(data, message, form):
    found = [form.format(column, data[column].dtype.name) for column in data]
    names = [data[column].dtype.name for column in data]
    bad = [text for text, name in zip(found, names) if name not in PANDAS_DTYPES]
    if bad:
        raise ValueError(message + ", ".join(bad))


@deprecated(None, "Please access pandas data directly.")
def extract_pandas_data(data):
    """The values of a data frame as floats; else `data` itself. ValueError: a column has no numbers."""
    if not _is_frame(data):
        return data
    message = "Data types for extracting pandas data must be int, float, or bool. Found: "
    _refuse_other_dtypes(data, message, "'{}' type='{}'")
    return data.values.astype("float")


@deprecated(None, "Please access pandas data directly.")
def extract_pandas_matrix(data):
    """The values of a data frame; else `data` itself."""
    return data.values if _is_frame(data) else data


@deprecated(None, "Please access pandas data directly.")
def extract_pandas_labels(labels):
    """The values of a data frame of one column; else `labels` themselves.

    Raises:
      ValueError: there are several columns, or it has no numbers.
    """
    if not _is_frame(labels):
        return labels
    if len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    message = "Data types for extracting labels must be int, float, or bool. Found: "
    _refuse_other_dtypes(labels, message, "'{}' type={}")
    return labels.values
