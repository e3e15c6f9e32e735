"""The input function of tables of pandas of tf.contrib.learn, which shuffles by default."""

from braid.tensorflow.python.estimator.inputs import pandas_io


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
