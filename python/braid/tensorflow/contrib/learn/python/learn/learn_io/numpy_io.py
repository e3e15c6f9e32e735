"""The input function of arrays of tf.contrib.learn, which shuffles by default."""

from braid.tensorflow.python.estimator.inputs import numpy_io


def numpy_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=True, queue_capacity=1000, num_threads=1):
    """See tf.estimator.inputs.numpy_input_fn."""
    return numpy_io.numpy_input_fn(
        x,
        y,
        batch_size=batch_size,
        num_epochs=num_epochs,
        shuffle=shuffle,
        queue_capacity=queue_capacity,
        num_threads=num_threads,
    )
