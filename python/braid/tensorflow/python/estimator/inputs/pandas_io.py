"""pandas_input_fn: input from data frames."""

import uuid

import numpy as np

from braid.tensorflow.python.estimator.inputs.queues import feeding_functions
from braid.tensorflow.python.util.tf_export import estimator_export

try:
    import pandas as pd

    HAS_PANDAS = True
except ImportError:
    HAS_PANDAS = False


@estimator_export(v1=["estimator.inputs.pandas_input_fn"])
def pandas_input_fn(
    x,
    y=None,
    batch_size=128,
    num_epochs=1,
    shuffle=None,
    queue_capacity=1000,
    num_threads=1,
    target_column="target",
):
    """An input function that gives batches of the rows of a data frame, a tensor for each column.

    y: labels, a Series or a data frame with the same index; none if None. num_epochs: how often the rows are
    given; for ever if None. shuffle: must be True or False. target_column: the name of y among the columns.
    """
    if not HAS_PANDAS:
        raise TypeError("pandas_input_fn should not be called without pandas installed")
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True "
            f"for training); got {shuffle}"
        )
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    x = x.copy()
    if y is not None:
        if target_column in x:
            raise ValueError(
                f"Cannot use name {target_column} for target column: DataFrame already has a column with "
                f"that name: {x.columns}"
            )
        if not np.array_equal(x.index, y.index):
            raise ValueError(
                "Index for x and y are mismatched.\n" f"Index for x: {x.index}\nIndex for y: {y.index}\n"
            )
        if isinstance(y, pd.DataFrame):
            columns = [(column, str(uuid.uuid4())) for column in y.columns]
            target_column = [new for _, new in columns]
            x[target_column] = y
        else:
            x[target_column] = y

    capacity = (4 * len(x) if shuffle else len(x)) if queue_capacity is None else queue_capacity

    def input_fn():
        queue = feeding_functions._enqueue_data(
            x,
            capacity,
            shuffle=shuffle,
            num_threads=num_threads,
            enqueue_size=batch_size,
            num_epochs=num_epochs,
        )
        batch = queue.dequeue_many(batch_size) if num_epochs is None else queue.dequeue_up_to(batch_size)
        features = dict(zip(["index"] + list(x.columns), batch))
        features.pop("index")
        if y is None:
            return features
        if isinstance(target_column, list):
            return features, {column: features.pop(new) for column, new in zip(y.columns, target_column)}
        return features, features.pop(target_column)

    return input_fn
