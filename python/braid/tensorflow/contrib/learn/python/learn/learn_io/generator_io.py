"""The input function of rows that a generator yields."""

import collections.abc
import types

from braid.tensorflow.python.estimator.inputs.queues import feeding_functions
from braid.tensorflow.python.util.deprecation import deprecated


@deprecated(None, "Please use tf.data.")
def generator_input_fn(
    x,
    target_key=None,
    batch_size=128,
    num_epochs=1,
    shuffle=True,
    queue_capacity=1000,
    num_threads=1,
    pad_value=None,
):
    """An input function that gives batches of rows, a tensor for each key.

    x: a generator function, which is called for each epoch and yields a dict of arrays for each row.
    target_key: the key, or keys, of the labels; none if None. num_epochs: for ever if None. pad_value: arrays
    have different lengths in their last dimension; without shuffle only. The other arguments are those of
    tf.estimator.inputs.numpy_input_fn. A thread takes rows until they have batch_size values, of all keys:
    these are filled up with pad_value, and those that a batch has from several threads or turns with zeros.
    The rows that it takes last may be of the next epoch.

    Returns:
      A function that returns the dict of the features, and with target_key also the labels: a tensor of one
      key, a dict of several.

    Raises:
      TypeError: x is not a generator function of dicts, or a target_key is no string.
      KeyError: rows do not have a key.
    """
    if not isinstance(x, types.FunctionType):
        raise TypeError("x must be generator function; got {}".format(type(x).__name__))
    generator = x()
    if not isinstance(generator, types.GeneratorType):
        raise TypeError("x() must be generator; got {}".format(type(generator).__name__))
    row = next(generator)
    if not isinstance(row, dict):
        raise TypeError("x() must yield dict; got {}".format(type(row).__name__))
    keys = sorted(row)
    target_keys = None if target_key is None else _target_keys(target_key, keys)

    def input_fn():
        queue = feeding_functions._enqueue_data(
            x,
            queue_capacity,
            shuffle=shuffle,
            num_threads=num_threads,
            enqueue_size=batch_size,
            num_epochs=num_epochs,
            pad_value=pad_value,
        )
        dequeue = queue.dequeue_many if num_epochs is None else queue.dequeue_up_to
        batch = dequeue(batch_size)
        features = dict(zip(keys, batch if isinstance(batch, list) else [batch]))
        if target_keys is None:
            return features
        labels = {key: features.pop(key) for key in target_keys}
        return features, labels if len(labels) > 1 else labels[target_keys[0]]

    return input_fn


def _target_keys(target_key, keys):
    if isinstance(target_key, str):
        return [target_key]
    if not isinstance(target_key, collections.abc.Container):
        raise TypeError(
            "target_key must be str or Container of str; got {}".format(type(target_key).__name__)
        )
    for key in target_key:
        if not isinstance(key, str):
            raise TypeError("target_key must be str or Container of str; got {}".format(type(key).__name__))
        if key not in keys:
            raise KeyError("target_key not in yielded dict. Expected {} keys; got {}".format(keys, key))
    return list(target_key)
