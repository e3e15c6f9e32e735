"""numpy_input_fn: input from arrays."""

import collections

import numpy as np

from braid.tensorflow.python.estimator.inputs.queues import feeding_functions
from braid.tensorflow.python.util.tf_export import estimator_export

_TARGET_KEY = "__target_key__"


def _free_key(features):
    """A key that no feature has."""
    key = _TARGET_KEY
    while key in features:
        key += "_n"
    return key


@estimator_export(v1=["estimator.inputs.numpy_input_fn"])
def numpy_input_fn(x, y=None, batch_size=128, num_epochs=1, shuffle=None, queue_capacity=1000, num_threads=1):
    """An input function that gives batches of rows of arrays.

    x: an array, or a dict of arrays of the same length. y: labels, an array or a dict of them; none if None.
    num_epochs: how often the rows are given; for ever if None. shuffle: must be True or False.
    """
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True "
            f"for training); got {shuffle}"
        )

    def input_fn():
        single = not isinstance(x, dict)
        if single and not isinstance(x, np.ndarray):
            raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
        if not single and not x:
            raise ValueError("x cannot be an empty dict")
        if single and not x.size:
            raise ValueError("x cannot be an empty array")
        data = collections.OrderedDict([("__direct_np_input__", x)] if single else sorted(x.items()))
        feature_keys = list(data)
        if y is None:
            target_keys = None
        elif isinstance(y, dict):
            if not y:
                raise ValueError("y cannot be empty dict, use None instead.")
            both = set(data) & set(y)
            if both:
                raise ValueError(f"{len(both)} duplicate keys are found in both x and y: {both}")
            targets = collections.OrderedDict(sorted(y.items()))
            target_keys = list(targets)
            data.update(targets)
        else:
            target_keys = _free_key(data)
            data[target_keys] = y
        lengths = {key: np.shape(value)[0] for key, value in data.items()}
        if len(set(lengths.values())) != 1:
            if y is not None and not isinstance(y, dict):
                lengths["y"] = lengths.pop(target_keys)
            raise ValueError(
                "Length of tensors in x and y is mismatched. All elements in x and y must have the same "
                f"length. Shapes: {lengths}"
            )
        queue = feeding_functions._enqueue_data(
            data,
            queue_capacity,
            shuffle=shuffle,
            num_threads=num_threads,
            enqueue_size=batch_size,
            num_epochs=num_epochs,
        )
        batch = queue.dequeue_many(batch_size) if num_epochs is None else queue.dequeue_up_to(batch_size)
        by_key = dict(zip(data, batch[1:]))  # the first component is the row's number
        features = by_key[feature_keys[0]] if single else {key: by_key[key] for key in feature_keys}
        if target_keys is None:
            return features
        if isinstance(target_keys, list):
            return features, {key: by_key[key] for key in target_keys}
        return features, by_key[target_keys]

    return input_fn
