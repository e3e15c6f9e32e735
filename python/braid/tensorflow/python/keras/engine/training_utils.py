"""Data for fit, evaluate and predict: arrays by the names of inputs, and batches of them."""

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import losses
from braid.tensorflow.python.keras import metrics as metrics_module
from braid.tensorflow.python.keras.utils import data_utils
from braid.tensorflow.python.keras.utils import losses_utils


def is_dataset(x):
    """Whether x is a tf.data.Dataset."""
    return any(
        c.__name__ == "DatasetV2" or c.__name__ == "Dataset" for c in type(x).__mro__
    ) and not isinstance(x, (list, tuple, dict, np.ndarray))


def is_iterator(x):
    """Whether x is an iterator of tf.data."""
    return hasattr(x, "get_next") and hasattr(x, "initializer")


def is_generator(x):
    """Whether x gives batches one after another."""
    return isinstance(x, data_utils.Sequence) or hasattr(x, "__next__")


def standardize(data, names, what):
    """A list of arrays in the order of `names`, of an array, a list or a dict of them."""
    if not names:
        if data is not None and np.size(data) and not (isinstance(data, (list, dict)) and not data):
            raise ValueError(f"Error when checking model {what}: expected no data, but got: {data}")
        return []
    if data is None:
        return [None] * len(names)
    if isinstance(data, dict):
        missing = [n for n in names if n not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {names}')
        arrays = [data[n] for n in names]
    elif isinstance(data, (list, tuple)):
        if len(names) == 1 and not (len(data) == 1 and hasattr(data[0], "shape")):
            arrays = [np.asarray(data)]
        else:
            arrays = list(data)
    else:
        arrays = [data]
    if len(arrays) != len(names):
        raise ValueError(
            f"Error when checking model {what}: the list of Numpy arrays that you are passing to your model is not the "
            f"size the model expected. Expected to see {len(names)} array(s), but instead got the following list of "
            f"{len(arrays)} arrays: {str(arrays)[:200]}..."
        )
    return [_as_array(a) for a in arrays]


def _as_array(a):
    if a is None or isinstance(a, ops.Tensor) or hasattr(a, "tocoo") or K.is_sparse(a):
        return a
    if type(a).__module__.startswith("pandas"):
        a = a.values
    a = np.asarray(a)
    return np.expand_dims(a, 1) if a.ndim == 1 else a


def check_shapes(arrays, names, tensors, what, check_batch=False):
    """ValueError where an array's shape is not that of its tensor."""
    for array, name, tensor in zip(arrays, names, tensors):
        if array is None or not hasattr(array, "shape") or isinstance(array, ops.Tensor):
            continue
        want = K.int_shape(tensor)
        if want is None:
            continue
        if len(want) != len(array.shape):
            raise ValueError(
                f"Error when checking {what}: expected {name} to have {len(want)} dimensions, but got "
                f"array with shape {tuple(array.shape)}"
            )
        for i, (w, g) in enumerate(zip(want, array.shape)):
            if (i or check_batch) and w is not None and w != g:
                raise ValueError(
                    f"Error when checking {what}: expected {name} to have shape {want[1:]} but got array "
                    f"with shape {tuple(array.shape[1:])}"
                )


def check_lengths(inputs, targets, weights=()):
    """ValueError where arrays have different numbers of examples. Returns the number."""
    sizes = {
        what: {a.shape[0] for a in arrays if a is not None and hasattr(a, "shape") and len(a.shape)}
        for what, arrays in (("Input", inputs), ("Target", targets), ("Sample_weight", weights))
    }
    for what, found in sizes.items():
        if len(found) > 1:
            raise ValueError(
                f"All {what.lower()} arrays (x) should have the same number of samples. Got array "
                f"lengths: {sorted(found)}"
            )
    first = sizes["Input"] or sizes["Target"]
    for what in ("Target", "Sample_weight"):
        if first and sizes[what] and sizes[what] != first:
            raise ValueError(
                f"Input arrays should have the same number of samples as {what.lower()} arrays. Found "
                f"{list(first)[0]} input samples and {list(sizes[what])[0]} {what.lower()} samples."
            )
    return list(first)[0] if first else None


def standardize_weights(y, sample_weight=None, class_weight=None):
    """The weight of each example, of weights of examples, of classes, or both; None for neither."""
    result = None if sample_weight is None else np.asarray(sample_weight, K.floatx())
    if class_weight:
        if len(y.shape) > 2:
            raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
        classes = (
            np.argmax(y, axis=1) if len(y.shape) == 2 and y.shape[1] > 1 else np.reshape(y, [y.shape[0]])
        )
        missing = set(classes.tolist()) - set(class_weight)
        if missing:
            raise ValueError(
                "`class_weight` must contain all classes in the data. The classes "
                f"{missing} exist in the data but not in `class_weight`."
            )
        weights = np.asarray([class_weight[int(c)] for c in classes], K.floatx())
        result = weights if result is None else result * weights
    return result


def by_output(value, names, what):
    """A list with a value for each output, of a value for all, a list, or a dict by names."""
    if isinstance(value, dict):
        unknown = set(value) - set(names)
        if unknown:
            raise ValueError(
                f"Unknown entries in {what} dictionary: {sorted(unknown)}. Only expected following keys: "
                f"{names}"
            )
        return [value.get(name) for name in names]
    if isinstance(value, (list, tuple)):
        if len(value) != len(names):
            raise ValueError(
                f"When passing a list as {what}, it should have one entry per model output. The model has "
                f"{len(names)} outputs, but you passed {what}={value}"
            )
        return list(value)
    return [value] * len(names)


def get_loss_function(loss):
    """A Loss object of a name, a function or settings; None for None."""
    if loss is None or isinstance(loss, losses.Loss):
        return loss
    fn = losses.get(loss)
    if isinstance(fn, losses.Loss):
        return fn
    return losses.LossFunctionWrapper(
        fn,
        name=getattr(fn, "__name__", type(fn).__name__),
        reduction=losses_utils.ReductionV2.SUM_OVER_BATCH_SIZE,
    )


def _kind(metric, output_shape, loss):
    """Which of several functions "accuracy" or "crossentropy" stands for: binary, sparse or not."""
    fn = getattr(loss, "fn", None)
    if output_shape[-1] == 1 or fn is losses.binary_crossentropy:
        return "binary"
    if fn is losses.sparse_categorical_crossentropy:
        return "sparse"
    return "categorical"


_FUNCTIONS = {
    ("acc", "binary"): metrics_module.binary_accuracy,
    ("acc", "sparse"): metrics_module.sparse_categorical_accuracy,
    ("acc", "categorical"): metrics_module.categorical_accuracy,
    ("ce", "binary"): metrics_module.binary_crossentropy,
    ("ce", "sparse"): metrics_module.sparse_categorical_crossentropy,
    ("ce", "categorical"): metrics_module.categorical_crossentropy,
}


def metric_object(metric, output_shape, loss, weighted):
    """A Metric of a name, a function or an object, with its name in results."""
    if isinstance(metric, metrics_module.Metric):
        return metric, metric.name
    short = {"accuracy": "acc", "acc": "acc", "crossentropy": "ce", "ce": "ce"}.get(
        metric if isinstance(metric, str) else None
    )
    if short:
        fn, name = _FUNCTIONS[short, _kind(metric, output_shape, loss)], short
    else:
        fn = metrics_module.get(metric)
        if isinstance(fn, metrics_module.Metric):
            return fn, fn.name
        name = getattr(fn, "name", None) or getattr(fn, "__name__", "metric")
    if weighted:
        name = "weighted_" + name
    return metrics_module.MeanMetricWrapper(fn, name=name), name


def metrics_of_outputs(metrics, names):
    """A list of metrics for each output."""
    if not metrics:
        return [[] for _ in names]
    if isinstance(metrics, dict):
        unknown = set(metrics) - set(names)
        if unknown:
            raise ValueError(
                f"Unknown entries in metrics dictionary: {sorted(unknown)}. Only expected following keys: "
                f"{names}"
            )
        found = [metrics.get(name, []) for name in names]
        return [m if isinstance(m, list) else [m] for m in found]
    if not isinstance(metrics, (list, tuple)):
        raise TypeError(
            f"Type of `metrics` argument not understood. Expected a list or dictionary, found: {metrics}"
        )
    if any(isinstance(m, (list, tuple)) for m in metrics):
        if len(metrics) != len(names):
            raise ValueError(
                "When passing a list of lists as `metrics`, it should have one entry per model output. The "
                f"model has {len(names)} outputs, but you passed metrics={metrics}"
            )
        return [list(m) if isinstance(m, (list, tuple)) else [m] for m in metrics]
    # The objects of one output are not shared with another.
    return [[metrics_module.clone_metric(m) if i else m for m in metrics] for i, _ in enumerate(names)]


class Batches:
    """What a training loop takes from: batches of arrays, a Dataset, a Sequence or a generator.

    Iterating gives (inputs, targets, weights or None, number of examples). `steps` is None where it is not
    known.
    """

    def __init__(self, model, x, y, sample_weight, batch_size, steps, shuffle, class_weight, what):
        self._model, self._class_weight, self._what = model, class_weight, what
        self._x, self._y, self._sample_weight = x, y, sample_weight
        self._shuffle, self._batch_size = shuffle, batch_size
        self._next = None
        self._generator = None
        self.samples = None
        if is_dataset(x) or is_iterator(x):
            if y is not None:
                raise ValueError(
                    "You passed a dataset or dataset iterator as input `x`. In that case, you should not "
                    "specify a target (`y`) argument, since the dataset or dataset iterator generates both "
                    "input data and target data."
                )
            self.steps = steps
        elif is_generator(x):
            self.steps = len(x) if steps is None and isinstance(x, data_utils.Sequence) else steps
            if self.steps is None:
                raise ValueError(
                    "When passing a generator, you should specify the number of steps "
                    "(`steps_per_epoch` or `steps`)."
                )
        else:
            self._inputs, self._targets, self._weights = model._arrays(x, y, sample_weight, class_weight)
            self.samples = check_lengths(self._inputs, self._targets, self._weights or ())
            if any(isinstance(a, ops.Tensor) for a in self._inputs + self._targets):
                if steps is None:
                    raise ValueError(
                        "When using data tensors as input to a model, you should specify the "
                        f"`{'steps_per_epoch' if what == 'train' else 'steps'}` argument."
                    )
                self.samples, self.steps = None, steps
                return
            self._batch_size = batch_size or 32
            if steps is not None:
                self._batch_size = -(-self.samples // steps)
            self.steps = -(-self.samples // self._batch_size)

    def of_arrays(self):
        return self.samples is not None

    def __iter__(self):
        if is_dataset(self._x) or is_iterator(self._x):
            yield from self._of_dataset()
        elif isinstance(self._x, data_utils.Sequence):
            order = np.arange(len(self._x))
            if self._shuffle and self._what == "train":
                np.random.shuffle(order)
            for n, i in enumerate(order):
                if n == self.steps:
                    break
                yield self._split(self._x[int(i)])
            self._x.on_epoch_end()
        elif is_generator(self._x):
            for _ in range(self.steps):
                yield self._split(next(self._x))
        elif self.samples is None:
            for _ in range(self.steps):
                values = [self._value(a) for a in self._inputs], [self._value(a) for a in self._targets]
                yield values[0], values[1], self._weights, len(values[0][0])
        else:
            yield from self._of_arrays()

    @staticmethod
    def _value(a):
        return K.get_session().run(a) if isinstance(a, ops.Tensor) else a

    def _of_arrays(self):
        order = np.arange(self.samples)
        if self._shuffle == "batch":
            order = _batch_shuffle(order, self._batch_size)
        elif self._shuffle:
            np.random.shuffle(order)
        for start in range(0, self.samples, self._batch_size):
            rows = order[start : start + self._batch_size]
            if not self._shuffle:
                rows = slice(start, min(self.samples, start + self._batch_size))
            take = lambda arrays: [None if a is None else a[rows] for a in arrays]  # noqa: E731, B023
            weights = take(self._weights) if self._weights else None
            count = len(order[start : start + self._batch_size])
            yield take(self._inputs), take(self._targets), weights, count

    def _of_dataset(self):
        from braid.tensorflow.python.framework import errors

        session = K.get_session()
        if self._next is None:
            if is_iterator(self._x):
                self._initializer, self._next = None, self._x.get_next()
            else:
                from braid.tensorflow.python.data.ops import dataset_ops

                with K.get_graph().as_default():
                    iterator = dataset_ops.make_initializable_iterator(self._x)
                    self._initializer, self._next = iterator.initializer, iterator.get_next()
            self._started = False
        # A dataset whose steps are given goes on where the last epoch stopped, as TensorFlow's does.
        if self._initializer is not None and (self.steps is None or not self._started):
            session.run(self._initializer)
        self._started = True
        done = 0
        while self.steps is None or done < self.steps:
            try:
                value = session.run(self._next)
            except errors.OutOfRangeError:
                if self.steps is not None:
                    from braid.tensorflow.python.platform import tf_logging as logging

                    logging.warning(
                        "Your dataset iterator ran out of data; interrupting training. Make sure that your "
                        "dataset can generate at least `steps_per_epoch * epochs` batches (in this case, "
                        "%d batches). You may need to use the repeat() function when building your "
                        "dataset.",
                        self.steps,
                    )
                    self.exhausted = True
                return
            done += 1
            yield self._split(value)

    exhausted = False

    def _split(self, value):
        """(inputs, targets, weights, number of examples) of what a generator gave."""
        y = weight = None
        if isinstance(value, (tuple, list)) and (self._what != "predict" or isinstance(value, tuple)):
            if len(value) == 3:
                x, y, weight = value
            elif len(value) == 2:
                x, y = value
            elif len(value) == 1:
                (x,) = value
            else:
                raise ValueError(
                    "Output of generator should be a tuple `(x, y, sample_weight)` or `(x, y)`. "
                    f"Found: {value}"
                )
        else:
            x = value
        if self._what == "predict":
            y = weight = None
        inputs, targets, weights = self._model._arrays(
            x, y, weight, self._class_weight, need_y=self._what != "predict"
        )
        return inputs, targets, weights, check_lengths(inputs, targets, weights or ())


def _batch_shuffle(order, batch_size):
    """The numbers in shuffled batches; those of the last, smaller one stay at the end."""
    count = len(order) // batch_size
    whole = order[: count * batch_size].reshape((count, batch_size))
    np.random.shuffle(whole)
    return np.append(whole.flatten(), order[count * batch_size :])
