"""Data for fit, evaluate and predict: arrays by the names of inputs, and batches of them."""

import collections.abc

import numpy as np

from braid.tensorflow.python.framework import ops
from braid.tensorflow.python.framework import tensor_shape
from braid.tensorflow.python.keras import backend as K
from braid.tensorflow.python.keras import losses
from braid.tensorflow.python.keras import metrics as metrics_module
from braid.tensorflow.python.keras.engine import batch_values
from braid.tensorflow.python.keras.utils import data_utils
from braid.tensorflow.python.keras.utils import generic_utils
from braid.tensorflow.python.keras.utils import losses_utils
from braid.tensorflow.python.ops import array_ops
from braid.tensorflow.python.ops import variables
from braid.tensorflow.python.ops.ragged import ragged_tensor
from braid.tensorflow.python.util import nest


def is_dataset(x):
    """Whether x is a tf.data.Dataset."""
    return any(
        c.__name__ == "DatasetV2" or c.__name__ == "Dataset" for c in type(x).__mro__
    ) and not isinstance(x, (list, tuple, dict, np.ndarray))


def is_iterator(x):
    """Whether x is an iterator of tf.data."""
    return hasattr(x, "get_next") and hasattr(x, "initializer")


def element_spec(x):
    """The structure of a dataset's or an iterator's elements, as TensorSpecs."""
    from braid.tensorflow.python.data.ops import dataset_ops
    from braid.tensorflow.python.framework import tensor_spec

    return nest.map_structure(
        tensor_spec.TensorSpec,
        dataset_ops.get_legacy_output_shapes(x),
        dataset_ops.get_legacy_output_types(x),
    )


def is_generator(x):
    """Whether x gives batches one after another."""
    return isinstance(x, data_utils.Sequence) or hasattr(x, "__next__")


def standardize_single_array(x, expected_shape=None):
    """The array with an axis behind the batch if it has one axis only, and more are expected."""
    if expected_shape is not None and len(expected_shape) == 1:
        return x
    if x is None or batch_values.is_composite(x):
        return x
    if len(x.shape) == 1 if x.shape is not None and not _is_unknown(x.shape) else False:
        return array_ops.expand_dims(x, 1) if isinstance(x, ops.Tensor) else np.expand_dims(x, 1)
    return x


def _is_unknown(shape):
    return isinstance(shape, tensor_shape.TensorShape) and shape.ndims is None


def _is_value(x):
    """Whether x is an array or a tensor: something that has a shape."""
    return hasattr(x, "shape") or batch_values.is_composite_value(x)


def _as_array(a):
    """Values of pandas and plain lists as arrays."""
    if a is None or isinstance(a, ops.Tensor) or batch_values.is_composite(a):
        return a
    if type(a).__module__.startswith("pandas"):
        return a.values
    return a if _is_value(a) else np.asarray(a)


def standardize_input_data(data, names, shapes=None, check_batch_axis=True, exception_prefix=""):
    """A list of arrays in the order of `names`, of an array, a list or a dict of them.

    shapes: what the arrays' shapes have to be, None in any place for any. check_batch_axis: whether the first
    axis is looked at, too. ValueError: wrong numbers or shapes.
    """
    if isinstance(data, np.lib.npyio.NpzFile):
        data = dict(data)
    if not names:
        given = data if isinstance(data, (list, tuple, np.ndarray)) else ()
        if len(given) and not any(is_tensor(t) for t in given):
            raise ValueError(
                f"Error when checking model {exception_prefix}: expected no data, but got: {data}"
            )
        return []
    if data is None:
        return [None] * len(names)
    if isinstance(data, dict):
        missing = [n for n in names if n not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {names}')
        arrays = [_as_array(data[n]) for n in names]
    elif isinstance(data, (list, tuple)) and not batch_values.is_composite_value(data):
        if data and isinstance(data[0], (list, tuple)):
            arrays = [np.asarray(d) for d in data]
        elif len(names) == 1 and data and isinstance(data[0], (float, int)):
            arrays = [np.asarray(data)]
        else:
            arrays = [a.values if type(a).__module__.startswith("pandas") else a for a in data]
    else:
        arrays = [_as_array(data)]
    if len(arrays) == len(names):
        wanted = shapes or [None] * len(names)
        arrays = [standardize_single_array(_as_array(a), s) for a, s in zip(arrays, wanted)]
    else:
        if arrays and _is_value(arrays[0]):
            raise ValueError(
                f"Error when checking model {exception_prefix}: the list of Numpy arrays that you are passing to "
                f"your model is not the size the model expected. Expected to see {len(names)} array(s), but "
                f"instead got the following list of {len(arrays)} arrays: {str(arrays)[:200]}..."
            )
        if len(names) > 1:
            raise ValueError(
                f"Error when checking model {exception_prefix}: you are passing a list as input to your model, "
                f"but the model expects a list of {len(names)} Numpy arrays instead. The list you passed was: "
                f"{str(arrays)[:200]}"
            )
        arrays = [standardize_single_array(np.asarray(arrays))]
    for array, name, want in zip(arrays, names, shapes or ()):
        if array is None or want is None:
            continue
        got = batch_values.shape_of(array)
        if got is None:
            continue
        if len(got) != len(want):
            raise ValueError(
                f"Error when checking {exception_prefix}: expected {name} to have {len(want)} dimensions, but "
                f"got array with shape {got}"
            )
        if not check_batch_axis:
            got, want = got[1:], tuple(want[1:])
        if any(w is not None and g is not None and w != g for g, w in zip(got, want)):
            raise ValueError(
                f"Error when checking {exception_prefix}: expected {name} to have shape {want} but got array "
                f"with shape {got}"
            )
    return arrays


def standardize_sample_or_class_weights(x_weight, output_names, weight_type):
    """A list with the weights of each output, of weights for the one output, a list, or a dict by names."""
    if x_weight is None or (isinstance(x_weight, (list, tuple)) and not len(x_weight)):
        return [None] * len(output_names)
    if len(output_names) == 1:
        if isinstance(x_weight, (list, tuple)) and len(x_weight) == 1:
            return list(x_weight)
        if isinstance(x_weight, dict) and output_names[0] in x_weight:
            return [x_weight[output_names[0]]]
        return [x_weight]
    if isinstance(x_weight, (list, tuple)):
        if len(x_weight) != len(output_names):
            raise ValueError(
                f"Provided `{weight_type}` was a list of {len(x_weight)} elements, but the model has "
                f"{len(output_names)} outputs. You should provide one `{weight_type}` array per model output."
            )
        return list(x_weight)
    if isinstance(x_weight, collections.abc.Mapping):
        generic_utils.check_for_unexpected_keys(weight_type, x_weight, output_names)
        return [x_weight.get(name) for name in output_names]
    raise TypeError(
        f"The model has multiple outputs, so `{weight_type}` should be either a list or a dict. Provided "
        f"`{weight_type}` type not understood: {x_weight}"
    )


def standardize_sample_weights(sample_weight, output_names):
    return standardize_sample_or_class_weights(sample_weight, output_names, "sample_weight")


def standardize_class_weights(class_weight, output_names):
    return standardize_sample_or_class_weights(class_weight, output_names, "class_weight")


def check_array_lengths(inputs, targets, weights=None):
    """ValueError where arrays have different numbers of examples. Returns the number, None if it is not known."""

    def lengths(arrays):
        shapes = [batch_values.shape_of(a) for a in arrays or () if a is not None and not is_tensor(a)]
        return {s[0] for s in shapes if s}

    of = [lengths(a) for a in (inputs, targets, weights)]
    for found, name, arrays in zip(of, ("input", "target", "sample_weight"), (inputs, targets, weights)):
        if len(found) > 1:
            short = {"input": "input arrays (x)", "target": "target arrays (y)"}.get(
                name, "sample_weight arrays"
            )
            raise ValueError(
                f"All {short} should have the same number of samples. Got array shapes: "
                f"{[None if a is None else batch_values.shape_of(a) for a in arrays]}"
            )
    x, y, w = [next(iter(found), None) for found in of]
    if x is not None and y is not None and x != y:
        raise ValueError(
            "Input arrays should have the same number of samples as target arrays. Found "
            f"{x} input samples and {y} target samples."
        )
    if y is not None and w is not None and y != w:
        raise ValueError(
            "Sample_weight arrays should have the same number of samples as target arrays. Got "
            f"{y} input samples and {w} target samples."
        )
    return x if x is not None else y


def is_tensor(x):
    """Whether x is a tensor, also a sparse or a ragged one, or a variable."""
    return isinstance(x, (ops.Tensor, variables.Variable)) or batch_values.is_composite_tensor(x)


def check_loss_and_target_compatibility(targets, loss_fns, output_shapes):
    """ValueError where a target cannot be one of the loss: of MSE and crossentropies, shapes are the output's."""
    functions = (losses.mean_squared_error, losses.binary_crossentropy, losses.categorical_crossentropy)
    for y, loss, shape in zip(targets, loss_fns, output_shapes):
        fn = getattr(loss, "fn", None)
        if y is None or fn not in functions or is_tensor(y):
            continue
        if fn is losses.categorical_crossentropy and y.shape[-1] == 1:
            raise ValueError(
                f"You are passing a target array of shape {y.shape} while using as loss "
                "`categorical_crossentropy`. `categorical_crossentropy` expects targets to be binary matrices "
                "(1s and 0s) of shape (samples, classes): `keras.utils.to_categorical` makes them of integers, "
                "`sparse_categorical_crossentropy` takes integers."
            )
        if shape is None:
            continue
        for got, want in zip(y.shape[1:], shape[1:]):
            if want is not None and got != want:
                raise ValueError(
                    f"A target array with shape {y.shape} was passed for an output of shape {shape} while "
                    f"using as loss `{getattr(fn, '__name__', loss)}`. This loss expects targets to have the "
                    "same shape as the output."
                )


def standardize_weights(y, sample_weight=None, class_weight=None, sample_weight_mode=None):
    """The weight of each example, or of each of its steps, of weights given, of classes, or both; None for
    neither.

    sample_weight_mode: "temporal" for weights of steps.
    """
    if isinstance(sample_weight, tuple):
        sample_weight = sample_weight[0]
    if sample_weight is not None and not _is_value(sample_weight):
        sample_weight = np.asarray(sample_weight)
    if sample_weight_mode is not None and sample_weight_mode != "samplewise":
        if sample_weight_mode != "temporal":
            raise ValueError(f'"sample_weight_mode should be None or "temporal". Found: {sample_weight_mode}')
        if len(y.shape) < 3:
            raise ValueError(
                f"Found a sample_weight array for an input with shape {y.shape}. Timestep-wise sample "
                'weighting (use of sample_weight_mode="temporal") is restricted to outputs that are at least '
                "3D, i.e. that have a time dimension."
            )
        if sample_weight is not None and len(sample_weight.shape) != 2:
            raise ValueError(
                f"Found a sample_weight array with shape {sample_weight.shape}. In order to use timestep-wise "
                "sample weighting, you should pass a 2D sample_weight array."
            )
    elif sample_weight is not None and len(sample_weight.shape) != 1:
        raise ValueError(
            f"Found a sample_weight array with shape {sample_weight.shape}. In order to use timestep-wise "
            'sample weights, you should specify sample_weight_mode="temporal" in compile(). If you just mean '
            "to use sample-wise weights, make sure your sample_weight array is 1D."
        )
    if sample_weight is not None:
        if len(sample_weight.shape) > len(y.shape):
            raise ValueError(
                f"Found a sample_weight with shape{sample_weight.shape}.Expected sample_weight with rank less "
                f"than or equal to {len(y.shape)}"
            )
        if not is_tensor(sample_weight) and y.shape[: sample_weight.ndim] != sample_weight.shape:
            raise ValueError(
                f"Found a sample_weight array with shape {sample_weight.shape} for an input with shape "
                f"{y.shape}. sample_weight cannot be broadcast."
            )
    if not isinstance(class_weight, dict):
        return sample_weight
    if len(y.shape) > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    if len(y.shape) == 2:
        y = np.argmax(y, axis=1) if y.shape[1] > 1 else np.reshape(y, y.shape[0])
    weights = np.asarray([class_weight[c] for c in y if c in class_weight])
    if len(weights) != len(y):
        raise ValueError(
            "`class_weight` must contain all classes in the data. The classes "
            f"{set(y.tolist()) - set(class_weight)} exist in the data but not in `class_weight`."
        )
    return weights if sample_weight is None else weights * sample_weight


def should_run_validation(validation_freq, epoch):
    """Whether the model is validated after the epoch. validation_freq: each so many epochs, or which ones."""
    if isinstance(validation_freq, int):
        if validation_freq < 1:
            raise ValueError("`validation_freq` can not be less than 1.")
        return (epoch + 1) % validation_freq == 0
    if not isinstance(validation_freq, collections.abc.Container):
        raise ValueError("`validation_freq` must be an Integer or `collections_abc.Container`")
    return epoch + 1 in validation_freq


def sample_weight_modes(mode, output_names):
    """The mode of each output, of one for all, a list, or a dict by names."""
    if isinstance(mode, collections.abc.Mapping):
        generic_utils.check_for_unexpected_keys("sample_weight_mode", mode, output_names)
        missing = [n for n in output_names if n not in mode]
        if missing:
            raise ValueError(f"Output {missing[0]} missing from `_sample_weight_modes` dictionary")
        return [mode[name] for name in output_names]
    if isinstance(mode, (list, tuple)):
        if len(mode) != len(output_names):
            raise ValueError(
                "When passing a list as sample_weight_mode, it should have one entry per model output. The "
                f"model has {len(output_names)} outputs, but you passed {len(mode)}_sample_weight_modes."
            )
        return list(mode)
    return [mode] * len(output_names)


def by_output(value, names, what):
    """A list with a value for each output, of a value for all, a list, or a dict by names."""
    if isinstance(value, dict):
        generic_utils.check_for_unexpected_keys(what, value, names)
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
    prefix = "weighted_" if weighted else ""
    if isinstance(metric, metrics_module.Metric):
        return metric, prefix + metric.name
    short = {"accuracy": "acc", "acc": "acc", "crossentropy": "ce", "ce": "ce"}.get(
        metric if isinstance(metric, str) else None
    )
    if short:
        fn, name = _FUNCTIONS[short, _kind(metric, output_shape, loss)], short
    else:
        fn = metrics_module.get(metric)
        if isinstance(fn, metrics_module.Metric):
            return fn, prefix + fn.name
        name = getattr(fn, "name", None) or getattr(fn, "__name__", "metric")
    name = prefix + name
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


def infer_steps_for_dataset(dataset, steps, steps_name="steps"):
    """The number of batches of a dataset; None if it is not known. ValueError: it has no end."""
    if steps is not None:
        return steps
    from braid.tensorflow.python.data.experimental.ops import cardinality

    session = K.get_session()
    with session.graph.as_default():
        size = int(session.run(cardinality.cardinality(dataset)))
    if size == -1:
        raise ValueError(
            f"When passing an infinitely repeating dataset, you must specify the `{steps_name}` argument."
        )
    return size if size >= 0 else None


def _is_sharded(dataset):
    """Whether workers are to share out a dataset, which is the same on all of them."""
    from braid.tensorflow.python.data.ops import dataset_options

    options = dataset.options().experimental_distribute
    return options.auto_shard and options.auto_shard_policy != dataset_options.AutoShardPolicy.OFF


def part_of_worker(model, inputs, targets, weights, rank=None):
    """The rows of a batch, as lists of values, that this worker computes; those of `rank` if it is given."""
    context = model._strategy.extended._input_context()
    count = context.num_input_pipelines
    rank = context.input_pipeline_id if rank is None else rank
    lists = [list(inputs), list(targets), list(weights or ())]
    symbolic = [(values, i) for values in lists for i, v in enumerate(values) if is_tensor(v)]
    if symbolic:
        fetched = K.get_session().run([values[i] for values, i in symbolic])
        for (values, i), value in zip(symbolic, fetched):
            values[i] = value
    size = next(batch_values.shape_of(v)[0] for values in lists for v in values if v is not None)
    part = slice(size * rank // count, size * (rank + 1) // count)
    inputs, targets, parts = (
        [None if v is None else batch_values.rows(v, part) for v in values] for values in lists
    )
    return inputs, targets, parts if weights else weights


class Batches:
    """What a training loop takes from: batches of arrays, a Dataset, a Sequence or a generator.

    Iterating gives (inputs, targets, weights or None, number of examples, what is logged as the size).
    `steps` is None where it is not known; `steps_name` is the argument that says it. `samples`: the number of
    examples of arrays that are taken in batches.

    Each of several workers gets its rows of a batch to train and evaluate on; of a dataset with options that
    say that it is the worker's own, all rows, one part after another.
    """

    exhausted = False

    def __init__(self, model, x, y, sample_weight, batch_size, steps, shuffle, class_weight, what, **options):
        self._model, self._class_weight, self._what = model, class_weight, what
        self._x, self._shuffle, self._batch_size = x, shuffle, batch_size
        self._steps_name = options.pop("steps_name", "steps")
        self._epochs = options.pop("epochs", 1)
        self._options = options  # of the enqueuer
        self._next = self._source = self._enqueuer = None
        self.samples, self.steps = None, steps
        self.is_dataset = is_dataset(x)
        # How many parts a batch has, of which this worker takes one or all.
        self._parts, self._takes_all = 1, False
        if what != "predict" and model._in_multi_worker_mode():
            self._parts = model._strategy.extended._input_context().num_input_pipelines
            self._takes_all = self.is_dataset and not _is_sharded(x)
        if self.is_dataset or is_iterator(x):
            if y is not None:
                raise ValueError(
                    f"You passed a dataset or dataset iterator ({x}) as input `x` to your model. In that case, "
                    "you should not specify a target (`y`) argument, since the dataset or dataset iterator "
                    f"generates both input data and target data. Received: {y}"
                )
            if sample_weight is not None:
                raise ValueError(
                    "`sample_weight` argument is not supported when input `x` is a dataset or a dataset "
                    "iterator. Instead, you can provide sample_weight as the third element of your dataset, "
                    f"i.e. (inputs, targets, sample_weight). Received: x={x}, sample_weight={sample_weight}"
                )
            if self.is_dataset:
                self._endless = steps is not None and what == "train"
                self.steps = infer_steps_for_dataset(x, steps, self._steps_name)
                if steps is None and self.steps is not None and self._takes_all:
                    self.steps *= self._parts
            elif steps is None:
                raise ValueError(
                    "When using a Dataset iterator as input to a model, you should specify the "
                    f"`{self._steps_name}` argument."
                )
        elif is_generator(x):
            if y is not None:
                raise ValueError(
                    "`y` argument is not supported when data isa generator or Sequence instance. Instead pass "
                    "targets as the second element of the generator."
                )
            if sample_weight is not None:
                raise ValueError(
                    "`sample_weight` argument is not supported when data isa generator or Sequence instance. "
                    "Instead pass sample weights as the third element of the generator."
                )
            if steps is None and isinstance(x, data_utils.Sequence):
                self.steps = len(x)
            if self.steps is None:
                raise ValueError(
                    f"`{self._steps_name}=None` is only valid for a generator based on the "
                    f"`keras.utils.Sequence` class. Please specify `{self._steps_name}` or use the "
                    "`keras.utils.Sequence` class."
                )
        else:
            if steps is None:  # rows of a ragged tensor are taken from its value
                run = K.get_session().run
                x = nest.map_structure(
                    lambda a: run(a) if isinstance(a, ragged_tensor.RaggedTensor) else a, x
                )
            symbolic = any(is_tensor(a) for a in nest.flatten((x, y)))
            if steps is None and (symbolic or x is None or (isinstance(x, list) and not x)):
                raise ValueError(
                    "When using data tensors as input to a model, you should specify the "
                    f"`{self._steps_name}` argument."
                )
            if steps is not None and batch_size is not None:
                raise ValueError(f"If {self._steps_name} is set, the `batch_size` must be None.")
            self.arrays = model._standardize_user_data(x, y, sample_weight, class_weight)
            inputs, targets, weights = self.arrays
            if steps is None:
                self.samples = check_array_lengths(inputs, targets, weights)
                self._batch_size = batch_size = batch_size or 32
                self.steps = -(-self.samples // batch_size)
                if getattr(model, "stateful", False) and self.samples % batch_size:
                    raise ValueError(
                        "In a stateful network, you should only pass inputs with a number of samples that can "
                        f"be divided by the batch size. Found: {self.samples} samples"
                    )

    def of_arrays(self):
        return self.samples is not None

    def __iter__(self):
        if self._parts == 1 or self._takes_all:
            return self._whole()
        return self._own_parts()

    def _own_parts(self):
        for inputs, targets, weights, share, size in self._whole():
            yield *part_of_worker(self._model, inputs, targets, weights), share, size

    def _whole(self):
        if self.samples is not None:
            return self._of_arrays()
        if self.is_dataset or is_iterator(self._x):
            return self._of_dataset()
        if is_generator(self._x):
            return self._of_generator()
        return self._of_steps()

    def close(self):
        """Ends the threads that make batches ahead."""
        if self._enqueuer is not None:
            self._enqueuer.stop()
            self._enqueuer = self._source = None

    def _of_steps(self):
        """The whole arrays, or what tensors give, in each step."""
        inputs, targets, weights = self.arrays
        for _ in range(self.steps):
            yield inputs, targets, weights, 1, 1

    def _of_arrays(self):
        order = np.arange(self.samples)
        if self._shuffle == "batch":
            order = batch_shuffle(order, self._batch_size, self._shuffler())
        elif self._shuffle:
            self._shuffler().shuffle(order)
        inputs, targets, weights = self.arrays
        arrays = [a for a in (*inputs, *targets, *(weights or ())) if a is not None]
        # HDF5 files take growing numbers only. Within a batch that is not trained on, the order is free.
        sorts = self._what == "test" and not all(isinstance(a, np.ndarray) for a in arrays)
        for start in range(0, self.samples, self._batch_size):
            rows = order[start : start + self._batch_size]
            count = len(rows)
            # As in TensorFlow, a single batch keeps its order.
            if not self._shuffle or count == self.samples:
                rows = slice(start, start + count)
            elif sorts:
                rows = np.sort(rows)

            part = batch_values.rows
            take = lambda arrays: [None if a is None else part(a, rows) for a in arrays]  # noqa: E731, B023
            try:
                batch = take(inputs), take(targets), take(weights) if weights else None
            except TypeError as error:
                raise TypeError(
                    'TypeError while preparing batch. If using HDF5 input data, pass shuffle="batch".'
                ) from error
            yield *batch, count, count

    def _shuffler(self):
        """The random numbers of an epoch: numpy's, or those that all workers have, for equal batches."""
        if self._parts == 1:
            return np.random
        self._model._epochs_shuffled = getattr(self._model, "_epochs_shuffled", 0) + 1
        return np.random.RandomState(self._model._epochs_shuffled)

    def _of_generator(self):
        if self._source is None:
            options = {"workers": 1, "use_multiprocessing": False, "max_queue_size": 10, **self._options}
            workers = options["workers"]
            if workers == 0:
                endless = data_utils.iter_sequence_infinite
                self._source = endless(self._x) if isinstance(self._x, data_utils.Sequence) else self._x
            else:
                if isinstance(self._x, data_utils.Sequence):
                    shuffle = bool(self._shuffle) and self._what == "train"
                    self._enqueuer = data_utils.OrderedEnqueuer(self._x, shuffle=shuffle)
                else:
                    self._enqueuer = data_utils.GeneratorEnqueuer(self._x)
                self._enqueuer.start(workers=workers, max_queue_size=options["max_queue_size"])
                self._source = self._enqueuer.get()
        for _ in range(self.steps):
            try:
                value = next(self._source)
            except StopIteration:
                self._ran_out("iterator")
                return
            inputs, targets, weights = self._split(value)
            count = check_array_lengths(inputs, targets, weights)
            yield inputs, targets, weights, 1, count

    def _ran_out(self, what):
        from braid.tensorflow.python.platform import tf_logging as logging

        start = "Your dataset iterator" if what == "iterator" else "Your dataset"
        logging.warning(
            f"{start} ran out of data; interrupting training. Make sure that your {what} can generate at least "
            f"`{self._steps_name} * epochs` batches (in this case, {self.steps * self._epochs} batches). You may "
            "need to use the repeat() function when building your dataset."
        )
        self.exhausted = True

    def _of_dataset(self):
        from braid.tensorflow.python.framework import errors

        session = K.get_session()
        if self._next is None:
            if self.is_dataset:
                from braid.tensorflow.python.data.ops import dataset_ops

                with K.get_graph().as_default():
                    iterator = dataset_ops.make_initializable_iterator(self._x)
                    self._initializer, self._next = iterator.initializer, iterator.get_next()
            else:
                self._initializer, self._next = None, self._x.get_next()
            self._started = False
        # A dataset to train on whose steps are given goes on where the last epoch stopped, as in TensorFlow.
        if self._initializer is not None and not (self._endless and self._started):
            session.run(self._initializer)
        self._started = True
        done = 0
        while self.steps is None or done < self.steps:
            try:
                value = session.run(self._next)
            except errors.OutOfRangeError:
                if self.steps is not None or not self.is_dataset:
                    self._ran_out("dataset" if self.is_dataset else "iterator")
                return
            batch = self._split(value, checked=False)
            parts = range(self._parts) if self._takes_all else ()
            for part in [part_of_worker(self._model, *batch, rank=i) for i in parts] or [batch]:
                if self.steps is None or done < self.steps:
                    done += 1
                    yield *part, 1, 1

    def _split(self, value, checked=True):
        """(inputs, targets, weights) of what a generator or a dataset gave."""
        y = weight = None
        if batch_values.is_composite_value(value):
            x = value
        elif isinstance(value, tuple) or (isinstance(value, list) and not checked):
            if not 1 <= len(value) <= 3:
                raise ValueError(
                    "Output of generator should be a tuple of 1 or 2 or 3 elements: (input,) or (input, "
                    f"target) or (input, target, sample_weights). Received {value}"
                )
            x, y, weight = (tuple(value) + (None, None))[:3]
        else:
            x = value
        if self._what == "predict":
            return self._model._standardize_user_data(x)
        return self._model._standardize_user_data(x, y, weight, self._class_weight, checked=checked)


def batch_shuffle(order, batch_size, random=np.random):
    """The numbers in shuffled batches; those of the last, smaller one stay at the end."""
    count = len(order) // batch_size
    whole = order[: count * batch_size].reshape((count, batch_size))
    random.shuffle(whole)
    return np.append(whole.flatten(), order[count * batch_size :])
